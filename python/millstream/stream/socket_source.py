"""Messages over TCP or a Unix socket: the source listens, and writers connect.

A connection of `write_socket` carries frames (`socket_frames.py`). The writer keeps messages until the source has
stored them, and sends those again that a restarted source lacks. Other programs may send a plain Arrow IPC stream,
or JSON lines: each record batch, or a block of lines, is a message. They get no confirmation, so that what is on
its way is lost if either side dies.
"""

from __future__ import annotations

import contextlib
import selectors
from collections import deque
from collections.abc import Mapping
from typing import Unpack

from millstream.errors import InvalidValue
from millstream.stream.counts import count
from millstream.stream.message_source import Assignments, MessageOptions, MessageSource, Reader
from millstream.stream.messages import Message, Offset, order
from millstream.stream.options import check_options
from millstream.stream.socket_address import Address
from millstream.stream.socket_frames import Connection

__all__ = ["SocketSource", "read_socket"]


class SocketSource(MessageSource):
    """A listening socket; created by `read_socket`."""

    maker = "stream.read_socket"
    repeatable = False

    def __init__(self, address: str, max_connections: int, target: str | None, options: MessageOptions) -> None:
        super().__init__(target=target, options=options)
        self.address = Address(address)
        self.max_connections = count("max_connections", max_connections, 1)
        self._given_address = str(self.address)

    @property
    def source(self) -> str:
        return f"socket:{self._given_address}"

    def reader(
        self,
        offsets: Mapping[str, Offset] | None = None,
        assignments: Assignments | None = None,
        resume: bool = False,
    ) -> SocketReader:
        if assignments is not None:
            raise InvalidValue("stream.process: by_partition needs partitions that are known: use Kafka")
        return SocketReader(self, offsets)


class SocketReader(Reader):
    """The listening socket and its connections."""

    def __init__(self, source: SocketSource, offsets: Mapping[str, Offset] | None) -> None:
        self.source = source
        #: What was received, by partition. Without a checkpoint, it is also what is confirmed.
        self.received: dict[str, Offset] = dict(offsets or {})
        self._confirms = offsets is None
        self._listening = source.address.listen()
        self._listening.setblocking(False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listening, selectors.EVENT_READ)
        self._connections: list[Connection] = []
        self._ready: deque[Message] = deque()

    def poll(self, seconds: float) -> Message | None:
        if not self._ready:
            if self._confirms:
                # The reader asks for more, so what it got is done.
                self.commit(self.received)
            for key, _ in self._selector.select(seconds):
                if key.fileobj is self._listening:
                    self._accept()
                else:
                    self._receive(key.data)
        return self._ready.popleft() if self._ready else None

    def _accept(self) -> None:
        with contextlib.suppress(BlockingIOError, ConnectionError):
            accepted, _ = self._listening.accept()
            if len(self._connections) >= self.source.max_connections:
                accepted.close()
                return
            accepted.setblocking(False)
            connection = Connection(accepted, self.source.limits, self.received)
            self._connections.append(connection)
            self._selector.register(accepted, selectors.EVENT_READ, connection)

    def _receive(self, connection: Connection) -> None:
        try:
            messages = connection.receive()
        except (OSError, InvalidValue):
            messages = connection.finish()
        for message in messages:
            last = self.received.get(message.partition)
            if message.repeatable:
                if last is not None and order(message.offset) <= order(last):
                    continue
                self.received[message.partition] = message.offset
            self._ready.append(message)
        if connection.closed:
            self._connections.remove(connection)
            self._selector.unregister(connection.socket)
            connection.socket.close()

    def commit(self, offsets: Mapping[str, Offset]) -> None:
        for connection in self._connections:
            connection.confirm(offsets)

    def lag(self) -> int | None:
        return len(self._ready)

    def close(self) -> None:
        for connection in self._connections:
            connection.socket.close()
        self._connections.clear()
        self._selector.close()
        self._listening.close()
        self.source.address.remove()


def read_socket(
    address: str,
    target: str | None = None,
    *,
    max_connections: int = 100,
    **options: Unpack[MessageOptions],
) -> SocketSource:
    """Listen on a TCP or Unix socket for messages: Arrow tables, or rows of JSON.

    Writers are `stream.write_socket`, or any program that sends an Arrow IPC stream or JSON lines. A source that
    is slower than its writers makes them wait.

    Parameters
    ----------
    address
        `"host:port"` or `"unix:path"`. There is no authentication: listen on the loopback address, or on a Unix
        socket in a folder with restricted permissions.
    target
        The column to predict.
    max_connections
        Largest number of connections; further ones are closed.
    **options
        Options of `stream.MessageSource`, such as `idle`, and of `stream.TableStream`, such as `drop`.

    Examples
    --------
    >>> import pathlib, tempfile, threading
    >>> import pyarrow
    >>> from millstream import stream
    >>> address = f"unix:{tempfile.mkdtemp()}/readings.sock"
    >>> def write():
    ...     with stream.write_socket(address, writer="plant") as readings:
    ...         readings.write(pyarrow.table({"load": [0.5, 0.25], "hot": [True, False]}))
    >>> writer = threading.Thread(target=write)
    >>> writer.start()
    >>> list(stream.read_socket(address, target="hot", idle=1))
    [({'load': 0.5}, True), ({'load': 0.25}, False)]
    >>> writer.join()
    """
    check_options(read_socket, {name: 0 for name in options if name not in MessageOptions.__annotations__})
    return SocketSource(address, max_connections, target, options)
