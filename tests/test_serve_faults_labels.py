"""Labels that are repeated, that race with the end of a window, and that meet a clock which is wrong."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections import Counter
from functools import partial

import pyarrow as pa
import pytest

import millstream
from millstream import linear_model, serve
from millstream.serve.clock import Clock
from millstream.serve.engine import Engine
from millstream.serve.formats import ARROW, table_bytes
from millstream.serve.records import Kind
from serving_process import LONG, Connection, replayed, until

DAY = 86_400


@pytest.fixture
def server(tmp_path):
    with serve.Server(linear_model.LinearRegression(), name="m", data=tmp_path / "data", port=0) as server:
        yield server


def at_once(count, action):
    """Run an action in many threads that start together; returns their results."""
    barrier, results = threading.Barrier(count), []

    def run(number):
        barrier.wait()
        results.append(action(number))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(results) == count
    return results


@pytest.mark.slow
def test_one_label_sent_a_thousand_times_at_once(server):
    """50 clients send the same label 20 times each, some of them in a batch: it is learned once."""
    with contextlib.closing(Connection(server.port)) as connection:
        connection.ask("POST", "/v1/models/m/predict?wait=durable", {"id": "a", "x": {"v": 2.0}})

    def send(number):
        with contextlib.closing(Connection(server.port)) as connection:
            found = []
            for n in range(20):
                if number % 5 == 0 and n % 2:
                    _, results = connection.ask("POST", "/v1/models/m/labels", [{"id": "a", "y": 3.0}])
                    found.append(results[0]["status"])
                else:
                    found.append(connection.ask("PUT", "/v1/models/m/labels/a", {"y": 3.0})[0])
            return found

    statuses = Counter(status for found in at_once(50, send) for status in found)
    assert statuses == {201: 1, 200: 999}
    alone = linear_model.LinearRegression()
    alone.learn_one({"v": 2.0}, 3.0)
    assert server.engine.state.models["m"].model.to_bytes() == alone.to_bytes()
    status = server.engine.state.by_name["m"].status()
    assert status["received"] == 1000 == sum(status["fates"].values())
    assert (status["fates"]["learned"], status["fates"]["duplicate"]) == (1, 999)
    print("one label sent 1,000 times: learned once, 999 duplicates")


def test_different_labels_of_one_event_at_once(server):
    with contextlib.closing(Connection(server.port)) as connection:
        connection.ask("POST", "/v1/models/m/predict?wait=durable", {"id": "a", "x": {"v": 2.0}})

    def send(number):
        with contextlib.closing(Connection(server.port)) as connection:
            return connection.ask("PUT", "/v1/models/m/labels/a", {"y": float(number)})[0]

    assert Counter(at_once(30, send)) == {201: 1, 409: 29}
    assert server.engine.state.models["m"].learned == 1


class Hands:
    """A monotonic clock that a test moves."""

    def __init__(self):
        self.seconds = 0.0

    def clock(self, not_before):
        return Clock(not_before, wall=lambda: 1_600_000_000.0, monotonic=lambda: self.seconds)


def test_a_window_closes_against_a_label(tmp_path):
    """In every round a label arrives while its window closes: the label or the default label wins, never both."""
    hands, rounds, won, chance = Hands(), 300 if LONG else 40, Counter(), random.Random(7)
    policy = {"window": 60, "default_label": -1.0}
    with serve.Server(
        linear_model.LinearRegression(),
        name="m",
        data=tmp_path / "data",
        port=0,
        policy=policy,
        engine_settings={"clock": hands.clock},
    ) as server:
        connection, other = Connection(server.port), Connection(server.port)
        for n in range(rounds):
            connection.ask("POST", "/v1/models/m/predict?wait=durable", {"id": f"e{n}", "x": {"v": 1.0}})

            def move(n=n):
                time.sleep(chance.uniform(0.0, 0.002))
                hands.seconds += 61
                return other.ask("POST", "/v1/models/m/predict?wait=durable", {"id": f"t{n}", "x": {"v": 0.0}})[0]

            def label(n=n):
                return connection.ask("PUT", f"/v1/models/m/labels/e{n}", {"y": 1.0})[0]

            statuses = at_once(2, lambda number, actions=(move, label): actions[number]())
            status = next(each for each in statuses if each != 200)
            won[status] += 1
            served, stream = server.engine.state.models["m"], server.engine.state.by_name["m"].status()
            # All events but the last one, whose window is open, are learned: once each.
            assert status in (201, 410)
            assert served.learned == stream["fates"]["learned"] + stream["default_labels"] == 2 * n + 1
            assert stream["fates"]["learned"] == won[201]
        connection.close()
        other.close()
        live = server.engine.state.models["m"].model.to_bytes()
    assert replayed(tmp_path / "data", from_start=True) == live
    print(f"{rounds} windows closed against a label: the label won {won[201]}, the window {won[410]}")


def run_with(data, walls):
    """Predict and label while the wall clock jumps, and restart the server at each jump; returns the state."""
    for n, wall in enumerate(walls):
        with serve.Server(
            linear_model.LinearRegression(),
            name="m",
            data=data,
            port=0,
            policy={"window": 100 * 365 * DAY},
            engine_settings={"clock": partial(Clock, wall=lambda wall=wall: wall, monotonic=lambda: 0.0)},
        ) as server:
            connection = Connection(server.port)
            connection.ask("POST", "/v1/models/m/predict?wait=durable", {"id": f"e{n}", "x": {"v": float(n)}})
            if n:
                # The label of an event of the server before this one.
                assert connection.ask("PUT", f"/v1/models/m/labels/e{n - 1}", {"y": float(n)})[0] == 201
                assert connection.ask("PUT", f"/v1/models/m/labels/e{n - 1}", {"y": float(n)})[0] == 200
            connection.close()
            times = [record.time for record in server.engine.store.read()]
            assert times == sorted(times)
            found = server.engine.state.models["m"].model.to_bytes()
    assert replayed(data, from_start=True) == found
    return found


def test_a_clock_that_goes_back_a_day_and_on_ten_years(tmp_path):
    now = 1_700_000_000.0
    expected = run_with(tmp_path / "right", [now, now + 1, now + 2, now + 3, now + 4])
    assert run_with(tmp_path / "back", [now, now - DAY, now - 2 * DAY, now, now + 1]) == expected
    assert run_with(tmp_path / "on", [now, now + 3650 * DAY, now + 1, now - DAY, now + 2]) == expected
    assert run_with(tmp_path / "zero", [0.0, now, 0.0, now, 0.0]) == expected


def test_a_step_of_the_wall_clock_closes_no_window(tmp_path):
    wall = [1_700_000_000.0]
    engine_clock = lambda last: Clock(last, wall=lambda: wall[0], monotonic=lambda: 5.0)  # noqa: E731
    with serve.Server(
        linear_model.LinearRegression(),
        name="m",
        data=tmp_path / "data",
        port=0,
        policy={"window": 60, "default_label": 0.0},
        engine_settings={"clock": engine_clock},
    ) as server:
        connection = Connection(server.port)
        for n, step in enumerate((0, 3650 * DAY, -7300 * DAY, 3600)):
            connection.ask("POST", "/v1/models/m/predict?wait=durable", {"id": f"e{n}", "x": {"v": 1.0}})
            wall[0] += step
            assert connection.ask("PUT", f"/v1/models/m/labels/e{n}", {"y": 1.0})[0] == 201
        connection.close()
        assert server.engine.state.by_name["m"].status()["default_labels"] == 0


def test_a_deleted_model_does_not_stop_the_log(tmp_path, monkeypatch):
    """Events and labels are on their way while their model is deleted: the others go on, and the folder opens."""
    with serve.Server(linear_model.LinearRegression(), name="m", data=tmp_path / "data", port=0) as server:
        committer, proposed = server.engine.committer, []
        propose = committer.propose
        monkeypatch.setattr(committer, "propose", lambda each: (propose(each), proposed.append(each)))
        client = serve.Client(server.url, retries=0)
        for n in range(5):
            name = f"n{n}"
            client.create(name, "LinearRegression")
            number = server.engine.state.by_name[name].number
            proposed.clear()
            stop, written, refused = threading.Event(), [], []

            def write(name=name, stop=stop, written=written):
                while not stop.is_set():
                    with contextlib.suppress(serve.ServeError):
                        found = client.predict(name, {"v": 1.0})
                        client.label(name, found["id"], 1.0)
                        written.append(client.learn(name, {"v": 1.0}, 1.0)["seq"])

            def write_late(name=name, refused=refused):
                try:
                    client.learn(name, {"v": 1.0}, 1.0)
                except serve.ServeError as error:
                    refused.append(error.status)

            threads = [threading.Thread(target=write) for _ in range(4)]
            for thread in threads:
                thread.start()
            assert until(lambda written=written: written)
            deletion = threading.Thread(target=client.delete, args=(name,))
            late = threading.Thread(target=write_late)
            # The log cannot apply the deletion, so that a write follows it that was sent before it had an effect.
            with committer.lock:
                deletion.start()
                assert until(lambda: any(each.kind == Kind.ADMIN for each in list(proposed)))
                place = len(proposed)
                late.start()
                assert until(lambda place=place: any(each.kind == Kind.LEARN for each in proposed[place:]))
            stop.set()
            for thread in (deletion, late, *threads):
                thread.join(30)
                assert not thread.is_alive()
            assert refused == [404]
            log = list(server.engine.store.read())
            last = max(each.seq for each in log if each.kind == Kind.ADMIN)
            assert [each for each in log if each.stream == number and each.seq > last], "no write followed"
        found = client.predict("m", {"v": 1.0})
        assert client.label("m", found["id"], 2.0)["fate"] == "learned"
    engine = Engine(tmp_path / "data", read_only=True, from_start=True)
    assert list(engine.state.models) == ["m"]
    engine.stop()


def test_a_batch_with_features_of_unknown_events_is_learned_once(server):
    client = serve.Client(server.url, retries=0)
    labels = [{"id": f"u{n}", "y": float(n), "x": {"v": float(n)}} for n in range(5)]
    assert [each["fate"] for each in client.labels("m", labels)] == ["learned"] * 5
    assert [each["fate"] for each in client.labels("m", labels)] == ["duplicate"] * 5
    other = [{**label, "y": 9.0} for label in labels]
    assert [each["fate"] for each in client.labels("m", other)] == ["conflict"] * 5
    assert client.event("m", "u3")["x"] == {"v": 3.0}
    assert client.model("m")["learned"] == 5


@pytest.mark.parametrize("aggregate", ["last", "sum", "mean", "min", "max", "median"])
def test_labels_that_cannot_be_aggregated_do_not_stop_the_log(tmp_path, aggregate):
    """They are quarantined when they arrive, or when the window closes if the policy was changed meanwhile."""
    hands = Hands()
    policy = {"window": 60, "learn_when": "on_window_close"}
    with serve.Server(
        millstream.parse("GaussianNB"),
        name="m",
        data=tmp_path / "data",
        port=0,
        policy=policy | {"aggregate": "last"},
        engine_settings={"clock": hands.clock},
    ) as server:
        client = serve.Client(server.url, retries=0)
        for id, y in (("text", "a"), ("huge", 10**330), ("bad", 1.5)):
            client.predict("m", {"v": 1.0}, id=id, wait="durable")
            with contextlib.suppress(serve.ServeError):
                client.label("m", id, y)
        client.policy("m", policy | {"aggregate": aggregate})
        for n, y in enumerate(["a", 10**330, None, True]):
            client.predict("m", {"v": 1.0}, id=f"later{n}", wait="durable")
            with contextlib.suppress(serve.ServeError):
                client.label("m", f"later{n}", y)
        hands.seconds += 61
        client.predict("m", {"v": 1.0}, wait="durable")
        status = client.model("m")["labels"]
        assert sum(status["fates"].values()) == status["received"] == 7
        assert status["fates"]["collected"] == 0
        live = server.engine.state.models["m"].model.to_bytes()
    assert replayed(tmp_path / "data", from_start=True) == live


def test_many_rollbacks_do_not_take_exponential_time(tmp_path):
    """A rollback replays those before it; twenty of them, each of which leaves out a label, take a moment."""
    with serve.Server(linear_model.LinearRegression(), name="m", data=tmp_path / "data", port=0) as server:
        client = serve.Client(server.url, retries=0, timeout=60)
        for n in range(20):
            client.learn("m", {"v": float(n)}, float(n), id=f"e{n}")
            client.rollback("m", exclude=["e3"])
        assert client.model("m")["learned"] == 19
        expected = linear_model.LinearRegression()
        for n in range(20):
            if n != 3:
                expected.learn_one({"v": float(n)}, float(n))
        assert client.export("m") == expected.to_bytes()
    assert replayed(tmp_path / "data", from_start=True) == expected.to_bytes()


@pytest.mark.parametrize("when", ["on_label", "on_window_close"])
def test_early_labels_are_counted_when_their_events_arrive(tmp_path, when):
    hands = Hands()
    policy = {"window": 60, "early_window": 60, "learn_when": when}
    with serve.Server(
        linear_model.LinearRegression(),
        name="m",
        data=tmp_path / "data",
        port=0,
        policy=policy,
        engine_settings={"clock": hands.clock},
    ) as server:
        client = serve.Client(server.url, retries=0)
        assert client.label("m", "a", 1.0)["fate"] == "parked"
        assert client.label("m", "bad", "text")["fate"] == "parked"
        for id in ("a", "bad"):
            client.predict("m", {"v": 1.0}, id=id, wait="durable")
        assert client.model("m")["learned"] == (when == "on_label")
        hands.seconds += 61
        client.predict("m", {"v": 1.0}, wait="durable")
        status = client.model("m")["labels"]
        assert (status["fates"]["learned"], status["fates"]["quarantined"]) == (1, 1)
        assert sum(status["fates"].values()) == status["received"] == 2


@pytest.mark.parametrize("query", ["", "?wait=durable"])
def test_predictions_of_several_types_in_a_table(tmp_path, query):
    """The classes of a model may be strings and numbers; a column of Arrow has one type."""
    with (
        serve.Server(millstream.parse("GaussianNB"), name="m", data=tmp_path / "data", port=0) as server,
        contextlib.closing(Connection(server.port)) as connection,
    ):
        client = serve.Client(server.url, retries=0)
        for n, y in enumerate(("late", 1) * 20):
            client.learn("m", {"v": float(n % 2)}, y)
        body = table_bytes(pa.table({"v": [0.0, 1.0]}))
        status, found = connection.send("POST", f"/v1/models/m/predict:batch{query}", body, content_type=ARROW)
        assert status == 200
        assert pa.ipc.open_stream(found).read_all()["y"].to_pylist() == ["late", "1"]
