"""Anomaly detectors: they learn what is normal, without targets, and score how unusual a row is.

`score_one` is higher for more unusual rows. `QuantileFilter` and `ThresholdFilter` turn the score of a detector
into a decision, and keep later steps of a pipeline from learning anomalies.
"""

from typing import TYPE_CHECKING

from millstream._other_names import unknown_name
from millstream.anomaly.filters import QuantileFilter, ThresholdFilter
from millstream.anomaly.gaussian import GaussianScorer
from millstream.anomaly.half_space_trees import HalfSpaceTrees

__all__ = ["GaussianScorer", "HalfSpaceTrees", "QuantileFilter", "ThresholdFilter"]

if not TYPE_CHECKING:
    __getattr__ = unknown_name(__name__)
