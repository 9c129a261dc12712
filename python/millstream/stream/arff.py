"""ARFF, the format of Weka and MOA: a header that names and types the columns, and rows, dense or sparse.

The definition is Weka's: https://waikato.github.io/weka-wiki/formats_and_processing/arff_stable/ . Blocks of plain
rows are read by Arrow's CSV parser; a block with quotes of both kinds, comments, sparse rows or faults is read
line by line.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import chain
from typing import Any, Unpack

import pyarrow as arrow
import pyarrow.compute as compute
from pyarrow import csv

from millstream._echo import quoted
from millstream.errors import InvalidValue
from millstream.stream.arff_text import (
    ROW_WEIGHT,
    Attribute,
    cells_of,
    declared,
    entries,
    number_of,
    value_of,
    zero_of,
)
from millstream.stream.base import ROWS
from millstream.stream.blocks import LINES, Block, blocks
from millstream.stream.options import TableOptions, check_options
from millstream.stream.source import Source
from millstream.stream.table import Fault, Piece, TableStream

__all__ = ["ARFF", "read_arff"]

#: Bytes parsed at once.
BLOCK = 1 << 19

#: The name of the column of weights, which are in braces after a row.
WEIGHT = "{weight}"


class ARFF(TableStream):
    """An ARFF file; created by `read_arff`."""

    maker = "stream.read_arff"

    # Only the header says whether rows may have weights.
    later_columns = True

    def __init__(self, source: Source, target: str | bool | None, block_size: int, options: TableOptions) -> None:
        self.origin, self.block_size = source, block_size
        self._asked = target
        self._header: list[Attribute] | None = None
        super().__init__(target=None, **options)
        self.repeatable = not source.once
        self.reads_ahead = not source.waits

    @property
    def source(self) -> str:
        return self.origin.name

    @property
    def target(self) -> str | None:
        """The column to predict: as given, or the class attribute."""
        if self._asked is not True:
            return self._asked or None
        if self._header is None:
            if not self.repeatable:
                return None
            with closing(self.origin.pieces()) as pieces:
                self._header = declared(pieces, self.source)[0]
        classes = [attribute.name for attribute in self._header if attribute.name.lower() == "class"]
        return classes[0] if classes else self._header[-1].name

    @target.setter
    def target(self, target: str | None) -> None:
        """The base class sets None before it is known."""

    def tables(self) -> Iterator[Piece]:
        with closing(self.origin.pieces()) as pieces:
            self._header, rest, line = declared(pieces, self.source)
            parser = _Parser(self._header, self)
            if self.weight is not None and self.weight != WEIGHT:
                parser.check(self.weight)
            data = (piece for piece in pieces if piece is not None)
            for block in blocks(chain([rest], data), self.block_size, LINES, name=self.source, line=line):
                for piece in parser.parse(block):
                    yield piece._replace(table=self._whole(piece.table))

    def _whole(self, table: arrow.Table) -> arrow.Table:
        """A target declared as integer is a label."""
        place = table.column_names.index(self.target) if self.target in table.column_names else -1
        if place >= 0 and self._header is not None and place < len(self._header) and self._header[place].whole:
            try:
                return table.set_column(place, str(self.target), table.column(place).cast(arrow.int64()))
            except arrow.ArrowInvalid:
                pass
        return table


class _Parser:
    """Reads the rows of one file."""

    def __init__(self, header: list[Attribute], stream: ARFF) -> None:
        self.header, self.stream = header, stream
        self.weighted = stream.weight == WEIGHT
        self.names = [attribute.name for attribute in header]

    def check(self, weight: str) -> None:
        if weight not in self.names:
            hint = self.stream.hint(weight, self.names)
            raise InvalidValue(f"{self.stream.source}: there is no attribute {quoted(weight)} for weight{hint}")

    def parse(self, block: Block) -> Iterator[Piece]:
        table = None if self.weighted else self._plain(block.data)
        if table is not None:

            def place(row: int) -> str:
                lines = [number for number, line in enumerate(block.data.split(b"\n"), block.line) if line.strip()]
                return f"line {lines[row]}"

            yield Piece(table, place)
            return
        yield from self._line_by_line(block)

    def _plain(self, data: bytes) -> arrow.Table | None:
        """Plain rows, read by Arrow; None if the block has anything else."""
        if not data.strip() or any(sign in data for sign in (b'"', b"%", b"{", b"\\", b"\t")):
            return None
        kinds = {a.name: arrow.float64() if a.kind == "number" else arrow.string() for a in self.header}
        try:
            table = csv.read_csv(
                arrow.BufferReader(data),
                read_options=csv.ReadOptions(use_threads=False, column_names=self.names, block_size=len(data) + 1),
                parse_options=csv.ParseOptions(quote_char="'"),
                convert_options=csv.ConvertOptions(
                    column_types=kinds,
                    null_values=["?"],
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                ),
            )
        except arrow.ArrowException:
            return None
        columns = []
        for attribute, column in zip(self.header, table.columns, strict=True):
            made = column
            if attribute.kind != "number":
                made = self._typed(attribute, column.combine_chunks(), quotes=b"'" in data)
            if made is None:
                return None
            columns.append(made)
        return arrow.table(columns, names=self.names)

    def _typed(self, attribute: Attribute, column: Any, *, quotes: bool) -> Any:
        """A column of strings converted as declared in the header; None if a string may not be as declared."""
        if attribute.kind == "time":
            return None
        trimmed = compute.utf8_trim_whitespace(column)
        # Spaces belong to quoted strings only, and a quoted question mark is a string.
        if not trimmed.equals(column) and (quotes or compute.any(compute.equal(trimmed, "?")).as_py()):
            return None
        column = trimmed
        if attribute.kind == "text":
            return column
        codes = compute.index_in(column, value_set=arrow.array(attribute.values, arrow.string()))
        if codes.null_count != column.null_count:
            return None
        return arrow.DictionaryArray.from_arrays(codes, arrow.array(attribute.values, arrow.string()))

    def _line_by_line(self, block: Block) -> Iterator[Piece]:
        rows: list[list[Any]] = []
        lines: list[int] = []
        faults: list[Fault] = []
        most = max(64, min(ROWS, (1 << 22) // max(1, len(self.header))))
        for number, raw in enumerate(block.data.split(b"\n"), block.line):
            try:
                text = raw.decode().strip()
                if not text or text.startswith("%"):
                    continue
                rows.append(self._row(text))
                lines.append(number)
            except UnicodeDecodeError as error:
                words = f"bad UTF-8 (byte 0x{raw[error.start]:02x})"
                faults.append(Fault(len(rows), f"{self.stream.source}, line {number}: {words}"))
            except ValueError as error:
                faults.append(Fault(len(rows), f"{self.stream.source}, line {number}{error}"))
            if len(rows) == most:
                yield self._piece(rows, lines, faults)
                rows, lines, faults = [], [], []
        if rows or faults:
            yield self._piece(rows, lines, faults)

    def _piece(self, rows: list[list[Any]], lines: list[int], faults: list[Fault]) -> Piece:
        columns = list(zip(*rows, strict=True)) if rows else [()] * (len(self.header) + self.weighted)
        arrays = []
        for attribute, values in zip(self.header, columns, strict=False):
            if attribute.kind == "nominal":
                codes = {value: code for code, value in enumerate(attribute.values)}
                places = arrow.array([codes.get(value) for value in values], arrow.int32())
                arrays.append(
                    arrow.DictionaryArray.from_arrays(places, arrow.array(attribute.values, arrow.string()))
                )
            else:
                kinds = {"number": arrow.float64(), "text": arrow.string(), "time": arrow.timestamp("us")}
                arrays.append(arrow.array(values, kinds[attribute.kind]))
        names = self.names
        if self.weighted:
            arrays.append(arrow.array(columns[-1], arrow.float64()))
            names = [*names, WEIGHT]
        return Piece(arrow.table(arrays, names=names), lambda row: f"line {lines[row]}", faults)

    def _row(self, text: str) -> list[Any]:
        weight = 1.0
        if self.weighted and (found := ROW_WEIGHT.search(text)):
            weight = number_of(found[1], "the weight")
            text = text[: found.start()]
        values = self._sparse(text) if text.startswith("{") else self._dense(text)
        return [*values, weight] if self.weighted else values

    def _dense(self, text: str) -> list[Any]:
        cells = list(cells_of(text))
        if len(cells) != len(self.header):
            if len(cells) == len(self.header) + 1 and ROW_WEIGHT.search(text):
                # An unused weight.
                cells.pop()
            else:
                count = f"{len(cells)} value{'s' * (len(cells) != 1)}"
                raise ValueError(f": {count} where the header has {len(self.header)} attributes")
        return [value_of(a, cell, in_quotes) for a, (cell, in_quotes) in zip(self.header, cells, strict=True)]

    def _sparse(self, text: str) -> list[Any]:
        text = ROW_WEIGHT.sub("", text)
        if not text.endswith("}"):
            raise ValueError(": the brace of a sparse row is not closed")
        row = [zero_of(attribute) for attribute in self.header]
        for index, cell, in_quotes in entries(text[1:-1].strip()):
            if index >= len(row):
                raise ValueError(f": attribute {index} where the header has {len(row)}, counted from 0")
            row[index] = value_of(self.header[index], cell, in_quotes)
        return row


def read_arff(
    source: Any, target: str | bool | None = True, *, block_size: int = BLOCK, **options: Unpack[TableOptions]
) -> ARFF:
    """Read an ARFF file (Weka, MOA) of any length, dense or sparse, plain or compressed.

    An attribute omitted in a sparse row is 0, or the first value of a nominal attribute, as the format defines.

    Parameters
    ----------
    source
        A path, `"-"` for standard input, or an open file.
    target
        The attribute to predict; by default the class attribute: the one called "class", otherwise the last. None
        for no target.
    block_size
        Bytes parsed at once.
    **options
        `weight`, `time`, `label_time`, `drop`, `types`, `on_error`, as for `stream.TableStream`. Weights
        in braces after rows are the column `"{weight}"`.

    Examples
    --------
    >>> import io
    >>> from millstream import stream
    >>> file = io.BytesIO(b'''@relation weather
    ... @attribute outlook {sunny, 'very rainy'}
    ... @attribute heat numeric
    ... @attribute play {yes, no}
    ... @data
    ... % the first day
    ... sunny, 30.5, no
    ... 'very rainy', ?, yes
    ... ''')
    >>> list(stream.read_arff(file))
    [({'outlook': 'sunny', 'heat': 30.5}, 'no'), ({'outlook': 'very rainy', 'heat': nan}, 'yes')]
    """
    check_options(read_arff, options)
    return ARFF(Source(source), target, block_size, options)
