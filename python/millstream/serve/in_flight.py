"""Events that were proposed but are not in the state yet, and the requests that wait for them."""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Callable, Iterable

from millstream._core import EventQueue, IdRange
from millstream.serve.proposal import Proposal, QueueFull, Stopped
from millstream.serve.records import Kind
from millstream.serve.stream import Stream

__all__ = ["InFlight", "Ranges", "Unsettled"]

#: Number of characters of an id before those that count up.
_HEAD = 24
#: Maximum number of requests that wait for events.
_MOST_WAITING = 1024


class Unsettled(Exception):
    """An operation needs an event that is not in the state yet; it must be run again later."""

    def __init__(self, stream: int, id: str) -> None:
        super().__init__(f"event {id!r} is not in the state yet")
        self.stream, self.id = stream, id


class Ranges:
    """Ranges of ids, found by the digits that all ids of a range share."""

    def __init__(self) -> None:
        self._by_head: dict[str, list[IdRange]] = {}

    def add(self, ids: IdRange) -> None:
        """Add a range."""
        self._by_head.setdefault(ids.first[:_HEAD], []).append(ids)

    def remove(self, ids: IdRange) -> None:
        """Remove a range that was added."""
        head = ids.first[:_HEAD]
        self._by_head[head].remove(ids)
        if not self._by_head[head]:
            del self._by_head[head]

    def __contains__(self, id: str) -> bool:
        # A copy, because another thread may change the list.
        return any(id in ids for ids in list(self._by_head.get(id[:_HEAD], ())))


class InFlight:
    """Ids of proposed events. The native queue knows those of single events and those that clients chose, because
    it must recognize a repeated id. Ids of batches are kept here."""

    def __init__(self, events: EventQueue) -> None:
        self._events = events
        self._batches: dict[int, set[str]] = {}
        self._ranges: dict[int, Ranges] = {}
        self._waiting: list[tuple[Unsettled, Callable[[], None]]] = []
        self._lock = threading.Lock()
        self._is_closed = False

    def add(self, proposal: Proposal) -> None:
        """Remember the ids of the events of a proposal.

        Raises `Unsettled` if another request with one of the ids was answered in the meantime.
        """
        if proposal.stream is None:
            return
        number = proposal.stream.number
        if proposal.kind == Kind.EVENT and proposal.id is not None:
            self._reserve(proposal.stream, [proposal.id])
        elif proposal.kind == Kind.EVENTS:
            self._reserve(proposal.stream, proposal.given)
            if isinstance(proposal.parsed, IdRange):
                self._ranges.setdefault(number, Ranges()).add(proposal.parsed)
            else:
                self._batches.setdefault(number, set()).update(proposal.parsed)

    def _reserve(self, stream: Stream, ids: Iterable[str]) -> None:
        """Remember all ids or none."""
        reserved: list[str] = []
        for id in ids:
            if not self._events.add_proposed(stream.number, id, stream.pending):
                for each in reserved:
                    self._events.remove_proposed(stream.number, each)
                raise Unsettled(stream.number, id)
            reserved.append(id)

    def remove(self, proposal: Proposal) -> None:
        """The events of a proposal are in the state, or they are lost."""
        if proposal.stream is None:
            return
        number = proposal.stream.number
        if proposal.kind == Kind.EVENT and proposal.id is not None:
            self._events.remove_proposed(number, proposal.id)
        elif proposal.kind == Kind.EVENTS:
            if isinstance(proposal.parsed, IdRange):
                self._ranges[number].remove(proposal.parsed)
            else:
                self._batches.get(number, set()).difference_update(proposal.parsed)
            for id in proposal.given:
                self._events.remove_proposed(number, id)

    def has(self, stream: int, id: str) -> bool:
        """Whether an event with this id is not in the state yet."""
        if id in self._batches.get(stream, ()) or self._events.is_in_flight(stream, id):
            return True
        return stream in self._ranges and id in self._ranges[stream]

    def check(self, stream: int, id: str) -> None:
        """Raise `Unsettled` if an event is not in the state yet."""
        if self.has(stream, id):
            raise Unsettled(stream, id)

    def when_settled(self, event: Unsettled, action: Callable[[], None]) -> None:
        """Call an action in the log thread once an event is in the state or lost."""
        with self._lock:
            if self._is_closed:
                raise Stopped("serve: the log accepts no more records")
            if len(self._waiting) >= _MOST_WAITING:
                raise QueueFull("serve: too many requests wait for events")
            self._waiting.append((event, action))
        # The event may have arrived in the meantime, and there may be no further group.
        self._events.notify()

    def release(self) -> None:
        """Call the actions whose events are in the state or lost."""
        if not self._waiting:
            return
        with self._lock:
            waiting, self._waiting = self._waiting, []
            ready = []
            for event, action in waiting:
                if self.has(event.stream, event.id):
                    self._waiting.append((event, action))
                else:
                    ready.append(action)
        _call(ready)

    def close(self) -> None:
        """The log has ended: call all actions, and accept no more."""
        with self._lock:
            self._is_closed = True
            ready = [action for _, action in self._waiting]
            self._waiting = []
        _call(ready)


def _call(actions: list[Callable[[], None]]) -> None:
    for action in actions:
        try:
            action()
        except Exception as error:  # a failed reply to one client must not stop the log
            traceback.print_exception(error, file=sys.stderr)
