"""The progress of `stream.process`: rates, lag and counters."""

from __future__ import annotations

import sys
import time as clock
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["ProcessProgress", "Watch"]

#: Seconds between two reports.
INTERVAL = 1.0


@dataclass
class ProcessProgress:
    """How far `stream.process` is. Counters include those before a restart, except for `repeats` and `missing`."""

    #: Messages and rows that were learned or predicted.
    messages: int = 0
    rows: int = 0
    #: Messages that were set aside because they are bad.
    set_aside: int = 0
    #: Messages that were delivered again and dropped.
    repeats: int = 0
    #: Messages that the source deleted before they were read.
    missing: int = 0
    #: Rows per second since the last report.
    rate: float = 0.0
    #: Messages that wait in the source; None if the source does not know.
    waiting: int | None = None
    #: Seconds between the writing of the last message and its processing; None without times.
    lag: float | None = None
    #: The largest `lag` of a message since the last report.
    largest_lag: float | None = None
    #: The fraction of the time since the last report in which the model or the sink was busy. Near 1, they are
    #: slower than the source, which is then read only as fast as they allow.
    busy: float = 0.0
    #: Keys of a keyed model, and memory of the models in bytes, if they are known.
    keys: int | None = None
    memory: int | None = None

    def __str__(self) -> str:
        parts = [f"{self.rows:,} rows", f"{self.rate:,.0f} rows/s"]
        if self.lag is not None:
            parts.append(f"lag {self.lag:.1f} s")
        if self.waiting is not None:
            parts.append(f"{self.waiting:,} messages waiting")
        if self.keys is not None:
            parts.append(f"{self.keys:,} keys")
        if self.memory is not None:
            parts.append(f"{self.memory / 1e6:,.0f} MB")
        parts.append(f"busy {self.busy:.0%}")
        counted = {"set aside": self.set_aside, "repeats": self.repeats, "missing": self.missing}
        parts += [f"{number:,} {name}" for name, number in counted.items() if number]
        return ", ".join(parts)


class Watch:
    """Measures, and reports once per second."""

    def __init__(self, wanted: bool | Callable[[ProcessProgress], Any] | None) -> None:
        if wanted is None:
            wanted = sys.stderr is not None and sys.stderr.isatty()
        self.report: Callable[[ProcessProgress], Any] | None = (
            wanted if callable(wanted) else _print if wanted else None
        )
        self.progress = ProcessProgress()
        self._last = self._begun = clock.monotonic()
        self._rows = 0
        self._idle = 0.0
        self._largest: float | None = None

    def received(self, seconds: float) -> None:
        """Note how long ago a message was written."""
        self.progress.lag = seconds
        self._largest = max(self._largest or 0.0, seconds)

    def waited(self, seconds: float) -> None:
        """Count time in which no message was there."""
        self._idle += seconds

    @property
    def is_due(self) -> bool:
        """Whether a report is due."""
        return clock.monotonic() - self._last >= INTERVAL

    def update(self, waiting: int | None, models: list[Any]) -> None:
        """Bring the rates up to date, and report."""
        now = clock.monotonic()
        passed = max(now - self._last, 1e-9)
        progress = self.progress
        progress.rate = (progress.rows - self._rows) / passed
        progress.busy = min(1.0, max(0.0, 1.0 - self._idle / passed))
        progress.waiting = waiting
        progress.largest_lag, self._largest = self._largest, None
        if models and all(hasattr(model, "counters") and hasattr(model, "memory") for model in models):
            # The number of keys without a look at each of them.
            progress.keys = sum(
                max(0, each["created"] - each["dropped"] - each["expired"])
                for each in (m.counters for m in models)
            )
            progress.memory = sum(int(model.memory) for model in models)
        self._last, self._rows, self._idle = now, progress.rows, 0.0
        if self.report is not None:
            self.report(progress)


def _print(progress: ProcessProgress) -> None:
    print(f"\r\x1b[2K{progress}", end="", file=sys.stderr, flush=True)  # noqa: T201
