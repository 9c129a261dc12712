"""A regressor of the cost of each class."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from millstream import _core, _frames
from millstream._answers import number_of
from millstream._echo import quoted
from millstream._python_loop import restore
from millstream._sparse import Sparse
from millstream.base import Features, Label
from millstream.cost_sensitive.base import CostSensitive
from millstream.cost_sensitive.tables import Cut, chosen, column_of, cost_table, learn_one_by_one
from millstream.errors import InvalidType, InvalidValue
from millstream.roles import REGRESSOR

__all__ = ["CostRegression"]

#: Fewer rows are learned member by member.
TOGETHER = 16


class CostRegression(CostSensitive):
    """One regressor per class that predicts its cost; the class of the lowest predicted cost is chosen.

    This is `--csoaa` of Vowpal Wabbit, over any regressor. With `by_class=True`, each class of an example has
    features of its own, such as those of a document to rank, and one regressor is shared by all classes
    (`--csoaa_ldf`): classes may then differ from example to example. Costs may be given for some classes only; the
    others are not learned.

    Parameters
    ----------
    model
        Regressor of a cost: any native model or pipeline, or your own regressor in Python, which is cloned for
        each class.
    by_class
        Whether x is a dict of features by class, for one regressor that is shared by all classes.

    Examples
    --------
    >>> from millstream import cost_sensitive, linear_model
    >>> model = cost_sensitive.CostRegression(linear_model.LinearRegression("adaptive"))
    >>> for x in [0.0, 0.2, 0.8, 1.0] * 50:
    ...     model.learn_one({"x": x}, {"stay": 1.0 - x, "go": x, "wait": 0.6})
    >>> model.predict_one({"x": 0.1}), model.predict_one({"x": 0.9})
    ('go', 'stay')
    >>> {label: round(cost, 1) for label, cost in model.predict_costs_one({"x": 1.0}).items()}
    {'stay': 0.0, 'go': 1.0, 'wait': 0.6}

    References
    ----------
    Beygelzimer, A., Dani, V., Hayes, T., Langford, J. and Zadrozny, B. (2005). Error limiting reductions between
    classification tasks.
    """

    _member_role = REGRESSOR
    _who = "cost_sensitive.CostRegression"

    def __init__(self, model: Any, by_class: bool = False) -> None:
        self._check_model(model)
        self.model, self.by_class = model, bool(by_class)
        #: The regressor of each class; with `by_class` one, under None.
        self.members: dict[Any, Any] = {None: model.clone()} if self.by_class else {}
        self._start()

    @property
    def classes(self) -> list[Label]:
        """The classes so far; none with `by_class`."""
        return [label for label in self.members if label is not None]

    def learn_one(self, x: Features, costs: Mapping[Any, float], w: float = 1.0) -> None:
        """Learn the costs of one example."""
        known, weight = self._costs(costs), self._weight(w)
        if weight == 0.0:
            return
        if self.by_class:
            member = self.members[None]
            self._teach((member, self._features(x, label), cost, weight) for label, cost in known.items())
            return
        new = {label: self.model.clone() for label in known if label not in self.members}
        members = {**self.members, **new}
        self._teach((members[label], x, cost, weight) for label, cost in known.items())
        self.members = members

    def learn_many(self, X: Any, costs: Any, w: Any = None, *, classes: Iterable[Label] | None = None) -> None:
        """Learn many examples, exactly as `learn_one` would, member by member; an error changes nothing.

        `X` is a matrix, a frame or a list of dicts. `costs` is a matrix with a row for each example and a column
        for each of `classes` (0, 1, … by default), with NaN for unknown costs; a frame, whose columns are the
        classes; or a list of dicts.
        """
        self._run_many(X, costs, w, classes, predict=False)

    def step_many(self, X: Any, costs: Any, w: Any = None, *, classes: Iterable[Label] | None = None) -> Any:
        """Predict each row, then learn it. Returns the predicted classes, each from before its row was learned."""
        return self._run_many(X, costs, w, classes, predict=True)

    def _run_many(self, X: Any, costs: Any, w: Any, classes: Any, *, predict: bool) -> Any:
        if self.by_class:
            raise InvalidType(f"{self._who}: with by_class=True, examples are learned one by one, with learn_one")
        labels, table = cost_table(self._who, costs, classes, self._costs)
        weights = np.ones(len(table)) if w is None else np.array([self._weight(one) for one in w])
        if len(weights) != len(table):
            raise InvalidValue(f"{self._who}: w has {len(weights)} rows and costs has {len(table)}")
        # Sparse matrices of SciPy have a shape, and no length.
        rows = X.shape[0] if hasattr(X, "shape") and X.shape else len(X) if hasattr(X, "__len__") else len(table)
        if rows != len(table):
            raise InvalidValue(f"{self._who}: X has {rows} rows and costs has {len(table)}")
        known = np.isfinite(table) & (weights > 0.0)[:, None]
        new = {
            label: self.model.clone()
            for label, column in zip(labels, known.T, strict=True)
            if label not in self.members and column.any()
        }
        # In the order of their first examples, as one by one.
        first = {label: int(known[:, place].argmax()) for place, label in enumerate(labels) if label in new}
        members = {**self.members, **{label: new[label] for label in sorted(new, key=first.__getitem__)}}
        if not members:
            return _frames.pack_answers([None] * len(table)) if predict else None
        places = [labels.index(label) if label in labels else None for label in members]
        targets = np.column_stack([column_of(table, place) for place in places])
        targets[~(weights > 0.0)] = np.nan
        start = max(first.values(), default=-1) + 1
        numbers = self._learn_rows(X, targets, weights, list(members.values()), start, predict=predict)
        self.members = members
        if not predict:
            return None
        # A class is unknown until its first cost has been learned.
        for at, label in enumerate(members):
            numbers[: first.get(label, -1) + 1, at] = np.inf
        return chosen(list(members), numbers)

    def _learn_rows(
        self, X: Any, targets: Any, weights: Any, members: list[Any], start: int, *, predict: bool
    ) -> Any:
        """Learn rows with all members, or none; the predictions before each row, by row and member.

        Linear members learn the rows from `start` on together: then each of them has learned a row.
        """
        rows = Cut(X) if isinstance(X, Sparse) or (type(X) is np.ndarray and X.ndim == 2) else None
        enough = len(members) > 1 and len(targets) - start >= TOGETHER
        parts: list[Any] = []
        begin = 0
        before: list[tuple[Any, Any]] = []
        try:
            if rows is not None and enough and all(isinstance(member, _core.Model) for member in members):
                if start:
                    before = self._copies()
                    first = rows(0, start)
                    parts.append(
                        learn_one_by_one(first, targets[:start], weights[:start], members, predict=predict)
                    )
                rest = rows(start, len(targets))
                taken = [member._take_apart(rest, learning=True) for member in members]
                numbers = _core.step_together(members, taken[0], targets[start:], weights[start:])
                if numbers is not None:
                    parts.append(numbers)
                    return np.concatenate(parts) if predict else None
                X, begin = rest, start
            before = before or self._copies()
            parts.append(learn_one_by_one(X, targets[begin:], weights[begin:], members, predict=predict))
        except BaseException:
            for member, state in before:
                restore(member, state)
            raise
        return np.concatenate(parts) if predict else None

    def _copies(self) -> list[tuple[Any, Any]]:
        """The members before a lesson, each with a copy; new ones are not among them."""
        return [(member, member.copy()) for member in self.members.values()]

    def _features(self, x: Any, label: Label) -> Features:
        found = x.get(label) if isinstance(x, Mapping) else None
        if not isinstance(found, Mapping):
            raise InvalidType(f"{self._who}: x must have a dict of features for class {quoted(label)}")
        return found

    def predict_costs_one(self, x: Features) -> dict[Label, float]:
        """The predicted cost of each class."""
        if self.by_class:
            return {label: number_of(self.members[None], self._features(x, label)) for label in x}
        return {label: number_of(member, x) for label, member in self.members.items()}

    def predict_costs_many(self, X: Any) -> npt.NDArray[np.float64]:
        """The predicted costs of rows: a column for each class, in the order of `classes`."""
        if self.by_class:
            raise InvalidType(f"{self._who}: with by_class=True, examples are predicted one by one")
        columns = [np.asarray(member.predict_many(X), dtype=np.float64) for member in self.members.values()]
        return np.column_stack(columns) if columns else np.empty((len(X), 0))

    def predict_many(self, X: Any) -> Any:
        """Predict rows, exactly as `predict_one` would."""
        costs, classes = self.predict_costs_many(X), self.classes
        if not classes:
            return _frames.pack_answers([None] * len(costs))
        return _frames.pack_answers([classes[place] for place in costs.argmin(1)])

    def predict_one(self, x: Features, classes: Iterable[Label] | None = None) -> Label | None:
        """The class of the lowest predicted cost, of all or of some `classes`; None if there is none."""
        costs = self.predict_costs_one(x)
        if classes is not None:
            costs = {label: costs[label] for label in classes if label in costs}
        return min(costs, key=costs.__getitem__) if costs else None
