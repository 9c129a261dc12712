"""Several models that all learn the whole stream, each in a task of its own."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from millstream._part import shown_part
from millstream._python_loop import check_on_error
from millstream.errors import InvalidType, InvalidValue
from millstream.roles import role_of
from millstream.spark.checkpoint import Checkpoint, Settings, local_path
from millstream.spark.session import (
    as_list,
    check_columns,
    check_stream,
    feature_columns,
    import_functions,
    start,
)
from millstream.spark.worker import MemberPlan, PartialPlan

__all__ = ["MemberBatches", "ensemble"]

#: The column with the number of a member, while rows are distributed.
_MEMBER = "_millstream_member"


def ensemble(
    stream: Any,
    members: Sequence[Any],
    *,
    checkpoint: str | os.PathLike[str],
    order: str | Iterable[str],
    target: str | None = None,
    weight: str | None = None,
    features: Iterable[str] | None = None,
    on_error: str = "raise",
    trigger: dict[str, Any] | None = None,
) -> Any:
    """Learn several models, each from all rows of a streaming data frame. Returns Spark's running query.

    Each row is sent to every member, and each member learns in a task of its own, in the given order of rows. The
    members are exactly those that one process would have learned. A member whose task is repeated starts from its
    state before the batch. `millstream.spark.load` returns the members, for example for a vote.

    Parameters
    ----------
    stream
        The streaming data frame.
    members
        Models, such as trees with different seeds.
    checkpoint
        A folder that the driver and all executors see, for Spark's checkpoint and the states of the members.
    order
        Columns by which the rows of a batch are sorted.
    target
        The column to learn; None for models without one.
    weight
        The column of weights.
    features
        The columns that the members see; by default all others.
    on_error
        With "raise", a row that cannot be learned ends the query; with "skip", the others are learned.
    trigger
        Options of Spark's trigger.
    """
    check_stream(stream)
    check_on_error(on_error)
    names = as_list(order)
    check_columns(stream, (target, weight, *names))
    if not members:
        raise InvalidValue("spark: an ensemble needs a member")
    for member in members:
        if isinstance(member, type) or role_of(member) is None or not hasattr(member, "learn_many"):
            raise InvalidType(f"spark: a member must be a model, got {shown_part(member)}")
    folder = local_path(checkpoint)
    columns = feature_columns(stream, features, (target, weight, *names))
    plan = PartialPlan(b"", columns, target, weight, on_error)
    return start(stream, folder, MemberBatches(members, folder, plan, names), trigger)


class MemberBatches:
    """The function of `foreachBatch` that teaches the members."""

    def __init__(self, members: Sequence[Any], folder: Path, plan: PartialPlan, order: list[str]) -> None:
        self._checkpoint = Checkpoint.open(
            folder, Settings("ensemble", "; ".join(map(repr, members)), len(members))
        )
        self._templates = [member.to_bytes() for member in members]
        self._partial = plan
        self._order = order

    def __call__(self, rows: Any, batch: int) -> None:
        """Teach a batch to all members and commit them with the batch id."""
        functions = import_functions()
        checkpoint = self._checkpoint
        before = checkpoint.before(batch)
        count = len(self._templates)
        at = checkpoint.generation, batch
        plan = MemberPlan(str(checkpoint.folder), at, before["chains"], self._templates, self._partial)

        def task(batches: Any) -> Any:
            from millstream.spark.worker import learn_member

            return learn_member(plan, batches)

        numbers = functions.explode(functions.array(*(functions.lit(member) for member in range(count))))
        copies = rows.select(*dict.fromkeys([*self._partial.columns, *self._order]), numbers.alias(_MEMBER))
        spread = copies.repartitionById(count, functions.col(_MEMBER)).sortWithinPartitions(*self._order)
        spread.mapInArrow(task, "member long, rows long, skipped long").collect()
        files = [checkpoint.files(member).of_batch(at) for member in range(count)]
        chains = [chain if name is None else [name] for chain, name in zip(before["chains"], files, strict=True)]
        checkpoint.commit(batch, chains)
