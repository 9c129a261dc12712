"""Forests for numbers: exact on any number of threads, adaptive, whole or nothing, and as good as River's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import millstream
from millstream import drift, forest, synth, tree
from millstream.errors import MillstreamError


def turning(height: int = 4000, seed: int = 5) -> tuple[Any, Any]:
    """A bent function of two of five features, which is turned round in the middle."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(height, 5))
    sign = np.where(np.arange(height) >= height // 2, -1, 1)
    return X, 10.0 * sign * np.abs(X[:, 0]) + X[:, 1] + rng.normal(size=height) / 4


def small(**parameters: Any) -> forest.ARFRegressor:
    return forest.ARFRegressor(**{"n_models": 5, "seed": 3, **parameters})


def friedman(n: int, seed: int, **parameters: Any) -> tuple[list[dict[str, float]], list[float]]:
    rows = list(synth.Friedman(seed=seed, **parameters).take(n))
    return [x for x, _ in rows], [y for _, y in rows]


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"max_features": "sqrt", "drift_detector": drift.PageHinkley(threshold=5.0), "aggregation": "median"},
        {"max_features": 2, "drift_detector": drift.KSWIN(seed=2), "warning_detector": None},
        {"drift_detector": None, "disable_weighted_vote": True, "leaf_prediction": "mean"},
    ],
    ids=["default", "PageHinkley", "KSWIN", "no drift"],
)
def test_threads_and_chunks_change_nothing(parameters: dict[str, Any]) -> None:
    X, y = turning(2000)
    w = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 2.0], size=len(y))
    first: Any = None
    for threads, chunk in [(1, 2000), (2, 2000), (3, 333), (8, 1000), (1, 17), (2, 1)]:
        model = small(n_threads=threads, **parameters)
        n = 200 if chunk == 1 else len(y)
        parts = [slice(at, min(at + chunk, n)) for at in range(0, n, chunk)]
        said = np.concatenate([model.step_many(X[part], y[part], w[part]) for part in parts])
        if first is None:
            first = said, model.inspect()
        assert np.array_equal(said, first[0][:n])
        if n == len(y):
            assert model.inspect() == first[1]
    single = small(**parameters)
    for row in range(200):
        x = dict(enumerate(X[row].tolist()))
        assert single.predict_one(x) == first[0][row]
        single.learn_one(x, float(y[row]), float(w[row]))


@pytest.mark.parametrize("at", [1, 700, 2050, 2300])
def test_saved_loaded_and_continued_is_never_stopped(at: int) -> None:
    """Also while trees grow in the background, between warning and drift."""
    X, y = turning()
    whole, begun = small(), small()
    whole.learn_many(X, y)
    begun.learn_many(X[:at], y[:at])
    again = millstream.from_bytes(begun.to_bytes())
    assert again.to_bytes() == begun.to_bytes()
    again.learn_many(X[at:], y[at:])
    assert again.to_bytes() == whole.to_bytes()


@pytest.mark.slow
def test_it_recovers_from_abrupt_drift_by_trees_from_the_background() -> None:
    X, y = turning(8000)
    model, rigid = small(), small(drift_detector=None, warning_detector=None)
    errors = np.abs(model.step_many(X, y) - y)
    stiff = np.abs(rigid.step_many(X, y) - y)
    assert errors[3000:4000].mean() < 2.0
    assert errors[4000:4050].mean() > 8.0
    assert errors[5000:].mean() < 3.0
    assert errors[4500:].mean() < 0.7 * stiff[4500:].mean()
    members = model.inspect()["members"]
    assert model.n_drifts_detected() == sum(member["drifts"] for member in members) >= 4
    assert model.n_warnings_detected() == sum(member["warnings"] for member in members) >= 1
    # A tree from the background has learned rows since the warning, and none from long before it.
    assert all(member["learned"] < 5000 for member in members if member["drifts"])
    assert (rigid.n_drifts_detected(), rigid.n_warnings_detected()) == (0, 0)


def test_the_unit_of_the_target_does_not_matter() -> None:
    X, y = turning()
    one, other = small(), small()
    said = one.step_many(X, y)
    # A power of two, so that all arithmetic is the same but for the exponent.
    assert np.array_equal(other.step_many(X, y * 2.0**-40), said * 2.0**-40)
    assert other.n_drifts_detected() == one.n_drifts_detected() > 0


def test_what_a_forest_tells() -> None:
    X, y = turning()
    model = small()
    model.learn_many(X[:1500], y[:1500])
    member = model.inspect()["members"][0]
    assert {"error", "weight", "learned", "warnings", "drifts", "background", "estimated_error"} <= set(member)
    assert 0.1 < member["error"] < 5.0
    leaves = [node for node in member["model"]["nodes"] if node["leaf"]]
    assert len(leaves) > 3
    # 60 % of five features.
    assert all(len(leaf["features"]) == 3 for leaf in leaves)
    assert len({tuple(leaf["features"]) for leaf in leaves}) > 2
    assert len(model) == len(model.models) == 5
    alone = model[0]
    assert isinstance(alone, tree.HoeffdingTreeRegressor)
    assert alone.grace_period == 50
    assert "HoeffdingTreeRegressor" in str(alone.draw())
    alone.learn_many(X[1500:1900], y[1500:1900])
    assert np.abs(alone.predict_many(X[1900:2000]) - y[1900:2000]).mean() < 3.0


def test_a_tree_that_has_learned_nothing_has_no_say() -> None:
    """One that begins anew would drag the mean to 0."""
    X, y = turning()
    for aggregation in ("mean", "median"):
        model = small(aggregation=aggregation, warning_detector=None, disable_weighted_vote=True)
        said = model.step_many(X, y + 1e6)
        assert model.n_drifts_detected() > 0
        assert said[1:].min() > 9e5


@pytest.mark.parametrize(
    "parameters",
    [
        {"n_models": 0},
        {"n_threads": 0},
        {"max_features": 1.5},
        {"aggregation": "mode"},
        {"leaf_prediction": "nba"},
        {"delta": 2},
        {"drift_detector": 3},
        {"max_bytes": 100},
    ],
)
def test_what_cannot_be_is_refused(parameters: dict[str, Any]) -> None:
    with pytest.raises((MillstreamError, TypeError)) as failure:
        forest.ARFRegressor(**parameters)
    assert "\n" not in str(failure.value)


def test_nominal_and_missing_features() -> None:
    rng = np.random.default_rng(6)
    value = {"red": 0.0, "green": 5.0, "blue": 9.0}
    model = small(max_features=None)
    errors = []
    for _ in range(2000):
        colour = str(rng.choice(list(value)))
        x: dict[str, Any] = {"colour": colour, "noise": float(rng.normal()) if rng.random() < 0.9 else None}
        y = value[colour] + rng.normal() / 10
        errors.append(abs(model.predict_one(x) - y))
        model.learn_one(x, y)
    assert np.mean(errors[1000:]) < 0.3
    assert np.isfinite(model.predict_one({}))
    assert np.isfinite(model.predict_one({"colour": "mauve", "other": 3.0}))


def test_features_that_come_after_the_first_row_are_seen() -> None:
    rng = np.random.default_rng(4)
    model = forest.ARFRegressor(n_models=10, seed=1, leaf_prediction="mean", drift_detector=None)
    model.learn_one({"noise": 0.5}, 0.0)
    model.learn_one({"noise": 0.2, "late": 1.0}, 0.0)
    for _ in range(20):  # rows that the Poisson distribution leaves out do not tell of features
        model.learn_one({"noise": rng.normal(), "late": rng.normal()}, 0.0)
    seen = [member["model"]["nodes"][0]["features"] for member in model.inspect()["members"]]
    assert all("noise" in features for features in seen)
    assert sum("late" in features for features in seen) >= 3
    again = millstream.from_bytes(model.to_bytes())
    rows = [{"noise": rng.normal(), "late": rng.normal(), "later": rng.normal()} for _ in range(1000)]
    targets = [10.0 * (x["late"] > 0) for x in rows]
    model.learn_many(rows, targets)
    again.learn_many(rows, targets)
    assert again.to_bytes() == model.to_bytes()
    errors = [abs(model.predict_one(x) - y) for x, y in zip(rows, targets, strict=True)]
    assert np.mean(errors) < 2.0


def test_a_row_that_is_refused_changes_nothing() -> None:
    X, y = turning()
    model = small()
    model.learn_many(X[:1000], y[:1000])
    before = model.to_bytes()
    for x, target in [(1e308, 1.0), (1.0, 1e300)]:
        with pytest.raises(MillstreamError):
            model.learn_one(dict.fromkeys(range(5), x), target)
        assert model.to_bytes() == before


@pytest.mark.slow
@pytest.mark.parametrize("drift_type", [None, "gra"])
def test_as_good_as_river(drift_type: str | None) -> None:
    """River's forest draws other numbers, so mean errors are compared, over seeds."""
    river_forest = pytest.importorskip("river.forest")
    ours: list[float] = []
    theirs: list[float] = []
    for seed in (1, 2):
        if drift_type is None:
            X, y = friedman(1000, seed)
        else:
            X, y = friedman(2000, seed, drift_type=drift_type, position=(900, 1500))
        model, peer = forest.ARFRegressor(seed=seed), river_forest.ARFRegressor(seed=seed)
        ours.append(float(np.mean([abs(model.step_one(x, t) - t) for x, t in zip(X, y, strict=True)])))
        errors = []
        for x, t in zip(X, y, strict=True):
            errors.append(abs(peer.predict_one(x) - t))
            peer.learn_one(x, t)
        theirs.append(float(np.mean(errors)))
    assert np.mean(ours) < 1.02 * np.mean(theirs), (ours, theirs)
