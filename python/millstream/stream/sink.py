"""Sinks of messages: where `stream.process` writes its output."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pyarrow as arrow

from millstream._echo import quoted
from millstream.errors import InvalidType, InvalidValue
from millstream.stream.message_source import Reader
from millstream.stream.messages import FORMATS, Offset, Origin, encode

__all__ = ["FunctionSink", "Sink", "as_sink"]


class Sink:
    """Writes tables as messages, each with its origin (source, partition, offset).

    To write a sink, subclass it and define `send`. `stream.process` calls `flush` before each checkpoint, so that
    nothing is lost. After a restart it writes only what follows the offsets that `written` returns; a sink that
    stores them together with its messages therefore gets each message exactly once. Readers of other sinks drop
    repeats by the origin.

    Parameters
    ----------
    format
        `"arrow"`, or `"json"`: one object per row, with the members `source`, `partition` and `offset`.
    writer
        The name of a program that writes tables of its own with `write(table)`. They are numbered from 0 in the
        order of the calls, and the name and the number are their origin. After a restart of the program,
        `next_offset` is the number of the next table.
    """

    def __init__(self, *, format: str = "arrow", writer: str | None = None) -> None:  # noqa: A002
        if format not in FORMATS:
            raise InvalidValue(f"stream: format must be one of {', '.join(FORMATS)}, got {quoted(format)}")
        self.format, self.writer = format, writer
        self._next: int | None = None

    @property
    def next_offset(self) -> int:
        """The number of the next table that the writer writes."""
        if self._next is None:
            last = self.written(self.writer, ["0"], None).get("0", -1) if self.writer is not None else -1
            self._next = int(last) + 1
        return self._next

    def write(self, table: Any, origin: Origin | None = None) -> None:
        """Write a table, or a record batch. It may stay in a bounded buffer until `flush`."""
        if not isinstance(table, (arrow.Table, arrow.RecordBatch)):
            raise InvalidType(f"stream: a sink writes Arrow tables, got {type(table).__name__}")
        if origin is None and self.writer is not None:
            number = self.next_offset
            origin = Origin(self.writer, "0", number)
            self._next = number + 1
        self.send(encode(table, origin, self.format), origin)

    def send(self, data: bytes, origin: Origin | None) -> None:
        """Write a message."""
        raise NotImplementedError(f"{type(self).__name__} must define send()")

    def written(self, source: str | None, partitions: Iterable[str], reader: Reader | None) -> dict[str, Offset]:
        """The offsets of the last messages of each partition of a source that the sink has; {} if unknown."""
        return {}

    def push(self, offsets: Mapping[str, Offset]) -> None:
        """Pass on what is in the buffer; all messages up to `offsets` were processed."""

    def flush(self, offsets: Mapping[str, Offset]) -> None:
        """Pass on what is in the buffer, and wait until it is stored."""
        self.push(offsets)

    def abandon(self) -> None:
        """Forget what is in the buffer: another process has taken over the partitions."""

    def close(self) -> None:
        """Pass on what is in the buffer, and close the connection."""

    def __enter__(self) -> Sink:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class FunctionSink(Sink):
    """A function that receives each table and its origin."""

    def __init__(self, function: Callable[[Any, Origin | None], Any]) -> None:
        super().__init__()
        self.function = function

    def write(self, table: Any, origin: Origin | None = None) -> None:
        self.function(table, origin)


def as_sink(what: str, given: Any) -> Sink | None:
    """A sink; None for none."""
    if given is None or isinstance(given, Sink):
        return given
    if callable(given):
        return FunctionSink(given)
    raise InvalidType(f"stream.process: {what} must be a sink or a function, got {type(given).__name__}")
