"""A classifier of each pair of classes."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any

from millstream import _frames
from millstream._echo import quoted, typed
from millstream.base import Features, Label
from millstream.cost_sensitive.base import CostSensitive
from millstream.cost_sensitive.tables import cost_table
from millstream.errors import InvalidType, InvalidValue, MillstreamError
from millstream.roles import CLASSIFIER

__all__ = ["PairwiseCosts", "integrated"]


class PairwiseCosts(CostSensitive):
    """One classifier per pair of classes; the class that wins most comparisons is chosen.

    This is the weighted all-pairs reduction (`--wap` of Vowpal Wabbit). The classifier of a pair learns which of
    both has the lower cost, weighted by the difference of `v`, an integral over the number of classes that are at
    most as expensive: with costs in increasing order, `v(k) = v(k - 1) + (cost(k) - cost(k - 1)) / (k - 1)`. The
    cost of the reduction is at most twice the regret of the classifiers. Choose it over `CostRegression` if costs
    are hard to predict but their order is not. Pairs of which one cost is unknown are not learned.

    With `by_class=True`, each class has features of its own, and one classifier is shared by all pairs. It learns
    the differences of their numbers: whether the first class is the cheaper one.

    Parameters
    ----------
    model
        Classifier of a pair: any native model or pipeline, or your own classifier in Python, which is cloned for
        each pair.
    by_class
        Whether x is a dict of features by class, for one classifier that is shared by all pairs.

    Examples
    --------
    >>> from millstream import cost_sensitive, linear_model
    >>> model = cost_sensitive.PairwiseCosts(linear_model.LogisticRegression("adaptive"))
    >>> for x in [0.0, 0.2, 0.8, 1.0] * 50:
    ...     model.learn_one({"x": x}, {"stay": 1.0 - x, "go": x, "wait": 0.6})
    >>> model.predict_one({"x": 0.1}), model.predict_one({"x": 0.9})
    ('go', 'stay')

    References
    ----------
    Beygelzimer, A., Dani, V., Hayes, T., Langford, J. and Zadrozny, B. (2005). Error limiting reductions between
    classification tasks, section 6.
    """

    _member_role = CLASSIFIER
    _who = "cost_sensitive.PairwiseCosts"

    def __init__(self, model: Any, by_class: bool = False) -> None:
        self._check_model(model)
        self.model, self.by_class = model, bool(by_class)
        #: The classes so far, in the order of their first example; none with `by_class`.
        self.classes: list[Label] = []
        #: The classifier of each pair of classes, by their order; with `by_class` one, under None.
        self.members: dict[Any, Any] = {None: model.clone()} if self.by_class else {}
        self._start()

    def learn_one(self, x: Features, costs: Mapping[Any, float], w: float = 1.0) -> None:
        """Learn the costs of one example."""
        given, weight = self._costs(costs), self._weight(w)
        if weight == 0.0:
            return
        # Not in the order of costs, in which the first class of a pair would always be the cheaper one.
        labels, values = list(given), integrated(given)
        known = self.classes + [label for label in labels if not self.by_class and label not in self.classes]
        order = {label: index for index, label in enumerate(labels if self.by_class else known)}
        labels.sort(key=order.__getitem__)
        lessons, new = [], {}
        for index, a in enumerate(labels):
            for b in labels[index + 1 :]:
                importance = abs(values[a] - values[b]) * weight
                if importance == 0.0:
                    continue
                key = None if self.by_class else (a, b)
                if key not in self.members:
                    new[key] = self.model.clone()
                member = self.members[key] if key in self.members else new[key]
                lessons.append((member, self._pair(x, a, b), values[a] < values[b], importance))
        self._teach(lessons)
        self.members |= new
        self.classes = [] if self.by_class else known

    def learn_many(self, X: Any, costs: Any, w: Any = None, *, classes: Iterable[Label] | None = None) -> None:
        """Learn many examples, exactly as `learn_one` would; an error changes nothing.

        `X`, `costs` and `classes` are those of `CostRegression.learn_many`: rows, and a matrix, a frame or a list
        of dicts of costs, with NaN for unknown ones. With `by_class=True`, `X` is a list of dicts by class.
        """
        self._run_many(X, costs, w, classes, predict=False)

    def step_many(self, X: Any, costs: Any, w: Any = None, *, classes: Iterable[Label] | None = None) -> Any:
        """Predict each row, then learn it. Returns the predicted classes, each from before its row was learned."""
        return self._run_many(X, costs, w, classes, predict=True)

    def _run_many(self, X: Any, costs: Any, w: Any, classes: Any, *, predict: bool) -> Any:
        labels, table = cost_table(self._who, costs, classes, self._costs)
        weights = [1.0] * len(table) if w is None else [self._weight(one) for one in w]
        rows = list(X) if self.by_class else list(_frames.dicts(X))
        for what, count in (("w", len(weights)), ("X", len(rows))):
            if count != len(table):
                raise InvalidValue(f"{self._who}: {what} has {count} rows and costs has {len(table)}")
        before, answers = copy.deepcopy(self), []
        try:
            for place, (x, row, weight) in enumerate(zip(rows, table.tolist(), weights, strict=True)):
                try:
                    if predict:
                        answers.append(self.predict_one(x))
                    known = {label: cost for label, cost in zip(labels, row, strict=True) if cost == cost}
                    if known:
                        self.learn_one(x, known, weight)
                except MillstreamError as error:
                    error.at_row(place)
                    raise
        except BaseException:
            self.__dict__.update(before.__dict__)
            raise
        return _frames.pack_answers(answers) if predict else None

    def predict_many(self, X: Any) -> Any:
        """Predict rows, exactly as `predict_one` would."""
        rows = X if self.by_class else _frames.dicts(X)
        return _frames.pack_answers([self.predict_one(x) for x in rows])

    def _pair(self, x: Any, a: Label, b: Label) -> Features:
        """The features of a pair: those of the example, or the differences of those of both classes."""
        if not self.by_class:
            return x  # type: ignore[no-any-return]
        for label in (a, b):
            if not isinstance(x, Mapping) or not isinstance(x.get(label), Mapping):
                raise InvalidType(f"{self._who}: x must have a dict of features for class {quoted(label)}")
        return differences(self._who, x[a], x[b])

    def predict_wins_one(self, x: Features) -> dict[Label, float]:
        """The expected number of other classes that are more expensive than a class."""
        labels = list(x) if self.by_class else self.classes
        wins: dict[Label, float] = dict.fromkeys(labels, 0.0)
        for index, a in enumerate(labels):
            for b in labels[index + 1 :]:
                member = self.members.get(None if self.by_class else (a, b))
                first = 0.5 if member is None else _probability(member, self._pair(x, a, b))
                wins[a] += first
                wins[b] += 1.0 - first
        return wins

    def predict_one(self, x: Features, classes: Iterable[Label] | None = None) -> Label | None:
        """The class that wins most comparisons, of all or of some `classes`; None if there is none."""
        wins = self.predict_wins_one(x)
        if classes is not None:
            wins = {label: wins[label] for label in classes if label in wins}
        return max(wins, key=wins.__getitem__) if wins else None


def integrated(costs: Mapping[Any, float]) -> dict[Label, float]:
    """`v` of each class: from the lowest cost to its own, the integral of 1 over the number of cheaper classes."""
    ordered = sorted(costs, key=costs.__getitem__)
    values, value = {}, 0.0
    for index, label in enumerate(ordered):
        if index:
            value += (costs[label] - costs[ordered[index - 1]]) / index
        values[label] = value
    return values


def differences(who: str, a: Mapping[Any, Any], b: Mapping[Any, Any]) -> dict[Any, float]:
    """The differences of the numbers of two dicts; an absent number is 0."""
    for name, value in (*a.items(), *b.items()):
        if isinstance(value, (str, bytes)) or not hasattr(value, "__float__"):
            raise InvalidType(f"{who}: features of classes must be numbers, got {typed(value)} for {quoted(name)}")
    return {name: float(a.get(name, 0.0)) - float(b.get(name, 0.0)) for name in {**a, **b}}


def _probability(member: Any, x: Features) -> float:
    """The probability of True; one half before anything was learned."""
    found = member.predict_proba_one(x)
    return float(found.get(True, 1.0 - found.get(False, 0.5)))
