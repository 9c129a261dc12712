"""Kernel learners compared with a NumPy loop, and random features compared with scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import ours, streams
from benchmarks.measure import Comparison, Outcome, Side
from millstream import kernel

__all__ = ["fourier", "recursion"]

GAMMA, RATE = 2.0, 0.1


def _numpy(X: Any, y: Any, budget: int) -> Side:
    """A NumPy loop: one vectorised kernel row per example; the smallest coefficient is overwritten."""

    def prepare() -> Callable[[], Outcome]:
        points, c = np.zeros((budget, X.shape[1])), np.zeros(budget)

        def run() -> Outcome:
            count = hits = 0
            for x, target in zip(X, np.where(y, 1.0, -1.0), strict=True):
                known = points[:count]
                f = float(c[:count] @ np.exp(-GAMMA * np.sum((known - x) ** 2, axis=1)))
                hits += (f > 0.0) == (target > 0.0)
                if target * f <= 1.0:
                    place = count if count < budget else int(np.argmin(np.abs(c)))
                    points[place], c[place] = x, RATE * target
                    count = min(count + 1, budget)
            return Outcome(hits / len(y), points.nbytes + c.nbytes)

        return run

    return Side("NumPy loop", len(y), prepare)


def recursion(size: float) -> Comparison:
    """Kernel SGD with a budget."""
    X, y = streams.random_rbf(int(20_000 * size), 10)
    y = y > 0
    few = min(5_000, len(y))

    def model(maintenance: str) -> Callable[[], Any]:
        return lambda: kernel.KernelSGD(kernel.RBF(GAMMA), learning_rate=RATE, budget=100, maintenance=maintenance)

    return Comparison(
        "KernelSGD, RBF, a budget of 100 points, step_many on a matrix of 10 columns",
        "accuracy",
        [
            ours.step_many(model("removal"), X, y, "millstream, removal", scored=few),
            _numpy(X[:few], y[:few], 100),
            ours.step_many(model("merging"), X, y, "millstream, merging", scored=few),
            ours.step_many(model("projection"), X, y, "millstream, projection", scored=few),
        ],
        {},
    )


def _transform(model: Any, transform: Callable[[Any], Any], X: Any, name: str) -> Side:
    def prepare() -> Callable[[], Outcome]:
        def run() -> Outcome:
            transform(X)
            return Outcome()

        return run

    return Side(name, len(X), prepare)


def fourier(size: float) -> Comparison:
    """Random Fourier features of a matrix."""
    from sklearn.kernel_approximation import RBFSampler

    X, _ = streams.linear(int(100_000 * size), 10)
    features, theirs = kernel.RandomFourierFeatures(gamma=GAMMA), RBFSampler(gamma=GAMMA, random_state=1).fit(X)
    return Comparison(
        "100 random Fourier features of a matrix of 10 columns",
        "",
        [
            _transform(features, features.transform_many, X, "millstream"),
            _transform(theirs, theirs.transform, X, "scikit-learn RBFSampler"),
        ],
        {},
        "scikit-learn multiplies matrices on all cores",
    )
