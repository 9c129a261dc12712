"""A profile as a data contract: later rows are compared with it, and reported or left out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from millstream import _frames
from millstream._echo import plain, quoted
from millstream._sparse import Sparse
from millstream.errors import InvalidType, InvalidValue
from millstream.stream.base import Stream
from millstream.stream.chunk import Chunk
from millstream.stream.derived import Derived
from millstream.stream.profiling.columns import ColumnProfile

if TYPE_CHECKING:
    from millstream.stream.profiling.stream_profile import Profile

__all__ = ["Checked", "Violation"]

#: Number of violations and of quarantined rows that are kept.
KEPT = 1_000


@dataclass(frozen=True)
class Violation:
    """A row that does not follow the contract."""

    row: int
    column: str
    #: "type", "range", "missing", "category" or "column".
    rule: str
    message: str

    def __str__(self) -> str:
        return f"row {self.row:,}: {self.message}"


class Checked(Derived):
    """A stream whose rows are compared with a profile; created by `Profile.check`.

    Attributes
    ----------
    violations
        Number of violations of each rule in the last pass.
    examples_of_violations
        The first 1,000 violations.
    quarantined
        With `on_violation="quarantine"`, the first 1,000 rows that were left out, as `(row, x, y)`.
    """

    verb = "check"

    def __init__(self, source: Stream, contract: Profile, on_violation: str, margin: float) -> None:
        if not isinstance(source, Stream):
            raise InvalidType(f"check: must be a stream, got {type(source).__name__}")
        if on_violation not in ("report", "quarantine"):
            raise InvalidValue(f"check: on_violation must be 'report' or 'quarantine', got {quoted(on_violation)}")
        if not margin >= 0:
            raise InvalidValue(f"check: margin must be at least 0, got {margin}")
        super().__init__(source, on_violation=on_violation, margin=margin)
        self.contract, self.on_violation, self.margin = contract, on_violation, margin
        self._start()

    def _start(self) -> None:
        self.violations: dict[str, int] = {}
        self.examples_of_violations: list[Violation] = []
        self.quarantined: list[tuple[int, dict[Any, Any], Any]] = []
        self.left_out = 0

    def chunks(self) -> Iterator[Chunk]:
        self._start()
        row = 0
        for chunk in self.source.chunks():
            bad = self._check(chunk, row)
            row += len(chunk)
            if self.on_violation == "report" or not bad.any():
                yield chunk
                continue
            self._quarantine(chunk.take(np.flatnonzero(bad)), row - len(chunk) + np.flatnonzero(bad))
            if not bad.all():
                yield chunk.take(np.flatnonzero(~bad))

    def _quarantine(self, chunk: Chunk, rows: Any) -> None:
        self.left_out += len(chunk)
        for row, (x, y) in zip(rows.tolist(), chunk.examples(), strict=True):
            if len(self.quarantined) >= KEPT:
                return
            self.quarantined.append((row, x, y))

    def _check(self, chunk: Chunk, start: int) -> Any:
        """Whether each row violates the contract. Violations are counted."""
        bad = np.zeros(len(chunk), dtype=bool)
        if isinstance(chunk.X, Sparse):
            return bad
        from millstream.stream.profiling.stream_profile import _columns_of_dicts

        parts = _frames.take_apart(chunk.X)
        if parts[0] == "matrix":
            named = [(place, parts[1][:, place], None) for place in range(parts[1].shape[1])]
        elif parts[0] == "columns":
            named = list(parts[1])
        else:
            named = [_encoded(name, values) for name, values in _columns_of_dicts(list(parts[1])).items()]
        present = {name for name, _, _ in named}
        for name, column in self.contract.columns.items():
            if name not in present and not column.missing and column.rows:
                self._add(bad, np.ones(len(chunk), dtype=bool), start, name, "missing", "is missing")
        for name, values, categories in named:
            known = self.contract.columns.get(name)
            if known is None:
                self._add(bad, np.ones(len(chunk), dtype=bool), start, name, "column", "is not in the contract")
            else:
                self._check_column(bad, start, known, values, categories)
        return bad

    def _check_column(self, bad: Any, start: int, known: ColumnProfile, values: Any, categories: Any) -> None:
        name = known.name
        values = np.asarray(values)
        missing = np.isnan(values) if categories is None else values < 0
        if not known.missing:
            self._add(bad, missing, start, name, "missing", "is missing, which it never was")
        if categories is None:
            if known.strings and not known.numbers:
                self._add(bad, ~missing, start, name, "type", "is a number, but was a string")
                return
            low, high = self._range(known)
            outside = ~missing & ((values < low) | (values > high))
            words = f"is outside of {known.low:.6g} to {known.high:.6g} by more than the margin"
            self._add(bad, outside, start, name, "range", words)
            return
        if known.numbers and not known.strings:
            self._add(bad, ~missing, start, name, "type", "is a string, but was a number")
        elif known.strings and not known.more_values and known.kind in ("nominal", "constant"):
            new = np.array([category not in known.counts for category in categories] + [False])
            found = new[values]
            if found.any():
                category = [f"is {quoted(text)}, which never occurred" for text in categories]
                self._add(bad, found, start, name, "category", lambda row: category[values[row]])

    def _range(self, known: ColumnProfile) -> tuple[float, float]:
        if not known.numbers:
            return -math.inf, math.inf
        room = self.margin * (known.high - known.low)
        return known.low - room, known.high + room

    def _add(
        self, bad: Any, found: Any, start: int, name: Any, rule: str, words: str | Callable[[int], str]
    ) -> None:
        places = np.flatnonzero(found)
        if not len(places):
            return
        bad |= found
        self.violations[rule] = self.violations.get(rule, 0) + len(places)
        shown = plain(name, 60)
        for place in places[: KEPT - len(self.examples_of_violations)].tolist():
            text = words if isinstance(words, str) else words(place)
            self.examples_of_violations.append(Violation(start + place, shown, rule, f"{shown} {text}"))

    @property
    def summary(self) -> list[str]:
        """A line for each rule that was violated, with the first example."""
        lines = []
        for rule, count in self.violations.items():
            first = next((str(each) for each in self.examples_of_violations if each.rule == rule), "")
            lines.append(f"{count:,} violation{'s' * (count != 1)} of the contract ({rule}), first: {first}")
        if self.left_out:
            lines.append(f"{self.left_out:,} row{'s' * (self.left_out != 1)} in quarantine")
        return lines


def _encoded(name: Any, values: list[Any]) -> tuple[Any, Any, Any]:
    """A column of dicts as numbers, or as codes and categories if it has a string."""
    if not any(isinstance(value, str) for value in values):
        return name, np.array([math.nan if value is None else float(value) for value in values]), None
    places: dict[str, int] = {}
    codes = [-1 if value is None else places.setdefault(str(value), len(places)) for value in values]
    return name, np.array(codes), list(places)
