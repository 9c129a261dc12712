"""Decision trees that grow from a stream, one example at a time."""

from typing import TYPE_CHECKING

from millstream._other_names import unknown_name
from millstream.tree.adaptive import ExtremelyFastDecisionTreeClassifier, HoeffdingAdaptiveTreeClassifier
from millstream.tree.hoeffding import HoeffdingTreeClassifier
from millstream.tree.regression import HoeffdingAdaptiveTreeRegressor, HoeffdingTreeRegressor

__all__ = [
    "ExtremelyFastDecisionTreeClassifier",
    "HoeffdingAdaptiveTreeClassifier",
    "HoeffdingAdaptiveTreeRegressor",
    "HoeffdingTreeClassifier",
    "HoeffdingTreeRegressor",
]

if not TYPE_CHECKING:
    __getattr__ = unknown_name(__name__)
