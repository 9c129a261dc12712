"""What runs in the Python workers of Spark's executors.

Functions are pickled by their names, so that each worker imports this module once. What a function would close
over is copied into every task; the cache below would be, too.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from millstream.compose.keyed import Keyed
from millstream.errors import InvalidState
from millstream.registry import from_bytes
from millstream.roles import Answer
from millstream.shard import Shard
from millstream.spark.hashing import partition_of

__all__ = [
    "KeyedPlan",
    "MemberPlan",
    "PartialPlan",
    "learn_member",
    "learn_partial",
    "learn_partition",
    "prediction_type",
]

#: The shards that this process has learned, the last one last, so that the next batch need not read their files.
_CACHE: OrderedDict[tuple[str, int], Shard] = OrderedDict()
_LOCK = threading.Lock()

#: The number of shards that a process remembers.
_REMEMBERED = 4


@dataclass(frozen=True)
class KeyedPlan:
    """What a task needs to learn its part of a batch."""

    folder: str
    generation: int
    batch: int
    chains: list[list[str]]
    template: bytes
    key: str
    features: list[str]
    target: str | None
    weight: str | None
    predict: bool
    prediction: Any
    on_error: str
    snapshot_every: int


@dataclass(frozen=True)
class PartialPlan:
    """What a task needs to learn rows with one model."""

    template: bytes
    features: list[str]
    target: str | None
    weight: str | None
    on_error: str

    @property
    def columns(self) -> list[str]:
        """All columns that are read."""
        return [*self.features, *(name for name in (self.target, self.weight) if name is not None)]


@dataclass(frozen=True)
class MemberPlan:
    """What a task needs to teach one member of an ensemble."""

    folder: str
    at: tuple[int, int]
    chains: list[list[str]]
    templates: list[bytes]
    partial: PartialPlan


def prediction_type(keyed: Any, target: Any) -> Any:
    """The Arrow type of predictions: that of the target for classes."""
    kinds = {Answer.NUMBER: pa.float64(), Answer.SCORE: pa.float64(), Answer.CLUSTER: pa.int64()}
    return kinds.get(keyed.role.answer, target)


def learn_partition(plan: KeyedPlan, batches: Iterator[Any]) -> Iterator[Any]:
    """Learn the rows of a partition and write its state; yields the rows with predictions, or counts.

    The state is written when all rows were read. A task that is killed or ends early leaves nothing.
    """
    number = _partition_of_task(plan.chains)
    shard = _taken(plan, number)
    rows = skipped = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        _check_partition(batch.column(plan.key)[0].as_py(), number, len(plan.chains))
        answers, bad = _learned(plan, shard.model, batch)
        rows += batch.num_rows
        skipped += bad
        if plan.predict:
            yield pa.RecordBatch.from_arrays([*batch.columns, answers], [*batch.schema.names, "prediction"])
    shard.note = {
        "rows": shard.note.get("rows", 0) + rows,
        "skipped": shard.note.get("skipped", 0) + skipped,
    }
    shard.seq = plan.batch
    shard.save()
    with _LOCK:
        _CACHE[plan.folder, number] = shard
        while len(_CACHE) > _REMEMBERED:
            _CACHE.popitem(last=False)
    if not plan.predict:
        yield pa.RecordBatch.from_pydict({"partition": [number], "rows": [rows], "skipped": [skipped]})


def _taken(plan: KeyedPlan, number: int) -> Shard:
    """The shard as it was before the batch: from this process if it still has it, otherwise from files."""
    chain = plan.chains[number]
    with _LOCK:
        # Not in the cache while it learns: a task that fails leaves a state that belongs to no batch.
        shard = _CACHE.pop((plan.folder, number), None)
    if shard is not None and chain and shard.continues(chain):
        return shard
    folder = Path(plan.folder) / "state" / f"shard-{number:05}"
    settings: Any = {"epoch": plan.generation, "snapshot_every": plan.snapshot_every}
    if chain:
        return Shard.restore(folder, chain=chain, **settings)
    return Shard(Keyed.from_bytes(plan.template), folder, **settings)


def _check_partition(key: Any, number: int, partitions: int) -> None:
    """One key tells whether Spark has distributed the rows as the state was."""
    if key is not None and partition_of(key, partitions) != number:
        raise InvalidState(
            f"spark: key {key!r} is in partition {number} of {partitions}: the rows were distributed otherwise"
        )


def _learned(plan: KeyedPlan, keyed: Any, batch: Any) -> tuple[Any, int]:
    table = pa.Table.from_batches([batch])
    # One task has one core.
    keyed.n_threads = 1
    y = None if plan.target is None else table.column(plan.target)
    w = None if plan.weight is None else table.column(plan.weight)
    names = [plan.key, *plan.features] + ([] if keyed.time is None else [keyed.time])
    found, skipped = keyed._run(
        table.select(names), y, w, "class" if plan.predict else None, None, None, plan.on_error
    )
    return (None if found is None else pa.array(found, type=plan.prediction)), skipped


def _partition_of_task(chains: list[list[str]]) -> int:
    from pyspark import TaskContext

    context = TaskContext.get()
    number = 0 if context is None else context.partitionId()
    if number >= len(chains):
        raise InvalidState(f"spark: partition {number} of {len(chains)}: the rows were distributed otherwise")
    return number


def _learn(plan: PartialPlan, model: Any, batches: Iterator[Any]) -> tuple[int, int]:
    """Learn all rows with one model; returns the numbers of rows and of skipped ones."""
    rows = skipped = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        table = pa.Table.from_batches([batch])
        y = () if plan.target is None else (table.column(plan.target),)
        w = {} if plan.weight is None else {"w": table.column(plan.weight)}
        skipped += model.learn_many(table.select(plan.features), *y, **w, on_error=plan.on_error) or 0
        rows += batch.num_rows
    return rows, skipped


def learn_partial(plan: PartialPlan, batches: Iterator[Any]) -> Iterator[Any]:
    """Learn the rows of a partition with an untrained model, and yield it."""
    from pyspark import TaskContext

    context = TaskContext.get()
    model = from_bytes(plan.template)
    rows, skipped = _learn(plan, model, batches)
    if rows:
        number = 0 if context is None else context.partitionId()
        counts = {"partition": [number], "rows": [rows], "skipped": [skipped]}
        yield pa.RecordBatch.from_pydict({**counts, "model": [model.to_bytes()]})


def learn_member(plan: MemberPlan, batches: Iterator[Any]) -> Iterator[Any]:
    """Teach all rows of a batch to one member, and write its state."""
    number = _partition_of_task(plan.chains)
    folder = Path(plan.folder) / "state" / f"shard-{number:05}"
    chain = plan.chains[number]
    generation, batch = plan.at
    if chain:
        member = Shard.restore(folder, chain=chain, epoch=generation)
    else:
        member = Shard(from_bytes(plan.templates[number]), folder, epoch=generation)
    rows, skipped = _learn(plan.partial, member.model, batches)
    for name, count in (("rows", rows), ("skipped", skipped)):
        member.note[name] = member.note.get(name, 0) + count
    member.seq = batch
    member.save()
    yield pa.RecordBatch.from_pydict({"member": [number], "rows": [rows], "skipped": [skipped]})
