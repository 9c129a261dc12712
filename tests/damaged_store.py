"""Small event stores as test material, and the judgement of what a damaged copy of one opens to."""

from __future__ import annotations

import shutil
from pathlib import Path

from millstream.serve.records import Draft, Kind, Record
from millstream.serve.store import EventStore, StoreDamaged

#: Small pages make a store with inner pages, overflow pages and free pages of a few kilobytes.
PAGE_SIZE = 512

FILES = ("events.db", "events.db-wal", "events.acked")


def drafts(first: int, count: int, size: int = 40) -> list[Draft]:
    """Records of several kinds, with ids of both forms and none."""
    made = []
    for number in range(first, first + count):
        name = [f"018f0000-0000-7000-8000-{number:012x}", f"client-{number}é", None][number % 3]
        body = f'{{"x":{{"a":{number}}},"y":"{"z" * size}"}}'
        kind = [Kind.EVENT, Kind.LABEL, Kind.TICK][number % 3]
        made.append(
            Draft(
                kind, 1_790_000_000_000 + 7 * number, number % 2, name, body.encode() if number % 7 == 0 else body
            )
        )
    return made


def closed_store(folder: Path) -> list[Record]:
    """A store that was closed, with free pages from a trim: everything is in the main file."""
    folder.mkdir()
    with EventStore(folder / "events.db", page_size=PAGE_SIZE) as store:
        store.append(drafts(1, 12, size=250))
        store.append(drafts(13, 1, size=1500))
        store.append(drafts(14, 9))
        store.trim(8)
        return list(store.read())


def killed_store(folder: Path) -> list[Record]:
    """A store whose process was killed: old records in the main file, four transactions in the write-ahead log."""
    work = folder.with_name(folder.name + "-work")
    closed_store(work)
    folder.mkdir()
    with EventStore(work / "events.db") as store:
        store.append(drafts(23, 2))
        store.append(drafts(25, 1))
        store.append(drafts(26, 1, size=700))
        store.append(drafts(27, 3))
        for name in FILES:
            shutil.copy(work / name, folder / name)
        return list(store.read())


def copy_store(source: Path, target: Path) -> Path:
    """A fresh copy; an older copy in the same place is removed."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)
    return target


def judge(folder: Path, records: list[Record]) -> str:
    """Open a store that may be damaged; returns "damaged", "cut" or "same", and fails if a record is wrong.

    A store that opens must have all records, by number and in order, must take new ones, and must still have all
    of them afterwards. One that does not open must be left as it was, and the error names the place.
    """
    before = {name: (folder / name).read_bytes() for name in FILES[:2] if (folder / name).exists()}
    try:
        store = EventStore(folder / "events.db")
    except StoreDamaged as error:
        damage = error
    else:
        damage = None
    if damage is not None:
        assert damage.file
        assert damage.file in str(damage)
        assert {name: (folder / name).read_bytes() for name in before} == before
        return "damaged"
    with store:
        assert list(store.read()) == records
        assert [store.get(record.seq) for record in records] == records
        more = drafts(store.last_seq + 1, 6, size=300)
        store.append(more[:4])
        store.append(more[4:])
        cut = bool(store.report.cuts)
    with EventStore(folder / "events.db") as store:
        assert list(store.read())[: len(records)] == records
        assert [record.body for record in store.read(store.last_seq - 5)] == [draft.body for draft in more]
    return "cut" if cut else "same"


def judge_salvage(folder: Path, records: list[Record]) -> int:
    """Salvage a damaged store; returns the number of lost records, and fails if a kept one is wrong."""
    with EventStore(folder / "events.db", salvage=True) as store:
        kept = list(store.read())
        known = {record.seq: record for record in records}
        assert all(known[record.seq] == record for record in kept)
        lost = {seq for first, last in store.gaps for seq in range(first, last + 1)}
        assert lost == known.keys() - {record.seq for record in kept}
        store.append(drafts(store.last_seq + 1, 2))
    with EventStore(folder / "events.db") as store:
        assert len(list(store.read())) == len(kept) + 2
    return len(lost)
