"""Classification as online convex optimisation: mistakes are not convex, and there are two ways round.

Surrogate: put a convex loss above the mistakes. With max(0, -y <w, x>) and steps of 1, online subgradient descent
is the perceptron, mistake for mistake. With the hinge max(0, 1 - y <w, x>), mistakes are at most the hinge loss,
which is at most that of the best weights plus the regret.

Randomise: an opponent who sees a fixed prediction can make it wrong every time, whatever the algorithm, while one
of the two constant answers is right half of the time. Against probabilities, from which the answer is drawn
afterwards, the opponent gains only the square root of the rounds.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from millstream import linear_model, oco


def separable(rows: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Points on two sides of a plane, none of them near it."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(4 * rows, 6))
    score = X @ np.array([2.0, -1.0, 0.5, 0.0, 1.0, -0.5])
    clear = np.abs(score) > 0.3
    return X[clear][:rows], np.sign(score[clear][:rows])


def perceptron_loss(x: np.ndarray, y: float) -> oco.Loss:
    """A user's own loss: its value, and a subgradient."""

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
    said = perceptron.step_many(X, y.astype(int))
    theirs = sum(label is None or label != truth for label, truth in zip(said, y, strict=True))
    print(f"{rows:,} points. Subgradient steps on max(0, -y<w, x>): {wrong} mistakes.")
    print(f"linear_model.Perceptron: {theirs} mistakes.")

    game = oco.Game(oco.OnlineSubgradientDescent(oco.Ball(5.0)), oco.Hinge.many(X, y), keep_decisions=True).play()
    report = game.report()
    margins = y * np.einsum("ij,ij->i", report.decisions, X)
    print(f"Steps on the hinge: {int((margins <= 0).sum())} mistakes, hinge loss {report.loss:.1f},")
    print(
        f"  which is {report.best.loss:.1f} of the best weights in hindsight (within {report.best.gap:.0e}) plus "
        f"a regret of {report.regret:.1f}, at most {report.bound.value:.0f}.\n"
    )
    if out is not None:
        report.save_plot(out / "convexification_hinge.png")


def randomised(rounds: int, out: Path | None) -> None:
    """An opponent who sees the weights: of the one that answers by the larger, and of the one that draws."""
    hedge, rng = oco.Hedge(2), np.random.default_rng(3)
    fixed_wrong, drawn_wrong = 0, 0
    truths = []
    fixed = oco.Hedge(2)
    for _ in range(rounds):
        answer = int(fixed.decide().argmax())
        fixed.observe([float(answer == 0), float(answer == 1)])
        fixed_wrong += 1

        weights = hedge.decide()
        truth = int(weights.argmin())
        drawn_wrong += int(rng.random() >= weights[truth])
        hedge.observe([float(truth != 0), float(truth != 1)])
        truths.append(truth)
    best = min(sum(truths), rounds - sum(truths))
    bound = hedge.bound()
    assert bound is not None
    print(f"{rounds:,} questions by an opponent who sees the weights:")
    print(f"  the answer with more weight is wrong {fixed_wrong:,} times, a constant {rounds // 2:,} at most")
    print(f"  an answer drawn by weight is wrong {drawn_wrong:,} times, the better constant {best:,} times:")
    print(f"  regret {drawn_wrong - best:,}, at most {bound.value:.0f} on average")
    if out is not None:
        report = oco.play(oco.Hedge(2), lambda t, w: np.eye(2)[int(w.argmax())], rounds)
        report.save_plot(out / "convexification_randomised.png")


def main() -> None:
    """Both ways."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--out", type=Path, help="a folder for plots")
    given = parser.parse_args()
    if given.out is not None:
        given.out.mkdir(parents=True, exist_ok=True)
    surrogate(given.rows, given.out)
    randomised(given.rows, given.out)


if __name__ == "__main__":
    main()
