"""Requests and streams of the ASGI application, with the interface that the handler expects."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import quote

from millstream.serve.live import EVENT_STREAM
from millstream.serve.requests import Problem

__all__ = ["AsgiRequest", "AsgiSink", "Message", "Receive", "Send", "read_body"]

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class AsgiRequest:
    """A complete request."""

    def __init__(self, scope: Message, body: bytes, sink: AsgiSink) -> None:
        self.method: str = scope["method"]
        self.path = _path(scope)
        self.query: str = scope.get("query_string", b"").decode("latin-1")
        self.body = body
        self._headers = headers_of(scope)
        self._sink = sink

    def header(self, name: str) -> str | None:
        """The value of a header, by its name in lower case."""
        return self._headers.get(name)

    def sink(self) -> AsgiSink:
        """A stream for the live feed."""
        return self._sink


def headers_of(scope: Message) -> dict[str, str]:
    """The headers; the first value of repeated ones."""
    found: dict[str, str] = {}
    for name, value in scope.get("headers", ()):
        found.setdefault(name.decode("latin-1").lower(), value.decode("latin-1"))
    return found


def _path(scope: Message) -> str:
    """The path as sent, relative to the mount point of the application."""
    root = scope.get("root_path", "")
    raw = scope.get("raw_path")
    if raw is not None:
        path, prefix = raw.decode("latin-1").partition("?")[0], quote(root)
    else:
        path, prefix = quote(scope["path"], safe="/:@!$&'()*+,;=-._~"), quote(root)
    if prefix and path.startswith(prefix):
        path = path[len(prefix) :]
    return path or "/"


async def read_body(scope: Message, receive: Receive, most: int) -> bytes | None:
    """The body, of at most `most` bytes; None if the client disconnected."""
    headers = headers_of(scope)
    encoding = headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("", "identity"):
        raise Problem(415, "unsupported-encoding", f"content-encoding: {encoding[:50]!r} is not supported")
    declared = headers.get("content-length", "")
    if declared.isascii() and declared.isdigit() and (len(declared) > 18 or int(declared) > most):
        raise Problem(413, "body-too-large", f"body: at most {most} bytes")
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        part = message.get("body", b"")
        size += len(part)
        if size > most:
            raise Problem(413, "body-too-large", f"body: at most {most} bytes")
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts)


class AsgiSink:
    """A stream to one reader. Any thread can append data; the event loop sends it."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        headers: tuple[tuple[str, str], ...],
        opened: Callable[[], None],
    ) -> None:
        self._loop, self._headers, self._opened = loop, headers, opened
        self._waiting: deque[bytes] = deque()
        self._size = 0
        self._wake = asyncio.Event()
        self._ended = False
        self.is_gone = False

    def open(self) -> None:
        """Send the header of the reply."""
        self._opened()

    def push(self, data: bytes) -> int | None:
        """Append data. Returns the number of unsent bytes, or None if the reader has disconnected."""
        if self.is_gone:
            return None
        if data:
            self._waiting.append(data)
            self._size += len(data)
            self._signal()
        return self._size

    def end(self) -> None:
        """Close the stream after sending the remaining data."""
        self._ended = True
        self._signal()

    def _signal(self) -> None:
        # A stopping server may have closed the loop.
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._wake.set)

    async def run(self, receive: Receive, send: Send) -> None:
        """Send appended data until the stream ends or the reader disconnects."""
        headers = [(b"content-type", EVENT_STREAM.encode())]
        headers += [(name.encode("latin-1"), value.encode("latin-1")) for name, value in self._headers]
        gone = asyncio.ensure_future(_disconnected(receive))
        try:
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            while not gone.done():
                while self._waiting:
                    data = self._waiting.popleft()
                    await send({"type": "http.response.body", "body": data, "more_body": True})
                    self._size -= len(data)
                if self._ended:
                    break
                wake = asyncio.ensure_future(self._wake.wait())
                await asyncio.wait((wake, gone), return_when=asyncio.FIRST_COMPLETED)
                wake.cancel()
                self._wake.clear()
            if not gone.done():
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            self.is_gone = True
            gone.cancel()


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
