"""Promises of serving that no other test states: reading changes nothing, poison leaves no trace, everything is
bounded, and no data runs code. Each promise in docs/notes/serving_promises.md names its tests."""

from __future__ import annotations

import ast
import contextlib
import re
import shutil
import threading
from pathlib import Path

import pytest

import millstream.serve
from millstream import base, linear_model, serve
from millstream.serve.engine import Engine
from serving_process import NOTATION, Connection, replayed

ROOT = Path(__file__).parent.parent
SOURCES = sorted(Path(millstream.serve.__file__).parent.rglob("*.py"))

#: Modules that turn data into code or objects, and functions that import or run what a string says.
MODULES = {"pickle", "dill", "cloudpickle", "joblib", "shelve", "marshal", "yaml", "importlib", "imp", "runpy"}
CALLS = {"eval", "exec", "compile", "__import__", "import_module", "find_class"}


def imported(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        # The files of the dashboard are read with importlib.resources, which imports nothing by name.
        yield from (name.partition(".")[0] for name in names if not name.startswith("importlib.resources"))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_nothing_runs_code_from_data(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert not MODULES & set(imported(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            function = node.func
            # re.compile is a method of a module; compile is the function that makes code.
            name = function.id if isinstance(function, ast.Name) else None
            method = function.attr if isinstance(function, ast.Attribute) else None
            assert name not in CALLS, f"line {node.lineno}: {name}"
            assert method not in CALLS - {"compile"}, f"line {node.lineno}: {method}"
            keywords = {keyword.arg for keyword in node.keywords}
            assert not (keywords & {"allow_pickle", "shell"}), f"line {node.lineno}"


def test_there_are_sources():
    assert len(SOURCES) > 40


def test_every_promise_names_a_test_that_exists():
    """docs/notes/serving_promises.md: P1 to P15, each with tests of this folder."""
    text = (ROOT / "docs" / "notes" / "serving_promises.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| (P\d+) \|(.*)$", text, re.MULTILINE))
    assert list(rows) == [f"P{number}" for number in range(1, 16)]
    for promise, row in rows.items():
        tests = re.findall(r"`(test_\w+)\.(test_\w+)`", row)
        assert tests, promise
        for module, name in tests:
            path = ROOT / "tests" / f"{module}.py"
            assert f"def {name}(" in path.read_text(encoding="utf-8"), f"{promise}: {module}.{name}"


def examples(connection, first, count, between=lambda: None):
    """Predict and label, and do something in between."""
    for n in range(first, first + count):
        body = {"id": f"e{n}", "x": {"v": float(n % 7), "w": float(n % 3)}}
        assert connection.ask("POST", "/v1/models/m/predict", body)[0] == 200
        between()
        assert connection.ask("PUT", f"/v1/models/m/labels/e{n}", {"y": n % 2 == 0})[0] == 201


def test_reading_and_saving_change_nothing(tmp_path):
    """Exports, snapshots, versions, metrics and failed requests in between: the same bytes and figures."""
    found = []
    for curious in (False, True):
        data = tmp_path / str(curious)
        with (
            serve.Server(millstream.parse(NOTATION), name="m", data=data, port=0) as server,
            contextlib.closing(Connection(server.port)) as connection,
        ):

            def look(server=server, connection=connection):
                server.engine.committer.request_snapshot()
                for path in ("", "/export", "/versions", "/events/e0", "?curve=1", "/progress?seq=1"):
                    assert connection.send("GET", f"/v1/models/m{path}")[0] == 200
                for path in ("/metrics", "/v1/models", "/openapi.json", "/healthz", "/readyz"):
                    assert connection.send("GET", path)[0] == 200
                assert connection.ask("POST", "/v1/models/m/versions", {})[0] == 201
                assert connection.ask("PUT", "/v1/models/m/labels/none", {"y": True})[0] == 404
                assert connection.ask("POST", "/v1/models/m/predict", {"x": {"v": [1]}})[0] == 422

            examples(connection, 0, 20, look if curious else lambda: None)
            served = server.engine.state.models["m"]
            _, parts = served.snapshot()
            found.append((parts, served.learned, served.scored, served.figures()))
    assert found[0] == found[1]


POISON = [
    ({"v": 1.0}, "text"),
    ({"v": 1.0}, None),
    ({"v": 1.0}, 10**330),
    ({"v": [1.0]}, 1.0),
    ({"v": {"w": 1.0}}, 1.0),
    ({"v": 10**330}, 1.0),
    (None, 1.0),
]


def test_poison_leaves_the_model_as_without_it(tmp_path):
    """Examples that cannot be learned are refused with a reason; the model is that of the good examples alone."""
    model = linear_model.LinearRegression()
    with (
        serve.Server(linear_model.LinearRegression(), name="m", data=tmp_path / "data", port=0) as server,
        contextlib.closing(Connection(server.port)) as connection,
    ):
        for n in range(30):
            x, y = POISON[n % len(POISON)]
            status, found = connection.ask("POST", "/v1/models/m/learn", {"id": f"p{n}", "x": x, "y": y})
            assert status in (400, 422), found
            good = {"v": float(n % 5)}
            assert connection.ask("POST", "/v1/models/m/learn", {"id": f"g{n}", "x": good, "y": n})[0] == 201
            model.learn_one(good, float(n))
        assert server.engine.state.models["m"].model.to_bytes() == model.to_bytes()
        status, shown = connection.ask("GET", "/v1/models/m")
        assert sum(shown["labels"]["fates"].values()) == shown["labels"]["received"]
        assert shown["labels"]["fates"]["quarantined"] > 0
    assert replayed(tmp_path / "data", from_start=True) == model.to_bytes()


def test_events_and_labels_that_wait_are_bounded(tmp_path):
    policy = {"max_pending": 50, "max_parked": 10, "early_window": "1h"}
    with (
        serve.Server(linear_model.LinearRegression(), name="m", data=tmp_path, port=0, policy=policy) as server,
        contextlib.closing(Connection(server.port)) as connection,
    ):
        items = [{"id": f"e{n}", "x": {"v": 1.0}} for n in range(500)]
        assert connection.ask("POST", "/v1/models/m/predict:batch?wait=durable", items)[0] == 200
        labels = [{"id": f"early{n}", "y": 1.0} for n in range(100)]
        assert connection.ask("POST", "/v1/models/m/labels", labels)[0] == 200
        stream = server.engine.state.by_name["m"]
        assert len(stream.pending) == 50
        assert len(stream.parked) == 10
        status = stream.status()
        assert sum(status["fates"].values()) == status["received"] == 100
        assert connection.ask("PUT", "/v1/models/m/labels/e499", {"y": 1.0})[0] == 201
        assert connection.ask("PUT", "/v1/models/m/labels/e0", {"y": 1.0})[0] == 202


class Blocked(base.Regressor):
    """Learns when a test lets it."""

    go = threading.Event()

    def learn_one(self, x, y, w=1.0):
        self.go.wait(30)

    def predict_one(self, x):
        return 0.0


def test_a_full_queue_refuses_labels_with_503(tmp_path):
    Blocked.go.clear()
    with serve.Server(Blocked(), name="m", data=tmp_path, port=0) as server:
        server.engine.committer.max_queue = 20
        answers = []

        def learn(n):
            with contextlib.closing(Connection(server.port)) as connection:
                answers.append(connection.ask("POST", "/v1/models/m/learn", {"id": f"e{n}", "x": {}, "y": 1.0}))

        threads = [threading.Thread(target=learn, args=(n,)) for n in range(60)]
        for thread in threads:
            thread.start()
        with contextlib.closing(Connection(server.port)) as connection:
            for _ in range(1000):
                if any(status == 503 for status, _ in answers):
                    break
                threading.Event().wait(0.01)
            assert connection.ask("GET", "/healthz")[0] == 200
        Blocked.go.set()
        for thread in threads:
            thread.join(30)
        refused = [found for status, found in answers if status == 503]
        assert refused
        assert all(found["type"] == "/problems/queue-full" for found in refused)
        assert len(refused) + sum(status == 201 for status, _ in answers) == 60
        assert server.engine.state.models["m"].learned == 60 - len(refused)


GOLDEN = Path(__file__).parent / "golden" / "serving_1"


def test_the_folder_of_the_first_format_is_read_and_continued(tmp_path):
    """Its model, its versions, its labels and the events that wait are still there."""
    data = tmp_path / "data"
    shutil.copytree(GOLDEN, data)
    for from_start in (True, False):
        engine = Engine(data, read_only=True, from_start=from_start)
        served = engine.state.models["m"]
        assert (served.learned, list(served.versions)) == (20, ["first"])
        assert served.predict({"v": 3.0, "w": 0.0}).y is not None
        engine.stop()
    with (
        serve.Server(data=data, port=0) as server,
        contextlib.closing(Connection(server.port)) as connection,
    ):
        assert connection.ask("PUT", "/v1/models/m/labels/waiting", {"y": True})[0] == 201
        assert connection.ask("PUT", "/v1/models/m/labels/e3", {"y": False})[0] == 200
        assert connection.ask("POST", "/v1/models/m/rollback", {"to": "first"})[1]["learned"] == 10
        examples(connection, 100, 5)
    assert replayed(data, from_start=True) == replayed(data, from_start=False)
