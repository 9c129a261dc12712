"""Scalers compared with those of River, which learns one dict at a time. One thread each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks import streams
from benchmarks.measure import Comparison, Outcome, Side
from millstream import preprocessing

__all__ = ["WORKLOADS"]

WIDTH = 10


def _dicts(name: str, build: Callable[[], Any], rows: list[dict[str, float]]) -> Side:
    """`learn_one` and `transform_one` on each dict."""

    def prepare() -> Callable[[], Outcome]:
        model = build()

        def run() -> Outcome:
            learn, transform = model.learn_one, model.transform_one
            for x in rows:
                learn(x)
                transform(x)
            return Outcome()

        return run

    return Side(name, len(rows), prepare)


def _matrix(name: str, build: Callable[[], Any], X: Any) -> Side:
    """`learn_many` and `transform_many` on all rows."""

    def prepare() -> Callable[[], Outcome]:
        model = build()

        def run() -> Outcome:
            model.learn_many(X)
            model.transform_many(X)
            return Outcome(memory=model.memory)

        return run

    return Side(name, len(X), prepare)


def _comparison(size: float, matrix: bool, name: str, goal: float | None, **options: Any) -> Comparison:
    from river import preprocessing as theirs

    few = max(1000, int(20_000 * size))
    X, _ = streams.linear(max(1000, int(500_000 * size)) if matrix else few, WIDTH)
    rows = streams.as_dicts(X[:few])
    windowed = ", the last 1,000 values" if options else ""

    def build() -> Any:
        return getattr(preprocessing, name)(**options)

    ours = _matrix("millstream, matrix", build, X) if matrix else _dicts("millstream", build, rows)
    other = options if name != "RobustScaler" else {}
    return Comparison(
        f"{name}{windowed}: learn and transform {'a matrix' if matrix else 'dicts'} of {WIDTH} numbers",
        "",
        [ours, _dicts("River", lambda: getattr(theirs, name)(**other), rows)],
        {} if goal is None else {"River": goal},
    )


#: Name, goal on dicts, goal on a matrix, options.
_ROWS: list[tuple[str, float | None, float | None, dict[str, Any]]] = [
    ("RobustScaler", 3, 30, {}),
    ("RobustScaler", None, None, {"window_size": 1000}),
    ("AdaptiveStandardScaler", None, None, {}),
    ("StandardScaler", None, None, {"window_size": 1000}),
    ("MinMaxScaler", None, None, {"window_size": 1000}),
    ("Normalizer", None, None, {}),
]

_WORDS = {"RobustScaler": "robust", "AdaptiveStandardScaler": "adaptive-standard", "StandardScaler": "standard"}
_WORDS |= {"MinMaxScaler": "min-max", "Normalizer": "normalizer"}


def _workload(row: int, matrix: bool) -> Callable[[float], Comparison]:
    name, dicts, rows, options = _ROWS[row]
    return lambda size: _comparison(size, matrix, name, rows if matrix else dicts, **options)


WORKLOADS: dict[str, Callable[[float], Comparison]] = {
    f"{_WORDS[name]}{'-window' if options else ''}-{'matrix' if matrix else 'dicts'}": _workload(row, matrix)
    for row, (name, _, _, options) in enumerate(_ROWS)
    for matrix in (False, True)
}
