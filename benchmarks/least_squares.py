"""Recursive least squares compared with a NumPy loop, with padasip, and with the bare arithmetic."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import streams
from benchmarks.measure import Comparison, Outcome, Side
from millstream import _core, linear_model

__all__ = ["bayesian", "recursive", "solved"]

WIDTH = 20
#: Rows for millstream, and for peers with a Python loop.
ROWS, SLOW_ROWS = 200_000, 5_000


def _error(predicted: Any, y: Any, rows: int) -> float:
    return float(np.mean(np.abs(predicted[:rows] - y[:rows])))


def _ours(build: Callable[[], Any], X: Any, y: Any, scored: int, name: str = "millstream, step_many") -> Side:
    def prepare() -> Callable[[], Outcome]:
        model = build()

        def run() -> Outcome:
            return Outcome(_error(model.step_many(X, y), y, scored), model.memory)

        return run

    return Side(name, len(y), prepare)


def _numpy(X: Any, y: Any) -> Side:
    """The textbook recursion in NumPy."""

    def prepare() -> Callable[[], Outcome]:
        def run() -> Outcome:
            covariance, weights = np.eye(X.shape[1]), np.zeros(X.shape[1])
            predicted = np.empty(len(y))
            for row in range(len(y)):
                x = X[row]
                predicted[row] = weights @ x
                along = covariance @ x
                gain = along / (1.0 + x @ along)
                weights = weights + gain * (y[row] - predicted[row])
                covariance = covariance - np.outer(gain, along)
            return Outcome(_error(predicted, y, len(y)))

        return run

    return Side("NumPy, textbook loop", len(y), prepare)


def _padasip(X: Any, y: Any) -> Side:
    import padasip

    def prepare() -> Callable[[], Outcome]:
        # Its initial covariance is I / eps; mu is the forgetting factor.
        model = padasip.filters.FilterRLS(X.shape[1], mu=1.0, eps=1.0, w="zeros")

        def run() -> Outcome:
            predicted, _, _ = model.run(y, X)
            return Outcome(_error(predicted, y, len(y)))

        return run

    return Side("padasip, FilterRLS.run", len(y), prepare)


def _arithmetic(rows: int) -> Side:
    """The time of 3d² operations per row at the rate of a bare rank-one update, measured in each round."""

    def prepare() -> Callable[[], Outcome]:
        seconds = 3.0 * WIDTH**2 * rows / _core.rank_one_rate(64, 20)

        def run() -> Outcome:
            time.sleep(seconds)
            return Outcome()

        return run

    return Side("3d² operations at the rate of a bare kernel", rows, prepare)


def recursive(size: float) -> Comparison:
    """RLS, with goals relative to the bare arithmetic."""
    X, y = streams.regression(int(ROWS * size), WIDTH)
    few = min(SLOW_ROWS, len(y))
    return Comparison(
        f"RLS, step_many on a matrix of {WIDTH} columns",
        "mean absolute error",
        [
            _ours(lambda: linear_model.RLS(intercept=False), X, y, few),
            _numpy(X[:few], y[:few]),
            _padasip(X[:few], y[:few]),
            _arithmetic(len(y)),
        ],
        {
            "NumPy, textbook loop": 30,
            "padasip, FilterRLS.run": 30,
            "3d² operations at the rate of a bare kernel": 0.3,
        },
        "the bare kernel is a rank-one update of a dense triangle of 64 columns, compiled with the same options "
        "as the learner; quality is the mean absolute error over the rows that all sides learned",
    )


def solved(size: float) -> Comparison:
    """LeastSquares, learning all rows and then predicting once, against NumPy's solver on all rows at once."""
    X, y = streams.regression(int(ROWS * size), WIDTH)

    def prepare_ours() -> Callable[[], Outcome]:
        model = linear_model.LeastSquares()

        def run() -> Outcome:
            model.learn_many(X, y)
            return Outcome(_error(model.predict_many(X), y, len(y)), model.memory)

        return run

    def prepare_numpy() -> Callable[[], Outcome]:
        def run() -> Outcome:
            ones = np.column_stack([np.ones(len(X)), X])
            return Outcome(_error(ones @ np.linalg.lstsq(ones, y, rcond=None)[0], y, len(y)))

        return run

    return Comparison(
        f"LeastSquares, learn_many and predict_many on a matrix of {WIDTH} columns",
        "mean absolute error",
        [
            Side("millstream, row by row", len(y), prepare_ours),
            Side("NumPy lstsq, all rows at once", len(y), prepare_numpy),
        ],
        note="NumPy's solver keeps all rows in memory and runs on all cores; quality is the mean absolute error",
    )


def bayesian(size: float) -> Comparison:
    """BayesianLinearRegression against River's."""
    from river import linear_model as river

    X, y = streams.regression(int(ROWS * size), WIDTH)
    few = min(SLOW_ROWS, len(y))
    rows = streams.as_dicts(X[:few])

    def prepare() -> Callable[[], Outcome]:
        model = river.BayesianLinearRegression()

        def run() -> Outcome:
            predicted = []
            for x, target in zip(rows, y[:few].tolist(), strict=True):
                predicted.append(model.predict_one(x))
                model.learn_one(x, target)
            return Outcome(_error(np.array(predicted), y, few), model._raw_memory_usage)

        return run

    ours = _ours(lambda: linear_model.BayesianLinearRegression(noise_precision=1.0, intercept=False), X, y, few)
    return Comparison(
        f"BayesianLinearRegression, step_many on a matrix of {WIDTH} columns",
        "mean absolute error",
        [ours, Side("River", few, prepare)],
        note="quality is the mean absolute error over the rows that both sides learned",
    )
