"""What a long run says on the way: rows, rate, the rolling metric, drift marks, labels that are waited for.

On a terminal one line that is drawn anew, and is gone at the end; in a file, a log or a notebook, where nothing
can be drawn anew, a line now and then, if `progress=True` asks for it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, TextIO

from millstream.evaluate.frames import number

__all__ = ["Progress"]

#: How a run stands: the metric over the window, drift marks, the row of the last, rows that wait for labels.
Status = tuple[float | None, int, int | None, int]

#: Seconds between looks on a terminal; the eye is no faster.
_REDRAWN = 0.1
#: Seconds until the first line elsewhere; each later line comes after twice the time, up to a minute.
_FIRST_LINE, _SLOWEST = 2.0, 60.0


class Progress:
    """Shown if `wanted`, or, when that is None, if standard error is a terminal."""

    def __init__(self, wanted: bool | None, total: int | None, metric: str) -> None:
        self.metric, self.total = metric, total
        self.rows = 0
        self.begun = self.shown = time.perf_counter()
        self.pause = _REDRAWN
        self.stream: TextIO | None = sys.stderr
        self.live: Any = None
        self.task: Any = None
        terminal = self.stream is not None and self.stream.isatty()
        #: Whether anything is shown.
        self.wanted = self.stream is not None and (terminal if wanted is None else wanted)
        if self.wanted:
            self.live = self._bar() if terminal else None
            self.pause = _FIRST_LINE if self.live is None else _REDRAWN

    def _bar(self) -> Any:
        try:
            from rich.console import Console
            from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar
            from rich.table import Column
        except ImportError:
            return None
        columns: list[Any] = [SpinnerColumn(), TextColumn("{task.fields[rows]}")]
        if self.total is not None:
            columns.append(BarColumn(bar_width=None, table_column=Column(ratio=1, min_width=6, max_width=36)))
        columns += [
            TextColumn("[bold]{task.fields[metric]}"),
            TextColumn("{task.fields[drift]}", style="red"),
            TextColumn("{task.fields[waiting]}", style="dim"),
            TextColumn("{task.fields[rate]}", style="dim"),
            TimeElapsedColumn(),
        ]
        if self.total is not None:
            columns += [TextColumn("left", style="dim"), TimeRemainingColumn()]
        console = Console(file=self.stream)
        return Bar(*columns, console=console, transient=True, expand=False, redirect_stdout=True)

    def __enter__(self) -> Progress:
        self.begun = self.shown = time.perf_counter()
        if self.live is not None:
            self.live.start()
            empty = {"rows": "0 rows", "rate": "", "metric": "", "drift": "", "waiting": ""}
            self.task = self.live.add_task("", total=self.total, **empty)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Also after Ctrl-C: the cursor is back and the line is gone.
        if self.live is not None:
            self.live.stop()

    def count(self, rows: int, status: Callable[[int], Status]) -> None:
        """So many more rows are done; how the run stands is asked for only if it is shown."""
        if self.wanted and time.perf_counter() - self.shown >= self.pause:
            self.tick(rows, status(0))
        else:
            self.rows += rows

    def tick(self, rows: int, status: Status) -> None:
        """So many more rows are done, and the run stands like this."""
        self.rows += rows
        now = time.perf_counter()
        if not self.wanted or now - self.shown < self.pause:
            return
        self.shown = now
        said = self.words(status, now - self.begun)
        if self.live is not None:
            self.live.update(self.task, completed=self.rows, **said)
            return
        self.pause = min(2 * self.pause, _SLOWEST)
        share = f" of {self.total:,} ({self.rows / self.total:.0%})" if self.total else ""
        said["rows"] = f"{self.rows:,}{share} rows"
        line = " · ".join(part for part in [*said.values(), f"{now - self.begun:.0f} s"] if part)
        if self.stream is not None:
            print(line, file=self.stream, flush=True)

    def words(self, status: Status, seconds: float) -> dict[str, str]:
        """How the run stands, for people."""
        value, drifts, last, waiting = status
        drift = "" if not drifts else f"{drifts:,} drift{'s' * (drifts != 1)}, last at {last:,}"
        return {
            "rows": f"{self.rows:,} rows",
            "metric": "" if value is None or value != value else f"{self.metric} {number(value)}",
            "drift": drift,
            "waiting": f"{waiting:,} labels to come" if waiting else "",
            "rate": f"{self.rows / max(seconds, 1e-9):,.0f} rows/s",
        }
