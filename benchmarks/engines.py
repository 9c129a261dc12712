"""Keyed models on Spark and Ray, against what the engines do by themselves.

Each part runs in the environment of its engine and writes its section of ENGINES.md: `make bench-engines`, or

    .venv/spark/bin/python -m benchmarks.engines spark --write
    .venv/ray/bin/python -m benchmarks.engines ray --write
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import goals
from benchmarks.goals import Row
from millstream import compose, linear_model, preprocessing

__all__ = ["ray_rates", "spark_rates"]

PAGE = Path(__file__).parent / "ENGINES.md"

FEATURES = ["x0", "x1", "x2", "x3", "x4"]

#: Batches that are not counted: workers start, classes are loaded.
WARM_UP = 3


def _model() -> Any:
    return compose.Keyed(
        preprocessing.StandardScaler() | linear_model.LogisticRegression(), key="sensor", max_bytes=None
    )


def _table(number: int, rows: int, keys: int) -> Any:
    """A batch in which each key has about the same number of rows."""
    stream = np.random.default_rng(number)
    columns = {name: stream.normal(size=rows) for name in FEATURES}
    sensors = stream.permutation(np.arange(rows) % keys)
    return pa.table({"sensor": sensors, **columns, "y": (columns["x0"] > 0).astype(np.int64)})


def _session() -> Any:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "2g",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.streaming.stateStore.providerClass": (
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
        ),
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def _identity(batches: Iterator[Any]) -> Iterator[Any]:
    yield from batches


def _seconds(query: Any) -> float:
    """Median time of a batch after the first ones."""
    query.awaitTermination()
    progress = [each for each in query.recentProgress if each["numInputRows"]]
    return float(np.median([each["durationMs"]["addBatch"] / 1000 for each in progress[WARM_UP:]]))


def spark_rates(rows: int, keys: int, batches: int, slow_batches: int) -> dict[str, float]:
    """Rows per second of an identity, of our adapter, and of one state per key."""
    from millstream import spark as millstream_spark

    spark = _session()
    once = {"availableNow": True}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "in").mkdir()
        for number in range(WARM_UP + batches):
            path = folder / "in" / f"{number:04}.parquet"
            pq.write_table(_table(number, rows, keys), path)
            os.utime(path, (1e9 + number, 1e9 + number))
        schema = spark.read.parquet(str(folder / "in")).schema

        def stream(limit: int | None = None) -> Any:
            reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
            pattern = (
                "*.parquet" if limit is None else "{" + ",".join(f"{n:04}" for n in range(limit)) + "}.parquet"
            )
            return reader.parquet(str(folder / "in" / pattern))

        def ignored(data: Any, _: int) -> None:
            data.write.format("noop").mode("overwrite").save()

        def identity(data: Any, batch: int) -> None:
            out = data.withColumn("prediction", data["y"])
            ignored(out.repartition(2, "sensor").mapInArrow(_identity, out.schema), batch)

        rates = {}
        # By turns, so that the ratio does not depend on the time of day.
        for turn in range(2):
            writer = stream().writeStream.foreachBatch(identity).trigger(**once)
            seconds = _seconds(writer.option("checkpointLocation", str(folder / f"identity{turn}")).start())
            rates["identity mapInArrow"] = max(rates.get("identity mapInArrow", 0.0), rows / seconds)
            query = millstream_spark.keyed(
                stream(),
                _model(),
                target="y",
                checkpoint=folder / f"keyed{turn}",
                output=ignored,
                partitions=2,
                trigger=once,
            )
            rates["millstream.spark.keyed"] = max(rates.get("millstream.spark.keyed", 0.0), rows / _seconds(query))
        limit = WARM_UP + slow_batches
        rates["transformWithState"] = rows / _seconds(_by_key(stream(limit), folder / "by_key", once))
    spark.stop()
    return rates


def _by_key(stream: Any, folder: Path, once: dict[str, Any]) -> Any:
    """One model per key in Spark's own state."""
    from pyspark.sql import Row
    from pyspark.sql.streaming import StatefulProcessor
    from pyspark.sql.types import BinaryType, LongType, StructField, StructType

    template = (preprocessing.StandardScaler() | linear_model.LogisticRegression()).to_bytes()
    names = FEATURES

    class Learner(StatefulProcessor):
        def init(self, handle: Any) -> None:
            self.state = handle.getValueState("model", StructType([StructField("model", BinaryType())]))

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:  # noqa: N802
            import millstream

            found = self.state.get() if self.state.exists() else None
            model = millstream.from_bytes(template if found is None else bytes(found[0]))
            for row in rows:
                answer = model.step_one({name: row[name] for name in names}, row["y"])
                yield Row(sensor=key[0], prediction=answer)
            self.state.update((model.to_bytes(),))

        def close(self) -> None: ...

    schema = StructType([StructField("sensor", LongType()), StructField("prediction", LongType())])
    learned = stream.groupBy("sensor").transformWithState(Learner(), schema, "Append", "None")
    writer = learned.writeStream.format("noop").outputMode("append").trigger(**once)
    return writer.option("checkpointLocation", str(folder)).start()


def ray_rates(rows: int, keys: int, batches: int) -> dict[str, float]:
    """Rows per second that two actors learn."""
    from millstream import ray as millstream_ray

    millstream_ray.start_local(object_store_memory=500_000_000)
    tables = [_table(number, rows, keys) for number in range(WARM_UP + batches)]
    rates: dict[str, float] = {}
    works: dict[str, Callable[[Any, Any], Any]] = {
        "learn_many": lambda pool, table: pool.learn_many(table, "y"),
        "step_many": lambda pool, table: pool.step_many(table, "y"),
    }
    for name, work in works.items():
        with tempfile.TemporaryDirectory() as folder, millstream_ray.KeyedPool(_model(), folder) as pool:
            for table in tables[:WARM_UP]:
                work(pool, table)
            pool.flush()
            started = time.perf_counter()
            for table in tables[WARM_UP:]:
                work(pool, table)
            pool.flush()
            rates[f"ray.KeyedPool.{name}"] = rows * batches / (time.perf_counter() - started)
    import ray

    ray.shutdown()
    return rates


def _spark_rows(rows: int, keys: int, rates: dict[str, float]) -> Iterator[Row]:
    ours, plain, by_key = (
        rates[name] for name in ("millstream.spark.keyed", "identity mapInArrow", "transformWithState")
    )
    yield Row(
        f"batches of {rows:,} rows with {rows // keys} rows of each key: rows and predictions through "
        "`mapInArrow`, nothing learned",
        _rate(plain),
        "–",
        None,
    )
    yield Row(
        "the same with `millstream.spark.keyed`",
        f"{_rate(ours)}, {ours / plain:.2f} ×",
        "0.7 ×",
        ours >= 0.7 * plain,
    )
    yield Row(
        "the same with one model per key in Spark's `transformWithState`",
        f"{_rate(by_key)}, ours is {ours / by_key:.1f} ×",
        "4 ×",
        ours >= 4 * by_key,
    )


def _ray_rows(rows: int, rates: dict[str, float]) -> Iterator[Row]:
    learned, stepped = (rates[f"ray.KeyedPool.{name}"] for name in ("learn_many", "step_many"))
    work = f"2 actors, batches of {rows:,} rows with one row of each key: `KeyedPool.learn_many`"
    yield Row(work, _rate(learned), "1,000 k rows/s", learned >= 1e6)
    yield Row("the same with `step_many`, which waits for each batch", _rate(stepped), "–", None)


def _rate(rows: float) -> str:
    return f"{rows / 1000:,.0f} k rows/s"


def _write(engine: str, found: list[Row], where: str) -> None:
    """Replace the section of an engine."""
    head, *sections = PAGE.read_text().split("\n## ")
    kept = {name.partition("\n")[0]: name.partition("\n")[2].strip() for name in sections}
    kept[engine] = f"{where}\n\n{goals.goals_table(found)}"
    PAGE.write_text("\n\n## ".join([head.strip(), *(f"{name}\n\n{text}" for name, text in kept.items())]) + "\n")


def main() -> None:
    """Measure one engine, and write its section with `--write`."""
    engine, quick = sys.argv[1], "--quick" in sys.argv
    where = goals.machine()
    if engine == "spark":
        rows, keys = (50_000, 5_000) if quick else (500_000, 50_000)
        found = list(_spark_rows(rows, keys, spark_rates(rows, keys, 4 if quick else 8, 2 if quick else 3)))
    elif engine == "ray":
        found = list(_ray_rows(10_000, ray_rates(10_000, 10_000, 100 if quick else 500)))
    else:
        raise SystemExit(f"spark or ray, got {engine}")
    where += f", {'PySpark' if engine == 'spark' else 'Ray'} {version('pyspark' if engine == 'spark' else 'ray')}."
    print(goals.goals_table(found))
    if "--write" in sys.argv:
        _write(engine.capitalize(), found, where + (" A quick run." if quick else ""))


if __name__ == "__main__":
    main()
