"""The engine of regularised leaders: w minimises ⟨θ, w⟩ + R(w) / η, where θ sums all gradients so far.

Follow the regularised leader on linearised losses, dual averaging (lazy projection), mirror descent in its lazy
form, Hedge and exponentiated gradient are the same rule with different R.

The bound. For a nonincreasing rate, F(w) = ⟨θ, w⟩ + R(w)/η and any decision u,
    regret(u) ≤ (R(u) − min R) / η_T + Σ δ_t,    δ_t = F_t(w_t) + ⟨g_t, w_t⟩ − min (F_t + ⟨g_t, ·⟩),
(Orabona, 2019, lemma 7.1; Shalev-Shwartz, 2012, lemma 2.3 and theorem 2.11). Strong convexity gives
δ_t ≤ curvature · η_t · size(g_t)², and the set itself gives δ_t ≤ reach · size(g_t); the smaller one is summed.

The rate. By default, η_t = c / √(Σ_{s<t} size(g_s)²), c = √(spread / (2 · curvature)), needs neither the
number of rounds nor a bound on the gradients (Orabona and Pál, 2018); w₁ does not depend on it, so η_1 may be
taken as η_2 in the bound. For gradients of equal size G the bound is then 2 G √(2 · curvature · spread · T) +
reach · G: √(T ln N) for losses in [0, 1] on the simplex, up to the last term.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from millstream.errors import InvalidType, InvalidValue
from millstream.oco.learner import Bound, Engine, Terms, checked, over_rate
from millstream.oco.losses import Loss
from millstream.oco.regularisers import Regulariser
from millstream.oco.vectors import Array, positive, shown

__all__ = ["LEMMA", "Lazy", "Rate", "check_rate", "rate_at"]

#: A rate: None to adapt, a constant, or a function of the round, from 1.
Rate = float | Callable[[int], float] | None

LEMMA = "Shalev-Shwartz (2012), theorem 2.11, in the form of Orabona (2019), lemma 7.1"


def check_rate(who: str, rate: Any) -> Rate:
    """A valid learning rate, unchanged."""
    if rate is None or (callable(rate) and not isinstance(rate, type)):
        return rate
    if isinstance(rate, str):
        raise InvalidType(f"{who}: learning_rate must be a number, a function of the round or None, got {rate!r}")
    return positive(who, "learning_rate", rate)


def rate_at(who: str, rate: Callable[[int], float], round_: int) -> float:
    """The learning rate of a round by a function."""
    found = rate(round_)
    try:
        return positive(who, "learning_rate", found)
    except (InvalidType, InvalidValue):
        raise InvalidValue(
            f"{who}: learning_rate must return a number above 0, got {shown(found)} for round {round_}"
        ) from None


class Lazy(Engine):
    """θ, the sum of squared gradients, and the bound so far."""

    def __init__(
        self, who: str, regulariser: Regulariser, rate: Rate, radius: float, theorem: str = LEMMA
    ) -> None:
        self.who, self.regulariser, self.rate, self.theorem = who, regulariser, rate, theorem
        spread = regulariser.spread(None)
        if not math.isfinite(spread):
            spread = 0.5 * radius**2
        self.pace = math.sqrt(spread / (2.0 * regulariser.curvature))
        self.theta = np.zeros(len(regulariser.start))
        self.rounds, self.squares, self.spent, self.largest = 0, 0.0, 0.0, 0.0
        #: The rate of the last round, and whether rates are nonincreasing.
        self.last, self.falling = math.inf, True
        self._current: Array | None = None

    def _rates(self, squares: Array, first: int) -> Array:
        """The rate of each round, from the sum of squares before it; ∞ if that is 0."""
        if callable(self.rate):
            return np.array([rate_at(self.who, self.rate, first + index) for index in range(len(squares))])
        if self.rate is not None:
            return np.full(len(squares), self.rate)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(squares > 0, self.pace / np.sqrt(squares), math.inf)

    def _decisions(self, theta: Array, rates: Array) -> Array:
        known = np.isfinite(rates)
        if known.all():
            return self.regulariser.argmin(theta, rates)
        found = np.repeat(self.regulariser.start[None], len(theta), axis=0)
        if known.any():
            found[known] = self.regulariser.argmin(theta[known], rates[known])
        return found

    def decision(self) -> Array:
        if self._current is None:
            rates = self._rates(np.array([self.squares]), self.rounds + 1)
            self._current = self._decisions(self.theta[None], rates)[0]
        return self._current

    def learn(self, gradient: Array, w: Array, loss: Loss | None) -> None:
        # `_take` for one row with Python floats: the same operations in the same order.
        with np.errstate(over="ignore", invalid="ignore"):
            theta = self.theta + gradient
            size = float(self.regulariser.sizes(gradient[None])[0])
        squares = self.squares + size * size
        checked(self.who, theta, squares)
        if callable(self.rate):
            rate = rate_at(self.who, self.rate, self.rounds + 1)
        elif self.rate is not None:
            rate = self.rate
        elif self.squares > 0:
            rate = self.pace / math.sqrt(self.squares)
        else:
            rate = self.pace / math.sqrt(squares) if squares > 0 else math.inf
        if size > 0:
            step = self.regulariser.curvature * rate * size * size
            self.spent += min(step, self.regulariser.reach * size)
        moving = rate if squares > 0 else math.inf
        self.falling = self.falling and moving <= self.last
        self.theta, self.squares, self.last = theta, squares, moving
        self.largest = max(self.largest, size)
        self.rounds += 1
        self._current = None

    def many(self, losses: Array) -> Array | None:
        theta, squares = self._take(losses)
        first = self.rounds - len(losses) + 1
        return self._decisions(theta[:-1], self._rates(squares[:-1], first))

    def _take(self, rows: Array) -> tuple[Array, Array]:
        """Learn the rows; returns θ and the sums of squares before each row and after the last."""
        with np.errstate(over="ignore", invalid="ignore"):
            theta = np.cumsum(np.concatenate([self.theta[None], rows]), axis=0)
            sizes = self.regulariser.sizes(rows)
            squares = np.cumsum(np.concatenate([[self.squares], sizes * sizes]))
        checked(self.who, theta[-1], float(squares[-1]))
        rates = self._rates(squares[:-1], self.rounds + 1)
        later = self.pace / np.sqrt(np.where(squares[1:] > 0, squares[1:], math.inf))
        # The first decision does not depend on a rate; rounds before the first gradient use the next rate.
        used = np.where(np.isfinite(rates), rates, later)
        with np.errstate(invalid="ignore", over="ignore"):
            steps = np.where(sizes > 0, np.minimum(self._costs(used, sizes), self.regulariser.reach * sizes), 0.0)
        spent = np.cumsum(np.concatenate([[self.spent], steps]))
        moving = np.concatenate([[self.last], np.where(squares[1:] > 0, used, math.inf)])
        self.falling = self.falling and bool((moving[1:] <= moving[:-1]).all())
        self.theta, self.squares, self.spent = theta[-1].copy(), float(squares[-1]), float(spent[-1])
        self.last, self.largest = float(moving[-1]), max(self.largest, float(sizes.max(initial=0.0)))
        self.rounds += len(rows)
        self._current = None
        return theta, squares

    def _costs(self, rates: Array, sizes: Array) -> Array:
        return np.asarray(self.regulariser.curvature * rates * sizes * sizes)

    def terms(self) -> Terms:
        return {
            "rate": self.last,
            "spent": self.spent,
            "largest": self.largest,
            "falling": float(self.falling),
            "rounds": float(self.rounds),
        }

    def bound(self, terms: Terms, comparator: Array | None, best: float, switches: int) -> Bound | None:
        spread = self.regulariser.spread(comparator)
        if not terms["falling"] or not math.isfinite(spread):
            return None
        value = over_rate(spread, terms["rate"]) + terms["spent"]
        words, size = self.regulariser.words
        constants = {"B": spread, "G": terms["largest"], "η": terms["rate"], "κ": self.regulariser.curvature}
        constants |= {"T": terms["rounds"]}
        formula = f"B/η + Σ min(κ η size², reach · size), B = {words}, size = {size}"
        return Bound(self.theorem, formula, value, constants)
