"""The event store: records, checksums, appending, reading, trimming, and what SQL programs see."""

import sqlite3
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

from damaged_store import drafts
from millstream._core import first_wrong_record
from millstream.errors import InvalidState, InvalidType, InvalidValue, NotPermitted, UnknownName
from millstream.serve import schema
from millstream.serve import store as store_module
from millstream.serve.disk import Disk
from millstream.serve.reader import RecordReader
from millstream.serve.records import Draft, Kind, Record, checksum, row_of, shown_id, stored_id
from millstream.serve.store import EventStore, StoreBusy, StoreDamaged, StoreFailed, StoreFull

UUID = "018f3a5e-7c11-7abc-8def-0123456789ab"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "events.db"


@pytest.fixture
def store(path):
    with EventStore(path) as opened:
        yield opened


def event(number=1, body='{"x":{"a":1.5},"y":0.25}'):
    return Draft(Kind.EVENT, 1_790_000_000_000 + number, 1, f"event-{number}", body)


# Records.


def test_ids_are_stored_in_their_shortest_form():
    assert stored_id(UUID) == bytes.fromhex(UUID.replace("-", ""))
    assert shown_id(stored_id(UUID)) == UUID
    for other in (UUID.upper(), UUID[:-1], UUID.replace("-", ""), "x" * 36, "é", None):
        assert stored_id(other) == other == shown_id(other)


def test_checksum_covers_every_field_and_its_type():
    row = (7, 1, 1000, 2, "a", "bc")
    seen = {checksum(5, *row)}
    others = [
        (8, 1, 1000, 2, "a", "bc"),
        (7, 2, 1000, 2, "a", "bc"),
        (7, 1, 1001, 2, "a", "bc"),
        (7, 1, 1000, 3, "a", "bc"),
        (7, 1, 1000, 2, "ab", "c"),
        (7, 1, 1000, 2, b"a", "bc"),
        (7, 1, 1000, 2, "a", b"bc"),
        (7, 1, 1000, 2, None, "abc"),
        (7, 1, 1000, 2, "", "abc"),
        (7, 1, 1000, 2, "a", "bc\0"),
    ]
    for other in others:
        found = checksum(5, *other)
        assert found not in seen
        seen.add(found)
    assert checksum(6, *row) not in seen


def test_native_check_of_rows():
    rows = [row_of(5, seq, draft) for seq, draft in enumerate(drafts(1, 40), 1)]
    assert first_wrong_record(5, rows) is None
    assert first_wrong_record(6, rows) == 0
    assert first_wrong_record(5, []) is None
    wrong = (1.5, None, "x", b"x", -1, 1 << 70, "\ud800", [], 2**31)
    for number, (column, value) in enumerate((column, value) for column in range(7) for value in wrong):
        row = list(rows[number % 40])
        if row[column] == value:
            continue
        row[column] = value
        assert first_wrong_record(5, [*rows, tuple(row), *rows]) == 40, row
    for other in (rows[0][:6], (*rows[0], 1), list(rows[0]), None):
        assert first_wrong_record(5, [rows[0], other]) == 1


@pytest.mark.parametrize(
    ("draft", "error", "words"),
    [
        (Draft(0, 1, 1, None, ""), InvalidValue, "kind must be in 1 to 7, got 0"),
        (Draft("1", 1, 1, None, ""), InvalidValue, "kind must be in 1 to 7, got '1'"),
        (Draft(1, 1 << 63, 1, None, ""), InvalidValue, "time must be an int of 64 bits"),
        (Draft(1, 1.5, 1, None, ""), InvalidValue, "time must be an int"),
        (Draft(1, 1, -1, None, ""), InvalidValue, "stream must be in 0 to 4294967295, got -1"),
        (Draft(1, 1, 1, "", ""), InvalidValue, "id must have 1 to 128 characters, got 0"),
        (Draft(1, 1, 1, "x" * 129, ""), InvalidValue, "id must have 1 to 128 characters, got 129"),
        (Draft(1, 1, 1, b"short", ""), InvalidValue, "16 bytes, got 5"),
        (Draft(1, 1, 1, 5, ""), InvalidType, "id must be a string, got int 5"),
        (Draft(1, 1, 1, None, None), InvalidType, "body must be a string or bytes, got None"),
        (Draft(1, 1, 1, "\ud800", ""), InvalidValue, "UTF-8"),
        (Draft(1, 1, 1, None, "\ud800"), InvalidValue, "UTF-8"),
    ],
)
def test_bad_draft_is_refused_and_changes_nothing(store, draft, error, words):
    store.append([event(1)])
    with pytest.raises(error, match=words):
        store.append([event(2), draft, event(3)])
    assert store.last_seq == 1
    assert store.append([event(2)]) == 2
    assert [record.id for record in store.read()] == ["event-1", "event-2"]


# Appending and reading.


def test_records_come_back_as_written(path):
    written = [
        Draft(Kind.EVENT, 5, 1, UUID, '{"x":{"é":"\\u0000"}}'),
        Draft(Kind.LABEL, 6, 2, "a\0b", '{"y":1}'),
        Draft(Kind.EVENTS, 6, 1, None, bytes(range(256)) * 50),
        Draft(Kind.TICK, 1 << 62, 0, None, ""),
        Draft(Kind.ADMIN, -5, 4294967295, bytes(range(16)), b""),
    ]
    with EventStore(path) as store:
        assert (store.first_seq, store.last_seq, list(store.read())) == (1, 0, [])
        assert store.append([]) == 1
        assert store.append(written[:2]) == 1
        assert store.append(written[2:]) == 3
        assert (store.first_seq, store.last_seq) == (1, 5)
        before = list(store.read())
    expected = [
        Record(seq, *draft[:3], shown_id(stored_id(draft.id)), draft.body) for seq, draft in enumerate(written, 1)
    ]
    assert before == expected
    with EventStore(path) as store:
        assert list(store.read()) == expected
        assert list(store.read(2, 3)) == expected[1:3]
        assert list(store.read(4)) == expected[3:]
        assert list(store.read(6)) == list(store.read(3, 2)) == []
        assert store.get(3) == expected[2]
        assert store.get_many([5, 1, 5]) == {5: expected[4], 1: expected[0]}
        assert store.report.lines() == []


def test_get_many_of_many(store):
    store.append(drafts(1, 1000))
    wanted = list(range(1, 1001, 3))
    assert [record.seq for record in store.get_many(wanted).values()] == wanted
    for absent in (0, 1001, -1):
        with pytest.raises(UnknownName, match=f"no record {absent}; the log has 1 to 1000"):
            store.get(absent)
        with pytest.raises(UnknownName, match=f"no record {absent}"):
            store.get_many([5, absent])


def test_reading_in_small_chunks(store, monkeypatch):
    store.append(drafts(1, 30))
    monkeypatch.setattr("millstream.serve.reader._BYTES", 100)
    monkeypatch.setattr("millstream.serve.reader.verified_rows.__defaults__", (100,))
    assert [record.seq for record in store.read()] == list(range(1, 31))


def test_another_thread_and_another_process_read_while_the_store_is_open(store, path):
    store.append(drafts(1, 10))
    seen = []
    thread = threading.Thread(target=lambda: seen.extend(store.read()))
    thread.start()
    thread.join()
    assert len(seen) == 10
    command = (
        "import sqlite3, sys; print(*sqlite3.connect(sys.argv[1]).execute('SELECT count(*) FROM log').fetchone())"
    )
    done = subprocess.run([sys.executable, "-c", command, path], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "10"
    store.append(drafts(11, 1))
    with EventStore(path, read_only=True) as other:
        assert other.last_seq == 11
        store.append(drafts(12, 1))
        other.refresh()
        assert other.last_seq == 12
        assert other.get(12) == store.get(12)
        with pytest.raises(NotPermitted, match="opened to read only"):
            other.append(drafts(13, 1))


def test_an_open_scan_does_not_stop_the_log_from_being_reused(store, path):
    store.append(drafts(1, 3000))
    scan = store.read()
    next(scan)
    log = path.with_name("events.db-wal")
    store.checkpoint()
    size = log.stat().st_size
    store.append(drafts(3001, 10))
    assert log.stat().st_size == size
    assert sum(1 for _ in scan) == 2999


def test_schema_is_readable_by_sql(store, path):
    store.append([Draft(Kind.EVENT, 1_790_000_000_123, 3, UUID, '{"x":{"hour":7},"y":0.5}')])
    store.append([Draft(Kind.EVENTS, 1_790_000_000_124, 3, None, b"12345")])
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT * FROM log").fetchall() == [
        (1, "event", "2026-09-21T14:13:20.123Z", 3, UUID, '{"x":{"hour":7},"y":0.5}'),
        (2, "events", "2026-09-21T14:13:20.124Z", 3, None, "<5 bytes>"),
    ]
    assert connection.execute("SELECT json_extract(body, '$.x.hour') FROM records WHERE kind = 1").fetchall() == [
        (7,)
    ]
    assert connection.execute("SELECT first, last FROM store").fetchall() == [(1, 2)]
    connection.close()


def test_an_index_or_table_of_a_user_does_no_harm(path):
    with EventStore(path) as store:
        store.append(drafts(1, 5))
    connection = sqlite3.connect(path)
    connection.execute("CREATE INDEX by_id ON records(id)")
    connection.execute("CREATE TABLE notes(text)")
    connection.close()
    with EventStore(path) as store:
        store.append(drafts(6, 5))
    with EventStore(path) as store:
        assert store.last_seq == 10


def test_at_most_200_bytes_for_an_event_of_ten_features(path):
    features = ",".join(f'"feature_{n}":{n}.{n}25' for n in range(10))
    with EventStore(path) as store:
        for start in range(0, 5000, 250):
            group = [
                Draft(
                    Kind.EVENT,
                    1_790_000_000_000 + n,
                    1,
                    f"018f3a5e-7c11-7abc-8def-{n:012x}",
                    f'{{"x":{{{features}}},"y":0.7310585786300049}}',
                )
                for n in range(start, start + 250)
            ]
            store.append(group)
    size = path.stat().st_size
    body = len(group[0].body)
    print(f"{size / 5000:.0f} bytes for an event with a body of {body} bytes")
    assert size / 5000 - body < 60


# Trimming.


def test_trim_keeps_numbers(path):
    with EventStore(path) as store:
        store.append(drafts(1, 20))
        kept = list(store.read(12))
        store.trim(12)
        assert (store.first_seq, store.last_seq) == (12, 20)
        assert list(store.read()) == kept
        store.trim(5)
        assert store.first_seq == 12
        with pytest.raises(UnknownName, match="no record 11; the log has 12 to 20"):
            store.get(11)
        with pytest.raises(InvalidValue, match="trim: before must be at most 21, got 22"):
            store.trim(22)
    with EventStore(path) as store:
        assert (store.first_seq, list(store.read())) == (12, kept)
        store.trim(21)
        assert (store.first_seq, store.last_seq, list(store.read())) == (21, 20, [])
        assert store.append(drafts(21, 1)) == 21
    with EventStore(path) as store:
        assert [record.seq for record in store.read()] == [21]


def test_trim_while_another_reads(store, monkeypatch):
    monkeypatch.setattr(
        "millstream.serve.reader._RANGE",
        "SELECT seq, kind, time, stream, id, body, crc FROM records"
        " WHERE seq BETWEEN ? AND ? ORDER BY seq LIMIT 5",
    )
    store.append(drafts(1, 30))
    scan = store.read()
    assert [next(scan).seq for _ in range(5)] == [1, 2, 3, 4, 5]
    store.trim(20)
    assert [record.seq for record in scan] == list(range(20, 31))


def test_trim_in_several_transactions(store, monkeypatch):
    monkeypatch.setattr(store_module, "_TRIM", 3)
    store.append(drafts(1, 20))
    store.trim(18)
    assert [record.seq for record in store.read()] == [18, 19, 20]


def test_first_at(path):
    with EventStore(path) as store:
        assert store.first_at(0) == 1
        store.append([Draft(Kind.TICK, time, 0, None, "") for time in (5, 5, 7, 7, 7, 20)])
        assert [store.first_at(time) for time in (0, 5, 6, 7, 8, 20, 21)] == [1, 1, 3, 3, 6, 6, 7]
        store.trim(4)
        assert [store.first_at(time) for time in (0, 7, 8)] == [4, 4, 6]


# Faults that are not damage.


def test_locked_by_another_program(path):
    class Impatient(Disk):
        def connect(self, path, mode, timeout=0.01):
            return super().connect(path, mode, timeout)

    with EventStore(path, disk=Impatient()) as store:
        store.append(drafts(1, 2))
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusy, match="another program has locked events.db"):
            store.append(drafts(3, 2))
        other.execute("ROLLBACK")
        other.close()
        assert store.append(drafts(3, 2)) == 3


def test_closed_store_refuses(path):
    store = EventStore(path)
    store.append(drafts(1, 2))
    store.close()
    store.close()
    for call in (
        lambda: store.append(drafts(3, 1)),
        lambda: store.get(1),
        store.checkpoint,
        lambda: store.trim(1),
    ):
        with pytest.raises(StoreFailed, match="it is closed"):
            call()


def test_newer_format_is_refused_untouched(path):
    with EventStore(path) as store:
        store.append(drafts(1, 2))
    newer = schema.Bounds(3, store.id, 1, 2)
    connection = sqlite3.connect(path)
    connection.execute("UPDATE store SET format = 3, crc = ?", (newer.checksum(),))
    connection.commit()
    connection.close()
    before = path.read_bytes()
    with pytest.raises(InvalidState, match="format 3 is newer than this version can read, 2"):
        EventStore(path)
    assert path.read_bytes() == before


def test_interrupt_inside_a_transaction(store, monkeypatch):
    store.append(drafts(1, 2))

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(store_module, "write_bounds", interrupt)
    with pytest.raises(KeyboardInterrupt):
        store.append(drafts(3, 2))
    monkeypatch.undo()
    assert store.append(drafts(3, 1)) == 3
    assert len(list(store.read())) == 3


@contextmanager
def small_disk(folder, size):
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], capture_output=True)
    if done.returncode != 0:
        pytest.skip("mounting a small file system needs more rights")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def fill(store):
    for count in range(0, 50_000, 50):
        try:
            store.append(drafts(count + 1, 50))
        except StoreFull as error:
            message = str(error)
            break
    assert count
    assert message == "event store: no space left on the disk of events.db"
    return count


def test_full_disk_heals(tmp_path):
    folder = tmp_path / "small"
    folder.mkdir()
    with small_disk(folder, "1m"):
        ballast = folder / "ballast"
        ballast.write_bytes(bytes(300_000))
        path = folder / "events.db"
        store = EventStore(path)
        acknowledged = fill(store)
        # It stays readable, and refuses in the same way again.
        assert store.last_seq == acknowledged
        assert store.get(acknowledged).seq == acknowledged
        with pytest.raises(StoreFull):
            store.append(drafts(acknowledged + 1, 50))
        ballast.unlink()
        assert store.append(drafts(acknowledged + 1, 50)) == acknowledged + 1
        assert [record.seq for record in store.read()] == list(range(1, acknowledged + 51))
        store.close()
        with EventStore(path) as again:
            assert again.last_seq == acknowledged + 50


def test_reader_of_a_missing_store(tmp_path):
    with pytest.raises(FileNotFoundError, match="event store: no file"):
        RecordReader(tmp_path / "events.db", Disk())
    with pytest.raises(FileNotFoundError, match="event store: no file"):
        EventStore(tmp_path / "events.db", read_only=True)
    assert list(tmp_path.iterdir()) == []


def test_crash_points_are_listed():
    from millstream.serve import faults

    folder = Path(faults.__file__).parent
    named = set()
    for file in folder.rglob("*.py"):
        for line in file.read_text().splitlines():
            if (
                '"store.trim.before_commit"' in line
                or ("crash_point(" in line and '"' in line)
                or 'point: str = "' in line
            ):
                named |= {part for part in line.split('"') if "." in part and " " not in part}
    named = {name for name in named if name.split(".")[0] in ("store", "snapshot", "committer")}
    assert named == set(faults.POINTS)
    assert StoreDamaged.__mro__.index(OSError)
