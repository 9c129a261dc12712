"""Several metrics that are updated together, as `metrics.Accuracy() + metrics.LogLoss()`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["Metrics"]


class Metrics(list[Any]):
    """A list of metrics that receive the same outcomes; `a + b` of two metrics makes one.

    `evaluate.prequential` accepts it as it accepts a list of metrics.

    Parameters
    ----------
    metrics
        The metrics.

    Examples
    --------
    >>> from millstream import metrics
    >>> both = metrics.Accuracy() + metrics.LogLoss()
    >>> both.update(True, {True: 0.8, False: 0.2})
    >>> both
    Accuracy: 100.00%
    LogLoss: 0.223144
    """

    def __init__(self, metrics: Iterable[Any]) -> None:
        super().__init__()
        for metric in metrics:
            if isinstance(metric, Metrics):
                self.extend(metric)
            else:
                self.append(metric)

    def update(self, y_true: Any, y_pred: Any, w: float = 1.0) -> None:
        """Score one prediction with each metric."""
        for metric in self:
            metric.update(y_true, y_pred, w)

    def get(self) -> list[float]:
        """The value of each metric."""
        return [metric.get() for metric in self]

    def __add__(self, other: Any) -> Metrics:
        return Metrics([*self, *(other if isinstance(other, list) else [other])])

    def __repr__(self) -> str:
        return "\n".join(map(repr, self))
