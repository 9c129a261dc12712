"""Exponential smoothing."""

from __future__ import annotations

from millstream.time_series.native import NativeForecaster

__all__ = ["HoltWinters"]


class HoltWinters(NativeForecaster):
    """Exponential smoothing of the level, of a trend and of seasons. A good first choice for a regular series.

    With `smoothing_level` alone it is simple exponential smoothing, for a series without a trend.
    `smoothing_trend` adds a trend (Holt), and `smoothing_seasonal` with `period` adds seasons (Winters): additive
    ones for swings of constant size, multiplicative ones for swings that grow with the level. Memory and the time
    of a step are small and constant.

    The first max(2, period) values initialise it; until then the forecast is their mean. River uses the same
    equations, but its initial additive seasons are ratios to the level instead of differences, so its first
    forecasts with additive seasons differ.

    Parameters
    ----------
    smoothing_level
        Weight of the newest value in the level, in (0, 1]; closer to 1 forgets faster. Also `alpha`.
    smoothing_trend
        Weight of the newest change in the trend, in [0, 1]; None for no trend. Also `beta`.
    smoothing_seasonal
        Weight of the newest value in its season, in [0, 1]; None for no seasons. Also `gamma`.
    period
        Number of time steps per season cycle, such as 12 for monthly data; None or 0 for none. Also
        `seasonality`.
    multiplicative
        Whether to multiply the level by the seasons instead of adding them. All values must be positive.
    damping
        Factor of the trend per time step, in (0, 1]; below 1 the trend levels off, which is safer for long
        horizons.

    Examples
    --------
    >>> from millstream import time_series
    >>> sales = [30, 21, 29, 47, 37, 27, 34, 53, 40, 30, 39, 58]
    >>> model = time_series.HoltWinters(0.5, 0.1, 0.3, period=4)
    >>> model.learn_many(sales)
    0
    >>> model.forecast(horizon=4).round(1).tolist()
    [48.6, 40.7, 51.4, 72.9]

    References
    ----------
    Holt, C. C. (1957). Forecasting seasonals and trends by exponentially weighted moving averages. Reprinted in
    International Journal of Forecasting, 20(1), 5-10, 2004.

    Winters, P. R. (1960). Forecasting sales by exponentially weighted moving averages. Management Science, 6(3),
    324-342.

    Gardner, E. S. and McKenzie, E. (1985). Forecasting trends in time series. Management Science, 31(10),
    1237-1246.
    """

    name = "time_series.HoltWinters"
    aliases = {
        "alpha": "smoothing_level",
        "beta": "smoothing_trend",
        "gamma": "smoothing_seasonal",
        "seasonality": "period",
    }

    def __init__(
        self,
        smoothing_level: float,
        smoothing_trend: float | None = None,
        smoothing_seasonal: float | None = None,
        period: int | None = None,
        multiplicative: bool = False,
        damping: float = 1.0,
    ) -> None:
        super().__init__(
            smoothing_level=smoothing_level,
            smoothing_trend=smoothing_trend,
            smoothing_seasonal=smoothing_seasonal,
            # River's default.
            period=None if type(period) is int and period == 0 else period,
            multiplicative=multiplicative,
            damping=damping,
        )
