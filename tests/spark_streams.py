"""Streams for the tests of `millstream.spark`, and the program that they kill.

Run as a program, it learns a folder of files, one in each batch, and prints a line when a batch starts and when it
is done.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from millstream import compose, linear_model, preprocessing
from millstream import spark as millstream_spark

FEATURES = ["x", "z"]


def session(master: str = "local[2,4]", **settings: str) -> Any:
    """A session with all ports on the loopback address."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    import pyspark

    # local-cluster starts its executors from here.
    os.environ["SPARK_HOME"] = str(Path(pyspark.__file__).parent)
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master)
    fixed = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "700m",
        # For local-cluster: executors import this package too, and are replaced however often they die.
        "spark.executorEnv.PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        "spark.executor.memory": "512m",
        "spark.deploy.maxExecutorRetries": "-1",
        "spark.task.maxFailures": "30",
    }
    for name, value in {**fixed, **settings}.items():
        builder = builder.config(name, value)
    found = builder.getOrCreate()
    found.sparkContext.setLogLevel("OFF")
    return found


def model(**settings: Any) -> Any:
    return compose.Keyed(
        preprocessing.StandardScaler() | linear_model.LogisticRegression(), key="sensor", **settings
    )


def write_files(folder: Path, files: int, rows: int, *, keys: int = 50, texts: bool = False) -> list[Any]:
    """Tables of a stream, each in a file. Half of the rows have the first key."""
    folder.mkdir(parents=True, exist_ok=True)
    tables = []
    for number in range(files):
        stream = np.random.default_rng(number)
        x = stream.normal(size=rows)
        sensors = np.where(stream.random(rows) < 0.5, 0, stream.integers(0, keys, rows))
        columns = {
            "row": np.arange(rows) + number * rows,
            "sensor": [f"s-{sensor}" for sensor in sensors] if texts else sensors,
            "x": x,
            "z": stream.normal(size=rows),
            "y": (x > 0.1 * sensors / keys).astype(np.int64),
        }
        table = pa.table(columns)
        # Several row groups, so that several tasks read one file.
        pq.write_table(table, folder / f"{number:04}.parquet")
        # Spark reads files in the order of their times.
        os.utime(folder / f"{number:04}.parquet", (1e9 + number, 1e9 + number))
        tables.append(table)
    return tables


def read_stream(spark: Any, folder: Path) -> Any:
    schema = "row long, sensor long, x double, z double, y long"
    if pq.read_schema(next(folder.glob("*.parquet"))).field("sensor").type == pa.string():
        schema = schema.replace("sensor long", "sensor string")
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))


def learned_here(tables: list[Any], **settings: Any) -> tuple[Any, list[Any]]:
    """The same in this process: the models, and the predictions of all rows."""
    local = model(**settings)
    answers: list[Any] = []
    for table in tables:
        answers += list(local.step_many(table.select(["sensor", *FEATURES]), table["y"]))
    return local, answers


def same_models(found: Any, expected: Any) -> bool:
    """Whether two keyed models have the same keys and states, byte for byte."""
    return found.keys() == expected.keys() and all(
        found[key].to_bytes() == expected[key].to_bytes() for key in expected
    )


def output_rows(folder: Path) -> Any:
    """All rows of the output, ordered by their number."""
    tables = [pq.read_table(path, partitioning=None) for path in sorted(folder.rglob("*.parquet"))]
    return pa.concat_tables(tables).sort_by("row")


def main() -> None:
    """Learn a folder: source, checkpoint, output, master."""
    source, checkpoint, output, master = sys.argv[1:]
    spark = session(master)

    def write(rows: Any, batch: int) -> None:
        print(f"start {batch}", flush=True)
        rows.write.mode("overwrite").parquet(f"{output}/batch={batch:010}")
        print(f"written {batch}", flush=True)

    query = millstream_spark.keyed(
        read_stream(spark, Path(source)),
        model(),
        target="y",
        features=FEATURES,
        order="row",
        checkpoint=checkpoint,
        output=write,
        partitions=2,
        snapshot_every=5,
        trigger={"availableNow": True},
    )
    query.awaitTermination()
    print("done", flush=True)


if __name__ == "__main__":
    main()
