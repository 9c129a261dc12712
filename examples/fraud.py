"""Fraud: five payments in a thousand are fraudulent, and the labels arrive when customers complain.

Three lessons. Accuracy is meaningless if one class is rare. A model whose probabilities rarely exceed 50 % can
still rank well: raise an alarm as soon as the expected loss exceeds the cost of a call. Weighting the rare class
catches about as many frauds, but the output of the model is no longer a probability.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow

from millstream import evaluate, linear_model, metrics, optim, preprocessing

#: Cost of a missed fraud, and of a call to the customer.
FRAUD, CALL = 100.0, 2.0


def payments(rows: int, seed: int = 3) -> tuple[pyarrow.Table, np.ndarray]:
    """Payments with the features that a bank has. In the second half, fraudulent amounts are smaller."""
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


def fraud_probability(stream: tuple[Any, ...], delay: int) -> np.ndarray:
    """The predicted probability of fraud for each payment; 0 before the first label arrives."""
    model = preprocessing.StandardScaler() | linear_model.LogisticRegression(optimizer=optim.AdaGrad(0.1))
    kept: list[Mapping[str, Any]] = []
    evaluate.prequential(model, stream, delay=delay, predictions=kept.append)
    predicted = np.concatenate([some["prediction"] for some in kept]).astype(object)
    probability = np.concatenate([some["probability"] for some in kept])
    # The recorded probability is that of the predicted class.
    return np.select([predicted == True, predicted == False], [probability, 1 - probability], 0.0)  # noqa: E712


def main() -> None:
    """Compare a model at two thresholds, a weighted model, and no alarms at all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=400_000)
    rows = parser.parse_args().rows

    X, y = payments(rows)
    delay = rows // 80
    plain = fraud_probability((X, y), delay)
    weighted = fraud_probability((X, y, np.where(y, FRAUD / CALL, 1.0)), delay)
    runs = (
        ("no alarms", np.zeros(rows), 0.5),
        ("alarm above 50 %", plain, 0.5),
        (f"alarm above {100 * CALL / FRAUD:.0f} %", plain, CALL / FRAUD),
        ("weighted, above 50 %", weighted, 0.5),
    )
    print(f"{rows:,} payments, {y.sum():,} frauds ({y.mean():.2%}); labels arrive {delay:,} payments later.\n")
    print(f"{'':<22}{'accuracy':>9}{'PR AUC':>8}{'caught':>8}{'calls':>8}{'cost':>9}   mean probability")
    for name, probability, threshold in runs:
        alarm = probability >= threshold
        ranking = metrics.PRAUC()
        ranking.update_many(y, probability)
        cost = FRAUD * (y & ~alarm).sum() + CALL * alarm.sum()
        caught = (y & alarm).sum() / max(1, y.sum())
        print(
            f"{name:<22}{(alarm == y).mean():>9.2%}{ranking.get():>8.3f}{caught:>8.1%}{alarm.sum():>8,}"
            f"{cost:>9,.0f}   {probability.mean():.2%}"
        )
    print(
        f"\nDoing nothing is as accurate as any model, and costs most. A fraud costs as much as "
        f"{FRAUD / CALL:.0f} calls, so a call pays off above {100 * CALL / FRAUD:.0f} %.\n"
        "The weighted model learns this threshold, but its output is no longer a probability."
    )


if __name__ == "__main__":
    main()
