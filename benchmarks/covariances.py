"""The rate of every covariance estimator on ten features, with `update_many` and `update`, compared with River."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import millstream
from benchmarks import streams
from benchmarks.measure import Comparison, Side, side_of

__all__ = ["comparisons", "names"]

WIDTH = 10


def names() -> list[str]:
    """All covariance estimators."""
    return millstream.find(role="covariance_estimator")


def _river(name: str) -> Callable[[], Any] | None:
    """A factory of River's counterpart, if there is one."""
    from river import covariance

    theirs = {"covariance.LedoitWolf": "LedoitWolfCovariance", "covariance.OAS": "OASCovariance"}
    found: Callable[[], Any] | None = getattr(covariance, theirs.get(name, name.partition(".")[2]), None)
    return found


def _one(side: str, build: Callable[[], Any], rows: list[dict[str, float]]) -> Side:
    """A dict per call."""

    def work(estimator: Any) -> None:
        for x in rows:
            estimator.update(x)

    return side_of(side, len(rows), build, work)


def comparisons(size: float, only: list[str] | None = None) -> Iterator[Comparison]:
    """All covariance estimators."""
    X = np.random.default_rng(1).normal(size=(max(int(200_000 * size), 100), WIDTH))
    few = streams.as_dicts(X[: max(int(5_000 * size), 50)])
    for name in names():
        if only is not None and not any(name.startswith(wanted) for wanted in only):
            continue
        build = partial(millstream.build, {"name": name})
        many = side_of("millstream, update_many", len(X), build, lambda estimator: estimator.update_many(X))
        sides = [many, _one("millstream", build, few)]
        if theirs := _river(name):
            sides.append(_one("River", theirs, few))
        yield Comparison(name, "", sides)
