"""Signals, stopped and hanging processes, two servers on one folder, folders of later versions."""

from __future__ import annotations

import contextlib
import json
import random
import signal
import subprocess
import sys
import threading
import time

import pytest

from serving_process import LONG, NOTATION, ServerProcess, learned_by_hand, records, replayed, until

pytestmark = pytest.mark.slow

SEED = 11


def send_examples(server, count, first=0):
    """Predict and label; every label is acknowledged."""
    with contextlib.closing(server.connect()) as connection:
        for n in range(first, first + count):
            body = {"id": f"e{n}", "x": {"v": float(n % 7), "w": float(n % 3)}}
            assert connection.ask("POST", "/v1/models/m/predict", body)[0] == 200
            assert connection.ask("PUT", f"/v1/models/m/labels/e{n}", {"y": n % 2 == 0})[0] == 201


def check(server):
    """The live model is what the log says; returns the number of labels."""
    learned, model = learned_by_hand(server.data)
    live = server.export()
    assert live == model.to_bytes()
    assert replayed(server.data, from_start=True) == live
    return len(learned)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_requests_in_flight_are_answered_before_the_end(tmp_path, number):
    server = ServerProcess(tmp_path / "data", models={}, slow=True)
    answers = []

    def predict():
        answers.append(server.ask("POST", "/v1/models/slow/predict", {"id": "slow", "x": {"wait": 1.0}}))

    with server:
        assert server.ask("POST", "/v1/models/slow/predict", {"id": "a", "x": {}})[0] == 200
        threads = [threading.Thread(target=predict)]
        threads[0].start()
        time.sleep(0.3)
        # Its label takes a second to learn; it is proposed while the prediction holds up the handler.
        threads.append(
            threading.Thread(
                target=lambda: answers.append(server.ask("PUT", "/v1/models/slow/labels/a", {"y": 2}))
            )
        )
        threads[1].start()
        time.sleep(0.3)
        server.send_signal(number)
        for thread in threads:
            thread.join(30)
        assert server.wait() == 0
        assert sorted(status for status, _ in answers) == [200, 201], answers
        server.start()
        assert server.ask("GET", "/v1/models/slow")[1]["learned"] == 1
        assert server.ask("GET", "/v1/models/slow/events/slow")[0] == 200


def test_a_stopped_process_continues(tmp_path):
    seconds = 60.0 if LONG else 3.0
    answers = []
    with ServerProcess(tmp_path / "data") as server:
        send_examples(server, 20)
        server.ask("POST", "/v1/models/m/predict", {"id": "late", "x": {"v": 1.0}})
        server.send_signal(signal.SIGSTOP)

        def label():
            with contextlib.closing(server.connect(seconds + 30)) as connection:
                answers.append(connection.ask("PUT", "/v1/models/m/labels/late", {"y": True})[0])

        threads = [threading.Thread(target=label) for _ in range(8)]
        for thread in threads:
            thread.start()
        time.sleep(seconds)
        assert answers == []
        server.send_signal(signal.SIGCONT)
        for thread in threads:
            thread.join(30)
        assert sorted(answers) == [200] * 7 + [201]
        send_examples(server, 20, first=20)
        assert check(server) == 41
        assert server.stop() == 0
    print(f"stopped for {seconds:g} s with 8 labels on the way: learned once")


def test_kills_during_rollback_and_promotion(tmp_path):
    """The operation is in the log or it is not; in both cases the folder recovers to what its log says."""
    chance = random.Random(SEED)
    found = {"rollback": 0, "promotion": 0}
    cycles = 40 if LONG else 4
    server = ServerProcess(tmp_path / "data", models={"m": NOTATION, "n": "GaussianNB"})
    with server:
        send_examples(server, 100)
        assert server.ask("POST", "/v1/models/m/versions", {"version": "v1"})[0] == 201
        route = {"champion": "m", "challengers": ["n"]}
        assert server.ask("PUT", "/v1/routes/r", route)[0] == 201
        start = time.monotonic()
        assert server.ask("POST", "/v1/models/m/rollback", {"to": "v1", "exclude": ["e99"]})[0] == 200
        rollback_seconds = time.monotonic() - start
        for cycle in range(cycles):
            other = server.ask("GET", "/v1/routes/r")[1]["challengers"][0]
            action = (
                ("POST", "/v1/models/m/rollback", {"to": "v1", "exclude": [f"e{cycle}"]})
                if cycle % 2
                else ("POST", "/v1/routes/r/promote", {"model": other, "why": "test"})
            )
            answers = []

            def act(action=action, answers=answers):
                with contextlib.suppress(OSError, Exception):
                    answers.append(server.ask(*action)[0])

            thread = threading.Thread(target=act)
            thread.start()
            if cycle >= cycles - 2:
                # The last of each kind is acknowledged, and the server is killed at once.
                thread.join(30)
            else:
                time.sleep(chance.uniform(0.0, 1.5 * rollback_seconds if cycle % 2 else 0.05))
            server.kill()
            thread.join(30)
            if cycle % 3 == 2:
                server.launch()
                time.sleep(chance.uniform(0.2, 1.0))
                server.kill()
            server.start()
            if answers == [200]:
                champion = server.ask("GET", "/v1/routes/r")[1]["champion"]
                found["rollback" if cycle % 2 else "promotion"] += 1
                assert cycle % 2 or champion == other
                if cycle % 2:
                    operations = [json.loads(body) for _, kind, _, body in records(server.data) if kind == 7]
                    assert any(each.get("exclude") == [f"e{cycle}"] for each in operations), operations
                    assert server.ask("GET", "/v1/models/m")[1]["learned"] == 99
            live = {name: server.export(name) for name in ("m", "n")}
            for name, data in live.items():
                assert replayed(server.data, from_start=True, model=name) == data
                assert replayed(server.data, from_start=False, model=name) == data
    print(f"seed {SEED}: {cycles} kills during rollbacks and promotions, acknowledged {found}, all correct")
    assert all(found.values()), found


def serve_command(data, *more):
    return [sys.executable, "-m", "millstream", "serve", *more, "--data", str(data), "--port", "0"]


def test_a_second_server_is_refused_with_the_process_id_of_the_first(tmp_path):
    with ServerProcess(tmp_path / "data") as server:
        send_examples(server, 3)
        second = subprocess.run(serve_command(server.data), capture_output=True, text=True, timeout=60)
        assert second.returncode != 0
        assert f"is in use by process {server.process.pid}" in second.stderr
        assert "Traceback" not in second.stderr
        assert len(second.stderr.strip().splitlines()) == 1
        send_examples(server, 3, first=3)
        assert check(server) == 6
        server.kill()
        # The lock of a killed server is gone with it.
        server.start()
        assert check(server) == 6


def test_a_folder_of_a_later_version_is_refused_and_not_touched(tmp_path):
    data = tmp_path / "data"
    with ServerProcess(data) as server:
        send_examples(server, 3)
        assert server.stop() == 0
    (data / "millstream.json").write_text(json.dumps({"format": 99}))
    before = {path: path.read_bytes() for path in data.rglob("*") if path.is_file()}
    times = {path: path.stat().st_mtime_ns for path in before}
    refused = subprocess.run(serve_command(data, "LinearRegression"), capture_output=True, text=True, timeout=60)
    assert refused.returncode != 0
    assert "format 99 is newer than this version can read" in refused.stderr
    assert "Traceback" not in refused.stderr
    after = {path: path.read_bytes() for path in data.rglob("*") if path.is_file()}
    assert after == before
    assert {path: path.stat().st_mtime_ns for path in after} == times


def test_a_learner_that_never_returns(tmp_path):
    """Its request times out, /healthz says so, and the other models go on to predict."""
    server = ServerProcess(tmp_path / "data", slow=True, stall=1.0, settings={"request_timeout": 3.0})
    with server:
        send_examples(server, 3)
        assert server.ask("POST", "/v1/models/slow/predict", {"id": "a", "x": {}})[0] == 200
        assert server.ask("GET", "/healthz")[0] == 200
        assert server.ask("PUT", "/v1/models/slow/labels/a", {"y": 3})[0] == 504
        assert until(lambda: server.ask("GET", "/healthz")[0] == 503, 10)
        status, found = server.ask("GET", "/healthz")
        assert (status, found["type"]) == (503, "/problems/learner-stalled")
        assert found["detail"].startswith("slow: ")
        assert server.ask("POST", "/v1/models/m/predict", {"x": {"v": 1.0}})[0] == 200
        assert server.ask("POST", "/v1/models/slow/predict", {"x": {}})[1]["type"] == "/problems/learner-busy"
        assert server.ask("PUT", "/v1/models/m/labels/e1", {"y": True})[0] == 504
        server.kill()


def test_a_prediction_that_never_returns(tmp_path):
    """Requests that need the handler time out; native models go on to predict."""
    with ServerProcess(tmp_path / "data", slow=True, stall=1.0, settings={"request_timeout": 2.0}) as server:
        answers = {}

        def ask(name, path, body):
            answers[name] = server.ask("POST", path, body)[0]

        requests = [
            ("slow", "/v1/models/slow/predict", {"x": {"wait": 3600}}),
            ("handler", "/v1/models/m/predict", {"x": {}, "trace": "a"}),
            ("native", "/v1/models/m/predict", {"x": {}}),
        ]
        threads = [threading.Thread(target=ask, args=each) for each in requests]
        for thread in threads:
            thread.start()
            time.sleep(0.2)
        assert until(lambda: server.ask("GET", "/healthz")[0] == 503, 10)
        for thread in threads:
            thread.join(30)
        assert answers == {"slow": 504, "handler": 504, "native": 200}
