"""The server without its protocol: a data folder, its log, and the state computed from the log."""

from __future__ import annotations

import copy
import json
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import millstream
from millstream._echo import quoted
from millstream.errors import InvalidState, InvalidValue, MillstreamError
from millstream.serve.clock import Clock
from millstream.serve.committer import Committer
from millstream.serve.disk import Disk
from millstream.serve.event_reader import EventReader
from millstream.serve.fold import State
from millstream.serve.folder import DataFolder
from millstream.serve.garbage import rare_collections
from millstream.serve.kept_states import KeptStates, reason_of
from millstream.serve.log_mark import MARK, log_mark, mismatch, set_aside
from millstream.serve.names import check_name
from millstream.serve.operations import MissingModel
from millstream.serve.policy import LabelPolicy
from millstream.serve.proposal import Proposal
from millstream.serve.reader import RecordReader
from millstream.serve.records import Kind, Record
from millstream.serve.replay_watch import ReplayWatch
from millstream.serve.retention import Retention, first_needed
from millstream.serve.rollbacks import Rollbacks
from millstream.serve.served_model import ServedModel, is_data
from millstream.serve.skips import left_out, recorded_skips, skip_draft, skip_mismatch, wanted_skips
from millstream.serve.snapshots import (
    InvalidSnapshot,
    Snapshot,
    newest_valid,
    read_header,
    snapshot_seqs,
    write_snapshot,
)
from millstream.serve.store import EventStore
from millstream.serve.store_errors import StoreFull
from millstream.serve.unused_settings import unused_settings

__all__ = ["Engine", "Recovery"]

#: Number of records in a replay whose events are read together.
_PART = 2000
#: Number of notes that are kept. A disk that stays full causes one for every attempt at a snapshot.
_MOST_NOTES = 1000


class Recovery:
    """Report of opening a data folder."""

    def __init__(self) -> None:
        self.snapshot_seq = 0
        self.snapshot_written: float | None = None
        self.replayed = 0
        self.seconds = 0.0
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        """Add a note; of too many, the oldest are removed."""
        self.notes.append(text)
        del self.notes[:-_MOST_NOTES]


class Engine:
    """The models of a data folder, learning from its log.

    Parameters
    ----------
    data
        The data folder; it is created if it does not exist.
    models
        Models by name. A model that is already in the folder continues from the log. A learner written in Python
        must be given at every start, untrained or in the same state, because its state cannot be saved as data;
        it is replayed.
    policy
        The label policy of new models.
    metrics
        Names of the metrics of new models; by default those of the role.
    snapshot_records, snapshot_seconds
        A snapshot is taken after this number of records or this time, whichever is first.
    retention
        Limits of the log; by default everything is kept.
    salvage
        Open a damaged log without its damaged records, and without rollbacks whose state is lost.
    skip_records
        Numbers of records from which no model learns, for example a label on which a learner written in Python
        never returns. Labels in them are quarantined. The skip is recorded in the log.
    max_queue_bytes
        Limit of the estimated memory of records that wait for the log; requests above it get status 503.
    """

    def __init__(
        self,
        data: str | Path,
        models: Mapping[str, Any] | None = None,
        *,
        policy: LabelPolicy | Mapping[str, Any] | None = None,
        metrics: Iterable[str] | None = None,
        snapshot_records: int = 100_000,
        snapshot_seconds: float = 300.0,
        retention: Retention | None = None,
        salvage: bool = False,
        skip_records: Iterable[int] = (),
        read_only: bool = False,
        until: int | None = None,
        from_start: bool = False,
        max_queue_bytes: int = 256 << 20,
        clock: Callable[[int], Clock] = Clock,
    ) -> None:
        self.given = dict(models or {})
        for name in self.given:
            check_name("a model's name", name)
        self.policy = LabelPolicy.of(dict(policy) if isinstance(policy, Mapping) else policy)
        self.metrics = None if metrics is None else list(metrics)
        self.retention = retention
        self.snapshot_records, self.snapshot_seconds = snapshot_records, snapshot_seconds
        # A rebuild starts from the model as given.
        self._pristine = {name: copy.deepcopy(model) for name, model in self.given.items() if not is_data(model)}
        self.read_only, self._from_start = read_only, from_start
        self.folder = DataFolder(data, read_only=read_only)
        #: Whether the constructor is still replaying the log.
        self.is_recovering = True
        self._watch = ReplayWatch()
        try:
            with rare_collections():
                self.store: Any = self._opened_store(salvage)
                self.recovery = Recovery()
                #: The records that no model learns from.
                self._skipped = recorded_skips(self.store)
                self.kept = KeptStates(
                    self.folder.path / "versions",
                    self.store,
                    self.recovery.note,
                    skipped=self._skipped,
                    read_only=read_only,
                )
                self._rollbacks = Rollbacks(self, salvage=salvage)
                self.state = self._recovered_without(skip_records, until)
        except BaseException:
            self.folder.close()
            raise
        self.is_recovering = False
        #: The record of the newest snapshot, and the record and time of the last attempt.
        self._snapshot_seq = self._attempt_seq = self.recovery.snapshot_seq
        self._attempt_time = time.monotonic()
        #: When the newest snapshot was written, in seconds since 1970; None if there is none.
        self.snapshot_written = self.recovery.snapshot_written
        if read_only:
            return
        for note in unused_settings(self, given_policy=policy):
            self.recovery.note(note)
        self.clock = clock(self.state.time)
        self.committer = Committer(
            self.state, self.store, self.clock, max_queue_bytes=max_queue_bytes, snapshot=self._take_snapshot
        )

    # ------------------------------------------------------------------------------------------------ recovery

    def _opened_store(self, salvage: bool) -> Any:
        """The log; offline, a read-only view of it."""
        if self.read_only:
            return RecordReader(self.folder.events, Disk())
        return EventStore(self.folder.events, salvage=salvage, replays=True)

    def empty_state(
        self,
        keep_version: Callable[[ServedModel, int], None],
        rebuild: Callable[[str, dict[str, Any], int], ServedModel] | None = None,
    ) -> State:
        """The state before the first record. `rebuild` computes the states of rollbacks in its own way."""
        rebuild = rebuild or self._rollbacks.rebuild
        state = State(EventReader(self.store), self._make_model, rebuild, keep_version)
        state.skipped = self._skipped
        return state

    def _recovered_without(self, skip_records: Iterable[int], until: int | None) -> State:
        """The state of the log without learning from some records. This is written to the log only after the
        replay, which may find that a state without these records can no longer be computed."""
        wanted, notes = wanted_skips(self.store, skip_records)
        new = sorted(wanted - self._skipped)
        self._skipped |= wanted
        if new:
            self.kept.postpone()
        state = self._recovered(until)
        self.recovery.notes += notes
        for seq in [] if self.read_only else new:
            draft = skip_draft(seq, state.time)
            state.apply(Record(self.store.append([draft]), draft.kind, draft.time, 0, None, draft.body))
            self.recovery.note(f"record {seq} is skipped: no model learns from it")
        self.kept.resume()
        return state

    def _recovered(self, until: int | None) -> State:
        """The newest valid snapshot, and a replay of the records after it."""
        start = time.perf_counter()
        state = self.empty_state(self.kept.write)
        last = self.store.last_seq if until is None else until
        if last > self.store.last_seq or last < 0:
            raise InvalidValue(f"serve: the log ends at record {self.store.last_seq}, got until={until}")
        if not self.read_only:
            self.recovery.notes += self.store.report.lines()
        foreign = self._foreign_files()
        found, invalid = (None, []) if self._from_start else self.newest_snapshot(last)
        self.recovery.notes += [f"snapshot {name} is not used: {why}" for name, why in invalid]
        if found is not None:
            self._restore(state, found)
            self.recovery.snapshot_seq = found.seq
            written = self.folder.snapshots / f"{found.seq}.snapshot"
            self.recovery.snapshot_written = written.stat().st_mtime
        if state.seq + 1 < self.store.first_seq and last > state.seq:
            raise InvalidValue(
                f"serve: records {state.seq + 1} to {self.store.first_seq - 1} are needed, "
                "and were trimmed from the log"
            )
        first = state.seq + 1
        self.recovery.replayed = self.replay(state, last)
        if not self.read_only:
            self.store.complete(first, last)
        # Only now: if the folder cannot be opened with this log, its owner may put the right one back.
        for path in foreign:
            set_aside(path)
            self.recovery.note(f"{path.relative_to(self.folder.path)} is not of this log; renamed to *.foreign")
        self.recovery.seconds = time.perf_counter() - start
        return state

    def newest_snapshot(self, last: int) -> tuple[Snapshot | None, list[InvalidSnapshot]]:
        """The newest snapshot up to a record that belongs to the log, and those that were passed over."""

        def wrong(seq: int, header: Mapping[str, Any]) -> str | None:
            return mismatch(self.store, seq, header) or skip_mismatch(self.store, seq, header, self._skipped)

        return newest_valid(self.folder, last, mismatch=wrong)

    def _foreign_files(self) -> list[Path]:
        """Saved states that were not computed from this log. Only the newest snapshots are kept, so one with a
        high number would displace those of this log."""
        if self.read_only:
            return []
        found = list(self.kept.ahead(self.store.last_seq))
        for seq in snapshot_seqs(self.folder):
            path = self.folder.snapshots / f"{seq}.snapshot"
            # A damaged file with a number of the log displaces nothing, and is reported by the recovery.
            with suppress(InvalidState):
                if seq > self.store.last_seq or mismatch(self.store, seq, read_header(path)) is not None:
                    found.append(path)
        return found

    def _restore(self, state: State, found: Snapshot) -> None:
        """Continue from a snapshot with valid checksums; its content may still come from another program."""
        try:
            state.restore(found.header, found.blobs)
            if state.seq != found.seq:
                raise InvalidState(f"it has the state of record {state.seq!r}")
        except (MillstreamError, LookupError, TypeError, ValueError, AttributeError) as error:
            what = f"{type(error).__name__}: {error}".partition("\n")[0][:300]
            raise InvalidState(
                f"serve: snapshot {found.seq} cannot be continued ({what}): remove the file"
            ) from None

    def replay(self, state: State, last: int) -> int:
        """Apply the records up to number `last`. Returns how many were applied."""
        count = 0
        with self._watch.watching(state):
            for rows in self.store.rows(state.seq + 1, last):
                for start in range(0, len(rows), _PART):
                    state.apply_rows(rows[start : start + _PART])
                count += len(rows)
        return count

    def _make_model(self, body: dict[str, Any]) -> Any:
        """The initial model of a "create" record."""
        if body["native"]:
            return millstream.load(self.folder.model_file(body["folder_id"]))
        name = body["model"]
        if name not in self._pristine:
            raise MissingModel(
                f"serve: model {quoted(name)} was written in Python: pass it to serve.Server "
                f"as models={{{name!r}: …}}"
            )
        return copy.deepcopy(self._pristine[name])

    # ------------------------------------------------------------------------------------------------- running

    def start(self) -> None:
        """Start the log thread, and create the given models that are not in the folder yet."""
        self.committer.start()
        for name, model in self.given.items():
            if name not in self.state.models:
                self.create(name, model)

    def create(
        self,
        name: str,
        model: Any,
        *,
        policy: LabelPolicy | None = None,
        metrics: Iterable[str] | None = None,
    ) -> None:
        """Add a model: its initial state is saved, then its creation is written to the log."""
        check_name("a model's name", name)
        if name in self.state.by_name:
            raise InvalidValue(f"serve: the name {quoted(name)} is taken")
        chosen = self.metrics if metrics is None else list(metrics)
        served = ServedModel(name, model, chosen)
        folder_id = secrets.token_hex(8)
        if served.is_native:
            self.folder.write_model(folder_id, model.to_bytes())
        else:
            self._pristine.setdefault(name, copy.deepcopy(model))
        self.administer(
            {
                "op": "create",
                "model": name,
                "native": served.is_native,
                "folder_id": folder_id,
                "metrics": served.metric_names,
                "policy": (policy or self.policy).describe(),
            },
            stream=self.state.last_stream + 1,
        )

    def administer(self, body: Mapping[str, Any], *, stream: int = 0, timeout: float = 600.0) -> Any:
        """Write an operation to the log, and wait until it is applied. Returns its record's number."""
        text = json.dumps(body, separators=(",", ":"), allow_nan=False)
        return self.committer.ask(Proposal(Kind.ADMIN, None, None, text, parsed=stream), timeout)

    def stop(self, timeout: float | None = 30.0) -> None:
        """Commit the proposed records, take a final snapshot, and release the folder."""
        if not self.read_only:
            ended = self.committer.stop(timeout)
            if ended and self.committer._stopped is None and self.state.seq > self._snapshot_seq:
                self._take_snapshot(self.state)
        self.store.close()
        self.folder.close()

    # ----------------------------------------------------------------------------------------------- snapshots

    @property
    def can_snapshot(self) -> bool:
        """Whether the state of every model can be saved as data."""
        return all(served.is_native for served in self.state.models.values())

    def maybe_snapshot(self) -> None:
        """Request a snapshot if one is due."""
        new = self.state.seq - self._attempt_seq
        waited = time.monotonic() - self._attempt_time
        is_behind = self.state.seq > self._snapshot_seq
        if new >= self.snapshot_records or (is_behind and waited >= self.snapshot_seconds):
            self._attempt_seq, self._attempt_time = self.state.seq, time.monotonic()
            self.committer.request_snapshot()

    def _take_snapshot(self, state: State) -> None:
        """Write a snapshot. A failure is a note and only postpones it: the log has all records."""
        if not self.can_snapshot:
            return
        self._attempt_seq, self._attempt_time = state.seq, time.monotonic()
        try:
            header, blobs = state.snapshot()
            header |= {MARK: log_mark(self.store, state.seq), **left_out(state.seq, self._skipped)}
            write_snapshot(self.folder, state.seq, header, blobs)
        except (OSError, MillstreamError, ValueError) as error:
            self.recovery.note(f"no snapshot at record {state.seq}: {reason_of(error)}")
            return
        self._snapshot_seq, self.snapshot_written = state.seq, time.time()
        self._trim(state)

    def _trim(self, state: State) -> None:
        """Remove the records that `retention` does not keep; the next snapshot tries it again after a failure."""
        if self.retention is None:
            return
        try:
            needed = first_needed(state, snapshot_seqs(self.folder))
            keep = self.retention.limit(self.store, self.clock.now(), needed)
            if keep > self.store.first_seq:
                self.store.trim(keep)
        except StoreFull as error:
            self.recovery.note(f"the log is not trimmed at record {state.seq}: {reason_of(error)}")
