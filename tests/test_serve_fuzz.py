"""Random requests and random state files: no server error, no panic, no hang, nothing lost.

`MILLSTREAM_FAULTS=long` sends 100,000 requests instead of 2,500. The seed is printed; `MILLSTREAM_SEED` sets it.
"""

from __future__ import annotations

import os
import random
import shutil
from collections import Counter

import pytest

import millstream
from millstream.errors import MillstreamError
from millstream.serve.engine import Engine
from millstream.serve.snapshots import read_snapshot, snapshot_seqs, write_snapshot
from millstream.serve.store import EventStore
from request_fuzzer import POLICIES, Wire, mutated_bytes, mutated_value, random_request
from serving_process import LONG, NOTATION, ServerProcess, records, replayed, until

pytestmark = pytest.mark.slow

SEED = int(os.environ.get("MILLSTREAM_SEED", "16"))
BLOCKS, REQUESTS = 40 if LONG else 1, 2_500
FILES = 20_000 if LONG else 600

#: Types of problems whose status is 500 or more: the learner's, or the state of the server.
ALLOWED = ("queue-full", "learner-busy", "not-ready", "no-streams")


def check_means(server):
    """A label with which the mean overflows is quarantined; the others are learned when the window closes."""
    server.ask("POST", "/v1/models", {"name": "means", "spec": "LinearRegression"})
    assert server.ask("PUT", "/v1/models/means/policy", {**POLICIES[2], "window": 2.0})[0] == 200
    assert server.ask("POST", "/v1/models/means/predict?wait=durable", {"id": "mean", "x": {"v": 1.0}})[0] == 200
    fates = [server.ask("PUT", "/v1/models/means/labels/mean", {"y": 1e308, "ts": ts}) for ts in (1, 2)]
    assert [each["fate"] for _, each in fates] == ["collected", "quarantined"], fates
    assert until(lambda: server.ask("GET", "/v1/models/means/events/mean")[1]["label"] == "labelled", 10)


@pytest.mark.parametrize("seed", range(SEED, SEED + BLOCKS))
def test_random_requests(tmp_path, seed):
    chance, statuses = random.Random(seed), Counter()
    server = ServerProcess(
        tmp_path / "data",
        models={"m": NOTATION, "n": "GaussianNB", "g": "LinearRegression"},
        settings={"header_timeout": 0.3, "body_timeout": 0.3},
    )
    with server:
        wire = Wire(server.port)
        for number in range(REQUESTS):
            if number % 50 == 0:
                # A random request may have deleted a model.
                for name, spec in server.settings["models"].items():
                    server.ask("POST", "/v1/models", {"name": name, "spec": spec})
            request = random_request(chance)
            try:
                status, body = wire.send(request)
            except TimeoutError:
                pytest.fail(f"seed {seed}, request {number} was not answered: {request}")
            statuses[status] += 1
            if status is not None and status >= 500:
                assert any(f"/problems/{kind}".encode() in body for kind in ALLOWED), (
                    number,
                    request,
                    body[:1000],
                )
        wire.close()
        assert server.ask("GET", "/healthz")[0] == 200
        assert server.ask("GET", "/readyz")[0] == 200
        server.ask("POST", "/v1/models", {"name": "m", "spec": NOTATION})
        check_means(server)
        assert server.ask("POST", "/v1/models/m/predict", {"x": {"fresh": 1.0}})[0] == 200
        live = server.export()
        shown = server.ask("GET", "/v1/models/m")[1]["labels"]
        assert sum(shown["fates"].values()) == shown["received"]
        assert replayed(server.data, from_start=True) == live
        assert server.stop() == 0
        errors = server.errors()
        assert "panicked" not in errors
        assert "Traceback" not in errors
        server.start()
        assert server.export() == live
    assert not (tmp_path / "escaped.ms").exists()
    print(f"seed {seed}: {REQUESTS} requests, by status {dict(sorted(statuses.items(), key=str))}")
    assert statuses[200] > REQUESTS // 20


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A data folder with a model that has learned, a version, and snapshots."""
    data = tmp_path_factory.mktemp("fuzz") / "data"
    with ServerProcess(data) as server:
        for n in range(30):
            server.ask("POST", "/v1/models/m/predict", {"id": f"e{n}", "x": {"v": float(n), "c": "ab"[n % 2]}})
            server.ask("PUT", f"/v1/models/m/labels/e{n}", {"y": n % 2 == 0})
        server.ask("POST", "/v1/models/m/versions", {"version": "v1"})
        assert server.stop() == 0
    return data


def attempt(outcomes, action, errors=MillstreamError):
    """Run an action that may only succeed or raise an error of this library."""
    try:
        action()
    except errors as error:
        found = type(error).__name__ if "\n" not in str(error) else "an error of several lines"
    else:
        found = "accepted"
    outcomes[found] += 1
    assert "an error of several lines" not in outcomes


def test_random_models(folder):
    chance, outcomes = random.Random(SEED), Counter()
    originals = [path.read_bytes() for path in (folder / "models").glob("*.ms")]
    originals.append(Engine(folder, read_only=True).state.models["m"].model.to_bytes())
    for _ in range(FILES):
        data = mutated_bytes(chance, chance.choice(originals))
        attempt(outcomes, lambda data=data: millstream.from_bytes(data))
    print(f"seed {SEED}: {FILES} damaged models: {dict(outcomes)}")


def test_random_snapshots(folder, tmp_path):
    """Damaged bytes are found by their checksums. A forged content with right checksums runs no code."""
    chance, outcomes = random.Random(SEED), Counter()
    source = folder / "snapshots" / f"{snapshot_seqs(folder / 'snapshots')[-1]}.snapshot"
    data, whole = source.read_bytes(), read_snapshot(source)
    path = tmp_path / source.name
    for _ in range(FILES):
        changed = mutated_bytes(chance, data)
        path.write_bytes(changed)
        found = Counter()
        attempt(found, lambda: read_snapshot(path))
        assert found["accepted"] == (changed == data)
        outcomes += found
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    live = replayed(folder, from_start=True)
    for _ in range(FILES // 10):
        blobs = dict(whole.blobs)
        header = whole.header
        if chance.random() < 0.5:
            header = mutated_value(chance, header)
        else:
            name = chance.choice(list(blobs))
            blobs[name] = mutated_bytes(chance, blobs[name])
        if not isinstance(header, dict):
            continue
        write_snapshot(copy / "snapshots", whole.seq, header, blobs)
        attempt(outcomes, lambda: Engine(copy, read_only=True).stop(), Exception)
        # The log does not need the snapshot.
        assert replayed(copy, from_start=True) == live
    print(f"seed {SEED}: {FILES} damaged snapshots: {dict(outcomes)}")


def check_store(path, expected):
    """A store that opens has all records as they were written."""
    with EventStore(path) as store:
        assert len(list(store.read())) == len(expected)
    assert records(path.parent) == expected


def test_random_stores(folder, tmp_path):
    chance, outcomes = random.Random(SEED), Counter()
    source = folder / "events.db"
    data, expected = source.read_bytes(), records(folder)
    path = tmp_path / "events.db"
    for _ in range(FILES // 4):
        head = mutated_bytes(chance, data[:100]) if chance.random() < 0.5 else data[:100]
        rest = data[100:] if head != data[:100] else mutated_bytes(chance, data[100:])
        path.write_bytes(head + rest)
        for other in (tmp_path / "events.acked", tmp_path / "events.db-wal"):
            other.unlink(missing_ok=True)
        shutil.copy(folder / "events.acked", tmp_path)
        attempt(outcomes, lambda: check_store(path, expected))
    print(f"seed {SEED}: {FILES // 4} damaged stores: {dict(outcomes)}")
