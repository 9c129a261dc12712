"""How linear learners show their weights."""

from __future__ import annotations

from typing import Any

from millstream._native import Native
from millstream.base import Classifier, Label
from millstream.verbs import Scores

__all__ = ["Margin", "OnePlane"]


class OnePlane(Native):
    """A learner with one weight vector."""

    @property
    def weights(self) -> dict[str, Any]:
        """The weight of each feature; of a nominal one, the weight of each of its values."""
        return self.inspect()["weights"]  # type: ignore[no-any-return]

    @property
    def bias(self) -> float:
        """The constant term."""
        return self._numbers()["intercept"]  # type: ignore[no-any-return]


class Margin(Native, Scores, Classifier):
    """A classifier that learns from the margin of an example: what its kind share.

    Of two classes there is one weight vector, and a positive score is the second class. From the third class on
    there is one for each, and the true class and its strongest rival move. Probabilities are the logistic function
    of the score, or the softmax of scores: they rank examples, and are not calibrated.
    """

    @property
    def weights(self) -> dict[Any, Any]:
        """The weight of each feature (of a nominal one, of each of its values); of several classes, by class."""
        return self._of_planes(self.inspect(), "weights", {})  # type: ignore[no-any-return]

    @property
    def bias(self) -> float | dict[Label, float]:
        """The constant term; of several classes, by class."""
        return self._of_planes(self._numbers(), "intercept", 0.0)  # type: ignore[no-any-return]

    def _of_planes(self, told: Any, what: str, nothing: Any) -> Any:
        planes = told["planes"]
        if len(planes) < 2:
            return planes[0][what] if planes else nothing
        named = zip(self._labels(), planes, strict=False)
        return {label: plane[what] for label, plane in named if label is not None}
