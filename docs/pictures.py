"""Draw the pictures of the guide with millstream and matplotlib into docs/pictures: a step of `make docs`.

Streams are seeded and no picture depends on the clock, so the same versions produce the same files.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import numpy as np
from matplotlib import pyplot
from matplotlib.patches import FancyBboxPatch
from matplotlib.ticker import FuncFormatter

from millstream import (
    drift,
    evaluate,
    forest,
    linear_model,
    naive_bayes,
    neighbors,
    oco,
    optim,
    preprocessing,
    synth,
    tree,
)
from millstream.evaluate.plot import COLOURS

BLUE, ORANGE, GREEN, PINK = COLOURS[:4]
GREY = "#667085"
ROWS = 40_000

#: Text remains text in SVG files, and identifiers do not change between runs.
STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "millstream",
    "font.family": "sans-serif",
    "font.size": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.labelcolor": "#1c1e21",
    "xtick.color": GREY,
    "ytick.color": GREY,
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
}

thousands = FuncFormatter(lambda value, _: f"{value:,.0f}")


def concept_change(rows: int, width: int = 1, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Five numbers whose weighted sum determines the class; the weights change halfway, over `width` rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 5))
    before, after = np.array([2.0, 1.0, 0.0, -1.0, 1.0]), np.array([-2.0, 1.0, 2.0, 1.0, -1.0])
    noise = rng.logistic(scale=0.4, size=rows)
    place = np.arange(rows) - rows // 2
    new = rng.random(rows) < 0.5 + 0.5 * np.tanh(2.0 * place / width) if width > 1 else place >= 0
    score = (X * np.where(new[:, None], after, before)).sum(axis=1) + noise
    return X, (score > 0).astype(int)


def logistic(rate: float = 0.02) -> Any:
    """The model of most pictures."""
    return preprocessing.StandardScaler() | linear_model.LogisticRegression(optimizer=optim.SGD(rate))


def test_then_train(rows: int) -> Any:
    """The three steps for each example: predict, score, learn."""
    figure, ax = pyplot.subplots(figsize=(8, 2.2))
    ax.set_axis_off()
    ax.set_xlim(0, 8)
    ax.set_ylim(0.3, 2.2)
    steps = (("predict", "from x alone", BLUE), ("score", "now y is known", ORANGE), ("learn", "x and y", GREEN))
    arrow = {"arrowstyle": "->", "color": GREY}
    for example in range(2):
        for place, (verb, words, colour) in enumerate(steps):
            left = 0.15 + 3.95 * example + 1.28 * place
            box = FancyBboxPatch(
                (left, 0.8), 1.05, 0.75, boxstyle="round,pad=0.05", fc=colour, ec="none", alpha=0.9
            )
            ax.add_patch(box)
            ax.text(left + 0.52, 1.28, verb, ha="center", va="center", color="white", weight="bold")
            ax.text(left + 0.52, 1.0, words, ha="center", va="center", color="white", fontsize=8)
            if example == 0 or place < 2:
                ax.annotate(
                    "", (left + 1.22, 1.18), (left + 1.1, 1.18), arrowprops={"arrowstyle": "->", "color": GREY}
                )
        ax.text(0.1 + 3.95 * example, 1.85, f"example {example + 1}", color=GREY)
    ax.annotate("", (7.9, 0.5), (0.1, 0.5), arrowprops=arrow)
    ax.text(7.9, 0.38, "time", ha="right", va="top", color=GREY, fontsize=9)
    return figure


def rolling(rows: int) -> Any:
    """Accuracy over the whole stream and over the last rows."""
    result = evaluate.prequential(logistic(), concept_change(rows), metrics=["Accuracy"], window=rows // 40)
    figure, ax = pyplot.subplots(figsize=(8, 3.2))
    result.plot(ax=ax)
    ax.set_title("", loc="left")
    return figure


def delay(rows: int) -> Any:
    """Accuracy after a change, with labels of different delays."""
    figure, ax = pyplot.subplots(figsize=(8, 3.4))
    stream = concept_change(rows)
    for late, colour in zip((0, rows // 40, rows // 10), (BLUE, ORANGE, GREEN), strict=True):
        result = evaluate.prequential(logistic(), stream, metrics=["Accuracy"], delay=late, window=rows // 40)
        # An example is scored when its label arrives, but drawn at the row where it was predicted.
        predicted = result.curve["row"][result.drawn]
        words = "labels at once" if late == 0 else f"labels {late:,} rows late"
        ax.plot(predicted, result.curve["rolling_Accuracy"][result.drawn], color=colour, label=words)
    _frame(ax, "accuracy of the last rows")
    ax.axvline(rows / 2, color=GREY, linewidth=0.8, linestyle=":")
    ax.legend(loc="lower left")
    return figure


def drifts(rows: int) -> Any:
    """A model that forgets and one that does not, on four kinds of drift, with marks by a detector."""
    before, after = synth.Sine(classification_function=0), synth.Sine(classification_function=1)
    half, quarter = rows // 2, rows // 4
    kinds = {
        "abrupt": synth.Drift(before, after, position=half, width=0),
        "gradual": synth.Drift(before, after, position=half, width=quarter),
        "incremental": synth.Drift(before, after, position=half, width=quarter, incremental=True),
        "recurring": synth.Drift(before, after, position=quarter, width=0, period=quarter),
    }
    detector = drift.PageHinkley(threshold=50.0, allowance=0.03, mode="up")
    figure, axes = pyplot.subplots(2, 2, figsize=(8, 5), sharex=True, sharey=True)
    for ax, (kind, stream) in zip(axes.flat, kinds.items(), strict=True):
        models = {"logistic, fixed rate": logistic(), "Gaussian naive Bayes": naive_bayes.GaussianNB()}
        results = evaluate.prequential(
            models, stream.take(rows), ["Accuracy"], detector=detector, window=rows // 40, every=rows // 100
        )
        for (name, result), colour in zip(results.items(), (BLUE, ORANGE), strict=True):
            drawn = result.drawn
            ax.plot(result.curve["row"][drawn], result.curve["rolling_Accuracy"][drawn], color=colour, label=name)
            for row in result.drifts:
                ax.axvline(row, color=colour, linewidth=0.9, linestyle=":")
        _frame(ax, "accuracy of last rows" if ax in axes[:, 0] else "")
        ax.set_title(kind, loc="left", fontsize=11)
        ax.xaxis.set_major_locator(pyplot.MaxNLocator(4))
    for ax in axes[0]:
        ax.set_xlabel("")
    axes[0, 0].legend(loc="lower left", fontsize=9)
    return figure


def regret(rows: int) -> Any:
    """Regret against the best fixed model in hindsight, for a decreasing and for a constant rate."""
    rng = np.random.default_rng(5)
    X = rng.uniform(-1, 1, size=(rows, 4))
    y = X @ np.array([1.0, -0.5, 0.25, 0.0]) + rng.normal(scale=0.3, size=rows)
    seen = np.arange(1, rows + 1)
    hindsight = np.linalg.lstsq(X, y, rcond=None)[0]
    best = np.cumsum((y - X @ hindsight) ** 2)
    figure, axes = pyplot.subplots(1, 2, figsize=(8, 3.2))
    schedules = (
        ("rate falls as 1/√t", optim.InverseSquareRoot(0.5), BLUE),
        ("rate stays at 0.1", 0.1, ORANGE),
    )
    for name, rate, colour in schedules:
        model = linear_model.LinearRegression(optimizer=optim.SGD(rate), intercept=False)
        extra = np.cumsum((y - model.step_many(X, y)) ** 2) - best
        drawn = np.arange(rows // 400, rows, rows // 400)
        axes[0].plot(seen[drawn], extra[drawn], color=colour, label=name)
        axes[1].plot(seen[drawn], (extra / seen)[drawn], color=colour, label=name)
    for ax, title in zip(axes, ("regret", "regret for each example"), strict=True):
        _frame(ax, "")
        ax.set_title(title, loc="left", fontsize=11)
        ax.xaxis.set_major_locator(pyplot.MaxNLocator(4))
        ax.set_ylim(bottom=0)
    axes[0].legend(loc="upper left", fontsize=9)
    return figure


def memory(rows: int) -> Any:
    """Memory of a model and of the rows that it has learned."""
    X, y = concept_change(rows)
    result = evaluate.prequential(logistic(), (X, y), metrics=["Accuracy"], every=rows // 100)
    figure, ax = pyplot.subplots(figsize=(8, 2.8))
    row = result.curve["row"]
    ax.plot(row, row * X.itemsize * X.shape[1], color=GREY, linestyle="--", label="the rows themselves")
    # Rounded to a kilobyte, so that a few bytes more or less do not change the picture.
    ax.plot(row, np.ceil(result.curve["memory"] / 1000) * 1000, color=BLUE, label="the model")
    ax.set_yscale("log")
    ax.set_ylim(1000, 3e6)
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / 1000:,.0f} kB"))
    _frame(ax, "memory")
    ax.legend(loc="center right")
    return figure


def leader(rows: int) -> Any:
    """Alternating losses: regret of the leader and of the regularised leader."""
    rounds = min(rows, 400)
    losses = np.where(np.arange(rounds) % 2, -1.0, 1.0)[:, None]
    losses[0] = 0.5
    interval = oco.Box(-1.0, 1.0, dimension=1)
    games = {
        "leader": (oco.FollowTheLeader(interval), ORANGE),
        "regularised leader": (oco.FTRL(interval), BLUE),
    }
    figure, axes = pyplot.subplots(1, 2, figsize=(8, 3.2))
    for name, (learner, colour) in games.items():
        report = oco.play(learner, losses, keep_decisions=True)
        axes[0].plot(np.arange(1, 31), report.decisions[:30, 0], ".-", color=colour, label=name)
        axes[1].plot(report.curve["round"], report.curve["regret"], color=colour, label=name)
        axes[1].plot(report.curve["round"], report.curve["bound"], color=colour, linestyle="--", linewidth=1)
    for ax, title in zip(
        axes, ("decisions of the first rounds", "regret; dashed: the theorem's bound"), strict=True
    ):
        _frame(ax, "")
        ax.set_xlabel("rounds")
        ax.set_title(title, loc="left", fontsize=11)
        ax.xaxis.set_major_locator(pyplot.MaxNLocator(4))
    axes[1].legend(loc="upper left", fontsize=9)
    return figure


def curvature(rows: int) -> Any:
    """Regret on strongly convex losses, with and without the use of strong convexity."""
    rounds = min(rows, 2000)
    points = np.random.default_rng(2).uniform(-1, 1, size=(rounds, 3))
    ball = oco.Ball(2.0, dimension=3)
    learners = {
        "gradient steps": oco.OnlineGradientDescent(ball),
        "leader, or steps of 1/(σ t): the bound is met exactly": oco.FollowTheLeader(ball),
    }
    reports = oco.play(learners, oco.SquaredDistance.many(points))
    figure, ax = pyplot.subplots(figsize=(8, 3.4))
    for (name, report), colour in zip(reports.items(), (ORANGE, BLUE), strict=True):
        ax.plot(report.curve["round"], report.curve["regret"], color=colour, label=name)
        ax.plot(report.curve["round"], report.curve["bound"], color=colour, linestyle="--", linewidth=1)
    ax.set_xscale("log")
    ax.set_yscale("log")
    _frame(ax, "regret; dashed: the bound")
    ax.set_xlabel("rounds")
    ax.set_ylim(bottom=0.5)
    ax.legend(loc="upper left", fontsize=9)
    return figure


def models(rows: int) -> Any:
    """Accuracy of six models on four kinds of streams."""
    rows //= 2
    rules = [synth.Agrawal(classification_function=each, seed=1) for each in (0, 2)]
    streams = {
        "weighted sum": synth.Hyperplane(n_drift_features=0, seed=1),
        "clusters": synth.RandomRBF(n_centroids=20, seed=1),
        "rules": rules[1],
        "rules that change": synth.Drift(*rules, position=rows // 2, width=1),
    }
    scaled = preprocessing.StandardScaler
    made = {
        "LogisticRegression": (lambda: scaled() | linear_model.LogisticRegression(), "o"),
        "GaussianNB": (naive_bayes.GaussianNB, "s"),
        "KNNClassifier": (neighbors.KNNClassifier, "^"),
        "HoeffdingTreeClassifier": (tree.HoeffdingTreeClassifier, "D"),
        "HoeffdingAdaptiveTreeClassifier": (tree.HoeffdingAdaptiveTreeClassifier, "v"),
        "ARFClassifier": (lambda: forest.ARFClassifier(seed=1), "P"),
    }
    figure, ax = pyplot.subplots(figsize=(8, 3.6))
    scores: dict[str, list[float]] = {name: [] for name in made}
    for place, stream in enumerate(streams.values()):
        results = evaluate.prequential({name: make() for name, (make, _) in made.items()}, stream.take(rows))
        for name, result in results.items():
            scores[name].append(result["Accuracy"])
        constant = next(iter(results.values())).constant["Accuracy"]
        label = "best constant" if place == 0 else None
        ax.plot([constant, constant], [place - 0.32, place + 0.32], color=GREY, linewidth=2, label=label)
    for number, (name, (_, marker)) in enumerate(made.items()):
        # Side by side, so that equal models do not hide each other.
        heights = [place + (number - (len(made) - 1) / 2) * 0.1 for place in range(len(streams))]
        ax.plot(scores[name], heights, marker, color=COLOURS[number], label=name, markersize=6)
    ax.set_yticks(range(len(streams)), streams)
    ax.invert_yaxis()
    ax.set_xlabel("accuracy")
    ax.grid(axis="x", color="#e4e7ec")
    ax.set_axisbelow(True)
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=9)
    return figure


def _frame(ax: Any, label: str) -> None:
    ax.set_xlabel("rows")
    ax.set_ylabel(label)
    ax.xaxis.set_major_formatter(thousands)
    ax.grid(axis="y", color="#00000018", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.margins(x=0.01)


PICTURES: dict[str, Callable[[int], Any]] = {
    "models": models,
    "test_then_train": test_then_train,
    "rolling": rolling,
    "delay": delay,
    "drift": drifts,
    "regret": regret,
    "memory": memory,
    "leader": leader,
    "curvature": curvature,
}


def main(folder: Path, rows: int = ROWS) -> list[Path]:
    """Draw all pictures; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    with mpl.rc_context(STYLE):
        for name, draw in PICTURES.items():
            figure = draw(rows)
            written.append(folder / f"{name}.svg")
            figure.savefig(written[-1], metadata={"Date": None, "Creator": None})
            pyplot.close(figure)
    return written


if __name__ == "__main__":
    made = main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "pictures")
    print(f"{len(made)} pictures in {made[0].parent.name}/")
