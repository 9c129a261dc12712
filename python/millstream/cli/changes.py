"""`millstream drift FILE`: where detectors find that the numbers of a file have changed."""

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

__all__ = ["Found", "find", "tell"]


@dataclass(frozen=True)
class Found:
    """A change, or a warning that stands at the end."""

    #: The row at which it was found, counted from 0.
    row: int
    direction: str | None
    #: The row with which it is believed to have begun.
    began: int | None
    #: The first row of the warning that came right before it.
    warned: int | None
    #: The mean of the numbers from the last change on, up to where this one began.
    before: float | None
    #: The mean of the numbers from there on, up to where it was found.
    after: float | None


def find(detector: Any, values: Any) -> tuple[list[Found], Found | None]:
    """The changes that a detector finds, and the warning that stands at the end."""
    found: list[Found] = []
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


def _found(detector: Any, values: Any, first: int, row: int, warned: int | None) -> Found:
    began = detector.change_point
    # What a detector keeps at a change may let it believe that the next one began before it.
    cut = first if began is None else began
    before = float(np.mean(values[first:cut])) if cut > first else None
    after = None if began is None else float(np.mean(values[began : row + 1]))
    return Found(row, detector.direction, began, warned, before, after)


def tell(given: Namespace, column: str, values: Any, detectors: Mapping[str, Any]) -> int:
    """Find the changes and print them."""
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
            show.say(f"{name} found no change")
        if warning is not None:
            show.say(f"{name} warns at the end: {warning.direction} since row {_cell(warning.began)}")
    words = "before and after are means, of what came since the last change and of what came since this one began"
    show.remark(f"rows count from 0; {words}", given.quiet or not rows)
    if files:
        show.remark(f"plot in {given.plot}", given.quiet)
    return OK


def _cells(change: Found) -> list[str]:
    places = [_cell(change.row), change.direction or "-", _cell(change.began), _cell(change.warned)]
    return places + ["-" if mean is None else f"{mean:.4g}" for mean in (change.before, change.after)]


def _cell(row: int | None) -> str:
    return "-" if row is None else f"{row:,}"
