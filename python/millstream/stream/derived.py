"""Streams derived from a stream: its examples selected, reordered, repeated, changed, or in other chunks.

Each reads its source only while it is read itself, and holds one chunk or buffer at a time. An error in the source
(a bad line, Ctrl-C) reaches the caller after the examples before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from millstream.errors import InvalidValue
from millstream.stream.base import Stream
from millstream.stream.chunk import Chunk
from millstream.stream.counts import count
from millstream.stream.joined import joined

__all__ = ["Batch", "Derived", "Repeat", "Skip", "Take", "batches", "check_held", "shown"]


class Derived(Stream):
    """A stream derived from another one; target, weight and times have the names of its source."""

    #: Whether it has the features of its source.
    keeps_features = True

    def __init__(self, source: Stream, *arguments: Any, **options: Any) -> None:
        self.source = source
        self.arguments, self.options = arguments, options
        self.target, self.weight = source.target, source.weight
        self.time, self.label_time = source.time, source.label_time
        self.endless, self.repeatable, self.reads_ahead = source.endless, source.repeatable, source.reads_ahead

    @property
    def schema(self) -> dict[Any, str]:
        return self.source.schema if self.keeps_features else super().schema

    @property
    def n_samples(self) -> int | None:
        return self.source.n_samples

    @property
    def skipped(self) -> Any:
        """The rows that the source skipped in the last pass; None if it counts none."""
        return getattr(self.source, "skipped", None)

    def __repr__(self) -> str:
        words = [shown(argument) for argument in self.arguments]
        words += [f"{name}={shown(value)}" for name, value in self.options.items() if value is not None]
        return f"{self.source!r}.{self.verb}({', '.join(words)})"

    @property
    def verb(self) -> str:
        """The method that creates it."""
        name = type(self).__name__
        return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).removeprefix("_")


def shown(value: Any) -> str:
    """An argument in Python notation; a function by its name."""
    return getattr(value, "__name__", None) or repr(value)


class Take(Derived):
    """The first examples."""

    def __init__(self, source: Stream, n: int) -> None:
        self.n = count("take: n", n, 0)
        super().__init__(source, self.n)
        self.endless = False

    def chunks(self) -> Iterator[Chunk]:
        left = self.n
        if left == 0:
            return
        for chunk in self.source.chunks():
            chunk = chunk.cut(0, min(left, len(chunk)))
            left -= len(chunk)
            yield chunk
            if left == 0:
                return

    @property
    def n_samples(self) -> int | None:
        known = self.source.n_samples
        if known is None:
            return self.n if self.source.endless or self.n == 0 else None
        return min(known, self.n)


class Skip(Derived):
    """All but the first examples."""

    def __init__(self, source: Stream, n: int) -> None:
        self.n = count("skip: n", n, 0)
        super().__init__(source, self.n)

    def chunks(self) -> Iterator[Chunk]:
        left = self.n
        for chunk in self.source.chunks():
            start = min(left, len(chunk))
            left -= start
            if start < len(chunk):
                yield chunk.cut(start, len(chunk))

    @property
    def n_samples(self) -> int | None:
        known = self.source.n_samples
        return None if known is None else max(0, known - self.n)


class Repeat(Derived):
    """The examples several times over."""

    def __init__(self, source: Stream, passes: int | None) -> None:
        self.passes = None if passes is None else count("repeat: passes", passes, 0)
        if not source.repeatable and self.passes not in (0, 1):
            raise InvalidValue(f"stream.repeat: {source!r} can be read only once")
        super().__init__(source, self.passes)
        self.endless = source.endless or self.passes is None

    def chunks(self) -> Iterator[Chunk]:
        done = 0
        while self.passes is None or done < self.passes:
            rows = 0
            for chunk in self.source.chunks():
                rows += len(chunk)
                yield chunk
            # Repeating an empty stream would never return.
            if rows == 0:
                return
            done += 1

    @property
    def n_samples(self) -> int | None:
        known = self.source.n_samples
        if known == 0 or self.passes == 0:
            return 0
        return None if known is None or self.passes is None else known * self.passes


class Batch(Derived):
    """The examples in chunks of a fixed number of rows."""

    def __init__(self, source: Stream, n: int) -> None:
        self.n = count("batch: n", n, 1)
        check_held("batch: n", source, self.n)
        super().__init__(source, self.n)

    def chunks(self) -> Iterator[Chunk]:
        return batches(self.source.chunks(), self.n)


#: Most rows of an endless stream to hold at once. A finite stream may be held in full.
_LONGEST = 1_000_000_000


def check_held(what: str, source: Stream, rows: int) -> None:
    """Refuse a number of rows of an endless stream that would fill the memory before the first is returned."""
    if source.endless and rows > _LONGEST:
        raise InvalidValue(f"stream.{what} must be at most {_LONGEST:,} for an endless stream, got {rows:,}")


def batches(chunks: Iterable[Chunk], n: int) -> Iterator[Chunk]:
    """Chunks of exactly n rows; the last may be shorter, even if the source fails after it."""
    waiting: list[Chunk] = []
    rows = 0
    source = iter(chunks)
    while True:
        failure: BaseException | None = None
        try:
            chunk = next(source, None)
        except BaseException as error:
            chunk, failure = None, error
        if chunk is None:
            if rows:
                yield joined(waiting)
            if failure is not None:
                raise failure
            return
        start = 0
        while rows + len(chunk) - start >= n:
            stop = start + n - rows
            yield joined([*waiting, chunk.cut(start, stop)])
            waiting, rows, start = [], 0, stop
        if start < len(chunk):
            waiting.append(chunk.cut(start, len(chunk)))
            rows += len(chunk) - start
