"""Addresses of sockets: `host:port` or `unix:path`."""

from __future__ import annotations

import socket
import stat
from contextlib import suppress
from pathlib import Path

from millstream._echo import quoted
from millstream.errors import InvalidValue, Unreadable

__all__ = ["Address"]


class Address:
    """Where a socket listens."""

    def __init__(self, given: str) -> None:
        self.path: str | None = None
        self.host, self.port = "", 0
        if not isinstance(given, str):
            raise InvalidValue(f"stream: an address must be 'host:port' or 'unix:path', got {quoted(given)}")
        text = given.removeprefix("tcp://")
        if text.startswith("unix:"):
            self.path = text.removeprefix("unix:")
            if self.path.startswith("//"):
                self.path = self.path[2:]
            if not self.path or len(self.path.encode()) > 100:
                raise InvalidValue(
                    f"stream: the path of a socket must have 1 to 100 bytes, got {quoted(self.path)}"
                )
            return
        host, _, port = text.rpartition(":")
        if not host or not port.isdigit() or int(port) > 65535:
            raise InvalidValue(f"stream: an address must be 'host:port' or 'unix:path', got {quoted(given)}")
        self.host, self.port = host.strip("[]"), int(port)

    def __str__(self) -> str:
        return f"unix:{self.path}" if self.path is not None else f"{self.host}:{self.port}"

    def listen(self) -> socket.socket:
        """A listening socket."""
        try:
            if self.path is not None:
                self._remove_leftover()
                listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                listening.bind(self.path)
                listening.listen()
                return listening
            family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
            listening = socket.create_server((self.host, self.port), family=family)
            self.port = listening.getsockname()[1]
            return listening
        except OSError as error:
            raise Unreadable(f"stream: cannot listen on {self}: {error.strerror or error}") from None

    def connect(self, timeout: float) -> socket.socket:
        """A connected socket; OSError if nobody listens."""
        if self.path is not None:
            connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            connected.settimeout(timeout)
            try:
                connected.connect(self.path)
            except OSError:
                connected.close()
                raise
            return connected
        connected = socket.create_connection((self.host, self.port), timeout)
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connected

    def _remove_leftover(self) -> None:
        """Remove the socket of a process that was killed; a live one answers."""
        assert self.path is not None, "only for Unix sockets"
        place = Path(self.path)
        try:
            if not stat.S_ISSOCK(place.lstat().st_mode):
                raise Unreadable(f"stream: cannot listen on {self}: there is a file that is not a socket")
        except FileNotFoundError:
            return
        probe = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with probe, suppress(ConnectionRefusedError, FileNotFoundError):
            probe.connect(self.path)
            raise Unreadable(f"stream: cannot listen on {self}: address already in use")
        place.unlink(missing_ok=True)

    def remove(self) -> None:
        """Remove the name of a Unix socket."""
        if self.path is not None:
            Path(self.path).unlink(missing_ok=True)
