"""The baseline of forecasting."""

from __future__ import annotations

from millstream._part import forwarded
from millstream.time_series.native import NativeForecaster

__all__ = ["SeasonalNaive"]


class SeasonalNaive(NativeForecaster):
    """The value one period ago; with period 1 the last value. The baseline of forecasting.

    Within the first period, a step whose season has not occurred yet is forecast by the last value. Memory grows
    with the period.

    Parameters
    ----------
    period
        Number of time steps per season cycle, such as 12 for monthly data; 1 forecasts the last value.

    Examples
    --------
    >>> from millstream import time_series
    >>> model = time_series.SeasonalNaive(period=4)
    >>> model.learn_many([30, 21, 29, 47, 37, 27])
    0
    >>> model.forecast(horizon=6).tolist()
    [29.0, 47.0, 37.0, 27.0, 29.0, 47.0]

    References
    ----------
    Hyndman, R. J. and Athanasopoulos, G. (2021). Forecasting: principles and practice, 3rd edition, section 5.2.
    """

    name = "time_series.SeasonalNaive"

    @forwarded
    def __init__(self, period: int = 1) -> None: ...
