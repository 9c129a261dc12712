"""Streams that are read several times: with parsed rows kept in memory, and without held-out examples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from millstream._sparse import Sparse, unseen, with_products
from millstream.errors import InvalidValue
from millstream.stream.base import Stream
from millstream.stream.chunk import Chunk
from millstream.stream.derived import Derived
from millstream.stream.prefetch import read_ahead

__all__ = ["CACHE_BYTES", "Cached", "Part", "is_parsed"]

#: Parsed rows of a stream are kept in memory up to this size, so that later passes and the risk need not parse it.
CACHE_BYTES = 128 * 2**20


class Cached(Derived):
    """A stream whose chunks are kept in memory after the first complete pass, unless they are too large.

    It is read by a thread of its own, as in `evaluate.prequential`.
    """

    def __init__(self, source: Stream, limit: int = CACHE_BYTES) -> None:
        super().__init__(source)
        self.limit = limit
        self._kept: list[Chunk] | None = None

    def chunks(self) -> Iterator[Chunk]:
        if self._kept is not None:
            yield from self._kept
            return
        kept, size = [], 0
        chunks = self.source.chunks()
        for chunk in read_ahead(chunks) if self.source.reads_ahead else chunks:
            yield chunk
            # After it was learned: a model need not check rows of a reader until their arrays are accessed.
            if size <= self.limit:
                size += _size(chunk, self.limit + 1)
                kept.append(chunk)
            if size > self.limit:
                kept = []
        if size <= self.limit:
            self._kept = kept


class Part(Derived):
    """The held-out examples of a stream, one in `period`, or all others."""

    def __init__(self, source: Stream, period: int, held: bool) -> None:
        super().__init__(source, period, held)
        self.period, self.held = period, held

    def chunks(self) -> Iterator[Chunk]:
        start, any_rows = 0, False
        for chunk in self.source.chunks():
            part = chunk.take(self.rows(start, len(chunk)))
            start += len(chunk)
            if len(part):
                any_rows = True
                yield part
        if self.held and not any_rows:
            raise InvalidValue(
                f"train: holdout needs at least {self.period} examples to hold out one, got {start}"
            )

    def rows(self, start: int, count: int) -> Any:
        """The indices of the examples among `count`, the first of which is number `start` of the stream."""
        last = (np.arange(start, start + count) + 1) % self.period == 0
        return np.flatnonzero(last if self.held else ~last)

    @property
    def n_samples(self) -> int | None:
        known = self.source.n_samples
        if known is None:
            return None
        return known // self.period if self.held else known - known // self.period


def _size(chunk: Chunk, unknown: int) -> int:
    """Bytes of a chunk; `unknown` for rows in Python objects."""
    X = chunk.X
    if isinstance(X, Sparse) and (rows := with_products(X)) is not None:
        return rows.memory() + sum(int(column.nbytes) for column in chunk.beside.values())
    columns = [X.starts, X.indices, X.values] if isinstance(X, Sparse) else [X]
    sizes = [getattr(column, "nbytes", None) for column in (*columns, *chunk.beside.values())]
    if any(not isinstance(size, int) for size in sizes):
        return unknown
    return sum(size for size in sizes if size is not None)


def is_parsed(chunk: Chunk) -> bool:
    """Whether the rows are those of a reader in a form that cutting would convert."""
    return isinstance(chunk.X, Sparse) and unseen(chunk.X) is not None
