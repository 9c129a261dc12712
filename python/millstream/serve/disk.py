"""The disk under the event store: a few operations on files, and connections of SQLite.

The store accesses files only through this module, so a test can replace the disk with one that loses, tears and
reorders unsynced writes (`tests/simulated_disk.py`).
"""

from __future__ import annotations

import mmap
import os
import sqlite3
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, Protocol
from urllib.parse import quote

from millstream._files import sync_folder

__all__ = ["BUSY", "FULL", "IOERR", "LOCKED", "Connection", "Disk", "Mode", "primary_code"]

#: How a database is opened. `immutable` reads the main file alone and creates no other file.
Mode = Literal["create", "write", "read", "immutable"]

#: Result codes of SQLite.
BUSY, LOCKED, IOERR, FULL = 5, 6, 10, 13

_abandoned: list[Connection] = []

_QUERY = {"create": "mode=rwc", "write": "mode=rw", "read": "mode=ro", "immutable": "mode=ro&immutable=1"}


class Connection(Protocol):
    """The connection interface that the store uses; statements begin and end transactions."""

    def execute(self, sql: str, values: Sequence[Any] = ..., /) -> Any: ...

    def executemany(self, sql: str, values: Iterable[Sequence[Any]], /) -> Any: ...

    def close(self) -> None: ...


class Disk:
    """The real disk."""

    #: Errors of connections. Text that is not UTF-8 raises an error without a result code.
    errors: tuple[type[Exception], ...] = (sqlite3.Error, UnicodeDecodeError)

    @property
    def failures(self) -> tuple[type[Exception], ...]:
        """Errors of connections and of operations on files."""
        return (*self.errors, OSError)

    def connect(self, path: Path, mode: Mode, timeout: float = 5.0) -> Connection:
        """Open a database connection; several threads may use it, one at a time."""
        address = f"file:{quote(str(path.absolute()))}?{_QUERY[mode]}"
        return sqlite3.connect(address, timeout, isolation_level=None, check_same_thread=False, uri=True)

    def abandon(self, connection: Connection) -> None:
        """Keep a connection open until the process ends, because closing it would write and sync again."""
        if sys.version_info >= (3, 12) and isinstance(connection, sqlite3.Connection):
            connection.setconfig(sqlite3.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, True)
        _abandoned.append(connection)

    def size(self, path: Path) -> int | None:
        """The size of a file; None if it does not exist."""
        try:
            return path.stat().st_size
        except FileNotFoundError:
            return None

    def read(self, path: Path, most: int = -1) -> bytes | None:
        """The first bytes of a file, or all; None if it does not exist."""
        try:
            with path.open("rb") as file:
                return file.read(most)
        except FileNotFoundError:
            return None

    def view(self, path: Path) -> bytes | mmap.mmap:
        """A memory map of a file; empty if it does not exist."""
        if not self.size(path):
            return b""
        with path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def write(self, path: Path, data: bytes) -> None:
        """Overwrite the start of a file, or create it. Not durable before `sync`."""
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(descriptor, rest) :]
        finally:
            os.close(descriptor)

    def sync(self, path: Path) -> None:
        """Make the content of a file durable, including the writes of other processes."""
        descriptor = os.open(path, os.O_RDWR | getattr(os, "O_BINARY", 0))
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def sync_folder(self, folder: Path) -> None:
        """Make the names in a folder durable."""
        sync_folder(folder)

    def rename(self, old: Path, new: Path) -> None:
        """Rename a file atomically, replacing any file with the new name."""
        old.replace(new)

    def remove(self, path: Path) -> None:
        """Remove a file if it exists."""
        with suppress(FileNotFoundError):
            path.unlink()


def primary_code(error: Exception) -> int | None:
    """The primary SQLite result code; None if the error has none."""
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:
        code = getattr(error, "result", None)
    return code & 0xFF if isinstance(code, int) else None
