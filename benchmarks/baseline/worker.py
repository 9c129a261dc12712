"""Runs workloads in one of the two builds: on requests through a pipe, or once to count instructions.

A request and its response are each a line of JSON. The response to an unsupported workload is its error.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from typing import Any

from benchmarks.baseline.workloads import Workload, workloads

__all__ = ["main"]

#: Maximum number of rows in a unit of work, and CPU time in seconds for which it is repeated.
MOST_ROWS, SECONDS = 1 << 16, 0.1


def _seconds(unit: Any) -> float:
    """The minimum CPU time of a unit of work, since other load on the machine only adds to it."""
    gc.collect()
    least, total = float("inf"), 0.0
    while total < SECONDS:
        start = time.process_time()
        unit()
        taken = time.process_time() - start
        least, total = min(least, taken), total + taken
    return least


def _calibrated(workload: Workload) -> int:
    """A number of rows for which a unit of work is long enough to be timed and short enough to be repeated."""
    rows = 16
    while rows < MOST_ROWS:
        unit = workload.prepare(rows)
        # The second run excludes one-time work.
        unit()
        start = time.process_time()
        unit()
        if time.process_time() - start >= SECONDS / 4:
            break
        rows *= 2
    return rows


def _answer(
    known: dict[str, Workload], units: dict[tuple[str, int], Any], asked: dict[str, Any]
) -> dict[str, Any]:
    workload = known.get(asked["workload"])
    if workload is None:
        return {"error": "there is no such workload"}
    if asked.get("rows") is None:
        return {"rows": _calibrated(workload)}
    key = (workload.name, asked["rows"])
    if key not in units:
        units.clear()
        units[key] = workload.prepare(asked["rows"])
        units[key]()
    return {"seconds": _seconds(units[key])}


def _serve() -> None:
    known = {workload.name: workload for workload in workloads()}
    units: dict[tuple[str, int], Any] = {}
    for line in sys.stdin:
        try:
            answer = _answer(known, units, json.loads(line))
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}".splitlines()[0]}
        print(json.dumps(answer), flush=True)


def _once(name: str, rows: int, times: int) -> None:
    """Repeat a unit of work, without garbage collection in between."""
    workload = next(workload for workload in workloads() if workload.name == name)
    unit = workload.prepare(rows)
    gc.collect()
    gc.disable()
    for _ in range(times):
        unit()


def main(arguments: list[str]) -> None:
    """Serve requests, or run one workload: NAME ROWS TIMES."""
    gc.disable()
    if arguments:
        name, rows, times = arguments
        _once(name, int(rows), int(times))
    else:
        _serve()


if __name__ == "__main__":
    main(sys.argv[1:])
