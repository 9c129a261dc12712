"""The rate of every statistic, with `update_many` and `update`, compared with River.

Numbers are normal; statistics that keep distinct values receive few of them. Rolling statistics have a window of a
thousand numbers. River's statistics receive one number per call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import millstream
from benchmarks.measure import Comparison, Outcome, Side

__all__ = ["ARGUMENTS", "columns", "comparisons", "names"]

WINDOW = 1000

_MEAN = {"name": "stats.Mean"}
ARGUMENTS: dict[str, dict[str, Any]] = {
    "stats.AutoCorr": {"lag": 1},
    "stats.BayesianMean": {"prior": 0.5, "prior_weight": 3.0},
    "stats.Link": {"left": {"name": "stats.Shift"}, "right": _MEAN},
    "stats.Rolling": {"statistic": _MEAN, "window_size": WINDOW},
    "stats.TimeRolling": {"statistic": _MEAN, "period": float(WINDOW)},
}
#: Statistics of distinct values, of which there must not be many.
DISTINCT = ("stats.ChiSquared", "stats.Entropy", "stats.Mode")
#: Statistics that take microseconds for each number in River.
SLOW_THERE = ("stats.KolmogorovSmirnov", "stats.MAD", "stats.TimeRolling")


def names() -> list[str]:
    """All statistics."""
    return millstream.find(role="statistic")


def _build(name: str) -> Any:
    return millstream.build({"name": name, "parameters": ARGUMENTS.get(name, {})})


def columns(name: str, rows: int) -> list[Any]:
    """Numbers, or two columns for statistics of pairs."""
    random = np.random.default_rng(1)
    columns = [random.normal(size=rows) for _ in range(2 if _build(name)._takes_pairs() else 1)]
    return [np.round(3.0 * column) for column in columns] if name in DISTINCT else columns


def _river(name: str) -> Callable[[], Any] | None:
    """A factory of River's counterpart, if there is one."""
    from river import stats, utils

    special: dict[str, Callable[[], Any]] = {
        "stats.AutoCorr": lambda: stats.AutoCorr(1),
        "stats.BayesianMean": lambda: stats.BayesianMean(0.5, 3.0),
        "stats.Link": lambda: stats.Shift() | stats.Mean(),
        "stats.Rolling": lambda: utils.Rolling(stats.Mean, WINDOW),
    }
    if name in special:
        return special[name]
    found: Callable[[], Any] | None = getattr(stats, name.partition(".")[2], None)
    return found


def _many(name: str, rows: int) -> Side:
    """All numbers in one call."""
    numbers = columns(name, rows)
    time = {"t": np.arange(float(rows))} if _build(name)._takes_time() else {}

    def prepare() -> Callable[[], Outcome]:
        statistic = _build(name)

        def run() -> Outcome:
            statistic.update_many(*numbers, **time)
            return Outcome(memory=statistic.memory)

        return run

    return Side("millstream, update_many", rows, prepare)


def _one(side: str, name: str, build: Callable[[], Any], rows: int) -> Side:
    """A number, or a pair, per call."""
    numbers = [column.tolist() for column in columns(name, rows)]
    timed = _build(name)._takes_time()

    def prepare() -> Callable[[], Outcome]:
        statistic = build()

        def run() -> Outcome:
            update = statistic.update
            if timed:
                for t, x in enumerate(numbers[0]):
                    update(x, t=float(t))
            elif len(numbers) == 2:
                for x, y in zip(*numbers, strict=True):
                    update(x, y)
            else:
                for x in numbers[0]:
                    update(x)
            return Outcome(memory=getattr(statistic, "memory", None))

        return run

    return Side(side, rows, prepare)


def comparisons(size: float, only: list[str] | None = None) -> Iterator[Comparison]:
    """All statistics."""
    few, rows = max(int(50_000 * size), 100), max(int(1_000_000 * size), 100)
    for name in names():
        if only is not None and not any(name.startswith(wanted) for wanted in only):
            continue
        sides = [_many(name, rows), _one("millstream", name, lambda name=name: _build(name), few)]  # type: ignore[misc]
        build = None if name == "stats.TimeRolling" else _river(name)
        if build:
            there = max(few // 20, 50) if name in SLOW_THERE else few
            sides.append(_one("River", name, build, there))
        yield Comparison(name, "", sides)
