"""Streams for the tests of `millstream.ray`, and the coordinator that they kill.

Run as a program, it learns a stream from the position of its folder and commits after every few batches. It kills
itself at a given commit, after the states are saved or merged and before the ledger is written.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from millstream import compose, linear_model, preprocessing
from millstream import ray as millstream_ray


def model(**settings: Any) -> Any:
    return compose.Keyed(
        preprocessing.StandardScaler() | linear_model.LogisticRegression(), key="sensor", **settings
    )


def table(number: int, rows: int, *, keys: int = 200, texts: bool = False) -> Any:
    """A batch. Half of the rows have the first key."""
    stream = np.random.default_rng(number)
    x = stream.normal(size=rows)
    sensors = np.where(stream.random(rows) < 0.5, 0, stream.integers(0, keys, rows))
    named = [f"s-{sensor}" for sensor in sensors] if texts else sensors
    return pa.table({"sensor": named, "x": x, "z": stream.normal(size=rows), "y": (x > 0).astype(np.int64)})


def learned_here(tables: list[Any], **settings: Any) -> tuple[Any, list[Any]]:
    """The same in this process: the models, and the predictions of all rows."""
    local = model(**settings)
    answers: list[Any] = []
    for each in tables:
        answers += list(local.step_many(each.drop_columns(["y"]), each["y"]))
    return local, answers


def same_models(found: Any, expected: Any) -> bool:
    return found.keys() == expected.keys() and all(
        found[key].to_bytes() == expected[key].to_bytes() for key in expected
    )


def main() -> None:
    """Learn: folder, kind of pool, batches, rows, commits before death (-1 for none)."""
    folder, kind, batches, rows, commits = Path(sys.argv[1]), sys.argv[2], *map(int, sys.argv[3:])
    millstream_ray.start_local(object_store_memory=100_000_000)
    if kind == "merged":
        pool: Any = millstream_ray.MergedPool(linear_model.LeastSquares(), folder, snapshot_every=3)
    else:
        pool = millstream_ray.KeyedPool(model(), folder, snapshot_every=3)
    print("open", pool.position, flush=True)
    content = pool._content

    def content_and_death() -> Any:
        # The states are saved, or the models merged and written, and the ledger is not.
        content()
        os.kill(os.getpid(), signal.SIGKILL)

    for number in range(pool.position or 0, batches):
        pool.learn_many(table(number, rows), "y")
        if number % 4 == 3 or number == batches - 1:
            commits -= 1
            if commits == -1:
                pool._content = content_and_death
            pool.commit(number + 1)
    print("done", flush=True)


if __name__ == "__main__":
    main()
