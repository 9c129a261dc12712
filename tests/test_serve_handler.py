"""The handler finds the operation of a request by its path."""

from __future__ import annotations

import pytest

from millstream import linear_model
from millstream.serve.api import OPERATIONS
from serving import Direct


@pytest.fixture
def direct(tmp_path):
    with Direct(tmp_path / "data", models={"m": linear_model.LinearRegression()}) as direct:
        yield direct


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/models/{}"),
        ("POST", "/v1/models/{}/predict"),
        ("GET", "/v1/models/{}/events/{}"),
        ("GET", "/{}"),
    ],
)
def test_braces_in_a_path_are_a_name_like_any_other(direct, method, path):
    answer = direct.call(method, path, {"x": {}} if method == "POST" else None)
    assert answer.status == 404, answer.body
    assert direct.call(method, path.replace("{}", "%7B%7D")).status == 404


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: f"{each.method} {each.path}")
def test_an_unknown_query_parameter_is_refused(direct, operation):
    path = operation.path.replace("{", "").replace("}", "")
    before = direct.server.engine.state.seq
    known = "".join(f"{name}={each.example}&" for name, each in operation.query.items())
    for query in ("wiat=durable", f"{known}wiat=durable", "wiat", "wiat=&a=1", "%77iat=1"):
        answer = direct.call(operation.method, f"{path}?{query}", {})
        assert (answer.status, answer.type) == (422, "application/problem+json"), answer.body
        assert answer.json["type"] == "/problems/unknown-parameter"
        assert (answer.json["parameter"], answer.json["detail"].count("'wiat'")) == ("wiat", 1)
        assert ("error" in answer.json) is path.startswith("/v2")
    assert direct.server.engine.state.seq == before


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/models/m/predict?wait=durable"),
        ("POST", "/v1/models/m/predict:batch?wait=durable"),
        ("GET", "/v1/models/m?curve=1"),
        ("GET", "/v1/models/m?curve=0"),
        ("GET", "/v1/models/m/progress?seq=1"),
        ("GET", "/v1/models?"),
        ("GET", "/v1/models?&"),
    ],
)
def test_known_parameters_are_accepted(direct, method, path):
    body = None if method == "GET" else [{"x": {"v": 1.0}}] if "batch" in path else {"x": {"v": 1.0}}
    assert direct.call(method, path, body).status == 200


@pytest.mark.parametrize(
    ("method", "path", "detail"),
    [
        ("POST", "/v1/models/m/predict?wait=durabel", "query: wait must be durable, got 'durabel'"),
        ("POST", "/v1/models/m/predict:batch?wait=", "query: wait must be durable, got ''"),
        ("GET", "/v1/models/m?curve=yes", "query: curve must be 0 or 1, got 'yes'"),
    ],
)
def test_an_invalid_parameter_value_is_refused(direct, method, path, detail):
    answer = direct.call(method, path, {"x": {"v": 1.0}})
    assert (answer.status, answer.json["detail"]) == (422, detail)


def test_a_token_is_needed_before_parameters_are_explained(tmp_path):
    with Direct(tmp_path, models={"m": linear_model.LinearRegression()}, require_token=None) as direct:
        direct.server.tokens.create(["admin"], "a")
        assert direct.get("/v1/models?a=1").status == 401
