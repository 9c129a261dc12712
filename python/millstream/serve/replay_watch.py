"""Reports the record on which a replay hangs, so that it can be skipped."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from millstream.serve.fold import State

__all__ = ["ReplayWatch"]

#: Seconds between two checks of a replay.
_LOOK = 1.0


class ReplayWatch:
    """Reports a record that a learner written in Python has been learning for `patience` seconds, once."""

    def __init__(self, patience: float = 10.0, say: Callable[[str], None] | None = None) -> None:
        self.patience = patience
        self._say = _print if say is None else say
        #: The states that are being replayed. A rollback replays another state meanwhile, which is the last one.
        self._states: list[State] = []
        self._ended = threading.Event()

    @contextmanager
    def watching(self, state: State) -> Iterator[None]:
        """Watch the replay of a state, also within that of another one."""
        self._states.append(state)
        if len(self._states) == 1:
            self._ended = threading.Event()
            threading.Thread(target=self._run, args=(self._ended,), name="millstream-replay", daemon=True).start()
        try:
            yield
        finally:
            self._states.pop()
            if not self._states:
                self._ended.set()

    def _run(self, ended: threading.Event) -> None:
        seen: tuple[int, int] | None = None
        since = 0.0
        while not ended.wait(min(_LOOK, self.patience / 2)):
            state = self._states[-1] if self._states else None
            if state is None or all(served.is_native for served in list(state.models.values())):
                continue
            now, found = time.monotonic(), (id(state), state.seq)
            if found != seen:
                seen, since = found, now
            elif now - since >= self.patience:
                since = float("inf")
                self._say(
                    f"replaying record {state.seq} has taken more than {self.patience:g} seconds; if a learner "
                    f"never returns, stop the server and start it with skip_records=[{state.seq}] "
                    f"(--skip-record {state.seq})"
                )


def _print(text: str) -> None:
    print(f"millstream serve: {text}", file=sys.stderr, flush=True)  # noqa: T201
