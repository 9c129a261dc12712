"""Saved states belong to one log: those of another log are not used, and do not displace new ones."""

from __future__ import annotations

import shutil

import pytest

from millstream.errors import InvalidValue
from millstream.serve.engine import Engine
from millstream.serve.log_mark import MARK
from millstream.serve.snapshots import read_header, read_snapshot, snapshot_seqs, write_snapshot
from millstream.serve.store import EventStore
from test_serve_labels import Door


def teach(door, numbers, y):
    for number in numbers:
        door.predict(f"{y}-{number}", {"v": float(number % 7)})
        door.label(f"{y}-{number}", y)


def crash(door):
    """End without a final snapshot."""
    door.engine.committer.stop(10)
    door.engine.store.close()
    door.engine.folder.close()


def replayed(data):
    engine = Engine(data, read_only=True, from_start=True)
    found = engine.state.models["m"].model.to_bytes()
    engine.stop()
    return found


def back_up(data, place):
    place.mkdir()
    for file in data.glob("events.*"):
        shutil.copy(file, place)


def restore(data, place):
    for file in data.glob("events.*"):
        file.unlink()
    for file in place.iterdir():
        shutil.copy(file, data)


@pytest.fixture
def restored(tmp_path):
    """A folder with the log of 10 labels and snapshots of later records, which that log does not have."""
    data = tmp_path / "data"
    door = Door(data)
    teach(door, range(10), 1.0)
    door.close()
    back_up(data, tmp_path / "backup")
    for part in range(3):
        door = Door(data)
        teach(door, range(10 * part + 10, 10 * part + 20), 1.0)
        door.close()
    restore(data, tmp_path / "backup")
    return data


def test_snapshots_ahead_of_the_log_do_not_displace_new_ones(restored):
    assert snapshot_seqs(restored / "snapshots") == [41, 61, 81]
    door = Door(restored)
    assert snapshot_seqs(restored / "snapshots") == []
    assert sorted(file.name for file in restored.glob("snapshots/*.foreign")) == [
        "41.snapshot.foreign",
        "61.snapshot.foreign",
        "81.snapshot.foreign",
    ]
    assert any("snapshots/81.snapshot is not of this log" in note for note in door.engine.recovery.notes)
    teach(door, range(5), 2.0)
    door.engine._take_snapshot(door.engine.state)
    assert snapshot_seqs(restored / "snapshots") == [door.engine.state.seq]
    teach(door, range(5, 40), 2.0)
    crash(door)
    again = Door(restored)
    assert again.engine.recovery.snapshot_seq == 31
    assert again.bytes() == replayed(restored)
    again.close()


def test_a_snapshot_of_a_record_that_the_log_has_with_another_content(restored):
    shutil.copy(restored / "snapshots" / "41.snapshot", restored / "stale")
    door = Door(restored)
    teach(door, range(40), 2.0)
    crash(door)
    (restored / "stale").rename(restored / "snapshots" / "41.snapshot")
    reader = Engine(restored, read_only=True)
    assert reader.recovery.snapshot_seq == 0
    assert reader.recovery.notes == ["snapshot 41.snapshot is not used: the log has another record 41"]
    assert (restored / "snapshots" / "41.snapshot").exists(), "reading changes nothing"
    reader.stop()
    again = Door(restored)
    assert again.bytes() == replayed(restored)
    assert snapshot_seqs(restored / "snapshots") == []
    again.close()


def test_a_snapshot_of_another_folder(tmp_path):
    for name, y in (("one", 1.0), ("two", 2.0)):
        door = Door(tmp_path / name)
        teach(door, range(10), y)
        door.close()
    (path,) = (tmp_path / "two" / "snapshots").iterdir()
    shutil.copy(path, tmp_path / "one" / "snapshots")
    door = Door(tmp_path / "one")
    assert door.bytes() == replayed(tmp_path / "one") != replayed(tmp_path / "two")
    assert any("it belongs to another log" in note for note in door.engine.recovery.notes)
    door.close()


def test_a_log_that_cannot_be_continued_leaves_the_snapshots(restored):
    """The log starts after records that only its own snapshots cover; the owner may put the right log back."""
    with EventStore(restored / "events.db") as store:
        store.trim(5)
    with pytest.raises(InvalidValue, match="records 1 to 4 are needed"):
        Door(restored)
    assert snapshot_seqs(restored / "snapshots") == [41, 61, 81]


def test_a_snapshot_without_a_mark_is_used(tmp_path):
    door = Door(tmp_path)
    teach(door, range(10), 1.0)
    door.close()
    (path,) = (tmp_path / "snapshots").iterdir()
    seq, header, blobs = read_snapshot(path)
    del header[MARK]
    write_snapshot(tmp_path / "snapshots", seq, header, blobs)
    again = Door(tmp_path)
    assert again.engine.recovery.snapshot_seq == seq
    assert again.engine.recovery.replayed == 0
    again.close()


def version(door, name):
    return door.engine.administer({"op": "version", "model": "m", "version": name})


def roll_back(door, to):
    body = {"op": "rollback", "model": "m", "folder_id": door.served.folder_id, "exclude": [], "to": to}
    outcome = door.engine.administer(body)
    assert not isinstance(outcome, BaseException), outcome


@pytest.mark.parametrize("is_put_back", [False, True])
def test_a_version_of_another_log(tmp_path, is_put_back):
    data = tmp_path / "data"
    door = Door(data)
    teach(door, range(10), 1.0)
    door.close()
    back_up(data, tmp_path / "backup")
    door = Door(data)
    teach(door, range(5), 2.0)
    seq = version(door, "first")
    stale = data / "versions" / door.served.folder_id / f"{seq}.snapshot"
    door.close()
    shutil.copy(stale, tmp_path / "stale")
    restore(data, tmp_path / "backup")
    door = Door(data)
    assert not stale.exists()
    teach(door, range(5), 3.0)
    # The record of the version differs from the earlier one only by its time.
    door.hands.seconds += 1
    if is_put_back:
        shutil.copy(tmp_path / "stale", stale)
    assert version(door, "first") == seq
    assert read_header(stale) == read_snapshot(stale).header
    expected = door.bytes()
    teach(door, range(5, 10), 4.0)
    assert door.bytes() != expected
    roll_back(door, seq)
    assert door.bytes() == expected
    # Even a file that appears later is not used.
    shutil.copy(tmp_path / "stale", stale)
    roll_back(door, seq)
    assert door.bytes() == expected
    assert f"state {seq} of m is not used: the log has another record {seq}" in door.engine.recovery.notes
    door.close()
