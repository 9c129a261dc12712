"""Dates in the columns that aggregates use as times: they become seconds since 1970."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from millstream import _frames
from millstream._echo import quoted
from millstream.errors import MillstreamError

__all__ = ["date_of", "in_seconds", "row_in_seconds", "times_of"]

_PLAIN = (float, int, str, type(None))


def times_of(model: Any) -> list[Any]:
    """The names of the features of a model that may be dates; none for a model written in Python."""
    named = getattr(model, "_times", None)
    return list(named()) if callable(named) else []


def date_of(seconds: float | None) -> str | None:
    """Seconds since 1970 as a date and a time, such as "2024-01-01 08:30:00"; None for a missing time."""
    if seconds is None or seconds != seconds:
        return None
    try:
        return str(datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None))
    except (ValueError, OverflowError, OSError):
        return str(seconds)


def row_in_seconds(x: Any, names: Sequence[Any]) -> Any:
    """A row whose times are numbers."""
    if not isinstance(x, Mapping) or all(type(x.get(name)) in _PLAIN for name in names):
        return x
    return {key: _seconds(key, value) if key in names else value for key, value in x.items()}


def in_seconds(X: Any, names: Sequence[Any]) -> Any:
    """Rows, a frame or a matrix whose columns of times are numbers."""
    library = _frames._library(X)
    if library == "pandas" and hasattr(X, "columns"):
        dated = [name for name in names if name in X.columns and X[name].dtype.kind in "MO"]
        return X.assign(**{name: _column(name, X[name]) for name in dated}) if dated else X
    if library == "polars" and hasattr(X, "get_columns"):
        import polars

        dated = [name for name in names if name in X.columns and X[name].dtype.is_temporal()]
        return X.with_columns(polars.Series(name, _column(name, X[name])) for name in dated) if dated else X
    if library == "pyarrow" and hasattr(X, "column_names"):
        import pyarrow

        for name in names:
            place = X.schema.get_field_index(name) if isinstance(name, str) else -1
            if place >= 0 and pyarrow.types.is_temporal(X.schema.types[place]):
                X = X.set_column(place, name, pyarrow.array(_column(name, X.column(place))))
        return X
    if isinstance(X, np.ndarray) or library == "scipy" or isinstance(X, (str, bytes, Mapping)):
        return X
    if isinstance(X, Sequence):
        return [_or_same(x, names) for x in X]
    return _each(X, names) if isinstance(X, Iterator) else X


def _each(rows: Iterator[Any], names: Sequence[Any]) -> Iterator[Any]:
    for x in rows:
        yield _or_same(x, names)


def _or_same(x: Any, names: Sequence[Any]) -> Any:
    """A row of a batch; one that cannot be read stays as it is, so that the model refuses this row alone."""
    try:
        return row_in_seconds(x, names)
    except MillstreamError:
        return x


def _column(name: Any, column: Any) -> Any:
    from millstream.sampling.rows import time_column

    try:
        return time_column(column)
    except MillstreamError as error:
        raise type(error)(f"feature {quoted(name)}: {error}") from None


def _seconds(name: Any, value: Any) -> Any:
    from millstream.sampling.rows import seconds

    if value is None or type(value).__name__ in ("NAType", "NaTType") or isinstance(value, str):
        return value
    if isinstance(value, np.datetime64) and np.isnat(value):
        return None
    try:
        return seconds(value)
    except MillstreamError as error:
        raise type(error)(f"feature {quoted(name)}: {error}") from None
