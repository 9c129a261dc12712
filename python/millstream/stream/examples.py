"""Examples that Python code yields one by one: lists, generators, feeds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from millstream import _frames
from millstream._echo import typed
from millstream.errors import InvalidType, InvalidValue
from millstream.stream.base import Stream
from millstream.stream.chunk import Chunk
from millstream.stream.counts import count
from millstream.stream.display import kinds_of

__all__ = ["Examples", "from_examples"]

_END: Any = object()


class Examples(Stream):
    """Examples of an iterable; created by `from_examples`."""

    def __init__(self, source: Any, time: Any, label_time: Any, rows: int) -> None:
        if isinstance(source, (str, bytes, Mapping)) or not (isinstance(source, Iterable) or callable(source)):
            raise InvalidType(
                "stream.from_examples: source must be an iterable of examples (x, y), or a function that "
                f"returns one, got {type(source).__name__}"
            )
        if label_time is not None and time is None:
            raise InvalidValue("stream.from_examples: label_time needs time, the event times")
        self.given = source
        self.rows = count("from_examples: rows", rows, 1)
        self.target = "y"
        self.by_time, self.by_label_time = time, label_time
        self.time = None if time is None else _named(time, "time")
        self.label_time = None if label_time is None else _named(label_time, "label_time")
        self.repeatable = not isinstance(source, Iterator)
        self._used = False
        self._peeked: Chunk | None = None
        self._rest: Iterator[Chunk] | None = None

    def chunks(self) -> Iterator[Chunk]:
        if self._rest is not None:
            chunks = self._rest if self._peeked is None else chain([self._peeked], self._rest)
            self._peeked = self._rest = None
            return chunks
        return self._read()

    def _read(self) -> Iterator[Chunk]:
        if not self.repeatable:
            if self._used:
                raise InvalidValue(
                    "stream.from_examples: a generator can be read only once, and it was; "
                    "pass the generator function without calling it"
                )
            self._used = True
        items = iter(self.given() if callable(self.given) else self.given)
        while True:
            gathered: list[Any] = []
            failure: BaseException | None = None
            ended = False
            try:
                while len(gathered) < self.rows:
                    item = next(items, _END)
                    if item is _END:
                        ended = True
                        break
                    gathered.append(self._example(item))
            except BaseException as error:
                failure = error
            if gathered:
                yield self._chunk(gathered)
            if failure is not None:
                raise failure
            if ended:
                return

    def _example(self, item: Any) -> tuple[Any, Any, Any]:
        if isinstance(item, Mapping):
            return item, None, None
        if isinstance(item, tuple) and len(item) in (2, 3) and isinstance(item[0], Mapping):
            w = item[2] if len(item) == 3 else None
            return item[0], item[1], w.get("w") if isinstance(w, Mapping) else w
        raise InvalidType(
            f"stream.from_examples: an example must be (x, y) or (x, y, w) with a dict x, got {typed(item)}"
        )

    def _chunk(self, gathered: list[Any]) -> Chunk:
        xs, ys, ws = (list(column) for column in zip(*gathered, strict=True))
        times = [None if by is None else _taken(xs, by) for by in (self.by_time, self.by_label_time)]
        names = {by for by in (self.by_time, self.by_label_time) if by is not None and not callable(by)}
        if names:
            xs = [{name: value for name, value in x.items() if name not in names} for x in xs]
        return Chunk(
            xs,
            None if all(y is None for y in ys) else ys,
            None if all(w is None for w in ws) else _weights(ws),
            *times,
        )

    @property
    def schema(self) -> dict[Any, str]:
        if self.repeatable:
            return super().schema
        if self._rest is None:
            self._rest = self._read()
            self._peeked = next(self._rest, None)
        return {} if self._peeked is None else kinds_of(self._peeked.X)

    @property
    def n_samples(self) -> int | None:
        return len(self.given) if hasattr(self.given, "__len__") else None

    def __repr__(self) -> str:
        return f"Examples({getattr(self.given, '__name__', None) or type(self.given).__name__})"


def _named(by: Any, what: str) -> str:
    return what if callable(by) else str(by)


def _weights(given: list[Any]) -> list[float]:
    weights: list[float] = _frames.weights([1.0 if w is None else w for w in given]).tolist()
    return weights


def _taken(xs: list[Any], by: Any) -> list[Any]:
    return [by(x) if callable(by) else x.get(by) for x in xs]


def from_examples(
    source: Iterable[Any] | Callable[[], Iterable[Any]],
    *,
    time: Any = None,
    label_time: Any = None,
    rows: int = 1024,
) -> Examples:
    """A stream of examples `(x, y)` or `(x, y, w)` with dicts x, from any iterable.

    Parameters
    ----------
    source
        A list, a River data set, a generator (which can be read only once), or a function that returns an iterable
        and is called each time the stream is read.
    time, label_time
        Keys of x with the event time and the label time, which are then not features; or functions of x.
    rows
        Number of examples per chunk; 1 for a slow feed whose examples should not wait.

    Examples
    --------
    >>> from millstream import stream
    >>> def count():
    ...     for i in range(5):
    ...         yield {"i": float(i)}, i % 2 == 0
    >>> list(stream.from_examples(count).take(2))
    [({'i': 0.0}, True), ({'i': 1.0}, False)]
    >>> stream.from_examples(count()).repeat(2)
    Traceback (most recent call last):
    millstream.errors.InvalidValue: stream.repeat: Examples(count) can be read only once
    """
    return Examples(source, time, label_time, rows)
