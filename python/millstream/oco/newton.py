"""The online Newton step: logarithmic regret for exp-concave losses.

Hazan, Agarwal and Kale (2007), theorem 2; Hazan (2016), chapter 4. Written with γ inside the
matrix,
    H_t = H_{t-1} + γ_t g_t g_tᵀ,   w ← argmin over the set of ‖u − (w − H_t⁻¹ g_t)‖ in the norm of H_t,
the proof requires only γ_t ≤ ½ min(α, 1 / m_t), where m_t is the greatest |⟨g_t, w_t − u⟩| over the set. Since m_t
is known when g_t is, neither a bound on the gradients nor the number of rounds is needed, and γ_t may vary:
    regret ≤ ½ Σ g_tᵀ H_t⁻¹ g_t + ½ ε D²,    H_0 = ε I,   ε = 2 / (α D²).
With a constant γ it is the algorithm of the book, and, since log det telescopes, the bound is at most
d/(2γ) · ln(1 + γ G² T / (d ε)) + 1/α.
"""

from __future__ import annotations

import math

import numpy as np

from millstream.errors import InvalidValue
from millstream.oco.learner import Bound, Engine, Learner, Terms, checked
from millstream.oco.losses import Linear, Loss
from millstream.oco.margins import Absolute, Hinge
from millstream.oco.metric import project_in
from millstream.oco.sets import Set
from millstream.oco.vectors import Array, positive

__all__ = ["OnlineNewtonStep"]

#: Minimum eigenvalue of the matrix, as a fraction of its trace.
_LEAST = 1e-12


class _Newton(Engine):
    def __init__(self, who: str, decisions: Set, alpha: float, epsilon: float | None) -> None:
        self.who, self.decisions, self.alpha = who, decisions, alpha
        self.w = decisions.start()
        self.reach = decisions.radius_from(self.w)
        # With one decision any matrix is valid.
        least = 2.0 / alpha / self.reach**2 if self.reach > 1e-140 else 1.0
        self.epsilon = least if epsilon is None else epsilon
        self.matrix, self.floor = np.eye(len(self.w)) * self.epsilon, self.epsilon
        self.spent, self.largest, self.least, self.rounds = 0.0, 0.0, math.inf, 0
        self.curved = True

    def decision(self) -> Array:
        return self.w

    def _greatest(self, gradient: Array, w: Array) -> float:
        """The maximum of |⟨g, w − u⟩| over the set."""
        if self.decisions.has_minimiser:
            low = float(gradient @ self.decisions._minimise(gradient))
            high = float(gradient @ self.decisions._minimise(-gradient))
            here = float(gradient @ w)
            return max(here - low, high - here)
        return float(np.linalg.norm(gradient)) * self.decisions.diameter

    def learn(self, gradient: Array, w: Array, loss: Loss | None) -> None:
        if not gradient.any():
            self.rounds += 1
            return
        # A loss is not exp-concave where it is linear, whatever the value of `exp_concavity`.
        self.curved = self.curved and loss is not None and not isinstance(loss, (Linear, Absolute, Hinge))
        greatest = self._greatest(gradient, w)
        gamma = 0.5 * min(self.alpha, 1.0 / greatest if greatest > 0 else math.inf)
        with np.errstate(over="ignore", invalid="ignore"):
            matrix = self.matrix + gamma * np.outer(gradient, gradient)
        checked(self.who, matrix, gradient)
        # Directions without gradients must not vanish beside huge ones; the bound includes the added term.
        floor = _LEAST * float(np.trace(matrix))
        grown = max(floor - self.floor, 0.0)
        matrix += grown * np.eye(len(w))
        step = np.linalg.solve(matrix, gradient)
        along = matrix @ step
        cost = 0.5 * (abs(float(along @ step)) + grown * self.decisions.diameter**2)
        # The step solves the system up to a residual, which counts as an omitted part of the gradient.
        cost += float(np.linalg.norm(gradient - along)) * self.decisions.diameter
        checked(self.who, step, cost)
        self.floor += grown
        self.w = project_in(self.decisions, w - step, matrix, w)
        self.matrix, self.spent = matrix, self.spent + cost
        self.largest = max(self.largest, float(np.linalg.norm(gradient)))
        self.least = min(self.least, gamma)
        self.rounds += 1

    def terms(self) -> Terms:
        return {
            "spent": self.spent,
            "largest": self.largest,
            "gamma": self.least,
            "curved": float(self.curved),
            "rounds": float(self.rounds),
        }

    def bound(self, terms: Terms, comparator: Array | None, best: float, switches: int) -> Bound | None:
        if not terms["curved"]:
            return None
        value = terms["spent"] + 0.5 * self.epsilon * self.reach**2
        constants = {
            "α": self.alpha,
            "D": self.reach,
            "G": terms["largest"],
            "γ": terms["gamma"],
            "ε": self.epsilon,
            "T": terms["rounds"],
        }
        theorem = "Hazan, Agarwal and Kale (2007), theorem 2; Hazan (2016), chapter 4"
        return Bound(theorem, "½ Σ gᵀ H⁻¹ g + ½ ε D², of order (1/α + G D) d ln T", value, constants)


class OnlineNewtonStep(Learner):
    """Newton-like steps for exp-concave losses: log loss of a portfolio, squared error, logistic loss.

    Choose it if regret matters more than time: regret grows with the logarithm of the number of rounds, and a
    round solves a d × d system and projects in the norm of the matrix. The decision set must be bounded.

    Parameters
    ----------
    decisions
        the decision set, which must be bounded
    exp_concavity
        α such that exp(−α · loss) is concave on the set: 1 for `oco.Log`, 1 / (2 B²) for squared errors up to B
    epsilon
        ε of the initial matrix ε I; None for 2 / (α D²)

    Examples
    --------
    >>> from millstream import oco
    >>> learner = oco.OnlineNewtonStep(oco.Simplex(2))
    >>> for _ in range(100):
    ...     cost = learner.observe(oco.Log([1.0, 1.1]))
    >>> learner.decide().round(3)
    array([0., 1.])

    References
    ----------
    Hazan, E., Agarwal, A. and Kale, S. (2007). Logarithmic regret algorithms for online convex optimization.
    Agarwal, A. et al. (2006). Algorithms for portfolio management based on the Newton method.
    """

    def __init__(self, decisions: Set | int, exp_concavity: float = 1.0, epsilon: float | None = None) -> None:
        self.exp_concavity = positive(self.name, "exp_concavity", exp_concavity)
        self.epsilon = None if epsilon is None else positive(self.name, "epsilon", epsilon)
        super().__init__(decisions)

    def _make(self, decisions: Set) -> Engine:
        if not decisions.bounded:
            raise InvalidValue(f"{self.name}: decisions must be bounded, got {decisions!r}")
        return _Newton(self.name, decisions, self.exp_concavity, self.epsilon)
