"""Activity per second of one stream, for the last ten minutes: a ring of fixed size."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from typing import Any

from millstream.serve.counters import Histogram

__all__ = ["COLUMNS", "Samples", "Totals", "quantile"]

#: Columns of a sample: its tick and time in ms, predictions and labels per second, the mean delay in seconds of
#: the labels that were joined since the last sample, the remembered events, and the 99th percentile of the
#: duration of a prediction in seconds. Delay and percentile are unknown if there was nothing to measure.
COLUMNS = ("tick", "time", "predictions", "labels", "delay", "remembered", "p99")
_WIDTH = len(COLUMNS)
_MOST = 600


class Totals:
    """Counts of a stream at one moment, from which rates are computed."""

    __slots__ = ("delay", "delayed", "durations", "labels", "predictions", "remembered")

    def __init__(
        self,
        predictions: int = 0,
        labels: int = 0,
        delay: int = 0,
        delayed: int = 0,
        remembered: int = 0,
        durations: Histogram | None = None,
    ) -> None:
        self.predictions, self.labels, self.remembered = predictions, labels, remembered
        self.delay, self.delayed = delay, delayed
        #: Counts of the buckets of the durations of predictions, and the bounds of the buckets.
        self.durations = durations


class Samples:
    """The samples of one stream. The first totals only set the start of the counts."""

    def __init__(self) -> None:
        self._cells = array("d")
        self._start = 0
        self._last: Totals | None = None
        self._counts: list[int] = []

    def add(self, tick: int, time: int, seconds: float, totals: Totals) -> None:
        """Add the sample of the seconds since the last one."""
        last, counts = self._last, self._counts
        self._last = totals
        self._counts = [] if totals.durations is None else list(totals.durations.counts)
        if last is None or seconds <= 0:
            return
        # A decrease of the counts by a rollback must not appear as a negative rate.
        predictions = max(totals.predictions - last.predictions, 0)
        labels = max(totals.labels - last.labels, 0)
        joined = totals.delayed - last.delayed
        delay = (totals.delay - last.delay) / joined / 1000 if joined > 0 else math.nan
        p99 = math.nan
        if totals.durations is not None:
            before = counts or [0] * len(self._counts)
            new = [now - then for now, then in zip(self._counts, before, strict=True)]
            p99 = quantile(totals.durations.bounds, new, 0.99)
        row = (tick, time, predictions / seconds, labels / seconds, delay, totals.remembered, p99)
        if len(self._cells) < _MOST * _WIDTH:
            self._cells.extend(row)
            return
        self._cells[self._start : self._start + _WIDTH] = array("d", row)
        self._start = (self._start + _WIDTH) % len(self._cells)

    def after(self, tick: int) -> list[list[Any]]:
        """The samples after a tick, oldest first."""
        cells, found = self._cells, []
        for offset in range(0, len(cells), _WIDTH):
            place = (self._start + offset) % len(cells)
            if cells[place] > tick:
                found.append(_plain(cells[place : place + _WIDTH]))
        return found

    def latest(self) -> list[Any] | None:
        """The newest sample."""
        if not self._cells:
            return None
        place = (self._start - _WIDTH) % len(self._cells)
        return _plain(self._cells[place : place + _WIDTH])


def _plain(row: Sequence[float]) -> list[Any]:
    """A sample as JSON data: unknown values are None, and numbers are rounded for charts."""
    rounded = [None if math.isnan(value) else float(f"{value:.4g}") for value in row[2:]]
    return [int(row[0]), int(row[1]), *rounded]


def quantile(bounds: Sequence[float], counts: Sequence[int], q: float) -> float:
    """A quantile of a histogram, interpolated within its bucket; NaN without any value.

    >>> from millstream.serve.samples import quantile
    >>> quantile((1.0, 2.0), (0, 10, 0), 0.5)
    1.5
    """
    rank = q * sum(counts)
    if rank <= 0:
        return math.nan
    below = 0.0
    for index, count in enumerate(counts):
        if count and below + count >= rank:
            low = bounds[index - 1] if index else 0.0
            # Beyond the last bound, only the bound is known.
            high = bounds[index] if index < len(bounds) else low
            return low + (high - low) * (rank - below) / count
        below += count
    return math.nan
