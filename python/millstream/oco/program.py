"""The sum of built-in losses over a built-in set, in the form that the interior-point method solves.

    minimise  ½ ‖R x‖² + ⟨b, x⟩ + Σ ψᵢ(rᵢ)  over x,  r = A x − limit,

where ψ is the curve of a loss (a kink, a softplus, a logarithm; see `losses.MarginLoss`), or the wall of a
constraint, which is 0 where r ≤ 0 and ∞ elsewhere: a kink whose slope rises by ∞.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from millstream.oco.bodies import Body, extent
from millstream.oco.losses import MarginLoss
from millstream.oco.rounding import UNIT
from millstream.oco.sets import Set
from millstream.oco.total import Slopes, Total
from millstream.oco.vectors import Array

__all__ = ["Program", "assemble", "slopes_of", "whitened"]


@dataclass(frozen=True)
class Program:
    """A convex program. Rows of losses come first, and involve only the coordinates of the decision."""

    root: Array
    linear: Array
    losses: Array
    walls: Array
    limits: Array
    #: Total rise of the slope of each curve; ∞ for walls and logarithms.
    rises: Array
    softplus: NDArray[np.bool_]
    logarithm: NDArray[np.bool_]
    start: Array
    #: Number of variables restricted to the ball ‖x‖ ≤ 1; 0 if there is no ball.
    ball: int = 0

    def times(self, x: Array) -> Array:
        """A x."""
        return np.concatenate([self.losses @ x[: self.losses.shape[1]], self.walls @ x])

    def transposed(self, slopes: Array) -> Array:
        """Aᵀ slopes."""
        count = len(self.losses)
        found = slopes[count:] @ self.walls
        found[: self.losses.shape[1]] += slopes[:count] @ self.losses
        return np.asarray(found)


@dataclass(frozen=True)
class _Part:
    """The losses of one kind: which of their rows are in the program, and the slopes of the others."""

    kind: type[MarginLoss]
    inside: NDArray[np.intp]
    slopes: Array
    left: Array
    sign: float

    def back(self, found: Array) -> Array:
        slopes = self.slopes.copy()
        slopes[self.inside] = self.left[self.inside] + self.sign * found
        return slopes


def assemble(total: Total, decisions: Set, body: Body) -> tuple[Program, list[_Part]]:
    """The program of a sum without own losses, and the data that `slopes_of` needs."""
    gradient = total.pull + total.linear + 2.0 * (total.matrix() @ body.origin)
    k = body.coordinates
    root = np.pad(body.inner(total.root()), ((0, 0), (0, body.size - k)))
    parts, blocks, limits, rises, softplus, logarithm = [], [], [], [], [], []
    for kind, rows in total.rows.items():
        kink, left, rise = kind.pieces(rows.y)
        low, high = extent(decisions, rows.x)
        # A loss whose kink no decision reaches is linear here; a distant kink would spoil the scale.
        straight = kind.curve == "kink"
        under, over = straight & (high <= kink), straight & (low >= kink)
        inside = np.flatnonzero(~under & ~over)
        slopes = np.where(over, left + np.where(over, rise, 0.0), left)
        gradient = gradient + slopes @ rows.x
        sign = -1.0 if kind.curve == "logarithm" else 1.0
        parts.append(_Part(kind, inside, slopes, left, sign))
        chosen = rows.x[inside]
        blocks.append(sign * body.inner(chosen))
        limits.append(sign * (kink[inside] - chosen @ body.origin))
        rises.append(rise[inside])
        softplus.append(np.full(len(inside), kind.curve == "softplus"))
        logarithm.append(np.full(len(inside), kind.curve == "logarithm"))
    walls = len(body.limits)
    linear = np.zeros(body.size)
    linear[:k] = body.inner(gradient[None])[0]
    program = Program(
        root,
        linear,
        np.concatenate([np.zeros((0, k)), *blocks]),
        body.rows,
        np.concatenate([*limits, body.limits]),
        np.concatenate([*rises, np.full(walls, np.inf)]),
        np.concatenate([*softplus, np.zeros(walls)]).astype(bool),
        np.concatenate([*logarithm, np.zeros(walls)]).astype(bool),
        body.start,
        k if body.round else 0,
    )
    return program, parts


def whitened(total: Total) -> Body | None:
    """The whole space in coordinates in which the rows of all losses together are orthonormal.

    The scales of the data do not matter in these coordinates. Directions in which no loss changes are omitted;
    None if no other direction is left.
    """
    rows = [total.root(), total.linear[None], *(rows.x for rows in total.rows.values())]
    _, values, vectors = np.linalg.svd(np.linalg.qr(np.concatenate(rows), mode="r"), full_matrices=False)
    rounding = 8.0 * UNIT * (sum(len(each) for each in rows) + total.dimension)
    kept = values > rounding * values.max(initial=0.0)
    basis = vectors[kept].T / values[kept]
    rank = basis.shape[1]
    none = np.zeros((0, rank)), np.zeros(0), np.zeros(rank)
    return Body(np.zeros(total.dimension), basis, *none) if rank else None


def slopes_of(parts: list[_Part], found: Array) -> Slopes:
    """The slopes of the losses from those of a program's rows."""
    slopes, start = {}, 0
    for part in parts:
        slopes[part.kind] = part.back(found[start : start + len(part.inside)])
        start += len(part.inside)
    return slopes
