"""The probability simplex and the L1 ball.

Projection by sorting: Held, Wolfe and Crowder (1974); Duchi et al. (2008), figure 1.
"""

from __future__ import annotations

import math

import numpy as np

from millstream.errors import InvalidValue
from millstream.oco.sets import Set
from millstream.oco.vectors import Array, length, number

__all__ = ["L1Ball", "Simplex"]

#: Tolerance of the sum of weights, per weight.
_ROUNDING = 4 * float(np.finfo(np.float64).eps)


def onto_simplex(point: Array) -> Array:
    """The nearest vector of nonnegative weights with sum 1."""
    if (point >= 0).all() and abs(float(point.sum()) - 1.0) <= _ROUNDING * len(point):
        return point.copy()
    # Coordinates more than 1 below the greatest have no weight; clipping them prevents overflow.
    with np.errstate(over="ignore"):
        below = np.maximum(point - point.max(), -1.0)
    ordered = -np.sort(-below)
    sums = np.cumsum(ordered)
    counts = np.arange(1, len(point) + 1)
    kept = int(np.flatnonzero(ordered * counts > sums - 1.0)[-1])
    weights = np.maximum(below - (sums[kept] - 1.0) / (kept + 1), 0.0)
    return np.asarray(weights / weights.sum(), dtype=np.float64)


class Simplex(Set):
    """Nonnegative weights with sum 1: mixtures of experts, portfolios, probabilities.

    Parameters
    ----------
    dimension
        the number of weights; by default the length of the first loss

    Examples
    --------
    >>> from millstream import oco
    >>> oco.Simplex(3).project([0.8, 0.6, -1.0])
    array([0.6, 0.4, 0. ])
    """

    def __init__(self, dimension: int | None = None) -> None:
        super().__init__(self._project, diameter=math.sqrt(2.0), dimension=dimension)
        self._single()

    def _single(self) -> None:
        self.diameter = 0.0 if self.dimension == 1 else math.sqrt(2.0)

    def _sized(self, dimension: int) -> Simplex:
        return type(self)(length(self.name, "dimension", dimension))

    @property
    def has_minimiser(self) -> bool:
        return True

    def _project(self, point: Array) -> Array:
        return onto_simplex(point)

    def _contains(self, point: Array, tolerance: float) -> bool:
        return bool((point >= -tolerance).all()) and abs(float(point.sum()) - 1.0) <= tolerance * len(point)

    def _minimise(self, z: Array) -> Array:
        return np.asarray(self.minimise_linear_many(z[None])[0])

    def minimise_linear_many(self, losses: Array) -> Array:
        best = np.zeros(losses.shape)
        best[np.arange(len(losses)), losses.argmin(axis=1)] = 1.0
        return best

    def start(self) -> Array:
        return np.full(self.known, 1.0 / self.known)

    def diameter_in(self, norm: float) -> float:
        return 0.0 if self.dimension == 1 else {1.0: 2.0, 2.0: math.sqrt(2.0)}.get(norm, 1.0)

    def radius_from(self, point: Array) -> float:
        return math.sqrt(max(0.0, float(point @ point) - 2.0 * float(point.min()) + 1.0))

    def reach_from(self, point: Array) -> Array:
        return np.maximum(np.abs(1.0 - point), np.abs(point)) if len(point) > 1 else np.abs(1.0 - point)

    def __repr__(self) -> str:
        return f"Simplex({'' if self.dimension is None else self.dimension})"


class L1Ball(Set):
    """Vectors whose absolute values sum to at most a radius: favours sparse decisions.

    Parameters
    ----------
    radius
        the largest sum of absolute values
    dimension
        the length of a decision; by default that of the first loss

    Examples
    --------
    >>> from millstream import oco
    >>> oco.L1Ball(1.0).project([2.0, 0.5, 0.0])
    array([1., 0., 0.])
    """

    def __init__(self, radius: float = 1.0, dimension: int | None = None) -> None:
        self.radius = number("oco.L1Ball", "radius", radius)
        if self.radius < 0:
            raise InvalidValue(f"oco.L1Ball: radius must be at least 0, got {self.radius:g}")
        super().__init__(self._project, diameter=2 * self.radius, dimension=dimension)

    @property
    def has_minimiser(self) -> bool:
        return True

    def _project(self, point: Array) -> Array:
        with np.errstate(over="ignore"):
            inside = float(np.abs(point).sum()) <= self.radius * (1 + _ROUNDING * len(point))
        if inside:
            return point.copy()
        if self.radius == 0:
            return np.zeros_like(point)
        return np.copysign(onto_simplex(np.abs(point) / self.radius) * self.radius, point)

    def _contains(self, point: Array, tolerance: float) -> bool:
        return float(np.abs(point).sum()) <= self.radius + tolerance * (1 + self.radius)

    def _minimise(self, z: Array) -> Array:
        return np.asarray(self.minimise_linear_many(z[None])[0])

    def minimise_linear_many(self, losses: Array) -> Array:
        best = np.zeros(losses.shape)
        rows, indices = np.arange(len(losses)), np.abs(losses).argmax(axis=1)
        best[rows, indices] = -self.radius * np.sign(losses[rows, indices])
        return best

    def radius_from(self, point: Array) -> float:
        corner = self.radius + 2.0 * float(np.abs(point).max(initial=0.0))
        return math.sqrt(float(point @ point) + self.radius * corner)

    def reach_from(self, point: Array) -> Array:
        return self.radius + np.abs(point)

    def diameter_in(self, norm: float) -> float:
        return 2 * self.radius

    def __repr__(self) -> str:
        size = "" if self.dimension is None else f", dimension={self.dimension}"
        return f"L1Ball({self.radius:g}{size})"
