"""The repeated game of `oco`: a matrix of losses in one call, compared with a textbook loop."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.measure import Comparison, Outcome, Side
from millstream import oco

__all__ = ["hedge"]

ROUNDS, LOOP_ROUNDS, EXPERTS = 1_000_000, 20_000, 10


def hedge(size: float) -> Comparison:
    """Exponential weights on ten experts; ours includes the regret report."""
    losses = np.random.default_rng(1).random((int(ROUNDS * size), EXPERTS))
    few = losses[: int(LOOP_ROUNDS * max(size, 0.1))]

    def ours() -> Callable[[], Outcome]:
        learner = oco.Hedge(EXPERTS)

        def run() -> Outcome:
            oco.play(learner, losses)
            return Outcome()

        return run

    def step_by_step() -> Callable[[], Outcome]:
        learner = oco.Hedge(EXPERTS)

        def run() -> Outcome:
            for z in few:
                learner.observe(z)
            return Outcome()

        return run

    def textbook() -> Callable[[], Outcome]:
        def run() -> Outcome:
            total, paid = np.zeros(EXPERTS), 0.0
            for t, z in enumerate(few, start=1):
                weights = np.exp(-np.sqrt(4 * np.log(EXPERTS) / t) * (total - total.min()))
                paid += float(weights @ z / weights.sum())
                total += z
            return Outcome()

        return run

    return Comparison(
        f"oco.Hedge with {EXPERTS} experts: rounds of a game",
        "accuracy",
        [
            Side("millstream, a matrix and its regret report", len(losses), ours),
            Side("millstream, round by round", len(few), step_by_step),
            Side("NumPy, textbook loop", len(few), textbook),
        ],
        note="one round counts as one example; the decisions for a matrix are bit-identical to those of the loop",
    )
