"""A sample of the rows of an evaluated stream: times, targets and features, evenly spread over its rows.

The sample has every k-th row. Whenever it is full, every second row is dropped and k doubles, so that memory
is bounded, the sample of a stream does not depend on how the stream is cut into chunks, and a row costs nothing
unless it is taken.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from millstream.evaluate.chunks import EvaluationChunk, TableChunk
from millstream.evaluate.times import Times, moments

__all__ = ["StreamSample", "StreamSampler"]

#: Maximum number of rows, of features, and of characters of a nominal value.
_MOST_ROWS = 2000
_MOST_FEATURES = 40
_LONGEST = 80


@dataclass
class StreamSample:
    """Up to 2,000 rows of a stream with their times, targets and up to 40 features."""

    #: Indices of the rows.
    row: Any
    #: The targets, which are None where there is none.
    y: list[Any]
    #: The time of each row as datetime64[ns] or numbers; None if the stream has no times.
    time: Any = None
    #: The values by feature: numbers, strings, or None if missing.
    features: dict[Any, list[Any]] = field(default_factory=dict)

    def time_of(self, rows: Any) -> Any:
        """The times of rows in nanoseconds or numbers, interpolated; never decreasing. None without times."""
        if self.time is None:
            return None
        values = self.time.astype(np.int64 if self.time.dtype.kind == "M" else np.float64)
        known = ~np.isnat(self.time) if self.time.dtype.kind == "M" else np.isfinite(values)
        if known.sum() < 2:
            return None
        # Differences from the first time: nanoseconds since 1970 have more digits than a float.
        origin = values[known][0]
        near = np.maximum.accumulate((values[known] - origin).astype(np.float64))
        if not near[-1] > 0.0:
            return None
        found = np.interp(np.asarray(rows, dtype=np.float64), self.row[known], near)
        return origin + (found.astype(np.int64) if self.time.dtype.kind == "M" else found)

    @property
    def dates(self) -> bool:
        """Whether times are dates."""
        return self.time is not None and bool(self.time.dtype.kind == "M")


class StreamSampler:
    """Collects a sample chunk by chunk."""

    def __init__(self, times: Times) -> None:
        self.times = times
        self.rows, self.step = 0, 1
        self.dates = False
        self.timed = False
        self.kept: list[tuple[int, Any, Any, dict[Any, Any]]] = []
        self.names: dict[Any, None] = {}

    def add(self, chunk: EvaluationChunk) -> None:
        """Take the rows of the next chunk that belong to the sample."""
        first, self.rows = self.rows, self.rows + chunk.size
        start = -first % self.step
        while start < chunk.size:
            # At most as many as fit, so that k doubles at the same row however the stream is cut.
            room = _MOST_ROWS - len(self.kept)
            indices = range(start, min(chunk.size, start + room * self.step), self.step)
            self._take(chunk, first, indices)
            if len(self.kept) == _MOST_ROWS:
                self.kept = self.kept[::2]
                self.step *= 2
            start = indices[-1] + 1
            start += -(first + start) % self.step

    def _take(self, chunk: EvaluationChunk, first: int, indices: range) -> None:
        places = np.arange(indices.start, indices.stop, indices.step)
        times = moments(chunk.now, chunk.at, places, self.times)
        if times is not None:
            self.timed, self.dates = True, times.dtype.kind == "M"
        for place, (index, x) in enumerate(zip(indices, _values(chunk, indices), strict=True)):
            y = chunk.y[index]
            y = y.item() if isinstance(y, np.generic) else y
            self.kept.append((first + index, y, None if times is None else times[place], self._named(x)))

    def _named(self, x: dict[Any, Any]) -> dict[Any, Any]:
        found = {}
        for name, value in x.items():
            if name not in self.names:
                if len(self.names) >= _MOST_FEATURES:
                    continue
                self.names[name] = None
            found[name] = _plain(value)
        return found

    def sample(self) -> StreamSample:
        """The sample so far."""
        time = None
        if self.timed:
            kind, missing = ("datetime64[ns]", np.datetime64("NaT")) if self.dates else ("float64", math.nan)
            time = np.array([missing if when is None else when for _, _, when, _ in self.kept], dtype=kind)
        features = {name: [x.get(name) for *_, x in self.kept] for name in self.names}
        rows = np.array([row for row, *_ in self.kept], dtype=np.int64)
        return StreamSample(rows, [y for _, y, *_ in self.kept], time, features)


def _plain(value: Any) -> Any:
    """A number or a string; None if the value is missing or of another type."""
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, (int, float, np.number)):
        try:
            number = float(value)
        except OverflowError:
            return None
        return number if math.isfinite(number) else None
    return value[:_LONGEST] if isinstance(value, str) else None


def _values(chunk: EvaluationChunk, indices: range) -> list[dict[Any, Any]]:
    """The features of some rows; none for sparse rows, which have too many names."""
    if isinstance(chunk, TableChunk):
        parts = chunk.parts
        if parts[0] == "matrix":
            width = min(_MOST_FEATURES, parts[1].shape[1])
            return [dict(enumerate(row)) for row in parts[1][list(indices), :width].tolist()]
        if parts[0] != "columns":
            return [{} for _ in indices]
        columns: dict[Any, list[Any]] = {}
        for name, values, categories in parts[1][:_MOST_FEATURES]:
            taken = np.asarray(values)[list(indices)].tolist()
            if categories is not None:
                taken = [
                    categories[int(code)] if code == code and 0 <= code < len(categories) else None
                    for code in taken
                ]
            columns[name] = taken
        return [{name: taken[place] for name, taken in columns.items()} for place in range(len(indices))]
    rows = getattr(chunk, "rows", None)
    if rows is None:
        return [{} for _ in indices]
    found = []
    for index in indices:
        row = rows[index]
        if isinstance(row, tuple):
            row = dict(zip(*row, strict=True))
        found.append(dict(row) if isinstance(row, Mapping) else {})
    return found
