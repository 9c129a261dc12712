"""Expert advice: combine several models if the best one is unknown and changes over time.

The stream switches between two concepts. Each model is an expert; each wrong prediction costs 1. Hedge puts weight
on the experts that were right, and is soon almost as good as the best model, whichever that is. When the concept
changes, however, the best model so far has a lead that another expert takes a long time to make up. Fixed share
keeps a minimum weight for every expert, so it follows the change and beats every single model.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from millstream import linear_model, naive_bayes, oco, optim, preprocessing, synth


def stream(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Points of a square, below or above a sine; the concept is inverted after every quarter."""
    chunks = [
        next(synth.Sine(classification_function=part % 2, seed=part).chunks(rows // 4 + 1)) for part in range(4)
    ]
    X = np.concatenate([np.asarray(chunk.X, dtype=float) for chunk in chunks])[:rows]
    y = np.concatenate([np.asarray(chunk.y) for chunk in chunks])[:rows]
    return X, y.astype(int)


def logistic(rate: float) -> Any:
    """A logistic model; with a higher rate it follows changes faster."""
    return preprocessing.StandardScaler() | linear_model.LogisticRegression(optimizer=optim.SGD(rate))


def experts() -> dict[str, Any]:
    """Models that learn at different rates, and a fixed model trained before the stream, with its inverse."""
    early = logistic(0.5)
    before = next(synth.Sine(classification_function=0, seed=99).chunks(2000))
    early.learn_many(before.X, np.asarray(before.y).astype(int))
    return {
        "slow": logistic(0.001),
        "quick": logistic(0.01),
        "Bayes": naive_bayes.GaussianNB(),
        "fixed": early,
        "inverted": early,
    }


def mistakes(X: np.ndarray, y: np.ndarray) -> tuple[list[str], np.ndarray]:
    """The names of the experts, and a matrix of their mistakes; each row is predicted before it is learned."""
    found, names = [], []
    for name, model in experts().items():
        if name in ("fixed", "inverted"):
            predicted = np.asarray(model.predict_many(X))
            predicted = 1 - predicted if name == "inverted" else predicted
        else:
            predicted = np.array([0 if label is None else label for label in model.step_many(X, y)])
        names.append(name)
        found.append((predicted != y).astype(float))
    return names, np.column_stack(found)


def main() -> None:
    """Compare the experts, the combinations of them, and the best sequence in hindsight."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--out", type=Path, help="folder for plots")
    given = parser.parse_args()
    X, y = stream(given.rows)
    names, losses = mistakes(X, y)
    n = losses.shape[1]
    learners: dict[str, oco.Learner] = {
        "Hedge": oco.Hedge(n),
        "weighted majority": oco.WeightedMajority(n, epsilon=0.1),
        "fixed share": oco.FixedShare(n, switches=3),
    }
    reports = {name: oco.play(learner, losses) for name, learner in learners.items()}
    print(f"{given.rows:,} rows; the concept changes after every quarter. Error rate of each expert:")
    for name, wrong in zip(names, losses.mean(axis=0), strict=True):
        print(f"  {wrong:6.1%}  {name}")
    print("Combinations of all experts:")
    for name, report in reports.items():
        against = (
            "the best expert" if not report.switches else f"the best sequence with {report.switches} switches"
        )
        bound = "–" if report.bound is None else f"{report.bound.value:,.0f}"
        words = f"regret {report.regret:,.0f} against {against}, at most {bound}"
        print(f"  {report.loss / report.rounds:6.1%}  {name}: {words}")
    path, cost = oco.best_sequence(losses, 3)
    turns = np.flatnonzero(np.diff(path)) + 1
    experts_in_order = ", then ".join(names[path[start]] for start in (0, *turns))
    print(f"The best sequence with three switches: {cost[-1] / given.rows:.1%}, {experts_in_order}.")
    if given.out is not None:
        given.out.mkdir(parents=True, exist_ok=True)
        for name, report in reports.items():
            report.save_plot(given.out / f"expert_advice_{name.replace(' ', '_')}.png")


if __name__ == "__main__":
    main()
