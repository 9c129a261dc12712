"""AdaGrad: a step size per coordinate, or per direction, from the gradients observed there.

Duchi, Hazan and Singer (2011), in its mirror descent form. Diagonal, theorem 5: with s_i = ‖g_{1:T,i}‖₂,
    regret(u) ≤ max_t ‖w_t − u‖∞² / (2 η) · Σ s_i + η Σ s_i,     so √2 D∞ Σ s_i for η = D∞ / √2.
Full, theorem 7: the same with the Euclidean distance and tr(G^½), G = Σ g gᵀ.
"""

from __future__ import annotations

import math

import numpy as np

from millstream.errors import InvalidValue
from millstream.oco.learner import Bound, Engine, Learner, Terms, checked
from millstream.oco.losses import Loss
from millstream.oco.metric import project_in
from millstream.oco.sets import Set
from millstream.oco.vectors import Array, positive

__all__ = ["AdaGrad"]

#: Minimum weight of a direction, as a fraction of the largest gradient: the projection needs a norm.
_LEAST = 1e-10


class _AdaGrad(Engine):
    def __init__(self, who: str, decisions: Set, rate: float | None, radius: float, full: bool) -> None:
        self.who, self.decisions, self.full = who, decisions, full
        self.w = self.first = decisions.start()
        self.norm = 2.0 if full else math.inf
        reach = decisions.diameter_in(self.norm) if decisions.bounded else 2.0 * radius
        self.rate = rate if rate is not None else max(reach, 1e-300) / math.sqrt(2.0)
        d = len(self.w)
        self.sums = np.zeros((d, d)) if full else np.zeros(d)
        self.rounds, self.largest, self.farthest = 0, 0.0, 0.0
        #: Σ s_i or tr(G^½), and the contribution of the minimum weights to the norm.
        self.trace, self.extra = 0.0, 0.0

    def decision(self) -> Array:
        return self.w

    def learn(self, gradient: Array, w: Array, loss: Loss | None) -> None:
        with np.errstate(over="ignore", under="ignore"):
            square = float(gradient @ gradient)
        if square == 0:
            self.rounds += 1
            return
        largest = max(self.largest, math.sqrt(square))
        least = _LEAST * largest
        with np.errstate(over="ignore", invalid="ignore"):
            if self.full:
                sums = self.sums + np.outer(gradient, gradient)
                checked(self.who, square, sums)
                values, vectors = np.linalg.eigh(sums)
                roots = np.sqrt(np.maximum(values, 0.0))
                metric = (vectors * (roots + least)) @ vectors.T
                step = vectors @ ((vectors.T @ gradient) / (roots + least))
                extra = least
            else:
                sums = self.sums + gradient * gradient
                checked(self.who, square, sums)
                roots = np.sqrt(sums)
                metric = np.maximum(roots, least)
                step = gradient / metric
                extra = float((metric - roots).sum())
            moved = w - self.rate * step
        checked(self.who, moved)
        moved = project_in(self.decisions, moved, metric, w)
        self.w, self.sums, self.largest = moved, sums, largest
        self.trace, self.extra = float(roots.sum()), extra
        self.farthest = max(self.farthest, float(np.linalg.norm(moved - self.first, self.norm)))
        self.rounds += 1

    def terms(self) -> Terms:
        return {
            "trace": self.trace,
            "extra": self.extra,
            "farthest": self.farthest,
            "largest": self.largest,
            "rounds": float(self.rounds),
        }

    def bound(self, terms: Terms, comparator: Array | None, best: float, switches: int) -> Bound | None:
        if self.decisions.bounded:
            reach = self.decisions.diameter_in(self.norm)
        elif comparator is None:
            return None
        else:
            reach = terms["farthest"] + float(np.linalg.norm(comparator - self.first, self.norm))
        value = reach**2 / (2.0 * self.rate) * (terms["trace"] + terms["extra"]) + self.rate * terms["trace"]
        theorem = f"Duchi, Hazan and Singer (2011), theorem {'7' if self.full else '5'}"
        formula = "(D²/(2η) + η) tr(G^½)" if self.full else "(D∞²/(2η) + η) Σ ‖g_{1:T,i}‖₂"
        constants = {
            "D": reach,
            "η": self.rate,
            "trace": terms["trace"],
            "G": terms["largest"],
            "T": terms["rounds"],
        }
        return Bound(theorem, formula, value, constants)


class AdaGrad(Learner):
    """Gradient descent with larger steps in coordinates whose gradients have been small or rare.

    Choose it for sparse gradients and badly scaled features. Its regret is close to that of the best fixed scaling
    of the coordinates, or of the directions with `full`.

    Parameters
    ----------
    decisions
        the decision set
    learning_rate
        η; None for D / √2, the optimum of the theorem, or √2 · radius on an unbounded set
    full
        scale all directions, with a d × d matrix and its square root in each round, instead of the coordinates
    radius
        expected length of a good decision, used if the decision set is unbounded

    Examples
    --------
    >>> from millstream import oco
    >>> learner = oco.AdaGrad(oco.Box(-1.0, 1.0, dimension=2), learning_rate=0.1)
    >>> learner.observe([100.0, 0.01]), learner.decide().round(6).tolist()
    (0.0, [-0.1, -0.1])

    References
    ----------
    Duchi, J., Hazan, E. and Singer, Y. (2011). Adaptive subgradient methods for online learning and stochastic
    optimization.
    """

    def __init__(
        self,
        decisions: Set | int,
        learning_rate: float | None = None,
        full: bool = False,
        radius: float = 1.0,
    ) -> None:
        if callable(learning_rate):
            raise InvalidValue(
                f"{self.name}: learning_rate must be a number or None, got a function: AdaGrad sets the schedule"
            )
        self.learning_rate = None if learning_rate is None else positive(self.name, "learning_rate", learning_rate)
        self.full = bool(full)
        self.radius = positive(self.name, "radius", radius)
        super().__init__(decisions)

    def _make(self, decisions: Set) -> Engine:
        return _AdaGrad(self.name, decisions, self.learning_rate, self.radius, self.full)
