"""Single events over HTTP: what was served, deferred events, forgotten events, progress."""

from __future__ import annotations

import pytest

from millstream import linear_model, serve


@pytest.fixture
def server(tmp_path):
    with serve.Server(linear_model.LinearRegression(), name="m", data=tmp_path, port=0) as server:
        yield server


@pytest.fixture
def client(server):
    return serve.Client(server.url)


def test_an_event_shows_what_was_served_and_its_label(client):
    client.predict("m", {"v": 1.5, "c": "UA"}, id="a")
    shown = client.event("m", "a")
    assert shown["x"] == {"v": 1.5, "c": "UA"}
    assert shown["y"] == 0.0
    assert shown["label"] == "waiting"
    label = client.label("m", "a", 2.0)
    assert client.event("m", "a")["label"] == "labelled"
    assert client.event("m", "a")["label_seq"] == label["seq"]
    assert client.progress("m", label["seq"])["applied"] is True


def test_a_deferred_event_is_learned_only_after_its_activation(server):
    import json
    import urllib.error
    import urllib.request

    def call(method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{server.url}{path}", data, method=method)
        try:
            with urllib.request.urlopen(request) as reply:
                return reply.status, json.load(reply)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    assert call("POST", "/v1/models/m/predict?wait=durable", {"id": "d", "x": {"v": 1.0}, "defer": True})[0] == 200
    status, problem = call("PUT", "/v1/models/m/labels/d", {"y": 1.0})
    assert (status, problem["detail"]) == (409, "the event is deferred and has not been activated")
    assert call("GET", "/v1/models/m/events/d")[1]["deferred"] is True
    assert call("POST", "/v1/models/m/events/d/activate")[0] == 200
    assert call("PUT", "/v1/models/m/labels/d", {"y": 1.0})[0] == 201
    assert call("POST", "/v1/models/m/events/none/activate")[0] == 404


def test_a_forgotten_event_is_not_learned(server, client):
    client.predict("m", {"v": 1.0}, id="f", wait="durable")
    import urllib.request

    request = urllib.request.Request(f"{server.url}/v1/models/m/events/f", method="DELETE")
    with urllib.request.urlopen(request) as reply:
        assert reply.status == 200
    with pytest.raises(serve.ServeError) as refused:
        client.label("m", "f", 1.0)
    assert refused.value.status == 404
