"""Scalers: they bring the numbers of each feature to a common size."""

from __future__ import annotations

from typing import Any

from millstream._native import Native
from millstream._part import forwarded
from millstream.base import Transformer

__all__ = [
    "AdaptiveStandardScaler",
    "MaxAbsScaler",
    "MinMaxScaler",
    "QuantileTransformer",
    "RobustScaler",
    "StandardScaler",
]


class _Scaler(Native, Transformer):
    """What scalers report of each feature."""

    def _each(self, number: str) -> dict[str, Any]:
        return {name: feature[number] for name, feature in self.inspect()["features"].items()}


class StandardScaler(_Scaler):
    """Scales numbers to mean 0 and variance 1 over the stream so far.

    Choose it in front of any gradient-based learner. Nominal features pass through; missing values
    stay missing. A constant feature becomes 0. If the distribution changes with time, choose a `window_size` or
    `AdaptiveStandardScaler`; if it has outliers, `RobustScaler`.

    `means`, `vars` and `counts` have the mean, the variance and the sum of weights of each feature.

    Parameters
    ----------
    with_mean
        Whether to subtract the mean.
    with_std
        Whether to divide by the standard deviation.
    window_size
        Number of the last values of each feature that count; None for all. The mean and the variance are those of
        the window exactly: a value that has left it leaves no rounding error. Missing values are not counted.
        Memory is up to 40 bytes per feature and value of the window.

    Examples
    --------
    >>> from millstream import preprocessing
    >>> scaler = preprocessing.StandardScaler()
    >>> for x in (1.0, 2.0, 6.0):
    ...     scaler.learn_one({"x": x})
    >>> round(scaler.transform_one({"x": 6.0})["x"], 4)
    1.3887
    >>> scaler.means, scaler.counts
    ({'x': 3.0}, {'x': 3.0})

    Of the last two values only:

    >>> scaler = preprocessing.StandardScaler(window_size=2)
    >>> for x in (1e8, 2.0, 6.0):
    ...     scaler.learn_one({"x": x})
    >>> scaler.transform_one({"x": 6.0}), scaler.vars
    ({'x': 1.0}, {'x': 4.0})

    References
    ----------
    Welford, B. P. (1962). Note on a method for calculating corrected sums of squares and products.
    West, D. H. D. (1979). Updating mean and variance estimates: an improved method.
    """

    name = "preprocessing.StandardScaler"

    @forwarded
    def __init__(self, with_mean: bool = True, with_std: bool = True, window_size: int | None = None) -> None: ...

    @property
    def means(self) -> dict[str, float]:
        """The mean of each feature."""
        return self._each("mean")

    @property
    def vars(self) -> dict[str, float]:
        """The variance of each feature."""
        return self._each("variance")

    @property
    def counts(self) -> dict[str, float]:
        """The sum of weights of each feature: the number of values, if all weights are 1."""
        return self._each("count")


class MinMaxScaler(_Scaler):
    """Scales numbers to a range by their minimum and maximum over the stream so far.

    Choose it if a learner requires numbers within known bounds. One outlier compresses all other values; if
    outliers can occur, choose `RobustScaler`. Nominal features pass through; missing
    values stay missing. A constant feature becomes `low`. `min` and `max` have the extremes of each feature.

    Parameters
    ----------
    low
        Target of the minimum so far.
    high
        Target of the maximum so far.
    clip
        Whether to clip values beyond the extremes so far to the range. In a pipeline this affects predictions
        only, because learned rows update the extremes first.
    window_size
        Number of the last values of each feature that count; None for all. The extremes are those of the window
        exactly: a value that has left it leaves no rounding error. Missing values are not counted. Memory is up to
        32 bytes per feature and value of the window.

    Examples
    --------
    >>> from millstream import preprocessing
    >>> scaler = preprocessing.MinMaxScaler()
    >>> for x in (2.0, 6.0, 5.0):
    ...     scaler.learn_one({"x": x})
    >>> scaler.transform_one({"x": 5.0})
    {'x': 0.75}
    >>> scaler.transform_one({"x": 8.0})
    {'x': 1.5}
    """

    name = "preprocessing.MinMaxScaler"
    unsupported = {"feature_range": "write low and high, such as low=-1.0, high=1.0"}

    @forwarded
    def __init__(
        self, low: float = 0.0, high: float = 1.0, clip: bool = False, window_size: int | None = None
    ) -> None: ...

    @property
    def min(self) -> dict[str, float]:
        """The minimum of each feature."""
        return self._each("min")

    @property
    def max(self) -> dict[str, float]:
        """The maximum of each feature."""
        return self._each("max")


class MaxAbsScaler(_Scaler):
    """Scales numbers to [-1, 1] by their largest absolute value over the stream so far.

    Choose it for sparse data: zero stays zero, so a sparse row stays sparse. Nominal features pass through;
    missing values stay missing. A feature that was always 0 stays 0. `abs_max` has the largest absolute value of
    each feature.

    Parameters
    ----------
    window_size
        Number of the last values of each feature that count; None for all. The largest absolute value is that of
        the window exactly: a value that has left it leaves no rounding error. Missing values are not counted.
        Memory is up to 24 bytes per feature and value of the window.

    Examples
    --------
    >>> from millstream import preprocessing
    >>> scaler = preprocessing.MaxAbsScaler()
    >>> for x in (2.0, -8.0):
    ...     scaler.learn_one({"x": x})
    >>> scaler.transform_one({"x": 2.0})
    {'x': 0.25}
    """

    name = "preprocessing.MaxAbsScaler"

    @forwarded
    def __init__(self, window_size: int | None = None) -> None: ...

    @property
    def abs_max(self) -> dict[str, float]:
        """The largest absolute value of each feature."""
        return self._each("max_abs")


class AdaptiveStandardScaler(_Scaler):
    """Scales numbers to mean 0 and variance 1, where older values count less and less.

    Choose it for features whose level changes with time: the scale follows, in constant memory. A `StandardScaler`
    with a `window_size` forgets all at once instead. Nominal features pass through; missing values stay missing. A
    constant feature becomes 0.

    The variance is updated in Welford's form, which neither cancels nor becomes negative. `means` and `vars` have
    the mean and the variance of each feature.

    Parameters
    ----------
    fading_factor
        Weight of the newest value, in (0, 1]; closer to 1 forgets faster. Half of the weight is on the last
        -ln 2 / ln(1 - fading_factor) values: two for 0.3, 69 for 0.01. A value of weight w counts as w values.

    Examples
    --------
    >>> from millstream import preprocessing
    >>> scaler = preprocessing.AdaptiveStandardScaler(fading_factor=0.5)
    >>> for x in (1.0, 3.0, 5.0):
    ...     scaler.learn_one({"x": x})
    >>> scaler.means, scaler.vars
    ({'x': 3.5}, {'x': 2.75})
    >>> round(scaler.transform_one({"x": 5.0})["x"], 4)
    0.9045

    References
    ----------
    Finch, T. (2009). Incremental calculation of weighted mean and variance.
    """

    name = "preprocessing.AdaptiveStandardScaler"
    unsupported = {"window_size": "older values fade; StandardScaler(window_size=...) has a window"}

    @forwarded
    def __init__(self, fading_factor: float = 0.3) -> None: ...

    @property
    def means(self) -> dict[str, float]:
        """The mean of each feature."""
        return self._each("mean")

    @property
    def vars(self) -> dict[str, float]:
        """The variance of each feature."""
        return self._each("variance")


class RobustScaler(_Scaler):
    """Scales numbers by their median and the range between two quantiles, so that outliers hardly count.

    Choose it for features with outliers or heavy tails, such as amounts and durations. Nominal features pass
    through; missing values stay missing. A feature whose two quantiles are equal becomes 0.

    Without a window, each feature has a KLL sketch of all its values, and the ranks of the quantiles are within
    1.65 % with probability 0.99; quantiles of the first few hundred values are exact. The quantiles are recomputed
    whenever the number of values has grown by an eighth, and after `refresh_interval` values at the latest. This
    schedule is part of the state, so that learning many rows at once equals learning them one by one. Memory is
    about 12 kB per feature, and 16 bytes more for each value of `refresh_interval`. With a `window_size`,
    quantiles are exact after every value.

    `median` and `iqr` have the median and the range between the quantiles of each feature.

    Parameters
    ----------
    with_centering
        Whether to subtract the median. If not, zero stays zero and sparse rows stay sparse.
    with_scaling
        Whether to divide by the range between the quantiles.
    q_inf
        Lower quantile, in [0, 1].
    q_sup
        Upper quantile, greater than `q_inf`.
    window_size
        Number of the last values of each feature that count, exactly and with equal weights; None for all. Missing
        values are not counted. Each value takes time proportional to `window_size`, but little of it: a thousand
        values are moved in 50 nanoseconds.
    refresh_interval
        Largest number of values of a feature after which its quantiles are computed again, without a window.
    seed
        Seed of the sketch.

    Notes
    -----
    Quantiles are interpolated as in scikit-learn, so that the result on a window, or on the first
    values, is that of scikit-learn's `RobustScaler`, except for features whose quantiles are equal: there, it
    divides by 1. River's estimates the quantiles by the P² algorithm, which has no error bound.

    Examples
    --------
    >>> from millstream import preprocessing
    >>> scaler = preprocessing.RobustScaler()
    >>> for x in (1.0, 2.0, 3.0, 4.0, 100.0):
    ...     scaler.learn_one({"x": x})
    >>> scaler.transform_one({"x": 4.0}), scaler.transform_one({"x": 100.0})
    ({'x': 0.5}, {'x': 48.5})
    >>> scaler.median, scaler.iqr
    ({'x': 3.0}, {'x': 2.0})

    References
    ----------
    Karnin, Z., Lang, K. and Liberty, E. (2016). Optimal quantile approximation in streams. FOCS.
    """

    name = "preprocessing.RobustScaler"
    unsupported = {"quantile_range": "write q_inf and q_sup as fractions, such as q_inf=0.25, q_sup=0.75"}

    @forwarded
    def __init__(
        self,
        with_centering: bool = True,
        with_scaling: bool = True,
        q_inf: float = 0.25,
        q_sup: float = 0.75,
        window_size: int | None = None,
        refresh_interval: int = 1000,
        seed: int = 0,
    ) -> None: ...

    @property
    def median(self) -> dict[str, float]:
        """The median of each feature."""
        return self._each("median")

    @property
    def iqr(self) -> dict[str, float]:
        """The range between the two quantiles of each feature."""
        return self._each("range")


class QuantileTransformer(_Scaler):
    """Turns each number into its rank among the values of its feature, with a uniform or a normal distribution.

    Choose it if the distribution of a feature is far from what a learner expects: skewed, with several modes, or
    with a few huge values. The order of values remains; their distances do not. Nominal features pass through;
    missing values stay missing. A feature that has not varied becomes 0.

    A value at or below the smallest one so far becomes 0 (or -5.2 with a normal distribution), and one at or above
    the largest becomes 1 (or 5.2). A value that is frequent becomes the middle of its ranks.

    Quantiles are exact in a window, and those of a sketch without one: see `RobustScaler`. `quantiles` has those
    of each feature.

    Parameters
    ----------
    n_quantiles
        Number of quantiles that ranks are interpolated between, at most one per value.
    output_distribution
        "uniform" or "normal".
    window_size
        Number of the last values of each feature that count, exactly and with equal weights; None for all.
    refresh_interval
        Largest number of values of a feature after which its quantiles are computed again, without a window.
    seed
        Seed of the sketch.

    Notes
    -----
    On a window, the result is that of scikit-learn's `QuantileTransformer` fitted to its rows, except for features
    that have not varied and for equal values: scikit-learn misses some of them because its quantiles differ by
    rounding.

    Examples
    --------
    >>> from millstream import preprocessing
    >>> scaler = preprocessing.QuantileTransformer()
    >>> for x in (1.0, 10.0, 100.0, 1000.0, 10000.0):
    ...     scaler.learn_one({"x": x})
    >>> [scaler.transform_one({"x": x})["x"] for x in (0.0, 1.0, 100.0, 550.0, 1e6)]
    [0.0, 0.0, 0.5, 0.625, 1.0]
    """

    name = "preprocessing.QuantileTransformer"
    aliases = {"random_state": "seed"}

    @forwarded
    def __init__(
        self,
        n_quantiles: int = 100,
        output_distribution: str = "uniform",
        window_size: int | None = None,
        refresh_interval: int = 1000,
        seed: int = 0,
    ) -> None: ...

    @property
    def quantiles(self) -> dict[str, list[float]]:
        """The quantiles of each feature, from rank 0 to rank 1."""
        return self._each("quantiles")
