"""The frames of a connection between a writer and a source, and the receiving end of a connection.

    writer → source   "MILLSTR1", then for each message: length of header (4 bytes), length of body (8 bytes),
                      header (JSON: partition, offset, time), body (the message)
    source → writer   length (4 bytes) and JSON: for each partition, the offset of the last message that the source
                      has received (first) or stored (later)

Lengths are unsigned and little-endian.
"""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import uuid
from collections.abc import Iterator, Mapping

from millstream.errors import InvalidValue
from millstream.stream.messages import Limits, Message, Offset, order
from millstream.stream.plain_socket import LineMessages, RecordMessages

__all__ = ["HEAD", "LENGTH", "LONGEST_HEADER", "MAGIC", "PIECE", "Connection"]

MAGIC = b"MILLSTR1"
HEAD = struct.Struct("<IQ")
LENGTH = struct.Struct("<I")

#: The longest header of a frame, in bytes.
LONGEST_HEADER = 1 << 20

#: Bytes read at once.
PIECE = 1 << 20


class Connection:
    """One connection: detects what it carries, and cuts it into messages."""

    def __init__(self, accepted: socket.socket, limits: Limits, received: Mapping[str, Offset]) -> None:
        self.socket, self.limits, self.received = accepted, limits, received
        self.closed = False
        self._buffer = bytearray()
        self._framed = False
        self._plain: RecordMessages | LineMessages | None = None
        #: Bytes of a refused message that are still to come.
        self._skip = 0
        self._unsent = b""
        self._confirmed: dict[str, Offset] = {}

    def receive(self) -> list[Message]:
        """The messages that are complete."""
        try:
            piece = self.socket.recv(PIECE)
        except (BlockingIOError, InterruptedError):
            return []
        if not piece:
            return self.finish()
        if self._skip:
            skipped = min(self._skip, len(piece))
            self._skip -= skipped
            piece = piece[skipped:]
        if self._plain is not None:
            return self._plain.feed(piece)
        self._buffer += piece
        if not self._framed:
            if len(self._buffer) < len(MAGIC) and MAGIC.startswith(self._buffer):
                return []
            if not self._buffer.startswith(MAGIC):
                name = f"connection {uuid.uuid4().hex[:12]}"
                kind = RecordMessages if self._buffer.startswith(b"\xff") else LineMessages
                self._plain = kind(name, self.limits)
                return self._plain.feed(bytes(self._buffer))
            self._framed = True
            del self._buffer[: len(MAGIC)]
            self._send(self.received)
        return list(self._frames())

    def _frames(self) -> Iterator[Message]:
        place = 0
        limit = self.limits.message_bytes
        while len(self._buffer) - place >= HEAD.size:
            header_length, length = HEAD.unpack_from(self._buffer, place)
            if header_length > LONGEST_HEADER:
                self.closed = True
                raise InvalidValue("not a frame")
            start = place + HEAD.size
            body = start + header_length
            if len(self._buffer) < body:
                break
            try:
                header = json.loads(bytes(self._buffer[start:body]))
                partition, offset, time = str(header["partition"]), header["offset"], float(header["time"])
                order(offset)
            except (ValueError, KeyError, TypeError, AttributeError):
                self.closed = True
                raise InvalidValue("not a frame") from None
            if length > limit:
                # Refused by its header: its bytes are skipped as they come, and never held together.
                there = min(length, len(self._buffer) - body)
                self._skip = length - there
                place = body + there
                yield Message(
                    partition, offset, None, time, f"{length:,} bytes, more than max_message_bytes={limit:,}"
                )
                continue
            if len(self._buffer) < body + length:
                break
            yield Message(partition, offset, bytes(memoryview(self._buffer)[body : body + length]), time)
            place = body + length
        del self._buffer[:place]

    def finish(self) -> list[Message]:
        """The end of the connection: what a plain one has left."""
        self.closed = True
        return self._plain.finish() if self._plain is not None else []

    def confirm(self, offsets: Mapping[str, Offset]) -> None:
        """Tell the writer what is stored."""
        if self._framed and offsets != self._confirmed:
            self._send(offsets)
            self._confirmed = dict(offsets)

    def _send(self, offsets: Mapping[str, Offset]) -> None:
        data = json.dumps(dict(offsets)).encode()
        # A writer that does not read its confirmations gets only the last one that fits: they are cumulative.
        if len(self._unsent) < PIECE:
            self._unsent += LENGTH.pack(len(data)) + data
        with contextlib.suppress(BlockingIOError, ConnectionError, OSError):
            sent = self.socket.send(self._unsent)
            self._unsent = self._unsent[sent:]
