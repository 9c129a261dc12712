"""Creation of an event store, and the checks before writing to one.

Nothing is changed before all checks have passed. A start that replays the log checks the records while it reads
them, and the others afterwards (`check_rest`). The checks are: the header of the main file; the write-ahead log
(`wal.py`); SQLite's own check of the structure, which also finds a broken list of free pages; the definitions of
the tables; the checksum and the number of each record; the last acknowledged number (`acknowledged.py`).
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from pathlib import Path

from millstream.serve.acknowledged import acknowledged_path, read_acknowledged
from millstream.serve.disk import FULL, Connection, Disk, Mode, primary_code
from millstream.serve.faults import crash_point
from millstream.serve.reader import unreadable, verified_rows
from millstream.serve.salvage import finish_salvage, salvage_store
from millstream.serve.schema import APPLICATION, FORMAT, PAGE_SIZE, Bounds, build_store, read_bounds, schema_fault
from millstream.serve.store_errors import StoreDamaged, StoreFailed, StoreFull
from millstream.serve.wal import WalCheck, check_wal

__all__ = ["Cut", "OpenReport", "check_rest", "create_store", "inspect_store", "reading_mode"]

_MAGIC = b"SQLite format 3\0"


@dataclass(frozen=True)
class Cut:
    """Bytes that were cut from the store: their offset, their number, and the reason."""

    file: str
    offset: int
    size: int
    reason: str

    def __str__(self) -> str:
        return f"{self.file}: cut {self.size} bytes at byte {self.offset}: {self.reason}"


@dataclass
class OpenReport:
    """Report of opening a store.

    Attributes
    ----------
    cuts
        Incomplete transactions at the end, which were never acknowledged.
    lost
        Ranges of records that salvage could not recover, both ends included.
    notes
        Other findings, one line each.
    """

    cuts: list[Cut] = field(default_factory=list)
    lost: list[tuple[int, int]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        """The report as lines for a log."""
        lost = [f"records {first} to {last} are lost" for first, last in self.lost]
        return [*map(str, self.cuts), *lost, *self.notes]


def create_store(disk: Disk, path: Path, page_size: int = PAGE_SIZE) -> None:
    """Create a store if there is none. It is renamed when complete, so a partial store never exists under its
    name."""
    finish_salvage(disk, path)
    if disk.size(path) is not None:
        return
    if any(disk.size(file) for file in (_beside(path, "-wal"), acknowledged_path(path))):
        # There was a store; the checks report that it is missing.
        return
    new = _beside(path, ".new")
    try:
        build_store(disk, new, Bounds(FORMAT, secrets.token_bytes(16), 1, 0), page_size)
        crash_point("store.create.before_rename")
        disk.rename(new, path)
        disk.sync_folder(path.parent)
    except disk.failures as error:
        kind = StoreFull if primary_code(error) == FULL else StoreFailed
        raise kind(f"event store: cannot create {path}: {error}") from None
    crash_point("store.create.after_rename")


def inspect_store(
    disk: Disk, path: Path, salvage: bool = False, *, records: bool = True
) -> tuple[Bounds, OpenReport]:
    """Check a store without changing it; with `salvage`, rebuild it if it is damaged. Without `records`, the
    caller reads the records, each of which is then checked, and calls `check_rest`."""
    report = OpenReport()
    try:
        return _inspected(disk, path, report, records), report
    except StoreDamaged as damage:
        if not salvage:
            raise
        report = OpenReport(notes=[str(damage)])
        salvage_store(disk, path, report)
        return _inspected(disk, path, report), report


def check_rest(disk: Disk, path: Path, bounds: Bounds, first: int, last: int) -> None:
    """Check the records that are not from `first` to `last`, and that there are no others."""
    connection = disk.connect(path, reading_mode(disk, path))
    try:
        _check_records(connection, disk, path.name, bounds, bounds.first, first - 1)
        _check_records(connection, disk, path.name, bounds, last + 1, bounds.last)
        _check_count(connection, path.name, bounds)
    except disk.errors as error:
        raise unreadable(path.name, None, error) from None
    finally:
        connection.close()


def reading_mode(disk: Disk, path: Path) -> Mode:
    """How a store is read before it is opened for writing: without a write-ahead log, no other file is created."""
    return "read" if disk.size(_beside(path, "-wal")) else "immutable"


def _inspected(disk: Disk, path: Path, report: OpenReport, records: bool = True) -> Bounds:
    page_size = _check_header(disk, path)
    wal = _check_wal(disk, path, page_size, report)
    # Unsynced writes of an earlier process can be lost in a power failure even after they were read here.
    try:
        disk.sync(path)
        if wal is not None:
            disk.sync(_beside(path, "-wal"))
    except OSError as error:
        raise StoreFailed(f"event store: cannot sync {path}: {error}") from None
    connection = disk.connect(path, reading_mode(disk, path))
    try:
        bounds = _check_content(connection, disk, path, records)
    finally:
        connection.close()
    _check_acknowledged(disk, path, bounds, wal, report)
    report.lost = list(bounds.gaps)
    return bounds


def _check_header(disk: Disk, path: Path) -> int:
    """Check the header of the main file, which SQLite checks only partially; returns the page size."""
    header = disk.read(path, 100) or b""

    def damaged(offset: int, what: str) -> StoreDamaged:
        return StoreDamaged(f"{path.name}: byte {offset}: {what}", file=path.name, offset=offset)

    if disk.size(path) is None:
        raise StoreDamaged(f"{path.name} is missing, although other files of the store are there", file=path.name)
    if len(header) < 100:
        raise damaged(len(header), "the file ends inside its header")
    if header[:16] != _MAGIC:
        raise damaged(0, "this is not a database of SQLite")
    page_size = int.from_bytes(header[16:18], "big")
    page_size = 65536 if page_size == 1 else page_size
    if page_size < 512 or page_size & (page_size - 1):
        raise damaged(16, f"the page size {page_size} is not possible")
    if header[18:21] != b"\2\2\0":
        raise damaged(18, "the file is not in WAL mode")
    if header[68:72] != APPLICATION.to_bytes(4, "big"):
        raise damaged(68, "this is not an event store")
    size = disk.size(path) or 0
    if size % page_size:
        raise damaged(size - size % page_size, "the file ends inside a page")
    journal = _beside(path, "-journal")
    if disk.size(journal):
        raise StoreDamaged(
            f"{journal.name}: a rollback journal does not belong to an event store", file=journal.name
        )
    return page_size


def _check_wal(disk: Disk, path: Path, page_size: int, report: OpenReport) -> WalCheck | None:
    """Check the write-ahead log; None if it does not exist."""
    name = _beside(path, "-wal")
    data = disk.read(name)
    if not data:
        return None
    found = check_wal(data, page_size)
    if found.damage is not None:
        raise StoreDamaged(f"{name.name}: byte {found.bad}: {found.damage}", file=name.name, offset=found.bad)
    if found.tail:
        report.cuts.append(Cut(name.name, found.end, found.tail, "the last transaction is incomplete"))
    return found


def _check_content(connection: Connection, disk: Disk, path: Path, records: bool) -> Bounds:
    """Check tables and, if wanted, records."""
    name = path.name
    try:
        connection.execute("PRAGMA cell_size_check = ON").fetchall()
        fault = schema_fault(connection)
        bounds = None if fault else read_bounds(connection)
        if bounds is None:
            raise StoreDamaged(f"{name}: {fault or 'the table store is damaged'}", file=name)
        rows = connection.execute("PRAGMA quick_check(1)").fetchall()
        if rows != [("ok",)]:
            raise StoreDamaged(f"{name}: {' '.join(str(rows[0][0]).split())}", file=name)
        if records:
            _check_records(connection, disk, name, bounds, bounds.first, bounds.last)
            _check_count(connection, name, bounds)
    except disk.errors as error:
        raise unreadable(name, None, error) from None
    return bounds


def _check_records(connection: Connection, disk: Disk, name: str, bounds: Bounds, first: int, last: int) -> None:
    """Check the records from `first` to `last`, none of which may be missing."""
    seq = bounds.skip(first)
    while seq <= last:
        rows = verified_rows(connection, disk, name, bounds, seq, last)
        if not rows:
            raise StoreDamaged(f"{name}: record {seq} is missing", file=name, seq=seq)
        seq = bounds.skip(rows[-1][0] + 1)


def _check_count(connection: Connection, name: str, bounds: Bounds) -> None:
    """Check that there are no records but those from the first to the last."""
    count = bounds.last - bounds.first + 1 - bounds.lost
    low, high, found = connection.execute("SELECT min(seq), max(seq), count(*) FROM records").fetchall()[0]
    if found != count or (count and not bounds.first <= low <= high <= bounds.last):
        what = f"it has {found} records, from {low} to {high}, not {count} from {bounds.first} to {bounds.last}"
        raise StoreDamaged(f"{name}: {what}", file=name, seq=low if found > count else None)


def _check_acknowledged(disk: Disk, path: Path, bounds: Bounds, wal: WalCheck | None, report: OpenReport) -> None:
    file = acknowledged_path(path)
    if disk.size(file) is None:
        if bounds.last:
            report.notes.append(f"{file.name} is missing; it is written again")
        return
    mark = read_acknowledged(disk, file)
    if mark is None:
        report.notes.append(f"{file.name} is damaged; it is written again")
        return
    if mark.store != bounds.id:
        raise StoreDamaged(f"{path.name} and {file.name} belong to different stores", file=path.name)
    if mark.last <= bounds.last:
        return
    log = _beside(path, "-wal").name
    where = f"{log} is missing" if wal is None else f"{log} is damaged or cut at byte {wal.bad}"
    raise StoreDamaged(
        f"{path.name}: records {bounds.last + 1} to {mark.last} were acknowledged and are missing; {where}",
        file=log,
        offset=None if wal is None else wal.bad,
        seq=bounds.last + 1,
    )


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)
