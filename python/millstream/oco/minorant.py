"""An affine function below a sum of losses, and its minimum over a decision set: the source of all certificates.

A convex sum F lies above its supporting planes and above every mixture of them. The minimum of such a plane over
a decision set has a closed form, or is bounded by means of a projection, and it is a lower bound of F. This holds
for every plane, so that a certificate does not depend on the solver: if the solver fails, the certificate is
wide but valid. `error` and `slope_error` bound the rounding errors of the height and of the slope of the plane.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from millstream.oco.rounding import UNIT, gamma
from millstream.oco.sets import Set
from millstream.oco.vectors import Array

__all__ = ["Minorant", "mixture", "radius_around"]


def radius_around(point: Array) -> float:
    """Maximum length of the decisions that a certificate on an unbounded set covers."""
    return max(1.0, 2.0 * float(np.linalg.norm(point)))


@dataclass(frozen=True)
class Minorant:
    """F(u) ≥ value + ⟨slope, u − at⟩ + ½ strong ‖u − at‖² − error − ⟨slope_error, |u − at|⟩ for all u."""

    at: Array
    value: float
    slope: Array
    error: float
    slope_error: Array
    #: A number σ such that F − ½ σ ‖u‖² is convex, if `slope` is a subgradient at `at`; 0 if that is not known.
    strong: float = 0.0

    def least(self, decisions: Set, radius: float | None = None) -> tuple[float, float]:
        """A lower bound of F over all decisions, and the margin for rounding that it includes.

        On an unbounded set it covers decisions no longer than `radius`.
        """
        if not (math.isfinite(self.value) and np.isfinite(self.slope).all()):
            return -math.inf, math.inf
        with np.errstate(over="ignore", invalid="ignore"):
            if not decisions.bounded:
                # No coordinate of a decision exceeds the radius.
                reach = (radius_around(self.at) if radius is None else radius) + np.abs(self.at)
            else:
                reach = decisions.reach_from(self.at)
            size = float(np.abs(self.slope) @ reach)
            lost = (
                self.error
                + float(self.slope_error @ reach)
                + gamma(2 * len(reach) + 16) * (size + abs(self.value))
            )
            found = self.value + self._descent(decisions, radius) - lost
        return (found, lost) if not math.isnan(found) else (-math.inf, math.inf)

    def least_anywhere(self) -> float:
        """A lower bound of F over all vectors, from its strong convexity; −∞ if there is none."""
        if self.strong <= 0:
            return -math.inf
        with np.errstate(over="ignore", invalid="ignore"):
            steep = np.abs(self.slope) + self.slope_error
            away = float(steep @ steep) / (2.0 * self.strong) * (1.0 + gamma(2 * len(steep) + 8))
            found = self.value - self.error - away - 4 * UNIT * abs(self.value)
        return found if not math.isnan(found) else -math.inf

    def _descent(self, decisions: Set, radius: float | None) -> float:
        """A lower bound of ⟨slope, u − at⟩, up to the rounding of a sum of products."""
        if not self.slope.any():
            return 0.0
        size = float(np.linalg.norm(self.slope))
        if not decisions.bounded:
            length = radius_around(self.at) if radius is None else radius
            return -(float(self.slope @ self.at) + size * length)
        if decisions.has_minimiser:
            return float(self.slope @ (decisions._minimise(self.slope) - self.at))
        # A long step, projected: ⟨∇, v − u⟩ ≤ ‖w − v‖ D / s for v = Π(w − s∇), by the angle at the projection.
        found = -math.inf
        for power in range(4):
            step = 10.0**power * decisions.diameter / size
            away = self.at - decisions._project(self.at - step * self.slope)
            lost = 8 * UNIT * (float(np.abs(self.at).sum()) + step * size)
            distance = float(np.linalg.norm(away)) + lost
            found = max(found, -float(self.slope @ away) - size * lost - distance * decisions.diameter / step)
        return found


def mixture(planes: Sequence[Minorant], weights: Array, at: Array) -> Minorant:
    """A mixture of planes, given at a point; weights are divided by their sum, and none may be negative."""
    used = [(plane, float(weight)) for plane, weight in zip(planes, weights, strict=True) if weight > 0]
    whole = sum(weight for _, weight in used)
    value, error, size = 0.0, 0.0, 0.0
    slope, slope_error, steep = np.zeros(len(at)), np.zeros(len(at)), np.zeros(len(at))
    with np.errstate(over="ignore", invalid="ignore"):
        for plane, weight in used:
            share = weight / whole
            away = at - plane.at
            value += share * (plane.value + float(plane.slope @ away))
            slope += share * plane.slope
            error += share * (plane.error + float(plane.slope_error @ np.abs(away)))
            slope_error += share * plane.slope_error
            size += share * (abs(plane.value) + float(np.abs(plane.slope) @ np.abs(away)))
            steep += share * np.abs(plane.slope)
        # Fractions sum to 1 up to rounding, which counts as one more operation on each term.
        lost = gamma(2 * len(used) + len(at) + 8)
    return Minorant(at, value, slope, error + lost * size, slope_error + lost * steep)
