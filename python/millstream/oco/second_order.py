"""Newton's method with a line search, for a decision that minimises a smooth sum up to rounding.

A method that stops by the value of a sum finds only half of the digits of its minimiser: at a distance of √u,
where u is the unit roundoff, values agree to the last digit. Newton's method stops by the gradient. Each step
minimises the quadratic model of the sum over the decision set (Boyd and Vandenberghe, 2004, section 9.5; over a
set, sequential quadratic programming). Built-in losses have a Hessian. The Hessian of a user's own losses is
computed by differences of their gradients, and reused while steps shrink tenfold, since it affects only the
speed of convergence.

For sums with kinks, and losses that are undefined near the decision, the method stops early and reports that it
has not converged. The caller then uses another method.
"""

from __future__ import annotations

import math

import numpy as np

from millstream.errors import MillstreamError
from millstream.oco.bodies import body_of
from millstream.oco.interior import central_path
from millstream.oco.program import assemble
from millstream.oco.rounding import UNIT
from millstream.oco.sets import Set, WholeSpace
from millstream.oco.total import Total
from millstream.oco.vectors import Array

__all__ = ["newton"]

#: Maximum dimension for a dense Hessian: on the whole space, on other sets, and for a user's own losses.
_DENSE, _BODY, _OWN = 2000, 600, 200
#: Fraction of the predicted descent that a step must achieve.
_ARMIJO = 1e-4
#: Below this fraction of the value, the square of Newton's decrement is too small for a line search by values.
_LOCAL = 1e-9
#: Below this fraction of the value the method has converged.
_CONVERGED = 1e-18
#: Below this fraction of the value, about u², only rounding errors remain.
_EXACT = 1e-31


def newton(total: Total, decisions: Set, start: Array, most: int = 60) -> tuple[Array, bool]:
    """The best decision found from a start, and whether the method has converged."""
    d = total.dimension
    whole = isinstance(decisions, WholeSpace)
    if d > (_OWN if total.own else _DENSE if whole else _BODY) or not (total.own or total.is_smooth):
        return start, False
    if not whole and body_of(decisions) is None:
        return start, False
    try:
        with np.errstate(all="ignore"):
            return _steps(total, decisions, decisions._project(start), most)
    except (MillstreamError, ArithmeticError, np.linalg.LinAlgError):
        # A user's own loss may be undefined where differences are taken.
        return start, False


def _steps(total: Total, decisions: Set, w: Array, most: int) -> tuple[Array, bool]:
    value, gradient = total.both(w)
    hessian: Array | None = None
    best, least, before, scale, stale = w, math.inf, math.inf, 1e-300, 0
    for _ in range(most):
        fresh = hessian is None
        if hessian is None:
            hessian = _hessian(total, w)
        step = _model_step(decisions, w, gradient, hessian)
        # The square of Newton's decrement. Unlike the slope along the step it does not cancel at a boundary.
        decrement = float(step @ hessian @ step)
        # Without the Hessian: differences across a kink can make it arbitrarily large.
        scale = max(abs(value), float(np.abs(gradient) @ np.abs(w)), 1e-300)
        if not math.isfinite(decrement):
            return best, False
        stale = 0 if decrement < 0.25 * least else stale + 1
        if decrement < least:
            best, least = w, decrement
        # Near the minimum, convergence is fast; a step without progress is due to rounding.
        if stale >= 3 or decrement <= _EXACT * scale or not (np.abs(step) > UNIT * np.abs(w)).any():
            break
        moved = _search(total, w, value, gradient, step, decrement <= _LOCAL * scale)
        if moved is None:
            if fresh:
                break
            hessian = None
            continue
        w, value, gradient = moved
        if not total.own or decrement > 0.01 * before:
            hessian = None
        before = decrement
    return best, least <= _CONVERGED * scale


def _search(
    total: Total, w: Array, value: float, gradient: Array, step: Array, local: bool
) -> tuple[Array, float, Array] | None:
    """The decision after a step that is short enough, with its value and gradient; None if there is none."""
    slope = min(float(gradient @ step), 0.0)
    for power in range(40):
        length = 0.5**power
        moved = w + length * step
        moved_value, moved_gradient = total.both(moved)
        if not (math.isfinite(moved_value) and np.isfinite(moved_gradient).all()):
            continue
        # Values that agree to many digits cannot be compared; then the full step is the best one.
        if local or moved_value <= value + _ARMIJO * length * slope:
            return moved, moved_value, moved_gradient
    return None


def _hessian(total: Total, w: Array) -> Array:
    """The Hessian of the built-in losses, plus that of own losses by forward differences."""
    found = total.hessian(w)
    if not total.own:
        return found
    own = sum((loss.gradient(w) for loss in total.own), np.zeros(len(w)))
    steps = math.sqrt(2.0 * UNIT) * np.maximum(np.abs(w), 1.0)
    columns = np.empty((len(w), len(w)))
    for index, length in enumerate(steps):
        beside = w.copy()
        beside[index] += length
        there = sum((loss.gradient(beside) for loss in total.own), np.zeros(len(w)))
        columns[index] = (there - own) / (beside[index] - w[index])
    return found + 0.5 * (columns + columns.T)


def _model_step(decisions: Set, w: Array, gradient: Array, hessian: Array) -> Array:
    """The step to the minimum of ⟨gradient, s⟩ + ½ sᵀ hessian s over the decision set."""
    scale = 1.0 / np.sqrt(np.maximum(np.diag(hessian), 1e-300))
    factor = np.linalg.cholesky(hessian * scale * scale[:, None])
    step = np.asarray(-scale * np.linalg.solve(factor.T, np.linalg.solve(factor, scale * gradient)))
    if isinstance(decisions, WholeSpace) or decisions._contains(w + step, 0.0):
        return step
    model = Total(len(w))
    model.square, model.quadratics = 0.5 * hessian, 1
    model.linear = gradient - hessian @ w
    body = body_of(decisions)
    assert body is not None
    program, _ = assemble(model, decisions, body)
    target = w
    for x, _, nearer in central_path(program):
        if nearer:
            target = decisions._project(body.decision(x))
    return target - w
