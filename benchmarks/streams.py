"""Generated streams, with the same rows for all libraries."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["as_dicts", "frames", "linear", "random_rbf", "regression", "standardised", "words_file"]

Matrix = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]


def names(width: int) -> list[str]:
    """Names of features."""
    return [f"x{place}" for place in range(width)]


@cache
def linear(rows: int, width: int, seed: int = 1) -> tuple[Matrix, Labels]:
    """Two classes with a linear boundary and noise; features differ in location and scale."""
    rng = np.random.default_rng(seed)
    standard = rng.normal(size=(rows, width))
    odds = standard @ rng.normal(size=width) + rng.logistic(scale=0.5, size=rows)
    X = standard * rng.uniform(0.5, 20, size=width) + rng.uniform(-50, 50, size=width)
    return X, (odds > 0).astype(np.int64)


@cache
def random_rbf(rows: int, width: int, seed: int = 1, centroids: int = 50) -> tuple[Matrix, Labels]:
    """Two classes of Gaussian balls around random centroids, after the RandomRBF generator of the literature."""
    rng = np.random.default_rng(seed)
    centres = rng.uniform(size=(centroids, width))
    spread, classes = rng.uniform(size=centroids), rng.integers(2, size=centroids)
    chosen = rng.choice(centroids, p=(weights := rng.uniform(size=centroids)) / weights.sum(), size=rows)
    direction = rng.uniform(-1, 1, size=(rows, width))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    distance = rng.normal(size=rows) * spread[chosen]
    return centres[chosen] + direction * distance[:, None], classes[chosen].astype(np.int64)


@cache
def regression(rows: int, width: int, seed: int = 1) -> tuple[Matrix, Matrix]:
    """A linear target with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, width))
    return X, X @ rng.normal(size=width) + rng.normal(scale=0.1, size=rows)


def standardised(X: Matrix) -> Matrix:
    """Columns of mean 0 and variance 1, for learners without a scaler."""
    scaled: Matrix = (X - X.mean(axis=0)) / X.std(axis=0)
    return scaled


def as_dicts(X: Matrix) -> list[dict[str, float]]:
    """Rows as dicts with string keys, as River expects them."""
    keys = names(X.shape[1])
    return [dict(zip(keys, row, strict=True)) for row in X.tolist()]


def frames(X: Matrix) -> dict[str, Any]:
    """The same numbers as frames of three libraries."""
    import pandas
    import polars
    import pyarrow

    keys = names(X.shape[1])
    columns = {key: np.ascontiguousarray(X[:, place]) for place, key in enumerate(keys)}
    return {
        "pandas": pandas.DataFrame(X, columns=keys),
        "polars": polars.DataFrame(columns),
        "Arrow": pyarrow.table(columns),
    }


@cache
def words_file(rows: int, width: int, vocabulary: int = 200_000, seed: int = 1) -> Path:
    """A file of VW text: `width` words a line, drawn by Zipf's law; a fifth of the words are informative."""
    noise = np.random.default_rng(seed)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    names = ["".join(noise.choice(letters, size)) for size in noise.integers(3, 10, vocabulary)]
    says = noise.normal(size=vocabulary) * (noise.random(vocabulary) < 0.2)
    shares = np.cumsum(1 / np.arange(1, vocabulary + 1))
    path = Path(tempfile.mkdtemp(prefix="millstream-bench-")) / "words.vw"
    with path.open("w") as file:
        for start in range(0, rows, 10_000):
            chosen = np.searchsorted(shares / shares[-1], noise.random((min(10_000, rows - start), width)))
            positive = says[chosen].sum(axis=1) + noise.normal(size=len(chosen)) > 0
            for line, label in zip(chosen, positive, strict=True):
                file.write(f"{1 if label else -1} |t {' '.join([names[word] for word in line])}\n")
    return path
