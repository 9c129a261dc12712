"""The columns of a batch that are not features: keys and times."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from millstream import _frames
from millstream._dates import in_seconds
from millstream._echo import quoted, typed
from millstream.errors import InvalidType, InvalidValue, UnknownName

__all__ = ["Split", "first_rows", "key_list", "key_times", "key_values", "split_dict", "split_rows"]


class Split:
    """A batch as `_frames.take_apart` returns it, without the columns of keys and times."""

    def __init__(self, rows: tuple[Any, ...], keys: Any, times: Any) -> None:
        self.rows = rows
        self.keys = keys
        self.times = times


def key_values(keys: Any) -> Any:
    """A column of keys as `key_column.rs` reads it: an array of numbers, texts, or codes of texts."""
    if _frames._library(keys) == "pyarrow":
        return _arrow_keys(keys)
    if _frames._library(keys) == "polars" and hasattr(keys, "to_arrow"):
        return _arrow_keys(keys.to_arrow())
    if hasattr(keys, "cat") and hasattr(keys, "to_numpy"):
        categories = list(keys.cat.categories)
        if all(isinstance(category, str) for category in categories):
            return ("codes", keys.cat.codes.to_numpy(), categories)
        return key_values(keys.astype(object))
    if isinstance(keys, (list, tuple)):
        # An array would hide the type of some, such as of True.
        return _object_keys(list(keys))
    dtype: Any = getattr(keys, "dtype", None)
    if getattr(dtype, "kind", "") in ("i", "u") and hasattr(dtype, "numpy_dtype"):
        # A column of pandas with missing integers: a float would lose digits.
        missing = np.asarray(keys.isna(), dtype=np.bool_)
        whole = _integers(keys.fillna(0).to_numpy(dtype=dtype.numpy_dtype))
        return ("integers", whole.astype(np.int64), ~missing) if missing.any() else whole
    array = np.asarray(keys)
    if array.ndim != 1:
        raise InvalidType(f"keys must have one key for each row, got {typed(keys)}")
    if array.dtype.kind in "iuf":
        return _integers(array)
    if array.dtype.kind in "UTO":
        return _object_keys(array.tolist())
    raise InvalidType(f"a key must be an integer or a string, got dtype {array.dtype}")


def _integers(array: Any) -> Any:
    """An array of numbers that fit in 64 bits with a sign."""
    if array.dtype.kind == "u" and array.size and array.max() > np.iinfo(np.int64).max:
        raise InvalidValue("a key must fit in 64 bits")
    return _frames._numbers("keys", array)


def _object_keys(keys: Any) -> Any:
    """Python objects: all strings or all integers, each with missing ones."""
    keys = [None if type(key).__name__ in ("NAType", "NaTType") or key != key else key for key in keys]
    present = [key for key in keys if key is not None]
    if present and all(isinstance(key, str) for key in present):
        categories: dict[str, int] = {}
        codes = [categories.setdefault(key, len(categories)) if isinstance(key, str) else -1 for key in keys]
        return ("codes", np.array(codes, dtype=np.int64), list(categories))
    if all(_is_whole(key) for key in present):
        try:
            whole = np.array([0 if key is None else int(key) for key in keys], dtype=np.int64)
        except OverflowError:
            raise InvalidValue("a key must fit in 64 bits") from None
        if len(present) == len(keys):
            return whole
        return ("integers", whole, np.array([key is not None for key in keys], dtype=np.bool_))
    bad = next((key for key in present if not _is_whole(key) and not isinstance(key, str)), None)
    if bad is None:
        raise InvalidType("keys must be all integers or all strings, got both")
    raise InvalidType(f"a key must be an integer or a string, got {typed(bad)}")


def _is_whole(key: Any) -> bool:
    """True for an integer, or a float that stands for one."""
    if isinstance(key, (bool, np.bool_)):
        return False
    return isinstance(key, (int, np.integer)) or (
        isinstance(key, (float, np.floating)) and float(key).is_integer()
    )


def _arrow_keys(column: Any) -> Any:
    import pyarrow as pa

    if hasattr(column, "chunks"):
        column = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    if pa.types.is_dictionary(column.type):
        codes = column.indices
        if not (pa.types.is_string(column.type.value_type) or pa.types.is_large_string(column.type.value_type)):
            return _arrow_keys(column.dictionary_decode())
        codes = codes.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
        categories = column.dictionary.to_pylist()
        if None in categories:
            codes = np.where(np.array([category is None for category in categories])[codes], -1, codes)
        return ("codes", codes, [category or "" for category in categories])
    if pa.types.is_string_view(column.type):
        column = column.cast(pa.large_string())
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        kind = np.int32 if pa.types.is_string(column.type) else np.int64
        _, offsets, data = column.buffers()
        starts = np.frombuffer(offsets, dtype=kind)[column.offset : column.offset + len(column) + 1]
        valid = np.asarray(column.is_valid()) if column.null_count else None
        return ("texts", starts, np.frombuffer(data or b"", dtype=np.uint8), valid)
    if pa.types.is_integer(column.type):
        if not column.null_count:
            return _integers(column.to_numpy(zero_copy_only=False))
        # A float would lose digits.
        whole = column.fill_null(0).to_numpy(zero_copy_only=False)
        return ("integers", _integers(whole).astype(np.int64), np.asarray(column.is_valid()))
    if pa.types.is_floating(column.type) or pa.types.is_null(column.type):
        return column.cast(pa.float64()).to_numpy(zero_copy_only=False)
    raise InvalidType(f"a key must be an integer or a string, got a column of {column.type}")


def _absent(who: str, name: Any, present: Any) -> UnknownName:
    shown = ", ".join(quoted(each) for each in list(present)[:4])
    return UnknownName(f"{who}: there is no column {quoted(name)} for the key among {shown or 'no columns'}")


def split_rows(who: str, X: Any, key: Any, keys: Any, time: Any, times: Any) -> Split:
    """Separate the keys and times of a batch from its features. Given `keys` and `times` stand beside `X`."""
    library = _frames._library(X)
    if library in ("pandas", "polars", "pyarrow") and hasattr(
        X, "column_names" if library == "pyarrow" else "columns"
    ):
        names = list(X.column_names if library == "pyarrow" else X.columns)
        drop = []
        if keys is None:
            if key not in names:
                raise _absent(who, key, names)
            keys = X[key] if library != "pyarrow" else X.column(key)
            drop.append(key)
        if times is None and time is not None:
            if time not in names:
                raise _absent(who, time, names)
            times = _seconds(X[[time]] if library == "pandas" else X.select([time]), time)
            drop.append(time)
        if drop:
            X = (
                X.drop(columns=drop)
                if library == "pandas"
                else X.drop(drop)
                if library == "polars"
                else X.drop_columns(drop)
            )
        return Split(_frames.take_apart(X), key_values(keys), key_times(times))
    rows = _frames.take_apart(X)
    if keys is not None:
        return Split(rows, key_values(keys), key_times(times))
    if rows[0] == "matrix" and isinstance(key, int) and 0 <= key < rows[1].shape[1]:
        others = [column for column in range(rows[1].shape[1]) if column not in (key, time)]
        seconds = rows[1][:, time] if times is None and isinstance(time, int) else times
        columns = [(column, rows[1][:, column], None) for column in others]
        return Split(("columns", columns, len(rows[1])), rows[1][:, key], key_times(seconds))
    raise InvalidType(f"{who}: rows without a column {quoted(key)} need keys=…, one for each row")


def _seconds(frame: Any, name: Any) -> Any:
    column = _frames.take_apart(in_seconds(frame, [name]))[1][0]
    return column[1]


def key_times(times: Any) -> Any:
    """Times in seconds; NaN for none."""
    if times is None:
        return None
    array = np.asarray(times)
    if array.dtype.kind == "M":
        seconds = array.astype("datetime64[ns]").astype(np.int64) / 1e9
        return np.where(np.isnat(array), np.nan, seconds)
    try:
        array = array.astype(np.float64)
    except (TypeError, ValueError):
        raise InvalidType("a time must be a number of seconds or a date, in an array of dates") from None
    for row in np.flatnonzero(np.isinf(array))[:1]:
        raise InvalidValue(f"row {row}: a time must be finite, got {array[row]}", int(row))
    return array


def split_dict(who: str, x: Any, key: Any, time: Any) -> tuple[Any, float, dict[Any, Any]]:
    """The key, the time and the features of one example."""
    if not isinstance(x, Mapping):
        raise InvalidType(f"{who}: an example must be a dict of features, got {type(x).__name__}")
    features = dict(x)
    try:
        found = features.pop(key)
    except KeyError:
        raise _absent(who, key, features) from None
    if isinstance(found, np.generic):
        found = found.item()
    if time is None:
        return found, float("nan"), features
    if time not in features:
        raise _absent(who, time, features)
    seconds = _frames.plain_dict({time: features.pop(time)}, (time,))[time]
    if seconds is not None and np.isinf(seconds):
        raise InvalidValue(f"{who}: a time must be finite, got {seconds}")
    return found, float("nan") if seconds is None else float(seconds), features


def key_list(keys: Any) -> list[Any]:
    """The result of `key_values` as a list of Python objects; None for a missing key."""
    if not isinstance(keys, tuple):
        return [None if key != key else int(key) if float(key).is_integer() else key for key in keys.tolist()]
    if keys[0] == "integers":
        return [key if ok else None for key, ok in zip(keys[1].tolist(), keys[2].tolist(), strict=True)]
    if keys[0] == "codes":
        return [keys[2][code] if code >= 0 else None for code in keys[1].tolist()]
    _, starts, data, valid = keys
    text = data.tobytes()
    found = [text[start:end].decode() for start, end in itertools.pairwise(starts)]
    return found if valid is None else [key if ok else None for key, ok in zip(found, valid, strict=True)]


def first_rows(part: Any, rows: int) -> Any:
    """The first rows of a column, of a tuple of columns, or of a batch."""
    if part is None or not isinstance(part, tuple):
        return None if part is None else part[:rows]
    if part[0] == "texts":
        return ("texts", part[1][: rows + 1], part[2], None if part[3] is None else part[3][:rows])
    if part[0] == "codes":
        return ("codes", part[1][:rows], part[2])
    if part[0] == "integers":
        return ("integers", part[1][:rows], part[2][:rows])
    if part[0] == "matrix":
        return ("matrix", part[1][:rows])
    return ("columns", [(name, values[:rows], categories) for name, values, categories in part[1]], rows)
