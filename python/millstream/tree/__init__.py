"""Decision trees that grow from a stream, one example at a time."""

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
