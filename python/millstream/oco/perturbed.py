"""Follow the perturbed leader: the best decision so far after adding random numbers to the losses.

Kalai and Vempala (2005), algorithm FPL and theorem 1.1. The perturbation is uniform on [0, 1/ε]^d, and for linear
losses z with ‖z‖₁ ≤ A whose cost varies by at most R over the set, of L1 diameter D,
    E[regret] ≤ ε R A T + D / ε.
Here ε is nonincreasing: with a perturbation ξ/ε_t for one ξ, be-the-leader costs D/ε_T, and E[regret] ≤ Σ min(ε_t
R_t A_t, R_t) + D/ε_T. Drawing a new ξ in each round does not change the expectation. By default, ε_t =
√(D / (2 Σ_{s<t} R_s A_s)).

R is the range of the cost here. The paper's |⟨d, s⟩| ≤ R bounds the difference of two costs by R only where costs
have one sign.
"""

from __future__ import annotations

import math

import numpy as np

from millstream.errors import InvalidValue
from millstream.oco.lazy import Rate, check_rate, rate_at
from millstream.oco.learner import Bound, Engine, Learner, Terms, checked, over_rate
from millstream.oco.losses import Loss
from millstream.oco.sets import Set
from millstream.oco.vectors import Array

__all__ = ["FollowThePerturbedLeader"]

_THEOREM = "Kalai and Vempala (2005), theorem 1.1 (a), in expectation over the learner's draws"


class _Perturbed(Engine):
    def __init__(self, who: str, decisions: Set, rate: Rate, seed: int) -> None:
        self.who, self.decisions, self.rate = who, decisions, rate
        self.diameter = decisions.diameter_in(1)
        self.theta = np.zeros(decisions.known)
        self.random = np.random.default_rng(seed)
        self.rounds, self.products, self.spent, self.largest = 0, 0.0, 0.0, 0.0
        self.last, self.falling = math.inf, True
        self._drawn: Array | None = None
        self._current: Array | None = None

    def _rates(self, products: Array, first: int) -> Array:
        if callable(self.rate):
            return np.array([rate_at(self.who, self.rate, first + index) for index in range(len(products))])
        if self.rate is not None:
            return np.full(len(products), self.rate)
        with np.errstate(divide="ignore"):
            return np.sqrt(self.diameter / (2.0 * products))

    def _decisions(self, theta: Array, rates: Array, drawn: Array) -> Array:
        return self.decisions.minimise_linear_many(theta + drawn / rates[:, None])

    def decision(self) -> Array:
        if self._current is None:
            if self._drawn is None:
                self._drawn = self.random.random(len(self.theta))
            rates = self._rates(np.array([self.products]), self.rounds + 1)
            self._current = self._decisions(self.theta[None], rates, self._drawn[None])[0]
        return self._current

    def learn(self, gradient: Array, w: Array, loss: Loss | None) -> None:
        self._take(gradient[None])

    def many(self, losses: Array) -> Array | None:
        if not len(losses):
            return losses
        first = self.decision()
        start, rounds = self._drawn, self.rounds
        theta, products = self._take(losses)
        fresh = self.random.random((len(losses) - 1, losses.shape[1]))
        drawn = np.concatenate([start[None] if start is not None else fresh[:0], fresh])
        taken = self._decisions(theta[:-1], self._rates(products[:-1], rounds + 1), drawn)
        taken[0] = first
        return taken

    def _take(self, rows: Array) -> tuple[Array, Array]:
        with np.errstate(over="ignore", invalid="ignore"):
            theta = np.cumsum(np.concatenate([self.theta[None], rows]), axis=0)
            low = (rows * self.decisions.minimise_linear_many(rows)).sum(axis=1)
            ranges = (rows * self.decisions.minimise_linear_many(-rows)).sum(axis=1) - low
            sizes = np.abs(rows).sum(axis=1)
            products = np.cumsum(np.concatenate([[self.products], ranges * sizes]))
        checked(self.who, theta[-1], float(products[-1]))
        rates = self._rates(products[:-1], self.rounds + 1)
        with np.errstate(invalid="ignore"):
            steps = np.where(ranges > 0, np.minimum(rates * ranges * sizes, ranges), 0.0)
        spent = np.cumsum(np.concatenate([[self.spent], steps]))
        every = np.concatenate([[self.last], rates])
        self.falling = self.falling and bool((every[1:] <= every[:-1]).all())
        self.theta, self.products, self.spent = theta[-1].copy(), float(products[-1]), float(spent[-1])
        self.last, self.largest = float(rates[-1]), max(self.largest, float(ranges.max()))
        self.rounds += len(rows)
        self._drawn = self._current = None
        return theta, products

    def terms(self) -> Terms:
        return {
            "rate": self.last,
            "spent": self.spent,
            "largest": self.largest,
            "falling": float(self.falling),
            "rounds": float(self.rounds),
        }

    def bound(self, terms: Terms, comparator: Array | None, best: float, switches: int) -> Bound | None:
        if not terms["falling"]:
            return None
        value = terms["spent"] + over_rate(self.diameter, terms["rate"])
        constants = {"D": self.diameter, "R": terms["largest"], "ε": terms["rate"], "T": terms["rounds"]}
        return Bound(_THEOREM, "D/ε + Σ min(ε R A, R)", value, constants, expected=True)


class FollowThePerturbedLeader(Learner):
    """The best decision so far after a random perturbation; requires only a minimiser of linear losses.

    Choose it for structured decisions such as the paths of a graph: there are too many paths to keep a weight for
    each, but a shortest path is found quickly. Pass the set as `oco.Set(…, minimise_linear=…)`. The bound holds in
    expectation over the random draws.

    Parameters
    ----------
    decisions
        the decision set: a simplex for experts, or any set with a minimiser of linear losses
    learning_rate
        ε, whose inverse is the size of the perturbation: a number, a function of the round (from 1), or None to
        adapt to the losses so far
    seed
        random seed of the perturbations

    Examples
    --------
    >>> import numpy as np
    >>> from millstream import oco
    >>> losses = np.random.default_rng(1).random((1000, 10)) * np.linspace(0.5, 1.0, 10)
    >>> report = oco.play(oco.FollowThePerturbedLeader(oco.Simplex(10), seed=3), losses)
    >>> print(round(report.regret, 1), "of at most", round(report.bound.value, 1), "on average")
    11.2 of at most 201.8 on average

    References
    ----------
    Kalai, A. and Vempala, S. (2005). Efficient algorithms for online decision problems.
    """

    def __init__(self, decisions: Set | int, learning_rate: Rate = None, seed: int = 0) -> None:
        self.learning_rate = check_rate(self.name, learning_rate)
        self.seed = seed
        super().__init__(decisions)

    def _make(self, decisions: Set) -> Engine:
        if not decisions.has_minimiser:
            raise InvalidValue(f"{self.name}: decisions must have a minimiser of linear losses, got {decisions!r}")
        if not decisions.bounded:
            raise InvalidValue(f"{self.name}: decisions must be bounded: pass diameter=… to the set")
        return _Perturbed(self.name, decisions, self.learning_rate, self.seed)
