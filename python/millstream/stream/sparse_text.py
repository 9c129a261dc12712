"""The base of the readers of sparse text: bytes to sparse rows, in the core.

Lines are parsed without the GIL, and by a thread of their own while the rows before are learned. A line that
cannot be read is an error that names its line and column, after the rows before it, or is set aside and counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from millstream import _core
from millstream._sparse import Sparse
from millstream.errors import InvalidValue
from millstream.stream.base import ROWS, Stream
from millstream.stream.chunk import Chunk
from millstream.stream.source import Source
from millstream.stream.table import REASONS, SetAside

__all__ = ["SparseText"]

#: A chunk is full when it has so many entries: more would not fit in the caches between reading and learning.
ENTRIES = 1 << 17


class SparseText(Stream):
    """A stream that the core reads from text; the base of `read_vw` and `read_libsvm`.

    A subclass has `reader()`, which begins a pass.
    """

    #: What a label is, for those that are asked.
    target = "label"

    def __init__(self, path: Any, labels: str, on_error: str, follow: bool, idle: float | None) -> None:
        if labels not in ("auto", "class", "number"):
            raise InvalidValue(f"stream: labels must be 'auto', 'class' or 'number', got {labels!r}")
        if on_error not in ("raise", "skip"):
            raise InvalidValue(f"stream: on_error must be 'raise' or 'skip', got {on_error!r}")
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

    def reader(self) -> _core.TextReader:
        """The core's parser, at the beginning of a file."""
        raise NotImplementedError

    def chunks(self) -> Iterator[Chunk]:
        for chunk, _ in self.tagged():
            yield chunk

    def tagged(self) -> Iterator[tuple[Chunk, list[str]]]:
        """The chunks, each with the tags of its rows."""
        self.set_aside = aside = SetAside()
        reader = self.reader()
        any_rows = False
        for piece in self._source.pieces():
            if piece is None:
                # A growing file was cut or replaced.
                reader = self.reader()
                continue
            rows, entries = reader.parse(piece, False)
            if entries >= ENTRIES or rows >= ROWS or (rows and self._source.waits) or reader.stopped():
                any_rows = True
                yield from self._taken(reader, aside)
        reader.parse(b"", True)
        taken = list(self._taken(reader, aside))
        yield from taken
        if not any_rows and not taken and not aside and not self._source.follow:
            raise InvalidValue(f"{self.source}: there are no rows")

    def _taken(self, reader: _core.TextReader, aside: SetAside) -> Iterator[tuple[Chunk, list[str]]]:
        starts, indices, values, width, labels, weights, tags, ends = reader.take()
        if len(labels):
            chunk = Chunk(Sparse(starts, indices, values, width), self._labels(labels), weights)
            yield chunk, _split(tags, ends)
        count, described = reader.refused()
        words = [f"{self.source}, line {line}, column {column}: {message}" for line, column, message in described]
        if reader.stopped():
            raise InvalidValue(words[-1])
        aside.count, aside.reasons = count, words[:REASONS]

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
        return f"{type(self).__name__}({self.source!r})"


def _split(tags: bytes, ends: Any) -> list[str]:
    if not tags:
        return [""] * len(ends)
    places = [0, *ends.tolist()]
    return [tags[places[row] : places[row + 1]].decode(errors="replace") for row in range(len(ends))]
