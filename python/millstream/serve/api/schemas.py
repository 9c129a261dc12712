"""JSON schemas of requests and replies, as components of the OpenAPI document."""

from __future__ import annotations

from typing import Any

from millstream.serve.fates import Fate
from millstream.serve.policy import AGGREGATES

__all__ = ["SCHEMAS", "ref"]

Schema = dict[str, Any]


def ref(name: str) -> Schema:
    """A reference to a component."""
    return {"$ref": f"#/components/schemas/{name}"}


def _object(required: str = "", *, closed: bool = False, about: str = "", **properties: Any) -> Schema:
    """An object; `required` has the names of required members. Requests accept no other members; replies may have
    new ones."""
    found: Schema = {"type": "object", "properties": properties}
    if about:
        found["description"] = about
    if required:
        found["required"] = required.split()
    if closed:
        found["additionalProperties"] = False
    return found


def _described(kind: Any, about: str, **more: Any) -> Schema:
    return {"type": kind, "description": about, **more}


def _list(of: Schema) -> Schema:
    return {"type": "array", "items": of}


_STRING, _BOOL, _ANY = {"type": "string"}, {"type": "boolean"}, Schema()
_COUNT = {"type": "integer", "minimum": 0}
_SEQ = _described("integer", "Number of a record in the log.", minimum=0)
_ID = _described("string", "Id of an event.", minLength=1, maxLength=128)
_NAME = {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$"}
_OPTIONAL_STRING = {"type": ["string", "null"]}
_SPAN = _described(["number", "string"], 'Seconds, or a string such as "7d".')
_TIME = _described(["number", "string"], "Seconds since 1970, or ISO 8601 with a time zone.")
_WEIGHT = _described("number", "Weight of the example.", minimum=0, default=1)
_LABEL = _described(["boolean", "number", "string", "null"], "The label.")
_FATE = _described("string", "The fate of the label.", enum=[fate.word for fate in Fate])
_TRACE = _described("string", "A W3C traceparent, stored with the event.")
_X = ref("Features")
_DEFER = _described("boolean", "Whether the label is learned only after the event is activated.", default=False)
_PREDICT_MEMBERS: dict[str, Any] = {"id": _ID, "key": _STRING, "x": _X, "ts": _TIME, "trace": _TRACE}

_PROBLEM = _object(
    "type title status detail",
    about="An error (RFC 9457). `type` is stable.",
    type={"type": "string", "pattern": "^/problems/"},
    title=_STRING,
    status={"type": "integer"},
    detail=_STRING,
)
_LABEL_MEMBERS: dict[str, Any] = {"y": _LABEL, "weight": _WEIGHT, "ts": _TIME, "x": _X}
_RESULT: dict[str, Any] = {
    "fate": _FATE,
    "seq": _SEQ,
    "applied": _described("boolean", "Whether this label was learned or scored."),
    "duplicate": _described("boolean", "Whether the same label was received before."),
}
_INTERVAL = _described(
    "array",
    "The ends of the interval that contains the target with a probability of 0.9.",
    items={"type": "number"},
)
_PREDICTION = _object(
    "id seq y",
    about="A prediction. `seq` is the last record that the model had learned.",
    id=_ID,
    model=_NAME,
    route=_NAME,
    version=_OPTIONAL_STRING,
    seq=_SEQ,
    y=_described(["boolean", "number", "string", "array", "null"], "The prediction; null before the first label."),
    proba=_described("object", "Probability of each class.", additionalProperties={"type": "number"}),
    interval=_INTERVAL,
    stored=_described("boolean", "Whether the event was passed to the log."),
    repeated=_described("boolean", "Whether this id was predicted before: y is the first prediction."),
)
_POLICY_MEMBERS: dict[str, Any] = {
    "window": _SPAN,
    "early_window": _SPAN,
    "default_label": _LABEL,
    "aggregate": {"type": "string", "enum": list(AGGREGATES)},
    "learn_when": {"type": "string", "enum": ["on_label", "on_window_close"]},
    "late": {"type": "string", "enum": ["drop", "learn", "dead_letter"]},
    "max_pending": {"type": "integer", "minimum": 1},
    "max_parked": {"type": "integer", "minimum": 1},
}
_ROUTE_MEMBERS: dict[str, Any] = {
    "champion": _NAME,
    "challengers": _list(_NAME),
    "mode": {"type": "string", "enum": ["shadow", "split"]},
    "split": _described(
        "object", "Fraction of the keys that each challenger serves.", additionalProperties={"type": "number"}
    ),
    "promote": {"oneOf": [ref("PromotionRule"), {"type": "null"}]},
}
_SHAPE = _list({"type": "integer", "minimum": -1})
_TENSOR_MEMBERS: dict[str, Any] = {"name": _STRING, "shape": _SHAPE, "datatype": _STRING}
_PARAMETERS = {"type": "object"}
_TENSOR_INFO = _list(_object("name datatype shape", **_TENSOR_MEMBERS))
_STATUS_MEMBERS: dict[str, Any] = {
    "model": _NAME,
    "seq": _SEQ,
    "time": {"type": "number"},
    "learner": _STRING,
    "role": _STRING,
    "learned": _COUNT,
    "scored": _COUNT,
    "metrics": {"type": "object", "additionalProperties": {"type": ["number", "null"]}},
    "labels": _object("received fates", received=_COUNT, fates={"type": "object", "additionalProperties": _COUNT}),
    "policy": ref("Policy"),
}

SCHEMAS: dict[str, Schema] = {
    "Problem": _PROBLEM,
    "Features": _described(
        "object", "Features by name: numbers, strings, booleans, and null for a missing value."
    ),
    "Draining": _object("draining", draining=_BOOL),
    "Health": _object("status", status=_STRING, seq=_SEQ),
    "PredictRequest": _object("x", closed=True, **_PREDICT_MEMBERS, defer=_DEFER),
    "PredictItem": _object("x", closed=True, **_PREDICT_MEMBERS),
    "Prediction": _PREDICTION,
    "BatchPrediction": {"anyOf": [ref("Prediction"), ref("ItemProblem")]},
    "ItemProblem": _object(
        "status", about="The error of an item of a batch.", item=_COUNT, **_PROBLEM["properties"]
    ),
    "LabelRequest": _object("y", closed=True, **_LABEL_MEMBERS),
    "LabelItem": _object("id y", closed=True, id=_ID, **_LABEL_MEMBERS),
    "LabelResult": _object(
        "fate seq applied duplicate", id={"type": ["string", "null"]}, version=_OPTIONAL_STRING, **_RESULT
    ),
    "LabelItemResult": {
        "anyOf": [_object("id status fate", id=_ID, status=_COUNT, detail=_STRING, **_RESULT), ref("ItemProblem")]
    },
    "LearnRequest": _object("x y", closed=True, id=_ID, x=_X, y=_LABEL, ts=_TIME, weight=_WEIGHT),
    "Event": _object(
        "id seq x label",
        id=_ID,
        seq=_SEQ,
        time={"type": "number"},
        x=_X,
        y=_ANY,
        version=_OPTIONAL_STRING,
        label={"type": "string", "enum": ["waiting", "labelled", "window over"]},
        label_seq=_SEQ,
        ts={"type": "number"},
        label_ts={"type": "number"},
    ),
    "Activated": _object("id activated", id=_ID, activated=_BOOL),
    "Forgotten": _object("id forgotten seq", id=_ID, forgotten=_BOOL, seq=_SEQ),
    "Progress": _object("seq durable applied last", seq=_SEQ, durable=_BOOL, applied=_BOOL, last=_SEQ),
    "Policy": _object(closed=True, about="How labels are joined with events.", **_POLICY_MEMBERS),
    "PolicyChanged": _object("policy seq", policy=ref("Policy"), seq=_SEQ),
    "ModelStatus": _object("model seq labels policy", **_STATUS_MEMBERS),
    "ModelList": _object("models", models=_list(ref("ModelStatus"))),
    "CreateModel": _object(
        "name spec",
        closed=True,
        name=_NAME,
        spec=_described(["string", "object"], "A notation such as `StandardScaler | LinearRegression`."),
        policy={"oneOf": [ref("Policy"), {"type": "null"}]},
        metrics={"type": ["array", "null"], "items": _STRING},
    ),
    "ModelDeleted": _object("model deleted seq", model=_NAME, deleted=_BOOL, seq=_SEQ),
    "VersionRequest": _object(closed=True, version=_NAME),
    "Version": _object("version seq", model=_NAME, version=_NAME, seq=_SEQ),
    "VersionList": _object("model seq versions", model=_NAME, seq=_SEQ, versions=_list(ref("Version"))),
    "RollbackRequest": _object(
        closed=True,
        to=_described(
            ["string", "integer", "null"], "A version, or a record number; the default is the current state."
        ),
        exclude=_described("array", "Ids of events whose labels are excluded.", items=_ID),
    ),
    "RolledBack": _object(
        "model to excluded seq", model=_NAME, to=_SEQ, excluded=_COUNT, seq=_SEQ, learned=_COUNT
    ),
    "PromotionRule": _object(
        closed=True,
        min_labels={"type": "integer", "minimum": 1},
        significance={"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
        metric=_OPTIONAL_STRING,
    ),
    "RouteRequest": _object("champion", closed=True, policy=ref("Policy"), **_ROUTE_MEMBERS),
    "Route": _object("route champion challengers mode", route=_NAME, **_ROUTE_MEMBERS),
    "RouteList": _object("routes", routes=_list(ref("Route"))),
    "RouteDeleted": _object("route deleted seq", route=_NAME, deleted=_BOOL, seq=_SEQ),
    "PromoteRequest": _object("model", closed=True, model=_NAME, why=_STRING),
    "ServerMetadata": _object("name version extensions", name=_STRING, version=_STRING, extensions=_list(_STRING)),
    "ServerLive": _object("live", live=_BOOL, ready=_BOOL),
    "ModelReady": _object("name ready", name=_STRING, ready=_BOOL),
    "ModelMetadata": _object(
        "name platform inputs outputs",
        name=_STRING,
        versions=_list(_STRING),
        platform=_STRING,
        inputs=_TENSOR_INFO,
        outputs=_TENSOR_INFO,
    ),
    "InputTensor": _object(
        "name shape datatype data", closed=True, parameters=_PARAMETERS, data={"type": "array"}, **_TENSOR_MEMBERS
    ),
    "OutputTensor": _object(
        "name shape datatype data", parameters=_PARAMETERS, data={"type": "array"}, **_TENSOR_MEMBERS
    ),
    "InferRequest": _object(
        "inputs",
        closed=True,
        id=_ID,
        parameters=_PARAMETERS,
        inputs=_list(ref("InputTensor")),
        outputs=_list(_object("name", closed=True, name=_STRING, parameters=_PARAMETERS)),
    ),
    "InferResponse": _object(
        "model_name id outputs",
        model_name=_STRING,
        model_version=_STRING,
        id=_STRING,
        parameters=_PARAMETERS,
        outputs=_list(ref("OutputTensor")),
    ),
    "FeedbackRequest": _object(
        "y",
        closed=True,
        id=_ID,
        ids=_list(_ID),
        y=_described(["boolean", "number", "string", "null", "array"], "A label, or one for each id."),
        weight=_WEIGHT,
        ts=_TIME,
    ),
    "FeedbackResult": {
        "anyOf": [
            ref("LabelResult"),
            _object("model_name results", model_name=_NAME, results=_list({"type": "object"})),
        ]
    },
    "LiveMetrics": _object("name labels policy", name=_NAME, labels={"type": "object"}, policy=ref("Policy")),
}
