"""k-nearest neighbours over a window."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from millstream._answers import each_row
from millstream._echo import typed
from millstream._native import Native
from millstream._part import forwarded
from millstream.base import Classifier, Features, Regressor
from millstream.errors import InvalidType, InvalidValue
from millstream.neighbors.engines import SearchEngine
from millstream.neighbors.function_metric import FunctionKNNClassifier, FunctionKNNRegressor, is_function
from millstream.neighbors.neighbor import Neighbor

__all__ = ["KNNClassifier", "KNNRegressor"]


def checked_count(who: str, n_neighbors: Any) -> int | None:
    """A number of neighbours; None for the parameter of the model."""
    if n_neighbors is None:
        return None
    if isinstance(n_neighbors, bool) or not hasattr(n_neighbors, "__index__"):
        raise InvalidType(f"{who}: n_neighbors must be an integer >= 1, got {typed(n_neighbors)}")
    count = int(n_neighbors.__index__())
    if count < 1:
        raise InvalidValue(f"{who}: n_neighbors must be an integer >= 1, got {count}")
    return min(count, 2**40)


#: River's parameters that have no counterpart, and what to write instead.
_UNSUPPORTED = {
    "weighted": 'use weights="distance" or weights="uniform"',
    "aggregation_method": 'use weights="distance" for "weighted_mean", or weights="uniform" for "mean"',
    "cleanup_every": "classes that have left the window get no votes",
    "softmax": "probabilities are fractions of the votes",
}


class _Windowed(Native):
    """What k-nearest-neighbour models over a window have in common."""

    unsupported: ClassVar[Mapping[str, str]] = _UNSUPPORTED

    def kneighbors_one(self, x: Features, n_neighbors: int | None = None) -> list[Neighbor]:
        """The stored rows that are nearest to one example, nearest first; `n_neighbors` of them, by default those
        that predict. Of rows at the same distance, the newer one comes first."""
        count = checked_count(self.name, n_neighbors)
        return [Neighbor(*found) for found in self._kneighbors_one(x, count)]

    def kneighbors_many(self, X: Any, n_neighbors: int | None = None) -> list[list[Neighbor]]:
        """The nearest stored rows of each row of `X`."""
        return list(each_row(lambda x: self.kneighbors_one(x, n_neighbors), X))


class KNNClassifier(_Windowed, Classifier):
    """k-nearest neighbours over a window: the vote of the most similar of the last rows.

    Choose it where similar rows have the same class and no simple formula describes the boundary, for up to a few
    dozen features. It follows drift, because it forgets rows older than the window. Each prediction reads the
    whole window, so the time is proportional to `window_size` times the number of features: about 5 microseconds
    for 1,000 rows of 10 features. See "Which neighbours?" in the documentation.

    The search is exact. Among rows at the same distance, newer rows rank first; among classes with the same vote,
    the one learned first is predicted. The votes of rows are multiplied by their sample weights.

    Rows are stored as they were given, and each number is divided by the scale of its feature when rows are
    compared. A scaler in front of the model would store each row with the scale of its time, so that rows from
    before and after a change of scale could not be compared. The scale is computed from all rows so far; centres
    do not matter for distances. The cosine divides by the scale and does not centre.

    Two different values of a nominal feature are 1 apart (overlap). If one of two rows lacks a feature, it does
    not count, and the sum over the other features is scaled up in proportion (partial distance). Rows that share
    no feature are infinitely far apart. A new feature is missing in older rows.

    Parameters
    ----------
    n_neighbors
        Number of nearest rows that predict.
    window_size
        Number of last learned rows that are searched.
    weights
        Weights of neighbours: "uniform", or "distance" for 1 / distance, where neighbours at distance 0 decide
        alone.
    metric
        Distance: "minkowski" with power `p`, "euclidean" or "l2", "manhattan" or "l1", "cosine", or a Python
        function of two dicts, which receives rows as they were given. A function is called for each stored row,
        without scaling; such a model runs in Python and is saved by pickle.
    p
        Power of the Minkowski distance: 1 for Manhattan, 2 for Euclidean.
    scale
        Divisor of numbers in distances: "standard" for the standard deviation, "min_max" for the range, None for
        no scaling.
    engine
        Index for approximate searches, such as `HNSW()`; None for an exact scan.

    Notes
    -----
    River's `weighted=True` is `weights="distance"`, and its `engine=LazySearch(window_size=…)` is `window_size`.
    River and scikit-learn do not scale: that is `scale=None`. Two models cannot be merged, because the rows of two
    windows have no common order.

    Examples
    --------
    >>> from millstream import neighbors
    >>> model = neighbors.KNNClassifier(n_neighbors=3)
    >>> for size, colour, y in [(1.0, "red", "cherry"), (1.2, "red", "cherry"), (8.0, "red", "apple"),
    ...                         (7.5, "green", "apple"), (9.0, "green", "apple")]:
    ...     model.learn_one({"size": size, "colour": colour}, y)
    >>> model.predict_one({"size": 1.5, "colour": "red"})
    'cherry'
    >>> model.predict_proba_one({"size": 1.5, "colour": "red"})
    {'cherry': 0.6666666666666666, 'apple': 0.3333333333333333}
    >>> [(round(near.distance, 2), near.y) for near in model.kneighbors_one({"size": 8.0}, 2)]
    [(0.0, 'apple'), (0.2, 'apple')]

    A function as metric:

    >>> def steps(a, b):
    ...     return abs(len(a["word"]) - len(b["word"]))
    >>> model = neighbors.KNNClassifier(n_neighbors=1, metric=steps)
    >>> model.learn_one({"word": "stream"}, "long")
    >>> model.learn_one({"word": "a"}, "short")
    >>> model.predict_one({"word": "mill"})
    'long'

    References
    ----------
    Cover, T. and Hart, P. (1967). Nearest neighbor pattern classification.
    Dixon, J. K. (1979). Pattern recognition with partly missing data.
    """

    name = "neighbors.KNNClassifier"

    def __new__(
        cls,
        n_neighbors: Any = 5,
        window_size: Any = 1000,
        weights: Any = "uniform",
        metric: Any = "minkowski",
        *others: Any,
        **more: Any,
    ) -> Any:
        if cls is KNNClassifier and is_function(metric):
            return FunctionKNNClassifier(n_neighbors, window_size, weights, metric, *others, **more)
        return super().__new__(cls)

    @forwarded
    def __init__(
        self,
        n_neighbors: int = 5,
        window_size: int = 1000,
        weights: str = "uniform",
        metric: str | Callable[[Any, Any], float] = "minkowski",
        p: float = 2.0,
        scale: str | None = "standard",
        engine: SearchEngine | str | None = None,
    ) -> None: ...


class KNNRegressor(_Windowed, Regressor):
    """k-nearest neighbours over a window, for regression: the mean target of the most similar of the last rows.

    Choose it where similar rows have similar targets and no simple formula relates them. It never predicts beyond
    the targets in its window. Distances, ties, scales, nominal and missing values are those of `KNNClassifier`.

    Parameters
    ----------
    n_neighbors
        Number of nearest rows that predict.
    window_size
        Number of last learned rows that are searched.
    weights
        Weights of neighbours: "uniform", or "distance" for 1 / distance, where neighbours at distance 0 decide
        alone.
    metric
        Distance: "minkowski" with power `p`, "euclidean" or "l2", "manhattan" or "l1", "cosine", or a Python
        function of two dicts, which receives rows as they were given. A function is called for each stored row,
        without scaling; such a model runs in Python and is saved by pickle.
    p
        Power of the Minkowski distance: 1 for Manhattan, 2 for Euclidean.
    scale
        Divisor of numbers in distances: "standard" for the standard deviation, "min_max" for the range, None for
        no scaling.
    engine
        Index for approximate searches, such as `HNSW()`; None for an exact scan.

    Notes
    -----
    River's `aggregation_method="weighted_mean"` is `weights="distance"`. The prediction before the first row is 0.

    Examples
    --------
    >>> import math
    >>> from millstream import neighbors
    >>> model = neighbors.KNNRegressor(n_neighbors=2, weights="distance")
    >>> for step in range(100):
    ...     model.learn_one({"angle": step / 10}, math.sin(step / 10))
    >>> round(model.predict_one({"angle": 1.55}), 3)
    0.999
    """

    name = "neighbors.KNNRegressor"

    def __new__(
        cls,
        n_neighbors: Any = 5,
        window_size: Any = 1000,
        weights: Any = "uniform",
        metric: Any = "minkowski",
        *others: Any,
        **more: Any,
    ) -> Any:
        if cls is KNNRegressor and is_function(metric):
            return FunctionKNNRegressor(n_neighbors, window_size, weights, metric, *others, **more)
        return super().__new__(cls)

    @forwarded
    def __init__(
        self,
        n_neighbors: int = 5,
        window_size: int = 1000,
        weights: str = "uniform",
        metric: str | Callable[[Any, Any], float] = "minkowski",
        p: float = 2.0,
        scale: str | None = "standard",
        engine: SearchEngine | str | None = None,
    ) -> None: ...
