"""A best decision with its certificate: a decision gives an upper bound, a plane a lower bound."""

from __future__ import annotations

import math
from dataclasses import dataclass

from millstream.oco.minorant import Minorant, radius_around
from millstream.oco.rounding import UNIT
from millstream.oco.sets import Set
from millstream.oco.total import Slopes, Total
from millstream.oco.vectors import Array

__all__ = ["Bracket", "Minimum"]

#: If the minimum is nearly 0, tolerances are relative to this fraction of the loss at the first decision.
_BEGINNING = 1e-2
#: Losses count as equal if they differ by this fraction of the largest possible rounding error.
_ALIKE = 1 / 16
#: Planes stored for an unbounded set, where the highest plane depends on the best decision.
_PLANES = 4


@dataclass(frozen=True)
class Minimum:
    """A best decision with its loss, and a bound on its distance from the minimum."""

    #: The decision.
    decision: Array
    #: Its loss.
    loss: float
    #: No decision has a loss below `loss - gap`; includes rounding, so a closed form has a positive gap too.
    gap: float
    #: The method that found it.
    method: str


class Bracket:
    """The best decision and the highest plane so far; the minimum lies between their values."""

    def __init__(self, total: Total, decisions: Set, begin: Array) -> None:
        self.total, self.decisions = total, decisions
        self.decision, self.loss, self._error = begin, math.inf, 0.0
        #: A lower bound of the loss of any vector, and the curvature of the quadratic part of the sum.
        self._anywhere, self._curvature = total.floor, total.least_curvature()
        self._lower, self._planes = (-math.inf, 0.0), list[Minorant]()
        self.offer(begin)
        first = self.offer(decisions.start())
        #: The scale of a tolerance if the loss itself is smaller.
        self.scale = _BEGINNING * abs(first) if math.isfinite(first) else 0.0

    def offer(self, decision: Array, settled: bool = False) -> float:
        """Take a decision if its loss is less than the best so far; returns its loss.

        Near the minimum, losses agree to the last digits, and rounding decides which is less. Among equal losses a
        decision is taken only if it is `settled`: if its gradient is known to be nearer to that of a minimum.
        """
        loss, error = self.total.evaluate(decision)
        alike = _ALIKE * error + 8.0 * UNIT * abs(loss) if math.isfinite(self.loss) else 0.0
        if loss < self.loss - alike or (settled and loss <= self.loss + alike):
            self.decision, self.loss, self._error = decision, loss, error
        return loss

    def support(self, at: Array, slopes: Slopes | None = None) -> Minorant:
        """Take the plane below the sum that touches it at a decision, or has given slopes."""
        plane = self.total.minorant(at, slopes, self._curvature)
        self.take(plane)
        return plane

    def take(self, plane: Minorant) -> None:
        """Take a plane if it is higher than all so far."""
        self._anywhere = max(self._anywhere, plane.least_anywhere())
        if self.decisions.bounded:
            self._lower = max(self._lower, plane.least(self.decisions))
        else:
            radius = radius_around(self.decision)
            planes = sorted([*self._planes, plane], key=lambda each: each.least(self.decisions, radius)[0])
            self._planes = planes[-_PLANES:]

    @property
    def lower(self) -> float:
        """A lower bound of the loss; on an unbounded set, for decisions of at most twice the best one's length."""
        return self._highest()[0]

    def _highest(self) -> tuple[float, float]:
        if self.decisions.bounded:
            return self._lower
        radius = radius_around(self.decision)
        return max((plane.least(self.decisions, radius) for plane in self._planes), default=(-math.inf, 0.0))

    @property
    def gap(self) -> float:
        """An upper bound on the loss of the best decision minus that of any other."""
        return self._above(max(self.lower, self._anywhere))

    def _above(self, lower: float) -> float:
        found = (self.loss - lower + self._error) * (1.0 + 4.0 * UNIT) + 2.0 * UNIT * abs(self.loss)
        return max(0.0, found) if math.isfinite(self.loss) and not math.isnan(found) else math.inf

    def _small(self, gap: float, tolerance: float) -> bool:
        rounding = self._error + self._highest()[1]
        return gap <= max(tolerance * max(abs(self.loss), self.scale), 8.0 * rounding)

    def within(self, tolerance: float) -> bool:
        """Whether the gap is a small enough fraction of the loss, or as small as rounding allows."""
        return self._small(self.gap, tolerance)

    def minimum(self, method: str) -> Minimum:
        """The best decision with its certificate; a tight certificate for all vectors takes precedence."""
        gap = self.gap
        if not self.decisions.bounded:
            everywhere = self._above(self._anywhere)
            if self._small(everywhere, 1e-8):
                gap = everywhere
            else:
                method += ", certified among decisions of at most twice its length, or of length 1"
        return Minimum(self.decision, self.loss, gap, method)
