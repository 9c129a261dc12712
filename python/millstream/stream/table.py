"""The base class of all readers of Arrow tables.

A reader yields tables, and this module turns each into a chunk: target, weight and times are separated from the
features. Every column keeps the kind that was stated or that it had in the first rows. A row with a value of
another kind is an error that names the row, or is skipped and counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pyarrow as arrow

from millstream._echo import fitting, quoted
from millstream.errors import InvalidType, InvalidValue, UnknownName
from millstream.registry import nearest
from millstream.stream import kinds
from millstream.stream.base import Stream
from millstream.stream.chunk import Chunk
from millstream.stream.owner_thread import owned
from millstream.stream.prefetch import ReadAhead

__all__ = ["Fault", "Piece", "SkippedRows", "TableStream"]

#: Number of skipped rows whose reasons are kept.
REASONS = 5


class Fault(NamedTuple):
    """Input that is not a row; it stood before row `row` of its table."""

    row: int
    words: str


class Piece(NamedTuple):
    """An Arrow table, with what its reader knows about it.

    `place` returns the position of a row in words (`"line 7"`); without it, rows are counted from the beginning.
    `faults` are input that could not be made into rows, in order, each with its message. `texts` are columns that
    are still strings because some value in them could not be read; a dict gives the kinds they should have,
    otherwise they should be numbers. `names` are the names of all columns, if dropped columns were not read.
    """

    table: arrow.Table
    place: Callable[[int], str] | None = None
    faults: Sequence[Fault] = ()
    texts: Collection[str] = ()
    names: Sequence[str] | None = None

    def kind_of_text(self, name: str) -> str | None:
        """The kind that a column of strings should have; None for other columns."""
        if name not in self.texts:
            return None
        return self.texts[name] if isinstance(self.texts, Mapping) else "number"


@dataclass
class SkippedRows:
    """Number of rows skipped in the last pass, and the reasons for the first of them."""

    count: int = 0
    reasons: list[str] = field(default_factory=list)

    def add(self, words: str) -> None:
        """Count a row; keep the reasons of the first few."""
        self.count += 1
        if len(self.reasons) < REASONS:
            self.reasons.append(fitting(words))

    def __len__(self) -> int:
        return self.count

    def __str__(self) -> str:
        more = "; …" if self.count > len(self.reasons) else ""
        rows = f"{self.count:,} row{'s' * (self.count != 1)} skipped"
        return f"{rows}: {'; '.join(self.reasons)}{more}" if self.count else rows


class TableStream(Stream):
    """A stream read as Arrow tables; the base class of the readers of files, databases and frames.

    A subclass defines `tables()` and `source`.

    Parameters
    ----------
    target
        The column to predict. Without it, models can predict the stream but not learn from it.
    weight
        The column of sample weights.
    time
        The column of event times: timestamps, dates, ISO 8601 strings, or numbers.
    label_time
        The column of label arrival times, in the same format.
    drop
        Columns to leave out.
    types
        Kinds by column, where they differ from those found in the first rows: `"number"`, `"nominal"`, `"text"`
        or `"time"`. A time among the features is converted to seconds since 1970. Dates that are not ISO 8601
        need their layout: `"time:%d.%m.%Y"`.
    on_error
        `"raise"`: a row with a value that is not of its column's kind ends the stream with an error, after the
        rows before it. `"skip"`: such a row is skipped and counted in `skipped`.
    """

    #: The function that creates it, for `repr`.
    maker = ""
    #: Whether columns may be named that only later tables have.
    later_columns = False
    #: Whether a source without any row is an error.
    must_have_rows = True
    #: The message of that error.
    no_rows = "there are no rows"

    def __init__(
        self,
        *,
        target: str | None = None,
        weight: str | None = None,
        time: str | None = None,
        label_time: str | None = None,
        drop: Iterable[str] = (),
        types: Mapping[str, str] | None = None,
        on_error: str = "raise",
    ) -> None:
        self.target, self.weight, self.time, self.label_time = target, weight, time, label_time
        self.drop = (drop,) if isinstance(drop, str) else tuple(drop)
        split = {name: kinds.split_kind(str(kind)) for name, kind in (types or {}).items()}
        self.types = {name: kind for name, (kind, _) in split.items()}
        #: Layouts of times that are not ISO 8601, by column.
        self.layouts = {name: layout for name, (_, layout) in split.items() if layout is not None}
        self.on_error = on_error
        self.skipped = SkippedRows()
        self._schema: dict[str, str] | None = None
        self._begun: Iterator[Chunk] | None = None
        if on_error not in ("raise", "skip"):
            raise InvalidValue(f"stream: on_error must be 'raise' or 'skip', got {quoted(on_error)}")
        for name, kind in self.types.items():
            if kind not in kinds.KINDS:
                raise InvalidValue(
                    f"stream: the kind of {quoted(name)} must be one of {_listed(kinds.KINDS)}, got {quoted(kind)}"
                )
        if label_time is not None and time is None:
            raise InvalidValue("stream: label_time needs time, the column of event times")

    @property
    def source(self) -> str:
        """The name of the file or table, for messages."""
        return type(self).__name__

    def tables(self) -> Iterator[arrow.Table | Piece]:
        """The data from the beginning, as Arrow tables with the same columns."""
        raise NotImplementedError(f"{type(self).__name__} must define tables()")

    @property
    def schema(self) -> dict[str, str]:
        """The features and their kinds, as stated or as found in the first rows."""
        if self._schema is None:
            if self.repeatable:
                with owned(self._read()) as chunks:
                    next(chunks, None)
            else:
                # What is read here cannot be read again. Another thread may continue the reading, but it must not
                # continue a generator of this thread.
                rest = ReadAhead(self._read()) if self.reads_ahead else self._read()
                first = next(rest, None)
                self._begun = rest if first is None else chain([first], rest)
        return dict(self._schema or {})

    def chunks(self) -> Iterator[Chunk]:
        if self._begun is not None:
            chunks, self._begun = self._begun, None
            return chunks
        return self._read()

    def hint(self, name: str, known: Sequence[str]) -> str:
        """A hint for the message that there is no column of that name."""
        return nearest(name, known) or (f"; there are {_listed(known)}" if known else "; there are no columns")

    def _read(self) -> Generator[Chunk, None, None]:
        aside = self.skipped = SkippedRows()
        reading = _Reading(self, aside)
        with owned(self.tables()) as tables:
            for piece in tables:
                chunk, error = reading.chunk(piece if isinstance(piece, Piece) else Piece(piece))
                self._schema = reading.schema
                if chunk is not None:
                    yield chunk
                if error is not None:
                    raise InvalidValue(error)
        if not reading.row and not aside and self.must_have_rows:
            raise InvalidValue(f"{self.source}: {self.no_rows}")

    def _given(self) -> dict[str, Any]:
        """The options that differ from their defaults, for `repr`."""
        names = ("target", "weight", "time", "label_time", "drop", "types")
        given = {name: value for name in names if (value := getattr(self, name))}
        if self.layouts:
            given["types"] = self.types | {name: f"time:{layout}" for name, layout in self.layouts.items()}
        if self.drop:
            given["drop"] = list(self.drop)
        if self.on_error != "raise":
            given["on_error"] = self.on_error
        return given

    def __repr__(self) -> str:
        words = "".join(f", {name}={value!r}" for name, value in self._given().items())
        return f"{self.maker or type(self).__name__}({self.source!r}{words})"


class _Reading:
    """One pass over the tables: the kinds of the columns so far."""

    def __init__(self, stream: TableStream, aside: SkippedRows) -> None:
        self.stream, self.aside = stream, aside
        self.schema: dict[str, str] = {}
        self.target: str | None = None
        #: Number of rows so far, skipped ones included.
        self.row = 0
        self.begun = False

    def chunk(self, piece: Piece) -> tuple[Chunk | None, str | None]:
        """The chunk of a table, if it has a valid row, and the error that ends the stream, if there is one."""
        stream, table = self.stream, piece.table
        if not self.begun and piece.faults and not table.num_rows and not piece.names:
            # The fault is in the first row, not in the names that it would have had.
            return None, self._sorted_out(piece, _no_features(table, {}), {})[1]
        if not self.begun:
            self._check_names(piece.names or table.column_names)
            self.begun = True
        faults: dict[int, str] = {}
        columns, names = [], []
        beside = {"y": stream.target, "w": stream.weight, "time": stream.time, "label_time": stream.label_time}
        left_out = {*beside.values(), *stream.drop}
        for name, column in zip(table.column_names, table.columns, strict=True):
            if name not in left_out:
                columns.append(self._feature(piece, name, _combined(column), faults))
                names.append(name)
        others = {
            what: self._beside(piece, what, name, faults) for what, name in beside.items() if name is not None
        }
        chunk = Chunk(arrow.table(columns, names=names), **others) if columns else _no_features(table, others)
        chunk, error = self._sorted_out(piece, chunk, faults)
        self.row += table.num_rows
        return (chunk if len(chunk) else None), error

    def _check_names(self, known: Sequence[str]) -> None:
        stream = self.stream
        if len(set(known)) != len(known):
            twice = next(name for name, often in Counter(known).items() if often > 1)
            raise InvalidValue(f"{stream.source}: duplicate column {quoted(twice)}")
        for what in ("target", "weight", "time", "label_time"):
            self._check_name(getattr(stream, what), f" for {what}", known)
        if not stream.later_columns:
            for name in stream.drop:
                self._check_name(name, " to drop", known)
            for name in stream.types:
                self._check_name(name, " of types", known)

    def _check_name(self, name: str | None, purpose: str, known: Sequence[str]) -> None:
        if name is None or name in known:
            return
        hint = self.stream.hint(name, known)
        raise UnknownName(f"{self.stream.source}: there is no column {quoted(name)}{purpose}{hint}")

    def _feature(self, piece: Piece, name: str, column: Any, faults: dict[int, str]) -> Any:
        stated = self.stream.types.get(name)
        found = kinds.kind_of(column.type)
        if found is None:
            raise InvalidType(
                f"{self.stream.source}: column {quoted(name)} is {column.type}, not a number, string or time; "
                f"leave it out with drop=[{quoted(name)}]"
            )
        is_text = name in piece.texts
        if column.null_count == len(column):
            found = kinds.UNKNOWN
        kind = stated or self.schema.get(name, kinds.UNKNOWN)
        if kind == kinds.UNKNOWN:
            kind = piece.kind_of_text(name) or found
        self.schema[name] = kind
        layout = self.stream.layouts.get(name)
        converted, bad = kinds.as_kind(column, kind, stated is not None or is_text, layout)
        self._note(piece, name, column, bad, f"must be {_a(kind)}{_in(layout)}", faults)
        return converted

    def _beside(self, piece: Piece, what: str, name: str, faults: dict[int, str]) -> Any:
        table = piece.table
        place = table.schema.get_field_index(name)
        column = _combined(table.column(place)) if place >= 0 else arrow.nulls(table.num_rows)
        if what in ("time", "label_time"):
            layout = self.stream.layouts.get(name)
            converted, bad = kinds.as_time(column, layout)
            self._note(piece, name, column, bad, f"must be a time, a date or a number{_in(layout)}", faults)
            return converted
        self._note(piece, name, column, kinds.missing(column), f"the {_WORDS[what]} must not be missing", faults)
        if what == "w":
            converted, bad = kinds.as_kind(column, "number", stated=True)
            self._note(piece, name, column, bad, "a weight must be a number", faults)
            return converted
        return self._target(piece, name, column, faults)

    def _target(self, piece: Piece, name: str, column: Any, faults: dict[int, str]) -> Any:
        stated = self.stream.types.get(name)
        if arrow.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        found = kinds.kind_of(column.type)
        if found in (None, "time"):
            raise InvalidType(
                f"{self.stream.source}: column {quoted(name)} is {column.type}; a target must be a label or "
                "a number"
            )
        is_text = name in piece.texts
        kind = stated or self.target or piece.kind_of_text(name) or found or kinds.UNKNOWN
        if column.null_count == len(column):
            return column
        self.target = kind
        converted, bad = kinds.as_kind(
            column, "text" if kind == "nominal" else kind, stated is not None or is_text
        )
        self._note(piece, name, column, bad, f"must be {_a(kind)}", faults)
        return converted

    def _note(self, piece: Piece, name: str, column: Any, bad: Any, rule: str, faults: dict[int, str]) -> None:
        if bad is None or not len(bad):
            return
        keep = REASONS if self.stream.on_error == "skip" else 1
        for order, row in enumerate(bad.tolist()):
            if row in faults:
                continue
            if order < keep:
                value = column[row].as_py()
                got = "nothing" if value is None or value != value else quoted(value)
                place = piece.place(row) if piece.place is not None else f"row {self.row + row}"
                faults[row] = f"{self.stream.source}, {place}, column {quoted(name)}: {rule}, got {got}"
            else:
                faults[row] = ""

    def _sorted_out(self, piece: Piece, chunk: Chunk, faults: dict[int, str]) -> tuple[Chunk, str | None]:
        """The valid rows; those before the first fault, if a fault is an error."""
        if not faults and not piece.faults:
            return chunk, None
        found = sorted([*piece.faults, *(Fault(row, words) for row, words in faults.items())], key=lambda f: f.row)
        if self.stream.on_error == "raise":
            return chunk.cut(0, found[0].row), found[0].words
        for fault in found:
            self.aside.add(fault.words)
        if faults:
            good = np.ones(len(chunk), dtype=bool)
            good[list(faults)] = False
            chunk = chunk.take(np.flatnonzero(good))
        return chunk, None


_WORDS = {"y": "target", "w": "weight"}


def _combined(column: Any) -> Any:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _no_features(table: arrow.Table, others: dict[str, Any]) -> Chunk:
    """A chunk whose rows have no features, as many as there are."""
    return Chunk([{} for _ in range(table.num_rows)], **others)


def _in(layout: str | None) -> str:
    return "" if layout is None else f" like {layout}"


def _a(kind: str) -> str:
    return "a string" if kind in ("nominal", "text") else f"a {kind}"


def _listed(names: Iterable[str]) -> str:
    shown = [quoted(name) for name in names]
    return ", ".join(shown[:12]) + (f", … ({len(shown)} in all)" if len(shown) > 12 else "")
