"""Clusterers, against scikit-learn and NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn import cluster as peer

import millstream
from millstream import cluster, errors, preprocessing, roles, testing

pytestmark = pytest.mark.linear_algebra


def blobs(rows: int, width: int, count: int, seed: int = 0) -> tuple[Any, Any]:
    """Rows around centres of standard deviation 4, and the index of the centre of each."""
    random = np.random.default_rng(seed)
    centres = random.normal(scale=4.0, size=(count, width))
    labels = random.integers(0, count, rows)
    return centres[labels] + random.normal(size=(rows, width)), labels


def centres_of(model: Any) -> Any:
    return np.array([list(centre.values()) for centre in model.centers.values()])


def inertia(X: Any, centres: Any) -> float:
    return float(((X[:, None, :] - centres[None]) ** 2).sum(axis=2).min(axis=1).sum())


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("size", [7, 50])
def test_mini_batches_are_those_of_scikit_learn(size: int, weighted: bool) -> None:
    X, _ = blobs(30 * size, 5, 6)
    init = X[:: 5 * size][:6]
    w = np.random.default_rng(1).uniform(0.5, 2.0, len(X)) if weighted else None
    theirs = peer.MiniBatchKMeans(6, init=init, n_init=1, batch_size=size, reassignment_ratio=0)
    ours = cluster.MiniBatchKMeans(6, batch_size=size, init=init.tolist(), reassignment_ratio=0.0)
    for start in range(0, len(X), size):
        part = slice(start, start + size)
        theirs.partial_fit(X[part], sample_weight=None if w is None else w[part])
        ours.learn_many(X[part], w=None if w is None else w[part])
        np.testing.assert_allclose(centres_of(ours), theirs.cluster_centers_, rtol=0, atol=1e-10)
        np.testing.assert_allclose(list(ours.weights.values()), theirs._counts, rtol=1e-12)
    assert (ours.predict_many(X) == theirs.predict(X)).all()


@pytest.mark.parametrize("name", ["KMeans", "MiniBatchKMeans"])
def test_the_size_of_calls_does_not_matter(name: str) -> None:
    X, _ = blobs(700, 4, 5)
    make = getattr(cluster, name)
    whole, pieces, single = (make(n_clusters=5) for _ in range(3))
    said = whole.step_many(X)
    assert np.concatenate([pieces.step_many(X[start : start + 37]) for start in range(0, 700, 37)]).tolist() == (
        said.tolist()
    )
    assert [single.step_one(dict(enumerate(x))) for x in X.tolist()] == said.tolist()
    assert whole.to_bytes() == pieces.to_bytes() == single.to_bytes()


def test_sequential_steps_are_means() -> None:
    X, _ = blobs(500, 3, 4)
    init = X[:4].copy()
    model = cluster.KMeans(4, init=init.tolist())
    centres, counts = init.copy(), np.zeros(4)
    for x in X:
        nearest = int(((centres - x) ** 2).sum(axis=1).argmin())
        assert model.step_one(dict(enumerate(x.tolist()))) == (nearest if counts.sum() else -1)
        counts[nearest] += 1
        centres[nearest] += (x - centres[nearest]) / counts[nearest]
        np.testing.assert_allclose(centres_of(model), centres, rtol=0, atol=1e-12)
    assert list(model.weights.values()) == counts.tolist()


def test_a_half_life_is_one() -> None:
    """After h rows, the weight of all rows before is half as large."""
    model = cluster.KMeans(1, half_life=50, init=[[0.0]])
    X = np.random.default_rng(0).normal(size=(2000, 1))
    model.learn_many(X)
    before = model.weights[0]
    ages = np.arange(len(X))[::-1]
    weights = 0.5 ** (ages / 50)
    assert before == pytest.approx(weights.sum(), rel=1e-9)
    assert model.centers[0]["0"] == pytest.approx(weights @ X[:, 0] / weights.sum(), rel=1e-9)


@pytest.mark.parametrize("name", ["KMeans", "MiniBatchKMeans"])
def test_clusters_are_as_tight_as_those_of_scikit_learn(name: str) -> None:
    for seed in range(5):
        X, _ = blobs(10_000, 10, 8, seed)
        theirs = peer.MiniBatchKMeans(8, batch_size=1024, random_state=seed, n_init=3).fit(X)
        ours = getattr(cluster, name)(n_clusters=8, seed=seed)
        ours.learn_many(X)
        assert inertia(X, centres_of(ours)) <= 1.02 * theirs.inertia_


def test_data_far_from_zero_lose_no_digits() -> None:
    """Distances by expanded squares would have no correct digit here."""
    X, _ = blobs(2000, 3, 4)
    X = X.round(2)
    far = X + 2.0**30
    init = X[:4]
    near, away = cluster.KMeans(4, init=init.tolist()), cluster.KMeans(4, init=(init + 2.0**30).tolist())
    assert (near.step_many(X) == away.step_many(far)).all()
    np.testing.assert_allclose(centres_of(away) - 2.0**30, centres_of(near), atol=1e-5)


def test_a_start_with_fewer_rows_than_clusters() -> None:
    """scikit-learn refuses a first batch smaller than n_clusters; here rows wait."""
    model = cluster.MiniBatchKMeans(n_clusters=4, init_size=10, batch_size=2)
    X, _ = blobs(30, 2, 4)
    for x in X[:9]:
        model.learn_many(x[None])
        assert model.predict_many(X).tolist() == [-1] * 30
        assert model.centers == {}
    model.learn_many(X[9:10])
    assert len(model.centers) == 4
    assert set(model.predict_many(X).tolist()) <= {0, 1, 2, 3}


def test_fewer_distinct_rows_than_clusters() -> None:
    model = cluster.KMeans(n_clusters=5, init_size=6)
    model.learn_many(np.repeat([[1.0, 2.0], [3.0, 4.0]], 3, axis=0))
    assert sorted(tuple(centre.values()) for centre in model.centers.values()) == [(1.0, 2.0), (3.0, 4.0)]
    model.learn_many(np.array([[3.0, 4.0], [9.0, 9.0], [-5.0, 0.0], [0.0, -5.0], [7.0, 7.0]]))
    assert len(model.centers) == 5


def test_dead_centres_move_and_are_reported() -> None:
    """The start of one centre is far away from all rows, so that it never gets one."""
    X, labels = blobs(8000, 3, 3, seed=4)
    init = [*X[[int(np.flatnonzero(labels == label)[0]) for label in (0, 1)]].tolist(), [1e3, 1e3, 1e3]]
    for make in (cluster.KMeans, cluster.MiniBatchKMeans):
        stuck, moved = make(3, init=init, reassignment_ratio=0.0), make(3, init=init)
        for model in (stuck, moved):
            model.learn_many(X)
        assert stuck.n_reseeded == 0
        assert stuck.centers[2] == {"0": 1e3, "1": 1e3, "2": 1e3}
        assert moved.n_reseeded == moved.inspect()["reseeded"] >= 1
        assert inertia(X, centres_of(moved)) < 0.5 * inertia(X, centres_of(stuck))


def test_missing_values_are_left_out() -> None:
    X, labels = blobs(3000, 6, 3)
    holes = X.copy()
    holes[np.random.default_rng(2).random(X.shape) < 0.2] = np.nan
    model = cluster.KMeans(n_clusters=3)
    model.learn_many(holes)
    means = np.array([X[labels == label].mean(axis=0) for label in range(3)])
    found = centres_of(model)
    order = ((found[:, None] - means[None]) ** 2).sum(axis=2).argmin(axis=0)
    np.testing.assert_allclose(found[order], means, atol=0.3)
    assert np.mean(model.predict_many(holes) == order[labels]) > 0.99


def test_nominal_features_have_a_coordinate_for_each_value() -> None:
    random = np.random.default_rng(3)
    colours = np.array(["red", "green", "blue"])
    rows = [{"colour": str(colour), "x": float(random.normal())} for colour in random.choice(colours, 600)]
    model = cluster.KMeans(n_clusters=3, init_size=60)
    for x in rows:
        model.learn_one(x)
    one_hot = cluster.KMeans(n_clusters=3, init_size=60)
    encoded = [{**{str(value): float(x["colour"] == value) for value in colours}, "x": x["x"]} for x in rows]
    for x in encoded:
        one_hot.learn_one(x)
    assert [model.predict_one(x) for x in rows] == [one_hot.predict_one(x) for x in encoded]
    for centre in model.centers.values():
        assert sum(centre["colour"].values()) == pytest.approx(1.0)
    assert model.predict_one({"colour": "never seen", "x": 0.0}) in (0, 1, 2)


@pytest.mark.parametrize("name", ["KMeans", "MiniBatchKMeans"])
def test_features_appear_and_vanish(name: str) -> None:
    model = getattr(cluster, name)(2, init_size=4, **({"batch_size": 3} if name != "KMeans" else {}))
    for x in [0.0, 1.0, 10.0, 11.0]:
        model.learn_one({"x": x})
    for _ in range(10):
        model.learn_one({"x": 10.0, "y": 5.0})
        model.learn_one({"x": 0.0, "y": -5.0})
    high, low = model.predict_one({"x": 10.0}), model.predict_one({"x": 0.0})
    assert {high, low} == {0, 1}
    assert model.predict_one({"y": 4.0}) == high
    assert model.predict_one({"y": -4.0}) == low
    assert model.predict_one({}) == model.predict_one({"z": 1.0}) == -1
    assert (model.centers[high]["y"], model.centers[low]["y"]) == (5.0, -5.0)


def test_sparse_rows_are_dense_rows() -> None:
    X, _ = blobs(400, 6, 3)
    X[np.abs(X) < 2.0] = 0.0
    dense, sparse = cluster.KMeans(3), cluster.KMeans(3)
    assert dense.step_many(X).tolist() == sparse.step_many(csr_matrix(X)).tolist()
    np.testing.assert_array_equal(centres_of(dense), centres_of(sparse))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: cluster.KMeans(0), "n_clusters must be"),
        (lambda: cluster.KMeans(3, init=[[1.0], [2.0]]), "init must have n_clusters=3 centres, got 2"),
        (lambda: cluster.KMeans(2, init=[[1.0], [2.0, 3.0]]), "init must have the same number of features"),
        (lambda: cluster.KMeans(3, init_size=0), "init_size must be"),
        (lambda: cluster.KMeans(3, learning_rate=0.5, half_life=3), "set learning_rate or half_life, not both"),
        (lambda: cluster.KMeans(3, half_life=0.5), "half_life must be"),
        (lambda: cluster.MiniBatchKMeans(3, batch_size=0), "batch_size must be"),
    ],
)
def test_bad_parameters_are_refused(make: Any, message: str) -> None:
    with pytest.raises(errors.InvalidValue, match=message):
        make()


def test_a_row_that_does_not_fit_the_given_centres_is_refused() -> None:
    model = cluster.KMeans(2, init=[[1.0, 2.0], [3.0, 4.0]])
    before = model.to_bytes()
    with pytest.raises(
        errors.InvalidValue, match="init has centres of 2 numbers, but the first row has 3 features"
    ):
        model.learn_one({"a": 1.0, "b": 2.0, "c": 3.0})
    assert model.to_bytes() == before
    model.learn_one({"a": 1.0, "b": 2.0})
    assert model.predict_one({"a": 3.0, "b": 4.0}) == 1


def test_a_row_with_enormous_numbers_is_refused() -> None:
    model = cluster.KMeans(2, init_size=2)
    model.learn_many(np.array([[0.0], [1.0], [2.0]]))
    before = model.to_bytes()
    with pytest.raises(OverflowError, match="overflow"):
        model.learn_one({0: 1e200})
    assert model.to_bytes() == before
    assert model.predict_one({0: 1e200}) in (0, 1)


def test_what_a_clusterer_is() -> None:
    model = cluster.KMeans()
    assert model.role is roles.CLUSTERER
    assert not hasattr(model, "predict_proba_one")
    assert not hasattr(model, "transform_one")
    assert {"cluster.KMeans", "cluster.MiniBatchKMeans"} <= set(millstream.find(role="clusterer"))
    piped = millstream.parse("StandardScaler | KMeans(n_clusters=2)")
    assert piped.role is roles.CLUSTERER
    assert piped.predict_one({"x": 1.0}) == -1
    # A target is ignored.
    piped.learn_one({"x": 1.0}, "label")
    assert piped.step_one({"x": 1.0}, proba=True) == -1
    assert piped.step_many([{"x": 1.0}] * 3, proba=True).tolist() == [-1, -1, -1]


def test_saving_and_merging(tmp_path: Any) -> None:
    X, _ = blobs(300, 3, 4)
    model = cluster.MiniBatchKMeans(4, init_size=50, batch_size=16)
    model.learn_many(X[:133])
    model.save(tmp_path / "model.ms")
    loaded = millstream.load(tmp_path / "model.ms")
    assert loaded.step_many(X[133:]).tolist() == model.step_many(X[133:]).tolist()
    assert loaded.to_bytes() == model.to_bytes()
    with pytest.raises(ValueError, match="cannot be merged: centres"):
        model.merge(loaded)


@pytest.mark.parametrize("model", [cluster.KMeans(3, init_size=10), cluster.MiniBatchKMeans(3, 8, init_size=10)])
def test_check_model(model: Any) -> None:
    testing.check_model(model)
    testing.check_model(preprocessing.StandardScaler() | model)
