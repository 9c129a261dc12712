"""What a stream is: chunks of columns, again and again from its beginning.

A stream is a description, like a model: it opens its file, asks its data base or seeds its generator when it is
iterated, so one stream can be gone through many times, and pickled where its source can be. How it is cut into
chunks changes no result, only speed and memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from millstream.errors import InvalidValue
from millstream.stream.chunk import Chunk
from millstream.stream.operations import Operations

__all__ = ["ROWS", "Stream"]

#: How many rows a chunk has where nothing else decides. Enough that what happens once per chunk does not show,
#: few enough that a chunk of wide rows stays small.
ROWS = 1 << 14


class Stream(Operations):
    """Examples in order, as chunks of columns; the base of all readers, data sets and generators.

    A reader of your own is a subclass with `chunks()`. Iterating gives examples `(x, y)` with dicts x, as River's
    data sets do; `evaluate.prequential` and the models' `*_many` verbs take chunks, without a loop in Python.
    """

    #: The name of the target's column, if it has one.
    target: str | None = None
    #: The names of the columns of weights, event times and label times, which are no features.
    weight: str | None = None
    time: str | None = None
    label_time: str | None = None

    #: Whether `chunks()` begins anew each time; standard input and a generator can be read only once.
    repeatable: bool = True
    #: Whether it never ends by itself: a generator, a growing file.
    endless: bool = False
    #: Whether a thread may read it while the chunks before are learned. Not for what a person or another program
    #: is still writing, nor for what belongs to one thread.
    reads_ahead: bool = False

    def chunks(self) -> Iterator[Chunk]:
        """The examples from the beginning, in chunks."""
        raise NotImplementedError(f"{type(self).__name__} must say how to read its chunks: define chunks()")

    @property
    def n_samples(self) -> int | None:
        """How many examples there are, if that is known without reading them."""
        return None

    @property
    def schema(self) -> dict[Any, str]:
        """The features, each "number" or "nominal", as the first chunk shows them.

        It is empty for sparse rows, whose features are numbers by the thousand.
        """
        from millstream.stream.display import kinds_of

        if not self.repeatable:
            raise InvalidValue(f"{self!r} can be read only once, so its schema is not known before")
        chunk = next(iter(self.chunks()), None)
        return {} if chunk is None else kinds_of(chunk.X)

    @property
    def has_label_time(self) -> bool:
        """Whether each example says when it happened and when its label came."""
        return self.time is not None and self.label_time is not None

    def __iter__(self) -> Iterator[tuple[dict[Any, Any], Any]]:
        for chunk in self.chunks():
            yield from chunk.examples()

    def __repr__(self) -> str:
        names = {name: getattr(self, name) for name in ("target", "weight", "time", "label_time")}
        shown = ", ".join(f"{name}={value!r}" for name, value in names.items() if value is not None)
        return f"{type(self).__name__}({shown})"

    def _repr_html_(self) -> str:
        from millstream.stream.display import html_of

        return html_of(self)
