"""Labelled examples without a prediction."""

from __future__ import annotations

from typing import Any

from millstream.serve.api.fields import as_json, checked_object, features, object_and_raw, optional_id
from millstream.serve.api.infinite_labels import or_infinite
from millstream.serve.api.labels import label_of, label_reply
from millstream.serve.api.operation import LABEL_WAIT, Operation, stream_of
from millstream.serve.names import check_id
from millstream.serve.proposal import Proposal
from millstream.serve.records import Kind
from millstream.serve.requests import Call, Reply

__all__ = ["OPERATIONS"]

_MEMBERS = ("id", "x", "y", "ts", "weight")


def learn(call: Call) -> Reply | None:
    """Learn an example once. An id or the header Idempotency-Key identifies repeated requests."""
    stream = stream_of(call)
    body = or_infinite(call.request.body, lambda: object_and_raw(call.request.body, "x")[0])
    checked_object(body, _MEMBERS)
    label = label_of(body, call.server.engine.clock.now())
    label.setdefault("x", {}) if call.server.is_forecaster(stream) else features(label.get("x"))
    id: Any = optional_id(body)
    if id is None and call.request.header("idempotency-key"):
        id = check_id(call.request.header("idempotency-key"))
    respond = call.respond
    proposal = Proposal(
        Kind.LEARN,
        stream,
        id,
        as_json(label),
        parsed=label,
        sent=len(call.request.body),
        answer=lambda outcome: respond(label_reply(call, stream, outcome, id)),
    )
    call.server.engine.committer.propose(proposal)
    return None


OPERATIONS = (
    Operation(
        "POST",
        "/v1/models/{model}/learn",
        learn,
        "label",
        "Learn a labelled example",
        {201: "learned", 200: "learned before", 409: "another example has this id", 422: "cannot be learned"},
        LABEL_WAIT,
    ),
)
