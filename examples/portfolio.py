"""Portfolios: two assets without growth, and a mixture of them that grows.

Cover's example: one asset is cash, the other doubles on one day and halves on the next. Neither gains anything. A
portfolio that is rebalanced to one half of each every morning gains one eighth every two days. The best mixture is
known only in hindsight, but online convex optimisation approaches it, because the loss of a day, -log of the
growth, is convex. The second market is a random walk of several assets, without trading costs.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from millstream import oco


def cover(days: int) -> np.ndarray:
    """Cash, and a stock that alternately doubles and halves."""
    factors = np.ones((days, 2))
    factors[0::2, 1], factors[1::2, 1] = 2.0, 0.5
    return factors


def walk(days: int, assets: int = 5, seed: int = 4) -> np.ndarray:
    """Random walks on a logarithmic scale, with different volatilities."""
    rng = np.random.default_rng(seed)
    volatility = np.linspace(0.01, 0.12, assets)
    return np.exp(rng.normal(0.0, 1.0, size=(days, assets)) * volatility - 0.3 * volatility**2)


def learners(assets: int) -> dict[str, oco.Learner]:
    """Three learners without knowledge of the market; the first has the rate of Helmbold et al."""
    simplex = oco.Simplex(assets)
    return {
        "exponentiated gradient": oco.ExponentiatedGradient(assets, learning_rate=0.05),
        "gradient descent": oco.OnlineGradientDescent(simplex),
        "Newton step": oco.OnlineNewtonStep(simplex),
    }


def money(log_wealth: float) -> str:
    """The wealth that an initial wealth of 1 has become."""
    return f"{np.exp(log_wealth):,.3g}"


def show(name: str, factors: np.ndarray, out: Path | None) -> None:
    """Play the market and compare with the best constant rebalanced portfolio in hindsight."""
    reports = oco.play(learners(factors.shape[1]), oco.Log.many(factors))
    best = next(iter(reports.values())).best
    even = -np.log(factors.mean(axis=1)).sum()
    print(f"{name}: {len(factors):,} days, {factors.shape[1]} assets. A wealth of 1 becomes")
    print(f"  {money(np.log(factors).sum(axis=0).max()):>10}  in the best single asset")
    print(f"  {money(-even):>10}  in equal parts, rebalanced every day")
    mixture = ", ".join(f"{weight:.2f}" for weight in best.decision)
    print(f"  {money(-best.loss):>10}  in the best constant mixture in hindsight, {mixture}")
    for label, report in reports.items():
        print(
            f"  {money(-report.loss):>10}  by {label}: regret {report.regret:.2f}, "
            f"at most {report.bound.value:.2f} by {report.bound.theorem.partition(',')[0]}"
        )
    print()
    if out is not None:
        word = name.split()[-1]
        reports.save_plot(out / f"portfolio_{word}_regret.png")
        reports.save_plot(out / f"portfolio_{word}_loss.png", "loss")


def main() -> None:
    """Play both markets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1000, help="number of days")
    parser.add_argument("--out", type=Path, help="folder for plots")
    given = parser.parse_args()
    if given.out is not None:
        given.out.mkdir(parents=True, exist_ok=True)
    days = min(given.rows, 1000)
    show("Cover's market", cover(days), given.out)
    show("Random walk", walk(days), given.out)
    print(
        "Regret is measured in logarithms of wealth. Its bound for the Newton step grows with the logarithm of\n"
        "the number of days, so in the long run its daily growth equals that of the best mixture."
    )


if __name__ == "__main__":
    main()
