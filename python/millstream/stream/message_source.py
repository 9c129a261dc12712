"""The base class of sources of messages: sockets and brokers.

A source is read in two ways. As a stream (`chunks()`), each pass begins at `start` and leaves nothing behind, like
the reading of a file. In `stream.process`, reading begins at stored offsets and progress is committed.
"""

from __future__ import annotations

import copy
import time as clock
from collections.abc import Iterator, Mapping
from typing import Any, Protocol, Unpack

from millstream._echo import quoted
from millstream.errors import InvalidValue, MillstreamError
from millstream.stream import kinds
from millstream.stream.chunk import Chunk
from millstream.stream.counts import count
from millstream.stream.messages import Decoded, Limits, Message, Offset, Origin, decode
from millstream.stream.options import TableOptions
from millstream.stream.table import Piece, TableStream, _Reading

__all__ = ["Assignments", "Conversion", "MessageOptions", "MessageSource", "Reader", "Silence"]

#: Longest wait for a message, in seconds, so that a request to stop is seen soon.
WAIT = 0.1


class MessageOptions(TableOptions, total=False):
    """Options of every source of messages; see `stream.MessageSource`."""

    idle: float | None
    schema: str
    max_message_bytes: int
    max_table_bytes: int
    max_rows: int


class Assignments(Protocol):
    """What a reader tells its user when partitions are assigned to it or taken away."""

    def assigned(self, partitions: list[str]) -> Mapping[str, Offset]:
        """Take over partitions; returns the offsets of the last messages that were processed."""

    def revoked(self, partitions: list[str]) -> None:
        """Finish and hand over partitions."""

    def lost(self, partitions: list[str]) -> None:
        """Forget partitions that another reader has taken over already."""


class Reader:
    """A connection that delivers messages in the order of each partition."""

    #: Messages that were deleted before they were read.
    missing = 0

    def poll(self, seconds: float) -> Message | None:
        """The next message, or None after a wait of `seconds`."""
        raise NotImplementedError

    def commit(self, offsets: Mapping[str, Offset]) -> None:
        """State that messages up to these offsets were processed, and their effects stored."""

    def lag(self) -> int | None:
        """Number of messages that wait in the source; None if that is unknown."""
        return None

    def close(self) -> None:
        """Close the connection."""

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class MessageSource(TableStream):
    """A stream of messages, each an Arrow table or rows of JSON; the base class of sockets and brokers.

    A message is accepted or refused as a whole. Refused are messages that are damaged, truncated or too large, and
    those whose columns differ from those of the first message.

    Parameters
    ----------
    idle
        Number of seconds without a message after which the stream ends; None for never.
    schema
        `"same"`: all messages must have the columns of the first, of the same kinds; JSON may omit some. `"any"`:
        columns may come and go.
    max_message_bytes
        Largest message, as received.
    max_table_bytes
        Largest message after decompression; the size is known before anything is decompressed.
    max_rows
        Largest number of rows of a message.
    on_error
        `"skip"`: a bad message is set aside and counted in `skipped`, and the stream goes on. `"raise"`: it ends
        the stream with an error.
    **options
        `target`, `weight`, `time`, `label_time`, `drop`, `types`, as for `stream.TableStream`.
    """

    later_columns = True
    must_have_rows = False
    #: Whether `stream.process` may divide the partitions of this source among several processes.
    rebalances = False

    def __init__(self, *, target: str | None, options: MessageOptions) -> None:
        given: dict[str, Any] = {"on_error": "skip", **options}
        self.idle = given.pop("idle", None)
        self.same_schema = given.pop("schema", "same")
        limits = Limits()
        self.limits = Limits(
            count("max_message_bytes", given.pop("max_message_bytes", limits.message_bytes), 1),
            count("max_table_bytes", given.pop("max_table_bytes", limits.table_bytes), 1),
            count("max_rows", given.pop("max_rows", limits.rows), 1),
        )
        super().__init__(target=target, **given)
        if self.same_schema not in ("same", "any"):
            raise InvalidValue(f"stream: schema must be 'same' or 'any', got {quoted(self.same_schema)}")
        if self.idle is not None and not self.idle >= 0:
            raise InvalidValue(f"stream: idle must be at least 0 seconds, got {quoted(self.idle)}")
        self.endless = self.idle is None

    def reader(
        self,
        offsets: Mapping[str, Offset] | None = None,
        assignments: Assignments | None = None,
        resume: bool = False,
    ) -> Reader:
        """Connect, and read what follows the given offsets, by partition; elsewhere from `start`.

        With `offsets=None` nothing is committed. With `assignments`, the source decides which partitions to read.
        With `resume`, a consumer group continues where it has committed.
        """
        raise NotImplementedError

    def tables(self) -> Iterator[Piece]:
        conversion = Conversion(self)
        with self.reader() as reader:
            silence = Silence(self.idle)
            while True:
                before = clock.monotonic()
                message = reader.poll(WAIT)
                if message is None:
                    if silence.lasts(clock.monotonic() - before):
                        return
                    continue
                silence.end()
                origin = Origin(self.source, message.partition, message.offset)
                try:
                    table = conversion.table(message).table
                except InvalidValue as error:
                    if self.on_error == "raise":
                        raise InvalidValue(f"{origin}: {error}") from None
                    self.skipped.add(f"{origin}: {error}")
                    continue
                yield Piece(table, lambda row, where=message: _place(where, row))  # type: ignore[misc]


class Silence:
    """How long a source has been reachable without a message.

    A poll that takes much longer than it was asked to wait had to reconnect. A server that restarts for longer
    than `idle` must not end the stream, so this time does not count.
    """

    def __init__(self, idle: float | None) -> None:
        self._idle = idle
        self._seconds = 0.0

    def lasts(self, seconds: float) -> bool:
        """Count a poll that took `seconds` and found nothing; returns whether the stream has ended."""
        self._seconds += min(seconds, 2 * WAIT)
        return self._idle is not None and self._seconds > self._idle

    def end(self) -> None:
        """A message has arrived."""
        self._seconds = 0.0


def _place(message: Message, row: int) -> str:
    return f"partition {message.partition}, offset {message.offset}, row {row}"


class Conversion:
    """Messages to chunks, with the columns seen so far."""

    def __init__(self, source: MessageSource, columns: Mapping[str, str] | None = None) -> None:
        self.source = source
        #: The kind of each column, as found in the messages so far.
        self.columns = dict(columns or {})
        # A faulty row refuses its message.
        strict = copy.copy(source)
        strict.on_error = "raise"
        self._reading = _Reading(strict, source.skipped)
        self._reading.schema = {name: kind for name, kind in self.columns.items() if name not in source.types}

    def table(self, message: Message) -> Decoded:
        """The table of a message; InvalidValue if it is refused."""
        if message.fault is not None or message.data is None:
            raise InvalidValue(message.fault or "no data")
        decoded = decode(message.data, self.source.limits)
        found = {}
        for place, field in enumerate(decoded.table.schema):
            if field.name in found:
                raise InvalidValue(f"duplicate column {quoted(field.name)}")
            # A column of a type that no feature has is refused later, unless it is dropped.
            kind = kinds.kind_of(field.type) or "other"
            if decoded.table.column(place).null_count == decoded.table.num_rows:
                kind = kinds.UNKNOWN
            found[field.name] = kind
        self._check(found, decoded.is_json)
        for name, kind in found.items():
            if self.columns.get(name, kinds.UNKNOWN) == kinds.UNKNOWN:
                self.columns[name] = kind
        return decoded

    def _check(self, found: dict[str, str], is_json: bool) -> None:
        if not self.columns or self.source.same_schema == "any":
            return
        for name, kind in found.items():
            known = self.columns.get(name)
            if known is None:
                raise InvalidValue(f"changed schema: column {quoted(name)} is new")
            if kinds.UNKNOWN not in (kind, known) and kind != known and name not in self.source.types:
                raise InvalidValue(f"changed schema: column {quoted(name)} was {known} and is {kind}")
        for name in self.columns:
            if name not in found and not is_json:
                raise InvalidValue(f"changed schema: column {quoted(name)} is missing")

    def chunk(self, message: Message) -> tuple[Chunk | None, Decoded]:
        """The chunk of a message, None if it has no rows; InvalidValue if it is refused."""
        before = dict(self.columns)
        reading = self._reading
        held = dict(reading.schema), reading.target, reading.row, reading.begun
        try:
            decoded = self.table(message)
            # The rows of each message are counted from its beginning.
            reading.row = 0
            chunk, error = reading.chunk(Piece(decoded.table))
            if error is not None:
                raise InvalidValue(error)
        except MillstreamError as error:
            self.columns = before
            reading.schema, reading.target, reading.row, reading.begun = held
            raise InvalidValue(str(error).removeprefix(f"{self.source.source}, ")) from None
        return chunk, decoded


def message_options(**options: Unpack[MessageOptions]) -> MessageOptions:
    """The given options."""
    return options
