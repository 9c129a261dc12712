"""A bounded curve of a model's quality: one point every `every` labels, which doubles when the curve is full."""

from __future__ import annotations

from typing import Any

__all__ = ["Curve"]

#: More points than a chart has pixels are of no use.
_MOST = 512


class Curve:
    """Points (labels scored, seq, time in ms, values of the metrics), evenly spaced in labels.

    When the curve is full, every second point is dropped. The points depend on the labels only, so a replay has
    the same ones.
    """

    def __init__(self) -> None:
        self.every = 1
        self.points: list[list[Any]] = []

    def is_due(self, scored: int) -> bool:
        """Whether the point after `scored` labels belongs to the curve."""
        return scored % self.every == 0

    def add(self, scored: int, seq: int, time: int, values: list[float | None]) -> None:
        """Add a point."""
        self.points.append([scored, seq, time, *values])
        if len(self.points) > _MOST:
            self.every *= 2
            self.points = [point for point in self.points if point[0] % self.every == 0]

    def describe(self) -> dict[str, Any]:
        """The curve as plain data."""
        return {"every": self.every, "points": self.points}

    @classmethod
    def of(cls, described: dict[str, Any]) -> Curve:
        """The curve of a description."""
        curve = cls()
        curve.every, curve.points = int(described["every"]), [list(point) for point in described["points"]]
        return curve
