"""Stored rows for models written in Python; compiled models have theirs in the core."""

from __future__ import annotations

import random
from typing import Any

from millstream._part import Part, from_description, shown_part
from millstream.continual.buffers import Buffer, ClassBalanced
from millstream.errors import InvalidType, InvalidValue

__all__ = ["StoredRows", "buffer_of"]

#: A row with its target and weight.
Row = tuple[dict[Any, Any], Any, float]


def buffer_of(who: str, given: Any, *, balanced: bool) -> Any:
    """The settings of a buffer, given as such, by name or by description."""
    if isinstance(given, (str, dict)):
        given = from_description({"name": given} if isinstance(given, str) else given)
    if not (isinstance(given, Part) and isinstance(given, Buffer)):
        raise InvalidType(f"{who}: buffer must be a buffer, got {shown_part(given)}")
    if isinstance(given, ClassBalanced) and not balanced:
        raise InvalidValue(
            f"{who}: buffer must be continual.Reservoir for a regressor, got continual.ClassBalanced: "
            "it has no classes"
        )
    return given


class StoredRows:
    """The rows of a buffer, chosen as in the core (`continual/buffer.rs`), with a generator of Python."""

    def __init__(self, settings: Any, drawn: random.Random) -> None:
        self.size = settings.size
        self.balanced = isinstance(settings, ClassBalanced)
        self.rows: list[Row] = []
        self.seen = 0
        self._seen_of: dict[Any, int] = {}
        self._full: set[Any] = set()
        self._random = drawn

    def draw(self, count: int) -> list[Row]:
        """Some of the rows without replacement, or all."""
        return self._random.sample(self.rows, count) if count < len(self.rows) else list(self.rows)

    def offer(self, x: dict[Any, Any], y: Any, w: float) -> None:
        """Store a row, if it is to be stored."""
        self.seen += 1
        place = self._balanced_place(y) if self.balanced else self._place()
        if place is None:
            return
        if place == len(self.rows):
            self.rows.append((x, y, w))
        else:
            self.rows[place] = (x, y, w)

    def _place(self) -> int | None:
        if len(self.rows) < self.size:
            return len(self.rows)
        drawn = self._random.randrange(self.seen)
        return drawn if drawn < self.size else None

    def _balanced_place(self, y: Any) -> int | None:
        self._seen_of[y] = self._seen_of.get(y, 0) + 1
        if len(self.rows) < self.size:
            return len(self.rows)
        stored: dict[Any, int] = {}
        for _, label, _ in self.rows:
            stored[label] = stored.get(label, 0) + 1
        most = max(stored.values())
        largest = [label for label, count in stored.items() if count == most]
        self._full.update(largest)
        if y in self._full:
            if self._random.randrange(self._seen_of[y]) >= stored.get(y, 0):
                return None
            victim = y
        else:
            victim = self._random.choice(largest)
        places = [place for place, row in enumerate(self.rows) if row[1] == victim]
        return self._random.choice(places)
