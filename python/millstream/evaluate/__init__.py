"""Evaluation on streams: prequential with delayed labels, of drift detectors, forecasters and policies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream._other_names import unknown_name
from millstream.evaluate.calibration import Calibration
from millstream.evaluate.detection import Detection, DriftResult, ErrorStream, Score, drift
from millstream.evaluate.forecasting import ForecastStep, forecast, iter_forecast
from millstream.evaluate.forecasts import ForecastResult, ForecastResults
from millstream.evaluate.games import Games, Plays
from millstream.evaluate.horizons import evaluate, iter_evaluate
from millstream.evaluate.numenta import NABResult, NABSeries, nab
from millstream.evaluate.over_tasks import ContinualResult, continual
from millstream.evaluate.playing import play
from millstream.evaluate.policy_results import PolicyDifference, PolicyResult, PolicyResults
from millstream.evaluate.policy_run import policies
from millstream.evaluate.prequential import prequential
from millstream.evaluate.progressive import iter_progressive_val_score, progressive_val_score
from millstream.evaluate.residuals import Residuals
from millstream.evaluate.result import Confusion, Result, Results
from millstream.evaluate.weights import Weights

__all__ = [
    "Calibration",
    "Confusion",
    "ContinualResult",
    "Detection",
    "DriftResult",
    "ErrorStream",
    "ForecastResult",
    "ForecastResults",
    "ForecastStep",
    "Games",
    "NABResult",
    "NABSeries",
    "Plays",
    "PolicyDifference",
    "PolicyResult",
    "PolicyResults",
    "Residuals",
    "Result",
    "Results",
    "Score",
    "Weights",
    "continual",
    "drift",
    "evaluate",
    "forecast",
    "iter_evaluate",
    "iter_forecast",
    "iter_progressive_val_score",
    "nab",
    "play",
    "policies",
    "prequential",
    "progressive_val_score",
]

if not TYPE_CHECKING:
    __getattr__ = unknown_name(__name__)
