"""The best decision in hindsight: fixed, or with a few switches.

Linear losses have it in closed form on every set, squared distances too (the projected mean), least squares on the
whole space; the rest is left to `solver.py`, which says how far from the best it can be.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from millstream.errors import InvalidValue
from millstream.oco.losses import as_loss, as_losses
from millstream.oco.sets import Set, WholeSpace
from millstream.oco.solver import Minimum, accelerated, around, ellipsoid
from millstream.oco.total import Total
from millstream.oco.vectors import Array, matrix

__all__ = ["Minimum", "best_decision", "best_sequence", "minimum"]

#: Up to how many dimensions kinks are left to the ellipsoid method.
_FEW = 12


def best_decision(losses: Any, decisions: Set, tolerance: float = 1e-8) -> Minimum:
    """The one decision that would have cost least, with a certificate.

    Parameters
    ----------
    losses
        a matrix of linear losses, or losses of any kind, as for `oco.play`
    decisions
        the set it is looked for in
    tolerance
        how much above the least cost it may be, as a share of the cost

    Examples
    --------
    >>> from millstream import oco
    >>> best = oco.best_decision([[1.0, 0.0], [0.0, 3.0]], oco.Simplex(2))
    >>> best.decision.tolist(), best.loss, best.gap
    ([1.0, 0.0], 1.0, 0.0)
    """
    batch = as_losses(losses)
    if batch is not None:
        total = Total(batch.dimension)
        total.add_many(batch)
        return minimum(total, decisions.of_dimension(batch.dimension), tolerance)
    items = [as_loss(loss) for loss in losses]
    known = [loss.dimension for loss in items if loss.dimension is not None]
    decisions = decisions.of_dimension(known[0]) if known else decisions
    total = Total(decisions.known)
    for loss in items:
        total.add(loss)
    return minimum(total, decisions, tolerance)


def minimum(total: Total, decisions: Set, tolerance: float = 1e-8, start: Array | None = None) -> Minimum:
    """The decision that minimises a sum of losses."""
    if total.is_quadratic:
        found = _closed(total, decisions)
        if found is not None:
            return found
    begin = decisions.start() if start is None else start
    if total.is_smooth:
        smallest = _strong_convexity(total)
        w, value, lower = accelerated(total.both, decisions, begin, tolerance, smallest=smallest)
        return _minimum(w, value, lower, "accelerated projected gradient", decisions)
    return _with_kinks(total, decisions, tolerance, begin)


def _minimum(w: Array, value: float, lower: float, method: str, decisions: Set) -> Minimum:
    if not decisions.bounded:
        method += ", certified among decisions of at most twice its length, or of length 1"
    return Minimum(w, value, max(0.0, value - lower), method)


def _strong_convexity(total: Total) -> float:
    if total.square.size == 0:
        return 2.0 * total.spread
    return 2.0 * max(0.0, float(np.linalg.eigvalsh(total.matrix())[0]))


def _closed(total: Total, decisions: Set) -> Minimum | None:
    if total.is_linear:
        if not total.linear.any():
            return Minimum(decisions.start(), total.constant, 0.0, "no losses")
        if isinstance(decisions, WholeSpace):
            return None if decisions.bounded else _runaway(total)
        if decisions.has_minimiser:
            w = decisions._minimise(total.linear)
            with np.errstate(over="ignore"):
                value = float((total.linear * w).sum()) + total.constant
            return Minimum(w, value, 0.0, "closed form")
        return None
    if total.square.size == 0:
        w = decisions._project(-total.linear / (2.0 * total.spread))
        return Minimum(w, total.value(w), 0.0, "closed form: the projected mean")
    if isinstance(decisions, WholeSpace):
        w = np.asarray(np.linalg.lstsq(total.matrix(), -total.linear / 2.0, rcond=None)[0], dtype=np.float64)
        return Minimum(w, total.value(w), 0.0, "closed form: least squares")
    return None


def _runaway(total: Total) -> Minimum:
    """A linear loss on the whole space has no best decision: the longer, the better."""
    return Minimum(np.full(total.dimension, np.nan), -math.inf, 0.0, "unbounded: compare with a bounded set")


def _with_kinks(total: Total, decisions: Set, tolerance: float, begin: Array) -> Minimum:
    w, value, lower = begin, math.inf, -math.inf
    method = "accelerated projected gradient, kinks rounded"
    few = total.dimension <= _FEW
    if total.own:
        w, value, lower = accelerated(total.both, decisions, begin, tolerance, most=200)
        method = "accelerated projected gradient"
    elif not few or not decisions.bounded:
        scale = max(1.0, total.value(decisions._project(begin)) / max(total.count, 1))
        for power in range(7):
            width = scale * 10.0**-power
            w, _, below = accelerated(lambda v: total.both(v, width), decisions, w, tolerance / 4, most=1500)  # noqa: B023
            lower = max(lower, below)
            value = total.value(w)
            if value - lower <= tolerance * max(1.0, abs(value)):
                break
    certain = math.isfinite(value) and value - lower <= tolerance * max(1.0, abs(value))
    if not certain and (few or total.own):
        near = decisions if decisions.bounded else around(w)
        other, cost, below = ellipsoid(total.both, near, w, tolerance)
        if cost <= value:
            w, value, method = other, cost, "ellipsoid method"
        lower = max(lower, below) if decisions.bounded else below
    return _minimum(w, value, lower, method, decisions)


def best_sequence(losses: Any, switches: int) -> tuple[Any, Array]:
    """The cheapest sequence of experts with at most so many switches, by dynamic programming.

    Parameters
    ----------
    losses
        a matrix of rounds by experts
    switches
        how often another expert may be followed

    Returns
    -------
    the expert of each round, and what the best such sequence for each number of rounds costs

    Examples
    --------
    >>> from millstream import oco
    >>> path, cost = oco.best_sequence([[0, 1], [0, 1], [1, 0], [1, 0]], switches=1)
    >>> path.tolist(), cost.tolist()
    ([0, 0, 1, 1], [0.0, 0.0, 0.0, 0.0])
    """
    table = matrix("oco.best_sequence", "losses", losses)
    if isinstance(switches, bool) or int(switches) != switches or switches < 0:
        raise InvalidValue(f"oco.best_sequence: switches must be a whole number of at least 0, got {switches!r}")
    rounds, experts = table.shape
    switches = min(int(switches), max(rounds - 1, 0))
    #: cost[k, i]: the least cost so far of a sequence that ends with expert i after at most k switches.
    cost = np.zeros((switches + 1, experts))
    came = np.empty((rounds, switches + 1), dtype=np.int64)
    stayed = np.ones((rounds, switches + 1, experts), dtype=bool)
    prefix = np.empty(rounds)
    for t, row in enumerate(table):
        if t:
            came[t] = cost.argmin(axis=1)
            cheapest = cost.min(axis=1)
            stayed[t, 1:] = cost[1:] <= cheapest[:-1, None]
            cost[1:] = np.minimum(cost[1:], cheapest[:-1, None])
        cost += row
        prefix[t] = cost[-1].min()
    path = np.empty(rounds, dtype=np.int64)
    k, i = switches, int(cost[-1].argmin()) if rounds else 0
    for t in range(rounds - 1, -1, -1):
        path[t] = i
        if t and not stayed[t, k, i]:
            k -= 1
            i = int(came[t, k])
    return path, prefix
