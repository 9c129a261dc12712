"""What merging costs: accuracy of approximate rules against one model, and time of exact merges.

`python benchmarks/merging.py` writes the table of docs/merging.md, which is deterministic, and prints the times.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import millstream
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


def times() -> Iterator[str]:
    """The time to merge eight shards of an exact model with 1,000 numbers, the minimum of 20."""
    random = np.random.default_rng(5)
    X, y = random.normal(size=(400, 500)), random.integers(2, size=400)
    wide = random.normal(size=(400, 1_000))
    shards: dict[str, list[Any]] = {"GaussianNB, 2 classes of 500 means": [], "StandardScaler, 1,000 means": []}
    for shard in range(SHARDS):
        part = slice(shard, None, SHARDS)
        nb, scaler = naive_bayes.GaussianNB(), preprocessing.StandardScaler()
        nb.learn_many(X[part], y[part])
        scaler.learn_many(wide[part])
        shards["GaussianNB, 2 classes of 500 means"].append(nb)
        shards["StandardScaler, 1,000 means"].append(scaler)
    for name, models in shards.items():
        best = float("inf")
        for _ in range(20):
            whole = models[0].copy()
            start = time.perf_counter()
            for other in models[1:]:
                whole.merge(other)
            best = min(best, time.perf_counter() - start)
        yield f"{name}: {best * 1e3:.3f} ms for {SHARDS} shards"


def main() -> None:
    """Write the table and print the times."""
    page = PAGE.read_text()
    PAGE.write_text(re.sub(f"{BEGIN}.*{END}", lambda _: tables(), page, flags=re.DOTALL))
    print(*times(), sep="\n")


if __name__ == "__main__":
    main()
