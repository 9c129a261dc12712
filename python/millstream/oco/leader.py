"""Follow the leader, and its regularised form."""

from __future__ import annotations

import math

import numpy as np

from millstream.errors import InvalidValue
from millstream.oco.geometries import as_regulariser
from millstream.oco.lazy import LEMMA, Lazy, Rate, check_rate
from millstream.oco.learner import Bound, Engine, Learner, Terms, checked
from millstream.oco.losses import Linear, Loss
from millstream.oco.regularisers import Quadratic, Regulariser
from millstream.oco.sets import Set, WholeSpace
from millstream.oco.solver import minimum
from millstream.oco.total import Total
from millstream.oco.vectors import Array, positive

__all__ = ["FTRL", "FollowTheLeader"]


class _Leader(Engine):
    """The sum of all losses so far, and the decision that minimises it.

    McMahan (2017) with no regulariser: if the losses are σ_t-strongly convex, regret ≤ ½ Σ ‖g_t‖² /
    Σ_{s≤t} σ_s. Shalev-Shwartz (2012), corollary 2.2 is the case of squared distances.

    This holds for exact leaders. In general, regret is at most Σ_t F_t(w_t) − min F_t, where F_t sums the losses
    up to round t. If w_t minimises F_{t−1} up to a gradient of length e, the summand is at most (‖g_t‖ + e)² / (2
    Σ σ_s). If w_t minimises F_{t−1} up to a value of ε, it is at most ε plus that term with e² = 2 ε Σ_{s<t} σ_s.
    The bound thus holds in floating point too, even for squared distances, for which it is an equality.
    """

    def __init__(self, who: str, decisions: Set) -> None:
        self.who, self.decisions = who, decisions
        self.total, self.w = Total(decisions.known), decisions.start()
        self.spent, self.largest, self.strong, self.rounds = 0.0, 0.0, True, 0
        #: Upper bound on the distance of the leader's loss from the minimum, if a solver found it.
        self.gap = math.inf

    def decision(self) -> Array:
        return self.w

    def learn(self, gradient: Array, w: Array, loss: Loss | None) -> None:
        # Losses are added to a copy, which replaces the sum only if there is a leader.
        held = self.total.copy()
        held.add(Linear(gradient) if loss is None else loss)
        best = minimum(held, self.decisions, start=w, certify=bool(held.own))
        if not math.isfinite(best.loss):
            raise InvalidValue(
                f"{self.who}: a linear loss has no leader on the whole space; bound the decisions, or use FTRL"
            )
        checked(self.who, best.decision, held.linear, held.pull)
        with np.errstate(over="ignore"):
            size = float(np.linalg.norm(gradient))
            self.strong = self.strong and held.strong_convexity > self.total.strong_convexity
            if self.strong:
                self.spent += self._cost(size, held.strong_convexity)
        self.total, self.w, self.gap = held, best.decision, best.gap
        self.largest = max(self.largest, size)
        self.rounds += 1

    def _cost(self, size: float, sigma: float) -> float:
        """The summand of the bound for a gradient of the given size; `sigma` is Σ σ_s including this round."""
        if not self.rounds:
            return 0.5 * size * size / sigma
        if not self.total.own:
            # A projected mean: its gradient is normal to the set, up to rounding.
            return 0.5 * (size + float(np.linalg.norm(self.total.minorant(self.w).slope_error))) ** 2 / sigma
        plane = self.total.minorant(self.w)
        by_gradient = plane.value - plane.least(self.decisions)[0] + 0.5 * size * size / sigma
        shift = math.sqrt(2.0 * self.gap * self.total.strong_convexity)
        return min(by_gradient, self.gap + 0.5 * (size + shift) ** 2 / sigma)

    def many(self, losses: Array) -> Array | None:
        if not self.total.is_linear or isinstance(self.decisions, WholeSpace) or not self.decisions.has_minimiser:
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            sums = np.cumsum(np.concatenate([self.total.linear[None], losses]), axis=0)
        checked(self.who, sums[-1])
        taken = self.decisions.minimise_linear_many(sums)
        taken[~sums.any(axis=1)] = self.decisions.start()
        taken[0] = self.w
        self.total.linear, self.w = sums[-1].copy(), taken[-1].copy()
        self.total.linear_size = self.total.linear_size + np.abs(losses).sum(axis=0)
        self.total.count += len(losses)
        self.rounds += len(losses)
        self.strong = self.strong and not len(losses)
        return taken[:-1]

    def terms(self) -> Terms:
        sigma = self.total.strong_convexity / self.rounds if self.rounds else 0.0
        return {
            "spent": self.spent,
            "strong": float(self.strong),
            "largest": self.largest,
            "sigma": sigma,
            "rounds": float(self.rounds),
        }

    def bound(self, terms: Terms, comparator: Array | None, best: float, switches: int) -> Bound | None:
        if not terms["strong"]:
            return None
        formula = "½ Σ ‖g_t‖² / (σ_1 + … + σ_t), at most G² (1 + ln T) / (2 σ)"
        constants = {"G": terms["largest"], "σ": terms["sigma"], "T": terms["rounds"]}
        theorem = "Shalev-Shwartz (2012), corollary 2.2; McMahan (2017), section 3"
        return Bound(theorem, formula, terms["spent"], constants)


class FollowTheLeader(Learner):
    """Follow the leader: the decision that minimises the sum of the losses so far.

    Choose it for strongly convex losses, for which regret is of order log T. On linear losses an adversary can
    make its regret grow with every round; use `FTRL` for these. Linear and squared losses are summed, so the
    cost of a round is constant. Other losses are stored, and the cost of a round grows with their number.

    Parameters
    ----------
    decisions
        the decision set

    Examples
    --------
    >>> from millstream import oco
    >>> # For squared distances, the leader is the mean of the observed points.
    >>> learner = oco.FollowTheLeader(oco.Ball(1.0, dimension=1))
    >>> for x in (1.0, 0.0, 0.5):
    ...     cost = learner.observe(oco.SquaredDistance([x]))
    >>> learner.decide()
    array([0.5])

    References
    ----------
    Shalev-Shwartz, S. (2012). Online learning and online convex optimization, section 2.2.
    """

    def __init__(self, decisions: Set | int) -> None:
        super().__init__(decisions)

    def _make(self, decisions: Set) -> Engine:
        return _Leader(self.name, decisions)


class _ExactLeader(Lazy):
    """Minimises the sum of the losses themselves plus R / η, without linear approximations."""

    def __init__(self, who: str, decisions: Set, rate: Rate, radius: float) -> None:
        super().__init__(who, Quadratic().on(decisions), rate, radius)
        self.decisions, self.total = decisions, Total(decisions.known)
        #: The decision of the last round, at which the search for the next one starts.
        self.near: Array | None = None

    def decision(self) -> Array:
        if self._current is None:
            rate = float(self._rates(np.array([self.squares]), self.rounds + 1)[0])
            start = self.regulariser.start
            if not math.isfinite(rate) or rate == 0:
                # No gradient yet, or only one decision.
                self._current = start
            else:
                whole = self.total.copy()
                whole.add_distance(start, 0.5 / rate)
                near = start if self.near is None else self.near
                self._current = minimum(whole, self.decisions, start=near, certify=False, exact=True).decision
            self.near = self._current
        return self._current

    def learn(self, gradient: Array, w: Array, loss: Loss | None) -> None:
        before = dict(self.__dict__)
        try:
            super().learn(gradient, w, loss)
            total = self.total.copy()
            total.add(Linear(gradient) if loss is None else loss)
            self.total = total
            # Computed now, so that a loss without a value at the next decision is refused in this round.
            self.decision()
        except BaseException:
            self.__dict__ = before
            raise

    def many(self, losses: Array) -> Array | None:
        return None


class FTRL(Learner):
    """Follow the regularised leader: the decision that minimises the sum of the losses so far plus a regulariser.

    The regulariser keeps the decisions stable, so that regret is of order √T for all convex losses. Choose it
    for a regulariser of your own, or, with `linearised=False`, to use the losses themselves and not only their
    gradients. The quadratic regulariser yields gradient descent with lazy projection, the entropic one Hedge.

    Parameters
    ----------
    decisions
        the decision set
    regulariser
        "quadratic", "entropic" (simplex or L1 ball), "p-norm" (whole space), or your own `oco.Regulariser`
    learning_rate
        η, the divisor of the regulariser: a number, a function of the round (from 1), or None to adapt to the
        gradients so far
    linearised
        replace each loss by its linear approximation at the decision, so that the cost of a round is constant;
        otherwise, which requires the quadratic regulariser, the losses themselves are summed, and each decision is
        their minimiser up to rounding
    radius
        expected length of a good decision, used if the decision set is unbounded

    Examples
    --------
    >>> import numpy as np
    >>> from millstream import oco
    >>> # Losses that make the leader lose every round.
    >>> losses = np.array([[0.5] + [-1.0, 1.0] * 500]).T
    >>> interval = oco.Box(-1.0, 1.0, dimension=1)
    >>> float(oco.FollowTheLeader(interval).observe_many(losses).sum())
    1000.0
    >>> float(oco.FTRL(interval).observe_many(losses).sum().round(1))
    22.4

    References
    ----------
    Shalev-Shwartz, S. (2012). Online learning and online convex optimization, section 2.3.
    McMahan, H. B. (2017). A survey of algorithms and analysis for adaptive online learning.
    """

    def __init__(
        self,
        decisions: Set | int,
        regulariser: str | Regulariser = "quadratic",
        learning_rate: Rate = None,
        linearised: bool = True,
        radius: float = 1.0,
    ) -> None:
        self.regulariser = regulariser
        self._regulariser = as_regulariser(self.name, regulariser)
        self.learning_rate = check_rate(self.name, learning_rate)
        self.linearised = bool(linearised)
        self.radius = positive(self.name, "radius", radius)
        if not self.linearised and not isinstance(self._regulariser, Quadratic):
            raise InvalidValue(f"{self.name}: linearised=False needs the quadratic regulariser")
        super().__init__(decisions)

    def _make(self, decisions: Set) -> Engine:
        if not self.linearised:
            return _ExactLeader(self.name, decisions, self.learning_rate, self.radius)
        return Lazy(self.name, self._regulariser.on(decisions), self.learning_rate, self.radius, LEMMA)
