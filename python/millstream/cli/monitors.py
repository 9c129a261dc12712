"""`millstream inspect` of a saved `drift.Monitor`: its detectors, counts and events."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict
from pathlib import Path
from typing import Any

from millstream._echo import plain
from millstream.cli import show
from millstream.cli.options import OK
from millstream.drift import Monitor

__all__ = ["print_monitor"]


def print_monitor(given: Namespace, monitor: Monitor) -> int:
    """Print the content of a monitor."""
    watched = monitor.watched
    size, held = Path(given.file).stat().st_size, monitor.memory
    if given.json:
        show.say(show.as_json({**_data(given, monitor), "memory": held, "file_size": size}))
        return OK
    show.say(show.bold(plain(monitor._code(), 1000)))
    facts = [("role", "drift monitor")]
    facts += [(f"detectors for {kind}", ", ".join(map(plain, names))) for kind, names in watched.items() if names]
    facts += [
        ("rows", f"{monitor.rows:,}"),
        ("labels", f"{monitor.labels:,}"),
        ("events", f"{monitor.event_count:,}"),
        ("improvements", f"{monitor.improvement_count:,}"),
        ("in memory", show.amount(held)),
        ("on disk", show.amount(size)),
    ]
    show.print_facts(facts)
    head, rows = monitor._table(given.top)
    if rows:
        show.say()
        show.say(show.table(head, [[plain(cell) for cell in row] for row in rows]))
    if monitor.event_count > len(rows) > 0:
        show.say(show.dim(f"newest events; {monitor.event_count - len(rows):,} earlier; --top shows more"))
    return OK


def _data(given: Namespace, monitor: Monitor) -> dict[str, Any]:
    return {
        "file": str(given.file),
        "name": "drift.Monitor",
        "role": "monitor",
        "text": monitor._code(),
        "watched": monitor.watched,
        "together": monitor.together,
        "rows": monitor.rows,
        "labels": monitor.labels,
        "event_count": monitor.event_count,
        "events": [asdict(event) for event in monitor.events],
        "improvement_count": monitor.improvement_count,
        "improvements": [asdict(event) for event in monitor.improvements],
        "detectors": {name: detector.describe() for name, detector in monitor.detectors.items()},
    }
