"""Interruption of a run by Ctrl-C at consistent points only.

A signal is deferred while a chunk is learned, scored and recorded. It takes effect between chunks, between blocks
of rows in native code, or while the run waits for the stream.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

__all__ = ["Interrupts"]

_END: Any = object()
_Item = TypeVar("_Item")


class Interrupts:
    """Defers signals if `wanted`; has no effect outside the main thread, because other threads get no signals."""

    def __init__(self, wanted: bool) -> None:
        self.wanted = wanted
        #: Whether a signal has arrived.
        self.asked = False
        self._open = False
        self._held: dict[int, Any] = {}

    def __enter__(self) -> Interrupts:
        if self.wanted and threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                if signal.getsignal(number) is signal.default_int_handler:
                    self._held[number] = signal.signal(number, self._ask)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._held.items():
            signal.signal(number, handler)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        again, self.asked = self.asked, True
        # A second signal takes effect at once.
        if self._open or again:
            raise KeyboardInterrupt

    @contextmanager
    def allowed(self) -> Iterator[None]:
        """Allow an interruption at any moment."""
        self._open = True
        try:
            if self.asked:
                raise KeyboardInterrupt
            yield
        finally:
            self._open = False

    def reading(self, stream: Iterable[_Item]) -> Iterator[_Item]:
        """Iterate over the items; allow an interruption while waiting for one."""
        items = iter(stream)
        while True:
            with self.allowed():
                item = next(items, _END)
            if item is _END:
                return
            yield item
