"""Prints how many threads a model starts while it works on a batch.

Each line of standard input is a model and a verb, as JSON: [description, role, verb].
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
#: Too few to start a thread; a model that has learned them can predict.
FIRST = 10


def threads() -> int:
    """The threads of this process."""
    return len(list(Path("/proc/self/task").iterdir()))


def started(model: Any, verb: str, X: Any, y: Any) -> int:
    """The most threads that there are while the model works on a batch, beyond those before."""
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
    if verb == "step_many":
        model.step_many(X, y)
    else:
        getattr(model, verb)(X)
    most = max(most, threads())
    done.set()
    watcher.join()
    return most - before


def in_a_child(model: Any, verb: str, X: Any, y: Any) -> int:
    """The same, in a process that has started no thread before."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, str(started(model, verb, X, y)).encode())
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
        description, role, verb = json.loads(line)
        # Built here: a child would import what it takes each time.
        model = millstream.build(description)
        model.learn_many(X[:FIRST], targets[role][:FIRST])
        print(in_a_child(model, verb, X, targets[role]), flush=True)


if __name__ == "__main__":
    main()
