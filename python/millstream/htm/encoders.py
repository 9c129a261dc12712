"""Encoders from features to sparse rows of bits; similar values share bits."""

from __future__ import annotations

from millstream._limits import Limited, Limits, described
from millstream._native import Native
from millstream._part import forwarded
from millstream.base import Transformer

__all__ = ["CategoryEncoder", "DateEncoder", "ScalarEncoder"]


class ScalarEncoder(Limited, Native, Transformer):
    """Encodes numbers as bits; nearby numbers share active bits.

    Choose it before `SpatialPooler` for numbers of a known range. Each feature with limits has `n_bits` columns,
    of which `n_active` adjacent ones are 1: the first ones at the lower limit, the last ones at the upper one.
    Two numbers share bits if they differ by less than `n_active / n_bits` of the range. Other features, and
    missing values, have no active bits.

    Parameters
    ----------
    limits
        Range of the features: one pair for all, or a dict of feature to (low, high) for those that are encoded.
    n_bits
        Number of bits of a feature.
    n_active
        Number of active bits of a feature.
    is_periodic
        Whether the upper limit is equivalent to the lower one, as for angles.
    outside
        "clamp" encodes numbers outside their limits as the nearer limit, and counts them in `clamped`; "refuse"
        refuses the row.

    Examples
    --------
    >>> from millstream import htm
    >>> encoder = htm.ScalarEncoder(limits=(0, 10), n_bits=10, n_active=3)
    >>> encoder.learn_one({"x": 5})
    >>> encoder.transform_one({"x": 5}), encoder.transform_one({"x": 6})
    ({4: 1.0, 5: 1.0, 6: 1.0}, {4: 1.0, 5: 1.0, 6: 1.0})
    >>> encoder.learn_one({"x": 11})
    >>> encoder.transform_one({"x": 11}), encoder.clamped
    ({7: 1.0, 8: 1.0, 9: 1.0}, 1)

    References
    ----------
    Purdy, S. (2016). Encoding data for HTM systems. arXiv:1602.05925, section 3.
    """

    name = "htm.ScalarEncoder"

    def __init__(
        self,
        limits: Limits,
        n_bits: int = 400,
        n_active: int = 21,
        is_periodic: bool = False,
        outside: str = "clamp",
    ) -> None:
        super().__init__(
            limits=described(self.name, limits),
            n_bits=n_bits,
            n_active=n_active,
            is_periodic=is_periodic,
            outside=outside,
        )

    @property
    def clamped(self) -> int:
        """Number of learned values outside their limits."""
        return int(self._numbers()["clamped"])


class DateEncoder(Native, Transformer):
    """Encodes a time as bits: time of day, day of the week, weekend and season.

    Choose it, in a `Union` with other encoders, for series with daily, weekly or yearly patterns. Each of the four
    encodings has its own columns. Times of day that are less than 9.49 hours apart share bits, as do days of
    the week that are less than a day apart, and seasons that are less than a quarter of a year apart.

    Parameters
    ----------
    time
        Name of the feature with the time: a date (datetime, date, pandas Timestamp, NumPy datetime64), or seconds
        since 1970. Dates without a time zone count as UTC.
    time_of_day
        Number of active bits for the time of day; 0 for none.
    day_of_week
        Number of active bits for the day of the week; 0 for none.
    weekend
        Number of active bits for weekend or not; 0 for none.
    season
        Number of active bits for the season; 0 for none.

    Examples
    --------
    >>> from datetime import datetime
    >>> from millstream import htm
    >>> encoder = htm.DateEncoder("time", time_of_day=3, weekend=2)
    >>> encoder.learn_one({"time": datetime(2024, 5, 4, 6)})
    >>> encoder.transform_one({"time": datetime(2024, 5, 4, 6)})  # a Saturday
    {1: 1.0, 2: 1.0, 3: 1.0, 10: 1.0, 11: 1.0}
    >>> encoder.transform_one({"time": datetime(2024, 5, 6, 9)})
    {2: 1.0, 3: 1.0, 4: 1.0, 8: 1.0, 9: 1.0}

    References
    ----------
    Purdy, S. (2016). Encoding data for HTM systems. arXiv:1602.05925, section 4.
    """

    name = "htm.DateEncoder"

    @forwarded
    def __init__(
        self,
        time: str | int,
        time_of_day: int = 21,
        day_of_week: int = 0,
        weekend: int = 0,
        season: int = 0,
    ) -> None: ...


class CategoryEncoder(Native, Transformer):
    """Encodes nominal values as random sparse bits.

    Choose it before `SpatialPooler` for nominal features with any number of values. The bits of a value are a
    function of the seed, the feature and the value, so the number of values is not limited. All nominal
    features share the same columns; two codes share `n_active**2 / n_bits` bits on average. Numbers have no
    active bits, and neither do unknown values in the predictions of a pipeline.

    Parameters
    ----------
    n_bits
        Number of bits.
    n_active
        Number of active bits of a value; at most half of `n_bits`.
    seed
        Seed of the random codes.

    Examples
    --------
    >>> from millstream import htm
    >>> encoder = htm.CategoryEncoder(n_bits=100, n_active=4)
    >>> for colour in ("red", "green"):
    ...     encoder.learn_one({"colour": colour})
    >>> [sorted(encoder.transform_one({"colour": colour})) for colour in ("red", "green", "blue")]
    [[7, 26, 58, 96], [11, 17, 22, 98], [29, 38, 48, 88]]

    References
    ----------
    Ahmad, S. and Hawkins, J. (2016). How do neurons operate on sparse distributed representations?
    arXiv:1601.00720.
    Purdy, S. (2016). Encoding data for HTM systems. arXiv:1602.05925.
    """

    name = "htm.CategoryEncoder"

    @forwarded
    def __init__(self, n_bits: int = 400, n_active: int = 21, seed: int = 1) -> None: ...
