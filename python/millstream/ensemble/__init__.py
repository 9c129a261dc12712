"""Ensembles: members that learn the same examples, each in its own way, and predict together.

Members may be native learners, pipelines, or your own classes in Python. Native members are distributed over
threads, with results that are bit-identical to those of one thread and one example at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream._other_names import unknown_name
from millstream.ensemble.bagging import Bagging, BaggingClassifier, BaggingRegressor
from millstream.ensemble.boosting import AdaBoost, AdaBoostClassifier
from millstream.ensemble.leveraging import (
    ADWINBagging,
    ADWINBaggingClassifier,
    LeveragingBagging,
    LeveragingBaggingClassifier,
)
from millstream.ensemble.patches import SRPClassifier, SRPRegressor
from millstream.ensemble.stacking import Stacking, StackingClassifier, StackingRegressor
from millstream.ensemble.voting import Voting, VotingClassifier, VotingRegressor, WeightedMajority

__all__ = [
    "ADWINBagging",
    "ADWINBaggingClassifier",
    "AdaBoost",
    "AdaBoostClassifier",
    "Bagging",
    "BaggingClassifier",
    "BaggingRegressor",
    "LeveragingBagging",
    "LeveragingBaggingClassifier",
    "SRPClassifier",
    "SRPRegressor",
    "Stacking",
    "StackingClassifier",
    "StackingRegressor",
    "Voting",
    "VotingClassifier",
    "VotingRegressor",
    "WeightedMajority",
]

if not TYPE_CHECKING:
    __getattr__ = unknown_name(__name__)
