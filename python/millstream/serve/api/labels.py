"""Labels: joined with their events and learned once; the reply, with the fate, is sent after they are on disk."""

from __future__ import annotations

import math
from typing import Any

from millstream.errors import MillstreamError
from millstream.serve.api.bodies import batch_of
from millstream.serve.api.fields import checked_object, event_time, features, json_body, weight
from millstream.serve.api.infinite_labels import or_infinite
from millstream.serve.api.operation import LABEL_WAIT, Operation, stream_of
from millstream.serve.api.predictions import item_problem
from millstream.serve.fates import Fate, Outcome
from millstream.serve.names import check_id
from millstream.serve.problems import problem_of
from millstream.serve.proposal import Proposal
from millstream.serve.records import Kind
from millstream.serve.requests import Call, Problem, Reply
from millstream.serve.stream import Stream
from millstream.serve.trace_context import trace_of

__all__ = ["OPERATIONS", "label_reply", "outcome_members"]

_MEMBERS = ("y", "ts", "weight", "x")
#: Labels are kept in memory while they wait.
_LONGEST_LABEL = 4096
#: Looking up an enum member takes 80 ns, and each label needs several.
_LEARNED, _SCORED, _DUPLICATE = Fate.LEARNED, Fate.SCORED, Fate.DUPLICATE
#: Members of a problem for each fate that refuses a label.
_KINDS = {
    Fate.CONFLICT: "other-label",
    Fate.UNKNOWN: "unknown-event",
    Fate.LATE: "window-over",
    Fate.QUARANTINED: "unlearnable-label",
    Fate.EXPIRED: "window-over",
}


def label_of(body: dict[str, Any], now: int) -> dict[str, Any]:
    """The members of a label that are stored. One that is not finite is stored as the reason to refuse it, `q`."""
    if "y" not in body:
        raise Problem(422, "invalid", "y: it is missing")
    y = body["y"]
    if y is not None and not isinstance(y, (bool, int, float, str)):
        raise Problem(422, "invalid", "y: must be a bool, number or string")
    if isinstance(y, str) and len(y) > _LONGEST_LABEL:
        raise Problem(422, "invalid", f"y: must have at most {_LONGEST_LABEL} characters, got {len(y)}")
    label: dict[str, Any] = {"y": y}
    if isinstance(y, float) and not math.isfinite(y):
        label = {"y": None, "q": f"y: must be a finite number, got {y}"}
    w = weight(body)
    if w != 1.0:
        label["w"] = w
    if body.get("x") is not None:
        label["x"] = features(body["x"])
    at = event_time(body, now)
    if at is not None:
        label["ts"] = at
    return label


def outcome_members(outcome: Outcome) -> dict[str, Any]:
    """The members of a reply about one label."""
    fate = outcome.fate
    return {
        "fate": fate.word,
        "seq": outcome.seq,
        "applied": fate is _LEARNED or fate is _SCORED,
        "duplicate": fate is _DUPLICATE,
    }


def label_reply(call: Call, stream: Stream, outcome: Any, id: str | None) -> Reply:
    """The reply about one label."""
    if isinstance(outcome, BaseException):
        return problem_of(outcome).reply()
    if outcome.fate in _KINDS:
        detail = outcome.reason or outcome.fate.word
        more = {"id": id, **outcome_members(outcome)}
        return Problem(outcome.fate.status, _KINDS[outcome.fate], detail, **more).reply()
    state = call.server.engine.state
    route = state.routes.get(stream.name)
    served = state.models.get(stream.name if route is None else route.champion)
    members = {**outcome_members(outcome), "version": None if served is None else served.version}
    return Reply.json({"id": id, **members}, outcome.fate.status)


def put_label(call: Call) -> Reply | None:
    """The label of one event."""
    stream = stream_of(call)
    id = check_id(call.values["id"])
    body = checked_object(or_infinite(call.request.body, lambda: json_body(call)), _MEMBERS)
    label = label_of(body, call.server.engine.clock.now())
    if call.span is not None:
        call.span.link([trace_of(call, stream, id)])
    respond = call.respond
    proposal = Proposal(
        Kind.LABEL,
        stream,
        id,
        "",
        parsed=label,
        sent=len(call.request.body),
        answer=lambda outcome: respond(label_reply(call, stream, outcome, id)),
    )
    call.server.engine.committer.propose(proposal)
    return None


def post_labels(call: Call) -> Reply | None:
    """Labels of many events: one result per item, in their order. A bad item does not stop the others."""
    stream = stream_of(call)
    batch = batch_of(call, ("id", *_MEMBERS))
    now = call.server.engine.clock.now()
    results: list[dict[str, Any] | None] = []
    labels: list[dict[str, Any]] = []
    for index, body in enumerate(batch.items):
        try:
            if index in batch.errors:
                raise Problem(400, "malformed-json", batch.errors[index])
            if type(body) is dict and len(body) == 2 and "id" in body and _is_common(body.get("y")):
                # The common form needs no further checks.
                check_id(body["id"])
                labels.append(body)
                results.append(None)
                continue
            body = checked_object(body, ("id", *_MEMBERS), f"item {index}")
            label = label_of(body, now)
            label["id"] = check_id(body.get("id"))
        except (Problem, MillstreamError) as error:
            results.append(item_problem(index, error))
            continue
        labels.append(label)
        results.append(None)
    if not labels:
        return batch.reply([each for each in results if each is not None])
    if call.span is not None:
        call.span.link([trace_of(call, stream, label["id"]) for label in labels[:100]])

    def answer(outcomes: Any) -> None:
        if isinstance(outcomes, BaseException):
            call.respond(problem_of(outcomes).reply())
            return
        found = iter(zip(labels, outcomes, strict=True))
        call.respond(batch.reply([_item(*next(found)) if each is None else each for each in results]))

    call.server.engine.committer.propose(
        Proposal(Kind.LABELS, stream, None, "", parsed=labels, sent=len(call.request.body), answer=answer)
    )
    return None


def _is_common(y: Any) -> bool:
    kind = type(y)
    return kind is bool or kind is int or (kind is str and len(y) <= _LONGEST_LABEL)


def _item(label: dict[str, Any], outcome: Outcome) -> dict[str, Any]:
    found = {"id": label["id"], "status": outcome.fate.status, **outcome_members(outcome)}
    return found | {"detail": outcome.reason} if outcome.reason else found


_STATUSES = {
    201: "learned",
    200: "the same label again; nothing was learned",
    202: "kept until its event arrives, or until the window of its event closes",
    404: "unknown event; send x along to learn it",
    409: "another label of this event was learned",
    410: "the window of the event is over",
    422: "cannot be learned; quarantined with the reason",
    503: "not accepted; send it again after Retry-After",
    507: "the disk is full; not accepted",
}

OPERATIONS = (
    Operation(
        "PUT",
        "/v1/models/{model}/labels/{id}",
        put_label,
        "label",
        "Send the label of an event",
        _STATUSES,
        LABEL_WAIT,
    ),
    Operation(
        "POST",
        "/v1/models/{model}/labels",
        post_labels,
        "label",
        "Send labels of many events: a JSON array, NDJSON or Arrow IPC",
        {400: "malformed body", 503: "not accepted", 507: "the disk is full"},
        LABEL_WAIT,
    ),
)
