"""The interface as an OpenAPI 3.1 document, generated from the list of operations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import millstream
from millstream.serve.api.description import BATCH_TYPES, DESCRIPTIONS, HIDDEN, Description
from millstream.serve.api.operation import Operation
from millstream.serve.api.schemas import SCHEMAS, ref
from millstream.serve.formats import ARROW, NDJSON
from millstream.serve.requests import JSON

__all__ = ["openapi_document"]

_ABOUT = (
    "Predictions and online learning from labels that arrive later. A prediction is stored with its features; its "
    "label is sent with the id of the prediction and is learned once. Errors are problem+json with a stable type."
)
_BINARY = {"type": "string", "format": "binary"}
#: Path parameters: their meaning and an example.
_PATH = {
    "model": ("Name of a model or route.", "delays"),
    "route": ("Name of a route.", "main"),
    "id": ("Id of an event.", "flight-1"),
    "version": ("Name of a version.", "before-launch"),
}


def openapi_document(operations: Iterable[Operation]) -> dict[str, Any]:
    """The OpenAPI document of the operations. An operation without a description is a programming error."""
    paths: dict[str, dict[str, Any]] = {}
    used: set[str] = set()
    for operation in operations:
        key = f"{operation.method} {operation.path}"
        if key not in HIDDEN:
            described = _operation(operation, DESCRIPTIONS[key], used)
            paths.setdefault(operation.path, {})[operation.method.lower()] = described
    tags = list(dict.fromkeys(description.tag for description in DESCRIPTIONS.values()))
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "millstream",
            "version": millstream.__version__,
            "description": _ABOUT,
            "license": {"name": "BSD-3-Clause", "identifier": "BSD-3-Clause"},
        },
        "servers": [{"url": "/"}],
        "tags": [{"name": tag} for tag in tags],
        "paths": paths,
        "components": {
            "schemas": SCHEMAS,
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A token with the scope of the operation or the scope admin.",
                }
            },
        },
    }


def _operation(operation: Operation, description: Description, used: set[str]) -> dict[str, Any]:
    name = operation.run.__name__.lstrip("_")
    if name in used:
        # A function may have a second path, such as that of a version.
        name = f"{name}_{operation.names[-1]}"
    used.add(name)
    found: dict[str, Any] = {
        "operationId": name,
        "summary": operation.summary,
        "description": " ".join((operation.run.__doc__ or operation.summary).split()),
        "tags": [description.tag],
        "parameters": _parameters(operation),
        "responses": _responses(operation, description),
    }
    if description.request is not None:
        found["requestBody"] = {
            "required": description.request != "VersionRequest",
            "content": _content(description.request, description.batch, description.example),
        }
    if operation.scope is not None:
        found["security"] = [{"token": []}]
        found["description"] += f" A token needs the scope {operation.scope}."
    return found


def _parameters(operation: Operation) -> list[dict[str, Any]]:
    found = [
        {
            "name": name,
            "in": "path",
            "required": True,
            "description": _PATH[name][0],
            "schema": {"type": "string"},
            "example": _PATH[name][1],
        }
        for name in operation.names
    ]
    for name, parameter in operation.query.items():
        values = {"enum": list(parameter.values)} if parameter.values else {}
        found.append(
            {
                "name": name,
                "in": "query",
                "required": name == "seq",
                "description": parameter.about,
                "schema": {"type": "string", **values},
                "example": parameter.example,
            }
        )
    if operation.path.endswith("/learn"):
        about = "Identifies a repeated request without an id."
        schema = {"type": "string", "maxLength": 128}
        found.append({"name": "Idempotency-Key", "in": "header", "description": about, "schema": schema})
    return found


def _responses(operation: Operation, description: Description) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if description.has_200:
        found["200"] = {"description": "Done", "content": _content(description.reply, description.batch)}
    for status, meaning in sorted(operation.statuses.items()):
        content = _content(description.reply, description.batch) if status < 300 else _problem()
        found[str(status)] = {"description": meaning[:1].upper() + meaning[1:], "content": content}
        if status in (429, 503, 507):
            found[str(status)]["headers"] = {"Retry-After": {"schema": {"type": "integer"}}}
    if description.request is not None and not description.has_200 and not any(s.startswith("2") for s in found):
        found["201"] = {"description": "Created", "content": _content(description.reply, description.batch)}
    found["default"] = {"description": "A problem", "content": _problem()}
    return found


def _problem() -> dict[str, Any]:
    return {"application/problem+json": {"schema": ref("Problem")}}


def _content(schema: Any, is_batch: bool = False, example: Any = None) -> dict[str, Any]:
    """The media types of a body with their schemas."""
    if isinstance(schema, str) and "/" in schema:
        is_text = schema.startswith("text/")
        return {schema: {"schema": {"type": "string"} if is_text else _BINARY}}
    if schema is None:
        body: dict[str, Any] = {"type": "object"}
    elif isinstance(schema, list):
        body = {"type": "array", "items": ref(schema[0])}
    else:
        body = ref(schema)
    found: dict[str, Any] = {JSON: {"schema": body}}
    if example is not None:
        found[JSON]["example"] = example
    if is_batch:
        for kind in BATCH_TYPES[1:]:
            about = {NDJSON: "One JSON object per line.", ARROW: "A table as an Arrow IPC stream."}[kind]
            found[kind] = {"schema": {**_BINARY, "description": about}}
    return found
