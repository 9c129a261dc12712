"""The live join: matches labels with their events, and determines what is learned.

A label of a waiting event is learned natively where possible, many in one call; all others are handled one by one
here. Both paths have the same result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from millstream._core import parse_json
from millstream.errors import MillstreamError, UnknownName
from millstream.serve.batches import unpack_labels
from millstream.serve.fates import Fate, Outcome
from millstream.serve.learning import Learning
from millstream.serve.records import Kind
from millstream.serve.store_errors import StoreDamaged, StoreFailed
from millstream.serve.stream import DEFERRED, LABELLED, WAITING, Collected, Entry, ParkedLabel, Stream, aggregated
from millstream.serve.windows import Windows

if TYPE_CHECKING:
    from millstream.serve.fold import State

__all__ = ["LiveJoin"]

#: Looking up an enum member takes 80 ns, and each label needs several.
_LEARNED, _PARKED, _COLLECTED, _QUARANTINED = Fate.LEARNED, Fate.PARKED, Fate.COLLECTED, Fate.QUARANTINED
_new = tuple.__new__
#: Labels of one event that wait for its window to close.
_MOST_LABELS = 1000
_NOT_ACTIVATED = "the event is deferred and has not been activated"
_WINDOW_OVER = "the window of the event is over"


class LiveJoin:
    """Joins the labels and events of a state."""

    def __init__(self, state: State, learning: Learning, windows: Windows) -> None:
        self._state, self._learning, self._windows = state, learning, windows
        #: The last decoded batch of labels: its record, and the first label of each id.
        self._batch: tuple[int, dict[str, dict[str, Any]]] = (0, {})

    # ------------------------------------------------------------------------------------------------- screening

    def screen(
        self, stream: Stream, id: str, body: dict[str, Any], found: tuple[int, ...] | None
    ) -> Outcome | None:
        """The outcome of a label that must not be written to the log, or None.

        `found` is the remembered event of this id.
        """
        if found is None:
            if id in stream.parked:
                return _parked_again(stream.parked[id], body)
            if stream.policy.early_window_ms or "x" in body:
                return None
            return Outcome(Fate.UNKNOWN, 0, f"no event {id!r} is known; send its features x along to learn it")
        entry: Entry = _new(Entry, found)
        if entry.state == LABELLED:
            return self._repeated(stream, id, entry, body)
        if entry.state == DEFERRED:
            return Outcome(Fate.CONFLICT, entry.seq, _NOT_ACTIVATED)
        if self._windows.is_over(stream, entry) and stream.policy.late == "drop":
            return Outcome(Fate.LATE, entry.seq, _WINDOW_OVER)
        return None

    def _repeated(self, stream: Stream, id: str, entry: Entry, body: dict[str, Any]) -> Outcome | None:
        """The outcome of a label of an event that already has one; None if it is kept as a dead letter."""
        first = self._first_label(id, entry.label_seq)
        if first is None:
            # The window was closed with the default label.
            return None if stream.policy.late == "dead_letter" else Outcome(Fate.LATE, entry.seq, _WINDOW_OVER)
        if _same_label(first["y"], first.get("w", 1.0), body):
            return Outcome(Fate.DUPLICATE, entry.label_seq)
        return Outcome(Fate.CONFLICT, entry.label_seq, "another label of this event was learned")

    def _first_label(self, id: str, seq: int) -> dict[str, Any] | None:
        """The label of an event in a record; None if the record closed a window and contains no label of the
        event."""
        if self._batch[0] == seq:
            return self._batch[1].get(id)
        try:
            record = self._state.events.record(seq)
        except UnknownName:
            # A label that came before its event may be trimmed from the log before it.
            return None
        if record.kind == Kind.LABELS:
            # A resent batch looks up all of its labels, one by one.
            self._batch = (seq, {each["id"]: each for each in reversed(unpack_labels(record.body))})
            return self._batch[1].get(id)
        if record.kind in (Kind.LABEL, Kind.LEARN) and record.id == id:
            body: dict[str, Any] = parse_json(record.body)
            return body
        return None

    # ---------------------------------------------------------------------------------------------------- labels

    def label_many(
        self, stream: Stream, ids: list[str], labels: list[dict[str, Any]], seq: int, step: int, time: int
    ) -> list[Outcome]:
        """Handle labels of one time in order. They come from one record (`step` 0), or each from the next one
        (`step` 1). The result equals that of `label` for each."""
        state, outcomes = self._state, list[Outcome]()
        while len(outcomes) < len(ids):
            served = self._learning.native_model(stream)
            if served is not None:
                late = state.time - stream.policy.window_ms
                at = len(outcomes)
                first = seq + step * at
                run = served.learn_labels(
                    stream.pending, state.events.in_memory, ids, labels, at, (first, step, time, late)
                )
                if run.learned:
                    stream.learned(run)
                    outcomes += _learned(first, step, run.learned)
                    continue
            at = len(outcomes)
            state.seq = seq + step * at
            outcomes.append(self.label(stream, ids[at], labels[at], state.seq, time, 0 if step else at))
        state.seq = seq + step * (len(ids) - 1)
        return outcomes

    def label(self, stream: Stream, id: str, body: dict[str, Any], seq: int, time: int, item: int = 0) -> Outcome:
        """Handle one label; `seq`, `item` and `time` are its place in the log."""
        stream.received += 1
        try:
            outcome = self._labelled(stream, id, body, seq, time, item)
        except (MillstreamError, ArithmeticError, LookupError, TypeError, ValueError) as error:
            outcome = self._contained(stream, id, body, seq, time, error)
        fate = outcome.fate
        if fate is not _PARKED and fate is not _COLLECTED:
            stream.count(fate)
        return outcome

    def _contained(
        self, stream: Stream, id: str, body: dict[str, Any], seq: int, time: int, error: Exception
    ) -> Outcome:
        """Quarantine a label whose handling failed unexpectedly.

        The record is in the log. If it stopped the log thread, it would also stop every recovery.
        """
        if isinstance(error, StoreDamaged | StoreFailed):
            raise error
        reason = f"the label could not be handled: {error!r}"
        stream.refuse(id, seq, time, reason, body.get("y"), kind="failed")
        # It may have been learned in part, so it must not be learned again.
        stream.pending.mark(id, LABELLED, seq)
        return Outcome(_QUARANTINED, seq, reason)

    def _labelled(self, stream: Stream, id: str, body: dict[str, Any], seq: int, time: int, item: int) -> Outcome:
        y, w = body["y"], body.get("w", 1.0)
        found = stream.pending.find(id)
        if found is None:
            return self._unmatched(stream, id, body, seq, time, item)
        entry: Entry = _new(Entry, found)
        if entry.state == LABELLED:
            return self._repeated(stream, id, entry, body) or _dead_letter(stream, id, y, seq, time)
        if entry.state == DEFERRED:
            return Outcome(Fate.CONFLICT, entry.seq, _NOT_ACTIVATED)
        is_over = self._windows.is_over(stream, entry)
        if is_over:
            if stream.policy.late == "dead_letter":
                return _dead_letter(stream, id, y, seq, time)
            if stream.policy.late == "drop":
                return Outcome(Fate.LATE, entry.seq, _WINDOW_OVER)
        if "q" in body:
            return _refused(stream, id, body["q"], seq, time)
        if not is_over and stream.policy.learn_when == "on_window_close":
            if self._state.is_skipping:
                return self._learning.skip(stream, id, y, seq, time)
            return self._collect(stream, entry, y, w, body, seq, time)
        return self._join(stream, id, entry, y, w, seq, time)

    def _unmatched(self, stream: Stream, id: str, body: dict[str, Any], seq: int, time: int, item: int) -> Outcome:
        """Handle a label without an event: learned if it includes features, otherwise parked or refused."""
        y, w = body["y"], body.get("w", 1.0)
        if "q" in body and ("x" in body or stream.policy.early_window_ms):
            return _refused(stream, id, body["q"], seq, time)
        if "x" in body:
            return self._learn_labelled(stream, id, body["x"], y, w, seq, time, item)
        if id in stream.parked:
            return _parked_again(stream.parked[id], body)
        if not stream.policy.early_window_ms:
            return Outcome(Fate.UNKNOWN, 0, f"no event {id!r} is known")
        if self._state.is_skipping:
            return self._learning.skip(stream, id, y, seq, time)
        stream.parked[id] = ParkedLabel(y, w, seq, time)
        if len(stream.parked) > stream.policy.max_parked:
            stream.parked.pop(next(iter(stream.parked)))
            stream.count(Fate.EXPIRED)
        return Outcome(_PARKED, seq)

    def _collect(
        self, stream: Stream, entry: Entry, y: Any, w: float, body: dict[str, Any], seq: int, time: int
    ) -> Outcome:
        """Keep a label until the window of its event closes."""
        labels = stream.collected.get((entry.seq, entry.item), [])
        at = body.get("ts")
        if len(labels) >= _MOST_LABELS:
            return Outcome(Fate.CONFLICT, labels[0].seq, f"the event already has {_MOST_LABELS} labels")
        for label in labels:
            if _same_label(label.y, label.w, body) and label.at == at:
                return Outcome(Fate.DUPLICATE, label.seq)
        if labels and stream.policy.aggregate == "first":
            return Outcome(Fate.CONFLICT, labels[0].seq, "another label of this event is waiting")
        try:
            for name in self._learning.members(stream):
                self._state.models[name].check(y, w)
            aggregated([*labels, Collected(y, w, seq, at)], stream.policy.aggregate)
        except MillstreamError as error:
            id = self._state.events.event(entry.seq, entry.item).id
            stream.refuse(id, seq, time, str(error), y)
            return Outcome(_QUARANTINED, seq, str(error))
        stream.collected[entry.seq, entry.item] = [*labels, Collected(y, w, seq, at)]
        return Outcome(_COLLECTED, seq)

    def _join(self, stream: Stream, id: str, entry: Entry, y: Any, w: float, seq: int, time: int) -> Outcome:
        """Learn an event with its label, and score the predictions that were served."""
        try:
            event = self._state.events.event(entry.seq, entry.item)
        except UnknownName:
            # Its record was lost to damage.
            return Outcome(Fate.UNKNOWN, 0, f"the record of event {id!r} is lost")
        if event.id != id:
            # Two ids with the same 128-bit hash.
            return Outcome(Fate.UNKNOWN, 0, f"no event {id!r} is known")
        outcome = self._learning.learn(stream, id, event.x, y, w, event.body, seq, time)
        is_learned = outcome.fate is not _QUARANTINED
        # A skipped label is marked too, because its client may send it again.
        if is_learned or self._state.is_skipping:
            stream.pending.mark(id, LABELLED, seq)
            if is_learned:
                stream.joined(time - entry.time)
            if stream.collected:
                # The policy was changed after labels were collected.
                stream.settle((entry.seq, entry.item), Fate.CONFLICT)
        return outcome

    # ---------------------------------------------------------------------------------------- labelled examples

    def learn_example(self, stream: Stream, id: str | None, body: dict[str, Any], seq: int, time: int) -> Outcome:
        """Handle a labelled example without a prediction."""
        if id is not None:
            # With the id of an event, it is the label of this event.
            return self.label(stream, id, {"x": {}, **body}, seq, time)
        stream.received += 1
        if "q" in body:
            outcome = _refused(stream, "", body["q"], seq, time)
        else:
            outcome = self._learn_labelled(stream, id, body.get("x"), body["y"], body.get("w", 1.0), seq, time)
        stream.count(outcome.fate)
        return outcome

    def _learn_labelled(
        self, stream: Stream, id: str | None, x: Any, y: Any, w: float, seq: int, time: int, item: int = 0
    ) -> Outcome:
        """Learn an example that includes its features; its id is remembered, so that it is learned only once."""
        outcome = self._learning.learn(stream, id or "", x, y, w, None, seq, time)
        is_learned = outcome.fate is not _QUARANTINED
        if is_learned or self._state.is_skipping:
            stream.examples += is_learned
            if id is not None and stream.pending.add(id, seq, item, time):
                stream.pending.mark(id, LABELLED, seq)
                self._windows.evict(stream)
        return outcome

    # ---------------------------------------------------------------------------------------------------- events

    def add_event(self, stream: Stream, id: str, seq: int, item: int, time: int, x: Any) -> None:
        """Remember an event, and learn the label that came before it, if there is one."""
        if not stream.pending.add(id, seq, item, time):
            # Sent again before its first record was applied.
            return
        stream.predictions += 1
        if self._learning.learns_without_labels(stream):
            x = self._state.events.event(seq, item).x if x is None else x
            self._learning.learn_unlabelled(stream, id, x, seq, time)
        self._windows.evict(stream)
        if stream.parked and id in stream.parked:
            y, w, label_seq, label_time = stream.parked.pop(id)
            entry = Entry(seq, item, time, WAITING, 0)
            if stream.policy.learn_when == "on_window_close":
                outcome = self._collect(stream, entry, y, w, {"y": y, "w": w}, label_seq, label_time)
            else:
                outcome = self._join(stream, id, entry, y, w, label_seq, label_time)
            if outcome.fate is not _COLLECTED:
                stream.count(outcome.fate)


def _learned(seq: int, step: int, count: int) -> Sequence[Outcome]:
    """The outcomes of labels that were learned."""
    if not step:
        return [_new(Outcome, (_LEARNED, seq, ""))] * count
    return [_new(Outcome, (_LEARNED, number, "")) for number in range(seq, seq + count)]


def _dead_letter(stream: Stream, id: str, y: Any, seq: int, time: int) -> Outcome:
    """Keep a late label that is not learned."""
    stream.refuse(id, seq, time, "the label arrived after the window", y, kind="late")
    return Outcome(Fate.DEAD_LETTER, seq)


def _refused(stream: Stream, id: str, reason: str, seq: int, time: int) -> Outcome:
    """Quarantine a label that was refused before it was written, because JSON cannot represent it."""
    stream.refuse(id, seq, time, reason)
    return Outcome(_QUARANTINED, seq, reason)


def _parked_again(first: ParkedLabel, body: dict[str, Any]) -> Outcome:
    """The outcome of a second label of an event that has not arrived yet."""
    return Outcome(Fate.DUPLICATE if _same_label(first.y, first.w, body) else Fate.CONFLICT, first.seq)


def _same_label(y: Any, w: float, body: dict[str, Any]) -> bool:
    other = body.get("y")
    return type(y) is type(other) and y == other and w == body.get("w", 1.0)
