"""Statistics of which values occur how often."""

from __future__ import annotations

from millstream._part import forwarded
from millstream.stats.base import Statistic

__all__ = ["Entropy", "Mode"]


class Mode(Statistic):
    """The most frequent value: a string, a bool or a number. Among equally frequent ones, the first to appear.

    `get` returns None before the first value.

    Parameters
    ----------
    k
        Count only the first `k` distinct values; -1 for all, at most 1,048,576.

    Examples
    --------
    >>> from millstream import stats
    >>> statistic = stats.Mode()
    >>> statistic.update_many(["sunny", "cloudy", "cloudy", "rainy"])
    >>> statistic
    Mode: cloudy
    """

    name = "stats.Mode"

    @forwarded
    def __init__(self, k: int = 25) -> None: ...


class Entropy(Statistic):
    """Entropy of the distribution of values, which may be strings, bools or numbers; in nats.

    Each distinct value is kept: at most 1,048,576 of them.

    Parameters
    ----------
    fading_factor
        Factor of all counts at each value: below 1, older values count less. 1 forgets nothing.

    Notes
    -----
    River multiplies the entropy itself by its fading factor; this class fades the counts, so that the value is the
    entropy of a distribution. With a factor of 1 both are the same.

    Examples
    --------
    >>> from millstream import stats
    >>> statistic = stats.Entropy()
    >>> statistic.update_many(["cat", "dog", "dog", "bird"])
    >>> statistic
    Entropy: 1.039721

    References
    ----------
    Sovdat, B. (2014). Updating formulas and algorithms for computing entropy and Gini index from time-changing
    data streams.
    """

    name = "stats.Entropy"
    unsupported = {"eps": "a value that does not occur adds nothing, so no logarithm of 0 is taken"}

    @forwarded
    def __init__(self, fading_factor: float = 1.0) -> None: ...
