"""The rate of every drift detector, with `update_many` and `update`, compared with River."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import millstream
from benchmarks.measure import Comparison, Side, side_of

__all__ = ["adwin", "comparisons", "names"]


def names() -> list[str]:
    """All detectors of numbers."""
    return millstream.find(role="drift_detector")


def errors(rows: int) -> Any:
    """Errors of a classifier whose error rate changes from time to time."""
    random = np.random.default_rng(1)
    shares = np.repeat(random.uniform(0.05, 0.4, rows // 10_000 + 1), 10_000)[:rows]
    return (random.random(rows) < shares).astype(np.float64)


def _river(name: str) -> Callable[[], Any] | None:
    """A factory of River's counterpart, if there is one."""
    from river import drift
    from river.drift import binary

    counterparts: dict[str, Callable[[], Any]] = {
        "drift.ADWIN": drift.ADWIN,
        "drift.DDM": binary.DDM,
        "drift.EDDM": binary.EDDM,
        "drift.FHDDM": binary.FHDDM,
        "drift.HDDM_A": binary.HDDMA,
        "drift.HDDM_W": binary.HDDMW,
        "drift.KSWIN": lambda: drift.KSWIN(seed=1),
        "drift.PageHinkley": drift.PageHinkley,
    }
    return counterparts.get(name)


def many(name: str, numbers: Any) -> Side:
    """All values in one call."""
    build = partial(millstream.build, {"name": name})
    return side_of("millstream, update_many", len(numbers), build, lambda detector: detector.update_many(numbers))


def one(side: str, build: Callable[[], Any], numbers: list[float], asked: bool = True) -> Side:
    """One value per call, from Python; `drift_detected` is read after each, if `asked`."""

    def ask(detector: Any) -> None:
        found = 0
        for x in numbers:
            detector.update(x)
            if detector.drift_detected:
                found += 1

    def update(detector: Any) -> None:
        for x in numbers:
            detector.update(x)

    return side_of(side, len(numbers), build, ask if asked else update)


def adwin(size: float, together: bool) -> Comparison:
    """ADWIN, which has goals."""
    from river import drift

    numbers = errors(int(2_000_000 * size))
    few = numbers[: int(200_000 * size)].tolist()
    theirs = one("River", drift.ADWIN, few, asked=False)
    if together:
        return Comparison(
            "ADWIN, update_many on zeros and ones", "", [many("drift.ADWIN", numbers), theirs], {"River": 10}
        )
    ours = one("millstream", partial(millstream.build, {"name": "drift.ADWIN"}), few, asked=False)
    return Comparison("ADWIN, one value per call, from Python", "", [ours, theirs], {"River": 2})


def comparisons(size: float, only: list[str] | None = None) -> Iterator[Comparison]:
    """All detectors."""
    for name in names():
        if only is not None and not any(name.startswith(wanted) for wanted in only):
            continue
        # A Kolmogorov-Smirnov test per value takes microseconds, and milliseconds in River.
        slow = 10 if name == "drift.KSWIN" else 1
        numbers = errors(int(500_000 * size) // slow)
        few = numbers[: int(50_000 * size) // (2 * slow)].tolist()
        sides = [
            many(name, numbers),
            one("millstream", partial(millstream.build, {"name": name}), few),
        ]
        if build := _river(name):
            sides.append(one("River", build, few))
        yield Comparison(name, "", sides)
