"""Prediction counts and durations of one process, for `/metrics`."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Mapping

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
    """A histogram of durations."""

    def __init__(self, bounds: tuple[float, ...] = _BOUNDS) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def add(self, value: float, times: int = 1) -> None:
        """Count a value."""
        self.counts[bisect_left(self.bounds, value)] += times
        self.sum += value * times


class Counters:
    """Counts of the handler thread, and of native predictions."""

    def __init__(self) -> None:
        self._durations: defaultdict[str, Histogram] = defaultdict(Histogram)
        #: Reads the native counts: by stream, the bucket counts and the sum of durations.
        self.native: Callable[[], Mapping[str, tuple[list[int], float]]] = dict
        #: Examples that could not be predicted.
        self.refused: dict[str, int] = {}

    @property
    def durations(self) -> dict[str, Histogram]:
        """The durations of all predictions by stream."""
        native = self.native()
        found = {}
        for name in [*self._durations, *(name for name in native if name not in self._durations)]:
            total = Histogram()
            own = self._durations.get(name, Histogram())
            counts, seconds = native.get(name, ([0] * len(own.counts), 0.0))
            total.counts = [one + other for one, other in zip(own.counts, counts, strict=True)]
            total.sum = own.sum + seconds
            if any(total.counts):
                found[name] = total
        return found

    def predicted(self, stream: str, seconds: float, rows: int = 1) -> None:
        """Count predictions and the duration of each."""
        if rows:
            self._durations[stream].add(seconds / rows, rows)

    def refuse(self, stream: str) -> None:
        """Count an example that could not be predicted."""
        self.refused[stream] = self.refused.get(stream, 0) + 1
