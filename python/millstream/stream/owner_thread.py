"""The process and the thread that own a pass over a stream.

Threads do not survive a fork, and the locks that they held stay locked: a child that waits for one waits forever.
Parent and child also share the position in an open file: bytes that the child reads are lost to its parent. In a
child process, a pass therefore ends with an error, and releases nothing that a thread may still hold.

Within a process, the thread that starts a generator also closes it. A generator without references is closed by
whichever thread drops the last one, perhaps while another thread runs it; `owned` closes it at a defined point.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from millstream.errors import Unreadable

__all__ = ["Home", "owned"]

Items = TypeVar("Items", bound=Iterator[object])


class Home:
    """The process in which this object was created."""

    def __init__(self) -> None:
        self.process = os.getpid()

    @property
    def is_here(self) -> bool:
        """Whether this is still that process."""
        return os.getpid() == self.process

    def check(self) -> None:
        """Refuse to continue in another process."""
        if not self.is_here:
            raise Unreadable(
                "stream: a reading that began before the fork cannot continue in the child process; "
                "start another one there, with chunks()"
            )


@contextmanager
def owned(items: Items) -> Iterator[Items]:
    """Like `contextlib.closing`, for any iterator; not in a child process, where a lost thread may run it."""
    home = Home()
    try:
        yield items
    finally:
        close = getattr(items, "close", None)
        if close is not None and home.is_here:
            close()
