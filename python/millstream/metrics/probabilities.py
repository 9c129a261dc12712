"""Metrics of class probabilities.

They accept a dict of probabilities, or a float, which is the probability of the positive class. A string label
counts as probability 1. A missing prediction (None, or an empty dict) counts as probability 0.5. River counts it
as probability 0 of the truth, so that one missing prediction can outweigh a thousand others.
"""

from __future__ import annotations

from millstream._part import forwarded
from millstream.base import Label
from millstream.metrics.base import Metric

__all__ = ["PRAUC", "ROCAUC", "Brier", "LogLoss"]


class LogLoss(Metric):
    """Mean negative logarithm of the predicted probability of the true class, for any number of classes.

    It penalises confident errors strongly. Probabilities are clipped to [1e-15, 1 − 1e-15].

    Examples
    --------
    >>> from millstream import metrics
    >>> metric = metrics.LogLoss()
    >>> metric.update_many([True, False, False, True], [0.9, 0.1, 0.2, 0.65])
    >>> metric
    LogLoss: 0.216162
    >>> metric.update("c", {"a": 0.2, "b": 0.1, "c": 0.7})
    """

    name = "metrics.LogLoss"
    _format = ",.6f"

    @forwarded
    def __init__(self) -> None: ...


class Brier(Metric):
    """Brier score: half the squared distance of the probabilities from the truth, in [0, 1].

    For two classes it is (p − y)². It penalises confident errors less than `LogLoss`. Equal to scikit-learn's
    `brier_score_loss` with `scale_by_half=True`.

    Examples
    --------
    >>> from millstream import metrics
    >>> metric = metrics.Brier()
    >>> metric.update_many([True, False], [0.9, 0.2])
    >>> metric
    Brier: 0.025

    References
    ----------
    Brier, G. W. (1950). Verification of forecasts expressed in terms of probability.
    """

    name = "metrics.Brier"
    _format = ",.6f"

    @forwarded
    def __init__(self) -> None: ...


class ROCAUC(Metric):
    """Area under the ROC curve: the probability that a positive scores higher than a negative.

    Scores are counted in 2,627 fixed bins that are narrow near 0 and 1, so memory does not grow with the stream
    (42 kB, or 84 kB while either class may become the rarer one). `error` is a bound on the difference from the
    exact value, computed from the pairs that share a bin. It is below 0.001 unless scores are concentrated in few
    bins. The value is 0.5 until both classes have been seen.

    Parameters
    ----------
    pos_val
        The positive class. By default True or 1 if the labels are bools, 0/1 or −1/1; otherwise the rarer class.

    Examples
    --------
    >>> from millstream import metrics
    >>> metric = metrics.ROCAUC()
    >>> metric.update_many([True, True, False, False], [0.8, 0.4, 0.6, 0.1])
    >>> metric
    ROCAUC (positive=True): 75.00%
    >>> metric.error
    0.0

    References
    ----------
    Mann, H. B. and Whitney, D. R. (1947). On a test of whether one of two random variables is stochastically
    larger than the other.
    """

    name = "metrics.ROCAUC"
    unsupported = {"n_thresholds": "scores are counted in 2,627 bins, with a bound on the error"}

    @forwarded
    def __init__(self, pos_val: Label | None = None) -> None: ...

    @property
    def error(self) -> float:
        """Bound on the error of the value."""
        return self._error() or 0.0


class PRAUC(Metric):
    """Area under the precision-recall curve, as average precision. Suitable for a rare positive class.

    Scores are counted in the bins of `ROCAUC`; `error` is a bound on the difference from scikit-learn's
    `average_precision_score`, for any order of scores within the bins.

    Parameters
    ----------
    pos_val
        The positive class. By default True or 1 if the labels are bools, 0/1 or −1/1; otherwise the rarer class.

    Examples
    --------
    >>> from millstream import metrics
    >>> metric = metrics.PRAUC()
    >>> metric.update_many([True, True, False, False], [0.8, 0.4, 0.6, 0.1])
    >>> metric
    PRAUC (positive=True): 83.33%

    References
    ----------
    Davis, J. and Goadrich, M. (2006). The relationship between precision-recall and ROC curves.
    """

    name = "metrics.PRAUC"

    @forwarded
    def __init__(self, pos_val: Label | None = None) -> None: ...

    @property
    def error(self) -> float:
        """Bound on the error of the value."""
        return self._error() or 0.0
