"""Evaluation on streams: prequential with delayed labels, of drift detectors, and of forecasters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream._other_names import unknown_name
from millstream.evaluate.calibration import Calibration
from millstream.evaluate.detection import Detection, DriftResult, ErrorStream, Score, drift
from millstream.evaluate.forecasting import ForecastStep, forecast, iter_forecast
from millstream.evaluate.forecasts import ForecastResult, ForecastResults
from millstream.evaluate.prequential import prequential
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
    "ForecastResult",
    "ForecastResults",
    "ForecastStep",
    "Residuals",
    "Result",
    "Results",
    "Score",
    "Weights",
    "drift",
    "forecast",
    "iter_forecast",
    "prequential",
    "progressive_val_score",
]

if not TYPE_CHECKING:
    __getattr__ = unknown_name(__name__)
