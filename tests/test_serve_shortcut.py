"""The native shortcut: replies and records are those of the Python path, byte for byte."""

from __future__ import annotations

import hashlib
import http.client
import json
import random
import re
import threading
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream import _core, anomaly, base, cluster, linear_model, preprocessing, serve, tree
from millstream.errors import InvalidValue
from millstream.serve.engine import Engine
from millstream.serve.records import Kind, Record
from millstream.serve.store_errors import StoreFull

_NEW_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


class Served:
    """A server and a connection to it, with or without the shortcut."""

    def __init__(self, data: Any, model: Any, *, native: bool, **more: Any) -> None:
        self.server = serve.Server(model, data=data, name="m", port=0, **more)
        self.server.start()
        if not native:
            assert self.server.http is not None
            self.server.http.set_shortcut(None)
        self.connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=30)

    @property
    def native(self) -> int:
        """Requests answered without the handler."""
        assert self.server.http is not None
        return self.server.http.stats()["native"]

    @property
    def state(self) -> Any:
        return self.server.engine.state

    def ask(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> tuple[int, list[tuple[str, str]], bytes]:
        self.connection.request(method, path, body, headers or {})
        answer = self.connection.getresponse()
        data = answer.read()
        return answer.status, [field for field in answer.getheaders() if field[0] != "date"], data

    def predict(self, body: bytes | str, headers: dict[str, str] | None = None) -> Any:
        raw = body.encode() if isinstance(body, str) else body
        return self.ask("POST", "/v1/models/m/predict", raw, headers or {"content-type": "application/json"})

    def settle(self) -> None:
        """Wait until all events are in the state."""
        end = time.monotonic() + 20
        while self.server.engine.committer.events.in_flight:
            assert time.monotonic() < end
            time.sleep(0.001)

    def records(self) -> list[Record]:
        self.settle()
        return list(self.server.engine.store.read())

    def close(self) -> None:
        self.connection.close()
        self.server.stop()


def masked(text: bytes | str) -> str:
    """Without ids that the server made."""
    return _NEW_ID.sub("new", text.decode() if isinstance(text, bytes) else text)


@pytest.fixture
def pair(tmp_path):
    """Makes two equal servers, one of them without the shortcut."""
    made: list[Served] = []

    def make(model: Any, **more: Any) -> tuple[Served, Served]:
        made.extend(
            Served(tmp_path / str(native), _trained(model.clone()), native=native, **more)
            for native in (True, False)
        )
        return made[0], made[1]

    yield make
    for each in made:
        each.close()


def _trained(model: Any) -> Any:
    rng = random.Random(3)
    for _ in range(300):
        x = {"a": rng.gauss(0, 1), "b": rng.gauss(0, 2), "é": rng.choice(["u", "v\n"]), "flag": rng.random() < 0.5}
        if isinstance(model, (linear_model.LinearRegression, linear_model.LogisticRegression)):
            x.pop("é")
        role = model.role
        if role == "classifier":
            model.learn_one(x, ["no", 'yes"\\\x7f'][x["a"] + x["b"] > 0])
        elif role == "regressor":
            model.learn_one(x, 1e-7 * x["a"] + 3.0 * x["b"])
        else:
            model.learn_one(x)
    return model


MODELS = {
    "classifier": linear_model.LogisticRegression(),
    "tree": tree.HoeffdingTreeClassifier(grace_period=20),
    "pipeline": preprocessing.StandardScaler() | linear_model.LogisticRegression(),
    "regressor": linear_model.LinearRegression(),
    "anomaly detector": anomaly.HalfSpaceTrees(n_trees=3, height=3, window_size=50, seed=1),
    "clusterer": cluster.KMeans(n_clusters=3, seed=1),
}

#: Bodies that the shortcut answers for a model that knows a, b and flag, and bodies that Python answers.
NATIVE_BODIES = [
    '{"x":{"a":1.5,"b":-2.25}}',
    '{"x":{"a":1,"b":2,"flag":true}}',
    '{ "x" : { "a" : 1e-3 , "b" : -0.0 } }\n',
    '{"x":{"b":1e16,"a":5e-324}}',
    '{"x":{}}',
    '{"x":{"a":null,"flag":false}}',
    '{"x":{"new":"text","other":1,"third":null}}',
    '{"x":{"a":0.1},"id":"first"}',
    '{"id":"sec\\u006fnd \\"quoted\\" \\\\","x":{"a":0.2}}',
    '{"id":"018f3c4e-1234-7abc-8def-0123456789ab","x":{"a":0.2}}',
    '{"id":"018F3C4E-1234-7abc-8def-0123456789ab","x":{"a":0.2}}',
    '{"x":{"a":0.1},"key":"k"}',
    '{"x":{"a":0.1},"key":null}',
    '{"x":{"\\u0061":9007199254740993,"b":-9223372036854775808}}',
    '{"x":{"a":123456789012345678}}',
]
PYTHON_BODIES = [
    "",
    "{}",
    "null",
    "[1]",
    '{"x":1}',
    '{"x":null}',
    '{"x":{"a":[1]}}',
    '{"x":{"a":{"b":1}}}',
    '{"x":{"a":"text"}}',
    '{"x":{"a":1,"a":2}}',
    '{"x":{"b":1,"a":1,"b":2}}',
    '{"x":{"n":1,"n":2}}',
    '{"x":{"a":1},"x":{"a":1}}',
    '{"x":{"a":1e400}}',
    '{"x":{"a":NaN}}',
    '{"x":{"a":01}}',
    '{"x":{"a":1}',
    '{"x":{"a":1}}}',
    '{"x":{"a":1},}',
    '\ufeff{"x":{"a":1}}',
    '{"x":{"a":"\\ud800"}}',
    '{"x":{"a":99999999999999999999}}',
    '{"x":{"a":1},"other":1}',
    '{"x":{"a":1},"id":""}',
    '{"x":{"a":1},"id":7}',
    '{"x":{"a":1},"id":"a\\u0007"}',
    '{"x":{"a":1},"id":"é"}',
    '{"x":{"a":1},"id":"' + "i" * 129 + '"}',
    '{"x":{"a":1},"ts":1000}',
    '{"x":{"a":1},"ts":"bad"}',
    '{"x":{"a":1},"trace":"t"}',
    '{"x":{"a":1},"defer":true}',
    '{"x":{"a":1},"defer":false}',
    '{"x":{"a":1},"key":{}}',
    '{"x":{"a":0.1},"id":"first"}',
    '{"x":{"a":0.5},"id":"first"}',
]


@pytest.mark.parametrize("name", MODELS)
def test_replies_and_records_are_those_of_python(name, pair):
    native, python = pair(MODELS[name])
    for index, body in enumerate([*NATIVE_BODIES, *PYTHON_BODIES]):
        replies = []
        for served in (native, python):
            before = served.native
            status, fields, data = served.predict(body)
            expects_native = served is native and index < len(NATIVE_BODIES)
            assert served.native - before == expects_native, (body, data)
            replies.append((status, fields, masked(data)))
            # Events teach models without labels, so that the next prediction depends on them.
            served.settle()
        assert replies[0] == replies[1], body
    stored = [
        [
            (each.seq, each.kind, each.stream, masked(str(each.id)), masked(each.body))
            for each in served.records()[1:]
        ]
        for served in (native, python)
    ]
    assert stored[0] == stored[1]
    assert native.state.models["m"].model.to_bytes() == python.state.models["m"].model.to_bytes()
    events = [each for each in native.records() if each.kind == Kind.EVENT]
    assert len(events) >= len(NATIVE_BODIES)
    assert native.state.by_name["m"].predictions == python.state.by_name["m"].predictions == len(events)


FEATURES = st.dictionaries(
    st.sampled_from(["a", "b", "flag", "c", "é", '"\\', ""]),
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(max_size=5),
    max_size=6,
)


@pytest.fixture(scope="module")
def trees(tmp_path_factory):
    both = []
    for native in (True, False):
        model = _trained(tree.HoeffdingTreeClassifier(grace_period=20))
        both.append(Served(tmp_path_factory.mktemp("trees") / str(native), model, native=native))
    yield both
    for each in both:
        each.close()


@settings(max_examples=150, deadline=None)
@given(FEATURES, st.booleans(), st.integers(0, 300), st.integers(0, 255))
def test_random_and_damaged_bodies_get_the_reply_of_python(trees, x, spaces, place, byte):
    """Infinities, long integers and one changed byte included."""
    separators = (", ", ": ") if spaces else (",", ":")
    body = bytearray(json.dumps({"x": x}, separators=separators, ensure_ascii=False).encode())
    if place < len(body):
        body[place] = byte
    replies = [served.predict(bytes(body)) for served in trees]
    first, second = [(status, fields, masked(data)) for status, fields, data in replies]
    assert first == second


@pytest.mark.parametrize(
    "label",
    [True, 3, "text", "é \U0001f600", 'a"b\\c\n\x01\x7f'],
    ids=["bool", "int", "text", "beyond ASCII", "escapes"],
)
def test_labels_are_written_as_json(label, pair):
    other = (not label) if isinstance(label, bool) else 4 if isinstance(label, int) else "other"
    native, python = pair(tree.HoeffdingTreeClassifier())
    replies = []
    for served in (native, python):
        model = tree.HoeffdingTreeClassifier()
        for _ in range(5):
            model.learn_one({"a": 1.0}, label)
        model.learn_one({"a": -1.0}, other)
        served.ask("DELETE", "/v1/models/m")
        served.server.engine.create("m", model)
        before = served.native
        replies.append(masked(served.predict('{"x":{"a":1}}')[2]))
        assert served.native - before == (served is native)
    assert replies[0] == replies[1]
    assert json.loads(replies[0])["y"] == label


def test_a_model_follows_its_labels_versions_and_rollbacks(pair):
    native, python = pair(linear_model.LinearRegression())
    replies: list[list[str]] = [[], []]
    for found, served in zip(replies, (native, python), strict=True):
        before = served.native
        for index in range(20):
            found.append(masked(served.predict(json.dumps({"id": f"e{index}", "x": {"a": index, "b": 1}}))[2]))
            found.append(masked(served.ask("PUT", f"/v1/models/m/labels/e{index}", b'{"y":%d}' % index)[2]))
            if index == 5:
                found.append(masked(served.ask("POST", "/v1/models/m/versions", b'{"version":"five"}')[2]))
            if index == 15:
                found.append(masked(served.ask("POST", "/v1/models/m/rollback", b'{"to":"five"}')[2]))
        assert served.native - before == (20 if served is native else 0)
    assert replies[0] == replies[1]
    assert json.loads(replies[0][-2])["version"] == "five"
    assert native.state.models["m"].model.to_bytes() == python.state.models["m"].model.to_bytes()


def test_a_log_of_native_events_replays_to_the_same_state(tmp_path):
    policy = {"window": 3600, "max_pending": 50}
    served = Served(tmp_path / "data", linear_model.LinearRegression(), native=True, policy=policy)
    for index in range(120):
        served.predict(json.dumps({"id": f"e{index}", "x": {"a": index}}))
        if index % 3 == 0:
            status, _, _ = served.ask("PUT", f"/v1/models/m/labels/e{index}", b'{"y":1}')
            assert status == 201
    served.settle()
    header, blobs = served.state.snapshot()
    served.close()
    assert served.native == 120
    again = Engine(tmp_path / "data", read_only=True, from_start=True)
    assert again.state.snapshot() == (header, blobs)
    assert len(again.state.by_name["m"].pending) == 50
    again.stop()


def test_what_is_not_a_plain_request_goes_to_python(tmp_path):
    served = Served(tmp_path / "data", linear_model.LinearRegression(), native=True)
    path, body = "/v1/models/m/predict", b'{"x":{"a":1}}'
    requests: list[tuple[str, str, dict[str, str], int]] = [
        ("POST", f"{path}?wait=durable", {}, 200),
        ("POST", f"{path}/", {}, 200),
        ("POST", "/v1/models/other/predict", {}, 404),
        ("PUT", path, {}, 405),
        ("POST", path, {"content-type": "text/plain"}, 200),
    ]
    try:
        for method, target, fields, expected in requests:
            assert served.ask(method, target, body, fields)[0] == expected, target
        assert served.native == 0
        for fields in ({}, {"content-type": "Application/JSON ; charset=utf-8"}):
            assert served.ask("POST", path, body, fields)[0] == 200
        assert served.native == 2
        others: list[tuple[dict[str, str], int]] = [
            ({"origin": "http://example.org"}, 403),
            ({"origin": f"http://127.0.0.1:{served.server.port}"}, 200),
            ({"host": "example.org"}, 403),
            ({"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}, 200),
        ]
        for fields, expected in others:
            assert served.ask("POST", path, body, fields)[0] == expected, fields
        assert served.native == 2
        assert served.ask("POST", path, body, {"host": "localhost:1"})[0] == 200
        assert served.native == 3
    finally:
        served.close()


def test_models_that_python_must_answer_for(tmp_path):
    class Half(base.Regressor):
        def learn_one(self, x, y, w=1.0):
            pass

        def predict_one(self, x):
            return 0.5

    models: list[tuple[Any, list[str] | None]] = [(Half(), None), (linear_model.LogisticRegression(), ["LogLoss"])]
    for index, (model, metrics) in enumerate(models):
        served = Served(tmp_path / str(index), model, native=True, metrics=metrics)
        try:
            assert served.predict('{"x":{"a":1}}')[0] == 200
            assert served.native == 0
        finally:
            served.close()


def test_routes_are_left_to_python(tmp_path):
    server = serve.Server(
        models={"one": linear_model.LinearRegression(), "two": linear_model.LinearRegression()},
        data=tmp_path / "data",
        port=0,
    )
    with server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port)
        connection.request("PUT", "/v1/routes/both", json.dumps({"champion": "one", "challengers": ["two"]}))
        assert connection.getresponse().read()
        assert server.http is not None
        for path, native in (("both", 0), ("one", 1), ("two", 2)):
            connection.request("POST", f"/v1/models/{path}/predict", b'{"x":{"a":1}}')
            answer = connection.getresponse()
            assert answer.status == 200
            answer.read()
            assert server.http.stats()["native"] == native


def test_tokens_are_checked(tmp_path):
    served_by = serve.Server(linear_model.LinearRegression(), data=tmp_path / "data", port=0, name="m")
    tokens = {
        "predict": served_by.tokens.create(["predict"], "p"),
        "admin": served_by.tokens.create(["admin"], "a"),
        "label": served_by.tokens.create(["label"], "l"),
        "old": served_by.tokens.create(["predict"], "o", days=1),
        "expired": served_by.tokens.create(["predict"], "e", days=-1),
    }
    next(each for each in served_by.tokens._known if each["name"] == "o")["expires"] = time.time() + 1.0
    expected = {"predict": (200, 1), "admin": (200, 1), "label": (403, 0), "expired": (401, 0), "old": (200, 1)}
    with served_by:
        assert served_by.http is not None
        connection = http.client.HTTPConnection("127.0.0.1", served_by.port)

        def ask(authorization: str | None) -> tuple[int, int]:
            before = served_by.http.stats()["native"]
            fields = {} if authorization is None else {"authorization": authorization}
            connection.request("POST", "/v1/models/m/predict", b'{"x":{"a":1}}', fields)
            answer = connection.getresponse()
            answer.read()
            return answer.status, served_by.http.stats()["native"] - before

        for name, (status, native) in expected.items():
            assert ask(f"Bearer {tokens[name]}") == (status, native), name
        assert ask(f"bearer  {tokens['predict']} ") == (200, 1)
        for authorization in (None, "Bearer", "Bearer x", f"Basic {tokens['predict']}", tokens["predict"]):
            assert ask(authorization) == (401, 0), authorization
        time.sleep(1.1)
        assert ask(f"Bearer {tokens['old']}") == (401, 0)


def test_a_label_right_after_its_prediction_finds_its_event(tmp_path):
    """Events are written before the labels that were proposed after them, however they are grouped."""
    served = Served(tmp_path / "data", linear_model.LinearRegression(), native=True)
    failures: list[Any] = []

    def work(worker: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", served.server.port, timeout=30)
        for index in range(100):
            id = f"w{worker}-{index}" if index % 2 else None
            body = {"x": {"a": index}} | ({} if id is None else {"id": id})
            connection.request("POST", "/v1/models/m/predict", json.dumps(body))
            reply = json.loads(connection.getresponse().read())
            connection.request("PUT", f"/v1/models/m/labels/{reply['id']}", b'{"y":1.0}')
            fate = json.loads(connection.getresponse().read())
            connection.request("POST", "/v1/models/m/predict", json.dumps(body | {"id": reply["id"]}))
            again = json.loads(connection.getresponse().read())
            if fate.get("fate") != "learned" or not again.get("repeated"):
                failures.append((reply, fate, again))
        connection.close()

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    served.settle()
    try:
        assert failures == []
        assert served.state.by_name["m"].fates["learned"] == 600
        # A prediction that meets a lock of the log thread is left to Python.
        assert served.native >= 500
    finally:
        served.close()


def test_a_repeated_id_gets_its_first_prediction_again(tmp_path):
    """From several connections at once, while the first event may still be on its way to the log."""
    served = Served(tmp_path / "data", linear_model.LinearRegression(), native=True, settings={"threads": 2})
    replies: list[dict[str, Any]] = []

    def work() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", served.server.port, timeout=30)
        for index in range(60):
            connection.request("POST", "/v1/models/m/predict", json.dumps({"id": f"e{index}", "x": {"a": 1}}))
            replies.append(json.loads(connection.getresponse().read()))
        connection.close()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    try:
        first = [reply for reply in replies if "repeated" not in reply]
        assert len(replies) == 240
        assert len(first) == 60
        events = [each for each in served.records() if each.kind == Kind.EVENT]
        assert sorted(str(each.id) for each in events) == sorted(reply["id"] for reply in first)
    finally:
        served.close()


def test_predictions_go_on_when_the_disk_is_full(tmp_path, monkeypatch):
    served = Served(tmp_path / "data", linear_model.LinearRegression(), native=True)
    store, committer = served.server.engine.store, served.server.engine.committer
    append = store.append

    def full(*args: Any) -> int:
        raise StoreFull("full")

    try:
        assert json.loads(served.predict('{"x":{"a":1}}')[2])["stored"] is True
        served.settle()
        monkeypatch.setattr(store, "append", full)
        served.predict('{"x":{"a":2}}')
        end = time.monotonic() + 10
        while committer.disk_error is None and time.monotonic() < end:
            time.sleep(0.001)
        assert json.loads(served.predict('{"x":{"a":3}}')[2])["stored"] is False
        while committer.lost_events < 2 and time.monotonic() < end:
            time.sleep(0.001)
        monkeypatch.setattr(store, "append", append)
        assert json.loads(served.predict('{"x":{"a":4}}')[2])["stored"] is False
        served.settle()
        assert json.loads(served.predict('{"x":{"a":5}}')[2])["stored"] is True
        events = [each for each in served.records() if each.kind == Kind.EVENT]
        assert [json.loads(each.body)["x"]["a"] for each in events] == [1, 4, 5]
        assert (committer.lost_events, served.native) == (2, 5)
    finally:
        monkeypatch.setattr(store, "append", append)
        served.close()


def test_a_full_queue_answers_without_storing(tmp_path, monkeypatch):
    served = Served(tmp_path / "data", linear_model.LinearRegression(), native=True)
    committer = served.server.engine.committer
    try:
        committer.events.close()
        assert json.loads(served.predict('{"x":{"a":1}}')[2])["stored"] is False
        committer.events.notify()
        end = time.monotonic() + 10
        while not committer.lost_events and time.monotonic() < end:
            time.sleep(0.001)
        assert committer.lost_events == 1
        assert [each for each in served.records() if each.kind == Kind.EVENT] == []
    finally:
        served.close()


def test_predictions_are_counted(tmp_path):
    served = Served(tmp_path / "data", linear_model.LinearRegression(), native=True)
    try:
        for _ in range(5):
            served.predict('{"x":{"a":1}}')
        served.predict('{"x":{"a":1},"ts":1}')
        durations = served.server.counters.durations["m"]
        assert sum(durations.counts) == 6
        assert 0 < durations.sum < 1
        page = served.ask("GET", "/metrics")[2].decode()
        assert re.search(r'^millstream_\w+_seconds_count\{[^}]*"m"[^}]*\} 6(\.0)?$', page, re.MULTILINE), page
    finally:
        served.close()


# The queue alone.


def test_a_wait_ends_by_a_notice_or_after_its_time():
    queue = _core.EventQueue()
    queue.notify()
    start = time.monotonic()
    queue.wait(10.0)
    assert time.monotonic() - start < 1
    queue.wait(0.05)
    assert time.monotonic() - start >= 0.05
    threading.Timer(0.05, queue.notify).start()
    queue.wait(10.0)
    assert time.monotonic() - start < 5
    with pytest.raises(InvalidValue, match="timeout"):
        queue.wait(-1.0)


def test_proposed_ids_are_in_flight():
    queue = _core.EventQueue()
    uuid = "018f3c4e-1234-7abc-8def-0123456789ab"
    for id in ("a", uuid):
        assert queue.add_proposed(3, id)
        assert not queue.add_proposed(3, id)
        assert queue.is_in_flight(3, id)
        assert not queue.is_in_flight(4, id)
        queue.remove_proposed(3, id)
        assert not queue.is_in_flight(3, id)
    assert queue.take(0, 1, 0) is None
    assert (queue.waiting, queue.take_lost()) == (0, 0)


def test_an_id_is_given_to_one_event_only():
    queue, pending = _core.EventQueue(), _core.PendingEvents()
    pending.add("known", 1, 0, 5)
    assert queue.add(1, "a", "{}", pending) is True
    assert queue.add(1, "a", "{}", pending) is None
    assert queue.add(1, "known", "{}", pending) is None
    assert not queue.add_proposed(1, "a", pending)
    assert not queue.add_proposed(1, "known", pending)
    assert queue.add_proposed(1, "b", pending)
    assert queue.add(1, "b", "{}", pending) is None
    # Ids of the server need no check.
    assert queue.add(1, "b", "{}") is True


def test_headers_are_checked():
    with pytest.raises(InvalidValue, match="headers must end with CR LF"):
        _core.PredictShortcut(_core.EventQueue(), b"content-type: x")


def test_hashes_of_tokens_have_32_bytes():
    shortcut = _core.PredictShortcut(_core.EventQueue(), b"")
    shortcut.set_access(True, [(hashlib.sha256(b"t").digest(), None)], False)
    with pytest.raises((ValueError, TypeError)):
        shortcut.set_access(True, [(b"short", None)], False)
