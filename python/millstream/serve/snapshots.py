"""Snapshots of the state after a record: one file, written atomically, that is pure data.

```
8 bytes   magic
u32 u64 u64 u32 u32   version, seq, size of the file, size of the header, number of entries
u32       CRC32C of the bytes before and of the header
header    JSON object
entry     u16 size of the name, u64 size of the data, u32 CRC32C of the sizes, the name and the data; name; data
```

Integers are little-endian. All sizes are checked against the size of the file before anything is read.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from millstream._core import crc32c
from millstream.errors import InvalidState, InvalidValue
from millstream.serve.disk import Disk
from millstream.serve.faults import crash_point
from millstream.serve.folder import DataFolder

__all__ = [
    "InvalidSnapshot",
    "Snapshot",
    "newest_valid",
    "prune",
    "read_header",
    "read_snapshot",
    "snapshot_seqs",
    "write_snapshot",
]

_MAGIC = b"MSSNAP\r\n"
_VERSION = 1
_START = struct.Struct("<8sIQQII")
_CRC = struct.Struct("<I")
_ENTRY = struct.Struct("<HQ")

#: Limits of what is read and written. The header contains labels and features of clients, so it may be large.
_MOST_HEADER, _MOST_ENTRIES, _LONGEST_NAME = 1 << 30, 100_000, 512


class Snapshot(NamedTuple):
    """The state after the record `seq`: a JSON object, and named blocks of bytes."""

    seq: int
    header: dict[str, Any]
    blobs: dict[str, bytes]


class InvalidSnapshot(NamedTuple):
    """The file name of a snapshot that cannot be used, and the reason."""

    name: str
    reason: str


def write_snapshot(
    folder: DataFolder | Path, seq: int, header: Mapping[str, Any], blobs: Mapping[str, bytes], *, keep: int = 3
) -> Path:
    """Write a snapshot: temporary file, fsync, rename, fsync of the folder. Only the newest `keep` are kept."""
    pieces = _pieces(seq, header, blobs)
    folder = _place(folder)
    path = folder / f"{seq}.snapshot"
    new = folder / f"{seq}.snapshot.new"
    crash_point("snapshot.before_write")
    try:
        with new.open("wb") as file:
            half = len(pieces) // 2
            file.writelines(pieces[:half])
            file.flush()
            crash_point("snapshot.half_written")
            file.writelines(pieces[half:])
            file.flush()
            crash_point("snapshot.before_sync")
            os.fsync(file.fileno())
        crash_point("snapshot.before_rename")
        new.replace(path)
        crash_point("snapshot.before_folder_sync")
        Disk().sync_folder(folder)
    except BaseException:
        # A partial snapshot must not keep a full disk full.
        with suppress(OSError):
            new.unlink(missing_ok=True)
        raise
    crash_point("snapshot.after_folder_sync")
    prune(folder, keep)
    return path


def read_snapshot(path: Path) -> Snapshot:
    """Read and check a snapshot; raises `InvalidState` with the reason if it is not valid."""
    try:
        data = memoryview(path.read_bytes())
    except OSError as error:
        raise InvalidState(f"{path.name}: {error.strerror or error}") from None
    return _parsed(path.name, data)


def read_header(path: Path) -> dict[str, Any]:
    """Read and check the header of a snapshot, without its entries."""
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            start = file.read(_START.size + _CRC.size)
            length = _START.unpack_from(start)[4] if len(start) == _START.size + _CRC.size else 0
            data = memoryview(start + file.read(min(length, _MOST_HEADER)))
    except OSError as error:
        raise InvalidState(f"{path.name}: {error.strerror or error}") from None
    return _header(path.name, data, size)[1]


def newest_valid(
    folder: DataFolder | Path,
    last: int | None = None,
    *,
    first: int | None = None,
    mismatch: Callable[[int, Mapping[str, Any]], str | None] = lambda seq, header: None,
) -> tuple[Snapshot | None, list[InvalidSnapshot]]:
    """The newest usable snapshot, and those that were skipped.

    `first` and `last` are the bounds of the log. A snapshot of a record after its end, or so far before its start
    that the next record is missing, cannot be continued. `mismatch` returns the reason why a snapshot with a
    number and a header does not belong to the log, or None.
    """
    folder = _place(folder)
    passed = []
    for seq in reversed(snapshot_seqs(folder)):
        path = folder / f"{seq}.snapshot"
        try:
            if last is not None and seq > last:
                raise InvalidState(f"the log ends at record {last}")
            if first is not None and seq < first - 1:
                raise InvalidState(f"the log begins at record {first}")
            found = read_snapshot(path)
            if found.seq != seq:
                raise InvalidState(f"the file is a snapshot of record {found.seq}")
            reason = mismatch(seq, found.header)
            if reason is not None:
                raise InvalidState(reason)
        except InvalidState as error:
            passed.append(InvalidSnapshot(path.name, str(error).removeprefix(f"{path.name}: ")))
            continue
        return found, passed
    return None, passed


def snapshot_seqs(folder: DataFolder | Path) -> list[int]:
    """The numbers of all snapshots, valid or not, in order."""
    folder = _place(folder)
    names = (file.name.removesuffix(".snapshot") for file in folder.glob("*.snapshot"))
    # The last condition skips names such as 007, which would be written as 7.
    return sorted(int(name) for name in names if name.isascii() and name.isdecimal() and str(int(name)) == name)


def prune(folder: DataFolder | Path, keep: int = 3) -> None:
    """Remove all but the newest snapshots, and the files of interrupted writes. Call it after a successful
    write."""
    folder = _place(folder)
    if type(keep) is not int or keep < 1:
        raise InvalidValue(f"snapshots: keep must be at least 1, got {keep!r}")
    crash_point("snapshot.before_prune")
    for seq in snapshot_seqs(folder)[:-keep]:
        (folder / f"{seq}.snapshot").unlink(missing_ok=True)
    for file in folder.glob("*.snapshot.new"):
        file.unlink(missing_ok=True)


def _place(folder: DataFolder | Path) -> Path:
    return folder if isinstance(folder, Path) else folder.snapshots


def _pieces(seq: int, header: Mapping[str, Any], blobs: Mapping[str, bytes]) -> list[bytes]:
    text = json.dumps(header, separators=(",", ":"), allow_nan=False).encode()
    if len(text) > _MOST_HEADER or len(blobs) > _MOST_ENTRIES:
        raise InvalidValue(f"snapshot: too large: a header of {len(text)} bytes, {len(blobs)} entries")
    entries: list[bytes] = []
    for name, data in blobs.items():
        raw = name.encode()
        if not 1 <= len(raw) <= _LONGEST_NAME:
            raise InvalidValue(f"snapshot: a name must have 1 to {_LONGEST_NAME} bytes, got {len(raw)}")
        sizes = _ENTRY.pack(len(raw), len(data))
        entries += [sizes, _CRC.pack(crc32c(data, crc32c(sizes + raw))), raw, data]
    size = _START.size + _CRC.size + len(text) + sum(map(len, entries))
    start = _START.pack(_MAGIC, _VERSION, seq, size, len(text), len(blobs))
    return [start, _CRC.pack(crc32c(text, crc32c(start))), text, *entries]


def _header(name: str, data: memoryview, total: int) -> tuple[int, dict[str, Any], int, int]:
    """The number of the record, the header, the number of entries, and the position of the first one.

    `data` is the start of a file of `total` bytes.
    """

    def invalid(what: str) -> InvalidState:
        return InvalidState(f"{name}: {what}")

    place = _START.size + _CRC.size
    if len(data) < place:
        raise invalid("the file ends inside its header")
    magic, version, seq, size, header_size, count = _START.unpack_from(data)
    if magic != _MAGIC:
        raise invalid("this is not a snapshot")
    if version > _VERSION:
        raise invalid(f"version {version} is newer than this version can read, {_VERSION}")
    if size != total:
        raise invalid(f"the file must have {size} bytes, got {total}")
    if header_size > min(_MOST_HEADER, len(data) - place) or count > _MOST_ENTRIES:
        raise invalid("the header is damaged")
    text = bytes(data[place : place + header_size])
    if crc32c(text, crc32c(bytes(data[: _START.size]))) != _CRC.unpack_from(data, _START.size)[0]:
        raise invalid("the header is damaged")
    try:
        header = json.loads(text)
    except (ValueError, RecursionError):
        raise invalid("the header is not JSON") from None
    if not isinstance(header, dict):
        raise invalid("the header is not a JSON object")
    return seq, header, count, place + header_size


def _parsed(name: str, data: memoryview) -> Snapshot:
    def invalid(what: str) -> InvalidState:
        return InvalidState(f"{name}: {what}")

    seq, header, count, place = _header(name, data, len(data))
    blobs: dict[str, bytes] = {}
    for number in range(count):
        found, place = _entry(data, place)
        if found is None:
            raise invalid(f"entry {number} is damaged, at byte {place}")
        if found[0] in blobs:
            raise invalid(f"entry {number} has the name of another one")
        blobs[found[0]] = found[1]
    if place != len(data):
        raise invalid(f"{len(data) - place} bytes behind the last entry")
    return Snapshot(seq, header, blobs)


def _entry(data: memoryview, place: int) -> tuple[tuple[str, bytes] | None, int]:
    """The entry at a position and the position after it; None and the same position if it is damaged."""
    start = place + _ENTRY.size + _CRC.size
    if start > len(data):
        return None, place
    name_size, size = _ENTRY.unpack_from(data, place)
    if not 1 <= name_size <= _LONGEST_NAME or name_size + size > len(data) - start:
        return None, place
    raw, blob = bytes(data[start : start + name_size]), bytes(data[start + name_size : start + name_size + size])
    sizes = bytes(data[place : place + _ENTRY.size])
    if crc32c(blob, crc32c(sizes + raw)) != _CRC.unpack_from(data, place + _ENTRY.size)[0]:
        return None, place
    try:
        return (raw.decode(), blob), start + name_size + size
    except UnicodeDecodeError:
        return None, place
