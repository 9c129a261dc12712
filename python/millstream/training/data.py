"""Finite data that can be read repeatedly, in a chosen order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from millstream import _frames
from millstream._echo import quoted
from millstream._sparse import Sparse
from millstream.errors import InvalidType, InvalidValue
from millstream.evaluate.chunks import take_column
from millstream.stream.base import Stream
from millstream.stream.chunk import Chunk
from millstream.training.sources import Cached, Part, is_parsed

__all__ = ["ORDERS", "Data", "data_of"]

ORDERS = ("cyclic", "shuffle", "random")

#: Number of examples learned between checks of the clock and for Ctrl-C.
STRETCH = 16_384


class Data:
    """Examples that can be read in several orders."""

    #: Number of examples, if known before they are read.
    size: int | None

    def chunks(self, order: str, random: np.random.Generator) -> Iterator[Chunk]:
        """The examples of one pass."""
        raise NotImplementedError

    def split(self, period: int) -> tuple[Data, Data]:
        """All examples but one in `period`, and those."""
        raise NotImplementedError


class InMemory(Data):
    """Data in memory."""

    def __init__(self, whole: Chunk) -> None:
        self.whole, self.size = whole, len(whole)
        if not self.size:
            raise InvalidValue("train: there is no example in the data")

    def chunks(self, order: str, random: np.random.Generator) -> Iterator[Chunk]:
        n = len(self.whole)
        indices = None
        if order == "shuffle":
            indices = random.permutation(n)
        elif order == "random":
            indices = random.integers(0, n, n)
        for start in range(0, n, STRETCH):
            stop = min(start + STRETCH, n)
            yield self.whole.cut(start, stop) if indices is None else self.whole.take(indices[start:stop])

    def split(self, period: int) -> tuple[Data, Data]:
        if len(self.whole) < period:
            raise InvalidValue(
                f"train: holdout needs at least {period} examples to hold out one, got {len(self.whole)}"
            )
        held = (np.arange(len(self.whole)) + 1) % period == 0
        return InMemory(self.whole.take(np.flatnonzero(~held))), InMemory(self.whole.take(np.flatnonzero(held)))


class FromStream(Data):
    """A stream that is read again in each pass and may be larger than memory."""

    def __init__(self, stream: Stream, buffer: int) -> None:
        self.stream, self.buffer, self.size = stream, buffer, stream.n_samples

    def split(self, period: int) -> tuple[Data, Data]:
        learned, held = (Part(self.stream, period, held) for held in (False, True))
        return FromStream(learned, self.buffer), FromStream(held, self.buffer)

    def chunks(self, order: str, random: np.random.Generator) -> Iterator[Chunk]:
        stream = self.stream
        if order == "shuffle":
            stream = stream.shuffle(self.buffer, seed=int(random.integers(2**31)))
        for chunk in stream.chunks():
            if chunk.y is None:
                raise InvalidType("train: a stream needs a target: name its column with target=")
            if is_parsed(chunk):
                # Learning answers Ctrl-C between its rows, too, and cutting would convert them.
                yield chunk
                continue
            for start in range(0, len(chunk), STRETCH):
                yield chunk.cut(start, min(start + STRETCH, len(chunk)))


def data_of(given: Any, passes: int, order: str, buffer: int) -> Data:
    """Data in any form that `evaluate.prequential` accepts."""
    if isinstance(given, Stream):
        return _of_stream(given, passes, order, buffer)
    if isinstance(given, (str, bytes, Mapping, np.ndarray)) or not isinstance(given, Iterable):
        raise InvalidType(f"train: data is (X, y), a stream, or examples (x, y), got {type(given).__name__}")
    if isinstance(given, tuple) and len(given) in (2, 3) and not _is_example(given[0]):
        X, y, w = (*given, None)[:3]
        if isinstance(y, str) and not isinstance(X, list):
            X, y = take_column(X, y)
        return InMemory(_chunk(X, y, w))
    examples = list(given)
    for example in examples:
        if not _is_example(example):
            raise InvalidType(f"train: an example is (x, y) or (x, y, w) with a dict x, got {quoted(example)}")
    ws = [example[2] if len(example) == 3 else 1.0 for example in examples]
    xs, ys = [example[0] for example in examples], [example[1] for example in examples]
    return InMemory(_chunk(xs, ys, ws if any(len(example) == 3 for example in examples) else None))


def _is_example(item: Any) -> bool:
    return isinstance(item, tuple) and len(item) in (2, 3) and isinstance(item[0], Mapping)


def _of_stream(stream: Stream, passes: int, order: str, buffer: int) -> Data:
    if stream.endless:
        raise InvalidValue(f"train: data must be finite, got {stream!r}, which is endless: use its take(n)")
    if passes > 1 and not stream.repeatable:
        raise InvalidValue(f"train: {passes} passes need data that can be read again, got {stream!r}")
    if order != "random":
        return FromStream(Cached(stream), buffer)
    if stream.n_samples is None or stream.n_samples > buffer:
        held = "an unknown number" if stream.n_samples is None else f"{stream.n_samples:,}"
        raise InvalidValue(
            f"train: order='random' keeps all examples in memory, up to buffer={buffer:,}; {stream!r} has "
            f"{held}; order='shuffle' needs only the buffer"
        )
    from millstream.stream.joined import joined

    return InMemory(joined(list(FromStream(stream, buffer).chunks("cyclic", np.random.default_rng()))))


def _chunk(X: Any, y: Any, w: Any) -> Chunk:
    if hasattr(X, "tocsr"):
        X = X.tocsr()
        X = Sparse(X.indptr, X.indices, X.data, int(X.shape[1]))
    elif isinstance(X, (list, tuple)) and len(X) > 0 and isinstance(X[0], (list, tuple, np.ndarray)):
        X = np.asarray(X, dtype=np.float64)
    elif isinstance(X, Iterable) and not hasattr(X, "__len__"):
        X = list(X)
    if y is None or isinstance(y, str) or not isinstance(y, Iterable):
        raise InvalidType(f"train: y must be a column of targets, got {type(y).__name__}")
    beside = [column if column is None or hasattr(column, "__getitem__") else list(column) for column in (y, w)]
    y, w = (list(column) if isinstance(column, tuple) else column for column in beside)
    return Chunk(X, y, _frames.weights(w))
