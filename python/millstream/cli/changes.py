"""`millstream drift FILE`: the drift that detectors find in a column of a file."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from millstream._echo import plain
from millstream.cli import show
from millstream.cli.options import OK
from millstream.cli.sources import source_name
from millstream.errors import MillstreamError

__all__ = ["FoundChange", "find", "report"]


@dataclass(frozen=True)
class FoundChange:
    """Drift, or the warning at the end of the file."""

    #: Row of the detection, counted from 0.
    row: int
    direction: str | None
    #: Row of the estimated change point.
    began: int | None
    #: First row of the warning directly before it.
    warned: int | None
    #: Mean from the previous drift to this change point.
    before: float | None
    #: Mean from this change point to the detection.
    after: float | None


def find(detector: Any, values: Any) -> tuple[list[FoundChange], FoundChange | None]:
    """The drifts that a detector finds, and the warning at the end."""
    found: list[FoundChange] = []
    first, warned = 0, None
    for row, x in enumerate(values.tolist()):
        try:
            detector.update(x)
        except MillstreamError as error:
            error.at_row(row)
            raise
        if detector.drift_detected:
            found.append(_found(detector, values, first, row, warned))
            first, warned = row + 1, None
        elif not detector.warning_detected:
            warned = None
        elif warned is None:
            warned = row
    return found, None if warned is None else _found(detector, values, first, len(values) - 1, warned)


def _found(detector: Any, values: Any, first: int, row: int, warned: int | None) -> FoundChange:
    began = detector.change_point
    # A detector that keeps values at drift may estimate the next change point before it.
    cut = first if began is None else began
    before = float(np.mean(values[first:cut])) if cut > first else None
    after = None if began is None else float(np.mean(values[began : row + 1]))
    return FoundChange(row, detector.direction, began, warned, before, after)


def report(given: Namespace, column: str, values: Any, detectors: Mapping[str, Any]) -> int:
    """Find drift and print it."""
    result = {name: find(detector.clone(), values) for name, detector in detectors.items()}
    title = f"{plain(column)} of {plain(source_name(given.source))}"
    if given.plot:
        from millstream.cli.changes_plot import draw

        draw(given.plot, title, values, {name: changes for name, (changes, _) in result.items()})
    files = {"plot": given.plot} if given.plot else {}
    if given.json:
        several = [
            {
                "detector": name,
                "changes": [asdict(change) for change in changes],
                "warning": asdict(warning) if warning else None,
            }
            for name, (changes, warning) in result.items()
        ]
        data = {"source": given.source, "column": column, "numbers": len(values), "detectors": several}
        show.say(show.as_json({**data, "files": files}))
        return OK
    rows = [[name, *_cells(change)] for name, (changes, _) in result.items() for change in changes]
    changes = f"{len(rows):,} change{'' if len(rows) == 1 else 's'} found in {len(values):,} numbers"
    show.say(show.bold(f"{title}: {changes}"))
    if rows:
        show.say(show.table(["detector", "row", "direction", "began", "warned", "before", "after"], rows))
    for name, (found, warning) in result.items():
        if not found:
            show.say(f"{name}: no change found")
        if warning is not None:
            show.say(f"{name}: warning at the end, {warning.direction} since row {_cell(warning.began)}")
    words = "before: mean since the previous change; after: mean since this change began"
    show.remark(f"rows count from 0; {words}", given.quiet or not rows)
    if files:
        show.remark(f"plot in {given.plot}", given.quiet)
    return OK


def _cells(change: FoundChange) -> list[str]:
    cells = [_cell(change.row), change.direction or "-", _cell(change.began), _cell(change.warned)]
    return cells + ["-" if mean is None else f"{mean:.4g}" for mean in (change.before, change.after)]


def _cell(row: int | None) -> str:
    return "-" if row is None else f"{row:,}"
