"""Times of examples and labels as integers that keep the order.

Dates become nanoseconds. Numbers become the bits of a float, mapped so that their order is that of the numbers.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from millstream import _frames
from millstream._echo import quoted
from millstream.errors import InvalidType, InvalidValue

__all__ = ["Times", "moments"]

#: The core's value for a missing time, which is also the value of NumPy's NaT.
NO_TIME = np.iinfo(np.int64).min

_FORMS = "; delay must be a number of rows (500), or with time= a timedelta (timedelta(hours=2)) or a column"

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


class Times:
    """The times of a stream, from the arguments `time`, `label_time` and `delay` of `prequential`.

    With `given`, the chunks of the stream contain the times of examples and labels.
    """

    def __init__(self, time: Any, label_time: Any, delay: Any, *, given: bool = False) -> None:
        self.given = given
        #: Names of the features that are times of the models: dates in them become seconds.
        self.features: list[Any] = []
        self.time, self.label_time = time, label_time
        self.rows = 0
        self.kind: str | None = None
        self.per_example = callable(delay) or isinstance(delay, str)
        self.delay = delay
        if time is None and label_time is not None:
            raise InvalidValue(
                "label_time needs time: a label arrives when an example at or after its time is predicted"
            )
        if time is not None and label_time is None and delay is None:
            raise InvalidValue("time needs label_time or delay, which define when labels arrive")
        if label_time is not None and delay is not None:
            raise InvalidValue("pass label_time or delay, not both")
        if time is None and isinstance(delay, (datetime.timedelta, np.timedelta64)):
            raise InvalidValue("a delay that is a timedelta needs time, the name of the column of event times")
        if time is None and not self.per_example and delay is not None and not _is_count(delay):
            raise InvalidValue(f"delay must be a number of rows >= 0, got {quoted(delay)}")
        if time is None and _is_count(delay) and delay >= 2**63:
            raise InvalidValue(f"delay must be below 2**63 rows, got {quoted(delay)}")

    @classmethod
    def of_stream(cls, stream: Any, time: Any, label_time: Any, delay: Any) -> Times:
        """The times given by the caller, or else those of the stream."""
        known_time = getattr(stream, "time", None)
        same = known_time is not None and (time is None or (isinstance(time, str) and time == known_time))
        known_label_time = getattr(stream, "label_time", None)
        if same and (label_time is None or (isinstance(label_time, str) and label_time == known_label_time)):
            if delay is None and stream.has_label_time:
                return cls(known_time, known_label_time, None, given=True)
            if delay is not None and label_time is None and not (_is_count(delay) and time is None):
                return cls(known_time, None, delay, given=True)
        return cls(time, label_time, delay)

    def of_chunk(self, chunk: Any) -> tuple[Any, Any, Any]:
        """The features, times and label times of a chunk that contains its times."""
        X, other = chunk.X, None
        if self.label_time is not None:
            other = chunk.label_time
        elif callable(self.delay):
            other = [self.delay(x, y) for x, y in chunk.examples()]
        elif isinstance(self.delay, str):
            if isinstance(X, list):
                other = [self._delay_of(x) for x in X]
                X = [{name: value for name, value in x.items() if name != self.delay} for x in X]
            else:
                X, other = self._column(X, self.delay)
        return (X, *self._keys(_array(chunk.time), other))

    @property
    def timed(self) -> bool:
        """Whether labels arrive by time; otherwise after a number of rows."""
        return self.time is not None or self.per_example

    @property
    def delay_rows(self) -> int:
        """Delay of labels in rows."""
        return 0 if self.timed or self.delay is None else int(self.delay)

    def of_table(self, X: Any) -> tuple[Any, Any, Any]:
        """The features of a table without the time columns, the times, and the label times."""
        if not self.timed:
            return X, None, None
        if self.per_example and self.time is None:
            if isinstance(self.delay, str):
                raise InvalidType(f"a delay that is a column needs time, got {quoted(self.delay)}{_FORMS}")
            raise InvalidType("a delay function needs a stream of dicts; pass time and label_time columns instead")
        columns: list[Any] = []
        for source in (self.time, self.delay if isinstance(self.delay, str) else self.label_time):
            if isinstance(source, (str, int)):
                X, column = self._column(X, source)
                columns.append(column)
            elif callable(source):
                raise InvalidType("a function of the example needs a stream of dicts; pass a column instead")
            else:
                columns.append(source)
        now, other = columns
        return (X, *self._keys(_array(now), other))

    def of_rows(self, rows: list[Any], ys: list[Any]) -> tuple[list[Any], Any, Any]:
        """The same for examples given as pairs of keys and values."""
        if not self.timed:
            return rows, None, None
        first = self.rows
        self.rows += len(rows)
        now: list[Any] = list(range(first, first + len(rows)))
        other: list[Any] = []
        taken = [name for name in (self.time, self.label_time, self.delay) if isinstance(name, (str, int))]
        if isinstance(self.delay, int):
            taken.remove(self.delay)
        kept = []
        for place, (row, y) in enumerate(zip(rows, ys, strict=True)):
            x = dict(zip(*row, strict=True)) if isinstance(row, tuple) else {}
            if self.time is not None:
                now[place] = _get(self.time, x)
            if self.label_time is not None:
                other.append(_get(self.label_time, x))
            elif callable(self.delay):
                other.append(self.delay(x, y))
            elif isinstance(self.delay, str):
                other.append(self._delay_of(x))
            for name in taken:
                x.pop(name, None)
            kept.append((tuple(x), tuple(x.values())) if isinstance(row, tuple) else row)
        return (kept, *self._keys(_array(now), other or None))

    def _column(self, X: Any, name: Any) -> tuple[Any, Any]:
        from millstream.evaluate.chunks import take_column

        try:
            return take_column(X, name)
        except InvalidValue as error:
            if isinstance(name, str) and name == self.delay:
                raise InvalidValue(f"{error}{_FORMS}") from None
            raise

    def _delay_of(self, x: Any) -> Any:
        # A key may be missing in some examples, but a string such as "2h" is not a key.
        if self.delay not in x and re.fullmatch(r"\s*\d[\d_.,]*\s*[a-z]*\s*", self.delay):
            raise InvalidValue(f"the stream has no key {quoted(self.delay)}{_FORMS}")
        return x.get(self.delay)

    def _keys(self, now: Any, other: Any) -> tuple[Any, Any]:
        self._check_kind(now)
        if self.kind == "dates" and now.dtype.kind == "f":
            now = np.full(len(now), np.datetime64("NaT", "ns"))
        if self.label_time is not None:
            due = _array(other)
            self._check_kind(due)
        else:
            due = _later(now, self.delay if other is None else _array(other))
        return _key(now), _key(due)

    def _check_kind(self, values: Any) -> None:
        if values.dtype.kind == "f" and np.isnan(values).all():
            return
        kind = "dates" if values.dtype.kind == "M" else "numbers"
        self.kind = self.kind or kind
        if kind != self.kind:
            raise InvalidType(f"times must be all dates or all numbers, got {kind} after {self.kind}")


def _is_count(delay: Any) -> bool:
    return isinstance(delay, (int, np.integer)) and not isinstance(delay, bool) and int(delay) >= 0


def _get(source: Any, x: dict[Any, Any]) -> Any:
    """The time of an example; None if the key is missing, which makes the row faulty."""
    return source(x) if callable(source) else x.get(source)


def _array(values: Any) -> Any:
    """Dates as datetime64[ns], durations as timedelta64[ns], numbers as float64."""
    library = _frames._library(values)
    if library == "pandas" and getattr(values.dtype, "tz", None) is not None:
        values = values.dt.tz_convert("UTC").dt.tz_localize(None)
    if library == "pyarrow":
        import pyarrow

        if isinstance(values, pyarrow.ChunkedArray):
            values = values.combine_chunks()
        values = _frames.from_arrow(values)
    if hasattr(values, "to_numpy"):
        values = values.to_numpy()
    if not isinstance(values, np.ndarray):
        values = _from_objects(list(values))
    if values.dtype.kind == "O":
        values = _from_objects(values.tolist())
    if values.dtype.kind in "Mm":
        return values.astype(f"{'datetime64' if values.dtype.kind == 'M' else 'timedelta64'}[ns]")
    if values.dtype.kind in "iufb":
        return values.astype(np.float64)
    raise InvalidType(f"times must be dates or numbers, got dtype {values.dtype}")


def _from_objects(values: Sequence[Any]) -> Any:
    try:
        if any(isinstance(value, datetime.datetime) and value.tzinfo for value in values):
            micro = datetime.timedelta(microseconds=1)
            ticks = [NO_TIME if value is None else (value - _EPOCH) // micro for value in values]
            return np.array(ticks, dtype=np.int64).view("datetime64[us]")
        if any(isinstance(value, (datetime.date, np.datetime64)) for value in values):
            return np.array(values, dtype="datetime64[ns]")
        if any(isinstance(value, (datetime.timedelta, np.timedelta64)) for value in values):
            return np.array(values, dtype="timedelta64[ns]")
        if any(isinstance(value, (str, bytes)) for value in values):
            raise TypeError(f"got {quoted(values[0])}")
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidType(f"times must be dates or numbers: {error}") from None


def _later(now: Any, delay: Any) -> Any:
    if now.dtype.kind == "M":
        if isinstance(delay, datetime.timedelta):
            delay = np.timedelta64(delay)
        if getattr(getattr(delay, "dtype", None), "kind", "") != "m":
            raise InvalidType(f"times are dates, so delay must be a timedelta, got {quoted(delay)}")
        return now + delay.astype("timedelta64[ns]")
    if isinstance(delay, (datetime.timedelta, np.timedelta64)):
        raise InvalidType(f"times are numbers, so delay must be a number, got {quoted(delay)}")
    return now + np.asarray(delay, dtype=np.float64)


def _key(values: Any) -> Any:
    if values.dtype.kind == "M":
        return values.astype(np.int64)
    bits = (values + 0.0).view(np.int64)
    keys = bits ^ ((bits >> 63) & np.int64(0x7FFFFFFFFFFFFFFF))
    return np.where(np.isnan(values), NO_TIME, keys)


def moments(now: Any, at: Any, indices: Any, times: Times) -> Any:
    """The times of some rows of a chunk as datetime64[ns] or numbers; None if they are unknown."""
    if at is not None:
        try:
            return _array(at)[indices]
        except (InvalidType, ValueError, TypeError):  # Times that are only shown may be of any type.
            return None
    if now is None or times.time is None:
        return None
    keys = now[indices]
    if times.kind == "dates":
        return keys.view("datetime64[ns]")
    # `_key` is its own inverse, except for missing times.
    bits = keys ^ ((keys >> 63) & np.int64(0x7FFFFFFFFFFFFFFF))
    return np.where(keys == NO_TIME, np.nan, bits.view(np.float64))
