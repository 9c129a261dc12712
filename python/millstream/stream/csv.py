"""Separated values, read by Arrow's parser in blocks that are cut here.

A file is cut into blocks of whole records. Each is parsed by itself, two at a time ahead of the learner, with the
types that were found in the first megabyte or stated. A block that does not parse is looked at again, slowly:
lines that are no rows, text that is no UTF-8, and values that are not of their column's kind are found with their
lines. Memory is that of a few blocks, however long the file is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import chain
from typing import Any

import pyarrow as arrow
from pyarrow import csv

from millstream.errors import InvalidValue
from millstream.stream.blocks import Block, Rules, blocks
from millstream.stream.dialect import fields, named, numbered, sniff_delimiter
from millstream.stream.kinds import kind_of
from millstream.stream.parallel import in_parallel
from millstream.stream.source import Source
from millstream.stream.table import Fault, Piece, TableStream

__all__ = ["CSV", "MISSING", "read_csv"]

#: What stands for a missing value.
MISSING = ("", "NA", "NaN", "nan", "null", "None", "?")

#: How much of a file decides what it looks like and what its columns are, whatever the size of the blocks.
HEAD = 1 << 20

#: Bytes that are parsed at once. Smaller blocks cost more calls, larger ones leave the cache before they are used.
BLOCK = 1 << 20

_SOMETHING = re.compile(rb"[^\r\n]")

_NOMINAL = arrow.dictionary(arrow.int32(), arrow.string())


class CSV(TableStream):
    """A file of separated values; `read_csv` makes one."""

    def __init__(
        self,
        source: Source,
        *,
        delimiter: str | None,
        header: bool,
        names: Sequence[str] | None,
        missing: Sequence[str],
        quote: str | None,
        decimal: str,
        block_size: int,
        **columns: Any,
    ) -> None:
        super().__init__(**columns)
        for what, letter in (("delimiter", delimiter), ("quote", quote), ("decimal", decimal)):
            if letter is not None and (not isinstance(letter, str) or len(letter) != 1 or not letter.isascii()):
                raise InvalidValue(f"read_csv: {what} must be one letter, got {letter!r}")
        if not isinstance(block_size, int) or block_size < 1:
            raise InvalidValue(f"read_csv: block_size must be at least 1 byte, got {block_size!r}")
        self.origin = source
        self.delimiter, self.header, self.names = delimiter, header, None if names is None else list(names)
        self.missing, self.quote, self.decimal = list(missing), quote, decimal
        self.block_size = block_size
        if header and names is None:
            self.no_rows = "there are no rows, only a header"
        self.repeatable = not source.once
        self.endless = source.follow and source.idle is None
        self.reads_ahead = not source.waits

    @property
    def source(self) -> str:
        return self.origin.name

    def tables(self) -> Iterator[Piece]:
        with closing(self.origin.pieces()) as pieces:  # type: ignore[type-var]
            head, failure = self._head(pieces)
            if not head.strip():
                raise failure or InvalidValue(f"{self.source}: the file is empty")
            parser = _Parser(self, head)
            rest = blocks(
                chain([head[parser.start :]], pieces if failure is None else _failing(failure)),
                self.block_size,
                parser.rules,
                line=parser.line,
                prompt=self.origin.follow,
            )
            parsed: Iterator[tuple[Block, Piece]] = map(parser.parse, rest)
            if not self.origin.follow:
                parsed = in_parallel(rest, parser.parse, items_here=self.origin.waits)
            for piece in parsed:
                yield parser.settled(*piece)

    def _head(self, pieces: Iterator[bytes | None]) -> tuple[bytes, Exception | None]:
        """The first bytes: enough to find types in, or, of a file that grows, the first whole rows."""
        failure = None
        parts: list[bytes] = []
        length = 0
        wanted = 1 + bool(self.header and self.names is None)
        try:
            for piece in pieces:
                parts.append(piece or b"")
                length += len(parts[-1])
                if length >= HEAD or (self.origin.follow and sum(part.count(b"\n") for part in parts) >= wanted):
                    break
        except Exception as error:
            failure = error
        return b"".join(parts), failure

    def hint(self, name: str, known: Sequence[str]) -> str:
        if len(known) > 1:
            return super().hint(name, known)
        (only,) = known or ("",)
        better = sniff_delimiter(only.encode(), self.quote, b"\n")
        say = f"; perhaps delimiter={better!r}" if better in only else "; is another delimiter= needed?"
        return f": the file has one column, {only!r:.60}{say}"


def _failing(failure: Exception) -> Iterator[bytes | None]:
    raise failure
    yield


class _Parser:
    """How the blocks of one file are parsed."""

    def __init__(self, stream: CSV, head: bytes) -> None:
        self.stream = stream
        newline = b"\r" if b"\r" in head and b"\n" not in head else b"\n"
        quote = stream.quote
        self.delimiter = stream.delimiter or sniff_delimiter(head, quote, newline)
        self.rules = Rules(quote.encode() if quote else None, self.delimiter.encode(), newline)
        whole = head[: self.rules.end(head)] or head
        first = next((record for record in self.rules.records(whole, 1) if record.data.strip()), None)
        if first is None:
            raise InvalidValue(f"{stream.source}: the file is empty")
        self.header = b""
        self.start, self.line = 0, 1
        row = fields(first, self.delimiter, quote)
        if stream.header and stream.names is None:
            self.header = first.data
            self.start = whole.index(first.data) + len(first.data)
            self.line = first.line + first.data.count(newline)
            self.names = named(row)
            # The rest of the header's own line is the first thing that the blocks hold.
        elif stream.names is not None:
            self.names = [str(name) for name in stream.names]
        else:
            self.names = numbered(len(row))
        if twice := sorted({name for name in self.names if self.names.count(name) > 1}):
            raise InvalidValue(f"{stream.source}: column {twice[0]!r} is there twice")
        self.types = self._types(whole[self.start :])
        self.unknown = {name for name, kind in self.types.items() if kind == arrow.null()}

    # What the columns are

    def _types(self, data: bytes) -> dict[str, arrow.DataType]:
        stream = self.stream
        self.types, self.unknown = {}, set()
        data = b"\n".join(record for record, _ in self._rows(data, 1, [])) if self._is_odd(data) else data
        found = self._read(data, {}) if data.strip() else None
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
            elif arrow.types.is_string(kind) or arrow.types.is_binary(kind):
                kind = _NOMINAL
            types[name] = arrow.string() if kind == _NOMINAL and name in beside else kind
        return types

    def _is_odd(self, data: bytes) -> bool:
        try:
            if data.strip():
                self._read(data, {})
        except arrow.ArrowInvalid:
            return True
        return False

    # Blocks

    def _read(self, data: bytes, types: Mapping[str, arrow.DataType]) -> arrow.Table:
        stream = self.stream
        return csv.read_csv(
            arrow.BufferReader(data),
            read_options=csv.ReadOptions(use_threads=False, column_names=self.names, block_size=len(data) + 1),
            parse_options=csv.ParseOptions(
                delimiter=self.delimiter,
                quote_char=stream.quote or False,
                newlines_in_values=stream.quote is not None and stream.quote.encode() in data,
            ),
            convert_options=csv.ConvertOptions(
                column_types=types,
                null_values=stream.missing,
                strings_can_be_null=True,
                decimal_point=stream.decimal,
                include_columns=[name for name in self.names if name not in stream.drop],
            ),
        )

    def parse(self, block: Block) -> tuple[Block, Piece]:
        """The rows of a block, which may have columns whose type was not known yet."""
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
                raise InvalidValue(f"{self.stream.source}, line {block.line} and after: this cannot be read")
        table, texts = piece

        def place(row: int) -> str:
            return f"line {(lines or self._lines(block))[row]}"

        return block, Piece(table, place, faults, texts, self.names)

    def _typed(
        self, data: bytes, types: Mapping[str, arrow.DataType]
    ) -> tuple[arrow.Table, dict[str, str]] | None:
        """The rows with their types; else with wider ones; else as text, where a value is of another kind."""
        if not _SOMETHING.search(data):
            empty = {name: types.get(name, arrow.null()) for name in self.names if name not in self.stream.drop}
            return arrow.schema(list(empty.items())).empty_table(), {}
        for change, texts in self._ways(types):
            try:
                return self._read(data, {**types, **change}), texts
            except arrow.ArrowInvalid:
                continue
        return None

    def _ways(
        self, types: Mapping[str, arrow.DataType]
    ) -> Iterator[tuple[dict[str, arrow.DataType], dict[str, str]]]:
        """Other types to try, and the columns that are then still to be read, with their kinds."""
        yield {}, {}
        yield {name: arrow.float64() for name, kind in types.items() if kind == arrow.int64()}, {}
        kinds = {name: kind_of(kind) for name, kind in types.items()}
        times = {name: kind for name, kind in kinds.items() if kind == "time"}
        yield dict.fromkeys(times, arrow.string()), times
        read = {name: kind for name, kind in kinds.items() if kind in ("number", "time")}
        yield dict.fromkeys(read, arrow.string()), read

    def settled(self, block: Block, piece: Piece) -> Piece:
        """A piece whose columns have the types that are known now, in the order of the file.

        A column that was all missing so far is what its first value is, so that it does not matter how much of the
        file was in the block with it.
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
            # Fractions came: the next blocks need not fail first. A target keeps whole numbers where it has them.
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
        column = csv.read_csv(
            arrow.BufferReader(b'"' + text.replace('"', '""').encode() + b'"\n'),
            read_options=csv.ReadOptions(column_names=["x"]),
            parse_options=csv.ParseOptions(newlines_in_values=True),
            convert_options=csv.ConvertOptions(decimal_point=stream.decimal),
        ).column(0)
        if not arrow.types.is_string(column.type):
            return column.type
        return arrow.string() if name in (stream.target, stream.time, stream.label_time) else _NOMINAL

    # What is wrong in a block

    def _rows(self, data: bytes, line: int, faults: list[Fault]) -> Iterator[tuple[bytes, int]]:
        """The records that can be rows, with their lines; `faults` takes the others."""
        row, width, source = 0, len(self.names), self.stream.source
        for record in self.rules.records(data, line):
            if not record.data:
                continue
            found = None
            cells = fields(record, self.delimiter, self.stream.quote)
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
                        f"{source}, line {record.line}, column {self.names[place]!r}: bad UTF-8 ({letters}); "
                        "if the file is in another encoding, say which, as in encoding='latin-1'",
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
        """A file that was put in the place of another has a header too."""
        first = next(self.rules.records(block.data, block.line), None)
        if first is None or first.data != self.header:
            return block
        return block._replace(data=block.data[len(first.data) :])


def _fits(given: arrow.DataType, wanted: arrow.DataType) -> bool:
    """Whether a column that was read with one type is as good as one that was read with the other."""
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


def read_csv(
    source: Any,
    *,
    target: str | None = None,
    weight: str | None = None,
    time: str | None = None,
    label_time: str | None = None,
    drop: Iterable[str] = (),
    types: Mapping[str, str] | None = None,
    on_error: str = "raise",
    delimiter: str | None = None,
    header: bool = True,
    names: Sequence[str] | None = None,
    missing: Sequence[str] = MISSING,
    quote: str | None = '"',
    decimal: str = ".",
    encoding: str = "utf-8",
    follow: bool = False,
    idle: float | None = None,
    block_size: int = BLOCK,
) -> CSV:
    """Read a file of separated values, of any length, plain or compressed (gzip, zstd, bz2, xz, lz4).

    The delimiter and the kinds of the columns are found in the first megabyte. Memory does not grow with the file.

    Parameters
    ----------
    source
        A path, `"-"` for standard input, or an open file.
    target, weight, time, label_time, drop, types, on_error
        As for `TableStream`: which columns are not features, what columns are, what to do with bad rows.
    delimiter
        The letter between fields; None to find it among comma, tab, semicolon, bar and space.
    header
        Whether the first line has the names of the columns.
    names
        The names of the columns of a file that has no header. Without them they are column_1, column_2, ….
    missing
        What stands for a missing value.
    quote
        The letter around fields that hold delimiters or line breaks; None if quotes are letters like others.
    decimal
        The letter before the fraction of a number.
    encoding
        Of the text. A byte order mark is believed more.
    follow
        Whether to wait at the end for more rows, as `tail -f` does.
    idle
        With `follow`, after how many seconds without anything new the stream ends; None for never.
    block_size
        Bytes that are parsed at once. It changes no result.

    Examples
    --------
    >>> import io
    >>> from millstream import evaluate, linear_model, preprocessing, stream
    >>> file = io.BytesIO(b"age;city;late\\n31;Oslo;no\\n45;Rome;yes\\n28;Oslo;no\\n50;Rome;yes\\n")
    >>> people = stream.read_csv(file, target="late")
    >>> people.schema
    {'age': 'number', 'city': 'nominal'}
    >>> next(iter(people))
    ({'age': 31, 'city': 'Oslo'}, 'no')
    >>> model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    >>> evaluate.prequential(model, people, metrics="Accuracy")["Accuracy"]
    0.6666666666666666

    A value that is not of its column's kind is an error that says where it is, or its row is set aside:

    >>> text = b"x,y\\n1,0\\n2,1\\nthree,1\\n"
    >>> list(stream.read_csv(io.BytesIO(text), target="y", types={"x": "number"}))
    Traceback (most recent call last):
    millstream.errors.InvalidValue: BytesIO, line 4, column 'x': must be a number, got 'three'
    >>> rows = stream.read_csv(io.BytesIO(text), target="y", types={"x": "number"}, on_error="skip")
    >>> len(list(rows)), rows.set_aside.count
    (2, 1)
    """
    return CSV(
        Source(source, encoding=encoding, follow=follow, idle=idle),
        target=target,
        weight=weight,
        time=time,
        label_time=label_time,
        drop=drop,
        types=types,
        on_error=on_error,
        delimiter=delimiter,
        header=header,
        names=names,
        missing=missing,
        quote=quote,
        decimal=decimal,
        block_size=block_size,
    )
