"""Convex minimisation over a decision set, with a certificate: how far from the least value the result can be.

Two methods, neither of which trusts a step size:

- smooth sums: accelerated projected gradient (Beck and Teboulle, 2009) with backtracking and restarts (O'Donoghue
and
  Candès, 2015). The certificate is the gap of Frank and Wolfe: f(u) ≥ f(w) + ⟨∇f(w), u − w⟩ for all u of the set.
- kinks, few dimensions: the ellipsoid method with deep cuts (Bland, Goldfarb and Todd, 1981). The best decision is
in
  every ellipsoid, so f* ≥ f(c) − √(gᵀPg).

Kinks in many dimensions are first rounded from below (Nesterov, 2005): what is then certified is below the true
least value, so it bounds that one too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from millstream.oco.bounded import Ball
from millstream.oco.sets import Set, WholeSpace
from millstream.oco.vectors import Array

__all__ = ["Minimum", "accelerated", "ellipsoid", "linear_gap"]

Both = Callable[[Array], tuple[float, Array]]


@dataclass(frozen=True)
class Minimum:
    """A best decision: what it costs, and how much less any other could cost at most."""

    #: The decision.
    decision: Array
    #: What it costs.
    loss: float
    #: No decision costs less than `loss - gap`; 0 for a closed form.
    gap: float
    #: How it was found.
    method: str


def linear_gap(decisions: Set, w: Array, gradient: Array) -> float:
    """An upper bound of ⟨∇, w − u⟩ over all decisions u, and so of f(w) − f(u)."""
    size = float(np.linalg.norm(gradient))
    if size == 0:
        return 0.0
    if not math.isfinite(size):
        return math.inf
    if decisions.has_minimiser:
        return max(0.0, float(gradient @ (w - decisions._minimise(gradient))))
    if isinstance(decisions, WholeSpace) or not decisions.bounded:
        # Among decisions of at most twice the length, or of length 1.
        return float(gradient @ w) + size * max(1.0, 2.0 * float(np.linalg.norm(w)))
    # A long step, projected: ⟨∇, v − u⟩ ≤ ‖w − v‖ D / s for v = Π(w − s∇), by the angle at the projection.
    found = math.inf
    for power in range(4):
        step = 10.0**power * decisions.diameter / size
        moved = decisions._project(w - step * gradient)
        away = w - moved
        along = float(gradient @ away)
        found = min(found, along + float(np.linalg.norm(away)) * decisions.diameter / step)
    return max(0.0, found)


def accelerated(
    both: Both, decisions: Set, start: Array, tolerance: float, most: int = 5000, smallest: float = 0.0
) -> tuple[Array, float, float]:
    """The decision, its value and a lower bound of the least value; `smallest` is a known strong convexity."""
    w = decisions._project(start)
    value, gradient = both(w)
    best, upper, lower = w, value, value - _gap(decisions, w, gradient, smallest)
    ahead, ahead_value, ahead_gradient = w, value, gradient
    size = float(np.linalg.norm(gradient))
    reach = decisions.diameter if decisions.bounded else max(1.0, float(np.linalg.norm(w)))
    curvature = max(size / max(reach, 1e-300), 1e-12)
    pace, restarted = 1.0, True
    for _ in range(most):
        if upper - lower <= tolerance * max(1.0, abs(upper)):
            break
        moved, moved_value, moved_gradient, curvature = _step(
            both, decisions, ahead, ahead_value, ahead_gradient, curvature
        )
        if not math.isfinite(moved_value):
            break
        below = moved_value - _gap(decisions, moved, moved_gradient, smallest)
        if decisions.bounded or smallest > 0:
            lower = max(lower, below)
        elif moved_value < upper:
            # Each certificate is about a ball of its own: that of the best decision is the one that counts.
            lower = below
        if moved_value < upper:
            best, upper = moved, moved_value
        if float(ahead_gradient @ (moved - w)) > 0 and not restarted:
            # Momentum leads uphill: begin again from where it was.
            ahead, (ahead_value, ahead_gradient), pace, restarted = w, both(w), 1.0, True
            continue
        following = (1.0 + math.sqrt(1.0 + 4.0 * pace * pace)) / 2.0
        ahead = moved + (pace - 1.0) / following * (moved - w)
        w, pace, restarted = moved, following, False
        ahead_value, ahead_gradient = both(ahead)
        if not (math.isfinite(ahead_value) and np.isfinite(ahead_gradient).all()):
            ahead, ahead_value, ahead_gradient, pace, restarted = w, moved_value, moved_gradient, 1.0, True
        curvature *= 0.9
    return best, upper, min(lower, upper)


def _gap(decisions: Set, w: Array, gradient: Array, smallest: float) -> float:
    curved = float(gradient @ gradient) / (2.0 * smallest) if smallest > 0 else math.inf
    return curved if smallest > 0 and not decisions.bounded else min(curved, linear_gap(decisions, w, gradient))


def _step(
    both: Both, decisions: Set, w: Array, value: float, gradient: Array, curvature: float
) -> tuple[Array, float, Array, float]:
    """A projected step that is short enough; the curvature it took."""
    while True:
        moved = decisions._project(w - gradient / curvature)
        moved_value, moved_gradient = both(moved)
        away = moved - w
        allowed = curvature / 2.0 * float(away @ away)
        # By values, or by slopes where values agree to the last digit.
        if math.isfinite(moved_value) and (
            moved_value <= value + float(gradient @ away) + allowed
            or float((moved_gradient - gradient) @ away) <= allowed
        ):
            return moved, moved_value, moved_gradient, curvature
        curvature *= 2.0
        if curvature > 1e280:
            return w, value, gradient, curvature


def ellipsoid(
    both: Both, decisions: Set, start: Array, tolerance: float, most: int = 40_000
) -> tuple[Array, float, float]:
    """The decision, its value and a lower bound of the least value; the set must be bounded."""
    centre = decisions._project(start)
    d = len(centre)
    shape = np.eye(d) * max(decisions.radius_from(centre), 1e-300) ** 2
    best, upper, lower = centre, math.inf, -math.inf
    for _ in range(most):
        inside = decisions._project(centre)
        value, gradient = both(inside)
        if not math.isfinite(value):
            # Outside the domain of the loss, which is on the side of the last good decision.
            value, gradient = math.inf, inside - best
            if not gradient.any():
                break
        if value < upper:
            best, upper = inside, value
        width = math.sqrt(max(float(gradient @ shape @ gradient), 0.0))
        slack = float(gradient @ (centre - inside))
        if math.isfinite(value):
            lower = max(lower, value + slack - width)
        if upper - lower <= tolerance * max(1.0, abs(upper)) or width == 0:
            break
        depth = (slack + (value - upper if math.isfinite(value) else 0.0)) / width
        cut, cut_width = gradient, width
        outward = centre - inside
        out_width = math.sqrt(max(float(outward @ shape @ outward), 0.0))
        out_depth = float(outward @ outward) / out_width if out_width > 0 else 0.0
        if out_depth > max(depth, 0.05) or depth <= -0.5 / d:
            cut, cut_width, depth = outward, out_width, out_depth
        if cut_width == 0 or depth >= 1:
            break
        along = shape @ cut / cut_width
        centre = centre - (1 + d * depth) / (d + 1) * along
        if d == 1:
            shape = shape * ((1 - depth) / 2) ** 2
        else:
            shrink = 2 * (1 + d * depth) / ((d + 1) * (1 + depth))
            shape = d * d / (d * d - 1) * (1 - depth * depth) * (shape - shrink * np.outer(along, along))
            shape = (shape + shape.T) / 2
    return best, upper, min(lower, upper)


def around(point: Array) -> Ball:
    """A ball in which the best decision of the whole space is looked for, once a good one is known."""
    return Ball(2.0 * float(np.linalg.norm(point)) + 1.0, dimension=len(point))
