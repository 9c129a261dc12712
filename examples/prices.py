"""Prices: what a used car will be sold for, while the market moves and most cars are not sold yet.

Three lessons. Learn the logarithm of a price: a mistake of 10 % is as bad for a cheap car as for a dear one. The
price is known when the car is sold, so a test that gives it at once promises too much. And a range is worth more
than a number: two quantiles say how sure one can be, and one can count how often they are right.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow

from millstream import evaluate, linear_model, losses, optim, preprocessing

BRANDS = {"Alba": 9.6, "Birk": 9.9, "Corso": 10.2, "Dorn": 10.5}


def cars(rows: int, seed: int = 11) -> tuple[pyarrow.Table, np.ndarray]:
    """Offers of a year with the day on which the car was sold.

    In summer a crisis comes: every car loses a fifth of its value, and strong engines are not wanted any more.
    """
    rng = np.random.default_rng(seed)
    day = np.sort(rng.uniform(0, 365, rows))
    brand = rng.choice(list(BRANDS), rows, p=[0.4, 0.3, 0.2, 0.1])
    age = rng.gamma(2.0, 2.5, rows)
    mileage = 12.0 * age * rng.lognormal(0, 0.3, rows)
    power = rng.normal(100, 30, rows).clip(40, 300)
    crisis = 1 / (1 + np.exp(-(day - 200) / 3))
    log_price = np.array([BRANDS[each] for each in brand]) - 0.12 * age - 0.002 * mileage
    log_price += 0.006 * (power - 100) * (1 - 1.2 * crisis) - 0.2 * crisis
    log_price += rng.normal(0, 0.1, rows)
    sold = day + rng.exponential(25, rows)
    table = pyarrow.table(
        {"brand": brand, "age": age, "mileage": mileage, "power": power, "day": day, "sold": sold}
    )
    return table, np.exp(log_price)


def model(loss: Any = None) -> Any:
    """Scaled numbers, a weight for each brand."""
    learner = linear_model.LinearRegression(
        optimizer=optim.SGD(0.01), loss=loss or losses.Squared(), intercept_learning_rate=0.05
    )
    return preprocessing.StandardScaler() | learner


def predicted(learner: Any, X: pyarrow.Table, y: np.ndarray, *, waits: bool = True) -> np.ndarray:
    """What was predicted for each car on the day of its offer; NaN before the first was sold."""
    kept: list[Mapping[str, Any]] = []
    late = {"time": "day", "label_time": "sold"} if waits else {}
    rows = X if waits else X.drop_columns(["day", "sold"])
    evaluate.prequential(learner, (rows, y), "MAE", predictions=kept.append, **late)
    return np.concatenate([some["prediction"] for some in kept]).astype(float)


def main() -> None:
    """Measure what the logarithm and the delay do, and how often a range is right."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    rows = parser.parse_args().rows
    X, price = cars(rows)
    log_price = np.log(price)
    day, sold = X["day"].to_numpy(), X["sold"].to_numpy()
    spans = {"before the crisis": (60, 190), "while it comes": (190, 230), "after it": (230, 366)}

    def errors(guess: np.ndarray) -> str:
        places = [(day >= start) & (day < stop) for start, stop in spans.values()]
        return "".join(f"{np.nanmedian(np.abs(guess[here] / price[here] - 1)):>19.1%}" for here in places)

    raw = predicted(model(), X, price)
    logarithm = np.exp(predicted(model(), X, log_price))
    at_once = np.exp(predicted(model(), X, log_price, waits=False))
    print(f"{rows:,} cars, half of them on offer for more than {np.median(sold - day):.0f} days.\n")
    print(f"median error of the price{''.join(f'{words:>19}' for words in spans)}")
    print(f"learned as it is         {errors(raw)}")
    print(f"learned as a logarithm   {errors(logarithm)}")
    print(f"the same, known at once  {errors(at_once)}   and nobody gets that\n")

    low, high = (predicted(model(losses.Quantile(alpha)), X, log_price) for alpha in (0.1, 0.9))
    print("A range that should hold 80 % of the prices, from the quantile 10 % to the quantile 90 %, holds")
    for words, (start, stop) in spans.items():
        here = (day >= start) & (day < stop) & ~np.isnan(low) & ~np.isnan(high)
        inside = (low[here] <= log_price[here]) & (log_price[here] <= high[here])
        width = np.median(np.exp(high[here] - low[here])) - 1
        print(f"  {inside.mean():.0%} {words}; its upper end is {width:.0%} above the lower")
    print("Cars that were sold tell of the market of weeks ago: in a crisis a range is wrong until they do.")


if __name__ == "__main__":
    main()
