"""Sensors: predict the outlet of a heat exchanger from five sensors with gaps, one of which slowly fails.

Three lessons. As soon as anything drifts, a model that continues learning beats one that was fitted once. A
missing value is not zero, so decide how to treat it. A drift detector shows when to inspect the machine.
"""

from __future__ import annotations

import argparse

import numpy as np

from millstream import drift, evaluate, linear_model, preprocessing

NAMES = ("flow", "inlet", "coolant", "pressure", "vibration")


def readings(rows: int, seed: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Readings of a plant, one per minute, and the outlet temperature.

    From the middle on, the inlet sensor drifts downwards; later its mounting breaks, and its readings drop by
    another 15 degrees. One reading in twenty is lost, and so is the pressure for a whole week.
    """
    rng = np.random.default_rng(seed)
    minute = np.arange(rows)
    day = np.sin(2 * np.pi * minute / 1440)
    true = np.column_stack(
        [
            20 + 3 * np.sin(2 * np.pi * minute / 700) + rng.normal(0, 0.5, rows),
            80 + 6 * day + rng.normal(0, 1.0, rows),
            15 + 4 * np.sin(2 * np.pi * minute / 10_000) + rng.normal(0, 0.3, rows),
            5 + 0.2 * day + rng.normal(0, 0.1, rows),
            rng.gamma(2.0, 0.5, rows),
        ]
    )
    outlet = 0.55 * true[:, 1] + 0.4 * true[:, 2] - 0.8 * true[:, 0] + 2.0 * true[:, 3] + rng.normal(0, 0.5, rows)
    shown = true.copy()
    middle, broken = rows // 2, rows * 4 // 5
    shown[middle:, 1] -= 10 * (minute[middle:] - middle) / (rows - middle)
    shown[broken:, 1] -= 15
    shown[rng.random(shown.shape) < 0.05] = np.nan
    shown[rows // 4 : rows // 4 + min(10_080, rows // 10), 3] = np.nan
    return shown, outlet


def main() -> None:
    """Compare four treatments of gaps, and continued learning with a stopped model; detect drift of the error."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    rows = parser.parse_args().rows
    X, y = readings(rows)

    models = {
        "gaps ignored": preprocessing.StandardScaler() | linear_model.LinearRegression(),
        "gaps filled with the mean": preprocessing.Imputer()
        | preprocessing.StandardScaler()
        | linear_model.LinearRegression(),
        "gaps filled with the last value": preprocessing.Imputer("previous")
        | preprocessing.StandardScaler()
        | linear_model.LinearRegression(),
        "gaps filled with 0": preprocessing.Imputer("constant")
        | preprocessing.StandardScaler()
        | linear_model.LinearRegression(),
    }
    detector = drift.PageHinkley(threshold=100.0, allowance=0.5, mode="up")
    results = evaluate.prequential(models, (X, y), ["MAE", "R2"], warmup=1_000, detector=detector)
    print(f"{rows:,} minutes of {len(NAMES)} sensors; {np.isnan(X).mean():.1%} of the readings are missing.\n")
    print(results)

    # The same model, which stops learning after a quarter of the time.
    name = "gaps ignored"
    stopped = preprocessing.StandardScaler() | linear_model.LinearRegression()
    quarter, middle, broken = rows // 4, rows // 2, rows * 4 // 5
    stopped.learn_many(X[:quarter], y[:quarter])
    print(f"\n{f'Mean error ({name})':<33}{'continued':>16}{'stopped':>10}")
    curve = results[name].curve
    for words, start, stop in (
        ("works", quarter, middle),
        ("drifts", middle, broken),
        ("is broken", broken, rows),
    ):
        here = (curve["row"] > start) & (curve["row"] <= stop)
        continued = float(np.mean(curve["rolling_MAE"][here]))
        without_learning = float(np.abs(stopped.predict_many(X[start:stop]) - y[start:stop]).mean())
        print(f"  the inlet sensor {words:<14}{continued:>16.2f}{without_learning:>10.2f}")
    marks = ", ".join(f"{row:,}" for row in results.best.drifts) or "none"
    print(f"\nMinutes at which the detector found an increase in the error of the best model: {marks}.")
    print(
        f"The pressure was missing from {quarter:,} on, and the inlet sensor broke at {broken:,}. Its drift from "
        f"{middle:,} on\nis not detected, because the model adapts to it."
    )


if __name__ == "__main__":
    main()
