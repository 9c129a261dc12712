"""Learners of one's own that answer what no model should, for those who go on with their answers."""

from __future__ import annotations

import math
from typing import Any

from millstream import base

__all__ = ["NO_PROBABILITIES", "Odd", "OddNumber"]


class Odd(base.Classifier):
    """Answers what it is told to, of a row with a large "a"."""

    def __init__(self, answer: Any = None) -> None:
        self.answer, self.seen = answer, 0

    def learn_one(self, x: Any, y: Any = None, w: float = 1.0) -> None:
        self.seen += 1

    def predict_proba_one(self, x: Any) -> Any:
        return self.answer if x.get("a", 0.0) > 5.0 else {0: 0.25, 1: 0.75}


class OddNumber(base.Regressor):
    """Answers what it is told to, of a row with a large "a"."""

    def __init__(self, answer: Any = None) -> None:
        self.answer, self.seen = answer, 0

    def learn_one(self, x: Any, y: Any = None, w: float = 1.0) -> None:
        self.seen += 1

    def predict_one(self, x: Any) -> Any:
        return self.answer if x.get("a", 0.0) > 5.0 else 1.0


#: What `Odd` may answer, and what is said of it.
NO_PROBABILITIES: list[tuple[Any, str]] = [
    (None, "must return a dict of probabilities by class, got None"),
    ([0.5, 0.5], r"must return a dict of probabilities by class, got list \[0.5, 0.5\]"),
    ({0: math.nan}, "must return finite probabilities that are not negative, got float nan for class 0"),
    ({0: 0.5, 1: math.inf}, "got float inf for class 1"),
    ({0: 0.5, 1: 10**400}, "must return numbers, got int .* for class 1"),
    ({"a": -0.1}, "got float -0.1 for class 'a'"),
    ({0: "much"}, "must return numbers, got str 'much' for class 0"),
]
