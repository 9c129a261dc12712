"""Statistics of two variables."""

from __future__ import annotations

import json

from millstream._part import forwarded
from millstream.stats.base import Pairs

__all__ = ["ChiSquared", "Cov", "KolmogorovSmirnov", "PearsonCorr"]


class Cov(Pairs):
    """Covariance of two variables.

    Parameters
    ----------
    ddof
        Delta degrees of freedom: the divisor is the total weight minus `ddof`.

    Examples
    --------
    >>> from millstream import stats
    >>> statistic = stats.Cov()
    >>> statistic.update_many([1.0, 2.0, 6.0], [2.0, 6.0, 4.0])
    >>> statistic
    Cov: 1

    References
    ----------
    Pébay, P. (2008). Formulas for robust, one-pass parallel computation of covariances and arbitrary-order
    statistical moments.
    """

    name = "stats.Cov"

    @forwarded
    def __init__(self, ddof: int = 1) -> None: ...


class PearsonCorr(Pairs):
    """Pearson correlation of two variables.

    Examples
    --------
    >>> from millstream import stats
    >>> statistic = stats.PearsonCorr()
    >>> statistic.update_many([1.0, 2.0, 6.0], [2.0, 6.0, 4.0])
    >>> statistic
    PearsonCorr: 0.188982

    References
    ----------
    Pébay, P. (2008). Formulas for robust, one-pass parallel computation of covariances and arbitrary-order
    statistical moments.
    """

    name = "stats.PearsonCorr"
    unsupported = {"ddof": "it cancels out of a correlation"}

    @forwarded
    def __init__(self) -> None: ...


class ChiSquared(Pairs):
    """Chi-squared statistic of two variables: how far their joint counts are from those of independent variables.

    The values may be strings, bools or numbers. Each distinct pair is kept: at most 1,048,576 of them, and as many
    distinct strings.

    Examples
    --------
    >>> from millstream import stats
    >>> statistic = stats.ChiSquared()
    >>> for x, y in [("A", 0), ("A", 0), ("B", 1), ("B", 1)]:
    ...     statistic.update(x, y)
    >>> statistic
    ChiSquared: 4
    >>> statistic.degrees_of_freedom, round(statistic.p_value, 4)
    (1, 0.0455)

    References
    ----------
    Pearson, K. (1900). On the criterion that a given system of deviations from the probable in the case of a
    correlated system of variables is such that it can be reasonably supposed to have arisen from random sampling.
    """

    name = "stats.ChiSquared"

    @forwarded
    def __init__(self) -> None: ...

    @property
    def degrees_of_freedom(self) -> int:
        """(Number of distinct x − 1) times (number of distinct y − 1)."""
        return int(json.loads(self._inspect())["degrees_of_freedom"])

    @property
    def p_value(self) -> float:
        """Probability of a value at least as large if the variables are independent."""
        return float(json.loads(self._inspect())["p_value"])


class KolmogorovSmirnov(Pairs):
    """Two-sample Kolmogorov-Smirnov statistic: the largest distance between the distributions of x and y.

    All pairs are kept, at most 1,048,576 of them. Use `stats.Rolling(stats.KolmogorovSmirnov(), window_size)` on
    a long stream, or `drift.KSTest` to detect a change.

    Parameters
    ----------
    statistic
        "ks", or "kuiper" for the sum of the largest distances in both directions, which is as sensitive in the
        tails as at the median.

    Examples
    --------
    >>> from millstream import stats
    >>> statistic = stats.KolmogorovSmirnov()
    >>> statistic.update_many([1, 1, 2, 2, 3, 3, 4, 4], [1, 1, 1, 1, 2, 2, 2, 2])
    >>> statistic
    KolmogorovSmirnov: 0.5

    References
    ----------
    Kuiper, N. H. (1960). Tests concerning random points on a circle.
    """

    name = "stats.KolmogorovSmirnov"

    @forwarded
    def __init__(self, statistic: str = "ks") -> None: ...

    @property
    def n_samples(self) -> int:
        """Number of pairs."""
        return self.updates
