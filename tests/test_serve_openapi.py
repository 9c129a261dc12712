"""The OpenAPI document is valid and complete, and the server answers as it says."""

from __future__ import annotations

import json

import pytest

from millstream import linear_model
from millstream.serve.api import OPERATIONS
from millstream.serve.api.description import DESCRIPTIONS, HIDDEN
from millstream.serve.openapi import openapi_document
from serving import Direct

validators = pytest.importorskip("openapi_schema_validator")
specification = pytest.importorskip("openapi_spec_validator")


@pytest.fixture(scope="module")
def document():
    return openapi_document(OPERATIONS)


@pytest.fixture
def direct(tmp_path):
    with Direct(tmp_path, models={"delays": linear_model.LogisticRegression()}) as direct:
        direct.post("/v1/models", {"name": "forest", "spec": "StandardScaler | LogisticRegression"})
        yield direct


def schema_errors(document, schema, value):
    validator = validators.OAS31Validator({**schema, "components": document["components"]})
    return [f"{list(error.absolute_path)}: {error.message}" for error in validator.iter_errors(value)]


def test_it_is_valid(document):
    specification.validate(document)
    assert document["openapi"] == "3.1.0"


def test_a_wrong_document_is_noticed(document):
    broken = json.loads(json.dumps(document))
    broken["paths"]["/v1/models/{model}"]["get"]["parameters"] = []
    from openapi_spec_validator.validation.exceptions import OpenAPIValidationError

    with pytest.raises(OpenAPIValidationError):
        specification.validate(broken)


def test_it_has_every_operation(document):
    keys = {f"{operation.method} {operation.path}" for operation in OPERATIONS}
    assert keys == {*DESCRIPTIONS, *HIDDEN}
    names = [each["operationId"] for path in document["paths"].values() for each in path.values()]
    assert len(set(names)) == len(names)


def test_operations_that_need_a_token_say_so(document):
    for operation in OPERATIONS:
        if f"{operation.method} {operation.path}" not in HIDDEN:
            shown = document["paths"][operation.path][operation.method.lower()]
            assert ("security" in shown) == (operation.scope is not None)
            assert operation.scope is None or f"scope {operation.scope}" in shown["description"]


def test_examples_fit_their_schemas(document):
    examples = 0
    for path in document["paths"].values():
        for operation in path.values():
            content = operation.get("requestBody", {}).get("content", {}).get("application/json")
            if content is not None:
                assert schema_errors(document, content["schema"], content["example"]) == []
                examples += 1
    assert examples == 14
    assert schema_errors(document, {"$ref": "#/components/schemas/LabelRequest"}, {"why": 1}) != []


#: One request per operation, in an order in which each succeeds: path, and the body if it is not the example.
REQUESTS = [
    ("GET /healthz", "/healthz", 200),
    ("GET /readyz", "/readyz", 200),
    ("GET /openapi.json", "/openapi.json", 200),
    ("GET /v1/models", "/v1/models", 200),
    ("POST /v1/models/{model}/predict", "/v1/models/delays/predict?wait=durable", 200),
    ("POST /v1/models/{model}/predict:batch", "/v1/models/delays/predict:batch?wait=durable", 200),
    ("PUT /v1/models/{model}/labels/{id}", "/v1/models/delays/labels/flight-1", 201),
    ("PUT /v1/models/{model}/labels/{id}", "/v1/models/delays/labels/flight-1", 200),
    ("PUT /v1/models/{model}/labels/{id}", "/v1/models/delays/labels/unknown", 404),
    ("POST /v1/models/{model}/labels", "/v1/models/delays/labels", 200),
    ("POST /v1/models/{model}/learn", "/v1/models/delays/learn", 201),
    ("POST /v1/models/{model}/learn", "/v1/models/delays/learn", 200),
    ("GET /v1/models/{model}/events/{id}", "/v1/models/delays/events/flight-1", 200),
    ("GET /v1/models/{model}/events/{id}", "/v1/models/delays/events/unknown", 404),
    ("POST /v1/models/{model}/events/{id}/activate", "/v1/models/delays/events/flight-1/activate", 200),
    ("DELETE /v1/models/{model}/events/{id}", "/v1/models/delays/events/flight-1", 200),
    ("GET /v1/models/{model}/progress", "/v1/models/delays/progress?seq=3", 200),
    ("GET /v1/models/{model}", "/v1/models/delays?curve=1", 200),
    ("PUT /v1/models/{model}/policy", "/v1/models/delays/policy", 200),
    ("POST /v1/models/{model}/versions", "/v1/models/delays/versions", 201),
    ("GET /v1/models/{model}/versions", "/v1/models/delays/versions", 200),
    ("POST /v1/models/{model}/rollback", "/v1/models/delays/rollback", 200),
    ("PUT /v1/routes/{route}", "/v1/routes/main", 201),
    ("PUT /v1/routes/{route}", "/v1/routes/main", 200),
    ("GET /v1/routes", "/v1/routes", 200),
    ("GET /v1/routes/{route}", "/v1/routes/main", 200),
    ("POST /v1/routes/{route}/promote", "/v1/routes/main/promote", 200),
    ("GET /v1/models/{model}/metrics", "/v1/models/main/metrics", 200),
    ("DELETE /v1/routes/{route}", "/v1/routes/main", 200),
    ("GET /v2", "/v2", 200),
    ("GET /v2/health/live", "/v2/health/live", 200),
    ("GET /v2/health/ready", "/v2/health/ready", 200),
    ("GET /v2/models/{model}", "/v2/models/delays", 200),
    ("GET /v2/models/{model}/versions/{version}", "/v2/models/delays/versions/before-launch", 200),
    ("GET /v2/models/{model}/ready", "/v2/models/delays/ready", 200),
    ("GET /v2/models/{model}/versions/{version}/ready", "/v2/models/delays/versions/before-launch/ready", 200),
    ("POST /v2/models/{model}/infer", "/v2/models/delays/infer", 200),
    ("POST /v2/models/{model}/versions/{version}/infer", "/v2/models/delays/versions/before-launch/infer", 200),
    ("POST /v2/models/{model}/feedback", "/v2/models/delays/feedback", 200),
    ("DELETE /v1/models/{model}", "/v1/models/forest", 200),
    ("POST /v1/models", "/v1/models", 409),
]


def test_the_server_answers_as_the_document_says(document, direct):
    for key, path, status in REQUESTS:
        method, _, template = key.partition(" ")
        operation = document["paths"][template][method.lower()]
        example = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("example")
        answer = direct.call(method, path, example)
        assert answer.status == status, (key, answer.body)
        response = operation["responses"].get(str(status)) or operation["responses"]["default"]
        content = response["content"][answer.type]
        assert schema_errors(document, content["schema"], answer.json) == [], key


def test_bodies_that_are_not_json(document, direct):
    exported = direct.get("/v1/models/delays/export")
    responses = document["paths"]["/v1/models/{model}/export"]["get"]["responses"]
    assert (exported.status, [*responses["200"]["content"]]) == (200, [exported.type])
    imported = direct.post("/v1/models/copy/import", exported.body, content_type="application/octet-stream")
    assert imported.status == 201
    schema = {"$ref": "#/components/schemas/ModelStatus"}
    assert schema_errors(document, schema, imported.json) == []
    assert direct.get("/metrics").type.startswith("text/plain")


def test_every_described_operation_was_tried():
    without_json = {
        "POST /v1/models/{model}/import",
        "GET /v1/models/{model}/export",
        "GET /metrics",
        "GET /v1/live",
        "GET /v1/models/{model}/metrics/stream",
    }
    # See test_serve_replies.test_a_drained_server_stops_and_keeps_its_labels.
    stops = {"POST /v1/admin/drain"}
    assert {key for key, _, _ in REQUESTS} | without_json | stops == set(DESCRIPTIONS)


def test_the_document_is_served(document, direct):
    assert direct.get("/openapi.json").json == json.loads(json.dumps(document))


@pytest.mark.parametrize("path", ["/v2//GET", "/v2/", "//", "/v1//models", "/v2//", "/nothing"])
def test_odd_paths_are_not_errors_of_the_server(direct, path):
    assert direct.get(path).status in (200, 404)
