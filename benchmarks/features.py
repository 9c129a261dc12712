"""Feature hashing, projections, products, words and selection, compared with those of River. One thread each.

Each side learns and transforms rows: ours as dicts and as a matrix, River's as dicts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.measure import Comparison, Outcome, Side
from millstream import feature_extraction, feature_selection, preprocessing, stats

__all__ = ["WORKLOADS"]

WIDTH = 10
#: At least as many times as fast as River, by the form of the rows.
DICTS, MATRIX = 3, 30


def _rows(count: int) -> tuple[Any, list[dict[str, float]], Any]:
    """A matrix of `WIDTH` columns, the same rows as dicts, and targets."""
    X = np.random.default_rng(0).normal(size=(count, WIDTH))
    names = [f"feature_{column}" for column in range(WIDTH)]
    return X, [dict(zip(names, row, strict=True)) for row in X.tolist()], X[:, 0] - X[:, 1]


def _documents(count: int) -> list[str]:
    """Documents of 50 words out of 5,000, with the frequencies of a language."""
    words = np.minimum(np.random.default_rng(0).zipf(1.3, size=(count, 50)), 5_000)
    return [" ".join(f"word{word}" for word in row) for row in words.tolist()]


def _one_by_one(name: str, build: Callable[[], Any], rows: list[Any], targets: list[float] | None) -> Side:
    def prepare() -> Callable[[], Outcome]:
        model = build()

        def run() -> Outcome:
            if targets is None:
                for x in rows:
                    model.learn_one(x)
                    model.transform_one(x)
            else:
                for x, y in zip(rows, targets, strict=True):
                    model.learn_one(x, y)
                    model.transform_one(x)
            return Outcome()

        return run

    return Side(name, len(rows), prepare)


def _at_once(build: Callable[[], Any], X: Any, y: Any) -> Side:
    def prepare() -> Callable[[], Outcome]:
        model = build()

        def run() -> Outcome:
            model.learn_many(X, y)
            model.transform_many(X)
            return Outcome()

        return run

    return Side("millstream, matrix", len(X), prepare)


@dataclass(frozen=True)
class _Pair:
    """The same transformer here and in River."""

    title: str
    ours: Callable[[], Any]
    #: Of River's modules.
    theirs: Callable[[Any], Any]
    supervised: bool = False

    def compared(self, size: float, goal: float | None, together: bool) -> Comparison:
        """Rows as dicts, or together as a matrix."""
        import river
        import river.feature_extraction
        import river.feature_selection
        import river.preprocessing
        import river.stats

        count = max(500, int((200_000 if together else 20_000) * size))
        X, dicts, y = _rows(count)
        few = dicts[: max(100, count // (50 if together else 5))]
        targets = y.tolist() if self.supervised else None
        theirs = _one_by_one("River, dicts", lambda: self.theirs(river), few, targets and targets[: len(few)])
        if together:
            ours = _at_once(self.ours, X, y if self.supervised else None)
        else:
            ours = _one_by_one("millstream, dicts", self.ours, dicts, targets)
        title = f"{self.title}, {WIDTH} columns, learn and transform"
        return Comparison(title, "", [ours, theirs], {} if goal is None else {theirs.name: goal})


_HASHER = _Pair(
    "FeatureHasher, 1,024 columns",
    lambda: preprocessing.FeatureHasher(2**10, seed=1),
    lambda river: river.preprocessing.FeatureHasher(2**10, seed=1),
)
_GAUSSIAN = _Pair(
    "GaussianRandomProjector, 5 components",
    lambda: preprocessing.GaussianRandomProjector(5),
    lambda river: river.preprocessing.GaussianRandomProjector(5, seed=1),
)
_SPARSE = _Pair(
    "SparseRandomProjector, 5 components",
    lambda: preprocessing.SparseRandomProjector(5),
    lambda river: river.preprocessing.SparseRandomProjector(5, seed=1),
)
_PRODUCTS = _Pair(
    "PolynomialExtender, degree 2",
    feature_extraction.PolynomialExtender,
    lambda river: river.feature_extraction.PolynomialExtender(),
)
_VARIANCE = _Pair(
    "VarianceThreshold",
    feature_selection.VarianceThreshold,
    lambda river: river.feature_selection.VarianceThreshold(),
)
_BEST = _Pair(
    "SelectKBest, 3 by correlation",
    lambda: feature_selection.SelectKBest(stats.PearsonCorr(), k=3),
    lambda river: river.feature_selection.SelectKBest(river.stats.PearsonCorr(), k=3),
    supervised=True,
)


def _texts(title: str, ours: Callable[[], Any], theirs: Callable[[], Any], size: float) -> Comparison:
    documents = _documents(max(200, int(5_000 * size)))
    river = _one_by_one("River", theirs, documents[: max(100, len(documents) // 5)], None)
    title = f"{title}, documents of 50 words, learn and transform"
    return Comparison(title, "", [_one_by_one("millstream", ours, documents, None), river], {river.name: DICTS})


def tfidf(size: float) -> Comparison:
    from river import feature_extraction as theirs

    return _texts("TFIDF", feature_extraction.TFIDF, theirs.TFIDF, size)


def bag(size: float) -> Comparison:
    from river import feature_extraction as theirs

    return _texts("BagOfWords", feature_extraction.BagOfWords, theirs.BagOfWords, size)


WORKLOADS: dict[str, Callable[[float], Comparison]] = {
    # Both hash in Rust, and spend their time on making dicts: there is no goal.
    "feature-hasher-one": lambda size: _HASHER.compared(size, None, together=False),
    # Half an entry per feature in River's dict of dicts: nearly nothing to do.
    "sparse-projector-one": lambda size: _SPARSE.compared(size, None, together=False),
    "sparse-projector-many": lambda size: _SPARSE.compared(size, 10, together=True),
    "gaussian-projector-one": lambda size: _GAUSSIAN.compared(size, DICTS, together=False),
    "gaussian-projector-many": lambda size: _GAUSSIAN.compared(size, MATRIX, together=True),
    "products-one": lambda size: _PRODUCTS.compared(size, DICTS, together=False),
    "products-many": lambda size: _PRODUCTS.compared(size, MATRIX, together=True),
    "variance-threshold-one": lambda size: _VARIANCE.compared(size, DICTS, together=False),
    "variance-threshold-many": lambda size: _VARIANCE.compared(size, MATRIX, together=True),
    "select-k-best-one": lambda size: _BEST.compared(size, DICTS, together=False),
    "select-k-best-many": lambda size: _BEST.compared(size, MATRIX, together=True),
    "tfidf": tfidf,
    "bag-of-words": bag,
}
