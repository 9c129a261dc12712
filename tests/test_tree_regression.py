"""Regression trees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import millstream
from millstream import synth, tree


def rows(name: str, n: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    examples = list(getattr(synth, name)(seed=seed).take(n))
    return np.array([list(x.values()) for x, _ in examples]), np.array([y for _, y in examples])


@pytest.mark.parametrize("leaf_prediction", ["mean", "linear", "adaptive"])
def test_it_learns_steps_and_bends(leaf_prediction: str) -> None:
    X, y = rows("Friedman", 20_000)
    model = tree.HoeffdingTreeRegressor(leaf_prediction=leaf_prediction)
    errors = (model.step_many(X, y) - y)[10_000:]
    assert np.sqrt((errors**2).mean()) < 0.6 * y[10_000:].std()
    assert len(model.inspect()["nodes"]) > 5


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_beside_river(seed: int) -> None:
    """Errors are those of River's tree or smaller: the same algorithm with other histograms and linear models."""
    river_tree = pytest.importorskip("river.tree")
    X, y = rows("Friedman", 5_000, seed)
    ours = tree.HoeffdingTreeRegressor(leaf_prediction="mean")
    theirs = river_tree.HoeffdingTreeRegressor(leaf_prediction="mean")
    said = []
    for x, target in zip(X, y, strict=True):
        example = dict(enumerate(x))
        said.append(theirs.predict_one(example))
        theirs.learn_one(example, target)
    error = lambda answers: np.abs(np.asarray(answers) - y).mean()  # noqa: E731
    assert error(ours.step_many(X, y)) < 1.05 * error(said)


def test_nominal_and_missing() -> None:
    random = np.random.default_rng(0)
    model = tree.HoeffdingTreeRegressor(leaf_prediction="mean")
    value = {"red": 0.0, "green": 5.0, "blue": 9.0}
    for colour in random.choice(list(value), 3_000):
        x: dict[str, Any] = {"colour": str(colour), "size": random.normal() if random.random() < 0.5 else None}
        model.learn_one(x, value[str(colour)] + random.normal() / 10)
    for colour, expected in value.items():
        assert model.predict_one({"colour": colour}) == pytest.approx(expected, abs=0.05)
    assert model.inspect()["nodes"][0]["feature"] == "colour"
    model.learn_one({"colour": "white"}, 100.0)
    assert model.predict_one({"colour": "white"}) == 100.0
    assert np.isfinite(model.predict_one({}))


def test_an_overflow_leaves_the_tree_as_it_was() -> None:
    X, y = rows("Friedman", 2_000)
    model = tree.HoeffdingTreeRegressor()
    model.learn_many(X, y)
    before = model.to_bytes()
    for x, target, w in [(X[0], 1e300, 1.0), (X[0], 1.0, 1e308), (X[0] * 1e200, 1.0, 1.0)]:
        with pytest.raises(ValueError, match="HoeffdingTreeRegressor"):
            model.learn_one(dict(enumerate(x)), target, w=w)
        assert model.to_bytes() == before
    assert np.isfinite(model.predict_many(X * 1e300)).all()


def test_it_goes_on_where_it_was_saved() -> None:
    X, y = rows("Friedman", 6_000)
    whole, first = tree.HoeffdingTreeRegressor(), tree.HoeffdingTreeRegressor()
    whole.learn_many(X, y)
    first.learn_many(X[:2_500], y[:2_500])
    second = millstream.from_bytes(first.to_bytes())
    second.learn_many(X[2_500:], y[2_500:])
    assert second.to_bytes() == whole.to_bytes()


def drifting(n: int, seed: int = 1, **parameters: Any) -> tuple[np.ndarray, np.ndarray]:
    """Features change places in the middle."""
    stream = synth.Friedman(drift_type="gra", position=(n // 2, n), seed=seed, **parameters)
    examples = list(stream.take(n))
    return np.array([list(x.values()) for x, _ in examples]), np.array([y for _, y in examples])


def test_an_adaptive_tree_follows_a_drift() -> None:
    """Where leaves have linear models, these follow by themselves for the most part."""
    random = np.random.default_rng(3)
    X = random.normal(size=(12_000, 5))
    y = np.where(np.arange(12_000) < 6_000, 5.0, -5.0) * np.abs(X[:, 0]) + X[:, 1] + random.normal(size=12_000) / 4
    adaptive = tree.HoeffdingAdaptiveTreeRegressor(leaf_prediction="mean")
    rigid = tree.HoeffdingTreeRegressor(leaf_prediction="mean")
    errors, stiff = np.abs(adaptive.step_many(X, y) - y), np.abs(rigid.step_many(X, y) - y)
    assert errors[3_000:6_000].mean() < 1.1 * stiff[3_000:6_000].mean()
    assert errors[7_000:].mean() < 0.7 * stiff[7_000:].mean()
    alternates = adaptive.inspect()["alternates"]
    assert alternates["swapped"] >= 1
    assert alternates["begun"] == sum(alternates[what] for what in ("swapped", "dropped", "growing"))
    changes = adaptive.inspect()["changes"]
    assert {change["what"] for change in changes} >= {"begun", "swapped"}
    assert all(change["new"] < change["old"] for change in changes if change["what"] == "swapped")


def test_an_adaptive_tree_goes_on_where_it_was_saved() -> None:
    """Also while alternates grow."""
    X, y = drifting(6_000)
    whole = tree.HoeffdingAdaptiveTreeRegressor(grace_period=50, drift_window_threshold=100)
    parts = [millstream.from_bytes(whole.to_bytes())]
    whole.learn_many(X, y)
    for at in range(0, 6_000, 500):
        parts.append(millstream.from_bytes(parts[-1].to_bytes()))
        parts[-1].learn_many(X[at : at + 500], y[at : at + 500])
    assert any(part.inspect()["alternates"]["growing"] for part in parts)
    assert parts[-1].to_bytes() == whole.to_bytes()


def test_an_adaptive_tree_is_whole_or_nothing() -> None:
    X, y = drifting(4_000)
    model = tree.HoeffdingAdaptiveTreeRegressor(grace_period=50)
    model.learn_many(X[:2_300], y[:2_300])
    assert model.inspect()["alternates"]["growing"]
    before = model.to_bytes()
    for x, target, w in [(X[0], 1e300, 1.0), (X[0], 1.0, 1e308), (X[0] * 1e200, 1.0, 1.0)]:
        with pytest.raises(ValueError, match="HoeffdingAdaptiveTreeRegressor"):
            model.learn_one(dict(enumerate(x)), target, w=w)
        assert model.to_bytes() == before
    model.learn_one(dict(enumerate(X[0])), 1e120)
    assert np.isfinite(model.predict_many(X)).all()


def test_the_faces_of_an_adaptive_tree() -> None:
    X, y = drifting(8_000)
    model = tree.HoeffdingAdaptiveTreeRegressor()
    model.learn_many(X, y)
    x = dict(enumerate(X[0]))
    assert "HoeffdingAdaptiveTreeRegressor" in str(model.draw())
    assert len(model.rules()) > 1
    nodes = model.to_frame("pandas")
    assert len(nodes) >= 3
    splits = model.splits("pandas")
    assert len(splits) == (~nodes["leaf"]).sum() >= 1
    assert sum(model.feature_importances.values()) == pytest.approx(1.0)
    told = model.explain_one(x)
    assert told.prediction == model.predict_one(x)
    assert told.base + sum(step.change for step in told.path) == pytest.approx(told.share)
    assert len(told.path) >= 1


def test_the_unit_of_the_target_does_not_matter() -> None:
    X, y = drifting(4_000)
    one, other = tree.HoeffdingAdaptiveTreeRegressor(), tree.HoeffdingAdaptiveTreeRegressor()
    # A power of two, so that all arithmetic is the same but for the exponent.
    assert np.array_equal(other.step_many(X, y * 2.0**-40), one.step_many(X, y) * 2.0**-40)
    assert one.inspect()["alternates"] == other.inspect()["alternates"]


@pytest.mark.parametrize("learner", [tree.HoeffdingTreeRegressor, tree.HoeffdingAdaptiveTreeRegressor])
def test_a_budget_is_kept_and_reported(learner: Any) -> None:
    X, y = drifting(5_000)
    free = learner(grace_period=50, leaf_prediction="mean")
    free.learn_many(X, y)
    assert free.inspect()["max_bytes"] is None
    errors = []
    for max_bytes in (4_096, 60_000, 200_000):
        model = learner(grace_period=50, leaf_prediction="mean", max_bytes=max_bytes)
        assert free.inspect()["bytes"] > max_bytes
        said, rested = [], False
        for at in range(0, 5_000, 40):
            said.append(model.step_many(X[at : at + 40], y[at : at + 40]))
            told = model.inspect()
            assert told["bytes"] <= max_bytes
            assert told["active_leaves"] + told["inactive_leaves"] == sum(node["leaf"] for node in told["nodes"])
            rested |= told["inactive_leaves"] > 0
            if at == 3_000:
                copy = millstream.from_bytes(model.to_bytes())
        copy.learn_many(X[3_040:], y[3_040:])
        assert copy.to_bytes() == model.to_bytes()
        assert rested
        assert told["max_bytes"] == max_bytes
        errors.append(np.abs(np.concatenate(said) - y).mean())
    assert errors[2] < errors[0]


def test_a_leaf_that_promises_more_gathers_again() -> None:
    """At first one half is noisy and the other still, then the other way round."""
    random = np.random.default_rng(1)
    model = tree.HoeffdingTreeRegressor(max_bytes=40_000, grace_period=50, leaf_prediction="mean", n_bins=32)
    X = random.uniform(-1, 1, size=(30_000, 8))
    turned = np.arange(30_000) >= 10_000
    wild = np.where(turned, X[:, 0] > 0, X[:, 0] < 0)
    y = 20 * (X[:, 0] > 0) + wild * 10 * np.sign(X[:, 1] * X[:, 2]) + random.normal(size=30_000) / 10
    model.learn_many(X[:10_000], y[:10_000])
    before = {node["node"] for node in model.inspect()["nodes"] if node["leaf"] and not node["active"]}
    assert before
    model.learn_many(X[10_000:], y[10_000:])
    nodes = {node["node"]: node for node in model.inspect()["nodes"]}
    assert any(not nodes[place]["leaf"] or nodes[place]["active"] for place in before)


@pytest.mark.slow
def test_an_adaptive_tree_beside_river() -> None:
    """River's tree has other histograms and linear models; on average over seeds errors are not larger."""
    theirs = pytest.importorskip("river.tree")
    ours_, theirs_ = [], []
    for seed in (1, 2):
        X, y = drifting(6_000, seed)
        ours_.append(np.abs(tree.HoeffdingAdaptiveTreeRegressor().step_many(X, y) - y).mean())
        peer, errors = theirs.HoeffdingAdaptiveTreeRegressor(seed=seed), []
        for x, target in zip(X, y, strict=True):
            example = dict(enumerate(x))
            errors.append(abs(peer.predict_one(example) - target))
            peer.learn_one(example, target)
        theirs_.append(np.mean(errors))
    assert np.mean(ours_) < 1.02 * np.mean(theirs_), (ours_, theirs_)
