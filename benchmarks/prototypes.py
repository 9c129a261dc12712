"""Learning vector quantization compared with sklvq, and fuzzy ART with artlib."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.measure import Comparison, Outcome, Side
from millstream import art, prototype

__all__ = ["WORKLOADS"]

#: Columns and classes.
WIDTH, CLASSES = 10, 8
LEARNING_RATE = 0.1

WORKLOADS: dict[str, Callable[[float], Comparison]] = {
    "glvq": lambda size: _generalized("GLVQ", size, 200.0),
    "gmlvq": lambda size: _generalized("GMLVQ", size, 50.0),
    "fuzzy-art": lambda size: _fuzzy_art(size),
}


def blobs(rows: int) -> tuple[Any, Any]:
    """Rows with noise of variance 1 around centres of variance 16, and their centres."""
    random = np.random.default_rng(0)
    centres = random.normal(scale=4.0, size=(CLASSES, WIDTH))
    y = random.integers(0, CLASSES, rows)
    return centres[y] + random.normal(size=(rows, WIDTH)), y


def _ours(name: str, X: Any, y: Any) -> Side:
    def prepare() -> Callable[[], Outcome]:
        model = getattr(prototype, name)(n_prototypes=1, learning_rate=LEARNING_RATE)

        def run() -> Outcome:
            model.learn_many(X, y)
            return Outcome(float(np.mean(model.predict_many(X[:2000]) == y[:2000])), model.memory)

        return run

    return Side("millstream", len(X), prepare)


def _adapted(peer: Any) -> Any:
    """A class of sklvq 0.1.2 with the checks of scikit-learn's current versions, which have other names."""
    from sklearn.utils.validation import validate_data

    class Adapted(peer):  # type: ignore[misc]
        """Only `fit`: other methods check their input by the old names too."""

        def _validate_data(self, X: Any, y: Any, **checks: Any) -> Any:
            checks.pop("force_all_finite", None)
            return validate_data(self, X, y, **checks)

    return Adapted


def _sklvq(name: str, X: Any, y: Any) -> Side:
    import sklvq

    steps = np.array([LEARNING_RATE, 0.01]) if name == "GMLVQ" else LEARNING_RATE

    def prepare() -> Callable[[], Outcome]:
        model = _adapted(getattr(sklvq, name))(
            activation_type="identity", solver_params={"max_runs": 1, "batch_size": 1, "step_size": steps}
        )

        def run() -> Outcome:
            model.fit(X, y)
            differences = X[:2000, None] - model.prototypes_
            if name == "GMLVQ":
                differences = differences @ model.omega_.T
            nearest = (differences**2).sum(axis=2).argmin(axis=1)
            return Outcome(float(np.mean(model.classes_[model.prototypes_labels_[nearest]] == y[:2000])))

        return run

    return Side("sklvq", len(X), prepare)


def _glvq_in_numpy(X: Any, y: Any) -> Side:
    """The same steps as ours, row by row."""

    def prepare() -> Callable[[], Outcome]:
        first = [int(np.flatnonzero(y == label)[0]) for label in range(CLASSES)]
        m = X[first].copy()

        def run() -> Outcome:
            labels = np.arange(CLASSES)
            for x, label in zip(X, y, strict=True):
                d = ((x - m) ** 2).sum(axis=1)
                own = int(label)
                other = int(np.where(labels == label, np.inf, d).argmin())
                factor = 4.0 * LEARNING_RATE / (d[own] + d[other]) ** 2
                m[own] += factor * d[other] * (x - m[own])
                m[other] -= factor * d[own] * (x - m[other])
            nearest = ((X[:2000, None] - m) ** 2).sum(axis=2).argmin(axis=1)
            return Outcome(float(np.mean(nearest == y[:2000])))

        return run

    return Side("NumPy, row by row", len(X), prepare)


def _generalized(name: str, size: float, goal: float) -> Comparison:
    X, y = blobs(max(1000, int(200_000 * size)))
    few = max(1000, int(2_000 * size))
    sides = [_ours(name, X, y), _sklvq(name, X[:few], y[:few])]
    if name == "GLVQ":
        sides.append(_glvq_in_numpy(X[:few], y[:few]))
    return Comparison(
        f"{name}, {CLASSES} classes of {WIDTH} columns, one prototype each, learn_many",
        "accuracy",
        sides,
        {"sklvq": goal},
        "sklvq 0.1.2 in batches of one row, one pass, adapted to the checks of the installed scikit-learn",
    )


def _fuzzy_art(size: float) -> Comparison:
    X, _ = blobs(max(1000, int(200_000 * size)))
    # As artlib scales them.
    X = (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0))
    few = X[: max(1000, int(2_000 * size))]

    def ours(rows: Any, name: str, repeats: int) -> Side:
        def prepare() -> Callable[[], Outcome]:
            # Several models, as the rows of artlib take a few milliseconds.
            models = [art.FuzzyART(vigilance=0.7, choice=0.01) for _ in range(repeats)]

            def run() -> Outcome:
                for model in models:
                    model.learn_many(rows)
                return Outcome(float(models[0]._numbers()["clusters"]), models[0].memory)

            return run

        return Side(name, repeats * len(rows), prepare)

    def theirs() -> Callable[[], Outcome]:
        from artlib import FuzzyART
        from artlib.common.utils import complement_code

        model, coded = FuzzyART(rho=0.7, alpha=0.01, beta=1.0), complement_code(few)

        def run() -> Outcome:
            model.fit(coded, max_iter=1)
            return Outcome(float(len(model.W)))

        return run

    return Comparison(
        f"fuzzy ART, vigilance 0.7, {WIDTH} columns, learn_many",
        "categories",
        [ours(few, "millstream", 50), Side("artlib", len(few), theirs), ours(X, "millstream, all rows", 1)],
        {"artlib": 50.0},
        "the same rows in the same order, with the same categories; tests compare them",
    )
