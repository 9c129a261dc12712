"""Request handling: find the operation, check the token, run the operation, convert errors to problems."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import unquote

from millstream.errors import MillstreamError
from millstream.serve.api import OPERATIONS, Operation
from millstream.serve.api.operation import check_query
from millstream.serve.bounded_pool import BoundedPool
from millstream.serve.committer import Stopped
from millstream.serve.in_flight import Unsettled
from millstream.serve.origin import check_origin
from millstream.serve.problems import problem_of
from millstream.serve.requests import Call, Problem, Reply, Request
from millstream.serve.tokens import Tokens

__all__ = ["Handler"]

_LONGEST_PATH = 2048

#: The key of a variable segment, such as {model}. It is not a string, so no segment of a request equals it.
_ANY = object()


class Handler:
    """Answers requests. `respond` receives the reply, immediately or later."""

    def __init__(self, server: Any, tokens: Tokens) -> None:
        self.server = server
        self.tokens = tokens
        self._slow = BoundedPool("millstream-admin")
        self._reading = BoundedPool("millstream-status")
        #: Operations by the segments of their paths, and by method under the key None, which no segment equals.
        self._tree: dict[object, Any] = {}
        for operation in OPERATIONS:
            node = self._tree
            for part in operation.path.strip("/").split("/"):
                node = node.setdefault(_ANY if part.startswith("{") else part, {})
            node.setdefault(None, {})[operation.method] = operation

    def handle(self, request: Request, respond: Callable[[Reply], None]) -> None:
        """Answer a request."""
        try:
            operation, values = self._find(request)
            self.tokens.refresh()
            check_origin(request, open_to_all=self.server.checks_host and not self.tokens.active)
            self.tokens.check(request, operation.scope)
            if request.query:
                check_query(operation, request.query)
            call = Call(self.server, request, respond, values)
            if self.server.tracing is not None:
                call.span = self.server.tracing.start(operation, call)
                if call.span is not None:
                    respond = call.respond = call.span.ending(respond)
            if operation.is_slow:
                # The operation waits for the log and may replay it; predictions continue meanwhile.
                self._slow.submit(partial(self._run_slow, operation, call))
                return
            if operation.reads_state:
                self._reading.submit(partial(self._run_slow, operation, call))
                return
            reply = operation.run(call)
        except Unsettled as event:
            reply = self._run_later(event, operation, call)
        except Exception as error:  # a learner written in Python may raise anything
            reply = _problem_reply(error, request)
        if reply is not None:
            respond(reply)

    def refuse(self, request: Request, error: Exception) -> Reply:
        """The reply to a prediction that the native shortcut began and a learner written in Python refused."""
        if isinstance(error, (Problem, MillstreamError)):
            self.server.counters.refuse(self._find(request)[1]["model"])
        return _problem_reply(error, request)

    def _run_slow(self, operation: Operation, call: Call) -> None:
        try:
            reply = operation.run(call)
        except Unsettled as event:
            reply = self._run_later(event, operation, call)
        except Exception as error:  # the client gets it
            reply = _problem_reply(error, call.request)
        if reply is not None:
            call.respond(reply)
        self.server.flush()

    def _run_later(self, event: Unsettled, operation: Operation, call: Call) -> Reply | None:
        """Run an operation again once its event is in the state or lost, without delaying other requests."""
        pool = self._slow if operation.is_slow else self._reading

        def resume() -> None:
            try:
                pool.resume(partial(self._run_slow, operation, call))
            except Stopped as error:
                call.respond(_problem_reply(error, call.request))

        try:
            self.server.engine.committer.in_flight.when_settled(event, resume)
        except MillstreamError as error:
            return _problem_reply(error, call.request)
        return None

    def close(self) -> None:
        """Stop the threads of slow operations."""
        self._slow.close()
        self._reading.close()

    def _find(self, request: Request) -> tuple[Operation, dict[str, str]]:
        path = request.path
        if len(path) > _LONGEST_PATH:
            raise Problem(414, "path-too-long", f"path: longer than {_LONGEST_PATH} characters")
        node = self._tree
        found: list[str] = []
        for part in path.strip("/").split("/"):
            if part in node:
                node = node[part]
            elif _ANY in node:
                node = node[_ANY]
                # Decoded after the split, so that an encoded slash does not separate segments.
                found.append(unquote(part, errors="replace"))
            else:
                raise Problem(404, "not-found", f"no resource {path[:200]!r}")
        methods = node.get(None)
        if methods is None:
            raise Problem(404, "not-found", f"no resource {path[:200]!r}")
        operation = methods.get(request.method) or (methods.get("GET") if request.method == "HEAD" else None)
        if operation is None:
            allowed = ", ".join(sorted(methods))
            problem = Problem(405, "method-not-allowed", f"{path[:200]}: use {allowed}")
            problem.headers = (("allow", allowed),)
            raise problem
        return operation, dict(zip(operation.names, found, strict=True))


def _problem_reply(error: BaseException, request: Request) -> Reply:
    problem = problem_of(error)
    if request.path.startswith("/v2"):
        # The Open Inference Protocol requires the message in this member.
        problem.more["error"] = problem.detail
    return problem.reply()
