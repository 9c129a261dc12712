"""Ads under a budget: bid in second-price auctions for impressions whose clicks arrive later.

Each impression goes to the highest bid, and the winner pays the second highest. A click is worth something, an
impression is not, and money that is spent early in the day is missing in the evening. The action is the bid. The
reward is the worth of a click, if there is one, less the price paid; without a budget the best bid is what an
impression is worth on average. With a budget a lower bid is better: it wins cheaper impressions and lasts longer.
"""

from __future__ import annotations

import argparse
from collections import deque
from pathlib import Path

from millstream import bandit, evaluate
from millstream.bandit import worlds

BIDS = [0.25, 0.5, 0.75, 1, 1.5, 2, 3]
#: Impressions of a day, and the delay of a reward in impressions.
DAY, DELAY = 1000, 50


def run(policy: bandit.Policy, world: worlds.Auction, rounds: int) -> float:
    """The profit of a policy that is paid late."""
    waiting: deque[tuple[int, float]] = deque()
    profit = 0.0
    for _ in range(rounds):
        _, bids = world.round()
        decision = policy.decide_one(bids)
        reward = world.reward(decision.action)
        profit += reward
        waiting.append((decision.id, reward))
        if len(waiting) > DELAY:
            policy.learn_one(*waiting.popleft())
    return profit


def main() -> None:
    """Bid with and without a budget, and print the profit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000, help="number of impressions")
    parser.add_argument("--out", type=Path, help="folder for the plot")
    given = parser.parse_args()

    for title, budget in (("without a budget", None), ("with a budget of 200 a day", 200.0)):
        world = worlds.Auction(BIDS, value=10.0, click=0.12, budget=budget, season=DAY)
        policies = {
            "UCB1": bandit.UCB1(exploration=0.1, reward_range=world.reward_range),
            "Thompson": bandit.Thompson("gaussian", noise=2.0),
            "TsallisINF": bandit.TsallisINF(reward_range=world.reward_range),
            "any bid": bandit.EpsilonGreedy(1.0),
        }
        games = evaluate.play(policies, world, rounds=given.rows, seeds=10)
        print(f"{title}: profit for each 1,000 impressions, mean of 10 runs")
        for plays in sorted(games.values(), key=lambda plays: -plays.reward.mean()):
            print(f"  {plays.name:12} {1000 * plays.reward.mean() / given.rows:8.1f}")
        if given.out is not None:
            games.save_plot(given.out / f"ads_{'free' if budget is None else 'budget'}.png", "reward")

        policy = policies["Thompson"].clone(seed=1)
        world.reset(1)
        profit = run(policy, world, given.rows)
        favourite = max(zip(policy.inspect()["counts"], policy.actions, strict=True))[1]
        print(
            f"  Thompson, with rewards {DELAY} impressions late: {1000 * profit / given.rows:.1f}; "
            f"its usual bid is {favourite}, and {policy.pending} rewards are still to come\n"
        )
        world.reset(0)


if __name__ == "__main__":
    main()
