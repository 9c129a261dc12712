"""Adaptive random forests, compared with MOA and River at the same settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks import ours, peers, streams
from benchmarks.measure import Comparison
from millstream import forest

__all__ = ["adaptive_random_forest", "arf", "river_arf", "threads"]

#: Rows for millstream, MOA and River, by number of trees.
ROWS = {10: (200_000, 50_000, 1_500), 100: (20_000, 5_000, 0)}
MOA = "moa.classifiers.meta.AdaptiveRandomForest"


def arf(n_models: int, n_threads: int) -> Callable[[], Any]:
    """A factory of our forest, with MOA's fraction of features."""
    return lambda: forest.ARFClassifier(n_models, max_features=0.6, n_threads=n_threads)


def river_arf(n_models: int) -> Callable[[], Any]:
    """A factory of River's forest at the same settings."""
    from river.forest import ARFClassifier

    # River accepts a fraction, although its annotation omits it.
    fraction: Any = 0.6
    return lambda: ARFClassifier(n_models, max_features=fraction, seed=1)


def adaptive_random_forest(size: float, n_models: int, goals: dict[str, float]) -> Comparison:
    """The forest, with two threads for each library that supports them."""
    rows, of_moa, of_river = (int(count * size) for count in ROWS[n_models])
    X, y = streams.random_rbf(rows, 10)
    sides = [ours.step_many(arf(n_models, 2), X, y, "millstream, 2 threads", scored=of_moa)]
    if peers.has_java():
        sides.append(peers.moa(MOA, X, y, of_moa, f"-s {n_models} -j 2", "MOA, 2 threads"))
    if of_river:
        sides.append(peers.river(river_arf(n_models), streams.as_dicts(X[:of_river]), y[:of_river].tolist()))
    return Comparison(
        f"ARFClassifier of {n_models} trees, step_many on a matrix of 10 columns, RandomRBF",
        "accuracy",
        sides,
        goals,
        f"MOA reads rows from memory; the accuracy of millstream is over the first {of_moa:,} rows, as for "
        "MOA; River's is over its first few rows",
    )


def threads(size: float) -> Comparison:
    """Two threads against one."""
    X, y = streams.random_rbf(int(ROWS[10][0] * size), 10)
    return Comparison(
        "ARFClassifier of 10 trees, two threads against one",
        "accuracy",
        [
            ours.step_many(arf(10, 2), X, y, "millstream, 2 threads"),
            ours.step_many(arf(10, 1), X, y, "millstream, 1 thread"),
        ],
        {"millstream, 1 thread": 1.7},
        "the predictions are bit-identical",
    )
