"""Dynamic pricing: find the price with the highest revenue while selling, and follow the market when it changes.

A shop tries prices on customers who buy or not. The demand curve is unknown, and halfway customers come to value
the product more. Each policy sells to the same customers, and a shop that never changes its price is beside them.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from millstream import bandit, drift, evaluate
from millstream.bandit import worlds

PRICES = [6, 7, 8, 9, 10, 11, 12, 14]


def main() -> None:
    """Play the market and print the revenue of each policy."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000, help="number of customers")
    parser.add_argument("--out", type=Path, help="folder for the plot")
    given = parser.parse_args()

    # Half of the customers pay 9, and later 13.
    before, after = worlds.Pricing(PRICES, value=9.0), worlds.Pricing(PRICES, value=13.0)
    market = worlds.Changing([before, after], every=given.rows // 2)
    revenue = (0, max(PRICES))
    policies = {
        "always 9": Always(9),
        "ε-greedy": bandit.EpsilonGreedy(0.1),
        "Thompson": bandit.Thompson(reward_range=revenue),
        "window": bandit.SlidingWindowUCB(window_size=2000, exploration=0.2, reward_range=revenue),
        "restart": bandit.Restart(bandit.Thompson(reward_range=revenue), drift.PageHinkley(threshold=20.0)),
    }
    games = evaluate.play(policies, market, rounds=given.rows, seeds=10)

    print(f"{given.rows:,} customers; revenue for each, mean of 10 runs:\n")
    for plays in sorted(games.values(), key=lambda plays: -plays.reward.mean()):
        lost = plays.regret.mean() / given.rows
        print(f"{plays.name:10} {plays.reward.mean() / given.rows:6.3f}   lost for a wrong price {lost:.3f}")

    shop = bandit.Thompson(actions=PRICES, seed=1, reward_range=revenue)
    before.reset(1)
    for _ in range(2000):
        before.round()
        decision = shop.decide_one()
        # The order may come later: the id of the decision is all that has to be kept.
        shop.learn_one(decision.id, before.reward(decision.action))
    state = shop.inspect()
    print("\nWhat Thompson sampling learned from the first 2,000 customers:\n")
    print("price   offered   revenue for each   probability of being offered next")
    chances = shop.probabilities_one()
    for price, count, mean in zip(state["actions"], state["counts"], state["means"], strict=True):
        print(f"{price:5} {count:9.0f} {mean or 0.0:18.2f} {chances[price]:19.3f}")
    if given.out is not None:
        games.save_plot(given.out / "dynamic_pricing.png")


class Always(bandit.Policy):
    """One price for all: a policy in a few lines of Python."""

    def __init__(self, price: int) -> None:
        self.price = price

    def probabilities_one(self, actions: object = None) -> dict[int, float]:
        """Certainty."""
        return {price: float(price == self.price) for price in PRICES}

    def learn_action(self, action: int, reward: float, probability: float | None) -> None:
        """Nothing to learn."""


if __name__ == "__main__":
    main()
