"""Comparisons: the sides alternate in rounds, and ratios are computed within each round."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Comparison", "Outcome", "Result", "Side", "measure", "side_of"]


@dataclass
class Outcome:
    """The result of a run besides its time."""

    quality: float | None = None
    #: Memory of the model at the end, in bytes.
    memory: int | None = None


@dataclass
class Side:
    """A library in a comparison. `prepare` is not timed; it returns the function to time."""

    name: str
    rows: int
    prepare: Callable[[], Callable[[], Outcome]]


def side_of(name: str, rows: int, build: Callable[[], Any], work: Callable[[Any], object]) -> Side:
    """A side that builds a new model, untimed, and does the work with it."""

    def prepare() -> Callable[[], Outcome]:
        model = build()

        def run() -> Outcome:
            work(model)
            return Outcome(memory=getattr(model, "memory", None))

        return run

    return Side(name, rows, prepare)


@dataclass
class Comparison:
    """The same work done by several sides; the first is millstream, the others may have a goal."""

    title: str
    quality: str
    sides: list[Side]
    #: The required ratio of our rate to that of another side.
    goals: dict[str, float] = field(default_factory=dict)
    note: str = ""


@dataclass
class Result:
    """Rates by side and round, and the last outcome of each side."""

    comparison: Comparison
    rates: dict[str, list[float]]
    outcomes: dict[str, Outcome]

    def rate(self, side: str) -> float:
        """The median rate in rows per second."""
        return statistics.median(self.rates[side])

    def ratio(self, side: str) -> float:
        """The median over rounds of our rate divided by that of the other side."""
        ours = self.rates[self.comparison.sides[0].name]
        return statistics.median(a / b for a, b in zip(ours, self.rates[side], strict=True))


def measure(comparison: Comparison, turns: int) -> Result:
    """Run the sides alternately. The first round, which warms caches and JIT compilers, is not counted."""
    rates: dict[str, list[float]] = {side.name: [] for side in comparison.sides}
    outcomes: dict[str, Outcome] = {}
    for turn in range(turns + 1):
        for side in comparison.sides:
            run = side.prepare()
            gc.collect()
            start = time.perf_counter()
            outcome = run()
            seconds = time.perf_counter() - start
            if turn > 0:
                rates[side.name].append(side.rows / seconds)
                outcomes[side.name] = outcome
    return Result(comparison, rates, outcomes)
