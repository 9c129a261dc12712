"""Regression trees and forests on Friedman's function with drift, compared with River."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import streams
from benchmarks.measure import Comparison, Outcome, Side
from millstream import forest, synth, tree

__all__ = ["adaptive", "adaptive_random_forest", "hoeffding"]

Build = Callable[[], Any]


def _drifting(rows: int, few: int) -> tuple[Any, Any]:
    """Rows whose features are swapped, and swapped back, within the rows that River learns."""
    stream = synth.Friedman(drift_type="gra", position=(few // 2, 3 * few // 4), seed=1)
    pairs = list(next(stream.chunks(rows)).examples())
    return np.array([list(x.values()) for x, _ in pairs]), np.array([y for _, y in pairs])


def _ours(build: Build, X: Any, y: Any, scored: int, name: str) -> Side:
    def prepare() -> Callable[[], Outcome]:
        model = build()

        def run() -> Outcome:
            predicted = model.step_many(X, y)
            return Outcome(float(np.mean(np.abs(predicted[:scored] - y[:scored]))), model.memory)

        return run

    return Side(name, len(y), prepare)


def _river(build: Build, X: Any, y: Any) -> Side:
    rows, targets = streams.as_dicts(X), y.tolist()

    def prepare() -> Callable[[], Outcome]:
        model = build()

        def run() -> Outcome:
            errors = 0.0
            for x, target in zip(rows, targets, strict=True):
                errors += abs(model.predict_one(x) - target)
                model.learn_one(x, target)
            return Outcome(errors / len(targets), model._raw_memory_usage)

        return run

    return Side("River", len(y), prepare)


def _compared(what: str, ours: Build, theirs: Build, counts: tuple[int, int], goal: float, how: str) -> Comparison:
    """Compare a tree or forest; `counts` are the rows for millstream and for River."""
    rows, few = counts[0], min(counts)
    X, y = _drifting(rows, few)
    return Comparison(
        f"{what}, step_many on a matrix of 10 columns, Friedman with swapped features",
        "mean absolute error",
        [_ours(ours, X, y, few, f"millstream, {how}"), _river(theirs, X[:few], y[:few])],
        {"River": goal},
        f"the error of millstream is over the first {few:,} rows, as for River",
    )


def hoeffding(size: float) -> Comparison:
    """The tree without detectors."""
    from river import tree as theirs

    ours, learner = tree.HoeffdingTreeRegressor, theirs.HoeffdingTreeRegressor
    counts = int(200_000 * size), 10_000
    return _compared("HoeffdingTreeRegressor", ours, learner, counts, 20, "step_many")


def adaptive(size: float) -> Comparison:
    """The adaptive tree."""
    from river import tree as theirs

    ours, learner = tree.HoeffdingAdaptiveTreeRegressor, lambda: theirs.HoeffdingAdaptiveTreeRegressor(seed=1)
    counts = int(200_000 * size), 10_000
    return _compared("HoeffdingAdaptiveTreeRegressor", ours, learner, counts, 20, "step_many")


def adaptive_random_forest(size: float) -> Comparison:
    """A forest of ten trees, on two threads if supported."""
    from river import forest as theirs

    ours, learner = lambda: forest.ARFRegressor(n_threads=2), lambda: theirs.ARFRegressor(seed=1)
    return _compared("ARFRegressor of 10 trees", ours, learner, (int(50_000 * size), 3_000), 50, "2 threads")
