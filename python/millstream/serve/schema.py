"""The schema of the event store, `events.db`.

```
records   seq     number of the record, without gaps
          kind    1 event, 2 label, 3 labelled example, 4 events, 5 labels, 6 tick, 7 administration (see view log)
          time    milliseconds since 1970, never decreasing
          stream  number of the model or route
          id      id of the event: BLOB of 16 bytes for a UUID, otherwise TEXT
          body    JSON text, the packed JSON of an event, or the bytes of a batch
          crc     CRC32C over all other fields, seeded with the id of the store
store     one row: format, id of the store, first and last number, ranges that were lost to damage, CRC32C
log       a view of records with names of kinds, ISO times, and ids as text
```

There is no index on `id`, because it would reduce the write rate at a million records to a sixth. `store.last`
changes in the same transaction as the records, so that records lost from the end of the table are detected.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from millstream._core import crc32c
from millstream.errors import InvalidState
from millstream.serve.disk import Connection, Disk

__all__ = [
    "APPLICATION",
    "FORMAT",
    "PAGE_SIZE",
    "Bounds",
    "bounds_of",
    "build_store",
    "read_bounds",
    "schema_fault",
    "write_bounds",
]

#: Version of the format. A store of a later version is refused. From version 2 on, bodies of events may be packed.
FORMAT = 2
_PACKED_FORMAT = 2

#: Marks the file as an event store, at byte 68 of it.
APPLICATION = 0x4D53_4556

#: With twice SQLite's default, writing a batch of 80 kB takes four fifths of the processor time.
PAGE_SIZE = 8192

#: The view comes first. SQLite's check of the structure begins with the newest object; if that is a view, which
#: has no pages, it leaves out the list of free pages (seen in versions 3.40 and 3.54).
_OBJECTS = (
    "CREATE VIEW log AS SELECT seq, CASE kind WHEN 1 THEN 'event' WHEN 2 THEN 'label' WHEN 3 THEN 'learn'"
    " WHEN 4 THEN 'events' WHEN 5 THEN 'labels' WHEN 6 THEN 'tick' WHEN 7 THEN 'admin' END AS kind,"
    " strftime('%Y-%m-%dT%H:%M:%fZ', time / 1000.0, 'unixepoch') AS time, stream,"
    " CASE typeof(id) WHEN 'blob' THEN lower(substr(hex(id), 1, 8) || '-' || substr(hex(id), 9, 4) || '-' ||"
    " substr(hex(id), 13, 4) || '-' || substr(hex(id), 17, 4) || '-' || substr(hex(id), 21)) ELSE id END AS id,"
    " CASE typeof(body) WHEN 'blob' THEN '<' || length(body) || ' bytes>' ELSE body END AS body FROM records",
    "CREATE TABLE records(seq INTEGER PRIMARY KEY, kind INTEGER NOT NULL, time INTEGER NOT NULL,"
    " stream INTEGER NOT NULL, id, body NOT NULL, crc INTEGER NOT NULL)",
    "CREATE TABLE store(format INTEGER NOT NULL, id BLOB NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,"
    " gaps TEXT NOT NULL, crc INTEGER NOT NULL)",
)

#: With more tables, SQLite stores them in a different order.
_MOST_TABLES = 8


class Bounds(NamedTuple):
    """The row of the table `store`. `gaps` are the ranges, both ends included, that salvage found lost."""

    format: int
    id: bytes
    first: int
    last: int
    gaps: tuple[tuple[int, int], ...] = ()

    @property
    def seed(self) -> int:
        """Seed of the checksums of all records."""
        return crc32c(self.id)

    def checksum(self) -> int:
        """The checksum of this row."""
        header = struct.pack("<qqqI", self.format, self.first, self.last, len(self.id))
        return crc32c(header + self.id + json.dumps(self.gaps).encode())

    @property
    def packs(self) -> bool:
        """Whether bodies of events may be packed. Earlier versions wrote text and can read nothing else."""
        return self.format >= _PACKED_FORMAT

    @property
    def lost(self) -> int:
        """Number of records in the gaps."""
        return sum(last - first + 1 for first, last in self.gaps)

    def skip(self, seq: int) -> int:
        """The first number from `seq` on that is not in a gap."""
        for first, last in self.gaps:
            if first <= seq <= last:
                seq = last + 1
        return seq


def build_store(disk: Disk, path: Path, bounds: Bounds, page_size: int = PAGE_SIZE) -> None:
    """Create a store without records under a temporary name, and sync it."""
    for suffix in ("", "-wal", "-shm", "-journal"):
        disk.remove(path.with_name(path.name + suffix))
    connection = disk.connect(path, "create")
    try:
        _create(connection, bounds, page_size)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    finally:
        connection.close()
    disk.sync(path)


def _create(connection: Connection, bounds: Bounds, page_size: int) -> None:
    connection.execute(f"PRAGMA page_size = {page_size}")
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute("PRAGMA journal_mode = WAL").fetchall()
    connection.execute("BEGIN IMMEDIATE")
    for statement in _OBJECTS:
        connection.execute(statement)
    connection.execute(
        "INSERT INTO store VALUES (?, ?, ?, ?, ?, ?)",
        (bounds.format, bounds.id, bounds.first, bounds.last, json.dumps(bounds.gaps), bounds.checksum()),
    )
    connection.execute("COMMIT")


def write_bounds(connection: Connection, bounds: Bounds) -> None:
    """Replace the row of the table `store`, inside a transaction."""
    connection.execute(
        "UPDATE store SET first = ?, last = ?, gaps = ?, crc = ?",
        (bounds.first, bounds.last, json.dumps(bounds.gaps), bounds.checksum()),
    )


def read_bounds(connection: Connection) -> Bounds | None:
    """The row of the table `store`, None if it does not verify. A later format raises `InvalidState`."""
    rows = connection.execute("SELECT format, id, first, last, gaps, crc FROM store").fetchall()
    if len(rows) != 1:
        return None
    found = bounds_of(rows[0])
    if found is None:
        return None
    if found.format > FORMAT:
        raise InvalidState(f"event store: format {found.format} is newer than this version can read, {FORMAT}")
    return found


def bounds_of(row: Sequence[Any]) -> Bounds | None:
    """The content of a row of the table `store`, None if it does not verify."""
    number, id, first, last, gaps, crc = row
    if (
        not all(type(value) is int for value in (number, first, last))
        or type(id) is not bytes
        or type(gaps) is not str
    ):
        return None
    try:
        ranges = tuple((int(low), int(high)) for low, high in json.loads(gaps))
        found = Bounds(number, id, first, last, ranges)
        return found if found.checksum() == crc else None
    except (TypeError, ValueError, RecursionError):
        return None


def schema_fault(connection: Connection) -> str | None:
    """The first error in the tables and the view; None if there is none. User-defined indexes and tables are
    allowed."""
    rows = connection.execute("SELECT type, name, tbl_name, rootpage, sql FROM sqlite_schema").fetchall()
    found = {name: (table, sql) for _, name, table, _, sql in rows}
    for statement in _OBJECTS:
        name = statement.split("(")[0].split(" AS ")[0].split()[-1]
        if found.get(name) != (name, statement):
            return f"the definition of {name} is not as it was written"
    for kind, name, _, root, _ in rows:
        if kind not in ("table", "index") and name != "log":
            return f"the {kind} {name} does not belong here; create it in a database of your own, with ATTACH"
        if kind == "table" and not root:
            return (
                f"the virtual table {name} does not belong here; create it in a database of your own, with ATTACH"
            )
    if sum(kind == "table" for kind, *_ in rows) > _MOST_TABLES:
        return f"more than {_MOST_TABLES} tables; create tables in a database of your own, with ATTACH"
    return None
