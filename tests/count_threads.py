"""Prints how many threads a model starts while it learns a batch.

Each line of standard input is a model, as JSON: [description, role].
"""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np

import millstream

ROWS = 20_000


def threads() -> int:
    """The threads of this process."""
    return len(list(Path("/proc/self/task").iterdir()))


def started(model: Any, X: Any, y: Any) -> int:
    """The most threads that there are while a batch is learned, beyond those before."""
    done = threading.Event()
    most = 0

    def watch() -> None:
        nonlocal most
        while not done.is_set():
            most = max(most, threads())
            done.wait(0.001)

    watcher = threading.Thread(target=watch)
    watcher.start()
    before = threads()
    model.step_many(X, y)
    most = max(most, threads())
    done.set()
    watcher.join()
    return most - before


def in_a_child(model: Any, X: Any, y: Any) -> int:
    """The same, in a process that has started no thread before."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, str(started(model, X, y)).encode())
        finally:
            os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading) as pipe:
        return int(pipe.read())


def main() -> None:
    """Print a number for each line."""
    X = np.random.default_rng(1).normal(size=(ROWS, 4))
    number = X @ [1.0, -1.0, 0.5, 0.0]
    targets = {"classifier": number > 0, "regressor": number}
    for line in sys.stdin:
        description, role = json.loads(line)
        # Built here: a child would import what it takes each time.
        print(in_a_child(millstream.build(description), X, targets[role]), flush=True)


if __name__ == "__main__":
    main()
