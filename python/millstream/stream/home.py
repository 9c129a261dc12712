"""The process in which a reading began.

Threads stay behind when a process is forked, and what they held stays held: who waits for them in the child waits
for ever. And a file that both have open has one place where it is read next: what the child reads, its parent
would never see. So a reading ends there with an error, and cleans up nothing that a thread may still hold.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

from millstream.errors import Unreadable

__all__ = ["Home", "closing_at_home"]


class Home:
    """The process in which it was made."""

    def __init__(self) -> None:
        self.process = os.getpid()

    @property
    def is_here(self) -> bool:
        """Whether this is still that process."""
        return os.getpid() == self.process

    def check(self) -> None:
        """Refuse to go on in another process."""
        if not self.is_here:
            raise Unreadable(
                "stream: a reading that began before the fork cannot go on in the child process; "
                "begin another one there, with chunks()"
            )


@contextmanager
def closing_at_home(items: Generator[Any, None, None]) -> Iterator[Generator[Any, None, None]]:
    """As `contextlib.closing`, but not in a child, where a lost thread may be inside the generator."""
    home = Home()
    try:
        yield items
    finally:
        if home.is_here:
            items.close()
