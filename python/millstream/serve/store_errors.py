"""Errors of the event store, of snapshots and of the data folder."""

from __future__ import annotations

from typing import Any

from millstream.errors import MillstreamError, Unreadable

__all__ = ["FolderInUse", "StoreBusy", "StoreDamaged", "StoreFailed", "StoreFull"]


class StoreDamaged(Unreadable):
    """The event store does not hold what was written to it.

    `file` is the name of the damaged file, `offset` the first damaged byte and `seq` the first damaged record, as
    far as they are known. Opening with `salvage=True` keeps all records that verify.
    """

    def __init__(
        self,
        message: str,
        row: int | None = None,
        *,
        file: str = "",
        offset: int | None = None,
        seq: int | None = None,
    ) -> None:
        super().__init__(message, row)
        self.file, self.offset, self.seq = file, offset, seq

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.row)


class StoreFull(MillstreamError, OSError):
    """The disk is full. Nothing was written; the store works again when there is space."""


class StoreBusy(StoreFull):
    """Another program holds a write lock on the store. Nothing was written; a later attempt may succeed."""


class StoreFailed(MillstreamError, OSError):
    """A write or an fsync failed. It is unknown what reached the disk, so the store refuses all further work."""


class FolderInUse(MillstreamError, OSError):
    """Another server uses the data folder; `pid` is its process id, or None."""

    def __init__(self, message: str, row: int | None = None, *, pid: int | None = None) -> None:
        super().__init__(message, row)
        self.pid = pid
