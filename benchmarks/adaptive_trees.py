"""Adaptive trees on a drifting stream, compared with River and MOA."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import ours, peers, streams
from benchmarks.measure import Comparison
from millstream import synth, tree

__all__ = ["adaptive", "anytime"]

ROWS, SLOW_ROWS = 500_000, 10_000


def _drifting(rows: int) -> tuple[Any, Any]:
    """Rows of RandomRBF with moving centroids."""
    stream = synth.RandomRBF(seed_model=1, seed=1, n_drift_centroids=50, change_speed=0.0001)
    chunk = next(stream.chunks(rows))
    pairs = list(chunk.examples())
    return np.array([list(x.values()) for x, _ in pairs]), np.array([y for _, y in pairs])


def _compared(what: str, build: Callable[[], Any], river: str, moa: str, size: float) -> Comparison:
    from river import tree as theirs

    X, y = _drifting(int(ROWS * size))
    few = min(SLOW_ROWS, len(y))
    sides = [
        ours.step_many(build, X, y, "millstream, step_many", scored=few),
        peers.river(lambda: getattr(theirs, river)(), streams.as_dicts(X[:few]), y[:few].tolist()),
    ]
    if peers.has_java():
        sides.append(peers.moa(moa, X, y, 10 * few))
    return Comparison(
        f"{what}, step_many on a matrix of 10 columns, RandomRBF with moving centroids",
        "accuracy",
        sides,
        {"River": 20},
        f"the accuracy of millstream is over the first {few:,} rows, as for River",
    )


def adaptive(size: float) -> Comparison:
    """The adaptive Hoeffding tree."""
    learner = "moa.classifiers.trees.HoeffdingAdaptiveTree"
    build = tree.HoeffdingAdaptiveTreeClassifier
    return _compared("Hoeffding adaptive tree", build, "HoeffdingAdaptiveTreeClassifier", learner, size)


def anytime(size: float) -> Comparison:
    """The extremely fast decision tree."""
    learner = "moa.classifiers.trees.EFDT"
    build = tree.ExtremelyFastDecisionTreeClassifier
    return _compared("Extremely fast decision tree", build, "ExtremelyFastDecisionTreeClassifier", learner, size)
