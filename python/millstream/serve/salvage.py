"""Rebuilds a damaged event store from the records that verify.

All pages of the main file and of the write-ahead log are searched for records, without using the structures that
point to them, and each record is accepted by its checksum alone. A damaged page therefore loses only the records
on it. The damaged files are kept under new names.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from millstream._core import first_wrong_record
from millstream.serve.acknowledged import Acknowledged, acknowledged_path, read_acknowledged
from millstream.serve.disk import Connection, Disk
from millstream.serve.faults import crash_point
from millstream.serve.pages import Pages
from millstream.serve.schema import FORMAT, Bounds, bounds_of, build_store, write_bounds
from millstream.serve.store_errors import StoreDamaged, StoreFailed

if TYPE_CHECKING:
    from millstream.serve.opening import OpenReport

__all__ = ["finish_salvage", "salvage_store"]

#: Number of rows per transaction.
_GROUP = 10_000


def salvage_store(disk: Disk, path: Path, report: OpenReport) -> None:
    """Replace a damaged store by one with all records that verify."""
    mark = read_acknowledged(disk, acknowledged_path(path))
    pages = Pages.of(disk, path)
    try:
        kept = _rebuild(disk, path, pages, mark)
    finally:
        pages.close()
    # From here on, the salvaged store is complete; an interrupted exchange of the files is finished later.
    disk.rename(_beside(path, ".new"), _beside(path, ".salvaged"))
    disk.sync_folder(path.parent)
    aside = finish_salvage(disk, path)
    report.notes.append(f"{path.name}: salvaged {kept} records; the damaged file is kept as {aside}")


def _rebuild(disk: Disk, path: Path, pages: Pages, mark: Acknowledged | None) -> int:
    """Write all records that verify to a new store beside the damaged one; returns their number."""
    bounds = _newest_bounds(pages, mark)
    if bounds is None:
        raise StoreDamaged(f"{path.name}: nothing can be salvaged: the id of the store is lost", file=path.name)
    if mark is not None and mark.store != bounds.id:
        mark = None
    new = _beside(path, ".new")
    try:
        build_store(disk, new, bounds._replace(first=1, last=0, gaps=()), pages.page_size)
        connection = disk.connect(new, "write")
        try:
            connection.execute("PRAGMA synchronous = FULL").fetchall()
            _copy(connection, pages, bounds, mark)
            kept = _close_bounds(connection, bounds, mark)
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        finally:
            connection.close()
        disk.sync(new)
    except disk.failures as error:
        raise StoreFailed(f"event store: salvage failed: {error}") from None
    return kept


def finish_salvage(disk: Disk, path: Path) -> str | None:
    """Put a salvaged store, if there is one, in its place; returns the new name of the damaged file."""
    salvaged = _beside(path, ".salvaged")
    if disk.size(salvaged) is None:
        return None
    crash_point("store.salvage.before_rename")
    number = 1
    while disk.size(_beside(path, f".damaged-{number}")) is not None:
        number += 1
    if disk.size(path) is None and number > 1:
        # The exchange was interrupted after the main file had been moved.
        number -= 1
    aside = _beside(path, f".damaged-{number}")
    if disk.size(path) is not None:
        disk.rename(path, aside)
    crash_point("store.salvage.between_renames")
    for suffix in ("-wal", "-journal"):
        if disk.size(_beside(path, suffix)) is not None:
            disk.rename(_beside(path, suffix), _beside(aside, suffix))
    disk.remove(_beside(path, "-shm"))
    # The old files must not come back after the new one has their place.
    disk.sync_folder(path.parent)
    disk.rename(salvaged, path)
    disk.sync_folder(path.parent)
    crash_point("store.salvage.after_rename")
    return aside.name


def _newest_bounds(pages: Pages, mark: Acknowledged | None) -> Bounds | None:
    """The newest row of the table `store` that verifies, or one derived from the last acknowledged number."""
    best: Bounds | None = None
    for trusted, _, row in pages.rows(6):
        found = bounds_of(row)
        if trusted and found is not None and found.format <= FORMAT and (best is None or found.last > best.last):
            best = found
    if best is None and mark is not None:
        # The first number is set when the records are known.
        best = Bounds(FORMAT, mark.store, 0, 0)
    return best


def _copy(connection: Connection, pages: Pages, bounds: Bounds, mark: Acknowledged | None) -> None:
    """Copy all records that verify. The first copy of a record is kept; copies from rolled-back writes come
    last."""
    seed = bounds.seed
    acknowledged = bounds.last if mark is None else max(mark.last, bounds.last)

    def verified() -> Iterator[tuple[Any, ...]]:
        for trusted, seq, values in pages.rows(7):
            # The number is the key of the row, and its column is empty.
            row = (seq, *values[1:])
            if (
                seq >= bounds.first
                and (trusted or seq <= acknowledged)
                and first_wrong_record(seed, [row]) is None
            ):
                yield row

    for group in _groups(verified()):
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("INSERT OR IGNORE INTO records VALUES (?, ?, ?, ?, ?, ?, ?)", group)
        connection.execute("COMMIT")


def _groups(rows: Iterable[tuple[Any, ...]]) -> Iterator[list[tuple[Any, ...]]]:
    iterator = iter(rows)
    while group := list(itertools.islice(iterator, _GROUP)):
        yield group


def _close_bounds(connection: Connection, bounds: Bounds, mark: Acknowledged | None) -> int:
    """Write the bounds and the missing ranges of the new store; returns the number of
    records."""
    kept, lowest, highest = connection.execute("SELECT count(*), min(seq), max(seq) FROM records").fetchall()[0]
    first = bounds.first or lowest or 1
    last = max(bounds.last, highest or 0, 0 if mark is None else mark.last)
    holes = connection.execute(
        "SELECT seq + 1, next - 1 FROM (SELECT seq, lead(seq) OVER (ORDER BY seq) AS next FROM records)"
        " WHERE next > seq + 1"
    ).fetchall()
    gaps = [(first, lowest - 1), *holes, (highest + 1, last)] if kept else [(first, last)]
    known = tuple((low, high) for low, high in gaps if low <= high)
    connection.execute("BEGIN IMMEDIATE")
    write_bounds(connection, bounds._replace(first=first, last=last, gaps=known))
    connection.execute("COMMIT")
    return int(kept)


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)
