"""Trees: what they find, beside River's."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import millstream
from millstream import synth, tree

river = pytest.importorskip("river")


def rows(name: str, n: int, **parameters: Any) -> list[tuple[dict[Any, Any], Any]]:
    return list(getattr(synth, name)(**parameters).take(n))


def splits_of_river(node: Any) -> list[tuple[str, float]]:
    """Feature and threshold of every split, parents first."""
    if not hasattr(node, "children"):
        return []
    own = (str(node.feature), float(node.threshold))
    return [own, *(split for child in node.children for split in splits_of_river(child))]


def splits(nodes: list[dict[str, Any]], at: int = 0) -> list[tuple[str, float]]:
    node = nodes[at]
    if node["leaf"]:
        return []
    own = (node["feature"], node["threshold"])
    return [own, *(split for child in node["children"] for split in splits(nodes, child))]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["RandomRBF", "SEA", "Hyperplane"])
@pytest.mark.parametrize("leaf_prediction", ["mc", "nba"])
def test_the_same_tree_as_river(name: str, leaf_prediction: str) -> None:
    """Naive Bayes differs where a leaf is so young that a class has no variance; the splits do not."""
    import river.tree

    ours = tree.HoeffdingTreeClassifier(leaf_prediction=leaf_prediction)
    theirs = river.tree.HoeffdingTreeClassifier(leaf_prediction=leaf_prediction)
    differs = 0
    examples = rows(name, 12_000, seed=3)
    for x, y in examples:
        differs += ours.predict_one(x) != theirs.predict_one(x)
        ours.learn_one(x, y)
        theirs.learn_one(x, y)
    found, expected = splits(ours.inspect()["nodes"]), splits_of_river(theirs._root)
    assert [feature for feature, _ in found] == [feature for feature, _ in expected]
    assert np.allclose([split for _, split in found], [split for _, split in expected], rtol=1e-12)
    assert len(found) > 2
    assert differs <= (1 if leaf_prediction == "mc" else 0.03 * len(examples))


def matrix(name: str, n: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    examples = rows(name, n, seed=seed)
    return np.array([list(x.values()) for x, _ in examples]), np.array([y for _, y in examples])


@pytest.mark.slow
@pytest.mark.parametrize("max_bytes", [4096, 14_000, 20_000])
def test_a_budget_is_kept_and_reported(max_bytes: int) -> None:
    X, y = matrix("RandomRBF", 40_000)
    model = tree.HoeffdingTreeClassifier(max_bytes=max_bytes)
    for start in range(0, len(y), 500):
        model.learn_many(X[start : start + 500], y[start : start + 500])
        assert model.memory <= max_bytes
        # Saved and loaded it goes on as it would have.
        if start == 20_000:
            loaded = millstream.from_bytes(model.to_bytes())
            loaded.learn_many(X[start + 500 :], y[start + 500 :])
    assert loaded.to_bytes() == model.to_bytes()
    shown = model.inspect()
    leaves = [node for node in shown["nodes"] if node["leaf"]]
    assert shown["max_bytes"] == max_bytes
    assert shown["bytes"] <= max_bytes
    assert shown["inactive_leaves"] == sum(not leaf["active"] for leaf in leaves) > 0
    assert shown["active_leaves"] + shown["inactive_leaves"] == len(leaves)
    assert (shown["active_leaves"] > 0) == (max_bytes > 4096)


def test_leaves_that_rest_wake_where_there_is_more_to_win() -> None:
    """Both halves of the stream need the same few leaves' worth of memory, one after the other."""
    random = np.random.default_rng(3)
    model = tree.HoeffdingTreeClassifier(max_bytes=16_000, grace_period=50)
    X = random.uniform(size=(60_000, 8))
    X[:30_000, 0] /= 2
    X[30_000:, 0] = (1 + X[30_000:, 0]) / 2
    y = (np.floor(8 * X[:, 0]) + np.floor(4 * X[:, 1])) % 2
    awake = []
    for start in range(0, len(y), 5_000):
        model.learn_many(X[start : start + 5_000], y[start : start + 5_000].astype(int))
        awake.append({node["node"] for node in model.inspect()["nodes"] if node.get("active")})
    assert awake[-1] - awake[5], "a leaf of the second half has statistics"
    assert model.memory <= 16_000


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"delta": 0.0}, "delta must be in (0, 1), got 0"),
        ({"delta": 2}, "delta must be in (0, 1), got 2"),
        ({"tau": -0.1}, "tau must be >= 0, got -0.1"),
        ({"grace_period": 0}, "grace_period must be an integer"),
        ({"max_bytes": 100}, "max_bytes must be an integer in [4096"),
        ({"split_criterion": "chi"}, "split_criterion must be one of info_gain, gini, hellinger"),
    ],
)
def test_settings_out_of_range(parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        tree.HoeffdingTreeClassifier(**parameters)


@pytest.mark.parametrize("criterion", ["info_gain", "gini", "hellinger"])
@pytest.mark.parametrize("leaf_prediction", ["mc", "nb", "nba"])
def test_every_criterion_and_leaf_learns(criterion: str, leaf_prediction: str) -> None:
    X, y = matrix("SEA", 10_000)
    model = tree.HoeffdingTreeClassifier(split_criterion=criterion, leaf_prediction=leaf_prediction)
    right = model.step_many(X, y)[5_000:] == y[5_000:]
    assert right.mean() > 0.8


def test_histograms_see_what_bells_do_not() -> None:
    """A class in two narrow bands, far apart, with the other between them and around: a bell covers all of it."""
    random = np.random.default_rng(0)
    X = random.uniform(size=(6_000, 3))
    y = (np.abs(X[:, 1] - 0.2) < 0.05) | (np.abs(X[:, 1] - 0.8) < 0.05)
    right = {}
    for splitter in ("gaussian", "histogram"):
        model = tree.HoeffdingTreeClassifier(splitter=splitter, leaf_prediction="mc")
        right[splitter] = (model.step_many(X, y)[3_000:] == y[3_000:]).mean()
    assert right["histogram"] > 0.03 + right["gaussian"]
    copy = millstream.from_bytes(model.to_bytes())
    model.learn_many(X, y)
    copy.learn_many(X, y)
    assert copy.to_bytes() == model.to_bytes()


@pytest.mark.parametrize("binary", [False, True])
def test_nominal_features(binary: bool) -> None:
    """Red and blue are of the class, the others are not. A colour that comes late gets a branch."""
    random = np.random.default_rng(0)
    model = tree.HoeffdingTreeClassifier(binary_split=binary, leaf_prediction="mc")
    colours = np.array(["red", "green", "blue", "white"])
    for colour, size in zip(random.choice(colours, 4_000), random.normal(size=4_000), strict=True):
        model.learn_one({"size": size, "colour": str(colour)}, bool(colour in ("red", "blue")))
    for colour in colours:
        assert model.predict_one({"size": 0.0, "colour": str(colour)}) == (colour in ("red", "blue"))
    root = model.inspect()["nodes"][0]
    assert root["feature"] == "colour"
    assert len(root["values"]) == (1 if binary else 4)
    before = len(model.inspect()["nodes"])
    for _ in range(10):
        model.predict_one({"size": 0.0, "colour": "black"})
    assert len(model.inspect()["nodes"]) == before
    for _ in range(30):
        model.learn_one({"size": 0.0, "colour": "black"}, True)
    assert model.predict_one({"size": 0.0, "colour": "black"}) is True or binary
    assert len(model.inspect()["nodes"]) == before + (0 if binary else 1)


def test_bad_luck() -> None:
    """One class, constant features, all missing, and a class that comes late."""
    model = tree.HoeffdingTreeClassifier()
    for _ in range(1_000):
        model.learn_one({"a": 1.0, "b": 2.0}, "only")
    assert len(model.inspect()["nodes"]) == 1
    assert model.predict_proba_one({}) == {"only": 1.0}
    for _ in range(500):
        model.learn_one({"a": None, "b": None}, "other")
        model.learn_one({"a": 1.0, "b": 2.0}, "other")
    assert len(model.inspect()["nodes"]) == 1
    model.learn_one({"a": 5.0}, "late")
    assert set(model.predict_proba_one({"a": 1.0})) == {"only", "other", "late"}


def test_missing_values_go_with_most() -> None:
    model = tree.HoeffdingTreeClassifier(leaf_prediction="mc")
    random = np.random.default_rng(1)
    for x in random.uniform(size=4_000):
        model.learn_one({"x": x, "noise": random.normal()}, bool(x > 0.7))
    root = model.inspect()["nodes"][0]
    assert (root["feature"], root["missing"]) == ("x", root["children"][0])
    assert model.predict_one({"noise": 0.0}) is False


def test_why_a_split_was_made() -> None:
    model = tree.HoeffdingTreeClassifier()
    for x in np.random.default_rng(1).uniform(size=2_000):
        model.learn_one({"x": x}, bool(x > 0.5))
    split = model.inspect()["nodes"][0]["split"]
    assert split["learned"] == split["weight"] == 200
    assert split["second"] is None
    assert split["second_merit"] == 0.0
    # √(ln 10⁷ / 400) with two classes.
    assert split["bound"] == pytest.approx(np.sqrt(np.log(1e7) / 400))
    assert split["merit"] - split["second_merit"] > split["bound"]
    assert split["tie"] is False
