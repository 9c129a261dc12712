"""Models: list, show, create from a specification, import, export, delete, and change the label policy."""

from __future__ import annotations

from typing import Any

import millstream
from millstream._echo import typed
from millstream.errors import MillstreamError
from millstream.serve.api.fields import checked_object, json_body
from millstream.serve.api.operation import Operation, Parameter, stream_of
from millstream.serve.names import check_name
from millstream.serve.policy import LabelPolicy
from millstream.serve.requests import Call, Problem, Reply
from millstream.serve.served_model import ServedModel

__all__ = ["OPERATIONS", "model_of", "status"]

#: Maximum number of bytes of a saved model.
OCTETS = "application/octet-stream"


def model_of(call: Call) -> ServedModel:
    """The model in the path."""
    name = call.values["model"]
    served: ServedModel | None = call.server.engine.state.models.get(name)
    if served is None:
        raise Problem(404, "unknown-model", f"no model named {name[:130]!r}")
    return served


def status(server: Any, name: str, *, curve: bool = False) -> dict[str, Any]:
    """The learned examples, metrics and label fates of a model or route."""
    state = server.engine.state
    with server.engine.committer.reading():
        stream = state.by_name[name]
        found: dict[str, Any] = {"model": name, "seq": state.seq, "time": state.time / 1000}
        served = state.models.get(name)
        if served is not None:
            found |= _model_members(served, curve)
        route = state.routes.get(name)
        if route is not None:
            # `labels` are those of the stream; a route also counts the labels since its last promotion.
            found |= {"route": name, **route.describe(), "compared": route.labels}
            found["promotions"] = _in_seconds(route.promotions)
            found["members"] = {each: _model_members(state.models[each], curve) for each in route.members}
        found |= {"labels": stream.status(), "policy": stream.policy.describe()}
        found["quarantine"] = _in_seconds(list(stream.quarantine)[-20:])
    return found


def _in_seconds(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Entries with their time in seconds, the unit of the interface."""
    return [entry | {"time": entry["time"] / 1000} for entry in entries]


def _model_members(served: ServedModel, curve: bool) -> dict[str, Any]:
    found: dict[str, Any] = {
        "learner": served.title,
        "role": str(served.role),
        "native": served.is_native,
        "version": served.version,
        "model_seq": served.seq,
        "learned": served.learned,
        "scored": served.scored,
        "metrics": served.figures(),
        "drifts": _in_seconds(served.drifts[-100:]),
    }
    if curve:
        recent = [f"recent_{served.metric_names[0]}"] if served.metric_names else []
        found["curve"] = {
            "columns": ["scored", "seq", "time", *recent, *served.metric_names],
            **served.curve.describe(),
        }
    return found


def list_models(call: Call) -> Reply:
    """All models and routes."""
    server = call.server
    names = list(server.engine.state.by_name)
    return Reply.json({"models": [status(server, name) for name in names]})


def show_model(call: Call) -> Reply:
    """One model or route: learned examples, metrics and label fates."""
    return Reply.json(status(call.server, stream_of(call).name, curve=call.query().get("curve") == "1"))


def create_model(call: Call) -> Reply:
    """A new model from a specification: a notation such as "StandardScaler | LogisticRegression", or a
    description."""
    body = checked_object(json_body(call), ("name", "spec", "policy", "metrics"))
    name = check_name("name", body.get("name"))
    spec = body.get("spec")
    if isinstance(spec, str):
        model = millstream.parse(spec)
    elif isinstance(spec, dict):
        model = millstream.build(spec)
    else:
        raise Problem(422, "invalid", f"spec: must be a string or a description, got {typed(spec)}")
    return _added(call, name, model, body)


def _added(call: Call, name: str, model: Any, body: dict[str, Any]) -> Reply:
    engine = call.server.engine
    if name in engine.state.by_name:
        raise Problem(409, "name-in-use", f"name: {name!r} is a model or route already")
    policy = LabelPolicy.of(body["policy"]) if body.get("policy") is not None else None
    metrics = body.get("metrics")
    if metrics is not None and not (isinstance(metrics, list) and all(isinstance(each, str) for each in metrics)):
        raise Problem(422, "invalid", "metrics: must be a list of names")
    engine.create(name, model, policy=policy, metrics=metrics)
    call.server.sync_shortcuts()
    return Reply.json(status(call.server, name), 201, (("location", f"/v1/models/{name}"),))


def import_model(call: Call) -> Reply:
    """A new model from the bytes of a saved file. Only the millstream format is accepted, which contains data, not
    code."""
    name = check_name("name", call.values["model"])
    try:
        model = millstream.from_bytes(call.request.body)
    except MillstreamError as error:
        raise Problem(422, "invalid-file", str(error)) from None
    if not hasattr(model, "learn_one"):
        raise Problem(422, "invalid-file", f"the file holds {typed(model)}, not a model")
    return _added(call, name, model, {})


def export_model(call: Call) -> Reply:
    """The model as a file that `millstream.load` reads, or as an ONNX file, which only predicts."""
    served = model_of(call)
    if not served.is_native:
        raise Problem(409, "not-exportable", f"{served.title} is written in Python and cannot be saved as data")
    is_onnx = call.query().get("format") == "onnx"
    with call.server.engine.committer.reading():
        data, seq = served.model.to_bytes(), served.seq
    if is_onnx:
        data = _onnx(millstream.from_bytes(data))
    disposition = f'attachment; filename="{served.name}.{"onnx" if is_onnx else "ms"}"'
    return Reply(200, data, OCTETS, (("content-disposition", disposition), ("millstream-seq", str(seq))))


def _onnx(model: Any) -> bytes:
    from millstream.export.onnx_file import onnx_bytes
    from millstream.export.translation import translate

    try:
        return onnx_bytes(translate(model))
    except MillstreamError as error:
        raise Problem(409, "not-exportable", str(error)) from None


def delete_model(call: Call) -> Reply:
    """Delete a model. Its records stay in the log until they are trimmed."""
    served = model_of(call)
    for route in call.server.engine.state.routes.values():
        if served.name in route.members:
            raise Problem(409, "in-use", f"model {served.name!r} is part of route {route.name!r}")
    seq = call.server.engine.administer({"op": "delete", "model": served.name})
    call.server.sync_shortcuts()
    return Reply.json({"model": served.name, "deleted": True, "seq": seq})


def put_policy(call: Call) -> Reply:
    """Change the label policy, effective from the next record."""
    stream = stream_of(call)
    changes = json_body(call)
    if not isinstance(changes, dict):
        raise Problem(422, "invalid", f"body: must be an object of settings, got {typed(changes)}")
    # Settings that are not given stay as they are.
    policy = LabelPolicy.of(stream.policy.describe() | changes)
    seq = call.server.engine.administer({"op": "policy", "stream": stream.name, "policy": policy.describe()})
    return Reply.json({"policy": policy.describe(), "seq": seq})


_BYTES = {422: "not a saved model"}
_UNKNOWN = {404: "unknown model"}

_CURVE = {"curve": Parameter("With `1`, the reply includes the curve of the metrics.", "1", ("0", "1"))}

_FORMAT = {
    "format": Parameter(
        "`onnx` is a file that only predicts; `millstream`, the default, continues to learn.",
        "millstream",
        ("millstream", "onnx"),
    )
}

OPERATIONS = (
    Operation("GET", "/v1/models", list_models, "metrics", "List models and routes", reads_state=True),
    Operation(
        "POST", "/v1/models", create_model, "admin", "Create a model", {201: "created", 409: "the name is taken"}
    ),
    Operation(
        "GET", "/v1/models/{model}", show_model, "metrics", "Show a model", _UNKNOWN, _CURVE, reads_state=True
    ),
    Operation("DELETE", "/v1/models/{model}", delete_model, "admin", "Delete a model", {404: "unknown model"}),
    Operation("PUT", "/v1/models/{model}/policy", put_policy, "admin", "Change the label policy"),
    Operation(
        "GET",
        "/v1/models/{model}/export",
        export_model,
        "admin",
        "Download a model",
        query=_FORMAT,
        reads_state=True,
    ),
    Operation("POST", "/v1/models/{model}/import", import_model, "admin", "Upload a saved model", _BYTES),
)
