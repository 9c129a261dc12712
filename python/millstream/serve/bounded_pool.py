"""A thread for requests that must not delay others, with a bounded queue."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from millstream.serve.proposal import QueueFull, Stopped

__all__ = ["BoundedPool"]


class BoundedPool:
    """Runs actions in one thread, in order. At most `most` of them run or wait."""

    def __init__(self, name: str, most: int = 64) -> None:
        self._executor = ThreadPoolExecutor(1, name)
        self._places = threading.BoundedSemaphore(most)
        self._most = most

    def submit(self, action: Callable[[], None]) -> None:
        """Run an action; raises `QueueFull` if too many are waiting."""
        if not self._places.acquire(blocking=False):
            raise QueueFull(f"serve: {self._most} requests of this kind are waiting")

        def run() -> None:
            try:
                action()
            finally:
                self._places.release()

        self.resume(run)

    def resume(self, action: Callable[[], None]) -> None:
        """Run an action that was accepted before, beyond the bound."""
        try:
            self._executor.submit(action)
        except RuntimeError:
            raise Stopped("serve: the server is stopping") from None

    def close(self) -> None:
        """Stop the thread after the current action."""
        self._executor.shutdown(wait=False, cancel_futures=True)
