"""Convex minimisation over a decision set, with a certificate that bounds the distance from the minimum.

The method depends on the losses and on the set:

- Built-in losses over a built-in set: a primal-dual interior-point method (`interior.py`). Absolute and hinge
  losses over a box, a simplex or an L1 ball are linear programs. The simplex method would solve these exactly, but
  it needs a guard against cycling and does not cover balls, quadratics, softplus and logarithms. The
  interior-point method covers all of them and reaches the precision of the arithmetic in a few dozen steps, also
  for flat sets, degenerate vertices and data of different scales. An ellipsoid method needs on the order of d²
  steps for a digit.
- A user's own losses or set in few dimensions: cutting planes by the level method (`bundle.py`), which needs only
  values and subgradients.
- If a learner needs the minimiser itself and not only a low value: Newton's method (`second_order.py`), which
  stops by the gradient.
- Smooth losses on a user's own set, and many dimensions: accelerated projected gradient (`accelerated.py`), where
  kinks are first replaced by smooth functions from below (Nesterov, 2005).

The certificate does not depend on the method (`minorant.py`, `certificate.py`). Any slopes give a plane below the
losses. Its minimum over the set has a closed form, which is computed with a margin for the rounding of every
operation. So the certificate holds on every processor, and a failing method can only make it wide. In particular,
no internal quantity of a method, such as the width of an ellipsoid, which rounding can make 0, enters the
certificate.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from millstream.oco.accelerated import accelerated
from millstream.oco.bodies import body_of, only_decision
from millstream.oco.bundle import level_method
from millstream.oco.certificate import Bracket, Minimum
from millstream.oco.interior import central_path
from millstream.oco.program import assemble, slopes_of, whitened
from millstream.oco.second_order import newton
from millstream.oco.sets import Set, WholeSpace
from millstream.oco.total import Total
from millstream.oco.vectors import Array

__all__ = ["Minimum", "minimum"]

#: Maximum number of variables for the interior-point method, whose steps have cubic cost.
_MANY = 600
#: Maximum dimension for cutting planes, for kinks of built-in losses and for a user's own losses.
_FEW, _FEW_OWN = 30, 200
#: Steps along the gradient of a user's own losses, which may be smooth, before cutting planes.
_OWN_STEPS = 80


def minimum(
    total: Total,
    decisions: Set,
    tolerance: float = 1e-8,
    start: Array | None = None,
    certify: bool = True,
    exact: bool = False,
) -> Minimum:
    """The decision that minimises a sum of losses, with its certificate; `start` is a guess.

    Without `certify`, a closed form has no certificate, and its gap is infinite. The tolerance is about the value;
    with `exact`, a smooth sum is minimised until its gradient is as small as rounding allows.
    """
    if total.is_linear and isinstance(decisions, WholeSpace) and total.linear.any():
        return _runaway(total)
    closed = _closed(total, decisions)
    if closed is not None:
        decision, method = closed
        if not certify:
            return Minimum(decision, total.value(decision), math.inf, method)
        bracket = Bracket(total, decisions, decision)
        bracket.support(decision)
        return bracket.minimum(method)
    begin = decisions.start() if start is None else start
    # In other sets, the interior-point method is as precise for built-in losses.
    if exact and (total.own or isinstance(decisions, WholeSpace)):
        decision, converged = newton(total, decisions, begin)
        if converged:
            return _newton(total, decisions, decision, certify)
    bracket = Bracket(total, decisions, decisions._project(begin))
    if _interior(bracket, tolerance):
        return bracket.minimum("interior-point method")
    _first_order(bracket, tolerance)
    if exact:
        decision, converged = newton(total, decisions, bracket.decision)
        if converged:
            return _newton(total, decisions, decision, certify)
    few = total.dimension <= (_FEW_OWN if total.own else _FEW)
    if not bracket.within(tolerance) and few and not total.is_smooth:
        level_method(bracket, decisions, tolerance)
        return bracket.minimum("level method")
    rounded = "" if total.own or total.is_smooth else ", kinks rounded"
    return bracket.minimum(f"accelerated projected gradient{rounded}")


def _newton(total: Total, decisions: Set, decision: Array, certify: bool) -> Minimum:
    if not certify:
        return Minimum(decision, total.value(decision), math.inf, "Newton's method")
    bracket = Bracket(total, decisions, decision)
    bracket.support(decision)
    return bracket.minimum("Newton's method")


def _runaway(total: Total) -> Minimum:
    """The result for a linear loss on the whole space, which has no best decision."""
    return Minimum(np.full(total.dimension, np.nan), -math.inf, 0.0, "unbounded: compare with a bounded set")


def _closed(total: Total, decisions: Set) -> tuple[Array, str] | None:
    """The best decision in closed form, and the name of the formula."""
    only = only_decision(decisions)
    if only is not None:
        return only, "closed form: the only decision"
    if not total.is_quadratic:
        return None
    if total.is_linear:
        if not total.linear.any():
            return decisions.start(), "no losses"
        return (decisions._minimise(total.linear), "closed form") if decisions.has_minimiser else None
    slope = total.linear + total.pull
    if total.square.size == 0:
        return decisions._project(-slope / (2.0 * total.spread)), "closed form: the projected mean"
    if isinstance(decisions, WholeSpace):
        found = np.linalg.lstsq(total.matrix(), -slope / 2.0, rcond=None)[0]
        return np.asarray(found, dtype=np.float64), "closed form: least squares"
    return None


def _interior(bracket: Bracket, tolerance: float) -> bool:
    """Follow the central path of built-in losses over a built-in set; returns whether the result is certain."""
    total, decisions = bracket.total, bracket.decisions
    if total.own:
        return False
    body = whitened(total) if isinstance(decisions, WholeSpace) else body_of(decisions)
    if body is None or body.size > _MANY:
        return False
    program, parts = assemble(total, decisions, body)
    for x, slopes, nearer in central_path(program):
        decision = decisions._project(body.decision(x))
        if math.isfinite(bracket.offer(decision, settled=nearer)):
            bracket.support(decision, slopes_of(parts, slopes))
    return bracket.within(tolerance)


def _first_order(bracket: Bracket, tolerance: float) -> None:
    """Accelerated projected gradient; kinks are replaced by ever closer smooth functions from below."""
    total, decisions = bracket.total, bracket.decisions
    if total.own or total.is_smooth:
        most = _OWN_STEPS if total.own else 5000
        w, _, highest = accelerated(
            total.both, decisions, bracket.decision, tolerance / 2, most, total.least_curvature(), bracket.scale
        )
        bracket.offer(w)
        bracket.support(highest)
        bracket.support(bracket.decision)
        return
    w = bracket.decision
    scale = max(bracket.loss / max(total.count, 1), 1e-300) if math.isfinite(bracket.loss) else 1.0
    for power in range(7):
        width = scale * 10.0**-power
        rounded = partial(total.both, width=width)
        w, _, highest = accelerated(rounded, decisions, w, tolerance / 4, most=1500, scale=bracket.scale)
        bracket.offer(w)
        bracket.support(highest, total.slopes(highest, width))
        if bracket.within(tolerance):
            return
