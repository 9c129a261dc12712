"""The served features and predictions of events, read from the log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from operator import itemgetter
from typing import Any, NamedTuple

from millstream._core import EventGroup, parse_json
from millstream.errors import UnknownName
from millstream.serve.batches import unpack_events
from millstream.serve.records import Kind, Record, Row, record_of
from millstream.serve.store import EventStore

__all__ = ["EventReader", "StoredEvent"]

_EVENT = int(Kind.EVENT)
_BODY = itemgetter(5)
_new = tuple.__new__


class StoredEvent(NamedTuple):
    """One event: its id, features, the members of its record that hold predictions, and the record's number."""

    id: str
    x: Any
    body: dict[str, Any]
    seq: int


class EventReader:
    """Reads events by sequence number, with a bounded cache of the newest records.

    Most labels arrive soon after their events, which are then still in the cache.
    """

    def __init__(self, store: EventStore, most: int = 20_000, most_bytes: int = 64 << 20) -> None:
        self._store = store
        self._most, self._most_bytes = most, most_bytes
        self._bytes = 0
        self._recent: dict[int, Record | Row] = {}
        #: Older records needed by the labels of the current group.
        self._fetched: dict[int, Record] = {}
        #: The last batch that was decoded: labels of a batch arrive together.
        self._batch: tuple[int, list[StoredEvent]] | None = None

    def remember(self, record: Record) -> None:
        """Keep a record that was just written."""
        recent = self._recent
        recent[record.seq] = record
        self._bytes += len(record.body)
        self._trim()

    def remember_rows(self, rows: Sequence[Row]) -> None:
        """Keep rows of records that were just read."""
        self._recent.update([(row[0], row) for row in rows])
        self._bytes += sum(map(len, map(_BODY, rows)))
        self._trim()

    @property
    def in_memory(self) -> Any:
        """Recent records by number, older records that were prefetched, and the last decoded batch."""
        return self._recent, self._fetched, self._batch

    def remember_group(self, group: EventGroup, rows: list[Row]) -> None:
        """Keep the rows of a group of events that was just written."""
        self._recent.update(zip(range(group.first, group.first + len(rows)), rows, strict=True))
        self._bytes += sum(map(len, map(_BODY, rows)))
        self._trim()

    def _trim(self) -> None:
        recent = self._recent
        # Many at once: to find its oldest key, a dict scans the slots of those that were removed.
        while recent and (len(recent) > self._most + self._most // 8 or self._bytes > self._most_bytes):
            count = max(len(recent) - self._most, len(recent) // 8, 1)
            for seq in list(islice(recent, count)):
                self._bytes -= len(recent.pop(seq)[5])

    def record(self, seq: int) -> Record:
        """The record with this number."""
        found = self._recent.get(seq)
        if found is None:
            return self._fetched.get(seq) or self._store.get(seq)
        return found if isinstance(found, Record) else record_of(found)

    def prefetch(self, seqs: Iterable[int]) -> None:
        """Read older records that are needed soon. Reading them together takes a third of the time."""
        recent = self._recent
        wanted = [seq for seq in seqs if seq not in recent]
        try:
            self._fetched = self._store.get_many(wanted) if wanted else {}
        except UnknownName:
            # A damaged record was lost. The fate of each label is decided when it is joined.
            self._fetched = {}

    def event(self, seq: int, item: int) -> StoredEvent:
        """One event of a record."""
        batch = self._batch
        if batch is not None and batch[0] == seq:
            return batch[1][item]
        record = self.record(seq)
        if record.kind == _EVENT:
            body = parse_json(record.body)
            # The constructor of the named tuple takes twice as long.
            event: StoredEvent = _new(StoredEvent, (str(record.id), body.get("x"), body, seq))
            return event
        if record.kind == Kind.EVENTS:
            # Two threads may read, so the attribute is read and set once.
            events = [StoredEvent(*each, seq) for each in unpack_events(record.body)]
            self._batch = seq, events
            return events[item]
        body = parse_json(record.body)
        if record.kind == Kind.LABELS:
            # A label with the features of an unknown event.
            body = body[item]
            return StoredEvent(body["id"], body.get("x"), body, seq)
        return StoredEvent(str(record.id), body.get("x"), body, seq)
