"""Coordinates in which a decision set has an interior, for the interior-point method and the cutting planes.

A decision is written as w = origin + basis · x, where x lies in a full-dimensional body: the simplex in its affine
hull Σ w = 1, a box without the coordinates in which it is flat, and every set at a scale of 1. No matrix becomes
singular because a set is flat, and the size of a set does not matter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from millstream.oco.bounded import Ball, Box
from millstream.oco.polytopes import L1Ball, Simplex
from millstream.oco.sets import Set, WholeSpace
from millstream.oco.vectors import Array

__all__ = ["Body", "body_of", "extent", "only_decision"]


@dataclass(frozen=True)
class Body:
    """A decision set in its own coordinates: rows · x ≤ limits, and ‖x‖ ≤ 1 if it is round.

    The first variables are the coordinates of the decision; some sets have auxiliary variables.
    """

    origin: Array
    #: A column for each coordinate, or the scale of each if the coordinates are those of the decision.
    basis: Array
    rows: Array
    limits: Array
    #: A point inside.
    start: Array
    round: bool = False

    @property
    def size(self) -> int:
        """Number of variables."""
        return len(self.start)

    @property
    def coordinates(self) -> int:
        """Number of variables that determine the decision."""
        return int(self.basis.shape[-1])

    def decision(self, x: Array) -> Array:
        """The decision of a point."""
        inner = x[: self.coordinates]
        return self.origin + (self.basis * inner if self.basis.ndim == 1 else self.basis @ inner)

    def inner(self, rows: Array) -> Array:
        """Convert rows of coefficients of decisions to coefficients of coordinates."""
        return rows * self.basis if self.basis.ndim == 1 else rows @ self.basis


def body_of(decisions: Set) -> Body | None:
    """A bounded built-in set as a body; None for other sets and for a set of one decision."""
    if only_decision(decisions) is not None:
        return None
    d = decisions.known
    # A subclass may override the projection.
    if type(decisions) is Ball:
        middle = decisions._middle(d)
        return Body(middle, np.full(d, decisions.radius), np.zeros((0, d)), np.zeros(0), np.zeros(d), True)
    if type(decisions) is Box:
        half = decisions.high / 2 - decisions.low / 2
        basis = np.ones(d) * half if (half > 0).all() else np.diag(half)[:, half > 0]
        unit = np.eye(basis.shape[-1])
        middle = decisions.low / 2 + decisions.high / 2
        return Body(middle, basis, np.vstack([unit, -unit]), np.ones(2 * len(unit)), np.zeros(len(unit)))
    if type(decisions) is Simplex:
        basis = _across(d)
        return Body(np.full(d, 1.0 / d), basis, -basis, np.full(d, 1.0 / d), np.zeros(d - 1))
    if type(decisions) is L1Ball:
        # Auxiliary variables a ≥ |w| / radius, with Σ a ≤ 1.
        unit, none = np.eye(d), np.zeros((1, d))
        rows = np.block([[unit, -unit], [-unit, -unit], [none, np.ones((1, d))]])
        limits = np.append(np.zeros(2 * d), 1.0)
        start = np.concatenate([np.zeros(d), np.full(d, 0.5 / d)])
        return Body(np.zeros(d), np.full(d, decisions.radius), rows, limits, start)
    return None


def only_decision(decisions: Set) -> Array | None:
    """The only decision of a set; None if there are more."""
    if isinstance(decisions, WholeSpace) or decisions.diameter > 0:
        return None
    return decisions.start()


def extent(decisions: Set, rows: Array) -> tuple[Array, Array]:
    """The least and the greatest product of each row with a decision of a built-in set."""
    if type(decisions) is Simplex:
        return rows.min(axis=1), rows.max(axis=1)
    if type(decisions) is Box:
        middle = rows @ (decisions.low / 2 + decisions.high / 2)
        half = np.abs(rows) @ (decisions.high / 2 - decisions.low / 2)
    elif type(decisions) is Ball:
        middle = rows @ decisions._middle(rows.shape[1])
        half = np.linalg.norm(rows, axis=1) * decisions.radius
    elif type(decisions) is L1Ball:
        middle, half = np.zeros(len(rows)), np.abs(rows).max(axis=1) * decisions.radius
    else:
        middle, half = np.zeros(len(rows)), np.full(len(rows), np.inf)
    return middle - half, middle + half


def _across(d: int) -> Array:
    """An orthonormal basis of the vectors with sum 0: columns of the reflection of (1, …, 1)/√d onto an axis."""
    normal = np.full(d, 1.0 / math.sqrt(d))
    normal[0] += 1.0
    return np.asarray((np.eye(d) - np.outer(normal, normal) * (2.0 / float(normal @ normal)))[:, 1:])
