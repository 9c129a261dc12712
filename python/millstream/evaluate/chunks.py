"""Streams of all accepted forms, cut into chunks.

A chunk is a number of consecutive examples with their targets, weights and times. A frame is one chunk; single
examples are collected. Results do not depend on how a stream is cut.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from millstream import _frames
from millstream._dates import in_seconds
from millstream._echo import quoted
from millstream.errors import InvalidType, InvalidValue
from millstream.evaluate.times import Times
from millstream.stream.base import Stream
from millstream.stream.chunk import as_list
from millstream.stream.derived import Derived
from millstream.stream.prefetch import read_ahead
from millstream.stream.table import TableStream

__all__ = ["EvaluationChunk", "Group", "TableChunk", "chunks", "cut", "labelled", "length", "target_name"]

#: Number of single examples that are collected for a native model, and of rows in a block of a table.
GATHERED = 1024

#: Marks the end of a stream; None would be a faulty example.
_END: Any = object()

#: A group of rows for the core, or one unreadable row.
Group = tuple[int, int, tuple[Any, ...] | None, Exception | None]


class EvaluationChunk:
    """Consecutive examples.

    `now` and `due` are the times of examples and of their labels, as integers that keep the order. `at` has the
    times of a stream whose labels do not depend on them.
    """

    at: Any = None

    def __init__(self, size: int, y: Any, w: Any, now: Any, due: Any) -> None:
        self.size, self.y, self.w, self.now, self.due = size, y, w, now, due

    def examples(self) -> Iterator[tuple[Any, Any, float]]:
        """Each example as a dict, with its target and weight."""
        ys = self.y.tolist() if isinstance(self.y, np.ndarray) else self.y
        ws = itertools.repeat(1.0) if self.w is None else self.w.tolist()
        return zip(self.dicts(), ys, ws, strict=False)

    def dicts(self) -> Iterable[Any]:
        raise NotImplementedError

    def blocks(self) -> Iterator[EvaluationChunk]:
        """The chunk in blocks, between which a run may be interrupted."""
        yield self

    def groups(self) -> Iterator[Group]:
        """Groups of rows that the core can read, and the unreadable rows between them."""
        raise NotImplementedError


class TableChunk(EvaluationChunk):
    """A matrix or a frame."""

    def __init__(self, parts: tuple[Any, ...], size: int, y: Any, w: Any, now: Any, due: Any) -> None:
        super().__init__(size, y, w, now, due)
        self.parts = parts

    def dicts(self) -> Iterable[Any]:
        return _frames.rows_of(self.parts)

    def blocks(self) -> Iterator[EvaluationChunk]:
        if self.size <= GATHERED:
            yield self
            return
        parts = _frames.with_arrays(self.parts)
        for start in range(0, self.size, GATHERED):
            stop = min(start + GATHERED, self.size)
            columns = (
                column if column is None else column[start:stop] for column in (self.y, self.w, self.now, self.due)
            )
            yield TableChunk(cut(parts, start, stop), stop - start, *columns)

    def groups(self) -> Iterator[Group]:
        yield 0, self.size, self.parts, None


class DictChunk(EvaluationChunk):
    """Examples that are dicts, as keys and values."""

    def __init__(self, rows: list[Any], y: Any, w: Any, now: Any, due: Any) -> None:
        super().__init__(len(rows), y, w, now, due)
        self.rows = rows

    def dicts(self) -> Iterable[Any]:
        for row in self.rows:
            yield dict(zip(*row, strict=True)) if isinstance(row, tuple) else row

    def groups(self) -> Iterator[Group]:
        # Rows with the same keys in the same order form a table that is equivalent to the dicts.
        start, stop = 0, self.size
        while start < stop:
            keys = self.rows[start][0] if isinstance(self.rows[start], tuple) else None
            end = start + 1
            while end < stop and isinstance(self.rows[end], tuple) and self.rows[end][0] == keys:
                end += 1
            yield from self._same_keys(keys, start, end)
            start = end

    def _same_keys(self, keys: Any, start: int, stop: int) -> Iterator[Group]:
        error: Exception | None = None
        try:
            if keys is None:
                _frames.plain_dict(self.rows[start])
                raise InvalidType(f"an example must be a dict of features, got {type(self.rows[start]).__name__}")
            columns = list(zip(*(row[1] for row in self.rows[start:stop]), strict=True))
            parts = [
                (_frames._name(name), *_column(name, values)) for name, values in zip(keys, columns, strict=True)
            ]
        except (ValueError, TypeError, KeyError, OverflowError) as found:
            # The rows are halved after the handler; inside it, each error would reference the previous ones.
            error = found
        if error is None:
            yield start, stop, ("columns", parts, stop - start), None
        elif stop - start == 1:
            yield start, stop, None, error
        else:
            middle = (start + stop) // 2
            yield from self._same_keys(keys, start, middle)
            yield from self._same_keys(keys, middle, stop)


_NUMBERS = frozenset({float, int, bool, type(None)})
_TEXTS = frozenset({str, type(None)})


def _column(name: Any, values: Sequence[Any]) -> tuple[Any, Any]:
    """Values of one feature: numbers, or codes and their strings."""
    kinds = set(map(type, values))
    if not kinds <= _NUMBERS and not kinds <= _TEXTS:
        return _frames._object_column(name, values)
    if str in kinds:
        return _frames._object_column(name, values)
    return _frames.floats(name, values), None


def cut(parts: tuple[Any, ...], start: int, stop: int) -> tuple[Any, ...]:
    """The rows from `start` to `stop` of the result of `_frames.take_apart`."""
    if parts[0] == "matrix":
        return ("matrix", parts[1][start:stop])
    if parts[0] == "columns":
        return ("columns", [(name, v[start:stop], categories) for name, v, categories in parts[1]], stop - start)
    if parts[0] == "parsed" and parts[1].has_products():
        return ("parsed", parts[1].take(list(range(start, stop))), parts[2])
    _, starts, indices, values, width = _frames.with_arrays(parts)
    begin, end = int(starts[start]), int(starts[stop])
    return ("sparse", starts[start : stop + 1] - starts[start], indices[begin:end], values[begin:end], width)


def height(parts: tuple[Any, ...]) -> int:
    """Number of rows."""
    if parts[0] == "matrix":
        return int(parts[1].shape[0])
    if parts[0] == "columns":
        return int(parts[2])
    return len(parts[1]) if parts[0] == "parsed" else len(parts[1]) - 1


def length(stream: Any, limit: int | None) -> int | None:
    """Number of examples, if it is known."""
    known = None
    if _is_table(stream):
        X = stream[0]
        known = X.shape[0] if hasattr(X, "shape") else getattr(X, "num_rows", None)
        if known is None and hasattr(X, "__len__"):
            known = len(X)
    elif hasattr(stream, "n_samples"):
        known = stream.n_samples
    elif hasattr(stream, "__len__") and len(stream) and _is_one(next(iter(stream))):
        known = len(stream)
    if limit is not None:
        known = limit if known is None else min(known, limit)
    return known if known is None else int(known)


def target_name(stream: Any) -> str | None:
    """The name of the target, if it has one."""
    if _is_table(stream):
        y = stream[1]
        name = y if isinstance(y, str) else getattr(y, "name", None)
    else:
        name = getattr(stream, "target", None)
    return name if isinstance(name, str) and name else None


def labelled(stream: Any) -> tuple[Any, bool]:
    """The stream with labels, which are None where it has none, and whether it has some.

    For models that learn without labels. Without labels, a stream is a matrix or a frame, an iterable of dicts, or
    a `Stream` without a target.
    """
    if isinstance(stream, Stream):
        source: Any = stream
        while isinstance(source, Derived):
            source = source.source
        return stream, stream.target is not None or not isinstance(source, TableStream)
    if not isinstance(stream, (list, tuple)) and _is_rows(stream):
        return (stream, None), False
    if isinstance(stream, (list, tuple)) or not isinstance(stream, Iterable) or isinstance(stream, Mapping):
        if isinstance(stream, list) and stream and isinstance(stream[0], Mapping):
            return [(x, None) for x in stream], False
        if _is_table(stream):
            return stream, stream[1] is not None
        return stream, True
    if isinstance(stream, Iterator):
        first = next(stream, _END)
        if first is _END:
            return iter(()), True
        rest = itertools.chain([first], stream)
        return (((x, None) for x in rest), False) if isinstance(first, Mapping) else (rest, True)
    return stream, True


def _is_table(stream: Any) -> bool:
    """Whether the stream is (X, y) or (X, y, w), not an iterable of examples."""
    return (
        isinstance(stream, tuple) and len(stream) in (2, 3) and not _is_one(stream[0]) and not _is_pair(stream[0])
    )


def _is_pair(item: Any) -> bool:
    return isinstance(item, tuple) and len(item) in (2, 3)


def _is_one(item: Any) -> bool:
    """Whether the item is one example (x, y)."""
    return _is_pair(item) and isinstance(item[0], Mapping)


def chunks(
    stream: Any, times: Times, limit: int | None, gathered: int, optional: bool = False
) -> Iterator[EvaluationChunk]:
    """Cut a stream into chunks: (X, y), (X, y, w), or an iterable of such or of examples (x, y), (x, y, w).

    If labels are optional, y may be None.
    """
    if isinstance(stream, Stream):
        ready = _of_stream(stream, times, limit, optional)
        yield from read_ahead(ready) if stream.reads_ahead else ready
        return
    if isinstance(stream, (str, bytes, Mapping)) or not isinstance(stream, Iterable):
        raise InvalidType(
            "a stream is (X, y) or an iterable of (x, y) with dicts x or of chunks (X, y), "
            f"got {type(stream).__name__}"
        )
    if not isinstance(stream, (list, tuple)) and _is_rows(stream):
        raise InvalidType(
            f"{type(stream).__name__} alone has no target: a stream is (X, y), and y may be the name of a column"
        )
    if _is_table(stream):
        X, y, w = (*stream, None)[:3]
        if _is_rows(X) and not _are_dicts(X):
            yield _table(X, y, w, times, limit, optional=optional)
            return
        if y is None and optional and isinstance(X, Sequence):
            y = [None] * len(X)
        if not isinstance(X, Iterable) or isinstance(X, (str, bytes)) or not isinstance(y, Iterable):
            raise InvalidType(f"rows must be a matrix, a frame or an iterable of dicts, got {type(X).__name__}")
        stream = zip(X, y, strict=True) if w is None else zip(X, y, w, strict=True)
    left = limit
    rows: list[Any] = []
    items = iter(stream)
    while left is None or left > 0:
        try:
            item = next(items, _END)
        except BaseException:
            # The examples before the error of the stream are processed.
            if rows:
                yield _gathered(rows, times)
            raise
        if item is _END:
            break
        if not _is_pair(item):
            raise InvalidType(
                f"a stream gives (x, y), (x, y, w) or chunks (X, y), got {type(item).__name__} {quoted(item)}"
            )
        if isinstance(item[0], Mapping) or not _is_rows(item[0]):
            x = item[0]
            rows.append(((tuple(x), tuple(x.values())) if isinstance(x, Mapping) else x, *item[1:]))
            left = None if left is None else left - 1
            if len(rows) == gathered:
                yield _gathered(rows, times)
                rows = []
            continue
        if rows:
            yield _gathered(rows, times)
            rows = []
        for chunk in chunks(item, times, left, gathered, optional):
            left = None if left is None else left - chunk.size
            yield chunk
    if rows:
        yield _gathered(rows, times)


def _of_stream(
    stream: Stream, times: Times, limit: int | None, optional: bool = False
) -> Iterator[EvaluationChunk]:
    left = limit
    if left == 0:
        return
    for chunk in stream.chunks():
        if left is not None:
            chunk = chunk.cut(0, min(left, len(chunk)))
            left -= len(chunk)
        if chunk.y is None and optional:
            chunk = replace(chunk, y=np.full(len(chunk), None, dtype=object))
        if chunk.y is None:
            raise InvalidType("a stream to learn from needs a target: name its column with target=")
        if isinstance(chunk.X, list):
            made = _dicts(chunk, times)
        else:
            made = _table(chunk.X, chunk.y, chunk.w, times, None, chunk, optional)
        made.at = chunk.time
        yield made
        if left == 0:
            return


def _dicts(chunk: Any, times: Times) -> EvaluationChunk:
    """A chunk from a stream whose rows are dicts."""
    ys = as_list(chunk.y)
    if times.given:
        X, now, due = times.of_chunk(chunk)
        rows = _pairs(X)
    else:
        rows, now, due = times.of_rows(_pairs(chunk.X), ys)
    return DictChunk(_in_seconds(rows, times), ys, _frames.weights(chunk.w, by_row=True), now, due)


def _pairs(rows: Iterable[Any]) -> list[Any]:
    """The keys and the values of each dict."""
    return [(tuple(x), tuple(x.values())) if isinstance(x, Mapping) else x for x in rows]


def _is_rows(X: Any) -> bool:
    if isinstance(X, np.ndarray) or _frames._library(X) in ("pandas", "polars", "pyarrow", "scipy"):
        return True
    return isinstance(X, (list, tuple))


def _are_dicts(X: Any) -> bool:
    return isinstance(X, (list, tuple)) and (not X or isinstance(X[0], Mapping))


def _table(
    X: Any, y: Any, w: Any, times: Times, limit: int | None, source: Any = None, optional: bool = False
) -> EvaluationChunk:
    if isinstance(y, str):
        X, y = take_column(X, y)
    if times.given:
        X, now, due = times.of_chunk(source)
    else:
        X, now, due = times.of_table(X)
    parts = _frames.take_apart(in_seconds(X, times.features) if times.features else X)
    size = height(parts)
    if optional:
        y = np.full(size, None, dtype=object) if y is None else np.array(as_list(y), dtype=object)
    y, w = y if optional else _frames.targets(y), _frames.weights(w, by_row=True)
    if y is None:
        raise InvalidType("a stream must have targets: (X, y)")
    for what, column in (("y", y), ("w", w), ("time", now), ("label_time", due)):
        if column is not None and len(column) != size:
            raise InvalidValue(f"{what} has {len(column)} values for {size} rows")
    if limit is not None and size > limit:
        parts, size, y = cut(parts, 0, limit), limit, y[:limit]
        w, now, due = (column if column is None else column[:limit] for column in (w, now, due))
    return TableChunk(parts, size, y, w, now, due)


def _gathered(rows: list[Any], times: Times) -> EvaluationChunk:
    xs = [row[0] for row in rows]
    ys = [row[1] for row in rows]
    ws = None
    if any(len(row) == 3 for row in rows):
        ws = np.array([_weight(row[2]) if len(row) == 3 else 1.0 for row in rows], dtype=np.float64)
    xs, now, due = times.of_rows(xs, ys)
    return DictChunk(_in_seconds(xs, times), ys, ws, now, due)


def _in_seconds(rows: list[Any], times: Times) -> list[Any]:
    """Dicts, or their keys and values, whose features that are times of the models are numbers."""
    if not times.features:
        return rows
    plain = [dict(zip(*row, strict=True)) if isinstance(row, tuple) else row for row in rows]
    return _pairs(in_seconds(plain, times.features))


def _weight(w: Any) -> float:
    """A weight, also in River's form {"w": 2.0}. Any other value becomes NaN, which the model refuses."""
    if isinstance(w, Mapping):
        w = w.get("w", 1.0)
    try:
        return 1.0 if w is None else float(w)
    except OverflowError:
        return math.inf
    except (TypeError, ValueError):
        return math.nan


def take_column(X: Any, name: Any) -> tuple[Any, Any]:
    """A frame without one column, and that column."""
    library = _frames._library(X)
    try:
        if isinstance(X, np.ndarray):
            return np.delete(X, name, axis=1), X[:, name]
        if library == "pandas":
            return X.drop(columns=[name]), X[name]
        if library == "polars":
            return X.drop(name), X.get_column(name)
        if library == "pyarrow":
            place = X.schema.get_field_index(name)
            if place < 0:
                raise KeyError(name)
            return X.select([other for other in X.column_names if other != name]), X.column(place)
    except (KeyError, IndexError) as error:
        raise InvalidValue(f"there is no column {quoted(name)} in the stream") from error
    except Exception as error:
        if type(error).__name__ == "ColumnNotFoundError":
            raise InvalidValue(f"there is no column {quoted(name)} in the stream") from error
        raise
    raise InvalidType(f"{type(X).__name__} has no column {quoted(name)}: pass the column itself")
