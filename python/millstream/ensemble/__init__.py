"""Ensembles: members that learn the same examples each in its own way, and answer together.

Over any learner: a native one, a pipeline, or a class of your own in Python. Members of native learners are spread
over threads, with results that are bit for bit those of one thread and of one example at a time.
"""

from __future__ import annotations

from millstream.ensemble.bagging import Bagging, BaggingClassifier, BaggingRegressor
from millstream.ensemble.leveraging import (
    ADWINBagging,
    ADWINBaggingClassifier,
    LeveragingBagging,
    LeveragingBaggingClassifier,
)

__all__ = [
    "ADWINBagging",
    "ADWINBaggingClassifier",
    "Bagging",
    "BaggingClassifier",
    "BaggingRegressor",
    "LeveragingBagging",
    "LeveragingBaggingClassifier",
]
