"""`serve.Server`: models that learn while they serve."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Mapping
from functools import lru_cache, partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from millstream import _core, roles
from millstream.errors import InvalidValue
from millstream.serve.address import check_port, listening_error, missing_tokens
from millstream.serve.api import health
from millstream.serve.committer import QueueFull, Stopped
from millstream.serve.counters import Counters
from millstream.serve.engine import Engine
from millstream.serve.event_reader import EventReader
from millstream.serve.garbage import collect_rarely
from millstream.serve.handler import Handler
from millstream.serve.live import EVENT_STREAM, HttpSink, Live, Sink
from millstream.serve.origin import is_loopback
from millstream.serve.policy import LabelPolicy
from millstream.serve.proposal import Proposal
from millstream.serve.records import Kind
from millstream.serve.requests import JSON, Problem, Reply, Request
from millstream.serve.retention import Retention
from millstream.serve.shortcut import Shortcut
from millstream.serve.stream import Stream
from millstream.serve.tokens import Tokens

__all__ = ["SECURITY_HEADERS", "Server"]

#: Maximum number of requests that the handler takes at a time.
_TURN = 256
#: Sent with every reply: no content sniffing, no framing, no content from other origins.
SECURITY_HEADERS = (
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("x-frame-options", "DENY"),
    ("cache-control", "no-store"),
    ("content-security-policy", "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"),
)


class Server:
    """Serve models over HTTP, and learn from labels when they arrive.

    Every prediction is stored with its features. When its label arrives, the model learns from the stored features
    exactly once, even if the server was killed in between.

    Parameters
    ----------
    model
        A model, native or written in Python. Use `models` for several.
    data
        The data folder; created if it does not exist. A server that is restarted on the folder continues.
    name
        The name of `model` in the interface.
    models
        Several models by name.
    host, port
        The address. With port 0, the system chooses a port; see `port`.
    policy
        The `LabelPolicy` of new models, or its settings as a dict.
    metrics
        Names of the metrics of new models; the default depends on the role.
    retention
        A `Retention` that limits the log by age or size; by default, all records are kept.
    require_token
        Whether requests need a token; by default, only if the address is not a loopback address, or if the folder
        has tokens.
    salvage
        Open a damaged log without its damaged records, and without rollbacks whose state is lost.
    skip_records
        Numbers of records from which no model learns, for example a label on which a learner written in Python
        never returns. Labels in them are quarantined. The skip is recorded in the log.
    tracing
        Whether to create OpenTelemetry spans for predictions and labels: True, or a tracer provider.
    settings
        Settings of the HTTP server: `header_timeout`, `body_timeout`, `idle_timeout`, `write_timeout`,
        `request_timeout`, `max_header_bytes`, `max_body_bytes`, `max_connections`, `max_queue`, `threads`.

    Examples
    --------
    >>> import tempfile
    >>> from millstream import linear_model, serve
    >>> with tempfile.TemporaryDirectory() as data:
    ...     with serve.Server(linear_model.LogisticRegression(), data=data, port=0) as server:
    ...         client = serve.Client(server.url)
    ...         answer = client.predict("model", {"hour": 7})
    ...         fate = client.label("model", answer["id"], True)["fate"]
    >>> fate
    'learned'
    """

    def __init__(
        self,
        model: Any = None,
        *,
        data: str | os.PathLike[str],
        name: str = "model",
        models: Mapping[str, Any] | None = None,
        host: str = "127.0.0.1",
        port: int = 8000,
        policy: LabelPolicy | Mapping[str, Any] | None = None,
        metrics: Iterable[str] | None = None,
        retention: Retention | None = None,
        require_token: bool | None = None,
        salvage: bool = False,
        skip_records: Iterable[int] = (),
        tracing: Any = False,
        settings: Mapping[str, Any] | None = None,
        engine_settings: Mapping[str, Any] | None = None,
    ) -> None:
        #: Created before the folder is opened, because a package may be missing.
        self.tracing = _tracing(tracing)
        given = dict(models or {})
        if model is not None:
            given[name] = model
        self.host, self._port = host, check_port(port)
        self.engine = Engine(
            Path(data),
            given,
            policy=policy,
            metrics=metrics,
            retention=retention,
            salvage=salvage,
            skip_records=skip_records,
            **dict(engine_settings or {}),
        )
        #: As given: None leaves the choice to the protocol.
        self.require_token = require_token
        needed = not is_loopback(host) if require_token is None else require_token
        #: Without tokens, only requests for a loopback host are answered; an explicit choice is respected.
        self.checks_host = require_token is None
        self.tokens = Tokens(self.engine.folder.tokens, required=needed)
        self.tokens.listener = self._sync_access
        self.counters = Counters()
        self.handler = Handler(self, self.tokens)
        #: Reads events in the handler thread; the log thread has its own reader.
        self.reader = EventReader(self.engine.store.reader())
        self.live = Live(self)
        self.is_ready = False
        self.started = time.time()
        self.settings = dict(settings or {})
        self._http: _core.HttpServer | None = None
        self._shortcut: Shortcut | None = None
        self._outbox: deque[tuple[int, Reply]] = deque()
        self._ended = threading.Event()
        self._failure: BaseException | None = None
        self._thread: threading.Thread | None = None
        self._was_started = False
        self._stopping = threading.Lock()
        self._is_draining = False

    # ------------------------------------------------------------------------------------------- start and stop

    @property
    def port(self) -> int:
        """The port on which the server listens."""
        return self._port if self._http is None else self._http.port

    @property
    def http(self) -> _core.HttpServer | None:
        """The HTTP server, for its statistics; None if it has not been started."""
        return self._http

    @property
    def url(self) -> str:
        """The address for clients on this machine."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    def start(self, *, listen: bool = True) -> Self:
        """Start the server threads. Without `listen`, another protocol calls the handler."""
        if self._was_started:
            raise InvalidValue("serve: the server was started before; create a new one")
        self._was_started = True
        if self.tokens.required and not len(self.tokens):
            self.engine.stop()
            raise missing_tokens(self.host, self.require_token)
        committer = self.engine.committer
        committer.after_group = self._after_group
        committer.failed = self._failed
        committer.administered = self.sync_shortcuts
        try:
            if listen:
                self._http = self._listening()
                self._answer_health(self._http, natively=True)
            self.engine.start()
        except BaseException:
            if self._http is not None:
                self._http.close()
            self.engine.stop()
            raise
        if self._http is not None:
            self._take_shortcut(self._http)
        if listen:
            self._thread = threading.Thread(target=self._run, name="millstream-handler", daemon=True)
            self._thread.start()
        self.live.start()
        self.is_ready = True
        return self

    def _listening(self) -> _core.HttpServer:
        try:
            return _core.HttpServer(self.host, self._port, **self.settings)
        except OSError as error:
            raise listening_error(self.host, self._port, error) from None

    def _take_shortcut(self, http: _core.HttpServer) -> None:
        """Let the HTTP server answer for native models, and prepare and finish predictions of others; not with
        tracing, because only the handler creates spans."""
        if self.tracing is None:
            headers = header_block(JSON, ())
            self._shortcut = Shortcut(self.engine, self.tokens, headers, checks_host=self.checks_host)
            self.counters.native = self._shortcut.native.counts
            self.sync_shortcuts()
            http.set_shortcut(self._shortcut.native)

    def stop(self, timeout: float = 30.0) -> None:
        """Finish the requests in flight, commit the proposed records, write a snapshot, and stop."""
        with self._stopping:
            self._stop(timeout)

    def drain(self) -> None:
        """Stop in another thread; `serve_forever` returns when the server has stopped."""
        self.is_ready = False
        if not self._is_draining:
            self._is_draining = True
            threading.Thread(target=self.stop, name="millstream-drain", daemon=True).start()

    def _stop(self, timeout: float) -> None:
        if self._ended.is_set() or not self._was_started:
            self._ended.set()
            self.engine.stop()
            return
        self.is_ready = False
        self.live.stop()
        if self._http is not None:
            self._http.drain(timeout)
        self._ended.set()
        if self._thread is not None:
            self._thread.join(timeout)
        self.handler.close()
        self.engine.stop(timeout)
        self.flush()
        if self._http is not None:
            self._http.close()

    def serve_forever(self) -> int:
        """Serve until SIGINT or SIGTERM. Returns the exit code: 1 if the log failed."""
        # A signal handler may interrupt the main thread anywhere, even while it holds the lock of an event that it
        # waits for. Therefore it only sets a flag.
        signalled: list[int] = []
        for name in ("SIGINT", "SIGTERM"):
            signal.signal(getattr(signal, name), lambda number, _: signalled.append(number))
        if not self._was_started:
            self.start()
        collect_rarely()
        while not signalled and not self._is_draining:
            time.sleep(0.1)
            if self._failure is not None:
                print(f"millstream serve: {self._failure}", file=sys.stderr)  # noqa: T201
                os._exit(1)
        self.stop()
        return 0

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    # --------------------------------------------------------------------------------------------------- serve

    def _run(self) -> None:
        http = self._http
        assert http is not None
        while not self._ended.is_set():
            for request in http.take(_TURN, 0.25):
                try:
                    if self._shortcut is not None and self._shortcut.native.predict(request):
                        continue
                except Exception as error:  # a learner written in Python may raise anything
                    self._respond(request.ticket, self.handler.refuse(request, error))
                    continue
                self.handler.handle(request, partial(self._respond, request.ticket))
            self.flush()
            # The native shortcut does not read the file of tokens.
            self.tokens.refresh()
            is_delayed = self.engine.committer.delays(health.STALL)
            if is_delayed is self._health_is_native:
                self._answer_health(http, natively=not is_delayed)

    def _answer_health(self, http: _core.HttpServer, *, natively: bool) -> None:
        """Let the HTTP server answer /healthz, which works while the handler hangs, or the handler, which
        distinguishes a learner that hangs in the log thread from a long operation."""
        self._health_is_native = natively
        http.set_health("/healthz" if natively else "", b'{"status":"ok"}', health.STALL)

    def _respond(self, ticket: int, reply: Reply) -> None:
        self._outbox.append((ticket, reply))

    def flush(self) -> None:
        """Send the replies that are ready."""
        outbox, http = self._outbox, self._http
        if http is not None and self._shortcut is not None:
            self._shortcut.native.send(http)
        if not outbox or http is None:
            return
        ready = []
        while outbox:
            try:
                ticket, reply = outbox.popleft()
            except IndexError:
                break
            ready.append((ticket, reply.status, header_block(reply.content_type, reply.headers), reply.body))
        http.answer(ready)

    def _after_group(self) -> None:
        if self._shortcut is not None:
            # Before the replies, so that a prediction after the reply to a label already has its record number.
            self._shortcut.show_progress()
        self.flush()
        self.engine.maybe_snapshot()

    def _failed(self, error: BaseException) -> None:
        """Stop after a failure of the log."""
        self._failure = error
        self.is_ready = False
        self.flush()

    def sink(self, request: Request) -> Sink:
        """A stream to a reader of the live feed. A request of another protocol provides its own."""
        make = getattr(request, "sink", None)
        if make is not None:
            own: Sink = make()
            return own
        ticket = getattr(request, "ticket", None)
        if self._http is None or ticket is None:
            raise Problem(
                501, "no-streams", "this protocol cannot stream: read /v1/models/{model}/metrics instead"
            )
        return HttpSink(self._http, ticket, (("content-type", EVENT_STREAM), *SECURITY_HEADERS))

    def try_propose(self, proposal: Proposal) -> bool:
        """Pass an event to the log; False if it cannot be stored. The prediction is returned in either case."""
        try:
            self.engine.committer.propose(proposal)
        except (QueueFull, Stopped):
            self.engine.committer.lost_events += len(proposal.parsed) if proposal.kind == Kind.EVENTS else 1
            return False
        return self.engine.committer.disk_error is None

    def is_forecaster(self, stream: Stream) -> bool:
        """Whether the models of a stream are forecasters."""
        served = self.engine.state.models.get(stream.name)
        return served is not None and served.role is roles.FORECASTER

    def _sync_access(self) -> None:
        """Tell the native shortcut which tokens are valid."""
        if self._shortcut is not None:
            self._shortcut.sync_access()

    def sync_shortcuts(self) -> None:
        """Tell the native shortcut which models it may answer for."""
        if self._shortcut is not None:
            self._shortcut.sync()


@lru_cache(1024)
def header_block(content_type: str, headers: tuple[tuple[str, str], ...]) -> bytes:
    """The header fields of a reply as bytes, with those that every reply has."""
    fields = (("content-type", content_type), *headers, *SECURITY_HEADERS)
    return "".join(f"{name}: {value}\r\n" for name, value in fields).encode("latin-1")


def _tracing(wanted: Any) -> Any:
    if not wanted:
        return None
    from millstream.serve.tracing import Tracing

    return Tracing(wanted)
