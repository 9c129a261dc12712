"""Messages of programs that know nothing of millstream: a plain Arrow IPC stream, or JSON lines.

Such a connection has no offsets and no confirmations. Its messages are counted from 0.
"""

from __future__ import annotations

import struct

from millstream.errors import InvalidValue
from millstream.stream.ipc_sizes import END, body_length
from millstream.stream.messages import Limits, Message

__all__ = ["LineMessages", "RecordMessages"]

_SCHEMA, _DICTIONARY, _RECORDS = 1, 2, 3


class RecordMessages:
    """Cuts an Arrow IPC stream into messages: each record batch with the schema before it.

    A damaged stream cannot be continued after the damage: what follows is one refused message.
    """

    def __init__(self, partition: str, limits: Limits) -> None:
        self.partition, self.limits = partition, limits
        self._buffer = bytearray()
        self._count = 0
        self._before = b""
        self._broken = False

    def feed(self, piece: bytes) -> list[Message]:
        """The messages that are complete."""
        if self._broken:
            return []
        self._buffer += piece
        found: list[Message] = []
        try:
            while (part := self._next()) is not None:
                kind, data = part
                if kind in (_SCHEMA, _DICTIONARY):
                    # Dictionaries belong to the batches after them.
                    self._before = data if kind == _SCHEMA else self._before + data
                    if len(self._before) > self.limits.message_bytes:
                        raise InvalidValue("dictionaries larger than max_message_bytes")
                elif kind == _RECORDS:
                    found.append(self._message(self._before + data + END))
        except (InvalidValue, ValueError, struct.error) as error:
            self._broken = True
            self._buffer.clear()
            found.append(self._message(None, f"the connection is no Arrow IPC stream from here on: {error}"))
        return found

    def _message(self, data: bytes | None, fault: str | None = None) -> Message:
        self._count += 1
        return Message(self.partition, self._count - 1, data, None, fault, repeatable=False)

    def _next(self) -> tuple[int, bytes] | None:
        """The next part of the stream, if it is complete."""
        if len(self._buffer) < 8:
            return None
        mark, length = struct.unpack_from("<Ii", self._buffer)
        if mark != 0xFFFFFFFF or length < 0:
            raise InvalidValue("no continuation mark")
        if length == 0:
            del self._buffer[:8]
            return 0, b""
        if length > self.limits.message_bytes:
            raise InvalidValue("a header larger than max_message_bytes")
        if len(self._buffer) < 8 + length:
            return None
        kind, size = body_length(bytes(self._buffer[8 : 8 + length]))
        if size > self.limits.message_bytes:
            raise InvalidValue(f"{size:,} bytes, more than max_message_bytes={self.limits.message_bytes:,}")
        end = 8 + length + size
        if len(self._buffer) < end:
            return None
        part = bytes(self._buffer[:end])
        del self._buffer[:end]
        return kind, part

    def finish(self) -> list[Message]:
        """What is left at the end of the connection."""
        if not self._buffer or self._broken:
            return []
        return [self._message(None, "truncated: the connection ended within a message")]


class LineMessages:
    """Cuts JSON lines into messages of a bounded number of bytes."""

    def __init__(self, partition: str, limits: Limits) -> None:
        self.partition, self.limits = partition, limits
        self._rest = bytearray()
        self._count = 0
        self._skipping = False

    def feed(self, piece: bytes) -> list[Message]:
        """The messages of complete lines."""
        self._rest += piece
        found: list[Message] = []
        end = self._rest.rfind(b"\n") + 1
        if end:
            lines = bytes(self._rest[:end])
            del self._rest[:end]
            if self._skipping:
                self._skipping = False
                lines = lines[lines.find(b"\n") + 1 :]
            if lines.strip():
                found.append(self._message(lines))
        elif len(self._rest) > self.limits.message_bytes:
            self._rest.clear()
            if not self._skipping:
                limit = self.limits.message_bytes
                found.append(self._message(None, f"a line of more than max_message_bytes={limit:,}"))
            self._skipping = True
        return found

    def _message(self, data: bytes | None, fault: str | None = None) -> Message:
        self._count += 1
        return Message(self.partition, self._count - 1, data, None, fault, repeatable=False)

    def finish(self) -> list[Message]:
        """The last line, if it has no end."""
        if self._skipping or not self._rest.strip():
            return []
        return [self._message(bytes(self._rest))]
