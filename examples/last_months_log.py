"""Judge policies by last month's log, before one of them is released.

A shop shows one of four banners. Last month it chose mostly by hand-made rules, and sometimes at random, and
logged with which probability. From this log, three candidates are judged that were never shown to anybody: a rule,
a policy that has learned the log of the month before, and one that shows a single banner. First the log itself is
checked: a copy with wrong probabilities is noticed.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from millstream import evaluate, linear_model

BANNERS = ["shoes", "coats", "hats", "sale"]
#: The chance of a click: a start, and effects of age and of rain.
EFFECTS = {
    "shoes": (0.10, -0.06, 0.00),
    "coats": (0.06, 0.02, 0.14),
    "hats": (0.05, 0.10, -0.02),
    "sale": (0.08, 0.0, 0.0),
}


def chance(x: dict[str, float], banner: str) -> float:
    """The chance of a click."""
    start, age, rain = EFFECTS[banner]
    return start + age * x["age"] + rain * x["rain"]


def shop(x: dict[str, float]) -> dict[str, float]:
    """The policy of last month: coats in the rain, shoes otherwise, in 60 % of the visits; else any banner."""
    chosen = "coats" if x["rain"] else "shoes"
    return {banner: 0.1 + 0.6 * (banner == chosen) for banner in BANNERS}


def month(rows: int, seed: int) -> list[dict[str, Any]]:
    """A log: what was known, what could be shown, what was shown and how probably, and whether it was clicked."""
    random = np.random.default_rng(seed)
    log = []
    for _ in range(rows):
        x = {"age": float(random.random()), "rain": float(random.random() < 0.3)}
        chances = shop(x)
        banner = str(random.choice(BANNERS, p=list(chances.values())))
        clicked = float(random.random() < chance(x, banner))
        log.append(
            {"shared": x, "actions": BANNERS, "action": banner, "probability": chances[banner], "reward": clicked}
        )
    return log


class Learned:
    """A regressor of the clicks of each banner; shows the best one, and 2 % of the time each of the others."""

    def __init__(self) -> None:
        self.models = {banner: linear_model.RLS(forgetting=1.0) for banner in BANNERS}

    def probabilities_one(self, x: dict[str, float], actions: list[str]) -> dict[str, float]:
        best = max(actions, key=lambda banner: self.models[banner].predict_one(x))
        return {banner: 0.02 + (1.0 - 0.02 * len(actions)) * (banner == best) for banner in actions}

    def learn_one(self, *, x: Any, actions: Any, action: str, reward: float, probability: float) -> None:
        self.models[action].learn_one(x, reward)


def rule(x: dict[str, float], actions: list[str]) -> str:
    """Coats in the rain, hats for older visitors, shoes for the others."""
    return "coats" if x["rain"] else "hats" if x["age"] > 0.4 else "shoes"


def main() -> None:
    """Write two months, check the log of the second, and judge the candidates."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=30_000, help="visits of a month")
    parser.add_argument("--out", type=Path, help="folder for a plot")
    options = parser.parse_args()

    learned = Learned()
    for seen in month(options.rows, seed=1):
        learned.models[seen["action"]].learn_one(seen["shared"], seen["reward"])

    log = month(options.rows, seed=2)
    wrong = [{**seen, "probability": 0.25} for seen in log]
    print("With probabilities that were not those of the shop:")
    for warning in evaluate.policies(wrong, {"learned": learned}, learn=False).warnings:
        print(" ", warning)

    candidates = {"rule": rule, "learned": learned, "hats": lambda x, actions: "hats"}
    results = evaluate.policies(
        log, candidates, reward_model=linear_model.LinearRegression("adaptive"), learn=False
    )
    print("\nWith the right ones:")
    print(results)

    truth = {
        name: np.mean(
            [sum(p * chance(seen["shared"], banner) for banner, p in chances(policy, seen)) for seen in log]
        )
        for name, policy in candidates.items()
    }
    print(
        "\nThe true values, which no shop knows:",
        ", ".join(f"{name} {value:.4f}" for name, value in truth.items()),
    )
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
        results.save_plot(options.out / "last_months_log.png")


def chances(policy: Any, seen: dict[str, Any]) -> Any:
    """The probabilities of a candidate for a visit."""
    x = seen["shared"]
    if callable(policy):
        return [(policy(x, BANNERS), 1.0)]
    return policy.probabilities_one(x, BANNERS).items()


if __name__ == "__main__":
    main()
