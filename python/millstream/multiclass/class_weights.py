"""Weights of classes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from millstream._echo import quoted, typed
from millstream._examples import check_example
from millstream._part import shown_part
from millstream.base import Classifier, Features, Label, Model
from millstream.compose.reduction import Reduction
from millstream.errors import InvalidType, InvalidValue
from millstream.roles import CLASSIFIER, role_of

__all__ = ["ClassWeights"]

_WHO = "multiclass.ClassWeights"


class ClassWeights(Reduction, Classifier):
    """Weights examples by their class, so that rare or costly classes have more influence on a classifier.

    Each example is learned with its weight times that of its class. Given costs of errors, use weights
    proportional to the cost of missing a class; with `"balanced"`, all classes have the same total weight.
    Predicted probabilities are those of the weighted classes: rare classes are predicted more often than they
    occur.

    Parameters
    ----------
    model
        The classifier: any native model or pipeline, or your own classifier in Python, which learns in place.
    weights
        Weight of each class; classes without one have weight 1. `"balanced"`: the number of examples so far,
        divided by the number of classes and by the number of examples of the class.

    Examples
    --------
    >>> from millstream import linear_model, multiclass
    >>> rows = [({"x": float(index % 10)}, index % 10 == 9) for index in range(1000)]
    >>> plain, weighted = (
    ...     linear_model.LogisticRegression(),
    ...     multiclass.ClassWeights(linear_model.LogisticRegression(), {True: 30.0}),
    ... )
    >>> for x, y in rows:
    ...     plain.learn_one(x, y)
    ...     weighted.learn_one(x, y)
    >>> weighted.predict_proba_one({"x": 8.0})[True] > plain.predict_proba_one({"x": 8.0})[True]
    True

    References
    ----------
    King, G. and Zeng, L. (2001). Logistic regression in rare events data.
    """

    def __init__(self, model: Any, weights: Mapping[Label, float] | str = "balanced") -> None:
        if isinstance(model, type) or not isinstance(model, Model) or role_of(model) is not CLASSIFIER:
            raise InvalidType(f"{_WHO}: model must be a classifier, got {shown_part(model)}")
        self.model: Any = model
        self.weights = weights if weights == "balanced" else _checked(weights)
        #: The weight of the examples of each class so far.
        self.counts: dict[Label, float] = {}
        self._start()

    @property
    def classes(self) -> list[Label]:
        """The classes so far."""
        return list(self.counts)

    def weight_of(self, y: Label) -> float:
        """The weight of the next example of a class."""
        if isinstance(self.weights, Mapping):
            return float(self.weights.get(y, 1.0))
        counts = {**self.counts, y: self.counts.get(y, 0.0) + 1.0}
        return sum(counts.values()) / (len(counts) * counts[y])

    def learn_one(self, x: Features, y: Any = None, w: float = 1.0) -> None:
        """Learn one example with its weight times that of its class."""
        check_example(_WHO, self.role, y, w)
        if w == 0.0:
            return
        weight = w * self.weight_of(y)
        if weight > 0.0:
            self._teach([(self.model, x, y, weight)])
        self.counts[y] = self.counts.get(y, 0.0) + w

    def predict_one(self, x: Features) -> Label | None:
        """Predict one example."""
        return self.model.predict_one(x)  # type: ignore[no-any-return]

    def predict_proba_one(self, x: Features) -> dict[Label, float]:
        """The probability of each class for one example, as weighted."""
        return self.model.predict_proba_one(x)  # type: ignore[no-any-return]

    def predict_many(self, X: Any) -> Any:
        """Predict rows, exactly as `predict_one` would."""
        return self.model.predict_many(X)

    def predict_proba_many(self, X: Any) -> Any:
        """Probabilities of rows, as those of the model."""
        return self.model.predict_proba_many(X)


def _checked(weights: Any) -> dict[Label, float]:
    if not isinstance(weights, Mapping):
        raise InvalidType(
            f'{_WHO}: weights must be "balanced" or a dict of weights by class, got {typed(weights)}'
        )
    for label, weight in weights.items():
        if isinstance(weight, (bool, str, bytes)) or not hasattr(weight, "__float__"):
            raise InvalidType(f"{_WHO}: the weight of {quoted(label)} must be a number, got {typed(weight)}")
        if not 0.0 <= float(weight) < math.inf:
            raise InvalidValue(
                f"{_WHO}: the weight of {quoted(label)} must be finite and not negative, got {weight}"
            )
    return {label: float(weight) for label, weight in weights.items()}
