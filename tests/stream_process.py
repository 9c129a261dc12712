"""Processes that run `stream_program.py`, and the check of what they leave."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from millstream import stream
from stream_messages import learned, state

PROGRAM = Path(__file__).with_name("stream_program.py")
LONG = os.environ.get("MILLSTREAM_FAULTS") == "long"

#: Seconds until a process must have ended; the machine may be busy.
PATIENCE = 400.0

#: Moments at which a process dies: between processing, the flush of the sink, the checkpoint and the commit.
MOMENTS = (
    ("step", False),
    ("step", True),
    ("sink", False),
    ("sink", True),
    ("save", False),
    ("save", True),
    ("commit", False),
    ("commit", True),
)


class Worker:
    """A process that reads a source until it is idle, is killed, or kills itself."""

    def __init__(self, **settings: Any) -> None:
        self.errors = Path(settings["checkpoint"]).with_name("stderr.txt")
        with self.errors.open("ab") as errors:
            self.process = subprocess.Popen(
                [sys.executable, str(PROGRAM), json.dumps(settings)],
                stdout=subprocess.PIPE,
                stderr=errors,
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
            )

    def wait_until_ready(self) -> Worker:
        """Wait until the process begins to read."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.strip() == b"ready", self.errors.read_text()[-2000:]
        return self

    def end(self) -> int:
        """Wait for the end of the process; returns its exit code."""
        self.process.communicate(timeout=PATIENCE)
        return self.process.returncode

    def kill(self) -> None:
        """End the process with SIGKILL."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


def finished(**settings: Any) -> None:
    """Run a process to its end."""
    with Worker(**settings) as worker:
        assert worker.end() == 0, worker.errors.read_text()[-2000:]


def died(**settings: Any) -> int:
    """Run a process until it kills itself, or to its end if it does not get that far; returns the kills."""
    with Worker(**settings) as worker:
        code = worker.end()
        assert code in (0, -signal.SIGKILL), worker.errors.read_text()[-2000:]
    return int(code != 0)


def check_model(folder: Path, numbers: Any) -> None:
    """The model of a checkpoint is that of an uninterrupted run."""
    expected, _ = learned(numbers)
    with stream.Checkpoint(folder) as checkpoint:
        found = checkpoint.load()
    assert found is not None
    model, position = found
    assert position["counts"]["messages"] == len(list(numbers)), position
    assert state(model) == state(expected)


def check_outputs(source: Any, numbers: Any) -> None:
    """The output has the scores of each message exactly once."""
    _, scores = learned(numbers)
    found = [chunk.X["score"].to_pylist() for chunk in source.chunks()]
    as_keys = Counter(tuple(each) for each in found)
    assert as_keys == Counter(tuple(each) for each in scores.values())
