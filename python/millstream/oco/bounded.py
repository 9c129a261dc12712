"""Decision sets with bounded coordinates or bounded length."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from millstream.errors import InvalidValue
from millstream.oco.sets import Set
from millstream.oco.vectors import Array, number, shown, vector

__all__ = ["Ball", "Box"]


class Box(Set):
    """Vectors whose coordinates lie between two bounds.

    Parameters
    ----------
    low
        lower bounds: a vector, or one number for all coordinates
    high
        upper bounds: a vector, or one number for all coordinates
    dimension
        the length of a decision if both bounds are numbers; by default that of the first loss

    Examples
    --------
    >>> from millstream import oco
    >>> oco.Box([0.0, 0.0], [1.0, 2.0]).project([-1.0, 5.0])
    array([0., 2.])
    """

    def __init__(self, low: Any, high: Any, dimension: int | None = None) -> None:
        sizes = {np.shape(bound)[0] for bound in (low, high) if np.ndim(bound) == 1}
        if len(sizes | ({dimension} if dimension is not None else set())) > 1:
            raise InvalidValue(f"oco.Box: low and high must have the same length, got {sorted(sizes)}")
        size = sizes.pop() if sizes else dimension
        shape = 1 if size is None else size
        self.low, self.high = (
            vector("oco.Box", what, np.full(shape, bound) if np.ndim(bound) == 0 else bound, size)
            for what, bound in (("low", low), ("high", high))
        )
        if (self.low > self.high).any():
            index = int(np.flatnonzero(self.low > self.high)[0])
            raise InvalidValue(
                f"oco.Box: low must be at most high, "
                f"got {self.low[index]:g} and {self.high[index]:g} at index {index}"
            )
        diameter = float(np.linalg.norm(self.high - self.low)) if size is not None else math.inf
        super().__init__(self._project, diameter=diameter, dimension=size)

    def _sized(self, dimension: int) -> Self:
        return type(self)(float(self.low[0]), float(self.high[0]), dimension)

    @property
    def bounded(self) -> bool:
        return True

    @property
    def has_minimiser(self) -> bool:
        return True

    def _project(self, point: Array) -> Array:
        return np.clip(point, self.low, self.high)

    def _contains(self, point: Array, tolerance: float) -> bool:
        slack = tolerance * (1 + np.abs(point))
        return bool(((point >= self.low - slack) & (point <= self.high + slack)).all())

    def _minimise(self, z: Array) -> Array:
        return np.where(z > 0, self.low, np.where(z < 0, self.high, np.clip(0.0, self.low, self.high)))

    def project_many(self, points: Array) -> Array:
        return np.clip(points, self.low, self.high)

    def minimise_linear_many(self, losses: Array) -> Array:
        return self._minimise(losses)

    def diameter_in(self, norm: float) -> float:
        return float(np.linalg.norm(self.high - self.low, norm))

    def radius_from(self, point: Array) -> float:
        return float(np.linalg.norm(self.reach_from(point)))

    def reach_from(self, point: Array) -> Array:
        return np.maximum(self.high - point, point - self.low)

    def __repr__(self) -> str:
        if (self.low == self.low[0]).all() and (self.high == self.high[0]).all():
            size = "" if self.dimension is None else f", dimension={self.dimension}"
            return f"Box({self.low[0]:g}, {self.high[0]:g}{size})"
        return f"Box({shown(self.low.tolist())}, {shown(self.high.tolist())})"


class Ball(Set):
    """The Euclidean ball: vectors within a radius of a centre.

    Parameters
    ----------
    radius
        the radius
    centre
        the centre; by default 0
    dimension
        the length of a decision if no centre is given; by default that of the first loss

    Examples
    --------
    >>> from millstream import oco
    >>> oco.Ball(1.0).project([3.0, 4.0]).round(2)
    array([0.6, 0.8])
    """

    def __init__(self, radius: float = 1.0, centre: Any = None, dimension: int | None = None) -> None:
        self.radius = number("oco.Ball", "radius", radius)
        if self.radius < 0:
            raise InvalidValue(f"oco.Ball: radius must be at least 0, got {self.radius:g}")
        self.centre = None if centre is None else vector("oco.Ball", "centre", centre, dimension)
        size = dimension if self.centre is None else len(self.centre)
        super().__init__(self._project, diameter=2 * self.radius, dimension=size)

    @property
    def has_minimiser(self) -> bool:
        return True

    def _middle(self, size: int) -> Array:
        return np.zeros(size) if self.centre is None else self.centre

    def _project(self, point: Array) -> Array:
        middle = self._middle(len(point))
        with np.errstate(over="ignore"):
            away = point - middle
        size = float(np.abs(away).max())
        if not math.isfinite(size):
            away, size = point / 2 - middle / 2, float(np.abs(point / 2 - middle / 2).max())
        elif size <= self.radius and math.hypot(*away) <= self.radius:
            return point.copy()
        # Divided by the maximum first: the square of 1e200 overflows.
        direction = away / size
        return middle + direction * (self.radius / float(np.linalg.norm(direction)))

    def _contains(self, point: Array, tolerance: float) -> bool:
        return math.hypot(*(point - self._middle(len(point)))) <= self.radius + tolerance * (1 + self.radius)

    def _minimise(self, z: Array) -> Array:
        size = float(np.abs(z).max())
        direction = z / size if size > 0 else z
        return self._middle(len(z)) - direction * (self.radius / max(float(np.linalg.norm(direction)), 1.0))

    def diameter_in(self, norm: float) -> float:
        return self.diameter * (math.sqrt(self.known) if norm == 1 else 1.0)

    def radius_from(self, point: Array) -> float:
        return self.radius + float(np.linalg.norm(point - self._middle(len(point))))

    def reach_from(self, point: Array) -> Array:
        return self.radius + np.abs(point - self._middle(len(point)))

    def __repr__(self) -> str:
        middle = "" if self.centre is None else f", centre={shown(self.centre.tolist())}"
        size = "" if self.dimension is None or self.centre is not None else f", dimension={self.dimension}"
        return f"Ball({self.radius:g}{middle}{size})"
