"""A stored row that is near to a query."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["Neighbor"]


class Neighbor(NamedTuple):
    """A stored row that is near to a query.

    Examples
    --------
    >>> from millstream import neighbors
    >>> model = neighbors.KNNRegressor(scale=None)
    >>> model.learn_one({"x": 3.0}, 10.0)
    >>> model.kneighbors_one({"x": 1.0})
    [Neighbor(distance=2.0, age=0, x={'x': 3.0}, y=10.0, w=1.0)]
    """

    #: Distance to the query.
    distance: float
    #: Number of rows that were learned after it.
    age: int
    #: Its features, without missing values.
    x: dict[Any, Any]
    #: Its target.
    y: Any
    #: Its sample weight.
    w: float
