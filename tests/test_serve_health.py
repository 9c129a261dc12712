"""Liveness: a hanging learner is named; a long operation is not a hanging learner."""

from __future__ import annotations

import threading
import time

import pytest

from millstream import linear_model, serve
from millstream.serve.api import health
from millstream.serve.records import Kind
from serving import Direct
from serving_process import Connection, until


class Waiting:
    """A learner written in Python that learns only when it is told to."""

    go = threading.Event()

    def predict_one(self, x):
        return 0.0

    def learn_one(self, x, y):
        self.go.wait(20)


@pytest.fixture(autouse=True)
def stall(monkeypatch):
    monkeypatch.setattr(health, "STALL", 0.2)


def test_a_long_rollback_is_no_hanging_learner(tmp_path):
    with Direct(tmp_path / "data", model=linear_model.LogisticRegression()) as direct:
        direct.post("/v1/models/model/learn", {"x": {"f": 1}, "y": True})
        state, committer, go = direct.server.engine.state, direct.server.engine.committer, threading.Event()
        apply = state.apply

        def slow(record, parsed=None):
            go.wait(20)
            return apply(record, parsed)

        state.apply = slow
        body = {"to": direct.server.engine.state.seq, "exclude": ["q"]}
        thread = threading.Thread(target=direct.post, args=("/v1/models/model/rollback", body))
        # The lock of `Direct` is held by the thread, so that the state is asked without it.
        thread.start()
        try:
            assert until(lambda: committer.operating(health.STALL) == "model", 10)
            assert committer.stalled(health.STALL) is None
        finally:
            go.set()
            thread.join(20)
        assert until(lambda: committer.operating(0) is None)


def test_requests_about_health_during_a_long_operation(tmp_path, monkeypatch):
    with Direct(tmp_path / "data", model=linear_model.LogisticRegression()) as direct:
        committer = direct.server.engine.committer
        assert direct.get("/readyz").json.get("detail") is None
        monkeypatch.setattr(committer, "operating", lambda seconds: "model")
        assert direct.get("/healthz").status == 200
        ready = direct.get("/readyz")
        assert ready.status == 200
        assert ready.json["detail"].startswith("model: an operation has been running")


def test_health_over_http_during_and_after_a_long_operation(tmp_path, monkeypatch):
    """The request of the operation, and a label, wait for longer than a learner may hang."""
    monkeypatch.setattr(health, "STALL", 0.8)
    with serve.Server(linear_model.LogisticRegression(), data=tmp_path / "data", port=0) as server:
        Connection(server.port).ask("POST", "/v1/models/model/learn", {"x": {"f": 1}, "y": True})
        state, found = server.engine.state, []
        apply = state.apply

        def slow(record, parsed=None):
            if record.kind == Kind.ADMIN:
                time.sleep(2.0)
            return apply(record, parsed)

        monkeypatch.setattr(state, "apply", slow)

        def send(path, body):
            found.append(Connection(server.port).ask("POST", path, body)[0])

        requests = [
            ("/v1/models/model/rollback", {"to": state.seq, "exclude": ["q"]}),
            ("/v1/models/model/learn", {"x": {"f": 1}, "y": False}),
        ]
        threads = [threading.Thread(target=send, args=each) for each in requests]
        for thread in threads:
            thread.start()
        healths = []
        end = time.monotonic() + 3.0
        while time.monotonic() < end:
            healths.append(Connection(server.port).ask("GET", "/healthz")[0])
            time.sleep(0.02)
        for thread in threads:
            thread.join(10)
        assert sorted(found) == [200, 201]
        assert set(healths) == {200}


@pytest.mark.parametrize("name", ["slow", "r"])
def test_a_hanging_learner_is_named_also_on_a_route(tmp_path, name):
    Waiting.go = threading.Event()
    models = {"fast": linear_model.LinearRegression(), "slow": Waiting()}
    with Direct(tmp_path / "data", models=models) as direct:
        direct.put("/v1/routes/r", {"champion": "fast", "challengers": ["slow"]})
        direct.post(f"/v1/models/{name}/predict?wait=durable", {"id": "e", "x": {"f": 1}})
        thread = threading.Thread(target=direct.put, args=(f"/v1/models/{name}/labels/e", {"y": 1.0}))
        committer = direct.server.engine.committer
        thread.start()
        try:
            assert until(lambda: committer.stalled(health.STALL) is not None, 10)
            assert committer.stalled(health.STALL) == "slow"
            found = direct.get("/healthz")
            seq = direct.server.engine.store.last_seq
            assert (found.status, found.json["seq"]) == (503, seq)
            assert f"has not returned from record {seq} for more than 0.2 seconds" in found.json["detail"]
            assert f"--skip-record {seq}" in found.json["detail"]
        finally:
            Waiting.go.set()
            thread.join(20)
        assert direct.get("/healthz").status == 200
