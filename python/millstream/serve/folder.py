"""The data folder of a server.

```
millstream.json     version of the layout, and the version of millstream that created it
lock                locked by the server that uses the folder; holds its process id
events.db           the event store, with events.db-wal, events.db-shm and events.acked
models/<id>.ms      initial state of each model, under an id chosen by the server
snapshots/<seq>.snapshot
tokens.json         hashed tokens; tokens.lock is locked while they are changed
```

Clients choose model names, so files are not named after models.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import IO

from millstream import __version__
from millstream._echo import quoted
from millstream._files import write_whole
from millstream.errors import InvalidState, InvalidValue, MissingFile
from millstream.serve.disk import Disk
from millstream.serve.store_errors import FolderInUse

__all__ = ["FORMAT", "DataFolder", "is_data_folder", "lock_file"]

#: Version of the layout. A folder of a later version is refused.
FORMAT = 1

_ID = re.compile(r"[0-9a-f]{1,32}").fullmatch

_SETTINGS = "millstream.json"

#: Files that an interrupted creation may leave behind.
_BEGUN = {"lock", "models", "snapshots"}


def is_data_folder(path: str | os.PathLike[str]) -> bool:
    """Whether a folder has been created by a server."""
    return (Path(path) / _SETTINGS).exists()


class DataFolder:
    """A data folder, locked for one server.

    Parameters
    ----------
    path
        The folder; created if it does not exist.
    read_only
        Do not lock or change the folder, which must exist. A server may use it at the same time.
    """

    def __init__(self, path: str | os.PathLike[str], *, read_only: bool = False) -> None:
        self.path = Path(path)
        self.events = self.path / "events.db"
        self.models = self.path / "models"
        self.snapshots = self.path / "snapshots"
        self.tokens = self.path / "tokens.json"
        self._settings = self.path / _SETTINGS
        self._file: IO[bytes] | None = None
        self._disk = Disk()
        known = self._check()
        if read_only:
            if not known:
                raise MissingFile(f"{self.path} is not a data folder of millstream: it has no millstream.json")
            return
        # The log holds the data of clients, so other users may not read a new folder.
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._file = self._locked()
        try:
            self._complete(known)
        except BaseException:
            self.close()
            raise

    def model_file(self, id: str) -> Path:
        """The file of a model's initial state. Ids consist of hexadecimal digits, so no path leaves the folder."""
        if not isinstance(id, str) or not _ID(id):
            raise InvalidValue(f"data folder: the id of a file must be hexadecimal digits, got {quoted(id)}")
        return self.models / f"{id}.ms"

    def write_model(self, id: str, data: bytes) -> Path:
        """Write the initial state of a model durably."""
        path = self.model_file(id)
        self._write(path, data)
        return path

    def close(self) -> None:
        """Release the lock."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> DataFolder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check(self) -> bool:
        """Whether this is a data folder; raises an error, without changing anything, if it cannot be used."""
        if self.path.exists() and not self.path.is_dir():
            raise InvalidState(f"{self.path} is a file, not a data folder")
        try:
            text = self._settings.read_text(encoding="utf-8")
        except FileNotFoundError:
            self._check_unused()
            return False
        except UnicodeDecodeError:
            raise InvalidState(f"{self._settings} is damaged: it is not UTF-8") from None
        try:
            number = json.loads(text)["format"]
        except (ValueError, TypeError, KeyError, RecursionError):
            number = None
        if type(number) is not int or number < 1:
            raise InvalidState(f"{self._settings} is damaged: it does not state the format")
        if number > FORMAT:
            raise InvalidState(f"{self.path}: format {number} is newer than this version can read, {FORMAT}")
        return True

    def _check_unused(self) -> None:
        if not self.path.exists():
            return
        names = (entry.name for entry in self.path.iterdir())
        other = [name for name in names if name not in _BEGUN and ".new" not in name]
        if other:
            what = f"it has {quoted(min(other))} but no millstream.json"
            raise InvalidState(f"{self.path} is not a data folder of millstream: {what}")

    def _complete(self, known: bool) -> None:
        for folder in (self.models, self.snapshots):
            folder.mkdir(exist_ok=True)
        if not known:
            self._disk.sync_folder(self.path.absolute().parent)
            settings = {"format": FORMAT, "created_by": f"millstream {__version__}"}
            self._write(self._settings, (json.dumps(settings) + "\n").encode())

    def _write(self, path: Path, data: bytes) -> None:
        write_whole(path, data)
        self._disk.sync_folder(path.parent)

    def _locked(self) -> IO[bytes]:
        path = self.path / "lock"
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o644)
        file = os.fdopen(descriptor, "r+b", buffering=0)
        try:
            lock_file(file)
        except OSError:
            pid = _pid_in(file)
            file.close()
            by = "another process" if pid is None else f"process {pid}"
            raise FolderInUse(f"{self.path} is in use by {by}", pid=pid) from None
        file.seek(0)
        file.truncate()
        file.write(f"{os.getpid()}\n".encode())
        return file


if sys.platform == "win32":
    import msvcrt

    def lock_file(file: IO[bytes]) -> None:
        """Lock an open file until it is closed; raises `OSError` if another process holds the lock."""
        # After the process id, which other processes must be able to read.
        file.seek(4096)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def lock_file(file: IO[bytes]) -> None:
        """Lock an open file until it is closed; raises `OSError` if another process holds the lock."""
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)


def _pid_in(file: IO[bytes]) -> int | None:
    file.seek(0)
    text = file.read(32).strip()
    return int(text) if text.isdigit() else None
