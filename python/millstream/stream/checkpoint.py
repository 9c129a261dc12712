"""A model and the position in its stream, stored in one atomic write."""

from __future__ import annotations

import hashlib
import json
import os
import struct
import time as clock
from pathlib import Path
from types import ModuleType
from typing import IO, Any

from millstream import registry
from millstream._echo import quoted
from millstream._files import sync_folder, write_whole
from millstream.compose.keyed import Keyed
from millstream.errors import InvalidState, InvalidType, MillstreamError

__all__ = ["Checkpoint"]

_locks: ModuleType | None
try:
    import fcntl as _locks
except ImportError:
    _locks = None

_FILE = "model.checkpoint"
_KEYED = "keyed.json"
_LOCK = "in_use.lock"
_MAGIC = b"MILLCKPT1"


class Checkpoint:
    """A folder with a model and the position in its stream, written together.

    A process that is killed at any moment leaves the last complete checkpoint. `compose.Keyed` models are written
    with `Keyed.dump`, so that only models that have changed are written; any other model is written to one file.
    While a checkpoint is open, no other process can open it.

    Parameters
    ----------
    folder
        The folder; it is created if it does not exist.
    wait
        Number of seconds to wait for another process to release the folder.

    Examples
    --------
    >>> import tempfile
    >>> from millstream import linear_model, stream
    >>> model = linear_model.LinearRegression()
    >>> model.learn_one({"x": 1.0}, 2.0)
    >>> folder = tempfile.mkdtemp()
    >>> with stream.Checkpoint(folder) as checkpoint:
    ...     checkpoint.save(model, {"offset": 17})
    >>> with stream.Checkpoint(folder) as checkpoint:
    ...     restored, position = checkpoint.load()
    >>> restored.predict_one({"x": 3.0}) == model.predict_one({"x": 3.0}), position
    (True, {'offset': 17})
    """

    def __init__(self, folder: str | os.PathLike[str], *, wait: float = 0.0) -> None:
        self.folder = Path(folder).resolve()
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lock: IO[bytes] | None = self._locked(wait)

    def _locked(self, wait: float) -> IO[bytes] | None:
        if _locks is None:
            return None
        path = self.folder / _LOCK
        end = clock.monotonic() + wait
        while True:
            file = path.open("a+b")
            try:
                _locks.flock(file.fileno(), _locks.LOCK_EX | _locks.LOCK_NB)
            except OSError:
                file.seek(0)
                owner = file.read(40).decode(errors="replace").strip()
                file.close()
                if clock.monotonic() >= end:
                    raise InvalidState(
                        f"stream.Checkpoint: {quoted(str(self.folder))} is in use by process {owner or 'unknown'}"
                    ) from None
                clock.sleep(0.05)
                continue
            file.truncate(0)
            file.write(f"{os.getpid()}\n".encode())
            file.flush()
            return file

    def save(self, model: Any, position: Any) -> None:
        """Write the model and the position: numbers, strings, lists and dicts."""
        if isinstance(model, Keyed):
            model.dump(self.folder, position=position)
            sync_folder(self.folder)
            return
        try:
            note = json.dumps(position).encode()
        except (TypeError, ValueError):
            raise InvalidType(
                "stream.Checkpoint: a position must consist of numbers, strings, lists and dicts, got "
                f"{quoted(position)}"
            ) from None
        content = struct.pack("<Q", len(note)) + note + model.to_bytes()
        data = _MAGIC + hashlib.blake2b(content, digest_size=16).digest() + content
        write_whole(self.folder / _FILE, data)
        sync_folder(self.folder)

    def load(self) -> tuple[Any, Any] | None:
        """The model and the position of the last `save`; None if there is none."""
        if (self.folder / _KEYED).exists():
            keyed = Keyed.load(self.folder)
            return keyed, keyed.position
        path = self.folder / _FILE
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        start = len(_MAGIC) + 16
        content = data[start:]
        digest = hashlib.blake2b(content, digest_size=16).digest()
        if data[: len(_MAGIC)] != _MAGIC or len(content) < 8 or data[len(_MAGIC) : start] != digest:
            raise InvalidState(f"stream.Checkpoint: {quoted(str(path))} is damaged, or not a checkpoint")
        (length,) = struct.unpack_from("<Q", content)
        try:
            return registry.from_bytes(content[8 + length :]), json.loads(content[8 : 8 + length])
        except (MillstreamError, ValueError) as error:
            raise InvalidState(f"stream.Checkpoint: {quoted(str(path))}: {error}") from None

    def close(self) -> None:
        """Release the folder."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
