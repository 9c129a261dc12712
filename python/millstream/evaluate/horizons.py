"""River's functions for the evaluation of forecasters."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from millstream._echo import quoted
from millstream.errors import InvalidValue
from millstream.time_series.horizon_metrics import HorizonAggMetric, HorizonMetric

__all__ = ["evaluate", "iter_evaluate"]


def iter_evaluate(
    dataset: Iterable[tuple[Any, float]],
    model: Any,
    metric: Any,
    horizon: int,
    agg_func: Callable[[list[float]], float] | None = None,
) -> Iterator[tuple[Any, float, list[float], HorizonMetric]]:
    """Evaluate a forecaster step by step, with the signature of River's function of the same name.

    The first `horizon` values are learned only. From then on, after each value is learned, the next `horizon`
    values are forecast and scored. Yields the features, the value, the forecasts and the metric.

    Parameters
    ----------
    dataset
        Pairs of features and a value, in the order of time.
    model
        A forecaster, which learns in place.
    metric
        A metric of numbers, which is cloned for each step.
    horizon
        Number of steps ahead.
    agg_func
        Function from the values of all steps to a number; None for a metric of each step.
    """
    if isinstance(horizon, bool) or not isinstance(horizon, int) or horizon < 1:
        raise InvalidValue(f"evaluate.evaluate: horizon must be an integer >= 1, got {quoted(horizon)}")
    scored = _by_step(metric, agg_func)
    ahead: deque[tuple[Any, float]] = deque()
    for place, row in enumerate(dataset):
        ahead.append(row)
        if place < horizon:
            continue
        x, y = ahead.popleft()
        model.learn_one(y, x)
        if place < 2 * horizon:
            continue
        forecast = list(model.forecast(horizon, [features for features, _ in ahead]))
        scored.update([value for _, value in ahead], forecast)
        yield x, y, forecast, scored


def evaluate(
    dataset: Iterable[tuple[Any, float]],
    model: Any,
    metric: Any,
    horizon: int,
    agg_func: Callable[[list[float]], float] | None = None,
) -> HorizonMetric:
    """Evaluate a forecaster, with the signature of River's function of the same name.

    Use it to port scripts; `evaluate.forecast` compares several forecasters and returns more. River forecasts
    before it learns the value of the origin, so it scores each forecast against the value one step too late. Here,
    the value is learned first.

    Parameters
    ----------
    dataset
        Pairs of features and a value, in the order of time.
    model
        A forecaster, which learns in place.
    metric
        A metric of numbers, which is cloned for each step.
    horizon
        Number of steps ahead.
    agg_func
        Function from the values of all steps to a number; None for a metric of each step.

    Examples
    --------
    >>> from millstream import evaluate, metrics, time_series
    >>> series = [({}, float(10 + n % 4)) for n in range(40)]
    >>> evaluate.evaluate(series, time_series.SeasonalNaive(4), metrics.MAE(), horizon=2)
    +1 MAE: 0.027778
    +2 MAE: 0
    """
    scored = _by_step(metric, agg_func)
    for *_, latest in iter_evaluate(dataset, model, metric, horizon, agg_func):
        scored = latest
    return scored


def _by_step(metric: Any, agg_func: Callable[[list[float]], float] | None) -> HorizonMetric:
    """The metric of each step ahead, or their summary."""
    return HorizonMetric(metric) if agg_func is None else HorizonAggMetric(metric, agg_func)
