"""The rate of every sketch, with `update_many` and `update`, compared with DataSketches.

Numbers are lognormal; keys are integers with Zipf's distribution of exponent 1.2, below a million. DataSketches
reads an array for KLL only, so it receives keys one per call.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import millstream
from benchmarks.measure import Comparison, Outcome, Side

__all__ = ["WORKLOADS", "comparisons", "describe", "names"]

ARGUMENTS: dict[str, dict[str, Any]] = {
    "sketch.CountMin": {"epsilon": 0.001, "delta": 0.01},
    "sketch.SpaceSaving": {"capacity": 768},
}
NUMBERS = ("sketch.DDSketch", "sketch.Histogram", "sketch.KLL")


def names() -> list[str]:
    """All sketches."""
    return millstream.find(role="sketch")


def describe(name: str) -> dict[str, Any]:
    """A complete description of the component."""
    return {"name": name, "parameters": ARGUMENTS.get(name, {})}


def items(name: str, rows: int) -> Any:
    """Numbers or keys."""
    random = np.random.default_rng(1)
    return random.lognormal(size=rows) if name in NUMBERS else random.zipf(1.2, rows) % 1_000_000


def many(name: str, rows: int) -> Side:
    """All items in one call."""
    column = items(name, rows)

    def prepare() -> Callable[[], Outcome]:
        sketch = millstream.build(describe(name))

        def run() -> Outcome:
            sketch.update_many(column)
            return Outcome(memory=sketch.memory)

        return run

    return Side("millstream, update_many", rows, prepare)


def one(name: str, rows: int) -> Side:
    """An item per call."""
    column = items(name, rows).tolist()

    def prepare() -> Callable[[], Outcome]:
        sketch = millstream.build(describe(name))

        def run() -> Outcome:
            update = sketch.update
            for item in column:
                update(item)
            return Outcome(memory=sketch.memory)

        return run

    return Side("millstream", rows, prepare)


def _theirs(name: str) -> Any:
    """The same sketch of DataSketches, or None."""
    import datasketches

    return {
        "sketch.CountMin": lambda: datasketches.count_min_sketch(5, 2719),
        "sketch.HyperLogLog": lambda: datasketches.hll_sketch(12),
        "sketch.KLL": lambda: datasketches.kll_doubles_sketch(200),
        "sketch.SpaceSaving": lambda: datasketches.frequent_items_sketch(10),
        "sketch.Theta": lambda: datasketches.update_theta_sketch(12),
    }.get(name)


def data_sketches(name: str, rows: int, together: bool) -> list[Side]:
    """An item per call, or all in one."""
    if not importlib.util.find_spec("datasketches"):
        return []
    make = _theirs(name)
    if make is None:
        return []
    column = items(name, rows)
    values = column.tolist()

    def prepare() -> Callable[[], Outcome]:
        sketch = make()

        def run() -> Outcome:
            update = sketch.update
            if together:
                update(column)
            else:
                for item in values:
                    update(item)
            return Outcome()

        return run

    return [Side("DataSketches", rows, prepare)]


def _workload(
    name: str, goal: float, together: bool, theirs_together: bool = False
) -> Callable[[float], Comparison]:
    def make(size: float) -> Comparison:
        few, all_rows = max(int(50_000 * size), 5000), max(int(1_000_000 * size), 5000)
        ours = many(name, all_rows) if together else one(name, few)
        theirs = data_sketches(name, all_rows if theirs_together else few, theirs_together)
        how = "update_many of an array" if together else "one item per call, from Python"
        peer = "an array too" if theirs_together else "one item per call"
        title = f"{name.partition('.')[2]}, {how}; DataSketches: {peer}"
        return Comparison(title, "", [ours, *theirs], {side.name: goal for side in theirs})

    return make


WORKLOADS: dict[str, Callable[[float], Comparison]] = {
    "kll-many": _workload("sketch.KLL", 3.0, True, True),
    "kll-one": _workload("sketch.KLL", 0.8, False),
    "hyper-log-log": _workload("sketch.HyperLogLog", 8.0, True),
    "count-min": _workload("sketch.CountMin", 8.0, True),
    "theta": _workload("sketch.Theta", 8.0, True),
}


def comparisons(size: float, only: list[str] | None = None) -> Iterator[Comparison]:
    """All sketches."""
    few, rows = max(int(50_000 * size), 5000), max(int(1_000_000 * size), 5000)
    for name in names():
        if only is None or any(name.startswith(wanted) for wanted in only):
            yield Comparison(name, "", [many(name, rows), one(name, few), *data_sketches(name, few, False)])
