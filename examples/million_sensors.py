"""A million sensors, one reading each per second: learn what is normal for each of them, and find those that fail.

One command starts everything: a process that writes readings to a socket (or to Redis or Kafka, which it starts),
a process that scores and learns them with one small model per sensor, and this one, which shows progress and
collects the alarms. The learning process is killed with `kill -9` in the middle and started again. At the end,
every sensor has learned each of its readings exactly once, and each planted fault has raised one alarm.

    python examples/million_sensors.py
    python examples/million_sensors.py --source redis --sensors 100000 --seconds 60 --kills 3
"""

from __future__ import annotations

import argparse
import json
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as arrow

from millstream import anomaly, compose, stream

#: Readings of a message.
BATCH = 10_000

#: Readings of a sensor before it is scored.
GRACE = 20

#: A score is a probability; values of this score do not occur by chance.
ALARM = 1 - 1e-15


def faults(options: argparse.Namespace) -> dict[int, int]:
    """The sensors that fail for one reading, and the second in which they do."""
    random = np.random.default_rng(7)
    failing = random.choice(options.sensors, size=min(20, options.sensors), replace=False)
    return dict(
        zip(failing.tolist(), random.integers(GRACE + 1, options.seconds, len(failing)).tolist(), strict=True)
    )


def batch(number: int, options: argparse.Namespace, failing: dict[int, int]) -> arrow.Table:
    """Batch `number` of the readings, always the same: each sensor has a level of its own."""
    per_second = -(-options.sensors // BATCH)
    second, part = divmod(number, per_second)
    sensors = np.arange(part * BATCH, min((part + 1) * BATCH, options.sensors))
    values = sensors % 97 + np.random.default_rng(number).uniform(-1, 1, len(sensors))
    for sensor, when in failing.items():
        if when == second and sensors[0] <= sensor <= sensors[-1]:
            values[sensor - sensors[0]] += 10
    return arrow.table({"sensor": sensors, "value": values, "second": np.full(len(sensors), float(second))})


def source_of(options: argparse.Namespace, name: str) -> Any:
    """Where readings or alarms are read."""
    idle = {"idle": 5.0} if name == "readings" else {}
    if options.source == "socket":
        return stream.read_socket(f"unix:{options.folder}/{name}.sock", **idle)
    if options.source == "redis":
        return stream.read_redis(options.address, name, **idle)
    return stream.read_kafka(options.address, name, **idle)


def sink_of(options: argparse.Namespace, name: str) -> Any:
    """Where readings or alarms are written."""
    if options.source == "socket":
        return stream.write_socket(f"unix:{options.folder}/{name}.sock", writer=name, buffer_bytes=1 << 29)
    if options.source == "redis":
        return stream.write_redis(options.address, name, writer=name, max_entries=20_000)
    return stream.write_kafka(options.address, name, transactional_id="alarms" if name == "alarms" else None)


def feed(options: argparse.Namespace) -> None:
    """Write all readings, at the given rate."""
    failing = faults(options)
    per_second = -(-options.sensors // BATCH)
    begun = time.monotonic()
    with sink_of(options, "readings") as sink:
        for number in range(options.seconds * per_second):
            due = begun + number / per_second * options.sensors / options.rate
            time.sleep(max(0.0, due - time.monotonic()))
            sink.write(batch(number, options, failing))
            sink.push({})


def learn(options: argparse.Namespace) -> None:
    """Score and learn all readings, and write those that are far from what the sensor has shown before."""
    model = compose.Keyed(anomaly.GaussianScorer(grace_period=GRACE), key="sensor", time="second")

    def alarms(chunk: stream.Chunk, scores: Any) -> arrow.Table | None:
        found = np.flatnonzero(scores >= ALARM)
        return chunk.X.take(found) if len(found) else None

    def report(progress: stream.ProcessProgress) -> None:
        shown = {**vars(progress), "process_memory": resident()}
        print(json.dumps(shown), flush=True)

    with sink_of(options, "alarms") as sink:
        done = stream.process(
            source_of(options, "readings"),
            model,
            sink=sink,
            output=alarms,
            checkpoint=Path(options.folder) / "state",
            every=options.every,
            progress=report,
        )
    learned = done.model.totals()["learned"]
    counts = {"keys": len(learned), "least": int(learned.min()), "most": int(learned.max())}
    print(json.dumps({"result": counts}), flush=True)


def resident() -> int:
    """Memory of this process in bytes; the largest so far where the present one cannot be read, as on macOS."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


class Learner:
    """The learning process, which is started again after each kill."""

    def __init__(self, options: argparse.Namespace, found: list[tuple[int, int]]) -> None:
        self.options, self.found = options, found
        self.process = self._start()
        self.result: dict[str, int] | None = None
        self.kills = 0
        self.rows = 0

    def _start(self) -> subprocess.Popen[str]:
        return start(self.options, "learn", stdout=subprocess.PIPE)

    def watch(self) -> None:
        """Show progress until the process has ended; kill it now and then."""
        total = self.options.sensors * self.options.seconds
        while True:
            assert self.process.stdout is not None
            for line in self.process.stdout:
                told = json.loads(line)
                if "result" in told:
                    self.result = told["result"]
                    continue
                self.rows = max(self.rows, told["rows"])
                print(self._line(told), flush=True)
                due = total * (self.kills + 1) / (self.options.kills + 1)
                if self.kills < self.options.kills and told["rows"] >= due * 0.9:
                    self.process.send_signal(signal.SIGKILL)
            code = self.process.wait()
            if code != -signal.SIGKILL:
                if code != 0:
                    raise SystemExit(f"the learning process ended with code {code}")
                return
            self.kills += 1
            print(f"kill -9 number {self.kills}: starting again from the checkpoint", flush=True)
            self.process = self._start()

    def _line(self, told: dict[str, Any]) -> str:
        lag = "" if told["lag"] is None else f"lag {told['lag']:.2f} s, "
        return (
            f"{told['rows']:>13,} readings, {told['rate']:>11,.0f}/s, {lag}{told['keys'] or 0:,} sensors, "
            f"{told['process_memory'] / 1e6:,.0f} MB, busy {told['busy']:.0%}, {len(self.found)} alarms"
        )


def start(options: argparse.Namespace, role: str, **settings: Any) -> subprocess.Popen[str]:
    """Start a process of this program with another role."""
    given = {**vars(options), "role": role}
    words = [word for name, value in given.items() if value is not None for word in (f"--{name}", str(value))]
    return subprocess.Popen([sys.executable, __file__, *words], text=True, **settings)


def collect(options: argparse.Namespace, found: list[tuple[int, int]]) -> None:
    """Collect alarms as they come."""
    for chunk in source_of(options, "alarms").chunks():
        found.extend(zip(chunk.X["sensor"].to_pylist(), map(int, chunk.X["second"].to_pylist()), strict=True))


def broker_of(options: argparse.Namespace) -> Any:
    """A broker of our own; None if none is needed."""
    if options.source == "socket" or options.address is not None:
        return None
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
    import brokers

    broker = (brokers.Redis if options.source == "redis" else brokers.Kafka)(Path(options.folder) / options.source)
    broker.start()
    options.address = broker.address
    if options.source == "kafka":
        for topic in ("readings", "alarms"):
            broker.create(topic)
    return broker


def show(options: argparse.Namespace) -> None:
    """Start all processes, show progress, and check the result."""
    failing = faults(options)
    total = options.sensors * options.seconds
    print(f"{options.sensors:,} sensors, {options.rate:,.0f} readings/s, {total:,} readings, {options.source}")
    broker = broker_of(options)
    feeder = None
    found: list[tuple[int, int]] = []
    try:
        threading.Thread(target=collect, args=(options, found), daemon=True).start()
        learner = Learner(options, found)
        feeder = start(options, "feed")
        learner.watch()
        if feeder.wait() != 0:
            raise SystemExit("the feeding process failed")
        end = time.monotonic() + 10
        while len(found) < len(failing) and time.monotonic() < end:
            time.sleep(0.1)
    finally:
        if feeder is not None and feeder.poll() is None:
            feeder.kill()
        if broker is not None:
            broker.close()
    counts = learner.result or {"keys": 0, "least": 0, "most": 0}
    print(f"{counts['keys']:,} sensors have learned {counts['least']} to {counts['most']} readings each")
    print(f"{len(set(found) & set(failing.items()))} of {len(failing)} faults found, {len(found)} alarms")
    exact = counts == {"keys": options.sensors, "least": options.seconds, "most": options.seconds}
    if not exact or sorted(found) != sorted(failing.items()):
        raise SystemExit("readings or alarms were lost or doubled")
    print(f"no reading lost, none learned twice, after {learner.kills} × kill -9")


def main() -> None:
    """Read the options, and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", choices=("socket", "redis", "kafka"), default="socket")
    parser.add_argument("--sensors", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=int, default=60, help="readings of each sensor")
    parser.add_argument("--rate", type=float, help="readings per second of all sensors (default: 1 Hz each)")
    parser.add_argument("--kills", type=int, default=1, help="how often the learning process is killed")
    parser.add_argument("--every", type=float, default=2.0, help="seconds between checkpoints")
    parser.add_argument("--address", help="a running Redis or Kafka; by default one is started")
    parser.add_argument("--folder", help="where the state is; by default a temporary folder")
    parser.add_argument("--role", choices=("show", "feed", "learn"), default="show", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.seconds < GRACE + 2 or options.sensors < 1:
        parser.error(f"at least {GRACE + 2} seconds and one sensor are needed")
    options.rate = options.rate or float(options.sensors)
    with tempfile.TemporaryDirectory() as folder:
        options.folder = options.folder or folder
        {"show": show, "feed": feed, "learn": learn}[options.role](options)


if __name__ == "__main__":
    main()
