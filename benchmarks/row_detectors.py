"""The rate of every row detector, compared with equivalent code for SciPy, scikit-learn or River.

The peers have the same windows and compare as often, with SciPy's tests of each feature or with scikit-learn's
models. River has no such detector; its users run a KSWIN for each feature.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import millstream
from benchmarks.measure import Comparison, Outcome, Side, side_of

__all__ = ["comparisons", "names"]

FEATURES, REFERENCE, WINDOW, INTERVAL = 20, 500, 200, 50


def names() -> list[str]:
    """All row detectors."""
    return millstream.find(role="feature_drift_detector")


def matrix(rows: int) -> Any:
    """Rows without drift, so that all sides do the same number of comparisons."""
    return np.random.default_rng(1).normal(size=(rows, FEATURES))


def ours(name: str, X: Any) -> Side:
    """All rows in one call."""
    build = partial(millstream.build, {"name": name})
    return side_of("millstream", len(X), build, lambda detector: detector.update_many(X))


def kswin(X: Any) -> Side:
    """River's KSWIN for each feature."""

    def prepare() -> Callable[[], Outcome]:
        from river import drift

        detectors = [drift.KSWIN(seed=1) for _ in range(FEATURES)]
        rows = X.tolist()

        def run() -> Outcome:
            for row in rows:
                for detector, x in zip(detectors, row, strict=True):
                    detector.update(x)
            return Outcome()

        return run

    return Side("River", len(X), prepare)


def recomputed(library: str, name: str, X: Any) -> Side:
    """The same windows, compared as often by a peer's functions."""

    def prepare() -> Callable[[], Outcome]:
        compare = _COMPARISONS[name]

        def run() -> Outcome:
            for end in range(REFERENCE + WINDOW, len(X) + 1, INTERVAL):
                compare(X[:REFERENCE], X[end - WINDOW : end])
            return Outcome()

        return run

    return Side(library, len(X), prepare)


def _kolmogorov(a: Any, b: Any) -> None:
    from scipy.stats import ks_2samp

    for feature in range(FEATURES):
        ks_2samp(a[:, feature], b[:, feature], method="asymp")


def _cells(a: Any, b: Any) -> Iterator[Any]:
    for feature in range(FEATURES):
        edges = np.quantile(a[:, feature], np.arange(1, 10) / 10)
        yield [np.bincount(np.searchsorted(edges, x[:, feature]), minlength=10) for x in (a, b)]


def _chi_square(a: Any, b: Any) -> None:
    from scipy.stats import chi2_contingency

    for table in _cells(a, b):
        chi2_contingency(table)


def _shares(a: Any, b: Any) -> None:
    for old, new in _cells(a, b):
        p, q = np.maximum(old, 0.5) / len(a), np.maximum(new, 0.5) / len(b)
        _ = float(((p - q) * np.log(p / q)).sum())


def _discriminate(a: Any, b: Any) -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_predict
    from sklearn.preprocessing import StandardScaler

    X = StandardScaler().fit_transform(np.vstack([a, b]))
    y = np.repeat([0, 1], [len(a), len(b)])
    cross_val_predict(LogisticRegression(class_weight="balanced"), X, y, cv=2, method="decision_function")


_FITTED: dict[str, Any] = {}


def _one_class(a: Any, b: Any) -> None:
    from sklearn.svm import OneClassSVM

    if "one class" not in _FITTED:
        _FITTED["one class"] = OneClassSVM(nu=0.1, gamma=1 / FEATURES).fit(a)
    _FITTED["one class"].predict(b)


def _clusters(a: Any, b: Any) -> None:
    from sklearn.cluster import KMeans

    if "clusters" not in _FITTED:
        _FITTED["clusters"] = KMeans(8, n_init=1, random_state=0).fit(a)
    _FITTED["clusters"].transform(b)


_COMPARISONS: dict[str, Callable[[Any, Any], None]] = {
    "drift.ChiSquareTest": _chi_square,
    "drift.ClusterDrift": _clusters,
    "drift.D3": _discriminate,
    "drift.HellingerDistance": _shares,
    "drift.KSTest": _kolmogorov,
    "drift.OCDD": _one_class,
    "drift.PSI": _shares,
}

_LIBRARIES = {"drift.ClusterDrift": "scikit-learn", "drift.D3": "scikit-learn", "drift.OCDD": "scikit-learn"}


def comparisons(size: float, only: list[str] | None = None) -> Iterator[Comparison]:
    """All row detectors."""
    for name in names():
        if only is not None and not any(name.startswith(wanted) for wanted in only):
            continue
        X = matrix(int(100_000 * size))
        few = X[: max(int(10_000 * size), 2000)]
        sides = [ours(name, X), recomputed(_LIBRARIES.get(name, "SciPy"), name, few)]
        if name == "drift.KSTest":
            sides.append(kswin(few))
        yield Comparison(f"{name}, {FEATURES} features", "", sides)
