"""Regularisers, which keep the decisions of a leader stable.

A regulariser returns the decision that minimises ⟨θ, w⟩ + R(w) / η, and defines the size of a gradient by the
norm in which it is strongly convex: a step costs at most `curvature` · η · size(g)² and at most `reach` ·
size(g). The engine of `lazy.py` and its bound require nothing else.

Quadratic: Shalev-Shwartz (2012), section 2.3. The others are in `geometries.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from millstream.errors import InvalidValue
from millstream.oco.accelerated import accelerated
from millstream.oco.sets import Set
from millstream.oco.vectors import Array, number, positive, vector

__all__ = ["Quadratic", "Regulariser"]


class Regulariser:
    """Your own regulariser R, strongly convex in the Euclidean norm, for `FTRL` and `MirrorDescent`.

    Parameters
    ----------
    value
        returns R of a decision
    gradient
        returns its gradient
    argmin
        returns the decision that minimises ⟨θ, w⟩ + R(w) for a vector θ; by default, a numerical solver
    strong_convexity
        a number σ such that R(w) − σ/2 ‖w‖² is convex
    spread
        the greatest difference of R between two decisions; by default, that between the comparator and the minimum

    Examples
    --------
    >>> from millstream import oco
    >>> own = oco.Regulariser(lambda w: float(w @ w), lambda w: 2 * w, strong_convexity=2.0)
    >>> learner = oco.FTRL(oco.Ball(1.0, dimension=2), own, learning_rate=0.1)
    >>> learner.observe([1.0, 0.0]), learner.decide().round(3).tolist()
    (0.0, [-0.05, 0.0])
    """

    def __init__(
        self,
        value: Callable[[Array], Any],
        gradient: Callable[[Array], Any],
        argmin: Callable[[Array], Any] | None = None,
        *,
        strong_convexity: float = 1.0,
        spread: float | None = None,
    ) -> None:
        self._value, self._gradient, self._argmin = value, gradient, argmin
        self.strong_convexity = positive("oco.Regulariser", "strong_convexity", strong_convexity)
        self._given_spread = None if spread is None else number("oco.Regulariser", "spread", spread)
        self._least: float | None = None

    #: The decision set, once it is known.
    _set: Set | None = None
    #: The spread and the size of a gradient, as written in a formula.
    words = ("max R − min R", "‖g‖₂")

    def on(self, decisions: Set) -> Regulariser:
        """The regulariser on a decision set of known dimension; an error if it does not apply there."""
        import copy

        own = copy.copy(self)
        own._set = decisions
        own._least = own._function(own._minimiser(np.zeros(decisions.known), decisions.start()))[0]
        return own

    @property
    def decisions(self) -> Set:
        """The decision set."""
        if self._set is None:
            raise InvalidValue(
                f"oco.{type(self).__name__}: the decision set is not known yet: pass the regulariser to a learner"
            )
        return self._set

    def _function(self, w: Array) -> tuple[float, Array]:
        value = number("oco.Regulariser", "a value", self._value(w))
        return value, vector("oco.Regulariser", "a gradient", self._gradient(w), len(w))

    def _minimiser(self, theta: Array, near: Array) -> Array:
        if self._argmin is not None:
            return vector("oco.Regulariser", "the best decision", self._argmin(theta), len(theta))

        def both(w: Array) -> tuple[float, Array]:
            value, gradient = self._function(w)
            return value + float(theta @ w), gradient + theta

        return accelerated(both, self.decisions, near, 1e-13, smallest=self.strong_convexity)[0]

    @property
    def start(self) -> Array:
        """The decision of the first round."""
        return self._minimiser(np.zeros(self.decisions.known), self.decisions.start())

    def argmin(self, theta: Array, rates: Array) -> Array:
        """For each row, the decision that minimises ⟨θ, w⟩ + R(w) / η."""
        near = self.start
        rows = [self._minimiser(row * rate, near) for row, rate in zip(theta, rates, strict=True)]
        return np.array(rows).reshape(theta.shape)

    def sizes(self, gradients: Array) -> Array:
        """The size of each row, a gradient, in the dual norm."""
        return np.asarray(np.sqrt(np.square(gradients).sum(axis=1)))

    @property
    def curvature(self) -> float:
        """The largest cost of a step with η = 1 and a gradient of size 1."""
        return 1.0 / (2.0 * self.strong_convexity)

    @property
    def reach(self) -> float:
        """The largest cost of a gradient of size 1 in one round."""
        return self.decisions.diameter

    def spread(self, comparator: Array | None) -> float:
        """R of a decision minus the least R; without a decision, the maximum over the set."""
        if self._given_spread is not None:
            return self._given_spread
        if comparator is None or self._least is None:
            return math.inf
        return self._function(comparator)[0] - self._least


class Quadratic(Regulariser):
    """½ ‖w − w₁‖² around the first decision, which yields lazy gradient descent (dual averaging).

    Examples
    --------
    >>> from millstream import oco
    >>> learner = oco.FTRL(oco.WholeSpace(2), oco.Quadratic(), learning_rate=0.1)
    >>> learner.observe([1.0, 0.0]), learner.decide().tolist()
    (0.0, [-0.1, 0.0])
    """

    words = ("½ max ‖u − w₁‖²", "‖g‖₂")
    strong_convexity = 1.0

    def __init__(self) -> None:
        self._centre = np.zeros(0)

    def on(self, decisions: Set) -> Quadratic:
        own = Quadratic()
        own._set, own._centre = decisions, decisions.start()
        return own

    @property
    def start(self) -> Array:
        return self._centre

    def argmin(self, theta: Array, rates: Array) -> Array:
        with np.errstate(over="ignore"):
            points = self._centre - rates[:, None] * theta
        return self.decisions.project_many(points)

    def spread(self, comparator: Array | None) -> float:
        if self.decisions.bounded:
            return 0.5 * self.decisions.radius_from(self._centre) ** 2
        if comparator is None:
            return math.inf
        return 0.5 * float(np.square(comparator - self._centre).sum())

    def __repr__(self) -> str:
        return "Quadratic()"
