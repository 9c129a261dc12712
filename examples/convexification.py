"""Classification as online convex optimisation: two ways to make the number of mistakes convex.

Surrogate: bound the mistakes by a convex loss. With max(0, -y <w, x>) and steps of 1, online subgradient descent
is the perceptron, mistake for mistake. With the hinge max(0, 1 - y <w, x>), the number of mistakes is at most the
hinge loss, which is at most that of the best weights plus the regret.

Randomisation: an adversary who knows a deterministic prediction can make it wrong in every round, whatever the
algorithm, while one of the two constant predictions is right half of the time. If the prediction is drawn at
random after the adversary's choice, regret grows only with the square root of the rounds.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from millstream import linear_model, oco


def separable(rows: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Points on both sides of a plane, with a margin."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(4 * rows, 6))
    score = X @ np.array([2.0, -1.0, 0.5, 0.0, 1.0, -0.5])
    clear = np.abs(score) > 0.3
    return X[clear][:rows], np.sign(score[clear][:rows])


def perceptron_loss(x: np.ndarray, y: float) -> oco.Loss:
    """A loss defined by its value and a subgradient."""

    def value(w: np.ndarray) -> float:
        return max(0.0, -y * float(w @ x))

    def gradient(w: np.ndarray) -> np.ndarray:
        return -y * x if y * float(w @ x) <= 0 else np.zeros_like(w)

    return oco.Loss(value, gradient)


def surrogate(rows: int, out: Path | None) -> None:
    """The perceptron, and the hinge."""
    X, y = separable(rows)
    descent = oco.OnlineSubgradientDescent(oco.WholeSpace(X.shape[1]), learning_rate=1.0)
    wrong = 0
    for x, label in zip(X, y, strict=True):
        wrong += int(label * float(descent.decide() @ x) <= 0)
        descent.observe(perceptron_loss(x, label))
    perceptron = linear_model.Perceptron(intercept=False)
    predicted = perceptron.step_many(X, y.astype(int))
    theirs = sum(label is None or label != truth for label, truth in zip(predicted, y, strict=True))
    print(f"{rows:,} points. Subgradient steps on max(0, -y<w, x>): {wrong} mistakes.")
    print(f"linear_model.Perceptron: {theirs} mistakes.")

    game = oco.Game(oco.OnlineSubgradientDescent(oco.Ball(5.0)), oco.Hinge.many(X, y), keep_decisions=True).play()
    report = game.report()
    margins = y * np.einsum("ij,ij->i", report.decisions, X)
    print(f"Steps on the hinge: {int((margins <= 0).sum())} mistakes, hinge loss {report.loss:.1f},")
    print(
        f"  which is {report.best.loss:.1f} for the best weights in hindsight (within {report.best.gap:.0e}) plus "
        f"a regret of {report.regret:.1f} (bound: {report.bound.value:.0f}).\n"
    )
    if out is not None:
        report.save_plot(out / "convexification_hinge.png")


def randomised(rounds: int, out: Path | None) -> None:
    """An adversary who knows the weights, against the class of larger weight and against a random draw."""
    hedge, rng = oco.Hedge(2), np.random.default_rng(3)
    fixed_wrong, drawn_wrong = 0, 0
    truths = []
    fixed = oco.Hedge(2)
    for _ in range(rounds):
        predicted = int(fixed.decide().argmax())
        fixed.observe([float(predicted == 0), float(predicted == 1)])
        fixed_wrong += 1

        weights = hedge.decide()
        truth = int(weights.argmin())
        drawn_wrong += int(rng.random() >= weights[truth])
        hedge.observe([float(truth != 0), float(truth != 1)])
        truths.append(truth)
    best = min(sum(truths), rounds - sum(truths))
    bound = hedge.bound()
    assert bound is not None
    print(f"{rounds:,} rounds against an adversary who knows the weights:")
    print(
        f"  the class of larger weight is wrong {fixed_wrong:,} times, the better constant {rounds // 2:,} at most"
    )
    print(f"  a class drawn by weight is wrong {drawn_wrong:,} times, the better constant {best:,} times:")
    print(f"  regret {drawn_wrong - best:,}, at most {bound.value:.0f} in expectation")
    if out is not None:
        report = oco.play(oco.Hedge(2), lambda t, w: np.eye(2)[int(w.argmax())], rounds)
        report.save_plot(out / "convexification_randomised.png")


def main() -> None:
    """Run both experiments."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--out", type=Path, help="folder for plots")
    given = parser.parse_args()
    if given.out is not None:
        given.out.mkdir(parents=True, exist_ok=True)
    surrogate(given.rows, given.out)
    randomised(given.rows, given.out)


if __name__ == "__main__":
    main()
