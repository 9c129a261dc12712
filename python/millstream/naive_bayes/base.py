"""What the naive Bayes models of counts have in common."""

from __future__ import annotations

import math
from typing import Any

from millstream._native import Native
from millstream.base import Classifier, Label

__all__ = ["Counting"]


class Counting(Native, Classifier):
    """Base class of naive Bayes models that count."""

    @property
    def class_counts(self) -> dict[Label, float]:
        """The sum of weights of each class."""
        return {label: known["count"] for label, known in self._known(self._numbers())}

    @property
    def class_log_prior(self) -> dict[Label, float]:
        """The logarithm of the prior probability of each class."""
        return {label: known["log_prior"] for label, known in self._known(self._numbers())}

    def p_class(self, c: Label) -> float:
        """The prior probability of a class."""
        return math.exp(self.class_log_prior.get(c, -math.inf))

    def _known(self, told: Any) -> list[tuple[Label, dict[str, Any]]]:
        """The classes with examples, each with its part of `inspect()`."""
        labels = self._labels()
        return [(labels[known["code"]], known) for known in told["classes"]]
