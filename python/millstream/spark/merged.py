"""One global model, merged from partial models of the partitions."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from millstream._part import shown_part, unlearned_copy
from millstream._python_loop import check_on_error
from millstream.errors import InvalidType, MillstreamError
from millstream.roles import role_of
from millstream.spark.checkpoint import Checkpoint, Settings, local_path
from millstream.spark.session import check_columns, check_stream, feature_columns, start
from millstream.spark.worker import PartialPlan

__all__ = ["MergedBatches", "merged"]


def merged(
    stream: Any,
    model: Any,
    *,
    checkpoint: str | os.PathLike[str],
    target: str | None = None,
    weight: str | None = None,
    features: Iterable[str] | None = None,
    on_error: str = "raise",
    trigger: dict[str, Any] | None = None,
) -> Any:
    """Learn one global model from a streaming data frame. Returns Spark's running query.

    Each partition of a batch is learned by an untrained copy of the model. The driver merges these copies into the
    global model, and commits the result together with the batch id: a batch that Spark repeats is merged once. The
    model must support `merge`; the result is then that of one process.

    Parameters
    ----------
    stream
        The streaming data frame. Its partitions are learned as they are, without a shuffle.
    model
        The model to start from, such as `naive_bayes.GaussianNB`.
    checkpoint
        A folder for Spark's checkpoint and the model; `millstream.spark.load` reads the model from it.
    target
        The column to learn; None for models without one.
    weight
        The column of weights.
    features
        The columns that the model sees; by default all others.
    on_error
        With "raise", a row that cannot be learned ends the query; with "skip", the others are learned.
    trigger
        Options of Spark's trigger.
    """
    check_stream(stream)
    check_on_error(on_error)
    check_columns(stream, (target, weight))
    if isinstance(model, type) or role_of(model) is None or not hasattr(model, "merge"):
        raise InvalidType(f"spark: a model that can be merged is required, got {shown_part(model)}")
    try:
        model.copy().merge(unlearned_copy(model))
    except MillstreamError as error:
        raise type(error)(
            f"spark: {error}; millstream.spark.keyed learns one model per key, "
            "millstream.spark.ensemble several models"
        ) from None
    folder = local_path(checkpoint)
    columns = feature_columns(stream, features, (target, weight))
    return start(stream, folder, MergedBatches(model, folder, columns, target, weight, on_error), trigger)


class MergedBatches:
    """The function of `foreachBatch` that merges partial models."""

    def __init__(
        self, model: Any, folder: Path, features: list[str], target: str | None, weight: str | None, on_error: str
    ) -> None:
        self._first = model.copy()
        self._checkpoint = Checkpoint.open(folder, Settings("merged", repr(model), 1))
        self._plan = PartialPlan(unlearned_copy(model).to_bytes(), features, target, weight, on_error)

    def __call__(self, rows: Any, batch: int) -> None:
        """Learn a batch in its partitions, merge the results, and commit them with the batch id."""
        plan = self._plan

        def task(batches: Any) -> Any:
            from millstream.spark.worker import learn_partial

            return learn_partial(plan, batches)

        before = self._checkpoint.before(batch)
        schema = "partition long, rows long, skipped long, model binary"
        parts = rows.select(*plan.columns).mapInArrow(task, schema).collect()
        chain = before["chains"][0]
        files = self._checkpoint.files(0)
        model, position = files.read(chain) if chain else (self._first.copy(), {"rows": 0, "skipped": 0})
        # In the order of partitions, so that sums are rounded alike whenever the batch is repeated.
        for part in sorted(parts, key=lambda part: part["partition"]):
            model.merge(_loaded(part["model"]))
        note = {name: position[name] + sum(part[name] for part in parts) for name in ("rows", "skipped")}
        after = files.write(model, (self._checkpoint.generation, batch), chain, note)
        self._checkpoint.commit(batch, [after])


def _loaded(data: Any) -> Any:
    from millstream.registry import from_bytes

    return from_bytes(bytes(data))
