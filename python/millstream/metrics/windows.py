"""Metrics over a sliding window, or with fading weights."""

from __future__ import annotations

from typing import Any

from millstream.metrics.base import Metric

__all__ = ["Fading", "Rolling", "RollingPRAUC", "RollingROCAUC"]


class _Wrapper(Metric):
    @property
    def _format(self) -> str:  # type: ignore[override]
        return str(self.parameters["metric"]._format)

    @property
    def error(self) -> float:
        """Bound on the error of the value; 0 for exact metrics."""
        return self._error() or 0.0

    def _title(self) -> str:
        wrapped = self.describe()["parameters"]["metric"]["name"].rpartition(".")[2]
        return f"{type(self).__name__}({wrapped})"


def _plain(metric: Any) -> Any:
    """The metric; a class, as in River, is instantiated."""
    return metric() if isinstance(metric, type) else metric


class Rolling(_Wrapper):
    """A metric over the last `window_size` outcomes.

    It needs the memory of the window and the time of about three updates. Outcomes of weight 0 are ignored.

    Parameters
    ----------
    metric
        The metric, which restarts.
    window_size
        Number of outcomes in the window.

    Examples
    --------
    >>> from millstream import metrics
    >>> metric = metrics.Rolling(metrics.Accuracy(), window_size=2)
    >>> metric.update_many([1, 1, 1], [0, 0, 1])
    >>> metric
    Rolling(Accuracy): 50.00%
    """

    name = "metrics.Rolling"

    def __init__(self, metric: Metric | str, window_size: int = 1000) -> None:
        super().__init__(metric=_plain(metric), window_size=window_size)


class Fading(_Wrapper):
    """A metric with exponentially fading weights: an outcome has `forgetting` times the weight of the next one.

    It needs no additional memory. A window of n outcomes corresponds to about `forgetting = 1 − 2/n`.

    Parameters
    ----------
    metric
        The metric, which restarts.
    forgetting
        Weight of an outcome relative to the next one; 1 forgets nothing. Also known as `alpha`.

    Examples
    --------
    >>> from millstream import metrics
    >>> metric = metrics.Fading(metrics.MAE(), forgetting=0.5)
    >>> metric.update_many([0, 0, 0], [4, 2, 1])
    >>> metric
    Fading(MAE): 1.714286

    References
    ----------
    Gama, J., Sebastião, R. and Rodrigues, P. P. (2013). On evaluating stream learning algorithms.
    """

    name = "metrics.Fading"
    aliases = {"alpha": "forgetting"}

    def __init__(self, metric: Metric | str, forgetting: float = 0.999) -> None:
        super().__init__(metric=_plain(metric), forgetting=forgetting)


def RollingROCAUC(window_size: int = 1000, pos_val: Any = None) -> Rolling:  # noqa: N802
    """`Rolling(ROCAUC(pos_val), window_size)` under River's name.

    Parameters
    ----------
    window_size
        Number of outcomes in the window.
    pos_val
        The positive class.
    """
    from millstream.metrics.probabilities import ROCAUC

    return Rolling(ROCAUC(pos_val), window_size)


def RollingPRAUC(window_size: int = 1000, pos_val: Any = None) -> Rolling:  # noqa: N802
    """`Rolling(PRAUC(pos_val), window_size)` under River's name.

    Parameters
    ----------
    window_size
        Number of outcomes in the window.
    pos_val
        The positive class.
    """
    from millstream.metrics.probabilities import PRAUC

    return Rolling(PRAUC(pos_val), window_size)
