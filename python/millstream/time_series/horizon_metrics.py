"""Metrics of forecasts, by the number of steps ahead."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from millstream._echo import quoted
from millstream.errors import InvalidType

__all__ = ["HorizonAggMetric", "HorizonMetric"]


class HorizonMetric:
    """A metric for each step ahead.

    Parameters
    ----------
    metric
        A metric of numbers, which is cloned for each step.

    Examples
    --------
    >>> from millstream import metrics, time_series
    >>> metric = time_series.HorizonMetric(metrics.MAE())
    >>> metric.update([1.0, 2.0], [1.5, 4.0])
    >>> metric
    +1 MAE: 0.5
    +2 MAE: 2
    """

    def __init__(self, metric: Any) -> None:
        if not hasattr(metric, "update") or not hasattr(metric, "clone"):
            raise InvalidType(f"time_series.{type(self).__name__}: metric must be a metric, got {quoted(metric)}")
        self.metric = metric
        #: The metric of each step.
        self.metrics: list[Any] = []

    def update(self, y_true: Iterable[float], y_pred: Iterable[float]) -> None:
        """Score the forecasts of one origin."""
        pairs, fresh = list(zip(y_true, y_pred, strict=False)), self.metric.clone()
        for truth, predicted in pairs:
            # If a forecast cannot be scored, none is.
            fresh.update(truth, predicted)
        for step, (truth, predicted) in enumerate(pairs):
            if step == len(self.metrics):
                self.metrics.append(self.metric.clone())
            self.metrics[step].update(truth, predicted)

    def get(self) -> Any:
        """The value of each step."""
        return [metric.get() for metric in self.metrics]

    def __repr__(self) -> str:
        wide = len(f"+{len(self.metrics)}")
        return "\n".join(f"{f'+{step}':<{wide}} {metric}" for step, metric in enumerate(self.metrics, 1))


class HorizonAggMetric(HorizonMetric):
    """A metric for each step ahead, aggregated to one number, such as their mean.

    Parameters
    ----------
    metric
        A metric of numbers, which is cloned for each step.
    agg_func
        Function from the values of all steps to a number, such as `statistics.mean`.

    Examples
    --------
    >>> import statistics
    >>> from millstream import metrics, time_series
    >>> metric = time_series.HorizonAggMetric(metrics.MAE(), statistics.mean)
    >>> metric.update([1.0, 2.0], [1.5, 4.0])
    >>> metric
    mean(MAE): 1.25
    """

    def __init__(self, metric: Any, agg_func: Callable[[list[float]], float]) -> None:
        super().__init__(metric)
        self.agg_func = agg_func

    def get(self) -> float:
        """The aggregate of the values of all steps."""
        return self.agg_func(super().get())

    def __repr__(self) -> str:
        name = getattr(self.agg_func, "__name__", type(self.agg_func).__name__)
        return f"{name}({type(self.metric).__name__}): {f'{self.get():,.6f}'.rstrip('0').rstrip('.')}"
