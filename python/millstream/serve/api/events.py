"""Single events: served predictions and the states of their labels; and the progress of the log."""

from __future__ import annotations

from typing import Any

from millstream._core import parse_json
from millstream.errors import UnknownName
from millstream.serve.api.operation import Operation, Parameter, stream_of
from millstream.serve.batches import unpack_labels
from millstream.serve.names import check_id
from millstream.serve.records import Kind
from millstream.serve.requests import Call, Problem, Reply
from millstream.serve.stream import DEFERRED, LABELLED, Entry

__all__ = ["OPERATIONS"]


def get_event(call: Call) -> Reply:
    """The stored features, the predictions, and the state of the label."""
    stream = stream_of(call)
    id = check_id(call.values["id"])
    engine = call.server.engine
    engine.committer.in_flight.check(stream.number, id)
    found = stream.pending.find(id)
    event = None if found is None else call.server.reader.event(found[0], found[1])
    if found is None or event is None or event.id != id:
        raise Problem(404, "unknown-event", f"no event {id!r} is remembered")
    entry = Entry(*found)
    shown: dict[str, Any] = {"id": id, "seq": entry.seq, "time": entry.time / 1000, "x": event.x}
    for key, name in (
        ("y", "y"),
        ("p", "proba"),
        ("i", "interval"),
        ("m", "models"),
        ("s", "served_by"),
        ("t", "trace"),
    ):
        if key in event.body:
            shown[name] = event.body[key]
    if "y" in shown or "models" in shown:
        served = engine.state.models.get(event.body.get("s", stream.name))
        shown["version"] = None if served is None else served.version_at(entry.seq)
    if "ts" in event.body:
        shown["ts"] = event.body["ts"] / 1000
    over = engine.state.time - entry.time > stream.policy.window_ms
    if entry.state == DEFERRED:
        shown["deferred"] = True
    shown["label"] = "labelled" if entry.state == LABELLED else "window over" if over else "waiting"
    if entry.state == LABELLED:
        shown["label_seq"] = entry.label_seq
        at = _label_time(call, entry.label_seq, id)
        if at is not None:
            shown["label_ts"] = at / 1000
    return Reply.json(shown)


def _label_time(call: Call, seq: int, id: str) -> int | None:
    """The time that a client gave with the label of an event."""
    try:
        record = call.server.reader.record(seq)
    except UnknownName:
        # The record was trimmed, or lost to damage.
        return None
    if record.kind == Kind.LABEL and record.id == id:
        at = parse_json(record.body).get("ts")
    elif record.kind == Kind.LABELS:
        at = next((label.get("ts") for label in unpack_labels(record.body) if label["id"] == id), None)
    else:
        return None
    return at if isinstance(at, int) else None


def delete_event(call: Call) -> Reply:
    """Forget an event: a label that arrives later is not learned. Its record stays in the log until it is
    trimmed."""
    stream = stream_of(call)
    id = check_id(call.values["id"])
    call.server.engine.committer.in_flight.check(stream.number, id)
    if stream.pending.find(id) is None:
        raise Problem(404, "unknown-event", f"no event {id!r} is remembered")
    seq = call.server.engine.administer({"op": "forget", "stream": stream.name, "id": id})
    return Reply.json({"id": id, "forgotten": True, "seq": seq})


def activate_event(call: Call) -> Reply:
    """Activate an event that was predicted with `defer`, so that its label is learned."""
    stream = stream_of(call)
    id = check_id(call.values["id"])
    call.server.engine.committer.in_flight.check(stream.number, id)
    found = stream.pending.find(id)
    if found is None:
        raise Problem(404, "unknown-event", f"no event {id!r} is remembered")
    if found[3] == DEFERRED:
        call.server.engine.administer({"op": "activate", "stream": stream.name, "id": id})
    return Reply.json({"id": id, "activated": True})


def progress(call: Call) -> Reply:
    """Whether a record is on disk and applied."""
    engine = call.server.engine
    text = call.query().get("seq", "")
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise Problem(422, "invalid", "seq: must be the number of a record, as ?seq=12")
    seq, done = int(text), engine.state.seq
    return Reply.json({"seq": seq, "durable": seq <= engine.store.last_seq, "applied": seq <= done, "last": done})


_SEQ = {"seq": Parameter("Number of a record.", "12")}

OPERATIONS = (
    Operation(
        "GET", "/v1/models/{model}/events/{id}", get_event, "label", "Show an event", {404: "unknown event"}
    ),
    Operation(
        "DELETE",
        "/v1/models/{model}/events/{id}",
        delete_event,
        "label",
        "Forget an event",
        {404: "unknown event"},
    ),
    Operation(
        "POST",
        "/v1/models/{model}/events/{id}/activate",
        activate_event,
        "predict",
        "Activate a deferred event",
        {404: "unknown event"},
    ),
    Operation(
        "GET", "/v1/models/{model}/progress", progress, "label", "Show whether a record is applied", query=_SEQ
    ),
)
