"""Decision sets: a user's own, and the whole space.

A set has a projection Π(v), the nearest point of the set, which is idempotent and nonexpansive, and a minimiser of
linear losses, argmin ⟨z, u⟩. Box and ball are in `bounded.py`, simplex and L1 ball in `polytopes.py`.
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
    """A closed convex set of decisions, defined by your own projection.

    Choose it for sets that are not built in. The projection must return the nearest point of the set. Its result
    is checked at each use: it must be a finite vector of the right shape.

    Parameters
    ----------
    project
        returns the point of the set nearest to a vector; with `minimise_linear`, not required by
        `FollowThePerturbedLeader`, nor by `FollowTheLeader` for linear losses
    contains
        whether a vector is in the set; by default, whether the projection leaves it unchanged up to rounding
    diameter
        the greatest distance between two decisions; required for regret bounds
    dimension
        the length of a decision; by default that of the first loss
    minimise_linear
        returns the decision u with the least ⟨z, u⟩; required by the leader and the perturbed leader for linear
        losses

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
        """The name in error messages."""
        return f"oco.{type(self).__name__}"

    @property
    def bounded(self) -> bool:
        """Whether the set is bounded."""
        return math.isfinite(self.diameter)

    @property
    def known(self) -> int:
        """The dimension; an error if it is not known yet."""
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
                f"{self.name}: a linear loss has no known minimiser on this set: give minimise_linear=…"
            )
        return self._minimise(vector(self.name, "a linear loss", z, self.dimension))

    @property
    def has_minimiser(self) -> bool:
        """Whether `minimise_linear` is available."""
        return self._own_minimise is not None

    def start(self) -> Array:
        """The first decision of a learner: the one nearest to 0 if there is a projection."""
        nothing = np.zeros(self.known)
        if self._own_project is None:
            return self._minimise(nothing)
        return self._project(nothing)

    def of_dimension(self, dimension: int) -> Self:
        """The same set with a known dimension."""
        if self.dimension == dimension:
            return self
        if self.dimension is not None:
            raise InvalidValue(f"{self.name}: a loss must have dimension {self.dimension}, got {dimension}")
        return self._sized(dimension)

    def diameter_in(self, norm: float) -> float:
        """The largest distance between two decisions in the 1, 2 or ∞ norm, or an upper bound."""
        return self.diameter * (math.sqrt(self.known) if norm == 1 else 1.0)

    def radius_from(self, point: Array) -> float:
        """The largest Euclidean distance of any decision from the given one, or an upper bound."""
        return self.diameter

    def reach_from(self, point: Array) -> Array:
        """For each coordinate, the largest distance of any decision from the given one, or an upper bound."""
        return np.full(len(point), self.diameter)

    def same_as(self, other: Set) -> bool:
        """Whether another set has the same parameters."""
        if self is other:
            return True
        mine, others = vars(self), vars(other)
        if type(self) is not type(other) or mine.keys() != others.keys():
            return False
        for name, value in mine.items():
            # The projection of a built-in set is its own method.
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
    """All vectors of a dimension: learners do not project.

    Linear losses have no best decision here; compare with a bounded set (`comparator` of `oco.play`).

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
    """A set, or an integer for the whole space of that dimension."""
    if isinstance(decisions, Set):
        return decisions
    if isinstance(decisions, (int, np.integer)) and not isinstance(decisions, bool):
        return WholeSpace(length(who, "decisions", decisions))
    raise InvalidType(f"{who}: decisions must be a decision set such as oco.Ball(1.0), got {shown(decisions)}")
