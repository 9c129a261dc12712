"""Dies at every pass of every crash point of a server's engine: `python serving_crashes.py FOLDER STEP`.

The parent process imports everything once and forks a child for each run, so that a run takes milliseconds. A
child does the work of one client, and writes what was acknowledged to a file outside the data folder. After a
crash, another child continues as a client does that was not answered: it skips what was acknowledged and repeats
the rest. In the end, models, metrics, drift detectors and routes must be, byte for byte, those of a run without
a crash; so an acknowledged label that was lost, or one that was learned twice, cannot stay unseen.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import millstream
from millstream.serve import faults
from millstream.serve.batches import pack_events
from millstream.serve.clock import Clock
from millstream.serve.engine import Engine
from millstream.serve.in_flight import Unsettled
from millstream.serve.proposal import Proposal
from millstream.serve.records import Kind

#: A point is passed less often than this in one run.
_MOST_PASSES = 200


def _clock(not_before: int) -> Clock:
    return Clock(not_before, wall=lambda: 1_700_000_000.0, monotonic=lambda: 0.0)


class Work:
    """The work of one client with an engine."""

    def __init__(self, folder: Path) -> None:
        self.data, self.oracle = folder / "data", folder / "acknowledged"
        text = self.oracle.read_text() if self.oracle.exists() else ""
        self.done = set(text.split())
        models = {
            name: millstream.parse(text)
            for name, text in (("m", "StandardScaler | LogisticRegression"), ("n", "HoeffdingTreeClassifier"))
        }
        self.engine = Engine(self.data, models, clock=_clock)
        self.engine.start()

    @classmethod
    def run_in(cls, folder: Path) -> None:
        """All of the work in a folder."""
        cls(folder).run()

    def once(self, what: str, action: Callable[[], Any]) -> None:
        """Do something that was not acknowledged yet, and write down that it is."""
        if what in self.done:
            return
        action()
        with self.oracle.open("a") as file:
            file.write(what + "\n")

    def propose(self, kind: Kind, stream: str, name: str | None, body: str, parsed: Any) -> Any:
        """Propose a record, and wait for its outcome."""
        stream_ = self.engine.state.by_name[stream]
        return self.engine.committer.ask(Proposal(kind, stream_, name, body, parsed=parsed))

    def predict(self, stream: str, name: str, v: float) -> None:
        """Predict and store an event."""
        x = {"v": v, "w": v * v % 7}
        state = self.engine.state
        if stream in state.routes:
            found = {name: {"y": state.models[name].predict(x).y} for name in state.routes[stream].members}
            body = {"x": x, "m": found, "s": state.routes[stream].champion}
        else:
            body = {"x": x, "y": state.models[stream].predict(x).y}
        # It may have been stored before the crash; a repeated request gets the first prediction.
        with suppress(Unsettled):
            self.propose(Kind.EVENT, stream, name, json.dumps(body), x)

    def label(self, stream: str, name: str, y: bool) -> None:
        """Send a label."""
        outcome = self.propose(Kind.LABEL, stream, name, "", {"y": y})
        assert outcome.fate.word in ("learned", "duplicate"), outcome

    def examples(self, stream: str, first: int, count: int) -> None:
        """Predict and label."""
        for n in range(first, first + count):
            self.once(f"predict-{n}", lambda n=n: self.predict(stream, f"e{n}", float(n % 5)))
            self.once(f"label-{n}", lambda n=n: self.label(stream, f"e{n}", n % 3 == 0))

    def batch(self) -> None:
        """Predict and label a batch, each in one record."""
        ids = ["b0", "b1", "b2"]
        xs = [{"v": float(n), "w": 1.0} for n in range(3)]
        ys = [self.engine.state.models["m"].predict(x).y for x in xs]
        body = pack_events(ids, [json.dumps(x) for x in xs], ys)
        self.once("batch", lambda: self.propose(Kind.EVENTS, "m", None, body, ids))
        labels = [{"id": name, "y": n == 1} for n, name in enumerate(ids)]
        self.once("batch-labels", lambda: self.propose(Kind.LABELS, "m", None, "", labels))

    def snapshot(self) -> None:
        """Take a snapshot now; the next record waits for it in the log thread."""
        self.engine.committer.request_snapshot()

    def run(self) -> None:
        """All of the work."""
        administer = self.engine.administer
        self.examples("m", 0, 3)
        self.batch()
        if "v1" not in self.engine.state.models["m"].versions:
            administer({"op": "version", "model": "m", "version": "v1"})
        self.examples("m", 3, 2)
        self.once("snapshot", self.snapshot)
        route = {"route": "r", "champion": "m", "challengers": ["n"], "policy": self.engine.policy.describe()}
        if "r" not in self.engine.state.routes:
            administer({"op": "route", **route}, stream=self.engine.state.last_stream + 1)
        self.examples("r", 5, 3)
        if self.engine.state.routes["r"].champion == "m":
            administer({"op": "promote", "route": "r", "model": "n", "why": {"by": "hand"}})
        self.examples("r", 8, 1)
        served = self.engine.state.models["m"]
        rollback = {
            "op": "rollback",
            "model": "m",
            "folder_id": served.folder_id,
            "to": served.versions["v1"],
            "exclude": ["e1"],
        }
        self.once("rollback", lambda: administer(rollback))
        self.examples("m", 9, 3)
        self.engine.stop()


def state_of(data: Path, *, from_start: bool) -> dict[str, Any]:
    """Everything that a client can notice, computed offline."""
    engine = Engine(data, read_only=True, from_start=from_start)
    found: dict[str, Any] = {}
    for name, served in engine.state.models.items():
        header, blobs = served.snapshot()
        kept = {key: header[key] for key in ("learned", "scored", "unscored", "drift_count")}
        found[name] = kept | {key: blob.hex() for key, blob in blobs.items()}
    for name, route in engine.state.routes.items():
        described = route.describe()
        found[name] = {key: described[key] for key in ("champion", "challengers", "labels", "duels")}
    engine.stop()
    return found


def in_child(action: Callable[..., None], *values: Any) -> int:
    """Run an action in a child process; returns its wait status."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            action(*values)
            code = 0
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    return os.waitpid(pid, 0)[1]


def crash(folder: Path, point: str, number: int) -> bool:
    """Run the work until it is killed at a point; returns whether it was."""

    def run() -> None:
        faults._armed, faults._left = point, number
        for _ in range(2):
            Work(folder).run()

    status = in_child(run)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return True
    assert status == 0, f"{point}:{number} failed"
    return False


def main(folder: Path, step: int) -> dict[str, int]:
    """Crash at every `step`-th pass of every point; returns the number of crashes at each one."""
    clean = folder / "clean"
    clean.mkdir()
    assert in_child(Work.run_in, clean) == 0
    expected = state_of(clean / "data", from_start=True)
    assert expected["m"]["learned"] == 8, expected["m"]["learned"]
    assert expected["r"]["champion"] == "n"
    check_judgement(folder, expected)
    counts = dict.fromkeys(faults.POINTS, 0)
    for index, point in enumerate(faults.POINTS):
        # Rare points are passed at least once, whatever the step.
        for number in [1, *range(2 + index % step, _MOST_PASSES, step)]:
            place = folder / "crashed"
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir()
            if not crash(place, point, number):
                break
            counts[point] += 1
            assert in_child(Work.run_in, place) == 0, f"{point}:{number}: it does not start again"
            for from_start in (True, False):
                found = state_of(place / "data", from_start=from_start)
                differ = [key for key in expected if found[key] != expected[key]]
                assert not differ, f"{point}:{number}: {differ} differ, from_start={from_start}"
    return counts


def check_judgement(folder: Path, expected: dict[str, Any]) -> None:
    """A label that was acknowledged and is not there must be seen."""
    place = folder / "loser"
    place.mkdir()
    (place / "acknowledged").write_text("label-2\n")
    assert in_child(Work.run_in, place) == 0
    assert state_of(place / "data", from_start=True)["m"] != expected["m"]


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), int(sys.argv[2]))))
