"""A client over raw sockets and servers to test it with."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from millstream._core import HttpRequest, HttpServer

PLAIN = b"content-type: text/plain\r\n"
GET = b"GET /echo HTTP/1.1\r\nHost: h\r\n\r\n"

Handler = Callable[[HttpRequest], tuple[int, bytes, bytes] | None]


def echo(request: HttpRequest) -> tuple[int, bytes, bytes]:
    line = f"{request.method} {request.path}?{request.query} ".encode()
    return 200, PLAIN, line + request.body


@contextmanager
def serving(handler: Handler = echo, **settings: Any) -> Iterator[HttpServer]:
    """A server, with a thread that answers what `handler` does not return None for."""
    server = HttpServer("127.0.0.1", 0, **settings)

    def handle_group() -> None:
        replies = []
        for request in server.take(256, 0.05):
            reply = handler(request)
            if reply is not None:
                replies.append((request.ticket, *reply))
        server.answer(replies)

    def handle() -> None:
        while not server.closed:
            handle_group()

    thread = threading.Thread(target=handle)
    thread.start()
    try:
        yield server
    finally:
        server.close()
        thread.join()


@contextmanager
def without_handler(**settings: Any) -> Iterator[HttpServer]:
    server = HttpServer("127.0.0.1", 0, **settings)
    try:
        yield server
    finally:
        server.close()


@dataclass
class Reply:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def problem(self) -> str:
        assert self.headers["content-type"] == "application/problem+json"
        problem = json.loads(self.body)
        assert set(problem) == {"type", "title", "status", "detail"}
        assert problem["status"] == self.status
        kind: str = problem["type"]
        return kind.removeprefix("/problems/")


class Client:
    """A connection that sends bytes as they are."""

    def __init__(self, server: HttpServer, receive_buffer: int = 0) -> None:
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(10)
        self.socket.connect(("127.0.0.1", server.port))
        self.received = b""

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def more(self) -> bool:
        try:
            data = self.socket.recv(1 << 16)
        except ConnectionError:
            return False
        self.received += data
        return bool(data)

    def until(self, mark: bytes) -> bytes:
        while mark not in self.received:
            assert self.more(), f"closed before {mark!r}: {self.received!r}"
        found, _, self.received = self.received.partition(mark)
        return found

    def reply(self, has_body: bool = True) -> Reply:
        lines = self.until(b"\r\n\r\n").decode().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines[1:])
        assert len(headers) == len(lines) - 1
        length = int(headers.get("content-length", 0)) if has_body else 0
        while len(self.received) < length:
            assert self.more(), "closed within the body"
        body, self.received = self.received[:length], self.received[length:]
        version, status, *_ = lines[0].split(" ")
        assert version == "HTTP/1.1"
        return Reply(int(status), headers, body)

    def rest(self) -> bytes:
        """What comes until the server closes."""
        while self.more():
            pass
        return self.received

    def refused(self) -> Reply:
        """The last reply on this connection."""
        reply = self.reply()
        assert reply.headers["connection"] == "close"
        assert self.rest() == b""
        return reply


def wait_for(condition: Callable[[], bool], timeout: float = 5.0) -> None:
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come true"
        time.sleep(0.005)
