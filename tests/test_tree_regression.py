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
