"""Measurements of serving without HTTP, each in a process of its own: recovery, and the join of late labels.

`python -m benchmarks.serving_offline recover FOLDER`, or `join FOLDER EVENTS PENDING`; each prints JSON.
"""

from __future__ import annotations

import json
import random
import resource
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.serving_data import POLICY, native_model
from millstream import _core
from millstream.serve.engine import Engine
from millstream.serve.event_reader import EventReader
from millstream.serve.store import EventStore

__all__ = ["main"]

_JOINS = 20_000


def recover(folder: Path) -> dict[str, Any]:
    """Open a folder: check the store, replay the log."""
    start = time.perf_counter()
    engine = Engine(folder, {"model": native_model()}, policy=POLICY)
    seconds = time.perf_counter() - start
    served, stream = engine.state.models["model"], engine.state.by_name["model"]
    found = {
        "seconds": seconds,
        "replay": engine.recovery.seconds,
        "replayed": engine.recovery.replayed,
        "learned": served.learned,
        "events": stream.predictions,
    }
    engine.store.close()
    engine.folder.close()
    return found


def join(folder: Path, events: int, pending: int) -> dict[str, Any]:
    """Remember `pending` events, then find events by id at random and read their features from the store."""
    before = _resident()
    table = _core.PendingEvents()
    group = 10_000
    # The records of the folder follow the one that created the model.
    for first in range(0, pending, group):
        for number in range(first, first + group):
            table.add(f"e{number}", number + 2, 0, number)
    resident = _resident() - before
    store = EventStore(folder / "events.db", read_only=True)
    reader = EventReader(store)
    draw = random.Random(3)
    ids = [f"e{draw.randrange(events)}" for _ in range(_JOINS)]
    features = 0
    start = time.perf_counter()
    for name in ids:
        entry = table.find(name)
        assert entry is not None
        event = reader.event(entry[0], entry[1])
        assert event.id == name
        features += len(event.x)
        table.mark(name, 1, 1)
    seconds = time.perf_counter() - start
    assert features == 10 * _JOINS
    store.close()
    return {"bytes": table.memory / len(table), "resident": resident / len(table), "join": seconds / _JOINS}


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def main() -> None:
    """Measure, print JSON."""
    if sys.argv[1] == "recover":
        print(json.dumps(recover(Path(sys.argv[2]))))
    else:
        print(json.dumps(join(Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))))


if __name__ == "__main__":
    main()
