"""Transformers of single rows, which learn nothing."""

from __future__ import annotations

import math

from millstream._native import Native
from millstream._part import forwarded
from millstream.base import Transformer

__all__ = ["Binarizer", "Normalizer"]

#: The norms by the order of River and NumPy.
_ORDERS = {1: "l1", 2: "l2", math.inf: "max"}


class Normalizer(Native, Transformer):
    """Scales each row to norm 1.

    Choose it if only the proportions within a row count, as with word counts of documents of different lengths. A
    row of zeros stays as it is. Zero stays zero, so that sparse rows stay sparse. Nominal features pass
    through; missing values stay missing.

    Parameters
    ----------
    order
        The norm: 1 or "l1" (sum of absolute values), 2 or "l2" (Euclidean), `math.inf` or "max" (largest absolute
        value).

    Examples
    --------
    >>> from millstream import preprocessing
    >>> preprocessing.Normalizer().transform_one({"a": 3.0, "b": -4.0})
    {'a': 0.6, 'b': -0.8}
    >>> preprocessing.Normalizer(order=1).transform_one({"a": 3.0, "b": -1.0})
    {'a': 0.75, 'b': -0.25}
    """

    name = "preprocessing.Normalizer"
    aliases = {"norm": "order"}

    def __init__(self, order: str | float = "l2") -> None:
        number = isinstance(order, (int, float)) and not isinstance(order, bool)
        Native.__init__(self, order=_ORDERS.get(order, order) if number else order)  # type: ignore[arg-type]


class Binarizer(Native, Transformer):
    """Turns numbers into 1 above a threshold and 0 otherwise.

    Choose it if only presence counts, such as whether a word occurs. Unless the threshold is negative, zero stays
    zero and sparse rows stay sparse. Nominal features, which include booleans, pass through; missing values stay
    missing.

    Parameters
    ----------
    threshold
        Numbers above it become 1.

    Notes
    -----
    River returns booleans; here the result is a number, 1.0 or 0.0, because booleans are nominal.

    Examples
    --------
    >>> from millstream import preprocessing
    >>> preprocessing.Binarizer(threshold=2.0).transform_one({"a": 3.0, "b": 2.0, "c": -1.0})
    {'a': 1.0, 'b': 0.0, 'c': 0.0}
    """

    name = "preprocessing.Binarizer"
    unsupported = {"dtype": "the result is a number, 1.0 or 0.0"}

    @forwarded
    def __init__(self, threshold: float = 0.0) -> None: ...
