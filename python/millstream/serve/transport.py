"""Requests of a client: persistent connections, and retries without repeated effects."""

from __future__ import annotations

import http.client
import json
import os
import random
import select
import ssl
import threading
import time
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from millstream._echo import quoted
from millstream.errors import InvalidValue, MillstreamError

__all__ = ["Response", "ServeError", "Transport"]

#: Statuses that allow a retry. After 502 and 504, it is unknown whether the server executed the request.
_NOT_ACCEPTED = (429, 503, 507)
_UNCLEAR = (502, 504)
#: Seconds before the second attempt, doubled for each further one, and the longest pause.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 5.0
#: Maximum pause that the server may request.
_LONGEST_REQUESTED_PAUSE = 60.0


class ServeError(MillstreamError):
    """A request that the server refused, or that did not reach it.

    Attributes
    ----------
    status
        The HTTP status, or None if there was no answer.
    type
        The stable type of the problem, such as `/problems/unknown-model`.
    detail
        What is wrong, in one line.
    problem
        All members of the problem. That of a label has the label's `fate`.
    """

    def __init__(
        self,
        detail: str,
        status: int | None = None,
        type: str = "about:blank",
        problem: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(f"serve: {detail}" if status is None else f"serve: {status}: {detail}")
        self.detail, self.status, self.type = detail, status, type
        self.problem: dict[str, Any] = problem or {}

    def __reduce__(self) -> tuple[Any, ...]:
        return ServeError, (self.detail, self.status, self.type, self.problem)


class Response(NamedTuple):
    """A successful answer. `attempts` is the number of times that the request was sent."""

    status: int
    body: bytes
    content_type: str
    attempts: int

    def json(self) -> Any:
        """The body as JSON."""
        try:
            return json.loads(self.body)
        except ValueError:
            raise ServeError(f"the answer is not JSON: {quoted(self.body)}", self.status) from None


class _Local(threading.local):
    """The connection of a thread."""

    connection: http.client.HTTPConnection | None = None
    process = 0


class Transport:
    """Sends requests to one server. Every thread has its own connection."""

    def __init__(self, url: str, token: str | None, timeout: float, retries: int) -> None:
        parts = urlsplit(url if "//" in url else f"http://{url}")
        try:
            port = parts.port
        except ValueError:
            port = -1
        if parts.scheme not in ("http", "https") or not parts.hostname or port == -1 or parts.query:
            raise InvalidValue(f"serve.Client: url must be like http://127.0.0.1:8000, got {quoted(url)}")
        if not timeout > 0:
            raise InvalidValue(f"serve.Client: timeout must be > 0 seconds, got {timeout!r}")
        if isinstance(retries, bool) or not isinstance(retries, int) or retries < 0:
            raise InvalidValue(f"serve.Client: retries must be an integer >= 0, got {retries!r}")
        if token is not None and not (token.isascii() and token.isprintable() and token.strip()):
            # The token is a secret and is not shown.
            raise InvalidValue("serve.Client: token must be a string of printable ASCII characters")
        self.url = f"{parts.scheme}://{parts.netloc}{parts.path}".rstrip("/")
        self.timeout, self.retries = timeout, retries
        self._host, self._port = parts.hostname, port
        self._prefix = parts.path.rstrip("/")
        self._context = ssl.create_default_context() if parts.scheme == "https" else None
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._local = _Local()

    def request(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        content_type: str = "application/json",
        *,
        repeatable: bool = True,
        headers: dict[str, str] | None = None,
        retries: int | None = None,
    ) -> Response:
        """Send a request, with retries after temporary failures.

        A request that is not `repeatable` is retried only if the server cannot have executed it.
        """
        sent = self._headers | (headers or {})
        if body is not None:
            sent["Content-Type"] = content_type
        most = self.retries if retries is None else retries
        for attempt in range(most + 1):
            is_last = attempt == most
            requested = None
            connected = False
            try:
                connection = self._connection()
                connected = True
                connection.request(method, self._prefix + path, body, sent)
                answer = connection.getresponse()
                data = answer.read()
            except (OSError, http.client.HTTPException) as error:
                self.close()
                if is_last or (connected and not repeatable):
                    raise self._unanswered(error, attempt + 1) from error
            else:
                if answer.status < 300:
                    return Response(answer.status, data, answer.getheader("Content-Type", ""), attempt + 1)
                again = answer.status in _NOT_ACCEPTED or (answer.status in _UNCLEAR and repeatable)
                if is_last or not again:
                    raise _refused(answer.status, data)
                requested = _seconds(answer.getheader("Retry-After"))
            time.sleep(_pause(attempt, requested))
        raise AssertionError("unreachable")

    def close(self) -> None:
        """Close the connection of this thread."""
        connection = self._local.connection
        self._local.connection = None
        if connection is not None:
            connection.close()

    def _connection(self) -> http.client.HTTPConnection:
        """An open connection. One that the server closed in the meantime is replaced before anything is sent."""
        known = self._local.connection
        if known is not None and self._local.process == os.getpid() and known.sock is not None:
            if not _has_input(known.sock):
                return known
            known.close()
        if self._context is None:
            made = http.client.HTTPConnection(self._host, self._port, timeout=self.timeout)
        else:
            made = http.client.HTTPSConnection(self._host, self._port, timeout=self.timeout, context=self._context)
        made.connect()
        self._local.connection, self._local.process = made, os.getpid()
        return made

    def _unanswered(self, error: Exception, attempts: int) -> ServeError:
        what = "timed out" if isinstance(error, TimeoutError) else str(error) or type(error).__name__
        times = "" if attempts == 1 else f" after {attempts} attempts"
        return ServeError(f"no answer from {self.url}{times}: {what}", None, "/problems/no-answer")


def _has_input(sock: Any) -> bool:
    """Whether the socket is readable between two requests: the connection was closed, or sent unexpected data."""
    if hasattr(select, "poll"):
        poll = select.poll()
        poll.register(sock, select.POLLIN)
        return bool(poll.poll(0))
    return bool(select.select([sock], [], [], 0)[0])


def _refused(status: int, body: bytes) -> ServeError:
    try:
        problem = json.loads(body)
    except ValueError:
        problem = None
    if not isinstance(problem, dict):
        # Not from millstream: a proxy replied with text or HTML.
        line = body[:200].decode("utf-8", "replace").strip().partition("\n")[0]
        return ServeError(line or http.client.responses.get(status, "no explanation"), status)
    return ServeError(str(problem.get("detail", "")), status, str(problem.get("type", "about:blank")), problem)


def _seconds(retry_after: str | None) -> float | None:
    """The pause that the server requests: a number of seconds or a date."""
    if retry_after is None:
        return None
    try:
        wanted = float(retry_after)
    except ValueError:
        try:
            wanted = parsedate_to_datetime(retry_after).timestamp() - time.time()
        except ValueError:
            return None
    return min(max(wanted, 0.0), _LONGEST_REQUESTED_PAUSE) if wanted == wanted else None


def _pause(attempt: int, requested: float | None) -> float:
    """Exponential with jitter, so that clients do not all retry at once; at least the pause that the server
    requests."""
    longest = min(_FIRST_PAUSE * 2**attempt, _LONGEST_PAUSE)
    return (requested or 0.0) + random.uniform(longest / 2, longest)
