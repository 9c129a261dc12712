"""Bodies, parameters and examples of the operations, and the OpenAPI document that shows them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from millstream.serve.api.models import OCTETS
from millstream.serve.api.operation import Operation
from millstream.serve.formats import ARROW, NDJSON
from millstream.serve.live import EVENT_STREAM
from millstream.serve.requests import JSON, Call, Reply

__all__ = ["DESCRIPTIONS", "HIDDEN", "OPERATIONS", "Description"]


@dataclass(frozen=True)
class Description:
    """The bodies of an operation. Names of schemas are those of `schemas.SCHEMAS`; a list has one element."""

    tag: str
    #: Schema and example of the request; None if it has no body.
    request: Any = None
    example: Any = None
    #: Schema of the reply, or its media type if it is not JSON.
    reply: Any = None
    #: Media types of batch bodies.
    batch: bool = False
    #: Whether status 200 is possible, in addition to the other statuses of the operation.
    has_200: bool = True


_X = {"hour": 7, "carrier": "UA"}
_ID = "0190f3a0-7e2b-7c31-9d52-3f8a1c0b6d4e"
_TENSORS = {
    "id": "42",
    "inputs": [
        {"name": "hour", "shape": [2], "datatype": "FP64", "data": [7, 8]},
        {"name": "carrier", "shape": [2], "datatype": "BYTES", "data": ["UA", "DL"]},
    ],
}
_INFER = Description("Open Inference Protocol", "InferRequest", _TENSORS, "InferResponse")
_METADATA = Description("Open Inference Protocol", reply="ModelMetadata")
_MODEL_READY = Description("Open Inference Protocol", reply="ModelReady")

DESCRIPTIONS: dict[str, Description] = {
    "GET /healthz": Description("Server", reply="Health"),
    "GET /readyz": Description("Server", reply="Health"),
    "POST /v1/admin/drain": Description("Server", reply="Draining", has_200=False),
    "GET /openapi.json": Description("Server", reply=None),
    "GET /metrics": Description("Server", reply="text/plain"),
    "GET /v1/live": Description("Server", reply=EVENT_STREAM),
    "GET /v1/models": Description("Models", reply="ModelList"),
    "POST /v1/models": Description(
        "Models",
        "CreateModel",
        {"name": "delays", "spec": "StandardScaler | LogisticRegression", "policy": {"window": "7d"}},
        "ModelStatus",
        has_200=False,
    ),
    "GET /v1/models/{model}": Description("Models", reply="ModelStatus"),
    "DELETE /v1/models/{model}": Description("Models", reply="ModelDeleted"),
    "PUT /v1/models/{model}/policy": Description(
        "Models", "Policy", {"window": "7d", "late": "learn"}, "PolicyChanged"
    ),
    "GET /v1/models/{model}/export": Description("Models", reply=OCTETS),
    "POST /v1/models/{model}/import": Description("Models", OCTETS, None, "ModelStatus", has_200=False),
    "GET /v1/models/{model}/metrics": Description("Models", reply="LiveMetrics"),
    "GET /v1/models/{model}/metrics/stream": Description("Models", reply=EVENT_STREAM),
    "POST /v1/models/{model}/predict": Description(
        "Predictions and labels", "PredictRequest", {"id": _ID, "x": _X}, "Prediction"
    ),
    "POST /v1/models/{model}/predict:batch": Description(
        "Predictions and labels",
        ["PredictItem"],
        [{"id": "flight-1", "x": _X}, {"id": "flight-2", "x": {"hour": 8, "carrier": "DL"}}],
        ["BatchPrediction"],
        batch=True,
    ),
    "PUT /v1/models/{model}/labels/{id}": Description(
        "Predictions and labels", "LabelRequest", {"y": True}, "LabelResult", has_200=False
    ),
    "POST /v1/models/{model}/labels": Description(
        "Predictions and labels",
        ["LabelItem"],
        [{"id": "flight-1", "y": True}, {"id": "flight-2", "y": False, "weight": 2}],
        ["LabelItemResult"],
        batch=True,
    ),
    "POST /v1/models/{model}/learn": Description(
        "Predictions and labels",
        "LearnRequest",
        {"id": "flight-3", "x": _X, "y": True},
        "LabelResult",
        has_200=False,
    ),
    "GET /v1/models/{model}/events/{id}": Description("Predictions and labels", reply="Event"),
    "POST /v1/models/{model}/events/{id}/activate": Description("Predictions and labels", reply="Activated"),
    "DELETE /v1/models/{model}/events/{id}": Description("Predictions and labels", reply="Forgotten"),
    "GET /v1/models/{model}/progress": Description("Predictions and labels", reply="Progress"),
    "GET /v1/models/{model}/versions": Description("Versions", reply="VersionList"),
    "POST /v1/models/{model}/versions": Description(
        "Versions", "VersionRequest", {"version": "before-launch"}, "Version", has_200=False
    ),
    "POST /v1/models/{model}/rollback": Description(
        "Versions", "RollbackRequest", {"to": "before-launch", "exclude": ["flight-2"]}, "RolledBack"
    ),
    "GET /v1/routes": Description("Routes", reply="RouteList"),
    "GET /v1/routes/{route}": Description("Routes", reply="Route"),
    "PUT /v1/routes/{route}": Description(
        "Routes",
        "RouteRequest",
        {
            "champion": "delays",
            "challengers": ["forest"],
            "mode": "shadow",
            "promote": {"min_labels": 1000, "significance": 0.01},
        },
        "Route",
    ),
    "DELETE /v1/routes/{route}": Description("Routes", reply="RouteDeleted"),
    "POST /v1/routes/{route}/promote": Description(
        "Routes", "PromoteRequest", {"model": "forest", "why": "better in a trial"}, "Route"
    ),
    "GET /v2": Description("Open Inference Protocol", reply="ServerMetadata"),
    "GET /v2/health/live": Description("Open Inference Protocol", reply="ServerLive"),
    "GET /v2/health/ready": Description("Open Inference Protocol", reply="ServerLive"),
    "GET /v2/models/{model}": _METADATA,
    "GET /v2/models/{model}/versions/{version}": _METADATA,
    "GET /v2/models/{model}/ready": _MODEL_READY,
    "GET /v2/models/{model}/versions/{version}/ready": _MODEL_READY,
    "POST /v2/models/{model}/infer": _INFER,
    "POST /v2/models/{model}/versions/{version}/infer": _INFER,
    "POST /v2/models/{model}/feedback": Description(
        "Open Inference Protocol", "FeedbackRequest", {"id": "42", "y": [True, False]}, "FeedbackResult"
    ),
}

#: Operations for browsers, which are not part of the document.
HIDDEN = ("GET /", "GET /dashboard/{file}")

#: Media types of a batch. Arrow has no JSON schema.
BATCH_TYPES = (JSON, NDJSON, ARROW)


@cache
def _document() -> bytes:
    from millstream.serve.api import OPERATIONS as ALL
    from millstream.serve.openapi import openapi_document

    return Reply.json(openapi_document(ALL)).body


def show_document(call: Call) -> Reply:
    """The interface as an OpenAPI document."""
    return Reply(200, _document())


OPERATIONS = (Operation("GET", "/openapi.json", show_document, None, "Show this document"),)
