"""The horizontal axis of a chart: rows of the stream, or their times."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from millstream.evaluate.stream_sample import StreamSample

__all__ = ["RowAxis", "TimeAxis", "axis_of", "short", "ticks"]

_SECOND, _DAY = 1_000_000_000, 86_400_000_000_000
#: Steps between ticks below a day in nanoseconds, then in days, months and years.
_SHORT_STEPS = [_SECOND * each for each in (1, 5, 15, 30, 60, 300, 900, 1800, 3600, 10_800, 21_600, 43_200)]
_DAY_STEPS = (1, 2, 7, 14)
_MONTH_STEPS = (1, 2, 3, 6)
_YEAR_STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500)
#: Maximum number of dates below a chart, so that they fit on a phone.
_MOST_DATES = 5


def ticks(low: float, high: float, count: int) -> list[float]:
    """Round numbers from `low` to `high`."""
    rough = (high - low) / count
    if not (math.isfinite(rough) and rough > 0):
        return [low]
    power = 10.0 ** math.floor(math.log10(rough))
    step = next((power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough), rough)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [step * place for place in range(first, min(last, first + 50) + 1)]


def short(value: float) -> str:
    """A number for an axis: 0.25, 1,500, 20k, 1.5M."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if size <= abs(value) < 1e15:
            return f"{value / (1e3 if unit == 'k' else size):.4g}{unit}"
    return f"{value:,.0f}" if value == int(value) and abs(value) < 1e4 else f"{value:.4g}"


class RowAxis:
    """Rows from 0 to the last one."""

    title = "rows"

    def __init__(self, last: float) -> None:
        self.last = last or 1.0

    def place(self, rows: Any) -> Any:
        """Fractions of the width."""
        return np.asarray(rows, dtype=np.float64) / self.last

    def ticks(self) -> list[tuple[float, str]]:
        """The labels below the chart, with their places."""
        return [(tick / self.last, short(tick)) for tick in ticks(0, self.last, 5)]

    def name(self, row: float) -> str:
        """A row in words."""
        return f"row {row:,.0f}"


class TimeAxis:
    """The times of the rows, from that of the first row to that of the last one."""

    title = "time"

    def __init__(self, sample: StreamSample, last: float) -> None:
        self.sample = sample
        self.begin, self.end = sample.time_of([0, last]).tolist()
        self.span = self.end - self.begin

    def place(self, rows: Any) -> Any:
        """Fractions of the width."""
        return (self.sample.time_of(np.atleast_1d(rows)) - self.begin).astype(np.float64) / self.span

    def ticks(self) -> list[tuple[float, str]]:
        """The labels below the chart, with their places."""
        if not self.sample.dates:
            return [((at - self.begin) / self.span, short(at)) for at in ticks(self.begin, self.end, 5)]
        return [((at - self.begin) / self.span, words) for at, words in _dates(self.begin, self.end)]

    def name(self, row: float) -> str:
        """A row in words, with its time."""
        at = self.sample.time_of([row])
        if not self.sample.dates:
            return f"row {row:,.0f}, time {short(float(at[0]))}"
        unit = "m" if self.span > 3600 * _SECOND else "s"
        return (
            f"row {row:,.0f}, {str(at.view('datetime64[ns]')[0].astype(f'datetime64[{unit}]')).replace('T', ' ')}"
        )


def axis_of(sample: StreamSample | None, last: float) -> RowAxis | TimeAxis:
    """The times of a stream if they are known and increase, otherwise its rows."""
    if sample is not None and (ends := sample.time_of([0, last])) is not None and ends[1] > ends[0]:
        return TimeAxis(sample, last)
    return RowAxis(last)


def _dates(begin: int, end: int) -> list[tuple[int, str]]:
    """Round dates between two times in nanoseconds since 1970."""
    rough = (end - begin) / _MOST_DATES
    for step in _SHORT_STEPS:
        if step >= rough:
            first = -(-begin // step) * step
            shown = slice(11, 19) if step < 60 * _SECOND else slice(11, 16)
            if end - begin > _DAY:
                shown = slice(5, 16)
            stamps = range(first, end + 1, step)
            return [(at, str(np.datetime64(at, "ns"))[shown].replace("T", " ")) for at in stamps]
    for unit, days, steps in (("D", 1.0, _DAY_STEPS), ("M", 30.4, _MONTH_STEPS), ("Y", 365.25, _YEAR_STEPS)):
        found = next((step for step in steps if step * days * _DAY >= rough), steps[-1])
        if found * days * _DAY >= rough or unit == "Y":
            return _of_calendar(begin, end, unit, found)
    return []


def _of_calendar(begin: int, end: int, unit: str, found: int) -> list[tuple[int, str]]:
    """The days, months or years between two times, every so many."""
    low = int(np.datetime64(begin, "ns").astype(f"datetime64[{unit}]").astype(np.int64))
    high = int(np.datetime64(end, "ns").astype(f"datetime64[{unit}]").astype(np.int64))
    counts = np.arange(-(-low // found) * found, high + 1, found, dtype=np.int64)
    stamps = list(counts.view(f"datetime64[{unit}]"))
    times = [(int(stamp.astype("datetime64[ns]").astype(np.int64)), str(stamp)) for stamp in stamps]
    return [(at, words) for at, words in times if begin <= at <= end]
