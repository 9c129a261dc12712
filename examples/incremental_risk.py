"""Learn a curve from noisy points, one at a time: stability, and adaptation to a change.

Three lessons. With powers of x, a small step in the weights is a large step of the function, so gradient descent
diverges. IRMA measures a step by its effect on the function, and succeeds with the same powers; with orthonormal
polynomials, plain gradient descent succeeds too. The paper's schedule increases the stiffness by 5 % with each
example, so learning stops after some hundred examples: if the truth may change, cap the stiffness.
"""

from __future__ import annotations

import argparse

import numpy as np
from numpy.polynomial import legendre

from millstream import basis, linear_model
from millstream.papers import irma


def readings(rows: int, seed: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points, noisy values, and the true values, whose sign changes in the middle."""
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
        "RLS on powers, no forgetting": (powers() | linear_model.RLS(intercept=False), x[:, None]),
        "RLS on powers, forgetting 0.99": (
            powers() | linear_model.RLS(forgetting=0.99, intercept=False),
            x[:, None],
        ),
        "IRMA, the paper's schedule": (powers() | linear_model.IRMA(), x[:, None]),
        "IRMA, stiffness up to 10": (powers() | linear_model.IRMA(cap=10.0), x[:, None]),
    }
    half = rows // 2
    parts = {"first 50": slice(0, 50), "before the change": slice(half - half // 4, half)}
    parts |= {"50 to 100 after": slice(half + 50, half + 100), "at the end": slice(rows - half // 4, rows)}
    print(f"{rows:,} points of x exp(-x²), whose sign changes after {half:,}; noise of ±0.05.")
    print("Root mean squared error of the predictions:\n")
    print(f"{'':<32}" + "".join(f"{name:>18}" for name in parts))
    for name, (model, features) in learners.items():
        predicted = model.step_many(features, y)
        errors = [float(np.sqrt(np.mean((predicted[part] - truth[part]) ** 2))) for part in parts.values()]
        print(f"{name:<32}" + "".join(f"{error:>18.3f}" for error in errors))
    zero = [float(np.sqrt(np.mean(truth[part] ** 2))) for part in parts.values()]
    print(f"{'(predicting 0)':<32}" + "".join(f"{error:>18.3f}" for error in zero))
    power = half * np.log10(1.05) - 1
    print(f"\nAt the change, the paper's schedule has reached a stiffness of 10^{power:.0f}, so it cannot adapt.")
    print("The paper's own experiments end after 150 examples; `millstream paper irma` repeats them.")


if __name__ == "__main__":
    main()
