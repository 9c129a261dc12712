"""Lines that are each a JSON object, read by Arrow's parser in blocks of whole lines.

Objects inside objects become columns with a dot in their names: `{"motor": {"heat": 3}}` has the feature
`motor.heat`. A block that does not parse is looked at again line by line, to find the lines that are wrong.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Unpack

import pyarrow as arrow
from pyarrow import json as arrow_json

from millstream.errors import InvalidValue
from millstream.stream.blocks import LINES, Block, blocks
from millstream.stream.home import closing_at_home
from millstream.stream.options import TableOptions, check_options
from millstream.stream.parallel import in_parallel
from millstream.stream.source import Source
from millstream.stream.table import Fault, Piece, TableStream
from millstream.stream.values import Columns

__all__ = ["JSONLines", "read_json_lines"]

#: Bytes that are parsed at once.
BLOCK = 1 << 20

#: Cells of a table. Where nearly every line has names of its own a block would have far more cells than bytes.
CELLS = 1 << 24

#: The part of a block that tells how many names it may have.
SAMPLE = 64

#: How many brackets may be inside each other. Arrow's parser has no limit of its own but the machine's.
DEPTH = 64


class JSONLines(TableStream):
    """What `read_json_lines` gives."""

    maker = "stream.read_json_lines"
    later_columns = True

    def __init__(self, source: Source, target: str | None, block_size: int, options: TableOptions) -> None:
        super().__init__(target=target, **options)
        if not isinstance(block_size, int) or block_size < 1:
            raise InvalidValue(f"stream.read_json_lines: block_size must be at least 1 byte, got {block_size!r}")
        self.origin, self.block_size = source, block_size
        self.repeatable = not source.once
        self.endless = source.follow and source.idle is None
        self.reads_ahead = not source.waits

    @property
    def source(self) -> str:
        return self.origin.name

    def tables(self) -> Iterator[Piece]:
        with closing_at_home(self.origin.pieces()) as pieces:
            cut = _bounded(blocks(pieces, self.block_size, LINES, prompt=self.origin.follow))
            first = next((block for block in cut if block.data.strip()), None)
            if first is None:
                raise InvalidValue(f"{self.source}: the file is empty")
            columns = Columns()
            head = self._parsed(first, columns, None)
            yield head
            columns.note(head.table, head.texts)
            # What is text in the first block is text in all, also where it happens to look like a date.
            schema = arrow.schema([(name, arrow.string()) for name in columns.nominal if "." not in name])

            def parse(block: Block) -> Piece:
                return self._parsed(block, columns, schema)

            yield from (
                map(parse, cut) if self.origin.follow else in_parallel(cut, parse, items_here=self.origin.waits)
            )

    def _parsed(self, block: Block, columns: Columns, schema: arrow.Schema | None) -> Piece:
        data = block.data
        table = _read(data, schema)
        if table is None:
            return self._line_by_line(block, columns)

        def place(row: int) -> str:
            lines = [number for number, line in enumerate(data.split(b"\n"), block.line) if line.strip()]
            # Two objects in a line are two rows to Arrow.
            return f"line {lines[row]}" if len(lines) == table.num_rows else f"row {row} after line {block.line}"

        return Piece(table, place, texts=columns.texts(table))

    def _line_by_line(self, block: Block, columns: Columns) -> Piece:
        rows: list[dict[str, Any]] = []
        lines: list[int] = []
        faults: list[Fault] = []
        for number, line in enumerate(block.data.split(b"\n"), block.line):
            if not line.strip():
                continue
            try:
                rows.append(_object(line))
                lines.append(number)
            except ValueError as error:
                hint = ""
                if number == 1 and line.strip() in (b"[", b"{"):
                    hint = "; this looks like one long JSON value, not like one object a line"
                faults.append(Fault(len(rows), f"{self.source}, line {number}: {error}{hint}"))
        names = list(dict.fromkeys(name for row in rows for name in row))
        table, texts = columns.table(names, ([row.get(name) for row in rows] for name in names))
        if not names:
            table = arrow.table({"": arrow.nulls(len(rows))}).select([])
        return Piece(table, lambda row: f"line {lines[row]}", faults, texts)


def _bounded(cut: Iterator[Block]) -> Iterator[Block]:
    """The same lines, in smaller blocks where a table of all of them could have too many cells."""
    for block in cut:
        yield from _parts(block)


def _parts(block: Block) -> Iterator[Block]:
    data = block.data
    lines = data.count(b"\n") + 1
    end = data.find(b"\n", len(data) // SAMPLE) + 1
    if lines <= SAMPLE or not end or len(set(_NAME.findall(data, 0, end))) * SAMPLE * lines <= CELLS:
        yield block
        return
    middle = data.find(b"\n", len(data) // 2) + 1
    if not middle:
        yield block
        return
    yield from _parts(block._replace(data=data[:middle], doubtful=False))
    following = block.line + data.count(b"\n", 0, middle)
    yield from _parts(block._replace(data=data[middle:], line=following, begins=False))


#: Something that may be a name of an object.
_NAME = re.compile(rb'"([^"\\]*)"\s*:')


def _read(data: bytes, texts: arrow.Schema | None) -> arrow.Table | None:
    """A block as Arrow reads it; None if it does not."""
    if not data.strip():
        return arrow.table({})
    if _may_be_deep(data):
        return None
    try:
        data.decode()
        table = arrow_json.read_json(
            arrow.BufferReader(data),
            read_options=arrow_json.ReadOptions(use_threads=False, block_size=len(data) + 1),
            parse_options=arrow_json.ParseOptions(explicit_schema=texts),
        )
    except (arrow.ArrowException, UnicodeDecodeError):
        return None
    if not table.num_columns:
        # Objects without a single name have no rows in Arrow.
        return None
    # A text that no line of this block has is not there.
    table = table.select([f.name for f in table.schema if texts is None or table[f.name].null_count < len(table)])
    while any(arrow.types.is_struct(field.type) for field in table.schema):
        table = table.flatten()
    return table if table.num_columns and len(set(table.column_names)) == table.num_columns else None


def _may_be_deep(data: bytes) -> bool:
    if data.count(b"{") + data.count(b"[") - data.count(b"\n") <= DEPTH:
        return False
    return any(line.count(b"{") + line.count(b"[") > DEPTH for line in data.split(b"\n"))


def _object(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line.decode())
    except UnicodeDecodeError as error:
        raise ValueError(f"bad UTF-8 (byte 0x{line[error.start]:02x})") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"no JSON: {error.msg} at letter {error.colno}") from None
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    if not isinstance(value, dict):
        raise ValueError(f"a line must be one JSON object, got {type(value).__name__}")
    _check_depth(value, DEPTH)
    if _HALF.search(line):
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            letter = error.object[error.start]
            raise ValueError(f"half a letter, \\u{ord(letter):04x} without the other half") from None
    return dict(_flat(value, ""))


#: How one of the two halves of a letter is written that UTF-16 needs two for.
_HALF = re.compile(rb"\\u[dD][89a-fA-F]")

_TOO_DEEP = f"more than {DEPTH} brackets inside each other"


def _flat(value: Mapping[str, Any], before: str) -> Iterator[tuple[str, Any]]:
    for name, inner in value.items():
        if isinstance(inner, dict):
            yield from _flat(inner, f"{before}{name}.")
        else:
            yield f"{before}{name}", inner


def _check_depth(value: Any, left: int) -> None:
    if left <= 0:
        raise ValueError(_TOO_DEEP)
    for inner in value.values() if isinstance(value, dict) else value:
        if isinstance(inner, (dict, list)):
            _check_depth(inner, left - 1)


def read_json_lines(
    source: Any,
    target: str | None = None,
    *,
    encoding: str = "utf-8",
    follow: bool = False,
    idle: float | None = None,
    block_size: int = BLOCK,
    **options: Unpack[TableOptions],
) -> JSONLines:
    """Read a file in which each line is a JSON object, of any length, plain or compressed.

    Objects inside objects become features with a dot in their names; a list is no feature, and must be left out
    with `drop`. A name that a line does not have is a missing value.

    Parameters
    ----------
    source
        A path, `"-"` for standard input, or an open file.
    target
        The name of what to predict.
    encoding
        Of the text. A byte order mark is believed more.
    follow
        Whether to wait at the end for more lines, as `tail -f` does.
    idle
        With `follow`, after how many seconds without anything new the stream ends; None for never.
    block_size
        Bytes that are parsed at once.
    **options
        `weight`, `time`, `label_time`, `drop`, `types`, `on_error`, as `stream.TableStream` has them.

    Examples
    --------
    >>> import io
    >>> from millstream import stream
    >>> text = b'{"motor": {"heat": 3.5}, "hot": true}\\n{"motor": {"heat": 1}, "place": "roof", "hot": false}\\n'
    >>> for x, y in stream.read_json_lines(io.BytesIO(text), target="hot"):
    ...     print(x, y)
    {'motor.heat': 3.5, 'place': None} True
    {'motor.heat': 1.0, 'place': 'roof'} False
    >>> list(stream.read_json_lines(io.BytesIO(text[:-5]), target="hot"))
    Traceback (most recent call last):
    millstream.errors.InvalidValue: BytesIO, line 2: no JSON: Expecting value at letter 48
    """
    check_options(read_json_lines, options)
    return JSONLines(Source(source, encoding=encoding, follow=follow, idle=idle), target, block_size, options)
