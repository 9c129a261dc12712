"""A profile as a data contract: rows that violate it are reported or quarantined."""

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

#: Standard errors by which a missing rate must exceed that of the contract, and the smallest difference.
_ERRORS, _LEAST_RATE = 4.0, 0.01

#: Largest tolerance of ranges.
_MOST_MARGIN = 1e100

#: Number of violations and of quarantined rows that are kept.
KEPT = 1_000


@dataclass(frozen=True)
class Violation:
    """A violation of the contract by one row."""

    row: int
    column: str
    #: "type", "range", "missing", "category", "column" or "missing rate".
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
        With `on_violation="quarantine"`, the first 1,000 quarantined rows, as `(row, x, y)`.
    """

    verb = "check"

    def __init__(self, source: Stream, contract: Profile, on_violation: str, margin: float) -> None:
        if not isinstance(source, Stream):
            raise InvalidType(f"check: must be a stream, got {type(source).__name__}")
        if not isinstance(on_violation, str) or on_violation not in ("report", "quarantine"):
            raise InvalidValue(f"check: on_violation must be 'report' or 'quarantine', got {quoted(on_violation)}")
        if not isinstance(margin, (int, float, np.number)) or not 0 <= margin <= _MOST_MARGIN:
            raise InvalidValue(f"check: margin must be in [0, {_MOST_MARGIN:g}], got {quoted(margin)}")
        super().__init__(source, on_violation=on_violation, margin=margin)
        self.contract, self.on_violation, self.margin = contract, on_violation, margin
        # Columns that are deliberately not features of this stream.
        self._left_out = {source.target, source.weight, source.time, source.label_time, *_dropped(source)}
        self._start()

    def _start(self) -> None:
        self.violations: dict[str, int] = {}
        self.examples_of_violations: list[Violation] = []
        self.quarantined: list[tuple[int, dict[Any, Any], Any]] = []
        self.left_out = 0
        #: The first violation of each rule, and the number of missing values by column.
        self._first: dict[str, Violation] = {}
        self._missing: dict[Any, int] = {}

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
        self._check_rates(row)

    def _check_rates(self, rows: int) -> None:
        """Report the columns whose fraction of missing values is clearly higher than in the contract."""
        for name, missing in self._missing.items():
            known = self.contract.columns.get(name)
            if known is None:
                continue
            before, now = known.missing_fraction, missing / rows
            error = math.sqrt(before * (1 - before) * (1 / rows + 1 / known.rows))
            if known.missing and now > before + _ERRORS * error + _LEAST_RATE:
                shown = plain(name, 60)
                words = f"{shown} is missing in {100 * now:.3g} % of the rows, which was {100 * before:.3g} %"
                self.violations["missing rate"] = self.violations.get("missing rate", 0) + 1
                self._keep(Violation(rows - 1, shown, "missing rate", words))

    def _keep(self, violation: Violation) -> None:
        self._first.setdefault(violation.rule, violation)
        if len(self.examples_of_violations) < KEPT:
            self.examples_of_violations.append(violation)

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
        present = {name for name, _, _ in named} | self._left_out
        for name, column in self.contract.columns.items():
            if name not in present and not column.missing and column.rows:
                self._add(bad, np.ones(len(chunk), dtype=bool), start, name, "missing", "is missing")
        for name, values, categories in named:
            known = self.contract.columns.get(name)
            if known is None and self.contract.target is not None and name == self.contract.target.name:
                # Rows whose target is not declared, such as those to predict.
                self._check_column(bad, start, self.contract.target, values, categories)
            elif known is None:
                self._add(bad, np.ones(len(chunk), dtype=bool), start, name, "column", "is not in the contract")
            else:
                self._check_column(bad, start, known, values, categories)
        return bad

    def _check_column(self, bad: Any, start: int, known: ColumnProfile, values: Any, categories: Any) -> None:
        name = known.name
        values = np.asarray(values)
        missing = np.isnan(values) if categories is None else values < 0
        self._missing[name] = self._missing.get(name, 0) + int(missing.sum())
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
        # At least one, because it may be the first one of this rule.
        for place in places[: max(KEPT - len(self.examples_of_violations), 1)].tolist():
            text = words if isinstance(words, str) else words(place)
            self._keep(Violation(start + place, shown, rule, f"{shown} {text}"))

    @property
    def summary(self) -> list[str]:
        """A line for each rule that was violated, with the first example."""
        lines = []
        for rule, count in self.violations.items():
            violations = f"{count:,} violation{'s' * (count != 1)} of the contract ({rule})"
            lines.append(f"{violations}, first: {self._first[rule]}")
        if self.left_out:
            lines.append(f"{self.left_out:,} row{'s' * (self.left_out != 1)} in quarantine")
        return lines


def _dropped(source: Any) -> tuple[str, ...]:
    """The columns that the reader of a stream drops."""
    while isinstance(source, Derived):
        source = source.source
    return tuple(getattr(source, "drop", ()))


def _encoded(name: Any, values: list[Any]) -> tuple[Any, Any, Any]:
    """A column of dicts as numbers, or as codes and categories if it has a string."""
    if not any(isinstance(value, str) for value in values):
        return name, np.array([math.nan if value is None else float(value) for value in values]), None
    places: dict[str, int] = {}
    codes = [-1 if value is None else places.setdefault(str(value), len(places)) for value in values]
    return name, np.array(codes), list(places)
