"""One model per key, in the partitions of a stream."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from millstream._echo import quoted
from millstream._python_loop import check_on_error
from millstream.compose.keyed import Keyed
from millstream.compose.keyed_python import PythonModels
from millstream.errors import InvalidType, InvalidValue
from millstream.roles import Answer, Truth
from millstream.spark.checkpoint import Checkpoint, Settings, local_path
from millstream.spark.session import (
    as_list,
    check_columns,
    check_stream,
    default_partitions,
    feature_columns,
    import_functions,
    start,
)
from millstream.spark.worker import KeyedPlan, prediction_type

__all__ = ["KeyedBatches", "keyed"]

Output = str | os.PathLike[str] | Callable[[Any, int], None]

_INTEGERS = ("tinyint", "smallint", "int", "bigint")


def keyed(
    stream: Any,
    model: Any,
    *,
    checkpoint: str | os.PathLike[str],
    key: str | None = None,
    target: str | None = None,
    weight: str | None = None,
    features: Iterable[str] | None = None,
    order: str | Iterable[str] | None = None,
    output: Output | None = None,
    partitions: int | None = None,
    on_error: str = "raise",
    snapshot_every: int = 16,
    trigger: dict[str, Any] | None = None,
) -> Any:
    """Learn one model per key of a streaming data frame. Returns Spark's running query.

    Each partition holds the models of its keys and writes what a batch has changed to a file. Files, batch id and
    Spark's own checkpoint are committed in such an order that each row is learned exactly once: a task that runs
    twice, an executor or a driver that dies changes nothing. If each key has its rows in one partition of the
    source (as in a topic with keys), or `order` is given, the models are exactly those of `compose.Keyed` in one
    process.

    Parameters
    ----------
    stream
        The streaming data frame.
    model
        A `compose.Keyed`, or its template together with `key`. `max_keys` and `max_bytes` count for each
        partition.
    checkpoint
        A folder that the driver and all executors see, for Spark's checkpoint and the states of the models.
    key
        The column of keys, integers or strings; by default the one of `model`.
    target
        The column to learn; None for models without one, such as anomaly detectors.
    weight
        The column of weights.
    features
        The columns that the models see; by default all others.
    order
        Columns by which the rows of a batch are sorted. Without it, rows of one source partition keep their order.
    output
        Where rows go with their `prediction`, made before the row was learned: a folder for Parquet files, with
        a subfolder for each batch that replaces itself if the batch is repeated, or `f(data_frame, batch_id)` as
        for `foreachBatch`. With None, rows are learned and not predicted.
    partitions
        The number of partitions, fixed when the checkpoint is made; by default one for each core. See `reshard`.
    on_error
        With "raise", a row that cannot be learned ends the query, and nothing of its batch is learned. With
        "skip", the others are; see the counts in the state.
    snapshot_every
        The number of batches of which one writes all models of a partition, the others those that changed.
    trigger
        Options of Spark's trigger, for example `{"availableNow": True}` or `{"processingTime": "1 second"}`.
    """
    check_stream(stream)
    folder = local_path(checkpoint)
    keyed_model = _checked_model(model, key)
    order_names = as_list(order)
    check_columns(stream, (keyed_model.key, target, weight, keyed_model.time, *order_names))
    if (keyed_model.role.truth is Truth.NONE) != (target is None):
        wanted = "no target" if target is not None else "a target"
        raise InvalidValue(f"spark: {keyed_model.template!r} needs {wanted}: target=…")
    check_on_error(on_error)
    if on_error == "stop":
        raise InvalidValue('spark: on_error must be "raise" or "skip": rows of a batch have no common order')
    others = (keyed_model.key, target, weight, keyed_model.time, *order_names)
    batches = KeyedBatches(
        keyed_model,
        folder,
        partitions=default_partitions(stream, partitions),
        features=feature_columns(stream, features, others),
        target=target,
        weight=weight,
        order=order_names,
        output=output,
        on_error=on_error,
        snapshot_every=snapshot_every,
    )
    return start(stream, folder, batches, trigger)


def _checked_model(model: Any, key: str | None) -> Any:
    found = model if isinstance(model, Keyed) else Keyed(model, key=key) if key is not None else None
    if found is None:
        raise InvalidType("spark: a compose.Keyed is required, or its template with key=…")
    if key is not None and found.key != key:
        raise InvalidValue(f"spark: the models have the key {quoted(found.key)}, got key={quoted(key)}")
    if not isinstance(found.key, str):
        raise InvalidType(f"spark: the key must be the name of a column, got {quoted(found.key)}")
    if isinstance(found._models, PythonModels):
        raise InvalidType(f"spark: {found.template!r} is written in Python: its state cannot be written to files")
    if len(found):
        raise InvalidValue(f"spark: the models must have learned no keys, got {len(found)}: pass model.clone()")
    return found


class KeyedBatches:
    """The function of `foreachBatch` that learns keyed models."""

    def __init__(
        self,
        model: Any,
        folder: Path,
        *,
        partitions: int,
        features: list[str],
        target: str | None,
        weight: str | None,
        order: list[str],
        output: Output | None,
        on_error: str,
        snapshot_every: int,
    ) -> None:
        self._model = model
        self._order = order
        self._output = output
        self._checkpoint = Checkpoint.open(folder, Settings("keyed", repr(model), partitions))
        self._settings: dict[str, Any] = {
            "folder": str(folder),
            "template": model.to_bytes(),
            "key": model.key,
            "features": features,
            "target": target,
            "weight": weight,
            "predict": output is not None,
            "on_error": on_error,
            "snapshot_every": snapshot_every,
        }

    def __call__(self, rows: Any, batch: int) -> None:
        """Learn a batch, pass it on, and commit it."""
        before = self._checkpoint.before(batch)
        learned = self._learned(rows, batch, before)
        if self._output is None:
            learned.collect()
        elif callable(self._output):
            self._output(learned, batch)
        else:
            # Not a Path: the output may be a URL.
            place = f"{os.fspath(self._output).rstrip('/')}/batch={batch:010}"
            learned.write.mode("overwrite").parquet(place)
        files = self._files(batch)
        if None in files and self._output is not None:
            # The output has not read all rows; a partition that has read them writes the same file again.
            learned.write.format("noop").mode("overwrite").save()
            files = self._files(batch)
        # A partition without a file has no rows: Spark did not start it.
        chains = [
            chain if name is None else [name] if "-full" in name else [*chain, name]
            for chain, name in zip(before["chains"], files, strict=True)
        ]
        self._checkpoint.commit(batch, chains)

    def _files(self, batch: int) -> list[str | None]:
        at = self._checkpoint.generation, batch
        return [self._checkpoint.files(shard).of_batch(at) for shard in range(self._checkpoint.settings.shards)]

    def _learned(self, rows: Any, batch: int, before: dict[str, Any]) -> Any:
        """The rows with predictions, or the counts of partitions; nothing is computed yet."""
        functions = import_functions()
        key = self._model.key
        kind = dict(rows.dtypes)[key]
        if kind not in (*_INTEGERS, "string"):
            raise InvalidType(f"spark: a key must be an integer or a string, got a column of {kind}")
        # All integers have one hash, as in `reshard`.
        keyed_rows = rows.withColumn(key, functions.col(key).cast("bigint" if kind in _INTEGERS else "string"))
        spread = keyed_rows.repartition(self._checkpoint.settings.shards, functions.col(key))
        if self._order:
            spread = spread.sortWithinPartitions(*self._order)
        if not self._settings["predict"]:
            used = {key, *self._settings["features"], self._settings["target"], self._settings["weight"]}
            spread = spread.select(*(name for name in spread.columns if name in used | {self._model.time}))
        schema, prediction = self._schema(spread)
        plan = KeyedPlan(
            generation=self._checkpoint.generation,
            batch=batch,
            chains=before["chains"],
            prediction=prediction,
            **self._settings,
        )

        def task(batches: Any) -> Any:
            # Imported in the worker: what this function closes over is copied into every task.
            from millstream.spark.worker import learn_partition

            return learn_partition(plan, batches)

        return spread.mapInArrow(task, schema)

    def _schema(self, rows: Any) -> tuple[Any, Any]:
        from pyspark.sql.pandas.types import from_arrow_type, to_arrow_type
        from pyspark.sql.types import LongType, StructField, StructType

        if not self._settings["predict"]:
            names = ("partition", "rows", "skipped")
            return StructType([StructField(name, LongType()) for name in names]), None
        if "prediction" in rows.columns:
            raise InvalidValue("spark: the rows already have a column 'prediction': rename it")
        target = self._settings["target"]
        kind = None
        if self._model.role.answer is Answer.CLASS and target is not None:
            kind = to_arrow_type(rows.schema[target].dataType)
        arrow = prediction_type(self._model, kind)
        return StructType([*rows.schema.fields, StructField("prediction", from_arrow_type(arrow))]), arrow
