"""How a comparison is made: the sides take turns, and the ratio is taken within each turn."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field

__all__ = ["Comparison", "Outcome", "Result", "Side", "measure"]


@dataclass
class Outcome:
    """What a run gave beside its time."""

    quality: float | None = None
    #: Bytes that the model holds at the end.
    memory: int | None = None


@dataclass
class Side:
    """One contestant. `prepare` is not timed; it returns the run that is."""

    name: str
    rows: int
    prepare: Callable[[], Callable[[], Outcome]]


@dataclass
class Comparison:
    """The same work done by several sides; the first is ours, the others may have a goal."""

    title: str
    quality: str
    sides: list[Side]
    #: At least how many times the rate of each other side ours must be.
    goals: dict[str, float] = field(default_factory=dict)
    note: str = ""


@dataclass
class Result:
    """Rates by side and turn, and the last outcome of each side."""

    comparison: Comparison
    rates: dict[str, list[float]]
    outcomes: dict[str, Outcome]

    def rate(self, side: str) -> float:
        """The median rate in rows a second."""
        return statistics.median(self.rates[side])

    def ratio(self, side: str) -> float:
        """The median over turns of our rate over the other's."""
        ours = self.rates[self.comparison.sides[0].name]
        return statistics.median(a / b for a, b in zip(ours, self.rates[side], strict=True))


def measure(comparison: Comparison, turns: int) -> Result:
    """Let the sides take turns. A first turn, which warms caches and just-in-time compilers, is not counted."""
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
