"""Half-space trees compared with River's, with the same trees, height, window and limits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks import streams
from benchmarks.measure import Comparison, Side, side_of
from millstream import anomaly

__all__ = ["WORKLOADS"]

WIDTH, LIMITS = 10, (-8.0, 8.0)


def _dicts(side: str, build: Callable[[], Any], rows: list[dict[str, float]]) -> Side:
    """`score_one`, then `learn_one`, dict by dict."""

    def work(model: Any) -> None:
        for x in rows:
            model.score_one(x)
            model.learn_one(x)

    return side_of(side, len(rows), build, work)


def half_space_trees(size: float) -> Comparison:
    """A score for each row, then the row is learned."""
    X = streams.standardised(streams.linear(max(int(200_000 * size), 1000), WIDTH)[0])
    few = streams.as_dicts(X[: max(int(5_000 * size), 500)])

    def ours() -> Any:
        return anomaly.HalfSpaceTrees(limits=LIMITS, seed=1)

    def river() -> Any:
        from river import anomaly

        return anomaly.HalfSpaceTrees(limits=dict.fromkeys(streams.names(WIDTH), LIMITS), seed=1)

    return Comparison(
        f"HalfSpaceTrees, 10 trees of height 8, score and learn a matrix of {WIDTH} columns",
        "",
        [
            side_of("millstream, step_many", len(X), ours, lambda model: model.step_many(X)),
            _dicts("River", river, few),
            _dicts("millstream, dicts", ours, few),
        ],
        {"River": 100},
        "tests compare the scores with River's",
    )


WORKLOADS: dict[str, Callable[[float], Comparison]] = {"half-space-trees": half_space_trees}
