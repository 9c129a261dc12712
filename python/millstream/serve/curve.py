"""A bounded metric curve: one point every `every` labels; `every` doubles when the curve is full."""

from __future__ import annotations

from typing import Any

__all__ = ["Curve"]

#: A chart cannot show more points than it has pixels.
_MOST = 512


class Curve:
    """Points (labels scored, seq, time in ms, values of the metrics), evenly spaced in labels.

    When the curve is full, every second point is dropped. The points depend only on the labels, so a replay
    gives the same points.
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
        """The curve from plain data."""
        curve = cls()
        curve.every, curve.points = int(described["every"]), [list(point) for point in described["points"]]
        return curve
