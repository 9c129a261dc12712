"""Events that are not in the state yet, and the bounds of what waits for the log."""

from __future__ import annotations

import json
import threading
import time

import pytest

from millstream import _core, linear_model, serve
from millstream.errors import InvalidValue
from millstream.serve.bounded_pool import BoundedPool
from millstream.serve.in_flight import InFlight, Unsettled
from millstream.serve.proposal import Proposal, QueueFull, Stopped
from millstream.serve.records import Kind
from serving import Answer, Direct, PlainRequest
from serving_process import Connection, until

PREDICT, BATCH = "/v1/models/model/predict", "/v1/models/model/predict:batch"
ITEMS = [{"id": "k1", "x": {"f": 1.0}}, {"x": {"f": 2.0}}]


@pytest.fixture
def direct(tmp_path):
    with Direct(tmp_path / "data", model=linear_model.LogisticRegression()) as found:
        yield found


class Held:
    """The log thread writes, but cannot change the state, as while it applies a long record."""

    def __init__(self, server):
        self.lock, self.committer = server.engine.committer.lock, server.engine.committer

    def __enter__(self):
        self.lock.acquire()
        return self

    def __exit__(self, *_):
        self.lock.release()


def send(direct, method, path, body=None):
    """Send a request and return the list that receives its reply, perhaps later."""
    found = []
    data = b"" if body is None else json.dumps(body).encode()
    direct.server.handler.handle(PlainRequest(method, path, data), lambda reply: found.append(Answer(reply)))
    return found


def test_a_repeated_item_of_a_batch_is_refused_before_and_after_the_commit(direct):
    committer = direct.server.engine.committer
    with Held(direct.server):
        first = direct.post(BATCH, ITEMS).json
        assert "y" in first[0]
        refused = direct.post(BATCH, ITEMS).json
        assert refused[0]["status"] == 409
        assert "y" in refused[1]
    assert until(lambda: not committer.in_flight.has(1, "k1"))
    assert direct.post(BATCH, ITEMS).json[0]["status"] == 409
    assert committer.events.in_flight == 0


def test_a_single_prediction_with_the_id_of_a_batch_gets_the_first_prediction(tmp_path):
    """Over HTTP, where native models answer without Python."""
    with serve.Server(linear_model.LogisticRegression(), data=tmp_path / "data", port=0) as server:
        found = []

        def repeat():
            found.append(Connection(server.port).ask("POST", PREDICT, ITEMS[0]))

        with Held(server):
            Connection(server.port).ask("POST", BATCH, ITEMS)
            thread = threading.Thread(target=repeat)
            thread.start()
            time.sleep(0.2)
            assert found == []
        thread.join(10)
        assert found[0][0] == 200
        assert found[0][1]["repeated"] is True
        assert server.engine.state.by_name["model"].predictions == 2


def test_a_proposal_that_cannot_be_stored_releases_its_bytes(direct):
    committer, stream = direct.server.engine.committer, direct.server.engine.state.by_name["model"]
    outcomes = []
    with Held(direct.server):
        direct.post(BATCH, ITEMS)
        assert until(lambda: not committer._queue)
        label = {"y": "\ud800"}
        committer.propose(Proposal(Kind.LABEL, stream, "bad", "", parsed=label, sent=9, answer=outcomes.append))
        assert committer.queued_bytes > 0
    assert until(lambda: outcomes)
    assert isinstance(outcomes[0], InvalidValue)
    assert until(lambda: committer.queued_bytes == 0)


def test_requests_for_an_event_in_flight_delay_no_others(direct):
    with Held(direct.server):
        assert send(direct, "POST", PREDICT, {"id": "z", "x": {"f": 1}})[0].status == 200
        start = time.monotonic()
        later = [send(direct, "POST", PREDICT, {"id": "z", "x": {"f": 1}}) for _ in range(3)]
        later.append(send(direct, "POST", PREDICT, {"id": "z", "x": {"f": 9}}))
        later.append(send(direct, "GET", "/v1/models/model/events/z"))
        later.append(send(direct, "DELETE", "/v1/models/model/events/none"))
        other = send(direct, "POST", PREDICT, {"x": {"f": 1}})
        assert time.monotonic() - start < 1.0
        assert other[0].status == 200
        assert later[:5] == [[]] * 5
    assert until(lambda: all(later))
    assert [each[0].status for each in later] == [200, 200, 200, 409, 200, 404]
    assert later[0][0].json["repeated"] is True
    assert later[4][0].json["x"] == {"f": 1}


def test_a_repeated_infer_waits_without_a_thread_and_keeps_the_protocol(direct):
    tensor = {"name": "f", "shape": [2], "datatype": "FP64", "data": [1.0, 2.0]}
    other = {**tensor, "data": [1.0, 3.0]}
    with Held(direct.server):
        first = send(direct, "POST", "/v2/models/model/infer", {"id": "q", "inputs": [tensor]})
        same = send(direct, "POST", "/v2/models/model/infer", {"id": "q", "inputs": [tensor]})
        changed = send(direct, "POST", "/v2/models/model/infer", {"id": "q", "inputs": [other]})
        assert first
        assert not same
    assert until(lambda: same and changed)
    assert same[0].json["outputs"] == first[0].json["outputs"]
    assert changed[0].status == 409
    assert changed[0].json["error"] == changed[0].json["detail"]


def test_requests_that_wait_for_events_are_answered_when_the_log_ends(tmp_path):
    direct = Direct(tmp_path / "data", model=linear_model.LogisticRegression())
    with Held(direct.server):
        send(direct, "POST", PREDICT, {"id": "z", "x": {"f": 1}})
        later = send(direct, "POST", PREDICT, {"id": "z", "x": {"f": 1}})
        thread = threading.Thread(target=direct.server.stop)
        thread.start()
        time.sleep(0.1)
    thread.join(30)
    assert until(lambda: later)
    assert later[0].status in (200, 503)
    with pytest.raises(Stopped):
        direct.server.engine.committer.in_flight.when_settled(Unsettled(1, "z"), lambda: None)


def test_the_number_of_waiting_requests_is_bounded():
    in_flight = InFlight(_core.EventQueue(10))
    for _ in range(1024):
        in_flight.when_settled(Unsettled(1, "z"), lambda: None)
    with pytest.raises(QueueFull):
        in_flight.when_settled(Unsettled(1, "z"), lambda: None)


def test_the_bytes_that_wait_for_the_log_are_bounded(tmp_path):
    settings = {"max_queue_bytes": 1 << 20}
    with Direct(tmp_path / "data", model=linear_model.LogisticRegression(), engine_settings=settings) as direct:
        committer = direct.server.engine.committer
        text = "q" * 300_000
        with Held(direct.server):
            # The log thread takes the first one and waits for the state.
            stored = [direct.post(BATCH, [{"x": {"s": text}}]).json[0].get("stored", True) for _ in range(8)]
            assert stored == [True] * 3 + [False] * 5
            labels = [{"id": f"l{n}", "y": True} for n in range(10_000)]
            refused = direct.post("/v1/models/model/labels", labels)
            assert (refused.status, refused.json["type"]) == (503, "/problems/queue-full")
        assert until(lambda: committer.queued_bytes == 0)
        # A request above the limit is accepted if it is alone.
        assert direct.post("/v1/models/model/labels", labels).status == 200
        assert direct.post(BATCH, [{"x": {"s": text}}]).json[0].get("stored", True) is True


def test_a_group_of_labels_is_bounded_in_bytes(direct):
    committer = direct.server.engine.committer
    labels = [{"id": f"l{n}", "y": True} for n in range(10_000)]
    with Held(direct.server):
        direct.post(BATCH, ITEMS)
        assert until(lambda: not committer._queue)
        outcomes = [send(direct, "POST", "/v1/models/model/labels", labels) for _ in range(8)]
        group = committer._next_group()
        assert 1 <= len(group) < 8
        committer._queue.extendleft(reversed(group))
    assert until(lambda: all(outcomes))


def test_a_pool_refuses_what_it_cannot_take():
    pool, go, done = BoundedPool("test", most=3), threading.Event(), []
    for _ in range(3):
        pool.submit(lambda: (go.wait(10), done.append(1)))
    with pytest.raises(QueueFull):
        pool.submit(lambda: None)
    pool.resume(lambda: done.append(2))
    go.set()
    assert until(lambda: done == [1, 1, 1, 2])
    pool.submit(lambda: done.append(3))
    assert until(lambda: done[-1] == 3)
    pool.close()
    with pytest.raises(Stopped):
        pool.submit(lambda: None)


def test_too_many_slow_requests_are_refused(direct):
    with Held(direct.server):
        replies = [send(direct, "POST", "/v1/models/model/versions", {"version": f"v{n}"}) for n in range(70)]
        refused = [each[0].status for each in replies if each]
        assert refused == [503] * 6
        assert send(direct, "POST", PREDICT, {"x": {"f": 1}})[0].status == 200
    assert until(lambda: all(replies), 60)
