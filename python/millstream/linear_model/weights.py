"""Access to the weights of linear learners."""

from __future__ import annotations

from typing import Any

from millstream._native import Native
from millstream.base import Classifier, Label
from millstream.verbs import Scores

__all__ = ["MarginClassifier", "SingleVector"]


class SingleVector(Native):
    """A learner with one weight vector."""

    @property
    def weights(self) -> dict[str, Any]:
        """The weight of each feature; of a nominal one, the weight of each of its values."""
        return self.inspect()["weights"]  # type: ignore[no-any-return]

    @property
    def bias(self) -> float:
        """The intercept."""
        return self._numbers()["intercept"]  # type: ignore[no-any-return]


class MarginClassifier(Native, Scores, Classifier):
    """Base class of classifiers that learn from the margin of an example.

    With two classes there is one weight vector, and a positive score predicts the second class. From the third
    class on there is one per class, and the weights of the true class and its strongest rival are updated.
    Probabilities are the logistic function of the score, or the softmax of the scores: they rank examples but are
    not calibrated.
    """

    @property
    def weights(self) -> dict[Any, Any]:
        """The weight of each feature (of a nominal one, of each of its values); with several classes, by class."""
        return self._of_vectors(self.inspect(), "weights", {})  # type: ignore[no-any-return]

    @property
    def bias(self) -> float | dict[Label, float]:
        """The intercept; with several classes, by class."""
        return self._of_vectors(self._numbers(), "intercept", 0.0)  # type: ignore[no-any-return]

    def _of_vectors(self, told: Any, what: str, nothing: Any) -> Any:
        vectors = told["planes"]
        if len(vectors) < 2:
            return vectors[0][what] if vectors else nothing
        named = zip(self._labels(), vectors, strict=False)
        return {label: vector[what] for label, vector in named if label is not None}
