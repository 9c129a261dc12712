"""Test-then-train: predict, score, learn, row by row, with labels that may come late; and detectors judged."""

from __future__ import annotations

from millstream.evaluate.calibration import Calibration
from millstream.evaluate.contest import prequential
from millstream.evaluate.detection import Detection, DriftResult, ErrorStream, Score, drift
from millstream.evaluate.progressive import progressive_val_score
from millstream.evaluate.residuals import Residuals
from millstream.evaluate.result import Confusion, Result, Results
from millstream.evaluate.weights import Weights

__all__ = [
    "Calibration",
    "Confusion",
    "Detection",
    "DriftResult",
    "ErrorStream",
    "Residuals",
    "Result",
    "Results",
    "Score",
    "Weights",
    "drift",
    "prequential",
    "progressive_val_score",
]
