"""Projection in a non-Euclidean norm: argmin (w − v)ᵀ H (w − v), for AdaGrad and the Newton step.

H is a diagonal, given as a vector, or a matrix. For a diagonal, boxes, balls, the simplex and the L1 ball have a
formula (sorted breakpoints, or one root). For a matrix, the ball has one root; other sets are iterated. On the
simplex and in a box, the active constraints are guessed and verified, which is exact if the guess is right.
"""

from __future__ import annotations

import numpy as np

from millstream.oco.bounded import Ball, Box
from millstream.oco.polytopes import L1Ball, Simplex
from millstream.oco.sets import Set, WholeSpace
from millstream.oco.vectors import Array

__all__ = ["project_in"]


def project_in(decisions: Set, point: Array, metric: Array, near: Array) -> Array:
    """The decision nearest to a point in the norm of the metric; `near` is an initial guess."""
    if isinstance(decisions, WholeSpace):
        return point
    if metric.ndim == 1:
        return _diagonal(decisions, point, metric, near)
    if decisions._contains(point, 0.0):
        return point
    if isinstance(decisions, Ball):
        return _ball(decisions, point, metric)
    return _iterated(decisions, point, metric, near)


def _diagonal(decisions: Set, point: Array, weights: Array, near: Array) -> Array:
    if isinstance(decisions, Box):
        return decisions._project(point)
    if decisions._contains(point, 0.0):
        return point
    if isinstance(decisions, Simplex):
        return _weighted_simplex(point, weights, 1.0)
    if isinstance(decisions, L1Ball):
        return np.copysign(_weighted_simplex(np.abs(point), weights, decisions.radius), point)
    return project_in(decisions, point, np.diag(weights), near)


def _weighted_simplex(point: Array, weights: Array, total: float) -> Array:
    """max(0, v − τ / h), with τ such that the weights have the required sum."""
    breaks = point * weights
    order = np.argsort(-breaks)
    shares = np.cumsum(1.0 / weights[order])
    levels = (np.cumsum(point[order]) - total) / shares
    kept = np.flatnonzero(breaks[order] > levels)
    level = levels[kept[-1] if len(kept) else 0]
    found = np.maximum(point - level / weights, 0.0)
    return np.asarray(found * (total / found.sum()) if found.sum() > 0 else found)


def _ball(ball: Ball, point: Array, metric: Array) -> Array:
    """(H + λ) (w − c) = H (v − c) with λ such that w is on the sphere."""
    middle = ball._middle(len(point))
    values, vectors = np.linalg.eigh(metric)
    values = np.maximum(values, values[-1] * 1e-16)
    aim = values * (vectors.T @ (point - middle))
    low, high = 0.0, float(np.linalg.norm(aim)) / max(ball.radius, 1e-300)
    for _ in range(200):
        shift = (low + high) / 2
        if float(np.linalg.norm(aim / (values + shift))) > ball.radius:
            low = shift
        else:
            high = shift
        if high - low <= 1e-15 * high:
            break
    return ball._project(middle + vectors @ (aim / (values + high)))


def _iterated(decisions: Set, point: Array, metric: Array, near: Array) -> Array:
    pull = metric @ point
    exact = _guess(decisions, pull, metric, near)
    if exact is not None:
        return exact
    values = np.linalg.eigvalsh(metric)
    top, bottom = float(values[-1]), max(float(values[0]), float(values[-1]) * 1e-14)
    ratio = (bottom / top) ** 0.5
    momentum = (1 - ratio) / (1 + ratio)
    w = ahead = near
    for turn in range(20_000):
        moved = decisions._project(ahead - (metric @ ahead - pull) / top)
        change = float(np.abs(moved - ahead).max())
        ahead, w = moved + momentum * (moved - w), moved
        if change <= 1e-13 * (1.0 + float(np.abs(w).max())):
            break
        if turn % 25 == 24 and (exact := _guess(decisions, pull, metric, w)) is not None:
            return exact
    return w


def _guess(decisions: Set, pull: Array, metric: Array, near: Array) -> Array | None:
    """The exact projection, if the same constraints are active there as at `near`."""
    if isinstance(decisions, Simplex):
        low, high, total = np.zeros_like(near), np.full_like(near, np.inf), 1.0
    elif isinstance(decisions, Box):
        low, high, total = decisions.low, decisions.high, None
    else:
        return None
    down, up = near <= low + 1e-12, near >= high - 1e-12
    fixed = down | up
    w = np.where(down, low, np.where(up, high, 0.0))
    free = np.flatnonzero(~fixed)
    level = 0.0
    if len(free):
        right = pull[free] - metric[np.ix_(free, np.flatnonzero(fixed))] @ w[fixed]
        try:
            solved = np.linalg.solve(metric[np.ix_(free, free)], np.column_stack([right, np.ones(len(free))]))
        except np.linalg.LinAlgError:
            return None
        if total is not None:
            level = float((solved[:, 0].sum() - total) / solved[:, 1].sum())
        w[free] = solved[:, 0] - level * solved[:, 1]
    slope = metric @ w - pull + level
    slack = 1e-11 * (1.0 + float(np.abs(pull).max()))
    inside = ((w >= low) & (w <= high)).all()
    pushed = (slope[down & ~up] >= -slack).all() and (slope[up & ~down] <= slack).all()
    return w if inside and pushed else None
