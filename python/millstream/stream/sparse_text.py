"""The base class of the readers of sparse text: the core parses bytes into sparse rows.

Separate threads parse lines without the GIL while earlier rows are learned. An unreadable line is an error that
names its line and column, raised after the rows before it, or is skipped and counted.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
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
from millstream.stream.feature_names import FeatureNames
from millstream.stream.parallel import in_parallel
from millstream.stream.source import Source
from millstream.stream.table import REASONS, SkippedRows

__all__ = ["SparseText"]

#: Number of entries of a full chunk; more would not stay in the cache between reading and learning.
ENTRIES = 1 << 17

#: Bytes parsed at once, where lines can be parsed separately.
BLOCK = 1 << 20

#: What a reader returns: its rows with labels, weights and tags; the number of refused lines with reasons;
#: whether it stopped there; and the namespaces of the lines, where features are selected or combined.
Taken = tuple[tuple[Any, ...], tuple[int, list[tuple[int, int, str]]], bool, dict[int, str]]

#: After this many rows, namespaces that were not seen are taken for mistakes.
ENOUGH = 1000


class SparseText(Stream):
    """A stream that the core parses from text; the base class of `read_vw` and `read_libsvm`.

    A subclass defines `reader()`, which starts a pass.
    """

    #: The function that creates it, for `repr`.
    maker = ""
    #: Whether lines are independent, so that blocks of them can be parsed in parallel.
    lines_apart = False

    #: The name of the label in reports.
    target = "label"

    #: The names of columns, if they are collected.
    feature_names: FeatureNames | None = None

    def __init__(self, path: Any, labels: str, on_error: str, follow: bool, idle: float | None) -> None:
        if labels not in ("auto", "class", "number"):
            raise InvalidValue(f"stream: labels must be 'auto', 'class' or 'number', got {quoted(labels)}")
        if on_error not in ("raise", "skip"):
            raise InvalidValue(f"stream: on_error must be 'raise' or 'skip', got {quoted(on_error)}")
        self.path, self.labels, self.on_error = path, labels, on_error
        self._source = Source(path, follow=follow, idle=idle)
        self.skipped = SkippedRows()
        self.repeatable = not self._source.once
        self.endless = follow and idle is None
        self.reads_ahead = not self._source.waits

    @property
    def source(self) -> str:
        """The name of the file, for messages."""
        return self._source.name

    def reader(self, inside: bool = False) -> _core.TextReader:
        """The core's parser; `inside` if its input is not the beginning of the file."""
        raise NotImplementedError

    def check_namespaces(self, seen: Mapping[int, str]) -> None:
        """Refuse arguments that name no namespace among those seen."""

    def chunks(self) -> Iterator[Chunk]:
        for chunk, _ in self.tagged():
            yield chunk

    def tagged(self) -> Iterator[tuple[Chunk, list[str]]]:
        """The chunks, each with the tags of its rows."""
        self.skipped = aside = SkippedRows()
        any_rows = False
        seen: dict[int, str] = {}
        count, is_checked = 0, False
        for rows, refused, stopped, namespaces in (
            self._at_once() if self.lines_apart and not self._source.waits else self._in_turn()
        ):
            words = [f"{self.source}, line {line}, column {column}: {what}" for line, column, what in refused[1]]
            if not stopped:
                # Before the rows are yielded: a consumer of only some of them never resumes this generator.
                aside.count += refused[0]
                aside.reasons += map(fitting, words[: REASONS - len(aside.reasons)])
            seen |= namespaces
            count += len(rows[0])
            if not is_checked and (count >= ENOUGH or (count and not self._source.waits)):
                is_checked = True
                self.check_namespaces(seen)
            if len(rows[0]):
                any_rows = True
                yield self._chunk(rows)
            if stopped:
                raise InvalidValue(words[-1])
        if any_rows and not is_checked:
            self.check_namespaces(seen)
        if not any_rows and not aside and not self._source.follow:
            raise InvalidValue(f"{self.source}: there are no rows")

    def _at_once(self) -> Iterator[Taken]:
        """Blocks of whole lines, parsed by several threads."""
        before = 0
        pool = _core.BufferPool()
        for (rows, (count, described), stopped, seen), lines in in_parallel(
            line_blocks(self._source.pieces(), BLOCK, self.source), partial(self._block, pool)
        ):
            yield rows, (count, [(before + line, column, what) for line, column, what in described]), stopped, seen
            before += lines

    def _block(self, pool: _core.BufferPool, block: tuple[list[bytes], bool]) -> tuple[Taken, int]:
        parts, inside = block
        reader = self.reader(inside)
        lines = reader.parse_all(parts, pool)
        return self._taken(reader), lines

    def _in_turn(self) -> Iterator[Taken]:
        """Rows as soon as their lines have arrived."""
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
                yield self._taken(reader)
        reader.parse(b"", True)
        yield self._taken(reader)

    def taken(self, reader: _core.TextReader) -> tuple[Any, ...]:
        """The rows that wait, and what belongs to them."""
        return reader.take()

    def _taken(self, reader: _core.TextReader) -> Taken:
        seen = {first: name.decode(errors="replace") for first, name in reader.namespaces()}
        return self.taken(reader), reader.refused(), reader.stopped(), seen

    def _chunk(self, taken: tuple[Any, ...]) -> tuple[Chunk, list[str]]:
        rows, width, labels, weights, tags, ends = taken
        X = parsed(rows, width)
        if self.feature_names is not None:
            object.__setattr__(X, "feature_names", self.feature_names)
        return Chunk(X, self._labels(labels), weights), _split(tags, ends)

    def _labels(self, labels: Any) -> Any:
        """Integers as int64: they are classes to a classifier and numbers to a regressor."""
        if self.labels == "number":
            return labels
        whole = bool((np.abs(labels) < 2**53).all()) and bool((labels == np.rint(labels)).all())
        if whole:
            return labels.astype(np.int64)
        if self.labels == "class":
            bad = labels[~np.isnan(labels) & (labels != np.rint(labels))]
            if len(bad):
                raise InvalidValue(f"{self.source}: a class must be an integer, got {bad[0]}")
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
