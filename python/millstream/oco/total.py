"""The sum of many losses, which the best decision in hindsight and the leader of each round minimise.

Linear losses are summed into a vector, quadratic losses into a matrix, a vector and a number. Losses of ⟨w, x⟩ are
stored as the rows of a matrix, a user's own functions in a list. A round with linear or quadratic losses therefore
has a constant cost. With `keep=True` the rows of quadratic losses are stored as well: where
targets are large compared with residuals, wᵀAw + ⟨b, w⟩ + c cancels, and a sum over rows does not.

`minorant` returns planes below the sum, from which certificates are computed. Their margins cover the rounding of
every operation, including the summation of the losses.
"""

from __future__ import annotations

import copy
import math
from typing import Any, Self

import numpy as np

from millstream.oco.losses import Linear, Loss, Losses, MarginLoss, SquaredDistance
from millstream.oco.margins import Squared
from millstream.oco.minorant import Minorant
from millstream.oco.rounding import UNIT, gamma
from millstream.oco.vectors import Array

__all__ = ["Slopes", "Total"]

#: For each kind of loss, the slope at each row of a line below it.
Slopes = dict[type[MarginLoss], Array]

#: Operations of an elementary function, such as a logarithm, as it is evaluated by NumPy; a generous count.
_ELEMENTARY = 16


class _Rows:
    """Rows and targets in arrays that grow by doubling.

    Copies share their memory, so only one of several copies may grow.
    """

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
    """⟨z, w⟩ + Σ (⟨w, xᵢ⟩ − yᵢ)² + Σ ‖w − xᵢ‖² + Σ φ(⟨w, xᵢ⟩, yᵢ) + Σ own(w).

    Parameters
    ----------
    dimension
        the length of a decision
    keep
        whether rows of quadratic losses are stored, to evaluate their sum without cancellation
    """

    def __init__(self, dimension: int, keep: bool = False) -> None:
        self.dimension, self.keep, self.count = dimension, keep, 0
        #: The sum of linear losses, and that of their absolute values, which bounds its rounding error.
        self.linear, self.linear_size = np.zeros(dimension), np.zeros(dimension)
        #: Quadratic losses: wᵀAw + ⟨pull, w⟩ + constant, where A = spread · I + square.
        self.spread, self.square = 0.0, np.zeros((0, 0))
        self.pull, self.constant, self.quadratics = np.zeros(dimension), 0.0, 0
        self.rows: dict[type[MarginLoss], _Rows] = {}
        self.squares: _Rows | None = None
        self.points: _Rows | None = None
        self.own: list[Loss] = []
        self.strong_convexity = 0.0

    def copy(self) -> Self:
        """A copy to which losses can be added; do not add losses to both, since they share memory."""
        other = copy.copy(self)
        other.linear, other.linear_size = self.linear.copy(), self.linear_size.copy()
        other.pull, other.own = self.pull.copy(), list(self.own)
        other.rows = {kind: copy.copy(rows) for kind, rows in self.rows.items()}
        other.squares, other.points = copy.copy(self.squares), copy.copy(self.points)
        return other

    def add(self, loss: Loss) -> None:
        """Add a loss."""
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
        """Add losses of one kind."""
        with np.errstate(over="ignore", invalid="ignore"):
            self._add_rows(losses.kind, losses.rows, losses.targets)
        self.count += len(losses)

    def add_distance(self, point: Array, weight: float) -> None:
        """Add weight · ‖w − point‖²; not to a sum that keeps rows."""
        assert not self.keep
        self.spread += weight
        self.pull = self.pull - 2.0 * weight * point
        self.constant += weight * float(point @ point)
        self.quadratics += 1
        self.strong_convexity += 2.0 * weight

    def _add_rows(self, kind: type[Any], rows: Array, targets: Array | None) -> None:
        if kind is Linear:
            self.linear = self.linear + rows.sum(axis=0)
            self.linear_size = self.linear_size + np.abs(rows).sum(axis=0)
        elif kind is SquaredDistance:
            self.spread += len(rows)
            self.pull = self.pull - 2.0 * rows.sum(axis=0)
            self.constant += float(np.square(rows).sum())
            self.quadratics += len(rows)
            self.strong_convexity += 2.0 * len(rows)
            if self.keep:
                self.points = self.points or _Rows(self.dimension)
                self.points.add(rows, 0.0)
        elif kind is Squared:
            assert targets is not None
            self.square = self._square() + rows.T @ rows
            self.pull = self.pull - 2.0 * (targets @ rows)
            self.constant += float(targets @ targets)
            self.quadratics += len(rows)
            if self.keep:
                self.squares = self.squares or _Rows(self.dimension)
                self.squares.add(rows, targets)
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
        """Whether the gradient is known to be continuous; False with a user's own losses."""
        return not self.own and all(kind.smooth for kind in self.rows)

    def matrix(self) -> Array:
        """A of the quadratic part."""
        return self._square() + self.spread * np.eye(self.dimension)

    def root(self) -> Array:
        """A matrix R with RᵀR = 2A: from the rows if they are stored, at the precision of A otherwise."""
        parts = [math.sqrt(2.0 * self.spread) * np.eye(self.dimension)] if self.spread > 0 else []
        if self.keep and self.squares is not None:
            parts.append(math.sqrt(2.0) * np.asarray(np.linalg.qr(self.squares.x, mode="r")))
        elif self.square.size:
            values, vectors = np.linalg.eigh(self.square)
            parts.append(np.sqrt(2.0 * np.maximum(values, 0.0))[:, None] * vectors.T)
        return np.concatenate([np.zeros((0, self.dimension)), *parts])

    @property
    def floor(self) -> float:
        """0 if no loss can be negative, else −∞."""
        signed = self.own or self.linear_size.any() or not all(kind.nonnegative for kind in self.rows)
        return -math.inf if signed else 0.0

    def hessian(self, w: Array) -> Array:
        """The Hessian of the built-in losses, where none of them has a kink."""
        found = 2.0 * self.matrix()
        for kind, rows in self.rows.items():
            slope = kind.slope(rows.x @ w, rows.y)
            bend = slope * slope if kind.curve == "logarithm" else np.abs(slope) * (1.0 - np.abs(slope))
            found += (rows.x * bend[:, None]).T @ rows.x
        return found

    def least_curvature(self) -> float:
        """A number σ such that the quadratic part minus ½ σ ‖w‖² is convex, whatever the rounding of A."""
        if self.square.size == 0:
            return 2.0 * self.spread * (1.0 - gamma(self.quadratics))
        # Eigenvalues of a symmetric matrix are exact up to a multiple of its norm, which the trace bounds.
        trace = float(np.trace(self.square))
        lost = gamma(self.quadratics + 16 * self.dimension) * trace
        least = float(np.linalg.eigvalsh(self.square)[0]) - lost if math.isfinite(trace) else 0.0
        return 2.0 * (max(0.0, least) + self.spread * (1.0 - gamma(self.quadratics)))

    def value(self, w: Array) -> float:
        """The sum of all losses of a decision."""
        return self.evaluate(w)[0]

    def gradient(self, w: Array) -> Array:
        """A subgradient of the sum."""
        return self.both(w)[1]

    def both(self, w: Array, width: float = 0.0) -> tuple[float, Array]:
        """Value and subgradient; with a width, those of the sum with kinks smoothed from below."""
        value, gradient = self._quadratic(w)
        value += float(self.linear @ w)
        gradient = gradient + self.linear
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

    def _quadratic(self, w: Array) -> tuple[float, Array]:
        if not self.quadratics:
            return 0.0, np.zeros(self.dimension)
        if not self.keep:
            along = self.spread * w
            if self.square.size:
                along = along + self.square @ w
            return self.constant + float(self.pull @ w) + float(along @ w), self.pull + 2.0 * along
        value, gradient = 0.0, np.zeros(self.dimension)
        if self.points is not None:
            away = w - self.points.x
            value += float(np.square(away).sum(axis=1).sum())
            gradient += 2.0 * away.sum(axis=0)
        if self.squares is not None:
            residual = self.squares.x @ w - self.squares.y
            value += float(residual @ residual)
            gradient += 2.0 * (residual @ self.squares.x)
        return value, gradient

    def slopes(self, w: Array, width: float = 0.0) -> Slopes:
        """The slopes of the losses at a decision; with a width, those of the smoothed losses."""
        found: Slopes = {}
        for kind, rows in self.rows.items():
            margin = rows.x @ w
            found[kind] = kind.rounded(margin, rows.y, width)[1] if width > 0 else kind.slope(margin, rows.y)
        return found

    @np.errstate(over="ignore", invalid="ignore")
    def minorant(self, w: Array, slopes: Slopes | None = None, curvature: float = 0.0) -> Minorant:
        """A plane below the sum that touches its quadratic part at a decision.

        `slopes` are those of the losses of ⟨w, x⟩; by default, their slopes at the decision. Any slopes give a
        valid plane. `curvature` is that of the quadratic part (`least_curvature`). A user's own losses are taken
        to be exact up to a few units in the last place.
        """
        slopes = self.slopes(w) if slopes is None else slopes
        value, slope = self._quadratic(w)
        error, slope_error = self._quadratic_error(w, value)
        size = np.abs(w)
        value += float(self.linear @ w)
        slope = slope + self.linear
        error += gamma(self.count + self.dimension) * float(self.linear_size @ size)
        slope_error = slope_error + gamma(self.count) * self.linear_size
        for kind, rows in self.rows.items():
            margin, chosen = rows.x @ w, kind.allowed(slopes[kind], rows.y)
            heights = kind.below(margin, chosen, rows.y)
            value += float(heights.sum())
            slope = slope + chosen @ rows.x
            steep = np.abs(chosen) @ np.abs(rows.x)
            terms = np.abs(heights) + np.abs(chosen) * (np.abs(margin) + np.abs(rows.y)) + kind.constant
            error += gamma(self.dimension + 2) * float(steep @ size)
            error += gamma(rows.count + _ELEMENTARY) * float(terms.sum())
            slope_error = slope_error + gamma(rows.count + 2) * steep
        for loss in self.own:
            height, gradient = loss.value(w), loss.gradient(w)
            value += height
            slope = slope + gradient
            error += gamma(_ELEMENTARY + len(self.own)) * abs(height)
            slope_error = slope_error + gamma(_ELEMENTARY + len(self.own)) * np.abs(gradient)
        # For the few additions above.
        error += gamma(len(self.rows) + len(self.own) + 4) * abs(value)
        slope_error = slope_error + gamma(len(self.rows) + len(self.own) + 4) * np.abs(slope)
        return Minorant(w, value, slope, error, slope_error, curvature)

    @np.errstate(over="ignore", invalid="ignore")
    def evaluate(self, w: Array) -> tuple[float, float]:
        """The sum of all losses of a decision, and a bound on its rounding error."""
        value, error = self._ready(w)
        for loss in self.own:
            height = loss.value(w)
            value += height
            error += gamma(_ELEMENTARY + len(self.own)) * abs(height)
        return value, error + gamma(len(self.rows) + len(self.own) + 4) * abs(value)

    @np.errstate(over="ignore", invalid="ignore")
    def rounding(self, sizes: Array) -> float:
        """A bound on the rounding error of the sum of built-in losses, if no coordinate exceeds a size."""
        found = self._ready(sizes)[1]
        return found if math.isfinite(found) else 0.0

    def _ready(self, w: Array) -> tuple[float, float]:
        """The sum of the built-in losses, and a bound on its rounding error."""
        value, _ = self._quadratic(w)
        error, _ = self._quadratic_error(w, value)
        size = np.abs(w)
        value += float(self.linear @ w)
        error += gamma(self.count + self.dimension) * float(self.linear_size @ size)
        for kind, rows in self.rows.items():
            margin = rows.x @ w
            heights, slope = kind.phi(margin, rows.y), np.abs(kind.slope(margin, rows.y))
            # The slope differs on the two sides of a kink.
            steep = slope * (1.0 + gamma(self.dimension + 8)) if kind.smooth else np.ones(len(slope))
            terms = np.abs(heights) + steep * (np.abs(margin) + np.abs(rows.y))
            value += float(heights.sum())
            error += gamma(self.dimension + 2) * float((steep @ np.abs(rows.x)) @ size)
            error += gamma(rows.count + _ELEMENTARY) * float(terms.sum())
        return value, error

    def _quadratic_error(self, w: Array, value: float) -> tuple[float, Array]:
        """Bounds on the rounding errors of the quadratic part and of each coordinate of its gradient."""
        if not self.quadratics:
            return 0.0, np.zeros(self.dimension)
        # By the Cauchy-Schwarz inequality, the norms of the columns bound all products of absolute values.
        norms = np.sqrt(
            self.spread + (np.diag(self.square) if self.square.size else 0.0) * np.ones(self.dimension)
        )
        size = float(norms @ np.abs(w)) + math.sqrt(self.constant)
        if not self.keep:
            count = self.quadratics + 2 * self.dimension + 8
            return gamma(count) * size * size, 2.0 * gamma(count) * norms * size
        root = math.sqrt(max(value, 0.0))
        count = self.quadratics + self.dimension
        off = gamma(self.dimension + 4) * size if self.squares is not None else 4 * UNIT * root
        return 2.0 * root * off + off * off + gamma(count + 4) * value, 2.0 * norms * (
            off + gamma(count + 4) * root
        )
