"""What merging costs: accuracy of approximate rules against one model, and time of exact merges.

`python -m benchmarks.merging` writes the table of docs/merging.md, which is deterministic. The times are rows of
`python -m benchmarks.run --only merging`.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import millstream
from benchmarks import goals
from benchmarks.goals import Row
from millstream import linear_model, naive_bayes, optim, preprocessing, synth

SHARDS = 8
LEARNED = 16_000
SCORED = 4_000
PAGE = Path(__file__).parent.parent / "docs" / "merging.md"
BEGIN, END = "<!-- generated: begin -->", "<!-- generated: end -->"

Rows = list[tuple[dict[str, float], Any]]


def _generated(generator: Any) -> Rows:
    return [(x, y) for (x, y), _ in zip(generator, range(LEARNED + SCORED), strict=False)]


def _linear(classes: bool) -> Rows:
    """Ten features of which three matter, with noise."""
    random = np.random.default_rng(11)
    X = random.normal(size=(LEARNED + SCORED, 10))
    y = X @ [2.0, -1.0, 0.5, *[0.0] * 7] + random.normal(scale=0.5, size=len(X))
    rows = [{f"x{j}": float(v) for j, v in enumerate(x)} for x in X]
    return [(x, bool(t > 0) if classes else float(t)) for x, t in zip(rows, y, strict=True)]


CLASSES: dict[str, Callable[[], Rows]] = {
    "SEA": lambda: _generated(synth.SEA(seed=1)),
    "Hyperplane": lambda: _generated(synth.Hyperplane(seed=1)),
    "linear": lambda: _linear(True),
}
NUMBERS: dict[str, Callable[[], Rows]] = {
    "Friedman": lambda: _generated(synth.Friedman(seed=1)),
    "Planes2D": lambda: _generated(synth.Planes2D(seed=1)),
    "linear": lambda: _linear(False),
}

CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "LogisticRegression, SGD": lambda: linear_model.LogisticRegression(),
    "LogisticRegression, AdaGrad": lambda: linear_model.LogisticRegression(optimizer=optim.AdaGrad()),
    "LogisticRegression, Adam": lambda: linear_model.LogisticRegression(optimizer=optim.Adam()),
    "LogisticRegression, FTRLProximal": lambda: linear_model.LogisticRegression(optimizer=optim.FTRLProximal()),
    "SoftmaxRegression": lambda: linear_model.SoftmaxRegression(),
    "SVM": lambda: linear_model.SVM(),
    "Perceptron": lambda: linear_model.Perceptron(),
    "PAClassifier": lambda: linear_model.PAClassifier(),
    "ALMA": lambda: linear_model.ALMA(),
    "ROMMA": lambda: linear_model.ROMMA(),
    "AROW": lambda: linear_model.AROW(),
    "CW": lambda: linear_model.CW(),
    "SCW": lambda: linear_model.SCW(),
    "GaussianHerding": lambda: linear_model.GaussianHerding(),
    "StandardScaler | LogisticRegression": lambda: (
        preprocessing.StandardScaler() | linear_model.LogisticRegression()
    ),
}
REGRESSORS: dict[str, Callable[[], Any]] = {
    "LinearRegression, SGD": lambda: linear_model.LinearRegression(),
    "LinearRegression, AdaGrad": lambda: linear_model.LinearRegression(optimizer=optim.AdaGrad()),
    "PARegressor": lambda: linear_model.PARegressor(),
    "LMS": lambda: linear_model.LMS(),
    "AROWRegressor": lambda: linear_model.AROWRegressor(),
    "StandardScaler | RLS": lambda: preprocessing.StandardScaler() | linear_model.RLS(),
}


def _learned(build: Callable[[], Any], rows: Rows) -> Any:
    model = build()
    for x, y in rows:
        model.learn_one(x, y)
    return model


def _error(model: Any, rows: Rows) -> float:
    """Fraction of wrong classes, or root mean squared error."""
    errors = [
        float(model.predict_one(x) != y) if isinstance(y, (bool, str)) else (model.predict_one(x) - y) ** 2
        for x, y in rows
    ]
    mean = float(np.mean(errors))
    return mean if isinstance(rows[0][1], (bool, str)) else mean**0.5


def _compared(build: Callable[[], Any], rows: Rows) -> tuple[float, float, float]:
    """The errors of one model of all rows, of a model of one shard, and of all shards merged."""
    learned, scored = rows[:LEARNED], rows[LEARNED:]
    shards = [_learned(build, learned[shard::SHARDS]) for shard in range(SHARDS)]
    merged = shards[0].copy()
    for other in shards[1:]:
        merged.merge(other)
    return _error(_learned(build, learned), scored), _error(shards[0], scored), _error(merged, scored)


def _table(models: dict[str, Callable[[], Any]], streams: dict[str, Callable[[], Rows]]) -> Iterator[str]:
    rows = {name: read() for name, read in streams.items()}
    yield "| model | rule | " + " | ".join(rows) + " |"
    yield "|---|---|" + "---|" * len(rows)
    for name, build in models.items():
        cells = [" / ".join(f"{error:.3f}" for error in _compared(build, stream)) for stream in rows.values()]
        name = name.replace("|", "\\|")
        yield f"| {name} | {_rule(build())} | " + " | ".join(cells) + " |"


def _rule(model: Any) -> str:
    description = model.describe()
    optimizer = description["parameters"].get("optimizer")
    if isinstance(optimizer, dict):
        return millstream.registry.entry(optimizer["name"])["merge_words"]
    return model._merging()[2]  # type: ignore[no-any-return]


def tables() -> str:
    """The generated section of the page."""
    lines = [BEGIN, "", "Fraction of wrong classes:", "", *_table(CLASSIFIERS, CLASSES)]
    lines += ["", "Root mean squared error:", "", *_table(REGRESSORS, NUMBERS), "", END]
    return "\n".join(lines)


def _times(build: Callable[[], Any], parts: list[tuple[Any, ...]]) -> tuple[float, float]:
    """Seconds to merge models of all parts (the minimum of 20), and the difference from one model of all rows."""
    shards = []
    one = build()
    for part in parts:
        shards.append(build())
        for model in (shards[-1], one):
            model.learn_many(*part)
    best = float("inf")
    for _ in range(20):
        whole = shards[0].copy()
        start = time.perf_counter()
        for other in shards[1:]:
            whole.merge(other)
        best = min(best, time.perf_counter() - start)
    X = parts[0][0]
    ask = "transform_many" if hasattr(one, "transform_many") else "predict_proba_many"
    if not hasattr(one, ask):
        ask = "predict_many"
    expected, found = np.asarray(getattr(one, ask)(X)), np.asarray(getattr(whole, ask)(X))
    return best, float(np.max(np.abs(found - expected)) / np.max(np.abs(expected)))


def rows(*, quick: bool) -> Iterator[Row]:
    """The time to merge eight shards of exact models."""
    random = np.random.default_rng(5)
    X, y = random.normal(size=(400 if quick else 4_000, 1_000)), random.integers(2, size=400 if quick else 4_000)
    cases: dict[str, tuple[Callable[[], Any], int, bool]] = {
        "GaussianNB, 2 classes of 500 means": (naive_bayes.GaussianNB, 500, True),
        "StandardScaler, 1,000 means": (preprocessing.StandardScaler, 1_000, False),
        "MultinomialNB, 2 classes of 500 counts": (naive_bayes.MultinomialNB, 500, True),
        "LeastSquares, 40 weights and 820 products": (linear_model.LeastSquares, 40, True),
    }
    for work, (build, width, supervised) in cases.items():
        table = np.abs(X[:, :width]) if "Multinomial" in work else X[:, :width]
        parts: list[tuple[Any, ...]] = [
            (np.ascontiguousarray(table[shard::SHARDS]), *([y[shard::SHARDS]] if supervised else []))
            for shard in range(SHARDS)
        ]
        seconds, difference = _times(build, parts)
        met = seconds < 1e-3 and difference <= 1e-9
        reached = f"{seconds * 1e3:.2f} ms, within {difference:.0e}"
        yield Row(f"{SHARDS} shards of {work}", reached, "1 ms, within 1e-9", met)


def page(where: str, found: list[Row]) -> str:
    """MERGING.md."""
    how = (
        f"{SHARDS - 1} calls of `merge` that join {SHARDS} shards of an exact model, the minimum of 20 runs, and "
        "the largest difference between predictions (or scaled features) of the result and of one model of all "
        "rows, relative to the largest of them. What approximate rules cost is in [the guide](../docs/merging.md)."
    )
    return goals.page("Merging", "python -m benchmarks.run --only merging --write", where, how, found)


def main() -> None:
    """Write the table of the guide."""
    text = PAGE.read_text()
    PAGE.write_text(re.sub(f"{BEGIN}.*{END}", lambda _: tables(), text, flags=re.DOTALL))


if __name__ == "__main__":
    main()
