"""The number of the last acknowledged record, in a small file beside the store.

The file is overwritten after each commit but not synced, which takes a few microseconds. If the process is killed,
the number is exact; after a power failure it may be out of date, but never ahead of the store. A store that ends
before this number has lost acknowledged records, for example because its write-ahead log was deleted, truncated
between two transactions, or damaged in the last one. Without this number, such a loss could not be distinguished
from a transaction that never finished.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import NamedTuple

from millstream._core import crc32c
from millstream.serve.disk import Disk

__all__ = ["Acknowledged", "acknowledged_path", "read_acknowledged", "write_acknowledged"]

_FIELDS = struct.Struct("<8s16sQ")
_MAGIC = b"MS-ACKED"


class Acknowledged(NamedTuple):
    """The id of the store and the number of its last acknowledged record."""

    store: bytes
    last: int


def acknowledged_path(path: Path) -> Path:
    """The path of the file that belongs to a store: `events.acked` for `events.db`."""
    return path.with_suffix(".acked")


def write_acknowledged(disk: Disk, path: Path, mark: Acknowledged) -> None:
    """Overwrite the file. It is smaller than a sector, so a power failure does not tear the write."""
    fields = _FIELDS.pack(_MAGIC, mark.store, mark.last)
    disk.write(path, fields + struct.pack("<I", crc32c(fields)))


def read_acknowledged(disk: Disk, path: Path) -> Acknowledged | None:
    """The content of the file; None if the file is missing or fails the check."""
    data = disk.read(path, _FIELDS.size + 5)
    if data is None or len(data) != _FIELDS.size + 4:
        return None
    magic, store, last = _FIELDS.unpack_from(data)
    if magic != _MAGIC or struct.unpack_from("<I", data, _FIELDS.size)[0] != crc32c(data[: _FIELDS.size]):
        return None
    return Acknowledged(store, last)
