"""Classification by costs: each example has a cost for each class, or for some of them.

A cost may be any finite number; lower is better. Costs that are not given are unknown, not 0.
"""

from __future__ import annotations

from millstream.cost_sensitive.pairwise import PairwiseCosts
from millstream.cost_sensitive.regression import CostRegression

__all__ = ["CostRegression", "PairwiseCosts"]
