"""k-nearest neighbours with a Python function as metric.

The core does not call Python. The rows are therefore kept here, and the function is called for each of them.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from typing import Any, Self

from millstream import _core
from millstream._answers import each_row
from millstream._part import Part, describe, to_json
from millstream.base import Classifier, Features, Label, Regressor, check_example
from millstream.errors import InvalidType, InvalidValue
from millstream.neighbors.neighbor import Neighbor

__all__ = ["FunctionKNNClassifier", "FunctionKNNRegressor", "is_function"]

#: Smaller distances count as 0, because their inverse may overflow.
_ZERO = 1e-300


def is_function(metric: Any) -> bool:
    """Whether a metric is a Python function."""
    return callable(metric) and not isinstance(metric, type)


class _FunctionKNN(Part):
    """A window of rows, and the nearest of them by a function."""

    n_neighbors: int
    window_size: int
    weights: str

    def __init__(
        self,
        n_neighbors: int = 5,
        window_size: int = 1000,
        weights: str = "uniform",
        metric: Callable[[Any, Any], float] | None = None,
        p: float = 2.0,
        scale: str | None = "standard",
        engine: Any = None,
    ) -> None:
        # The core checks the other parameters.
        checked = {"n_neighbors": n_neighbors, "window_size": window_size, "weights": weights, "p": p}
        given = {name: describe(value) for name, value in checked.items()}
        _core.Model()._build(to_json({"name": self.name, "parameters": {**given, "scale": scale}}))
        if engine is not None:
            raise InvalidValue(f"{self.name}: engine must be None with a Python function as metric")
        self.n_neighbors, self.window_size, self.weights = int(n_neighbors), int(window_size), weights
        self.metric, self.p, self.scale, self.engine = metric, p, scale, engine
        #: The rows of the window with targets and weights, the oldest first.
        self._rows: deque[tuple[dict[Any, Any], Any, float]] = deque(maxlen=self.window_size)
        self._learned = 0

    @property
    def parameters(self) -> dict[str, Any]:
        names = ("n_neighbors", "window_size", "weights", "metric", "p", "scale", "engine")
        return {name: getattr(self, name) for name in names}

    @property
    def learned(self) -> int:
        """Number of learned examples."""
        return self._learned

    def describe(self) -> dict[str, Any]:
        raise InvalidType(f"{self.name}: a Python function as metric has no description; use pickle")

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        # Stored rows never change, so copies share them.
        copied = object.__new__(type(self))
        copied.__dict__.update(self.__dict__)
        copied._rows = self._rows.copy()
        return copied

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.__dict__.copy())

    def _distance(self, stored: dict[Any, Any], x: Features) -> float:
        called = getattr(self.metric, "__name__", type(self.metric).__name__)
        try:
            distance = float(self.metric(stored, x))  # type: ignore[misc]
        except Exception as error:
            message = f"{self.name}: the metric {called} raised {type(error).__name__}: {error}"
            raise InvalidValue(message) from error
        if not distance >= 0.0:
            raise InvalidValue(f"{self.name}: the metric {called} must return a number >= 0, got {distance}")
        return distance

    def kneighbors_one(self, x: Features, n_neighbors: int | None = None) -> list[Neighbor]:
        """The stored rows that are nearest to one example, nearest first."""
        from millstream.neighbors.knn import checked_count

        most = checked_count(str(self.name), n_neighbors) or self.n_neighbors
        # Newest first: sorting is stable, so of equal distances the newer row comes first.
        rows = list(self._rows)[::-1]
        distances = [self._distance(stored, x) for stored, _, _ in rows]
        order = sorted(range(len(rows)), key=distances.__getitem__)[:most]
        return [Neighbor(distances[age], age, dict(rows[age][0]), rows[age][1], rows[age][2]) for age in order]

    def kneighbors_many(self, X: Any, n_neighbors: int | None = None) -> list[list[Neighbor]]:
        """The nearest stored rows of each row of `X`."""
        return list(each_row(lambda x: self.kneighbors_one(x, n_neighbors), X))

    def _votes(self, x: Features) -> list[tuple[Any, float]]:
        """Targets of the nearest rows, with their weights."""
        found = self.kneighbors_one(x)
        votes = [1.0] * len(found)
        if self.weights == "distance" and found:
            exact = found[0].distance < _ZERO
            votes = [float(near.distance < _ZERO) if exact else 1.0 / near.distance for near in found]
            if not any(votes):
                votes = [1.0] * len(found)
        return [(near.y, vote * near.w) for near, vote in zip(found, votes, strict=True)]

    def _learn(self, x: Features, y: Any, w: float) -> None:
        check_example(self, y, w)
        if w > 0.0:
            row = dict(x)
            # A function that fails on a row must fail before the row is stored.
            self._distance(row, row)
            self._rows.append((row, y, float(w)))
            self._learned += 1


def _restored(cls: type, state: dict[str, Any]) -> Any:
    model: Any = object.__new__(cls)
    model.__dict__.update(state)
    return model


class FunctionKNNClassifier(_FunctionKNN, Classifier):
    """`KNNClassifier` with a Python function as metric."""

    name = "neighbors.KNNClassifier"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._classes: dict[Label, None] = {}

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        copied = super().__deepcopy__(memo)
        copied._classes = dict(self._classes)
        return copied

    @property
    def classes(self) -> list[Label]:
        """The classes so far."""
        return list(self._classes)

    def learn_one(self, x: Features, y: Any = None, w: float = 1.0) -> None:
        """Learn one example."""
        self._learn(x, y, w)
        if w > 0.0:
            self._classes.setdefault(y)

    def predict_proba_one(self, x: Features) -> dict[Label, float]:
        """The probability of each class for one example."""
        votes = self._votes(x)
        if not votes:
            return {}
        total = math.fsum(vote for _, vote in votes)
        shares = dict.fromkeys(self._classes, 0.0)
        for label, vote in votes:
            shares[label] += vote
        return {label: share / total for label, share in shares.items()}


class FunctionKNNRegressor(_FunctionKNN, Regressor):
    """`KNNRegressor` with a Python function as metric."""

    name = "neighbors.KNNRegressor"

    def learn_one(self, x: Features, y: Any = None, w: float = 1.0) -> None:
        """Learn one example."""
        self._learn(x, y, w)

    def predict_one(self, x: Features) -> float:
        """The weighted mean target of the nearest rows."""
        votes = self._votes(x)
        total = math.fsum(vote for _, vote in votes)
        return sum(float(y) * (vote / total) for y, vote in votes) if votes else 0.0


for _cls, _name in ((FunctionKNNClassifier, "KNNClassifier"), (FunctionKNNRegressor, "KNNRegressor")):
    _cls.__name__ = _name
