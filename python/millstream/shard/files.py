"""Files with the states of a model: full ones, and deltas between.

A file belongs to a batch, which its name gives as (epoch, seq). It is written under another name, synchronized,
and then linked to its own. If the file already exists, it stays: a second attempt of the same work starts from
the same state and gets the same rows, so its file says the same. A file that has its name is therefore complete
and never changes.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import struct
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

from millstream._echo import quoted
from millstream._files import sync_folder
from millstream.compose.keyed import Keyed
from millstream.compose.keyed_python import PythonModels
from millstream.errors import InvalidState, InvalidType, MillstreamError
from millstream.registry import from_bytes

__all__ = ["StateFiles"]

_NAME = re.compile(r"(\d{6,})-(\d{10,})-(full|delta)\.state")
_ASIDE = re.compile(r"\.(\d{6,})-(\d{10,})-(?:full|delta)\.state\.[0-9a-f]+")

#: Files of models other than `Keyed`: magic, length of the note, note, length of the model, model, CRC-32.
_MAGIC = b"MILLSTAT"
_LENGTH = struct.Struct("<Q")
_CHECKSUM = struct.Struct("<I")


class StateFiles:
    """The files of one shard in a folder of their own.

    Parameters
    ----------
    folder
        Where the files are. All processes that may hold the shard must see it.
    snapshot_every
        The largest number of files that must be read to restore a state: a full one, and deltas after it.

    Examples
    --------
    >>> import tempfile
    >>> from millstream import compose, linear_model, shard
    >>> files = shard.StateFiles(tempfile.mkdtemp())
    >>> model = compose.Keyed(linear_model.LinearRegression(), key="sensor")
    >>> model.learn_one({"sensor": "a", "x": 1.0}, 2.0)
    >>> chain = files.write(model, (0, 1), [], {"offset": 17})
    >>> model.learn_one({"sensor": "b", "x": 1.0}, 3.0)
    >>> chain = files.write(model, (0, 2), chain, {"offset": 18})
    >>> chain
    ['000000-0000000001-full.state', '000000-0000000002-delta.state']
    >>> restored, note = files.read(chain)
    >>> restored.keys(), note
    (['a', 'b'], {'offset': 18})
    """

    def __init__(self, folder: str | os.PathLike[str], *, snapshot_every: int = 16) -> None:
        self.folder = Path(folder).resolve()
        self.snapshot_every = snapshot_every
        #: Whether the last file written is the one that is there, or says the same byte for byte.
        self.is_ours = True

    def write(self, model: Any, at: tuple[int, int], chain: list[str], note: Any = None) -> list[str]:
        """Write the state of `model` after batch `at`. Returns the names of the files that restore it.

        `chain` has the names of the files of the state before, of which `model` is the successor; without any, all
        models are written. `note` is returned by `read`.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        full = not isinstance(model, Keyed) or self._is_full(at, chain)
        name = f"{at[0]:06}-{at[1]:010}-{'full' if full else 'delta'}.state"
        aside = self.folder / f".{name}.{os.getpid():x}{secrets.token_hex(4)}"
        try:
            if isinstance(model, Keyed):
                _dump(model, aside, None if full else chain, f"{self.folder.name}/{name}", note)
            else:
                _save(model, aside, note)
            self._publish(aside, self.folder / name)
        finally:
            aside.unlink(missing_ok=True)
        return [name] if full else [*chain, name]

    def _is_full(self, at: tuple[int, int], chain: list[str]) -> bool:
        """Whether the next file is a full one. All attempts of the same work must decide alike."""
        if not chain or len(chain) >= self.snapshot_every or _parsed(chain[-1])[0] != at[0]:
            return True
        try:
            full, *deltas = ((self.folder / name).stat().st_size for name in chain)
        except FileNotFoundError as error:
            raise InvalidState(f"shard: {self._shown(Path(error.filename).name)} is missing") from None
        return sum(deltas) > full

    def _publish(self, aside: Path, target: Path) -> None:
        try:
            os.link(aside, target)
        except FileExistsError:
            self.is_ours = aside.read_bytes() == target.read_bytes()
            return
        except OSError:
            # A file system without links: a rename may replace the file of another attempt, which says the same.
            aside.replace(target)
        self.is_ours = True
        sync_folder(self.folder)

    def read(self, chain: list[str]) -> tuple[Any, Any]:
        """The model that some files restore, and its note. A damaged file is named and not loaded."""
        if not chain or _parsed(chain[0])[2] != "full":
            raise InvalidState(f"shard: there is no full state in {quoted(str(self.folder))}")
        first = self._bytes(chain[0])
        if first.startswith(_MAGIC):
            if len(chain) > 1:
                raise InvalidState(f"shard: {self._shown(chain[1])} is a delta of another model")
            return _loaded(first, self._shown(chain[0]))
        try:
            keyed = Keyed.from_bytes(first)
        except MillstreamError as error:
            raise self._damaged(chain[0], error) from None
        if len(chain) > 1:
            self.advance(keyed, chain[1:])
        return keyed, keyed.position

    def advance(self, keyed: Any, chain: list[str]) -> Any:
        """Apply deltas to the state before them; returns the note. After an error the model is not to be used."""
        for name in chain:
            try:
                keyed.position = json.loads(keyed._models.apply(self._bytes(name)))["position"]
            except MillstreamError as error:
                raise self._damaged(name, error) from None
        return keyed.position

    def _bytes(self, name: str) -> bytes:
        try:
            return (self.folder / name).read_bytes()
        except FileNotFoundError:
            raise InvalidState(f"shard: {self._shown(name)} is missing") from None

    def _shown(self, name: str) -> str:
        return f"{name} in {quoted(str(self.folder))}"

    def _damaged(self, name: str, error: MillstreamError) -> InvalidState:
        if str(error).startswith("shard: "):
            return InvalidState(str(error))
        reason = str(error).rpartition("the dump cannot be read: ")[2]
        return InvalidState(f"shard: {self._shown(name)} cannot be read: {reason}")

    def chain(self, at: tuple[int, int] | None = None) -> list[str]:
        """The files that restore the state after batch `at`, by default the last of the last epoch."""
        names = sorted(name for name in self._names() if at is None or _parsed(name)[:2] <= at)
        if not names:
            if at is None:
                return []
            raise InvalidState(f"shard: there is no state of batch {at} in {quoted(str(self.folder))}")
        epoch = _parsed(names[-1])[0]
        if at is not None and _parsed(names[-1])[:2] != at:
            raise InvalidState(f"shard: there is no state of batch {at} in {quoted(str(self.folder))}")
        names = [name for name in names if _parsed(name)[0] == epoch]
        last = max((index for index, name in enumerate(names) if _parsed(name)[2] == "full"), default=None)
        if last is None:
            raise InvalidState(f"shard: the full state before {self._shown(names[0])} is missing")
        return names[last:]

    def prune(self, keep: set[str], before: tuple[int, int]) -> None:
        """Remove the files of batches up to `before` that are not in `keep`, also incomplete ones."""
        for entry in self._entries():
            found = _NAME.fullmatch(entry) or _ASIDE.fullmatch(entry)
            if found and (int(found[1]), int(found[2])) <= before and entry not in keep:
                with suppress(OSError):
                    (self.folder / entry).unlink(missing_ok=True)

    def has(self, name: str) -> bool:
        """Whether a file is there."""
        return (self.folder / name).is_file()

    def of_batch(self, at: tuple[int, int]) -> str | None:
        """The name of the file of a batch; None without one."""
        return next((name for name in sorted(self._names()) if _parsed(name)[:2] == at), None)

    def identity(self, name: str) -> tuple[int, ...] | None:
        """What distinguishes a file from another one of the same name; None without one."""
        try:
            found = (self.folder / name).stat()
        except FileNotFoundError:
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns

    def _entries(self) -> list[str]:
        try:
            return os.listdir(self.folder)  # noqa: PTH208 - names alone, without a Path for each
        except FileNotFoundError:
            return []

    def _names(self) -> list[str]:
        return [name for name in self._entries() if _NAME.fullmatch(name)]


def _parsed(name: str) -> tuple[int, int, str]:
    found = _NAME.fullmatch(name)
    if found is None:
        raise InvalidState(f"shard: {quoted(name)} is not the name of a state")
    return int(found[1]), int(found[2]), found[3]


def _dump(keyed: Any, target: Path, chain: list[str] | None, name: str, note: Any) -> None:
    models = keyed._models
    if isinstance(models, PythonModels):
        raise InvalidType("shard: models written in Python cannot be dumped, so no file can hold their state")
    if chain is not None and not models.can_dump_delta():
        raise InvalidState("shard: the model does not continue the last file: restore it from its files")
    if chain is None:
        # The same for all attempts of the same work, so that their deltas fit each other.
        digest = hashlib.blake2b(name.encode(), digest_size=8).digest()
        models.set_series(int.from_bytes(digest) >> 1)
    models.dump(str(target), chain is not None, keyed._note(note))
    keyed.position = note


def _save(model: Any, target: Path, note: Any) -> None:
    model_bytes = model.to_bytes()
    noted = json.dumps(note).encode()
    content = b"".join((_MAGIC, _LENGTH.pack(len(noted)), noted, _LENGTH.pack(len(model_bytes)), model_bytes))
    with target.open("xb") as file:
        file.write(content + _CHECKSUM.pack(zlib.crc32(content)))
        file.flush()
        os.fsync(file.fileno())


def _loaded(content: bytes, shown: str) -> tuple[Any, Any]:
    body, checksum = content[: -_CHECKSUM.size], content[-_CHECKSUM.size :]
    if len(content) < len(_MAGIC) + 2 * _LENGTH.size + _CHECKSUM.size or checksum != _CHECKSUM.pack(
        zlib.crc32(body)
    ):
        raise InvalidState(f"shard: {shown} is damaged (its checksum does not match)")
    start = len(_MAGIC) + _LENGTH.size
    (noted,) = _LENGTH.unpack_from(body, len(_MAGIC))
    note = json.loads(body[start : start + noted])
    return from_bytes(body[start + noted + _LENGTH.size :]), note
