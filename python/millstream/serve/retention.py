"""Retention of the log: records that are covered by a snapshot and not needed by labels may be removed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from millstream.errors import InvalidValue
from millstream.serve.fold import State
from millstream.serve.policy import milliseconds

__all__ = ["Retention", "first_needed"]


@dataclass(frozen=True)
class Retention:
    """Limits of the log. Without limits, everything is kept, and every state can be rebuilt.

    Parameters
    ----------
    age
        Records older than this may be removed: seconds, a timedelta, or a string such as "90d".
    size
        Bytes of the log above which the oldest records may be removed.
    """

    age: Any = None
    size: int | None = None

    def __post_init__(self) -> None:
        if self.age is not None:
            object.__setattr__(self, "age", milliseconds("retention.age", self.age))
        if self.size is not None and (not isinstance(self.size, int) or self.size < 1 << 20):
            raise InvalidValue(f"retention.size must be at least 1 MiB, got {self.size!r}")

    def limit(self, store: Any, now: int, needed: int) -> int:
        """The first record to keep, at most `needed`."""
        first, last = int(store.first_seq), int(store.last_seq)
        keep = first
        if self.age is not None:
            keep = max(keep, int(store.first_at(now - self.age)))
        if self.size is not None and store.used > self.size:
            records = last - first + 1
            keep = max(keep, last + 1 - int(records * self.size / store.used))
        return min(keep, needed)


def first_needed(state: State, snapshots: list[int]) -> int:
    """The first record that a recovery or a label may need."""
    waiting = [oldest[0] for stream in state.streams.values() if (oldest := stream.pending.oldest()) is not None]
    # The oldest snapshot is kept usable, in case the newer ones are damaged. Its own record shows whether it
    # belongs to the log.
    return min([*waiting, snapshots[0] if snapshots else 1, state.seq + 1])
