"""The state of a server as a fold over its log.

Applying a committed record is the only way to change this state, and the result depends on the record and the
state alone, not on a clock, on threads or on how records were grouped. Recovery therefore loads the newest
snapshot and replays the records after it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection
from operator import itemgetter
from typing import Any

from millstream._core import EventGroup, IdRange, parse_json
from millstream.errors import InvalidValue
from millstream.serve.batches import EventIds, unpack_events, unpack_ids, unpack_labels
from millstream.serve.event_reader import EventReader
from millstream.serve.fates import Fate, Outcome
from millstream.serve.learning import Learning
from millstream.serve.live_join import LiveJoin
from millstream.serve.operations import Operations
from millstream.serve.records import Kind, Record, Row, record_of
from millstream.serve.route import Route
from millstream.serve.served_model import ServedModel
from millstream.serve.stream import DEFERRED, Stream
from millstream.serve.windows import Windows

__all__ = ["DEFERRED_END", "State"]

#: The end of the body of a deferred event.
DEFERRED_END = ',"d":true}'
#: Kinds of common records. Looking up an enum member takes 80 ns, and each record needs several.
_EVENT, _LABEL, _LABELS = int(Kind.EVENT), int(Kind.LABEL), int(Kind.LABELS)
_TICK, _ADMIN = int(Kind.TICK), int(Kind.ADMIN)


class State:
    """Models, routes and streams after records 1 to `seq`.

    `events` reads events back from the log; see `Operations` for the other parameters.
    """

    def __init__(
        self,
        events: EventReader,
        make_model: Callable[[dict[str, Any]], Any],
        rebuild: Callable[[str, dict[str, Any], int], ServedModel],
        keep_version: Callable[[ServedModel, int], None],
    ) -> None:
        self.events = events
        self.seq = 0
        self.time = 0
        self.models: dict[str, ServedModel] = {}
        self.routes: dict[str, Route] = {}
        self.streams: dict[int, Stream] = {}
        self.by_name: dict[str, Stream] = {}
        #: The largest stream number so far. Numbers are not reused, because old records refer to them.
        self.last_stream = 0
        #: Event ids whose labels a model must not learn during a rebuild.
        self.excluded: dict[str, Collection[str]] = {}
        #: During a rebuild, the rollbacks that were applied: their records and contents.
        self.rollbacks: list[tuple[int, dict[str, Any]]] | None = None
        #: Records that no model learns from.
        self.skipped: Collection[int] = frozenset()
        self._learning = Learning(self)
        self._windows = Windows(self, self._learning)
        self.join = LiveJoin(self, self._learning, self._windows)
        self._operations = Operations(self, make_model, rebuild, keep_version)

    @property
    def is_skipping(self) -> bool:
        """Whether no model learns from the record that is being applied."""
        return bool(self.skipped) and self.seq in self.skipped

    # --------------------------------------------------------------------------------------------------- apply

    def apply(self, record: Record, parsed: Any = None) -> Any:
        """Apply one record. Returns the outcome of a label, a list of outcomes of a batch, or None.

        `parsed` is the content of the body, if the caller has parsed it already.
        """
        seq, kind, time, number, id, body = record
        self._advance(seq, time)
        if kind == _ADMIN:
            return self._operations.apply(record)
        if kind == _TICK:
            return None
        stream = self.streams.get(number)
        if stream is None:
            return self._without_stream(kind, record, parsed)
        if kind == _EVENT:
            return self._event(stream, record, parsed)
        if kind == Kind.EVENTS:
            return self._events(stream, record, parsed)
        if kind == _LABELS:
            labels = unpack_labels(body) if parsed is None else parsed
            return self.join.label_many(stream, [label["id"] for label in labels], labels, seq, 0, time)
        parsed = parse_json(body) if parsed is None else parsed
        if kind == _LABEL:
            return self.join.label(stream, str(id), parsed, seq, time)
        return self.join.learn_example(stream, None if id is None else str(id), parsed, seq, time)

    def apply_rows(self, rows: list[Row]) -> None:
        """Apply rows of the event store. The result equals that of `apply` for each record."""
        at, is_fetched = 0, False
        older: dict[int, Record | Row] = {row[0]: row for row in rows if row[1] == _EVENT}
        while at < len(rows):
            done = self._replay(rows, at, older)
            at += done
            if done or at == len(rows):
                continue
            if not is_fetched:
                self._prefetch(rows[at:])
                older |= self.events.in_memory[1]
                is_fetched = True
                continue
            self.apply(record_of(rows[at]))
            at += 1

    def _replay(self, rows: list[Row], at: int, older: dict[int, Record | Row]) -> int:
        """Apply rows natively as far as possible. Returns how many. `older` has the events of the rows and of
        their labels that are not among the recent ones."""
        if self.skipped:
            # A skipped record is applied alone, because the native learner would learn it.
            stop = min((seq for seq in self.skipped if seq >= rows[at][0]), default=rows[-1][0] + 1)
            rows = rows[: bisect_left(rows, stop, at, key=itemgetter(0))]
            if at == len(rows):
                return 0
        seq, kind, time, number, *_ = rows[at]
        stream = self.streams.get(number)
        if stream is None or stream.parked or kind not in (_EVENT, _LABEL) or seq <= self.seq:
            return 0
        served = self._learning.native_model(stream)
        until = self._windows.quiet_until(time)
        if served is None or time > until:
            return 0
        recent, _, batch = self.events.in_memory
        run = served.replay(stream, (recent, older, batch), rows, at, self.time, until)
        if run.records:
            done = rows[at : at + run.records]
            stream.predictions += run.added
            if run.learned:
                stream.learned(run)
            self.events.remember_rows([row for row in done if row[1] == _EVENT])
            self.seq, self.time = done[-1][0], run.now
        return run.records

    def apply_labels(
        self, first: int, time: int, number: int, ids: list[str], labels: list[dict[str, Any]]
    ) -> list[Outcome]:
        """Apply consecutive labels of one stream and time. The result equals that of `apply` for each record."""
        self._advance(first, time)
        stream = self.streams.get(number)
        if stream is None:
            self.seq = first + len(ids) - 1
            return [_WITHOUT_MODEL for _ in ids]
        return self.join.label_many(stream, ids, labels, first, 1, time)

    def learns_natively(self, stream: Stream) -> bool:
        """Whether most labels of a stream are learned natively, many in one call."""
        return stream.number in self.streams and self._learning.native_model(stream) is not None

    def apply_events(self, group: EventGroup, rows: list[Row]) -> None:
        """Apply a group of events. The result equals that of `apply` for each record."""
        if not all(self._only_remembers(number) for number in group.streams):
            for row in rows:
                self.apply(record_of(row))
            return
        self._advance(group.first, group.time)
        self.seq = group.first + len(rows) - 1
        self.events.remember_group(group, rows)
        for number in group.streams:
            stream = self.streams[number]
            added, evicted = group.add_to(number, stream.pending, stream.policy.max_pending)
            stream.predictions += added
            self._windows.forget(stream, evicted)

    def _advance(self, seq: int, time: int) -> None:
        """Advance to a record; if its time is later, windows close first."""
        if seq <= self.seq:
            raise InvalidValue(f"serve: record {seq} does not follow record {self.seq}")
        self.seq = seq
        if time > self.time:
            self.time = time
            for stream in self.streams.values():
                self._windows.close_due(stream)

    def _prefetch(self, rows: list[Row]) -> None:
        """Read the events of the labels in some rows together, so that they are found in memory."""
        ids: dict[int, list[Any]] = {}
        for _, kind, _, number, id, body, _ in rows:
            if kind == _LABEL:
                ids.setdefault(number, []).append(id)
            elif kind == _LABELS:
                ids.setdefault(number, []).extend([label["id"] for label in unpack_labels(body)])
        streams = self.streams
        found = [streams[number].pending.find_many(each) for number, each in ids.items() if number in streams]
        self.events.prefetch([entry[0] for entries in found for entry in entries if entry is not None])

    def _without_stream(self, kind: int, record: Record, parsed: Any) -> Any:
        """Handle a record that was in flight when its model was deleted; it has no effect."""
        if kind == _LABELS:
            return [_WITHOUT_MODEL for _ in (unpack_labels(record.body) if parsed is None else parsed)]
        return _WITHOUT_MODEL if kind in (_LABEL, Kind.LEARN) else None

    # -------------------------------------------------------------------------------------------------- events

    def _only_remembers(self, number: int) -> bool:
        """Whether the only effect of an event of a stream is that it waits for a label."""
        stream = self.streams.get(number)
        if stream is None or stream.parked or stream.collected:
            return False
        return not self._learning.learns_without_labels(stream)

    def _event(self, stream: Stream, record: Record, x: Any) -> None:
        id = str(record.id)
        self.events.remember(record)
        self.join.add_event(stream, id, record.seq, 0, record.time, x)
        if _is_deferred(record.body):
            stream.pending.mark(id, DEFERRED, 0)

    def _events(self, stream: Stream, record: Record, ids: EventIds | None) -> None:
        self.events.remember(record)
        if stream.parked or self._learning.learns_without_labels(stream):
            for item, (id, x, _) in enumerate(unpack_events(record.body)):
                self.join.add_event(stream, id, record.seq, item, record.time, x)
            return
        ids = unpack_ids(record.body) if ids is None else ids
        if isinstance(ids, IdRange):
            added, evicted = stream.pending.add_range(ids, record.seq, record.time, stream.policy.max_pending)
            stream.predictions += added
            self._windows.forget(stream, evicted)
            return
        stream.predictions += stream.pending.add_many(ids, record.seq, record.time).count(True)
        self._windows.evict(stream)

    # ------------------------------------------------------------------------------------------------ snapshot

    def snapshot(self) -> tuple[dict[str, Any], dict[str, bytes]]:
        """The complete state as plain data and named bytes."""
        blobs: dict[str, bytes] = {}
        header: dict[str, Any] = {
            "seq": self.seq,
            "time": self.time,
            "last_stream": self.last_stream,
            "models": [],
            "streams": [],
        }
        for index, served in enumerate(self.models.values()):
            data, parts = served.snapshot()
            header["models"].append(data | {"name": served.name})
            blobs |= {f"models/{index}/{name}": part for name, part in parts.items()}
        for index, stream in enumerate(self.streams.values()):
            data, parts = stream.snapshot()
            header["streams"].append(data)
            blobs |= {f"streams/{index}/{name}": part for name, part in parts.items()}
        header["routes"] = [route.describe() for route in self.routes.values()]
        return header, blobs

    def restore(self, header: dict[str, Any], blobs: dict[str, bytes]) -> None:
        """Continue from a snapshot."""
        for index, data in enumerate(header["models"]):
            parts = _under(blobs, f"models/{index}/")
            served = ServedModel.restored(data["name"], data, parts)
            self.models[served.name] = served
        for described in header["routes"]:
            route = Route.restored(described)
            self.routes[route.name] = route
        for index, data in enumerate(header["streams"]):
            stream = Stream.restored(data, _under(blobs, f"streams/{index}/"))
            self.streams[stream.number] = self.by_name[stream.name] = stream
        self.seq, self.time, self.last_stream = header["seq"], header["time"], header["last_stream"]


_WITHOUT_MODEL = Outcome(Fate.UNKNOWN, 0, "the model was deleted")


def _is_deferred(body: str | bytes) -> bool:
    return body.endswith(DEFERRED_END) if isinstance(body, str) else body.endswith(DEFERRED_END.encode())


def _under(blobs: dict[str, bytes], prefix: str) -> dict[str, bytes]:
    return {name.removeprefix(prefix): part for name, part in blobs.items() if name.startswith(prefix)}
