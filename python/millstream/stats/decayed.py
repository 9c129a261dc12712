"""Exponentially weighted statistics."""

from __future__ import annotations

from millstream._part import forwarded
from millstream.stats.base import Pairs, Statistic

__all__ = ["EWCov", "EWMean", "EWVar"]


class EWMean(Statistic):
    """The exponentially weighted mean, which adapts to a changing stream.

    Parameters
    ----------
    fading_factor
        Weight of the newest number; closer to 1 forgets faster.

    Examples
    --------
    >>> from millstream import stats
    >>> statistic = stats.EWMean()
    >>> statistic.update_many([1.0, 3.0, 5.0])
    >>> statistic
    EWMean: 3.5

    References
    ----------
    Finch, T. (2009). Incremental calculation of weighted mean and variance.
    """

    name = "stats.EWMean"

    @forwarded
    def __init__(self, fading_factor: float = 0.5) -> None: ...


class EWVar(Statistic):
    """The exponentially weighted variance, which adapts to a changing stream.

    Parameters
    ----------
    fading_factor
        Weight of the newest number; closer to 1 forgets faster.

    Examples
    --------
    >>> from millstream import stats
    >>> statistic = stats.EWVar()
    >>> statistic.update_many([1.0, 3.0, 5.0])
    >>> statistic
    EWVar: 2.75

    References
    ----------
    Finch, T. (2009). Incremental calculation of weighted mean and variance.
    """

    name = "stats.EWVar"

    @forwarded
    def __init__(self, fading_factor: float = 0.5) -> None: ...


class EWCov(Pairs):
    """The exponentially weighted covariance of two variables, which adapts to a changing stream.

    Parameters
    ----------
    fading_factor
        Weight of the newest pair; closer to 1 forgets faster.

    Examples
    --------
    >>> from millstream import stats
    >>> statistic = stats.EWCov(fading_factor=0.5)
    >>> statistic.update_many([1, 3, 5, 4], [2, 4, 3, 6])
    >>> statistic
    EWCov: 0.625

    References
    ----------
    Finch, T. (2009). Incremental calculation of weighted mean and variance.
    """

    name = "stats.EWCov"

    @forwarded
    def __init__(self, fading_factor: float = 0.5) -> None: ...
