"""The base class of all learners: decide, then observe the loss.

A learner (`OnlineGradientDescent`, `Hedge`, …) holds parameters, and creates an engine once the dimension is
known. The engine holds the state. A round is atomic: an invalid loss is refused before it reaches the engine,
and an engine works on new arrays, which it stores only if they are finite.
"""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from millstream.errors import InvalidValue, MillstreamError, NumericOverflow
from millstream.oco.losses import Loss, as_loss
from millstream.oco.rounding import gamma
from millstream.oco.sets import Set, as_set
from millstream.oco.vectors import Array, matrix, number, shown

__all__ = ["Bound", "Engine", "Learner", "Terms"]

#: Operations of a round that enter a bound, beyond one per coordinate; a generous count.
OPERATIONS = 64
#: Values that the bound of a round depends on.
Terms = dict[str, float]


@dataclass(frozen=True)
class Bound:
    """An upper bound on the regret by a theorem; `value` includes rounding errors."""

    #: The theorem, with its source.
    theorem: str
    #: The formula, with the symbols of `constants`.
    formula: str
    #: The upper bound.
    value: float
    #: The constants of the formula, as observed in the game so far.
    constants: dict[str, float]
    #: Whether the bound holds only in expectation over the random draws of the learner.
    expected: bool = False

    def rounded_up(self, operations: int, size: float = 0.0) -> Bound:
        """The bound plus the rounding error of `operations` operations on it and on numbers up to `size`."""
        lost = gamma(operations)
        return replace(self, value=self.value + lost * (abs(self.value) + size))


class Engine:
    """The state of a learner. Subclasses define at least `decision` and `learn`."""

    def decision(self) -> Array:
        """The decision of the next round; read only."""
        raise NotImplementedError

    def learn(self, gradient: Array, w: Array, loss: Loss | None) -> None:
        """Learn the loss of a round atomically; None stands for the linear loss of the gradient."""
        raise NotImplementedError

    def many(self, losses: Array) -> Array | None:
        """Learn many linear losses at once, bit-identically; returns the decisions, or None if not supported."""
        return None

    def terms(self) -> Terms:
        """The values that the bound depends on."""
        return {}

    def bound(self, terms: Terms, comparator: Array | None, best: float, switches: int) -> Bound | None:
        """The bound after a round, from the terms of that round; None if no theorem applies."""
        return None


def over_rate(amount: float, rate: float) -> float:
    """amount / rate; 0 if the amount is 0, as for a set of one decision, whose rate is 0 too."""
    if amount == 0:
        return 0.0
    return amount / rate if rate > 0 else math.inf


def checked(who: str, *values: Any) -> None:
    """Raise an error for numbers that are not finite, before the state changes."""
    if not all(math.isfinite(value if isinstance(value, float) else value.sum()) for value in values):
        raise NumericOverflow(f"{who}: this loss would overflow the state; nothing has changed")


class Learner:
    """The base class of learners for online convex optimisation.

    `decide()` returns the decision of the round, `observe(loss)` learns its loss. The number of rounds need not
    be known. A learner can be copied, pickled and reset. To write your own, define `_make`, which returns an
    engine, an object with the methods `decision` and `learn`.

    Parameters
    ----------
    decisions
        the decision set; an integer stands for the whole space of that dimension
    """

    _engine: Engine | None
    #: Sums over all rounds, for the rounding error of the regret: |loss| + ⟨|g|, |w|⟩, and ‖g‖₁.
    _paid = 0.0
    _steep = 0.0

    def __init__(self, decisions: Set | int) -> None:
        self.decisions = as_set(self.name, decisions)
        self.reset()

    @property
    def name(self) -> str:
        """The name in error messages and reports."""
        return f"oco.{type(self).__name__}"

    @property
    def rounds(self) -> int:
        """The number of losses observed."""
        return self._rounds

    @property
    def dimension(self) -> int | None:
        """The length of a decision, once it is known."""
        return self._set.dimension

    def decide(self) -> Array:
        """The decision of the next round; the state does not change."""
        return self._ready().decision().copy()

    @np.errstate(over="ignore", invalid="ignore")
    def observe(self, loss: Any) -> float:
        """Learn the loss of the round: a loss, a vector (linear), a function, or a pair of value and gradient.

        Returns the loss of the decision. An invalid loss raises an error and leaves the learner unchanged.
        """
        found = as_loss(loss)
        if found.dimension is not None:
            self.prepare(found.dimension)
        engine = self._ready()
        w = engine.decision()
        try:
            value = number(self.name, "the loss of the decision", found.value(w))
            gradient = found.gradient(w)
            if np.shape(gradient) != w.shape or not np.isfinite(gradient).all():
                raise InvalidValue(
                    f"{self.name}: a gradient must be finite and have shape {w.shape}, got {shown(gradient)}"
                )
            engine.learn(gradient, w, found)
        except MillstreamError as error:
            raise error.by(self.name) from None
        self._rounds += 1
        size = np.abs(gradient)
        self._paid += abs(value) + float(size @ np.abs(w))
        self._steep += float(size.sum())
        return value

    def observe_many(self, losses: Any) -> Array:
        """Learn a matrix of linear losses, one row per round; the same as `observe` row by row, but faster.

        Returns the loss of the decision of each round.
        """
        rows = matrix(self.name, "the losses", losses, self.dimension)
        self.prepare(rows.shape[1])
        costs, _ = self._rows(rows)
        return costs

    @np.errstate(over="ignore", invalid="ignore")
    def _rows(self, rows: Array, keep: bool = False) -> tuple[Array, Array | None]:
        """The costs of validated linear losses, and the decisions if they are to be stored."""
        engine = self._ready()
        try:
            taken = engine.many(rows)
        except NumericOverflow:
            # Row by row, so that all rows before the one that overflows are learned.
            taken = None
        if taken is not None:
            self._rounds += len(rows)
            products = rows * taken
            self._count(rows, products)
            return products.sum(axis=1), taken
        costs = np.empty(len(rows))
        kept = np.empty(rows.shape) if keep else None
        for index, z in enumerate(rows):
            w = engine.decision()
            products = z * w
            costs[index] = products.sum()
            if kept is not None:
                kept[index] = w
            engine.learn(z, w, None)
            self._rounds += 1
            self._count(z, products)
        return costs, kept

    def _count(self, rows: Array, products: Array) -> None:
        self._paid += 2.0 * float(np.abs(products).sum())
        self._steep += float(np.abs(rows).sum())

    def bound(self, comparator: Any = None, best: float = 0.0, switches: int = 0) -> Bound | None:
        """The bound of the theorem on the regret so far, with the observed constants; None if none applies.

        On an unbounded set it depends on the comparator, for `FixedShare` on its switches, for `WeightedMajority`
        on the loss of the best expert. It includes the rounding errors of the bound and of the regret.
        """
        engine = self._ready()
        other = None if comparator is None else np.asarray(comparator, dtype=np.float64)
        found = engine.bound(engine.terms(), other, best, switches)
        if found is None:
            return None
        # The regret is a difference of sums, each of which is rounded.
        if other is None and self._set.bounded:
            first = self._set.start()
            other = np.abs(first) + self._set.reach_from(first)
        farthest = 0.0 if other is None else float(np.abs(other).max(initial=0.0))
        size = self._paid + abs(best) + self._steep * farthest
        return found.rounded_up(self.rounds + self._set.known + OPERATIONS, size if math.isfinite(size) else 0.0)

    def prepare(self, dimension: int) -> None:
        """Set the dimension, if the decision set does not define it."""
        if self._engine is None:
            self._set = self.decisions.of_dimension(dimension)
            self._engine = self._make(self._set)
        elif self._set.dimension != dimension:
            raise InvalidValue(
                f"{self.name}: the dimension of a loss must be {self._set.dimension}, got {dimension}"
            )

    def reset(self) -> None:
        """Forget everything learned."""
        self._rounds, self._set, self._engine = 0, self.decisions, None
        self._paid = self._steep = 0.0
        if self.decisions.dimension is not None:
            self._engine = self._make(self.decisions)

    def clone(self, **changes: Any) -> Self:
        """A new learner with the same parameters, except for `changes`."""
        return type(self)(**{**self.parameters, **changes})

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters by name."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def _ready(self) -> Engine:
        if self._engine is None:
            raise InvalidValue(
                f"{self.name}: the dimension is not known yet: pass dimension=… to {self.decisions!r}"
            )
        return self._engine

    def _make(self, decisions: Set) -> Engine:
        raise NotImplementedError

    def __repr__(self) -> str:
        given = inspect.signature(type(self)).parameters
        changed = [
            f"{name}={value!r}" if index else repr(value)
            for index, (name, value) in enumerate(self.parameters.items())
            if index == 0 or (value is not given[name].default and value != given[name].default)
        ]
        return f"{type(self).__name__}({', '.join(changed)})"
