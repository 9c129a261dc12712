"""One model per key, in shards that actors hold."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from millstream import _frames
from millstream._echo import quoted
from millstream.compose.keyed import Keyed
from millstream.compose.keyed_python import PythonModels
from millstream.errors import InvalidState, InvalidType, InvalidValue, UnknownName
from millstream.ray.pool import Pool, Sent, as_table, check_many
from millstream.ray.worker import KeyedWorker, packed
from millstream.shard import Shard, StateFiles, owners, shards_of
from millstream.shard.union import united, united_totals

__all__ = ["KeyedPool"]


class KeyedPool(Pool):
    """`compose.Keyed` over several actors of Ray.

    The models are divided into shards by the hash of their keys, and shards are assigned to workers by rendezvous
    hashing. A worker that joins or leaves moves its own shards only. The models are exactly those of one process.

    An actor that dies is replaced. The new one reads the last saved state of its shards and learns again what
    was sent since. If this process dies, a new pool with the same folder continues from the last `commit`.

    Parameters
    ----------
    model
        A `compose.Keyed` that has learned nothing. Its limits count for each shard.
    folder
        Where states are written: a folder that all actors see.
    workers
        The number of actors.
    shards
        The number of shards, fixed when the folder is made. It limits the number of useful workers.
    snapshot_every
        The number of batches after which the states are saved.
    max_pending
        The largest number of batches under way; `learn_many` waits beyond.
    max_kept_bytes
        The largest size of the batches that are kept for actors that die; beyond, states are saved earlier.
    cpus
        The number of CPUs that Ray reserves for an actor.

    Attributes
    ----------
    position
        What was given to the last `commit`.
    skipped
        The number of rows that were skipped since the pool was made.
    """

    name = "ray.KeyedPool"
    kind = "ray.keyed"

    def __init__(
        self,
        model: Any,
        folder: str | os.PathLike[str],
        workers: int = 2,
        *,
        shards: int = 16,
        snapshot_every: int = 100,
        max_pending: int = 4,
        max_kept_bytes: int = 256_000_000,
        cpus: float = 1,
    ) -> None:
        if not isinstance(model, Keyed) or not isinstance(model.key, str):
            raise InvalidType(f"{self.name}: a compose.Keyed with the name of a column as key is required")
        if isinstance(model._models, PythonModels):
            raise InvalidType(f"{self.name}: {model.template!r} is written in Python: its state cannot be saved")
        if len(model):
            raise InvalidValue(f"{self.name}: the models must have learned no keys, got {len(model)}")
        if isinstance(shards, bool) or not isinstance(shards, int) or shards < 1:
            raise InvalidValue(f"{self.name}: shards must be a positive integer, got {quoted(shards)}")
        self._shards = shards
        super().__init__(
            model,
            folder,
            workers,
            snapshot_every=snapshot_every,
            max_pending=max_pending,
            max_kept_bytes=max_kept_bytes,
            cpus=cpus,
        )
        self._chains: list[list[str]] = [list(chain) for chain in self._committed["chains"]]
        #: The last batch of each shard that was saved, and that was sent.
        self._saved: list[int] = list(self._committed["saved"])
        self._last = list(self._saved)
        self._assign(list(self._epochs))
        self._begin()

    def _first_content(self) -> dict[str, Any]:
        empty: list[list[str]] = [[] for _ in range(self._shards)]
        own = {"shards": self._shards, "chains": empty, "saved": [-1] * self._shards}
        return {**super()._first_content(), **own}

    def _checked(self, found: dict[str, Any]) -> dict[str, Any]:
        super()._checked(found)
        if found["shards"] != self._shards:
            folder = quoted(str(self.folder))
            raise InvalidState(
                f"{self.name}: {folder} has {found['shards']} shards, got {self._shards}: keep the number"
            )
        return found

    def _content(self) -> dict[str, Any]:
        return {"chains": self._chains, "saved": self._saved}

    def _class(self) -> tuple[type, tuple[Any, ...]]:
        return KeyedWorker, (str(self.folder), self._model.to_bytes(), 16)

    def _opening(self, worker: str) -> dict[int, list[str]]:
        return {shard: self._chains[shard] for shard in range(self._shards) if self._owners[shard] == worker}

    def _assign(self, workers: Sequence[str]) -> None:
        self._owners = owners(self._shards, workers)
        order = sorted(range(self._shards), key=lambda shard: (self._owners[shard], shard))
        #: The shards in the order in which rows are sorted: those of a worker are together.
        self._order = order
        self._rank = np.empty(self._shards, dtype=np.int64)
        self._rank[order] = np.arange(self._shards)

    @property
    def workers(self) -> list[str]:
        """The names of the workers."""
        return list(self._epochs)

    # Learning.

    def learn_many(self, X: Any, y: Any = None, w: Any = None, *, on_error: str = "raise") -> None:
        """Learn rows, each with the model of its key. Returns before they are learned.

        `X` is an Arrow table or a data frame with the column of keys; `y` and `w` are columns or their names. A
        row that cannot be learned is reported by a later call, `flush` or `commit`; its batch is undone in all
        shards. With `on_error="skip"`, all other rows are learned.
        """
        self._learn(X, y, w, None, on_error)

    def step_many(self, X: Any, y: Any = None, w: Any = None, *, on_error: str = "raise") -> Any:
        """Predict or score each row with the model of its key, then learn it. Returns the predictions."""
        # Errors of rows that were sent before are raised now, before these rows are learned.
        self.flush()
        sent, order = self._learn(X, y, w, "class", on_error)
        if sent is None:
            return np.empty(0)
        self._await(sent)
        return self._in_order(order, [sent.results[worker][1] for worker in sent.rows])

    def predict_many(self, X: Any) -> Any:
        """Predict rows, each with the model of its key, after all rows sent before were learned."""
        return self._ask(X, "predict_many")

    def score_many(self, X: Any) -> Any:
        """Scores of rows, each with the model of its key."""
        return self._ask(X, "score_many")

    def _ask(self, X: Any, what: str) -> Any:
        self.flush()
        table, order, ranges = self._sorted(as_table(X, None, None, self.name))
        if not len(order):
            return np.empty(0)
        by_worker: dict[str, list[tuple[int, int, int]]] = {}
        for shard, start, stop in ranges:
            by_worker.setdefault(self._owners[shard], []).append((shard, start, stop))
        data = self._ray.put(packed(table))
        while True:
            calls = {
                worker: self._actors[worker].predict.remote(self._epochs[worker], data, parts, what)
                for worker, parts in by_worker.items()
            }
            try:
                return self._in_order(order, [self._ray.get(calls[worker]) for worker in by_worker])
            except self._ray.exceptions.RayActorError:
                self._revive_dead()

    def _revive_dead(self) -> None:
        for worker in list(self._actors):
            try:
                self._ray.get(self._actors[worker].save.remote(self._epochs[worker]))
            except self._ray.exceptions.RayActorError:
                self._revive(worker)

    def _in_order(self, order: Any, parts: list[list[Any]]) -> Any:
        """Predictions in the order of the given rows."""
        arrays = [array for part in parts for array in part]
        if all(isinstance(array, np.ndarray) for array in arrays) and len({array.dtype for array in arrays}) == 1:
            joined = np.concatenate(arrays)
            result = np.empty_like(joined)
            result[order] = joined
            return result
        answers: list[Any] = [None] * len(order)
        flat = [answer for array in arrays for answer in (array.tolist() if hasattr(array, "tolist") else array)]
        for place, answer in zip(order.tolist(), flat, strict=True):
            answers[place] = answer
        return _frames.pack_answers(answers)

    def _sorted(self, table: Any) -> tuple[Any, Any, list[tuple[int, int, int]]]:
        """Rows sorted by worker and shard, their former places, and (shard, start, stop) of each shard."""
        key = self._model.key
        if key not in table.column_names:
            raise UnknownName(f"{self.name}: there is no column {quoted(key)} for the key")
        ranks = self._rank[shards_of(table.column(key), self._shards)]
        order = np.argsort(ranks, kind="stable")
        counts = np.bincount(ranks, minlength=self._shards)
        stops = np.cumsum(counts)
        ranges = [
            (self._order[rank], int(stops[rank] - counts[rank]), int(stops[rank]))
            for rank in np.flatnonzero(counts).tolist()
        ]
        return table.combine_chunks().take(order), order, ranges

    def _learn(self, X: Any, y: Any, w: Any, predict: str | None, on_error: str) -> tuple[Sent | None, Any]:
        check_many(on_error, self.name)
        table, order, ranges = self._sorted(as_table(X, y, w, self.name))
        if not len(order):
            return None, order
        # One object for all workers: each reads the rows of its shards where they lie.
        data = packed(table)
        self._make_room(data.nbytes)
        shared = self._ray.put(data)
        # Saving or replacing an actor may have happened, so that the batch before each part is known only now.
        by_worker: dict[str, list[tuple[int, int, int, int]]] = {}
        for shard, start, stop in ranges:
            by_worker.setdefault(self._owners[shard], []).append((shard, self._last[shard], start, stop))
        rows = {worker: (shared, (parts, predict, on_error)) for worker, parts in by_worker.items()}
        sent = self._send(rows, data.nbytes, order)
        for shard, *_ in ranges:
            self._last[shard] = sent.seq
        return sent, order

    def _without(self, bad: Sent) -> None:
        """Link the batches after the one that is undone to those before it."""
        last = list(self._saved)
        for sent in self._kept:
            for worker, (data, (parts, *rest)) in sent.rows.items():
                linked = [(shard, last[shard], start, stop) for shard, _, start, stop in parts]
                sent.rows[worker] = data, (linked, *rest)
                for shard, *_ in parts:
                    last[shard] = sent.seq
        self._last = last

    # States.

    def _save(self) -> None:
        for worker in list(self._actors):
            while True:
                try:
                    found = self._ray.get(self._actors[worker].save.remote(self._epochs[worker]))
                    break
                except self._ray.exceptions.RayActorError:
                    self._revive(worker)
            for shard, (seq, chain) in found.items():
                self._chains[shard], self._saved[shard] = list(chain), seq
        self._kept.clear()
        self._since_save = 0

    def _prune(self) -> None:
        for shard in range(self._shards):
            keep = {*self._chains[shard], *self._committed["chains"][shard]}
            self._files(shard).prune(keep, (self._epoch, self._seq))

    def _files(self, shard: int) -> StateFiles:
        return StateFiles(self.folder / f"shard-{shard:05}")

    def _parts(self) -> list[Any]:
        self.flush()
        self._save()
        chains = [(shard, chain) for shard, chain in enumerate(self._chains) if chain]
        return [Shard.restore(self._files(shard).folder, chain=chain).model for shard, chain in chains]

    def collect(self) -> Any:
        """All models as one local `compose.Keyed`. Counts of `totals` restart in it; the pool has its own."""
        parts = self._parts()
        return united(parts) if parts else self._model.clone()

    def totals(self) -> dict[str, Any]:
        """`compose.Keyed.totals` of all shards, in the order of keys."""
        parts = self._parts()
        return united_totals(parts) if parts else self._model.totals()

    # Workers.

    def add_worker(self) -> str:
        """Add a worker, to which other workers give some shards. Returns its name."""
        number = 1 + max(int(worker.rpartition("-")[2]) for worker in self._epochs)
        self._epochs[f"worker-{number}"] = -1
        self._move()
        return f"worker-{number}"

    def remove_worker(self, worker: str) -> None:
        """Remove a worker. Its shards go to the others."""
        if worker not in self._epochs:
            raise UnknownName(f"{self.name}: there is no worker {quoted(worker)}")
        if len(self._epochs) == 1:
            raise InvalidValue(f"{self.name}: the last worker cannot be removed")
        self.flush()
        self._save()
        del self._epochs[worker]
        self._ray.kill(self._actors.pop(worker))
        self._move()

    def _move(self) -> None:
        """Reassign the shards; only workers whose shards change open theirs again."""
        self.flush()
        self._save()
        before = list(self._owners)
        self._assign(list(self._epochs))
        changed = {
            worker for old, new in zip(before, self._owners, strict=True) if old != new for worker in (old, new)
        }
        for worker in self._epochs:
            if worker not in self._actors:
                self._start(worker)
            elif worker in changed:
                self._open(worker)
