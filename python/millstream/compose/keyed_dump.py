"""Dumps of keyed models in a folder: a full one, and deltas after it."""

from __future__ import annotations

import json
import re
import secrets
import threading
from pathlib import Path
from typing import Any

from millstream import _core
from millstream._echo import quoted
from millstream._files import sync_folder, write_whole
from millstream.errors import InvalidState, MillstreamError

__all__ = ["AS_BEFORE", "DumpFolder", "load_bytes", "load_folder", "read_note", "spill_folder"]

_MANIFEST = "keyed.json"
_FORMAT = 1

#: The spill folder of a dump is used again.
AS_BEFORE: Any = object()

#: After this many deltas, or when they are as large as this part of the full dump, a full one is written.
_MOST_DELTAS = 64
_LARGEST_PART = 0.5


class DumpFolder:
    """The folder to which the models of one object are dumped.

    `keyed.json` lists the files of the present state. It is replaced after a new file is on the disk, so that a
    process that is killed at any moment leaves the state before or after the dump.
    """

    def __init__(self, path: Path, files: list[dict[str, Any]] | None = None) -> None:
        self.path = path
        self._files = list(files or [])
        self._lock = threading.Lock()

    def dump(self, models: _core.KeyedParts, note: str) -> dict[str, Any]:
        """Write a file with the models that changed since the last dump, or with all. Returns what was written."""
        with self._lock:
            return self._dump(models, note)

    def _dump(self, models: _core.KeyedParts, note: str) -> dict[str, Any]:
        self.path.mkdir(parents=True, exist_ok=True)
        if self._files and self._files != _listed(self.path):
            # Another object has written to the folder.
            self._files = []
        delta = bool(self._files) and models.can_dump_delta() and not self._is_long()
        if not delta:
            models.set_series(secrets.randbits(63))
        # A file that the manifest lists is never overwritten.
        number = 1 + max((_number(file.name) for file in self.path.iterdir()), default=0)
        name = f"{'delta' if delta else 'full'}-{number:08}.dump"
        target = self.path / name
        try:
            count = models.dump(str(target), delta, note)
            files = [*(self._files if delta else []), {"name": name, "bytes": target.stat().st_size}]
            sync_folder(self.path)
            write_whole(self.path / _MANIFEST, json.dumps({"format": _FORMAT, "files": files}).encode())
        except BaseException:
            # What is on the disk is unknown, so the next dump starts anew.
            models.forget_changes()
            raise
        self._files = files
        for other in self.path.iterdir():
            if _number(other.name) and other.name not in {file["name"] for file in files}:
                other.unlink(missing_ok=True)
        return {"kind": "delta" if delta else "full", "models": count, "bytes": files[-1]["bytes"]}

    def _is_long(self) -> bool:
        full, *deltas = (file["bytes"] for file in self._files)
        return len(deltas) >= _MOST_DELTAS or sum(deltas) > _LARGEST_PART * full


def _number(name: str) -> int:
    """The number in the name of a dump; 0 for another file."""
    found = re.fullmatch(r"(?:full|delta)-(\d{8,})\.dump", name)
    return int(found[1]) if found else 0


def _listed(folder: Path) -> Any:
    """The files that the manifest of a folder lists; None without a readable one."""
    try:
        return json.loads((folder / _MANIFEST).read_bytes())["files"]
    except (OSError, ValueError, KeyError, TypeError):
        return None


def spill_folder(path: Any) -> str | None:
    """A folder for a spill file, which is created if necessary."""
    if path is None:
        return None
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or str(error)
        raise InvalidState(f"compose.Keyed: models cannot be spilled to {quoted(str(path))}: {reason}") from None
    return str(Path(path).resolve())


def read_note(note: str) -> dict[str, Any]:
    """What a dump says besides the models; files are untrusted."""
    try:
        found = json.loads(note)
        sound = isinstance(found["key"], (str, int)) and isinstance(found["time"], (str, int, type(None)))
        sound = sound and isinstance(found["n_threads"], (int, type(None))) and "position" in found
        sound = sound and isinstance(found["spill"], (str, type(None)))
    except (ValueError, KeyError, TypeError):
        sound = False
    if not sound:
        raise InvalidState("compose.Keyed: the dump cannot be read: its settings are not valid")
    return dict(found)


def load_bytes(data: bytes, spill: Any) -> tuple[_core.KeyedParts, str]:
    """Models and their note. `spill` is a folder, None, or `AS_BEFORE` for that of the note."""
    if spill is AS_BEFORE:
        spill = read_note(_core.KeyedParts.note(data))["spill"]
    return _core.KeyedParts.load(data, spill_folder(spill))


def load_folder(path: Path, spill: Any) -> tuple[_core.KeyedParts, str, DumpFolder]:
    """The models of a folder, their note, and the folder for further dumps."""
    manifest = path / _MANIFEST
    try:
        content = json.loads(manifest.read_bytes())
        names = [file["name"] for file in content["files"]]
        sound = content["format"] == _FORMAT and bool(names) and all(Path(name).name == name for name in names)
    except FileNotFoundError:
        raise InvalidState(f"compose.Keyed: there is no dump in {quoted(str(path))}") from None
    except (ValueError, KeyError, TypeError):
        sound = False
    if not sound:
        raise InvalidState(f"compose.Keyed: {quoted(str(manifest))} is damaged, or of a newer version")
    loaded: tuple[_core.KeyedParts, str] | None = None
    for name in names:
        try:
            data = (path / name).read_bytes()
            if loaded is None:
                loaded = load_bytes(data, spill)
            else:
                loaded = loaded[0], loaded[0].apply(data)
        except MillstreamError as error:
            raise InvalidState(f"{str(error).replace('the dump', name, 1)}") from None
        except FileNotFoundError:
            raise InvalidState(f"compose.Keyed: {name} is missing in {quoted(str(path))}") from None
    assert loaded is not None, "there is at least one name"
    return *loaded, DumpFolder(path, content["files"])
