"""The level method, for a user's own losses and for sets that only have a projection.

Each value with its subgradient gives a plane below the sum. The maximum of the planes is a model of the sum from
below, and the minimum of the model is a lower bound. The next point is the one nearest to the last point at which
the model is below a level between the lower and the upper bound (Lemaréchal, Nemirovskii and Nesterov, 1995). The
minimiser of the model is evaluated as well: for piecewise linear losses it is exact after finitely many
iterations. In d dimensions about d iterations gain a digit, whatever the shape and the scale of the losses. Each
iteration evaluates the losses twice.

The certificate is the mixture of planes given by the multipliers of the model, minimised over the set itself
(`minorant.mixture`). Inexact multipliers make the certificate wider, never invalid.

A set that only has a projection is enclosed in a ball. A point outside the set adds the half-space at its
projection.
"""

from __future__ import annotations

import math

import numpy as np

from millstream.oco.bodies import Body, body_of
from millstream.oco.bounded import Ball
from millstream.oco.certificate import Bracket
from millstream.oco.interior import central_path
from millstream.oco.minorant import Minorant, mixture, radius_around
from millstream.oco.program import Program
from millstream.oco.sets import Set
from millstream.oco.vectors import Array

__all__ = ["level_method"]

#: Position of the level between the lower bound (0) and the upper bound (1).
_LEVEL = 0.5


class _Model:
    """Planes below the sum, half-spaces around the set, and the body that contains both."""

    def __init__(self, body: Body) -> None:
        self.body = body
        self.planes: list[Minorant] = []
        self.rows, self.heights = np.zeros((0, body.size)), np.zeros(0)
        self.used = np.zeros(0)
        self.walls, self.limits = body.rows, body.limits

    def add(self, plane: Minorant) -> None:
        """Add a plane, expressed at the origin of the body."""
        row = np.zeros((1, self.body.size))
        row[0, : self.body.coordinates] = self.body.inner(plane.slope[None])[0]
        height = plane.value + float(plane.slope @ (self.body.origin - plane.at))
        if math.isfinite(height) and np.isfinite(row).all():
            self.planes.append(plane)
            self.rows, self.heights = np.vstack([self.rows, row]), np.append(self.heights, height)
            self.used = np.append(self.used, math.inf)

    def enclose(self, outside: Array, nearest: Array) -> None:
        """The half-space of a point that the projection moved: ⟨outside − nearest, w − nearest⟩ ≤ 0."""
        normal = outside - nearest
        size = float(np.linalg.norm(normal))
        if size <= 1e-13 * (1.0 + float(np.linalg.norm(outside))):
            return
        normal = normal / size
        row = np.zeros((1, self.body.size))
        row[0, : self.body.coordinates] = self.body.inner(normal[None])[0]
        self.walls = np.vstack([self.walls, row])
        self.limits = np.append(self.limits, float(normal @ (nearest - self.body.origin)))

    def lowest(self, shift: float) -> tuple[Array, Array]:
        """The minimiser of the maximum of the planes, and the multiplier of each plane."""
        m, size = len(self.planes), self.body.size
        rows = np.block([[self.rows, -np.ones((m, 1))], [self.walls, np.zeros((len(self.walls), 1))]])
        limits = np.concatenate([shift - self.heights, self.limits])
        target = np.append(np.zeros(size), 1.0)
        x, slopes = self._solved(np.zeros((0, size + 1)), target, rows, limits, np.append(self.body.start, 0.0))
        self.used = np.where(np.isinf(self.used), 0.0, 0.7 * self.used) + slopes[:m]
        return x[:size], slopes[:m]

    def nearest(self, centre: Array, level: float) -> Array:
        """The point nearest to a centre among those with no plane above a level."""
        size, k = self.body.size, self.body.coordinates
        root, target = np.eye(k, size), np.zeros(size)
        target[:k] = -centre[:k]
        rows = np.vstack([self.rows, self.walls])
        limits = np.concatenate([level - self.heights, self.limits])
        return self._solved(root, target, rows, limits, self.body.start)[0]

    def _solved(self, root: Array, target: Array, rows: Array, limits: Array, start: Array) -> tuple[Array, Array]:
        none = np.zeros(len(limits), dtype=bool)
        ball = self.body.coordinates if self.body.round else 0
        program = Program(
            root, target, np.zeros((0, 0)), rows, limits, np.full(len(limits), np.inf), none, none, start, ball
        )
        found = start, np.zeros(len(limits))
        for x, slopes, nearer in central_path(program, most=60):
            if nearer:
                found = x, slopes
        return found

    def forget(self, most: int) -> None:
        """Drop the planes with the smallest recent multipliers."""
        if len(self.planes) > most:
            kept = np.sort(np.argsort(-self.used)[: most // 2])
            self.planes = [self.planes[index] for index in kept]
            self.rows, self.heights, self.used = self.rows[kept], self.heights[kept], self.used[kept]


def level_method(bracket: Bracket, decisions: Set, tolerance: float, most: int = 400) -> None:
    """Improve the best decision and the certificate of a bracket; stops at a tolerance or without progress."""
    begin = bracket.decision
    own = body_of(decisions) if decisions.bounded else None
    radius = decisions.diameter if decisions.bounded else radius_around(begin)
    body = own or body_of(Ball(radius, centre=begin))
    if body is None:
        return
    model = _Model(body)
    model.add(bracket.support(begin))
    centre, capacity = body.start, 40 + 10 * body.size
    last, stale = math.inf, 0
    for _ in range(most):
        point, weights = model.lowest(bracket.loss)
        if weights.sum() > 0:
            bracket.take(mixture(model.planes, weights, bracket.decision))
        gap = bracket.gap
        stale = stale + 1 if gap > 0.9 * last else 0
        last = min(last, gap)
        if bracket.within(tolerance) or stale > 10 + body.size:
            return
        _try(bracket, decisions, model, point)
        level = bracket.lower + _LEVEL * (bracket.loss - bracket.lower)
        if math.isfinite(level):
            centre = model.nearest(centre, level)
            _try(bracket, decisions, model, centre)
        model.forget(capacity)


def _try(bracket: Bracket, decisions: Set, model: _Model, point: Array) -> None:
    outside = model.body.decision(point)
    decision = decisions._project(outside)
    model.enclose(outside, decision)
    if math.isfinite(bracket.offer(decision)):
        model.add(bracket.total.minorant(decision))
