"""Comma-separated values, parsed by Arrow in blocks.

A file is split into blocks of complete records. Blocks are parsed independently, two at a time ahead of the
learner, with the types that were stated or found in the first megabyte. A block that fails to parse is parsed
again by a slower parser, which finds the lines of malformed rows, bad UTF-8 and values of a wrong kind. Memory is
limited to a few blocks, however long the file is.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, Unpack

from millstream._echo import quoted
from millstream.errors import InvalidValue
from millstream.stream.blocks import Block, blocks
from millstream.stream.counts import count
from millstream.stream.csv_blocks import Look, Parser
from millstream.stream.dialect import sniff_delimiter
from millstream.stream.options import TableOptions, check_options
from millstream.stream.owner_thread import owned
from millstream.stream.parallel import in_parallel, in_turn
from millstream.stream.source import Source
from millstream.stream.table import Piece, TableStream

__all__ = ["CSV", "MISSING", "read_csv"]

#: Strings that denote a missing value.
MISSING = ("", "NA", "NaN", "nan", "null", "None", "?")

#: Bytes from which the dialect and the kinds of the columns are inferred, whatever the block size.
HEAD = 1 << 20

#: Bytes parsed at once. Smaller blocks cost more calls; larger ones leave the cache before they are used.
BLOCK = 1 << 20


class CSV(TableStream):
    """A CSV file; created by `read_csv`."""

    maker = "stream.read_csv"

    def __init__(
        self,
        source: Source,
        look: Look,
        block_size: int,
        target: str | None,
        options: TableOptions,
    ) -> None:
        super().__init__(target=target, **options)
        for what in ("delimiter", "quote", "decimal"):
            letter = getattr(look, what)
            if letter is not None and (not isinstance(letter, str) or len(letter) != 1 or not letter.isascii()):
                raise InvalidValue(f"stream.read_csv: {what} must be one character, got {quoted(letter)}")
        self.origin, self.look = source, look
        self.block_size = count("read_csv: block_size", block_size, 1)
        if look.has_header:
            self.no_rows = "there are no rows, only a header"
        self.repeatable = not source.once
        self.endless = source.follow and source.idle is None
        self.reads_ahead = not source.waits

    @property
    def source(self) -> str:
        return self.origin.name

    def _given(self) -> dict[str, Any]:
        defaults = inspect.signature(read_csv).parameters
        values = {**vars(self.look), "encoding": self.origin.encoding, "block_size": self.block_size}
        values |= {"follow": self.origin.follow, "idle": self.origin.idle}
        changed = {name: value for name, value in values.items() if value != defaults[name].default}
        if self.look.missing == list(MISSING):
            del changed["missing"]
        return super()._given() | changed

    def tables(self) -> Iterator[Piece]:
        with owned(self._parsed()) as parsed:
            for parser, (block, piece) in parsed:
                yield parser.settled(block, piece)

    def _parsed(self) -> Iterator[tuple[Parser, tuple[Block, Piece]]]:
        def parse(item: tuple[Parser, Block]) -> tuple[Parser, tuple[Block, Piece]]:
            parser, block = item
            return parser, parser.parse(block)

        if self.origin.follow:
            return in_turn(self._blocks(), parse)
        return in_parallel(self._blocks(), parse, items_here=self.origin.waits)

    def _blocks(self) -> Iterator[tuple[Parser, Block]]:
        """The blocks of the file, each with the parser for it."""
        with owned(self.origin.pieces()) as pieces:
            head, failure = self._head(pieces)
            if not head.strip():
                raise failure or InvalidValue(f"{self.source}: the file is empty")
            parser = Parser(self, self.look, head[:HEAD] if b"\n" in head[:HEAD] else head)
            whole = chain([head[parser.start :]], pieces if failure is None else _failing(failure))
            size, rules, line = self.block_size, parser.rules, parser.line
            for block in blocks(whole, size, rules, name=self.source, line=line, prompt=self.origin.follow):
                yield parser, block

    def _head(self, pieces: Iterator[bytes | None]) -> tuple[bytes, Exception | None]:
        """The first bytes: enough to infer types from or, in a growing file, the first complete rows."""
        failure = None
        parts: list[bytes] = []
        length = 0
        wanted = 1 + self.look.has_header
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
        better = sniff_delimiter(only.encode(), self.look.quote, b"\n")
        say = f"; perhaps delimiter={better!r}" if better in only else "; is another delimiter= needed?"
        return f": the file has one column, {quoted(only)}{say}"


def _failing(failure: Exception) -> Iterator[bytes | None]:
    raise failure
    yield


def read_csv(
    source: Any,
    target: str | None = None,
    *,
    delimiter: str | None = None,
    header: bool = True,
    names: Sequence[str] | None = None,
    missing: str | Sequence[str] = MISSING,
    quote: str | None = '"',
    decimal: str = ".",
    encoding: str = "utf-8",
    follow: bool = False,
    idle: float | None = None,
    block_size: int = BLOCK,
    **options: Unpack[TableOptions],
) -> CSV:
    """Read a CSV file of any length, plain or compressed (gzip, zstd, bz2, xz, lz4).

    The delimiter and the kinds of the columns are inferred from the first megabyte. Memory does not grow with the
    file.

    Parameters
    ----------
    source
        A path, `"-"` for standard input, or an open file.
    target
        The column to predict.
    delimiter
        Field separator; None to choose among comma, tab, semicolon, bar and space.
    header
        Whether the first line contains the column names.
    names
        Column names of a file without a header; column_1, column_2, … by default.
    missing
        Strings that denote a missing value. A single string is added to the default ones; a list replaces them.
    quote
        Character around fields with delimiters or line breaks; None if quotes have no special meaning.
    decimal
        Decimal separator of numbers.
    encoding
        Text encoding; a byte order mark takes precedence.
    follow
        Whether to wait at the end of the file for more rows, like `tail -f`.
    idle
        With `follow`, number of seconds without new rows after which the stream ends; None for never.
    block_size
        Bytes parsed at once. Does not change the result.
    **options
        `weight`, `time`, `label_time`, `drop`, `types`, `on_error`, as for `stream.TableStream`.

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

    A value of a wrong kind is an error that names its line and column, or its row is skipped:

    >>> text = b"x,y\\n1,0\\n2,1\\nthree,1\\n"
    >>> list(stream.read_csv(io.BytesIO(text), target="y", types={"x": "number"}))
    Traceback (most recent call last):
    millstream.errors.InvalidValue: BytesIO, line 4, column 'x': must be a number, got 'three'
    >>> rows = stream.read_csv(io.BytesIO(text), target="y", types={"x": "number"}, on_error="skip")
    >>> len(list(rows)), rows.skipped.count
    (2, 1)
    """
    check_options(read_csv, options)
    if isinstance(missing, str):
        missing = (*MISSING, missing)
    look = Look(delimiter, header, None if names is None else list(names), list(missing), quote, decimal)
    origin = Source(source, encoding=encoding, follow=follow, idle=idle)
    return CSV(origin, look, block_size, target, options)
