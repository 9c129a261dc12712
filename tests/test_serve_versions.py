"""Versions, rollback, and the removal of poisoned labels by replay."""

from __future__ import annotations

import pytest

from millstream import linear_model, preprocessing
from millstream.errors import MillstreamError
from millstream.serve.engine import Engine
from test_serve_labels import Door


def model():
    return preprocessing.StandardScaler() | linear_model.LinearRegression()


def teach(door, numbers):
    for number in numbers:
        door.predict(f"e{number}", {"v": float(number % 7)})
        door.label(f"e{number}", float(number % 3))


def learned(numbers):
    alone = model()
    for number in numbers:
        alone.learn_one({"v": float(number % 7)}, float(number % 3))
    return alone.to_bytes()


def rollback(door, **body):
    operation = {"op": "rollback", "model": "m", "folder_id": door.served.folder_id, "exclude": [], **body}
    outcome = door.engine.administer(operation)
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


@pytest.fixture
def door(tmp_path):
    door = Door(tmp_path / "data", model())
    yield door
    door.close()


def test_rollback_to_a_version_and_learn_on(door):
    teach(door, range(20))
    version = door.engine.administer({"op": "version", "model": "m", "version": "v1"})
    teach(door, range(20, 40))
    rollback(door, to=version)
    assert door.bytes() == learned(range(20))
    teach(door, range(40, 50))
    assert door.bytes() == learned([*range(20), *range(40, 50)])
    assert door.served.version == "v1"


def test_rollback_to_a_record(door):
    teach(door, range(10))
    seq = door.engine.state.seq
    teach(door, range(10, 20))
    rollback(door, to=seq)
    assert door.bytes() == learned(range(10))


def test_excluded_labels_are_removed_as_if_they_had_never_come(door):
    teach(door, range(30))
    rollback(door, to=door.engine.state.seq, exclude=["e7", "e20"])
    assert door.bytes() == learned([number for number in range(30) if number not in (7, 20)])
    assert door.served.scored == 28


def test_rollbacks_survive_a_restart_and_a_replay(door, tmp_path):
    teach(door, range(10))
    rollback(door, to=door.engine.state.seq, exclude=["e3"])
    teach(door, range(10, 15))
    rollback(door, to=door.engine.state.seq, exclude=["e12"])
    expected = door.bytes()
    for settings in ({}, {"from_start": True}):
        replayed = Engine(tmp_path / "data", read_only=True, **settings)
        assert replayed.state.models["m"].model.to_bytes() == expected
        replayed.stop()


def test_labels_before_an_earlier_rollback_can_be_excluded(door):
    teach(door, range(10))
    rollback(door, to=door.engine.state.seq, exclude=["e3"])
    teach(door, range(10, 15))
    rollback(door, to=door.engine.state.seq, exclude=["e5"])
    assert door.bytes() == learned([number for number in range(15) if number not in (3, 5)])


def test_a_rollback_before_the_model_existed_is_refused_and_changes_nothing(door):
    teach(door, range(5))
    before = door.bytes()
    with pytest.raises(MillstreamError, match="did not exist at record 0"):
        rollback(door, to=0)
    assert door.bytes() == before
    teach(door, range(5, 6))
    assert door.bytes() == learned(range(6))


def test_the_state_at_any_record_can_be_computed_offline(door, tmp_path):
    states = {}
    for number in range(12):
        teach(door, [number])
        states[door.engine.state.seq] = door.bytes()
    for seq, expected in states.items():
        replayed = Engine(tmp_path / "data", read_only=True, until=seq)
        assert replayed.state.models["m"].model.to_bytes() == expected
        replayed.stop()
