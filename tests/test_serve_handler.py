"""The handler finds the operation of a request by its path."""

from __future__ import annotations

import pytest

from millstream import linear_model
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
