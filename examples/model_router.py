"""Which model answers which query? A router learns it from rewards that arrive late, within a budget.

The models and the queries are SIMULATED: three invented models, whose success on a query follows a logistic
function of its features. So the figures show that the router finds what is there, and nothing about real models.
Put an embedding in place of the features, and a user's thumb or a test result in place of the reward.
"""

from __future__ import annotations

import argparse

import numpy as np

from millstream import llm

#: Invented models: cost of a query, strength, and what a hard query takes away.
MODELS = {"small": (0.0, 0.8, 3.0), "medium": (0.05, 1.2, 1.8), "large": (0.3, 1.6, 0.4)}
BUDGET = 0.08
FEATURES = 8
#: Number of queries after which a reward arrives, at most.
DELAY = 50


class Simulation:
    """Queries with features; the first says how hard a query is."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)

    def query(self) -> np.ndarray:
        """A query's features."""
        return self.random.normal(size=FEATURES)

    def chance(self, model: str, x: np.ndarray) -> float:
        """The probability that a model succeeds."""
        _, strength, weakness = MODELS[model]
        return float(1.0 / (1.0 + np.exp(weakness * x[0] - strength)))


def route(queries: int, seed: int = 0) -> tuple[llm.Router, float]:
    """Answer queries; the router, and the fraction that succeeded."""
    world = Simulation(seed)
    router = llm.Router({name: cost for name, (cost, _, _) in MODELS.items()}, budget=BUDGET, seed=seed)
    waiting: list[tuple[int, int, float]] = []
    successes = 0.0
    for now in range(queries):
        x = world.query()
        decision = router.decide_one(x)
        reward = float(world.random.random() < world.chance(decision.action, x))
        successes += reward
        waiting.append((now + int(world.random.integers(DELAY)), decision.id, reward))
        for when, key, late in [each for each in waiting if each[0] <= now]:
            router.learn_one(key, late)
            waiting.remove((when, key, late))
    return router, successes / queries


def main() -> None:
    """Compare the router with always asking one model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=5000, help="number of queries")
    queries = parser.parse_args().queries
    world = Simulation(1)
    sample = [world.query() for _ in range(20_000)]
    print("Simulated models; a budget of", BUDGET, "for a query on average.\n")
    print(f"{'':<24}{'success':>9}{'cost':>9}")
    for name, (cost, _, _) in MODELS.items():
        print(f"{'always ' + name:<24}{np.mean([world.chance(name, x) for x in sample]):>9.3f}{cost:>9.3f}")
    router, success = route(queries)
    print(f"{'the router':<24}{success:>9.3f}{router.spent / router.decided:>9.3f}\n")
    print(f"The price is {router.price:.2f} of reward for a unit of cost. By how hard a query is, it asks:")
    for hard in (-2.0, 0.0, 2.0):
        x = np.zeros(FEATURES)
        x[0] = hard
        print(f"{hard:>6.1f}  {router.decide_one(x).action}")


if __name__ == "__main__":
    main()
