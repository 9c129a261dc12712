"""k-nearest neighbours over a window, predict then learn, compared with River's exact search and with hnswlib."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.measure import Comparison, Outcome, Side
from millstream import neighbors

__all__ = ["WORKLOADS"]

N_NEIGHBORS = 5

WORKLOADS: dict[str, Callable[[float], Comparison]] = {
    "knn": lambda size: _small(size),
    "knn-large": lambda size: _large(size),
    "knn-queries": lambda size: _queries(size),
    "sam-knn": lambda size: _self_adjusting(size),
}


def blobs(rows: int, width: int, count: int) -> tuple[Any, Any]:
    """Rows with noise of variance 1 around centres of variance 4, one for each class."""
    random = np.random.default_rng(0)
    centres = random.normal(scale=2.0, size=(count, width))
    y = random.integers(0, count, rows)
    return centres[y] + random.normal(size=(rows, width)), y


def _ours(model: Callable[[], Any], X: Any, y: Any, name: str = "millstream") -> Side:
    def prepare() -> Callable[[], Outcome]:
        built = model()

        def run() -> Outcome:
            predicted = built.step_many(X, y)
            return Outcome(float(np.mean(predicted[10:] == y[10:])), built.memory)

        return run

    return Side(name, len(X), prepare)


def _river(window: int, X: Any, y: Any) -> Side:
    from river import neighbors as peer

    rows, targets = [dict(enumerate(x)) for x in X.tolist()], y.tolist()

    def prepare() -> Callable[[], Outcome]:
        model = peer.KNNClassifier(N_NEIGHBORS, engine=peer.LazySearch(window_size=window), weighted=False)

        def run() -> Outcome:
            right = 0
            for index, (x, target) in enumerate(zip(rows, targets, strict=True)):
                right += model.predict_one(x) == target and index >= 10
                model.learn_one(x, target)
            return Outcome(right / max(1, len(rows) - 10))

        return run

    return Side("River", len(X), prepare)


def _filled(X: Any, y: Any, window: int) -> tuple[Any, Any]:
    """An index of hnswlib that holds a full window, and the labels by key."""
    import hnswlib

    index = hnswlib.Index(space="l2", dim=X.shape[1])
    index.init_index(max_elements=window, M=16, ef_construction=100, random_seed=0, allow_replace_deleted=True)
    index.set_ef(50)
    index.set_num_threads(1)
    index.add_items(X[:window], np.arange(window))
    return index, y


def _hnswlib(window: int, X: Any, y: Any) -> Side:
    def prepare() -> Callable[[], Outcome]:
        index, labels = _filled(X, y, window)

        def run() -> Outcome:
            right = 0
            for row in range(window, len(X)):
                found, _ = index.knn_query(X[row : row + 1], k=N_NEIGHBORS)
                right += int(np.bincount(labels[found[0].astype(int)]).argmax() == labels[row])
                index.mark_deleted(row - window)
                index.add_items(X[row : row + 1], [row], replace_deleted=True)
            return Outcome(right / (len(X) - window))

        return run

    return Side("hnswlib", len(X) - window, prepare)


def _ours_filled(model: Callable[[], Any], window: int, X: Any, y: Any, name: str = "millstream") -> Side:
    def prepare() -> Callable[[], Outcome]:
        built = model()
        built.learn_many(X[:window], y[:window])

        def run() -> Outcome:
            predicted = built.step_many(X[window:], y[window:])
            return Outcome(float(np.mean(predicted == y[window:])), built.memory)

        return run

    return Side(name, len(X) - window, prepare)


def _small(size: float) -> Comparison:
    X, y = blobs(max(100, int(50_000 * size)), 10, 8)
    few = max(100, int(5_000 * size))
    sides = [
        _ours(lambda: neighbors.KNNClassifier(N_NEIGHBORS, 1000, scale=None), X, y),
        _river(1000, X[:few], y[:few]),
        _ours(lambda: neighbors.KNNClassifier(N_NEIGHBORS, 1000), X, y, "millstream, scaled"),
    ]
    return Comparison(
        "KNNClassifier, window of 1,000 rows of 10 columns, predict then learn",
        "accuracy",
        sides,
        {"River": 40.0},
        "exact on both sides; River learns fewer rows",
    )


def _large(size: float) -> Comparison:
    window = max(500, int(10_000 * size))
    X, y = blobs(window + max(100, int(5_000 * size)), 10, 8)
    sides = [
        _ours_filled(lambda: neighbors.KNNClassifier(N_NEIGHBORS, window, scale=None), window, X, y),
        _hnswlib(window, X, y),
        _ours_filled(
            lambda: neighbors.KNNClassifier(N_NEIGHBORS, window, scale=None, engine=neighbors.HNSW()),
            window,
            X,
            y,
            "millstream, HNSW",
        ),
    ]
    return Comparison(
        f"KNNClassifier, full window of {window:,} rows of 10 columns, predict then learn",
        "accuracy",
        sides,
        {"hnswlib": 6.0},
        "an exact scan against query, delete and add",
    )


def _queries(size: float) -> Comparison:
    window = max(500, int(50_000 * size))
    X, y = blobs(window, 10, 8)
    asked, _ = blobs(max(100, int(5_000 * size)), 10, 8)

    def ours(name: str, engine: Any) -> Side:
        def prepare() -> Callable[[], Outcome]:
            model = neighbors.KNNClassifier(N_NEIGHBORS, window, scale=None, engine=engine)
            model.learn_many(X, y)

            def run() -> Outcome:
                model.predict_many(asked)
                return Outcome(memory=model.memory)

            return run

        return Side(name, len(asked), prepare)

    def theirs() -> Side:
        def prepare() -> Callable[[], Outcome]:
            index, _ = _filled(X, y, window)

            def run() -> Outcome:
                index.knn_query(asked, k=N_NEIGHBORS)
                return Outcome()

            return run

        return Side("hnswlib", len(asked), prepare)

    sides = [ours("millstream, HNSW", neighbors.HNSW()), theirs(), ours("millstream, exact", None)]
    return Comparison(
        f"KNNClassifier with HNSW, {window:,} rows of 10 columns, queries alone",
        "",
        sides,
        {},
        "float32 in hnswlib",
    )


def _self_adjusting(size: float) -> Comparison:
    X, y = blobs(max(100, int(10_000 * size)), 10, 8)
    few = max(100, int(2_000 * size))
    sides = [
        _ours(lambda: neighbors.SAMKNNClassifier(window_size=1000), X, y),
        _river(1000, X[:few], y[:few]),
    ]
    return Comparison(
        "SAMKNNClassifier, memories of 1,000 rows of 10 columns, predict then learn",
        "accuracy",
        sides,
        {},
        "River has no SAM-kNN: its plain k-nearest neighbours",
    )
