"""What every learner of the repeated game does: decide, observe the loss, be ready for the next round.

A face (`OnlineGradientDescent`, `Hedge`, …) holds parameters and builds an engine once the dimension is known; the
engine holds what was learned. A round is whole or nothing: a bad loss is refused before the engine is told of it,
and an engine works on new arrays, which it keeps only if they are finite.
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

#: Operations of a round that go into a bound, beyond one for each coordinate; a generous count.
OPERATIONS = 64
#: What an engine must remember of a round so that its bound can be told later.
Terms = dict[str, float]


@dataclass(frozen=True)
class Bound:
    """What a theorem promises: regret is at most `value`."""

    #: Where it is proved.
    theorem: str
    #: The formula, in the letters of `constants`.
    formula: str
    #: The number.
    value: float
    #: The constants of the formula, as seen in the game so far.
    constants: dict[str, float]
    #: Whether only the mean over the learner's own random draws is bounded.
    expected: bool = False

    def rounded_up(self, operations: int, size: float = 0.0) -> Bound:
        """The bound, raised by the rounding error of so many operations on it and on numbers of a size."""
        lost = gamma(operations)
        return replace(self, value=self.value + lost * (abs(self.value) + size))


class Engine:
    """What a learner has learned. Subclasses give the four verbs."""

    def decision(self) -> Array:
        """The decision of the coming round; not to be changed."""
        raise NotImplementedError

    def learn(self, gradient: Array, w: Array, loss: Loss | None) -> None:
        """Take in the loss of a round, whole or not at all; None stands for the linear loss of the gradient."""
        raise NotImplementedError

    def many(self, losses: Array) -> Array | None:
        """Learn many linear losses at once, to the same bits, and give the decisions; None if that cannot be."""
        return None

    def terms(self) -> Terms:
        """What the bound depends on."""
        return {}

    def bound(self, terms: Terms, comparator: Array | None, best: float, switches: int) -> Bound | None:
        """The bound after a round of which the terms are known; None if no theorem applies."""
        return None


def checked(who: str, *values: Any) -> None:
    """Refuse numbers that are not finite; what was there before is still there."""
    if not all(math.isfinite(value if isinstance(value, float) else value.sum()) for value in values):
        raise NumericOverflow(f"{who}: this loss would overflow what has been learned; nothing has changed")


class Learner:
    """A player of the repeated game of online convex optimisation.

    `decide()` gives the decision of the round, `observe(loss)` takes in its loss. A learner is ready at any moment
    and for any number of rounds; it can be copied, pickled, and begun anew. To write your own, give `_make`, which
    returns an engine, an object with the methods `decision` and `learn`.

    Parameters
    ----------
    decisions
        the decision set; a whole number stands for the whole space of that dimension
    """

    _engine: Engine | None

    def __init__(self, decisions: Set | int) -> None:
        self.decisions = as_set(self.name, decisions)
        self.reset()

    @property
    def name(self) -> str:
        """What errors and reports call it."""
        return f"oco.{type(self).__name__}"

    @property
    def rounds(self) -> int:
        """How many losses have been observed."""
        return self._rounds

    @property
    def dimension(self) -> int | None:
        """The length of a decision, once it is known."""
        return self._set.dimension

    def decide(self) -> Array:
        """The decision of the coming round. Asking changes nothing."""
        return self._ready().decision().copy()

    @np.errstate(over="ignore", invalid="ignore")
    def observe(self, loss: Any) -> float:
        """Take in the loss of the round: a loss, a vector for a linear one, a function, or value and gradient.

        Gives what the decision cost. A loss that cannot be taken in is refused, and nothing has changed.
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
        return value

    def observe_many(self, losses: Any) -> Array:
        """Take in a matrix of linear losses, a row for each round; exactly `observe`, row by row, and faster.

        Gives what the decision of each round cost.
        """
        rows = matrix(self.name, "the losses", losses, self.dimension)
        self.prepare(rows.shape[1])
        costs, _ = self._rows(rows)
        return costs

    @np.errstate(over="ignore", invalid="ignore")
    def _rows(self, rows: Array, keep: bool = False) -> tuple[Array, Array | None]:
        """The costs of linear losses that have been checked, and the decisions if they are to be kept."""
        engine = self._ready()
        try:
            taken = engine.many(rows)
        except NumericOverflow:
            # Row by row, so that all before the one that is too much are learned.
            taken = None
        if taken is not None:
            self._rounds += len(rows)
            return (rows * taken).sum(axis=1), taken
        costs = np.empty(len(rows))
        kept = np.empty(rows.shape) if keep else None
        for place, z in enumerate(rows):
            w = engine.decision()
            costs[place] = (z * w).sum()
            if kept is not None:
                kept[place] = w
            engine.learn(z, w, None)
            self._rounds += 1
        return costs, kept

    def bound(self, comparator: Any = None, best: float = 0.0, switches: int = 0) -> Bound | None:
        """What the theorem promises of the regret so far, with constants as seen; None if none applies.

        Where decisions are unbounded it depends on the decision compared with; for `FixedShare` on its switches,
        for `WeightedMajority` on the loss of the best expert.
        """
        engine = self._ready()
        other = None if comparator is None else np.asarray(comparator, dtype=np.float64)
        found = engine.bound(engine.terms(), other, best, switches)
        return None if found is None else found.rounded_up(self.rounds + self._set.known + OPERATIONS)

    def prepare(self, dimension: int) -> None:
        """Say how long decisions are, where the decision set did not."""
        if self._engine is None:
            self._set = self.decisions.of_dimension(dimension)
            self._engine = self._make(self._set)
        elif self._set.dimension != dimension:
            raise InvalidValue(
                f"{self.name}: a loss must be of {self._set.dimension} numbers, as decisions are, got {dimension}"
            )

    def reset(self) -> None:
        """Forget all that was learned."""
        self._rounds, self._set, self._engine = 0, self.decisions, None
        if self.decisions.dimension is not None:
            self._engine = self._make(self.decisions)

    def clone(self, **changes: Any) -> Self:
        """A new learner with the same parameters, but for `changes`, that has learned nothing."""
        return type(self)(**{**self.parameters, **changes})

    @property
    def parameters(self) -> dict[str, Any]:
        """What it was made with, by name."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def _ready(self) -> Engine:
        if self._engine is None:
            raise InvalidValue(
                f"{self.name}: the dimension is not known yet: give {self.decisions!r} a dimension=…"
            )
        return self._engine

    def _make(self, decisions: Set) -> Engine:
        raise NotImplementedError

    def __repr__(self) -> str:
        given = inspect.signature(type(self)).parameters
        changed = [
            f"{name}={value!r}" if place else repr(value)
            for place, (name, value) in enumerate(self.parameters.items())
            if place == 0 or (value is not given[name].default and value != given[name].default)
        ]
        return f"{type(self).__name__}({', '.join(changed)})"
