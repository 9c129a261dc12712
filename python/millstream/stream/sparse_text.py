"""The base of the readers of sparse text: bytes to sparse rows, in the core.

Lines are parsed without the GIL, by threads of their own while the rows before are learned. A line that
cannot be read is an error that names its line and column, after the rows before it, or is set aside and counted.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from millstream import _core
from millstream._echo import fitting, quoted
from millstream._sparse import parsed
from millstream.errors import InvalidValue
from millstream.stream.base import ROWS, Stream
from millstream.stream.blocks import check_length, line_blocks
from millstream.stream.chunk import Chunk
from millstream.stream.parallel import in_parallel
from millstream.stream.source import Source
from millstream.stream.table import REASONS, SetAside

__all__ = ["SparseText"]

#: A chunk is full when it has so many entries: more would not fit in the caches between reading and learning.
ENTRIES = 1 << 17

#: Bytes that are parsed at once, where lines can be parsed apart.
BLOCK = 1 << 20

#: What a reader gives: its rows and what stands beside them, how many lines it refused and why, and whether it
#: stopped there.
Taken = tuple[tuple[Any, ...], tuple[int, list[tuple[int, int, str]]], bool]


class SparseText(Stream):
    """A stream that the core reads from text; the base of `read_vw` and `read_libsvm`.

    A subclass has `reader()`, which begins a pass.
    """

    #: The call that makes it, as it is shown.
    maker = ""
    #: Whether a line says all by itself, so that blocks of them can be parsed side by side.
    lines_apart = False

    #: What a label is, for those that are asked.
    target = "label"

    def __init__(self, path: Any, labels: str, on_error: str, follow: bool, idle: float | None) -> None:
        if labels not in ("auto", "class", "number"):
            raise InvalidValue(f"stream: labels must be 'auto', 'class' or 'number', got {quoted(labels)}")
        if on_error not in ("raise", "skip"):
            raise InvalidValue(f"stream: on_error must be 'raise' or 'skip', got {quoted(on_error)}")
        self.path, self.labels, self.on_error = path, labels, on_error
        self._source = Source(path, follow=follow, idle=idle)
        self.set_aside = SetAside()
        self.repeatable = not self._source.once
        self.endless = follow and idle is None
        self.reads_ahead = not self._source.waits

    @property
    def source(self) -> str:
        """What is read, in a word for messages."""
        return self._source.name

    def reader(self, inside: bool = False) -> _core.TextReader:
        """The core's parser, of a part of a file that does not begin it if `inside`."""
        raise NotImplementedError

    def chunks(self) -> Iterator[Chunk]:
        for chunk, _ in self.tagged():
            yield chunk

    def tagged(self) -> Iterator[tuple[Chunk, list[str]]]:
        """The chunks, each with the tags of its rows."""
        self.set_aside = aside = SetAside()
        any_rows = False
        for rows, refused, stopped in (
            self._at_once() if self.lines_apart and not self._source.waits else self._in_turn()
        ):
            words = [f"{self.source}, line {line}, column {column}: {what}" for line, column, what in refused[1]]
            if not stopped:
                # Before the rows are given: whoever takes only some of them never comes back.
                aside.count += refused[0]
                aside.reasons += map(fitting, words[: REASONS - len(aside.reasons)])
            if len(rows[0]):
                any_rows = True
                yield self._chunk(rows)
            if stopped:
                raise InvalidValue(words[-1])
        if not any_rows and not aside and not self._source.follow:
            raise InvalidValue(f"{self.source}: there are no rows")

    def _at_once(self) -> Iterator[Taken]:
        """Blocks of whole lines, parsed by several threads."""
        before = 0
        pool = _core.BufferPool()
        for (rows, (count, described), stopped), lines in in_parallel(
            line_blocks(self._source.pieces(), BLOCK, self.source), partial(self._block, pool)
        ):
            yield rows, (count, [(before + line, column, what) for line, column, what in described]), stopped
            before += lines

    def _block(self, pool: _core.BufferPool, block: tuple[list[bytes], bool]) -> tuple[Taken, int]:
        parts, inside = block
        reader = self.reader(inside)
        lines = reader.parse_all(parts, pool)
        return (reader.take(), reader.refused(), reader.stopped()), lines

    def _in_turn(self) -> Iterator[Taken]:
        """Rows as soon as their lines are there."""
        reader = self.reader()
        length = 0
        for piece in self._source.pieces():
            if piece is None:
                # A growing file was cut or replaced.
                reader = self.reader()
                continue
            end = piece.rfind(b"\n") + 1
            length = len(piece) - end if end else length + len(piece)
            check_length(length, self.source)
            rows, entries = reader.parse(piece, False)
            full = rows and (self._source.waits or entries >= ENTRIES or rows >= ROWS)
            if full or reader.stopped():
                yield reader.take(), reader.refused(), reader.stopped()
        reader.parse(b"", True)
        yield reader.take(), reader.refused(), reader.stopped()

    def _chunk(self, taken: tuple[Any, ...]) -> tuple[Chunk, list[str]]:
        rows, width, labels, weights, tags, ends = taken
        return Chunk(parsed(rows, width), self._labels(labels), weights), _split(tags, ends)

    def _labels(self, labels: Any) -> Any:
        """Whole numbers as such: they are classes to a classifier and numbers to a regressor."""
        if self.labels == "number":
            return labels
        whole = bool((np.abs(labels) < 2**53).all()) and bool((labels == np.rint(labels)).all())
        if whole:
            return labels.astype(np.int64)
        if self.labels == "class":
            bad = labels[~np.isnan(labels) & (labels != np.rint(labels))]
            if len(bad):
                raise InvalidValue(f"{self.source}: a class must be a whole number, got {bad[0]}")
        return labels

    def __repr__(self) -> str:
        values = {"follow": self._source.follow, "idle": self._source.idle, **vars(self)}
        words = "".join(
            f", {name}={values[name]!r}"
            for name, option in inspect.signature(type(self)).parameters.items()
            if option.kind is option.KEYWORD_ONLY and values[name] != option.default
        )
        return f"{self.maker}({self.source!r}{words})"


def _split(tags: bytes, ends: Any) -> list[str]:
    if not tags:
        return [""] * len(ends)
    places = [0, *ends.tolist()]
    return [tags[places[row] : places[row + 1]].decode(errors="replace") for row in range(len(ends))]
