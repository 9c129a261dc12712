"""Steps against the gradient: gradient and subgradient descent, mirror descent, exponentiated gradient."""

from __future__ import annotations

from typing import Any

from millstream.errors import InvalidValue
from millstream.oco.active import Active
from millstream.oco.geometries import Entropic, as_regulariser
from millstream.oco.lazy import Lazy, Rate, check_rate
from millstream.oco.learner import Engine, Learner
from millstream.oco.polytopes import Simplex
from millstream.oco.regularisers import Quadratic, Regulariser
from millstream.oco.sets import Set
from millstream.oco.vectors import number, positive

__all__ = ["ExponentiatedGradient", "MirrorDescent", "OnlineGradientDescent", "OnlineSubgradientDescent"]


def _projection(who: str, projection: Any) -> str:
    if projection not in ("active", "lazy"):
        raise InvalidValue(f"{who}: projection must be 'active' or 'lazy', got {projection!r}")
    return str(projection)


class OnlineGradientDescent(Learner):
    """Gradient descent with one step per round, projected onto the decision set.

    The first choice for convex losses: regret is of order √T for any losses, and of order log T for strongly
    convex ones if `strong_convexity` is given. Active projection steps from the last decision; lazy projection,
    also called dual averaging, sums gradients and projects the sum.

    Parameters
    ----------
    decisions
        the decision set
    learning_rate
        step size: a number, a function of the round (from 1), or None to adapt to the gradients so far, which
        requires neither the number of rounds nor a bound on the gradients
    projection
        "active" or "lazy"
    strong_convexity
        σ if the losses are σ-strongly convex; the step size is then 1 / (σ t)
    radius
        expected length of a good decision, used if the decision set is unbounded

    Examples
    --------
    >>> from millstream import oco
    >>> learner = oco.OnlineGradientDescent(oco.Ball(1.0, dimension=2))
    >>> for loss in ([1.0, 0.0], [0.0, 2.0]):
    ...     cost = learner.observe(loss)
    >>> learner.decide().round(3)
    array([-0.62 , -0.784])
    >>> bound = learner.bound()
    >>> bound.theorem, round(bound.value, 3)
    ('Zinkevich (2003), theorem 1; Streeter and McMahan (2010)', 5.134)

    References
    ----------
    Zinkevich, M. (2003). Online convex programming and generalized infinitesimal gradient ascent.
    Hazan, E. (2016). Introduction to online convex optimization, chapter 3.
    """

    def __init__(
        self,
        decisions: Set | int,
        learning_rate: Rate = None,
        projection: str = "active",
        strong_convexity: float = 0.0,
        radius: float = 1.0,
    ) -> None:
        self.learning_rate = check_rate(self.name, learning_rate)
        self.projection = _projection(self.name, projection)
        self.strong_convexity = number(self.name, "strong_convexity", strong_convexity)
        self.radius = positive(self.name, "radius", radius)
        if self.strong_convexity < 0:
            raise InvalidValue(f"{self.name}: strong_convexity must be at least 0, got {strong_convexity}")
        if self.strong_convexity > 0 and (self.projection == "lazy" or self.learning_rate is not None):
            raise InvalidValue(
                f"{self.name}: strong_convexity sets the steps of active projection: leave learning_rate and "
                "projection as they are"
            )
        super().__init__(decisions)

    def _make(self, decisions: Set) -> Engine:
        if self.projection == "lazy":
            return Lazy(self.name, Quadratic().on(decisions), self.learning_rate, self.radius)
        return Active(self.name, decisions, self.learning_rate, self.strong_convexity, self.radius)


class OnlineSubgradientDescent(OnlineGradientDescent):
    """Online gradient descent on subgradients, by default with lazy projection.

    Choose it for losses with kinks (hinge, absolute value): w = Π(−η θ), where θ is the sum of the subgradients.

    Parameters
    ----------
    decisions
        the decision set
    learning_rate
        step size: a number, a function of the round (from 1), or None to adapt to the gradients so far
    projection
        "lazy" or "active"
    strong_convexity
        σ of the losses, with active projection
    radius
        expected length of a good decision, used if the decision set is unbounded

    Examples
    --------
    >>> from millstream import oco
    >>> learner = oco.OnlineSubgradientDescent(oco.WholeSpace(2), learning_rate=0.5)
    >>> learner.observe(oco.Hinge([1.0, 2.0], 1)), learner.decide().tolist()
    (1.0, [0.5, 1.0])

    References
    ----------
    Shalev-Shwartz, S. (2012). Online learning and online convex optimization, section 2.4.
    Nesterov, Y. (2009). Primal-dual subgradient methods for convex problems.
    """

    def __init__(
        self,
        decisions: Set | int,
        learning_rate: Rate = None,
        projection: str = "lazy",
        strong_convexity: float = 0.0,
        radius: float = 1.0,
    ) -> None:
        super().__init__(decisions, learning_rate, projection, strong_convexity, radius)


class MirrorDescent(Learner):
    """Gradient descent in a geometry that suits the decisions: Euclidean, entropic or a p-norm.

    On the simplex the regret of entropic steps grows with √ln d, that of Euclidean steps with √d. The lazy form
    (of Shalev-Shwartz) sums gradients and maps the sum to a decision. The active form steps from the decision
    itself; with the entropy it needs a constant learning rate, because the divergence is unbounded.

    Parameters
    ----------
    decisions
        the decision set
    mirror
        "euclidean", "entropic" (simplex or L1 ball), "p-norm" (whole space), or a regulariser
    learning_rate
        step size: a number, a function of the round (from 1), or None to adapt to the gradients so far
    projection
        "lazy" or "active"
    radius
        expected length of a good decision, used if the decision set is unbounded

    Examples
    --------
    >>> from millstream import oco
    >>> learner = oco.MirrorDescent(oco.Simplex(3), "entropic")
    >>> for loss in ([1.0, 0.0, 0.5], [1.0, 0.5, 0.0]):
    ...     cost = learner.observe(loss)
    >>> learner.decide().round(3)
    array([0.051, 0.474, 0.474])

    References
    ----------
    Beck, A. and Teboulle, M. (2003). Mirror descent and nonlinear projected subgradient methods for convex
    optimization.
    Shalev-Shwartz, S. (2012). Online learning and online convex optimization, section 2.6.
    """

    def __init__(
        self,
        decisions: Set | int,
        mirror: str | Regulariser = "euclidean",
        learning_rate: Rate = None,
        projection: str = "lazy",
        radius: float = 1.0,
    ) -> None:
        self.mirror = mirror
        self._mirror = as_regulariser(self.name, mirror)
        self.learning_rate = check_rate(self.name, learning_rate)
        self.projection = _projection(self.name, projection)
        self.radius = positive(self.name, "radius", radius)
        if self.projection == "active" and not isinstance(self._mirror, Quadratic):
            constant = self.learning_rate is not None and not callable(self.learning_rate)
            if not (constant and isinstance(self._mirror, Entropic)):
                raise InvalidValue(
                    f"{self.name}: active projection needs the euclidean mirror, or the entropic one with a "
                    "constant learning_rate; use projection='lazy'"
                )
        super().__init__(decisions)

    def _make(self, decisions: Set) -> Engine:
        if self.projection == "active" and isinstance(self._mirror, Quadratic):
            return Active(self.name, decisions, self.learning_rate, 0.0, self.radius)
        # With the entropy and a constant rate, active and lazy steps are the same; sums do not underflow.
        return Lazy(self.name, self._mirror.on(decisions), self.learning_rate, self.radius)


class ExponentiatedGradient(Learner):
    """Exponentiated gradient: each round multiplies the weights by exp(−η g).

    Choose it for mixtures and portfolios, and for many coordinates of which few matter: regret grows with the root
    of the logarithm of the dimension. On an L1 ball it is EG±, with a weight for each sign of each coordinate.

    Parameters
    ----------
    decisions
        a simplex or an L1 ball; an integer stands for the simplex of that dimension
    learning_rate
        η: a number, a function of the round (from 1), or None to adapt to the gradients so far; Helmbold et al.
        recommend 0.05 for portfolios

    Examples
    --------
    >>> from millstream import oco
    >>> learner = oco.ExponentiatedGradient(2, learning_rate=0.05)
    >>> for _ in range(100):
    ...     cost = learner.observe(oco.Log([1.0, 1.1]))
    >>> learner.decide().round(3)
    array([0.384, 0.616])

    References
    ----------
    Kivinen, J. and Warmuth, M. K. (1997). Exponentiated gradient versus gradient descent for linear predictors.
    Helmbold, D. P. et al. (1998). On-line portfolio selection using multiplicative updates, theorem 4.1.
    """

    def __init__(self, decisions: Set | int, learning_rate: Rate = None) -> None:
        self.learning_rate = check_rate(self.name, learning_rate)
        super().__init__(decisions if isinstance(decisions, Set) else Simplex(decisions))

    def _make(self, decisions: Set) -> Engine:
        return Lazy(self.name, Entropic().on(decisions), self.learning_rate, 1.0)
