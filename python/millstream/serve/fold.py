"""The state of a server as a fold over its log.

Applying a committed record is the only way to change this state, and the result depends on the record and the
state alone, not on a clock, on threads or on how records were grouped. Recovery therefore loads the newest
snapshot and replays the records after it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

from millstream._core import EventGroup, parse_json
from millstream.errors import InvalidValue, MillstreamError, UnknownName
from millstream.serve import promotion
from millstream.serve.batches import unpack_events, unpack_ids, unpack_labels
from millstream.serve.event_reader import EventReader
from millstream.serve.fates import Fate, Outcome
from millstream.serve.policy import LabelPolicy
from millstream.serve.records import Kind, Record, Row, record_of
from millstream.serve.route import Route
from millstream.serve.served_model import Prediction, ServedModel
from millstream.serve.store_errors import StoreDamaged, StoreFailed
from millstream.serve.stream import DEFERRED, LABELLED, WAITING, Collected, Entry, ParkedLabel, Stream, aggregated

__all__ = ["MissingModel", "State"]

#: The end of the body of a deferred event.
DEFERRED_END = ',"d":true}'
#: Kinds and fates of common records. Looking up an enum member takes 80 ns, and each record needs several.
_EVENT, _LABEL, _LABELS = int(Kind.EVENT), int(Kind.LABEL), int(Kind.LABELS)
_TICK, _ADMIN = int(Kind.TICK), int(Kind.ADMIN)
_LEARNED, _SCORED, _PARKED, _COLLECTED = Fate.LEARNED, Fate.SCORED, Fate.PARKED, Fate.COLLECTED
_QUARANTINED = Fate.QUARANTINED
_new = tuple.__new__
#: Number of windows closed in one step; the loop continues until none is due.
_MOST_CLOSED = 4096
#: Labels of one event that wait for its window to close.
_MOST_LABELS = 1000


class MissingModel(InvalidValue):
    """A learner written in Python was not passed to the server, so that its records cannot be applied."""


class State:
    """Models, routes and streams after records 1 to `seq`.

    `events` reads events back from the log. `make_model` creates the model of a "create" record, and `rebuild`
    computes the state of a model for a rollback; both are deterministic functions of the log and of the data
    folder. `keep_version` saves the state of a model that gets a name.
    """

    def __init__(
        self,
        events: EventReader,
        make_model: Callable[[dict[str, Any]], Any],
        rebuild: Callable[[str, dict[str, Any], int], ServedModel],
        keep_version: Callable[[ServedModel, int], None],
    ) -> None:
        self.events = events
        self._make_model = make_model
        self._rebuild = rebuild
        self._keep_version = keep_version
        self.seq = 0
        self.time = 0
        self.models: dict[str, ServedModel] = {}
        self.routes: dict[str, Route] = {}
        self.streams: dict[int, Stream] = {}
        self.by_name: dict[str, Stream] = {}
        #: The largest stream number so far. Numbers are not reused, because old records refer to them.
        self.last_stream = 0
        #: The last decoded batch of labels: its record, and the first label of each id.
        self._labels: tuple[int, dict[str, dict[str, Any]]] = (0, {})
        #: Event ids whose labels a model must not learn during a rebuild.
        self.excluded: dict[str, Collection[str]] = {}

    # --------------------------------------------------------------------------------------------------- apply

    def apply(self, record: Record, parsed: Any = None) -> Any:
        """Apply one record. Returns the outcome of a label, a list of outcomes of a batch, or None.

        `parsed` is the content of the body, if the caller has parsed it already.
        """
        seq, kind, time, number, id, _ = record
        if seq <= self.seq:
            raise InvalidValue(f"serve: record {seq} does not follow record {self.seq}")
        self.seq = seq
        if time > self.time:
            self.time = time
            for stream in self.streams.values():
                self._close_windows(stream)
        if number not in self.streams and kind not in (_ADMIN, _TICK):
            return self._without_stream(kind, record, parsed)
        if kind == _EVENT:
            return self._event(record, parsed)
        if kind == _LABEL:
            body = parse_json(record.body) if parsed is None else parsed
            return self._label(self.streams[number], str(id), body, record)
        if kind == Kind.EVENTS:
            return self._events(record, parsed)
        if kind == Kind.LABELS:
            stream = self.streams[record.stream]
            labels = unpack_labels(record.body) if parsed is None else parsed
            return [self._label(stream, body["id"], body, record, item) for item, body in enumerate(labels)]
        if kind == Kind.LEARN:
            return self._learn_example(record, parse_json(record.body) if parsed is None else parsed)
        if kind == Kind.ADMIN:
            try:
                return self._administer(record, parse_json(record.body))
            except MissingModel:
                raise
            except MillstreamError as error:
                # A replay applies the same record and must reach the same state.
                return error
            except KeyError as error:
                return UnknownName(f"serve: {error.args[0]!r} was deleted before")
        return None

    def prefetch(self, records: Iterable[Record]) -> None:
        """Read the events of the labels in some records together, so that `apply` finds them in memory."""
        ids: dict[int, list[str]] = {}
        for _, kind, _, number, id, body in records:
            if kind == _LABEL:
                ids.setdefault(number, []).append(str(id))
            elif kind == _LABELS:
                ids.setdefault(number, []).extend([label["id"] for label in unpack_labels(body)])
        streams = self.streams
        found = [streams[number].pending.find_many(each) for number, each in ids.items() if number in streams]
        self.events.prefetch([entry[0] for entries in found for entry in entries if entry is not None])

    def apply_events(self, group: EventGroup, rows: list[Row]) -> None:
        """Apply a group of events. The result equals that of `apply` for each record."""
        if not all(self._only_remembers(number) for number in group.streams):
            for row in rows:
                self.apply(record_of(row))
            return
        if group.first <= self.seq:
            raise InvalidValue(f"serve: record {group.first} does not follow record {self.seq}")
        self.seq = group.first
        if group.time > self.time:
            self.time = group.time
            for stream in self.streams.values():
                self._close_windows(stream)
        self.seq = group.first + len(rows) - 1
        self.events.remember_group(group, rows)
        for number in group.streams:
            stream = self.streams[number]
            added, evicted = group.add_to(number, stream.pending, stream.policy.max_pending)
            stream.predictions += added
            self._close(stream, evicted)

    def _only_remembers(self, number: int) -> bool:
        """Whether the only effect of an event of a stream is that it waits for a label."""
        stream = self.streams.get(number)
        if stream is None or stream.parked or stream.collected:
            return False
        return not any(self.models[name].learns_without_labels for name in self._members(stream))

    def _without_stream(self, kind: int, record: Record, parsed: Any) -> Any:
        """Handle a record that was in flight when its model was deleted; it has no effect."""
        outcome = Outcome(Fate.UNKNOWN, 0, "the model was deleted")
        if kind == Kind.LABELS:
            return [outcome for _ in (unpack_labels(record.body) if parsed is None else parsed)]
        return outcome if kind in (Kind.LABEL, Kind.LEARN) else None

    def _event(self, record: Record, x: Any) -> None:
        stream = self.streams[record.stream]
        id, body = str(record.id), record.body
        self.events.remember(record)
        self._remember(stream, id, record, 0, x)
        if body.endswith(DEFERRED_END) if isinstance(body, str) else body.endswith(DEFERRED_END.encode()):
            stream.pending.mark(id, DEFERRED, 0)

    def _events(self, record: Record, ids: list[str] | None) -> None:
        stream = self.streams[record.stream]
        self.events.remember(record)
        if not stream.parked and not any(
            self.models[name].learns_without_labels for name in self._members(stream)
        ):
            added = stream.pending.add_many(
                unpack_ids(record.body) if ids is None else ids, record.seq, record.time
            )
            stream.predictions += added.count(True)
            if len(stream.pending) > stream.policy.max_pending:
                self._close(stream, stream.pending.evict(stream.policy.max_pending))
            return
        for item, (id, x, _) in enumerate(unpack_events(record.body)):
            self._remember(stream, id, record, item, x)

    def _remember(self, stream: Stream, id: str, record: Record, item: int, x: Any) -> None:
        if not stream.pending.add(id, record.seq, item, record.time):
            # Sent again before its first record was applied.
            return
        stream.predictions += 1
        for name in self._members(stream):
            served = self.models[name]
            if served.learns_without_labels:
                if x is None:
                    x = self.events.event(record.seq, item).x
                self._learn_unlabelled(stream, served, id, x, record)
        if len(stream.pending) > stream.policy.max_pending:
            self._close(stream, stream.pending.evict(stream.policy.max_pending))
        if stream.parked and id in stream.parked:
            parked = stream.parked.pop(id)
            entry = Entry(record.seq, item, record.time, WAITING, 0)
            if stream.policy.learn_when == "on_window_close":
                label = record._replace(seq=parked.seq, time=parked.time)
                outcome = self._collect(stream, entry, parked.y, parked.w, {"y": parked.y, "w": parked.w}, label)
            else:
                outcome = self._join(stream, id, entry, parked.y, parked.w, parked.seq, parked.time)
            if outcome.fate is not Fate.COLLECTED:
                stream.count(outcome.fate)

    def _learn_unlabelled(self, stream: Stream, served: ServedModel, id: str, x: Any, record: Record) -> None:
        try:
            with served.lock:
                served.learn_unlabelled(x, record.seq)
        except Exception as error:  # a learner written in Python may raise anything
            stream.refuse(id, record.seq, record.time, f"{served.title}: {error}")

    # -------------------------------------------------------------------------------------------------- labels

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
            return self._repeated(id, entry, body)
        if entry.state == DEFERRED:
            return Outcome(Fate.CONFLICT, entry.seq, "the event was deferred and is not activated")
        if self._is_late(stream, entry) and stream.policy.late == "drop":
            return Outcome(Fate.LATE, entry.seq, "the window of the event is over")
        return None

    def _repeated(self, id: str, entry: Entry, body: dict[str, Any]) -> Outcome:
        """Handle a label of an event that already has one."""
        first = self._first_label(id, entry.label_seq)
        if first is None:
            # The window was closed with the default label.
            return Outcome(Fate.LATE, entry.seq, "the window of the event is over")
        if _same_label(first["y"], first.get("w", 1.0), body):
            return Outcome(Fate.DUPLICATE, entry.label_seq)
        return Outcome(Fate.CONFLICT, entry.label_seq, "another label of this event was learned")

    def _first_label(self, id: str, seq: int) -> dict[str, Any] | None:
        """The label of an event in a record; None if the record closed a window and contains no label of the
        event."""
        if self._labels[0] == seq:
            return self._labels[1].get(id)
        try:
            record = self.events.record(seq)
        except UnknownName:
            # A label that came before its event may be trimmed from the log before it.
            return None
        if record.kind == Kind.LABELS:
            if self._labels[0] != seq:
                # A batch that is sent again asks for all of its labels, one after the other.
                self._labels = (seq, {each["id"]: each for each in reversed(unpack_labels(record.body))})
            return self._labels[1].get(id)
        if record.kind in (Kind.LABEL, Kind.LEARN) and record.id == id:
            body: dict[str, Any] = parse_json(record.body)
            return body
        return None

    def _is_late(self, stream: Stream, entry: Entry) -> bool:
        return self.time - entry.time > stream.policy.window_ms

    def _label(self, stream: Stream, id: str, body: dict[str, Any], record: Record, item: int = 0) -> Outcome:
        stream.received += 1
        try:
            outcome = self._labelled(stream, id, body, record, item)
        except (MillstreamError, ArithmeticError, LookupError, TypeError, ValueError) as error:
            outcome = self._contained(stream, id, body, record, error)
        fate = outcome.fate
        if fate is not _PARKED and fate is not _COLLECTED:
            stream.count(fate)
        return outcome

    def _contained(
        self, stream: Stream, id: str, body: dict[str, Any], record: Record, error: Exception
    ) -> Outcome:
        """Quarantine a label whose handling failed unexpectedly.

        The record is in the log. If it stopped the log thread, it would also stop every recovery.
        """
        if isinstance(error, StoreDamaged | StoreFailed):
            raise error
        reason = f"the label could not be handled: {error!r}"
        stream.refuse(id, record.seq, record.time, reason, body.get("y"), kind="failed")
        # It may have been learned in part, so it must not be learned again.
        stream.pending.mark(id, LABELLED, record.seq)
        return Outcome(Fate.QUARANTINED, record.seq, reason)

    def _labelled(self, stream: Stream, id: str, body: dict[str, Any], record: Record, item: int) -> Outcome:
        y, w = body["y"], body.get("w", 1.0)
        found = stream.pending.find(id)
        if found is None:
            return self._unmatched(stream, id, body, record, item)
        entry: Entry = _new(Entry, found)
        if entry.state == LABELLED:
            return self._repeated(id, entry, body)
        if entry.state == DEFERRED:
            return Outcome(Fate.CONFLICT, entry.seq, "the event was deferred and is not activated")
        if self._is_late(stream, entry):
            if stream.policy.late == "dead_letter":
                stream.refuse(id, record.seq, record.time, "the label arrived after the window", y, kind="late")
                return Outcome(Fate.DEAD_LETTER, record.seq)
            if stream.policy.late == "drop":
                return Outcome(Fate.LATE, entry.seq, "the window of the event is over")
        elif stream.policy.learn_when == "on_window_close":
            return self._collect(stream, entry, y, w, body, record)
        return self._join(stream, id, entry, y, w, record.seq, record.time)

    def _unmatched(self, stream: Stream, id: str, body: dict[str, Any], record: Record, item: int) -> Outcome:
        """Handle a label without an event: learned if it includes features, otherwise parked or refused."""
        y, w = body["y"], body.get("w", 1.0)
        if "x" in body:
            return self._learn_labelled(stream, id, body["x"], y, w, record, item)
        if id in stream.parked:
            return _parked_again(stream.parked[id], body)
        if not stream.policy.early_window_ms:
            return Outcome(Fate.UNKNOWN, 0, f"no event {id!r} is known")
        stream.parked[id] = ParkedLabel(y, w, record.seq, record.time)
        if len(stream.parked) > stream.policy.max_parked:
            stream.parked.pop(next(iter(stream.parked)))
            stream.count(Fate.EXPIRED)
        return Outcome(Fate.PARKED, record.seq)

    def _collect(
        self, stream: Stream, entry: Entry, y: Any, w: float, body: dict[str, Any], record: Record
    ) -> Outcome:
        labels = stream.collected.get((entry.seq, entry.item), [])
        at = body.get("ts")
        if len(labels) >= _MOST_LABELS:
            return Outcome(Fate.CONFLICT, labels[0].seq, f"the event has {_MOST_LABELS} labels already")
        for label in labels:
            if _same_label(label.y, label.w, body) and label.at == at:
                return Outcome(Fate.DUPLICATE, label.seq)
        if labels and stream.policy.aggregate == "first":
            return Outcome(Fate.CONFLICT, labels[0].seq, "another label of this event is waiting")
        try:
            for name in self._members(stream):
                self.models[name].check(y, w)
            aggregated([*labels, Collected(y, w, record.seq, at)], stream.policy.aggregate)
        except MillstreamError as error:
            stream.refuse(self.events.event(entry.seq, entry.item).id, record.seq, record.time, str(error), y)
            return Outcome(Fate.QUARANTINED, record.seq, str(error))
        stream.collected[entry.seq, entry.item] = [*labels, Collected(y, w, record.seq, at)]
        return Outcome(Fate.COLLECTED, record.seq)

    def _join(self, stream: Stream, id: str, entry: Entry, y: Any, w: float, seq: int, time: int) -> Outcome:
        """Learn an event with its label, and score the predictions that were served."""
        try:
            event = self.events.event(entry.seq, entry.item)
        except UnknownName:
            # Its record was lost to damage.
            return Outcome(Fate.UNKNOWN, 0, f"the record of event {id!r} is lost")
        if event.id != id:
            # Two ids with the same 128-bit hash.
            return Outcome(Fate.UNKNOWN, 0, f"no event {id!r} is known")
        outcome = self._teach(stream, id, event.x, y, w, event.body, seq, time)
        if outcome.fate is not _QUARANTINED:
            stream.pending.mark(id, LABELLED, seq)
            stream.joined(time - entry.time)
            if stream.collected:
                # The policy was changed after labels were collected.
                stream.settle((entry.seq, entry.item), Fate.CONFLICT)
        return outcome

    def _teach(
        self,
        stream: Stream,
        id: str,
        x: Any,
        y: Any,
        w: float,
        served_as: dict[str, Any] | None,
        seq: int,
        time: int,
    ) -> Outcome:
        """Learn one example with every model of a stream; without `served_as`, it is not scored."""
        fate = _LEARNED
        route = self.routes.get(stream.name)
        champion = stream.name if route is None else route.champion
        losses: dict[str, float | None] = {}
        for name in (champion,) if route is None else route.members:
            served = self.models[name]
            if self.excluded and id in self.excluded.get(name, ()):
                continue
            try:
                if served.learns_without_labels:
                    served.check(y, w)
                    fate = _SCORED
                elif served.is_native:
                    served.learn(x, y, w, self.seq)
                else:
                    with served.lock:
                        served.learn(x, y, w, self.seq)
            except Exception as error:  # a learner written in Python may raise anything
                text = str(error) if isinstance(error, MillstreamError) else f"{served.title}: {error!r}"
                stream.refuse(id, seq, time, text, y)
                if name == champion:
                    # The event waits for a label that can be learned; then all models learn it, once.
                    return Outcome(_QUARANTINED, seq, text)
                continue
            if served_as is not None:
                prediction = prediction_of(served_as, name)
                if prediction is not None:
                    served.score(prediction, y, w, self.seq, time)
                    if route is not None:
                        losses[name] = promotion.loss(served.role, prediction.y, y)
        if route is not None and losses:
            route.observe(losses, seq, time, self.models)
        outcome: Outcome = _new(Outcome, (fate, seq, ""))
        return outcome

    def _learn_example(self, record: Record, body: dict[str, Any]) -> Outcome:
        """Handle a labelled example without a prediction."""
        stream = self.streams[record.stream]
        id = None if record.id is None else str(record.id)
        if id is not None:
            # With the id of an event, it is the label of this event.
            return self._label(stream, id, {"x": {}, **body}, record)
        stream.received += 1
        outcome = self._learn_labelled(stream, id, body.get("x"), body["y"], body.get("w", 1.0), record)
        stream.count(outcome.fate)
        return outcome

    def _learn_labelled(
        self, stream: Stream, id: str | None, x: Any, y: Any, w: float, record: Record, item: int = 0
    ) -> Outcome:
        """Learn an example that includes its features; its id is remembered, so that it is learned only once."""
        outcome = self._teach(stream, id or "", x, y, w, None, record.seq, record.time)
        if outcome.fate is not Fate.QUARANTINED:
            stream.examples += 1
            if id is not None and stream.pending.add(id, record.seq, item, record.time):
                stream.pending.mark(id, LABELLED, record.seq)
                if len(stream.pending) > stream.policy.max_pending:
                    self._close(stream, stream.pending.evict(stream.policy.max_pending))
        return outcome

    # ------------------------------------------------------------------------------------------------- windows

    def _close_windows(self, stream: Stream) -> None:
        """Close due windows, forget events after twice their window, and expire parked labels."""
        policy = stream.policy
        if policy.acts_on_close:
            while True:
                due = stream.pending.after(*stream.closed_to, self.time - policy.window_ms, _MOST_CLOSED)
                for entry in due:
                    stream.closed_to = (entry[0], entry[1])
                    self._window_closed(stream, Entry(*entry))
                if len(due) < _MOST_CLOSED:
                    break
        while True:
            old = stream.pending.expire(self.time - 2 * policy.window_ms, _MOST_CLOSED)
            self._close(stream, old)
            if len(old) < _MOST_CLOSED:
                break
        while stream.parked:
            id, label = next(iter(stream.parked.items()))
            if self.time - label.time <= policy.early_window_ms:
                break
            del stream.parked[id]
            stream.count(Fate.EXPIRED)

    def _close(self, stream: Stream, forgotten: Iterable[tuple[int, ...]]) -> None:
        """Handle forgotten events: those without a label are counted."""
        for entry in forgotten:
            key = (entry[0], entry[1])
            if key in stream.collected:
                # Evicted before its window closed.
                self._window_closed(stream, Entry(*entry))
            elif entry[3] == WAITING:
                stream.closed += 1

    def _window_closed(self, stream: Stream, entry: Entry) -> None:
        if entry.state != WAITING:
            return
        labels = stream.collected.pop((entry.seq, entry.item), None)
        if labels is None and stream.policy.default_label is None:
            return
        try:
            event = self.events.event(entry.seq, entry.item)
        except UnknownName:
            # Its record was lost to damage.
            stream.count(Fate.UNKNOWN, len(labels or ()))
            return
        if labels is None:
            outcome = self._teach(
                stream, event.id, event.x, stream.policy.default_label, 1.0, event.body, self.seq, self.time
            )
            if outcome.fate is not Fate.QUARANTINED:
                stream.count(Fate.DEFAULT)
            # Use the record of the event, because no record contains the label.
            stream.pending.mark(event.id, LABELLED, entry.seq)
            return
        try:
            y, w = aggregated(labels, stream.policy.aggregate)
        except MillstreamError as error:
            # The policy was changed after the labels were collected.
            stream.refuse(event.id, labels[-1].seq, self.time, str(error), labels[-1].y)
            stream.count(Fate.QUARANTINED, len(labels))
            return
        outcome = self._teach(stream, event.id, event.x, y, w, event.body, labels[-1].seq, self.time)
        stream.count(outcome.fate, len(labels))
        stream.pending.mark(event.id, LABELLED, labels[-1].seq)

    # ---------------------------------------------------------------------------------------------- administer

    def _members(self, stream: Stream) -> Iterable[str]:
        route = self.routes.get(stream.name)
        return (stream.name,) if route is None else route.members

    def _administer(self, record: Record, body: dict[str, Any]) -> None:
        op = body["op"]
        if op == "create":
            served = ServedModel(
                body["model"],
                self._make_model(body),
                body["metrics"],
                folder_id=body["folder_id"],
                native=body["native"],
            )
            self.models[served.name] = served
            self._add_stream(record.stream, served.name, LabelPolicy.of(body["policy"]))
        elif op == "delete":
            self.models.pop(body["model"], None)
            self._drop_stream(body["model"])
        elif op == "policy":
            self.by_name[body["stream"]].policy = LabelPolicy.of(body["policy"])
        elif op == "rollback":
            self._roll_back(record, body)
        elif op == "route":
            self._route(record, body)
        elif op == "unroute":
            self.routes.pop(body["route"], None)
            self._drop_stream(body["route"])
        elif op == "promote":
            self.routes[body["route"]].promote(body["model"], record.seq, record.time, body["why"])
        elif op == "version":
            self.models[body["model"]].name_version(body["version"], record.seq)
            self._keep_version(self.models[body["model"]], record.seq)
        elif op == "activate":
            self.by_name[body["stream"]].pending.mark(body["id"], WAITING, 0)
        elif op == "forget":
            self._forget(self.by_name[body["stream"]], body["id"])
        else:
            raise InvalidValue(f"serve: unknown operation {op!r}")

    def _forget(self, stream: Stream, id: str) -> None:
        found = stream.pending.find(id)
        if found is not None:
            stream.pending.remove(id)
            stream.settle((found[0], found[1]), Fate.EXPIRED)

    def _roll_back(self, record: Record, body: dict[str, Any]) -> None:
        name = body["model"]
        also = self.excluded.get(name, ())
        # A rebuild that excludes labels must also exclude them from earlier rollbacks.
        rebuilt = self._rebuild(name, body | {"exclude": [*body["exclude"], *also]}, 0 if also else record.seq)
        if rebuilt.folder_id != self.models[name].folder_id:
            raise InvalidValue(
                f"serve: model {name!r} did not exist at record {body['to']}; another one had its name"
            )
        rebuilt.take_versions(self.models[name].versions, body["to"])
        rebuilt.seq = record.seq
        self.models[name] = rebuilt

    def _route(self, record: Record, body: dict[str, Any]) -> None:
        name = body["route"]
        known = self.routes.get(name)
        self.routes[name] = Route.of(body, known)
        if known is None:
            self._add_stream(record.stream, name, LabelPolicy.of(body["policy"]))
        else:
            self.by_name[name].policy = LabelPolicy.of(body["policy"])

    def _add_stream(self, number: int, name: str, policy: LabelPolicy) -> None:
        stream = Stream(number, name, policy)
        self.last_stream = max(self.last_stream, number)
        self.streams[number] = self.by_name[name] = stream

    def _drop_stream(self, name: str) -> None:
        stream = self.by_name.pop(name, None)
        if stream is not None:
            del self.streams[stream.number]

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


def prediction_of(body: dict[str, Any], model: str) -> Prediction | None:
    """The prediction of a model in the body of an event."""
    if "m" in body:
        body = body["m"].get(model)
        if body is None:
            return None
    proba = body.get("p")
    if proba is not None:
        proba = [(label, p) for label, p in proba]
    prediction: Prediction = _new(Prediction, (body.get("y"), proba))
    return prediction


def _parked_again(first: ParkedLabel, body: dict[str, Any]) -> Outcome:
    """The outcome of a second label of an event that has not arrived yet."""
    return Outcome(Fate.DUPLICATE if _same_label(first.y, first.w, body) else Fate.CONFLICT, first.seq)


def _same_label(y: Any, w: float, body: dict[str, Any]) -> bool:
    other = body.get("y")
    return type(y) is type(other) and y == other and w == body.get("w", 1.0)


def _under(blobs: dict[str, bytes], prefix: str) -> dict[str, bytes]:
    return {name.removeprefix(prefix): part for name, part in blobs.items() if name.startswith(prefix)}
