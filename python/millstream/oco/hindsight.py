"""The best decision in hindsight: fixed, or with a few switches.

There is a closed form for linear losses on every set, for squared distances (the projected mean), and for least
squares on the whole space. `solver.py` minimises all others. Every result has a certificate.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from millstream.errors import InvalidValue
from millstream.oco.losses import as_loss, as_losses
from millstream.oco.sets import Set
from millstream.oco.solver import Minimum, minimum
from millstream.oco.total import Total
from millstream.oco.vectors import Array, matrix

__all__ = ["best_decision", "best_sequence"]


def best_decision(losses: Any, decisions: Set, tolerance: float = 1e-8) -> Minimum:
    """The fixed decision with the least total loss, with a certificate.

    Parameters
    ----------
    losses
        a matrix of linear losses, or losses of any kind, as for `oco.play`
    decisions
        the decision set
    tolerance
        largest relative distance of its loss from the minimum

    Examples
    --------
    >>> from millstream import oco
    >>> best = oco.best_decision([[1.0, 0.0], [0.0, 3.0]], oco.Simplex(2))
    >>> best.decision.tolist(), best.loss, best.gap < 1e-12
    ([1.0, 0.0], 1.0, True)
    """
    batch = as_losses(losses)
    if batch is not None:
        total = Total(batch.dimension, keep=True)
        total.add_many(batch)
        return minimum(total, decisions.of_dimension(batch.dimension), tolerance)
    items = [as_loss(loss) for loss in losses]
    known = [loss.dimension for loss in items if loss.dimension is not None]
    decisions = decisions.of_dimension(known[0]) if known else decisions
    total = Total(decisions.known, keep=True)
    for loss in items:
        total.add(loss)
    return minimum(total, decisions, tolerance)


def best_sequence(losses: Any, switches: int) -> tuple[Any, Array]:
    """The best sequence of experts with at most `switches` switches, by dynamic programming.

    Parameters
    ----------
    losses
        a matrix of rounds by experts
    switches
        the largest number of changes from one expert to another

    Returns
    -------
    the expert of each round, and for each number of rounds the loss of the best such sequence

    Examples
    --------
    >>> from millstream import oco
    >>> path, cost = oco.best_sequence([[0, 1], [0, 1], [1, 0], [1, 0]], switches=1)
    >>> path.tolist(), cost.tolist()
    ([0, 0, 1, 1], [0.0, 0.0, 0.0, 0.0])
    """
    table = matrix("oco.best_sequence", "losses", losses)
    if isinstance(switches, bool) or int(switches) != switches or switches < 0:
        raise InvalidValue(f"oco.best_sequence: switches must be an integer >= 0, got {switches!r}")
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
