"""The kinds of columns, and the conversion of Arrow columns to them.

A kind is stated, or inferred from the first rows. A value of another kind is a fault of its row: `as_kind` returns
the column with nulls for such values, and their indices.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as arrow
import pyarrow.compute as compute

from millstream import _frames

__all__ = ["KINDS", "as_kind", "as_time", "kind_of", "split_kind"]

#: The kinds that can be stated. A text is kept as it is; a nominal value is one of a set.
KINDS = ("number", "nominal", "text", "time")

#: The kind of a column with only missing values so far.
UNKNOWN = "unknown"


def kind_of(kind: arrow.DataType) -> str | None:
    """The kind of an Arrow type; None if no feature can be of that type."""
    types = arrow.types
    if types.is_null(kind):
        return UNKNOWN
    if types.is_dictionary(kind) or _is_text(kind):
        return "nominal"
    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind):
        return "number"
    if types.is_timestamp(kind) or types.is_date(kind) or types.is_time(kind) or types.is_duration(kind):
        return "time"
    return None


def split_kind(kind: str) -> tuple[str, str | None]:
    """A stated kind, and the layout of times: "time:%d.%m.%Y" is the kind "time" in that layout."""
    name, sign, layout = kind.partition(":")
    return (name, layout) if name == "time" and sign and "%" in layout else (kind, None)


def as_kind(column: Any, kind: str, stated: bool, layout: str | None = None) -> tuple[Any, Any]:
    """A column converted to its kind, and the indices of values of another kind, or None.

    Values are converted to a stated kind: a number to a string if the column is nominal, a string to a number if
    it is numeric. An inferred kind is not converted to; values must already have it.
    """
    found = kind_of(column.type)
    if found == UNKNOWN or column.null_count == len(column):
        return arrow.nulls(len(column), _missing_type(kind)), None
    if kind in ("nominal", "text"):
        if found != "nominal" and not stated:
            return arrow.nulls(len(column), arrow.string()), _present(column)
        return _texts(column, kind), None
    if found == "nominal" and arrow.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if kind == "number":
        if found == "number":
            return column, None
        if found == "nominal" and stated:
            return _read(column, arrow.float64())
        return arrow.nulls(len(column), arrow.float64()), _present(column)
    times, bad = as_time(column, layout)
    return _seconds(times), bad


def as_time(column: Any, layout: str | None = None) -> tuple[Any, Any]:
    """Times as Arrow timestamps or numbers; strings are read in a layout such as "%d.%m.%Y", or as ISO 8601."""
    found = kind_of(column.type)
    if arrow.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if layout is not None and found in ("nominal", "number"):
        texts = compute.utf8_trim_whitespace(column.cast(arrow.string()))
        times = compute.strptime(texts, format=layout, unit="us", error_is_null=True)
        bad = np.flatnonzero(compute.and_(compute.is_valid(texts), compute.is_null(times)))
        return times, bad if len(bad) else None
    if found == "nominal":
        return _read(column, arrow.timestamp("us"))
    if arrow.types.is_date(column.type):
        return column.cast(arrow.timestamp("ms")), None
    return column, None


def missing(column: Any) -> Any:
    """The indices of nulls and NaNs, or None."""
    if column.null_count == 0 and not arrow.types.is_floating(column.type):
        return None
    places = np.flatnonzero(_frames.from_arrow(compute.is_null(column, nan_is_null=True)))
    return places if len(places) else None


def _is_text(kind: arrow.DataType) -> bool:
    types = arrow.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _missing_type(kind: str) -> arrow.DataType:
    if kind == "nominal":
        return arrow.dictionary(arrow.int32(), arrow.string())
    return arrow.string() if kind == "text" else arrow.float64()


def _present(column: Any) -> Any:
    return np.flatnonzero(_frames.from_arrow(column.is_valid()))


def _texts(column: Any, kind: str) -> Any:
    if arrow.types.is_dictionary(column.type):
        if not _is_text(column.type.value_type):
            texts = column.dictionary.cast(arrow.string())
            column = arrow.DictionaryArray.from_arrays(column.indices, texts)
        return column if kind == "nominal" else column.cast(arrow.string())
    if not _is_text(column.type):
        column = column.cast(arrow.string())
    return compute.dictionary_encode(column) if kind == "nominal" else column


def _read(column: Any, kind: arrow.DataType) -> tuple[Any, Any]:
    """Strings as numbers or times, and the indices of those that cannot be read."""
    texts = compute.dictionary_encode(compute.utf8_trim_whitespace(column))
    values, bad = _read_each(texts.dictionary, kind)
    column = values.take(texts.indices)
    if not bad:
        return column, None
    places = np.flatnonzero(compute.is_in(texts.indices, value_set=arrow.array(bad, texts.indices.type)))
    return column, places


def _read_each(texts: Any, kind: arrow.DataType) -> tuple[Any, list[int]]:
    ways = (_whole_number, _number, _word) if kind == arrow.float64() else (_time, _time_with_zone)
    for way in ways:
        try:
            return way(texts), []
        except arrow.ArrowInvalid:
            continue
    # They are read one by one only if one of them cannot be read, to find it.
    values, bad = [], []
    for place, text in enumerate(texts):
        value = None
        for way in ways[-2:]:
            try:
                value = way(arrow.array([text.as_py()]))[0].as_py()
                break
            except arrow.ArrowInvalid:
                continue
        else:
            bad.append(place)
        values.append(value)
    whole = kind == arrow.float64() and all(
        value is None or (abs(value) < 2**53 and value == value // 1) for value in values
    )
    # Integer labels stay integers beside one that cannot be read.
    return arrow.array(values, kind).cast(arrow.int64() if whole else kind), bad


def _whole_number(texts: Any) -> Any:
    return texts.cast(arrow.int64())


def _number(texts: Any) -> Any:
    return texts.cast(arrow.float64())


def _word(texts: Any) -> Any:
    return texts.cast(arrow.bool_()).cast(arrow.uint8()).cast(arrow.float64())


def _time(texts: Any) -> Any:
    return texts.cast(arrow.timestamp("us"))


def _time_with_zone(texts: Any) -> Any:
    """Times with a zone, as times in UTC."""
    return texts.cast(arrow.timestamp("us", "UTC")).cast(arrow.timestamp("us"))


def _seconds(column: Any) -> Any:
    """Times as seconds; since 1970 if they have a date."""
    types = arrow.types
    if kind_of(column.type) == "number":
        return column
    if types.is_timestamp(column.type):
        # An hour before 1970 or a nanosecond is no reason to refuse a row.
        micro = column.cast(arrow.timestamp("us", column.type.tz), safe=False)
    elif types.is_time(column.type):
        micro = column.cast(arrow.time64("us"), safe=False)
    else:
        micro = column.cast(arrow.duration("us"), safe=False)
    # To convert a Python number, pyarrow imports pandas, which takes half a second; a buffer needs no conversion.
    million = arrow.Array.from_buffers(arrow.float64(), 1, [None, arrow.py_buffer(np.array([1e6]))])[0]
    return compute.divide(micro.cast(arrow.int64()).cast(arrow.float64(), safe=False), million)
