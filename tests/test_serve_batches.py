"""Batches of examples: predicted together, stored as one record, joined with their labels like single events."""

from __future__ import annotations

import io
import json
import urllib.error
import urllib.request

import pyarrow as pa
import pytest

from millstream import linear_model, preprocessing, serve
from millstream.errors import InvalidValue
from millstream.serve.engine import Engine
from millstream.serve.names import new_ids

NDJSON, ARROW = "application/x-ndjson", "application/vnd.apache.arrow.stream"
XS = [{"a": number / 7, "b": float(number % 5)} for number in range(40)]


def trained():
    model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    for x in XS:
        model.learn_one(x, x["a"] > 3)
    return model


class Careful:
    """A learner written in Python that refuses some examples and accepts values of any kind."""

    def predict_one(self, x):
        if x.get("a") == 3.0:
            raise InvalidValue("Careful: a must not be 3")
        return len(x) > 1

    def predict_proba_one(self, x):
        return {self.predict_one(x): 1.0}

    def learn_one(self, x, y):
        return None


@pytest.fixture
def server(tmp_path):
    with serve.Server(trained(), data=tmp_path / "data", port=0) as found:
        yield found


def post(server, path, body, kind):
    request = urllib.request.Request(
        f"{server.url}/v1/models/model/{path}", body, {"content-type": kind}, method="POST"
    )
    with urllib.request.urlopen(request, timeout=20) as reply:
        data = reply.read()
    if kind == ARROW:
        return pa.ipc.open_stream(io.BytesIO(data)).read_all().to_pylist()
    return [json.loads(line) for line in data.splitlines()] if kind == NDJSON else json.loads(data)


def lines(items):
    return b"".join(json.dumps(item).encode() + b"\n" for item in items)


def table(rows):
    sink = io.BytesIO()
    found = pa.Table.from_pylist(rows)
    with pa.ipc.new_stream(sink, found.schema) as writer:
        writer.write_table(found)
    return sink.getvalue()


FORMS = {
    "json": ("application/json", lambda xs: json.dumps([{"x": x} for x in xs]).encode()),
    "lines": (NDJSON, lambda xs: lines([{"x": x} for x in xs])),
    "blank lines": (NDJSON, lambda xs: lines([{"x": x} for x in xs]).replace(b"\n", b"\r\n\n")),
    "table": (ARROW, table),
    "table with ids": (ARROW, lambda xs: table([x | {"id": f"own {n}"} for n, x in enumerate(xs)])),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_batch_predicts_stores_and_learns_as_single_requests_do(tmp_path, form):
    kind, encode = FORMS[form]
    single, batch = tmp_path / "single", tmp_path / "batch"
    states = []
    with serve.Server(trained(), data=single, port=0) as server:
        client = serve.Client(server.url)
        answers = [client.predict("model", x) for x in XS]
        for answer, x in zip(answers, XS, strict=True):
            client.label("model", answer["id"], x["a"] > 2)
        states.append(server.engine.state.models["model"].snapshot()[1])
    with serve.Server(trained(), data=batch, port=0) as server:
        found = post(server, "predict:batch", encode(XS), kind)
        assert [each["y"] for each in found] == [answer["y"] for answer in answers]
        assert len({each["id"] for each in found}) == len(XS)
        labels = lines([{"id": each["id"], "y": x["a"] > 2} for each, x in zip(found, XS, strict=True)])
        assert [each["fate"] for each in post(server, "labels", labels, NDJSON)] == ["learned"] * len(XS)
        assert server.engine.state.by_name["model"].predictions == len(XS)
        states.append(server.engine.state.models["model"].snapshot()[1])
        header, blobs = server.engine.state.snapshot()
    assert states[0] == states[1]
    replayed = Engine(batch, read_only=True, from_start=True)
    again, others = replayed.state.snapshot()
    replayed.stop()
    assert json.loads(json.dumps(again)) == json.loads(json.dumps(header))
    assert others == blobs


def test_ids_of_a_batch_must_be_new(server):
    items = [{"id": "one", "x": XS[0]}, {"id": "one", "x": XS[1]}, {"x": XS[2]}]
    first = post(server, "predict:batch", lines(items), NDJSON)
    assert [each.get("status", 200) for each in first] == [200, 409, 200]
    server.engine.committer.ask(_tick())
    again = post(server, "predict:batch", lines(items[:1]), NDJSON)
    assert again[0]["status"] == 409


def _tick():
    from millstream.serve.proposal import Proposal
    from millstream.serve.records import Kind

    return Proposal(Kind.TICK, None, None, "")


def test_an_example_that_a_learner_refuses_does_not_stop_the_others(tmp_path):
    with serve.Server(Careful(), data=tmp_path, port=0) as server:
        found = post(server, "predict:batch", lines([{"x": {"a": float(n)}} for n in range(6)]), NDJSON)
        assert [each.get("status", 200) for each in found] == [200, 200, 200, 422, 200, 200]
        labels = lines([{"id": each["id"], "y": True} for each in found if "id" in each])
        assert [each["fate"] for each in post(server, "labels", labels, NDJSON)] == ["learned"] * 5


def test_what_a_replay_could_not_read_is_not_stored(tmp_path):
    """Values are nested deeper in the record of a batch than in the request."""
    deepest = None
    with serve.Server(Careful(), data=tmp_path, port=0) as server:
        for depth in range(55, 66):
            value = json.loads("[" * depth + "]" * depth)
            try:
                found = post(server, "predict:batch", lines([{"x": {"a": value}}]), NDJSON)
            except urllib.error.HTTPError:
                continue
            deepest = depth if "y" in found[0] else deepest
    assert deepest is not None
    assert deepest < 65
    serve.Server(Careful(), data=tmp_path, port=0).stop()


def test_new_ids_are_distinct_and_of_version_7(monkeypatch):
    ids = new_ids(1_700_000_000_000, 5000)
    assert len(set(ids)) == 5000
    assert all(len(id) == 36 and id[14] == "7" and id[19] in "89ab" for id in ids)
    monkeypatch.setattr("millstream.serve.names.secrets.randbits", lambda bits: (1 << bits) - 1)
    assert len(set(new_ids(1_700_000_000_000, 10))) == 10
    assert max(map(len, new_ids(1_700_000_000_000, 10))) == 36
