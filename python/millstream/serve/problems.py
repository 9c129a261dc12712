"""Exceptions as problems of the interface."""

from __future__ import annotations

import errno
import sys
import traceback

from millstream.errors import InvalidState, MillstreamError
from millstream.serve.committer import QueueFull, Stopped
from millstream.serve.requests import Problem
from millstream.serve.store_errors import StoreFailed, StoreFull

__all__ = ["problem_of"]


def problem_of(error: BaseException) -> Problem:
    """An error as a problem."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, StoreFull) or _is_full(error):
        return Problem(507, "disk-full", "the disk is full: nothing was stored; send it again later")
    if isinstance(error, (StoreFailed, Stopped)):
        return Problem(503, "stopping", str(error))
    if isinstance(error, QueueFull):
        return Problem(503, "queue-full", str(error))
    if isinstance(error, InvalidState):
        return Problem(422, "invalid-file", str(error))
    if isinstance(error, MillstreamError):
        return Problem(422, "invalid", str(error))
    traceback.print_exception(error, file=sys.stderr)
    return Problem(500, "internal-error", f"{type(error).__name__}: {error}"[:500])


def _is_full(error: BaseException) -> bool:
    """Whether an operation on a file, not on the event store, found the disk full."""
    if isinstance(error, MillstreamError) or not isinstance(error, OSError):
        return False
    return error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
