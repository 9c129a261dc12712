"""`millstream.spark`: the same models as in one process, and clear refusals."""

from __future__ import annotations

import os
import re
import shutil
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed")

import spark_streams as streams
from millstream import anomaly, compose, linear_model, tree
from millstream import spark as millstream_spark
from millstream.errors import InvalidState, InvalidType, InvalidValue, UnknownName
from millstream.spark.hashing import partition_of

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("java") is None, reason="Java is not installed"),
]

ONCE = {"availableNow": True}


@pytest.fixture(scope="module")
def spark() -> Any:
    session = streams.session()
    yield session
    session.stop()


def run(spark: Any, source: Path, folder: Path, model: Any = None, **settings: Any) -> Any:
    given = {"target": "y", "features": streams.FEATURES, "order": "row", "partitions": 2, "trigger": ONCE}
    rows = streams.read_stream(spark, source)
    query = millstream_spark.keyed(rows, model or streams.model(), checkpoint=folder, **{**given, **settings})
    query.awaitTermination()
    return query


@pytest.mark.parametrize("texts", [False, True])
def test_models_and_predictions_are_those_of_one_process(spark: Any, tmp_path: Path, texts: bool) -> None:
    tables = streams.write_files(tmp_path / "in", 4, 1000, texts=texts)
    run(spark, tmp_path / "in", tmp_path / "check", output=tmp_path / "out", snapshot_every=2)
    local, answers = streams.learned_here(tables)
    assert streams.same_models(millstream_spark.load(tmp_path / "check"), local)
    rows = streams.output_rows(tmp_path / "out")
    assert rows["row"].to_pylist() == list(range(4000))
    assert rows["prediction"].to_pylist() == answers
    totals = millstream_spark.totals(tmp_path / "check")
    for name, column in local.totals().items():
        np.testing.assert_array_equal(totals[name], column)
    # The same query goes on: more files, learned only.
    more = streams.write_files(tmp_path / "in", 6, 1000, texts=texts)
    run(spark, tmp_path / "in", tmp_path / "check", snapshot_every=2)
    local, _ = streams.learned_here(more)
    found = millstream_spark.load(tmp_path / "check")
    assert streams.same_models(found, local)
    assert (found.learned, found.position) == (6000, {"batch": 5})


def test_partitions_are_those_of_spark(spark: Any) -> None:
    texts = ["", "a", "ab", "abc", "abcd", "sensor 17", "ü", "日本語のキー", "x" * 99]
    numbers = [0, 1, -1, 17, 2**31, -(2**40) - 5, 2**63 - 1, -(2**63)]
    for keys, kind in ((texts, "string"), (numbers, "long")):
        rows = spark.createDataFrame([(key,) for key in keys], f"k {kind}").selectExpr("k", "pmod(hash(k), 7) h")
        assert {row["k"]: row["h"] for row in rows.collect()} == {key: partition_of(key, 7) for key in keys}


def test_an_output_that_reads_twice_or_in_part_changes_nothing(spark: Any, tmp_path: Path) -> None:
    tables = streams.write_files(tmp_path / "in", 5, 600)

    def output(rows: Any, batch: int) -> None:
        if batch == 0:
            rows.limit(3).collect()
        elif batch == 1:
            rows.collect()
            rows.collect()
        elif batch == 2:
            # Two attempts of each task at the same time.
            threads = [threading.Thread(target=rows.collect) for _ in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

    run(spark, tmp_path / "in", tmp_path / "check", output=output, snapshot_every=2)
    local, _ = streams.learned_here(tables)
    assert streams.same_models(millstream_spark.load(tmp_path / "check"), local)


def test_a_task_that_fails_after_it_has_learned_runs_again(spark: Any, tmp_path: Path) -> None:
    each = 80_000 if os.environ.get("MILLSTREAM_FAULTS") == "long" else 400
    tables = streams.write_files(tmp_path / "in", 10, each)
    failures = tmp_path / "failures"
    failures.mkdir()

    def output(rows: Any, batch: int) -> None:
        folder = str(failures)

        def fail_at_first(batches: Any) -> Any:
            from pathlib import Path

            from pyspark import TaskContext

            # All rows were read, so that the state of the first attempt is on the disk.
            yield from batches
            context = TaskContext.get()
            if context.attemptNumber() == 0:
                (Path(folder) / f"{batch}-{context.partitionId()}").touch()
                raise RuntimeError("fails after its work")

        rows.mapInArrow(fail_at_first, rows.schema).write.parquet(str(tmp_path / "out" / str(batch)))

    run(spark, tmp_path / "in", tmp_path / "check", output=output, snapshot_every=3)
    assert len(list(failures.iterdir())) == 20
    local, answers = streams.learned_here(tables)
    assert streams.same_models(millstream_spark.load(tmp_path / "check"), local)
    rows = streams.output_rows(tmp_path / "out")
    assert rows["row"].to_pylist() == list(range(10 * each))
    assert rows["prediction"].to_pylist() == answers
    print(f"a task run twice: 20 tasks failed after their work, 0 of {10 * each:,} rows lost, 0 doubled")


def test_a_repeated_batch_starts_from_the_state_before(spark: Any, tmp_path: Path) -> None:
    tables = streams.write_files(tmp_path / "in", 3, 500)
    run(spark, tmp_path / "in", tmp_path / "check", output=tmp_path / "out")
    # As if the driver had died between our commit and that of Spark.
    (tmp_path / "check" / "spark" / "commits" / "2").unlink()
    (tmp_path / "check" / "spark" / "commits" / ".2.crc").unlink(missing_ok=True)
    with pytest.raises(InvalidState, match="batch 2 .* is not finished"):
        millstream_spark.reshard(tmp_path / "check", 3)
    run(spark, tmp_path / "in", tmp_path / "check", output=tmp_path / "out")
    local, answers = streams.learned_here(tables)
    assert streams.same_models(millstream_spark.load(tmp_path / "check"), local)
    assert streams.output_rows(tmp_path / "out")["prediction"].to_pylist() == answers


def test_the_number_of_partitions_changes_by_reshard_only(spark: Any, tmp_path: Path) -> None:
    streams.write_files(tmp_path / "in", 2, 500, texts=True)
    run(spark, tmp_path / "in", tmp_path / "check")
    tables = streams.write_files(tmp_path / "in", 4, 500, texts=True)
    with pytest.raises(InvalidState, match="has 2 partitions, got 3: keep the number, or change it with"):
        run(spark, tmp_path / "in", tmp_path / "check", partitions=3)
    for partitions in (3, 1, 4):
        millstream_spark.reshard(tmp_path / "check", partitions)
    run(spark, tmp_path / "in", tmp_path / "check", partitions=4)
    local, _ = streams.learned_here(tables)
    assert streams.same_models(millstream_spark.load(tmp_path / "check"), local)
    for bad in (0, True, "3"):
        with pytest.raises(InvalidValue, match="partitions must be a positive integer"):
            millstream_spark.reshard(tmp_path / "check", bad)


def test_models_with_a_time_to_live_are_not_moved(spark: Any, tmp_path: Path) -> None:
    streams.write_files(tmp_path / "in", 1, 500)
    model = streams.model(time="row", ttl=100.0)
    run(spark, tmp_path / "in", tmp_path / "check", model, order=None)
    with pytest.raises(InvalidValue, match="models with ttl or max_keys cannot be moved"):
        millstream_spark.reshard(tmp_path / "check", 3)


def test_a_checkpoint_of_something_else_is_refused(spark: Any, tmp_path: Path) -> None:
    streams.write_files(tmp_path / "in", 2, 300)
    run(spark, tmp_path / "in", tmp_path / "check")
    other = compose.Keyed(linear_model.LogisticRegression(), key="sensor")
    with pytest.raises(InvalidState, match="is of Keyed.*, got Keyed"):
        run(spark, tmp_path / "in", tmp_path / "check", other)
    # Spark's own checkpoint is gone, the state is not: batch 0 would be learned by models that know it.
    shutil.rmtree(tmp_path / "check" / "spark")
    with pytest.raises(
        Exception, match="belongs to another query: Spark's checkpoint was removed without the state"
    ):
        run(spark, tmp_path / "in", tmp_path / "check")
    with pytest.raises(InvalidState, match="there is no state"):
        millstream_spark.load(tmp_path / "elsewhere")


def test_damaged_files_stop_the_stream_and_are_named(spark: Any, tmp_path: Path) -> None:
    streams.write_files(tmp_path / "in", 2, 300)
    run(spark, tmp_path / "in", tmp_path / "check")
    streams.write_files(tmp_path / "in", 3, 300)
    path = sorted((tmp_path / "check" / "state").glob("shard-*/*.state"))[-1]
    whole = path.read_bytes()
    path.write_bytes(whole[:300] + bytes([whole[300] ^ 4]) + whole[301:])
    with pytest.raises(InvalidState, match=path.name):
        millstream_spark.load(tmp_path / "check")
    with pytest.raises(Exception, match=path.name):
        run(spark, tmp_path / "in", tmp_path / "check")
    path.unlink()
    with pytest.raises(Exception, match=f"{path.name}.* is missing"):
        run(spark, tmp_path / "in", tmp_path / "check")
    path.write_bytes(whole)
    run(spark, tmp_path / "in", tmp_path / "check")
    assert millstream_spark.load(tmp_path / "check").learned == 900


def test_bad_rows_end_the_batch_or_are_skipped(spark: Any, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    tables = streams.write_files(tmp_path / "in", 2, 300)
    bad = tables[1].to_pydict()
    bad["sensor"][7] = None
    bad["y"][9] = None
    pq.write_table(pa.table(bad), tmp_path / "in" / "0001.parquet")
    with pytest.raises(Exception, match="key is missing|missing"):
        run(spark, tmp_path / "in", tmp_path / "check")
    assert millstream_spark.load(tmp_path / "check").learned == 300
    run(spark, tmp_path / "in", tmp_path / "check", on_error="skip")
    assert millstream_spark.load(tmp_path / "check").learned == 598


def test_models_without_a_target(spark: Any, tmp_path: Path) -> None:
    tables = streams.write_files(tmp_path / "in", 2, 400)
    scorer = anomaly.GaussianScorer(grace_period=5)
    settings = {"target": None, "features": ["x"], "output": tmp_path / "out"}
    run(spark, tmp_path / "in", tmp_path / "check", compose.Keyed(scorer, key="sensor"), **settings)
    local = compose.Keyed(scorer, key="sensor")
    scores = np.concatenate([local.step_many(table.select(["sensor", "x"])) for table in tables])
    assert streams.output_rows(tmp_path / "out")["prediction"].to_pylist() == scores.tolist()
    with pytest.raises(InvalidValue, match="needs no target"):
        run(spark, tmp_path / "in", tmp_path / "other", scorer, key="sensor")


def test_a_merged_model_is_that_of_one_process(spark: Any, tmp_path: Path) -> None:
    tables = streams.write_files(tmp_path / "in", 4, 500)
    model = linear_model.LeastSquares()
    rows = streams.read_stream(spark, tmp_path / "in")
    settings = {"target": "y", "features": streams.FEATURES, "checkpoint": tmp_path / "check", "trigger": ONCE}
    millstream_spark.merged(rows.repartition(3), model, **settings).awaitTermination()
    (tmp_path / "check" / "spark" / "commits" / "3").unlink()
    (tmp_path / "check" / "spark" / "commits" / ".3.crc").unlink(missing_ok=True)
    # The last batch is merged again into the model before it.
    millstream_spark.merged(rows.repartition(3), model, **settings).awaitTermination()
    found = millstream_spark.load(tmp_path / "check")
    for table in tables:
        model.learn_many(table.select(streams.FEATURES), table["y"])
    assert found.learned == 2000
    X = tables[0].select(streams.FEATURES)
    np.testing.assert_allclose(found.predict_many(X), model.predict_many(X), rtol=1e-9)
    with pytest.raises(InvalidValue, match=r"cannot be merged.*millstream\.spark\.keyed"):
        millstream_spark.merged(rows, tree.HoeffdingTreeClassifier(), **settings)


def test_members_of_an_ensemble_are_those_of_one_process(spark: Any, tmp_path: Path) -> None:
    tables = streams.write_files(tmp_path / "in", 3, 500)
    members = [tree.HoeffdingTreeClassifier(grace_period=50), linear_model.LogisticRegression(l2=0.1)]
    rows = streams.read_stream(spark, tmp_path / "in")
    settings = {"target": "y", "features": streams.FEATURES, "checkpoint": tmp_path / "check"}
    millstream_spark.ensemble(rows, members, order="row", **settings, trigger=ONCE).awaitTermination()
    found = millstream_spark.load(tmp_path / "check")
    for member in members:
        for table in tables:
            member.learn_many(table.select(streams.FEATURES), table["y"])
    assert [member.to_bytes() for member in found] == [member.to_bytes() for member in members]


def test_wrong_calls_are_refused_in_one_line(spark: Any, tmp_path: Path) -> None:
    streams.write_files(tmp_path / "in", 1, 10)
    rows = streams.read_stream(spark, tmp_path / "in")
    template = linear_model.LogisticRegression()
    known = compose.Keyed(template, key="sensor")
    known.learn_one({"sensor": 1, "x": 1.0}, 1)
    given: dict[str, Any] = {"target": "y", "checkpoint": tmp_path / "check"}
    for error, words, model, changes in (
        (UnknownName, "there is no column 'shop'", template, {"key": "shop"}),
        (UnknownName, "there is no column 'u'", template, {"key": "sensor", "features": ["u"]}),
        (InvalidType, "a compose.Keyed is required", template, {}),
        (InvalidValue, "have the key 'sensor', got key='x'", streams.model(), {"key": "x"}),
        (InvalidValue, "must have learned no keys, got 1", known, {}),
        (InvalidValue, "needs a target", streams.model(), {"target": None}),
        (InvalidValue, 'must be "raise" or "skip"', streams.model(), {"on_error": "stop"}),
        (
            InvalidValue,
            "a folder that the driver and all executors see",
            streams.model(),
            {"checkpoint": "hdfs://x/y"},
        ),
    ):
        with pytest.raises(error, match=words):
            millstream_spark.keyed(rows, model, **{**given, **changes})
    with pytest.raises(InvalidType, match="a streaming data frame is required"):
        millstream_spark.keyed(spark.range(3), streams.model(), **given)
    query = millstream_spark.keyed(rows, compose.Keyed(template, key="x"), **given, trigger=ONCE)
    with pytest.raises(Exception, match="a key must be an integer or a string, got a column of double"):
        query.awaitTermination()
    assert not (tmp_path / "check" / "state").exists()


def test_the_code_of_the_page_runs(spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    streams.write_files(tmp_path / "in", 2, 300)
    page = (Path(__file__).parent.parent / "docs" / "scale_out.md").read_text()
    section = page.split("\n## Spark\n")[1].split("\n## ")[0]
    (code,) = re.findall(r"^```py\n(.*?)^```$", section, flags=re.DOTALL | re.MULTILINE)
    names = {"spark": spark, "source": str(tmp_path / "in"), "folder": tmp_path / "check"}
    exec(code, {**names, "predictions": tmp_path / "out"})
    assert capsys.readouterr().out == "600 {'batch': 0}\n"
    assert streams.output_rows(tmp_path / "out").num_rows == 600
