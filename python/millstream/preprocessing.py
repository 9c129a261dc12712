"""Transformers that make features fit for learners."""

from __future__ import annotations

from millstream.base import Native, Transformer

__all__ = ["StandardScaler"]


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

    def __init__(self, with_mean: bool = True, with_std: bool = True) -> None:
        super().__init__(with_mean=with_mean, with_std=with_std)
