"""A record that is proposed to the log, with the callback for its outcome."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from millstream.errors import MillstreamError
from millstream.serve.records import Kind
from millstream.serve.stream import Stream

__all__ = ["Proposal", "QueueFull", "Stopped"]

#: Estimated memory of parsed JSON for each byte of its text, and of one item of a batch of labels.
_PARSED = 8
_ITEM = 256


class QueueFull(MillstreamError):
    """Too many proposals or requests are waiting."""


class Stopped(MillstreamError):
    """The log no longer accepts records."""


class Proposal:
    """A record before it has a number. `answer` is called in the log thread with the outcome, or with an
    exception.

    The items of a batch of labels are in `parsed`; its body is written after repeated labels are filtered out.
    `given` holds those ids of a batch of events that a client chose. `sent` is the length of the request whose
    parsed content the proposal keeps; `size` is the estimated memory of the proposal in bytes.
    """

    __slots__ = ("answer", "body", "given", "id", "kind", "parsed", "size", "stream")

    def __init__(
        self,
        kind: Kind,
        stream: Stream | None,
        id: str | None,
        body: str | bytes,
        *,
        parsed: Any = None,
        given: Collection[str] = (),
        sent: int = 0,
        answer: Callable[[Any], None] | None = None,
    ) -> None:
        self.kind, self.stream, self.id, self.body = kind, stream, id, body
        self.parsed, self.given, self.answer = parsed, given, answer
        items = len(parsed) if kind == Kind.LABELS else 0
        self.size = len(body) + _PARSED * sent + _ITEM * items
