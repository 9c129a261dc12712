"""Three models on one drifting stream: which one is best, and how do they react to the change?

Halfway through, the weights that determine the classes change.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from millstream import baseline, evaluate, linear_model, naive_bayes, preprocessing


def drifting(rows: int, width: int = 10, seed: int = 7) -> tuple[np.ndarray, np.ndarray]:
    """A noisy linear problem whose weights are redrawn in the middle."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, width)) * rng.uniform(0.5, 20, size=width) + rng.uniform(-50, 50, size=width)
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    weights = np.repeat(rng.normal(size=(2, width)), [rows // 2, rows - rows // 2], axis=0)
    score = (standard * weights).sum(axis=1) + rng.logistic(scale=0.5, size=rows)
    return X, (score > 0).astype(int)


def main() -> None:
    """Evaluate, print a table, write an HTML report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--out", type=Path, default=Path("build"))
    given = parser.parse_args()

    models = {
        "scaler | logistic": preprocessing.StandardScaler() | linear_model.LogisticRegression(),
        "Gaussian naive Bayes": naive_bayes.GaussianNB(),
        "majority class": baseline.MajorityClass(),
    }
    stream = drifting(given.rows)
    results = evaluate.prequential(models, stream, metrics=["Accuracy", "CohenKappa"])

    table = Table(title=f"{given.rows:,} rows of 10 numbers; the concept changes in the middle")
    for column in ("model", "accuracy", "kappa", "examples/s", "memory"):
        table.add_column(column, justify="left" if column == "model" else "right")
    given.out.mkdir(parents=True, exist_ok=True)
    for name, result in results.items():
        scores = (f"{result[metric]:.4f}" for metric in ("Accuracy", "CohenKappa"))
        table.add_row(name, *scores, f"{result.throughput:,.0f}", f"{result.memory:,} B")
    Console().print(table)
    page = given.out / "quick_start.html"
    results.to_html(page)
    print(f"The HTML report with the curves over time: {page}")


if __name__ == "__main__":
    main()
