"""Messages written to a listening source, and kept until it has stored them."""

from __future__ import annotations

import json
import socket
import time as clock
from collections import deque
from collections.abc import Mapping
from typing import Any

from millstream._echo import quoted
from millstream.errors import InvalidType, InvalidValue, Unreadable
from millstream.stream.counts import count
from millstream.stream.message_source import Reader
from millstream.stream.messages import Offset, Origin, order
from millstream.stream.sink import Sink
from millstream.stream.socket_address import Address
from millstream.stream.socket_frames import HEAD, LENGTH, LONGEST_HEADER, MAGIC, PIECE

__all__ = ["SocketSink", "write_socket"]


class SocketSink(Sink):
    """A connection to a listening source; created by `write_socket`."""

    def __init__(self, address: str, writer: str | None, format: str, buffer_bytes: int, patience: float) -> None:  # noqa: A002
        super().__init__(format=format, writer=writer)
        self.address = Address(address)
        self.buffer_bytes = count("buffer_bytes", buffer_bytes, 1)
        self.patience = patience
        #: Seconds spent waiting for the source, because the buffer was full or the connection was lost.
        self.waited = 0.0
        self._unconfirmed: deque[tuple[str, Offset, bytes]] = deque()
        self._bytes = 0
        self._socket: socket.socket | None = None
        self._incoming = bytearray()
        self._stored: dict[str, Offset] = {}
        #: Number of messages at the end of `_unconfirmed` that the present connection has not been given yet.
        self._unsent = 0

    def send(self, data: bytes, origin: Origin | None) -> None:
        if origin is None:
            raise InvalidType("stream.write_socket: pass writer=, a name under which messages are numbered")
        partition = f"{origin.source}/{origin.partition}"
        header = {"partition": partition, "offset": origin.offset, "time": clock.time()}
        head = json.dumps(header).encode()
        frame = HEAD.pack(len(head), len(data)) + head + data
        self._unconfirmed.append((partition, origin.offset, frame))
        self._bytes += len(frame)
        self._unsent += 1
        self._deliver()
        begun = clock.monotonic()
        while self._bytes > self.buffer_bytes and len(self._unconfirmed) > 1:
            self._wait(begun)
            self._deliver()
        self.waited += clock.monotonic() - begun

    def written(self, source: str | None, partitions: Any, reader: Reader | None) -> dict[str, Offset]:
        begun = clock.monotonic()
        while self._socket is None:
            self._connect(begun)
        prefix = f"{source}/"
        return {
            name.removeprefix(prefix): offset for name, offset in self._stored.items() if name.startswith(prefix)
        }

    def flush(self, offsets: Mapping[str, Offset]) -> None:
        begun = clock.monotonic()
        while self._unconfirmed:
            self._deliver()
            self._wait(begun)
        self.waited += clock.monotonic() - begun

    def close(self) -> None:
        try:
            self.flush({})
        finally:
            if self._socket is not None:
                self._socket.close()
                self._socket = None

    def _deliver(self) -> None:
        """Send what was not sent, and send it again on a new connection if this one fails."""
        begun = clock.monotonic()
        while True:
            if self._socket is None:
                self._connect(begun)
                continue
            try:
                self._receive(0.0)
                while self._unsent:
                    self._send_one(self._unconfirmed[len(self._unconfirmed) - self._unsent][2])
                    self._unsent -= 1
                return
            except OSError:
                self._disconnect()

    def _send_one(self, frame: bytes) -> None:
        """Send a frame; meanwhile read confirmations, so that neither side waits for the other."""
        assert self._socket is not None, "connected"
        view = memoryview(frame)
        silent = clock.monotonic()
        while view:
            try:
                view = view[self._socket.send(view) :]
                silent = clock.monotonic()
            except (BlockingIOError, TimeoutError):
                self.waited += 0.01
                self._receive(0.01)
                if clock.monotonic() - silent > self.patience:
                    raise Unreadable(
                        f"stream.write_socket: {self.address} has read nothing for {self.patience:g} s"
                    ) from None

    def _connect(self, begun: float) -> None:
        """Connect, and learn what the source has; Unreadable after `patience` seconds."""
        try:
            self._socket = self.address.connect(timeout=5.0)
            self._socket.sendall(MAGIC)
            self._incoming.clear()
            while not self._receive(5.0):
                pass
            self._socket.settimeout(0.01)
            self._unsent = len(self._unconfirmed)
        except OSError as error:
            if isinstance(error, Unreadable):
                raise
            self._disconnect()
            if clock.monotonic() - begun > self.patience:
                raise Unreadable(
                    f"stream.write_socket: nobody listens on {self.address}: {error.strerror or error}"
                ) from None
            clock.sleep(0.05)

    def _disconnect(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _wait(self, begun: float) -> None:
        """Wait a moment for a confirmation."""
        if self._socket is None:
            self._connect(begun)
            return
        try:
            if self._receive(0.1):
                return
        except OSError:
            self._disconnect()

    def _receive(self, seconds: float) -> bool:
        """Read confirmations; returns whether there was one. OSError if the connection was closed."""
        assert self._socket is not None, "connected"
        self._socket.settimeout(seconds)
        try:
            piece = self._socket.recv(PIECE)
            if not piece:
                raise ConnectionResetError("the source closed the connection")
            self._incoming += piece
        except (TimeoutError, BlockingIOError):
            return False
        finally:
            self._socket.settimeout(0.01)
        found = False
        while len(self._incoming) >= LENGTH.size:
            (length,) = LENGTH.unpack_from(self._incoming)
            if length > LONGEST_HEADER * 64:
                raise ConnectionResetError("not a source of messages")
            if len(self._incoming) < LENGTH.size + length:
                break
            try:
                stored = json.loads(bytes(self._incoming[LENGTH.size : LENGTH.size + length]))
            except ValueError:
                raise ConnectionResetError("not a source of messages") from None
            del self._incoming[: LENGTH.size + length]
            self._stored = dict(stored)
            found = True
            self._drop_stored()
        return found

    def _drop_stored(self) -> None:
        kept: deque[tuple[str, Offset, bytes]] = deque()
        for partition, offset, frame in self._unconfirmed:
            last = self._stored.get(partition)
            if last is None or order(offset) > order(last):
                kept.append((partition, offset, frame))
        self._unconfirmed = kept
        self._bytes = sum(len(frame) for _, _, frame in kept)
        self._unsent = min(self._unsent, len(kept))


def write_socket(
    address: str,
    *,
    writer: str | None = None,
    format: str = "arrow",  # noqa: A002
    buffer_bytes: int = 256 << 20,
    patience: float = 60.0,
) -> SocketSink:
    """Write messages to a source that listens (`stream.read_socket`).

    Messages are kept until the source has stored them, and are sent again after a restart of the source.

    Parameters
    ----------
    address
        `"host:port"` or `"unix:path"`.
    writer
        The name under which `write(table)` numbers its messages; see `stream.Sink`. Not needed in
        `stream.process`.
    format
        `"arrow"` or `"json"`.
    buffer_bytes
        Largest size of messages that are not confirmed. When it is reached, `write` waits; `waited` is the number
        of seconds.
    patience
        Number of seconds to wait for a source that does not listen or does not read.
    """
    if not (isinstance(patience, (int, float)) and patience >= 0):
        raise InvalidValue(f"stream.write_socket: patience must be at least 0 seconds, got {quoted(patience)}")
    return SocketSink(address, writer, format, buffer_bytes, patience)
