"""Packed bodies of events, and starts that check the records while they replay them."""

import json
import random
import sqlite3
from pathlib import Path

import pytest

from millstream import linear_model, preprocessing
from millstream.__main__ import main
from millstream._core import pack_body, unpack_body
from millstream.errors import InvalidValue
from millstream.serve import schema
from millstream.serve.engine import Engine
from millstream.serve.folder import DataFolder
from millstream.serve.records import Draft, Kind
from millstream.serve.store import EventStore, StoreDamaged

_START = 1_800_000_000_000


def model():
    return preprocessing.StandardScaler() | linear_model.LinearRegression()


def features(draw, digits=None):
    values = [draw.gauss(0, 1) for _ in range(10)]
    return {f"f{n}": value if digits is None else round(value, digits) for n, value in enumerate(values)}


def event(number, x, y=0.7310585786300049, **more):
    body = json.dumps({"x": x, "y": y, **more}, separators=(",", ":"))
    return Draft(Kind.EVENT, _START + number, 1, f"018f3a5e-7c11-7abc-8def-{number:012x}", body)


# The form.


def test_random_bodies_come_back_exactly():
    draw = random.Random(5)
    packed = 0
    for _ in range(3000):
        x = {
            draw.choice(["a", "é", 'q"', "a: b", ""]) + str(n): draw.choice(
                [
                    draw.gauss(0, 1),
                    draw.gauss(0, 10.0 ** draw.randint(-320, 300)),
                    n,
                    10**12,
                    1e16,
                    None,
                    "0.123456789",
                ]
            )
            for n in range(draw.randrange(12))
        }
        body = json.dumps(
            {"x": x, "y": draw.random()}, separators=draw.choice([(",", ":"), (", ", ": "), (" ,", ":")])
        )
        found = pack_body(body)
        packed += isinstance(found, bytes)
        assert (unpack_body(found) if isinstance(found, bytes) else found) == body
    assert packed > 1000


def test_other_bytes_are_not_unpacked():
    assert unpack_body(b"\x01abc") == b"\x01abc"
    assert unpack_body(b"") == b""
    for wrong in (b"\x02\xff", b"\x02\xff\1\0\0\0\0\0\0\0", b"\x02\xfb", b"\x02{\xfe1234567"):
        with pytest.raises(InvalidValue, match="packed body"):
            unpack_body(wrong)


# The store.


def test_at_most_200_bytes_for_an_event_of_full_precision(tmp_path):
    draw = random.Random(3)
    events = [event(n, features(draw), True) for n in range(5000)]
    with EventStore(tmp_path / "events.db") as store:
        for start in range(0, 5000, 250):
            store.append(events[start : start + 250])
        for n in (0, 17, 4999):
            assert store.get(n + 1).body == events[n].body
        assert [record.body for record in store.read()] == [each.body for each in events]
    size = (tmp_path / "events.db").stat().st_size / 5000
    print(f"{size:.0f} bytes for an event with a body of {len(events[0].body)} bytes")
    assert size <= 200


def test_short_numbers_stay_text(tmp_path):
    with EventStore(tmp_path / "events.db") as store:
        store.append([event(1, features(random.Random(3), 3), True), event(2, features(random.Random(3)), True)])
    connection = sqlite3.connect(tmp_path / "events.db")
    found = connection.execute("SELECT json_extract(body, '$.y') FROM log WHERE body LIKE '{%'").fetchall()
    shown = connection.execute("SELECT body FROM log WHERE seq = 2").fetchone()[0]
    connection.close()
    assert found == [(1,)]
    assert shown.endswith(" bytes>")


def test_a_store_of_the_first_format_gets_no_packed_bodies(tmp_path):
    path = tmp_path / "events.db"
    with EventStore(path) as store:
        id = store.id
    old = schema.Bounds(1, id, 1, 0)
    connection = sqlite3.connect(path)
    connection.execute("UPDATE store SET format = 1, crc = ?", (old.checksum(),))
    connection.commit()
    connection.close()
    body = event(1, features(random.Random(3))).body
    with EventStore(path) as store:
        assert not store.packs
        store.append([event(1, features(random.Random(3)))])
        assert store.get(1).body == body
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT body FROM records").fetchall() == [(body,)]
    assert connection.execute("SELECT format FROM store").fetchall() == [(1,)]
    connection.close()


# The server.


def filled(folder: Path, events=300, digits=None):
    """A folder without a snapshot: events, their labels, and deferred events whose label is not learned."""
    engine = Engine(folder, {"m": model()})
    engine.start()
    engine.stop()
    for snapshot in engine.folder.snapshots.iterdir():
        snapshot.unlink()
    draw = random.Random(11)
    with EventStore(folder / "events.db") as store:
        for n in range(events):
            time = engine.clock.now() + n
            id = event(n, {}).id if n % 2 else f"e{n}"
            more = {"d": True} if n % 10 == 9 else {}
            drafts = [event(n, features(draw, digits), draw.gauss(0, 1), **more)._replace(time=time, id=id)]
            drafts.append(
                Draft(Kind.LABEL, time, 1, id, json.dumps({"y": draw.gauss(0, 1)}, separators=(",", ":")))
            )
            store.append(drafts)
    return folder


def state_of(folder):
    engine = Engine(folder, {"m": model()}, from_start=True)
    header, blobs = engine.state.snapshot()
    stream = engine.state.by_name["m"]
    found = engine.state.models["m"].learned, dict(stream.fates)
    engine.store.close()
    engine.folder.close()
    return header, blobs, found


def test_packed_events_are_replayed_as_their_text_is(tmp_path, monkeypatch):
    packed = filled(tmp_path / "packed")
    monkeypatch.setattr("millstream.serve.store.pack_body", lambda body: body)
    engine_folder = filled(tmp_path / "text")
    monkeypatch.undo()
    kinds = []
    for folder in (packed, engine_folder):
        connection = sqlite3.connect(folder / "events.db")
        kinds.append(connection.execute("SELECT DISTINCT typeof(body) FROM records WHERE kind = 1").fetchall())
        connection.close()
    assert kinds == [[("blob",)], [("text",)]]
    header, blobs, found = state_of(packed)
    other_header, other_blobs, other_found = state_of(engine_folder)
    assert found == other_found
    assert found[0] == 270
    models = [name for name in blobs if name.startswith("models/")]
    assert models
    assert all(blobs[name] == other_blobs[name] for name in models)
    assert header["models"][0]["scored"] == other_header["models"][0]["scored"] == 270


def test_the_command_events_shows_the_text(tmp_path, capsys):
    folder = filled(tmp_path / "data", 20)
    assert main(["events", str(folder), "--kind", "event", "--last", "0", "--json"]) == 0
    shown = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    draw = random.Random(11)
    for each in shown:
        x = features(draw)
        y = draw.gauss(0, 1)
        draw.gauss(0, 1)
        assert (each["body"]["x"], each["body"]["y"]) == (x, y)
        assert list(each["body"]["x"]) == list(x)
    assert len(shown) == 20


# Starts.


def contents(folder):
    # The lock belongs to the process, and SQLite's index of its log is rebuilt at every start.
    names = [
        file for file in folder.rglob("*") if file.is_file() and file.name != "lock" and file.suffix != ".db-shm"
    ]
    return {str(file.relative_to(folder)): file.read_bytes() for file in names}


@pytest.mark.parametrize("with_snapshot", [False, True])
@pytest.mark.parametrize("seq", [2, 300, 601])
def test_a_damaged_record_is_found_by_a_start_that_replays(tmp_path, seq, with_snapshot):
    folder = filled(tmp_path / "data", digits=3)
    if with_snapshot:
        engine = Engine(folder, {"m": model()})
        engine.start()
        engine.stop()
    connection = sqlite3.connect(folder / "events.db")
    connection.execute("UPDATE records SET time = time + 1 WHERE seq = ?", (seq,))
    connection.commit()
    connection.close()
    before = contents(folder)
    with pytest.raises(StoreDamaged, match=f"record {seq} is damaged"):
        Engine(folder, {"m": model()})
    assert contents(folder) == before
    # The folder is free again, and can be salvaged.
    DataFolder(folder).close()
    engine = Engine(folder, {"m": model()}, salvage=True)
    assert engine.store.gaps == ((seq, seq),)
    engine.store.close()
    engine.folder.close()


@pytest.mark.parametrize(
    "statement", ["DELETE FROM records WHERE seq = 300", "DELETE FROM records WHERE seq = 601"]
)
def test_a_missing_record_is_found_by_a_start_that_replays(tmp_path, statement):
    folder = filled(tmp_path / "data", digits=3)
    connection = sqlite3.connect(folder / "events.db")
    connection.execute(statement)
    connection.commit()
    connection.close()
    with pytest.raises(StoreDamaged, match=f"record {statement.split()[-1]} is missing"):
        Engine(folder, {"m": model()})


def test_a_record_after_the_last_is_found_by_a_start_that_replays(tmp_path):
    folder = filled(tmp_path / "data", digits=3)
    connection = sqlite3.connect(folder / "events.db")
    connection.execute(
        "INSERT INTO records SELECT seq + 1, kind, time, stream, id, body, crc FROM records WHERE seq = 601"
    )
    connection.commit()
    connection.close()
    with pytest.raises(StoreDamaged, match="it has 602 records"):
        Engine(folder, {"m": model()})


def test_a_store_that_is_not_complete_cannot_be_written(tmp_path):
    path = tmp_path / "events.db"
    with EventStore(path) as store:
        store.append([event(1, {"a": 1})])
    store = EventStore(path, replays=True)
    with pytest.raises(Exception, match="read"):
        store.append([event(2, {"a": 1})])
    assert [record.seq for record in store.read()] == [1]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["events.acked", "events.db"]
    store.complete(1, 1)
    store.append([event(2, {"a": 1})])
    assert store.get(2).seq == 2
    store.close()
