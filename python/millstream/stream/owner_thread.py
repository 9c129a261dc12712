"""The process and the thread to which a reading belongs.

Threads do not survive a fork, and the locks that they held stay locked: a child that waits for one of them waits
for ever. Parent and child also share the position in an open file: what the child reads, its parent never sees. So
a reading ends in a child with an error, and cleans up nothing that a thread may still hold.

In one process, the thread that starts a generator also ends it. A generator that is merely dropped is closed by
whichever thread drops the last reference, perhaps while another is inside it; `owned` closes it at a known place.
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
    """The process in which this object was made."""

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
    """As `contextlib.closing`, for any iterator, and not in a child, where a lost thread may be inside it."""
    home = Home()
    try:
        yield items
    finally:
        close = getattr(items, "close", None)
        if close is not None and home.is_here:
            close()
