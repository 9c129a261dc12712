"""Counts, sums, means and moments."""

from __future__ import annotations

from millstream._part import forwarded
from millstream.stats.base import Statistic

__all__ = ["SEM", "BayesianMean", "Count", "Kurtosis", "Mean", "Skew", "Sum", "Var"]


class Count(Statistic):
    """Sum of weights: the number of values if each has weight 1.

    Examples
    --------
    >>> from millstream import stats
    >>> statistic = stats.Count()
    >>> statistic.update_many([1.0, 2.0, 6.0])
    >>> statistic
    Count: 3
    """

    name = "stats.Count"

    @forwarded
    def __init__(self) -> None: ...


class Sum(Statistic):
    """Sum of numbers, compensated so that rounding errors do not accumulate.

    Examples
    --------
    >>> from millstream import stats
    >>> statistic = stats.Sum()
    >>> statistic.update_many([1.0, 2.0, 6.0])
    >>> statistic
    Sum: 9

    References
    ----------
    Neumaier, A. (1974). Rundungsfehleranalyse einiger Verfahren zur Summation endlicher Summen.
    """

    name = "stats.Sum"

    @forwarded
    def __init__(self) -> None: ...


class Mean(Statistic):
    """Mean.

    Examples
    --------
    >>> from millstream import stats
    >>> statistic = stats.Mean()
    >>> statistic.update_many([1.0, 2.0, 6.0])
    >>> statistic
    Mean: 3

    References
    ----------
    West, D. H. D. (1979). Updating mean and variance estimates: an improved method.
    """

    name = "stats.Mean"

    @forwarded
    def __init__(self) -> None: ...


class Var(Statistic):
    """Variance.

    Parameters
    ----------
    ddof
        Delta degrees of freedom: the divisor is the total weight minus `ddof`.

    Examples
    --------
    >>> from millstream import stats
    >>> statistic = stats.Var()
    >>> statistic.update_many([1.0, 2.0, 6.0])
    >>> statistic
    Var: 7

    References
    ----------
    Pébay, P. (2008). Formulas for robust, one-pass parallel computation of covariances and arbitrary-order
    statistical moments.
    """

    name = "stats.Var"

    @forwarded
    def __init__(self, ddof: int = 1) -> None: ...


class Skew(Statistic):
    """Skewness: positive if the right tail is longer, negative if the left tail is.

    Parameters
    ----------
    bias
        If True, the value is not corrected for statistical bias.

    Examples
    --------
    >>> from millstream import stats
    >>> statistic = stats.Skew()
    >>> statistic.update_many([1.0, 2.0, 6.0])
    >>> statistic
    Skew: 1.457863

    References
    ----------
    Pébay, P. (2008). Formulas for robust, one-pass parallel computation of covariances and arbitrary-order
    statistical moments.
    """

    name = "stats.Skew"

    @forwarded
    def __init__(self, bias: bool = False) -> None: ...


class Kurtosis(Statistic):
    """Excess kurtosis, a measure of how heavy the tails are; 0 for a normal distribution.

    Parameters
    ----------
    bias
        If True, the value is not corrected for statistical bias.

    Examples
    --------
    >>> from millstream import stats
    >>> statistic = stats.Kurtosis()
    >>> statistic.update_many([1.0, 2.0, 6.0, 3.0])
    >>> statistic
    Kurtosis: 1.5

    References
    ----------
    Pébay, P. (2008). Formulas for robust, one-pass parallel computation of covariances and arbitrary-order
    statistical moments.
    """

    name = "stats.Kurtosis"

    @forwarded
    def __init__(self, bias: bool = False) -> None: ...


class BayesianMean(Statistic):
    """A mean with a prior: the mean of the numbers and of `prior_weight` numbers that equal `prior`.

    Choose it for means of few numbers, such as one per category: it starts at the prior and moves to the mean of
    the numbers as they arrive.

    Parameters
    ----------
    prior
        Mean before the first number.
    prior_weight
        Weight of the prior: the number of values that it counts for.

    Examples
    --------
    >>> from millstream import stats
    >>> statistic = stats.BayesianMean(prior=0.5, prior_weight=10)
    >>> statistic.update_many([1.0, 1.0, 1.0])
    >>> statistic
    BayesianMean: 0.615385
    """

    name = "stats.BayesianMean"

    @forwarded
    def __init__(self, prior: float, prior_weight: float) -> None: ...


class SEM(Statistic):
    """Standard error of the mean: the standard deviation divided by the square root of the total weight.

    Parameters
    ----------
    ddof
        Delta degrees of freedom of the variance: its divisor is the total weight minus `ddof`.

    Examples
    --------
    >>> from millstream import stats
    >>> statistic = stats.SEM()
    >>> statistic.update_many([3.0, 5.0, 4.0, 7.0])
    >>> statistic
    SEM: 0.853913
    """

    name = "stats.SEM"

    @forwarded
    def __init__(self, ddof: int = 1) -> None: ...
