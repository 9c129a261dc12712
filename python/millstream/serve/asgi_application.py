"""The server as an ASGI application, to be mounted in another application.

The native HTTP server is faster and stricter. ASGI servers do not limit the time to receive headers and bodies, so
use a reverse proxy such as nginx.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from millstream._echo import typed
from millstream.errors import InvalidType, InvalidValue
from millstream.serve.asgi_request import AsgiRequest, AsgiSink, Message, Receive, Send, read_body
from millstream.serve.requests import Problem, Reply
from millstream.serve.server import SECURITY_HEADERS, Server

__all__ = ["Application", "asgi"]

#: Seconds after which an unfinished request makes the server unhealthy.
_STALL = 10.0


def asgi(server: Server | Callable[[], Server]) -> Application:
    """An ASGI application that serves the models of a server.

    Requests need a token, because the application does not know on which address it is reachable. Pass
    `require_token=False` to the `Server` if a proxy authenticates requests. Of the HTTP settings, only
    `max_body_bytes`, `max_queue` and `request_timeout` apply.

    Parameters
    ----------
    server
        A `Server` that has not been started, or a function that returns one when the application starts. A
        function is needed if several processes import the module, because only one of them can open the data
        folder.

    Examples
    --------
    A module `app.py`, run by `uvicorn app:app`::

        from millstream import linear_model, serve

        app = serve.asgi(
            lambda: serve.Server(linear_model.LogisticRegression(), data="./data", require_token=False)
        )
    """
    if not isinstance(server, Server) and not callable(server):
        raise InvalidType(
            f"serve.asgi: server must be a Server or a function that returns it, got {typed(server)}"
        )
    return Application(server)


class Application:
    """The ASGI application. The engine starts at the lifespan event or at the first request."""

    def __init__(self, server: Server | Callable[[], Server]) -> None:
        self._given = server
        self._server: Server | None = None
        self._starting = asyncio.Lock()
        self._ended = False
        # One thread, as in the native server: the handler is not thread-safe.
        self._handler = ThreadPoolExecutor(1, "millstream-handler")
        self._waiting: dict[object, float] = {}

    @property
    def server(self) -> Server | None:
        """The server, once it is started."""
        return self._server

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1003})
        else:
            raise ValueError(f"unknown scope {scope['type']!r}")

    # ------------------------------------------------------------------------------------------- start and stop

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                try:
                    await self.start()
                except Exception as error:
                    await send({"type": "lifespan.startup.failed", "message": str(error)})
                    return
                await send({"type": "lifespan.startup.complete"})
            elif message["type"] == "lifespan.shutdown":
                await self.stop()
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def start(self) -> Server:
        """Start the engine if it is not running."""
        if self._server is not None:
            return self._server
        async with self._starting:
            if self._server is None:
                if self._ended:
                    raise InvalidValue("serve.asgi: the application was stopped")
                self._server = await asyncio.get_running_loop().run_in_executor(self._handler, self._started)
        return self._server

    def _started(self) -> Server:
        server = self._given if isinstance(self._given, Server) else self._given()
        if server.require_token is None:
            server.tokens.required = True
        if server.tokens.required and not len(server.tokens):
            server.stop()
            raise InvalidValue(
                "serve.asgi: the folder has no tokens: create one with `millstream serve --create-token "
                "NAME --data FOLDER`, or pass require_token=False if a proxy authenticates requests"
            )
        return server.start(listen=False)

    async def stop(self) -> None:
        """Commit the proposed records, write a snapshot, and stop."""
        self._ended = True
        server, self._server = self._server, None
        if server is not None:
            await asyncio.get_running_loop().run_in_executor(None, server.stop)
        self._handler.shutdown(wait=False)

    # ------------------------------------------------------------------------------------------------- requests

    async def _http(self, scope: Message, receive: Receive, send: Send) -> None:
        try:
            server = await self.start()
            if (stalled := self._stalled(scope)) is not None:
                await _send_reply(send, stalled)
                return
            body = await read_body(scope, receive, int(server.settings.get("max_body_bytes", 16 << 20)))
        except Problem as problem:
            await _send_reply(send, problem.reply())
            return
        if body is None:
            return
        loop = asyncio.get_running_loop()
        replied: asyncio.Future[Reply | None] = loop.create_future()

        def respond(reply: Reply | None) -> None:
            # A stopping server may have closed the loop.
            if not loop.is_closed():
                loop.call_soon_threadsafe(_settle, replied, reply)

        sink = AsgiSink(loop, SECURITY_HEADERS, lambda: respond(None))
        reply = await self._handled(server, AsgiRequest(scope, body, sink), respond, replied)
        if reply is None:
            await sink.run(receive, send)
        else:
            sink.is_gone = True
            await _send_reply(send, reply)

    async def _handled(
        self,
        server: Server,
        request: AsgiRequest,
        respond: Callable[[Reply | None], None],
        replied: asyncio.Future[Reply | None],
    ) -> Reply | None:
        """The reply of the handler, a problem if it times out, or None for a stream."""
        if len(self._waiting) >= int(server.settings.get("max_queue", 4096)):
            return Problem(503, "queue-full", "the server has too many requests waiting").reply()
        ticket = object()
        self._waiting[ticket] = time.monotonic()
        try:
            self._handler.submit(server.handler.handle, request, respond)
            seconds = float(server.settings.get("request_timeout", 60.0))
            return await asyncio.wait_for(replied, seconds)
        except TimeoutError:
            return Problem(504, "no-answer", "the request was not answered in time").reply()
        except RuntimeError:
            return Problem(503, "stopping", "the server is stopping").reply()
        finally:
            del self._waiting[ticket]

    def _stalled(self, scope: Message) -> Reply | None:
        """The reply to a health check while the handler hangs; the handler would not reply to it either."""
        if not scope["path"].endswith("/healthz") or not self._waiting:
            return None
        seconds = time.monotonic() - min(self._waiting.values())
        if seconds < _STALL:
            return None
        return Problem(503, "handler-stalled", f"a request has waited for {seconds:.0f} seconds").reply()


def _settle(replied: asyncio.Future[Reply | None], reply: Reply | None) -> None:
    if not replied.done():
        replied.set_result(reply)


async def _send_reply(send: Send, reply: Reply) -> None:
    headers: list[tuple[str, Any]] = [
        ("content-type", reply.content_type),
        ("content-length", str(len(reply.body))),
        *reply.headers,
        *SECURITY_HEADERS,
    ]
    encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    await send({"type": "http.response.start", "status": reply.status, "headers": encoded})
    await send({"type": "http.response.body", "body": reply.body, "more_body": False})
