"""Progress of a run: rows, rate, rolling metric, drifts, and labels yet to come.

On a terminal it is one line that is redrawn, and removed at the end; in a notebook, a bar. In a file or a log,
where a line cannot be redrawn, it is a line from time to time, if `progress=True`.
"""

from __future__ import annotations

import html
import importlib
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, TextIO

from millstream.evaluate.frames import number

__all__ = ["Progress"]

#: Status of a run: metric over the window, number of drifts, row of the last one, rows that wait for labels.
Status = tuple[float | None, int, int | None, int]

#: Seconds between updates on a terminal.
_REDRAWN = 0.1
#: Seconds between updates in a notebook; shorter runs show nothing.
_NOTEBOOK = 0.4
#: Minimum width of a terminal in columns to show a bar.
_WIDE = 100
#: Seconds until the first line elsewhere; the interval doubles with each line, up to a minute.
_FIRST_LINE, _SLOWEST = 2.0, 60.0


class Progress:
    """Progress display, shown if `wanted`; if that is None, shown on a terminal and in a notebook."""

    def __init__(
        self, wanted: bool | None, total: int | None, metric: str, warmup: int = 0, unit: str = "rows"
    ) -> None:
        self.metric, self.total, self.warmup, self.unit = metric, total, warmup, unit
        self.rows = 0
        self.begun = self.shown = time.perf_counter()
        self.pause = _REDRAWN
        self.stream: TextIO | None = sys.stderr
        self.live: Any = None
        self.task: Any = None
        self.room = 80
        terminal = self.stream is not None and self.stream.isatty()
        notebook = not terminal and wanted is not False and _in_notebook()
        #: The bar in a notebook.
        self.output: Any = None
        self.drawn = notebook
        #: Whether anything is shown.
        self.wanted = notebook or (self.stream is not None and (terminal if wanted is None else wanted))
        if self.wanted:
            self.live = self._bar() if terminal else None
            self.pause = _NOTEBOOK if notebook else _FIRST_LINE if self.live is None else _REDRAWN

    def _bar(self) -> Any:
        try:
            from rich.console import Console
            from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
            from rich.progress import Progress as Bar
        except ImportError:
            return None
        console = Console(file=self.stream)
        columns: list[Any] = [SpinnerColumn()]
        # The widths of spinner and clock, each with a space.
        self.room = console.width - 11
        if self.total is not None and console.width >= _WIDE:
            columns.append(BarColumn(bar_width=16))
            self.room -= 17
        columns += [TextColumn("{task.fields[line]}"), TimeElapsedColumn()]
        return Bar(*columns, console=console, transient=True)

    def __enter__(self) -> Progress:
        self.begun = self.shown = time.perf_counter()
        if self.live is not None:
            self.live.start()
            self.task = self.live.add_task("", total=self.total, line=f"0 {self.unit}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Also after Ctrl-C: restores the cursor and removes the line.
        if self.live is not None:
            self.live.stop()
        if self.output is not None:
            self.output.update(_Shown(""))

    def count(self, rows: int, status: Callable[[int], Status]) -> None:
        """Add processed rows; `status` is called only if it is shown."""
        if self.wanted and time.perf_counter() - self.shown >= self.pause:
            self.tick(rows, status(0))
        else:
            self.rows += rows

    def tick(self, rows: int, status: Status) -> None:
        """Add processed rows, with the status of the run."""
        self.rows += rows
        now = time.perf_counter()
        if not self.wanted or now - self.shown < self.pause:
            return
        self.shown = now
        if self.live is not None:
            line = self.line(status, now - self.begun, self.room)
            self.live.update(self.task, completed=self.rows, line=line)
            return
        if self.drawn:
            self._show(" · ".join(text for text, _ in self.words(status, now - self.begun)))
            return
        self.pause = min(2 * self.pause, _SLOWEST)
        said = [text for text, _ in self.words(status, now - self.begun)]
        if self.stream is not None:
            print(" · ".join([*said, f"{now - self.begun:.0f} s"]), file=self.stream, flush=True)

    def _show(self, words: str) -> None:
        """Draw or update the bar of a notebook."""
        share = f'value="{self.rows}" max="{self.total}"' if self.total else ""
        shown = _Shown(f'<progress {share} style="width:14em"></progress> {html.escape(words)}')
        if self.output is None:
            # IPython is present wherever this runs.
            display = importlib.import_module("IPython.display").display

            self.output = display(shown, display_id=True)
        else:
            self.output.update(shown)

    def words(self, status: Status, seconds: float, level: int = 0) -> list[tuple[str, str]]:
        """The status as words with styles; a higher level has fewer words."""
        value, drifts, last, waiting = status
        rate = self.rows / max(seconds, 1e-9)
        share = f" of {self.total:,}" if self.total and level == 0 else ""
        found = f"{drifts:,} drift{'s' * (drifts != 1)}" + (
            f", last at {last:,}" if last is not None and level < 2 else ""
        )
        # Before the first label arrives, the initial value of a metric is not a score.
        score = "–" if value is None or self.rows - waiting <= self.warmup else number(value)
        said = [
            (f"{self.rows:,}{share} {self.unit}", ""),
            ("" if value is None or value != value else f"{self.metric} {score}", "bold"),
            (found if drifts and level < 6 else "", "red"),
            (
                f"{waiting:,} {'labels to come' if level < 2 else 'waiting'}" if waiting and level < 4 else "",
                "cyan",
            ),
            (f"{rate:,.0f} {self.unit}/s" if level < 5 else "", "dim"),
        ]
        if self.total and self.rows and level < 3:
            said.append((f"{_time(max(0.0, (self.total - self.rows) / rate))} left", "dim"))
        return [(text, style) for text, style in said if text]

    def line(self, status: Status, seconds: float, room: int) -> str:
        """As many words as fit in one line, with rich markup."""
        for level in range(8):
            said = self.words(status, seconds, level)
            if sum(len(text) + 2 for text, _ in said) <= room:
                break
        return "  ".join(f"[{style}]{_plain(text)}[/]" if style else _plain(text) for text, style in said)


def _plain(text: str) -> str:
    """Escape brackets, which rich would interpret as markup."""
    return text.replace("[", "\\[")


def _time(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


class _Shown:
    """HTML for a notebook."""

    def __init__(self, text: str) -> None:
        self.text = text

    def _repr_html_(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return ""


def _in_notebook() -> bool:
    """Whether the code runs in the kernel of a notebook; IPython is not imported for that."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None
