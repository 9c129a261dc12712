"""Closing of windows: of events that wait for labels, and of labels that wait for events."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from millstream.errors import MillstreamError, UnknownName
from millstream.serve.fates import Fate
from millstream.serve.learning import Learning
from millstream.serve.stream import LABELLED, WAITING, Entry, Stream, aggregated

if TYPE_CHECKING:
    from millstream.serve.fold import State

__all__ = ["Windows"]

#: Number of windows closed in one step; the loop continues until none is due.
_MOST_CLOSED = 4096


class Windows:
    """Closes the windows of a state."""

    def __init__(self, state: State, learning: Learning) -> None:
        self._state, self._learning = state, learning

    def is_over(self, stream: Stream, entry: Entry) -> bool:
        """Whether the window of an event is over."""
        return self._state.time - entry.time > stream.policy.window_ms

    def quiet_until(self, time: int) -> int:
        """The last time at which nothing is due in any stream; `time` is that of the next event."""
        until = 1 << 62
        for stream in self._state.streams.values():
            if stream.parked or stream.policy.acts_on_close:
                return self._state.time
            oldest = stream.pending.oldest()
            until = min(until, (time if oldest is None else oldest[2]) + 2 * stream.policy.window_ms)
        return until

    def close_due(self, stream: Stream) -> None:
        """Close due windows, forget events after twice their window, and expire parked labels."""
        policy, time = stream.policy, self._state.time
        if policy.acts_on_close:
            while True:
                due = stream.pending.after(*stream.closed_to, time - policy.window_ms, _MOST_CLOSED)
                for entry in due:
                    stream.closed_to = (entry[0], entry[1])
                    self._close(stream, Entry(*entry))
                if len(due) < _MOST_CLOSED:
                    break
        while True:
            old = stream.pending.expire(time - 2 * policy.window_ms, _MOST_CLOSED)
            self.forget(stream, old)
            if len(old) < _MOST_CLOSED:
                break
        while stream.parked:
            id, label = next(iter(stream.parked.items()))
            if time - label.time <= policy.early_window_ms:
                break
            del stream.parked[id]
            stream.count(Fate.EXPIRED)

    def evict(self, stream: Stream) -> None:
        """Forget the oldest events of a stream that has too many."""
        if len(stream.pending) > stream.policy.max_pending:
            self.forget(stream, stream.pending.evict(stream.policy.max_pending))

    def forget(self, stream: Stream, entries: Iterable[tuple[int, ...]]) -> None:
        """Handle events that are no longer pending: those without a label are counted."""
        for entry in entries:
            key = (entry[0], entry[1])
            if key in stream.collected:
                # Evicted before its window closed.
                self._close(stream, Entry(*entry))
            elif entry[3] == WAITING:
                stream.closed += 1

    def _close(self, stream: Stream, entry: Entry) -> None:
        """Learn an event with its collected labels or with the default label."""
        if entry.state != WAITING:
            return
        labels = stream.collected.pop((entry.seq, entry.item), None)
        if labels is None and stream.policy.default_label is None:
            return
        state, learn = self._state, self._learning.learn
        try:
            event = state.events.event(entry.seq, entry.item)
        except UnknownName:
            # Its record was lost to damage.
            stream.count(Fate.UNKNOWN, len(labels or ()))
            return
        if labels is None:
            y = stream.policy.default_label
            outcome = learn(stream, event.id, event.x, y, 1.0, event.body, state.seq, state.time)
            if outcome.fate is not Fate.QUARANTINED:
                stream.count(Fate.DEFAULT)
            # Use the record of the event, because no record contains the label.
            stream.pending.mark(event.id, LABELLED, entry.seq)
            return
        try:
            y, w = aggregated(labels, stream.policy.aggregate)
        except MillstreamError as error:
            # The policy was changed after the labels were collected.
            stream.refuse(event.id, labels[-1].seq, state.time, str(error), labels[-1].y)
            stream.count(Fate.QUARANTINED, len(labels))
            return
        outcome = learn(stream, event.id, event.x, y, w, event.body, labels[-1].seq, state.time)
        stream.count(outcome.fate, len(labels))
        stream.pending.mark(event.id, LABELLED, labels[-1].seq)
