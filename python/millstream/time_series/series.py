"""Any kind of series, value by value."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from millstream import _frames
from millstream._echo import quoted
from millstream.errors import InvalidType, InvalidValue

__all__ = ["Reading", "column", "number", "readings", "steps"]

#: Number of array values converted to Python numbers at a time.
_SLICE = 1 << 14

_END: Any = object()


class Reading(NamedTuple):
    """One time step of a series."""

    #: NaN if it is missing.
    y: float
    #: The features of the step; None if there are none.
    x: Any
    #: Its time, if the series has times.
    time: Any


def readings(series: Any, X: Any, who: str) -> Iterator[Reading]:
    """The values of a series, with their features and times.

    A series is an array, a column of pandas, polars or Arrow, or an iterable of numbers or of pairs `(x, y)`,
    where x is a dict of features, None, or a time.
    """
    for index, (y, x, time) in enumerate(steps(series, X, who)):
        yield Reading(number(y, index, who), x, time)


def steps(series: Any, X: Any, who: str) -> Iterator[tuple[Any, Any, Any]]:
    """The same, without checking the values."""
    pairs = _pairs(series, who)
    if X is None:
        for x, y in pairs:
            has_features = isinstance(x, Mapping)
            yield y, x if has_features and x else None, None if has_features else x
        return
    rows = _frames.dicts(X)
    for index, (pair, row) in enumerate(itertools.zip_longest(pairs, rows, fillvalue=_END)):
        if pair is _END or row is _END:
            longer, shorter = ("X", "the series") if pair is _END else ("the series", "X")
            raise InvalidValue(f"{who}: {longer} is longer than {shorter}, which has {index} rows")
        x, y = pair
        if isinstance(x, Mapping):
            raise InvalidValue(f"{who}: features must be in the series or in X, got both")
        yield y, row, x


def column(series: Any, X: Any, who: str) -> Any:
    """The values alone, as an array or a list; the features are checked for their number."""
    values = _column(series, who) if _is_column(series) else [y for y, _, _ in steps(series, None, who)]
    if X is not None:
        rows = sum(1 for _ in _frames.dicts(X))
        if rows != len(values):
            longer, shorter = ("X", "the series") if rows > len(values) else ("the series", "X")
            least = min(rows, len(values))
            raise InvalidValue(f"{who}: {longer} is longer than {shorter}, which has {least} rows")
    return values


def _is_column(series: Any) -> bool:
    return hasattr(series, "dtype") or hasattr(series, "to_numpy")


def _column(series: Any, who: str) -> Any:
    if getattr(series, "ndim", 1) != 1 or hasattr(series, "columns"):
        raise InvalidType(
            f"{who}: a series must be one column of numbers, got {type(series).__name__} with several"
        )
    return _frames.targets(series)


def _pairs(series: Any, who: str) -> Iterator[tuple[Any, Any]]:
    """Features or times with the values, neither of them checked."""
    if isinstance(series, (str, bytes, Mapping)) or not isinstance(series, Iterable):
        raise InvalidType(f"{who}: a series must be an iterable of numbers, got {type(series).__name__}")
    if not _is_column(series):
        for index, item in enumerate(series):
            if isinstance(item, tuple):
                if len(item) != 2:
                    raise InvalidValue(
                        f"{who}: value {index} of the series must be y or (x, y), got {quoted(item)}"
                    )
                yield item
            else:
                yield None, item
        return
    column = _column(series, who)
    times = getattr(series, "index", None)
    labels = iter(times) if isinstance(times, Iterable) and _tells_time(times) else itertools.repeat(None)
    for start in range(0, len(column), _SLICE):
        part = column[start : start + _SLICE]
        values = part.tolist() if isinstance(part, np.ndarray) else part
        yield from zip(labels, values, strict=False)


def _tells_time(index: Any) -> bool:
    return type(index).__name__ in ("DatetimeIndex", "PeriodIndex", "TimedeltaIndex")


def number(value: Any, index: int, who: str) -> float:
    """A value of a series; NaN if it is missing."""
    if type(value) is not float:
        if value is None or type(value).__name__ == "NAType":
            return math.nan
        try:
            if isinstance(value, (str, bytes)):
                raise TypeError
            value = float(value)
        except (TypeError, ValueError):
            got = f"got {quoted(value)}"
            raise InvalidType(f"{who}: value {index} of the series must be a number, {got}") from None
        except OverflowError:
            raise InvalidValue(f"{who}: value {index} of the series must fit in a float") from None
    if math.isinf(value):
        raise InvalidValue(f"{who}: value {index} of the series must be finite, got {value}")
    return value  # type: ignore[no-any-return]
