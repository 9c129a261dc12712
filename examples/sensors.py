"""Sensors: the output of a heat exchanger from five of them, with gaps, while one of them slowly goes wrong.

Three lessons. A model that was fitted once and left alone is beaten by one that goes on learning, as soon as
anything drifts. A missing value is no zero: say what it is. And a detector tells when to look at the machine.
"""

from __future__ import annotations

import argparse

import numpy as np

from millstream import drift, evaluate, linear_model, preprocessing

NAMES = ("flow", "inlet", "coolant", "pressure", "vibration")


def readings(rows: int, seed: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Readings of a plant, one a minute, and the outlet's temperature.

    From the middle on the sensor of the inlet shows ever more too little; later its mounting breaks, and it shows
    15 degrees too little at once. One reading in twenty is lost, and the pressure for a whole week.
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
    """Learn and go on, learn and stop, fill gaps in three ways, and watch the error."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    rows = parser.parse_args().rows
    X, y = readings(rows)

    models = {
        "gaps weigh nothing": preprocessing.StandardScaler() | linear_model.LinearRegression(),
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
    detector = drift.PageHinkley(threshold=100.0, delta=0.5, mode="up")
    results = evaluate.prequential(models, (X, y), ["MAE", "R2"], warmup=1_000, detector=detector)
    print(f"{rows:,} minutes of {len(NAMES)} sensors; {np.isnan(X).mean():.1%} of the readings are missing.\n")
    print(results)

    # The same model, left alone after a quarter of the time.
    name = "gaps weigh nothing"
    stopped = preprocessing.StandardScaler() | linear_model.LinearRegression()
    quarter, middle, broken = rows // 4, rows // 2, rows * 4 // 5
    stopped.learn_many(X[:quarter], y[:quarter])
    print(f"\nMean error ({name}){'goes on':>16}{'stopped':>10}")
    curve = results[name].curve
    for words, start, stop in (
        ("in order", quarter, middle),
        ("drifts", middle, broken),
        ("is broken", broken, rows),
    ):
        here = (curve["row"] > start) & (curve["row"] <= stop)
        alive = float(np.mean(curve["rolling_MAE"][here]))
        alone = float(np.abs(stopped.predict_many(X[start:stop]) - y[start:stop]).mean())
        print(f"  the inlet's sensor {words:<14}{alive:>16.2f}{alone:>10.2f}")
    marks = ", ".join(f"{row:,}" for row in results.best.drifts) or "none"
    print(f"\nMinutes at which the detector saw the error of the best rise: {marks}.")
    print(
        f"The pressure was missing from {quarter:,} on, and the inlet's sensor broke at {broken:,}. That it drifts"
    )
    print(f"from {middle:,} on, the detector does not see: the model follows.")


if __name__ == "__main__":
    main()
