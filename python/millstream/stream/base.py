"""The base class of streams: chunks of columns, from the beginning in every pass.

A stream is a description, like a model: it opens its file, queries its database or seeds its generator when it is
iterated. One stream can therefore be read many times, and pickled if its source can be. The size of its chunks
changes no result, only speed and memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from millstream.errors import InvalidValue
from millstream.stream.chunk import Chunk
from millstream.stream.operations import Operations

__all__ = ["ROWS", "Stream"]

#: Default number of rows of a chunk. Large enough that the cost per chunk is negligible, small enough that a chunk
#: of wide rows stays small.
ROWS = 1 << 14


class Stream(Operations):
    """Examples in order, as chunks of columns; the base class of all readers, data sets and generators.

    To write a reader, subclass it and define `chunks()`. Iteration yields examples `(x, y)` with dicts x, like
    River's data sets; `evaluate.prequential` and the `*_many` methods of models take chunks, without a loop in
    Python.
    """

    #: Name of the target column, if there is one.
    target: str | None = None
    #: Names of the columns of weights, event times and label times, which are not features.
    weight: str | None = None
    time: str | None = None
    label_time: str | None = None

    #: Whether each call of `chunks()` restarts the stream; standard input and a generator can be read only once.
    repeatable: bool = True
    #: Whether it never ends: a generator, a growing file.
    endless: bool = False
    #: Whether a thread may read it while earlier chunks are learned. False for input that a person or program is
    #: still writing, and for sources that belong to one thread.
    reads_ahead: bool = False

    def chunks(self) -> Iterator[Chunk]:
        """The examples from the beginning, in chunks."""
        raise NotImplementedError(f"{type(self).__name__} must define chunks()")

    @property
    def n_samples(self) -> int | None:
        """Number of examples, if it is known without reading them."""
        return None

    @property
    def set_aside(self) -> Any:
        """Former name of `skipped`."""
        return getattr(self, "skipped", None)

    @property
    def schema(self) -> dict[Any, str]:
        """The kind of each feature, "number" or "nominal", as found in the first chunk.

        It is empty for sparse rows.
        """
        from millstream.stream.display import kinds_of

        if not self.repeatable:
            raise InvalidValue(f"{self!r} can be read only once, so its schema is not known in advance")
        chunk = next(iter(self.chunks()), None)
        return {} if chunk is None else kinds_of(chunk.X)

    @property
    def has_label_time(self) -> bool:
        """Whether each example has an event time and a label time."""
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
