"""Precision, recall and F-beta of several classes: micro, macro and weighted averages."""

from __future__ import annotations

from millstream._part import forwarded
from millstream.metrics.base import Metric

__all__ = [
    "MacroF1",
    "MacroFBeta",
    "MacroPrecision",
    "MacroRecall",
    "MicroF1",
    "MicroFBeta",
    "MicroPrecision",
    "MicroRecall",
    "WeightedF1",
    "WeightedFBeta",
    "WeightedPrecision",
    "WeightedRecall",
]


class MacroF1(Metric):
    """F1 averaged over the classes that occurred as truth or prediction, with equal weights.

    Examples
    --------
    >>> from millstream import metrics
    >>> metric = metrics.MacroF1()
    >>> metric.update_many(["cat", "ant", "cat", "bird"], ["ant", "ant", "cat", "cat"])
    >>> metric
    MacroF1: 38.89%
    """

    name = "metrics.MacroF1"

    @forwarded
    def __init__(self) -> None: ...


class MacroFBeta(Metric):
    """F-beta averaged over the classes that occurred as truth or prediction, with equal weights.

    Parameters
    ----------
    beta
        Weight of recall relative to precision.

    Examples
    --------
    >>> from millstream import metrics
    >>> metric = metrics.MacroFBeta(beta=2.0)
    >>> metric.update_many(["cat", "ant", "cat", "bird"], ["ant", "ant", "cat", "cat"])
    >>> metric
    MacroFBeta: 44.44%
    """

    name = "metrics.MacroFBeta"

    @forwarded
    def __init__(self, beta: float) -> None: ...


class MacroPrecision(Metric):
    """Precision averaged over the classes that occurred as truth or prediction, with equal weights.

    Examples
    --------
    >>> from millstream import metrics
    >>> metric = metrics.MacroPrecision()
    >>> metric.update_many(["cat", "ant", "cat", "bird"], ["ant", "ant", "cat", "cat"])
    >>> metric
    MacroPrecision: 33.33%
    """

    name = "metrics.MacroPrecision"

    @forwarded
    def __init__(self) -> None: ...


class MacroRecall(Metric):
    """Recall averaged over the classes that occurred as truth or prediction, with equal weights.

    Examples
    --------
    >>> from millstream import metrics
    >>> metric = metrics.MacroRecall()
    >>> metric.update_many(["cat", "ant", "cat", "bird"], ["ant", "ant", "cat", "cat"])
    >>> metric
    MacroRecall: 50.00%
    """

    name = "metrics.MacroRecall"

    @forwarded
    def __init__(self) -> None: ...


class MicroF1(Metric):
    """F1 of all classes together: the ratio of sums over classes.

    Without missing predictions this is the accuracy.

    Examples
    --------
    >>> from millstream import metrics
    >>> metric = metrics.MicroF1()
    >>> metric.update_many(["cat", "ant", "cat", "bird"], ["ant", "ant", "cat", "cat"])
    >>> metric
    MicroF1: 50.00%
    """

    name = "metrics.MicroF1"

    @forwarded
    def __init__(self) -> None: ...


class MicroFBeta(Metric):
    """F-beta of all classes together: the ratio of sums over classes.

    Without missing predictions this is the accuracy.

    Parameters
    ----------
    beta
        Weight of recall relative to precision.

    Examples
    --------
    >>> from millstream import metrics
    >>> metric = metrics.MicroFBeta(beta=2.0)
    >>> metric.update_many(["cat", "ant", "cat", "bird"], ["ant", "ant", "cat", "cat"])
    >>> metric
    MicroFBeta: 50.00%
    """

    name = "metrics.MicroFBeta"

    @forwarded
    def __init__(self, beta: float) -> None: ...


class MicroPrecision(Metric):
    """Precision of all classes together: the ratio of sums over classes.

    Without missing predictions this is the accuracy.

    Examples
    --------
    >>> from millstream import metrics
    >>> metric = metrics.MicroPrecision()
    >>> metric.update_many(["cat", "ant", "cat", "bird"], ["ant", "ant", "cat", "cat"])
    >>> metric
    MicroPrecision: 50.00%
    """

    name = "metrics.MicroPrecision"

    @forwarded
    def __init__(self) -> None: ...


class MicroRecall(Metric):
    """Recall of all classes together: the ratio of sums over classes.

    Without missing predictions this is the accuracy.

    Examples
    --------
    >>> from millstream import metrics
    >>> metric = metrics.MicroRecall()
    >>> metric.update_many(["cat", "ant", "cat", "bird"], ["ant", "ant", "cat", "cat"])
    >>> metric
    MicroRecall: 50.00%
    """

    name = "metrics.MicroRecall"

    @forwarded
    def __init__(self) -> None: ...


class WeightedF1(Metric):
    """F1 averaged over the classes, weighted by support.

    Examples
    --------
    >>> from millstream import metrics
    >>> metric = metrics.WeightedF1()
    >>> metric.update_many(["cat", "ant", "cat", "bird"], ["ant", "ant", "cat", "cat"])
    >>> metric
    WeightedF1: 41.67%
    """

    name = "metrics.WeightedF1"

    @forwarded
    def __init__(self) -> None: ...


class WeightedFBeta(Metric):
    """F-beta averaged over the classes, weighted by support.

    Parameters
    ----------
    beta
        Weight of recall relative to precision.

    Examples
    --------
    >>> from millstream import metrics
    >>> metric = metrics.WeightedFBeta(beta=2.0)
    >>> metric.update_many(["cat", "ant", "cat", "bird"], ["ant", "ant", "cat", "cat"])
    >>> metric
    WeightedFBeta: 45.83%
    """

    name = "metrics.WeightedFBeta"

    @forwarded
    def __init__(self, beta: float) -> None: ...


class WeightedPrecision(Metric):
    """Precision averaged over the classes, weighted by support.

    Examples
    --------
    >>> from millstream import metrics
    >>> metric = metrics.WeightedPrecision()
    >>> metric.update_many(["cat", "ant", "cat", "bird"], ["ant", "ant", "cat", "cat"])
    >>> metric
    WeightedPrecision: 37.50%
    """

    name = "metrics.WeightedPrecision"

    @forwarded
    def __init__(self) -> None: ...


class WeightedRecall(Metric):
    """Recall averaged over the classes, weighted by support.

    Examples
    --------
    >>> from millstream import metrics
    >>> metric = metrics.WeightedRecall()
    >>> metric.update_many(["cat", "ant", "cat", "bird"], ["ant", "ant", "cat", "cat"])
    >>> metric
    WeightedRecall: 50.00%
    """

    name = "metrics.WeightedRecall"

    @forwarded
    def __init__(self) -> None: ...
