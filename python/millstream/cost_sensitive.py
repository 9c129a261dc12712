"""Classification by costs: each example has a cost for each class, or for some of them.

A cost may be any finite number; lower is better. Costs that are not given are unknown, not 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from millstream._answers import number_of
from millstream._echo import quoted, typed
from millstream._part import shown_part
from millstream.base import Features, Label, Model
from millstream.compose.reduction import Reduction
from millstream.errors import InvalidType, InvalidValue
from millstream.roles import CLASSIFIER, REGRESSOR, Role, role_of

__all__ = ["CostRegression", "PairwiseCosts"]


class CostSensitive(Reduction):
    """What the reductions have in common: costs by class, and features that belong to a class."""

    #: The role of a member.
    _member_role: Role
    _who: str

    def _check_model(self, model: Any) -> None:
        if isinstance(model, type) or not isinstance(model, Model) or role_of(model) is not self._member_role:
            word = "a regressor" if self._member_role is REGRESSOR else "a classifier"
            raise InvalidType(f"{self._who}: model must be {word}, got {shown_part(model)}")

    def _costs(self, costs: Any) -> dict[Label, float]:
        if not isinstance(costs, Mapping) or not costs:
            raise InvalidType(f"{self._who}: costs must be a dict of numbers by class, got {typed(costs)}")
        found = {}
        for label, cost in costs.items():
            if isinstance(cost, (bool, str, bytes)) or not hasattr(cost, "__float__"):
                raise InvalidType(f"{self._who}: the cost of {quoted(label)} must be a number, got {typed(cost)}")
            number = float(cost)
            if not math.isfinite(number):
                raise InvalidValue(f"{self._who}: the cost of {quoted(label)} must be finite, got {number}")
            found[label] = number
        return found

    def _weight(self, w: Any) -> float:
        if isinstance(w, (bool, str, bytes)) or not hasattr(w, "__float__"):
            raise InvalidType(f"{self._who}: the weight must be a number, got {typed(w)}")
        if not 0.0 <= float(w) < math.inf:
            raise InvalidValue(f"{self._who}: the weight must be finite and not negative, got {w}")
        return float(w)


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

    def predict_one(self, x: Features, classes: Iterable[Label] | None = None) -> Label | None:
        """The class of the lowest predicted cost, of all or of some `classes`; None if there is none."""
        costs = self.predict_costs_one(x)
        if classes is not None:
            costs = {label: costs[label] for label in classes if label in costs}
        return min(costs, key=costs.__getitem__) if costs else None


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
