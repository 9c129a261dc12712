"""A stream in random order, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from millstream.stream.base import ROWS, Stream
from millstream.stream.chunk import Chunk
from millstream.stream.counts import count
from millstream.stream.derived import Derived, batches, check_held
from millstream.stream.joined import joined
from millstream.stream.owner_thread import owned

__all__ = ["Shuffle"]


class Shuffle(Derived):
    """The examples, shuffled with a buffer of limited size."""

    def __init__(self, source: Stream, buffer: int, seed: int | None = None) -> None:
        self.buffer = count("shuffle: buffer", buffer, 1)
        self.seed = None if seed is None else count("shuffle: seed", seed, 0)
        check_held("shuffle: buffer", source, self.buffer)
        super().__init__(source, self.buffer, seed=self.seed)

    def chunks(self) -> Iterator[Chunk]:
        random = np.random.default_rng(self.seed)
        with owned(batches(self.source.chunks(), max(self.buffer, ROWS))) as source:
            yield from self._shuffled(source, random)

    def _shuffled(self, source: Iterator[Chunk], random: np.random.Generator) -> Iterator[Chunk]:
        held: Chunk | None = None
        while True:
            failure: BaseException | None = None
            try:
                chunk = next(source, None)
            except BaseException as error:
                chunk, failure = None, error
            if chunk is None:
                if held is not None:
                    yield held.take(random.permutation(len(held)))
                if failure is not None:
                    raise failure
                return
            start = 0
            if held is None:
                start = min(self.buffer, len(chunk))
                held = chunk.cut(0, start)
            if start < len(chunk):
                given, kept = _exchange(random, self.buffer, len(chunk) - start)
                pool = joined([held, chunk.cut(start, len(chunk))])
                yield pool.take(given)
                held = pool.take(kept)


def _exchange(random: np.random.Generator, buffer: int, rows: int) -> tuple[Any, Any]:
    """Each new row replaces a random one in the buffer, which is returned.

    The buffer has the indices 0..buffer and the rows follow it. Returns the indices of the returned rows, in
    order, and of the remaining ones. One number is drawn for each row, so that the order does not depend on the
    chunk size.
    """
    slots = (random.random(rows) * buffer).astype(np.int64)
    order = np.argsort(slots, kind="stable")
    again = slots[order][1:] == slots[order][:-1]
    given = slots.copy()
    # A slot that was filled by an earlier row of this chunk returns that row.
    given[order[1:][again]] = buffer + order[:-1][again]
    kept = np.arange(buffer)
    last = np.append(~again, True) if rows else np.zeros(0, dtype=bool)
    kept[slots[order][last]] = buffer + order[last]
    return given, kept
