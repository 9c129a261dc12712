"""Expert advice: several models predict, nobody knows which to trust, and the best one changes.

The stream switches between two concepts. Each model is an expert; each prediction costs 1 if it is wrong. Hedge
puts weight on those that were right, and is soon almost as good as the best model, whichever that is. But when the
concept changes, the best model so far has a lead that another needs a long time to make up. Fixed share never
gives an expert up, so it follows the change, and beats every single model.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from millstream import linear_model, naive_bayes, oco, optim, preprocessing, synth


def stream(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Points of a square under a sine or above it: the concept turns round and back again."""
    chunks = [
        next(synth.Sine(classification_function=place % 2, seed=place).chunks(rows // 4 + 1)) for place in range(4)
    ]
    X = np.concatenate([np.asarray(chunk.X, dtype=float) for chunk in chunks])[:rows]
    y = np.concatenate([np.asarray(chunk.y) for chunk in chunks])[:rows]
    return X, y.astype(int)


def logistic(rate: float) -> Any:
    """The faster it learns, the faster it follows a change."""
    return preprocessing.StandardScaler() | linear_model.LogisticRegression(optimizer=optim.SGD(rate))


def experts() -> dict[str, Any]:
    """Models that learn at different speeds, and one that learned before the stream began and stands still."""
    early = logistic(0.5)
    before = next(synth.Sine(classification_function=0, seed=99).chunks(2000))
    early.learn_many(before.X, np.asarray(before.y).astype(int))
    return {
        "slow": logistic(0.001),
        "quick": logistic(0.01),
        "Bayes": naive_bayes.GaussianNB(),
        "old knowledge": early,
        "its contrary": early,
    }


def mistakes(X: np.ndarray, y: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Which expert was wrong when, each asked before it learned."""
    found, names = [], []
    for name, model in experts().items():
        if name in ("old knowledge", "its contrary"):
            said = np.asarray(model.predict_many(X))
            said = 1 - said if name == "its contrary" else said
        else:
            said = np.array([0 if label is None else label for label in model.step_many(X, y)])
        names.append(name)
        found.append((said != y).astype(float))
    return names, np.column_stack(found)


def main() -> None:
    """Compare experts, those who listen to them, and those who know the future."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--out", type=Path, help="a folder for plots")
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
    print(f"{given.rows:,} rows; the concept changes after every quarter. Share of wrong predictions:")
    for name, wrong in zip(names, losses.mean(axis=0), strict=True):
        print(f"  {wrong:6.1%}  {name}")
    print("Those who listen to all of them:")
    for name, report in reports.items():
        against = "the best expert" if not report.switches else f"the best {report.switches} switches"
        bound = "–" if report.bound is None else f"{report.bound.value:,.0f}"
        words = f"regret {report.regret:,.0f} against {against}, at most {bound}"
        print(f"  {report.loss / report.rounds:6.1%}  {name}: {words}")
    path, cost = oco.best_sequence(losses, 3)
    turns = np.flatnonzero(np.diff(path)) + 1
    told = ", then ".join(names[path[start]] for start in (0, *turns))
    print(f"With hindsight and three switches: {cost[-1] / given.rows:.1%}, {told}.")
    if given.out is not None:
        given.out.mkdir(parents=True, exist_ok=True)
        for name, report in reports.items():
            report.save_plot(given.out / f"expert_advice_{name.replace(' ', '_')}.png")


if __name__ == "__main__":
    main()
