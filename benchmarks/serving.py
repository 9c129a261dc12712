"""Serving: throughput, latency, memory and recovery, against uvicorn with a bare ASGI function and FastAPI.

Servers run in processes of their own, on the same machine as the load generator (wrk). millstream stores every
event, checks tokens and counts metrics; the peers store nothing. All servers that are compared run in one round,
and rounds are repeated; rates are medians.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.serving_data import arrow_body, examples, fill, ndjson_body
from benchmarks.serving_load import Load, Served, has_wrk, idle_connections, paced_labels, served, store_bytes, wrk

__all__ = ["Row", "names", "page", "rows"]

_PREDICT = "/v1/models/model/predict"
_LABELS = "/v1/models/model/labels"
_NDJSON = "application/x-ndjson"
_ARROW = "application/vnd.apache.arrow.stream"

#: Cycles through the lines of the body, one request each.
_LINES = """
local lines = {}
for line in body:gmatch('[^\\n]+') do lines[#lines + 1] = wrk.format('POST', path, headers, line) end
local at = 0
request = function()
  at = at % #lines + 1
  return lines[at]
end
"""
_WHOLE = """
headers['content-type'] = '%s'
local whole = wrk.format('POST', path, headers, body)
request = function() return whole end
"""
_PUT_LABELS = """
local number = -1
request = function()
  number = number + 1
  return wrk.format('PUT', path .. '/e' .. number, headers, number % 4 > 0 and '{"y":true}' or '{"y":false}')
end
"""
_POST_LABELS = """
headers['content-type'] = 'application/x-ndjson'
local number = 0
request = function()
  local lines = {}
  for index = 1, 1000 do
    lines[index] = '{"id":"e' .. number .. '","y":' .. (number % 4 > 0 and 'true' or 'false') .. '}\\n'
    number = number + 1
  end
  return wrk.format('POST', path, headers, table.concat(lines))
end
"""


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    work: str
    reached: str
    goal: str
    met: bool | None
    note: str = ""


@dataclass(frozen=True)
class Sizes:
    """How long and how much."""

    seconds: float
    turns: int
    events: int
    recovered: int
    pending: int
    idle: int = 10_000

    @classmethod
    def of(cls, quick: bool) -> Sizes:
        """The sizes of a quick or a full run."""
        if quick:
            return cls(2, 1, 200_000, 100_000, 1_000_000)
        return cls(5, 3, 600_000, 1_000_000, 10_000_000)


def rows(*, quick: bool, only: Collection[str] | None = None) -> Iterator[Row]:
    """Measure all rows, or the groups named in `only`; nothing if wrk is missing."""
    if not has_wrk():
        print("skipping serving, which needs wrk: sudo apt install wrk", file=sys.stderr)
        return
    sizes = Sizes.of(quick)
    with tempfile.TemporaryDirectory(prefix="serving") as folder:
        for name, measurement in _MEASUREMENTS.items():
            if only is None or name in only:
                for row in measurement(Path(folder), sizes):
                    print(f"{row.work}: {row.reached} (goal {row.goal})", file=sys.stderr, flush=True)
                    if row.note:
                        print(f"  {row.note}", file=sys.stderr, flush=True)
                    yield row


def names() -> list[str]:
    """Names of the groups of rows."""
    return list(_MEASUREMENTS)


def page(where: str, found: list[Row]) -> str:
    """SERVING.md."""
    words = {True: "yes", False: "**no**", None: "–"}
    lines = [[row.work, row.reached, row.goal, words[row.met]] for row in found]
    notes = [f"- {row.work}: {row.note}." for row in found if row.note]
    how = (
        "Servers run in processes of their own; wrk (one thread) on the same machine makes the load. millstream "
        "stores every event, checks a token and counts metrics for each request. The peers are uvicorn (uvloop, "
        "httptools) with a bare ASGI function, and FastAPI, both with a learner written in Python; they store "
        "nothing and check no token. Rates are medians of the rounds; compared servers run in the same round."
    )
    parts = ["# Serving", f"Written by `python -m benchmarks.run --only serving --write`. {where}", how]
    return "\n\n".join([*parts, report.table(["work", "reached", "goal", "met"], lines), "\n".join(notes)]) + "\n"


# ------------------------------------------------------------------------------------------------ predictions


def _lines(digits: int | None = 3) -> bytes:
    found = (json.dumps({"x": x}, separators=(",", ":")) for x in examples(997, digits=digits))
    return "\n".join(found).encode()


def _predictions(
    kind: str,
    folder: Path,
    connections: int,
    sizes: Sizes,
    body: bytes,
    request: str = _LINES,
    path: str = _PREDICT,
) -> tuple[Load, float]:
    """The load on one server, and the fraction of events that are in its log afterwards."""
    data = folder / f"{kind}-{connections}"
    try:
        with served(kind, data) as server:
            wrk(server, connections, 1, path, request, body=body)
            before = _stored(server) if kind in ("native", "python") else 0
            load = wrk(server, connections, sizes.seconds, path, request, body=body)
            stored = _stored(server) - before if kind in ("native", "python") else 0
        return load, stored / max(1, load.requests)
    finally:
        shutil.rmtree(data, ignore_errors=True)


def _stored(server: Served) -> int:
    """The number of events in the log. Events are written after their predictions are answered: wait for them."""
    found, before = _counts(server)["predictions"], -1
    while found != before:
        time.sleep(0.3)
        found, before = _counts(server)["predictions"], found
    return int(found)


def _counts(server: Served) -> dict[str, Any]:
    counts: dict[str, Any] = server.get("/v1/models/model")["labels"]
    return counts


def _compared(folder: Path, sizes: Sizes, ours: str, peers: list[str], connections: int) -> dict[str, list[Load]]:
    loads: dict[str, list[Load]] = {kind: [] for kind in (ours, *peers)}
    stored = []
    for _ in range(sizes.turns):
        for kind in loads:
            load, fraction = _predictions(kind, folder, connections, sizes, _lines())
            if load.refused or load.broken:
                raise RuntimeError(f"serving: {kind}: {load}")
            loads[kind].append(load)
            if kind == ours:
                stored.append(fraction)
    print(f"  events stored: {min(stored):.1%} of the answered requests", file=sys.stderr)
    return loads


def _rate(loads: list[Load]) -> float:
    return statistics.median(load.rate for load in loads)


def _native(folder: Path, sizes: Sizes) -> Iterator[Row]:
    for connections, goal in ((64, 1.2), (1000, 1.7)):
        loads = _compared(folder, sizes, "native", ["uvicorn"], connections)
        ours, theirs = _rate(loads["native"]), _rate(loads["uvicorn"])
        timeouts = sum(load.timeouts for load in loads["native"])
        yield Row(
            f"JSON predict, 10 features, native scaler + logistic, {connections:,} connections",
            f"{report.rate(ours)}/s, {ours / theirs:.2f} × uvicorn ({report.rate(theirs)}/s), {timeouts} timeouts",
            f"{goal} × uvicorn bare, no timeouts",
            ours / theirs >= goal and timeouts == 0,
            _latency(loads["native"]),
        )


def _latency(loads: list[Load]) -> str:
    p50, p99 = (statistics.median(getattr(load, name) for load in loads) for name in ("p50", "p99"))
    latency = f"latency {1000 * p50:.1f} ms at the median, {1000 * p99:.1f} ms at the 99th percentile"
    return f"{latency}; {_processor(loads)} a request"


def _processor(loads: list[Load], rows: int = 1) -> str:
    """Processor time of the server for each row: it depends less on other programs than a rate does."""
    each = statistics.median(load.cpu / max(1, load.requests) for load in loads) / rows
    return f"{1e6 * each:.3g} µs of processor time"


def _python(folder: Path, sizes: Sizes) -> Iterator[Row]:
    loads = _compared(folder, sizes, "python", ["uvicorn", "fastapi"], 64)
    ours = _rate(loads["python"])
    for peer, name, goal in (("uvicorn", "uvicorn bare", 0.8), ("fastapi", "FastAPI", 5.0)):
        theirs = _rate(loads[peer])
        yield Row(
            f"the same with a learner written in Python, 64 connections, against {name}",
            f"{report.rate(ours)}/s, {ours / theirs:.2f} × {name} ({report.rate(theirs)}/s)",
            f"{goal} × {name}",
            ours / theirs >= goal,
            _latency(loads["python"]),
        )


def _idle(folder: Path, sizes: Sizes) -> Iterator[Row]:
    data = folder / "idle"
    # Opened before any load: afterwards they would use memory that the server has freed but not returned.
    with served("native", data) as server, idle_connections(server, sizes.idle) as each:
        wrk(server, 64, 1, _PREDICT, _LINES, body=_lines())
        load = wrk(server, 64, sizes.seconds, _PREDICT, _LINES, body=_lines())
    shutil.rmtree(data)
    yield Row(
        f"p99 of JSON predict at 64 connections with {sizes.idle:,} idle ones",
        f"{1000 * load.p99:.1f} ms at {report.rate(load.rate)}/s; {each / 1000:.1f} kB for each idle one",
        "15 ms; 20 kB each",
        load.p99 <= 0.015 and each <= 20_000,
    )


def _batches(folder: Path, sizes: Sizes) -> Iterator[Row]:
    for name, body, kind, goal in (
        ("NDJSON", ndjson_body(), _NDJSON, 250_000),
        ("Arrow", arrow_body(), _ARROW, 1_500_000),
    ):
        found = [
            _predictions("native", folder, 8, sizes, body, _WHOLE % kind, f"{_PREDICT}:batch")[0]
            for _ in range(sizes.turns)
        ]
        rate = 1000 * _rate(found)
        yield Row(
            f"{name} predict, 1,000 rows a request, 8 connections",
            f"{report.rate(rate)} rows/s",
            f"{report.rate(goal)} rows/s",
            rate >= goal,
            f"{_processor(found, 1000)} a row",
        )


# ----------------------------------------------------------------------------------------------------- labels


def _filled(folder: Path, sizes: Sizes) -> Path:
    """A copy of a folder with events that wait for labels, and with a snapshot of them."""
    original = folder / "filled"
    if not original.exists():
        fill(original, sizes.events)
        with served("native", original):
            pass
    copy = folder / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(original, copy)
    return copy


def _labels(folder: Path, sizes: Sizes) -> Iterator[Row]:
    for work, connections, request, path, each, goal in (
        ("acknowledged labels with fsync, 256 connections, one PUT each", 256, _PUT_LABELS, _LABELS, 1, 10_000),
        ("acknowledged labels with fsync, NDJSON of 1,000, 8 connections", 8, _POST_LABELS, _LABELS, 1000, 80_000),
    ):
        rates = []
        for _ in range(sizes.turns):
            with served("native", _filled(folder, sizes)) as server:
                load = wrk(server, connections, sizes.seconds, path, request)
                fates = _counts(server)["fates"]
            learned = fates["learned"]
            # Every reply says that its labels were learned, except to those beyond the last event.
            sent = each * (load.requests - load.refused)
            if fates["unknown"] == 0 and not sent <= learned <= sent + each * connections:
                raise RuntimeError(f"serving: {sent} labels acknowledged, {learned} learned")
            rates.append(min(learned, sent) / load.seconds)
        rate = statistics.median(rates)
        note = f"{_processor([load], each)} a label"
        yield Row(work, f"{report.rate(rate)}/s", f"{report.rate(goal)}/s", rate >= goal, note)


def _paced(folder: Path, sizes: Sizes) -> Iterator[Row]:
    with served("native", _filled(folder, sizes)) as server:
        wrk(server, 16, 1, _PREDICT, _LINES, body=_lines())
        with paced_labels(server, 0, 52_000) as pace:
            load = wrk(server, 16, sizes.seconds, _PREDICT, _LINES, body=_lines())
    if pace.error is not None:
        raise RuntimeError(f"serving: {pace.error}")
    rate = pace.acknowledged / pace.seconds
    yield Row(
        "p99 of JSON predict at 16 connections while 50 k labels/s are learned",
        f"{1000 * load.p99:.1f} ms at {report.rate(load.rate)}/s, {report.rate(rate)} labels/s learned",
        "20 ms, 50 k labels/s",
        load.p99 <= 0.02 and rate >= 50_000,
        "labels are sent in NDJSON batches of 1,000, at most 52 batches per second, on 4 connections",
    )


# ---------------------------------------------------------------------------------------------------- storage


def _bytes(folder: Path, sizes: Sizes) -> Iterator[Row]:
    for name, digits in (("3 decimals", 3), ("full precision", None)):
        data = folder / "bytes"
        body = _lines(digits)
        with served("native", data) as server:
            wrk(server, 64, sizes.seconds, _PREDICT, _LINES, body=body)
            events = _stored(server)
        each = store_bytes(data) / events
        shutil.rmtree(data)
        reached = f"{each:.0f} bytes ({events:,} events)"
        yield Row(f"store, event of 10 features, {name}", reached, "200 bytes", each <= 200)


def _recovery(folder: Path, sizes: Sizes) -> Iterator[Row]:
    for events, what in (
        (sizes.recovered // 2, "half events, half labels"),
        (sizes.recovered, "and their labels"),
    ):
        data = folder / "recovery"
        fill(data, events, labels=True)
        found = _offline("recover", str(data))
        shutil.rmtree(data)
        if found["learned"] != events or found["events"] != events:
            raise RuntimeError(f"serving: {events} events, but {found}")
        records = f"{report.rate(sizes.recovered)} {'records, ' if 'half' in what else 'events '}{what}"
        yield Row(
            f"recovery without a snapshot, scaler + logistic: {records}",
            f"{found['seconds']:.1f} s, of it {found['replay']:.1f} s replay",
            f"{8 * sizes.recovered / 1e6:.3g} s",
            found["seconds"] <= 8 * sizes.recovered / 1e6,
            f"{found['learned']:,} labels learned, each 1,000 events after its event",
        )


def _join(folder: Path, sizes: Sizes) -> Iterator[Row]:
    data = folder / "join"
    events = min(sizes.pending, 1_000_000)
    fill(data, events)
    found = _offline("join", str(data), str(events), str(sizes.pending))
    shutil.rmtree(data)
    yield Row(
        f"{report.rate(sizes.pending)} pending events",
        f"{found['bytes']:.0f} bytes each (process: {found['resident']:.0f}); join {1e6 * found['join']:.1f} µs",
        "80 bytes each; join of one label with its features 30 µs",
        max(found["bytes"], found["resident"]) <= 80 and found["join"] <= 30e-6,
        f"the labels are drawn at random from {report.rate(events)} events in the store, none of them cached",
    )


def _offline(*arguments: str) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.serving_offline", *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=Path(__file__).parent.parent)
    found: dict[str, float] = json.loads(done.stdout)
    return found


_MEASUREMENTS: dict[str, Callable[[Path, Sizes], Iterator[Row]]] = {
    "serving-native": _native,
    "serving-python": _python,
    "serving-idle": _idle,
    "serving-batches": _batches,
    "serving-labels": _labels,
    "serving-paced": _paced,
    "serving-bytes": _bytes,
    "serving-recovery": _recovery,
    "serving-join": _join,
}
