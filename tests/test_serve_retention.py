"""Retention: the log is trimmed by age and size, and nothing that is needed is removed."""

from __future__ import annotations

import contextlib
import sqlite3

import pytest

from millstream.errors import InvalidValue
from millstream.serve.engine import Engine
from millstream.serve.fates import Fate
from millstream.serve.retention import Retention
from millstream.serve.store_errors import StoreBusy, StoreFull
from test_serve_labels import Door


def teach(door, numbers):
    for number in numbers:
        door.predict(f"e{number}", {"v": float(number % 7)})
        door.label(f"e{number}", float(number % 3))


def test_old_records_are_removed_and_a_restart_continues(tmp_path):
    door = Door(tmp_path, policy={"window": "1d"}, retention=Retention(age="3d"))
    teach(door, range(50))
    door.engine._take_snapshot(door.engine.state)
    assert door.engine.store.first_seq == 1
    for day in range(1, 6):
        door.tick(86_401)
        teach(door, range(50 * day, 50 * day + 10))
        door.engine._take_snapshot(door.engine.state)
    assert door.engine.store.first_seq > 100
    expected, hands = door.bytes(), door.hands
    door.close()
    again = Door(tmp_path, hands=hands)
    assert again.bytes() == expected
    teach(again, [1000])
    again.close()
    replayed = Engine(tmp_path, read_only=True)
    assert replayed.state.models["m"].learned == 101
    replayed.stop()


def test_an_event_that_waits_for_its_label_is_kept(tmp_path):
    door = Door(tmp_path, policy={"window": "30d"}, retention=Retention(age=60))
    door.predict("waits", {"v": 1.0})
    for _ in range(4):
        door.tick(86_400)
        teach(door, [int(door.engine.state.seq) + 1000])
        door.engine._take_snapshot(door.engine.state)
    assert door.engine.store.first_seq <= 2
    assert door.label("waits", 2.0).fate is Fate.LEARNED
    door.close()


def test_the_size_is_limited(tmp_path):
    door = Door(tmp_path, policy={"window": 1}, retention=Retention(size=1 << 20))
    for round_ in range(5):
        for number in range(20):
            door.predict(f"e{round_}-{number}", {"v" * 60_000: float(number)})
        door.tick(10)
        door.engine._take_snapshot(door.engine.state)
    assert door.engine.store.used < 4 << 20
    assert door.engine.store.first_seq > 20
    door.close()


@pytest.mark.parametrize("settings", [{"age": "yes"}, {"age": -1}, {"size": 10}])
def test_impossible_limits_are_refused(settings):
    with pytest.raises(InvalidValue):
        Retention(**settings)


@pytest.mark.parametrize("error", [StoreFull, StoreBusy])
@pytest.mark.parametrize("method", ["trim", "first_at"])
def test_a_store_that_is_full_or_locked_postpones_it(tmp_path, monkeypatch, error, method):
    door = Door(tmp_path, policy={"window": 1}, retention=Retention(age=60))
    for _ in range(4):
        teach(door, range(int(door.engine.state.seq), int(door.engine.state.seq) + 10))
        door.tick(3600)
        door.engine._take_snapshot(door.engine.state)
    first = door.engine.store.first_seq
    teach(door, range(1000, 1010))
    door.tick(3600)

    def fail(_):
        raise error("event store: not now")

    with monkeypatch.context() as patch:
        patch.setattr(door.engine.store, method, fail)
        door.engine.committer.request_snapshot()
        teach(door, range(2000, 2010))
    assert any(note.endswith("event store: not now") for note in door.engine.recovery.notes)
    assert door.engine.store.first_seq == first
    teach(door, range(3000, 3010))
    door.engine._take_snapshot(door.engine.state)
    assert door.engine.store.first_seq > first
    door.close()


def test_salvaged_log_is_trimmed(tmp_path):
    """The records that damage took away have no time."""
    door = Door(tmp_path, policy={"window": 1})
    teach(door, range(10))
    door.close()
    with contextlib.closing(sqlite3.connect(tmp_path / "events.db")) as database:
        database.execute("UPDATE records SET body = body || ' ' WHERE seq BETWEEN 8 AND 14")
        database.commit()
    hands = door.hands
    door = Door(tmp_path, hands=hands, salvage=True, retention=Retention(age=60))
    assert door.engine.store.gaps == ((8, 14),)
    for _ in range(4):
        door.tick(3600)
        teach(door, [int(door.engine.state.seq) + 1000])
        door.engine.committer.request_snapshot()
        door.tick(1)
    assert door.engine.committer._stopped is None
    assert door.engine.store.first_seq > 14
    door.close()
