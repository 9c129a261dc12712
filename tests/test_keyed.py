"""`compose.Keyed`: keys as values, limits, errors, and models written in Python."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from millstream import anomaly, base, cluster, compose, drift, linear_model, preprocessing, stats, time_series
from millstream.errors import InvalidType, InvalidValue, UnknownName


def pipeline() -> Any:
    return preprocessing.StandardScaler() | linear_model.LogisticRegression()


class LastValue(time_series.Forecaster):
    """The last value."""


class PythonMean(base.Regressor):
    """The mean of the targets."""

    def __init__(self) -> None:
        self.sum = 0.0
        self.count = 0

    def learn_one(self, x: Any, y: Any) -> None:
        if x.get("bad"):
            raise ValueError("a bad row")
        self.sum += y
        self.count += 1

    def predict_one(self, x: Any) -> float:
        return self.sum / self.count if self.count else 0.0


def frame(rows: int = 200, seed: int = 0) -> tuple[pd.DataFrame, Any]:
    random = np.random.default_rng(seed)
    data = pd.DataFrame(random.normal(size=(rows, 3)), columns=["a", "b", "c"])
    data["sensor"] = [f"s-{key}" for key in random.integers(0, 9, rows)]
    return data, (data.a + data.b > 0).to_numpy()


def states(keyed: Any) -> dict[Any, bytes]:
    return {key: keyed[key].to_bytes() for key in keyed}


@pytest.mark.parametrize(
    "form",
    [
        lambda data: data,
        lambda data: data.assign(sensor=data.sensor.astype("category")),
        lambda data: data.assign(sensor=data.sensor.astype("string")),
        pl.from_pandas,
        lambda data: pl.from_pandas(data).with_columns(pl.col("sensor").cast(pl.Categorical)),
        lambda data: pa.Table.from_pandas(data, preserve_index=False),
        lambda data: pa.Table.from_pandas(
            data.assign(sensor=data.sensor.astype("category")), preserve_index=False
        ),
        lambda data: pa.RecordBatch.from_pandas(data, preserve_index=False),
        lambda data: (
            pa.concat_tables([pa.Table.from_pandas(data[:50]), pa.Table.from_pandas(data[50:])]).drop_columns(
                ["__index_level_0__"]
            )
            if "__index_level_0__" in pa.Table.from_pandas(data[50:]).column_names
            else pa.concat_tables([pa.Table.from_pandas(data[:50]), pa.Table.from_pandas(data[50:])])
        ),
        lambda data: data.to_dict("records"),
    ],
    ids=[
        "pandas",
        "category",
        "string",
        "polars",
        "categorical",
        "arrow",
        "dictionary",
        "batch",
        "chunked",
        "dicts",
    ],
)
def test_every_form_of_rows_gives_the_same_models(form: Any) -> None:
    data, y = frame()
    expected = compose.Keyed(pipeline(), key="sensor")
    for x, target in zip(data.to_dict("records"), y.tolist(), strict=True):
        expected.learn_one(x, target)
    keyed = compose.Keyed(pipeline(), key="sensor")
    keyed.learn_many(form(data), y)
    assert states(keyed) == states(expected)
    assert list(keyed.predict_many(form(data))) == [expected.predict_one(x) for x in data.to_dict("records")]


def test_integer_keys_of_arrays_and_matrices() -> None:
    X = np.random.default_rng(0).normal(size=(50, 3))
    keys = np.arange(50) % 4
    one = compose.Keyed(pipeline(), key="k")
    one.learn_many(X, keys > 1, keys=keys)
    for given in (keys.astype(np.uint8), keys.astype(float), keys.tolist(), pa.array(keys), pd.Series(keys)):
        other = compose.Keyed(pipeline(), key="k")
        other.learn_many(X, keys > 1, keys=given)
        assert states(other) == states(one)
    # A column of the matrix itself: its features keep their numbers.
    by_column = compose.Keyed(pipeline(), key=3)
    by_column.learn_many(np.column_stack([X, keys]), keys > 1)
    assert states(by_column) == states(one)


def test_keys_are_values() -> None:
    keyed = compose.Keyed(linear_model.LinearRegression(), key="shop")
    for row in range(30):
        keyed.step_one({"shop": row % 3, "x": row}, 2.0 * row if row % 3 else 1e3)
    assert (len(keyed), list(keyed), 1 in keyed, 5 in keyed, "x" in keyed) == (3, [0, 1, 2], True, False, False)
    assert keyed.learned == 30
    alone = keyed[1]
    assert alone.learned == 10
    assert alone.predict_one({"x": 4}) == keyed.predict_one({"shop": 1, "x": 4})
    alone.learn_one({"x": 4}, 9.0)
    assert alone.learned == 11
    assert keyed[1].learned == 10
    keyed[7] = alone
    assert keyed[7].to_bytes() == alone.to_bytes()
    del keyed[0]
    assert keyed.keys() == [1, 2, 7]
    with pytest.raises(KeyError):
        keyed[0]
    with pytest.raises(KeyError):
        del keyed[0]
    with pytest.raises(TypeError, match="a model of the template is required"):
        keyed[8] = linear_model.LinearRegression(l2=0.5)
    totals = keyed.totals()
    assert totals["learned"].tolist() == [10, 10, 11]
    assert totals["scored"].tolist() == [10, 10, 0]
    assert [key for key, _ in keyed.most_surprising()] == sorted(
        [1, 2], key=lambda key: -totals["mean_error"][key - 1]
    )


def test_keys_are_those_of_a_dict() -> None:
    keyed = compose.Keyed(linear_model.LinearRegression(), key="shop")
    for key, times in (("b", 2), ("a", 1)):
        for _ in range(times):
            keyed.learn_one({"shop": key, "x": 1.0}, 1.0)
    assert [(key, model.learned) for key, model in keyed.items()] == [("a", 1), ("b", 2)]
    assert [model.learned for model in keyed.values()] == [1, 2]
    assert keyed.get("c") is None
    assert keyed.get("c", 7) == 7
    assert keyed.get("b").learned == 2
    popped = keyed.pop("b")
    assert popped.learned == 2
    assert keyed.keys() == ["a"]
    with pytest.raises(KeyError, match="b"):
        keyed.pop("b")
    keyed["b"] = popped
    assert keyed["b"].to_bytes() == popped.to_bytes()


@pytest.mark.parametrize(("kind", "library"), [(None, pd), ("pandas", pd), ("polars", pl), ("pyarrow", pa)])
def test_totals_as_a_frame(kind: str | None, library: Any) -> None:
    keyed = compose.Keyed(linear_model.LinearRegression(), key="shop")
    keyed.step_many([{"shop": "b", "x": 1.0}, {"shop": "a", "x": 1.0}], [1.0, 2.0])
    frame = keyed.to_frame(kind)
    assert isinstance(frame, library.Table if library is pa else library.DataFrame)
    assert {name: list(column) for name, column in keyed.totals().items() if name != "last_seen"} == {
        name: frame[name].to_pylist() if library is pa else list(frame[name])
        for name in ("key", "learned", "scored", "mean_error")
    }
    with pytest.raises(InvalidValue, match="kind must be one of pandas, polars, pyarrow"):
        keyed.to_frame("csv")


def test_verbs_are_those_of_the_template() -> None:
    X, keys = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 3
    families = ("predict", "predict_proba", "predict_interval", "score", "step")
    verbs = [f"{family}_{rows}" for family in families for rows in ("one", "many")]
    for template in (
        pipeline(),
        linear_model.RLS(),
        linear_model.BayesianLinearRegression(),
        cluster.KMeans(2),
        anomaly.GaussianScorer(),
        anomaly.QuantileFilter(anomaly.GaussianScorer(), 0.9),
        preprocessing.StandardScaler() | PythonMean(),
    ):
        keyed = compose.Keyed(template, key="k")
        present = [verb for verb in verbs if hasattr(keyed, verb)]
        assert present == [verb for verb in verbs if hasattr(template, verb)]
    with pytest.raises(AttributeError, match="no attribute 'predict_proba_many': it is a regressor"):
        compose.Keyed(linear_model.RLS(), key="k").predict_proba_many(X, keys=keys)
    bayes = compose.Keyed(linear_model.BayesianLinearRegression(), key="k")
    bayes.learn_many(X, X[:, 0], keys=keys)
    intervals = [
        bayes[key].predict_interval_many(X[[row]], 0.8)[0].tolist() for row, key in enumerate(keys.tolist())
    ]
    assert bayes.predict_interval_many(X, 0.8, keys=keys).tolist() == intervals
    # An unknown key has the interval of the template.
    unknown = linear_model.BayesianLinearRegression().predict_interval_one({0: 1.0, 1: 2.0})
    assert bayes.predict_interval_one({0: 1.0, 1: 2.0, "k": 9}) == unknown
    # The distance to the boundary, and not the class.
    keyed = compose.Keyed(pipeline(), key="k")
    keyed.learn_many(X, X[:, 0] > 0, keys=keys)
    expected = [keyed[key].score_many(X[[row]])[0] for row, key in enumerate(keys.tolist())]
    assert keyed.score_many(X, keys=keys).tolist() == expected
    rows = [{0: x, 1: z, "k": key} for (x, z), key in zip(X.tolist(), keys.tolist(), strict=True)]
    assert keyed.score_many(rows).tolist() == expected


def test_an_unknown_key_is_predicted_by_the_template() -> None:
    template = linear_model.LinearRegression()
    template.learn_one({"x": 1.0}, 5.0)
    keyed = compose.Keyed(template, key="k")
    assert keyed.predict_one({"k": "new", "x": 1.0}) == template.predict_one({"x": 1.0}) != 0.0
    keyed.learn_one({"k": "new", "x": 1.0}, 5.0)
    assert keyed["new"].learned == 2


def test_the_model_that_learned_least_recently_is_dropped() -> None:
    keyed = compose.Keyed(linear_model.LinearRegression(), key="k", max_keys=3)
    for key in [1, 2, 3, 1, 4, 1, 5]:
        keyed.learn_one({"k": key, "x": 1.0}, 1.0)
    assert keyed.keys() == [1, 4, 5]
    assert keyed.counters == {"created": 5, "spilled": 0, "returned": 0, "expired": 0, "dropped": 2}


@pytest.mark.parametrize("template", [pipeline, lambda: linear_model.LogisticRegression(optimizer="optim.Adam")])
@pytest.mark.parametrize("texts", [False, True])
def test_many_new_keys_stay_within_limits(template: Any, texts: bool) -> None:
    X = np.random.default_rng(0).normal(size=(20_000, 3))
    keys = [f"key {key}" for key in range(20_000)] if texts else np.arange(20_000)
    by_count = compose.Keyed(template(), key="k", max_keys=500, max_bytes=None)
    by_count.learn_many(X, X[:, 0] > 0, keys=keys)
    assert len(by_count) == 500
    assert by_count.counters["dropped"] == 19_500
    assert by_count.keys() == sorted(keys[-500:])
    by_bytes = compose.Keyed(template(), key="k", max_bytes=1 << 20)
    by_bytes.learn_many(X, X[:, 0] > 0, keys=keys)
    assert by_bytes.memory <= 1 << 20
    assert len(by_bytes) > 500
    assert by_bytes.counters["created"] - by_bytes.counters["dropped"] == len(by_bytes)


def test_trees_stay_within_bytes() -> None:
    from millstream import tree

    X = np.random.default_rng(0).normal(size=(20_000, 3))
    keyed = compose.Keyed(tree.HoeffdingTreeClassifier(grace_period=20), key="k", max_bytes=1 << 19)
    keyed.learn_many(X, X[:, 0] > 0, keys=np.arange(20_000) % 1000)
    assert keyed.memory <= 1 << 19
    assert 0 < keyed.counters["dropped"] < 20_000


def test_a_model_that_expired_starts_anew() -> None:
    keyed = compose.Keyed(linear_model.LinearRegression(), key="k", time="t", ttl=10)
    keyed.learn_one({"k": 1, "t": 0.0, "x": 1.0}, 1.0)
    keyed.learn_one({"k": 1, "t": 10.0, "x": 1.0}, 1.0)
    assert keyed[1].learned == 2
    keyed.learn_one({"k": 2, "t": 21.0, "x": 1.0}, 1.0)
    assert 1 not in keyed
    assert keyed.predict_one({"k": 1, "x": 1.0}) == 0.0
    # A late row does not turn back the clock.
    keyed.learn_one({"k": 1, "t": 12.0, "x": 1.0}, 1.0)
    assert keyed[1].learned == 1
    assert keyed.counters["expired"] == 1


def test_expiry_does_not_depend_on_batches_or_threads() -> None:
    random = np.random.default_rng(5)
    rows = 5000
    X = pd.DataFrame({"x": random.normal(size=rows), "k": random.integers(0, 400, rows)})
    X["t"] = np.arange(rows) + random.integers(-200, 200, rows)
    seen = []
    for size, threads in ((1, 1), (333, 2), (rows, 4)):
        keyed = compose.Keyed(linear_model.LinearRegression(), key="k", time="t", ttl=500, n_threads=threads)
        for start in range(0, rows, size):
            part = X[start : start + size]
            keyed.learn_many(part, part.x.to_numpy())
        seen.append((states(keyed), keyed.counters["created"]))
    assert seen[0] == seen[1] == seen[2]


def test_dates_are_times() -> None:
    data = pd.DataFrame({"k": [1, 1], "x": [1.0, 2.0], "t": pd.to_datetime(["2026-01-01", "2026-01-03"])})
    keyed = compose.Keyed(linear_model.LinearRegression(), key="k", time="t", ttl=86400)
    keyed.learn_many(data, [1.0, 2.0])
    assert keyed[1].learned == 1
    assert keyed.totals()["last_seen"].tolist() == [1767398400.0]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ([1, None], "the key is missing"),
        ([1.0, float("nan")], "the key is missing"),
        ([1, 2.5], "an integer or a string"),
        ([1, True], "an integer or a string"),
        (["a", "b" * 5000], "up to 4096 bytes, got 5000"),
        ([1, 1 << 70], "64 bits"),
        ([1, b"x"], "an integer or a string"),
        (["a"], "1 values for 2 rows"),
    ],
    ids=str,
)
def test_values_that_are_no_keys(keys: list[Any], message: str) -> None:
    keyed = compose.Keyed(linear_model.LinearRegression(), key="k")
    with pytest.raises((ValueError, TypeError), match=message):
        keyed.learn_many(np.ones((2, 1)), [1.0, 2.0], keys=keys)
    assert len(keyed) == 0
    if len(keys) == 2:
        with pytest.raises((ValueError, TypeError)):
            keyed.learn_one({"k": keys[1], "x": 1.0}, 1.0)


@pytest.mark.parametrize(
    "keys",
    ["ab", np.ones((2, 1)), (key for key in "ab"), {"a": 1}, 7],
    ids=["text", "matrix", "generator", "dict", "number"],
)
def test_keys_are_a_column(keys: Any) -> None:
    keyed = compose.Keyed(linear_model.LinearRegression(), key="k")
    with pytest.raises(InvalidType, match="compose.Keyed: keys must have one key for each row, got"):
        keyed.learn_many(np.ones((2, 1)), [1.0, 2.0], keys=keys)


def test_keys_have_one_type() -> None:
    keyed = compose.Keyed(linear_model.LinearRegression(), key="k")
    keyed.learn_one({"k": "a", "x": 1.0}, 1.0)
    with pytest.raises(TypeError, match="the keys so far are strings, got an integer"):
        keyed.learn_one({"k": 1, "x": 1.0}, 1.0)
    with pytest.raises(TypeError, match="the keys so far are strings, got an integer"):
        keyed.learn_many(np.ones((1, 1)), [1.0], keys=[1])
    with pytest.raises(TypeError, match="the keys so far are strings, got an integer"):
        keyed.predict_one({"k": 1, "x": 1.0})


def test_a_batch_without_keys() -> None:
    keyed = compose.Keyed(linear_model.LinearRegression(), key="sensor", time="t", ttl=1)
    with pytest.raises(KeyError, match="there is no column 'sensor' for the key among 'x'"):
        keyed.learn_many(pd.DataFrame({"x": [1.0]}), [1.0])
    with pytest.raises(KeyError, match="there is no column 't'"):
        keyed.learn_many(pd.DataFrame({"x": [1.0], "sensor": [1]}), [1.0])
    with pytest.raises(TypeError, match="need keys=…, one for each row"):
        keyed.learn_many(np.ones((1, 1)), [1.0])
    with pytest.raises(UnknownName):
        keyed.learn_one({"x": 1.0}, 1.0)
    with pytest.raises(InvalidType):
        keyed.learn_one(3, 1.0)  # type: ignore[arg-type]


def test_a_refused_first_batch_settles_no_type() -> None:
    keyed = compose.Keyed(linear_model.LinearRegression(), key="k")
    with pytest.raises(ValueError, match="row 1"):
        keyed.learn_many(np.array([[1.0], [np.inf]]), [1.0, 2.0], keys=[1, 2])
    keyed.learn_many(np.ones((2, 1)), [1.0, 2.0], keys=["a", "b"])
    assert keyed.keys() == ["a", "b"]


def test_ctrl_c_leaves_all_models_as_they_were() -> None:
    script = """
import _thread, threading, time
import numpy as np
from millstream import compose, tree

X = np.random.default_rng(0).normal(size=(5_000_000, 3))
keys = np.arange(len(X)) % 1000
keyed = compose.Keyed(tree.HoeffdingTreeClassifier(grace_period=20), key="k")
keyed.learn_many(X[:1000], X[:1000, 0] > 0, keys=keys[:1000])
before = {key: keyed[key].to_bytes() for key in keyed}
pressed = []
def press():
    pressed.append(time.perf_counter())
    _thread.interrupt_main()
threading.Timer(0.1, press).start()
try:
    keyed.learn_many(X, X[:, 0] > 0, keys=keys)
    print("not interrupted")
except KeyboardInterrupt:
    print("interrupted", {key: keyed[key].to_bytes() for key in keyed} == before)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout == "interrupted True\n", done.stderr


@pytest.mark.parametrize("texts", [False, True])
def test_a_refused_batch_of_known_keys_changes_nothing(texts: bool) -> None:
    name = str if texts else int
    keyed = compose.Keyed(linear_model.LinearRegression(), key="k", max_keys=3)
    keyed.learn_many(np.ones((3, 1)), [1.0, 2.0, 3.0], keys=[name(1), name(2), name(3)])
    before = (keyed.to_bytes(), len(keyed), keyed.keys(), keyed.learned)
    for X, keys in (([[1.0], [np.inf]], [1, 2]), ([[1.0], [2.0], [3.0], [np.inf]], [4, 5, 1, 4])):
        with pytest.raises(ValueError, match="must be finite"):
            keyed.learn_many(np.array(X), np.ones(len(X)), keys=[name(key) for key in keys])
        rows = [{"k": name(key), 0: x[0]} for x, key in zip(X, keys, strict=True)]
        with pytest.raises(ValueError, match="must be finite"):
            keyed.learn_many(rows, [1.0] * len(rows))
        assert (keyed.to_bytes(), len(keyed), keyed.keys(), keyed.learned) == before
    # The key that learned least recently is still the first.
    keyed.learn_many(np.ones((1, 1)), [1.0], keys=[name(9)])
    assert keyed.keys() == [name(2), name(3), name(9)]


def test_readers_and_learners_do_not_wait_for_each_other_for_ever() -> None:
    script = """
import faulthandler, sys, threading
import numpy as np
from millstream import compose, linear_model
faulthandler.dump_traceback_later(60, exit=True)
sys.setswitchinterval(1e-5)
keyed = compose.Keyed(linear_model.SoftmaxRegression(), key="k")
X, keys = np.ones((3000, 1)), np.arange(3000) % 50
keyed.learn_many(X, ["a"] * 3000, keys=keys)
stop = threading.Event()

def ask():
    while not stop.is_set():
        sums = np.asarray(keyed.predict_proba_many(X, keys=keys)).sum(axis=1)
        assert np.allclose(sums, 1.0), sums

def ask_one():
    while not stop.is_set():
        keyed.predict_one({"k": 1, 0: 1.0})

def refuse():
    while not stop.is_set():
        try:
            keyed.learn_one({"k": 1, 0: float("inf")}, "a")
        except ValueError:
            pass

threads = [threading.Thread(target=work) for work in (ask, ask_one, refuse, refuse)]
for thread in threads:
    thread.start()
for number in range(200):
    keyed.learn_one({"k": number % 50, 0: 1.0}, f"class {number % 40}")
stop.set()
for thread in threads:
    thread.join()
print("finished")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout == "finished\n", done.stderr[-2000:]


def test_features_that_never_come_again_take_no_memory() -> None:
    keyed = compose.Keyed(linear_model.LinearRegression(), key="k", max_keys=10)
    for row in range(1000):
        keyed.learn_one({"k": row, f"x{row}": 1.0}, 1.0)
    assert keyed.memory < 1 << 20


def test_the_classes_of_the_template_are_known() -> None:
    template = linear_model.LogisticRegression()
    template.learn_one({0: 1.0}, "yes")
    template.learn_one({0: -1.0}, "no")
    keyed = compose.Keyed(template, key="k")
    assert keyed.predict_many(np.array([[1.0], [-1.0]]), keys=[1, 2]).tolist() == ["yes", "no"]
    assert keyed.classes == ["yes", "no"]


def test_filters_decide_in_batches() -> None:
    keyed = compose.Keyed(
        anomaly.ThresholdFilter(anomaly.GaussianScorer(grace_period=20), threshold=0.999), key="k"
    )
    keyed.learn_many(np.random.default_rng(0).normal(size=(100, 1)), keys=np.arange(100) % 2)
    assert keyed.predict_many(np.array([[0.0], [50.0]]), keys=[0, 1]).tolist() == [False, True]


def test_times_beside_the_rows() -> None:
    keyed = compose.Keyed(linear_model.LinearRegression(), key="k", time="t", ttl=3600)
    dates = pd.Series(pd.to_datetime(["2026-01-01 00:00:00", "2026-01-01 00:00:01", "2026-01-01 00:00:02"]))
    keyed.learn_many(np.ones((3, 1)), [1.0] * 3, keys=[1, 1, 1], times=dates)
    assert keyed[1].learned == 3
    assert keyed.totals()["last_seen"].tolist() == [1767225602.0]
    with pytest.raises(ValueError, match="row 1: compose.Keyed: a time must be finite"):
        keyed.learn_many(np.ones((2, 1)), [1.0] * 2, keys=[1, 1], times=[0.0, np.inf])
    with pytest.raises(TypeError, match="a time must be a number of seconds"):
        keyed.learn_many(np.ones((2, 1)), [1.0] * 2, keys=[1, 1], times=["a", "b"])
    # A refused batch does not move the clock.
    with pytest.raises(ValueError, match="must be finite"):
        keyed.learn_many([{"k": 2, "t": 1e12, 0: 1.0}, {"k": 2, "t": 0.0, 0: np.inf}], [1.0, 1.0])
    assert 1 in keyed


def test_one_poisoned_row() -> None:
    X = np.random.default_rng(0).normal(size=(100, 2))
    X[60, 1] = np.inf
    keys = np.arange(100) % 10
    for on_error, learned in (("raise", 0), ("stop", 60)):
        keyed = compose.Keyed(linear_model.LinearRegression(), key="k")
        with pytest.raises(ValueError, match=r"row 60: key 0: .*feature 1 must be finite") as caught:
            keyed.learn_many(X, X[:, 0], keys=keys, on_error=on_error)
        assert caught.value.row == 60  # type: ignore[attr-defined]
        assert keyed.learned == learned
    keyed = compose.Keyed(linear_model.LinearRegression(), key="k")
    assert keyed.learn_many(X, X[:, 0], keys=keys, on_error="skip") == 1
    assert keyed.learned == 99
    predicted = compose.Keyed(linear_model.LinearRegression(), key="k").step_many(
        X, X[:, 0], keys=keys, on_error="skip"
    )
    assert np.isnan(predicted[60])
    assert np.isfinite(np.delete(predicted, 60)).all()


def test_a_refused_batch_of_dicts_leaves_all_models() -> None:
    keyed = compose.Keyed(pipeline(), key="k")
    rows = [{"k": row % 3, "x": float(row)} for row in range(9)]
    keyed.learn_many(rows, [True, False, True] * 3)
    before = states(keyed)
    with pytest.raises(ValueError, match="row 2"):
        keyed.learn_many([{"k": 1, "x": 1.0}, {"k": 8, "x": 1.0}, {"k": 2, "x": float("inf")}], [True] * 3)
    assert states(keyed) == before
    assert keyed.learn_many([{"k": 1, "x": 1.0}, {"x": 1.0}], [True] * 2, on_error="skip") == 1


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_keys": 0}, "max_keys must be a positive integer"),
        ({"max_bytes": -1}, "max_bytes must be a positive integer"),
        ({"n_threads": 0.5}, "n_threads must be a positive integer"),
        ({"ttl": 5}, "ttl needs the name"),
        ({"ttl": -1, "time": "t"}, "ttl must be a positive number"),
    ],
)
def test_parameters_out_of_range(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        compose.Keyed(linear_model.LinearRegression(), key="k", **parameters)


@pytest.mark.parametrize(
    "template", [preprocessing.StandardScaler(), stats.Mean(), 3, linear_model.LinearRegression]
)
def test_templates_that_do_not_predict(template: Any) -> None:
    with pytest.raises(InvalidType, match="template"):
        compose.Keyed(template, key="k")


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        (drift.KSTest(), "a drift detector for rows"),
        (LastValue(), "a forecaster written in Python"),
    ],
)
def test_roles_that_cannot_be_keyed_are_refused_with_a_reason(template: Any, reason: str) -> None:
    with pytest.raises(InvalidType, match=f"{reason}.*: use a dict of"):
        compose.Keyed(template, key="k")


def test_a_model_with_a_drift_detector_can_be_keyed() -> None:
    keyed = compose.Keyed(drift.Retrain(linear_model.LogisticRegression(), drift.ADWIN()), key="k")
    keyed.learn_many(np.arange(8.0).reshape(4, 2), [True, False, True, False], keys=[1, 2, 1, 2])
    assert keyed.keys() == [1, 2]


def test_models_in_python() -> None:
    native = compose.Keyed(pipeline(), key="sensor")
    keyed = compose.Keyed(PythonMean(), key="sensor", max_keys=5)
    data, y = frame(60)
    numbers = np.arange(60.0)
    predicted = keyed.step_many(data, numbers)
    means: dict[str, list[float]] = {}
    for row, key in enumerate(data.sensor):
        seen = means.setdefault(key, [])
        if len(means) <= 5:
            assert predicted[row] == (np.mean(seen) if seen else 0.0)
        seen.append(numbers[row])
    assert len(keyed) == 5
    assert keyed.counters["dropped"] > 0
    native.learn_many(data, y)
    key = keyed.keys()[0]
    assert keyed[key].count == keyed.totals()["learned"][0]
    before = keyed.learned
    with pytest.raises(ValueError, match="a bad row"):
        keyed.learn_many([{"sensor": key, "bad": 0}, {"sensor": key, "bad": 1}], [1.0, 2.0])
    assert keyed.learned == before
    assert (
        keyed.learn_many([{"sensor": key, "bad": 0}, {"sensor": key, "bad": 1}], [1.0, 2.0], on_error="skip") == 1
    )


def test_scores_of_detectors() -> None:
    random = np.random.default_rng(0)
    keyed = compose.Keyed(anomaly.GaussianScorer(grace_period=10), key="k")
    values, keys = random.normal(size=(500, 1)) + (np.arange(500) % 5)[:, None] * 100, np.arange(500) % 5
    values[400] += 50
    scores = keyed.step_many(values, keys=keys)
    assert scores[400] > 0.999
    assert keyed.score_one({"k": 2, 0: 200.0}) < 0.5 < keyed.score_one({"k": 2, 0: 100.0})
    assert keyed.score_many(values[:5], keys=keys[:5]).shape == (5,)
    assert not hasattr(keyed, "predict_one")


def test_copies_and_pickles() -> None:
    data, y = frame()
    keyed = compose.Keyed(pipeline(), key="sensor", max_keys=100)
    keyed.learn_many(data, y)
    for other in (pickle.loads(pickle.dumps(keyed)), keyed.copy()):
        assert states(other) == states(keyed)
        assert other.parameters["max_keys"] == 100
        assert other.totals()["learned"].tolist() == keyed.totals()["learned"].tolist()
        other.learn_many(data, y)
        assert other.learned == 2 * keyed.learned
    fresh = keyed.clone(max_keys=None)
    assert len(fresh) == 0
    assert fresh.max_keys is None


def test_predictions_go_on_while_a_batch_is_learned() -> None:
    X = np.random.default_rng(0).normal(size=(300_000, 4))
    keys = np.random.default_rng(1).integers(0, 20_000, len(X))
    keyed = compose.Keyed(pipeline(), key="k", n_threads=1)
    keyed.learn_many(X[:1000], X[:1000, 0] > 0, keys=keys[:1000])
    learner = threading.Thread(target=lambda: keyed.learn_many(X, X[:, 0] > 0, keys=keys))
    learner.start()
    asked = 0
    while learner.is_alive():
        keyed.predict_one({"k": int(keys[asked % 1000]), 0: 1.0, 1: 0.0, 2: 0.0, 3: 0.0})
        asked += 1
    learner.join()
    assert asked > 100
    assert keyed.learned == len(X) + 1000


def test_two_threads_learn_at_once() -> None:
    X = np.random.default_rng(0).normal(size=(20_000, 2))
    keyed = compose.Keyed(linear_model.LinearRegression(), key="k")

    def learn(offset: int) -> None:
        for start in range(0, len(X), 500):
            keyed.learn_many(X[start : start + 500], X[start : start + 500, 0], keys=np.arange(500) % 50 + offset)
            keyed.learn_one({"k": offset, 0: 1.0, 1: 1.0}, 1.0)

    threads = [threading.Thread(target=learn, args=(offset,)) for offset in (0, 1000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert keyed.learned == 2 * (len(X) + 40)
    alone = compose.Keyed(linear_model.LinearRegression(), key="k")
    for start in range(0, len(X), 500):
        alone.learn_many(X[start : start + 500], X[start : start + 500, 0], keys=np.arange(500) % 50)
        alone.learn_one({"k": 0, 0: 1.0, 1: 1.0}, 1.0)
    assert all(keyed[key].to_bytes() == alone[key].to_bytes() for key in alone)
