"""The client: nothing is predicted or learned twice, whatever fails between client and server."""

from __future__ import annotations

import pickle
import socket
import threading
import time

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from millstream import from_bytes, linear_model
from millstream.errors import InvalidType, InvalidValue, MillstreamError
from millstream.serve import Client, LabelPolicy, ServeError, Server, transport
from serving import Direct, FaultyLine

FAULTS = ["refuse", "lose", (502, {}), (503, {"retry-after": "0"}), (504, {}), (507, {}), (429, {})]


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch):
    monkeypatch.setattr(transport, "_FIRST_PAUSE", 0.0)


@pytest.fixture
def direct(tmp_path):
    with Direct(tmp_path, models={"m": linear_model.LinearRegression()}) as direct:
        yield direct


@pytest.fixture
def line(direct):
    line = FaultyLine(direct)
    yield line
    line.close()


@pytest.fixture
def client(line):
    return Client(line.url)


def test_predict_label_and_event(client):
    answer = client.predict("m", {"a": 1.5}, ts="2026-01-01T00:00:00Z")
    assert answer["model"] == "m"
    assert answer["stored"] is True
    assert client.label("m", answer["id"], 3)["fate"] == "learned"
    event = client.event("m", answer["id"])
    assert (event["x"], event["label"]) == ({"a": 1.5}, "labelled")
    assert client.progress("m", event["label_seq"])["applied"] is True
    assert client.model("m")["learned"] == 1


def test_durable_prediction_names_its_record(client):
    answer = client.predict("m", {"a": 1.5}, wait="durable", id="one")
    assert answer["durable"] is True
    assert client.event("m", "one")["seq"] == answer["event"]


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_a_fault_repeats_nothing(client, line, direct, fault):
    line.faults.append(fault)
    first = client.predict("m", {"a": 2.0})
    line.faults.append(fault)
    label = client.label("m", first["id"], 4.0)
    line.faults.append(fault)
    learned = client.learn("m", {"a": 1.0}, 2.0)
    sent_twice = len(line.requests)
    assert sent_twice == 6
    stream = direct.server.engine.state.by_name["m"]
    lost = fault == "lose"
    assert (label["fate"], learned["fate"]) == (("duplicate", "duplicate") if lost else ("learned", "learned"))
    assert stream.predictions == 1
    assert direct.server.engine.state.models["m"].learned == 2


@pytest.mark.parametrize("fault", ["refuse", "lose"])
@pytest.mark.parametrize("format", ["ndjson", "arrow"])
def test_a_batch_survives_a_fault(client, line, direct, fault, format):
    for value in (1.0, 2.0):
        client.learn("m", {"a": value}, 2 * value)
    line.faults.append(fault)
    results = client.predict_many("m", [{"a": 1.0}, {"a": 2.0}], ids=["one", "two"], format=format)
    assert [result["id"] for result in results] == ["one", "two"]
    assert all(isinstance(result["y"], float) for result in results)
    line.faults.append(fault)
    fates = [result["fate"] for result in client.labels("m", [("one", 1.0), {"id": "two", "y": 2.0}])]
    assert fates == (["duplicate", "duplicate"] if fault == "lose" else ["learned", "learned"])
    assert direct.server.engine.state.models["m"].learned == 4
    assert direct.server.engine.state.by_name["m"].predictions == 2


def test_features_of_arrow_are_those_that_were_served(client, direct):
    client.predict_many("m", pa.table({"a": [1.0, 2.0]}), ids=["one", "two"], wait="durable")
    assert client.event("m", "two")["x"] == {"a": 2.0}
    client.labels("m", [("one", 1.0), ("two", 2.0)])
    twin = linear_model.LinearRegression()
    twin.learn_one({"a": 1.0}, 1.0)
    twin.learn_one({"a": 2.0}, 2.0)
    assert direct.server.engine.state.models["m"].model.to_bytes() == twin.to_bytes()


def test_changes_of_models_are_not_repeated_if_they_may_have_happened(client, line, direct):
    line.faults.append("lose")
    with pytest.raises(ServeError, match="no answer"):
        client.create("new", "LinearRegression")
    assert "new" in direct.server.engine.state.models
    with pytest.raises(ServeError) as caught:
        client.create("new", "LinearRegression")
    assert (caught.value.status, caught.value.type) == (409, "/problems/name-in-use")


def test_changes_of_models_are_repeated_if_they_were_refused(client, line):
    line.faults += [(503, {}), (507, {})]
    assert client.create("new", linear_model.LinearRegression())["model"] == "new"
    assert len(line.requests) == 3


def test_it_gives_up(line):
    client = Client(line.url, retries=2)
    line.faults += ["refuse"] * 3
    with pytest.raises(ServeError, match="after 3 attempts") as caught:
        client.predict("m", {"a": 1.0})
    assert caught.value.status is None
    line.faults += [(503, {})] * 3
    with pytest.raises(ServeError, match="503: no") as caught:
        client.predict("m", {"a": 1.0})
    assert caught.value.status == 503
    assert len(line.requests) == 6


def test_it_waits_as_long_as_the_server_asks(client, line):
    line.faults.append((503, {"retry-after": "0.25"}))
    start = time.monotonic()
    client.models()
    assert time.monotonic() - start >= 0.25


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("3", 3.0), ("1e9", 60.0), ("-5", 0.0), ("nan", None), ("soon", None), (None, None)],
)
def test_retry_after(text, seconds):
    assert transport._seconds(text) == seconds


def test_retry_after_as_a_date():
    assert transport._seconds("Wed, 21 Oct 2015 07:28:00 GMT") == 0.0


def test_pauses_grow_and_are_bounded(monkeypatch):
    monkeypatch.setattr(transport, "_FIRST_PAUSE", 0.05)
    longest = [min(0.05 * 2**attempt, 5.0) for attempt in range(12)]
    for attempt, most in enumerate(longest):
        assert most / 2 <= transport._pause(attempt, None) <= most
        assert 2 + most / 2 <= transport._pause(attempt, 2.0) <= 2 + most


def test_errors_say_what_and_which(client):
    with pytest.raises(ServeError, match="404: no model or route named 'other'") as caught:
        client.predict("other", {"a": 1.0})
    assert caught.value.type == "/problems/unknown-model"
    assert isinstance(caught.value, MillstreamError)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (copy.status, copy.type, copy.detail, str(copy)) == (
        404,
        "/problems/unknown-model",
        caught.value.detail,
        str(caught.value),
    )
    with pytest.raises(ServeError) as caught:
        client.label("m", "never", 1.0)
    assert caught.value.problem["fate"] == "unknown"


def test_ids_and_names_are_quoted(client):
    strange = "a/b?c#d%2F é"
    client.predict("m", {"a": 1.0}, id=strange)
    assert client.label("m", strange, 1.0)["id"] == strange
    assert client.event("m", strange)["label"] == "labelled"


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": [1.0, np.nan, 3.0]}),
        pl.DataFrame({"a": [1.0, None, 3.0]}),
        pa.table({"a": [1.0, None, 3.0]}),
    ],
    ids=["pandas", "polars", "arrow"],
)
@pytest.mark.parametrize("format", [None, "ndjson", "arrow"])
def test_frames(client, frame, format):
    results = client.predict_many("m", frame, format=format, batch_size=2, wait="durable")
    assert [client.event("m", result["id"])["x"].get("a") for result in results] == [1.0, None, 3.0]


def test_a_bad_row_is_reported_with_its_index(client):
    rows = [{"a": 1.0}, {"a": [1]}, {"a": 2.0}]
    results = client.predict_many("m", rows, batch_size=1)
    assert [("y" in result, result.get("status")) for result in results] == [
        (True, None),
        (False, 422),
        (True, None),
    ]
    assert results[1]["item"] == 1
    labels = client.labels("m", [(results[0]["id"], 1.0), ("unknown", 1.0), ("x" * 200, 1.0)], batch_size=1)
    assert [label["status"] for label in labels] == [201, 404, 422]
    assert labels[2]["item"] == 2


def test_numpy_values_are_sent(client):
    answer = client.predict("m", {"a": np.float64(1.5), "b": np.int32(2), "c": pd.NA})
    assert client.event("m", answer["id"])["x"] == {"a": 1.5, "b": 2, "c": None}


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda client: client.predict("m", {"a": float("nan")}), InvalidValue, "None for a missing value"),
        (lambda client: client.predict("m", {"a": np.float64("inf")}), InvalidValue, "None for a missing"),
        (lambda client: client.predict("m", {"a": object()}), InvalidType, "cannot send"),
        (lambda client: client.predict("", {"a": 1}), InvalidType, "non-empty string"),
        (lambda client: client.label("m", 3, 1.0), InvalidType, "must be a non-empty string"),
        (lambda client: client.labels("m", ["ab"]), InvalidType, "a pair"),
        (lambda client: client.predict_many("m", [{}], ids=["a", "b"]), InvalidValue, "2 for 1 rows"),
        (lambda client: client.predict_many("m", [{}], batch_size=0), InvalidValue, "batch_size"),
        (lambda client: client.predict_many("m", [{}], format="csv"), InvalidValue, "'ndjson' or 'arrow'"),
        (lambda client: client.predict_many("m", pa.table({"id": ["a"]})), InvalidValue, "column 'id'"),
        (lambda client: client.create("n", 3), InvalidType, "spec must be"),
        (lambda client: Client("ftp://host"), InvalidValue, "url must be"),
        (lambda client: Client("http://host:port"), InvalidValue, "url must be"),
        (lambda client: Client("http://host", "a\nb"), InvalidValue, "token must be"),
        (lambda client: Client("http://host", timeout=0), InvalidValue, "timeout must be"),
        (lambda client: Client("http://host", retries=-1), InvalidValue, "retries must be"),
    ],
)
def test_bad_arguments_are_refused_before_anything_is_sent(monkeypatch, call, error, match):
    client = Client("http://127.0.0.1:1")
    monkeypatch.setattr(transport.Transport, "request", lambda *_, **__: pytest.fail("it was sent"))
    with pytest.raises(error, match=match):
        call(client)


def test_models_versions_and_routes(client):
    client.create("challenger", "StandardScaler | LinearRegression", policy=LabelPolicy.of({"window": "1h"}))
    assert {model["model"] for model in client.models()} == {"m", "challenger"}
    client.learn("m", {"a": 1.0}, 1.0)
    assert client.version("m", "first")["version"] == "first"
    learned = client.export("m")
    client.learn("m", {"a": 5.0}, -7.0, id="poison")
    assert client.export("m") != learned
    assert client.rollback("m", exclude=["poison"])["excluded"] == 1
    assert client.export("m") == learned
    assert [version["version"] for version in client.versions("m")] == ["first"]
    assert client.import_("copy", learned)["learned"] == 0
    assert client.export("copy") == learned
    assert client.import_("again", from_bytes(learned))["model"] == "again"
    route = client.route("r", champion="m", challengers=["challenger"], mode="shadow")
    assert (route["champion"], client.routes()[0]["route"]) == ("m", "r")
    assert client.predict("r", {"a": 1.0})["route"] == "r"
    assert client.promote("r", "challenger", "better")["champion"] == "challenger"
    assert client.route("r")["champion"] == "challenger"
    assert client.delete("again")["deleted"] is True
    assert client.policy("m", {"window": "2h"})["policy"]["window"] == 7200


def test_the_label_of_a_learned_example_is_not_its_prediction(client):
    client.learn("m", {"a": 1.0}, 77.0, id="own")
    with pytest.raises(ServeError, match="409: id: 'own' belongs to an example that was learned"):
        client.predict("m", {"a": 1.0}, id="own")


def test_a_deferred_event_is_learned_after_it_is_activated(client, direct):
    answer = client.predict("m", {"a": 1.0}, defer=True, wait="durable")
    assert client.event("m", answer["id"])["deferred"] is True
    client.activate("m", answer["id"])
    assert client.activate("m", answer["id"])["activated"] is True
    assert client.label("m", answer["id"], 1.0)["fate"] == "learned"
    assert direct.server.engine.state.models["m"].learned == 1


def test_a_forgotten_event_is_not_learned(client):
    answer = client.predict("m", {"a": 1.0})
    client.progress("m", 1)
    client.event("m", answer["id"])
    client.forget("m", answer["id"])
    with pytest.raises(ServeError, match="404"):
        client.label("m", answer["id"], 1.0)


def test_token(tmp_path):
    with Direct(tmp_path, models={"m": linear_model.LinearRegression()}) as direct:
        token = direct.server.tokens.create(["predict"], "one")
        line = FaultyLine(direct)
        try:
            assert "y" in Client(line.url, token).predict("m", {"a": 1.0})
            with pytest.raises(ServeError, match="403"):
                Client(line.url, token).models()
            with pytest.raises(ServeError, match="401"):
                Client(line.url).predict("m", {"a": 1.0})
            assert token not in repr(Client(line.url, token))
        finally:
            line.close()


def test_a_connection_is_kept_and_replaced_when_the_server_closed_it(line):
    client = Client(line.url, retries=0)
    client.models()
    first = client._transport._local.connection.sock
    client.models()
    assert client._transport._local.connection.sock is first
    line.faults.append("refuse")
    with pytest.raises(ServeError):
        client.models()
    client.models()
    client._transport._local.connection.sock.shutdown(socket.SHUT_RDWR)
    client.models()


def test_threads_have_connections_of_their_own(client, direct):
    failures = []

    def work(number):
        try:
            for index in range(20):
                answer = client.predict("m", {"a": 1.0}, id=f"{number}-{index}")
                client.label("m", answer["id"], 1.0)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not failures
    assert direct.server.engine.state.models["m"].learned == 80


def test_wait_until_ready(client, line, direct):
    direct.server.is_ready = False
    timer = threading.Timer(0.2, lambda: setattr(direct.server, "is_ready", True))
    timer.start()
    client.wait_until_ready(10)
    assert direct.server.is_ready
    direct.server.is_ready = False
    with pytest.raises(ServeError, match="503"):
        client.wait_until_ready(0.1)


def test_no_server():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(ServeError, match="no answer from http://127.0.0.1"):
        Client(f"http://127.0.0.1:{port}", retries=1).models()


def test_timeout():
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(ServeError, match="timed out"):
            Client(url, timeout=0.1, retries=1).models()


def test_with_a_real_server(tmp_path):
    with Server(linear_model.LinearRegression(), data=tmp_path, port=0) as server:
        client = Client(server.url)
        client.wait_until_ready()
        results = client.predict_many("model", pd.DataFrame({"a": [1.0, 2.0]}))
        assert [each["fate"] for each in client.labels("model", [(each["id"], 3.0) for each in results])] == [
            "learned",
            "learned",
        ]
        assert client.label("model", results[0]["id"], 3.0)["fate"] == "duplicate"
        assert client.model("model")["learned"] == 2
    with pytest.raises(ServeError, match="no answer"):
        Client(server.url, retries=0).models()
