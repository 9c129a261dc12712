"""Named crash points, for recovery tests.

With `MILLSTREAM_CRASH=store.before_commit:3` in the environment, the process is killed when it passes the point
`store.before_commit` for the third time. Without the variable a point costs one comparison.
"""

from __future__ import annotations

import os
import signal
from typing import NoReturn

__all__ = ["POINTS", "VARIABLE", "crash_point"]

#: Name of the environment variable: a point, and optionally a colon and the number of the pass.
VARIABLE = "MILLSTREAM_CRASH"

#: All crash points.
POINTS = (
    "store.create.before_rename",
    "store.create.after_rename",
    "store.open.before_recovery",
    "store.open.after_recovery",
    "store.before_write",
    "store.half_written",
    "store.before_commit",
    "store.after_commit",
    "store.after_acknowledged",
    "store.before_checkpoint",
    "store.after_checkpoint",
    "store.trim.before_commit",
    "store.trim.after_commit",
    "store.before_close",
    "store.after_close",
    "store.salvage.before_rename",
    "store.salvage.between_renames",
    "store.salvage.after_rename",
    "snapshot.before_write",
    "snapshot.half_written",
    "snapshot.before_sync",
    "snapshot.before_rename",
    "snapshot.before_folder_sync",
    "snapshot.after_folder_sync",
    "snapshot.before_prune",
    "committer.committed",
    "committer.applied",
)


def _parse(text: str | None) -> tuple[str | None, int]:
    if not text:
        return None, 0
    name, _, number = text.partition(":")
    return name, int(number) if number.isdigit() else 1


_armed, _left = _parse(os.environ.get(VARIABLE))


def crash_point(name: str) -> None:
    """Kill this process if the environment variable requests a crash at this pass of the point."""
    if _armed is None or name != _armed:
        return
    _count_down()


def _count_down() -> None:
    global _left
    _left -= 1
    if _left == 0:
        _crash()


def _crash() -> NoReturn:
    # As in a power failure, no buffer is flushed and no handler runs.
    os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))
    os._exit(137)
