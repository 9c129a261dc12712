"""Snapshots: written atomically, read with care, and never trusted when anything is wrong."""

import json
import os
import random
import struct

import pytest

from millstream._core import crc32c
from millstream.errors import InvalidState, InvalidValue
from millstream.serve.folder import DataFolder
from millstream.serve.snapshots import (
    newest_valid,
    prune,
    read_header,
    read_snapshot,
    snapshot_seqs,
    write_snapshot,
)
from test_serve_labels import Door

HEADER = {"models": [{"name": "fraud", "stream": 1}], "seq": 7, "é": None}
BLOBS = {"model/1": b"\0\1\2" * 30, "pending/1": b"", "random": b"xyz"}


def test_comes_back_as_written(tmp_path):
    path = write_snapshot(tmp_path, 7, HEADER, BLOBS)
    assert path.name == "7.snapshot"
    found = read_snapshot(path)
    assert found == (7, HEADER, BLOBS)
    assert list(found.blobs) == list(BLOBS)
    assert [file.name for file in tmp_path.iterdir()] == ["7.snapshot"]


def test_same_content_gives_same_bytes(tmp_path):
    first = write_snapshot(tmp_path, 7, HEADER, BLOBS).read_bytes()
    assert write_snapshot(tmp_path, 7, HEADER, BLOBS).read_bytes() == first


@pytest.mark.slow
def test_every_flipped_bit_and_every_truncation_is_found(tmp_path):
    path = write_snapshot(tmp_path, 7, HEADER, BLOBS)
    data = path.read_bytes()
    for bit in range(len(data) * 8):
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        path.write_bytes(changed)
        with pytest.raises(InvalidState, match="^7.snapshot: "):
            read_snapshot(path)
    for size in range(len(data)):
        path.write_bytes(data[:size])
        with pytest.raises(InvalidState):
            read_snapshot(path)
    path.write_bytes(data + b"\0")
    with pytest.raises(InvalidState, match="the file must have"):
        read_snapshot(path)


@pytest.mark.slow
def test_random_bytes_behind_a_valid_start(tmp_path):
    chance = random.Random(5)
    path = write_snapshot(tmp_path, 7, HEADER, BLOBS)
    data = path.read_bytes()
    for _ in range(500):
        cut = chance.randrange(len(data))
        path.write_bytes(data[:cut] + chance.randbytes(chance.randrange(300)))
        with pytest.raises(InvalidState):
            read_snapshot(path)


def forged(text, entries, count=None, header_size=None, size=None, version=1):
    """A file with valid checksums and any content."""
    body = b"".join(entries)
    length = 40 + len(text) + len(body) if size is None else size
    numbers = (version, 7, length, len(text) if header_size is None else header_size)
    start = struct.pack("<8sIQQII", b"MSSNAP\r\n", *numbers, len(entries) if count is None else count)
    return start + struct.pack("<I", crc32c(text, crc32c(start))) + text + body


def entry(name, data, size=None):
    sizes = struct.pack("<HQ", len(name), len(data) if size is None else size)
    return sizes + struct.pack("<I", crc32c(data, crc32c(sizes + name))) + name + data


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (forged(b"[1]", []), "the header is not a JSON object"),
        (forged(b"{", []), "the header is not JSON"),
        (forged(b"[" * 100_000, []), "the header is not JSON"),
        (forged(b"{}", [], count=1), "entry 0 is damaged"),
        (forged(b"{}", [], count=4_000_000_000), "the header is damaged"),
        (forged(b"{}", [], header_size=4_000_000_000), "the header is damaged"),
        (forged(b"{}", [entry(b"a", b"1", size=2**64 - 1)]), "entry 0 is damaged"),
        (forged(b"{}", [entry(b"", b"1")]), "entry 0 is damaged"),
        (forged(b"{}", [entry(b"\xff", b"1")]), "entry 0 is damaged"),
        (forged(b"{}", [entry(b"a", b"1"), entry(b"a", b"2")]), "entry 1 has the name of another one"),
        (forged(b"{}", [entry(b"a", b"1"), b"x"], count=1), "1 bytes behind the last entry"),
        (forged(b"{}", [], version=2), "version 2 is newer than this version can read, 1"),
        (b"\x80\x04\x95" + bytes(100), "this is not a snapshot"),
        (b"", "the file ends inside its header"),
    ],
)
def test_forged_files(tmp_path, data, words):
    path = tmp_path / "7.snapshot"
    path.write_bytes(data)
    with pytest.raises(InvalidState, match=words):
        read_snapshot(path)


def test_forged_file_that_is_right(tmp_path):
    path = tmp_path / "7.snapshot"
    path.write_bytes(forged(json.dumps(HEADER).encode(), [entry(b"a", b"1")]))
    assert read_snapshot(path) == (7, HEADER, {"a": b"1"})


def test_newest_valid(tmp_path):
    assert newest_valid(tmp_path) == (None, [])
    for seq in (5, 70, 600):
        write_snapshot(tmp_path, seq, {"seq": seq}, {})
    os.truncate(tmp_path / "600.snapshot", 30)
    (tmp_path / "999.snapshot.new").write_bytes(b"part")
    (tmp_path / "007.snapshot").write_bytes(b"")
    (tmp_path / "x.snapshot").write_bytes(b"")
    found, invalid = newest_valid(tmp_path)
    assert found.seq == 70
    assert invalid == [("600.snapshot", "the file ends inside its header")]
    found, invalid = newest_valid(tmp_path, 69)
    assert found.seq == 5
    assert invalid == [("600.snapshot", "the log ends at record 69"), ("70.snapshot", "the log ends at record 69")]
    found, invalid = newest_valid(tmp_path, 500, first=72)
    assert found is None
    assert invalid[1] == ("70.snapshot", "the log begins at record 72")
    assert newest_valid(tmp_path, 500, first=71)[0].seq == 70
    (tmp_path / "70.snapshot").rename(tmp_path / "71.snapshot")
    assert newest_valid(tmp_path)[1][1] == ("71.snapshot", "the file is a snapshot of record 70")


def test_only_the_newest_are_kept(tmp_path):
    (tmp_path / "3.snapshot.new").write_bytes(b"part")
    for seq in (5, 6, 100, 20, 7):
        write_snapshot(tmp_path, seq, {}, {}, keep=3)
    assert snapshot_seqs(tmp_path) == [7, 20, 100]
    prune(tmp_path, 1)
    assert [file.name for file in tmp_path.iterdir()] == ["100.snapshot"]
    with pytest.raises(InvalidValue, match="keep must be at least 1, got 0"):
        prune(tmp_path, 0)


@pytest.mark.parametrize("header", [{"a": float("nan")}, {"a": float("inf")}])
def test_header_must_be_json(tmp_path, header):
    with pytest.raises(ValueError):
        write_snapshot(tmp_path, 7, header, {})
    assert list(tmp_path.iterdir()) == []


def test_names_are_limited(tmp_path):
    for name in ("", "x" * 513):
        with pytest.raises(InvalidValue, match="a name must have 1 to 512 bytes"):
            write_snapshot(tmp_path, 7, {}, {name: b""})


def test_failed_write_leaves_the_old_snapshots(tmp_path, monkeypatch):
    write_snapshot(tmp_path, 5, HEADER, BLOBS)

    def fail(_):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="Input/output error"):
        write_snapshot(tmp_path, 6, HEADER, BLOBS)
    monkeypatch.undo()
    assert [file.name for file in tmp_path.iterdir()] == ["5.snapshot"]


def test_in_a_data_folder(tmp_path):
    with DataFolder(tmp_path / "data") as folder:
        write_snapshot(folder, 7, HEADER, BLOBS)
        assert newest_valid(folder)[0] == (7, HEADER, BLOBS)
        assert snapshot_seqs(folder) == [7]


def test_a_header_of_many_megabytes(tmp_path):
    header = {"labels": ["z" * (13 << 20)] * 5}
    path = write_snapshot(tmp_path, 7, header, BLOBS)
    assert path.stat().st_size > 64 << 20
    assert read_snapshot(path) == (7, header, BLOBS)


def test_the_header_alone(tmp_path):
    path = write_snapshot(tmp_path, 7, HEADER, BLOBS)
    assert read_header(path) == HEADER
    whole = path.read_bytes()
    for size in (0, 5, 40, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(InvalidState):
            read_header(path)
    for place in (0, 9, 13, 21, 29, 37, 42):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(InvalidState):
            read_header(path)


@pytest.fixture
def door(tmp_path):
    door = Door(tmp_path / "data", snapshot_records=10, snapshot_seconds=1e9)
    yield door
    door.close()


def failing(kind):
    def snapshot():
        if kind == "infinite":
            return {"y": float("inf")}, {}
        if kind == "refused":
            raise InvalidState("a model that cannot be saved")
        return {}, {"x" * 600: b""}

    return snapshot


@pytest.mark.parametrize("kind", ["infinite", "refused", "long name"])
def test_a_failed_snapshot_is_a_note_and_is_tried_again(door, monkeypatch, kind):
    engine = door.engine
    engine.committer.after_group = engine.maybe_snapshot
    with monkeypatch.context() as patch:
        patch.setattr(engine.state, "snapshot", failing(kind))
        for number in range(25):
            door.predict(f"a{number}", {"v": 1.0})
        assert engine.committer._stopped is None
    failed = [note for note in engine.recovery.notes if note.startswith("no snapshot at record ")]
    assert len(failed) == 2
    assert snapshot_seqs(engine.folder) == []
    for number in range(10):
        door.predict(f"b{number}", {"v": 1.0})
    assert len(snapshot_seqs(engine.folder)) == 1


def test_a_failed_snapshot_is_tried_again_after_some_time_and_at_the_end(tmp_path, monkeypatch):
    door = Door(tmp_path, snapshot_records=10**9, snapshot_seconds=0.0)
    engine = door.engine
    door.predict("a", {"v": 1.0})
    with monkeypatch.context() as patch:
        patch.setattr(engine.state, "snapshot", failing("refused"))
        engine.maybe_snapshot()
        door.predict("b", {"v": 1.0})
    wanted = []
    monkeypatch.setattr(engine.committer, "request_snapshot", lambda: wanted.append(engine.state.seq))
    engine.maybe_snapshot()
    assert wanted == [engine.state.seq]
    # It was requested, and not taken: the final snapshot is not left out.
    door.close()
    assert snapshot_seqs(tmp_path / "snapshots") == [engine.state.seq]


def test_notes_are_limited(door):
    for number in range(1500):
        door.engine.recovery.note(str(number))
    assert (len(door.engine.recovery.notes), door.engine.recovery.notes[-1]) == (1000, "1499")
