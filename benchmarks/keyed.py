"""One model per key: rates, memory and dumps for a million keys, against a dict of River's pipelines."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks import goals
from benchmarks.goals import Row
from millstream import anomaly, compose, linear_model, preprocessing

__all__ = ["page", "rows"]

#: Rows of a batch.
BATCH = 10_000

#: A model of 400 bytes: 3 words and two for each feature of the scaler, one for each weight.
WIDE = 15


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
    yield from _spilled(keys // 5, count // 2, turns)
    yield from _new_keys(10 * keys)
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


def _spilled(keys: int, count: int, turns: int) -> Iterator[Row]:
    """Rates of one thread when some events belong to models in the spill file, whose pages are in the cache."""
    # Some of the other keys are in memory too, so that 14 % of them make about 10 %.
    for others, goal, hot in ((0.14, 0.6e6, keys // 10), (1.0, 0.15e6, 0)):
        with tempfile.TemporaryDirectory() as folder:
            # Memory for a quarter of the models, and about 100 bytes for each of the others.
            most = int(keys * (0.25 * 510 + 0.75 * 125))
            keyed = compose.Keyed(_pipeline(), key="key", n_threads=1, max_bytes=most, spill=folder)
            for X, y in _batches(keys, 0, WIDE, 1, every=True):
                keyed.learn_many(X, y)
            batches = _batches(keys, count, WIDE, 2)
            if hot:
                # Few keys with most events stay in memory.
                batches = [(_with_hot_keys(X, hot, 1 - others, place), y) for place, (X, y) in enumerate(batches)]
            _rate(keyed.learn_many, batches, 1)
            before = keyed.counters
            rate = _rate(keyed.learn_many, batches, turns)
            after = keyed.counters
            returned = (after["returned"] - before["returned"]) / (turns * count * BATCH)
            assert after["dropped"] == 0
        work = (
            f"{keys:,} models of {8 * _state_words(WIDE)} bytes, {returned:.0%} of the events on models in the "
            "spill file, 1 thread"
        )
        yield Row(work, f"{rate / 1e6:.2f} M events/s", f"{goal / 1e6:g} M events/s", rate >= goal)


def _with_hot_keys(X: Any, hot: int, fraction: float, seed: int) -> Any:
    """A table in which a fraction of the rows belongs to a few keys."""
    stream = np.random.default_rng(seed)
    keys = np.where(stream.random(len(X)) < fraction, stream.integers(0, hot, len(X)), X["key"].to_numpy())
    return X.set_column(X.column_names.index("key"), "key", pa.array(keys))


def _new_keys(keys: int) -> Iterator[Row]:
    """Keys that come once, in bounded memory."""
    keyed = compose.Keyed(_pipeline(), key="key", n_threads=2, max_bytes=1 << 28)
    values = np.random.default_rng(1).normal(size=BATCH)
    started, most = time.perf_counter(), 0
    for first in range(0, keys, BATCH):
        keyed.learn_many(pa.table({"x": values, "key": np.arange(first, first + BATCH)}), values > 0)
        most = max(most, keyed.memory)
    seconds = time.perf_counter() - started
    counters = keyed.counters
    assert counters["created"] == keys == len(keyed) + counters["dropped"]
    work = f"{keys:,} new keys with `max_bytes` of {(1 << 28) / 1e6:.0f} MB, one event each"
    reached = f"{seconds:.0f} s, at most {most / 1e6:.0f} MB, {counters['dropped']:,} models dropped and counted"
    yield Row(work, reached, "60 s, bounded", seconds <= 60 and most <= 1 << 28)


def _state_words(features: int) -> int:
    """The state of one model: counts, means, squares, weights, intercept and steps."""
    return 1 + 2 * features + 3 + features


def _dumped(keys: int) -> Iterator[Row]:
    keyed = _filled(_pipeline(), keys, WIDE, 2)
    bare = 8 * _state_words(WIDE)
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
    how = (
        "All models have learned twice before. Rates are those of the median turn over Arrow tables that are in "
        "memory. River's rate is that of a loop over dicts, in the same run."
    )
    return goals.page("Keyed models", "python -m benchmarks.run --only keyed --write", where, how, found)
