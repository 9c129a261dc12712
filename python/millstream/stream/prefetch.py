"""A thread that reads while earlier items are being used.

The thread runs the whole pass: it opens the file, reads it and closes it. No other thread resumes or closes its
generator, so any thread may receive the items. Only a few items wait between the two, so memory stays bounded. An
error in the reader is raised after the items before it, exactly where it would have been raised without the
thread.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

from millstream.stream.owner_thread import Home, owned

__all__ = ["ReadAhead", "read_ahead"]

Item = TypeVar("Item")

#: Seconds to wait for a reader to finish its current read. A reader that hangs is abandoned.
PATIENCE = 1.0


class ReadAhead(Generic[Item]):
    """An iterator over the same items, up to `depth` of which are read before they are requested.

    `items` must not have been started, and belongs to the reading thread from here on.
    """

    def __init__(self, items: Iterator[Item], depth: int = 2) -> None:
        self._home = Home()
        self._waiting: queue.Queue[tuple[str, Any]] = queue.Queue(depth)
        self._stopped = threading.Event()
        self._ended = False
        # A daemon: a read that hangs must not keep the program from ending. It holds no reference to this object,
        # so that reading stops when the object is dropped.
        self._reader = threading.Thread(
            target=_read, args=(items, self._waiting, self._stopped), name="millstream-reader", daemon=True
        )
        self._reader.start()

    def __iter__(self) -> ReadAhead[Item]:
        return self

    def __next__(self) -> Item:
        if self._ended:
            raise StopIteration
        self._home.check()
        what, value = self._waiting.get()
        if what == "item":
            return value  # type: ignore[no-any-return]
        self._ended = True
        if what == "end":
            raise StopIteration
        try:
            raise value
        finally:
            # The error holds this frame, which must not hold the error.
            del value

    def close(self) -> None:
        """Stop the reader, which closes its source. A process that was forked off has no reader to stop."""
        self._ended = True
        if not self._home.is_here or self._stopped.is_set():
            return
        self._stopped.set()
        # A reader that waits for space in the queue continues, and sees that it should stop.
        while not self._waiting.empty():
            self._waiting.get_nowait()
        if self._reader is not threading.current_thread():
            self._reader.join(timeout=PATIENCE)

    def __del__(self) -> None:
        if hasattr(self, "_reader"):
            self.close()


def _read(items: Iterator[Any], waiting: queue.Queue[tuple[str, Any]], stopped: threading.Event) -> None:
    last: tuple[str, Any] = ("end", None)
    try:
        with owned(items):
            for item in items:
                waiting.put(("item", item))
                if stopped.is_set():
                    return
    except BaseException as error:
        last = ("failure", error)
    # After closing the source, so that the receiver may open the same file again.
    waiting.put(last)


def read_ahead(items: Iterator[Item], depth: int = 2) -> ReadAhead[Item]:
    """The same items; up to `depth` of them are read before they are requested."""
    return ReadAhead(items, depth)
