"""Imputers: they replace missing values."""

from __future__ import annotations

from millstream._native import Native
from millstream._part import forwarded
from millstream.base import Transformer

__all__ = ["Imputer"]


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
