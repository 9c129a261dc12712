"""Learners written in Python behind the native shortcut: replies, records and counts are those of the handler."""

from __future__ import annotations

import http.client
import json
import re
import socket
import threading
import time
from typing import Any

import numpy as np
import pytest

from millstream import serve
from millstream.errors import InvalidValue
from millstream.serve.records import Kind

_NEW_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


class Learner:
    """A classifier that predicts what the feature `y` tells it to, and fails as `error` tells it to."""

    def __init__(self) -> None:
        self.calls = 0

    def predict_one(self, x: dict[str, Any]) -> Any:
        self.calls += 1
        x["changed by the learner"] = 1
        error = x.get("error")
        if error == "own":
            raise InvalidValue("Learner: must not be so")
        if error == "other":
            raise KeyError("a\nb")
        if error == "type":
            return object()
        if error == "surrogate":
            return "\ud800"
        if error == "infinite":
            return float("inf")
        if error == "probabilities":
            return {"a": 0.25, "b": 0.75}
        if "numpy" in x:
            return np.dtype(x["numpy"]).type(x.get("y", 1))
        return x.get("y", False)

    def predict_proba_one(self, x: dict[str, Any]) -> dict[Any, float]:
        return {self.predict_one(x): 1.0}

    def learn_one(self, x: dict[str, Any], y: Any) -> None:
        pass


class Counting:
    """A classifier that records what it learns."""

    def __init__(self) -> None:
        self.learned: list[tuple[dict[str, Any], Any]] = []

    def predict_one(self, x: dict[str, Any]) -> bool:
        return len(self.learned) % 2 == 1

    def learn_one(self, x: dict[str, Any], y: Any) -> None:
        self.learned.append((x, y))

    role = "classifier"


class Regressor:
    """A regressor that predicts a feature."""

    def predict_one(self, x: dict[str, Any]) -> Any:
        return x.get("y", 0.1)

    def learn_one(self, x: dict[str, Any], y: float) -> None:
        pass

    role = "regressor"


class Served:
    """A server and a connection to it, with or without the shortcut."""

    def __init__(self, data: Any, model: Any, *, native: bool, **more: Any) -> None:
        self.server = serve.Server(model, data=data, name="m", port=0, **more)
        self.server.start()
        if not native:
            assert self.server.http is not None
            self.server.http.set_shortcut(None)
            self.server._shortcut = None
        self.connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=30)

    def ask(self, method: str, path: str, body: bytes, headers: dict[str, str] | None = None) -> Any:
        self.connection.request(method, path, body, headers or {})
        answer = self.connection.getresponse()
        data = answer.read()
        fields = [field for field in answer.getheaders() if field[0] not in ("date", "content-length")]
        return answer.status, fields, _NEW_ID.sub("new", data.decode("utf-8", "surrogateescape"))

    def predict(self, body: str, headers: dict[str, str] | None = None) -> Any:
        return self.ask("POST", "/v1/models/m/predict", body.encode(), headers)

    def records(self) -> list[tuple[Any, ...]]:
        end = time.monotonic() + 20
        while self.server.engine.committer.events.in_flight:
            assert time.monotonic() < end
            time.sleep(0.001)
        # Administrative records have random names of files.
        found = [each for each in self.server.engine.store.read() if each.kind != Kind.ADMIN]
        return [(each.seq, each.kind, each.stream, _NEW_ID.sub("new", each.id or ""), each.body) for each in found]

    @property
    def shortcut_predictions(self) -> int:
        """Number of predictions that went through the shortcut."""
        if self.server._shortcut is None:
            return 0
        counts = self.server._shortcut.native.counts()
        return sum(counts["m"][0]) if "m" in counts else 0

    @property
    def predictions(self) -> int:
        found = self.server.counters.durations.get("m")
        return 0 if found is None else sum(found.counts)


@pytest.fixture
def pair(tmp_path):
    made: list[Served] = []

    def make(model: type, **more: Any) -> tuple[Served, Served]:
        made.extend(Served(tmp_path / str(native), model(), native=native, **more) for native in (True, False))
        return made[0], made[1]

    yield make
    for each in made:
        each.connection.close()
        each.server.stop()


#: Bodies that the shortcut prepares, and bodies that it leaves to the handler.
SHORT_BODIES = [
    '{"x":{"a":1.5,"b":-2.25}}',
    ' { "x" : { "a" : 1e-3 , "y" : true } } ',
    '{"x":{"y":"text \\u00e9 \\"quoted\\""}}',
    '{"x":{"y":"é"}}',
    '{"x":{"y":123456789012345678901234567890}}',
    '{"x":{"y":-0.0}}',
    '{"x":{"numpy":"float32","y":0.1}}',
    '{"x":{"numpy":"float64","y":0.1}}',
    '{"x":{"numpy":"int64","y":-7}}',
    '{"x":{"numpy":"bool","y":1}}',
    '{"x":{"numpy":"str","y":"é"}}',
    '{"x":{"":1,"\\u0000":2,"é":3,"a":-1E+2}}',
    '{"x":{"y":1e-7}}',
    '{"x":{"y":null}}',
    '{"x":{"y":[1,2.5,"a"]}}',
    '{"x":{}}',
    '{"x":{"a":{"b":[1,{"c":null}]}}}',
    '{"\\u0078":{"a":1}}',
]
_ERRORS = ("own", "other", "type", "surrogate", "infinite", "probabilities")
FAILING_BODIES = [f'{{"x":{{"error":"{kind}"}}}}' for kind in _ERRORS]
FAILING_BODIES.append('{"x":{"y":{"a":1}}}')
HANDLER_BODIES = [
    "",
    "{}",
    "null",
    '{"x":1}',
    '{"x":null}',
    '{"x":[1]}',
    '{"x":{"a":1,"a":2}}',
    '{"x":{"a":1},"x":{"a":1}}',
    '{"x":{"a":1e400}}',
    '{"x":{"a":NaN}}',
    '{"x":{"a":1}',
    '{"x":{"a":1}}}',
    '{"x":{"a":1},}',
    '{"x":{"a":"\\ud800"}}',
    '{"x":{"a":1},"other":1}',
    '{"x":{"a":1},"id":"first"}',
    '{"x":{"a":1},"id":"first"}',
    '{"x":{"a":2},"id":"first"}',
    '{"x":{"a":1},"id":7}',
    '{"x":{"a":1},"key":"k"}',
    '{"x":{"a":1},"ts":1000}',
    '{"x":{"a":1},"trace":"t"}',
    '{"x":{"a":1},"defer":true}',
    '{"x":' + '{"a":' * 200 + "1" + "}" * 201,
]


@pytest.mark.parametrize("model", [Learner, Regressor])
def test_replies_and_records_are_equal(pair, model):
    short, plain = pair(model)
    for body in SHORT_BODIES + FAILING_BODIES + HANDLER_BODIES:
        # Records have equal numbers only if the events are committed one by one.
        assert short.predict(body) == plain.predict(body), body
        assert short.records() == plain.records(), body
    assert short.predictions == plain.predictions
    assert short.server.counters.refused == plain.server.counters.refused
    assert plain.shortcut_predictions == 0


def test_the_shortcut_prepares_common_bodies_and_calls_the_learner_once(pair):
    short, _ = pair(Learner)
    learner = short.server.engine.state.models["m"].model
    for number, body in enumerate(SHORT_BODIES, 1):
        assert short.predict(body)[0] == 200
        assert short.shortcut_predictions == number, body
        assert learner.calls == number, body
    for number, body in enumerate(FAILING_BODIES, len(SHORT_BODIES) + 1):
        assert short.predict(body)[0] >= 400
        assert learner.calls == number, body
    for body in HANDLER_BODIES:
        short.predict(body)
    # A prediction that cannot be written as UTF-8 was made, and is counted.
    assert short.shortcut_predictions == len(SHORT_BODIES) + 1


def test_requests_that_the_handler_must_see(pair):
    short, plain = pair(Learner)
    body = '{"x":{"a":1}}'
    for headers in (
        {"origin": "http://example.org"},
        {"host": "example.org"},
        {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
    ):
        assert short.predict(body, headers) == plain.predict(body, headers)
    for path in (
        "/v1/models/m/predict?wait=durable",
        "/v1/models/m/predict?other=1",
        "/v1/models/%6d/predict",
        "/v1/models/n/predict",
    ):
        assert short.ask("POST", path, body.encode()) == plain.ask("POST", path, body.encode()), path
    assert short.records() == plain.records()
    assert short.shortcut_predictions == 0


def test_tokens_are_checked(pair):
    short, plain = pair(Learner)
    # Servers that get their first token while they run need tokens from then on.
    tokens = [each.server.tokens.create(["predict"], "one") for each in (short, plain)]
    labels = [each.server.tokens.create(["label"], "two") for each in (short, plain)]
    for given in (None, tokens, labels, ["wrong", "wrong"]):
        replies = []
        for index, each in enumerate((short, plain)):
            headers = {} if given is None else {"authorization": f"Bearer {given[index]}"}
            replies.append(each.predict('{"x":{}}', headers))
        assert replies[0] == replies[1]
    assert short.shortcut_predictions == 1


def test_models_routes_and_versions_are_followed(pair):
    short, plain = pair(Learner)
    body = b'{"x":{"y":true}}'
    for each in (short, plain):
        each.server.engine.create("n", Learner())
    for path, method, sent in (
        ("/v1/models/n/predict", "POST", body),
        ("/v1/models/m/versions", "POST", b'{"name":"first"}'),
        ("/v1/models/m/predict", "POST", body),
        ("/v1/models/m/routes", "POST", b"{}"),
        ("/v1/routes/r", "PUT", b'{"champion":"m","challengers":["n"]}'),
        ("/v1/models/m/predict", "POST", body),
        ("/v1/models/r/predict", "POST", body),
        ("/v1/models/n", "DELETE", b""),
        ("/v1/models/n/predict", "POST", body),
    ):
        found = [each.ask(method, path, sent) for each in (short, plain)]
        assert [each[0] for each in found] == [found[0][0]] * 2, (path, found)
        if path.endswith("/predict"):
            assert found[0] == found[1], path
    assert short.shortcut_predictions > 0


def test_the_number_of_the_last_record_is_current(pair):
    for each in pair(Learner):
        each.predict('{"x":{"a":1},"id":"e"}')
        status, _, text = each.ask("PUT", "/v1/models/m/labels/e", b'{"y":true}')
        assert status == 201, text
        seq = each.server.engine.state.models["m"].seq
        assert f'"seq":{seq},' in each.predict('{"x":{"a":1}}')[2]


def test_a_prediction_waits_for_a_learner_that_learns(tmp_path):
    entered, leave = threading.Event(), threading.Event()

    class Slow(Learner):
        def learn_one(self, x: dict[str, Any], y: Any) -> None:
            entered.set()
            leave.wait(20)

        def __deepcopy__(self, memo: Any) -> Any:
            return Slow()

    served = Served(tmp_path, Slow(), native=True)
    try:
        served.predict('{"x":{"a":1},"id":"e"}')
        other = http.client.HTTPConnection("127.0.0.1", served.server.port, timeout=30)
        other.request("PUT", "/v1/models/m/labels/e", b'{"y":true}')
        assert entered.wait(20)
        status, _, text = served.predict('{"x":{"a":1}}')
        assert (status, "learner-busy" in text) == (503, True)
        assert served.server.counters.refused == {"m": 1}
        leave.set()
        assert other.getresponse().status == 201
        other.close()
    finally:
        leave.set()
        served.connection.close()
        served.server.stop()


def test_late_labels_are_learned_once_from_the_features_as_sent(pair):
    learned = []
    for each in pair(Counting):
        connection = each.connection
        ids = []
        for number in range(20):
            body = f'{{"x":{{"a":{number}.50,"b":"é"}}}}'
            connection.request("POST", "/v1/models/m/predict", body.encode())
            ids.append(json.loads(connection.getresponse().read())["id"])
        assert len(set(ids)) == 20
        for id in reversed(ids):
            path = f"/v1/models/m/labels/{id}"
            replies = [each.ask("PUT", path, b'{"y":true}') for _ in range(3)]
            assert [reply[0] for reply in replies] == [201, 200, 200]
            assert each.ask("PUT", path, b'{"y":false}')[0] == 409
        learned.append(each.server.engine.state.models["m"].model.learned)
        assert each.server.engine.state.models["m"].scored == 20
    assert learned[0] == learned[1] == [({"a": number + 0.5, "b": "é"}, True) for number in reversed(range(20))]


def test_events_survive_a_restart(tmp_path):
    served = Served(tmp_path, Counting(), native=True)
    served.connection.request("POST", "/v1/models/m/predict", b'{"x":{"a":1}}')
    id = json.loads(served.connection.getresponse().read())["id"]
    assert served.shortcut_predictions == 1
    served.connection.close()
    served.server.stop()
    again = Served(tmp_path, Counting(), native=True)
    try:
        for status in (201, 200):
            assert again.ask("PUT", f"/v1/models/m/labels/{id}", b'{"y":true}')[0] == status
        assert again.server.engine.state.models["m"].model.learned == [({"a": 1}, True)]
    finally:
        again.connection.close()
        again.server.stop()


def test_concurrent_and_pipelined_predictions_are_all_stored(pair):
    short, _ = pair(Counting)
    ids: list[str] = []

    def send() -> None:
        with socket.create_connection(("127.0.0.1", short.server.port), timeout=30) as plain:
            for index in range(20):
                body = f'{{"x":{{"a":{index}}}}}'
                head = (
                    f"POST /v1/models/m/predict HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(body)}\r\n\r\n"
                )
                plain.sendall((head + body).encode() * 2)
            found = b""
            while found.count(b'"stored":true}') < 40:
                piece = plain.recv(65536)
                assert piece, found[-500:]
                found += piece
            ids.extend(_NEW_ID.findall(found.decode()))

    threads = [threading.Thread(target=send) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    stored = [each for each in short.records() if each[1] == Kind.EVENT]
    assert len(ids) == len(set(ids)) == len(stored) == short.shortcut_predictions == 160


class Panic(BaseException):
    """What compiled libraries raise when they panic."""


class Ending:
    """A regressor that raises exceptions that would end a thread."""

    def __init__(self) -> None:
        self.n = 0

    def _raise(self, x: dict[str, Any]) -> None:
        error = {"exit": SystemExit, "panic": Panic, "interrupt": KeyboardInterrupt}.get(x.get("error", ""))
        if error is not None:
            raise error("over")

    def predict_one(self, x: dict[str, Any]) -> float:
        if x.get("when") == "predict":
            self._raise(x)
        return float(self.n)

    def learn_one(self, x: dict[str, Any], y: float) -> None:
        self._raise(x)
        self.n += 1


@pytest.mark.parametrize(
    ("word", "name"), [("exit", "SystemExit"), ("panic", "Panic"), ("interrupt", "KeyboardInterrupt")]
)
def test_an_exception_that_would_end_a_thread_concerns_only_its_request(tmp_path, word, name):
    data = tmp_path / "data"
    with serve.Server(Ending(), name="m", data=data, port=0) as server:
        client = serve.Client(server.url, retries=0)
        x = {"when": "predict", "error": word}
        with pytest.raises(serve.ServeError, match=f"Ending raised {name}: over") as found:
            client.predict("m", x)
        assert found.value.status == 500
        assert name in client.predict_many("m", [x, {}])[0]["detail"]
        id = client.predict("m", {"error": word})["id"]
        with pytest.raises(serve.ServeError, match=name) as found:
            client.label("m", id, 1.0)
        assert (found.value.status, found.value.problem["fate"]) == (422, "quarantined")
        assert client.learn("m", {}, 1.0)["fate"] == "learned"
        assert client.predict("m", {})["y"] == 1.0
    if word != "interrupt":
        # In the main thread, an interrupt of the user ends the replay.
        with serve.Server(Ending(), name="m", data=data, port=0) as server:
            assert server.engine.state.models["m"].model.n == 1
