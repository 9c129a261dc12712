"""Transformers that prepare features for learners."""

from __future__ import annotations

from millstream._native import Native
from millstream._part import forwarded
from millstream.base import Transformer

__all__ = ["Imputer", "MaxAbsScaler", "MinMaxScaler", "OneHotEncoder", "StandardScaler"]


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


class OneHotEncoder(Native, Transformer):
    """Encodes each value of a nominal feature as an indicator: 1 if the row has it, otherwise 0.

    The value `UA` of `carrier` becomes the feature `carrier_UA`. Numbers pass through, unlike in River,
    which encodes them too: convert codes that are not quantities to strings first. Learners of millstream accept
    nominal features directly; choose an encoder in front of a scaler or of a model of another library, or to
    inspect the weight of each value.

    Output features are in the order in which values are learned. A value that was never learned, like a
    missing one, gives zeros. Memory grows with the number of distinct values.

    Parameters
    ----------
    drop_zeros
        Whether to omit zeros from the output.
    drop_first
        Whether to omit the indicator of the first value of each feature, which the others determine.

    Examples
    --------
    >>> from millstream import preprocessing
    >>> encoder = preprocessing.OneHotEncoder()
    >>> for x in ({"carrier": "UA", "distance": 3.0}, {"carrier": "DL", "distance": 4.0}):
    ...     encoder.learn_one(x)
    >>> encoder.transform_one({"carrier": "DL", "distance": 5.0})
    {'carrier_UA': 0.0, 'distance': 5.0, 'carrier_DL': 1.0}
    """

    name = "preprocessing.OneHotEncoder"

    @forwarded
    def __init__(self, drop_zeros: bool = False, drop_first: bool = False) -> None: ...


class Imputer(Native, Transformer):
    """Imputes missing values.

    Choose it if a learner should not simply ignore missing values. A value is missing if it is None or NaN, or if
    its feature is absent from the row. Features are imputed once they have been learned.

    It stores one estimate per feature and one count per nominal value.

    Parameters
    ----------
    strategy
        Replacement of a missing number: "mean" (over the stream so far), "previous" (the last value),
        "constant" (`fill_value`) or "none" (it stays missing).
    fill_value
        Constant for numbers.
    nominal_strategy
        Replacement of a missing nominal value: "most_frequent" (the first learned among equals),
        "previous", "constant" (`nominal_fill_value`) or "none".
    nominal_fill_value
        Constant for nominal values.

    Examples
    --------
    >>> from millstream import preprocessing
    >>> imputer = preprocessing.Imputer()
    >>> for x in ({"a": 1.0, "b": "red"}, {"a": 3.0, "b": "blue"}, {"b": "blue"}):
    ...     imputer.learn_one(x)
    >>> imputer.transform_one({"a": None})
    {'a': 2.0, 'b': 'blue'}
    """

    name = "preprocessing.Imputer"

    @forwarded
    def __init__(
        self,
        strategy: str = "mean",
        fill_value: float = 0.0,
        nominal_strategy: str = "most_frequent",
        nominal_fill_value: str = "missing",
    ) -> None: ...
