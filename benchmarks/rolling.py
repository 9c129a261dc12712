"""Rolling statistics and covariance matrices compared with River. One thread each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import streams
from benchmarks.measure import Comparison, Outcome, Side
from millstream import covariance, stats

__all__ = ["WORKLOADS"]

WINDOW, WIDTH = 1000, 10


def _river(name: str) -> Any:
    from river import stats, utils

    return (
        stats.RollingQuantile(0.5, WINDOW) if name == "Quantile" else utils.Rolling(getattr(stats, name), WINDOW)
    )


def _one_by_one(side: str, build: Callable[[], Any], numbers: list[float]) -> Side:
    """A number per call, with the value after each."""

    def prepare() -> Callable[[], Outcome]:
        statistic = build()

        def run() -> Outcome:
            update, get = statistic.update, statistic.get
            for x in numbers:
                update(x)
                get()
            return Outcome(float(get()))

        return run

    return Side(side, len(numbers), prepare)


def _together(build: Callable[[], Any], numbers: Any) -> Side:
    def prepare() -> Callable[[], Outcome]:
        statistic = build()

        def run() -> Outcome:
            statistic.update_many(numbers)
            return Outcome(float(statistic.get()), statistic.memory)

        return run

    return Side("millstream, update_many", len(numbers), prepare)


def rolling(size: float, name: str, goal: float) -> Comparison:
    """A statistic over a window, with all numbers in one call."""
    numbers = np.random.default_rng(1).lognormal(size=max(int(1_000_000 * size), 5000))
    few = numbers[: max(int(100_000 * size), 5000)].tolist()

    def build() -> Any:
        return stats.Rolling(getattr(stats, name)(), WINDOW)

    return Comparison(
        f"rolling {name.lower()} of {WINDOW} numbers",
        "value",
        [
            _together(build, numbers),
            _one_by_one("millstream", build, few),
            _one_by_one("River", lambda: _river(name), few),
        ],
        {"River": goal},
        "with one number per call, the value is read after each; these sides receive fewer numbers, so the last "
        "values differ",
    )


def _frame(X: Any) -> Any:
    import pandas as pd

    return pd.DataFrame(X, columns=streams.names(WIDTH))


def _rows(side: str, build: Callable[[], Any], X: Any, *, dicts: bool, batch: int | None = None) -> Side:
    rows = streams.as_dicts(X) if dicts else []
    batches = [_frame(X[at : at + batch]) for at in range(0, len(X), batch)] if batch else []

    def prepare() -> Callable[[], Outcome]:
        estimator = build()

        def run() -> Outcome:
            if dicts:
                for x in rows:
                    estimator.update(x)
            elif batches:
                for frame in batches:
                    estimator.update_many(frame)
            else:
                estimator.update_many(X)
            return Outcome()

        return run

    return Side(side, len(X), prepare)


def matrices(size: float, name: str, theirs: str, *, dicts: bool, goal: float) -> Comparison:
    """A covariance matrix of ten features."""
    X = np.random.default_rng(1).normal(size=(max(int(500_000 * size), 5000), WIDTH))
    few = X[: max(int(20_000 * size), 2000)]

    def river() -> Any:
        from river import covariance

        return getattr(covariance, theirs)()

    ours = getattr(covariance, name)
    many = name == "EmpiricalCovariance" and not dicts
    return Comparison(
        f"{name} of {WIDTH} features, " + ("dicts" if dicts else "a matrix"),
        "value",
        [
            _rows("millstream" if dicts else "millstream, update_many", ours, few if dicts else X, dicts=dicts),
            _rows("River", river, X if many else few, dicts=not many, batch=1000 if many else None),
        ],
        {"River": goal},
        "River receives frames of 1,000 rows" if many else "",
    )


WORKLOADS: dict[str, Callable[[float], Comparison]] = {
    "rolling-median": lambda size: rolling(size, "Quantile", 2.0),
    "rolling-variance": lambda size: rolling(size, "Var", 20.0),
    "covariance": lambda size: matrices(size, "EmpiricalCovariance", "EmpiricalCovariance", dicts=False, goal=2.0),
    "covariance-dicts": lambda size: matrices(
        size, "EmpiricalCovariance", "EmpiricalCovariance", dicts=True, goal=10.0
    ),
    "ledoit-wolf": lambda size: matrices(size, "LedoitWolf", "LedoitWolfCovariance", dicts=False, goal=20.0),
}
