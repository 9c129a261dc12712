"""Half-space trees compared with River's, with the same trees, height, window and limits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks import streams
from benchmarks.measure import Comparison, Outcome, Side
from millstream import anomaly

__all__ = ["WORKLOADS"]

WIDTH, LIMITS = 10, (-8.0, 8.0)


def _matrix(X: Any) -> Side:
    """All rows in one call: each is scored, then learned."""

    def prepare() -> Callable[[], Outcome]:
        model = anomaly.HalfSpaceTrees(limits=LIMITS, seed=1)

        def run() -> Outcome:
            model.step_many(X)
            return Outcome(memory=model.memory)

        return run

    return Side("millstream, step_many", len(X), prepare)


def _dicts(side: str, build: Callable[[], Any], rows: list[dict[str, float]]) -> Side:
    """`score_one`, then `learn_one`, dict by dict."""

    def prepare() -> Callable[[], Outcome]:
        model = build()

        def run() -> Outcome:
            for x in rows:
                model.score_one(x)
                model.learn_one(x)
            return Outcome(memory=getattr(model, "memory", None))

        return run

    return Side(side, len(rows), prepare)


def half_space_trees(size: float) -> Comparison:
    """A score for each row, then the row is learned."""
    X = streams.standardised(streams.linear(max(int(200_000 * size), 1000), WIDTH)[0])
    few = streams.as_dicts(X[: max(int(5_000 * size), 500)])

    def river() -> Any:
        from river import anomaly

        return anomaly.HalfSpaceTrees(limits=dict.fromkeys(streams.names(WIDTH), LIMITS), seed=1)

    return Comparison(
        f"HalfSpaceTrees, 10 trees of height 8, score and learn a matrix of {WIDTH} columns",
        "",
        [
            _matrix(X),
            _dicts("River", river, few),
            _dicts("millstream, dicts", lambda: anomaly.HalfSpaceTrees(limits=LIMITS, seed=1), few),
        ],
        {"River": 100},
        "tests compare the scores with River's",
    )


WORKLOADS: dict[str, Callable[[float], Comparison]] = {"half-space-trees": half_space_trees}
