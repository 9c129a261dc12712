"""Transformers that make features fit for learners."""

from __future__ import annotations

from millstream._native import Native
from millstream._part import forwarded
from millstream.base import Transformer

__all__ = ["Imputer", "MaxAbsScaler", "MinMaxScaler", "OneHotEncoder", "StandardScaler"]


class StandardScaler(Native, Transformer):
    """Scales numbers to mean 0 and variance 1 over the stream so far.

    Choose it in front of any learner that follows a gradient. Nominal features pass through; missing values
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
    """Scales numbers to a range by their least and greatest value over the stream so far.

    Choose it where a learner wants numbers within known bounds. One outlier squeezes all else together:
    where that can happen, `StandardScaler` is the better choice. Nominal features pass through; missing
    values stay missing. A constant feature becomes `low`.

    Parameters
    ----------
    low
        Where the least value so far goes.
    high
        Where the greatest value so far goes.
    clip
        Whether a value beyond the extremes so far is moved to the end of the range. In a pipeline this
        concerns predictions only: what is learned is within the extremes by then.

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
    """Scales numbers to [-1, 1] by their greatest absolute value over the stream so far.

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
    """Turns each value of a nominal feature into a number that is 1 where the row has it, else 0.

    The value `UA` of `carrier` becomes the feature `carrier_UA`. Numbers pass through, unlike in River,
    which encodes them too: turn codes that are no quantities into text first. Learners of millstream take
    nominal features as they are; choose an encoder in front of a scaler or of a model from elsewhere, or to
    see the weights by value.

    Features come out in the order in which values are learned. A value that was never learned, like a
    missing one, gives zeros. Memory grows with the number of distinct values.

    Parameters
    ----------
    drop_zeros
        Whether zeros are left out of the output.
    drop_first
        Whether the first value of each feature gets no number, being what remains when all others are 0.

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
    """Fills in what is missing.

    Choose it in front of learners for which a missing value should not simply weigh nothing. A value is
    missing if it is None or NaN, or if its feature is absent from the row; a feature is filled in from the
    first time that it was learned on.

    Memory is one estimate for each feature, and one count for each nominal value.

    Parameters
    ----------
    strategy
        What a missing number becomes: "mean" (over the stream so far), "previous" (the last value),
        "constant" (`fill_value`) or "none" (it stays missing).
    fill_value
        The constant for numbers.
    nominal_strategy
        What a missing nominal value becomes: "most_frequent" (the first that came among equals),
        "previous", "constant" (`nominal_fill_value`) or "none".
    nominal_fill_value
        The constant for nominal values.

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
