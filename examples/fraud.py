"""Fraud: five payments in a thousand, and which ones is known only when customers complain.

Three lessons. Accuracy says nothing where one class is rare. A model that is hardly ever 50 % sure ranks well all
the same: raise the alarm from where a call costs less than a mistake. And weighting the rare class catches about
as much, but what the model says is no probability any more.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow

from millstream import evaluate, linear_model, metrics, optim, preprocessing

#: What a fraud costs that gets through, and what it costs to ring up a customer.
FRAUD, CALL = 100.0, 2.0


def payments(rows: int, seed: int = 3) -> tuple[pyarrow.Table, np.ndarray]:
    """Payments with what a bank knows of them. In the second half the thieves take smaller amounts."""
    rng = np.random.default_rng(seed)
    late = np.arange(rows) >= rows // 2
    amount = rng.lognormal(3.5, 1.0, rows)
    hour = rng.normal(14, 4, rows).clip(0, 23.9)
    abroad = (rng.random(rows) < 0.08).astype(float)
    shop = rng.choice(["food", "fuel", "travel", "electronics", "games"], rows, p=[0.5, 0.2, 0.1, 0.1, 0.1])
    score = np.where(late, -0.4, 1.0) * np.log(amount) + np.where(late, -5.5, -12.0)
    score += 3.0 * abroad + 2.5 * np.isin(shop, ("electronics", "games")) + 0.2 * (hour < 6)
    table = pyarrow.table({"amount": amount, "hour": hour, "abroad": abroad, "shop": shop})
    return table, rng.random(rows) < 1 / (1 + np.exp(-score))


def judged(stream: tuple[Any, ...], delay: int) -> np.ndarray:
    """How probable a model found each fraud before its label came; 0 where it had learned nothing yet."""
    model = preprocessing.StandardScaler() | linear_model.LogisticRegression(optimizer=optim.AdaGrad(0.1))
    kept: list[Mapping[str, Any]] = []
    evaluate.prequential(model, stream, delay=delay, predictions=kept.append)
    said = np.concatenate([some["prediction"] for some in kept])
    sure = np.concatenate([some["probability"] for some in kept])
    # The probability is that of the class that was predicted.
    return np.select([said.astype(object) == True, said.astype(object) == False], [sure, 1 - sure], 0.0)  # noqa: E712


def main() -> None:
    """Compare a model at two thresholds, a weighted model, and one that never says anything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=400_000)
    rows = parser.parse_args().rows

    X, y = payments(rows)
    delay = rows // 80
    plain = judged((X, y), delay)
    weighted = judged((X, y, np.where(y, FRAUD / CALL, 1.0)), delay)
    runs = (
        ("never an alarm", np.zeros(rows), 0.5),
        ("alarm from 50 %", plain, 0.5),
        (f"alarm from {100 * CALL / FRAUD:.0f} %", plain, CALL / FRAUD),
        ("weighted, from 50 %", weighted, 0.5),
    )
    print(f"{rows:,} payments, {y.sum():,} frauds ({y.mean():.2%}), known {delay:,} payments later.\n")
    print(f"{'':<20}{'accuracy':>9}{'PR AUC':>8}{'caught':>8}{'calls':>8}{'cost':>9}   said on average")
    for name, probability, threshold in runs:
        alarm = probability >= threshold
        ranking = metrics.PRAUC()
        ranking.update_many(y, probability)
        cost = FRAUD * (y & ~alarm).sum() + CALL * alarm.sum()
        caught = (y & alarm).sum() / max(1, y.sum())
        print(
            f"{name:<20}{(alarm == y).mean():>9.2%}{ranking.get():>8.3f}{caught:>8.1%}{alarm.sum():>8,}"
            f"{cost:>9,.0f}   {probability.mean():.2%}"
        )
    print(
        f"\nTo do nothing is as accurate as anything, and costs most. A fraud costs {FRAUD / CALL:.0f} calls, so "
        f"a call pays from {100 * CALL / FRAUD:.0f} % on.\nThe weighted model finds that by itself, but what it "
        "says is no probability any more."
    )


if __name__ == "__main__":
    main()
