"""The primal-dual interior-point method, for all built-in losses and sets.

Each row of a program has a slope α between 0 and its rise c, and two slacks with r = p − n. On the central path

    n α = μ,   p (c − α) = μ,   RᵀR x + b + Aᵀα = 0,

and as μ → 0 the path ends at a minimum. A softplus adds log α − log(c − α) to the right-hand side of r = p − n, a
logarithm has n α = 1, a wall has no p, and the unit ball is the wall ½ ‖x‖² ≤ ½. Predictor and corrector are those
of Mehrotra (1992). The step length is the same for x and α, so that curved objectives need no separate treatment.

Slopes and slacks are separate variables. They keep their relative precision near 0, and rounding cannot make them
negative. Systems are solved by a QR decomposition, without forming the product of a matrix with its transpose.

The method yields points and slopes. A certificate does not rely on their accuracy: any slopes give a plane below
the losses (`Total.minorant`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from millstream.oco.program import Program
from millstream.oco.rounding import UNIT
from millstream.oco.vectors import Array

__all__ = ["central_path"]

#: Rows per block of a weighted matrix product; larger blocks take more memory without being faster.
_BLOCK = 65_536
#: Maximum step length, as a fraction of the distance to the boundary.
_NEAR, _NEARER = 0.99, 0.9999
#: Products below this fraction of the initial ones count as 0.
_SMALLEST = 1e-30
#: Relative residuals below this are due to rounding.
_EXACT = 128 * UNIT


class _Move(NamedTuple):
    """A direction of all variables."""

    x: Array
    slope: Array
    below: Array
    above: Array
    pull: float


class _Path:
    """The variables: x, the slopes α and c − α, the slacks n and p, and the slope of the ball."""

    @np.errstate(all="ignore")
    def __init__(self, program: Program) -> None:
        self.program = program
        self.soft: NDArray[np.bool_] = np.isfinite(program.rises)
        self.log, self.plus = program.logarithm, program.softplus
        self.walls = ~self.soft & ~self.log
        self.pairs = 2 * int(self.soft.sum()) + int(self.walls.sum()) + bool(program.ball)
        self.x = program.start.copy()
        self.norms = np.concatenate(
            [np.sqrt(np.square(rows).sum(axis=1)) for rows in (program.losses, program.walls)]
        )
        self.rises = rest = np.where(self.soft, program.rises, 1.0)
        r = program.times(self.x) - program.limits
        gradient = (program.root @ self.x) @ program.root + program.linear
        gradient = gradient + program.transposed(np.where(self.soft, rest / 2.0, 0.0))
        mu = self._first(r, rest, float(np.abs(gradient).max(initial=0.0)))
        # On the central path of the rows alone: μ / (c − α) − μ / α = r.
        level = np.where(self.soft, r, 0.0) * rest
        lesser = 2.0 * rest * mu / (np.hypot(level, 2.0 * mu) + np.abs(level) + 2.0 * mu)
        self.slope = np.where(level > 0, rest - lesser, lesser)
        self.rest = np.where(level > 0, lesser, rest - lesser)
        logistic = 1.0 / (1.0 + np.exp(-np.clip(np.where(self.plus, r, 0.0), -3.0, 3.0)))
        self.slope = np.where(self.plus, logistic, self.slope)
        self.rest = np.where(self.plus, 1.0 - logistic, self.rest)
        # A start outside a wall or a logarithm's domain is moved inside.
        least = 1e-3 * float(np.abs(r).max(initial=0.0)) if bool((r[~self.soft] >= 0).any()) else 0.0
        inside = np.maximum(np.maximum(-r, least), 1e-300)
        self.below = np.where(self.soft, mu / self.slope, inside)
        self.above = np.where(self.soft, mu / self.rest, 0.0)
        self.slope = np.where(self.soft, self.slope, np.where(self.log, 1.0, mu) / self.below)
        self.pull = mu / self.depth if program.ball else 0.0
        self.size = self._magnitude()

    def _first(self, r: Array, rest: Array, steepest: float) -> float:
        """The initial μ, at the scale of the losses."""
        sizes = [1.0] if self.plus.any() else []
        if self.soft.any():
            sizes.append(float((rest * np.abs(r))[self.soft].mean()))
        if self.walls.any():
            sizes.append(steepest * float(np.median(np.maximum(-r[self.walls], 0.0))))
        if self.program.ball:
            sizes.append(0.5 * steepest)
        found = max(sizes, default=0.0)
        return found if found > 0 else 1.0

    def _magnitude(self) -> float:
        """The scale of a gradient: the sum of the absolute values that go into it, for the steepest losses."""
        program = self.program
        slopes = np.where(self.soft, self.rises, np.where(self.log, self.slope, 0.0))
        sizes = np.abs(program.linear) + np.abs(program.root @ self.x) @ np.abs(program.root)
        count, k = len(program.losses), program.losses.shape[1]
        sizes += slopes[count:] @ np.abs(program.walls)
        sizes[:k] += slopes[:count] @ np.abs(program.losses)
        return max(float(sizes.max(initial=0.0)), 1e-300)

    @property
    def inner(self) -> Array:
        """The variables restricted to the ball."""
        return self.x[: self.program.ball]

    @property
    def depth(self) -> float:
        """The slack of the ball constraint: ½ (1 − ‖x‖²)."""
        length = float(np.linalg.norm(self.inner))
        return 0.5 * (1.0 - length) * (1.0 + length)

    @np.errstate(all="ignore")
    def measure(self) -> None:
        """Residuals of all equations, and the weights of the rows in the system."""
        program = self.program
        self.r = program.times(self.x) - program.limits
        self.over = np.where(self.soft, 1.0 / self.rest, 0.0)
        bend = np.where(self.plus, np.log(self.slope) - np.log(self.rest), 0.0)
        self.primal = self.r - self.above + self.below - bend
        give = self.above * self.over + self.below / self.slope
        self.weights = 1.0 / (give + np.where(self.plus, 1.0 / self.slope + self.over, 0.0))
        self.dual = (program.root @ self.x) @ program.root + program.linear + program.transposed(self.slope)
        self.left = float(np.where(self.log, 0.0, self.below * self.slope).sum())
        self.left += float(np.where(self.soft, self.above * self.rest, 0.0).sum())
        if program.ball:
            self.dual[: program.ball] += self.pull * self.inner
            self.left += self.pull * self.depth
        self.mean = self.left / max(self.pairs, 1)

    @np.errstate(all="ignore")
    def error(self, first: float) -> float:
        """The largest relative residual."""
        sizes = self.norms * float(np.linalg.norm(self.x)) + np.abs(self.program.limits) + self.above + self.below
        residuals = np.abs(self.primal) / np.maximum(sizes, 1e-300)
        # The residual of a loss equation counts in proportion to its effect on the slope.
        slopes = np.where(self.soft, np.abs(self.primal) * self.weights / self.rises, math.inf)
        primal = float(np.minimum(residuals, slopes).max(initial=0.0))
        if self.log.any():
            # Logarithms have no maximum slope.
            self.size = self._magnitude()
        dual = float(np.abs(self.dual).max(initial=0.0)) / self.size
        return max(primal, dual, self.left / first if self.pairs else 0.0)

    def prepare(self) -> None:
        """Factorise the system of this iteration, which all directions share."""
        program = self.program
        count, (_, k) = len(program.losses), program.losses.shape
        roots = np.sqrt(self.weights)
        rows = [program.root, program.walls * roots[count:, None]]
        if program.ball:
            inner = np.zeros((1, len(self.x)))
            inner[0, : program.ball] = self.inner * math.sqrt(self.pull / self.depth)
            rows += [math.sqrt(self.pull) * np.eye(program.ball, len(self.x)), inner]
        for begin in range(0, count, _BLOCK):
            block = program.losses[begin : begin + _BLOCK] * roots[begin : min(begin + _BLOCK, count), None]
            factor = np.linalg.qr(block, mode="r") if count > 2 * k else block
            rows.append(np.pad(factor, ((0, 0), (0, len(self.x) - k))))
        self.solve = _factor(np.concatenate(rows), self.times)

    def times(self, x: Array) -> Array:
        """The matrix of the system times a vector, without forming the matrix."""
        program = self.program
        found = (program.root @ x) @ program.root + program.transposed(self.weights * program.times(x))
        if program.ball:
            inner = x[: program.ball]
            found[: program.ball] += self.pull * (inner + self.inner * (float(self.inner @ inner) / self.depth))
        return np.asarray(found)

    def direction(self, below: Array, above: Array, ball: float) -> _Move:
        """Newton's direction for n α, p (c − α) and the product of the ball, plus the given corrections."""
        program = self.program
        shift = self.primal - above * self.over + below / self.slope
        right = -self.dual - program.transposed(shift * self.weights)
        if program.ball:
            right[: program.ball] -= self.inner * (ball / self.depth)
        x = self.solve(right)
        slope = (program.times(x) + shift) * self.weights
        pull = (ball + self.pull * float(self.inner @ x[: program.ball])) / self.depth if program.ball else 0.0
        return _Move(
            x,
            slope,
            (below - self.below * slope) / self.slope,
            (above + self.above * slope) * self.over,
            pull,
        )

    def longest(self, move: _Move) -> float:
        """The step length along a direction at which a variable reaches 0 or the boundary of the ball."""
        found = math.inf
        soft = self.soft
        for value, change in (
            (self.slope, move.slope),
            (self.below, move.below),
            (self.above[soft], move.above[soft]),
            (self.rest[soft], -move.slope[soft]),
        ):
            falling = change < 0
            if falling.any():
                found = min(found, float((-value[falling] / change[falling]).min()))
        if self.program.ball:
            if move.pull < 0:
                found = min(found, -self.pull / move.pull)
            step = move.x[: self.program.ball]
            square, along, room = float(step @ step), float(self.inner @ step), 2.0 * self.depth
            if square > 0:
                root = math.sqrt(max(along * along + square * room, 0.0))
                found = min(found, room / (along + root) if along > 0 else (root - along) / square)
        return found

    def predicted(self, move: _Move, step: float) -> float:
        """The remaining products after a step."""
        below = (self.below + step * move.below) * (self.slope + step * move.slope)
        above = (self.above + step * move.above) * (self.rest - step * move.slope)
        left = float(np.where(self.log, 0.0, below).sum()) + float(np.where(self.soft, above, 0.0).sum())
        if self.program.ball:
            moved = self.inner + step * move.x[: self.program.ball]
            left += (self.pull + step * move.pull) * 0.5 * (1.0 - float(moved @ moved))
        return max(left, 0.0)

    @np.errstate(all="ignore")
    def turn(self, first: float) -> float:
        """One predictor-corrector step; returns its length, 0 at the end."""
        if self.program.ball and self.depth <= 4 * UNIT:
            return 0.0
        self.prepare()
        ends = np.where(self.log, 1.0, 0.0)
        here = self.pull * self.depth if self.program.ball else 0.0
        below, above = self.below * self.slope, np.where(self.soft, self.above * self.rest, 0.0)
        move = self.direction(ends - below, -above, -here)
        step = min(1.0, self.longest(move))
        longest = step
        if self.pairs:
            ratio = self.predicted(move, step) / max(self.left, 1e-300)
            aim = self.mean * min(max(ratio**3, 1e-12 if step > 0.9 else 1e-3), 1.0)
            inner = move.x[: self.program.ball]
            curved = move.pull * float(self.inner @ inner) + 0.5 * self.pull * float(inner @ inner)
            better = self.direction(
                np.where(self.log, 1.0, aim) - below - move.below * move.slope,
                np.where(self.soft, aim - above + move.above * move.slope, 0.0),
                aim - here + curved,
            )
            longest = self.longest(better)
            if longest < 0.1 * step:
                # The second-order correction misleads: centre instead.
                aim = max(aim, 0.1 * self.mean)
                better = self.direction(
                    np.where(self.log, 1.0, aim) - below, np.where(self.soft, aim - above, 0.0), aim - here
                )
                longest = self.longest(better)
            move = better
        fraction = min(max(_NEAR, 1.0 - self.left / first), _NEARER)
        step = min(1.0, fraction * longest)
        self._go(move, step)
        return step

    def _go(self, move: _Move, step: float) -> None:
        def ahead(value: Array, change: Array) -> Array:
            # Rounding must not turn a positive variable into 0.
            return np.maximum(value + step * change, 1e-5 * value)

        self.x = self.x + step * move.x
        self.rest = np.where(self.soft, ahead(self.rest, -move.slope), 1.0)
        self.slope, self.below = ahead(self.slope, move.slope), ahead(self.below, move.below)
        self.above = np.where(self.soft, ahead(self.above, move.above), 0.0)
        self.pull = max(self.pull + step * move.pull, 1e-5 * self.pull)


def _factor(rows: Array, times: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """Solves MᵀM x = right, where M is given by its rows, through the triangle of M's QR decomposition.

    The product MᵀM, whose condition number is that of M squared, is not formed. Iterative refinement recovers the
    remaining precision (Björck, 1987).
    """
    norms = np.sqrt(np.square(rows).sum(axis=0))
    if not np.isfinite(norms).all():
        raise np.linalg.LinAlgError("overflow")
    scale = 1.0 / np.where(norms > 0, norms, 1.0)
    # Heavy rows come first, so that light rows keep their precision (Higham, 2002, section 19.4).
    order = np.argsort(-np.abs(rows * scale).max(axis=1, initial=0.0))
    least = 4.0 * UNIT * np.eye(len(scale))
    inverse = np.linalg.inv(np.linalg.qr(np.concatenate([(rows * scale)[order], least]), mode="r"))
    if not np.isfinite(inverse).all():
        raise np.linalg.LinAlgError("singular")

    def approximate(right: Array) -> Array:
        return np.asarray(scale * (inverse @ (inverse.T @ (scale * right))))

    def solve(right: Array) -> Array:
        found = approximate(right)
        for _ in range(2):
            found = found + approximate(right - times(found))
        return found

    return solve


def central_path(program: Program, most: int = 150) -> Iterator[tuple[Array, Array, bool]]:
    """Points with their slopes, and whether each is at least as near to a solution as all previous ones."""
    path = _Path(program)
    first, best, least, stale = 0.0, math.inf, math.inf, 0
    for _ in range(most):
        path.measure()
        first = first or max(path.left, 1e-300)
        error = path.error(first)
        if not math.isfinite(error):
            return
        yield path.x.copy(), path.slope.copy(), error <= max(4.0 * best, _EXACT)
        # If the initial losses are huge compared with the minimum, products must shrink by the same factor.
        if error < 0.5 * best or _SMALLEST * first < path.left < 0.5 * least:
            best, least, stale = min(best, error), min(least, path.left), 0
        else:
            stale += 1
        # Near the solution convergence is fast; a step without progress is due to rounding.
        if stale >= (3 if best < 1e-12 else 12 if best < 1e-6 else 30) or error <= UNIT / 10:
            return
        try:
            if path.turn(first) < 1e-12:
                return
        except np.linalg.LinAlgError:
            return
