"""Trace contexts (W3C `traceparent`) that are stored with events."""

from __future__ import annotations

from millstream.serve.requests import Call
from millstream.serve.stream import Stream

__all__ = ["trace_of"]


def trace_of(call: Call, stream: Stream, id: str) -> str | None:
    """The trace context that was stored with an event."""
    found = stream.pending.find(id)
    if found is None:
        return None
    event = call.server.reader.event(found[0], found[1])
    trace = event.body.get("t") if event.id == id else None
    return trace if isinstance(trace, str) else None
