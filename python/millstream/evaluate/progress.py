"""A progress bar on a terminal, with rate and current metric; silence elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

from millstream.evaluate.result import number

__all__ = ["Progress"]


class Progress:
    """Shown if `wanted`, or, when that is None, if standard error is a terminal and rich is installed."""

    def __init__(self, wanted: bool | None, total: int | None, metric: str) -> None:
        self.metric, self.total = metric, total
        self.bar: Any = None
        self.task: Any = None
        self.rows = 0
        self.begun = time.perf_counter()
        self.shown = 0.0
        if wanted is None:
            wanted = sys.stderr is not None and sys.stderr.isatty()
        if wanted:
            self.bar = self._make()

    def _make(self) -> Any:
        try:
            from rich.console import Console
            from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar
        except ImportError:
            return None
        columns = [
            SpinnerColumn(),
            TextColumn("{task.fields[rows]} rows"),
            BarColumn(),
            TextColumn("{task.fields[rate]} rows/s"),
            TextColumn("[bold]{task.fields[metric]}"),
            TimeRemainingColumn(),
        ]
        return Bar(*columns, console=Console(stderr=True), transient=True)

    def __enter__(self) -> Progress:
        if self.bar is not None:
            self.bar.start()
            self.task = self.bar.add_task("", total=self.total, rows="0", rate="–", metric="")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.bar is not None:
            self.bar.stop()

    def tick(self, rows: int, value: float | None) -> None:
        """So many more rows are done, and the metric stands at `value`."""
        self.rows += rows
        now = time.perf_counter()
        if self.bar is None or now - self.shown < 0.1:
            return
        self.shown = now
        rate = self.rows / max(now - self.begun, 1e-9)
        shown = "" if value is None else f"{self.metric} {number(value)}"
        self.bar.update(self.task, completed=self.rows, rows=f"{self.rows:,}", rate=f"{rate:,.0f}", metric=shown)
