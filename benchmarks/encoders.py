"""Encoders of keys compared with River's aggregates: a target encoding of 100 keys, step by step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.measure import Comparison, Outcome, Side
from millstream import feature_extraction, preprocessing, stats

__all__ = ["WORKLOADS"]

KEYS = 100


def _stream(rows: int) -> tuple[list[str], Any]:
    """Keys by frequency, and targets that depend on them."""
    random = np.random.default_rng(0)
    keys = (KEYS * random.random(rows) ** 2).astype(int)
    return [f"key {key}" for key in keys], keys / KEYS + random.normal(size=rows)


def _loop(name: str, build: Callable[[], Any], keys: list[str], y: Any, *, target: bool = True) -> Side:
    """Transform each row, then learn it."""
    rows = [{"key": key, "x": value} for key, value in zip(keys, y.tolist(), strict=True)]
    targets = y.tolist()

    def prepare() -> Callable[[], Outcome]:
        model = build()

        def run() -> Outcome:
            last: dict[str, float] = {}
            if target:
                for x, value in zip(rows, targets, strict=True):
                    last = model.transform_one(x)
                    model.learn_one(x, value)
            else:
                for x in rows:
                    last = model.transform_one(x)
                    model.learn_one(x)
            return Outcome(next(iter(last.values())))

        return run

    return Side(name, len(rows), prepare)


def _batch(name: str, build: Callable[[], Any], keys: list[str], y: Any, *, target: bool = True) -> Side:
    """Learn a frame, then transform it."""
    import pandas as pd

    frame = pd.DataFrame({"key": pd.Categorical(keys), "x": y})

    def prepare() -> Callable[[], Outcome]:
        model = build()

        def run() -> Outcome:
            model.learn_many(frame, y if target else None)
            return Outcome(float(model.transform_many(frame).iloc[-1, 0]))

        return run

    return Side(name, len(frame), prepare)


def _river(how: Callable[[], Any], *, target: bool = True) -> Callable[[], Any]:
    from river import feature_extraction as river

    if target:
        return lambda: river.TargetAgg(by="key", how=how())
    return lambda: river.Agg(on="x", by="key", how=how())


def target_encoder(size: float, *, together: bool) -> Comparison:
    """The target encoder, on dicts or on a frame."""
    from river import stats as river_stats

    few, many = _stream(max(1000, int(50_000 * size))), _stream(max(1000, int(1_000_000 * size)))
    build = lambda: preprocessing.TargetEncoder(features=["key"], smooth=10.0)  # noqa: E731
    ours = _batch("millstream, frame", build, *many) if together else _loop("millstream, dicts", build, *few)
    river = _loop("River TargetAgg(BayesianMean)", _river(lambda: river_stats.BayesianMean(0.0, 10.0)), *few)
    return Comparison(
        f"target encoder of {KEYS} keys, transform and learn {'a frame' if together else 'dicts'}",
        "last encoding",
        [ours, river],
        {river.name: 30 if together else 3},
        "River shrinks towards a given mean, millstream towards the mean of all targets",
    )


def aggregate(size: float, *, together: bool) -> Comparison:
    """The mean of a feature by key, on dicts or on a frame."""
    from river import stats as river_stats

    few, many = _stream(max(1000, int(50_000 * size))), _stream(max(1000, int(1_000_000 * size)))
    build = lambda: feature_extraction.Agg("x", "key", stats.Mean())  # noqa: E731
    batch = lambda: _batch("millstream, frame", build, *many, target=False)  # noqa: E731
    ours = batch() if together else _loop("millstream, dicts", build, *few, target=False)
    river = _loop("River Agg(Mean)", _river(river_stats.Mean, target=False), *few, target=False)
    return Comparison(
        f"mean by {KEYS} keys, transform and learn {'a frame' if together else 'dicts'}",
        "last mean",
        [ours, river],
    )


WORKLOADS: dict[str, Callable[[float], Comparison]] = {
    "target-encoder-dicts": lambda size: target_encoder(size, together=False),
    "target-encoder-frame": lambda size: target_encoder(size, together=True),
    "aggregate-dicts": lambda size: aggregate(size, together=False),
    "aggregate-frame": lambda size: aggregate(size, together=True),
}
