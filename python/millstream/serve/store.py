"""The event store: the log of all records of a data folder, in SQLite.

One thread appends groups of records, one transaction each, in WAL mode with `synchronous=FULL`: when `append`
returns, the group is on the disk. Checkpoints are made here, because SQLite ignores errors of automatic
checkpoints; a failed fsync must stop the store. See `schema.py` for the tables, `opening.py` for
the checks before anything is written, and `salvage.py` for the recovery of a damaged store.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from millstream._core import pack_body
from millstream.errors import InvalidValue, NotPermitted
from millstream.serve.acknowledged import Acknowledged, acknowledged_path, write_acknowledged
from millstream.serve.disk import BUSY, FULL, LOCKED, Connection, Disk, primary_code
from millstream.serve.faults import crash_point
from millstream.serve.opening import OpenReport, check_rest, create_store, inspect_store, reading_mode
from millstream.serve.reader import RecordReader
from millstream.serve.records import Draft, Kind, Record, Row, row_of
from millstream.serve.schema import PAGE_SIZE, Bounds, read_bounds, write_bounds
from millstream.serve.store_errors import StoreBusy, StoreDamaged, StoreFailed, StoreFull

__all__ = ["EventStore", "StoreBusy", "StoreDamaged", "StoreFailed", "StoreFull"]

_EVENT = int(Kind.EVENT)

_INSERT = "INSERT INTO records VALUES (?, ?, ?, ?, ?, ?, ?)"

#: Bytes in the write-ahead log after which a checkpoint is due, and after which `append` makes one itself.
_CHECKPOINT_DUE, _CHECKPOINT_MUST = 16 << 20, 64 << 20

#: Number of records that `trim` removes per transaction.
_TRIM = 50_000

_SETTINGS = (
    "PRAGMA synchronous = FULL",
    # Needed on macOS, where fsync alone does not flush the cache of the drive.
    "PRAGMA fullfsync = ON",
    "PRAGMA checkpoint_fullfsync = ON",
    "PRAGMA wal_autocheckpoint = 0",
    f"PRAGMA journal_size_limit = {_CHECKPOINT_MUST}",
    "PRAGMA cache_size = -8192",
    "PRAGMA temp_store = MEMORY",
    "PRAGMA trusted_schema = OFF",
)


class EventStore:
    """The log of a data folder.

    Opening checks every record and the structure of the file. Damage raises `StoreDamaged` and leaves the files as
    they are; an incomplete last transaction, which was never acknowledged, is cut and reported.

    Parameters
    ----------
    path
        The database file; created if it does not exist.
    disk
        The disk; tests pass a simulated one.
    salvage
        Keep all records that verify, move the damaged files aside, and remember the lost ranges.
    read_only
        Only read; the store must exist, and a server may be writing to it. Records are then checked when they are
        read, and `refresh` shows those that were written since.
    replays
        The caller reads the records, each of which is then checked, and calls `complete` before anything is
        written. Otherwise, every record is read and checked twice.
    page_size
        Page size of a new database.

    Attributes
    ----------
    report
        What was found when the store was opened.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        disk: Disk | None = None,
        salvage: bool = False,
        read_only: bool = False,
        replays: bool = False,
        page_size: int = PAGE_SIZE,
    ) -> None:
        self.path = Path(path)
        self._disk = Disk() if disk is None else disk
        self._failure: str | None = None
        self._reader: RecordReader | None = None
        self._unchecked = 0
        self._mark = acknowledged_path(self.path)
        self._connection: Connection | None = None
        #: Whether `complete` must check the other records and open the store for writing.
        self._is_incomplete = False
        self.report = OpenReport()
        if read_only:
            self._reader = self.reader()
            self.refresh()
            return
        create_store(self._disk, self.path, page_size)
        self._is_incomplete = replays and not salvage
        self._bounds, self.report = inspect_store(self._disk, self.path, salvage, records=not self._is_incomplete)
        self._seed = self._bounds.seed
        if not self._is_incomplete:
            self._connection = self._opened()

    def complete(self, first: int, last: int) -> None:
        """Finish opening after the records from `first` to `last` were read: check the others, allow writing."""
        if not self._is_incomplete:
            return
        check_rest(self._disk, self.path, self._bounds, first, last)
        if self._reader is not None:
            # It may not see what is written from now on.
            self._reader.close()
            self._reader = None
        self._is_incomplete = False
        self._connection = self._opened()

    @property
    def first_seq(self) -> int:
        """The number of the first record; `last_seq` + 1 if there is none."""
        return self._bounds.first

    @property
    def last_seq(self) -> int:
        """The number of the last record, 0 if there never was one."""
        return self._bounds.last

    @property
    def gaps(self) -> tuple[tuple[int, int], ...]:
        """Ranges of records that were lost to damage, both ends included."""
        return self._bounds.gaps

    @property
    def id(self) -> bytes:
        """The identity of the store: 16 random bytes."""
        return self._bounds.id

    @property
    def size(self) -> int:
        """Bytes on the disk."""
        files = (self.path, _beside(self.path, "-wal"), _beside(self.path, "-shm"), self._mark)
        return sum(self._disk.size(file) or 0 for file in files)

    @property
    def used(self) -> int:
        """Bytes of the main file that hold records; pages of trimmed records are free and are reused."""
        rows = [
            self._writable().execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count")
        ]
        size = self._writable().execute("PRAGMA page_size").fetchone()[0]
        return int((rows[0] - rows[1]) * size)

    @property
    def checkpoint_due(self) -> bool:
        """Whether `checkpoint` should be called at the next quiet moment."""
        return self._unchecked >= _CHECKPOINT_DUE

    @property
    def seed(self) -> int:
        """The seed of record checksums."""
        return self._seed

    @property
    def packs(self) -> bool:
        """Whether bodies of events may be packed."""
        return self._bounds.packs

    def append(self, drafts: Sequence[Draft], ready: Sequence[Row] = ()) -> int:
        """Write a group of records in one transaction and sync it; returns the number of the first draft.

        The rows in `ready` are written before the drafts. They have their checksums already, and the numbers after
        `last_seq`.

        Raises `StoreFull` or `StoreBusy` if nothing was written and a later call may succeed, `StoreFailed` if the
        state of the disk is unknown.
        """
        self._writable()
        first = self._bounds.last + 1
        if ready and ready[0][0] != first:
            raise InvalidValue(f"event store: append: ready rows must start at {first}, got {ready[0][0]}")
        first += len(ready)
        if not drafts and not ready:
            return first
        seed = self._seed
        stored = map(_packed, drafts) if self.packs else drafts
        rows = [*ready, *(row_of(seed, seq, draft) for seq, draft in enumerate(stored, first))]
        changed = self._bounds._replace(last=first + len(drafts) - 1)
        crash_point("store.before_write")
        self._transact(changed, rows)
        crash_point("store.after_commit")
        self._acknowledge()
        self._unchecked += sum(len(row[5]) for row in rows) + 64 * len(rows) + 3 * PAGE_SIZE
        if self._unchecked >= _CHECKPOINT_MUST:
            self.checkpoint()
        return first

    def checkpoint(self) -> None:
        """Copy the write-ahead log into the main file, so that the log can be reused. Readers are not blocked."""
        connection = self._writable()
        crash_point("store.before_checkpoint")
        try:
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        except self._disk.errors as error:
            # The records stay in the write-ahead log; the checkpoint is retried later.
            self._unchecked = _CHECKPOINT_DUE
            if primary_code(error) not in (FULL, BUSY, LOCKED):
                raise self._failed("checkpoint", error) from None
            return
        self._unchecked = 0
        crash_point("store.after_checkpoint")

    def trim(self, before: int) -> None:
        """Remove all records with a number below `before`; `first_seq` moves."""
        self._writable()
        if type(before) is not int or before > self._bounds.last + 1:
            raise InvalidValue(
                f"event store: trim: before must be at most {self._bounds.last + 1}, got {before!r}"
            )
        while self._bounds.first < before:
            upto = min(before, self._bounds.first + _TRIM)
            gaps = tuple((max(low, upto), high) for low, high in self._bounds.gaps if high >= upto)
            self._transact(self._bounds._replace(first=upto, gaps=gaps), (), "store.trim.before_commit")
            crash_point("store.trim.after_commit")
            self._unchecked = _CHECKPOINT_DUE
            if self.checkpoint_due:
                self.checkpoint()

    def refresh(self) -> None:
        """Read the first and last number again, for a store that was opened read-only."""
        self._bounds = self._shared_reader().bounds()
        self._seed = self._bounds.seed

    def reader(self) -> RecordReader:
        """A new reader, for use in another thread."""
        mode = reading_mode(self._disk, self.path) if self._is_incomplete else "read"
        return RecordReader(self.path, self._disk, mode)

    def read(self, first: int = 1, last: int | None = None) -> Iterator[Record]:
        """The records from `first` to `last`, both included, in order, each one checked."""
        reader = self.reader()
        try:
            yield from reader.read(first, last)
        finally:
            reader.close()

    def rows(self, first: int = 1, last: int | None = None) -> Iterator[list[Row]]:
        """The checked rows of records in chunks."""
        reader = self.reader()
        try:
            yield from reader.rows(first, last)
        finally:
            reader.close()

    def get(self, seq: int) -> Record:
        """One record by its number."""
        return self._shared_reader().get(seq)

    def get_many(self, seqs: Iterable[int]) -> dict[int, Record]:
        """Several records by their numbers."""
        return self._shared_reader().get_many(seqs)

    def starting(self, kind: int, start: str) -> list[Record]:
        """The records of a kind whose body starts with a text."""
        return self._shared_reader().starting(kind, start)

    def first_at(self, time: int) -> int:
        """The number of the first record at or after a time; the last number plus one if there is none."""
        return self._shared_reader().first_at(time)

    def close(self) -> None:
        """Copy the write-ahead log into the main file and close all connections."""
        if self._reader is not None:
            self._reader.close()
        crash_point("store.before_close")
        connection, self._connection = self._connection, None
        if connection is not None and self._failure is not None:
            self._disk.abandon(connection)
        elif connection is not None:
            # The records are durable without it.
            with suppress(*self._disk.errors):
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            with suppress(*self._disk.errors):
                connection.close()
        self._failure = self._failure or "it is closed"
        crash_point("store.after_close")

    def __enter__(self) -> EventStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _opened(self) -> Connection:
        crash_point("store.open.before_recovery")
        connection = self._disk.connect(self.path, "write")
        try:
            for setting in _SETTINGS:
                connection.execute(setting).fetchall()
            self._tidy(connection)
        except self._disk.failures as error:
            self._disk.abandon(connection)
            raise self._failed("open", error) from None
        crash_point("store.open.after_recovery")
        return connection

    def _tidy(self, connection: Connection) -> None:
        """Empty the write-ahead log and rewrite the mark; a full disk must not prevent reading."""
        try:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except self._disk.errors as error:
            if primary_code(error) not in (FULL, BUSY, LOCKED):
                raise
        try:
            write_acknowledged(self._disk, self._mark, Acknowledged(self._bounds.id, self._bounds.last))
            self._disk.sync(self._mark)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
        self._disk.sync_folder(self.path.parent)

    def _transact(
        self, changed: Bounds, rows: Sequence[tuple[object, ...]], point: str = "store.before_commit"
    ) -> None:
        connection = self._writable()
        try:
            connection.execute("BEGIN IMMEDIATE")
            if changed.first != self._bounds.first:
                connection.execute("DELETE FROM records WHERE seq < ?", (changed.first,))
            connection.executemany(_INSERT, rows)
            crash_point("store.half_written")
            write_bounds(connection, changed)
            crash_point(point)
            connection.execute("COMMIT")
        except self._disk.errors as error:
            code = primary_code(error)
            if code not in (FULL, BUSY, LOCKED):
                raise self._failed("write", error) from None
            try:
                self._roll_back(connection)
            except self._disk.errors as second:
                raise self._failed("rollback", second) from None
            if code == FULL:
                raise StoreFull(f"event store: no space left on the disk of {self.path.name}") from None
            raise StoreBusy(f"event store: another program has locked {self.path.name}") from None
        except BaseException:
            # Ctrl-C, or no memory, before or after the commit: the transaction must not stay open.
            self._abort(connection)
            raise
        self._bounds = changed

    def _abort(self, connection: Connection) -> None:
        try:
            self._roll_back(connection)
            bounds = read_bounds(connection)
        except self._disk.errors as error:
            self._failed("rollback", error)
            return
        if bounds is None:
            self._failure = "the table store is damaged"
        else:
            self._bounds = bounds

    def _roll_back(self, connection: Connection) -> None:
        # After some errors, SQLite has already rolled back.
        try:
            connection.execute("ROLLBACK")
        except self._disk.errors as error:
            if "no transaction" not in str(error):
                raise

    def _acknowledge(self) -> None:
        try:
            write_acknowledged(self._disk, self._mark, Acknowledged(self._bounds.id, self._bounds.last))
        except OSError:
            # The group is durable. An outdated mark only weakens the check at the next start.
            return
        crash_point("store.after_acknowledged")

    def _shared_reader(self) -> RecordReader:
        self._refuse_if_failed()
        if self._reader is None:
            self._reader = self.reader()
        return self._reader

    def _writable(self) -> Connection:
        self._refuse_if_failed()
        if self._connection is None:
            raise NotPermitted(f"event store: {self.path.name} was opened to read only")
        return self._connection

    def _refuse_if_failed(self) -> None:
        if self._failure is not None:
            raise StoreFailed(f"event store: {self._failure}; no further work is accepted")

    def _failed(self, what: str, error: Exception) -> StoreFailed:
        self._failure = f"{what} failed: {error}"
        return StoreFailed(f"event store: {self._failure}")


def _packed(draft: Draft) -> Draft:
    """A draft with the body that is stored."""
    if draft.kind != _EVENT or type(draft.body) is not str:
        return draft
    return draft._replace(body=pack_body(draft.body))


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)
