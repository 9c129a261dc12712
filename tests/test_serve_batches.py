"""Batches of examples: predicted together, stored as one record, joined with their labels like single events."""

from __future__ import annotations

import io
import json
import urllib.error
import urllib.request

import pyarrow as pa
import pytest

from millstream import _core, linear_model, preprocessing, serve
from millstream._core import predict_lines
from millstream.errors import InvalidValue
from millstream.serve.api import batch_predictions
from millstream.serve.batches import unpack_events
from millstream.serve.engine import Engine
from millstream.serve.names import new_ids
from millstream.serve.records import Kind
from millstream.serve.store import EventStore

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


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32(), pa.int32(), pa.uint8(), pa.int64()])
@pytest.mark.parametrize("batches", [1, 3])
def test_tables_of_all_number_types_equal_single_requests(server, kind, batches):
    columns = [pa.array([(7 * row + n) % 50 for row in range(90)], kind) for n in range(2)]
    whole = pa.table(columns, names=["a", "b"])
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, whole.schema) as writer:
        for batch in whole.to_batches(max_chunksize=90 // batches):
            writer.write_batch(batch)
    found = post(server, "predict:batch", sink.getvalue(), ARROW)
    model = server.engine.state.models["model"].model
    assert [row["y"] for row in found] == [model.predict_one(row) for row in whole.to_pylist()]
    assert len({row["id"] for row in found}) == 90


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
    ids = new_ids(1_700_000_000_000, 5000).texts()
    assert len(set(ids)) == 5000
    assert all(len(id) == 36 and id[14] == "7" and id[19] in "89ab" for id in ids)
    monkeypatch.setattr("millstream.serve.names.new_id", lambda now: "018bcfe5-6800-7fff-bfff-ffffffffffff")
    assert len(set(new_ids(1_700_000_000_000, 10).texts())) == 10
    assert max(map(len, new_ids(1_700_000_000_000, 10).texts())) == 36


class TestIdRange:
    FIRST = "018f3c4e-0000-7abc-8def-0123456789fe"

    def test_ids_count_up(self):
        ids = _core.IdRange(self.FIRST, 3)
        assert (ids.first, len(ids)) == (self.FIRST, 3)
        assert [text[-4:] for text in ids.texts()] == ["89fe", "89ff", "8a00"]
        assert ids.joined() == "".join(ids.texts()).encode()
        assert all(text in ids for text in ids.texts())
        assert ids.texts()[2] not in ids.take(2)
        assert "x" not in ids

    @pytest.mark.parametrize("first", ["", "x", FIRST.upper(), FIRST[:-1]])
    def test_only_a_uuid_is_accepted(self, first):
        with pytest.raises(InvalidValue, match="first must be a lower-case UUID"):
            _core.IdRange(first, 1)

    def test_a_range_that_is_too_long_is_refused(self):
        with pytest.raises(InvalidValue, match="there are fewer than"):
            _core.IdRange(self.FIRST, 1 << 48)
        with pytest.raises(InvalidValue, match="count must be at most 3"):
            _core.IdRange(self.FIRST, 3).take(4)


#: Bodies of NDJSON, and whether they are predicted natively.
LINES = {
    "plain": (b'{"x":{"a":1,"b":2.5}}\n{"x":{"a":-1}}\n', True),
    "without an end": (b'{"x":{"a":1,"b":2.5}}', True),
    "line ends of Windows": (b'{"x":{"a":1}}\r\n{"x":{"b":1}}\r\n', True),
    "unknown, missing and unordered": (b'{"x":{"c":1,"b":null}}\n{"x":{"b":1,"a":true}}\n{"x":{}}', True),
    "an integer beyond 64 bits": (b'{"x":{"a":123456789012345678901234567890}}', False),
    "an id": (b'{"x":{"a":1}}\n{"x":{"a":1},"id":"own"}', False),
    "a time": (b'{"x":{"a":1},"ts":5}', False),
    "a blank line": (b'{"x":{"a":1}}\n\n{"x":{"a":2}}', False),
    "text instead of a number": (b'{"x":{"a":1}}\n{"x":{"a":"one"}}', False),
    "malformed": (b'{"x":{"a":1}}\n{"x":{"a":', False),
    "duplicate": (b'{"x":{"a":1,"a":2}}', False),
    "nested": (b'{"x":{"a":[1]}}', False),
}


@pytest.mark.parametrize("name", LINES)
def test_native_lines_equal_those_of_python(tmp_path, monkeypatch, name):
    body, is_native = LINES[name]
    results, records, calls = [], [], []
    for native in (True, False):
        if not native:
            monkeypatch.setattr(batch_predictions, "predict_lines", lambda *_: None)
        else:
            monkeypatch.setattr(
                batch_predictions, "predict_lines", lambda *each: calls.append(predict_lines(*each)) or calls[-1]
            )
        data = tmp_path / str(native)
        with serve.Server(trained(), data=data, port=0) as server:
            found = post(server, "predict:batch", body, NDJSON)
            results.append([{key: value for key, value in each.items() if key != "id"} for each in found])
            ids = [each["id"] for each in found if "id" in each]
            if name != "an id":
                assert ids == sorted(ids)
        with EventStore(data / "events.db", read_only=True) as store:
            found = [record for record in store.read() if record.kind == Kind.EVENTS]
            records.append([[(x, body) for _, x, body in unpack_events(record.body)] for record in found])
    assert (calls[0] is not None) is is_native
    assert results[0] == results[1]
    assert records[0] == records[1]


def test_native_lines_of_a_full_log_are_not_stored(tmp_path, monkeypatch):
    with serve.Server(trained(), data=tmp_path, port=0) as server:
        monkeypatch.setattr(server, "try_propose", lambda proposal: False)
        found = post(server, "predict:batch", lines([{"x": x} for x in XS[:3]]), NDJSON)
    assert [each["stored"] for each in found] == [False] * 3
    assert all(type(each["y"]) is bool for each in found)
