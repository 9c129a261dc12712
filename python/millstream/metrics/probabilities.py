"""Metrics of class probabilities.

They take a dict of probabilities, or one float: the probability of the positive class. A label that is text
counts as probability 1. No prediction (None, or an empty dict) counts as the toss of a coin: River scores it
as probability 0 of the truth, which lets one early blank outweigh a thousand answers.
"""

from __future__ import annotations

from millstream._part import forwarded
from millstream.base import Label
from millstream.metrics.base import Metric

__all__ = ["PRAUC", "ROCAUC", "Brier", "LogLoss"]


class LogLoss(Metric):
    """The mean negative log of the probability that was given to the truth, for any number of classes.

    It punishes certainty that is wrong; probabilities are kept 1e-15 away from 0 and 1.

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
    """Half the squared distance of the probabilities from the truth, in [0, 1]; for two classes (p − y)².

    Milder than `LogLoss` on certainty that is wrong. Equal to scikit-learn's `brier_score_loss` with
    `scale_by_half=True`.

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
    """The area under the ROC curve: how often a positive scores higher than a negative.

    Scores are counted in 2,627 fixed bins that are narrow near 0 and 1 (42 kB, or 84 kB while
    either class may turn out to be the rarer), so a stream of any length
    fits. `error` says how far the value may be from the exact one, computed from the pairs that share a bin;
    it is below 0.001 unless scores crowd into few bins. 0.5 until both classes have come.

    Parameters
    ----------
    pos_val
        The positive class. None is True or 1 if the labels are 0 and 1, else the rarer of the two so far.

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

    @forwarded
    def __init__(self, pos_val: Label | None = None) -> None: ...

    @property
    def error(self) -> float:
        """The most by which the value may be off."""
        return self._error() or 0.0


class PRAUC(Metric):
    """The area under the precision-recall curve, as average precision. For a positive class that is rare.

    Scores are counted in the bins of `ROCAUC`; `error` says how far the value may be from scikit-learn's
    `average_precision_score`, whatever the order of scores within the bins.

    Parameters
    ----------
    pos_val
        The positive class. None is True or 1 if the labels are 0 and 1, else the rarer of the two so far.

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
        """The most by which the value may be off."""
        return self._error() or 0.0
