# ruff: noqa: N802 (the methods of a file system have the names that SQLite gives them)
"""A disk in memory that loses, tears and reorders unsynced writes at a power cut, under the real SQLite.

SQLite runs in `apsw`, whose virtual file system is written here. A write changes what is read back at once, as the
page cache does, and is durable after a sync of its file. At a power cut each sector of 512 bytes keeps any of the
contents it had since the last sync, independently of all other sectors; the size of a file is any size it had
since; and of the changes of names since the last sync of the folder a random number of the first is kept.
"""

from __future__ import annotations

import errno
import itertools
import random
from contextlib import suppress
from pathlib import Path

import apsw

from millstream.serve.disk import Disk

SECTOR = 512

_names = itertools.count(1)


class PowerCut(apsw.IOError):
    """The power went out; every later operation fails as well."""


class _File:
    """The content of a file: as programs see it, as it is durable, and all states of its sectors in between."""

    def __init__(self, data: bytes = b"") -> None:
        self.data = bytearray(data)
        self.durable = bytes(data)
        self.sizes = [len(data)]
        self.versions: dict[int, list[bytes]] = {}
        self.synced_once = False

    def write(self, offset: int, data: bytes) -> None:
        if offset > len(self.data):
            self.data += bytes(offset - len(self.data))
        self.data[offset : offset + len(data)] = data
        for number in range(offset // SECTOR, (offset + len(data) - 1) // SECTOR + 1):
            start = number * SECTOR
            self.versions.setdefault(number, []).append(bytes(self.data[start : start + SECTOR]))
        self.sizes.append(len(self.data))

    def truncate(self, size: int) -> None:
        del self.data[size:]
        self.data += bytes(size - len(self.data))
        self.sizes.append(size)

    def sync(self) -> None:
        self.durable = bytes(self.data)
        self._forget()

    def fail_to_sync(self) -> None:
        """As Linux does: the pages are dropped from the list of what must be written, and stay in the cache."""
        self._forget()

    def _forget(self) -> None:
        self.sizes, self.versions, self.synced_once = [len(self.durable)], {}, True

    def after_power_cut(self, chance: random.Random) -> bytes:
        size = chance.choice((self.sizes[0], self.sizes[-1], chance.choice(self.sizes)))
        found = bytearray(self.durable[:size].ljust(size, b"\0"))
        kept = chance.choice((0.0, 0.5, 0.9, 1.0))
        for number, versions in self.versions.items():
            start = number * SECTOR
            if start < size and chance.random() < kept:
                version = versions[-1] if chance.random() < 0.8 else chance.choice(versions)
                found[start : start + len(version)] = version
        return bytes(found[:size])


class SimulatedDisk(Disk):
    """A disk that can lose its power, refuse a sync, and be full.

    Parameters
    ----------
    files
        Contents by path, as a former power cut left them.
    cut_at
        Number of the operation (write, sync, truncation, change of a name) at which the power goes out.
    refuse_sync_at
        Number of the sync that fails, once.
    capacity
        Bytes that all files together may have.
    """

    errors: tuple[type[Exception], ...] = (apsw.Error, UnicodeDecodeError)

    def __init__(
        self,
        files: dict[str, bytes] | None = None,
        *,
        cut_at: int | None = None,
        refuse_sync_at: int | None = None,
        capacity: int | None = None,
        seed: int = 0,
    ) -> None:
        self.names = {name: _File(data) for name, data in (files or {}).items()}
        self.durable_names = dict(self.names)
        self.name_changes: list[dict[str, _File]] = []
        self.cut_at, self.refuse_sync_at, self.capacity = cut_at, refuse_sync_at, capacity
        self.operations, self.syncs, self.refused = 0, 0, 0
        self.chance = random.Random(seed)
        self.name = f"simulated-{next(_names)}"
        self._vfs = _FileSystem(self)
        self._connections: list[apsw.Connection] = []

    def after_power_cut(self, seed: int) -> dict[str, bytes]:
        """The contents that are found when the power is back."""
        chance = random.Random(seed)
        states = [self.durable_names, *self.name_changes]
        names = chance.choice((states[0], states[-1], chance.choice(states)))
        return {name: file.after_power_cut(chance) for name, file in names.items()}

    def contents(self) -> dict[str, bytes]:
        """The contents that another process would read."""
        return {name: bytes(file.data) for name, file in self.names.items()}

    def kill(self, cut_at: int | None = None) -> None:
        """End the process that uses the disk; the cache stays. The power goes out at a later operation."""
        self.cut_at = 0
        for connection in self._connections:
            with suppress(apsw.Error):
                connection.close(True)
        self._connections = []
        self.cut_at, self.operations = cut_at, 0

    def discard(self) -> None:
        """Remove the file system from SQLite."""
        self.kill()
        self._vfs.unregister()

    def connect(self, path, mode, timeout=5.0):
        flags = apsw.SQLITE_OPEN_URI
        flags |= apsw.SQLITE_OPEN_READWRITE if mode in ("write", "create") else apsw.SQLITE_OPEN_READONLY
        flags |= apsw.SQLITE_OPEN_CREATE if mode == "create" else 0
        name = f"file:{path}?immutable=1" if mode == "immutable" else str(path)
        connection = apsw.Connection(name, flags, self.name)
        if mode not in ("write", "create"):
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        # The file system has no shared memory; with this lock SQLite keeps its index of the log on the heap.
        connection.execute("PRAGMA locking_mode = EXCLUSIVE").fetchall()
        self._connections.append(connection)
        return connection

    def size(self, path):
        file = self.names.get(str(path))
        return None if file is None else len(file.data)

    def read(self, path, most=-1):
        file = self.names.get(str(path))
        return None if file is None else bytes(file.data[:most] if most >= 0 else file.data)

    def view(self, path):
        return self.read(path) or b""

    def write(self, path, data):
        self.step()
        try:
            self.check_capacity(path, len(data))
        except apsw.FullError:
            raise OSError(errno.ENOSPC, "no space left") from None
        self.opened(str(path)).write(0, data)

    def sync(self, path):
        try:
            self.sync_file(self.names[str(path)])
        except PowerCut:
            raise
        except apsw.IOError:
            raise OSError("a sync failed") from None

    def sync_folder(self, folder):
        self.step()
        self.durable_names, self.name_changes = dict(self.names), []

    def rename(self, old, new):
        self.step()
        self.names[str(new)] = self.names.pop(str(old))
        self.name_changes.append(dict(self.names))

    def remove(self, path):
        if str(path) in self.names:
            self.step()
            del self.names[str(path)]
            self.name_changes.append(dict(self.names))

    def step(self) -> None:
        """Count an operation that changes the disk."""
        self.operations += 1
        if self.cut_at is not None and self.operations >= self.cut_at:
            raise PowerCut("the power is out")

    def sync_file(self, file: _File) -> None:
        self.step()
        self.syncs += 1
        if self.syncs == self.refuse_sync_at:
            self.refused += 1
            file.fail_to_sync()
            raise apsw.exception_for(apsw.SQLITE_IOERR_FSYNC)
        file.sync()

    def check_capacity(self, path, end: int) -> None:
        if self.capacity is not None:
            others = sum(len(file.data) for name, file in self.names.items() if name != str(path))
            if others + end > self.capacity:
                raise apsw.exception_for(apsw.SQLITE_FULL)

    def opened(self, name: str) -> _File:
        if name not in self.names:
            self.names[name] = _File()
            self.name_changes.append(dict(self.names))
        return self.names[name]


class _FileSystem(apsw.VFS):
    def __init__(self, disk: SimulatedDisk) -> None:
        self.disk = disk
        super().__init__(disk.name, "")

    def xFullPathname(self, name):
        return name

    def xAccess(self, name, flags):
        return name in self.disk.names

    def xDelete(self, name, sync):
        if name not in self.disk.names:
            raise apsw.IOError("no such file")
        self.disk.remove(Path(name))
        if sync:
            self.disk.sync_folder(Path(name).parent)

    def xOpen(self, name, flags):
        shown = name.filename() if isinstance(name, apsw.URIFilename) else name
        if not flags[0] & apsw.SQLITE_OPEN_CREATE and shown not in self.disk.names:
            raise apsw.CantOpenError("no such file")
        flags[1] = flags[0]
        return _OpenFile(self.disk, shown or f"temporary-{next(_names)}", flags[0])

    def xRandomness(self, count):
        return self.disk.chance.randbytes(count)


class _OpenFile:
    def __init__(self, disk: SimulatedDisk, name: str, flags: int) -> None:
        self.disk, self.name, self.flags = disk, name, flags
        self.file = disk.opened(name)

    def xRead(self, amount, offset):
        return bytes(self.file.data[offset : offset + amount])

    def xWrite(self, data, offset):
        assert not self.flags & apsw.SQLITE_OPEN_READONLY, "a connection that only reads wrote to the store"
        self.disk.step()
        self.disk.check_capacity(self.name, max(offset + len(data), len(self.file.data)))
        self.file.write(offset, bytes(data))

    def xTruncate(self, size):
        self.disk.step()
        self.file.truncate(size)

    def xSync(self, flags):
        first = not self.file.synced_once
        self.disk.sync_file(self.file)
        if first and self.flags & (apsw.SQLITE_OPEN_WAL | apsw.SQLITE_OPEN_MAIN_JOURNAL):
            # As on Unix: the first sync of a new log or journal also syncs its folder.
            self.disk.sync_folder(Path(self.name).parent)

    def xFileSize(self):
        return len(self.file.data)

    def xClose(self):
        if self.flags & apsw.SQLITE_OPEN_DELETEONCLOSE:
            self.disk.names.pop(self.name, None)

    def xLock(self, level):
        pass

    def xUnlock(self, level):
        pass

    def xCheckReservedLock(self):
        return False

    def xFileControl(self, operation, pointer):
        return False

    def xSectorSize(self):
        return 4096

    def xDeviceCharacteristics(self):
        return apsw.SQLITE_IOCAP_POWERSAFE_OVERWRITE
