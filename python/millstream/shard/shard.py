"""A model in one process that learns each batch at most once."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

from millstream._echo import quoted
from millstream.errors import InvalidState
from millstream.shard.files import StateFiles

__all__ = ["Shard", "StaleEpoch"]

Result = TypeVar("Result")


class StaleEpoch(InvalidState):
    """A call between processes of which one belongs to an epoch that has ended."""


class Shard:
    """A model, usually a `compose.Keyed`, with the id of the last batch that it has learned.

    A batch has the id (epoch, seq). Within an epoch, numbers increase; a batch whose number was seen is not
    learned again. An epoch is the time in which one process holds the shard. Who assigns shards begins a new
    epoch when it replaces the process, so that calls of or to the former one are refused.

    Parameters
    ----------
    model
        The model. It belongs to the shard from now on.
    folder
        Where its states are written.
    epoch
        The present epoch.
    snapshot_every
        The number of files of which one is a full state; the others have what changed.

    Examples
    --------
    >>> import tempfile
    >>> from millstream import compose, linear_model, shard
    >>> model = compose.Keyed(linear_model.LinearRegression(), key="sensor")
    >>> part = shard.Shard(model, tempfile.mkdtemp(), epoch=1)
    >>> rows = [{"sensor": "a", "x": 1.0}, {"sensor": "b", "x": 2.0}]
    >>> for seq in [1, 2, 2, 1, 3]:  # the second and the first batch are sent twice
    ...     done = part.apply(1, seq, lambda model: model.learn_many(rows, [1.0, 2.0]))
    >>> part.model.learned
    6
    >>> part.save()
    ['000001-0000000003-full.state']
    >>> restored = shard.Shard.restore(part.files.folder, epoch=2)
    >>> restored.seq, restored.model.learned
    (3, 6)
    """

    def __init__(
        self,
        model: Any,
        folder: str | os.PathLike[str],
        *,
        epoch: int = 0,
        seq: int = -1,
        snapshot_every: int = 16,
    ) -> None:
        self.model = model
        self.files = StateFiles(folder, snapshot_every=snapshot_every)
        self.epoch = epoch
        #: The number of the last batch that was learned; -1 before the first.
        self.seq = seq
        #: The files that restore the state of the last `save`.
        self.chain: list[str] = []
        #: What the caller wants to find again in a restored shard, such as counts; written by `save`.
        self.note: dict[str, Any] = {}
        self._saved: tuple[int, int] | None = None
        self._identity: tuple[int, ...] | None = None

    @classmethod
    def restore(
        cls,
        folder: str | os.PathLike[str],
        *,
        epoch: int = 0,
        at: tuple[int, int] | None = None,
        chain: list[str] | None = None,
        snapshot_every: int = 16,
    ) -> Shard:
        """The shard exactly as it was after batch `at`, or after the last that was saved.

        With `chain`, these files are read; otherwise those of the folder.
        """
        files = StateFiles(folder, snapshot_every=snapshot_every)
        names = files.chain(at) if chain is None else chain
        model, position = files.read(names)
        shard = cls(model, folder, epoch=epoch, snapshot_every=snapshot_every)
        shard._restored(names, position)
        return shard

    def _restored(self, chain: list[str], position: Any) -> None:
        try:
            self.seq, self.note = int(position["seq"]), dict(position["note"])
            self._saved = int(position["epoch"]), self.seq
        except (TypeError, KeyError, ValueError):
            raise InvalidState(f"shard: {chain[-1]} in {quoted(str(self.files.folder))} has no batch id") from None
        self.chain = list(chain)
        self._identity = self.files.identity(chain[-1])

    def accepts(self, epoch: int, seq: int, after: int | None = None) -> bool:
        """Whether a batch is new. A call of another epoch is refused, and so is a gap.

        `after` is the number of the batch that the shard must have learned last; None if numbers may have gaps.
        """
        if epoch != self.epoch:
            who = "the call comes" if epoch < self.epoch else "this process is"
            raise StaleEpoch(
                f"shard: {who} from an epoch that has ended: the call has {epoch}, the shard {self.epoch}"
            )
        if seq <= self.seq:
            return False
        if after is not None and after != self.seq:
            raise InvalidState(f"shard: batch {seq} follows batch {after}, but the shard has learned {self.seq}")
        return True

    def apply(
        self, epoch: int, seq: int, work: Callable[[Any], Result], *, after: int | None = None
    ) -> Result | None:
        """Call `work(model)` if the batch is new; returns its result, or None if the batch was seen.

        An error of `work` is raised, and the batch counts as not learned: `work` must leave the model as it was,
        as one call of `learn_many` or `step_many` does.
        """
        if not self.accepts(epoch, seq, after):
            return None
        result = work(self.model)
        self.seq = seq
        return result

    def save(self) -> list[str]:
        """Write the state to a file, unless it was. Returns the names of the files that restore it."""
        at = self.epoch, self.seq
        if self._saved is not None and self._saved[1] == self.seq and self.chain:
            return self.chain
        position = {"epoch": self.epoch, "seq": self.seq, "note": self.note}
        self.chain = self.files.write(self.model, at, self.chain, position)
        self._saved = at
        # The file of another attempt may come from another order of rows: only from it can the shard continue.
        self._identity = self.files.identity(self.chain[-1]) if self.files.is_ours else None
        return self.chain

    def continues(self, chain: list[str]) -> bool:
        """Make this shard that of other files if it was restored from, or has written, the first of them.

        Returns False if it cannot; then it is not to be used. Deltas that other processes have written since are
        applied.
        """
        known = len(self.chain)
        if not self.chain or self.chain != chain[:known] or self.seq != (self._saved or (0, -2))[1]:
            return False
        if self._identity is None or self.files.identity(self.chain[-1]) != self._identity:
            return False
        if len(chain) > known:
            self._restored(chain, self.files.advance(self.model, chain[known:]))
        return True
