"""Accelerated projected gradient, for sums in many dimensions and for sets that only have a projection.

The method is that of Beck and Teboulle (2009), with backtracking and restarts (O'Donoghue and Candès, 2015). It
stops by the gap of Frank and Wolfe, f(u) ≥ f(w) + ⟨∇f(w), u − w⟩, without a margin for rounding. The caller
computes the certificate, with that margin, from the last of the three results.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from millstream.oco.minorant import Minorant
from millstream.oco.sets import Set
from millstream.oco.vectors import Array

__all__ = ["accelerated"]

Both = Callable[[Array], tuple[float, Array]]


def accelerated(
    both: Both,
    decisions: Set,
    start: Array,
    tolerance: float,
    most: int = 5000,
    smallest: float = 0.0,
    scale: float = 1.0,
) -> tuple[Array, float, Array]:
    """The best decision, its value, and the decision at which the plane below the function is highest.

    `smallest` is a known strong convexity of the function. The tolerance is a fraction of the value, or of `scale`
    where the value is smaller.
    """
    w = decisions._project(start)
    value, gradient = both(w)
    best, upper, lower, highest = w, value, value - _gap(decisions, w, value, gradient, smallest), w
    ahead, ahead_value, ahead_gradient = w, value, gradient
    size = float(np.linalg.norm(gradient))
    reach = decisions.diameter if decisions.bounded else max(1.0, float(np.linalg.norm(w)))
    curvature = max(size / max(reach, 1e-300), 1e-12)
    pace, restarted = 1.0, True
    for _ in range(most):
        if upper - lower <= tolerance * max(abs(upper), scale):
            break
        moved, moved_value, moved_gradient, curvature = _step(
            both, decisions, ahead, ahead_value, ahead_gradient, curvature
        )
        if not math.isfinite(moved_value):
            break
        below = moved_value - _gap(decisions, moved, moved_value, moved_gradient, smallest)
        # On an unbounded set each gap refers to a different ball: only that of the best decision counts.
        if below > lower if decisions.bounded or smallest > 0 else moved_value < upper:
            lower, highest = below, moved
        if moved_value < upper:
            best, upper = moved, moved_value
        if float(ahead_gradient @ (moved - w)) > 0 and not restarted:
            # Momentum increases the value: restart from the last decision.
            ahead, (ahead_value, ahead_gradient), pace, restarted = w, both(w), 1.0, True
            continue
        following = (1.0 + math.sqrt(1.0 + 4.0 * pace * pace)) / 2.0
        ahead = moved + (pace - 1.0) / following * (moved - w)
        w, pace, restarted = moved, following, False
        ahead_value, ahead_gradient = both(ahead)
        if not (math.isfinite(ahead_value) and np.isfinite(ahead_gradient).all()):
            ahead, ahead_value, ahead_gradient, pace, restarted = w, moved_value, moved_gradient, 1.0, True
        curvature *= 0.9
    return best, upper, highest


def _gap(decisions: Set, w: Array, value: float, gradient: Array, smallest: float) -> float:
    plane = Minorant(w, value, gradient, 0.0, np.zeros_like(w), smallest)
    if smallest > 0 and not decisions.bounded:
        return value - plane.least_anywhere()
    return value - max(plane.least(decisions)[0], plane.least_anywhere())


def _step(
    both: Both, decisions: Set, w: Array, value: float, gradient: Array, curvature: float
) -> tuple[Array, float, Array, float]:
    """A projected step that is short enough, with the curvature that limits it."""
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
