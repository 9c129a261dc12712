"""Labels that must not be written to the log: repeated, unknown and late ones, which change nothing."""

from __future__ import annotations

from typing import Any

from millstream._core import EventGroup, IdRange
from millstream.serve.fates import Outcome
from millstream.serve.fold import State
from millstream.serve.in_flight import Ranges
from millstream.serve.proposal import Proposal
from millstream.serve.records import Kind
from millstream.serve.stream import Stream

__all__ = ["Screening"]

_EVENT, _LABEL, _EVENTS, _LABELS = int(Kind.EVENT), int(Kind.LABEL), int(Kind.EVENTS), int(Kind.LABELS)


class Screening:
    """The labels of one group, looked up before the group is committed.

    A label whose event or first label is in the same group is always written: its fate is decided when the group
    is applied. `seqs` are the records of the events that the other labels belong to. `events` were predicted
    natively and are written before the group.
    """

    def __init__(self, state: State, group: list[Proposal], events: EventGroup | None = None) -> None:
        self._state = state
        self._events = events
        self._has_labels = any(proposal.kind in (_LABEL, _LABELS) for proposal in group)
        self._in_group: dict[int, set[str]] = {}
        self._ranges: dict[int, Ranges] = {}
        self.seqs: list[int] = []

    def outcomes(self, proposal: Proposal) -> list[Outcome | None] | None:
        """For each label of a proposal its outcome, or None if it must be written. None for other records."""
        stream, kind = proposal.stream, proposal.kind
        if stream is None or not self._has_labels:
            return None
        known = self._in_group.setdefault(stream.number, set())
        if kind == _LABEL and proposal.id is not None:
            id = proposal.id
            return [self._outcome(stream, known, id, proposal.parsed, stream.pending.find(id))]
        if kind == _LABELS:
            labels = proposal.parsed
            entries = stream.pending.find_many([label["id"] for label in labels])
            return [
                self._outcome(stream, known, label["id"], label, entry)
                for label, entry in zip(labels, entries, strict=True)
            ]
        if kind == _EVENT and proposal.id is not None:
            known.add(proposal.id)
        elif kind == _EVENTS and isinstance(proposal.parsed, IdRange):
            self._ranges.setdefault(stream.number, Ranges()).add(proposal.parsed)
        elif kind == _EVENTS:
            known.update(proposal.parsed)
        return None

    def _outcome(
        self, stream: Stream, known: set[str], id: str, label: dict[str, Any], entry: tuple[int, ...] | None
    ) -> Outcome | None:
        if id in known or (self._events is not None and self._events.has(stream.number, id)):
            return None
        if stream.number in self._ranges and id in self._ranges[stream.number]:
            return None
        known.add(id)
        if entry is not None:
            self.seqs.append(entry[0])
        return self._state.join.screen(stream, id, label, entry)
