"""A thread that learns during a prediction, at fixed points, so that runs are reproducible.

Two threads that run freely meet in the middle of a prediction perhaps once a month. Here Python's tracing stops a
prediction after every few instructions until the other thread has learned an example. Predictions of compiled
models, which Python cannot stop, run beside it.
"""

from __future__ import annotations

import queue
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from millstream.testing.examples import Example

if TYPE_CHECKING:
    from types import FrameType

    from millstream.testing.subject import Subject

__all__ = ["Learner"]

#: Instructions between two examples. A prime, so that it does not coincide with the period of loops.
_EVERY = 7
#: Seconds that a prediction waits for an example to be learned: a learner with a lock waits for the prediction.
_PATIENCE = 0.02
#: Examples that are learned in the middle of one prediction.
_MOST = 10


class Learner(threading.Thread):
    """A thread that learns an example on request."""

    def __init__(self, subject: Subject, model: Any) -> None:
        super().__init__(daemon=True)
        self._subject, self._model = subject, model
        self._lessons: queue.SimpleQueue[Example | None] = queue.SimpleQueue()
        self._idle = threading.Event()
        self._idle.set()
        #: The learned examples, and the errors.
        self.learned: list[Example] = []
        self.failures: list[Exception] = []

    def run(self) -> None:
        while (lesson := self._lessons.get()) is not None:
            try:
                self._subject.taught(self._model, [lesson])
                self.learned.append(lesson)
            except Exception as failure:
                self.failures.append(failure)
            self._idle.set()

    def stop(self) -> None:
        """Wait for the current example."""
        self._lessons.put(None)
        self.join()

    def teach(self) -> None:
        """Learn another example now, unless the previous one is still being learned."""
        if self._idle.is_set():
            self._begin()
            self._idle.wait(_PATIENCE)

    def _begin(self) -> None:
        self._idle.clear()
        examples = self._subject.examples
        self._lessons.put(examples[len(self.learned) % len(examples)])

    def interrupt(self, predict: Callable[[Any], Any], x: Any) -> None:
        """Predict, and learn during the prediction."""
        instructions = 0

        def trace(frame: FrameType, event: str, argument: object) -> Any:
            nonlocal instructions
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
            if event == "opcode":
                instructions += 1
                if instructions % _EVERY == 0 and instructions <= _EVERY * _MOST:
                    self.teach()
            return trace

        # A debugger or a coverage tool may be tracing too.
        others = sys.gettrace()
        sys.settrace(trace)
        try:
            predict(x)
        finally:
            sys.settrace(others)
        if self._subject.native and not self.failures:
            self._begin()
            while not self._idle.is_set():
                predict(x)
