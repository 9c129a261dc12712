"""Requests, replies and problems, independent of the protocol."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Protocol

from millstream._core import write_json
from millstream.errors import MillstreamError

__all__ = ["JSON", "Call", "Problem", "Reply", "Request"]

JSON = "application/json"

_RETRY = (("retry-after", "1"),)
#: Headers of a problem by its status.
_HEADERS: dict[int, tuple[tuple[str, str], ...]] = {
    401: (("www-authenticate", "Bearer"),),
    429: _RETRY,
    503: _RETRY,
    507: _RETRY,
}


class Request(Protocol):
    """A complete request from the HTTP server or the ASGI application."""

    @property
    def method(self) -> str: ...

    @property
    def path(self) -> str: ...

    @property
    def query(self) -> str: ...

    @property
    def body(self) -> bytes: ...

    def header(self, name: str) -> str | None: ...


class Reply:
    """A status, headers and a body."""

    __slots__ = ("body", "content_type", "headers", "status")

    def __init__(
        self,
        status: int,
        body: bytes = b"",
        content_type: str = JSON,
        headers: tuple[tuple[str, str], ...] = (),
    ) -> None:
        self.status, self.body, self.content_type, self.headers = status, body, content_type, headers

    @classmethod
    def json(cls, value: Any, status: int = 200, headers: tuple[tuple[str, str], ...] = ()) -> Reply:
        """A reply with a JSON body."""
        try:
            return cls(status, write_json(value), JSON, headers)
        except MillstreamError:
            # A lone surrogate, or a key that is not a string.
            text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
            return cls(status, text.encode("utf-8", "backslashreplace"), JSON, headers)


class Problem(Exception):
    """An error as problem+json (RFC 9457). `kind` is the stable last part of its type."""

    #: Further headers of the reply.
    headers: tuple[tuple[str, str], ...] = ()

    def __init__(self, status: int, kind: str, detail: str, **more: Any) -> None:
        super().__init__(detail)
        self.status, self.kind, self.detail, self.more = status, kind, detail, more

    def describe(self) -> dict[str, Any]:
        """The members of the problem."""
        title = self.kind.replace("-", " ").capitalize()
        return {
            "type": f"/problems/{self.kind}",
            "title": title,
            "status": self.status,
            "detail": self.detail,
            **self.more,
        }

    def reply(self) -> Reply:
        """The problem as a reply."""
        headers = _HEADERS.get(self.status, ()) + self.headers
        found = Reply.json(self.describe(), self.status, headers)
        found.content_type = "application/problem+json"
        return found


class Call:
    """One call of an operation: the request, the server, the path parameters, and the reply callback.

    An operation that returns None keeps `respond` and calls it later, in any thread.
    """

    __slots__ = ("request", "respond", "server", "span", "values")

    def __init__(
        self, server: Any, request: Request, respond: Callable[[Reply], None], values: dict[str, str]
    ) -> None:
        self.server, self.request, self.respond, self.values = server, request, respond, values
        #: The span of the request, if tracing is enabled.
        self.span: Any = None

    @property
    def trace(self) -> str | None:
        """The trace context of the request: that of its span, or the header `traceparent`."""
        own: str | None = None if self.span is None else self.span.traceparent
        return own or self.request.header("traceparent")

    def query(self) -> dict[str, str]:
        """The parameters of the query."""
        from urllib.parse import parse_qsl

        return dict(parse_qsl(self.request.query, keep_blank_values=True))

    @property
    def content_type(self) -> str:
        """The media type of the body, in lower case and without parameters."""
        return (self.request.header("content-type") or JSON).partition(";")[0].strip().lower()
