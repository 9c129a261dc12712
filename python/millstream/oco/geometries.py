"""Regularisers of other geometries: the entropy, and p-norms.

Entropic: Shalev-Shwartz (2012), section 2.5, with Hoeffding's lemma in place of Pinsker's inequality, so that the
size of a gradient is its range: Cesa-Bianchi and Lugosi (2006), lemma 2.2. On the L1 ball it is EG± of Kivinen and
Warmuth (1997), weights on the 2 d corners. p-norm: Shalev-Shwartz (2012), section 2.6; ½ ‖w‖ₚ² is (p − 1)-strongly
convex in the p-norm.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from millstream.errors import InvalidType, InvalidValue
from millstream.oco.polytopes import L1Ball, Simplex
from millstream.oco.regularisers import Quadratic, Regulariser
from millstream.oco.sets import Set, WholeSpace
from millstream.oco.vectors import Array, number, shown

__all__ = ["Entropic", "PNorm", "as_regulariser"]


class Entropic(Regulariser):
    """Negative entropy Σ w log w, which yields multiplicative weights.

    On the simplex, or on the L1 ball with a weight for each corner.

    Examples
    --------
    >>> from millstream import oco
    >>> learner = oco.FTRL(oco.Simplex(2), oco.Entropic(), learning_rate=1.0)
    >>> learner.observe([1.0, 0.0]), learner.decide().round(3).tolist()
    (0.5, [0.269, 0.731])
    """

    strong_convexity = 1.0

    def __init__(self) -> None:
        self._radius, self._corners = 0.0, 0

    def on(self, decisions: Set) -> Entropic:
        if not isinstance(decisions, (Simplex, L1Ball)):
            raise InvalidValue(f"oco.Entropic: decisions must be a Simplex or an L1Ball, got {decisions!r}")
        own = Entropic()
        own._set = decisions
        own._radius = decisions.radius if isinstance(decisions, L1Ball) else 0.0
        own._corners = decisions.known * (2 if isinstance(decisions, L1Ball) else 1)
        return own

    @property
    def words(self) -> tuple[str, str]:  # type: ignore[override]
        return "ln N", "max g − min g" if isinstance(self.decisions, Simplex) else "2 r ‖g‖∞"

    @property
    def start(self) -> Array:
        return self.decisions.start()

    def argmin(self, theta: Array, rates: Array) -> Array:
        if isinstance(self.decisions, Simplex):
            return softmax(theta, rates)
        weights = softmax(np.concatenate([theta, -theta], axis=1) * self._radius, rates)
        d = theta.shape[1]
        return np.asarray(self._radius * (weights[:, :d] - weights[:, d:]))

    def sizes(self, gradients: Array) -> Array:
        if isinstance(self.decisions, Simplex):
            with np.errstate(over="ignore"):
                return np.asarray(gradients.max(axis=1) - gradients.min(axis=1))
        return np.asarray(2.0 * self._radius * np.abs(gradients).max(axis=1))

    @property
    def curvature(self) -> float:
        return 0.125

    @property
    def reach(self) -> float:
        return 1.0

    def spread(self, comparator: Array | None) -> float:
        return math.log(self._corners)

    def __repr__(self) -> str:
        return "Entropic()"


def softmax(theta: Array, rates: Array) -> Array:
    """Weights proportional to exp(−η θ) for each row; subtracting the least θ first prevents overflow."""
    with np.errstate(over="ignore", under="ignore"):
        powers = np.exp(-rates[:, None] * (theta - theta.min(axis=1, keepdims=True)))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


class PNorm(Regulariser):
    """½ ‖w‖ₚ² with 1 < p ≤ 2 on the whole space: between gradient steps (p = 2) and multiplicative ones (near 1).

    Parameters
    ----------
    p
        the exponent of the norm; 2 ln d / (2 ln d − 1) suits sparse comparators

    Examples
    --------
    >>> from millstream import oco
    >>> learner = oco.FTRL(oco.WholeSpace(2), oco.PNorm(1.5), learning_rate=1.0)
    >>> learner.observe([2.0, 1.0]), learner.decide().round(3).tolist()
    (0.0, [-1.923, -0.481])
    """

    words = ("½ ‖u‖ₚ²", "‖g‖_q")

    def __init__(self, p: float = 1.5) -> None:
        self.p = number("oco.PNorm", "p", p)
        if not 1 < self.p <= 2:
            raise InvalidValue(f"oco.PNorm: p must be in (1, 2], got {self.p:g}")
        self.strong_convexity = self.p - 1.0

    def on(self, decisions: Set) -> PNorm:
        if not isinstance(decisions, WholeSpace):
            raise InvalidValue(
                f"oco.PNorm: decisions must be the WholeSpace, got {decisions!r}; compare with a bounded set by "
                "comparator=… of oco.play"
            )
        own = PNorm(self.p)
        own._set = decisions
        return own

    @property
    def start(self) -> Array:
        return np.zeros(self.decisions.known)

    def argmin(self, theta: Array, rates: Array) -> Array:
        # The gradient of ½ ‖θ‖_q² at −η θ, computed at scale 1.
        q = self.p / (self.p - 1.0)
        largest = np.abs(theta).max(axis=1, keepdims=True)
        unit = theta / np.where(largest > 0, largest, 1.0)
        norms = np.power(np.power(np.abs(unit), q).sum(axis=1, keepdims=True), 1.0 / q)
        norms = np.where(norms > 0, norms, 1.0)
        shape = np.sign(unit) * np.power(np.abs(unit) / norms, q - 1.0)
        return np.asarray(-rates[:, None] * largest * norms * shape)

    def sizes(self, gradients: Array) -> Array:
        q = self.p / (self.p - 1.0)
        largest = np.abs(gradients).max(axis=1, keepdims=True)
        unit = np.abs(gradients) / np.where(largest > 0, largest, 1.0)
        return np.asarray(largest[:, 0] * np.power(np.power(unit, q).sum(axis=1), 1.0 / q))

    @property
    def reach(self) -> float:
        return math.inf

    def spread(self, comparator: Array | None) -> float:
        return math.inf if comparator is None else 0.5 * float(np.linalg.norm(comparator, self.p)) ** 2

    def __repr__(self) -> str:
        return f"PNorm({self.p:g})"


def as_regulariser(who: str, regulariser: Any) -> Regulariser:
    """A regulariser, or the name of one."""
    known: dict[str, Callable[[], Regulariser]] = {
        "quadratic": Quadratic,
        "euclidean": Quadratic,
        "entropic": Entropic,
        "p-norm": PNorm,
    }
    if isinstance(regulariser, Regulariser):
        return regulariser
    if not isinstance(regulariser, str):
        raise InvalidType(f"{who}: a regulariser must be an oco.Regulariser or a name, got {shown(regulariser)}")
    if regulariser not in known:
        raise InvalidValue(f"{who}: a regulariser must be one of {', '.join(known)}, got {regulariser!r}")
    return known[regulariser]()
