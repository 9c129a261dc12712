"""Live metrics: the quality and activity of a model, as JSON and as Server-Sent Events."""

from __future__ import annotations

from millstream.serve.api.operation import Operation, stream_of
from millstream.serve.live import EVENT_STREAM
from millstream.serve.requests import Call, Reply

__all__ = ["OPERATIONS"]


def metrics(call: Call) -> Reply:
    """The curves, drifts, activity, latency and labels of a model or route."""
    return Reply.json(call.server.live.whole(stream_of(call).name))


def metrics_stream(call: Call) -> Reply | None:
    """The same, followed by updates once a second. With `Last-Event-ID`, a stream continues without duplicate
    points."""
    return _streamed(call, stream_of(call).name)


def live(call: Call) -> Reply | None:
    """An overview of the server and of all models, followed by updates once a second."""
    return _streamed(call, None)


def _streamed(call: Call, name: str | None) -> Reply | None:
    if call.request.method == "HEAD":
        return Reply(200, b"", EVENT_STREAM)
    sink = call.server.sink(call.request)
    call.server.live.add(sink, name, call.request.header("last-event-id"))
    return None


_STREAM = {503: "too many streams are open", 501: "the protocol cannot stream"}

OPERATIONS = (
    Operation("GET", "/v1/live", live, "metrics", "Follow the server (Server-Sent Events)", _STREAM),
    Operation(
        "GET",
        "/v1/models/{model}/metrics",
        metrics,
        "metrics",
        "Quality, drifts and activity",
        reads_state=True,
    ),
    Operation(
        "GET",
        "/v1/models/{model}/metrics/stream",
        metrics_stream,
        "metrics",
        "Follow a model (Server-Sent Events)",
        _STREAM,
    ),
)
