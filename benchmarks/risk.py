"""IRMA compared with a NumPy loop of the paper's update, since no other library has it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.measure import Comparison, Outcome, Side
from millstream import basis, linear_model

__all__ = ["irma"]

ORDER, LOW, HIGH = 10, 0.0, 3.0


def _stream(rows: int) -> tuple[Any, Any]:
    """The target function of the paper, with its noise."""
    random = np.random.default_rng(1)
    x = random.uniform(LOW, HIGH, rows)
    return x[:, None], x * np.exp(-x * x) + random.uniform(-0.05, 0.05, rows)


def _ours(X: Any, y: Any, scored: int) -> Side:
    def prepare() -> Callable[[], Outcome]:
        model = basis.Polynomial(order=ORDER, bounds=(LOW, HIGH)) | linear_model.IRMA()

        def run() -> Outcome:
            said = model.step_many(X, y)
            return Outcome(float(np.mean((said[:scored] - y[:scored]) ** 2)), model.memory)

        return run

    return Side("millstream, step_many", len(y), prepare)


def _numpy(X: Any, y: Any) -> Side:
    def prepare() -> Callable[[], Outcome]:
        gram = basis.Polynomial(order=ORDER, bounds=(LOW, HIGH)).gram()
        # With powers of this order the inverse has no correct digit; the smallest stabilising term is added.
        inverse = np.linalg.inv(gram + 1e-9 * np.diag(np.diag(gram)))
        powers = np.arange(ORDER + 1)

        def run() -> Outcome:
            theta, stiffness, squares = np.zeros(ORDER + 1), 0.1, 0.0
            for x, target in zip(X[:, 0].tolist(), y.tolist(), strict=True):
                phi = x**powers
                error = target - theta @ phi
                squares += error * error
                along = inverse @ phi
                theta = theta + along * (error / (stiffness + phi @ along))
                stiffness = min(stiffness * 1.05, 1e100)
            return Outcome(squares / len(y), inverse.nbytes + theta.nbytes)

        return run

    return Side("NumPy, the paper's update", len(y), prepare)


def irma(size: float) -> Comparison:
    """IRMA, the learner that the paper proposes."""
    X, y = _stream(int(1_000_000 * size))
    few = min(20_000, len(y))
    return Comparison(
        "IRMA, order 10 on [0, 3], step_many",
        "squared error",
        [_ours(X, y, few), _numpy(X[:few], y[:few])],
        {"NumPy, the paper's update": 10},
        "the goal is a million examples per second",
    )
