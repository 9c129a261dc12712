"""Our side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.measure import Outcome, Side
from millstream import evaluate

__all__ = ["dict_loop", "prequential", "step_many"]

Build = Callable[[], Any]


def dict_loop(build: Build, rows: list[dict[str, float]], y: list[Any], name: str = "millstream") -> Side:
    """`predict_one`, then `learn_one`, dict by dict, from a Python loop."""

    def prepare() -> Callable[[], Outcome]:
        model = build()

        def run() -> Outcome:
            hits = 0
            for x, target in zip(rows, y, strict=True):
                hits += model.predict_one(x) == target
                model.learn_one(x, target)
            return Outcome(hits / len(y), model.memory)

        return run

    return Side(name, len(y), prepare)


def step_many(build: Build, X: Any, y: Any, name: str = "millstream", scored: int | None = None) -> Side:
    """`step_many` in one call, then the accuracy of what it predicted, over the first `scored` rows."""
    truth = np.asarray(y)[:scored]

    def prepare() -> Callable[[], Outcome]:
        model = build()

        def run() -> Outcome:
            predicted = model.step_many(X, y)
            return Outcome(float(np.mean(predicted[:scored] == truth)), model.memory)

        return run

    return Side(name, len(y), prepare)


def prequential(build: Build, X: Any, y: Any, name: str = "millstream, prequential") -> Side:
    """The evaluation loop: predict, score, learn, all in native code."""

    def prepare() -> Callable[[], Outcome]:
        model = build()

        def run() -> Outcome:
            result = evaluate.prequential(model, (X, y), metrics="Accuracy", progress=False)
            return Outcome(result["Accuracy"], model.memory)

        return run

    return Side(name, len(y), prepare)
