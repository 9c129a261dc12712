"""The Open Inference Protocol (version 2) over HTTP, and feedback: labels for the events that `infer` stored.

A prediction by `infer` is an event, as with `predict`. Its id is the id of the request, or that id and the number
of the example if there are several: `id-0`, `id-1` and so on.
"""

from __future__ import annotations

import time
from typing import Any

import millstream
from millstream import roles
from millstream.serve.api.fields import as_json, checked_object, json_body
from millstream.serve.api.infinite_labels import or_infinite
from millstream.serve.api.labels import label_of, label_reply, outcome_members
from millstream.serve.api.operation import Operation, stream_of
from millstream.serve.api.predictions import Answered, event_members, predict_all, stored_event
from millstream.serve.api.tensors import (
    checked_parameters,
    examples,
    predict_tensor,
    proba_tensor,
    string_tensor,
)
from millstream.serve.batches import pack_events
from millstream.serve.names import check_id, new_id
from millstream.serve.proposal import Proposal
from millstream.serve.records import Kind
from millstream.serve.requests import Call, Problem, Reply
from millstream.serve.served_model import Prediction, ServedModel, prediction_of
from millstream.serve.stream import Stream
from millstream.serve.trace_context import trace_of

__all__ = ["OPERATIONS"]

_OUTPUTS = ("predict", "proba", "id")


def server_metadata(call: Call) -> Reply:
    """Name, version and extensions of the server."""
    return Reply.json(
        {"name": "millstream", "version": millstream.__version__, "extensions": ["millstream_feedback"]}
    )


def server_live(call: Call) -> Reply:
    """The server answers."""
    return Reply.json({"live": True})


def server_ready(call: Call) -> Reply:
    """All models can predict."""
    if not call.server.is_ready:
        raise Problem(503, "not-ready", "the server is starting or stopping", ready=False)
    return Reply.json({"live": True, "ready": True})


def _champion(call: Call) -> tuple[Stream, ServedModel]:
    """The model or route in the path, and the model that serves it. A version must be the current one."""
    stream = stream_of(call)
    state = call.server.engine.state
    route = state.routes.get(stream.name)
    served: ServedModel = state.models[stream.name if route is None else route.champion]
    wanted = call.values.get("version")
    if wanted is not None and wanted != served.version:
        present = "it has no name yet" if served.version is None else f"its newest version is {served.version!r}"
        raise Problem(404, "unknown-version", f"only the current state of {stream.name!r} is served: {present}")
    return stream, served


def model_metadata(call: Call) -> Reply:
    """Inputs and outputs of a model. It accepts other features than those shown, because features may change."""
    stream, served = _champion(call)
    numbers = {"datatype": "FP64", "shape": [-1, -1]}
    shape = [-1, -1] if served.role is roles.FORECASTER else [-1]
    kinds = {roles.Answer.CLASS: "BYTES", roles.Answer.CLUSTER: "INT64"}
    outputs = [{"name": "predict", "datatype": kinds.get(served.role.answer, "FP64"), "shape": shape}]
    if served.wants_proba:
        outputs.append({"name": "proba", **numbers})
    found = {
        "name": stream.name,
        "platform": "millstream",
        "inputs": [{"name": "x", **numbers}],
        "outputs": outputs,
    }
    if served.version is not None:
        found["versions"] = [served.version]
    return Reply.json(found)


def model_ready(call: Call) -> Reply:
    """The model can predict."""
    stream, _ = _champion(call)
    if not call.server.is_ready:
        raise Problem(503, "not-ready", "the server is starting or stopping", name=stream.name, ready=False)
    return Reply.json({"name": stream.name, "ready": True})


def infer(call: Call) -> Reply:
    """Predict the examples in the input tensors, all or none, and store them as events."""
    stream, served = _champion(call)
    body = checked_object(json_body(call), ("id", "parameters", "inputs", "outputs"))
    rows = examples(body.get("inputs"))
    wanted = _wanted(body.get("outputs"))
    key = checked_parameters(body.get("parameters"), "body").get("key")
    now = call.server.engine.clock.now()
    given = body.get("id") is not None
    request_id = check_id(body["id"]) if given else new_id(now)
    ids = [request_id] if len(rows) == 1 else [check_id(f"{request_id}-{index}") for index in range(len(rows))]
    predictions: list[Prediction] = []
    new: list[tuple[str, dict[str, Any], Answered]] = []
    start = time.perf_counter()
    for id, x in zip(ids, rows, strict=True):
        event = stored_event(call, stream, id, x) if given else None
        if event is not None:
            stored = prediction_of(event.body, event.body.get("s", stream.name))
            predictions.append(Prediction(None) if stored is None else stored)
            continue
        answered = predict_all(call.server, stream, x, str(key or id))
        predictions.append(answered.predictions[answered.name])
        new.append((id, x, answered))
    call.server.counters.predicted(stream.name, time.perf_counter() - start, len(new))
    is_stored = not new or call.server.try_propose(_proposal(call, stream, new))
    tensors = [predict_tensor([prediction.y for prediction in predictions])]
    proba = proba_tensor(predictions)
    if proba is not None:
        tensors.append(proba)
    if wanted is not None:
        tensors.append(string_tensor("id", ids))
        tensors = [tensor for name in wanted for tensor in tensors if tensor["name"] == name]
    reply: dict[str, Any] = {"model_name": stream.name, "id": request_id, "outputs": tensors}
    if served.version is not None:
        reply["model_version"] = served.version
    reply["parameters"] = {"seq": served.seq, "stored": is_stored}
    return Reply.json(reply)


def _wanted(outputs: Any) -> list[str] | None:
    """The names of the requested outputs."""
    if outputs is None:
        return None
    if not isinstance(outputs, list):
        raise Problem(422, "invalid", "outputs: must be a list")
    names = []
    for index, output in enumerate(outputs):
        name = checked_object(output, ("name", "parameters"), f"outputs[{index}]").get("name")
        if name not in _OUTPUTS:
            raise Problem(
                422, "invalid", f"outputs[{index}]: name: must be one of {', '.join(_OUTPUTS)}, got {name!r:.100}"
            )
        names.append(name)
    return names or None


def _proposal(call: Call, stream: Stream, new: list[tuple[str, dict[str, Any], Answered]]) -> Proposal:
    is_route = stream.name in call.server.engine.state.routes
    trace = call.trace
    if len(new) == 1:
        id, x, answered = new[0]
        traced = f',"t":{as_json(trace[:128])}' if trace else ""
        text = f'{{"x":{as_json(x)},{answered.stored(is_route)}{traced}}}'
        return Proposal(Kind.EVENT, stream, id, text, parsed=x, sent=len(call.request.body))
    ids = [id for id, _, _ in new]
    stored = [event_members(answered, is_route, trace) for _, _, answered in new]
    text = pack_events(ids, [as_json(x) for _, x, _ in new], stored)
    return Proposal(Kind.EVENTS, stream, None, text, parsed=ids, given=ids)


def feedback(call: Call) -> Reply | None:
    """Labels of inferred examples: `id` and `y`, or a list `y` with the id of a request or with `ids`."""
    stream = stream_of(call)
    given = or_infinite(call.request.body, lambda: json_body(call))
    body = checked_object(given, ("id", "ids", "y", "weight", "ts"))
    ids, ys = body.get("ids"), body.get("y")
    if (ids is None) == (body.get("id") is None):
        raise Problem(422, "invalid", "id: give either id or ids")
    if ids is None and isinstance(ys, list):
        ids = [f"{check_id(body['id'])}-{index}" for index in range(len(ys))]
    is_single = ids is None
    ids, ys = ([body["id"]], [ys]) if is_single else (ids, ys)
    if not isinstance(ids, list) or not isinstance(ys, list) or len(ids) != len(ys) or not ids:
        raise Problem(422, "invalid", "y: must be a list with one label for each id")
    if "y" not in body:
        raise Problem(422, "invalid", "y: it is missing")
    common: dict[str, Any] = {name: body[name] for name in ("weight", "ts") if name in body}
    now = call.server.engine.clock.now()
    labels = []
    for id, y in zip(ids, ys, strict=True):
        label = label_of({"y": y, **common}, now)
        labels.append(label | {"id": check_id(id)})
    if call.span is not None:
        call.span.link([trace_of(call, stream, label["id"]) for label in labels[:100]])

    def answer(outcomes: Any) -> None:
        if isinstance(outcomes, BaseException) or is_single:
            outcome = outcomes if isinstance(outcomes, BaseException) else outcomes[0]
            reply = label_reply(call, stream, outcome, ids[0])
            call.respond(_with_error(reply))
            return
        results = [
            {"id": label["id"], "status": outcome.fate.status, **outcome_members(outcome)}
            for label, outcome in zip(labels, outcomes, strict=True)
        ]
        call.respond(Reply.json({"model_name": stream.name, "results": results}))

    call.server.engine.committer.propose(
        Proposal(Kind.LABELS, stream, None, "", parsed=labels, sent=len(call.request.body), answer=answer)
    )
    return None


def _with_error(reply: Reply) -> Reply:
    """The reply with the member `error`, which the protocol requires."""
    import json

    if reply.status < 400:
        return reply
    members = json.loads(reply.body)
    changed = Reply.json({**members, "error": members["detail"]}, reply.status, reply.headers)
    changed.content_type = reply.content_type
    return changed


_UNKNOWN = {404: "unknown model or version"}
_MODEL, _VERSION = "/v2/models/{model}", "/v2/models/{model}/versions/{version}"
_INFER = {**_UNKNOWN, 409: "the id belongs to an event with other features", 422: "a tensor is invalid"}
_FEEDBACK = {
    201: "learned",
    202: "kept until its event arrives, or until the window closes",
    404: "unknown event",
    409: "another label of this event was learned",
    410: "the window of the event is over",
    422: "cannot be learned",
}

OPERATIONS = (
    Operation("GET", "/v2", server_metadata, None, "Show the server (Open Inference Protocol)"),
    Operation("GET", "/v2/health/live", server_live, None, "Is the server alive?"),
    Operation("GET", "/v2/health/ready", server_ready, None, "Is the server ready?", {503: "not ready"}),
    Operation("GET", _MODEL, model_metadata, "predict", "Show inputs and outputs", _UNKNOWN),
    Operation("GET", _VERSION, model_metadata, "predict", "Show inputs and outputs of a version", _UNKNOWN),
    Operation("GET", f"{_MODEL}/ready", model_ready, "predict", "Is the model ready?", _UNKNOWN),
    Operation("GET", f"{_VERSION}/ready", model_ready, "predict", "Is the version ready?", _UNKNOWN),
    Operation("POST", f"{_MODEL}/infer", infer, "predict", "Predict the examples in tensors", _INFER),
    Operation("POST", f"{_VERSION}/infer", infer, "predict", "Predict with a version", _INFER),
    Operation("POST", f"{_MODEL}/feedback", feedback, "label", "Send labels of inferred examples", _FEEDBACK),
)
