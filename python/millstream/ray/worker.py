"""What runs in an actor: shards, or a partial model. Nothing here needs Ray."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.compose.keyed import Keyed
from millstream.errors import InvalidState, MillstreamError
from millstream.registry import from_bytes
from millstream.shard import Shard, StaleEpoch

__all__ = ["TARGET", "WEIGHT", "KeyedWorker", "PartialWorker", "packed", "unpacked"]

#: Columns beside the features.
TARGET, WEIGHT = "_millstream_target", "_millstream_weight"


def packed(table: Any) -> Any:
    """A table as an array of bytes, which Ray shares between processes without a copy."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return np.frombuffer(sink.getvalue(), dtype=np.uint8)


def unpacked(data: Any) -> Any:
    """The table of `packed`."""
    return pa.ipc.open_stream(pa.py_buffer(data)).read_all()


def _beside(table: Any) -> tuple[Any, Any, Any]:
    """The features, targets and weights of a table."""
    names = table.column_names
    y = table.column(TARGET) if TARGET in names else None
    w = table.column(WEIGHT) if WEIGHT in names else None
    return table.drop_columns([name for name in (TARGET, WEIGHT) if name in names]), y, w


def _moved(error: MillstreamError, start: int) -> MillstreamError:
    """An error with the row counted from the first row of all shards."""
    if error.row is None:
        return error
    moved = type(error)(str(error).removeprefix(f"row {error.row}: "))
    moved.at_row(error.row + start)
    return moved


class KeyedWorker:
    """Some shards of keyed models."""

    def __init__(self, folder: str, template: bytes, snapshot_every: int) -> None:
        self._folder = Path(folder)
        self._template = template
        self._snapshot_every = snapshot_every
        self._epoch = -1
        self._shards: dict[int, Shard] = {}

    def open(self, epoch: int, chains: dict[int, list[str]]) -> int:
        """Hold the given shards, as their files say, in a new epoch; returns the process id."""
        import os

        if epoch <= self._epoch:
            raise StaleEpoch(f"ray: epoch {epoch} has ended, the worker is in {self._epoch}")
        settings: Any = {"epoch": epoch, "snapshot_every": self._snapshot_every}
        found = {}
        for number, chain in chains.items():
            folder = self._folder / f"shard-{number:05}"
            if chain:
                found[number] = Shard.restore(folder, chain=chain, **settings)
            else:
                found[number] = Shard(Keyed.from_bytes(self._template), folder, **settings)
        self._epoch, self._shards = epoch, found
        return os.getpid()

    def run(
        self,
        epoch: int,
        seq: int,
        data: Any,
        parts: list[tuple[int, int, int, int]],
        predict: str | None,
        on_error: str,
    ) -> tuple[int, list[Any], int]:
        """Learn the rows of some shards; returns the epoch, predictions and the number of skipped rows.

        A part is (shard, the batch before, first row, row after the last). A part that was learned is not learned
        again, and has no predictions.
        """
        if epoch != self._epoch:
            raise StaleEpoch(
                f"ray: the call has epoch {epoch}, the worker is in {self._epoch}: one of them has ended"
            )
        table = unpacked(data)
        answers: list[Any] = []
        skipped = 0
        for number, after, start, stop in parts:
            shard = self._shards.get(number)
            if shard is None:
                raise InvalidState(f"ray: the worker does not hold shard {number}")
            features, y, w = _beside(table.slice(start, stop - start))

            def work(model: Any, rows: Any = features, y: Any = y, w: Any = w) -> Any:
                model.n_threads = 1
                return model._run(rows, y, w, predict, None, None, on_error)

            try:
                done = shard.apply(epoch, seq, work, after=after)
            except MillstreamError as error:
                raise _moved(error, start) from None
            if done is not None:
                found, bad = done
                answers.append(found)
                skipped += bad
                shard.note["rows"] = shard.note.get("rows", 0) + stop - start
        return epoch, answers, skipped

    def predict(self, epoch: int, data: Any, parts: list[tuple[int, int, int]], what: str) -> list[Any]:
        """Predictions of the rows of some shards; nothing is learned."""
        if epoch != self._epoch:
            raise StaleEpoch(
                f"ray: the call has epoch {epoch}, the worker is in {self._epoch}: one of them has ended"
            )
        table = unpacked(data)
        return [
            getattr(self._shards[number].model, what)(table.slice(start, stop - start))
            for number, start, stop in parts
        ]

    def save(self, epoch: int) -> dict[int, tuple[int, list[str]]]:
        """Write what has changed; returns the last batch and the files of each shard that has learned any."""
        if epoch != self._epoch:
            raise StaleEpoch(
                f"ray: the call has epoch {epoch}, the worker is in {self._epoch}: one of them has ended"
            )
        return {number: (shard.seq, shard.save()) for number, shard in self._shards.items() if shard.seq >= 0}


class PartialWorker:
    """A model that has learned a part of the rows since the last merge."""

    def __init__(self, template: bytes) -> None:
        self._template = template
        self._epoch, self._seq = -1, -1
        self._model: Any = None

    def open(self, epoch: int, after: int) -> int:
        """Begin with an untrained model, in a new epoch, after the given batch."""
        import os

        if epoch <= self._epoch:
            raise StaleEpoch(f"ray: epoch {epoch} has ended, the worker is in {self._epoch}")
        self._epoch, self._seq = epoch, after
        self._model = from_bytes(self._template)
        return os.getpid()

    def run(self, epoch: int, seq: int, data: Any, on_error: str) -> tuple[int, int]:
        """Learn a batch, unless it was; returns the epoch and the number of skipped rows."""
        if epoch != self._epoch:
            raise StaleEpoch(
                f"ray: the call has epoch {epoch}, the worker is in {self._epoch}: one of them has ended"
            )
        skipped = 0
        if seq > self._seq:
            features, y, w = _beside(unpacked(data))
            given = () if y is None else (y,)
            skipped = self._model.learn_many(features, *given, w=w, on_error=on_error) or 0
            self._seq = seq
        return epoch, skipped

    def partial(self, epoch: int) -> bytes:
        """The partial model."""
        if epoch != self._epoch:
            raise StaleEpoch(
                f"ray: the call has epoch {epoch}, the worker is in {self._epoch}: one of them has ended"
            )
        return bytes(self._model.to_bytes())
