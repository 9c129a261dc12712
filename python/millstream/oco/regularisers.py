"""Regularisers: what keeps a leader from jumping.

Each says which decision minimises ⟨θ, w⟩ + R(w) / η, and in which measure of gradients it is strongly convex: one
step costs at most `curvature` · η · size(g)², and never more than `reach` · size(g). That is all that the engine
of `lazy.py` and its bound need.

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
    """Your own regulariser R, strongly convex in the Euclidean norm.

    Parameters
    ----------
    value
        R of a decision
    gradient
        its gradient
    argmin
        the decision that minimises ⟨θ, w⟩ + R(w) for a vector θ; by default it is found numerically
    strong_convexity
        a number σ such that R(w) − σ/2 ‖w‖² is still convex
    spread
        the greatest difference of R between two decisions; by default what can be told of the comparator alone

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
    #: Words for the spread and the size of a gradient in a formula.
    words = ("max R − min R", "‖g‖₂")

    def on(self, decisions: Set) -> Regulariser:
        """The same on a decision set of known dimension, or an error if it does not fit."""
        import copy

        own = copy.copy(self)
        own._set = decisions
        own._least = own._function(own._minimiser(np.zeros(decisions.known), decisions.start()))[0]
        return own

    @property
    def decisions(self) -> Set:
        """The decision set that it was put on."""
        if self._set is None:
            raise InvalidValue(
                f"oco.{type(self).__name__}: a regulariser is used by a learner, on its decision set"
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
        """For each row the decision that minimises ⟨θ, w⟩ + R(w) / η."""
        near = self.start
        rows = [self._minimiser(row * rate, near) for row, rate in zip(theta, rates, strict=True)]
        return np.array(rows).reshape(theta.shape)

    def sizes(self, gradients: Array) -> Array:
        """The size of each row in the measure that matters."""
        return np.asarray(np.sqrt(np.square(gradients).sum(axis=1)))

    @property
    def curvature(self) -> float:
        """What a step costs at most, for η = 1 and a gradient of size 1."""
        return 1.0 / (2.0 * self.strong_convexity)

    @property
    def reach(self) -> float:
        """What a gradient of size 1 can cost at most in one round."""
        return self.decisions.diameter

    def spread(self, comparator: Array | None) -> float:
        """R of a decision, or of any, above the least."""
        if self._given_spread is not None:
            return self._given_spread
        if comparator is None or self._least is None:
            return math.inf
        return self._function(comparator)[0] - self._least


class Quadratic(Regulariser):
    """½ ‖w − w₁‖² around the first decision: leads to gradient steps with lazy projection (dual averaging).

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
