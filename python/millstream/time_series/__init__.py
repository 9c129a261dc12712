"""Forecasters: they learn a series value by value and forecast the next ones at any moment.

    model.learn_one(y)
    model.forecast(horizon=12)

A series is regular: each value is one time step after the one before. `evaluate.forecast` measures the error of a
forecaster at each step of the horizon.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream._other_names import unknown_name
from millstream.time_series.base import Forecaster
from millstream.time_series.horizon_metrics import HorizonAggMetric, HorizonMetric
from millstream.time_series.naive import SeasonalNaive
from millstream.time_series.smoothing import HoltWinters

__all__ = ["Forecaster", "HoltWinters", "HorizonAggMetric", "HorizonMetric", "SeasonalNaive"]

if not TYPE_CHECKING:
    __getattr__ = unknown_name(__name__)
