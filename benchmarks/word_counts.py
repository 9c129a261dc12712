"""Naive Bayes for words compared with scikit-learn, which learns batches with `partial_fit`, and with River."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import ours, peers
from benchmarks.decompositions import documents
from benchmarks.measure import Comparison, Outcome, Side
from millstream import naive_bayes

__all__ = ["WORKLOADS"]

BATCH = 500
LEARNING_ONLY = "scikit-learn, learning only"


def _partial_fit(name: str, X: Any, y: Any) -> Side:
    import sklearn.naive_bayes

    def prepare() -> Callable[[], Outcome]:
        model = getattr(sklearn.naive_bayes, name)()

        def run() -> Outcome:
            for start in range(0, X.shape[0], BATCH):
                model.partial_fit(X[start : start + BATCH], y[start : start + BATCH], classes=[0, 1, 2, 3])
            return Outcome()

        return run

    return Side(LEARNING_ONLY, X.shape[0], prepare)


def _compared(name: str, size: float, few: int, goals: dict[str, float]) -> Comparison:
    import river.naive_bayes

    X = documents(max(BATCH, int(2_000 * size) // BATCH * BATCH))
    # As vectorizers write them.
    X.sort_indices()
    y = np.asarray(X[:, :1250].sum(axis=1) > X[:, 1250:2500].sum(axis=1)).ravel() + 2 * (np.arange(X.shape[0]) % 2)
    rows = [dict(zip(x.indices.tolist(), x.data.tolist(), strict=True)) for x in X[:few]]
    return Comparison(
        f"{name}, step_many on sparse documents of 50 different words out of 5,000, 4 classes",
        "accuracy",
        [
            ours.step_many(getattr(naive_bayes, name), X, y, "millstream, step_many"),
            _partial_fit(name, X, y),
            peers.river(getattr(river.naive_bayes, name), rows, y[:few].tolist()),
        ],
        goals,
    )


WORKLOADS: dict[str, Callable[[float], Comparison]] = {
    "multinomial-nb": lambda size: _compared("MultinomialNB", size, 500, {LEARNING_ONLY: 1.5, "River": 200}),
    "bernoulli-nb": lambda size: _compared("BernoulliNB", size, 50, {"River": 200}),
    "complement-nb": lambda size: _compared("ComplementNB", size, 50, {"River": 200}),
}
