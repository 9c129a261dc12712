"""Policies without context beside River: one call a round from Python, and games played natively.

Both sides play the same world in turns in one run, with the same interpreter, and the best time of each counts.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from millstream import bandit, evaluate
from millstream.bandit import worlds

__all__ = ["rows"]

TURNS = 5
#: Ten actions with rewards of 0 and 1: uniform means, sorted, with the two best ones close.
MEANS = [*np.sort(np.random.default_rng(105).uniform(0.1, 0.9, 10))[:8].tolist(), 0.85, 0.9]


#: A row of the page: work, peer, reached, goal, met.
Row = dict[str, Any]


def rows(size: float = 1.0) -> Iterator[Row]:
    """Measure each work; `size` shrinks the number of rounds."""
    from river import bandit as river
    from river.proba import Beta

    rounds = max(500, int(20_000 * size))
    pairs: list[tuple[str, Callable[[], Any], Callable[[], Any]]] = [
        ("ε-greedy", lambda: river.EpsilonGreedy(epsilon=0.1, seed=1), lambda: bandit.EpsilonGreedy(0.1, seed=1)),
        ("UCB", lambda: river.UCB(delta=1, seed=1), lambda: bandit.UCB1(seed=1)),
        (
            "Thompson",
            lambda: river.ThompsonSampling(reward_obj=Beta(), seed=1),
            lambda: bandit.Thompson(seed=1),
        ),
        ("Bayes-UCB", lambda: river.BayesUCB(reward_obj=Beta(), seed=1), lambda: bandit.BayesUCB(seed=1)),
        ("Exp3", lambda: river.Exp3(gamma=0.05, seed=1), lambda: bandit.Exp3(gamma=0.05, seed=1)),
    ]
    for name, theirs, ours in pairs:
        long = rounds * 20
        seconds = [float("inf")] * 5
        for _ in range(TURNS):
            for place, work in enumerate(
                (
                    lambda: _by_river(theirs(), rounds),  # noqa: B023
                    lambda: _pulled(ours(), rounds),  # noqa: B023
                    lambda: _decided(ours(), rounds),  # noqa: B023
                    lambda: evaluate.play(ours(), worlds.Bernoulli(MEANS), long, [1]),  # noqa: B023
                    lambda: _decided(ours(), rounds // 20, read=True),  # noqa: B023
                )
            ):
                began = time.perf_counter()
                work()
                seconds[place] = min(seconds[place], time.perf_counter() - began)
        numbers = [rounds, rounds, rounds, long, rounds // 20]
        rates = [number / taken for number, taken in zip(numbers, seconds, strict=True)]
        for place, (said, wanted) in enumerate(
            [
                ("`pull` and `update`, one call a round", 5),
                ("`decide_one` and `learn_one`, with id", 5),
                ("`evaluate.play`, natively", 50),
                # Thompson computes a probability when it is read.
                ("`decide_one` and `learn_one`, and `probability` read", 0),
            ],
            start=1,
        ):
            ratio = rates[place] / rates[0]
            # The goals were set for these two.
            goal = f"{wanted} × River" if wanted and name in ("ε-greedy", "Thompson") else "–"
            yield {
                "work": f"{name}, 10 actions: {said}",
                "peer": f"River {_shown(rates[0])}",
                "reached": f"{_shown(rates[place])} ({ratio:.1f} ×)",
                "goal": goal,
                "met": goal == "–" or ratio >= wanted,
            }


def _shown(rate: float) -> str:
    return f"{rate / 1e6:.2f} M rounds/s" if rate >= 1e6 else f"{rate / 1e3:.0f} k rounds/s"


def _by_river(policy: Any, rounds: int) -> None:
    draws = random.Random(2)
    arms = list(range(len(MEANS)))
    for _ in range(rounds):
        arm = policy.pull(arms)
        policy.update(arm, draws.random() < MEANS[arm])


def _pulled(policy: Any, rounds: int) -> None:
    draws = random.Random(2)
    arms = list(range(len(MEANS)))
    for _ in range(rounds):
        arm = policy.pull(arms)
        policy.update(arm, draws.random() < MEANS[arm])


def _decided(policy: Any, rounds: int, *, read: bool = False) -> None:
    draws = random.Random(2)
    arms = list(range(len(MEANS)))
    for _ in range(rounds):
        decision = policy.decide_one(arms)
        if read:
            _ = decision.probability
        policy.learn_one(decision.id, draws.random() < MEANS[decision.action])
