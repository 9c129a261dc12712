"""States of single models, saved under the number of a record: named versions and the results of rollbacks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from millstream.errors import InvalidState, MillstreamError
from millstream.serve.log_mark import MARK, log_mark, mismatch, set_aside
from millstream.serve.served_model import ServedModel
from millstream.serve.snapshots import read_header, read_snapshot, snapshot_seqs, write_snapshot

__all__ = ["KeptStates", "reason_of"]

#: Number of states of a model that are kept.
_MOST = 1000


class KeptStates:
    """The folder `versions/` of a data folder. Its states remain available after the log is trimmed.

    A file that cannot be used or written is a note, because a replay gives the same state.
    """

    def __init__(self, folder: Path, store: Any, note: Callable[[str], None], *, read_only: bool) -> None:
        self.folder, self.read_only = folder, read_only
        self._store, self._note = store, note

    def write(self, served: ServedModel, seq: int) -> None:
        """Save the state of a model, unless it is saved already."""
        if self.read_only or not served.is_native:
            return
        folder = self.folder / served.folder_id
        path = folder / f"{seq}.snapshot"
        if path.exists() and self._is_valid(path, seq):
            return
        try:
            header, blobs = served.snapshot()
            folder.mkdir(parents=True, exist_ok=True)
            write_snapshot(folder, seq, {**header, MARK: log_mark(self._store, seq)}, blobs, keep=_MOST)
        except (OSError, MillstreamError, ValueError) as error:
            self._note(f"state {seq} of {served.name} is not saved: {reason_of(error)}")

    def read(self, name: str, folder_id: str, seq: int) -> ServedModel | None:
        """The saved state of a model; None if there is none that can be used."""
        path = self.folder / Path(folder_id).name / f"{seq}.snapshot"
        if not path.exists():
            return None
        try:
            found = read_snapshot(path)
            if found.seq != seq:
                raise InvalidState(f"the file is a snapshot of record {found.seq}")
            wrong = mismatch(self._store, seq, found.header)
            if wrong is not None:
                raise InvalidState(wrong)
        except InvalidState as error:
            self._note(f"state {seq} of {name} is not used: {error}")
            return None
        return ServedModel.restored(name, found.header, found.blobs)

    def ahead(self, last: int) -> Iterator[Path]:
        """The files of records after the end of the log."""
        for folder in self.folder.iterdir() if self.folder.is_dir() else ():
            yield from (folder / f"{seq}.snapshot" for seq in snapshot_seqs(folder) if seq > last)

    def _is_valid(self, path: Path, seq: int) -> bool:
        try:
            wrong = mismatch(self._store, seq, read_header(path))
        except InvalidState:
            # The file is damaged and is replaced.
            return False
        if wrong is not None:
            set_aside(path)
        return wrong is None


def reason_of(error: Exception) -> str:
    """One short line about an error, for a note."""
    return (str(getattr(error, "strerror", None) or error) or type(error).__name__).partition("\n")[0][:300]
