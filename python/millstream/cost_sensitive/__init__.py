"""Classification by costs: each example has a cost for each class, or for some of them.

A cost may be any finite number; lower is better. Costs that are not given are unknown, not 0. If a mistake costs
the same for all examples of a class, `ClassWeights` around any classifier is enough.
"""

from __future__ import annotations

from millstream.cost_sensitive.pairwise import PairwiseCosts
from millstream.cost_sensitive.regression import CostRegression
from millstream.multiclass.class_weights import ClassWeights

__all__ = ["ClassWeights", "CostRegression", "PairwiseCosts"]
