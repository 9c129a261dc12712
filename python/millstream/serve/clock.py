"""The time of the server: wall-clock milliseconds that never run backwards and ignore steps of the wall clock."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["Clock"]


class Clock:
    """Milliseconds since 1970. The wall clock is read once; a monotonic clock is used from then on.

    Setting the wall clock back, or forward by ten years, therefore closes no window. `not_before` is the time of
    the last record of the log: a server that starts with a slow clock continues from there.
    """

    def __init__(
        self,
        not_before: int = 0,
        wall: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._monotonic = monotonic
        self._start = monotonic()
        self._base = max(int(wall() * 1000), not_before)

    def now(self) -> int:
        """The current time."""
        return self._base + int((self._monotonic() - self._start) * 1000)
