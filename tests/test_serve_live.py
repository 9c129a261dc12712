"""The live feed: nothing doubled, nothing missed, the newest state for slow readers, and bounds."""

from __future__ import annotations

import http.client
import json
import time

import pytest

from millstream import linear_model
from millstream.serve import Server, curve, live_state
from millstream.serve.counters import Histogram
from millstream.serve.live import Live
from millstream.serve.samples import Samples, Totals, quantile
from serving import Direct, PlainRequest


class Pipe:
    """A reader: what it was sent, and how many bytes it has not read."""

    def __init__(self):
        self.text, self.waiting, self.is_gone, self.is_open, self.is_ended = "", 0, False, False, False

    def open(self):
        self.is_open = True

    def push(self, data):
        if self.is_gone:
            return None
        self.text += data.decode()
        return self.waiting + len(data)

    def end(self):
        self.is_ended = True

    def events(self):
        """All events since the last call, as (id, kind, data)."""
        blocks = [block for block in self.text.split("\n\n") if block]
        self.text = ""
        found = []
        for block in blocks:
            fields = dict(line.split(": ", 1) for line in block.split("\n"))
            found.append((fields.get("id"), fields["event"], json.loads(fields["data"])))
        return found

    def event(self):
        """The one event since the last call."""
        (event,) = self.events()
        return event


@pytest.fixture
def direct(tmp_path):
    direct = Direct(tmp_path / "data", models={"m": linear_model.LogisticRegression()})
    yield direct
    direct.server.stop()


@pytest.fixture
def feed(direct):
    """A feed that is driven by the test, not by its thread."""
    return Live(direct.server, most_streams=3)


def learn(direct, count, start=0, model="m"):
    for number in range(start, start + count):
        id = f"e{number}"
        x = {"v": (number % 10) - 4.5}
        assert direct.call("POST", f"/v1/models/{model}/predict", {"id": id, "x": x}).status == 200
        assert direct.call("PUT", f"/v1/models/{model}/labels/{id}", {"y": x["v"] > 0}).status == 201


def tick(feed):
    feed.sample()
    feed.serve()


class Page:
    """What a page keeps, by the rules of dashboard/state.js."""

    def __init__(self):
        self.points, self.every, self.ticks, self.last_id = [], 1, [], None

    def take(self, event):
        self.last_id, kind, data = event
        found = data["members"]["m"]["curve"]
        if kind == "state":
            self.points, self.ticks = [], []
        self.every = found["every"]
        self.points = [point for point in self.points if point[0] % self.every == 0] + found["points"]
        self.ticks += [sample[0] for sample in data["samples"]]


def test_a_page_that_reconnects_has_every_point_once(direct, feed, monkeypatch):
    monkeypatch.setattr(curve, "_MOST", 32)
    page, kinds = Page(), []
    for turn in range(12):
        pipe = Pipe()
        feed.add(pipe, "m", page.last_id)
        for _ in range(2):
            learn(direct, 5, direct.server.engine.state.models["m"].learned)
            tick(feed)
        # The last event may get lost on the way: the page has not seen it, and asks for it again.
        events = pipe.events()
        for event in events[: 1 if turn % 3 == 0 else 2]:
            kinds.append(event[1])
            page.take(event)
        pipe.is_gone = True
        tick(feed)
    served = direct.server.engine.state.models["m"]
    pipe = Pipe()
    feed.add(pipe, "m", page.last_id)
    tick(feed)
    page.take(pipe.event())
    assert kinds == ["state"] + ["delta"] * (len(kinds) - 1)
    assert served.curve.every > 1
    assert [point[:3] for point in page.points] == [point[:3] for point in served.curve.points]
    # The first tick has nothing to compare with.
    assert page.ticks == list(range(2, feed.tick + 1))


def test_a_rollback_sends_the_whole_state(direct, feed):
    pipe = Pipe()
    feed.add(pipe, "m", None)
    learn(direct, 10)
    middle = direct.server.engine.state.seq
    learn(direct, 10, 10)
    tick(feed)
    last_id, kind, data = pipe.event()
    assert kind == "state"
    assert len(data["members"]["m"]["curve"]["points"]) == 20 - data["members"]["m"]["unscored"]
    # In the same tick as the event before: a tick cannot tell the two states apart, the record can.
    assert direct.call("POST", "/v1/models/m/rollback", {"to": middle}).status == 200
    away = Pipe()
    feed.add(away, "m", last_id)
    feed.serve()
    assert away.event()[1] == "state"
    tick(feed)
    _, kind, data = pipe.event()
    assert kind == "state"
    assert data["members"]["m"]["learned"] == 10
    assert len(data["members"]["m"]["curve"]["points"]) == 10 - data["members"]["m"]["unscored"]


def test_a_slow_reader_gets_one_event_up_to_the_newest_state(direct, feed):
    pipe = Pipe()
    feed.add(pipe, "m", None)
    tick(feed)
    tick(feed)
    page = Page()
    for event in pipe.events():
        page.take(event)
    pipe.waiting = 100
    for _ in range(5):
        learn(direct, 2, direct.server.engine.state.models["m"].learned)
        tick(feed)
    assert pipe.events() == []
    assert feed.readers == 1
    pipe.waiting = 0
    tick(feed)
    event = pipe.event()
    assert event[1] == "delta"
    page.take(event)
    assert [point[:3] for point in page.points] == [
        point[:3] for point in direct.server.engine.state.models["m"].curve.points
    ]
    assert page.ticks == [2, 3, 4, 5, 6, 7, 8]


def test_the_overview_sends_rows_that_changed(direct, feed):
    direct.call("POST", "/v1/models", {"name": "idle", "spec": "LogisticRegression"})
    pipe = Pipe()
    feed.add(pipe, None, None)
    tick(feed)
    _, kind, data = pipe.event()
    assert kind == "state"
    assert [row["name"] for row in data["streams"]] == ["m", "idle"]
    learn(direct, 3)
    tick(feed)
    _, kind, data = pipe.event()
    assert kind == "delta"
    assert [row["name"] for row in data["streams"]] == ["m"]
    assert data["streams"][0]["learned"] == 3
    direct.call("DELETE", "/v1/models/idle")
    tick(feed)
    _, kind, data = pipe.event()
    assert kind == "state"
    assert [row["name"] for row in data["streams"]] == ["m"]


def test_a_reader_between_two_ticks_takes_no_change_from_the_others(direct, feed):
    before, first, second = Pipe(), Pipe(), Pipe()
    feed.add(before, None, None)
    tick(feed)
    before.is_gone = True
    feed.add(first, None, None)
    tick(feed)
    first.events()
    # A change that the rates of the next tick do not show.
    assert direct.call("POST", "/v1/models/m/versions", {"version": "spring"}).status == 201
    feed.add(second, None, before.event()[0])
    feed.serve()
    assert second.event()[1] == "delta"
    tick(feed)
    assert [row["version"] for row in first.event()[2]["streams"]] == ["spring"]


@pytest.mark.parametrize(
    "last", [None, "", "x", "0-0-0", "{start}-1", "{start}-a-1", "{start}-1-99", "{start}-²-1"]
)
def test_an_unknown_last_id_gets_the_whole_state(direct, feed, last):
    tick(feed)
    pipe = Pipe()
    feed.add(pipe, "m", last and last.replace("{start}", feed.start_id))
    tick(feed)
    assert pipe.event()[1] == "state"


def test_streams_are_bounded_and_those_of_absent_readers_are_freed(direct, feed):
    pipes = [Pipe() for _ in range(3)]
    for pipe in pipes:
        feed.add(pipe, None, None)
    with pytest.raises(Exception, match="3 live streams are open") as caught:
        feed.add(Pipe(), None, None)
    assert caught.value.status == 503
    pipes[1].is_gone = True
    tick(feed)
    assert feed.readers == 2
    feed.add(Pipe(), None, None)
    feed.stop()
    assert feed.readers == 0
    assert pipes[0].is_ended
    with pytest.raises(Exception, match="stopping"):
        feed.add(Pipe(), None, None)


def test_the_stream_of_a_deleted_model_ends(direct, feed):
    pipe = Pipe()
    feed.add(pipe, "m", None)
    tick(feed)
    pipe.events()
    assert direct.call("DELETE", "/v1/models/m").status == 200
    tick(feed)
    assert pipe.event()[1] == "gone"
    assert pipe.is_ended
    assert feed.readers == 0


def test_a_learner_that_hangs_does_not_stop_the_feed(direct, feed):
    pipe = Pipe()
    feed.add(pipe, "m", None)
    with direct.server.engine.committer.lock:
        tick(feed)
        last, kind, data = pipe.event()
        assert (last, kind) == (None, "stalled")
        assert data["seconds"] >= 0
    learn(direct, 1)
    tick(feed)
    assert pipe.event()[1] == "state"


def test_labels_and_fates_add_up(direct, feed):
    learn(direct, 5)
    for y, id in ((True, "e9"), (False, "e9"), (True, "nobody"), (1.5, "e1")):
        direct.call("PUT", f"/v1/models/m/labels/{id}", {"y": y})
    direct.call("POST", "/v1/models/m/predict", {"id": "bad", "x": {"v": 1}})
    assert direct.call("PUT", "/v1/models/m/labels/bad", {"y": 1.5}).status == 422
    found = direct.call("GET", "/v1/models/m/metrics").json
    labels = found["labels"]
    assert labels["received"] == sum(labels["fates"].values()) == 10
    assert [entry["id"] for entry in found["quarantine"]][-1] == "bad"
    assert found["members"]["m"]["learned"] == 5
    assert found["delays"]["counts"][0] == 5
    assert sum(found["latency"]["counts"]) == 6


def test_a_long_label_is_shown_in_short_and_a_longer_one_refused(direct):
    direct.call("POST", "/v1/models", {"name": "n", "spec": "LinearRegression"})
    direct.call("POST", "/v1/models/n/predict", {"id": "a", "x": {"v": 1}})
    assert (
        direct.call("PUT", "/v1/models/n/labels/a", {"y": "x" * 1_000_000})
        .json["detail"]
        .startswith("y: must have")
    )
    assert direct.call("PUT", "/v1/models/n/labels/a", {"y": "<b>" + "x" * 4_000}).status == 422
    (entry,) = direct.call("GET", "/v1/models/n/metrics").json["quarantine"]
    assert len(entry["y"]) <= 201
    assert len(json.dumps(live_state.detail(direct.server.engine.state, "n", 0))) < 10_000


def test_rates_delays_and_percentiles():
    samples, durations = Samples(), Histogram()
    samples.add(1, 1000, 1.0, Totals(10, 5, 0, 0, 3, durations))
    durations.add(0.002, 100)
    samples.add(2, 3000, 2.0, Totals(30, 9, 8000, 4, 7, durations))
    samples.add(3, 4000, 1.0, Totals(30, 9, 8000, 4, 7, durations))
    assert samples.after(0) == [[2, 3000, 10.0, 2.0, 2.0, 7.0, 0.002485], [3, 4000, 0.0, 0.0, None, 7.0, None]]
    assert samples.after(2) == [samples.latest()]
    for number in range(1000):
        samples.add(4 + number, 5000, 1.0, Totals())
    assert [row[0] for row in samples.after(0)] == list(range(404, 1004))
    assert samples.latest()[0] == 1003
    assert quantile((1.0, 2.0), (0, 0, 5), 0.5) == 2.0


def test_pages_need_no_token_and_data_does(tmp_path):
    direct = Direct(tmp_path / "data", models={"m": linear_model.LogisticRegression()}, require_token=False)
    token = direct.server.tokens.create(["metrics"], "page")
    other = direct.server.tokens.create(["predict"], "client")
    try:
        assert direct.call("GET", "/").type == "text/html; charset=utf-8"
        assert direct.call("GET", "/dashboard/main.js").type == "text/javascript; charset=utf-8"
        for path in ("/v1/live", "/v1/models/m/metrics", "/v1/models/m/metrics/stream"):
            assert direct.call("GET", path).status == 401
            assert direct.call("GET", path, Authorization=f"Bearer {other}").status == 403
        reply = direct.call("GET", "/v1/models/m/metrics", Authorization=f"Bearer {token}")
        assert reply.status == 200
        # A request without a way to stream is told where the same numbers are.
        assert direct.call("GET", "/v1/live", Authorization=f"Bearer {token}").status == 501
        assert direct.call("HEAD", "/v1/live", Authorization=f"Bearer {token}").status == 200
        assert direct.server.live.readers == 0
    finally:
        direct.server.stop()


@pytest.mark.parametrize(
    "name", ["../server.py", "..%2Fserver.py", "%2e%2e%2fserver.py", "index.html%00", "none.js", ""]
)
def test_only_files_of_the_dashboard_are_served(direct, name):
    assert direct.call("GET", f"/dashboard/{name}").status == 404


def test_a_request_with_its_own_sink_is_streamed(direct):
    request, pipe = PlainRequest("GET", "/v1/models/m/metrics/stream"), Pipe()
    request.sink = lambda: pipe
    direct.server.handler.handle(request, lambda reply: pytest.fail(f"answered with {reply.status}"))
    end = time.monotonic() + 20
    while not pipe.text and time.monotonic() < end:
        time.sleep(0.01)
    assert pipe.is_open
    assert pipe.events()[0][1] == "state"


def test_a_stream_outlives_the_timeouts_and_ends_with_the_server(tmp_path):
    settings = {"request_timeout": 0.5, "idle_timeout": 0.5, "header_timeout": 0.5, "body_timeout": 0.5}
    model = linear_model.LogisticRegression()
    with Server(model, data=tmp_path, port=0, settings=settings) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
        connection.request("GET", "/v1/models/model/metrics/stream")
        reply = connection.getresponse()
        assert reply.status == 200
        assert reply.headers["content-type"] == "text/event-stream"
        assert reply.headers["x-content-type-options"] == "nosniff"
        ids = []
        while len(ids) < 4:
            line = reply.readline().decode()
            assert line, "the stream ended"
            if line.startswith("id: "):
                ids.append(line.strip())
        assert len(set(ids)) == 4
        start = time.monotonic()
    assert time.monotonic() - start < 10
    reply.read()
    assert server.live.readers == 0
