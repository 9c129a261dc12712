"""A record that is proposed to the log, with the callback for its outcome."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millstream.serve.records import Kind
from millstream.serve.stream import Stream

__all__ = ["Proposal"]


class Proposal:
    """A record before it has a number. `answer` is called in the log thread with the outcome, or with an
    exception.

    The items of a batch of labels are in `parsed`; its body is written after repeated labels are filtered out.
    """

    __slots__ = ("answer", "body", "id", "kind", "parsed", "stream", "time")

    def __init__(
        self,
        kind: Kind,
        stream: Stream | None,
        id: str | None,
        body: str | bytes,
        *,
        parsed: Any = None,
        time: int | None = None,
        answer: Callable[[Any], None] | None = None,
    ) -> None:
        self.kind, self.stream, self.id, self.body = kind, stream, id, body
        self.parsed, self.time, self.answer = parsed, time, answer
