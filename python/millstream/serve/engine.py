"""The server without its protocol: a data folder, its log, and the state computed from the log."""

from __future__ import annotations

import copy
import json
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import millstream
from millstream._echo import quoted
from millstream.errors import InvalidState, InvalidValue, MillstreamError
from millstream.serve.clock import Clock
from millstream.serve.committer import Committer
from millstream.serve.disk import Disk
from millstream.serve.event_reader import EventReader
from millstream.serve.fold import MissingModel, State
from millstream.serve.folder import DataFolder
from millstream.serve.kept_states import KeptStates, reason_of
from millstream.serve.log_mark import MARK, log_mark, mismatch, set_aside
from millstream.serve.names import check_name
from millstream.serve.policy import LabelPolicy
from millstream.serve.proposal import Proposal
from millstream.serve.reader import RecordReader
from millstream.serve.records import Kind
from millstream.serve.retention import Retention, first_needed
from millstream.serve.served_model import ServedModel, is_data
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
        Open a damaged log without its damaged records.
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
        #: Model states computed by replays within the current rebuild.
        self._rebuilt: dict[tuple[str, int, frozenset[str]], tuple[dict[str, Any], dict[str, bytes]]] = {}
        self._depth = 0
        try:
            self.store: Any = self._opened_store(salvage)
            self.recovery = Recovery()
            self._kept = KeptStates(
                self.folder.path / "versions", self.store, self.recovery.note, read_only=read_only
            )
            self.state = self._recovered(until)
        except BaseException:
            self.folder.close()
            raise
        #: The record of the newest snapshot, and the record and time of the last attempt.
        self._snapshot_seq = self._attempt_seq = self.recovery.snapshot_seq
        self._attempt_time = time.monotonic()
        #: When the newest snapshot was written, in seconds since 1970; None if there is none.
        self.snapshot_written = self.recovery.snapshot_written
        if read_only:
            return
        self.clock = clock(self.state.time)
        self.committer = Committer(
            self.state, self.store, self.clock, max_queue_bytes=max_queue_bytes, snapshot=self._take_snapshot
        )

    # ------------------------------------------------------------------------------------------------ recovery

    def _opened_store(self, salvage: bool) -> Any:
        """The log; offline, a read-only view of it."""
        if self.read_only:
            return RecordReader(self.folder.events, Disk())
        return EventStore(self.folder.events, salvage=salvage)

    def _empty_state(self) -> State:
        return State(EventReader(self.store), self._make_model, self._rebuild, self._kept.write)

    def _recovered(self, until: int | None) -> State:
        """The newest valid snapshot, and a replay of the records after it."""
        start = time.perf_counter()
        state = self._empty_state()
        last = self.store.last_seq if until is None else until
        if last > self.store.last_seq or last < 0:
            raise InvalidValue(f"serve: the log ends at record {self.store.last_seq}, got until={until}")
        if not self.read_only:
            self.recovery.notes += self.store.report.lines()
        foreign = self._foreign_files()
        found, invalid = (None, []) if self._from_start else self._newest_snapshot(last)
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
        self.recovery.replayed = self._replay(state, last)
        # Only now: if the folder cannot be opened with this log, its owner may put the right one back.
        for path in foreign:
            set_aside(path)
            self.recovery.note(f"{path.relative_to(self.folder.path)} is not of this log; renamed to *.foreign")
        self.recovery.seconds = time.perf_counter() - start
        return state

    def _newest_snapshot(self, last: int) -> tuple[Snapshot | None, list[InvalidSnapshot]]:
        """The newest snapshot up to a record that belongs to the log, and those that were skipped."""
        return newest_valid(self.folder, last, mismatch=partial(mismatch, self.store))

    def _foreign_files(self) -> list[Path]:
        """Saved states that were not computed from this log. Only the newest snapshots are kept, so one with a
        high number would displace those of this log."""
        if self.read_only:
            return []
        found = list(self._kept.ahead(self.store.last_seq))
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

    def _replay(self, state: State, last: int) -> int:
        """Apply the records up to number `last`. Returns how many were applied."""
        records = self.store.read(state.seq + 1, last)
        count = 0
        while part := list(islice(records, _PART)):
            state.prefetch(part)
            for record in part:
                state.apply(record)
            count += len(part)
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

    def _rebuild(self, name: str, body: dict[str, Any], seq: int) -> ServedModel:
        """The model after record `to`, without the labels of the excluded events: a replay into an empty state.

        The result of the rollback in record `seq` is kept, because a later recovery needs it once older records
        are trimmed.
        """
        to, exclude, folder_id = body["to"], set(body.get("exclude", ())), body["folder_id"]
        done = self._kept.read(name, folder_id, seq)
        if done is None and not exclude:
            done = self._kept.read(name, folder_id, to)
        if done is None:
            done = self._replayed_once(name, to, frozenset(exclude))
        if seq:
            self._kept.write(done, seq)
        return done

    def _replayed_once(self, name: str, to: int, exclude: frozenset[str]) -> ServedModel:
        """Restore the result of an earlier rollback. A replay contains the rollbacks before it, which are replays
        too. Each is computed once; otherwise every further rollback would take twice as long."""
        known = self._rebuilt.get((name, to, exclude))
        if known is not None:
            return ServedModel.restored(name, *known)
        self._depth += 1
        try:
            done = self._replayed(name, to, exclude)
        finally:
            self._depth -= 1
            if not self._depth:
                self._rebuilt.clear()
        if self._depth and done.is_native:
            self._rebuilt[name, to, exclude] = done.snapshot()
        return done

    def _replayed(self, name: str, to: int, exclude: frozenset[str]) -> ServedModel:
        # A state without the excluded labels must not be stored as a version.
        state = State(EventReader(self.store), self._make_model, self._rebuild, lambda served, seq: None)
        state.excluded = {name: exclude}
        if not exclude:
            found, _ = self._newest_snapshot(to)
            if found is not None and any(data["name"] == name for data in found.header["models"]):
                state.restore(found.header, found.blobs)
        if state.seq + 1 < self.store.first_seq:
            raise InvalidValue(
                f"serve: cannot restore record {to}: the log starts at record {self.store.first_seq}"
            )
        self._replay(state, to)
        if name not in state.models:
            raise InvalidValue(f"serve: model {quoted(name)} did not exist at record {to}")
        return state.models[name]

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
            write_snapshot(self.folder, state.seq, {**header, MARK: log_mark(self.store, state.seq)}, blobs)
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
