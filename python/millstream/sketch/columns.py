"""Columns of numbers and of keys in the form that the core reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from millstream import _frames
from millstream._echo import typed
from millstream._measures import numbers
from millstream.errors import InvalidType, InvalidValue
from millstream.sampling.rows import plain_value, values_of

__all__ = ["is_column", "keys_of", "numbers_of"]

_PLAIN = (float, int, str, bool, type(None))


def is_column(x: Any) -> bool:
    """Whether a question is about many values."""
    return not isinstance(x, (str, bytes)) and hasattr(x, "__len__")


def numbers_of(what: str, values: Any) -> Any:
    """Numbers as an array of floats; None is NaN."""
    if isinstance(values, (list, tuple)) and any(value is None for value in values):
        values = [np.nan if value is None else value for value in values]
    elif isinstance(values, np.ndarray) and values.dtype == object:
        return numbers_of(what, values.tolist())
    return numbers(what, values)


def keys_of(values: Any) -> Any:
    """Keys as an array of numbers, a list of plain values, or bytes with offsets and codes of strings."""
    library = _frames._library(values)
    if library == "polars" and hasattr(values, "to_arrow"):
        values, library = values.to_arrow(), "pyarrow"
    elif library == "pandas" and hasattr(values, "array"):
        if hasattr(values, "cat"):
            return _dictionary(values.cat.categories.tolist(), values.cat.codes.to_numpy())
        arrow = getattr(values.array, "__arrow_array__", None) if "pyarrow" in str(values.dtype) else None
        values, library = (arrow(), "pyarrow") if arrow else (values.to_numpy(), "numpy")
    if library == "pyarrow":
        return _arrow(values)
    if isinstance(values, np.ma.MaskedArray):
        values = values.tolist()
    if isinstance(values, np.ndarray):
        if values.ndim != 1:
            raise InvalidValue(f"keys must be a column, got {values.ndim} dimensions")
        if values.dtype.kind in "iu":
            return values
        if values.dtype.kind == "f":
            return values.astype(np.float64, copy=False)
        values = values.tolist()
    elif isinstance(values, (str, bytes, Mapping)) or not hasattr(values, "__iter__"):
        raise InvalidType(f"keys must be a column, got {typed(values)}")
    return _plain(values if type(values) is list else list(values))


def _plain(values: list[Any]) -> list[Any]:
    """Values that need no Python code to be read."""
    if all(type(value) in _PLAIN for value in values):
        return values
    return [value if type(value) in _PLAIN else plain_value(value) for value in values]


def _arrow(column: Any) -> Any:
    import pyarrow

    types = pyarrow.types
    if isinstance(column, pyarrow.ChunkedArray):
        column = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    if not hasattr(column, "type"):
        raise InvalidType(f"keys must be a column, got {typed(column)}")
    kind = column.type
    if types.is_dictionary(kind):
        codes = column.indices.cast(pyarrow.int64()).fill_null(-1)
        return _dictionary(column.dictionary, _frames.from_arrow(codes))
    if (types.is_integer(kind) or types.is_floating(kind)) and column.null_count == 0:
        return keys_of(_frames.from_arrow(column))
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return _texts(column)
    return _plain(column.to_pylist())


def _texts(column: Any) -> tuple[Any, Any, Any]:
    """The bytes and offsets of Arrow strings; with codes, if some are missing."""
    import pyarrow

    column = column.cast(pyarrow.large_string())
    _, offsets, data = column.buffers()
    offsets = (
        np.frombuffer(offsets, np.int64, len(column) + 1, column.offset * 8) if offsets else np.zeros(1, np.int64)
    )
    first, last = (int(offsets[0]), int(offsets[-1])) if len(column) else (0, 0)
    data = np.frombuffer(data, np.uint8, last - first, first) if last > first else np.zeros(0, np.uint8)
    codes = None
    if column.null_count:
        codes = np.where(np.asarray(column.is_null()), -1, np.arange(len(column)))
    return data, offsets - first, codes


def _dictionary(categories: Any, codes: Any) -> Any:
    """Coded values; strings are read once for each code."""
    import pyarrow

    values = categories if isinstance(categories, list) else values_of(categories)
    codes = np.asarray(codes, dtype=np.int64)
    if values and all(type(value) is str for value in values):
        data, offsets, _ = _texts(pyarrow.array(values, pyarrow.large_string()))
        return data, offsets, codes
    return _plain([None if code < 0 else values[code] for code in codes.tolist()])
