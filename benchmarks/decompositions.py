"""Decompositions compared with those of scikit-learn, which learns batches with `partial_fit`. One thread each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.measure import Comparison, Outcome, Side
from millstream import decomposition

__all__ = ["WORKLOADS", "documents"]

WIDTH = 50
Judge = Callable[[Any], float]


def _blobs(rows: int) -> Any:
    """Rows around 20 centres in `WIDTH` columns, with noise in all of them."""
    random = np.random.default_rng(0)
    centres = random.normal(size=(20, WIDTH)) * 4.0
    return centres[random.integers(20, size=rows)] + random.normal(size=(rows, WIDTH))


def documents(rows: int, words: int = 5_000) -> Any:
    """Documents of 50 different random words each, as a sparse matrix."""
    from scipy import sparse

    random = np.random.default_rng(0)
    columns = np.concatenate([random.choice(words, 50, replace=False) for _ in range(rows)])
    counts = random.integers(1, 4, size=len(columns)).astype(float)
    return sparse.csr_matrix((counts, columns, np.arange(0, len(columns) + 1, 50)), shape=(rows, words))


def _components(model: Any) -> Any:
    if hasattr(model, "components_"):
        return model.components_
    return np.array([list(component.values()) for component in model.components])


def _explained(X: Any) -> Judge:
    """The fraction of the variance of the rows within the span of the components."""
    centred = X - X.mean(axis=0)

    def judge(model: Any) -> float:
        span = np.linalg.qr(_components(model).T)[0]
        return float(np.sum((centred @ span) ** 2) / np.sum(centred**2))

    return judge


def _restored(X: Any) -> Judge:
    """The fraction of the squares of the rows that their codes restore."""
    some = X[:2000]

    def judge(model: Any) -> float:
        codes = model.transform_many(some) if hasattr(model, "transform_many") else model.transform(some)
        return 1.0 - float(np.sum((some - codes @ _components(model)) ** 2) / np.sum(some**2))

    return judge


def _ours(build: Callable[[], Any], X: Any, judge: Judge | None) -> Side:
    quality = None
    if judge:
        model = build()
        model.learn_many(X)
        quality = judge(model)

    def prepare() -> Callable[[], Outcome]:
        model = build()

        def run() -> Outcome:
            model.learn_many(X)
            return Outcome(quality, model.memory)

        return run

    return Side("millstream, learn_many", X.shape[0], prepare)


def _theirs(name: str, build: Callable[[], Any], X: Any, size: int, judge: Judge | None) -> Side:
    from threadpoolctl import threadpool_limits

    def learn(model: Any) -> Any:
        with threadpool_limits(1):
            for start in range(0, X.shape[0], size):
                model.partial_fit(X[start : start + size])
        return model

    quality = judge(learn(build())) if judge else None

    def prepare() -> Callable[[], Outcome]:
        model = build()

        def run() -> Outcome:
            learn(model)
            return Outcome(quality)

        return run

    return Side(f"scikit-learn {name}", X.shape[0], prepare)


def _against_incremental_pca(size: float, title: str, build: Callable[[], Any], goal: float) -> Comparison:
    from sklearn.decomposition import IncrementalPCA

    X = _blobs(max(1000, int(50_000 * size)))
    judge = _explained(X)
    theirs = _theirs("IncrementalPCA, 500 rows a call", lambda: IncrementalPCA(10), X, 500, judge)
    return Comparison(
        f"{title}, 10 components of {WIDTH} columns",
        "variance explained",
        [_ours(build, X, judge), theirs],
        {theirs.name: goal},
    )


def principal(size: float) -> Comparison:
    """The exact covariance, with a refresh of the components as often as there."""
    title = "PCA, components every 500 rows"
    return _against_incremental_pca(size, title, lambda: decomposition.PCA(10, refresh_interval=500), 4)


def covariance_free(size: float) -> Comparison:
    """One vector per component, updated with each row."""
    return _against_incremental_pca(size, "CCIPCA, each row", lambda: decomposition.CCIPCA(10), 2)


def incremental(size: float) -> Comparison:
    """The same algorithm as there."""
    title = "IncrementalPCA, 500 rows a batch"
    return _against_incremental_pca(size, title, lambda: decomposition.IncrementalPCA(10, batch_size=500), 1)


def dictionary(size: float) -> Comparison:
    """Fifteen atoms, with the same coordinate descent."""
    from sklearn.decomposition import MiniBatchDictionaryLearning

    X = _blobs(max(512, int(5_120 * size) // 256 * 256))
    judge = _restored(X)
    options: dict[str, Any] = {"fit_algorithm": "cd", "transform_algorithm": "lasso_cd", "transform_alpha": 1.0}
    theirs = _theirs(
        "MiniBatchDictionaryLearning, coordinate descent, 256 rows a call",
        lambda: MiniBatchDictionaryLearning(15, alpha=1.0, random_state=1, **options),
        X,
        256,
        judge,
    )
    ours = _ours(lambda: decomposition.DictionaryLearning(15, l1=1.0, batch_size=256), X, judge)
    return Comparison(
        f"DictionaryLearning, 15 atoms of {WIDTH} columns, 256 rows a batch",
        "squares restored",
        [ours, theirs],
        {theirs.name: 5},
    )


def nonnegative(size: float) -> Comparison:
    """Ten parts, with the same updates."""
    from sklearn.decomposition import MiniBatchNMF

    X = np.abs(_blobs(max(512, int(51_200 * size) // 256 * 256)))
    judge = _restored(X)
    theirs = _theirs(
        "MiniBatchNMF, 256 rows a call",
        lambda: MiniBatchNMF(10, batch_size=256, init="random", random_state=1),
        X,
        256,
        judge,
    )
    ours = _ours(lambda: decomposition.NMF(10, batch_size=256), X, judge)
    return Comparison(
        f"NMF, 10 parts of {WIDTH} columns, 256 rows a batch",
        "squares restored",
        [ours, theirs],
        {theirs.name: 1},
    )


def topics(size: float) -> Comparison:
    """Twenty topics, with the same inference."""
    from sklearn.decomposition import LatentDirichletAllocation

    X = documents(max(250, int(2_000 * size) // 250 * 250))
    theirs = _theirs(
        "LatentDirichletAllocation, 250 documents a call",
        lambda: LatentDirichletAllocation(20, batch_size=250, total_samples=X.shape[0], random_state=1),
        X,
        250,
        None,
    )
    ours = _ours(lambda: decomposition.LDA(20, batch_size=250, total_samples=X.shape[0]), X, None)
    return Comparison(
        "LDA, 20 topics, documents of 50 different words out of 5,000, 250 a batch",
        "",
        [ours, theirs],
        {theirs.name: 3},
    )


WORKLOADS: dict[str, Callable[[float], Comparison]] = {
    "pca": principal,
    "ccipca": covariance_free,
    "incremental-pca": incremental,
    "dictionary": dictionary,
    "nmf": nonnegative,
    "lda": topics,
}
