"""JSON lines: each line is one JSON object. Arrow's parser reads them in blocks of whole lines.

Nested objects become columns with a dot in their names: `{"motor": {"heat": 3}}` has the feature `motor.heat`.

Arrow's parser is not safe with every input (docs/notes/pyarrow_json.md), so it receives only blocks in which every
line is one object of limited depth, and its tables are validated. Any other block, and any block that it refuses,
is parsed line by line in Python, which finds the faulty lines.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from typing import Any, Unpack

import pyarrow as arrow
from pyarrow import json as arrow_json

from millstream._core import are_objects
from millstream._echo import quoted
from millstream.errors import InvalidValue
from millstream.stream.blocks import LINES, Block, blocks
from millstream.stream.options import TableOptions, check_options
from millstream.stream.owner_thread import owned
from millstream.stream.parallel import in_parallel, in_turn
from millstream.stream.source import Source
from millstream.stream.table import Fault, Piece, TableStream
from millstream.stream.values import Columns

__all__ = ["JSONLines", "object_of", "read_json_lines"]

#: Bytes parsed at once.
BLOCK = 1 << 20

#: Maximum number of cells of a table. If nearly every line has its own names, a block has more cells than bytes.
CELLS = 1 << 24

#: One part in this many of a block is read to estimate its number of names.
SAMPLE = 64

#: Maximum number of rows for one call of Arrow's parser.
ROWS = 100_000

#: Maximum nesting of brackets. Arrow's parser is limited only by the size of the stack.
DEPTH = 64


class JSONLines(TableStream):
    """A JSON lines file; created by `read_json_lines`."""

    maker = "stream.read_json_lines"
    later_columns = True

    def __init__(self, source: Source, target: str | None, block_size: int, options: TableOptions) -> None:
        super().__init__(target=target, **options)
        if not isinstance(block_size, int) or block_size < 1:
            raise InvalidValue(
                f"stream.read_json_lines: block_size must be at least 1 byte, got {quoted(block_size)}"
            )
        self.origin, self.block_size = source, block_size
        self.repeatable = not source.once
        self.endless = source.follow and source.idle is None
        self.reads_ahead = not source.waits

    @property
    def source(self) -> str:
        return self.origin.name

    def tables(self) -> Iterator[Piece]:
        def parse(item: Piece | Callable[[], Piece]) -> Piece:
            return item if isinstance(item, Piece) else item()

        if self.origin.follow:
            return in_turn(self._pieces(), parse)
        return in_parallel(self._pieces(), parse, items_here=self.origin.waits)

    def _pieces(self) -> Iterator[Piece | Callable[[], Piece]]:
        """The first block, parsed, and for each of the others a function that parses it."""
        with owned(self.origin.pieces()) as pieces:
            cut = _bounded(blocks(pieces, self.block_size, LINES, name=self.source, prompt=self.origin.follow))
            first = next((block for block in cut if block.data.strip()), None)
            if first is None:
                raise InvalidValue(f"{self.source}: the file is empty")
            columns = Columns()
            head = self._parsed(first, columns, None)
            columns.note(head.table, head.texts)
            yield head
            # A string column of the first block is one in all blocks, even where its values look like dates.
            schema = arrow.schema([(name, arrow.string()) for name in columns.nominal if "." not in name])
            for block in cut:
                yield partial(self._parsed, block, columns, schema)

    def _parsed(self, block: Block, columns: Columns, schema: arrow.Schema | None) -> Piece:
        table = _read(block.data, schema, self.drop)
        if table is None:
            return self._line_by_line(block, columns)

        def place(row: int) -> str:
            return f"line {[number for number, _ in _lines(block)][row]}"

        return Piece(table, place, texts=columns.texts(table))

    def _line_by_line(self, block: Block, columns: Columns) -> Piece:
        rows: list[dict[str, Any]] = []
        lines: list[int] = []
        faults: list[Fault] = []
        for number, line in _lines(block):
            try:
                rows.append(object_of(line))
                lines.append(number)
            except ValueError as error:
                hint = ""
                if number == 1 and line.strip() in (b"[", b"{"):
                    hint = "; this looks like one long JSON value, not like one object per line"
                faults.append(Fault(len(rows), f"{self.source}, line {number}: {error}{hint}"))
        names = list(dict.fromkeys(name for row in rows for name in row))
        table, texts = columns.table(names, ([row.get(name) for row in rows] for name in names))
        if not names:
            table = arrow.table({"": arrow.nulls(len(rows))}).select([])
        return Piece(table, lambda row: f"line {lines[row]}", faults, texts)


def _lines(block: Block) -> Iterator[tuple[int, bytes]]:
    """The lines that are not blank, with their numbers. A carriage return ends a line too, as for Arrow."""
    for number, line in enumerate(block.data.split(b"\n"), block.line):
        for part in line.split(b"\r"):
            if part.strip():
                yield number, part


def _bounded(cut: Iterator[Block]) -> Iterator[Block]:
    """The same lines, in smaller blocks if a table of all of them could have too many cells or rows."""
    for block in cut:
        yield from _parts(block)


def _parts(block: Block) -> Iterator[Block]:
    data = block.data
    lines = data.count(b"\n") + 1
    end = data.find(b"\n", len(data) // SAMPLE) + 1
    is_small = lines <= SAMPLE or not end or len(set(_NAME.findall(data, 0, end))) * SAMPLE * lines <= CELLS
    if is_small and lines <= ROWS:
        yield block
        return
    middle = data.find(b"\n", len(data) // 2) + 1
    if not middle:
        yield block
        return
    yield from _parts(block._replace(data=data[:middle], doubtful=False))
    following = block.line + data.count(b"\n", 0, middle)
    yield from _parts(block._replace(data=data[middle:], line=following, begins=False))


#: A potential member name.
_NAME = re.compile(rb'"([^"\\]*)"\s*:')


def _read(data: bytes, texts: arrow.Schema | None, dropped: Collection[str]) -> arrow.Table | None:
    """A block as Arrow reads it; None if Arrow refuses it or must not receive it."""
    if not data.strip():
        return arrow.table({})
    if not are_objects(data, DEPTH):
        return None
    try:
        table = arrow_json.read_json(
            arrow.BufferReader(data),
            read_options=arrow_json.ReadOptions(use_threads=False, block_size=len(data) + 1),
            parse_options=arrow_json.ParseOptions(explicit_schema=texts),
        )
    except arrow.ArrowException:
        return None
    if not table.num_columns:
        # Objects without a single name have no rows in Arrow.
        return None
    # The schema adds columns that no line of this block has.
    table = table.select([f.name for f in table.schema if texts is None or table[f.name].null_count < len(table)])
    while any(arrow.types.is_struct(field.type) for field in table.schema):
        table = table.flatten()
    if not table.num_columns or len(set(table.column_names)) != table.num_columns:
        return None
    # The offsets of a list may point past its values. A dropped list is not read, so its offsets do not matter.
    table = table.select([name for name in table.column_names if name not in dropped] or table.column_names)
    try:
        table.validate()
    except arrow.ArrowInvalid:
        return None
    return table


def object_of(line: bytes) -> dict[str, Any]:
    """The members of the object in a line; ValueError says what is wrong with it."""
    try:
        value = _value(line.decode())
    except UnicodeDecodeError as error:
        raise ValueError(f"bad UTF-8 (byte 0x{line[error.start]:02x})") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error.msg.removesuffix(' at')} at character {error.colno}") from None
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    if not isinstance(value, dict):
        raise ValueError(f"a line must be one JSON object, got {_KINDS[type(value)]}")
    _check_depth(value, DEPTH)
    if _SURROGATE.search(line):
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            letter = error.object[error.start]
            raise ValueError(f"\\u{ord(letter):04x} is half of a surrogate pair without the other half") from None
    members = list(_flat(value, ""))
    row = dict(members)
    if len(row) != len(members):
        name = quoted(_repeated(members))
        raise ValueError(f"duplicate name {name}: a nested object has the names of its members after a dot")
    return row


def _value(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_members)
    except (json.JSONDecodeError, _DuplicateName):
        raise
    except ValueError:
        # Python refuses to convert integers of many digits, which takes long. As a float they are infinite.
        return json.loads(text, parse_int=float, object_pairs_hook=_members)


class _DuplicateName(ValueError):
    """An object has a name twice."""


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The members of an object. Python would keep the last value of a name, and lose the others."""
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _DuplicateName(f"duplicate name {quoted(_repeated(pairs))}")
    return members


def _repeated(pairs: list[tuple[str, Any]]) -> str:
    """The first name that occurs again."""
    seen: set[str] = set()
    return next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]


_KINDS = {
    type(None): "null",
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "a string",
    list: "an array",
}

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")

_TOO_DEEP = f"brackets are nested more than {DEPTH} deep"


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
    """Read a JSON lines file (one object per line) of any length, plain or compressed.

    Nested objects become features with a dot in their names. A list is not a feature and must be left out with
    `drop`. A name that a line lacks is a missing value; a line that has a name twice is refused.

    Parameters
    ----------
    source
        A path, `"-"` for standard input, or an open file.
    target
        The feature to predict.
    encoding
        Text encoding; a byte order mark takes precedence.
    follow
        Whether to wait at the end of the file for more lines, like `tail -f`.
    idle
        With `follow`, number of seconds without new data after which the stream ends; None for never.
    block_size
        Bytes parsed at once.
    **options
        `weight`, `time`, `label_time`, `drop`, `types`, `on_error`, as for `stream.TableStream`.

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
    millstream.errors.InvalidValue: BytesIO, line 2: not JSON: Expecting value at character 48
    """
    check_options(read_json_lines, options)
    return JSONLines(Source(source, encoding=encoding, follow=follow, idle=idle), target, block_size, options)
