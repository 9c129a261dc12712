"""Times that clients give: they are stored and shown, and they close no window."""

from __future__ import annotations

import time

import pytest

from millstream import linear_model
from serving import Direct


@pytest.fixture
def direct(tmp_path):
    models = {"a": linear_model.LogisticRegression(), "b": linear_model.LogisticRegression()}
    policy = {"window": "30m", "default_label": False}
    with Direct(tmp_path / "data", models=models, policy=policy) as found:
        yield found


def ahead():
    return round(time.time()) + 3500


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/models/b/predict?wait=durable", lambda: {"x": {"f": 1}, "ts": ahead()}),
        ("/v1/models/b/predict:batch?wait=durable", lambda: [{"x": {"f": 1}, "ts": ahead()}]),
        ("/v1/models/b/learn", lambda: {"x": {"f": 1}, "y": True, "ts": ahead()}),
        ("/v1/models/b/labels", lambda: [{"id": "n", "x": {"f": 1}, "y": True, "ts": ahead()}]),
        ("/v2/models/b/feedback", lambda: {"id": "e", "y": True, "ts": ahead()}),
    ],
)
def test_the_time_of_one_client_closes_no_window(direct, path, body):
    for model in "ab":
        direct.post(f"/v1/models/{model}/predict?wait=durable", {"id": "e", "x": {"f": 1}})
    assert direct.post(path, body()).status in (200, 201)
    label = direct.put("/v1/models/a/labels/e", {"y": True, "ts": ahead()})
    assert (label.status, label.json["fate"]) == (201, "learned")
    assert direct.server.engine.state.time <= direct.server.engine.clock.now()


def test_the_times_of_events_and_labels_are_shown(direct):
    direct.post("/v1/models/a/predict", {"id": "e", "x": {"f": 1}, "ts": "2024-01-01T00:00:00+00:00"})
    items = [{"id": "b", "x": {"f": 1}, "ts": 1.7e9}, {"id": "c", "x": {"f": 1}}]
    assert all("y" in each for each in direct.post("/v1/models/a/predict:batch", items).json)
    direct.put("/v1/models/a/labels/e", {"y": True, "ts": 1_704_070_000.25})
    labels = [{"id": "b", "y": True, "ts": 1.8e9 - 1e8}, {"id": "c", "y": True}]
    direct.post("/v1/models/a/labels", labels)
    shown = {id: direct.get(f"/v1/models/a/events/{id}").json for id in "ebc"}
    assert (shown["e"]["ts"], shown["e"]["label_ts"]) == (1_704_067_200.0, 1_704_070_000.25)
    assert (shown["b"]["ts"], shown["b"]["label_ts"]) == (1.7e9, 1.7e9)
    assert "ts" not in shown["c"]
    assert "label_ts" not in shown["c"]
    assert all(abs(each["time"] - time.time()) < 600 for each in shown.values())


def test_the_time_of_a_deferred_event_of_a_route_is_shown(direct):
    assert direct.put("/v1/routes/r", {"champion": "a", "challengers": ["b"]}).status == 201
    direct.post("/v1/models/r/predict", {"id": "e", "x": {"f": 1}, "ts": 1.7e9, "defer": True})
    direct.post("/v1/models/r/predict:batch", [{"id": "b", "x": {"f": 1}, "ts": 1.6e9}])
    shown = direct.get("/v1/models/r/events/e").json
    assert (shown["ts"], shown["deferred"], shown["served_by"]) == (1.7e9, True, "a")
    assert direct.get("/v1/models/r/events/b").json["ts"] == 1.6e9
