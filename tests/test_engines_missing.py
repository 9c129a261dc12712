"""`millstream.spark` and `millstream.ray` without their engines: importable, and one clear line when used."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from millstream import compose, linear_model, ray, shard, spark
from millstream.errors import InvalidState, MissingPackage
from millstream.spark.checkpoint import Checkpoint, Settings, files_of

MODEL = compose.Keyed(linear_model.LinearRegression(), key="sensor")


@pytest.fixture
def _without_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("pyspark", "pyspark.sql", "ray"):
        monkeypatch.setitem(sys.modules, name, None)
    # `start_local` has set it if the import had not failed.
    monkeypatch.setenv("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")


@pytest.mark.usefixtures("_without_engines")
def test_an_absent_engine_is_one_clear_line(tmp_path: Path) -> None:
    for call in (
        lambda: spark.keyed(None, MODEL, target="y", checkpoint=tmp_path),
        lambda: spark.merged(None, linear_model.LeastSquares(), target="y", checkpoint=tmp_path),
        lambda: spark.ensemble(None, [linear_model.LeastSquares()], target="y", order="t", checkpoint=tmp_path),
    ):
        with pytest.raises(
            MissingPackage, match=r'^spark: pyspark is not installed: pip install "millstream\[spark\]"$'
        ):
            call()
    for call in (
        lambda: ray.KeyedPool(MODEL, tmp_path),
        lambda: ray.MergedPool(linear_model.LeastSquares(), tmp_path),
        ray.start_local,
    ):
        with pytest.raises(MissingPackage, match=r'^ray: ray is not installed: pip install "millstream\[ray\]"$'):
            call()
    assert list(tmp_path.iterdir()) == []


def committed(folder: Path, batches: int) -> Any:
    """A checkpoint of one shard with some batches, as the driver writes it."""
    checkpoint = Checkpoint(folder, Settings("keyed", "a model", 1))
    part = shard.Shard(MODEL.clone(), folder / "state" / "shard-00000")
    for batch in range(batches):
        part.apply(0, batch, lambda model: model.learn_one({"sensor": 1, "x": 1.0}, 1.0))
        checkpoint.commit(batch, [part.save()])
    return checkpoint


def test_only_the_last_batch_can_be_repeated(tmp_path: Path) -> None:
    checkpoint = committed(tmp_path, 4)
    assert checkpoint.before(4)["batch"] == 3
    assert checkpoint.before(3)["batch"] == 2
    for batch in (0, 1, 2, 5):
        with pytest.raises(InvalidState, match=f"the stream continues with batch {batch}, but the state"):
            checkpoint.before(batch)
    again = Checkpoint.open(tmp_path, Settings("keyed", "a model", 1))
    assert (again.batch, again.history) == (3, checkpoint.history)


def test_a_state_is_read_while_the_stream_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    committed(tmp_path, 2)
    read = shard.StateFiles.read
    calls = []

    def late(files: Any, chain: list[str]) -> Any:
        # When the files are read for the first time, the stream has gone on and removed them.
        calls.append(chain)
        if len(calls) == 1:
            checkpoint = Checkpoint.open(tmp_path, Settings("keyed", "a model", 1))
            part = shard.Shard(MODEL.clone(), files.folder)
            part.seq = 40
            for batch in (40, 41):
                checkpoint.commit(batch, [part.save()])
        return read(files, chain)

    monkeypatch.setattr(shard.StateFiles, "read", late)
    assert spark.load(tmp_path).position == {"batch": 41}
    assert len(calls) == 2
    files_of(tmp_path, 0).prune(set(), (9, 9))
    with pytest.raises(InvalidState, match="is missing"):
        spark.load(tmp_path)
