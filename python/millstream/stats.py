"""Incremental statistics of weighted numbers.

    mean = stats.Mean()
    mean.update(3.0)
    mean.get()

A number of weight 2 counts as two. A statistic is NaN while it is undefined, as in NumPy (River returns 0).
`merge` combines it with the same statistic of another stream, where the result is exact up to rounding.
"""

from __future__ import annotations

import json
from typing import Any

from millstream import _core
from millstream._measures import Measure, numbers
from millstream._part import forwarded
from millstream.errors import InvalidType

__all__ = [
    "Count",
    "Cov",
    "EWMean",
    "EWVar",
    "Kurtosis",
    "Max",
    "Mean",
    "Min",
    "PearsonCorr",
    "Quantile",
    "Rolling",
    "Skew",
    "Statistic",
    "Sum",
    "Var",
]


class Statistic(_core.Statistic, Measure):
    """A running statistic of numbers."""

    role = "statistic"

    def update(self, x: float, w: float = 1.0) -> None:
        """Add a number."""
        self._update(x, None, w)

    def update_many(self, x: Any, w: Any = None) -> None:
        """Add many numbers, with the same result as `update` one by one; an error changes nothing."""
        self._update_many(numbers("x", x), None, None if w is None else numbers("w", w))

    def merge(self, other: Any) -> None:
        """Merge the same statistic of another stream, where the result is exact."""
        if type(other) is not type(self):
            raise InvalidType(f"{self.name}: only the same statistic can be merged, got {type(other).__name__}")
        self._merge(other)

    def __iadd__(self, other: Any) -> Any:
        self.merge(other)
        return self

    def __add__(self, other: Any) -> Any:
        both = self.copy()
        both.merge(other)
        return both

    def __repr__(self) -> str:
        return f"{type(self).__name__}: {format(self.get(), ',.6f').rstrip('0').rstrip('.')}"


class _Pairs(Statistic):
    def update(self, x: float, y: float, w: float = 1.0) -> None:  # type: ignore[override]
        """Add a pair of numbers."""
        if y is None:
            raise InvalidType(f"{self.name}: y must be a number, got None")
        self._update(x, y, w)

    def update_many(self, x: Any, y: Any, w: Any = None) -> None:  # type: ignore[override]
        """Add many pairs, with the same result as `update` one by one; an error changes nothing."""
        self._update_many(numbers("x", x), numbers("y", y), None if w is None else numbers("w", w))


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


class Cov(_Pairs):
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


class PearsonCorr(_Pairs):
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

    @forwarded
    def __init__(self) -> None: ...


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


class Rolling(Statistic):
    """A statistic over the last `window_size` numbers.

    Means and moments cost two updates; other statistics are computed from the window when `get` is called.

    Parameters
    ----------
    statistic
        The statistic, which restarts.
    window_size
        Number of values in the window.

    Examples
    --------
    >>> from millstream import stats
    >>> statistic = stats.Rolling(stats.Max(), window_size=2)
    >>> statistic.update_many([5.0, 1.0, 3.0])
    >>> statistic.get()
    3.0
    """

    name = "stats.Rolling"

    def __init__(self, statistic: Statistic | str, window_size: int = 1000) -> None:
        made = statistic() if isinstance(statistic, type) else statistic
        super().__init__(statistic=made, window_size=window_size)

    def update(self, x: float, *more: float, w: float = 1.0) -> None:
        """Add a number, or a pair if the statistic is of two variables."""
        face: Any = _Pairs if self._takes_pairs() else Statistic
        face.update(self, x, *more, w=w) if w != 1.0 else face.update(self, x, *more)

    def update_many(self, x: Any, *more: Any, w: Any = None) -> None:
        """Add many, with the same result as `update` one by one; an error changes nothing."""
        face: Any = _Pairs if self._takes_pairs() else Statistic
        face.update_many(self, x, *more, w=w) if w is not None else face.update_many(self, x, *more)

    def __repr__(self) -> str:
        wrapped = self.describe()["parameters"]["statistic"]["name"].rpartition(".")[2]
        return super().__repr__().replace("Rolling:", f"Rolling({wrapped}):", 1)
