"""Bad requests: each gets its status and type and a message that names the field, and changes nothing."""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import pickle
import random
import struct
import tempfile
import zipfile
from decimal import Decimal
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa
import pytest

import millstream
from millstream import linear_model, serve
from serving_process import Connection
from serving_program import Slow

PREDICT, LABEL, LEARN = "/v1/models/m/predict", "/v1/models/m/labels/known", "/v1/models/m/learn"
NDJSON = "application/x-ndjson"
ARROW = "application/vnd.apache.arrow.stream"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    models = {"m": millstream.parse("StandardScaler | LinearRegression"), "slow": Slow()}
    data = tmp_path_factory.mktemp("bad") / "data"
    with serve.Server(data=data, models=models, port=0, policy={"window": "1d"}) as server:
        yield server


@pytest.fixture
def connection(server):
    with contextlib.closing(Connection(server.port)) as connection:
        yield connection


@pytest.fixture(autouse=True)
def known(connection):
    """An event that waits for its label."""
    connection.ask("POST", PREDICT + "?wait=durable", {"id": "known", "x": {"v": 1.0}})


def learned(server):
    """Everything of the models that a request could change."""
    with server.engine.committer.reading():
        native, own = server.engine.state.models["m"], server.engine.state.models["slow"]
        return native.model.to_bytes(), native.learned, own.model.n, own.learned


def check(server, connection, request, status, kind, words, **headers):
    """A refused request leaves the models as they were."""
    before = learned(server)
    method, path, body = request
    found, members = connection.ask(method, path, body, **headers)
    assert (found, members["type"]) == (status, f"/problems/{kind}"), members
    assert words in members["detail"], members["detail"]
    assert "\n" not in members["detail"]
    assert len(members["detail"]) < 700
    assert learned(server) == before
    return members


def many_features(count):
    return json.dumps({"x": {f"f{n}": n for n in range(count)}}).encode()


MALFORMED = [
    (b"", "expected a value at byte 0"),
    (b"{", "byte 1"),
    (b'{"x":{"v":1}', "byte 12"),
    (b"[1,2", "byte 4"),
    (b'{"x":{"v":NaN}}', "x.v: NaN"),
    (b'{"x":{"v":Infinity}}', "x.v: "),
    (b'{"x":{"v":1e400}}', "x.v: 1e400 is not a finite number"),
    (b'{"x":{"v":-1e400}}', "x.v: -1e400"),
    (b'{"x":{"v":1,"v":2}}', "x.v: duplicate key"),
    (b'{"x":{},"x":{}}', "x: duplicate key"),
    (b'{"x":{"v":01}}', "x.v: "),
    (b'{"x":{"v":1,}}', "x"),
    (b'{"x":{"v":"\\ud800"}}', "x.v: lone surrogate"),
    (b'{"x":{"v":"\xff"}}', "UTF-8"),
    (b'{"x":{"v":"a\nb"}}', "x.v: "),
    (b'{"x":' + b"[" * 10_000 + b"]" * 10_000 + b"}", "nested"),
    (b'{"x":' + b'{"a":' * 10_000 + b"1" + b"}" * 10_000 + b"}", "nested"),
    (b'{"x":{"v":' + b"9" * 5000 + b"}}", "x.v: "),
    (b"\x00\x01\x02", "byte 0"),
    (b'{"x":{"v":1}} x', "byte 14"),
    (b"\xef\xbb\xbf{}", "byte 0"),
]


@pytest.mark.parametrize(("body", "words"), MALFORMED, ids=range(len(MALFORMED)))
@pytest.mark.parametrize("target", [("POST", PREDICT), ("PUT", LABEL), ("POST", LEARN), ("POST", "/v1/models")])
def test_malformed_json(server, connection, target, body, words):
    check(server, connection, (*target, body), 400, "malformed-json", words)


INVALID = [
    (("POST", PREDICT, {}), 422, "invalid", "x: must be an object of features, it is missing"),
    (("POST", PREDICT, []), 422, "invalid", "body: must be an object"),
    (("POST", PREDICT, {"x": [1]}), 422, "invalid", "x: must be an object of features"),
    (("POST", PREDICT, {"x": {}, "y": 1}), 422, "unknown-member", "unknown member 'y'"),
    (("POST", PREDICT, {"x": {"v": [1]}}), 422, "invalid", "v"),
    (("POST", PREDICT, {"x": {"v": {"w": 1}}}), 422, "invalid", "v"),
    (("POST", PREDICT, b'{"x":{"v":' + b"9" * 350 + b"}}"), 422, "invalid", "'v'"),
    (("POST", PREDICT, {"id": 5, "x": {}}), 422, "invalid", "id: must be a string"),
    (("POST", PREDICT, {"id": "", "x": {}}), 422, "invalid", "id: must be 1 to 128"),
    (("POST", PREDICT, {"id": "a" * 129, "x": {}}), 422, "invalid", "id: must be 1 to 128"),
    (("POST", PREDICT, {"id": "a\0b", "x": {}}), 422, "invalid", "id: must be 1 to 128 printable"),
    (("POST", PREDICT, {"x": {}, "ts": "yesterday"}), 422, "invalid", "ts: must be ISO 8601"),
    (("POST", PREDICT, {"x": {}, "ts": "2026-01-01"}), 422, "invalid", "ts: must have a time zone"),
    (("POST", PREDICT, {"x": {}, "ts": -1}), 422, "invalid", "ts: must not be before 1970"),
    (("POST", PREDICT, {"x": {}, "ts": 9e11}), 422, "time-ahead", "ts: is more than an hour ahead"),
    (("POST", PREDICT, {"x": {}, "ts": 10**300}), 422, "invalid", "ts: must be ISO 8601 or seconds"),
    (("POST", PREDICT, {"id": "known", "x": {"v": 9}}), 409, "id-in-use", "'known' belongs to an event"),
    (("PUT", LABEL, {}), 422, "invalid", "y: it is missing"),
    (("PUT", LABEL, {"y": [1]}), 422, "invalid", "y: must be a bool, number or string"),
    (("PUT", LABEL, {"y": 1, "weight": -1}), 422, "invalid", "weight: must be a finite number >= 0"),
    (("PUT", LABEL, b'{"y":1,"weight":' + b"9" * 350 + b"}"), 422, "invalid", "weight: must be"),
    (("PUT", LABEL, {"y": 1, "wait": 1}), 422, "unknown-member", "unknown member 'wait'"),
    (("PUT", LABEL, {"y": 1, "x": 3}), 422, "invalid", "x: must be an object of features"),
    (("PUT", "/v1/models/m/labels/" + "a" * 129, {"y": 1}), 422, "invalid", "id: must be 1 to 128"),
    (("PUT", "/v1/models/m/labels/a%00", {"y": 1}), 422, "invalid", "id: must be 1 to 128 printable"),
    (("PUT", "/v1/models/m/labels/never", {"y": 1}), 404, "unknown-event", "send its features x along"),
    (("PUT", "/v1/models/none/labels/a", {"y": 1}), 404, "unknown-model", "no model or route named 'none'"),
    (("POST", "/v1/models/none/predict", {"x": {}}), 404, "unknown-model", "no model or route named 'none'"),
    (("POST", LEARN, {"y": 1}), 422, "invalid", "x: must be an object of features, it is missing"),
    (("POST", LEARN, {"x": {"v": [1]}, "y": 1}), 422, "unlearnable-label", "v"),
    (("GET", "/v1/models/m/events/never", None), 404, "unknown-event", "no event 'never'"),
    (("GET", "/v1/models/m/progress?seq=x", None), 422, "invalid", "seq: must be the number"),
    (("POST", "/v1/models/m/rollback", {"to": "no"}), 404, "unknown-version", "to: no version 'no'"),
    (("POST", "/v1/models/m/rollback", {"to": -1}), 422, "invalid", "to: must be a version or a record"),
    (("POST", "/v1/models/m/rollback", {"exclude": 1}), 422, "invalid", "exclude: must be a list"),
    (("PUT", "/v1/models/m/policy", {"window": "soon"}), 422, "invalid", "policy.window must be"),
    (("PUT", "/v1/models/m/policy", {"speed": 1}), 422, "invalid", "unknown setting 'speed'"),
    (("POST", "/v1/models", {"name": "n"}), 422, "invalid", "spec: must be a string or a description"),
    (("POST", "/v1/models", {"name": "m", "spec": "GaussianNB"}), 409, "name-in-use", "name: 'm' is a model"),
    (("POST", "/v1/models", {"name": "n", "spec": "os.system"}), 422, "invalid", "os.system"),
    (("POST", "/v1/models", {"name": "n", "spec": {"class": "os.system"}}), 422, "invalid", ""),
    (("PUT", "/v1/routes/r", {"champion": "m", "split": "m"}), 422, "invalid", "route.split must be an object"),
    (("PUT", "/v1/routes/r", {"champion": "none"}), 404, "unknown-model", "no model named 'none'"),
    (("POST", "/v1/routes/none/promote", {"model": "m"}), 404, "unknown-route", "no route named 'none'"),
    (("POST", "/v1/models/slow/predict", {"x": {"fail": 1}}), 500, "learner-failed", "Slow raised RuntimeError"),
    (("GET", "/v1/nothing", None), 404, "not-found", "no resource"),
    (("DELETE", PREDICT, None), 405, "method-not-allowed", "use POST"),
]


@pytest.mark.parametrize(("request_", "status", "kind", "words"), INVALID, ids=range(len(INVALID)))
def test_invalid_requests(server, connection, request_, status, kind, words):
    check(server, connection, request_, status, kind, words)


@pytest.mark.parametrize("y", ["text", None, "1e400", 10**300 * 10**50])
def test_an_unlearnable_label_is_quarantined_with_its_reason(server, connection, y):
    members = check(server, connection, ("PUT", LABEL, {"y": y}), 422, "unlearnable-label", "LinearRegression")
    assert members["fate"] == "quarantined"
    shown = connection.ask("GET", "/v1/models/m")[1]["quarantine"][-1]
    # A number that no float can hold is shown as a short string.
    expected = f"{str(y)[:200]}…" if isinstance(y, int) else y
    assert (shown["id"], shown["y"]) == ("known", expected)
    assert shown["reason"] == members["detail"]


def test_the_same_label_again_and_another_one(server, connection):
    connection.ask("POST", PREDICT, {"id": "twice", "x": {"v": 2.0}})
    status, first = connection.ask("PUT", "/v1/models/m/labels/twice", {"y": 2.5})
    assert status == 201
    before = learned(server)
    status, again = connection.ask("PUT", "/v1/models/m/labels/twice", {"y": 2.5})
    assert (status, again["fate"], again["seq"]) == (200, "duplicate", first["seq"])
    request = ("PUT", "/v1/models/m/labels/twice", {"y": 3.5})
    check(server, connection, request, 409, "other-label", "another label of this event was learned")
    assert learned(server) == before


def test_a_learner_written_in_python_that_raises(server, connection):
    connection.ask("POST", "/v1/models/slow/predict", {"id": "p13", "x": {}})
    request = ("PUT", "/v1/models/slow/labels/p13", {"y": 13})
    members = check(server, connection, request, 422, "unlearnable-label", "Slow: RuntimeError('thirteen')")
    assert members["id"] == "p13"
    assert connection.ask("PUT", "/v1/models/slow/labels/p13", {"y": 4})[0] == 201


@pytest.mark.parametrize("kind", ["application/json", NDJSON])
def test_one_bad_item_of_a_batch(server, connection, kind):
    """Item 37 cannot be learned: the others are, and it is reported."""
    name = kind[-6:]
    bad = {"y": "bad"} if kind == NDJSON else {"z": 1}
    predictions = [{"id": f"{name}{n}", "x": {"v": float(n)}} for n in range(1000)]
    labels = [{"id": f"{name}{n}", **({"y": float(n)} if n != 37 else bad)} for n in range(1000)]

    def encoded(items):
        if kind == NDJSON:
            return "".join(json.dumps(item) + "\n" for item in items).encode()
        return json.dumps(items).encode()

    path = "/v1/models/m/"
    assert connection.send("POST", path + "predict:batch", encoded(predictions), content_type=kind)[0] == 200
    before = server.engine.state.models["m"].learned
    status, body = connection.send("POST", path + "labels", encoded(labels), content_type=kind)
    assert status == 200
    results = [json.loads(line) for line in body.splitlines()] if kind == NDJSON else json.loads(body)
    assert [each["status"] for each in results].count(201) == 999
    assert results[37]["status"] == 422
    assert "37" in json.dumps(results[37])
    assert server.engine.state.models["m"].learned == before + 999


def test_a_line_of_a_batch_that_is_not_json(server, connection):
    body = b'{"id":"l1","x":{"v":1}}\n{"id":"l2","x":{"v":1e400}}\nnonsense\n{"id":"l3","x":{"v":1}}\n'
    status, found = connection.send("POST", "/v1/models/m/predict:batch", body, content_type=NDJSON)
    results = [json.loads(line) for line in found.splitlines()]
    assert status == 200
    assert [each.get("status") for each in results] == [None, 400, 400, None]
    assert "1e400" in results[1]["detail"]


NOT_ARROW = [b"", b"ARROW1", random.Random(1).randbytes(100), b"\xff\xff\xff\xff\x00\x10\x00\x00" + bytes(50)]


@pytest.mark.parametrize("body", NOT_ARROW, ids=range(len(NOT_ARROW)))
def test_malformed_arrow(server, connection, body):
    request = ("POST", "/v1/models/m/predict:batch", body)
    check(server, connection, request, 400, "malformed-arrow", "body: cannot be read", content_type=ARROW)


def table_bytes(columns, names=None, compression=None):
    table = pa.table(columns, names=names)
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def repeated_text(kind):
    """100,000 times the same string of a million bytes, in little more than its size."""
    text, count = b"y" * 1_000_000, 100_000
    if kind == "dictionary":
        return pa.DictionaryArray.from_arrays(pa.array([0] * count, pa.int8()), [text.decode()])
    view = struct.pack("<i4sii", len(text), text[:4], 0, 0)
    return pa.Array.from_buffers(pa.string_view(), count, [None, pa.py_buffer(view * count), pa.py_buffer(text)])


NOT_PLAIN = [
    (table_bytes({"v": ["y" * 100_000_000]}, None, "zstd"), 415, "unsupported-encoding", "must not be compressed"),
    (table_bytes({"v": repeated_text("dictionary")}), 413, "body-too-large", "bytes of strings"),
    (table_bytes({"v": repeated_text("views")}), 413, "body-too-large", "bytes of strings"),
    (table_bytes({"v": [b"\xff"]}), 422, "invalid", "'v': a column must hold numbers"),
    (table_bytes({"v": [[1, 2]]}), 422, "invalid", "'v': a column must hold numbers"),
    (table_bytes({"v": [{"a": 1}]}), 422, "invalid", "'v': a column must hold numbers"),
    (table_bytes({"v": pa.array([2**62], pa.timestamp("s"))}), 422, "invalid", "'v': a column must hold"),
    (table_bytes({"v": [Decimal("1.5")]}), 422, "invalid", "got decimal128"),
    (table_bytes([pa.array([1.0]), pa.array([2.0])], ["v", "v"]), 400, "malformed-arrow", "'v': duplicate column"),
    (table_bytes({"v": pa.nulls(200_000)}), 413, "body-too-large", "at most 100000 items, got 200000"),
]


@pytest.mark.parametrize(("body", "status", "kind", "words"), NOT_PLAIN, ids=range(len(NOT_PLAIN)))
def test_tables_that_are_not_examples(server, connection, body, status, kind, words):
    for path in ("/v1/models/m/predict:batch", "/v1/models/m/predict:batch?wait=durable", "/v1/models/m/labels"):
        check(server, connection, ("POST", path, body), status, kind, words, content_type=ARROW)


def test_infinite_numbers_in_a_table_are_refused_by_row(server, connection):
    body = table_bytes({"id": ["i0", "i1", "i2"], "v": [1.0, math.inf, math.nan]})
    status, found = connection.send("POST", "/v1/models/m/predict:batch?wait=durable", body, content_type=ARROW)
    assert status == 200
    assert pa.ipc.open_stream(found).read_all()["status"].to_pylist() == [None, 400, None]
    before = learned(server)
    body = table_bytes({"id": ["unknown-x"], "y": [1.0], "x": [{"v": -math.inf}]})
    status, found = connection.send("POST", "/v1/models/m/labels", body, content_type=ARROW)
    assert status == 200
    assert "infinite" in pa.ipc.open_stream(found).read_all()["detail"][0].as_py()
    assert learned(server) == before
    # NaN is a missing value, as in pandas.
    status, shown = connection.ask("GET", "/v1/models/m/events/i2")
    assert (status, shown["x"]) == (200, {})


MANY = {f"f{n}": n for n in range(100_000)}
TOO_MANY = [
    ("POST", PREDICT, {"x": MANY}),
    ("POST", PREDICT, {"id": "many", "x": MANY}),
    ("POST", "/v1/models/slow/predict", {"x": MANY}),
    ("PUT", LABEL, {"y": 1, "x": MANY}),
    ("POST", LEARN, {"y": 1, "x": MANY}),
]


@pytest.mark.parametrize("request_", TOO_MANY, ids=range(len(TOO_MANY)))
def test_many_features(server, connection, request_):
    check(server, connection, request_, 422, "invalid", "x: at most 50000 features, got 100000")


def test_many_features_in_other_forms(server, connection):
    lines = b'{"x":{"v":1}}\n' + json.dumps({"x": MANY}).encode()
    _, found = connection.send("POST", "/v1/models/m/predict:batch", lines, content_type=NDJSON)
    assert [json.loads(line).get("status") for line in found.splitlines()] == [None, 422]
    items = [{"x": {"v": 1}}, {"x": MANY}]
    assert (
        "item 1: x: at most 50000" in connection.ask("POST", "/v1/models/m/predict:batch", items)[1][1]["detail"]
    )
    tensor = {"name": "x", "shape": [1, 100_000], "datatype": "INT64", "data": [*MANY.values()]}
    tensor["parameters"] = {"names": [*MANY]}
    check(
        server,
        connection,
        ("POST", "/v2/models/m/infer", {"inputs": [tensor]}),
        422,
        "invalid",
        "inputs: at most 50000",
    )
    wide = table_bytes({f"f{n}": [1.0] for n in range(50_001)})
    request = ("POST", "/v1/models/m/predict:batch", wide)
    check(server, connection, request, 422, "invalid", "body: at most 50000", content_type=ARROW)
    assert connection.ask("POST", PREDICT, many_features(50_000))[0] == 200


def test_large_bodies(server, connection):
    size = str(17 << 20)
    check(server, connection, ("POST", PREDICT, None), 413, "body-too-large", "body", content_length=size)


NAMES = [
    "..",
    "../up",
    "..%2f..%2fetc",
    "%2e%2e%2f",
    "/etc/passwd",
    "a/b",
    "nul\0",
    "a" * 300,
    "mоdel",  # a Cyrillic о
    "ｍｏｄｅｌ",  # letters of full width
    "modél",
    ".hidden",
    "-x",
    "a b",
    "",
    "a\n",
    "con:",
]


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_names_that_are_not_names(server, connection, name):
    files = {path for path in server.engine.folder.path.rglob("*") if "events" not in path.name}
    outside = set(server.engine.folder.path.parent.iterdir())
    create = {"name": name, "spec": "LinearRegression"}
    check(server, connection, ("POST", "/v1/models", create), 422, "invalid", "name must be 1 to 128 letters")
    version = ("POST", "/v1/models/m/versions", {"version": name or "."})
    check(server, connection, version, 422, "invalid", "version must be 1 to 128 letters")
    quoted = quote(name, safe="")
    status, _ = connection.ask("POST", f"/v1/models/{quoted}/import", linear_model.LinearRegression().to_bytes())
    assert status in (404, 422)
    status, _ = connection.ask("PUT", f"/v1/routes/{quoted}", {"champion": "m"})
    assert status in (404, 405, 422)
    assert {path for path in server.engine.folder.path.rglob("*") if "events" not in path.name} == files
    assert set(server.engine.folder.path.parent.iterdir()) == outside


EXPLOITED = Path(tempfile.gettempdir()) / f"millstream-exploited-{os.getpid()}"


class Exploit:
    """Runs code when it is unpickled."""

    def __reduce__(self):
        return os.system, (f"touch {EXPLOITED}",)


def zipped():
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("../../escaped.ms", b"x")
    return data.getvalue()


FILES = [
    pickle.dumps(Exploit()),
    pickle.dumps(Exploit(), 0),
    zipped(),
    b"!!python/object/apply:os.system ['true']",
    b"",
    b"\x1f\x8b" + bytes(30),
    linear_model.LinearRegression().to_bytes()[:-3],
    linear_model.LinearRegression().to_bytes() + b"x",
]


@pytest.mark.parametrize("data", FILES, ids=range(len(FILES)))
def test_only_saved_models_are_imported(server, connection, data):
    request = ("POST", "/v1/models/imported/import", data)
    check(server, connection, request, 422, "invalid-file", "", content_type="application/octet-stream")
    assert "imported" not in server.engine.state.models
    assert not EXPLOITED.exists()
