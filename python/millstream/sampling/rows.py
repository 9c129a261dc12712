"""Rows, keys and times in the form that samplers store: None, bools, 64-bit integers, floats and strings."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from millstream import _core, _frames
from millstream._echo import quoted, typed
from millstream.errors import InvalidType, InvalidValue, MillstreamError

__all__ = ["Batch", "key_column", "plain_row", "plain_value", "seconds", "time_column", "values_of"]

_PLAIN = (float, int, str, bool, type(None))


def plain_row(x: Any) -> dict[Any, Any]:
    """A row whose values need no Python code to be read."""
    if not isinstance(x, Mapping):
        raise InvalidType(f"an example must be a dict of features, got {typed(x)}")
    row = {}
    for key, value in x.items():
        try:
            row[_frames._name(key)] = plain_value(value)
        except MillstreamError as error:
            raise type(error)(f"feature {quoted(key)}: {error}") from None
    return row


def plain_value(value: Any) -> Any:
    """A value that needs no Python code to be read."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise InvalidValue(f"a string must be valid Unicode, got {typed(value)}") from None
        return str.__str__(value)
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise InvalidValue(f"an integer must fit in 64 bits, got {typed(value)}")
        return bool(value) if isinstance(value, bool) else int(value)
    if isinstance(value, float):
        return float(value)
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    raise InvalidType(f"a value must be a number, a string, a bool or None, got {typed(value)}")


_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def seconds(t: Any) -> float:
    """A time as a number: dates in seconds since 1970, in UTC if they have no time zone."""
    if isinstance(t, np.generic):
        t = t.astype("datetime64[us]").item() if isinstance(t, np.datetime64) else t.item()
    if isinstance(t, datetime.datetime):
        t = t.replace(tzinfo=datetime.UTC) if t.tzinfo is None else t
        return float((t - _EPOCH) / datetime.timedelta(seconds=1))
    if isinstance(t, datetime.date):
        return seconds(datetime.datetime(t.year, t.month, t.day, tzinfo=datetime.UTC))
    if isinstance(t, datetime.timedelta):
        return t / datetime.timedelta(seconds=1)
    if isinstance(t, bool) or not (hasattr(t, "__float__") or hasattr(t, "__index__")):
        raise InvalidType(f"t must be a number or a date, got {typed(t)}")
    try:
        return float(t)
    except (OverflowError, TypeError, ValueError):
        raise InvalidValue(f"t must be a number or a date, got {typed(t)}") from None


def time_column(t: Any) -> Any:
    """Times of rows as an array of floats."""
    if t is None:
        return None
    if _frames._library(t) == "pyarrow":
        t = t.to_numpy(zero_copy_only=False) if hasattr(t, "type") and not hasattr(t, "chunks") else t.to_numpy()
    array = np.asarray(t)
    if array.dtype.kind == "M":
        numbers = array.astype("datetime64[us]").astype(np.float64) / 1e6
        return np.where(np.isnat(array), np.nan, numbers)
    if array.dtype.kind in "iuf":
        return array.astype(np.float64)
    return np.array([np.nan if each is None else seconds(each) for each in values_of(t)], dtype=np.float64)


def values_of(column: Any) -> list[Any]:
    """A column as a list."""
    for method in ("to_pylist", "tolist", "to_list"):
        if hasattr(column, method):
            return list(getattr(column, method)())
    return list(column)


def key_column(column: Any) -> Any:
    """Keys of rows for the core: an array of numbers, or a list of plain values."""
    if _frames._library(column) == "pyarrow":
        # Gaps would turn integers into floats.
        numeric = column.null_count == 0 and str(column.type).startswith(("int", "uint", "float", "double"))
        column = column.to_numpy() if numeric and hasattr(column, "chunks") else column.to_pylist()
    elif _frames._library(column) == "polars":
        numeric = column.dtype.is_numeric() and column.null_count() == 0
        column = column.to_numpy() if numeric else column.to_list()
    elif hasattr(column, "to_numpy") and isinstance(column.dtype, np.dtype) and column.dtype.kind in "iuf":
        column = column.to_numpy()
    if isinstance(column, np.ndarray) and column.dtype.kind in "iuf":
        return column
    values = values_of(column)
    if all(type(value) in _PLAIN for value in values):
        return values
    return [plain_value(value) for value in values]


@dataclass
class Batch:
    """Many rows: their number, a function that reads some of them as dicts, and one that returns a column."""

    rows: int
    fetch: Callable[[list[int]], list[Any]]
    column: Callable[[Any], Any]
    #: The errors of rows that cannot be read, by index.
    bad: dict[int, MillstreamError]

    @classmethod
    def of(cls, X: Any) -> Batch:
        """Read frames and matrices lazily, where the types of their columns are plain."""
        library = _frames._library(X)
        if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "biuf":
            return cls(
                len(X),
                lambda indices: [dict(enumerate(row)) for row in X[indices].tolist()],
                lambda name: X[:, name] if isinstance(name, int) and 0 <= name < X.shape[1] else _absent(name),
                {},
            )
        if library == "pandas" and hasattr(X, "columns"):
            _check_names(list(X.columns))
            if all(_is_plain_pandas(dtype) for dtype in X.dtypes):
                fetch = lambda indices: X.iloc[indices].to_dict("records")  # noqa: E731
                return cls(len(X), fetch, lambda name: X[name] if name in X.columns else _absent(name), {})
            return cls._of_dicts(X.to_dict("records"))
        if library == "polars" and hasattr(X, "get_columns"):
            if all(dtype.is_numeric() or str(dtype).startswith(_POLARS) for dtype in X.dtypes):
                fetch = lambda indices: X[indices].to_dicts()  # noqa: E731
                return cls(X.height, fetch, lambda name: X[name] if name in X.columns else _absent(name), {})
            return cls._of_dicts(X.to_dicts())
        if library == "pyarrow" and hasattr(X, "column_names"):
            _check_names(X.column_names)
            if all(str(field.type).startswith(_ARROW) for field in X.schema):
                fetch = lambda indices: X.take(indices).to_pylist()  # noqa: E731
                return cls(X.num_rows, fetch, lambda n: X[n] if n in X.column_names else _absent(n), {})
            return cls._of_dicts(X.to_pylist())
        if isinstance(X, Mapping):
            raise InvalidType(f"X must be a matrix, a frame or a list of dicts, got {typed(X)}; see learn_one")
        return cls._of_dicts(list(_frames.dicts(X)))

    @classmethod
    def _of_dicts(cls, rows: list[Any]) -> Batch:
        bad = {}
        for index in _core.Sampler._not_plain(rows):
            try:
                rows[index] = plain_row(rows[index])
            except MillstreamError as error:
                bad[index] = error

        def column(name: Any) -> list[Any]:
            for index, row in enumerate(rows):
                if index not in bad and name not in row:
                    bad[index] = InvalidValue(f"a row must have the feature {quoted(name)}, got {quoted(row)}")
            return [None if index in bad else row[name] for index, row in enumerate(rows)]

        return cls(len(rows), lambda indices: [rows[index] for index in indices], column, bad)

    def targets(self, y: Any) -> list[Any] | None:
        """The targets of the rows as plain values."""
        if y is None:
            return None
        values = values_of(y)
        if len(values) != self.rows:
            raise InvalidValue(f"y has {len(values)} values for {self.rows} rows")
        for index, value in enumerate(values):
            if type(value) not in _PLAIN:
                try:
                    values[index] = plain_value(value)
                except MillstreamError as error:
                    self.bad.setdefault(index, type(error)(f"y: {error}"))
        return values


_POLARS = ("Bool", "String", "Utf8", "Cat", "Enum", "Null")
_ARROW = ("int", "uint", "float", "double", "halffloat", "bool", "string", "large_string", "dictionary", "null")


def _is_plain_pandas(dtype: Any) -> bool:
    kind = dtype.categories.dtype if hasattr(dtype, "categories") else dtype
    return getattr(kind, "kind", "") in "biuf" or str(kind) in ("string", "str", "boolean")


def _check_names(names: Sequence[Any]) -> None:
    if len(set(names)) < len(names):
        twice = next(name for name in names if list(names).count(name) > 1)
        raise InvalidValue(f"duplicate column {quoted(twice)}")


def _absent(name: Any) -> Any:
    raise InvalidValue(f"there is no column {quoted(name)}")
