"""Verified reads of the event store, even while a server writes to it."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from millstream._core import first_wrong_record
from millstream.errors import InvalidValue, MissingFile, UnknownName
from millstream.serve.disk import BUSY, FULL, IOERR, LOCKED, Connection, Disk, Mode, primary_code
from millstream.serve.records import Record, Row, record_of
from millstream.serve.schema import Bounds, read_bounds
from millstream.serve.store_errors import StoreBusy, StoreDamaged, StoreFailed, StoreFull

__all__ = ["RecordReader", "unreadable", "verified_rows"]

#: Rows, rows at a time, and bytes of body that one statement of a scan reads. An open statement would keep the
#: write-ahead log from being reused.
_ROWS, _PART, _BYTES = 2_000, 100, 4 << 20

#: Numbers in one statement of `get_many`.
_NUMBERS = 128

_COLUMNS = "SELECT seq, kind, time, stream, id, body, crc FROM records"
_RANGE = f"{_COLUMNS} WHERE seq BETWEEN ? AND ? ORDER BY seq LIMIT {_ROWS}"
_ONE = f"{_COLUMNS} WHERE seq = ?"
_MANY = f"{_COLUMNS} WHERE seq IN ({', '.join('?' * _NUMBERS)})"
_STARTING = f"{_COLUMNS} WHERE kind = ? AND substr(body, 1, ?) = ? ORDER BY seq"


class RecordReader:
    """Reads records on its own connection, and checks each of them.

    Several threads may use one reader; they take turns.
    """

    def __init__(self, path: Path, disk: Disk, mode: Mode = "read") -> None:
        self._path, self._disk = path, disk
        if disk.size(path) is None:
            raise MissingFile(f"event store: no file {path}")
        self._lock = threading.Lock()
        self._connection = disk.connect(path, mode)
        try:
            self._connection.execute("PRAGMA query_only = ON")
            self._bounds = self.bounds()
        except BaseException:
            self._connection.close()
            raise

    def bounds(self) -> Bounds:
        """The first and last number and the gaps, as of now."""
        try:
            with self._lock:
                found = read_bounds(self._connection)
        except self._disk.errors as error:
            raise unreadable(self._path.name, None, error) from None
        if found is None:
            raise StoreDamaged(f"{self._path.name}: the table store is damaged", file=self._path.name)
        return found

    @property
    def id(self) -> bytes:
        """The identity of the store: 16 random bytes."""
        return self._bounds.id

    @property
    def seed(self) -> int:
        """The seed of record checksums."""
        return self._bounds.seed

    @property
    def first_seq(self) -> int:
        """The number of the first record that is kept, as of now."""
        return self.bounds().first

    @property
    def last_seq(self) -> int:
        """The number of the last record, as of now."""
        return self.bounds().last

    def get(self, seq: int) -> Record:
        """One record."""
        found = self._select(_ONE, (seq,), seq)
        if not found:
            raise self._absent(seq)
        return found[0]

    def get_many(self, seqs: Iterable[int]) -> dict[int, Record]:
        """Several records by number."""
        numbers = list(dict.fromkeys(seqs))
        found: dict[int, Record] = {}
        for start in range(0, len(numbers), _NUMBERS):
            part = numbers[start : start + _NUMBERS]
            # The statement has a fixed number of parameters, so it is compiled only once.
            rows = self._select(_MANY, part + part[-1:] * (_NUMBERS - len(part)), part[0])
            found.update((record.seq, record) for record in rows)
        for seq in numbers:
            if seq not in found:
                raise self._absent(seq)
        return {seq: found[seq] for seq in numbers}

    def starting(self, kind: int, start: str) -> list[Record]:
        """The records of a kind whose body starts with a text. All records are looked at."""
        return self._select(_STARTING, (int(kind), len(start), start), None)

    def first_at(self, time: int) -> int:
        """The number of the first record at or after a time; the last number plus one if there is none."""
        bounds = self.bounds()
        low, high = bounds.first, bounds.last + 1
        while low < high:
            middle = (low + high) // 2
            # A lost record counts as the next one that is kept.
            seq = bounds.skip(middle)
            if seq < high and self.get(seq).time < time:
                low = seq + 1
            else:
                high = middle
        return bounds.skip(low)

    def read(self, first: int = 1, last: int | None = None) -> Iterator[Record]:
        """The records from `first` to `last`, both included, in order. Trimmed and lost ones are left out."""
        for rows in self.rows(first, last):
            yield from map(record_of, rows)

    def rows(self, first: int = 1, last: int | None = None) -> Iterator[list[Row]]:
        """The checked rows of records in chunks, without gaps other than those recorded in the store."""
        if type(first) is not int or (last is not None and type(last) is not int):
            raise InvalidValue("event store: first and last must be whole numbers")
        bounds = self.bounds()
        stop = bounds.last if last is None else min(last, bounds.last)
        seq = bounds.skip(max(first, bounds.first))
        while seq <= stop:
            rows = self._chunk(bounds, seq, stop)
            if rows:
                yield rows
                seq = bounds.skip(rows[-1][0] + 1)
                continue
            # Retention may have removed the records since the bounds were read.
            bounds = self.bounds()
            if bounds.first <= seq:
                raise StoreDamaged(f"{self._path.name}: record {seq} is missing", file=self._path.name, seq=seq)
            seq = bounds.skip(bounds.first)

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._connection.close()

    def _chunk(self, bounds: Bounds, seq: int, stop: int) -> list[Row]:
        with self._lock:
            return verified_rows(self._connection, self._disk, self._path.name, bounds, seq, stop)

    def _select(self, statement: str, values: Any, seq: int | None) -> list[Record]:
        """The rows of a statement; `seq` is named if they cannot be read."""
        try:
            with self._lock:
                rows = self._connection.execute(statement, values).fetchall()
        except self._disk.errors as error:
            raise unreadable(self._path.name, seq, error) from None
        bad = first_wrong_record(self._bounds.seed, rows)
        if bad is not None:
            raise _damaged(self._path.name, rows[bad][0])
        return [record_of(row) for row in rows]

    def _absent(self, seq: int) -> UnknownName | StoreDamaged:
        bounds = self.bounds()
        if bounds.first <= seq <= bounds.last and bounds.skip(seq) == seq:
            return StoreDamaged(f"{self._path.name}: record {seq} is missing", file=self._path.name, seq=seq)
        return UnknownName(f"event store: no record {seq}; the log has {bounds.first} to {bounds.last}")


def verified_rows(
    connection: Connection, disk: Disk, name: str, bounds: Bounds, seq: int, stop: int, most: int = _BYTES
) -> list[Row]:
    """Some rows from `seq` on; an empty list if the row `seq` does not exist."""
    rows: list[Row] = []
    size = 0
    cursor = None
    try:
        cursor = connection.execute(_RANGE, (seq, stop))
        while size <= most and (part := list(islice(cursor, _PART))):
            bad = first_wrong_record(bounds.seed, part)
            if bad is not None:
                raise _damaged(name, part[bad][0])
            rows += part
            size += sum([len(row[5]) for row in part])
    except disk.errors as error:
        raise unreadable(name, rows[-1][0] + 1 if rows else seq, error) from None
    finally:
        if cursor is not None:
            cursor.close()
    return _without_gap(rows, bounds, seq)


def _without_gap(rows: list[Row], bounds: Bounds, seq: int) -> list[Row]:
    """The rows up to the first missing number."""
    if not rows or (rows[0][0] == seq and rows[-1][0] == seq + len(rows) - 1):
        return rows
    for count, row in enumerate(rows):
        if row[0] != bounds.skip(seq):
            return rows[:count]
        seq = row[0] + 1
    return rows


def _damaged(name: str, seq: int) -> StoreDamaged:
    return StoreDamaged(f"{name}: record {seq} is damaged (its checksum is wrong)", file=name, seq=seq)


def unreadable(name: str, seq: int | None, error: Exception) -> StoreDamaged | StoreFull | StoreFailed:
    """The error of the store for an error of a connection while reading."""
    code = primary_code(error)
    if code == FULL:
        return StoreFull(f"event store: no space left on the disk of {name}")
    if code in (BUSY, LOCKED):
        return StoreBusy(f"event store: another program has locked {name}")
    if code == IOERR:
        return StoreFailed(f"event store: cannot read {name}: {error}")
    place = "" if seq is None else f"record {seq}: "
    return StoreDamaged(f"{name}: {place}{error}", file=name, seq=seq)
