"""A stream that is inspected before and during learning."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from millstream import _frames
from millstream.cli.hints import advice
from millstream.stream.base import Stream
from millstream.stream.chunk import Chunk
from millstream.stream.derived import Derived
from millstream.stream.owner_thread import owned
from millstream.stream.prefetch import ReadAhead

__all__ = ["ObservedStream"]


class ObservedStream(Derived):
    """The examples of a stream. Gives access to the first chunk, and records whether the target ever changed."""

    def __init__(self, source: Stream) -> None:
        super().__init__(source)
        self._rest: Iterator[Chunk] | None = None
        self._first: Chunk | None = None
        #: Number of rows so far.
        self.rows = 0
        #: The only value of the target so far; None once there was another.
        self.only: list[Any] | None = []
        #: Hints on the first rows.
        self.advice: list[str] = []

    def __repr__(self) -> str:
        return repr(self.source)

    def first(self) -> Chunk | None:
        """The first chunk, which remains in the stream; None if the stream is empty."""
        if self._rest is None:
            chunks = self.source.chunks()
            # Another thread may continue reading, but cannot continue a generator of this thread.
            self._rest = ReadAhead(chunks) if self.source.reads_ahead else chunks
            self._first = next(self._rest, None)
        return self._first

    def chunks(self) -> Iterator[Chunk]:
        first, rest = self._first, self._rest
        self._first = self._rest = None
        with owned(self.source.chunks() if rest is None else rest) as chunks:
            if first is not None:
                yield self._watch(first)
            del first
            for chunk in chunks:
                yield self._watch(chunk)

    def _watch(self, chunk: Chunk) -> Chunk:
        if not self.rows:
            self.advice = advice(chunk)
        self.rows += len(chunk)
        if self.only is not None and chunk.y is not None and len(chunk):
            values = distinct(chunk.y, 2) + self.only
            self.only = values[:1] if all(value == values[0] for value in values) else None
        return chunk


def distinct(y: Any, most: int) -> list[Any]:
    """The distinct values of a target, up to `most` of them, without missing values."""
    y = _frames.targets(y)
    if isinstance(y, np.ndarray):
        if y.dtype.kind == "f":
            y = y[~np.isnan(y)]
        return list(np.unique(y)[:most].tolist())
    found: dict[Any, None] = {}
    for value in y:
        if value is not None and value == value:
            found[value] = None
            if len(found) == most:
                break
    return list(found)
