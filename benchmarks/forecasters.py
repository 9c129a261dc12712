"""The learning speed of every forecaster, compared with River.

`learn_many` is compared with River's `learn_one` loop. Quality is the mean absolute error of the twelve values
after the rows that both learned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import millstream
from benchmarks.measure import Comparison, Outcome, Side

__all__ = ["comparisons", "describe", "names"]

HORIZON, PERIOD = 12, 12

_SMOOTHING = {"smoothing_level": 0.3, "smoothing_trend": 0.1, "smoothing_seasonal": 0.6, "period": PERIOD}

ARGUMENTS: dict[str, dict[str, Any]] = {
    "time_series.HoltWinters": {**_SMOOTHING, "multiplicative": True},
    "time_series.SeasonalNaive": {"period": PERIOD},
}


def names() -> list[str]:
    """All forecasters."""
    return millstream.find(role="forecaster")


def describe(name: str) -> dict[str, Any]:
    """A complete description of the component."""
    return {"name": name, "parameters": ARGUMENTS.get(name, {})}


def series(length: int) -> Any:
    """A slowly rising level with monthly seasons and noise."""
    time = np.arange(length)
    seasons = 1.0 + 0.3 * np.sin(2.0 * np.pi * time / PERIOD)
    return (100.0 + 1e-4 * time) * seasons + np.random.default_rng(1).normal(size=length)


def _river(name: str) -> Callable[[], Any] | None:
    """A factory of River's counterpart, if there is one."""
    from river import time_series

    if name != "time_series.HoltWinters":
        return None
    return lambda: time_series.HoltWinters(0.3, 0.1, 0.6, seasonality=PERIOD, multiplicative=True)


def _error(model: Any, future: Any) -> float:
    return float(np.mean(np.abs(np.array(model.forecast(HORIZON)) - future)))


def _ours(name: str, values: Any, few: int) -> Side:
    def prepare() -> Callable[[], Outcome]:
        model, short = millstream.build(describe(name)), millstream.build(describe(name))
        short.learn_many(values[:few])
        error = _error(short, values[few : few + HORIZON])

        def run() -> Outcome:
            model.learn_many(values)
            return Outcome(error, model.memory)

        return run

    return Side("millstream", len(values), prepare)


def _theirs(build: Callable[[], Any], values: Any, few: int) -> Side:
    def prepare() -> Callable[[], Outcome]:
        model, learned = build(), values[:few].tolist()

        def run() -> Outcome:
            for y in learned:
                model.learn_one(y)
            return Outcome(_error(model, values[few : few + HORIZON]), model._raw_memory_usage)

        return run

    return Side("River", few, prepare)


def comparisons(size: float, only: list[str] | None = None) -> Iterator[Comparison]:
    """All forecasters."""
    few = max(int(20_000 * size), 2000)
    values = series(max(int(2_000_000 * size), few + HORIZON))
    for name in names():
        if only is not None and not any(name.startswith(wanted) for wanted in only):
            continue
        sides = [_ours(name, values, few)]
        if build := _river(name):
            sides.append(_theirs(build, values, few))
        yield Comparison(name, "mean absolute error", sides)
