"""The dialect of a CSV file, and the parser of its blocks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as arrow
from pyarrow import csv

from millstream._echo import quoted
from millstream.errors import InvalidValue
from millstream.stream.blocks import Block, Rules
from millstream.stream.dialect import fields, named, numbered, sniff_delimiter
from millstream.stream.kinds import kind_of
from millstream.stream.table import Fault, Piece, TableStream

__all__ = ["Look", "Parser"]

Types = Mapping[str, arrow.DataType]

#: Bytes from which the delimiter and the header are inferred.
BEGINNING = 1 << 16

_ENCODING = "if the file is in another encoding, say which, as in encoding='latin-1'"

_SOMETHING = re.compile(rb"[^\r\n]")

_NOMINAL = arrow.dictionary(arrow.int32(), arrow.string())


@dataclass
class Look:
    """The dialect as stated by the caller; see `read_csv`."""

    delimiter: str | None
    header: bool
    names: Sequence[str] | None
    missing: Sequence[str]
    quote: str | None
    decimal: str

    @property
    def has_header(self) -> bool:
        """Whether the first line contains the column names."""
        return self.header and self.names is None


class Parser:
    """Parses the blocks of one file."""

    def __init__(self, stream: TableStream, look: Look, head: bytes) -> None:
        self.stream, self.look = stream, look
        newline = b"\r" if b"\r" in head and b"\n" not in head else b"\n"
        quote = look.quote
        beginning = head[:BEGINNING] if newline in head[:BEGINNING] else head
        self.delimiter = look.delimiter or sniff_delimiter(beginning, quote, newline)
        self.rules = Rules(quote.encode() if quote else None, self.delimiter.encode(), newline)
        whole = head[: self.rules.end(head)] or head
        beginning = whole[: self.rules.end(whole[:BEGINNING])] or whole
        first = next((record for record in self.rules.records(beginning, 1) if record.data.strip()), None)
        if first is None:
            raise InvalidValue(f"{stream.source}: the file is empty")
        if b"\0" in first.data:
            raise InvalidValue(
                f"{stream.source}, line {first.line}: a NUL byte: not a text file, or in another encoding, "
                "such as encoding='utf-16'"
            )
        self.header = b""
        self.start, self.line = 0, 1
        row = fields(first, self.delimiter, quote)
        if look.has_header:
            self.header = first.data
            self.start = whole.index(first.data) + len(first.data)
            self.line = first.line + first.data.count(newline)
            self.names = named(row)
            # The blocks start with the rest of the header line.
        elif look.names is not None:
            self.names = [str(name) for name in look.names]
        else:
            self.names = numbered(len(row))
        if look.has_header and (bad := _not_utf8(self.names)) is not None:
            place, letters = bad
            raise InvalidValue(
                f"{stream.source}, line {first.line}, name of column {place + 1}: bad UTF-8 ({letters}); "
                f"{_ENCODING}"
            )
        if (twice := next((name for name, often in Counter(self.names).items() if often > 1), None)) is not None:
            raise InvalidValue(f"{stream.source}: duplicate column {quoted(twice)}")
        self.types = self._types(whole[self.start :])
        self.unknown = {name for name, kind in self.types.items() if kind == arrow.null()}

    # Types of the columns

    def _types(self, data: bytes) -> dict[str, arrow.DataType]:
        stream = self.stream
        self.types, self.unknown = {}, set()
        found = None
        if data.strip():
            try:
                found = self._read(data, {})
            except arrow.ArrowInvalid:
                data = b"\n".join(record for record, _ in self._rows(data, 1, []))
                found = self._read(data, {}) if data else None
        kinds = {"number": arrow.float64(), "nominal": _NOMINAL, "text": arrow.string()}
        types = {}
        beside = (stream.target, stream.time, stream.label_time)
        for name in self.names:
            kind = arrow.null() if found is None or name in stream.drop else found.schema.field(name).type
            stated = stream.types.get(name)
            if name == stream.weight:
                kind = arrow.float64()
            elif stated in kinds:
                kind = kinds[stated]
            elif arrow.types.is_string(kind):
                kind = _NOMINAL
            types[name] = arrow.string() if kind == _NOMINAL and name in beside else kind
        return types

    # Blocks

    def _read(self, data: bytes, types: Types) -> arrow.Table:
        """The rows as Arrow reads them; ArrowInvalid if it cannot, or if a string is not UTF-8."""
        look = self.look
        table = csv.read_csv(
            arrow.BufferReader(data),
            read_options=csv.ReadOptions(use_threads=False, column_names=self.names, block_size=len(data) + 1),
            parse_options=csv.ParseOptions(
                delimiter=self.delimiter,
                quote_char=look.quote or False,
                newlines_in_values=look.quote is not None and look.quote.encode() in data,
            ),
            convert_options=csv.ConvertOptions(
                column_types=types,
                null_values=look.missing,
                strings_can_be_null=True,
                decimal_point=look.decimal,
                include_columns=[name for name in self.names if name not in self.stream.drop],
            ),
        )
        if any(arrow.types.is_binary(field.type) for field in table.schema):
            # Arrow infers this type for a column with a value that is not UTF-8.
            raise arrow.ArrowInvalid("bad UTF-8")
        return table

    def parse(self, block: Block) -> tuple[Block, Piece]:
        """The rows of a block, which may have columns of unknown type."""
        if block.begins and self.header:
            block = self._without_header(block)
        known = {name: kind for name, kind in self.types.items() if name not in self.unknown}
        faults: list[Fault] = []
        lines: list[int] | None = None
        data = block.data
        piece = None if block.doubtful and self.rules.open_at(data) is not None else self._typed(data, known)
        if piece is None:
            kept = list(self._rows(data, block.line, faults))
            data = b"\n".join(record for record, _ in kept)
            lines = [line for _, line in kept]
            piece = self._typed(data, known)
            if piece is None:
                raise InvalidValue(f"{self.stream.source}, line {block.line} and after: unreadable")
        table, texts = piece

        def place(row: int) -> str:
            return f"line {(lines or self._lines(block))[row]}"

        return block, Piece(table, place, faults, texts, self.names)

    def _typed(self, data: bytes, types: Types) -> tuple[arrow.Table, dict[str, str]] | None:
        """The rows with their types, or with wider ones, or with strings where a value is of another kind."""
        if not _SOMETHING.search(data):
            empty = {name: types.get(name, arrow.null()) for name in self.names if name not in self.stream.drop}
            return arrow.schema(list(empty.items())).empty_table(), {}
        for change, texts in self._ways(types):
            try:
                return self._read(data, {**types, **change}), texts
            except arrow.ArrowInvalid:
                continue
        return None

    def _ways(self, types: Types) -> Iterator[tuple[dict[str, arrow.DataType], dict[str, str]]]:
        """Other types to try, and the columns that remain to be converted, with their kinds."""
        yield {}, {}
        yield {name: arrow.float64() for name, kind in types.items() if kind == arrow.int64()}, {}
        kinds = {name: kind_of(kind) for name, kind in types.items()}
        times = {name: kind for name, kind in kinds.items() if kind == "time"}
        yield dict.fromkeys(times, arrow.string()), times
        read = {name: kind for name, kind in kinds.items() if kind in ("number", "time")}
        yield dict.fromkeys(read, arrow.string()), read

    def settled(self, block: Block, piece: Piece) -> Piece:
        """A piece whose columns have the types known so far, in the order of the file.

        The first value of a column decides its type, so that the result does not depend on the block size.
        """
        fresh = {name for name in self.unknown if piece.table.schema.get_field_index(name) >= 0}
        late = False
        for name in fresh:
            column = piece.table.column(name)
            if column.null_count == len(column):
                continue
            texts = self._read_column(block, name)
            first = next(text for text in texts.to_pylist() if text is not None)
            self.types[name] = self._type_of(first, name)
            self.unknown.discard(name)
            late = True
        stale = any(
            name in self.types
            and name not in self.unknown
            and self.types[name] != arrow.null()
            and not _fits(piece.table.schema.field(name).type, self.types[name])
            for name in piece.table.column_names
            if name not in piece.texts
        )
        if late or stale:
            return self.parse(block)[1]
        for name, kind in self.types.items():
            # Fractions appeared: later blocks need not fail first. A target keeps its integers.
            if kind == arrow.int64() and name not in (self.stream.target, *self.stream.drop):
                self.types[name] = arrow.float64() if _is_float(piece, name) else kind
        return piece

    def _read_column(self, block: Block, name: str) -> Any:
        types = dict.fromkeys(self.names, arrow.string())
        try:
            return self._read(block.data, types).column(name)
        except arrow.ArrowInvalid:
            kept = b"\n".join(record for record, _ in self._rows(block.data, block.line, []))
            return self._read(kept, types).column(name)

    def _type_of(self, text: str, name: str) -> arrow.DataType:
        stream = self.stream
        data = b'"' + text.replace('"', '""').encode() + b'"\n'
        column = csv.read_csv(
            arrow.BufferReader(data),
            read_options=csv.ReadOptions(column_names=["x"], block_size=len(data) + 1),
            parse_options=csv.ParseOptions(newlines_in_values=True),
            convert_options=csv.ConvertOptions(decimal_point=self.look.decimal),
        ).column(0)
        if not arrow.types.is_string(column.type):
            return column.type
        return arrow.string() if name in (stream.target, stream.time, stream.label_time) else _NOMINAL

    # Faults in a block

    def _rows(self, data: bytes, line: int, faults: list[Fault]) -> Iterator[tuple[bytes, int]]:
        """The well-formed records, with their lines; the others are added to `faults`."""
        row, width, source = 0, len(self.names), self.stream.source
        for record in self.rules.records(data, line):
            if not record.data:
                continue
            found = None
            cells = fields(record, self.delimiter, self.look.quote)
            if record.open:
                found = "a quote is never closed"
            elif len(cells) != width:
                whose = "the header has" if self.header else "there should be"
                found = f"{len(cells)} field{'s' * (len(cells) != 1)} where {whose} {width}"
            if found is None and (bad := _not_utf8(cells)) is not None:
                place, letters = bad
                faults.append(
                    Fault(
                        row,
                        f"{source}, line {record.line}, column {quoted(self.names[place])}: "
                        f"bad UTF-8 ({letters}); {_ENCODING}",
                    )
                )
            elif found is not None:
                faults.append(Fault(row, f"{source}, line {record.line}: {found}"))
            else:
                row += 1
                yield record.data, record.line

    def _lines(self, block: Block) -> list[int]:
        return [record.line for record in self.rules.records(block.data, block.line) if record.data]

    def _without_header(self, block: Block) -> Block:
        """A file that replaced another has a header too."""
        first = next(self.rules.records(block.data, block.line), None)
        if first is None or first.data != self.header:
            return block
        return block._replace(data=block.data[len(first.data) :])


def _fits(given: arrow.DataType, wanted: arrow.DataType) -> bool:
    """Whether a column read with one type equals the column read with the other."""
    if given == wanted or arrow.types.is_null(given):
        return True
    return given in (arrow.int64(), arrow.float64()) and wanted in (arrow.int64(), arrow.float64())


def _is_float(piece: Piece, name: str) -> bool:
    return bool(piece.table.schema.field(name).type == arrow.float64())


def _not_utf8(cells: Iterable[str]) -> tuple[int, str] | None:
    for place, cell in enumerate(cells):
        for letter in cell:
            if "\udc80" <= letter <= "\udcff":
                return place, f"byte 0x{ord(letter) - 0xDC00:02x}"
    return None
