"""A million sensors at one reading per second each, from a socket, Redis and Kafka, all processes on one machine.

The processes are those of `examples/million_sensors.py`: one writes readings, one scores and learns them with a
model per sensor and stores model and position every two seconds, and this one collects the alarms. Redis and Kafka
need `make redis` and `make kafka`; without them their rows are missing.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tempfile
import threading
import time
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import goals
from benchmarks.goals import Row

__all__ = ["page", "rows"]

TOP = Path(__file__).parent.parent
EXAMPLE = TOP / "examples" / "million_sensors.py"

#: Seconds after the start in which lag is not counted: processes start, and each sensor gets its model.
START = 10

#: Seconds after which memory must not grow.
SETTLED = 60

#: Growth of memory that counts as flat.
FLAT = 0.05


def _load(name: str, path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _missing(source: str) -> bool:
    brokers = _load("brokers", TOP / "tests" / "brokers.py")
    return (source == "redis" and brokers.Redis.program() is None) or (
        source == "kafka" and brokers.Kafka.missing() is not None
    )


def _run(source: str, sensors: int, seconds: int, rate: float) -> tuple[list[dict[str, Any]], float]:
    """The progress of the learning process, once per second, and the time until the last reading was learned."""
    example = _load("million_sensors", EXAMPLE)
    with tempfile.TemporaryDirectory() as folder:
        options = Namespace(
            source=source,
            sensors=sensors,
            seconds=seconds,
            rate=rate,
            kills=0,
            every=2.0,
            address=None,
            folder=folder,
        )
        failing, found = example.faults(options), []
        broker = example.broker_of(options)
        processes: list[subprocess.Popen[str]] = []
        try:
            threading.Thread(target=example.collect, args=(options, found), daemon=True).start()
            learner = example.start(options, "learn", stdout=subprocess.PIPE)
            processes.append(learner)
            time.sleep(2)
            began = time.monotonic()
            processes.append(example.start(options, "feed"))
            progress, ended = [], began
            for line in learner.stdout:
                told = json.loads(line)
                if "result" in told:
                    expected = {"keys": sensors, "least": seconds, "most": seconds}
                    assert told["result"] == expected, told
                    continue
                told["at"] = time.monotonic() - began
                if not progress or told["rows"] > progress[-1]["rows"]:
                    ended = time.monotonic()
                progress.append(told)
                _show(source, told, sensors * seconds)
            assert learner.wait() == 0
            end = time.monotonic() + 10
            while len(found) < len(failing) and time.monotonic() < end:
                time.sleep(0.1)
            assert sorted(found) == sorted(failing.items()), "each fault raises one alarm"
        finally:
            for process in processes:
                if process.poll() is None:
                    process.kill()
            if broker is not None:
                broker.close()
    return progress, ended - began


def _show(source: str, told: dict[str, Any], total: int) -> None:
    lag = "" if told["largest_lag"] is None else f", lag {told['largest_lag']:.2f} s"
    line = f"{source}: {told['rows'] / total:.0%}, {told['rate'] / 1e6:.2f} M/s{lag}"
    print(f"\r\x1b[2K{line}", end="", file=sys.stderr, flush=True)


def rows(*, quick: bool) -> Iterator[Row]:
    """All rows of sources that are installed."""
    sensors, seconds = (100_000, 75) if quick else (1_000_000, 600)
    for source in ("socket", "redis"):
        if _missing(source):
            continue
        progress, _ = _run(source, sensors, seconds, float(sensors))
        yield from _steady(source, sensors, seconds, progress)
    if not _missing("kafka"):
        # As many readings as the machine can handle: the writer does not wait.
        many = 30 if quick else 60
        _, took = _run("kafka", sensors, many, 1e12)
        reached = sensors * many / took
        work = f"{sensors:,} sensors from Kafka, as fast as broker, writer and learner can on the same cores"
        yield Row(work, f"{reached / 1e6:.2f} M readings/s", "0.7 M readings/s", reached >= 0.7e6)


def _steady(source: str, sensors: int, seconds: int, progress: list[dict[str, Any]]) -> Iterator[Row]:
    later = [told for told in progress if told["at"] > START and told["largest_lag"] is not None]
    lag = max(told["largest_lag"] for told in later)
    work = f"{sensors:,} sensors at 1 Hz for {seconds} s from {source}, scored and learned, stored every 2 s"
    yield Row(f"{work}: largest lag of a message", f"{lag:.2f} s", "1 s", lag < 1)
    settled = [told for told in progress if told["at"] > SETTLED]
    before, after = settled[0]["process_memory"], max(told["process_memory"] for told in settled)
    growth = after / before - 1
    yield Row(
        "the same: memory of the learning process after a minute, and the most later",
        f"{before / 1e6:.0f} and {after / 1e6:.0f} MB",
        f"flat (within {FLAT:.0%})",
        growth <= FLAT,
    )


def page(where: str, found: list[Row]) -> str:
    """SENSORS.md."""
    how = (
        "Source, learner and broker run on the same two cores. Lag is the time between the writing of a message "
        f"of 10,000 readings and its processing: the largest of all messages after the first {START} seconds. At "
        "the end, each sensor has learned each reading exactly once, and each planted fault has raised one alarm."
    )
    return goals.page("A million sensors", "python -m benchmarks.run --only sensors --write", where, how, found)
