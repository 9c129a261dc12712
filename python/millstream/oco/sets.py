"""Decision sets: a user's own, and the whole space.

A set is known by its projection Π(v), the nearest point of the set, which is idempotent and nonexpansive, and by
the decision that is best for a linear loss, argmin ⟨z, u⟩. Box and ball are in `bounded.py`, simplex and L1 ball
in `polytopes.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from millstream.errors import InvalidType, InvalidValue
from millstream.oco.vectors import Array, length, shown, vector

__all__ = ["Set", "WholeSpace", "as_set"]


class Set:
    """A closed convex set of decisions, given by your own projection.

    Choose it for sets that have no class here. The projection must give the nearest point of the set; it is
    checked at each use that its result is a finite vector of the right shape.

    Parameters
    ----------
    project
        the nearest point of the set to a vector; not needed by `FollowThePerturbedLeader`, nor by
        `FollowTheLeader` for linear losses, if there is `minimise_linear`
    contains
        whether a vector is in the set; by default whether the projection moves it by no more than rounding
    diameter
        the greatest distance between two decisions; regret bounds need it
    dimension
        the length of a decision; by default that of the first loss
    minimise_linear
        the decision u with the least ⟨z, u⟩; Follow the Leader and its perturbed form need it for linear losses

    Examples
    --------
    >>> import numpy as np
    >>> from millstream import oco
    >>> half = oco.Set(project=lambda w: np.clip(w, 0, None), contains=lambda w: bool((w >= 0).all()), dimension=2)
    >>> half.project([-1.0, 2.0])
    array([0., 2.])
    """

    def __init__(
        self,
        project: Callable[[Array], Any] | None = None,
        contains: Callable[[Array], Any] | None = None,
        diameter: float = math.inf,
        *,
        dimension: int | None = None,
        minimise_linear: Callable[[Array], Any] | None = None,
    ) -> None:
        if project is not None and not callable(project):
            raise InvalidType(f"oco.Set: project must be a function, got {shown(project)}")
        if project is None and minimise_linear is None:
            raise InvalidValue("oco.Set: a set needs project=… or minimise_linear=…")
        try:
            diameter = float(diameter)
        except (TypeError, ValueError):
            raise InvalidType(f"oco.Set: diameter must be a number, got {shown(diameter)}") from None
        if not diameter >= 0:
            raise InvalidValue(f"oco.Set: diameter must be at least 0, got {diameter}")
        self._own_project, self._own_contains, self._own_minimise = project, contains, minimise_linear
        self.diameter = diameter
        self.dimension = None if dimension is None else length("oco.Set", "dimension", dimension)

    @property
    def name(self) -> str:
        """What errors call it."""
        return f"oco.{type(self).__name__}"

    @property
    def bounded(self) -> bool:
        """Whether decisions cannot run away."""
        return math.isfinite(self.diameter)

    @property
    def known(self) -> int:
        """The dimension, which must be known by now."""
        if self.dimension is None:
            raise InvalidValue(f"{self.name}: the dimension is not known yet: give dimension=…")
        return self.dimension

    def project(self, point: Any) -> Array:
        """The nearest point of the set."""
        return self._project(vector(self.name, "a point", point, self.dimension))

    def contains(self, point: Any, tolerance: float = 1e-9) -> bool:
        """Whether a point is in the set, up to rounding."""
        return self._contains(vector(self.name, "a point", point, self.dimension), tolerance)

    def minimise_linear(self, z: Any) -> Array:
        """The decision u with the least ⟨z, u⟩."""
        if not self.has_minimiser:
            raise InvalidValue(
                f"{self.name}: a linear loss has no known best decision here: give minimise_linear=…"
            )
        return self._minimise(vector(self.name, "a linear loss", z, self.dimension))

    @property
    def has_minimiser(self) -> bool:
        """Whether `minimise_linear` has an answer."""
        return self._own_minimise is not None

    def start(self) -> Array:
        """Where a learner begins: the decision nearest to 0, where there is a projection."""
        nothing = np.zeros(self.known)
        if self._own_project is None:
            return self._minimise(nothing)
        return self._project(nothing)

    def of_dimension(self, dimension: int) -> Self:
        """The same set with its dimension known."""
        if self.dimension == dimension:
            return self
        if self.dimension is not None:
            raise InvalidValue(f"{self.name}: decisions have {self.dimension} numbers, the loss has {dimension}")
        return self._sized(dimension)

    def diameter_in(self, norm: float) -> float:
        """The greatest distance of two decisions in the norm 1, 2 or ∞, or a number above it."""
        return self.diameter * (math.sqrt(self.known) if norm == 1 else 1.0)

    def radius_from(self, point: Array) -> float:
        """The greatest Euclidean distance of a decision from one of them, or a number above it."""
        return self.diameter

    def reach_from(self, point: Array) -> Array:
        """For each coordinate, the greatest distance of a decision from one of them, or a number above it."""
        return np.full(len(point), self.diameter)

    def same_as(self, other: Set) -> bool:
        """Whether another set is this one, as far as its parameters tell."""
        if self is other:
            return True
        mine, others = vars(self), vars(other)
        if type(self) is not type(other) or mine.keys() != others.keys():
            return False
        for name, value in mine.items():
            # The projection of a ready set is its own method.
            own = getattr(value, "__self__", None) is self and getattr(others[name], "__self__", None) is other
            if (
                not own
                and value is not others[name]
                and not (not callable(value) and np.array_equal(value, others[name]))
            ):
                return False
        return True

    def _sized(self, dimension: int) -> Self:
        import copy

        other = copy.copy(self)
        other.dimension = dimension
        return other

    def _project(self, point: Array) -> Array:
        if self._own_project is None:
            raise InvalidValue(
                f"{self.name}: this set has no projection, and the learner needs one: give project=…"
            )
        return vector(self.name, "a projection", self._own_project(point.copy()), len(point))

    def _contains(self, point: Array, tolerance: float) -> bool:
        if self._own_contains is not None:
            return bool(self._own_contains(point))
        away = float(np.linalg.norm(self._project(point) - point))
        return away <= tolerance * (1.0 + float(np.linalg.norm(point)))

    def _minimise(self, z: Array) -> Array:
        assert self._own_minimise is not None
        return vector(self.name, "the best decision", self._own_minimise(z), len(z))

    def minimise_linear_many(self, losses: Array) -> Array:
        """`minimise_linear` of each row."""
        return np.array([self._minimise(z) for z in losses]).reshape(losses.shape)

    def project_many(self, points: Array) -> Array:
        """The projection of each row."""
        return np.array([self._project(point) for point in points]).reshape(points.shape)

    def __repr__(self) -> str:
        size = "" if self.dimension is None else f", dimension={self.dimension}"
        return f"Set(diameter={self.diameter:g}{size})"


class WholeSpace(Set):
    """All vectors. A learner needs no projection, and regret is against vectors of bounded length.

    Parameters
    ----------
    dimension
        the length of a decision; by default that of the first loss

    Examples
    --------
    >>> from millstream import oco
    >>> oco.WholeSpace(2).project([3.0, -4.0])
    array([ 3., -4.])
    """

    def __init__(self, dimension: int | None = None) -> None:
        super().__init__(self._project, dimension=dimension)

    def _project(self, point: Array) -> Array:
        return point

    def project_many(self, points: Array) -> Array:
        return points

    def _contains(self, point: Array, tolerance: float) -> bool:
        return True

    def __repr__(self) -> str:
        return f"WholeSpace({'' if self.dimension is None else self.dimension})"


def as_set(who: str, decisions: Any) -> Set:
    """A set, or a whole number for the whole space of that dimension."""
    if isinstance(decisions, Set):
        return decisions
    if isinstance(decisions, (int, np.integer)) and not isinstance(decisions, bool):
        return WholeSpace(length(who, "decisions", decisions))
    raise InvalidType(f"{who}: decisions must be a decision set such as oco.Ball(1.0), got {shown(decisions)}")
