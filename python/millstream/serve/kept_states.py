"""States of single models, saved under the number of a record: named versions and the results of rollbacks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from millstream.errors import InvalidState, MillstreamError
from millstream.serve.log_mark import MARK, log_mark, mismatch, set_aside
from millstream.serve.served_model import ServedModel
from millstream.serve.skips import left_out, skip_mismatch
from millstream.serve.snapshots import Snapshot, read_header, read_snapshot, snapshot_seqs, write_snapshot

__all__ = ["KeptStates", "reason_of"]

#: Number of states of a model that are kept.
_MOST = 1000


class KeptStates:
    """The folder `versions/` of a data folder. Its states remain available after the log is trimmed.

    A file that cannot be used or written is a note, because a replay gives the same state. `skipped` are the
    records that no model learns from.
    """

    def __init__(
        self,
        folder: Path,
        store: Any,
        note: Callable[[str], None],
        *,
        skipped: Collection[int] = (),
        read_only: bool,
    ) -> None:
        self.folder, self.read_only = folder, read_only
        self._store, self._note, self._skipped = store, note, skipped
        #: States to save later; None if they are saved at once.
        self._postponed: list[tuple[ServedModel, int]] | None = None

    def write(self, served: ServedModel, seq: int) -> None:
        """Save the state of a model, unless it is saved already."""
        if self.read_only or not served.is_native:
            return
        if self._postponed is not None:
            # A copy, because the model goes on learning.
            self._postponed.append((ServedModel.restored(served.name, *served.snapshot()), seq))
            return
        path = self.path(served.folder_id, seq)
        if path.exists() and self._is_valid(path, seq):
            return
        try:
            header, blobs = served.snapshot()
            path.parent.mkdir(parents=True, exist_ok=True)
            header |= {MARK: log_mark(self._store, seq), **left_out(seq, self._skipped)}
            write_snapshot(path.parent, seq, header, blobs, keep=_MOST)
        except (OSError, MillstreamError, ValueError) as error:
            self._note(f"state {seq} of {served.name} is not saved: {reason_of(error)}")

    def postpone(self) -> None:
        """Save states only when `resume` is called."""
        self._postponed = []

    def resume(self) -> None:
        """Save the postponed states."""
        postponed, self._postponed = self._postponed or [], None
        for served, seq in postponed:
            self.write(served, seq)

    def read(self, name: str, folder_id: str, seq: int) -> ServedModel | None:
        """The saved state of a model; None if there is none that can be used."""
        path = self.path(folder_id, seq)
        if not path.exists():
            return None
        try:
            found = self._checked(path, seq)
        except InvalidState as error:
            self._note(f"state {seq} of {name} is not used: {error}")
            return None
        return ServedModel.restored(name, found.header, found.blobs)

    def _checked(self, path: Path, seq: int) -> Snapshot:
        found = read_snapshot(path)
        if found.seq != seq:
            raise InvalidState(f"the file is a snapshot of record {found.seq}")
        wrong = self._mismatch(seq, found.header) or self._skip_mismatch(seq, found.header)
        if wrong is not None:
            raise InvalidState(wrong)
        return found

    def path(self, folder_id: str, seq: int) -> Path:
        """The file of a state."""
        return self.folder / Path(folder_id).name / f"{seq}.snapshot"

    def fault(self, folder_id: str, seq: int) -> str | None:
        """Why a saved state of this log cannot be used; None if it can, or if none was saved."""
        path = self.path(folder_id, seq)
        if not path.exists():
            return None
        try:
            self._checked(path, seq)
        except InvalidState as error:
            with suppress(InvalidState):
                if self._mismatch(seq, read_header(path)) is not None:
                    # It was saved for another log.
                    return None
            return str(error).removeprefix(f"{path.name}: ")
        return None

    def ahead(self, last: int) -> Iterator[Path]:
        """The files of records after the end of the log."""
        for folder in self.folder.iterdir() if self.folder.is_dir() else ():
            yield from (folder / f"{seq}.snapshot" for seq in snapshot_seqs(folder) if seq > last)

    def _is_valid(self, path: Path, seq: int) -> bool:
        try:
            header = read_header(path)
        except InvalidState:
            # The file is damaged and is replaced.
            return False
        if self._mismatch(seq, header) is not None:
            set_aside(path)
            return False
        return self._skip_mismatch(seq, header) is None

    def _mismatch(self, seq: int, header: Mapping[str, Any]) -> str | None:
        return mismatch(self._store, seq, header)

    def _skip_mismatch(self, seq: int, header: Mapping[str, Any]) -> str | None:
        return skip_mismatch(self._store, seq, header, self._skipped)


def reason_of(error: Exception) -> str:
    """One short line about an error, for a note."""
    return (str(getattr(error, "strerror", None) or error) or type(error).__name__).partition("\n")[0][:300]
