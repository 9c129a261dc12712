"""Merging of `compose.Keyed`: parts of a stream become one, exactly or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from millstream import (
    anomaly,
    base,
    baseline,
    cluster,
    compose,
    drift,
    linear_model,
    preprocessing,
    stats,
    time_series,
)
from millstream import tree as trees
from millstream.errors import InvalidType, InvalidValue

ROWS = 600
KEYS = 23


def rows(seed: int = 0) -> tuple[Any, Any, Any]:
    stream = np.random.default_rng(seed)
    X = stream.normal(size=(ROWS, 3))
    return X, X @ [1.0, 2.0, 3.0] + stream.normal(size=ROWS), stream.integers(0, KEYS, ROWS)


def keyed(template: Any = None, **settings: Any) -> Any:
    return compose.Keyed(linear_model.RLS() if template is None else template, key="key", **settings)


def learn(model: Any, chosen: Any, names: bool = False) -> Any:
    X, y, keys = rows()
    own = [f"k{key}" for key in keys[chosen]] if names else keys[chosen]
    model.step_many(X[chosen], y[chosen] if model.role != "anomaly_detector" else None, keys=own)
    return model


def everything(model: Any) -> Any:
    totals = {name: column.tolist() for name, column in model.totals().items()}
    return {key: each.to_bytes() for key, each in model.items()}, repr(totals), model.counters


def close(one: Any, other: Any) -> None:
    X, _, keys = rows()
    assert one.keys() == other.keys()
    assert [model.learned for model in one.values()] == [model.learned for model in other.values()]
    texts = isinstance(one.keys()[0], str)
    own = [f"k{key}" for key in keys] if texts else keys
    predicted, expected = (model.predict_many(X, keys=own) for model in (one, other))
    assert np.allclose(predicted, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("names", [False, True])
@pytest.mark.parametrize("seed", [0, 1])
def test_exact_models_are_those_of_the_whole_stream(names: bool, seed: int) -> None:
    whole = learn(keyed(), np.arange(ROWS), names)
    part = np.random.default_rng(seed).integers(0, 4, ROWS)
    parts = [learn(keyed(), np.flatnonzero(part == number), names) for number in range(4)]
    before = [everything(each) for each in parts[1:]]
    merged = keyed()
    for each in parts:
        merged.merge(each)
    close(merged, whole)
    assert [everything(each) for each in parts[1:]] == before
    assert merged.MERGE == "exact"
    # In another order, and in pairs.
    other = parts[3]
    other.merge(parts[1])
    parts[2].merge(parts[0])
    other.merge(parts[2])
    close(other, whole)
    totals, expected = merged.totals(), whole.totals()
    assert totals["learned"].tolist() == expected["learned"].tolist()


def test_models_of_different_keys_stay_bit_for_bit() -> None:
    _, _, keys = rows()
    whole = learn(keyed(trees.HoeffdingTreeRegressor(grace_period=10)), np.arange(ROWS))
    one, two = (
        learn(keyed(trees.HoeffdingTreeRegressor(grace_period=10)), np.flatnonzero(keys % 2 == side))
        for side in (0, 1)
    )
    one.merge(two)
    assert everything(one)[0] == everything(whole)[0]
    assert one.totals()["learned"].tolist() == whole.totals()["learned"].tolist()
    # Those that learned last are the last to be dropped.
    order = one.least_recent(KEYS)
    assert set(order[-11:]) == {key for key in range(KEYS) if key % 2}
    assert order[-11:] == two.least_recent(11)


def test_what_cannot_be_merged_changes_nothing() -> None:
    parts = [
        learn(keyed(trees.HoeffdingTreeRegressor(grace_period=10)), half) for half in np.split(np.arange(ROWS), 2)
    ]
    assert parts[0].MERGE == "none"
    before = [everything(part) for part in parts]
    with pytest.raises(
        ValueError, match=r"^compose.Keyed: key \d+: tree.HoeffdingTreeRegressor: cannot be merged: "
    ):
        parts[0].merge(parts[1])
    assert [everything(part) for part in parts] == before
    # Only the last key is in both.
    left = keyed(trees.HoeffdingTreeRegressor(grace_period=10))
    left[KEYS] = parts[0][5]
    parts[1][KEYS] = parts[1][5]
    before = everything(left)
    with pytest.raises(ValueError, match=f"^compose.Keyed: key {KEYS}: "):
        left.merge(parts[1])
    assert everything(left) == before


def test_wrong_arguments_have_one_line() -> None:
    model = learn(keyed(), np.arange(50))
    before = everything(model)
    for other, error, message in (
        (linear_model.RLS(), InvalidType, "only keyed models can be merged, got RLS"),
        (keyed(linear_model.RLS(l2=2.0)), InvalidValue, "if the templates are equal, got"),
        (keyed(linear_model.LinearRegression()), InvalidValue, "if the templates are equal"),
        (keyed(time_series.HoltWinters(0.3)), InvalidValue, "if the templates are equal"),
        (keyed(PythonMean()), InvalidValue, "if the templates are equal"),
        (compose.Keyed(linear_model.RLS(), key="shop"), InvalidValue, "if key and time are equal"),
        (keyed(prior="global"), InvalidValue, 'cannot be merged with prior="global"'),
        (
            learn(keyed(), np.arange(9), names=True),
            InvalidType,
            "those of the other are strings",
        ),
    ):
        with pytest.raises(error, match=message) as caught:
            model.merge(other)
        assert "\n" not in str(caught.value)
        assert everything(model) == before
    with pytest.raises(InvalidValue, match="keyed models have no record of a base"):
        model.merge(keyed(), base=keyed())
    with pytest.raises(InvalidValue, match="cannot be merged with ttl"):
        keyed(time="t", ttl=1.0).merge(keyed(time="t"))
    assert everything(model) == before


class PythonMean(base.Regressor):
    """The mean of the targets."""

    MERGE = "exact"

    def __init__(self) -> None:
        self.sum, self.count = 0.0, 0

    def learn_one(self, x: Any, y: Any) -> None:
        self.sum += y
        self.count += 1

    def predict_one(self, x: Any) -> float:
        return self.sum / self.count if self.count else 0.0

    def merge(self, other: Any, base: Any = None) -> None:
        self.sum += other.sum
        self.count += other.count


class Unmergeable(PythonMean):
    """Likewise, without merging."""

    MERGE = "none"
    merge = base.Model.merge


def test_models_in_python_are_merged_by_their_own_method() -> None:
    halves = np.split(np.arange(ROWS), 2)
    whole = learn(keyed(PythonMean()), np.arange(ROWS))
    one, two = (learn(keyed(PythonMean()), half) for half in halves)
    assert one.MERGE == "exact"
    one.merge(two)
    X, _, keys = rows()
    assert np.allclose(one.predict_many(X, keys=keys), whole.predict_many(X, keys=keys), rtol=1e-12)
    one, two = (learn(keyed(Unmergeable()), half) for half in halves)
    before = one.predict_many(X, keys=keys).tolist(), one.counters, one.keys()
    with pytest.raises(InvalidType, match=r"compose.Keyed: key \d+: Unmergeable: cannot be merged"):
        one.merge(two)
    assert (one.predict_many(X, keys=keys).tolist(), one.counters, one.keys()) == before
    with pytest.raises(InvalidValue, match="if the templates are equal, got Unmergeable"):
        one.merge(keyed(PythonMean()))


def test_a_refused_merge_leaves_models_in_the_file(tmp_path: Path) -> None:
    tree = trees.HoeffdingTreeClassifier(grace_period=5)
    stream = np.random.default_rng(0)
    X, keys = stream.normal(size=(2000, 3)), stream.integers(0, 200, 2000)
    model = keyed(tree, max_bytes=150_000, spill=tmp_path)
    model.learn_many(X, X[:, 0] > 0, keys=keys)
    assert model.spilled > 0
    other = keyed(tree)
    other.learn_many(X[:500], X[:500, 0] > 0, keys=500 - np.arange(500) % 401)
    before = {key: each.to_bytes() for key, each in model.items()}
    totals = repr({name: column.tolist() for name, column in model.totals().items()})
    with pytest.raises(ValueError, match=r"key \d+: tree.HoeffdingTreeClassifier: cannot be merged"):
        model.merge(other)
    assert {key: each.to_bytes() for key, each in model.items()} == before
    assert repr({name: column.tolist() for name, column in model.totals().items()}) == totals


def test_a_template_that_has_learned_is_not_counted_twice() -> None:
    template = baseline.TargetMean()
    template.learn_one({}, 100.0)
    one, two = keyed(template), keyed(template)
    one.learn_one({"key": "a"}, 0.0)
    two.learn_one({"key": "b"}, 0.0)
    one.merge(two)
    assert one.keys() == ["a", "b"]
    with pytest.raises(InvalidValue, match="key 'b': both models began with a template that has learned"):
        one.merge(two)


def test_limits_hold() -> None:
    one, two = learn(keyed(max_keys=15), np.arange(300)), learn(keyed(), np.arange(300, 600))
    one.merge(two)
    assert one.keys() == sorted(two.least_recent(KEYS)[-15:])


def test_a_model_merged_with_itself_counts_twice() -> None:
    model = learn(keyed(baseline.TargetMean()), np.arange(100))
    learned = model.learned
    model.merge(model)
    assert model.learned == 2 * learned


@pytest.mark.parametrize("template", [time_series.HoltWinters(0.3), drift.ADWIN()])
def test_series_of_different_keys_are_joined(template: Any) -> None:
    _, y, keys = rows()
    whole, one, two = keyed(template), keyed(template), keyed(template)

    def feed(model: Any, chosen: Any) -> None:
        verb = model.update_many if isinstance(template, drift.ADWIN) else model.learn_many
        verb(y[chosen], keys=keys[chosen])

    feed(whole, np.arange(ROWS))
    feed(one, np.flatnonzero(keys % 2 == 0))
    feed(two, np.flatnonzero(keys % 2))
    one.merge(two)
    assert everything(one)[0] == everything(whole)[0]
    assert one.MERGE == "none"
    with pytest.raises(ValueError, match=r"key \d+: .*cannot be merged"):
        one.merge(two)


@pytest.mark.parametrize(
    "template",
    [
        anomaly.GaussianScorer(),
        preprocessing.StandardScaler() | linear_model.LogisticRegression(),
        cluster.KMeans(2),
    ],
)
def test_exactness_is_that_of_the_template(template: Any) -> None:
    assert keyed(template).MERGE == template.MERGE
    assert compose.Keyed.MERGE == "exact"
    assert stats.Mean.MERGE == "exact"
