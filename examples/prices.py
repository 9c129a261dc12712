"""Prices: predict the price of a used car while the market changes and most cars are not sold yet.

Three lessons. Learn the logarithm of a price, so that an error of 10 % counts the same for a cheap car as for an
expensive one. The price is known when the car is sold, so an evaluation that uses it at once is too optimistic.
Two quantiles give a range whose coverage can be measured, which is more useful than a single number.
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
    """Offers of a year, with the day on which each car was sold.

    In summer there is a crisis: every car loses a fifth of its value, and powerful engines lose their appeal.
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
    """A linear model of scaled numbers, with a weight for each brand."""
    learner = linear_model.LinearRegression(
        optimizer=optim.SGD(0.01), loss=loss or losses.Squared(), intercept_learning_rate=0.05
    )
    return preprocessing.StandardScaler() | learner


def predicted(learner: Any, X: pyarrow.Table, y: np.ndarray, *, delayed: bool = True) -> np.ndarray:
    """The prediction for each car on the day of its offer; NaN before the first sale."""
    kept: list[Mapping[str, Any]] = []
    late = {"time": "day", "label_time": "sold"} if delayed else {}
    rows = X if delayed else X.drop_columns(["day", "sold"])
    evaluate.prequential(learner, (rows, y), "MAE", predictions=kept.append, **late)
    return np.concatenate([some["prediction"] for some in kept]).astype(float)


def main() -> None:
    """Measure the effect of the logarithm and of the delay, and the coverage of a range."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    rows = parser.parse_args().rows
    X, price = cars(rows)
    log_price = np.log(price)
    day, sold = X["day"].to_numpy(), X["sold"].to_numpy()
    spans = {"before the crisis": (60, 190), "during it": (190, 230), "after it": (230, 366)}

    def errors(guess: np.ndarray) -> str:
        periods = [(day >= start) & (day < stop) for start, stop in spans.values()]
        return "".join(f"{np.nanmedian(np.abs(guess[here] / price[here] - 1)):>19.1%}" for here in periods)

    raw = predicted(model(), X, price)
    logarithm = np.exp(predicted(model(), X, log_price))
    at_once = np.exp(predicted(model(), X, log_price, delayed=False))
    print(f"{rows:,} cars; half of them take more than {np.median(sold - day):.0f} days to sell.\n")
    print(f"median error of the price{''.join(f'{words:>19}' for words in spans)}")
    print(f"price itself             {errors(raw)}")
    print(f"logarithm of the price   {errors(logarithm)}")
    print(f"the same, without delay  {errors(at_once)}   (not achievable in practice)\n")

    low, high = (predicted(model(losses.Quantile(alpha)), X, log_price) for alpha in (0.1, 0.9))
    print("The range from the 10 % to the 90 % quantile should contain 80 % of the prices. It contains")
    for words, (start, stop) in spans.items():
        here = (day >= start) & (day < stop) & ~np.isnan(low) & ~np.isnan(high)
        inside = (low[here] <= log_price[here]) & (log_price[here] <= high[here])
        width = np.median(np.exp(high[here] - low[here])) - 1
        print(f"  {inside.mean():.0%} {words}; its upper end is {width:.0%} above the lower one")
    print(
        "Sales reflect the market of some weeks ago, so during a crisis the range is wrong until new sales arrive."
    )


if __name__ == "__main__":
    main()
