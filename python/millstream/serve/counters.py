"""Counts of one process, for the metrics page: predictions and their durations."""

from __future__ import annotations

from bisect import bisect_left

__all__ = ["Counters", "Histogram"]

#: Upper bounds in seconds, from 10 microseconds on.
_BOUNDS = (
    1e-5,
    2.5e-5,
    5e-5,
    1e-4,
    2.5e-4,
    5e-4,
    1e-3,
    2.5e-3,
    5e-3,
    1e-2,
    2.5e-2,
    5e-2,
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
)


class Histogram:
    """Durations in buckets."""

    def __init__(self, bounds: tuple[float, ...] = _BOUNDS) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def add(self, value: float, times: int = 1) -> None:
        """Count a value."""
        self.counts[bisect_left(self.bounds, value)] += times
        self.sum += value * times


class Counters:
    """What the handler thread counts."""

    def __init__(self) -> None:
        self.predictions: dict[str, int] = {}
        self.durations: dict[str, Histogram] = {}
        #: Examples that could not be predicted.
        self.refused: dict[str, int] = {}

    def predicted(self, stream: str, seconds: float, rows: int = 1) -> None:
        """Count predictions and the time of each."""
        if rows:
            self.predictions[stream] = self.predictions.get(stream, 0) + rows
            self.durations.setdefault(stream, Histogram()).add(seconds / rows, rows)

    def refuse(self, stream: str) -> None:
        """Count an example that could not be predicted."""
        self.refused[stream] = self.refused.get(stream, 0) + 1
