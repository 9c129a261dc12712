"""A curve from noisy points, one at a time: what makes an online learner stable, and what lets it follow a change.

Three lessons. Powers of x are a bad measure: a step that is small in the weights is large in the function, so
gradient descent on them diverges. IRMA measures a step by what it does to the function, and learns from the same
powers; on polynomials that are orthonormal even plain gradient descent does. And the paper's schedule, which
stiffens the function by 5 % with each example, stops learning after some hundred of them: where the truth may
change, cap the stiffness.
"""

from __future__ import annotations

import argparse

import numpy as np
from numpy.polynomial import legendre

from millstream import basis, linear_model
from millstream.papers import irma


def readings(rows: int, seed: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points, noisy values, and the truth, which turns upside down in the middle."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.0, 3.0, rows)
    truth = irma.target(x) * np.where(np.arange(rows) < rows // 2, 1.0, -1.0)
    return x, truth + rng.uniform(-0.05, 0.05, rows), truth


def main() -> None:
    """Learn the curve with six learners, before and after it changes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000)
    rows = parser.parse_args().rows
    x, y, truth = readings(rows)
    orthonormal = legendre.legvander(2 * x / 3 - 1, 6) * np.sqrt((2 * np.arange(7) + 1) / 3)

    def powers() -> basis.Polynomial:
        return basis.Polynomial(order=6, bounds=(0, 3))

    descent = linear_model.LMS(learning_rate=0.2, normalized=True, intercept=False)
    learners = {
        "gradient descent on powers": (powers() | descent.clone(), x[:, None]),
        "gradient descent, orthonormal": (descent.clone(), orthonormal),
        "RLS on powers, remembers all": (powers() | linear_model.RLS(intercept=False), x[:, None]),
        "RLS on powers, remembers 100": (
            powers() | linear_model.RLS(forgetting=0.99, intercept=False),
            x[:, None],
        ),
        "IRMA, the paper's schedule": (powers() | linear_model.IRMA(), x[:, None]),
        "IRMA, stiffness up to 10": (powers() | linear_model.IRMA(cap=10.0), x[:, None]),
    }
    half = rows // 2
    parts = {"first 50": slice(0, 50), "until the change": slice(half - half // 4, half)}
    parts |= {"50 to 100 after": slice(half + 50, half + 100), "at the end": slice(rows - half // 4, rows)}
    print(f"{rows:,} points of x exp(-x²), which turns upside down after {half:,}; noise of ±0.05.")
    print("Root mean squared distance of predictions from the truth:\n")
    print(f"{'':<32}" + "".join(f"{name:>18}" for name in parts))
    for name, (model, features) in learners.items():
        said = model.step_many(features, y)
        away = [float(np.sqrt(np.mean((said[part] - truth[part]) ** 2))) for part in parts.values()]
        print(f"{name:<32}" + "".join(f"{distance:>18.3f}" for distance in away))
    zero = [float(np.sqrt(np.mean(truth[part] ** 2))) for part in parts.values()]
    print(f"{'(to say 0)':<32}" + "".join(f"{distance:>18.3f}" for distance in zero))
    power = half * np.log10(1.05) - 1
    print(f"\nBy the change the paper's schedule had reached a stiffness of 10^{power:.0f}: it cannot follow.")
    print("The paper's own experiments end after 150 examples; `millstream paper irma` repeats them.")


if __name__ == "__main__":
    main()
