"""The process dies at each named crash point, a sync fails, the disk is full."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from damaged_store import copy_store, drafts, killed_store
from millstream.serve.faults import POINTS, VARIABLE
from millstream.serve.snapshots import newest_valid
from millstream.serve.store import EventStore, StoreFailed, StoreFull

#: Appends, checkpoints, trims, closes and reopens; writes the number of each acknowledged record to a file.
PROGRAM = """
import sys
from pathlib import Path
sys.path[:0] = {path!r}
{prelude}
from damaged_store import drafts
from millstream.serve.snapshots import write_snapshot
from millstream.serve.store import EventStore
folder = Path(sys.argv[1])
(folder / "snapshots").mkdir(exist_ok=True)
acknowledged = (folder / "acknowledged").open("a")
for _ in range(2):
    store = EventStore(folder / "events.db", page_size=512)
    for count in (1, 3, 20):
        store.append(drafts(store.last_seq + 1, count))
        print(store.last_seq, file=acknowledged, flush=True)
    store.checkpoint()
    store.trim(store.first_seq + 2)
    blobs = {{"a": b"1" * 5000, "b": b""}}
    write_snapshot(folder / "snapshots", store.last_seq, {{"seq": store.last_seq}}, blobs, keep=2)
    store.close()
"""


def run(program, folder, point=None):
    path = [entry for entry in sys.path if entry]
    prelude = "import bstub" if "bstub" in sys.modules else ""
    environment = {**os.environ, **({VARIABLE: point} if point else {})}
    command = [sys.executable, "-c", program.format(path=path, prelude=prelude), folder]
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def acknowledged_in(folder):
    lines = (folder / "acknowledged").read_text().split() if (folder / "acknowledged").exists() else []
    return int(lines[-1]) if lines else 0


def check(folder):
    """The store opens and has all acknowledged records and no other ones; no snapshot is ahead of it."""
    acknowledged = acknowledged_in(folder)
    with EventStore(folder / "events.db", page_size=512) as store:
        assert store.last_seq - acknowledged in (0, 1, 3, 20)
        expected = drafts(store.first_seq, store.last_seq - store.first_seq + 1)
        assert [record.body for record in store.read()] == [draft.body for draft in expected]
        store.append(drafts(store.last_seq + 1, 2))
        if (folder / "snapshots").exists():
            snapshot, invalid = newest_valid(folder / "snapshots", store.last_seq)
            assert invalid == []
            assert snapshot is None or snapshot.header == {"seq": snapshot.seq}


def points(*families):
    return [point for point in POINTS if point.split(".")[0] in families and ".salvage." not in point]


@pytest.mark.slow
@pytest.mark.parametrize("point", points("store", "snapshot"))
def test_crash_point(tmp_path, point):
    for number in range(1, 20):
        folder = tmp_path / str(number)
        folder.mkdir()
        done = run(PROGRAM, folder, f"{point}:{number}")
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL, done.stderr
        check(folder)
    # The loop ends when the point is not passed that often, so that every pass has been tried.
    assert 1 < number < 19


SALVAGE = """
import sys
from pathlib import Path
sys.path[:0] = {path!r}
{prelude}
from millstream.serve.store import EventStore
EventStore(Path(sys.argv[1]) / "events.db", salvage=True).close()
"""


@pytest.mark.slow
@pytest.mark.parametrize("point", [point for point in POINTS if ".salvage." in point])
def test_crash_during_salvage(tmp_path, point):
    folder = tmp_path / "store"
    records = killed_store(folder)
    data = bytearray((folder / "events.db").read_bytes())
    data[data.index(b'{"x":{"a":16}')] ^= 1
    (folder / "events.db").write_bytes(data)
    assert run(SALVAGE, folder, point).returncode == -signal.SIGKILL
    copy_store(folder, tmp_path / "copy")
    # A salvage that was begun is finished without being asked for again.
    with EventStore(folder / "events.db") as store:
        assert list(store.read()) == [record for record in records if record.seq != 16]
        assert store.gaps == ((16, 16),)
    assert (folder / "events.db.damaged-1").read_bytes() == data
    assert run(SALVAGE, tmp_path / "copy").returncode == 0


@pytest.mark.slow
def test_program_without_a_crash(tmp_path):
    done = run(PROGRAM, tmp_path)
    assert done.returncode == 0, done.stderr
    assert acknowledged_in(tmp_path) == 48
    check(tmp_path)


# The simulated disk.

PATH = Path("/data/events.db")


def use(disk, acknowledged):
    """Use a store; the list gets the last acknowledged number. Returns the store when the disk has failed it."""
    store = None
    try:
        store = EventStore(PATH, disk=disk, page_size=512)
        for count in (1, 4, 30, 2):
            store.append(drafts(store.last_seq + 1, count))
            acknowledged[0] = store.last_seq
            store.checkpoint()
        store.close()
    except StoreFailed:
        return store, True
    return store, False


@pytest.mark.parametrize("number", range(1, 40))
def test_failed_sync_is_never_retried(number):
    pytest.importorskip("apsw")
    from simulated_disk import SimulatedDisk

    disk = SimulatedDisk(refuse_sync_at=number)
    acknowledged = [0]
    store, failed = use(disk, acknowledged)
    if disk.refused == 0:
        assert number > 20
        assert not failed
        disk.discard()
        return
    if failed and store is not None:
        syncs = disk.syncs
        for call in (
            lambda: store.append(drafts(1, 1)),
            store.checkpoint,
            lambda: store.get(1),
            lambda: store.trim(1),
        ):
            with pytest.raises(StoreFailed, match="no further work is accepted"):
                call()
        store.close()
        assert disk.syncs == syncs
    disk.kill()
    files = disk.after_power_cut(number)
    disk.discard()
    again = SimulatedDisk(files)
    with EventStore(PATH, disk=again) as store:
        assert store.last_seq >= acknowledged[0]
        expected = drafts(1, store.last_seq)
        assert [record.body for record in store.read()] == [draft.body for draft in expected]
    again.discard()


@pytest.mark.parametrize("capacity", range(6_000, 40_000, 1_500))
def test_full_simulated_disk(capacity):
    pytest.importorskip("apsw")
    from simulated_disk import SimulatedDisk

    disk = SimulatedDisk()
    store = EventStore(PATH, disk=disk, page_size=512)
    disk.capacity = capacity
    acknowledged = refused = 0
    for _ in range(60):
        try:
            store.append(drafts(acknowledged + 1, 7))
        except StoreFull:
            refused += 1
        else:
            acknowledged += 7
        store.checkpoint()
    assert refused
    assert store.last_seq == acknowledged
    # A server that is started on a full disk reads, and heals as well.
    disk.kill()
    store = EventStore(PATH, disk=disk)
    assert [record.seq for record in store.read()] == list(range(1, acknowledged + 1))
    disk.capacity = None
    assert store.append(drafts(acknowledged + 1, 7)) == acknowledged + 1
    files = disk.after_power_cut(capacity)
    disk.discard()
    again = SimulatedDisk(files)
    with EventStore(PATH, disk=again) as store:
        assert [record.body for record in store.read()] == [draft.body for draft in drafts(1, acknowledged + 7)]
    again.discard()
