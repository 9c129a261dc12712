"""Actors, what was sent to them, and how they are replaced: the part that both pools share."""

from __future__ import annotations

import os
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from millstream._echo import quoted
from millstream._frames import _library
from millstream._python_loop import check_on_error
from millstream.errors import InvalidState, InvalidType, InvalidValue, MillstreamError, UnknownName
from millstream.ray.local import import_ray
from millstream.ray.worker import TARGET, WEIGHT
from millstream.shard import Ledger, StaleEpoch

__all__ = ["Pool", "Sent", "as_table", "check_many"]

#: Seconds after which a worker that does not start is an error: Ray waits forever for a free CPU.
_START_TIMEOUT = 120.0


@dataclass
class Sent:
    """A batch that was sent: for each worker its rows, and how they are called."""

    seq: int
    #: By worker: the rows in Ray's object store, and further arguments of the call.
    rows: dict[str, tuple[Any, tuple[Any, ...]]]
    bytes: int
    #: The places of the rows before they were sorted by worker.
    places: Any = None
    #: Results that are still awaited, and those that have arrived, by worker.
    calls: dict[str, Any] = field(default_factory=dict)
    results: dict[str, Any] = field(default_factory=dict)


def as_table(X: Any, y: Any, w: Any, who: str) -> Any:
    """Rows with their targets and weights as an Arrow table."""
    import pyarrow as pa

    library = _library(X)
    if library == "pandas":
        table = pa.Table.from_pandas(X, preserve_index=False)
    elif library == "polars":
        table = X.to_arrow()
    elif isinstance(X, pa.RecordBatch):
        table = pa.Table.from_batches([X])
    elif isinstance(X, pa.Table):
        table = X
    else:
        raise InvalidType(f"{who}: rows must be an Arrow table or a data frame, got {type(X).__name__}")
    for name, values in ((TARGET, y), (WEIGHT, w)):
        if isinstance(values, str):
            if values not in table.column_names:
                raise UnknownName(f"{who}: there is no column {quoted(values)}")
            column = table.column(values)
            table = table.drop_columns([values])
        elif values is None:
            continue
        else:
            try:
                column = values if isinstance(values, (pa.Array, pa.ChunkedArray)) else pa.array(values)
            except (pa.ArrowInvalid, pa.ArrowTypeError):
                raise InvalidType(f"{who}: targets and weights must be columns of one type") from None
        if len(column) != table.num_rows:
            raise InvalidValue(f"{who}: there are {table.num_rows} rows and {len(column)} targets or weights")
        table = table.append_column(name, column)
    return table


class Pool:
    """The actors of a pool.

    Each actor has an epoch, which is never used twice: it is in the ledger before the actor starts. Batches that
    were sent are kept until their result is in a saved state, so that a new actor can learn them again.
    """

    name = "ray.Pool"
    #: What the ledger calls this kind.
    kind = ""

    def __init__(
        self,
        model: Any,
        folder: str | os.PathLike[str],
        workers: int,
        *,
        snapshot_every: int,
        max_pending: int,
        max_kept_bytes: int,
        cpus: float,
    ) -> None:
        limits = {"workers": workers, "snapshot_every": snapshot_every, "max_pending": max_pending}
        for limit, value in {**limits, "max_kept_bytes": max_kept_bytes}.items():
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise InvalidValue(f"{self.name}: {limit} must be a positive integer, got {quoted(value)}")
        self._ray = import_ray()
        if not self._ray.is_initialized():
            raise InvalidState(f"{self.name}: Ray is not started: call millstream.ray.start_local() or ray.init()")
        self.folder = Path(folder).resolve()
        self._model = model
        self._cpus = cpus
        self._snapshot_every, self._max_pending, self._max_kept = snapshot_every, max_pending, max_kept_bytes
        self._ledger = Ledger(self.folder / "ledger.json")
        found = self._ledger.read()
        self._committed: dict[str, Any] = self._checked(found) if found else self._first_content()
        self._epoch = int(self._committed["epoch"])
        self._seq = int(self._committed["seq"])
        #: How far the stream was learned at the last commit; None at the beginning.
        self.position: Any = self._committed["position"]
        self._actors: dict[str, Any] = {}
        self._epochs: dict[str, int] = {}
        self._kept: deque[Sent] = deque()
        self._pending: deque[Sent] = deque()
        self._since_save = 0
        self.skipped = 0
        for number in range(workers):
            self._epochs[f"worker-{number}"] = -1

    # What a kind of pool defines.

    def _class(self) -> tuple[type, tuple[Any, ...]]:
        """The class of an actor, and the arguments of its constructor."""
        raise NotImplementedError

    def _opening(self, worker: str) -> Any:
        """What an actor needs to open the last saved state."""
        raise NotImplementedError

    def _save(self) -> None:
        """Save what all actors have learned, so that nothing need be kept."""
        raise NotImplementedError

    def _content(self) -> dict[str, Any]:
        """What the ledger says about the saved state."""
        raise NotImplementedError

    # The ledger.

    def _first_content(self) -> dict[str, Any]:
        return {"kind": self.kind, "model": repr(self._model), "epoch": 0, "seq": -1, "position": None}

    def _checked(self, found: dict[str, Any]) -> dict[str, Any]:
        for name, own in (("kind", self.kind), ("model", repr(self._model))):
            if found.get(name) != own:
                raise InvalidState(f"{self.name}: {quoted(str(self.folder))} is of {found.get(name)}, got {own}")
        return found

    def _next_epoch(self) -> int:
        """A number that no actor has had, even if this process dies now."""
        self._check_ledger()
        self._epoch += 1
        self._committed["epoch"] = self._epoch
        self._ledger.write(self._committed)
        return self._epoch

    def _check_ledger(self) -> None:
        """Refuse to write after another process has opened the same folder."""
        found = self._ledger.read()
        if found is not None and found["epoch"] != self._epoch:
            raise StaleEpoch(f"{self.name}: another process has taken over {quoted(str(self.folder))}")

    def commit(self, position: Any = None) -> None:
        """Save what was learned, together with the position in the stream, in one atomic step.

        After a crash of this process, a new pool with the same folder has this state and this `position`. Read the
        stream from there: no row is lost or learned twice.
        """
        self.flush()
        self._save()
        self._committed = {
            **self._first_content(),
            "epoch": self._epoch,
            "seq": self._seq,
            "position": position,
            **self._content(),
        }
        self._check_ledger()
        self._ledger.write(self._committed)
        self.position = position
        self._prune()

    def _prune(self) -> None:
        """Remove files that no state needs."""

    # Actors.

    def _start(self, worker: str) -> None:
        """Make a new actor for a worker, with the last saved state."""
        former = self._actors.pop(worker, None)
        if former is not None:
            self._ray.kill(former)
        kind, arguments = self._class()
        remote = self._ray.remote(kind).options(num_cpus=self._cpus, max_restarts=0)
        self._actors[worker] = remote.remote(*arguments)
        self._open(worker)

    def _open(self, worker: str) -> None:
        """Begin a new epoch of a worker with the last saved state."""
        epoch = self._next_epoch()
        call = self._actors[worker].open.remote(epoch, self._opening(worker))
        try:
            self._ray.get(call, timeout=_START_TIMEOUT)
        except self._ray.exceptions.GetTimeoutError:
            raise InvalidState(f"{self.name}: {worker} did not start: is there a free CPU in Ray?") from None
        except self._ray.exceptions.RayTaskError as error:
            raise _own(error) from None
        self._epochs[worker] = epoch

    def _begin(self) -> None:
        for worker in list(self._epochs):
            self._start(worker)

    def _revive(self, worker: str) -> None:
        """Replace an actor that has died, and send it again what was learned since its state was saved."""
        for _ in range(10):
            try:
                self._start(worker)
                self._replay([worker])
                return
            except self._ray.exceptions.RayActorError:
                continue
        raise InvalidState(f"{self.name}: {worker} has died ten times")

    def _replay(self, workers: list[str]) -> None:
        for sent in self._kept:
            for worker in workers:
                if worker in sent.rows:
                    call = self._called(worker, sent)
                    if worker in sent.calls:
                        sent.calls[worker] = call
                    else:
                        # Its result has arrived before; the rows are learned again by the new state.
                        self._ray.get(call)

    def _called(self, worker: str, sent: Sent) -> Any:
        data, arguments = sent.rows[worker]
        return self._actors[worker].run.remote(self._epochs[worker], sent.seq, data, *arguments)

    # Batches.

    def _make_room(self, size: int) -> None:
        """Wait if too many batches are under way or kept."""
        kept = sum(sent.bytes for sent in self._kept)
        if self._since_save >= self._snapshot_every or (self._kept and kept + size > self._max_kept):
            self.flush()
            self._save()
        while len(self._pending) >= self._max_pending:
            self._await(self._pending[0])

    def _send(self, rows: dict[str, tuple[Any, tuple[Any, ...]]], size: int, places: Any = None) -> Sent:
        """Send a batch, after `_make_room`."""
        self._seq += 1
        sent = Sent(self._seq, rows, size, places)
        self._kept.append(sent)
        self._pending.append(sent)
        self._since_save += 1
        for worker in rows:
            sent.calls[worker] = self._called(worker, sent)
        return sent

    def flush(self) -> None:
        """Wait until all rows that were sent are learned."""
        while self._pending:
            self._await(self._pending[0])

    def _await(self, sent: Sent) -> None:
        """Wait for the results of a batch; actors that have died are replaced."""
        while sent.calls:
            worker, call = next(iter(sent.calls.items()))
            try:
                result = self._ray.get(call)
            except self._ray.exceptions.RayActorError:
                self._revive(worker)
                continue
            except self._ray.exceptions.RayTaskError as error:
                self._undo(sent)
                raise _at_place(_own(error), sent) from None
            if result[0] != self._epochs[worker]:
                # A process that was replaced has answered after all.
                self._revive(worker)
                continue
            sent.results[worker] = result
            self.skipped += result[-1]
            del sent.calls[worker]
        if sent in self._pending:
            self._pending.remove(sent)

    def _undo(self, bad: Sent) -> None:
        """Return all actors to the state without a batch that one of them has refused."""
        self._pending.remove(bad)
        self._kept.remove(bad)
        self._without(bad)
        for worker in list(self._actors):
            try:
                self._open(worker)
                self._replay([worker])
            except self._ray.exceptions.RayActorError:
                self._revive(worker)

    def _without(self, bad: Sent) -> None:
        """Correct what later batches say about the one that is undone."""

    def close(self) -> None:
        """End all actors. What was not committed is forgotten."""
        for actor in self._actors.values():
            self._ray.kill(actor)
        self._actors.clear()
        self._pending.clear()
        self._kept.clear()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _own(error: Any) -> Exception:
    """Our exception in that of Ray."""
    cause = getattr(error, "cause", None)
    return cause if isinstance(cause, MillstreamError) else error


def _at_place(error: Exception, sent: Sent) -> Exception:
    """The error with the row of the batch as it was given."""
    if not isinstance(error, MillstreamError) or error.row is None or sent.places is None:
        return error
    moved = type(error)(str(error).removeprefix(f"row {error.row}: "))
    moved.at_row(int(sent.places[error.row]))
    return moved


def check_many(on_error: str, who: str) -> None:
    """Refuse an unknown way to treat errors."""
    check_on_error(on_error)
    if on_error == "stop":
        raise InvalidValue(
            f'{who}: on_error must be "raise" or "skip": the rows of a batch are learned in parallel'
        )
