"""One global model, merged from partial models of actors."""

from __future__ import annotations

import os
from typing import Any

from millstream._part import shown_part, unlearned_copy
from millstream.errors import InvalidType, MillstreamError
from millstream.ray.pool import Pool, as_table, check_many
from millstream.ray.worker import PartialWorker, packed
from millstream.registry import from_bytes
from millstream.roles import role_of
from millstream.shard import StateFiles

__all__ = ["MergedPool"]


class MergedPool(Pool):
    """One model that several actors of Ray learn together.

    Each batch is learned by the next actor, into a partial model. From time to time, and in each `commit`, the
    partial models are merged into the global one. `commit` writes it together with the position in the stream:
    if this process dies before, what was merged since the last commit is learned again.

    Parameters
    ----------
    model
        The model to start from, which must support `merge`.
    folder
        Where the global model is written.
    workers
        The number of actors.
    snapshot_every
        The number of batches after which partial models are merged.
    max_pending
        The largest number of batches under way; `learn_many` waits beyond.
    max_kept_bytes
        The largest size of the batches that are kept for actors that die.
    cpus
        The number of CPUs that Ray reserves for an actor.
    """

    name = "ray.MergedPool"
    kind = "ray.merged"

    def __init__(
        self,
        model: Any,
        folder: str | os.PathLike[str],
        workers: int = 2,
        *,
        snapshot_every: int = 100,
        max_pending: int = 4,
        max_kept_bytes: int = 256_000_000,
        cpus: float = 1,
    ) -> None:
        if isinstance(model, type) or role_of(model) is None or not hasattr(model, "merge"):
            raise InvalidType(f"{self.name}: a model that can be merged is required, got {shown_part(model)}")
        try:
            model.copy().merge(unlearned_copy(model))
        except MillstreamError as error:
            raise type(error)(f"{self.name}: {error}; ray.KeyedPool has one model per key") from None
        super().__init__(
            model,
            folder,
            workers,
            snapshot_every=snapshot_every,
            max_pending=max_pending,
            max_kept_bytes=max_kept_bytes,
            cpus=cpus,
        )
        self._files = StateFiles(self.folder / "model")
        chain = self._committed["chain"]
        self._whole = self._files.read(chain)[0] if chain else model.copy()
        self._template = unlearned_copy(model).to_bytes()
        self._turn = 0
        self._begin()

    def _first_content(self) -> dict[str, Any]:
        return {**super()._first_content(), "chain": []}

    def _class(self) -> tuple[type, tuple[Any, ...]]:
        return PartialWorker, (self._template,)

    def _opening(self, worker: str) -> int:
        # Batches before the first that is kept are in the global model.
        return self._kept[0].seq - 1 if self._kept else self._seq

    def learn_many(self, X: Any, y: Any = None, w: Any = None, *, on_error: str = "raise") -> None:
        """Learn rows with one of the actors. Returns before they are learned.

        `X` is an Arrow table or a data frame; `y` and `w` are columns or their names. A row that cannot be
        learned is reported by a later call, `flush` or `commit`, and its batch is undone.
        """
        check_many(on_error, self.name)
        table = as_table(X, y, w, self.name)
        if not table.num_rows:
            return
        data = packed(table)
        self._make_room(data.nbytes)
        worker = list(self._epochs)[self._turn % len(self._epochs)]
        self._turn += 1
        self._send({worker: (self._ray.put(data), (on_error,))}, data.nbytes)

    @property
    def model(self) -> Any:
        """A copy of the global model with all that was learned."""
        self.flush()
        self._save()
        return self._whole.copy()

    def _save(self) -> None:
        """Merge all partial models, then let the actors begin with untrained ones."""
        if not self._kept:
            return
        parts = []
        for worker in list(self._actors):
            while True:
                try:
                    parts.append(self._ray.get(self._actors[worker].partial.remote(self._epochs[worker])))
                    break
                except self._ray.exceptions.RayActorError:
                    self._revive(worker)
        whole = self._whole.copy()
        for part in parts:
            whole.merge(from_bytes(part))
        self._whole = whole
        self._kept.clear()
        self._since_save = 0
        for worker in list(self._actors):
            try:
                self._open(worker)
            except self._ray.exceptions.RayActorError:
                self._revive(worker)

    def _content(self) -> dict[str, Any]:
        chain = self._committed["chain"]
        return {"chain": self._files.write(self._whole, (self._epoch, self._seq), chain)}

    def _prune(self) -> None:
        self._files.prune(set(self._committed["chain"]), (self._epoch, self._seq))
