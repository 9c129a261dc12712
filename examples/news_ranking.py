"""News ranking with late clicks: which article goes to the top of the page?

A reader comes, the policy shows one of the articles of the hour, and a click arrives minutes later, or never. The
policy keeps each decision by its id, so that a click needs no second copy of the context. Decisions without a
click in the window count as 0. Three policies play the same readers; the articles change all the time.
"""

from __future__ import annotations

import argparse
import heapq

import numpy as np

from millstream import bandit, linear_model

TOPICS = ("politics", "sports", "science", "music", "food")


class Readers:
    """Readers with a taste, and articles that come and go."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.taste = self.random.normal(size=(2, len(TOPICS)))
        self.articles = [self.article(number) for number in range(8)]
        self.next = len(self.articles)

    def article(self, number: int) -> tuple[str, dict[str, object]]:
        topic = int(self.random.integers(len(TOPICS)))
        return f"article {number}", {"topic": TOPICS[topic], "length": float(self.random.random())}

    def visit(self) -> tuple[dict[str, object], dict[str, dict[str, object]], dict[str, float]]:
        """The context, the articles with their features, and the probability of a click on each."""
        if self.random.random() < 0.01:
            place = int(self.random.integers(len(self.articles)))
            self.articles[place] = self.article(self.next)
            self.next += 1
        mobile = int(self.random.integers(2))
        x = {"device": ("desktop", "mobile")[mobile]}
        clicks = {}
        for name, features in self.articles:
            score = 1.5 * self.taste[mobile, TOPICS.index(str(features["topic"]))]
            score -= 2.0 * mobile * float(str(features["length"]))
            clicks[name] = float(1 / (1 + np.exp(1.0 - score)))
        return x, dict(self.articles), clicks


def play(
    policy: bandit.Contextual | bandit.LinUCB | bandit.LinThompson, rows: int, seed: int
) -> tuple[float, float, int]:
    """The rates of clicks, of the policy and of the best articles, and the number of rewards that arrived late."""
    readers, late = Readers(seed), np.random.default_rng(seed + 1)
    waiting: list[tuple[float, int, float]] = []
    clicks = best = 0.0
    for minute in range(rows):
        while waiting and waiting[0][0] <= minute:
            _, key, reward = heapq.heappop(waiting)
            policy.learn_one(key, reward)
        x, articles, rates = readers.visit()
        decision = policy.decide_one(x, articles)
        clicked = late.random() < rates[decision.action]
        clicks += rates[decision.action]
        best += max(rates.values())
        # A click arrives after some minutes; that there was none is known after an hour.
        delay = late.exponential(10.0) if clicked else 60.0
        heapq.heappush(waiting, (minute + delay, decision.id, float(clicked)))
    return clicks / rows, best / rows, policy.pending


def main() -> None:
    """Play each policy."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000, help="number of readers")
    rows = parser.parse_args().rows
    policies = {
        "LinUCB": bandit.LinUCB(reward_range=[0, 1]),
        "LinThompson": bandit.LinThompson(reward_range=[0, 1]),
        "SquareCB over a linear model": bandit.Contextual(
            linear_model.LinearRegression(optimizer="adaptive"), explore="squarecb", reward_range=[0, 1]
        ),
        "random": bandit.Contextual(explore=bandit.explore.EpsilonGreedy(1.0), reward_range=[0, 1]),
    }
    for name, policy in policies.items():
        clicks, best, pending = play(policy, rows, seed=1)
        print(f"{name:30s} {clicks:.3f} clicks a reader (best: {best:.3f}), {pending} rewards still to come")


if __name__ == "__main__":
    main()
