"""Members, headers and statuses of replies that clients rely on."""

from __future__ import annotations

import contextlib
import http.client
import json
import math
import socket
import time

import numpy as np
import pytest

import millstream
from millstream import compose, linear_model, serve
from serving_process import Connection
from test_serve_bad_input import ARROW, NDJSON, table_bytes


@pytest.fixture
def server(tmp_path):
    models = {
        "m": millstream.parse("StandardScaler | LinearRegression"),
        "class": millstream.parse("StandardScaler | LogisticRegression"),
        "bayes": linear_model.BayesianLinearRegression(),
        "sensors": compose.Keyed(linear_model.LinearRegression(), key="sensor"),
    }
    with serve.Server(data=tmp_path / "data", models=models, port=0) as server:
        yield server


@pytest.fixture
def ask(server):
    with contextlib.closing(Connection(server.port)) as connection:
        yield connection.ask


def raw(server, method, path, body=b"", kind="application/json"):
    with contextlib.closing(Connection(server.port)) as connection:
        status, found = connection.send(method, path, body, content_type=kind)
        return status, found


# ------------------------------------------------------------------------------------------------------- labels


@pytest.mark.parametrize("query", ["", "?wait=durable", "?wait=applied"])
def test_the_reply_to_a_label_has_all_members(ask, query):
    ask("POST", "/v1/models/m/predict", {"id": "a", "x": {"v": 1.0}})
    status, found = ask("PUT", f"/v1/models/m/labels/a{query}", {"y": 2.0})
    seq = found["seq"]
    assert status == 201
    expected = {"fate": "learned", "seq": seq, "applied": True, "duplicate": False, "version": None}
    assert found == {"id": "a", **expected}
    ask("POST", "/v1/models/m/versions", {"version": "v1"})
    status, found = ask("PUT", f"/v1/models/m/labels/a{query}", {"y": 2.0})
    expected = {"fate": "duplicate", "seq": seq, "applied": False, "duplicate": True, "version": "v1"}
    assert (status, found) == (200, {"id": "a", **expected})
    assert ask("GET", f"/v1/models/m/progress?seq={seq}")[1]["applied"] is True


def test_the_version_in_a_reply_of_a_route_is_that_of_its_champion(ask):
    ask("POST", "/v1/models", {"name": "other", "spec": "LinearRegression"})
    ask("POST", "/v1/models/m/versions", {"version": "mine"})
    ask("PUT", "/v1/routes/r", {"champion": "m", "challengers": ["other"]})
    assert ask("POST", "/v1/models/r/learn", {"id": "a", "x": {"v": 1.0}, "y": 2.0})[1]["version"] == "mine"
    ask("POST", "/v1/routes/r/promote", {"model": "other"})
    assert ask("POST", "/v1/models/r/learn", {"id": "b", "x": {"v": 1.0}, "y": 2.0})[1]["version"] is None


@pytest.mark.parametrize("path", ["labels/a", "labels", "learn"])
def test_another_wait_is_refused(ask, path):
    method = "PUT" if path == "labels/a" else "POST"
    status, found = ask(method, f"/v1/models/m/{path}?wait=soon", {"y": 1.0})
    assert (status, found["type"]) == (422, "/problems/invalid")
    assert found["detail"] == "query: wait must be durable or applied, got 'soon'"


@pytest.mark.parametrize("y", [b"NaN", b"Infinity", b"-Infinity", b"1e400", b"-1e400"])
def test_a_label_that_is_not_finite_is_quarantined(server, ask, y):
    before = server.engine.state.models["m"].model.to_bytes()
    ask("POST", "/v1/models/m/predict", {"id": "a", "x": {"v": 1.0}})
    bodies = [
        ("PUT", "labels/a", b'{"y":%s}' % y),
        ("POST", "learn", b'{"id":"b","x":{"v":1.0},"y":%s}' % y),
        ("POST", "learn", b'{"x":{"v":1.0},"y":%s}' % y),
    ]
    for method, path, body in bodies:
        status, found = ask(method, f"/v1/models/m/{path}", body)
        assert (status, found["type"], found["fate"]) == (422, "/problems/unlearnable-label", "quarantined")
        assert found["detail"].startswith("y: must be a finite number, got ")
    status, found = raw(server, "POST", "/v2/models/m/feedback", b'{"ids":["a","none"],"y":[%s,%s]}' % (y, y))
    assert [each["fate"] for each in json.loads(found)["results"]] == ["quarantined", "unknown"]
    shown = ask("GET", "/v1/models/m")[1]
    assert shown["labels"]["fates"]["quarantined"] == 4
    assert sum(shown["labels"]["fates"].values()) == shown["labels"]["received"] == 5
    assert [each["id"] for each in shown["quarantine"]] == ["a", "b", "", "a"]
    assert server.engine.state.models["m"].model.to_bytes() == before
    # The event still waits for a label that can be learned.
    assert ask("PUT", "/v1/models/m/labels/a", {"y": 2.0})[0] == 201


@pytest.mark.parametrize("form", ["json", "lines", "arrow"])
def test_labels_of_a_batch_that_are_not_finite_are_quarantined(server, ask, form):
    predictions = [{"id": f"e{n}", "x": {"v": float(n)}} for n in range(5)]
    ask("POST", "/v1/models/m/predict:batch?wait=durable", predictions)
    items = [b'{"id":"e%d","y":%s}' % (n, y) for n, y in enumerate((b"1.0", b"Infinity", b"2.0", b"-Infinity"))]
    if form == "json":
        _, found = raw(server, "POST", "/v1/models/m/labels", b"[" + b",".join(items) + b"]")
        results = json.loads(found)
    elif form == "lines":
        body = b"\n".join([*items, b'{"id":"e4","y":1,"x":{"v":NaN}}'])
        _, found = raw(server, "POST", "/v1/models/m/labels", body, NDJSON)
        results = [json.loads(line) for line in found.splitlines()]
        assert results.pop()["type"] == "/problems/malformed-json"
    else:
        import pyarrow as pa

        body = table_bytes({"id": ["e0", "e1", "e2", "e3"], "y": [1.0, math.inf, 2.0, -math.inf]})
        _, found = raw(server, "POST", "/v1/models/m/labels", body, ARROW)
        results = pa.ipc.open_stream(found).read_all().to_pylist()
    assert [each["fate"] for each in results] == ["learned", "quarantined", "learned", "quarantined"]
    assert [each["status"] for each in results] == [201, 422, 201, 422]
    assert server.engine.state.models["m"].learned == 2


NOT_LABELS = [
    b'{"y":NaN,"x":{"v":NaN}}',
    b'{"y":NaN,"y":1}',
    b'{"y":NaN,"weight":Infinity}',
    b'{"y":NaN,}',
    b'{"y":NaN} x',
    b'{"y":NaN,"x":{"v":"\\ud800"}}',
    b'{"y":NaN,"x":' + b"[" * 10_000,
    b'{"x":{"y":NaN},"y":1}',
    '{"y":NaN}'.encode("utf-16"),
]


@pytest.mark.parametrize("body", NOT_LABELS, ids=range(len(NOT_LABELS)))
def test_other_numbers_that_are_not_finite_are_malformed(ask, body):
    status, found = ask("PUT", "/v1/models/m/labels/a", body)
    assert (status, found["type"]) == (400, "/problems/malformed-json")


def test_a_quarantined_label_is_replayed(tmp_path):
    def shown(server):
        with contextlib.closing(Connection(server.port)) as connection:
            return connection.ask("GET", "/v1/models/m")[1]

    def start():
        return serve.Server(
            linear_model.LinearRegression(), name="m", data=tmp_path / "data", port=0, policy={"early_window": 60}
        )

    with start() as server, contextlib.closing(Connection(server.port)) as connection:
        connection.ask("POST", "/v1/models/m/predict?wait=durable", {"id": "a", "x": {"v": 1.0}})
        assert connection.ask("PUT", "/v1/models/m/labels/a", b'{"y":NaN}')[0] == 422
        assert connection.ask("PUT", "/v1/models/m/labels/early", b'{"y":NaN}')[0] == 422
        before = shown(server)
    for path in (tmp_path / "data" / "snapshots").iterdir():
        path.unlink()
    with start() as server:
        assert server.engine.recovery.snapshot_seq == 0
        after = shown(server)
    assert after["labels"] == before["labels"]
    assert after["quarantine"] == before["quarantine"]


# ------------------------------------------------------------------------------------------------------- events


def test_an_event_shows_the_version_that_predicted_it(server, ask, tmp_path):
    def predict(id):
        found = ask("POST", "/v1/models/m/predict?wait=durable", {"id": id, "x": {"v": 1.0}})[1]
        return found["version"]

    versions = [predict("a")]
    ask("POST", "/v1/models/m/versions", {"version": "one"})
    versions.append(predict("b"))
    ask("POST", "/v1/models/m/versions", {"version": "two"})
    versions.append(predict("c"))
    ask("POST", "/v1/models/m/rollback", {"to": "one"})
    versions.append(predict("d"))
    assert versions == [None, "one", "two", "one"]
    assert [ask("GET", f"/v1/models/m/events/{id}")[1]["version"] for id in "abcd"] == versions
    server.stop()
    with serve.Server(data=tmp_path / "data", models={}, port=0) as again:
        client = serve.Client(again.url)
        assert [client.event("m", id)["version"] for id in "abcd"] == versions


def test_predictions_of_a_model_with_intervals_have_one(server, ask):
    first = ask("POST", "/v1/models/bayes/predict", {"x": {"v": 1.0}})[1]
    assert "interval" not in first
    for n in range(30):
        ask("POST", "/v1/models/bayes/learn", {"x": {"v": n % 5}, "y": 2.0 * (n % 5) + (-1) ** n * 0.1})
    found = ask("POST", "/v1/models/bayes/predict?wait=durable", {"id": "a", "x": {"v": 2.0}})[1]
    expected = server.engine.state.models["bayes"].model.predict_interval_one({"v": 2.0})
    assert found["interval"] == list(expected)
    assert found["interval"][0] < found["y"] < found["interval"][1]
    again = ask("POST", "/v1/models/bayes/predict", {"id": "a", "x": {"v": 2.0}})[1]
    assert (again["repeated"], again["interval"]) == (True, found["interval"])
    assert ask("GET", "/v1/models/bayes/events/a")[1]["interval"] == found["interval"]
    batch = ask("POST", "/v1/models/bayes/predict:batch?wait=durable", [{"id": "b", "x": {"v": 2.0}}])[1]
    assert batch[0]["interval"] == found["interval"]
    for id in "ab":
        assert ask("PUT", f"/v1/models/bayes/labels/{id}", {"y": 4.0})[1]["fate"] == "learned"
    assert server.engine.state.models["bayes"].scored == 2
    assert "interval" not in ask("POST", "/v1/models/m/predict", {"x": {"v": 1.0}})[1]


# ------------------------------------------------------------------------------------------------------- server


def test_the_format_of_an_export(server, ask):
    for n in range(50):
        ask("POST", "/v1/models/class/learn", {"x": {"v": float(n % 7)}, "y": n % 7 > 3})
    data = raw(server, "GET", "/v1/models/class/export")[1]
    assert raw(server, "GET", "/v1/models/class/export?format=millstream")[1] == data
    status, file = raw(server, "GET", "/v1/models/class/export?format=onnx")
    assert status == 200
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(file)
    found = session.run(["label"], {"numbers": np.array([[0.0], [6.0]])})[0]
    model = millstream.from_bytes(data)
    assert [bool(each) for each in found] == [model.predict_one({"v": v}) for v in (0.0, 6.0)]
    status, found = ask("GET", "/v1/models/class/export?format=pickle")
    assert (status, found["detail"]) == (422, "query: format must be millstream or onnx, got 'pickle'")


def test_a_model_that_onnx_cannot_represent_is_not_exported(ask):
    status, found = ask("GET", "/v1/models/sensors/export?format=onnx")
    assert (status, found["type"]) == (409, "/problems/not-exportable")


def test_the_models_of_a_keyed_model_are_counted(server, ask):
    for sensor in ("a", "b", "a"):
        assert ask("POST", "/v1/models/sensors/learn", {"x": {"sensor": sensor, "v": 1.0}, "y": 2.0})[0] == 201
    lines = raw(server, "GET", "/metrics")[1].decode().splitlines()
    assert 'millstream_keys{model="sensors",state="memory"} 2' in lines
    assert 'millstream_keys{model="sensors",state="spilled"} 0' in lines


def test_headers_that_http_requires(tmp_path):
    with serve.Server(
        linear_model.LinearRegression(), data=tmp_path / "data", name="m", port=0, require_token=False
    ) as server:
        server.tokens.create(["predict"])
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)) as connection:
            connection.request("POST", "/v1/models/m/predict", b'{"x":{}}')
            reply = connection.getresponse()
            assert (reply.status, reply.getheader("www-authenticate")) == (401, "Bearer")
            reply.read()
            connection.request("GET", "/v1/models/m/predict")
            reply = connection.getresponse()
            assert (reply.status, reply.getheader("allow")) == (405, "POST")


def listens(port):
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def test_a_drained_server_stops_and_keeps_its_labels(tmp_path):
    def start():
        return serve.Server(linear_model.LinearRegression(), data=tmp_path / "data", name="m", port=0)

    server = start().start()
    port = server.port
    with contextlib.closing(Connection(port)) as connection:
        connection.ask("POST", "/v1/models/m/learn", {"id": "a", "x": {"v": 1.0}, "y": 2.0})
        assert connection.ask("POST", "/v1/admin/drain") == (202, {"draining": True})
    end = time.monotonic() + 20
    while time.monotonic() < end and listens(port):
        time.sleep(0.02)
    assert not listens(port)
    server.stop()
    with start() as again:
        assert again.engine.state.models["m"].learned == 1
