"""Servers that are killed, stopped and interrupted: nothing acknowledged is lost, nothing is learned twice."""

from __future__ import annotations

import http.client
import json
import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from millstream.serve.faults import POINTS
from serving_process import LONG, Connection, ServerProcess, learned_by_hand, replayed

pytestmark = pytest.mark.slow

KILLS = 200 if LONG else 10
WRITERS = 16
SEED = 20261118

#: Crash points that the work of `serving_crashes.py` does not pass; test_serve_crashes.py has them.
OF_THE_STORE = {
    "store.before_checkpoint",
    "store.after_checkpoint",
    "store.trim.before_commit",
    "store.trim.after_commit",
    "store.salvage.before_rename",
    "store.salvage.between_renames",
    "store.salvage.after_rename",
}


class Oracle:
    """What writers have sent, and what was acknowledged: a file outside the data folder."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab", buffering=0)
        self._path = path

    def write(self, what: str, id: str) -> None:
        """Append a line. One call of the system, so that lines of several threads do not mix."""
        self._file.write(f"{what} {id}\n".encode())

    def ids(self, what: str) -> set[str]:
        """All ids of one kind of line."""
        lines = (line.split() for line in self._path.read_text().splitlines())
        return {id for kind, id in lines if kind == what}


class Writer(threading.Thread):
    """Predicts and labels until it is stopped, and repeats what was not answered."""

    def __init__(self, number: int, server: ServerProcess, oracle: Oracle, stop: threading.Event) -> None:
        super().__init__(daemon=True)
        self.number, self.server, self.oracle, self.stop = number, server, oracle, stop
        self.chance = random.Random(SEED + number)
        self.repeated = self.conflicts = self.with_features = 0
        self.failure: BaseException | None = None
        self._connection: Connection | None = None
        self._port = 0

    def run(self) -> None:
        """Send examples."""
        try:
            n = 0
            while not self.stop.is_set():
                self.example(f"w{self.number}-{n}", n)
                n += 1
        except BaseException as error:
            self.failure = error

    def example(self, id: str, n: int) -> None:
        """Predict one example and send its label, in some cases several times."""
        x = {"v": float(n % 11), "w": self.chance.gauss(0, 1)}
        y = x["w"] > 0
        if self.chance.random() < 0.9:
            status, _ = self.ask("POST", "/v1/models/m/predict", {"id": id, "x": x})
            assert status == 200, status
        self.oracle.write("sent", id)
        status, found = self.ask("PUT", f"/v1/models/m/labels/{id}", {"y": y})
        if status == 404:
            # The event was not stored before the server was killed, or was not sent at all.
            status, found = self.ask("PUT", f"/v1/models/m/labels/{id}", {"y": y, "x": x})
            self.with_features += 1
        assert status in (200, 201), (status, found)
        self.oracle.write("acknowledged", id)
        self.repeated += status == 200
        if self.chance.random() < 0.1:
            status, found = self.ask("PUT", f"/v1/models/m/labels/{id}", {"y": not y})
            assert status == 409, (status, found)
            self.conflicts += 1

    def ask(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        """Send a request until it is answered."""
        for _ in range(10_000):
            try:
                if self._connection is None or self._port != self.server.port:
                    self._port = self.server.port
                    self._connection = Connection(self._port)
                status, found = self._connection.ask(method, path, body)
            except (OSError, http.client.HTTPException, ValueError):
                self._connection = None
                time.sleep(0.01)
                continue
            if status != 503:
                return status, found
            time.sleep(0.01)
        raise AssertionError(f"{method} {path} was never answered")


def judge(server: ServerProcess, oracle: Oracle) -> tuple[int, int]:
    """Compare a running server with its log and with the oracle; returns the number acknowledged and learned."""
    learned, model = learned_by_hand(server.data)
    sent, acknowledged = oracle.ids("sent"), oracle.ids("acknowledged")
    lost = acknowledged - set(learned)
    assert not lost, f"{len(lost)} acknowledged labels are lost, such as {min(lost)}"
    assert set(learned) <= sent
    status, shown = server.ask("GET", "/v1/models/m")
    assert status == 200
    assert shown["learned"] == len(learned)
    assert sum(shown["labels"]["fates"].values()) == shown["labels"]["received"]
    live = server.export()
    assert live == model.to_bytes()
    assert replayed(server.data, from_start=True) == live
    assert replayed(server.data, from_start=False) == live
    return len(acknowledged), len(learned)


def test_sigkill_at_random_times(tmp_path):
    chance = random.Random(SEED)
    oracle, stop = Oracle(tmp_path / "oracle"), threading.Event()
    server = ServerProcess(tmp_path / "data", engine={"snapshot_records": 150})
    in_recovery = 0
    with server:
        writers = [Writer(number, server, oracle, stop) for number in range(WRITERS)]
        for writer in writers:
            writer.start()
        for kill in range(KILLS):
            time.sleep(chance.uniform(0.05, 0.5))
            server.kill()
            if kill % 4 == 3:
                # Killed while it starts, and perhaps while it replays the log.
                server.launch()
                time.sleep(chance.uniform(0.1, 1.0))
                server.kill()
                in_recovery += 1
            server.start()
        time.sleep(0.3)
        stop.set()
        for writer in writers:
            writer.join(60)
            assert not writer.is_alive()
            assert writer.failure is None, repr(writer.failure)
        acknowledged, learned = judge(server, oracle)
        assert server.stop() == 0
        server.start()
        assert judge(server, oracle) == (acknowledged, learned)
        assert server.stop() == 0
    print(
        f"seed {SEED}: {KILLS} kills and {in_recovery} during a start, {WRITERS} writers: {acknowledged} labels "
        f"acknowledged, {learned} learned, 0 lost, 0 twice; {sum(each.repeated for each in writers)} repeated, "
        f"{sum(each.conflicts for each in writers)} conflicts, "
        f"{sum(each.with_features for each in writers)} with their features"
    )
    assert acknowledged > KILLS


def test_every_crash_point(tmp_path):
    memory = Path("/dev/shm")
    folder = memory / f"millstream-crash-{os.getpid()}" if memory.is_dir() else tmp_path / "crash"
    folder.mkdir()
    try:
        done = subprocess.run(
            [sys.executable, Path(__file__).with_name("serving_crashes.py"), folder, "1" if LONG else "11"],
            capture_output=True,
            text=True,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
            timeout=1200,
        )
    finally:
        subprocess.run(["rm", "-rf", folder], check=True)
    assert done.returncode == 0, done.stderr[-3000:]
    counts = json.loads(done.stdout)
    print(f"{sum(counts.values())} crashes at {sum(map(bool, counts.values()))} points, all recovered: {counts}")
    assert {point for point in POINTS if not counts[point]} == OF_THE_STORE
