"""Scalers: they bring the numbers of each feature to a common size."""

from __future__ import annotations

from millstream._native import Native
from millstream._part import forwarded
from millstream.base import Transformer

__all__ = ["MaxAbsScaler", "MinMaxScaler", "StandardScaler"]


class StandardScaler(Native, Transformer):
    """Scales numbers to mean 0 and variance 1 over the stream so far.

    Choose it in front of any gradient-based learner. Nominal features pass through; missing values
    stay missing. A constant feature becomes 0.

    Parameters
    ----------
    with_mean
        Whether to subtract the mean.
    with_std
        Whether to divide by the standard deviation.

    Examples
    --------
    >>> from millstream import preprocessing
    >>> scaler = preprocessing.StandardScaler()
    >>> for x in (1.0, 2.0, 6.0):
    ...     scaler.learn_one({"x": x})
    >>> round(scaler.transform_one({"x": 6.0})["x"], 4)
    1.3887

    References
    ----------
    Welford, B. P. (1962). Note on a method for calculating corrected sums of squares and products.
    West, D. H. D. (1979). Updating mean and variance estimates: an improved method.
    """

    name = "preprocessing.StandardScaler"

    @forwarded
    def __init__(self, with_mean: bool = True, with_std: bool = True) -> None: ...


class MinMaxScaler(Native, Transformer):
    """Scales numbers to a range by their minimum and maximum over the stream so far.

    Choose it if a learner requires numbers within known bounds. One outlier compresses all other values; if
    outliers can occur, choose `StandardScaler`. Nominal features pass through; missing
    values stay missing. A constant feature becomes `low`.

    Parameters
    ----------
    low
        Target of the minimum so far.
    high
        Target of the maximum so far.
    clip
        Whether to clip values beyond the extremes so far to the range. In a pipeline this affects predictions
        only, because learned rows update the extremes first.

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

    @forwarded
    def __init__(self, low: float = 0.0, high: float = 1.0, clip: bool = False) -> None: ...


class MaxAbsScaler(Native, Transformer):
    """Scales numbers to [-1, 1] by their largest absolute value over the stream so far.

    Choose it for sparse data: zero stays zero, so a sparse row stays sparse. Nominal features pass through;
    missing values stay missing. A feature that was always 0 stays 0.

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
    def __init__(self) -> None: ...
