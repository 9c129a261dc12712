"""The sum of many losses: what the best decision in hindsight minimises, and the leader at each round.

Linear and quadratic losses are summed into one vector and one matrix, losses of ⟨w, x⟩ are kept as the rows of a
matrix, a user's own functions as a list. So the sum costs what it must, and no more.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from millstream.oco.losses import Linear, Loss, Losses, MarginLoss, SquaredDistance
from millstream.oco.margins import Squared
from millstream.oco.vectors import Array

__all__ = ["Total"]


class _Rows:
    """Rows and targets that grow at the end, in memory that doubles."""

    def __init__(self, dimension: int) -> None:
        self.count = 0
        self._x, self._y = np.empty((16, dimension)), np.empty(16)

    @property
    def x(self) -> Array:
        return self._x[: self.count]

    @property
    def y(self) -> Array:
        return self._y[: self.count]

    def add(self, x: Array, y: Any) -> None:
        need = self.count + len(x)
        if need > len(self._y):
            room = max(need, 2 * len(self._y))
            grown, targets = np.empty((room, self._x.shape[1])), np.empty(room)
            grown[: self.count], targets[: self.count] = self.x, self.y
            self._x, self._y = grown, targets
        self._x[self.count : need], self._y[self.count : need] = x, y
        self.count = need


class Total:
    """wᵀAw + ⟨b, w⟩ + c + Σ φ(⟨w, xᵢ⟩, yᵢ) + Σ own(w)."""

    def __init__(self, dimension: int) -> None:
        self.dimension, self.count = dimension, 0
        self.linear, self.constant = np.zeros(dimension), 0.0
        #: A = spread · I + square.
        self.spread, self.square = 0.0, np.zeros((0, 0))
        self.rows: dict[type[MarginLoss], _Rows] = {}
        self.own: list[Loss] = []
        self.strong_convexity = 0.0

    def add(self, loss: Loss) -> None:
        """One more loss."""
        if type(loss) is Linear:
            self.add_many(Losses(Linear, loss.z[None]))
        elif type(loss) is SquaredDistance:
            self.add_many(Losses(SquaredDistance, loss.x[None]))
        elif isinstance(loss, MarginLoss):
            self.add_many(Losses(type(loss), loss.x[None], np.array([loss.y])))
        else:
            self.own.append(loss)
            self.count += 1
            self.strong_convexity += loss.strong_convexity

    def add_many(self, losses: Losses) -> None:
        """Many more of one kind."""
        rows, targets = losses.rows, losses.targets
        with np.errstate(over="ignore", invalid="ignore"):
            self._add_rows(losses.kind, rows, targets)
        self.count += len(losses)

    def _add_rows(self, kind: type[Any], rows: Array, targets: Array | None) -> None:
        if kind is Linear:
            self.linear += rows.sum(axis=0)
        elif kind is SquaredDistance:
            self.spread += len(rows)
            self.linear -= 2.0 * rows.sum(axis=0)
            self.constant += float(np.square(rows).sum())
            self.strong_convexity += 2.0 * len(rows)
        elif kind is Squared:
            assert targets is not None
            self.square = self._square() + rows.T @ rows
            self.linear -= 2.0 * (targets @ rows)
            self.constant += float(targets @ targets)
        else:
            y = 0.0 if targets is None else targets
            self.rows.setdefault(kind, _Rows(self.dimension)).add(rows, y)

    def _square(self) -> Array:
        if self.square.size == 0:
            return np.zeros((self.dimension, self.dimension))
        return self.square

    @property
    def is_linear(self) -> bool:
        """Whether the sum is linear."""
        return self.is_quadratic and self.spread == 0 and not self._square().any()

    @property
    def is_quadratic(self) -> bool:
        """Whether the sum is a polynomial of degree at most 2."""
        return not self.rows and not self.own

    @property
    def is_smooth(self) -> bool:
        """Whether the gradient is known to be continuous; not of a user's own losses."""
        return not self.own and all(kind.smooth for kind in self.rows)

    def matrix(self) -> Array:
        """A of the quadratic part."""
        return self._square() + self.spread * np.eye(self.dimension)

    def value(self, w: Array) -> float:
        """The sum of all losses of a decision."""
        return self.both(w)[0]

    def gradient(self, w: Array) -> Array:
        """A subgradient of the sum."""
        return self.both(w)[1]

    def both(self, w: Array, width: float = 0.0) -> tuple[float, Array]:
        """Value and subgradient; with a width, of the sum whose kinks are rounded from below."""
        along = self.spread * w
        if self.square.size:
            along = along + self.square @ w
        value = self.constant + float(self.linear @ w) + float(along @ w)
        gradient = self.linear + 2.0 * along
        for kind, rows in self.rows.items():
            margin = rows.x @ w
            if width > 0:
                phi, slope = kind.rounded(margin, rows.y, width)
            else:
                phi, slope = kind.phi(margin, rows.y), kind.slope(margin, rows.y)
            with np.errstate(invalid="ignore", over="ignore"):
                value += float(phi.sum())
                gradient = gradient + slope @ rows.x
        for loss in self.own:
            value += loss.value(w)
            gradient = gradient + loss.gradient(w)
        return value, gradient
