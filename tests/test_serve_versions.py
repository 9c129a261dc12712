"""Versions, rollback, and the removal of poisoned labels by replay."""

from __future__ import annotations

import pytest

from millstream import linear_model, preprocessing
from millstream.errors import InvalidState, MillstreamError
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


@pytest.fixture
def trimmed(tmp_path):
    """A folder whose recovery needs the saved state of a rollback, because older records were trimmed."""
    data = tmp_path / "data"
    door = Door(data, model(), policy={"window": 1})
    teach(door, range(10))
    door.engine._take_snapshot(door.engine.state)
    old = door.engine.state.seq
    seq = rollback(door, to=old, exclude=["e3"])
    file = data / "versions" / door.served.folder_id / f"{seq}.snapshot"
    door.tick(3600)
    teach(door, range(10, 15))
    expected, hands = door.bytes(), door.hands
    door.engine.store.trim(old)
    door.close()
    for each in (data / "snapshots").glob("*.snapshot"):
        if each.name != f"{old}.snapshot":
            each.unlink()
    return data, hands, seq, file, expected


def test_the_state_of_a_rollback_outlives_its_records(trimmed):
    data, hands, _, _, expected = trimmed
    door = Door(data, model(), hands=hands)
    assert door.bytes() == expected == learned([n for n in range(15) if n != 3])
    assert door.engine.recovery.notes == []
    door.close()


@pytest.mark.parametrize("place", [0, 30, -1])
def test_a_rollback_whose_saved_state_is_damaged_prevents_a_start(trimmed, place):
    data, hands, seq, file, _ = trimmed
    damaged = bytearray(file.read_bytes())
    damaged[place] ^= 1
    file.write_bytes(damaged)
    before = {each: each.read_bytes() for each in data.rglob("*.snapshot")}
    for settings in ({"hands": hands}, {"hands": hands, "salvage": False}):
        with pytest.raises(InvalidState) as caught:
            Door(data, model(), **settings)
        assert str(file) in str(caught.value)
        assert f"the rollback of model 'm' in record {seq}" in str(caught.value)
        assert "--salvage starts without this rollback" in str(caught.value)
        assert "\n" not in str(caught.value)
    with pytest.raises(InvalidState, match="cannot be used"):
        Engine(data, read_only=True)
    assert before == {each: each.read_bytes() for each in data.rglob("*.snapshot")}

    door = Door(data, model(), hands=hands, salvage=True)
    # Without the rollback, e3 is still learned.
    assert door.bytes() == learned(range(15))
    (note,) = (note for note in door.engine.recovery.notes if "is not applied" in note)
    assert note.startswith(f"the rollback of model 'm' in record {seq} is not applied: cannot restore record")
    door.close()
    assert not file.exists()
    assert file.with_name(f"{file.name}.damaged").read_bytes() == damaged
    door = Door(data, model(), hands=hands)
    assert door.bytes() == learned(range(15))
    door.close()


def test_a_rollback_without_a_saved_state_is_reported(trimmed):
    """It was refused when it was requested, or its file was deleted: only a note can say so."""
    data, hands, seq, file, _ = trimmed
    file.unlink()
    door = Door(data, model(), hands=hands)
    notes = [note for note in door.engine.recovery.notes if f"rollback of model 'm' in record {seq}" in note]
    assert len(notes) == 1
    door.close()


def test_a_refused_rollback_does_not_prevent_a_start(door, tmp_path):
    teach(door, range(5))
    with pytest.raises(MillstreamError, match="did not exist at record 0"):
        rollback(door, to=0)
    before = door.bytes()
    door.close()
    again = Door(tmp_path / "data", model())
    assert again.bytes() == before
    again.close()


def test_a_request_that_needs_a_lost_rollback_is_refused(trimmed):
    data, hands, seq, file, _ = trimmed
    door = Door(data, model(), hands=hands)
    teach(door, range(15, 20))
    before = door.bytes()
    file.write_bytes(b"damaged")
    # The replay starts at the old snapshot, and contains the damaged rollback.
    with pytest.raises(MillstreamError, match=f"the rollback of model 'm' in record {seq}"):
        rollback(door, to=seq + 1)
    assert door.bytes() == before
    teach(door, range(20, 21))
    door.close()


def test_many_exclusions_take_linear_time_and_remain(door, tmp_path, monkeypatch):
    """One rollback for each poisoned label, as an operator finds them: 12 of them replayed the log 4,096 times."""
    replays = []
    original = Engine.replay
    monkeypatch.setattr(Engine, "replay", lambda *given: replays.append(1) or original(*given))
    teach(door, range(30))
    excluded = [3, 27, 9, 1, 14, 22, 5, 18, 11, 25, 7, 20]
    for count, number in enumerate(excluded, 1):
        replays.clear()
        rollback(door, to=door.engine.state.seq, exclude=[f"e{number}"])
        assert len(replays) <= count + 1
        teach(door, [30 + count])
        expected = [n for n in range(31 + count) if n not in excluded[:count] and n != 30]
        assert door.bytes() == learned(expected)
    expected = door.bytes()
    for path in (tmp_path / "data" / "versions").rglob("*.snapshot"):
        path.unlink()
    replayed = Engine(tmp_path / "data", read_only=True, from_start=True)
    assert replayed.state.models["m"].model.to_bytes() == expected
    replayed.stop()


def test_an_exclusion_after_a_rollback_to_an_earlier_record(door):
    """The rollback in between excluded e4, but is undone by a rollback to before it."""
    teach(door, range(10))
    before = door.engine.state.seq
    rollback(door, to=before, exclude=["e4"])
    teach(door, range(10, 15))
    rollback(door, to=before)
    teach(door, range(15, 20))
    rollback(door, to=door.engine.state.seq, exclude=["e2", "e16"])
    assert door.bytes() == learned([*(n for n in range(10) if n != 2), 15, 17, 18, 19])
