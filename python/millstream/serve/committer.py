"""The log thread: numbers proposals, commits them in groups, applies them to the state, and reports outcomes."""

from __future__ import annotations

import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any, NamedTuple

from millstream._core import EventGroup, EventQueue
from millstream.errors import InvalidValue
from millstream.serve.clock import Clock
from millstream.serve.counters import Histogram
from millstream.serve.drafts import draft_of, parsed_of, subject_of
from millstream.serve.fates import Outcome
from millstream.serve.faults import crash_point
from millstream.serve.fold import State
from millstream.serve.in_flight import InFlight
from millstream.serve.proposal import Proposal, QueueFull, Stopped
from millstream.serve.records import Draft, Kind, Record
from millstream.serve.screening import Screening
from millstream.serve.store import EventStore
from millstream.serve.store_errors import StoreFailed, StoreFull

__all__ = ["Committer", "QueueFull", "Stopped"]

#: Proposals and bytes of one group, so that one commit stays short.
_MOST_PROPOSALS = 4096
_MOST_BYTES = 8 << 20
#: Records that models learn from.
_TEACHING = (Kind.LABEL, Kind.LABELS, Kind.LEARN)
_LABEL = Kind.LABEL
#: Seconds without a record after which the time is written to the log, so that windows close on a quiet server.
_TICK = 1.0


#: A proposal that is written, and the outcomes of those of its labels that are not.
_Kept = tuple[Proposal, list[Outcome | None] | None]


class _Work(NamedTuple):
    """The record that is being applied: its start time, and the name of its model or route, if it has one."""

    start: float
    name: str
    is_operation: bool = False


class Committer:
    """Owns the state: only its thread changes it.

    `lock` is held while a group is applied, and is released during the commit. Threads that read several values
    of the state acquire it; predictions do not need it.
    """

    def __init__(
        self,
        state: State,
        store: EventStore,
        clock: Clock,
        *,
        max_queue: int = 100_000,
        max_queue_bytes: int = 256 << 20,
        after_group: Callable[[], None] = lambda: None,
        snapshot: Callable[[State], None] = lambda state: None,
        failed: Callable[[BaseException], None] = lambda error: None,
        administered: Callable[[], None] = lambda: None,
    ) -> None:
        self.state, self.store, self.clock = state, store, clock
        self.lock = threading.Lock()
        #: Limits of the records that wait: their number, and the estimated memory of proposals.
        self.max_queue, self.max_queue_bytes = max_queue, max_queue_bytes
        self.after_group, self.snapshot, self.failed = after_group, snapshot, failed
        #: Called in the log thread after an operation has changed the set of models.
        self.administered = administered
        #: Events that were predicted natively.
        self.events = EventQueue(max_queue)
        #: The events that are not in the state yet.
        self.in_flight = InFlight(self.events)
        #: Number of events lost to a full disk, and the last disk error.
        self.lost_events = 0
        #: Number of records refused because too many were waiting.
        self.shed = 0
        self.disk_error: str | None = None
        #: Durations of commits, and of learning one label by stream, the mean of labels that were learned
        #: together; those of a replay are not counted.
        self.commits = Histogram()
        self.learning: dict[str, Histogram] = {}
        self.groups = 0
        self.committed = 0
        self._applying: _Work | None = None
        #: Start and end of the last operation.
        self._last_operation = 0.0, 0.0
        self._queue: deque[Proposal] = deque()
        #: Estimated memory of the proposals that are not committed yet.
        self.queued_bytes = 0
        self._proposing = threading.Lock()
        self._stopping = False
        self._stopped: BaseException | None = None
        self._wanted_snapshot = False
        self._thread = threading.Thread(target=self._run, name="millstream-log", daemon=True)

    # ------------------------------------------------------------------------------------------------- clients

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def propose(self, proposal: Proposal) -> None:
        """Pass a record to the log thread."""
        with self._proposing:
            if self._stopped is not None or self._stopping:
                raise Stopped("serve: the log accepts no more records")
            # A proposal above the limit is accepted if no other waits, because a client cannot make it smaller.
            is_full = self.queued_bytes and self.queued_bytes + proposal.size > self.max_queue_bytes
            if is_full or len(self._queue) >= self.max_queue:
                self.shed += 1
                raise QueueFull("serve: too many records wait for the log")
            self.in_flight.add(proposal)
            self.queued_bytes += proposal.size
            self._queue.append(proposal)
        self.events.notify()

    def ask(self, proposal: Proposal, timeout: float = 60.0) -> Any:
        """Propose a record, and wait for its outcome."""
        done = threading.Event()
        found: list[Any] = []

        def answer(outcome: Any) -> None:
            found.append(outcome)
            done.set()

        proposal.answer = answer
        self.propose(proposal)
        if not done.wait(timeout):
            raise Stopped(f"serve: the log did not answer within {timeout:g} seconds")
        if isinstance(found[0], BaseException):
            raise found[0]
        return found[0]

    def stop(self, timeout: float | None = None) -> bool:
        """Commit the proposed records and stop the thread. False if it did not stop in time."""
        with self._proposing:
            self._stopping = True
        self.events.close()
        self.events.notify()
        if self._thread.ident is not None:
            self._thread.join(timeout)
        return not self._thread.is_alive()

    def request_snapshot(self) -> None:
        """Take a snapshot after the current group."""
        self._wanted_snapshot = True
        self.events.notify()

    @contextmanager
    def reading(self, timeout: float = 10.0) -> Iterator[None]:
        """Lock the state, to read several values consistently."""
        if not self.lock.acquire(timeout=timeout):
            raise Stopped(f"serve: a learner has not returned for {timeout:g} seconds")
        try:
            yield
        finally:
            self.lock.release()

    def stalled(self, seconds: float) -> str | None:
        """The model that has been learning a record for so long that it must be hanging, or None."""
        work = self._applying
        if work is None or work.is_operation or perf_counter() - work.start < seconds:
            return None
        return self._learning_model(work.name)

    def operating(self, seconds: float) -> str | None:
        """The model or route whose operation, such as a rollback, has been running for so long, or None."""
        work = self._applying
        is_long = work is not None and work.is_operation and perf_counter() - work.start >= seconds
        return work.name if work is not None and is_long else None

    def delays(self, seconds: float) -> bool:
        """Whether requests may wait for so long although the handler works: a learner hangs, or a long operation
        is running or ended so recently that requests still wait."""
        work, now = self._applying, perf_counter()
        if work is not None and work.is_operation and now - work.start >= seconds / 2:
            return True
        start, end = self._last_operation
        return (end - start >= seconds / 2 and now - end < seconds) or self.stalled(seconds) is not None

    def _learning_model(self, name: str) -> str:
        """The model of a record of a stream; for a route or several streams, a model whose lock is held."""
        if name in self.state.models:
            return name
        for model, served in list(self.state.models.items()):
            if not served.lock.acquire(blocking=False):
                return model
            served.lock.release()
        return name or "a model"

    @property
    def waiting(self) -> int:
        """Number of records that wait for the next commit."""
        return len(self._queue) + self.events.waiting

    # -------------------------------------------------------------------------------------------------- thread

    def _run(self) -> None:
        group: list[Proposal] | None = []
        try:
            while True:
                group = self._next_group()
                if group is None:
                    break
                if self._commit(group):
                    self.after_group()
                elif self.store.checkpoint_due:
                    self.store.checkpoint()
                self.in_flight.release()
                if self._wanted_snapshot:
                    self._wanted_snapshot = False
                    self.snapshot(self.state)
        except BaseException as error:  # whatever it is, the server must stop
            self._fail(error, group or [])
        finally:
            self.in_flight.close()

    def _fail(self, error: BaseException, group: list[Proposal]) -> None:
        """Refuse all further records, because memory and log may differ."""
        self._stopped = error
        self.events.close()
        for proposal in group:
            _answer(proposal, error)
        while self._queue:
            _answer(self._queue.popleft(), error)
        self.after_group()
        self.failed(error)

    def _next_group(self) -> list[Proposal] | None:
        """The proposals of the next commit; None at the end."""
        if not self._queue and not self._stopping and not self._wanted_snapshot:
            self.events.wait(_TICK)
        is_last = self._stopping
        group: list[Proposal] = []
        size = 0
        while self._queue and len(group) < _MOST_PROPOSALS and size < _MOST_BYTES:
            proposal = self._queue.popleft()
            size += proposal.size
            group.append(proposal)
        if group or self.events.waiting:
            return group
        if is_last:
            return None
        return [Proposal(Kind.TICK, None, None, "")] if self._is_tick_due() else []

    def _is_tick_due(self) -> bool:
        """Whether the passing of time changes the state: a window or a parked label may be due."""
        now = self.clock.now()
        return any(stream.has_due(now) for stream in self.state.streams.values())

    def _commit(self, group: list[Proposal]) -> bool:
        """Write and apply proposals, after all events that were predicted natively, so that a proposed label
        follows its event. Returns whether there was anything to write."""
        now = max(self.state.time, self.clock.now())
        events = self.events.take(self.store.seed, self.store.last_seq + 1, now, self.store.packs)
        try:
            self._count_lost(self.events.take_lost())
            if group or events is not None:
                self._commit_both(group, events, now)
        finally:
            self.events.finish()
            with self._proposing:
                self.queued_bytes -= sum(proposal.size for proposal in group)
        return bool(group) or events is not None

    def _count_lost(self, events: int) -> None:
        self.lost_events += events
        self.shed += 0 if self._stopping else events

    def _commit_both(self, group: list[Proposal], events: EventGroup | None, now: int) -> None:
        drafts: list[Draft] = []
        kept: list[_Kept] = []
        screening = Screening(self.state, group, events)
        for proposal in group:
            try:
                screened = screening.outcomes(proposal)
                draft = draft_of(proposal, screened, now)
            except (TypeError, ValueError) as error:
                # A body that is not valid JSON is not written.
                self.in_flight.remove(proposal)
                _answer(proposal, InvalidValue(f"serve: cannot be stored: {error}"))
                continue
            if screened is not None and all(outcome is not None for outcome in screened):
                self._count_screened(proposal, screened)
                _answer(proposal, screened if proposal.kind == Kind.LABELS else screened[0])
                continue
            drafts.append(draft)
            kept.append((proposal, screened))
        rows = [] if events is None else events.rows()
        if not drafts and not rows:
            return
        start = perf_counter()
        try:
            first = self.store.append(drafts, rows)
        except StoreFull as error:
            self.lost_events += len(rows)
            self._lose(kept, error)
            return
        except StoreFailed as error:
            for proposal, _ in kept:
                self.in_flight.remove(proposal)
                _answer(proposal, error)
            raise
        self.commits.add(perf_counter() - start)
        self.disk_error = None
        self.events.set_storing(True)
        crash_point("committer.committed")
        self.groups += 1
        self.committed += len(drafts) + len(rows)
        self.state.events.prefetch(screening.seqs)
        with self.lock:
            if events is not None:
                self._applying = _Work(perf_counter(), "")
                self.state.apply_events(events, rows)
            at = 0
            while at < len(kept):
                count = self._labels_from(kept, at)
                if count > 1:
                    self._apply_labels([proposal for proposal, _ in kept[at : at + count]], first + at, drafts[at])
                else:
                    self._apply(*kept[at], first + at, drafts[at])
                at += count
        self._applying = None
        crash_point("committer.applied")

    def _labels_from(self, kept: list[_Kept], start: int) -> int:
        """Number of consecutive proposals of one label each that can be applied together.

        They are of one stream whose model learns natively. Labels of other models are applied one by one, so that
        a hanging learner is noticed.
        """
        stream, end = kept[start][0].stream, start
        if kept[start][0].kind != _LABEL or stream is None or not self.state.learns_natively(stream):
            return 1
        while end < len(kept) and kept[end][0].kind == _LABEL and kept[end][0].stream is stream:
            end += 1
        return end - start

    def _apply(self, proposal: Proposal, screened: list[Outcome | None] | None, seq: int, draft: Draft) -> None:
        """Apply a committed record, and report its outcome."""
        record = Record(seq, draft.kind, draft.time, draft.stream, proposal.id, draft.body)
        start = perf_counter()
        self._applying = _Work(start, subject_of(proposal), proposal.kind == Kind.ADMIN)
        outcome = self.state.apply(record, parsed_of(proposal, screened))
        if proposal.kind in _TEACHING and proposal.stream is not None:
            self._count_learning(proposal.stream.name, perf_counter() - start, outcome)
        if screened is not None and proposal.kind == Kind.LABELS:
            self._count_screened(proposal, screened)
            applied = iter(outcome)
            outcome = [next(applied) if each is None else each for each in screened]
        self.in_flight.remove(proposal)
        if proposal.kind == Kind.ADMIN:
            self.administered()
            self._last_operation = start, perf_counter()
        _answer(proposal, seq if outcome is None else outcome)

    def _apply_labels(self, proposals: list[Proposal], first: int, draft: Draft) -> None:
        """Apply committed labels of one stream together, and report their outcomes."""
        start = perf_counter()
        name = subject_of(proposals[0])
        self._applying = _Work(start, name)
        ids, labels = [str(each.id) for each in proposals], [each.parsed for each in proposals]
        outcomes = self.state.apply_labels(first, draft.time, draft.stream, ids, labels)
        self._count_learning(name, perf_counter() - start, outcomes)
        for proposal, outcome in zip(proposals, outcomes, strict=True):
            _answer(proposal, outcome)

    def _count_learning(self, stream: str, seconds: float, outcome: Any) -> None:
        labels = len(outcome) if isinstance(outcome, list) else 1
        if labels:
            self.learning.setdefault(stream, Histogram()).add(seconds / labels, labels)

    def _count_screened(self, proposal: Proposal, screened: list[Outcome | None]) -> None:
        """Count labels that were received but not written."""
        stream = proposal.stream
        if stream is None or stream.name not in self.state.by_name:
            return
        for outcome in screened:
            if outcome is not None:
                stream.received += 1
                stream.count(outcome.fate)

    def _lose(self, kept: list[tuple[Proposal, Any]], error: StoreFull) -> None:
        """Handle a full disk: the state is unchanged."""
        self.disk_error = str(error)
        self.events.set_storing(False)
        for proposal, _ in kept:
            self.in_flight.remove(proposal)
            if proposal.kind == Kind.EVENT:
                self.lost_events += 1
            elif proposal.kind == Kind.EVENTS:
                self.lost_events += len(proposal.parsed)
            _answer(proposal, error)


def _answer(proposal: Proposal, outcome: Any) -> None:
    answer, proposal.answer = proposal.answer, None
    if answer is None:
        return
    try:
        answer(outcome)
    except Exception as error:  # a failed reply to one client must not stop the log
        traceback.print_exception(error, file=sys.stderr)
