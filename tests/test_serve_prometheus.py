"""Metrics: the page is what Prometheus reads, its counts are those of the server, and labels are bounded."""

from __future__ import annotations

import json
import math
import re
import threading
import time
from importlib.resources import files

import pytest

from millstream import anomaly, base, linear_model
from millstream.serve import Client, Server
from millstream.serve.counters import Histogram
from millstream.serve.exposition import Buckets, Page
from millstream.serve.policy import LabelPolicy
from millstream.serve.prometheus import metrics_page
from millstream.serve.stream import DELAY_BOUNDS, Stream
from serving import Direct

parser = pytest.importorskip("prometheus_client.parser")


def samples(text):
    """All samples by name and labels."""
    found = {}
    for family in parser.text_string_to_metric_families(text):
        for sample in family.samples:
            key = (sample.name, *sorted(sample.labels.items()))
            assert key not in found, f"{key} is there twice"
            found[key] = sample.value
    return found


def value(found, name, **labels):
    return found[(name, *sorted(labels.items()))]


def read(direct):
    answer = direct.get("/metrics")
    assert (answer.status, answer.type) == (200, "text/plain; version=0.0.4; charset=utf-8")
    return samples(answer.body.decode())


@pytest.fixture
def direct(tmp_path):
    with Direct(tmp_path, models={"m": linear_model.LinearRegression()}) as direct:
        yield direct


def test_writer_escapes_and_counts():
    page = Page()
    hostile = 'a"b\\c\nd}{=, \ud800'
    page.gauge("g", "line\nbreak \\", [({"model": hostile}, 1.5), ({"model": "none"}, None)])
    page.counter("c_total", "", [({}, 3)])
    page.histogram("h", "", [({"model": "m"}, Buckets((0.5, 1), (2, 0, 1), 7.25))])
    odd = (math.inf, -math.inf, 1e300, 1e-9)
    page.gauge("odd", "", [({"n": str(n)}, number) for n, number in enumerate(odd)])
    found = samples(page.text())
    assert value(found, "g", model='a"b\\c\nd}{=, ?') == 1.5
    assert value(found, "c_total") == 3
    buckets = [value(found, "h_bucket", model="m", le=bound) for bound in ("0.5", "1", "+Inf")]
    assert (buckets, value(found, "h_count", model="m"), value(found, "h_sum", model="m")) == ([2, 2, 3], 3, 7.25)
    assert [value(found, "odd", n=str(n)) for n in range(4)] == [*odd]
    assert page.text().count("# TYPE") == 4


def test_writer_refuses_a_second_family_and_bad_names():
    page = Page()
    page.gauge("g", "", [])
    for name in ("g", "bad-name", "", "1a"):
        with pytest.raises(ValueError):
            page.gauge(name, "", [])


def test_long_values_are_cut():
    page = Page()
    page.gauge("g", "", [({"learner": "x" * 10_000}, 1)])
    assert len(page.text()) < 300


def test_histogram_bound_belongs_to_its_bucket():
    histogram = Histogram((1.0, 2.0))
    for each in (0.0, 1.0, 1.5, 2.0, 3.0):
        histogram.add(each)
    assert histogram.counts == [2, 2, 1]


def test_counts_are_those_of_the_server(direct):
    for index in range(3):
        direct.post("/v1/models/m/predict?wait=durable", {"id": f"e{index}", "x": {"a": 1.0 * index}})
    direct.post("/v1/models/m/predict", {"x": 3})
    direct.post("/v1/models/m/predict:batch?wait=durable", [{"id": "e3", "x": {"a": 1.0}}, {"x": 3}])
    for id, y in (("e0", 1.0), ("e1", 2.0), ("e1", 2.0), ("e1", 3.0), ("unknown", 1.0), ("e2", "text")):
        direct.put(f"/v1/models/m/labels/{id}", {"y": y})
    direct.post("/v1/models/m/learn", {"id": "own", "x": {"a": 1.0}, "y": 1.0})
    found = read(direct)
    assert value(found, "millstream_predictions_total", model="m", status="ok") == 4
    assert value(found, "millstream_predictions_total", model="m", status="refused") == 2
    fates = {key[1][1]: count for key, count in found.items() if key[0] == "millstream_labels_total"}
    expected = {"learned": 3, "duplicate": 1, "conflict": 1, "unknown": 1, "quarantined": 1}
    assert {fate: count for fate, count in fates.items() if count} == expected
    assert value(found, "millstream_labels_received_total", model="m") == sum(expected.values())
    assert value(found, "millstream_quarantined_total", model="m", reason="unlearnable") == 1
    assert value(found, "millstream_label_delay_seconds_count", model="m") == 2
    assert value(found, "millstream_pending_events", model="m") == 5
    assert value(found, "millstream_learned_total", model="m") == 3
    assert value(found, "millstream_scored_total", model="m") == 2
    assert value(found, "millstream_predict_duration_seconds_count", model="m") == 4
    assert value(found, "millstream_learn_duration_seconds_count", model="m") == 4
    last = direct.server.engine.state.seq
    assert value(found, "millstream_log_appended_seq") == value(found, "millstream_log_applied_seq") == last
    assert value(found, "millstream_log_fsync_duration_seconds_count") == direct.server.engine.committer.groups
    assert value(found, "millstream_log_bytes") > 0
    assert value(found, "millstream_disk_full") == 0
    assert value(found, "millstream_state_readable") == 1
    assert value(found, "process_resident_memory_bytes") > 1 << 20
    quality = {dict(key[1:])["window"] for key in found if key[0] == "millstream_quality"}
    assert quality == {"all", "recent"}


def test_counts_of_labels_continue_after_a_restart(tmp_path):
    with Direct(tmp_path, models={"m": linear_model.LinearRegression()}) as direct:
        direct.post("/v1/models/m/predict?wait=durable", {"id": "e", "x": {"a": 1.0}})
        direct.put("/v1/models/m/labels/e", {"y": 1.0})
        direct.put("/v1/models/m/labels/e2", {"y": "text", "x": {"a": 1.0}})
        before = read(direct)
        assert ("millstream_snapshot_last_success_timestamp_seconds",) not in before
    with Direct(tmp_path) as direct:
        after = read(direct)
    same = ("millstream_predictions_total", "millstream_labels_total", "millstream_quarantined_total")
    same += ("millstream_label_delay_seconds_bucket", "millstream_learned_total", "millstream_quality")
    for key in before:
        if key[0] in same:
            assert after[key] == before[key], key
    assert value(after, "millstream_snapshot_last_success_timestamp_seconds") > 1.6e9
    assert value(after, "millstream_recovery_duration_seconds") > 0


def test_delays_have_buckets():
    stream = Stream(1, "s", LabelPolicy())
    for milliseconds in (-5, 1000, 1001, 100_000, 10**12):
        stream.joined(milliseconds)
    assert dict(zip([*DELAY_BOUNDS, "more"], stream.delay_counts, strict=True)) == {
        **dict.fromkeys(DELAY_BOUNDS, 0),
        1: 2,
        5: 1,
        300: 1,
        "more": 1,
    }
    assert stream.delays == [1000 + 1001 + 100_000 + 10**12, 5]


def test_routes_and_roles(direct):
    direct.post("/v1/models", {"name": "other", "spec": "StandardScaler | LinearRegression"})
    direct.put("/v1/routes/r", {"champion": "m", "challengers": ["other"]})
    direct.post("/v1/models/r/predict?wait=durable", {"id": "e", "x": {"a": 1.0}})
    direct.put("/v1/models/r/labels/e", {"y": 1.0})
    found = read(direct)
    assert value(found, "millstream_predictions_total", model="r", status="ok") == 1
    roles = {(dict(key[1:])["model"], dict(key[1:])["role"]) for key in found if key[0] == "millstream_quality"}
    assert roles == {("m", "champion"), ("other", "challenger")}
    specs = {dict(key[1:])["spec"] for key in found if key[0] == "millstream_model_info"}
    assert len(specs) == 2


def test_ids_keys_and_reasons_are_no_labels(direct):
    number = len(read(direct))
    for index in range(50):
        body = {"id": f"id-{index}", "key": f"key-{index}", "x": {"a": 1.0}}
        direct.post("/v1/models/m/predict?wait=durable", body)
        direct.put(f"/v1/models/m/labels/id-{index}", {"y": f"text {index}"})
    text = direct.get("/metrics").body.decode()
    histograms = 2 * (len(Histogram().counts) + 2)
    assert len(samples(text)) == number + histograms
    assert "id-7" not in text
    assert "text 7" not in text


def test_a_learner_that_does_not_return_hides_only_its_metrics(tmp_path, monkeypatch):
    monkeypatch.setattr("millstream.serve.prometheus._PATIENCE", 0.05)
    held, go_on = threading.Event(), threading.Event()

    class Slow(base.Regressor):
        def predict_one(self, x):
            return 0.0

        def learn_one(self, x, y, w=1.0):
            held.set()
            go_on.wait(20)

    with Direct(tmp_path, models={"m": Slow()}) as direct:
        thread = threading.Thread(target=direct.post, args=("/v1/models/m/learn", {"x": {"a": 1.0}, "y": 1.0}))
        thread.start()
        try:
            assert held.wait(10)
            found = samples(metrics_page(direct.server).text())
            assert value(found, "millstream_state_readable") == 0
            assert value(found, "millstream_log_appended_seq") == value(found, "millstream_log_applied_seq")
            assert not any(key[0] == "millstream_labels_total" for key in found)
        finally:
            go_on.set()
            thread.join(10)
        assert value(read(direct), "millstream_state_readable") == 1


def test_detectors_without_labels(tmp_path):
    with Direct(tmp_path, models={"a": anomaly.HalfSpaceTrees()}) as direct:
        direct.post("/v1/models/a/predict?wait=durable", {"id": "e", "x": {"v": 0.5}})
        found = read(direct)
        assert value(found, "millstream_learned_total", model="a") == 1


# ---------------------------------------------------------------------------------------- board and alert rules


def deployed(name):
    return files("millstream.serve").joinpath("deploy", name).read_text()


def names_in(expression):
    """The names of metrics in an expression of Prometheus."""
    without_labels = re.sub(r"\{[^}]*\}", "", expression)
    return set(re.findall(r"\b(?:millstream|http_server|process)_\w+", without_labels))


@pytest.fixture(scope="module")
def known_names(tmp_path_factory):
    """The names of all samples of a server with its HTTP server and a snapshot."""
    data = tmp_path_factory.mktemp("data")
    settings = {"snapshot_seconds": 0.0}
    model = linear_model.LinearRegression()
    with Server(model, data=data, port=0, engine_settings=settings) as server:
        client = Client(server.url)
        client.label("model", client.predict("model", {"a": 1.0})["id"], 1.0)
        client.learn("model", {"a": 1.0}, 1.0)
        for _ in range(100):
            found = samples(client.metrics())
            if ("millstream_snapshot_last_success_timestamp_seconds",) in found:
                break
            time.sleep(0.05)
    return {key[0] for key in found}


def test_http_requests_are_counted(tmp_path):
    with Server(linear_model.LinearRegression(), data=tmp_path, port=0) as server:
        client = Client(server.url)
        for _ in range(3):
            client.predict("model", {"a": 1.0})
        found = samples(client.metrics())
        assert value(found, "http_server_request_duration_seconds_count") >= 3
        assert value(found, "http_server_open_connections") == 1
        assert value(found, "http_server_bytes_total", direction="read") > 100
        assert value(found, "millstream_shed_requests_total", reason="queue_full") == 0


def test_the_board_shows_metrics_that_exist(known_names):
    board = json.loads(deployed("grafana.json"))
    expressions = [target["expr"] for panel in board["panels"] for target in panel.get("targets", ())]
    assert len(expressions) >= 15
    used = set().union(*map(names_in, expressions))
    assert used <= known_names, used - known_names
    ids = [panel["id"] for panel in board["panels"]]
    assert len(set(ids)) == len(ids)
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in board["panels"]]
    assert len(set(places)) == len(places)


def test_the_alerts_use_metrics_that_exist(known_names):
    yaml = pytest.importorskip("yaml")
    rules = [rule for group in yaml.safe_load(deployed("alerts.yml"))["groups"] for rule in group["rules"]]
    names = [rule["alert"] for rule in rules]
    assert len(set(names)) == len(names) >= 8
    for rule in rules:
        used = names_in(rule["expr"])
        assert used
        assert used <= known_names, rule["alert"]
        assert rule["annotations"]["summary"]
        assert rule["labels"]["severity"] in ("page", "ticket")
        assert rule["expr"].count("(") == rule["expr"].count(")")
