"""millstream's side of the comparisons."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import Outcome, Side
from millstream import evaluate, linear_model, stream

__all__ = ["dict_loop", "prequential", "sparse_rows", "step_many", "vw_file"]

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
    """`step_many` in one call, and the accuracy of its predictions over the first `scored` rows."""
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


def vw_file(path: Path, rows: int, optimizer: Any, name: str) -> Side:
    """From a file of VW text to a trained and scored model."""

    def prepare() -> Callable[[], Outcome]:
        model = linear_model.LogisticRegression(optimizer=optimizer, intercept=False)

        def run() -> Outcome:
            text = stream.read_vw(path, bits=22)
            result = evaluate.prequential(model, text, metrics="Accuracy", progress=False)
            return Outcome(result["Accuracy"], model.memory)

        return run

    return Side(name, rows, prepare)


def sparse_rows(build: Build, path: Path, rows: int, name: str) -> Side:
    """`step_many` on rows of VW text that are already parsed and hashed."""
    held: list[Any] = []

    def prepare() -> Callable[[], Outcome]:
        if not held:
            held.extend((chunk.X, np.asarray(chunk.y)) for chunk in stream.read_vw(path, bits=22).chunks())
        model = build()

        def run() -> Outcome:
            hits = sum(int(np.sum(model.step_many(X, y, on_error="stop") == y)) for X, y in held)
            return Outcome(hits / rows, model.memory)

        return run

    return Side(name, rows, prepare)
