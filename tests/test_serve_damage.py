"""Damage to the files of an event store is found and reported; nothing wrong is ever read.

The fast form tries a sample of all bits and lengths. `MILLSTREAM_FAULTS=long` tries every bit of every file, every
length of every file. One in eight of the stores that turn out to be damaged is salvaged.
"""

import os
import random
import shutil
import sqlite3
from collections import Counter
from pathlib import Path

import pytest

import damaged_store
from damaged_store import FILES, copy_store, drafts, judge, judge_salvage
from millstream.serve.store import EventStore, StoreDamaged
from millstream.serve.wal import check_wal

LONG = os.environ.get("MILLSTREAM_FAULTS") == "long"
MAKERS = ("closed_store", "killed_store")


@pytest.fixture(scope="module", params=MAKERS)
def original(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("store") / request.param
    return folder, getattr(damaged_store, request.param)(folder)


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("store") / "killed"
    return folder, damaged_store.killed_store(folder)


@pytest.fixture
def copy(tmp_path):
    # In memory if that is possible: these tests sync thousands of times.
    memory = Path("/dev/shm")
    folder = memory / f"millstream-{os.getpid()}" if memory.is_dir() else tmp_path / "copy"
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


#: Records on a page of the small stores.
_ON_A_PAGE = 8


def sample(count, size, seed):
    return range(count) if LONG else sorted(random.Random(seed).sample(range(count), min(size, count)))


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_every_flipped_bit_is_found_or_has_no_effect(original, copy, name):
    folder, records = original
    if not (folder / name).exists():
        pytest.skip("the store was closed and has no such file")
    data = (folder / name).read_bytes()
    fates, lost = Counter(), Counter()
    for bit in sample(len(data) * 8, 250, 1):
        copy_store(folder, copy)
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        (copy / name).write_bytes(changed)
        fate = judge(copy, records)
        fates[fate] += 1
        if fate == "damaged" and (bit % 8 == 3 or not LONG):
            lost[judge_salvage(copy, records)] += 1
    print(f"{folder.name}: {name}: {sum(fates.values())} bits: {dict(fates)}, lost when salvaged: {dict(lost)}")
    # All records are acknowledged, so that nothing may be cut.
    assert not fates["cut"]
    # A flipped bit is on one page. It mostly loses one record; in the header or the pointers of a page, up to all.
    assert all(count <= _ON_A_PAGE for count in lost)
    assert lost[0] + lost[1] >= 0.99 * lost.total()
    assert bool(fates["damaged"]) == (name != "events.acked")


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_every_truncation_is_found(original, copy, name):
    folder, records = original
    if not (folder / name).exists():
        pytest.skip("the store was closed and has no such file")
    data = (folder / name).read_bytes()
    fates = Counter()
    for size in sample(len(data), 250, 2):
        copy_store(folder, copy)
        (copy / name).write_bytes(data[:size])
        fates[judge(copy, records)] += 1
    print(f"{folder.name}: {name}: {sum(fates.values())} lengths: {dict(fates)}")
    if name == "events.acked":
        assert set(fates) == {"same"}
        return
    # After a kill, pages may be in the write-ahead log too, so that the end of the main file is not needed.
    assert fates["damaged"] >= 0.99 * fates.total()
    assert set(fates) <= {"damaged", "same"}


@pytest.mark.slow
def test_every_byte_of_an_unacknowledged_transaction(killed, copy):
    """A process that is killed while it writes a group leaves any part of it: the group is cut, and no more."""
    folder, records = killed
    copy_store(folder, copy)
    log = copy / "events.db-wal"
    before = log.stat().st_size
    # Opening would copy the log into the main file, so SQLite writes the group itself, as the store does.
    connection = sqlite3.connect(copy / "events.db", isolation_level=None)
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("BEGIN IMMEDIATE")
    connection.executemany(
        "INSERT INTO records VALUES (?, 1, 1, 1, NULL, ?, 0)", [(1000 + n, "z" * 150) for n in range(6)]
    )
    connection.execute("COMMIT")
    data = log.read_bytes()
    connection.close()
    assert len(data) > before
    fates = Counter()
    for size in [before, *(before + 1 + n for n in sample(len(data) - before - 1, 200, 3))]:
        copy_store(folder, copy)
        log.write_bytes(data[:size])
        fates["cut" if size > before else "whole"] += 1
        assert judge(copy, records) == ("cut" if size > before else "same")
    print(f"killed inside a transaction: {dict(fates)}")


def test_cut_is_reported_with_its_place(killed, copy):
    folder, records = killed
    copy_store(folder, copy)
    log = copy / "events.db-wal"
    size = log.stat().st_size
    with log.open("ab") as file:
        file.write(log.read_bytes()[32:432])
    with EventStore(copy / "events.db") as store:
        assert store.report.lines() == [
            f"events.db-wal: cut 400 bytes at byte {size}: the last transaction is incomplete"
        ]
        assert list(store.read()) == records


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("kind", 2),
        ("time", 5),
        ("stream", 9),
        ("id", "other"),
        ("body", "{}"),
        ("crc", 1),
        ("body", b"x"),
        ("time", 1.5),
    ],
)
def test_changed_field_is_found(killed, copy, column, value):
    folder, _ = killed
    copy_store(folder, copy)
    connection = sqlite3.connect(copy / "events.db")
    connection.execute(f"UPDATE records SET {column} = ? WHERE seq = 15", (value,))
    connection.commit()
    connection.close()
    with pytest.raises(StoreDamaged, match="events.db: record 15 is damaged") as caught:
        EventStore(copy / "events.db")
    assert (caught.value.file, caught.value.seq) == ("events.db", 15)


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("DELETE FROM records WHERE seq = 15", "record 15 is missing"),
        ("DELETE FROM records WHERE seq > 20", "record 21 is missing"),
        ("DELETE FROM records WHERE seq < 10", "record 8 is missing"),
        ("UPDATE records SET seq = 500 WHERE seq = 15", "record 15 is missing"),
        (
            "INSERT INTO records SELECT 500, kind, time, stream, id, body, crc FROM records WHERE seq = 15",
            "23 records",
        ),
        ("UPDATE store SET last = 28", "the table store is damaged"),
        ("DELETE FROM store", "the table store is damaged"),
        ("ALTER TABLE records ADD COLUMN more", "the definition of records is not as it was written"),
        ("DROP VIEW log", "the definition of log is not as it was written"),
        (
            "CREATE VIEW mine AS SELECT 1",
            "the view mine does not belong here; create it in a database of your own",
        ),
        ("CREATE TRIGGER t AFTER INSERT ON records BEGIN SELECT 1; END", "the trigger t does not belong here"),
        ("CREATE VIRTUAL TABLE words USING fts5(text)", "the virtual table words does not belong here"),
        ("PRAGMA journal_mode = DELETE", "byte 18: the file is not in WAL mode"),
        ("PRAGMA application_id = 5", "byte 68: this is not an event store"),
    ],
)
def test_changes_by_other_programs_are_found(killed, copy, statement, words):
    folder, _ = killed
    copy_store(folder, copy)
    connection = sqlite3.connect(copy / "events.db", isolation_level=None)
    connection.execute(statement).fetchall()
    connection.close()
    with pytest.raises(StoreDamaged, match=words):
        EventStore(copy / "events.db")


def test_missing_files(killed, copy):
    folder, records = killed
    copy_store(folder, copy)
    (copy / "events.db-wal").unlink()
    with pytest.raises(
        StoreDamaged, match="records 23 to 29 were acknowledged and are missing; events.db-wal is missing"
    ):
        EventStore(copy / "events.db")
    assert judge_salvage(copy, records) == 7
    copy_store(folder, copy)
    (copy / "events.db").unlink()
    with pytest.raises(StoreDamaged, match="events.db is missing, although other files of the store are there"):
        EventStore(copy / "events.db")
    copy_store(folder, copy)
    (copy / "events.acked").unlink()
    with EventStore(copy / "events.db") as store:
        assert store.report.lines() == ["events.acked is missing; it is written again"]
        assert list(store.read()) == records


def test_log_copied_by_another_program_is_no_damage(killed, copy):
    folder, records = killed
    copy_store(folder, copy)
    connection = sqlite3.connect(copy / "events.db")
    connection.execute("SELECT count(*) FROM log").fetchall()
    connection.close()
    assert not (copy / "events.db-wal").exists()
    assert judge(copy, records) == "same"


@pytest.mark.parametrize("name", FILES)
def test_file_of_another_store(killed, copy, tmp_path, name):
    folder, _ = killed
    other = tmp_path / "other"
    damaged_store.killed_store(other)
    copy_store(folder, copy)
    shutil.copy(other / name, copy / name)
    with pytest.raises(StoreDamaged):
        EventStore(copy / "events.db")


@pytest.mark.parametrize("name", ["events.db", "events.db-wal"])
def test_older_file_of_the_same_store(tmp_path, name):
    folder = tmp_path / "store"
    damaged_store.killed_store(folder)
    old = (folder / name).read_bytes()
    store = EventStore(folder / "events.db")
    store.append(drafts(30, 40))
    store.checkpoint()
    store.append(drafts(70, 40))
    copy_store(folder, tmp_path / "copy")
    store.close()
    (tmp_path / "copy" / name).write_bytes(old)
    with pytest.raises(StoreDamaged):
        EventStore(tmp_path / "copy" / "events.db")


@pytest.mark.parametrize(("place", "change"), [(35, 1), (39, 1), (39, 8)])
def test_list_of_free_pages(tmp_path, place, change):
    damaged_store.closed_store(tmp_path / "store")
    path = tmp_path / "store" / "events.db"
    data = bytearray(path.read_bytes())
    assert data[32:40] != bytes(8)
    data[place] ^= change
    path.write_bytes(data)
    with pytest.raises(StoreDamaged, match="freelist|Freelist|page"):
        EventStore(path)


def test_number_of_free_pages(tmp_path):
    with EventStore(tmp_path / "events.db", page_size=512) as store:
        store.append(drafts(1, 5))
    data = bytearray((tmp_path / "events.db").read_bytes())
    assert data[32:40] == bytes(8)
    data[39] = 1
    (tmp_path / "events.db").write_bytes(data)
    with pytest.raises(StoreDamaged, match="freelist: size is 0 but should be 1"):
        EventStore(tmp_path / "events.db")


def test_rollback_journal_is_not_played_back(killed, copy):
    folder, _ = killed
    copy_store(folder, copy)
    (copy / "events.db-journal").write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + bytes(600))
    with pytest.raises(StoreDamaged, match="events.db-journal: a rollback journal does not belong"):
        EventStore(copy / "events.db")


def test_salvage_keeps_the_damaged_files_and_remembers_the_gap(killed, copy):
    folder, records = killed
    copy_store(folder, copy)
    data = bytearray((copy / "events.db").read_bytes())
    place = data.index(b'{"x":{"a":16}')
    data[place] ^= 1
    (copy / "events.db").write_bytes(data)
    with pytest.raises(StoreDamaged, match="record 16 is damaged"):
        EventStore(copy / "events.db")
    with EventStore(copy / "events.db", salvage=True) as store:
        assert store.gaps == ((16, 16),)
        assert store.report.lines() == [
            "records 16 to 16 are lost",
            "events.db: record 16 is damaged (its checksum is wrong)",
            "events.db: salvaged 21 records; the damaged file is kept as events.db.damaged-1",
        ]
        assert list(store.read()) == [record for record in records if record.seq != 16]
        assert [store.first_at(record.time) for record in records if record.seq != 16] == [
            record.seq for record in records if record.seq != 16
        ]
        assert store.first_at(records[8].time) == 17
        store.append(drafts(30, 1))
    assert (copy / "events.db.damaged-1").read_bytes() == data
    with EventStore(copy / "events.db") as store:
        assert (store.gaps, store.last_seq) == (((16, 16),), 30)
        store.trim(16)
        assert store.gaps == ((16, 16),)
        store.trim(17)
        assert (store.gaps, store.first_seq) == ((), 17)


def test_salvage_without_any_structure(killed, copy):
    """The first page, and with it the schema and the roots of all tables, is gone."""
    folder, records = killed
    copy_store(folder, copy)
    data = bytearray((copy / "events.db").read_bytes())
    data[:512] = bytes(512)
    (copy / "events.db").write_bytes(data)
    assert judge(copy, records) == "damaged"
    assert judge_salvage(copy, records) == 0


def test_salvage_with_a_log_damaged_in_the_middle(killed, copy):
    folder, records = killed
    copy_store(folder, copy)
    data = bytearray((copy / "events.db-wal").read_bytes())
    data[32 + 24 + 100] ^= 1
    (copy / "events.db-wal").write_bytes(data)
    with pytest.raises(StoreDamaged, match="events.db-wal: byte 32: the write-ahead log is damaged in the middle"):
        EventStore(copy / "events.db")
    assert judge_salvage(copy, records) <= 1


def test_nothing_to_salvage(tmp_path):
    (tmp_path / "events.db").write_bytes(os.urandom(5000))
    for salvage in (False, True):
        with pytest.raises(StoreDamaged):
            EventStore(tmp_path / "events.db", salvage=salvage)
    assert [file.name for file in tmp_path.iterdir()] == ["events.db"]


@pytest.mark.parametrize("size", [512, 1024, 4096, 65536])
def test_log_check_agrees_with_sqlite(tmp_path, size):
    connection = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
    connection.execute(f"PRAGMA page_size = {size}")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE t(a)")
    for count in (1, 20, 3):
        connection.execute("BEGIN")
        connection.executemany("INSERT INTO t VALUES (?)", [(os.urandom(size // 3),)] * count)
        connection.execute("COMMIT")
    data = (tmp_path / "a.db-wal").read_bytes()
    frames = (len(data) - 32) // (size + 24)
    assert connection.execute("PRAGMA wal_checkpoint").fetchall() == [(0, frames, frames)]
    assert check_wal(data, size) == (frames, len(data), len(data), 0, None)
    # The next transaction starts the log again, with the old frames behind it.
    connection.execute("INSERT INTO t VALUES (1)")
    again = check_wal((tmp_path / "a.db-wal").read_bytes(), size)
    assert (again.committed, again.tail, again.damage) == (1, 0, None)
    connection.close()
