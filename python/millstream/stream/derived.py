"""Streams made of a stream: some of its examples, in another order, again, changed, or in other chunks.

Each is a description of its own, reads its source only when it is read, and holds a chunk or a buffer at a time.
Whatever fails in the source, a bad line or Ctrl-C, reaches the caller after the examples before it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from millstream import _frames
from millstream.errors import InvalidType, InvalidValue
from millstream.stream.base import ROWS, Stream
from millstream.stream.chunk import Chunk, as_list
from millstream.stream.joined import joined

__all__ = [
    "Batch",
    "Derived",
    "Filter",
    "FilterChunks",
    "Map",
    "MapChunks",
    "Repeat",
    "Shuffle",
    "Skip",
    "Take",
    "batches",
]


class Derived(Stream):
    """A stream made of another one; the names of target, weight and times are those of its source."""

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

    def __repr__(self) -> str:
        shown = [_shown(argument) for argument in self.arguments]
        shown += [f"{name}={_shown(value)}" for name, value in self.options.items() if value is not None]
        return f"{self.source!r}.{self.verb}({', '.join(shown)})"

    @property
    def verb(self) -> str:
        """The method that makes it."""
        name = type(self).__name__
        return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).removeprefix("_")


def _shown(value: Any) -> str:
    return getattr(value, "__name__", None) or repr(value)


def _count(what: str, value: Any, least: int) -> int:
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
        raise InvalidValue(f"stream.{what} must be a whole number, at least {least}, got {_frames.shown(value)}")
    return int(value)


class Take(Derived):
    """The first examples."""

    def __init__(self, source: Stream, n: int) -> None:
        self.n = _count("take: n", n, 0)
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
        self.n = _count("skip: n", n, 0)
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
        self.passes = None if passes is None else _count("repeat: passes", passes, 0)
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
            # Nothing, again and again without end, would never come back.
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
    """The examples in chunks of a number of rows."""

    def __init__(self, source: Stream, n: int) -> None:
        self.n = _count("batch: n", n, 1)
        super().__init__(source, self.n)

    def chunks(self) -> Iterator[Chunk]:
        return batches(self.source.chunks(), self.n)


def batches(chunks: Iterable[Chunk], n: int) -> Iterator[Chunk]:
    """Chunks of exactly n rows; the last may be shorter, also where the source fails after it."""
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


class Shuffle(Derived):
    """The examples in random order, as far as a buffer reaches."""

    def __init__(self, source: Stream, buffer: int, seed: int | None = None) -> None:
        self.buffer = _count("shuffle: buffer", buffer, 1)
        self.seed = None if seed is None else _count("shuffle: seed", seed, 0)
        super().__init__(source, self.buffer, seed=self.seed)

    def chunks(self) -> Iterator[Chunk]:
        random = np.random.default_rng(self.seed)
        held: Chunk | None = None
        source = batches(self.source.chunks(), max(self.buffer, ROWS))
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
    """Each new row takes the place of a random one in the buffer, which is given out.

    The buffer is at 0..buffer and the rows follow it: which of these are given out, in order, and which stay. One
    number is drawn for each row, so that the order does not depend on how the stream is cut.
    """
    slots = (random.random(rows) * buffer).astype(np.int64)
    order = np.argsort(slots, kind="stable")
    again = slots[order][1:] == slots[order][:-1]
    given = slots.copy()
    # A slot that was filled by an earlier row of this stretch gives out that row.
    given[order[1:][again]] = buffer + order[:-1][again]
    kept = np.arange(buffer)
    last = np.append(~again, True) if rows else np.zeros(0, dtype=bool)
    kept[slots[order][last]] = buffer + order[last]
    return given, kept


class Map(Derived):
    """The features of each example changed by a function."""

    keeps_features = False

    def __init__(self, source: Stream, function: Callable[[dict[Any, Any]], Mapping[Any, Any]]) -> None:
        self.function = _callable("map: function", function)
        super().__init__(source, function)

    def chunks(self) -> Iterator[Chunk]:
        for chunk in self.source.chunks():
            rows: list[Any] = []
            failure: BaseException | None = None
            try:
                rows.extend(map(self._mapped, _frames.dicts(chunk.X)))
            except BaseException as error:
                failure = error
            if rows:
                yield replace(chunk.cut(0, len(rows)), X=rows)
            if failure is not None:
                raise failure

    def _mapped(self, x: dict[Any, Any]) -> Mapping[Any, Any]:
        changed = self.function(x)
        if not isinstance(changed, Mapping):
            who = _shown(self.function)
            raise InvalidType(f"stream.map: {who} must give a dict of features, got {_frames.shown(changed)}")
        return changed


class MapChunks(Derived):
    """Each chunk changed by a function."""

    keeps_features = False

    def __init__(self, source: Stream, function: Callable[[Chunk], Chunk]) -> None:
        self.function = _callable("map_chunks: function", function)
        super().__init__(source, function)

    def chunks(self) -> Iterator[Chunk]:
        for chunk in self.source.chunks():
            changed = self.function(chunk)
            if not isinstance(changed, Chunk):
                who, got = _shown(self.function), _frames.shown(changed)
                raise InvalidType(f"stream.map_chunks: {who} must give a stream.Chunk, got {got}")
            if len(changed):
                yield changed

    @property
    def n_samples(self) -> int | None:
        return None


class FilterChunks(Derived):
    """The examples that a function of the chunk chooses."""

    def __init__(self, source: Stream, predicate: Callable[[Chunk], Any]) -> None:
        self.predicate = _callable(f"{self.verb}: predicate", predicate)
        super().__init__(source, predicate)

    def chunks(self) -> Iterator[Chunk]:
        for chunk in self.source.chunks():
            mask = np.asarray(self._mask(chunk))
            if mask.dtype != bool or mask.shape != (len(chunk),):
                who, got = _shown(self.predicate), f"dtype {mask.dtype} and shape {mask.shape}"
                raise InvalidType(f"stream.filter_chunks: {who} must give a bool for each row, got {got}")
            if mask.all():
                yield chunk
            elif mask.any():
                yield chunk.take(np.flatnonzero(mask))

    def _mask(self, chunk: Chunk) -> Any:
        mask = self.predicate(chunk)
        return mask.to_pylist() if hasattr(mask, "to_pylist") else mask

    @property
    def n_samples(self) -> int | None:
        return None


class Filter(FilterChunks):
    """The examples that a function of the features, or of features and target, chooses."""

    def __init__(self, source: Stream, predicate: Callable[..., Any]) -> None:
        super().__init__(source, predicate)
        self.with_target = _takes_two(predicate)

    def chunks(self) -> Iterator[Chunk]:
        for chunk in self.source.chunks():
            chosen: list[bool] = []
            ys = as_list(chunk.y) if self.with_target and chunk.y is not None else [None] * len(chunk)
            failure: BaseException | None = None
            try:
                for x, y in zip(_frames.dicts(chunk.X), ys, strict=True):
                    chosen.append(bool(self.predicate(x, y) if self.with_target else self.predicate(x)))
            except BaseException as error:
                failure = error
            if all(chosen):
                chunk = chunk.cut(0, len(chosen))
            else:
                chunk = chunk.take(np.flatnonzero(chosen))
            if len(chunk):
                yield chunk
            if failure is not None:
                raise failure


def _callable(what: str, function: Any) -> Any:
    if not callable(function):
        raise InvalidType(f"stream.{what} must be callable, got {_frames.shown(function)}")
    return function


def _takes_two(function: Callable[..., Any]) -> bool:
    """Whether a function must be given two arguments."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = [p for p in parameters if p.kind in positional and p.default is inspect.Parameter.empty]
    return len(needed) == 2
