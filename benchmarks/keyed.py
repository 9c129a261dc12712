"""One model per key: rates, memory and dumps for a million keys, against a dict of River's pipelines."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks import report
from millstream import anomaly, compose, linear_model, preprocessing

__all__ = ["Row", "page", "rows"]

#: Rows of a batch.
BATCH = 10_000

#: A model of 400 bytes: 3 words and two for each feature of the scaler, one for each weight.
WIDE = 15


@dataclass
class Row:
    """A line of the table."""

    work: str
    reached: str
    goal: str
    met: bool | None


def _pipeline() -> Any:
    return preprocessing.StandardScaler() | linear_model.LogisticRegression()


def _batches(keys: int, count: int, features: int, seed: int, *, every: bool = False) -> list[tuple[Any, Any]]:
    """Arrow tables with random keys, or with every key once."""
    stream = np.random.default_rng(seed)
    found = []
    order = stream.permutation(keys)
    for number in range(keys // BATCH if every else count):
        own = order[number * BATCH : (number + 1) * BATCH] if every else stream.integers(0, keys, BATCH)
        columns = {f"x{place}": stream.normal(size=BATCH) for place in range(features)}
        found.append((pa.table({**columns, "key": own}), columns["x0"] > 0))
    return found


def _filled(template: Any, keys: int, features: int, threads: int) -> Any:
    """Keyed models that have all learned twice."""
    keyed = compose.Keyed(template, key="key", n_threads=threads, max_bytes=None)
    for seed in (1, 2):
        for X, y in _batches(keys, 0, features, seed, every=True):
            keyed.learn_many(X, y)
    return keyed


def _rate(work: Callable[[Any, Any], Any], batches: list[tuple[Any, Any]], turns: int) -> float:
    """Events per second in the median turn."""
    seconds = []
    for _ in range(turns):
        started = time.perf_counter()
        for X, y in batches:
            work(X, y)
        seconds.append(time.perf_counter() - started)
    return float(BATCH * len(batches) / np.median(seconds))


def _river_rate(keys: int, batches: list[tuple[Any, Any]]) -> float:
    from river import linear_model as river_linear
    from river import preprocessing as river_preprocessing

    models: dict[int, Any] = {}
    rows = [
        (table.drop_columns(["key"]).to_pylist(), table["key"].to_pylist(), y.tolist()) for table, y in batches
    ]
    for key in range(keys):
        models[key] = river_preprocessing.StandardScaler() | river_linear.LogisticRegression()
        models[key].learn_one(dict.fromkeys((f"x{place}" for place in range(5)), 0.5), True)
    started = time.perf_counter()
    for xs, own, y in rows:
        for x, key, target in zip(xs, own, y, strict=True):
            models[key].learn_one(x, target)
    return BATCH * len(batches) / (time.perf_counter() - started)


def rows(*, quick: bool) -> Iterator[Row]:
    """All rows."""
    keys = 100_000 if quick else 1_000_000
    count, turns = (50, 3) if quick else (200, 5)
    yield from _linear(keys, count, turns)
    yield from _scored(keys, count, turns)
    yield from _dumped(keys)


def _linear(keys: int, count: int, turns: int) -> Iterator[Row]:
    batches = _batches(keys, count, 5, 3)
    keyed = _filled(_pipeline(), keys, 5, 2)
    rates = []
    # One thread and two by turns, so that the ratio does not depend on the time of day.
    for threads in (2, 1, 2, 1):
        keyed.n_threads = threads
        rates.append(_rate(keyed.learn_many, batches, turns))
    two, one = max(rates[::2]), max(rates[1::2])
    work = f"scaler + logistic, 5 features, {keys:,} keys in random order, Arrow batches of {BATCH:,}"
    yield Row(f"{work}, learned on 2 threads", f"{two / 1e6:.2f} M events/s", "1.5 M events/s", two >= 1.5e6)
    yield Row("the same, 2 threads against 1", f"{two / one:.2f} ×", "1.6 ×", two / one >= 1.6)
    keyed.n_threads = 2
    stepped = _rate(keyed.step_many, batches, turns)
    yield Row("the same, predicted and learned", f"{stepped / 1e6:.2f} M events/s", "–", None)
    asked = _rate(lambda X, _: keyed.predict_many(X), batches, turns)
    yield Row("the same, predicted", f"{asked / 1e6:.2f} M events/s", "–", None)
    few = 10_000 if keys < 1_000_000 else 100_000
    some = _batches(few, 10, 5, 4)
    ours = _filled(_pipeline(), few, 5, 2)
    own = _rate(ours.learn_many, some, turns)
    river = _river_rate(few, some[:2])
    met = own / river >= 20
    yield Row(
        f"the same with {few:,} keys, against a dict of River's pipelines", f"{own / river:.0f} ×", "20 ×", met
    )


def _scored(keys: int, count: int, turns: int) -> Iterator[Row]:
    batches = _batches(keys, count, 1, 3)
    keyed = _filled(anomaly.GaussianScorer(grace_period=1), keys, 1, 2)
    rate = _rate(lambda X, _: keyed.step_many(X), batches, turns)
    work = f"running mean and variance with score, {keys:,} keys, one value each, 2 threads"
    yield Row(work, f"{rate / 1e6:.2f} M events/s", "4 M events/s", rate >= 4e6)


def _dumped(keys: int) -> Iterator[Row]:
    keyed = _filled(_pipeline(), keys, WIDE, 2)
    # The state of one model: counts, means, squares, weights, intercept and steps.
    bare = 8 * (1 + 2 * WIDE + 3 + WIDE)
    each = keyed.memory / keys
    work = f"memory of {keys:,} models with a state of {bare} bytes"
    yield Row(work, f"{each:.0f} bytes each, {each / bare:.2f} ×", "1.3 × the bare state", each / bare <= 1.3)
    with tempfile.TemporaryDirectory() as folder:
        waits = _waits(keyed)
        started = time.perf_counter()
        written = keyed.dump(folder)
        full = time.perf_counter() - started
        slowest = waits()
        megabytes = written["bytes"] / 1e6
        yield Row(f"dump of these models ({megabytes:.0f} MB)", f"{full:.2f} s", "3 s", full <= 3)
        yield Row(
            "99th percentile of `predict_one` meanwhile", f"{slowest * 1e3:.2f} ms", "20 ms", slowest <= 0.02
        )
        changed = np.random.default_rng(5).choice(keys, keys // 100, replace=False)
        X = pa.table({**{f"x{place}": np.ones(len(changed)) for place in range(WIDE)}, "key": changed})
        keyed.learn_many(X, changed > 0)
        started = time.perf_counter()
        keyed.dump(folder)
        part = time.perf_counter() - started
        met = part <= 0.1 * full
        yield Row("dump after 1 % changed", f"{part:.3f} s, {part / full:.3f} of a full one", "0.1", met)
        started = time.perf_counter()
        loaded = compose.Keyed.load(Path(folder))
        seconds = time.perf_counter() - started
        assert len(loaded) == keys
        yield Row("load, every state checked", f"{seconds:.2f} s", "3 s", seconds <= 3)


def _waits(keyed: Any) -> Callable[[], float]:
    """Measure predictions in a thread until the result is called: the 99th percentile of their seconds."""
    done = threading.Event()
    seconds: list[float] = []
    x = {**{f"x{place}": 0.5 for place in range(WIDE)}, "key": 17}

    def ask() -> None:
        while not done.is_set():
            started = time.perf_counter()
            keyed.predict_one(x)
            seconds.append(time.perf_counter() - started)
            time.sleep(0.0005)

    thread = threading.Thread(target=ask)
    thread.start()

    def end() -> float:
        done.set()
        thread.join()
        return float(np.percentile(seconds, 99))

    return end


def page(where: str, found: list[Row]) -> str:
    """KEYED.md."""
    words = {True: "yes", False: "**no**", None: "–"}
    lines = [[row.work, row.reached, row.goal, words[row.met]] for row in found]
    how = (
        "All models have learned twice before. Rates are those of the median turn over Arrow tables that are in "
        "memory. River's rate is that of a loop over dicts, in the same run."
    )
    parts = ["# Keyed models", f"Written by `python -m benchmarks.run --only keyed --write`. {where}", how]
    return "\n\n".join([*parts, report.table(["work", "reached", "goal", "met"], lines)]) + "\n"
