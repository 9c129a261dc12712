"""The rate of every sampler, with `learn_many` and `learn_one`, compared with DataSketches and with plain Python.

A row is a dict of two numbers. The VarOpt sketch of DataSketches, which draws by weight, and Algorithm R in plain
Python, which draws a random number for each row, receive a number instead.
"""

from __future__ import annotations

import importlib.util
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import millstream
from benchmarks.measure import Comparison, Outcome, Side

__all__ = ["comparisons", "describe", "names", "reservoir"]

SIZE = 1000

ARGUMENTS: dict[str, dict[str, Any]] = {
    "sampling.ByKey": {"fraction": 0.1, "key": 0, "max_rows": SIZE},
    "sampling.DecayedReservoir": {"size": SIZE, "half_life": 100_000.0},
    "sampling.Reservoir": {"size": SIZE},
    "sampling.Stratified": {"size": SIZE, "key": 1},
    "sampling.WeightedReservoir": {"size": SIZE},
    "sampling.WindowSample": {"size": SIZE, "window_size": 100_000.0},
}


def names() -> list[str]:
    """All samplers."""
    return millstream.find(role="sampler")


def describe(name: str) -> dict[str, Any]:
    """A complete description of the component."""
    return {"name": name, "parameters": ARGUMENTS[name]}


def matrix(rows: int) -> Any:
    """A number for each row, and one of ten strata of very different sizes."""
    strata = np.minimum(np.random.default_rng(1).geometric(0.5, rows), 10)
    return np.c_[np.arange(float(rows)), strata]


def weights(name: str, rows: int) -> Any:
    """Weights where they make a difference."""
    return np.random.default_rng(2).lognormal(size=rows) if name == "sampling.WeightedReservoir" else None


def many(name: str, X: Any) -> Side:
    """All rows in one call."""
    w = weights(name, len(X))

    def prepare() -> Callable[[], Outcome]:
        sampler = millstream.build(describe(name))

        def run() -> Outcome:
            sampler.learn_many(X, w=w)
            return Outcome(memory=sampler.memory)

        return run

    return Side("millstream, learn_many", len(X), prepare)


def one(name: str, X: Any) -> Side:
    """A row per call."""
    rows = [dict(enumerate(row)) for row in X.tolist()]
    given = weights(name, len(X))
    w = [1.0] * len(X) if given is None else given.tolist()

    def prepare() -> Callable[[], Outcome]:
        sampler = millstream.build(describe(name))

        def run() -> Outcome:
            learn = sampler.learn_one
            if given is None:
                for x in rows:
                    learn(x)
            else:
                for x, weight in zip(rows, w, strict=True):
                    learn(x, None, weight)
            return Outcome(memory=sampler.memory)

        return run

    return Side("millstream", len(rows), prepare)


def data_sketches(name: str, rows: int) -> Side:
    """A number per call."""
    given = weights(name, rows)
    w = [1.0] * rows if given is None else given.tolist()

    def prepare() -> Callable[[], Outcome]:
        import datasketches

        sketch = datasketches.var_opt_sketch(SIZE)

        def run() -> Outcome:
            update = sketch.update
            if given is None:
                for number in range(rows):
                    update(number)
            else:
                for number, weight in enumerate(w):
                    update(number, weight)
            return Outcome()

        return run

    return Side("DataSketches", rows, prepare)


def plain_python(rows: int) -> Side:
    """Algorithm R: row n replaces a random one with probability SIZE / n."""

    def prepare() -> Callable[[], Outcome]:
        draw = random.Random(1).random

        def run() -> Outcome:
            kept: list[int] = []
            for number in range(rows):
                if number < SIZE:
                    kept.append(number)
                elif (index := int(draw() * (number + 1))) < SIZE:
                    kept[index] = number
            return Outcome()

        return run

    return Side("plain Python", rows, prepare)


def _others(name: str, rows: int) -> list[Side]:
    peers = [data_sketches(name, rows)] if importlib.util.find_spec("datasketches") else []
    if name == "sampling.Reservoir":
        return [*peers, plain_python(rows)]
    return peers if name == "sampling.WeightedReservoir" else []


def reservoir(size: float, together: bool) -> Comparison:
    """The reservoir, which has goals."""
    name = "sampling.Reservoir"
    few = max(int(50_000 * size), 5000)
    if together:
        goals = {"DataSketches": 50.0, "plain Python": 200.0}
        side = many(name, matrix(max(int(10_000_000 * size), few)))
        title = f"Reservoir of {SIZE:,} rows, learn_many on a matrix"
    else:
        goals = {"DataSketches": 0.5, "plain Python": 0.8}
        side = one(name, matrix(few))
        title = f"Reservoir of {SIZE:,} rows, one dict per call, from Python; DataSketches: one number per call"
    others = _others(name, few)
    known = {other.name for other in others}
    return Comparison(title, "", [side, *others], {name: goal for name, goal in goals.items() if name in known})


def comparisons(size: float, only: list[str] | None = None) -> Iterator[Comparison]:
    """All samplers."""
    few = max(int(50_000 * size), 5000)
    X = matrix(max(int(2_000_000 * size), few))
    for name in names():
        if only is not None and not any(name.startswith(wanted) for wanted in only):
            continue
        yield Comparison(name, "", [many(name, X), one(name, X[:few]), *_others(name, few)])
