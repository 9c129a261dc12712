"""Extremes and quantiles."""

from __future__ import annotations

import json

from millstream._part import forwarded
from millstream.stats.base import Statistic

__all__ = ["IQR", "MAD", "AbsMax", "Max", "Min", "PeakToPeak", "Quantile"]


class Min(Statistic):
    """Minimum.

    Examples
    --------
    >>> from millstream import stats
    >>> statistic = stats.Min()
    >>> statistic.update_many([1.0, 2.0, 6.0])
    >>> statistic
    Min: 1
    """

    name = "stats.Min"

    @forwarded
    def __init__(self) -> None: ...


class Max(Statistic):
    """Maximum.

    Examples
    --------
    >>> from millstream import stats
    >>> statistic = stats.Max()
    >>> statistic.update_many([1.0, 2.0, 6.0])
    >>> statistic
    Max: 6
    """

    name = "stats.Max"

    @forwarded
    def __init__(self) -> None: ...


class Quantile(Statistic):
    """Quantile of all numbers so far: the smallest number with at least the fraction `q` at or below it.

    It is exact up to 1,024 numbers. Beyond that, the rank of the value is within `error` of `q`. For n numbers of
    weight 1, `error` is at most log2(n / 1024) / 1024 (1 % at a million); memory grows by 16 kB per doubling of n.

    Parameters
    ----------
    q
        Fraction of numbers at or below the quantile.

    Examples
    --------
    >>> from millstream import stats
    >>> statistic = stats.Quantile(0.9)
    >>> statistic.update_many(range(100))
    >>> statistic
    Quantile: 89
    >>> statistic.error
    0.0

    References
    ----------
    Manku, G. S., Rajagopalan, S. and Lindsay, B. G. (1998). Approximate medians and other quantiles in one
    pass and with limited memory.

    Karnin, Z., Lang, K. and Liberty, E. (2016). Optimal quantile approximation in streams.
    """

    name = "stats.Quantile"

    @forwarded
    def __init__(self, q: float = 0.5) -> None: ...

    @property
    def error(self) -> float:
        """Bound on the difference between the rank of the value and `q`."""
        return float(json.loads(self._inspect())["error"])


class AbsMax(Statistic):
    """Maximum of the absolute values.

    Examples
    --------
    >>> from millstream import stats
    >>> statistic = stats.AbsMax()
    >>> statistic.update_many([1.0, -6.0, 2.0])
    >>> statistic
    AbsMax: 6
    """

    name = "stats.AbsMax"

    @forwarded
    def __init__(self) -> None: ...


class PeakToPeak(Statistic):
    """Maximum minus minimum.

    Examples
    --------
    >>> from millstream import stats
    >>> statistic = stats.PeakToPeak()
    >>> statistic.update_many([1.0, -4.0, 3.0])
    >>> statistic
    PeakToPeak: 7
    """

    name = "stats.PeakToPeak"

    @forwarded
    def __init__(self) -> None: ...


class IQR(Statistic):
    """Interquartile range: the difference between two quantiles, by default the quartiles.

    A measure of spread that outliers hardly change. The quantiles are those of `Quantile`: exact up to 1,024
    numbers, with ranks within `error` beyond that.

    Parameters
    ----------
    q_inf
        The lower quantile.
    q_sup
        The upper quantile.

    Examples
    --------
    >>> from millstream import stats
    >>> statistic = stats.IQR()
    >>> statistic.update_many(range(101))
    >>> statistic
    IQR: 50
    """

    name = "stats.IQR"

    @forwarded
    def __init__(self, q_inf: float = 0.25, q_sup: float = 0.75) -> None: ...

    @property
    def error(self) -> float:
        """Bound on the difference between the rank of each quantile and its fraction."""
        return float(json.loads(self._inspect())["error"])


class MAD(Statistic):
    """Median absolute deviation: the median of the distances to the median.

    A measure of spread that outliers hardly change. Medians are those of `Quantile(0.5)`: exact up to 1,024
    numbers, from a summary of the numbers beyond that.

    Notes
    -----
    River takes the median of the distances to the medians at the time of each number; this class takes the
    distances to the current median, as the definition says.

    Examples
    --------
    >>> from millstream import stats
    >>> statistic = stats.MAD()
    >>> statistic.update_many([4.0, 2.0, 5.0, 3.0, 0.0])
    >>> statistic
    MAD: 1

    References
    ----------
    Hampel, F. R. (1974). The influence curve and its role in robust estimation.
    """

    name = "stats.MAD"

    @forwarded
    def __init__(self) -> None: ...

    @property
    def error(self) -> float:
        """Bound on the difference between the rank of the median and 0.5."""
        return float(json.loads(self._inspect())["error"])
