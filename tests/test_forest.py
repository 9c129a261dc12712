"""Forests: exact on any number of threads, adaptive, whole or nothing, and as good as River's."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import millstream
from millstream import drift, forest, synth, tree
from millstream.errors import MillstreamError


def matrix(stream: Any, n: int) -> tuple[Any, Any]:
    rows = list(stream.take(n))
    return np.array([list(x.values()) for x, _ in rows], dtype=float), np.array([y for _, y in rows])


def turning(height: int = 4000, seed: int = 5) -> tuple[Any, Any]:
    """A rule of two of five features, one of which is turned round in the middle."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(height, 5))
    sign = np.where(np.arange(height) >= height // 2, -1, 1)
    return X, (sign * X[:, 0] + X[:, 1] > 0).astype(int)


def small(**parameters: Any) -> forest.ARFClassifier:
    return forest.ARFClassifier(**{"n_models": 5, "seed": 3, **parameters})


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"max_features": "sqrt", "drift_detector": drift.PageHinkley(threshold=5.0), "warning_detector": "ddm"},
        {"max_features": 2, "drift_detector": drift.HDDM_W(), "warning_detector": None, "leaf_prediction": "mc"},
        {"drift_detector": None, "disable_weighted_vote": True},
    ],
    ids=["default", "PageHinkley", "HDDM_W", "no drift"],
)
def test_threads_and_chunks_change_nothing(parameters: dict[str, Any]) -> None:
    X, y = turning(3000)
    w = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 2.0], size=len(y))
    first: Any = None
    for threads, chunk in [(1, 3000), (2, 3000), (3, 333), (8, 1000), (1, 17), (2, 1)]:
        model = small(n_threads=threads, **parameters)
        # Until both classes have come there is one column.
        model.learn_many(X[:20], y[:20], w[:20])
        n = 200 if chunk == 1 else len(y)
        parts = [slice(at, min(at + chunk, n)) for at in range(20, n, chunk)]
        said = np.concatenate([model.step_many(X[part], y[part], w[part], proba=True) for part in parts])
        if first is None:
            first = said, model.inspect()
        assert np.array_equal(said, first[0][: n - 20])
        if n == len(y):
            assert model.inspect() == first[1]
    single = small(**parameters)
    for row in range(300):
        x = dict(enumerate(X[row].tolist()))
        if row >= 20:
            assert single.predict_proba_one(x)[1] == first[0][row - 20][1]
        single.learn_one(x, int(y[row]), float(w[row]))


@pytest.mark.parametrize("at", [1, 700, 2050, 2300])
def test_saved_loaded_and_continued_is_never_stopped(at: int) -> None:
    """Also while trees grow in the background, between warning and drift."""
    X, y = turning()
    whole, begun = small(), small()
    whole.learn_many(X, y)
    begun.learn_many(X[:at], y[:at])
    for again in (millstream.from_bytes(begun.to_bytes()), pickle.loads(pickle.dumps(begun))):
        assert again.to_bytes() == begun.to_bytes()
        again.learn_many(X[at:], y[at:])
        assert again.to_bytes() == whole.to_bytes()
        assert np.array_equal(again.predict_proba_many(X[:50]), whole.predict_proba_many(X[:50]))


def late(n: int = 1500, others: int = 1) -> tuple[list[dict[str, float]], list[int]]:
    """Noise alone at first; what tells the class comes with the second row, and more noise one by one."""
    rng = np.random.default_rng(4)
    rows: list[dict[str, float]] = [{"noise": 0.5}]
    for row in range(1, n):
        told = {"noise": rng.normal(), "late": rng.normal()}
        rows.append(told | {str(number): rng.normal() for number in range(min(others, row // 7))})
    return rows, [int(x.get("late", 0.0) > 0) for x in rows]


@pytest.mark.parametrize("max_features", [0.6, None, "sqrt", 1])
def test_features_that_come_after_the_first_row_are_seen(max_features: Any) -> None:
    X, y = late()
    # A root that is never split predicts by what it looks at.
    model = forest.ARFClassifier(n_models=10, seed=1, max_depth=0, max_features=max_features, drift_detector=None)
    right = []
    for x, target in zip(X, y, strict=True):
        right.append(model.predict_one(x) == target)
        model.learn_one(x, target)
    seen = [member["model"]["nodes"][0]["features"] for member in model.inspect()["members"]]
    assert sum("late" in features for features in seen) >= 3
    assert all("noise" in features for features in seen)
    assert np.mean(right[500:]) > 0.85


def test_late_features_change_nothing_for_threads_chunks_and_files() -> None:
    X, y = late(400, others=20)
    one = forest.ARFClassifier(n_models=5, seed=1)
    copies = []
    for row, (x, target) in enumerate(zip(X, y, strict=True)):
        if row in (1, 60, 150):
            copies.append((row, millstream.from_bytes(one.to_bytes())))
        one.learn_one(x, target)
    for threads, chunk in [(1, 400), (2, 33)]:
        many = forest.ARFClassifier(n_models=5, seed=1, n_threads=threads)
        for at in range(0, 400, chunk):
            many.learn_many(X[at : at + chunk], y[at : at + chunk])
        assert many.inspect() == one.inspect()
    for row, copy in copies:
        copy.learn_many(X[row:], y[row:])
        assert copy.to_bytes() == one.to_bytes()
    # What is refused has drawn nothing.
    before = one.to_bytes()
    with pytest.raises(MillstreamError):
        one.learn_one(dict.fromkeys([*X[-1], "new", "newer"], 1e308), 1)
    assert one.to_bytes() == before


def test_it_recovers_from_abrupt_drift_by_trees_from_the_background() -> None:
    X, y = turning(8000)
    model, rigid = small(), small(drift_detector=None, warning_detector=None)
    right = model.step_many(X, y) == y
    stiff = rigid.step_many(X, y) == y
    assert right[3000:4000].mean() > 0.93
    assert right[4000:4050].mean() < 0.7
    assert right[4700:].mean() > 0.9
    assert right[4500:].mean() > stiff[4500:].mean() + 0.01
    members = model.inspect()["members"]
    replaced = [member for member in members if member["drifts"]]
    assert len(replaced) >= 3
    assert model.n_drifts_detected() == sum(member["drifts"] for member in members)
    assert model.n_drifts_detected(0) == members[0]["drifts"]
    assert model.n_warnings_detected() == sum(member["warnings"] for member in members) >= 1
    # A tree from the background has learned rows since the warning, and none from long before it.
    assert all(member["learned"] < 4100 for member in replaced)
    assert (rigid.n_drifts_detected(), rigid.n_warnings_detected()) == (0, 0)


def test_to_become_better_is_no_drift() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(6000, 3))
    y = (X[:, 0] > 0).astype(int)
    y[:2000] = rng.integers(2, size=2000)
    model = small()
    model.learn_many(X, y)
    assert model.n_drifts_detected() == 0


@pytest.mark.parametrize("detector", [drift.DDM(), drift.ADWIN(0.001, warning_significance=0.3)], ids=repr)
def test_the_warnings_of_a_detector_itself_are_heard(detector: Any) -> None:
    X, y = turning()
    model = small(drift_detector=detector, warning_detector=None)
    right = model.step_many(X, y) == y
    assert model.n_warnings_detected() > 0
    assert model.n_drifts_detected() > 0
    assert right[3000:].mean() > 0.85


def test_an_adwin_that_gives_no_warnings_is_none_to_a_forest() -> None:
    X, y = turning()
    silent = small(drift_detector=drift.ADWIN(0.001, warning_significance=0.001), warning_detector=None)
    silent.learn_many(X, y)
    assert silent.n_warnings_detected() == 0
    assert silent.n_drifts_detected() > 0
    # With a detector of warnings, the other's own are not heard.
    forests = [small(drift_detector=drift.ADWIN(0.001, warning_significance=delta)) for delta in (0.001, 0.5)]
    said = [forest.step_many(X, y) for forest in forests]
    assert (said[0] == said[1]).all()
    assert forests[0].inspect() == forests[1].inspect()


def test_what_a_forest_tells() -> None:
    X, y = turning()
    model = small()
    model.learn_many(X[:2040], y[:2040])
    member = model.inspect()["members"][0]
    assert {"accuracy", "weight", "learned", "warnings", "drifts", "background", "estimated_error"} <= set(member)
    assert 0.8 < member["accuracy"] < 1.0
    assert member["weight"] == 2039.0  # the first row has no vote
    leaves = [node for node in member["model"]["nodes"] if node["leaf"]]
    # 60 % of five features.
    assert all(len(leaf["features"]) == 3 for leaf in leaves)
    assert (
        len(
            {
                tuple(leaf["features"])
                for member in model.inspect()["members"]
                for leaf in [node for node in member["model"]["nodes"] if node["leaf"]]
            }
        )
        > 3
    )
    assert len(model) == 5
    assert isinstance(model[0], tree.HoeffdingTreeClassifier)
    assert model[-1].grace_period == 50
    assert len(model.models) == 5
    with pytest.raises(IndexError):
        model[5]


def test_a_tree_is_a_model_of_its_own() -> None:
    X, y = turning()
    model = small(n_models=1)
    model.learn_many(X[:1500], y[:1500])
    alone = model[0]
    assert np.allclose(alone.predict_proba_many(X[:100]), model.predict_proba_many(X[:100]), rtol=1e-14)
    alone.learn_many(X[1500:1900], y[1500:1900])
    assert (alone.predict_many(X[1900:2000]) == y[1900:2000]).mean() > 0.85


@pytest.mark.parametrize(
    ("given", "size"),
    [("sqrt", 3), ("log2", 3), (2, 2), (0.6, 6), (1.0, 10), (None, 10), (1, 1), (50, 10), (3.0, 3)],
)
def test_how_many_features_a_leaf_looks_at(given: Any, size: int) -> None:
    X, y = matrix(synth.RandomRBF(seed=3), 300)
    model = small(max_features=given)
    model.learn_many(X, y)
    nodes = model.inspect()["members"][0]["model"]["nodes"]
    assert all(len(node["features"]) == size for node in nodes if node["leaf"])
    assert millstream.build(model.describe()).describe() == model.describe()


@pytest.mark.parametrize(
    "parameters",
    [
        {"n_models": 0},
        {"n_threads": 0},
        {"n_threads": 1000},
        {"max_features": 0},
        {"max_features": 1.5},
        {"max_features": -0.1},
        {"max_features": "all"},
        {"poisson_rate": 0.0},
        {"delta": 2},
        {"drift_detector": "accuracy"},
        {"drift_detector": 3},
        {"warning_detector": tree.HoeffdingTreeClassifier()},
    ],
)
def test_what_cannot_be_is_refused(parameters: dict[str, Any]) -> None:
    with pytest.raises((MillstreamError, TypeError)) as failure:
        forest.ARFClassifier(**parameters)
    assert "\n" not in str(failure.value)


def test_a_class_that_comes_late_is_learned() -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(5000, 3))
    y = np.where(X[:, 0] > 0, "a", "b").astype(object)
    late = (np.arange(5000) > 3000) & (X[:, 1] > 0.5)
    y[late] = "new"
    model = small()
    right = model.step_many(X, y) == y
    assert right[4000:].mean() > 0.8
    assert right[4000:][late[4000:]].mean() > 0.6
    assert set(model.predict_proba_one({"0": 0.0, "1": 1.0, "2": 0.0})) == {"a", "b", "new"}


def test_nominal_and_missing_features_and_rows_one_by_one() -> None:
    rng = np.random.default_rng(6)
    model = small(max_features=None)
    right = []
    for row in range(3000):
        colour, size = rng.choice(["red", "green", "blue"]), float(rng.normal())
        y = colour == "red" and size > 0
        x: dict[str, Any] = {"colour": colour, "size": size, "noise": float(rng.normal())}
        if rng.random() < 0.05:
            del x["noise"]
        right.append(model.predict_one(x) == y)
        model.learn_one(x, y)
        if row % 500 == 0:
            assert model.predict_one({}) in (None, True, False)
            assert model.predict_one({"colour": "mauve", "other": 3.0}) in (None, True, False)
    assert np.mean(right[1500:]) > 0.93


def test_a_row_that_is_refused_changes_nothing() -> None:
    X, y = turning()
    model = small()
    model.learn_many(X[:1000], y[:1000])
    before = model.to_bytes()
    with pytest.raises(MillstreamError):
        model.learn_one(dict.fromkeys(range(5), 1e308), 1)
    assert model.to_bytes() == before


def test_seeds_matter_and_repeat() -> None:
    X, y = turning(1000)
    one, two, other = small(), small(), small(seed=4)
    for model in (one, two, other):
        model.learn_many(X, y)
    assert one.to_bytes() == two.to_bytes()
    assert not np.array_equal(one.predict_proba_many(X), other.predict_proba_many(X))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SEA", "RandomRBF", "Agrawal"])
def test_as_good_as_river(name: str) -> None:
    """River's forest draws other numbers, so accuracies are compared, each the mean over seeds."""
    river_forest = pytest.importorskip("river.forest")
    ours: list[float] = []
    theirs: list[float] = []
    for seed in (1, 2):
        rows = list(getattr(synth, name)(seed=seed).take(1000))
        model, peer = (
            forest.ARFClassifier(n_models=3, seed=seed),
            river_forest.ARFClassifier(n_models=3, seed=seed),
        )
        ours.append(float(np.mean([model.step_one(x, y) == y for x, y in rows])))
        hits = []
        for x, y in rows:
            hits.append(peer.predict_one(x) == y)
            peer.learn_one(x, y)
        theirs.append(float(np.mean(hits)))
    assert np.mean(ours) > np.mean(theirs) - 0.01, (ours, theirs)


def test_nominal_features_of_many_values_do_not_lead_astray() -> None:
    """Agrawal's first function asks for the age alone; 20 makes of car look as good to a few rows."""
    rows = list(synth.Agrawal(seed=1, classification_function=0).take(2500))
    model = forest.ARFClassifier(n_models=5)
    right = [model.step_one(x, y) == y for x, y in rows]
    assert np.mean(right[500:]) > 0.95
