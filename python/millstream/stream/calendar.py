"""Features of the calendar, made of a column of times: hour, weekday, day of the year, time since the last row."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from millstream._dates import in_seconds
from millstream._echo import quoted
from millstream.errors import InvalidType, InvalidValue
from millstream.stream.base import Stream
from millstream.stream.chunk import Chunk
from millstream.stream.derived import Derived

__all__ = ["PARTS", "Calendar"]

_DAY = 86_400.0

#: Each part of a time with the length of its cycle.
PARTS = {"hour": 24.0, "weekday": 7.0, "yearday": 365.25}

_FORMS = ("both", "cyclic", "plain")


class Calendar(Derived):
    """A stream with features of the calendar; created by `Stream.calendar`."""

    def __init__(self, source: Stream, on: str, form: str, keep: bool) -> None:
        if not isinstance(on, str):
            raise InvalidType(f"calendar: on must be the name of a column of times, got {quoted(on)}")
        if form not in _FORMS:
            raise InvalidValue(f"calendar: form must be 'both', 'cyclic' or 'plain', got {quoted(form)}")
        options = {"form": None if form == "both" else form, "keep": keep or None}
        super().__init__(source, on, **options)
        self.on, self.form, self.keep = on, form, keep

    @property
    def made(self) -> list[str]:
        """The names of the features of the calendar."""
        return [f"{self.on} {name}" for name in _features(np.zeros(1), math.nan, self.form)]

    @property
    def schema(self) -> dict[Any, str]:
        made = dict.fromkeys(self.made, "number")
        kept = {name: kind for name, kind in self.source.schema.items() if self.keep or name != self.on}
        return kept | made

    def chunks(self) -> Iterator[Chunk]:
        last = math.nan
        for chunk in self.source.chunks():
            seconds = self._seconds(chunk)
            yield replace(chunk, X=self._with_features(chunk.X, seconds, last))
            known = seconds[~np.isnan(seconds)]
            last = float(known[-1]) if len(known) else last

    def _seconds(self, chunk: Chunk) -> Any:
        """The times in seconds since 1970, NaN where one is missing."""
        X = chunk.X
        if not hasattr(X, "column_names"):
            raise InvalidType("calendar: the rows must have named columns, as those of files have")
        if self.on in X.column_names:
            column = in_seconds(X.select([self.on]), [self.on]).column(self.on)
        elif self.on == self.source.time and chunk.time is not None:
            import pyarrow

            table = pyarrow.table({self.on: chunk.time})
            column = in_seconds(table, [self.on]).column(self.on)
        else:
            known = [*X.column_names, *filter(None, [self.source.time])]
            raise InvalidValue(
                f"calendar: there is no column {quoted(self.on)}; there are {', '.join(known[:12])}"
            )
        try:
            return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)
        except (TypeError, ValueError):
            hint = f"state its kind with types={{{self.on!r}: 'time'}}"
            raise InvalidType(f"calendar: the column {quoted(self.on)} has no times; {hint}") from None

    def _with_features(self, X: Any, seconds: Any, last: float) -> Any:
        if self.on in X.column_names and not self.keep:
            X = X.drop_columns([self.on])
        for name, values in _features(seconds, last, self.form).items():
            X = X.append_column(f"{self.on} {name}", [values])
        return X


def _features(seconds: Any, last: float, form: str) -> dict[str, Any]:
    """The features by name."""
    days = np.floor(seconds / _DAY)
    # 1970-01-01 was a Thursday; Monday is 0.
    parts = {"hour": seconds % _DAY / 3600.0, "weekday": (days + 3.0) % 7.0, "yearday": _day_of_year(days)}
    found: dict[str, Any] = {}
    for name, cycle in PARTS.items():
        if form != "cyclic":
            found[name] = np.floor(parts[name])
        if form != "plain":
            angle = parts[name] * (2 * np.pi / cycle)
            found[f"{name} sin"], found[f"{name} cos"] = np.sin(angle), np.cos(angle)
    # Since the last known time, wherever the chunks are cut.
    before = np.concatenate([[last], seconds])[: len(seconds)]
    known = np.maximum.accumulate(np.where(np.isnan(before), 0, np.arange(len(before))))
    found["since last"] = seconds - before[known]
    return found


def _day_of_year(days: Any) -> Any:
    """The day of the year, beginning with 1."""
    known = np.where(np.isnan(days), 0.0, days).astype("datetime64[D]")
    day = (known - known.astype("datetime64[Y]")).astype(np.float64) + 1.0
    return np.where(np.isnan(days), np.nan, day)
