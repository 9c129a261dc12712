"""How long one prediction takes while another thread learns a batch with the same model."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import millstream
from benchmarks import learners, streams

__all__ = ["GOAL", "Waits", "waits"]

#: The 99th percentile must be below this number of seconds.
GOAL = 0.005

_READS, _PAUSE, _LONGEST = 400, 0.0005, 3.0


@dataclass
class Waits:
    """Seconds of one prediction during `learn_many`: median, 99th percentile and maximum."""

    name: str
    median: float
    high: float
    longest: float

    @property
    def met(self) -> bool:
        """Whether the 99th percentile is below the goal."""
        return self.high < GOAL


def _read_while_learning(model: Any, role: str, X: Any, y: Any) -> list[float]:
    unlabelled = {"transformer": "transform_one", **learners.UNLABELLED}
    ask = getattr(model, unlabelled.get(role, "predict_one"))
    asked, finished = dict(enumerate(X[0].tolist())), threading.Event()

    def learn() -> None:
        while not finished.is_set():
            model.learn_many(X) if role in unlabelled else model.learn_many(X, y)

    learner = threading.Thread(target=learn)
    learner.start()
    seconds: list[float] = []
    end = time.perf_counter() + _LONGEST
    while len(seconds) < _READS and time.perf_counter() < end:
        time.sleep(_PAUSE)
        start = time.perf_counter()
        ask(asked)
        seconds.append(time.perf_counter() - start)
    finished.set()
    learner.join()
    return seconds


def waits(size: float, only: list[str] | None = None) -> Iterator[Waits]:
    """The waits of every learner's readers."""
    for name in learners.names():
        if only is not None and not any(name.startswith(wanted) for wanted in only):
            continue
        model = millstream.build(learners.describe(name))
        role = model.role
        rows = int(100_000 * size) // learners.SLOW.get(name, 1)
        X, y = streams.regression(rows, 10) if role == "regressor" else streams.linear(rows, 10)
        seconds = _read_while_learning(model, role, streams.standardised(X), y)
        median, high = np.percentile(seconds, [50, 99])
        yield Waits(name, float(median), float(high), max(seconds))
