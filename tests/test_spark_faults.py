"""Drivers and executors of Spark that are killed: no row is lost, none is learned twice.

With MILLSTREAM_FAULTS=long there are 20 and 10 kills and 800,000 rows, otherwise a few.
"""

from __future__ import annotations

import os
import queue
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed")

import spark_streams as streams
from millstream import spark as millstream_spark

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("java") is None, reason="Java is not installed"),
]

LONG = os.environ.get("MILLSTREAM_FAULTS") == "long"
DRIVER_KILLS, EXECUTOR_KILLS = (20, 10) if LONG else (2, 2)
FILES, ROWS = (40, 20_000) if LONG else (8, 1_000)
#: Nothing takes this long, not even on a busy machine.
PATIENCE = 600.0


class Driver:
    """The program of `spark_streams` in a session of its own, with its lines as they come."""

    def __init__(self, folder: Path, master: str) -> None:
        command = [sys.executable, streams.__file__, folder / "in", folder / "check", folder / "out", master]
        self.process = subprocess.Popen(
            [str(word) for word in command],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        self.lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line.strip())
        self.lines.put("")

    def line(self) -> str:
        """The next line; the empty one at the end."""
        return self.lines.get(timeout=PATIENCE)

    def kill(self) -> None:
        """Kill Python and Java; the workers of Python end when they notice."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def check(folder: Path, tables: list[Any], what: str) -> None:
    """No row is lost or doubled in the models and the output, and both are those of one process."""
    local, answers = streams.learned_here(tables)
    found = millstream_spark.load(folder / "check")
    rows = streams.output_rows(folder / "out")
    total = FILES * ROWS
    numbers = rows["row"].to_pylist()
    lost, doubled = total - len(set(numbers)), len(numbers) - len(set(numbers))
    print(f"{what}: {lost} of {total:,} rows lost, {doubled} doubled, {found.learned:,} learned")
    assert (lost, doubled, found.learned) == (0, 0, total)
    assert streams.same_models(found, local)
    assert rows["prediction"].to_pylist() == answers
    left = [path for path in (folder / "check" / "state").rglob("*.state*") if path.name.startswith(".")]
    assert left == []


def test_a_driver_that_is_killed_in_mid_batch_loses_and_doubles_nothing(tmp_path: Path) -> None:
    tables = streams.write_files(tmp_path / "in", FILES, ROWS)
    chance = random.Random(7)
    kills = batches = 0
    while True:
        driver = Driver(tmp_path, "local[2,4]")
        started = 0
        # A few batches in peace, so that the end is reached; then a moment within a batch.
        peace = chance.randint(1, max(1, FILES // DRIVER_KILLS))
        while (line := driver.line()) not in ("", "done"):
            started += line.startswith("start")
            batches += line.startswith("written")
            if line.startswith("start") and started >= peace and kills < DRIVER_KILLS:
                time.sleep(chance.choice([0.0, 0.1, 0.3, 0.6, 1.0]) * chance.random())
                driver.kill()
                kills += 1
                break
        else:
            assert driver.process.wait(timeout=PATIENCE) == 0
            break
    assert kills == DRIVER_KILLS
    assert batches >= FILES - kills
    check(tmp_path, tables, f"Spark driver killed {kills} times")


def children(parent: int) -> list[int]:
    """All processes below one, from /proc."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(path.parent.name)] = int(fields[1])
    found = [parent]
    for process in found:
        found += [child for child, above in parents.items() if above == process]
    return found[1:]


def executors(driver: Driver) -> list[int]:
    found = []
    for process in children(driver.process.pid):
        try:
            command = Path(f"/proc/{process}/cmdline").read_bytes()
        except OSError:
            continue
        if b"CoarseGrainedExecutorBackend" in command and b"java" in command.split(b"\0")[0]:
            found.append(process)
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found in /proc")
def test_an_executor_that_is_killed_loses_and_doubles_nothing(tmp_path: Path) -> None:
    tables = streams.write_files(tmp_path / "in", FILES, ROWS)
    chance = random.Random(9)
    driver = Driver(tmp_path, "local-cluster[2,1,1024]")
    kills = 0
    while (line := driver.line()) not in ("", "done"):
        due = kills < EXECUTOR_KILLS and chance.random() < (0.5 if LONG else 1.0)
        if line.startswith("start") and due and (running := executors(driver)):
            time.sleep(0.3 * chance.random())
            os.kill(chance.choice(running), signal.SIGKILL)
            kills += 1
    assert driver.process.wait(timeout=PATIENCE) == 0
    assert kills == EXECUTOR_KILLS
    check(tmp_path, tables, f"Spark executor killed {kills} times")
