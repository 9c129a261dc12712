"""A thread that reads while the chunks before are learned.

A few chunks at most wait between the two, so memory stays bounded. What fails in the reader is raised after the
chunks that came before it, exactly where it would have been without the thread.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import Any, TypeVar

from millstream.stream.home import Home

__all__ = ["read_ahead"]

Item = TypeVar("Item")


def read_ahead(items: Iterator[Item], depth: int = 2) -> Iterator[Item]:
    """The same items; up to `depth` of them are read before they are asked for."""
    home = Home()
    waiting: queue.Queue[tuple[str, Any]] = queue.Queue(depth)
    stopped = threading.Event()

    def read() -> None:
        try:
            for item in items:
                waiting.put(("item", item))
                if stopped.is_set():
                    break
            else:
                waiting.put(("end", None))
        except BaseException as error:
            waiting.put(("failure", error))
        finally:
            # A generator closes its file here, in the thread that opened it.
            close = getattr(items, "close", None)
            if close is not None:
                close()

    # A daemon: a read that hangs must not keep the program from ending.
    reader = threading.Thread(target=read, name="millstream-reader", daemon=True)
    reader.start()
    try:
        while True:
            what, value = waiting.get()
            if what == "end":
                return
            if what == "failure":
                raise value
            yield value
            home.check()
    finally:
        if home.is_here:
            stopped.set()
            # Emptied, so that a reader that waits for room goes on and sees that it should stop.
            while not waiting.empty():
                waiting.get_nowait()
            reader.join(timeout=1.0)
