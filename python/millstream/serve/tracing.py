"""OpenTelemetry spans for predictions and labels (`pip install "millstream[otel]"`).

An event is stored with the trace context of its prediction. The span of its label, which may be created weeks
later and belongs to another trace, links to it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import millstream
from millstream.errors import MissingPackage
from millstream.serve.api.operation import Operation
from millstream.serve.requests import Call, Reply

__all__ = ["RequestSpan", "Tracing"]

_TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")
#: Maximum number of links of a span.
_MOST_LINKS = 100


class Tracing:
    """Creates spans. `provider` is a tracer provider; with True, the global one is used."""

    def __init__(self, provider: Any = True) -> None:
        try:
            from opentelemetry import propagate, trace
        except ImportError:
            raise MissingPackage(
                'serve: opentelemetry-api is not installed: pip install "millstream[otel]"'
            ) from None
        self._trace, self._propagate = trace, propagate
        given = None if provider is True else provider
        self._tracer = trace.get_tracer("millstream.serve", millstream.__version__, given)

    def start(self, operation: Operation, call: Call) -> RequestSpan | None:
        """A span for a request, if it predicts or labels. Its parent is given by the header `traceparent`."""
        if operation.scope not in ("predict", "label") or operation.method == "GET":
            return None
        carrier = {}
        for name in ("traceparent", "tracestate"):
            value = call.request.header(name)
            if value is not None:
                carrier[name] = value
        attributes = {
            "http.request.method": operation.method,
            "http.route": operation.path,
            "millstream.model": call.values.get("model", "")[:128],
        }
        span = self._tracer.start_span(
            f"{operation.method} {operation.path}",
            context=self._propagate.extract(carrier) if carrier else None,
            kind=self._trace.SpanKind.SERVER,
            attributes=attributes,
        )
        return RequestSpan(self._trace, span)


class RequestSpan:
    """The span of one request, from its arrival to its reply."""

    def __init__(self, trace: Any, span: Any) -> None:
        self._trace, self._span = trace, span

    @property
    def traceparent(self) -> str | None:
        """The context of this span as text, to be stored with an event; None if nothing is recorded."""
        context = self._span.get_span_context()
        if not context.is_valid:
            return None
        return f"00-{context.trace_id:032x}-{context.span_id:016x}-{int(context.trace_flags):02x}"

    def link(self, traceparents: Iterable[str | None]) -> None:
        """Link to the spans of predictions. Invalid trace contexts are skipped."""
        contexts = [self._context(text) for text in dict.fromkeys(traceparents) if text]
        for context in [each for each in contexts if each is not None][:_MOST_LINKS]:
            self._span.add_link(context)

    def _context(self, text: str) -> Any:
        match = _TRACEPARENT.fullmatch(text)
        if match is None:
            return None
        trace = self._trace
        context = trace.SpanContext(
            int(match[1], 16), int(match[2], 16), is_remote=True, trace_flags=trace.TraceFlags(int(match[3], 16))
        )
        return context if context.is_valid else None

    def ending(self, respond: Callable[[Reply], None]) -> Callable[[Reply], None]:
        """The reply callback of a request, which also ends the span."""

        def end_and_respond(reply: Reply) -> None:
            self._span.set_attribute("http.response.status_code", reply.status)
            if reply.status >= 500:
                self._span.set_status(self._trace.Status(self._trace.StatusCode.ERROR))
            self._span.end()
            respond(reply)

        return end_and_respond
