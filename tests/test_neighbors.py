"""Nearest neighbours against brute force in NumPy, scikit-learn and River; HNSW recall; SAM-kNN under drift."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import millstream
from millstream import compose, evaluate, neighbors, preprocessing
from millstream.errors import InvalidType, InvalidValue, MillstreamError

pytestmark = pytest.mark.linear_algebra


def blobs(n: int, d: int, classes: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    centres = rng.normal(scale=3.0, size=(classes, d))
    y = rng.integers(classes, size=n)
    return centres[y] + rng.normal(size=(n, d)), y


def brute_distances(
    stored: np.ndarray, x: np.ndarray, metric: str, p: float, inverse: np.ndarray, nominal: np.ndarray
) -> np.ndarray:
    """Distances of one row to all, in pure Python order: column after column."""
    sums = np.zeros(len(stored))
    shared = np.zeros(len(stored))
    for column in range(stored.shape[1]):
        there = ~np.isnan(stored[:, column]) & ~np.isnan(x[column])
        if nominal[column]:
            term = (stored[:, column] != x[column]).astype(float)
        else:
            size = np.abs((stored[:, column] - x[column]) * inverse[column])
            term = size if p == 1 else size * size if p == 2 else size**p
        sums += np.where(there, term, 0.0)
        shared += there
    with np.errstate(divide="ignore", invalid="ignore"):
        sums = np.where(shared == 0, np.inf, np.where(shared < len(x), sums * (len(x) / shared), sums))
    assert metric == "minkowski"
    return sums if p == 1 else np.sqrt(sums) if p == 2 else sums ** (1 / p)


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0])
@pytest.mark.parametrize("scale", [None, "standard", "min_max"])
@pytest.mark.parametrize("kind", ["plain", "ties", "missing"])
def test_every_row_equals_brute_force(p: float, scale: str | None, kind: str) -> None:
    rng = np.random.default_rng(3)
    n, d, window, k = 150, 4, 40, 5
    # Integers have many equal distances.
    X = rng.integers(0, 3, size=(n, d)).astype(float) if kind == "ties" else rng.normal(size=(n, d))
    if kind == "missing":
        # The first row has all features, so that their number is known.
        X[1:][rng.random(size=(n - 1, d)) < 0.3] = np.nan
    y = rng.normal(size=n)
    model = neighbors.KNNRegressor(k, window, p=p, scale=scale)
    nominal = np.zeros(d, dtype=bool)
    for t in range(n):
        x = X[t]
        query = {j: v for j, v in enumerate(x.tolist()) if v == v}
        if t:
            past = X[:t]
            inverse = np.ones(d)
            for j in range(d):
                column = past[:, j][~np.isnan(past[:, j])]
                size = 0.0
                if len(column) and scale == "standard":
                    size = float(column.std())
                elif len(column) and scale == "min_max":
                    size = float(np.ptp(column))
                inverse[j] = 1.0 / size if size > 1e-12 else 1.0
            stored, ages = past[-window:], np.arange(len(past[-window:]))[::-1]
            distances = brute_distances(stored, x, "minkowski", p, inverse, nominal)
            if scale is None and p != 3.0:
                # The same operations in the same order, so equal distances are equal here too.
                order = np.lexsort((ages, distances))[:k]
                found = model.kneighbors_one(query)
                assert [near.age for near in found] == ages[order].tolist()
                np.testing.assert_allclose([near.distance for near in found], distances[order], rtol=1e-14)
                assert model.predict_one(query) == pytest.approx(float(y[:t][-window:][order].mean()), abs=1e-14)
            else:
                found = model.kneighbors_one(query)
                expected = np.sort(distances)[:k]
                np.testing.assert_allclose([near.distance for near in found], expected, rtol=1e-9, atol=1e-12)
        model.learn_one(query if kind == "missing" else dict(enumerate(x.tolist())), float(y[t]))


def test_nominal_values_by_overlap() -> None:
    model = neighbors.KNNClassifier(n_neighbors=1, scale=None)
    model.learn_one({"a": 0.0, "colour": "red"}, "x")
    model.learn_one({"a": 0.9, "colour": "green"}, "y")
    # 0.8² + 1 and 0.1² + 1; the unknown colour is 1 away from both.
    distances = [near.distance for near in model.kneighbors_one({"a": 0.8, "colour": "blue"}, 2)]
    assert distances == pytest.approx([(0.01 + 1) ** 0.5, (0.64 + 1) ** 0.5])
    assert model.kneighbors_one({"a": 0.8, "colour": "red"})[0].x == {"a": 0.0, "colour": "red"}
    # A missing colour: the number counts twice.
    assert model.kneighbors_one({"a": 0.8})[0].distance == pytest.approx((2 * 0.01) ** 0.5)
    # A feature that no stored row has does not count, and rows without a shared feature are found last, by age.
    model.learn_one({"new": 1.0}, "z")
    assert [near.distance for near in model.kneighbors_one({"colour": "red"}, 3)][2] == float("inf")
    assert model.predict_one({"unheard of": 3}) == "z"


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine", "minkowski"])
@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_equal_to_scikit_learn_on_the_window(metric: str, weights: str) -> None:
    sklearn = pytest.importorskip("sklearn.neighbors")
    X, y = blobs(400, 6, 4)
    p = 3.0 if metric == "minkowski" else 2.0
    ours = neighbors.KNNClassifier(7, 150, weights, metric, p, scale=None)
    numbers = neighbors.KNNRegressor(7, 150, weights, metric, p, scale=None)
    ours.learn_many(X[:300], y[:300])
    numbers.learn_many(X[:300], X[:300, 0] * 2)
    given: dict[str, Any] = {"n_neighbors": 7, "weights": weights, "metric": metric, "algorithm": "brute"}
    given |= {"p": p} if metric == "minkowski" else {}
    theirs = sklearn.KNeighborsClassifier(**given).fit(X[150:300], y[150:300])
    np.testing.assert_allclose(
        ours.predict_proba_many(X[300:])[:, np.argsort(ours.classes)], theirs.predict_proba(X[300:]), atol=1e-9
    )
    means = sklearn.KNeighborsRegressor(**given).fit(X[150:300], X[150:300, 0] * 2)
    np.testing.assert_allclose(numbers.predict_many(X[300:]), means.predict(X[300:]), rtol=1e-9)
    distances, places = theirs.kneighbors(X[300:301])
    found = ours.kneighbors_one(dict(enumerate(X[300].tolist())))
    np.testing.assert_allclose([near.distance for near in found], distances[0], rtol=1e-9)
    assert [149 - near.age for near in found] == places[0].tolist()


def test_equal_to_rivers_exact_search() -> None:
    river = pytest.importorskip("river.neighbors")
    X, y = blobs(300, 3, 3)
    theirs = river.KNNClassifier(5, engine=river.LazySearch(window_size=100), weighted=True)
    ours = neighbors.KNNClassifier(5, 100, weights="distance", scale=None)
    for x, target in zip(X, y.tolist(), strict=True):
        row = dict(enumerate(x.tolist()))
        # River gives no probabilities before it has rows, and omits classes that it has not seen.
        for label, probability in theirs.predict_proba_one(row).items():
            if theirs.classes and ours.learned >= 5:
                assert ours.predict_proba_one(row)[label] == pytest.approx(probability, abs=1e-9)
        theirs.learn_one(row, target)
        ours.learn_one(row, target)


def test_close_rows_far_from_zero_keep_their_distances() -> None:
    model = neighbors.KNNRegressor(n_neighbors=1, scale=None)
    model.learn_one({"x": 1e8 + 1e-6}, 1.0)
    model.learn_one({"x": 1e8 + 3e-6}, 2.0)
    assert model.kneighbors_one({"x": 1e8})[0].distance == pytest.approx(1e-6, rel=0.02)


def test_the_scale_of_the_search_counts() -> None:
    # A scaler in front stores rows with the scale of their time; the model's own scale compares rows as they are.
    rng = np.random.default_rng(1)
    X = rng.uniform(size=(1000, 2)) * np.array([1.0, 100.0])
    X[:, 0] += np.linspace(0, 3, 1000)
    y = np.floor(4 * X[:, 0]) % 2 == 0
    inside = neighbors.KNNClassifier()
    in_front = preprocessing.StandardScaler() | neighbors.KNNClassifier(scale=None)
    unscaled = neighbors.KNNClassifier(scale=None)
    accuracy = {
        name: float(np.mean(model.step_many(X, y)[100:] == y[100:]))
        for name, model in {"inside": inside, "in front": in_front, "unscaled": unscaled}.items()
    }
    assert accuracy["inside"] > 0.7 > 0.6 > max(accuracy["in front"], accuracy["unscaled"])
    assert inside.inspect()["scales"]["0"] == pytest.approx(X[:, 0].std())


def test_sample_weights_weigh_votes() -> None:
    model = neighbors.KNNClassifier(3, scale=None)
    model.learn_one({"x": 0.0}, "a", 5.0)
    model.learn_one({"x": 1.0}, "b")
    model.learn_one({"x": 2.0}, "b")
    assert model.predict_proba_one({"x": 2.0}) == pytest.approx({"a": 5 / 7, "b": 2 / 7})
    model.learn_one({"x": 2.0}, "c", 0.0)
    assert model.classes == ["a", "b"]
    assert len(model.kneighbors_one({"x": 2.0}, 9)) == 3


@pytest.mark.parametrize("weighted", [False, True])
def test_memory_is_that_of_the_rows(weighted: bool) -> None:
    X, y = blobs(2500, 25 if weighted else 10, 3)
    model = neighbors.KNNClassifier(window_size=2000)
    small = model.memory
    model.learn_many(X, y, w=np.full(2500, 2.0) if weighted else None)
    assert model.memory - small <= 1.15 * 2000 * X.shape[1] * 8
    part = neighbors.KNNClassifier(window_size=100_000)
    small = part.memory
    part.learn_many(X, y)
    # Little more than needed while the window fills.
    assert part.memory - small <= 1.25 * 2500 * X.shape[1] * 8


def test_too_many_features_are_refused() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    X = sparse.csr_matrix(([1.0], ([0], [3_000_000])), shape=(1, 4_000_000))
    model = neighbors.KNNRegressor()
    with pytest.raises(InvalidValue, match="supports up to .* numbers in its window"):
        model.learn_many(X, [1.0])
    assert model.learned == 0


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_neighbors": 0}, "n_neighbors must be an integer in"),
        ({"window_size": 0}, "window_size must be"),
        ({"weights": "near"}, "weights must be one of uniform, distance, got 'near'"),
        ({"metric": "hamming"}, "metric must be one of"),
        ({"p": 0.5}, "p must be >= 1"),
        ({"p": 3.0, "metric": "cosine"}, "p must be 2.0 unless metric is 'minkowski'"),
        ({"scale": "robust"}, "scale must be one of"),
        ({"engine": 3}, "engine must be a search engine"),
        ({"engine": preprocessing.StandardScaler()}, "engine must be a search engine"),
        ({"engine": {"name": "neighbors.HNSW", "parameters": {"m": 1}}}, "m must be an integer in"),
        ({"metric": max, "engine": neighbors.HNSW()}, "engine must be None with a Python function"),
    ],
)
def test_bad_parameters_are_refused(parameters: dict[str, Any], message: str) -> None:
    for cls in (neighbors.KNNClassifier, neighbors.KNNRegressor):
        with pytest.raises(MillstreamError, match=message) as error:
            cls(**parameters)
        assert "\n" not in str(error.value)


def test_bad_numbers_of_neighbours_are_refused() -> None:
    model = neighbors.KNNRegressor()
    model.learn_one({"x": 1.0}, 1.0)
    with pytest.raises(InvalidValue, match="n_neighbors must be an integer >= 1, got 0"):
        model.kneighbors_one({"x": 1.0}, 0)
    with pytest.raises(InvalidType, match="n_neighbors must be an integer >= 1, got"):
        model.kneighbors_one({"x": 1.0}, 1.5)  # type: ignore[arg-type]
    assert len(model.kneighbors_one({"x": 1.0}, 100)) == 1
    assert [len(found) for found in model.kneighbors_many(np.ones((3, 1)))] == [1, 1, 1]


def _difference(a: Any, b: Any) -> float:
    return abs(float(a[0]) - float(b[0])) + abs(float(a[1]) - float(b[1]))


def test_a_function_as_metric_equals_the_compiled_one() -> None:
    X, y = blobs(120, 2, 3)
    X = np.round(X)
    for weights in ("uniform", "distance"):
        for cls in (neighbors.KNNClassifier, neighbors.KNNRegressor):
            by_function: Any = cls(4, 50, weights, _difference)
            compiled: Any = cls(4, 50, weights, "l1", scale=None)
            for row, (x, target) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
                example = dict(enumerate(x))
                if row:
                    assert by_function.kneighbors_one(example) == compiled.kneighbors_one(example)
                    predictions = by_function.predict_one(example), compiled.predict_one(example)
                    assert predictions[0] == pytest.approx(predictions[1])
                for model in (by_function, compiled):
                    model.learn_one(example, target, 1.0 + row % 3)
            copied = pickle.loads(pickle.dumps(by_function))
            assert copied.kneighbors_one({0: 1.0, 1: 2.0}) == by_function.kneighbors_one({0: 1.0, 1: 2.0})
            other = copy.deepcopy(by_function)
            other.learn_one({0: 1.0, 1: 2.0}, 0)
            assert by_function.learned == 120
            assert other.learned == 121
            assert repr(by_function).startswith(cls.__name__)


def test_a_function_that_fails_leaves_the_model() -> None:
    model = neighbors.KNNClassifier(1, metric=lambda a, b: abs(a["x"] - b["x"]))
    model.learn_one({"x": 1.0}, "a")
    with pytest.raises(InvalidValue, match="the metric <lambda> raised KeyError"):
        model.learn_many([{"x": 2.0}, {"y": 2.0}], ["b", "b"])
    assert model.learned == 1
    assert model.classes == ["a"]
    bad = neighbors.KNNRegressor(1, metric=lambda a, b: float("nan"))
    with pytest.raises(InvalidValue, match="must return a number >= 0, got nan"):
        bad.learn_one({"x": 1.0}, 1.0)
    with pytest.raises(InvalidType, match="use pickle"):
        model.to_bytes()
    scaled = preprocessing.StandardScaler() | neighbors.KNNClassifier(1, metric=lambda a, b: abs(a["x"] - b["x"]))
    scaled.learn_one({"x": 1.0}, "a")
    assert scaled.predict_one({"x": 3.0}) == "a"


def test_pipelines_evaluation_and_notation() -> None:
    X, y = blobs(300, 4, 3)
    for model in (
        preprocessing.StandardScaler() | neighbors.KNNClassifier(),
        millstream.parse("StandardScaler | KNNClassifier(n_neighbors=3)"),
        compose.Pipeline([preprocessing.StandardScaler(), neighbors.SAMKNNClassifier()]),
    ):
        one, many = model, model.clone()
        answers = [one.step_one(dict(enumerate(x)), t) for x, t in zip(X.tolist(), y.tolist(), strict=True)]
        assert list(many.step_many(X, y)) == answers
        assert np.mean(np.array(answers[50:]) == y[50:]) > 0.8
    result = evaluate.prequential(neighbors.KNNClassifier(), (X, y))
    assert result["Accuracy"] > 0.8


@pytest.mark.parametrize("engine", [None, neighbors.HNSW(m=6, ef_construction=30, ef_search=20)])
def test_saved_and_continued_bit_for_bit(engine: Any) -> None:
    X, y = blobs(400, 3, 3)
    model = neighbors.KNNClassifier(window_size=90, engine=engine, weights="distance")
    for start in range(0, 400, 50):
        model.learn_many(X[start : start + 50], y[start : start + 50])
        other = millstream.from_bytes(model.to_bytes())
        assert other.to_bytes() == model.to_bytes()
        np.testing.assert_array_equal(other.predict_proba_many(X[:20]), model.predict_proba_many(X[:20]))
        model = other
    whole = neighbors.KNNClassifier(window_size=90, engine=engine, weights="distance")
    whole.learn_many(X, y)
    assert whole.to_bytes() == model.to_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("d", [4, 16])
def test_recall_after_ten_turnovers_and_no_expired_row(d: int) -> None:
    rng = np.random.default_rng(d)
    window, n = 600, 600 * 11
    X = rng.normal(size=(n, d))
    y = np.arange(n, dtype=float)
    engine = neighbors.HNSW()
    approximate = neighbors.KNNRegressor(10, window, scale=None, engine=engine)
    exact = neighbors.KNNRegressor(10, window, scale=None)
    found = total = 0
    for start in range(0, n, 300):
        for model in (approximate, exact):
            model.learn_many(X[start : start + 300], y[start : start + 300])
        if start < window:
            continue
        oldest = start + 300 - window
        for query in rng.normal(size=(10, d)).tolist():
            row = dict(enumerate(query))
            near = {neighbor.y for neighbor in approximate.kneighbors_one(row)}
            assert len(near) == 10
            assert min(near) >= oldest
            if start >= n - 1500:
                found += len(near & {neighbor.y for neighbor in exact.kneighbors_one(row)})
                total += 10
    assert found / total >= 0.95


def test_the_graph_finds_everything_with_a_large_ef() -> None:
    # With room for all rows, a search compares all of them: also the newest of several rows at the same distance.
    rng = np.random.default_rng(5)
    X = np.concatenate(
        [rng.normal(size=(150, 2)), 40 + rng.normal(size=(150, 2)), rng.integers(0, 2, size=(150, 2))]
    )
    X = X[rng.permutation(450)]
    approximate = neighbors.KNNRegressor(5, 100, scale=None, engine=neighbors.HNSW(m=4, ef_search=200))
    exact = neighbors.KNNRegressor(5, 100, scale=None)
    for row, x in enumerate(X.tolist()):
        example = dict(enumerate(x))
        if row > 100:
            found, nearest = approximate.kneighbors_one(example), exact.kneighbors_one(example)
            assert found == nearest
        approximate.learn_one(example, float(row))
        exact.learn_one(example, float(row))


def test_hnsw_with_missing_nominal_and_new_features() -> None:
    rng = np.random.default_rng(2)
    approximate = neighbors.KNNClassifier(3, 50, engine=neighbors.HNSW(ef_search=60))
    exact = neighbors.KNNClassifier(3, 50)
    for row in range(200):
        x: dict[str, Any] = {"a": float(rng.normal()), "colour": ["red", "green"][int(rng.integers(2))]}
        if row > 60:
            x["late"] = float(rng.normal())
        if row % 7 == 0:
            del x["a"]
        if row:
            assert approximate.predict_proba_one(x) == exact.predict_proba_one(x)
        approximate.learn_one(x, str(row % 3))
        exact.learn_one(x, str(row % 3))


def drifting(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Two concepts in turn: A, B, A."""
    rng = np.random.default_rng(4)
    X = rng.uniform(size=(3 * n, 2))
    y = (X[:, 0] > 0.5).astype(int)
    y[n : 2 * n] = 1 - y[n : 2 * n]
    return X, y


def test_sam_knn_shrinks_at_an_abrupt_change() -> None:
    X, y = drifting(400)
    sam = neighbors.SAMKNNClassifier(window_size=2000)
    knn = neighbors.KNNClassifier(window_size=2000, weights="distance")
    sam.learn_many(X[:400], y[:400])
    assert sam.short_term_size > 100
    sizes = []
    for start in range(400, 800, 50):
        sam.learn_many(X[start : start + 50], y[start : start + 50])
        sizes.append(sam.short_term_size)
    assert min(sizes) < 400
    sam, knn = sam.clone(), knn.clone()
    after = np.r_[500:800, 900:1200]
    accuracy = [float(np.mean(model.step_many(X, y)[after] == y[after])) for model in (sam, knn)]
    assert accuracy[0] > 0.93 > accuracy[1] + 0.1
    assert sam.predictor in ("short_term", "long_term", "both")


def test_sam_knn_keeps_old_rows_that_do_not_contradict() -> None:
    # Only the left half changes: rows of the right half stay valid and must be found in the long-term memory.
    rng = np.random.default_rng(6)
    X = rng.uniform(size=(1200, 2))
    y = (X[:, 1] > 0.5).astype(int)
    changed = (np.arange(1200) >= 600) & (X[:, 0] < 0.5)
    y[changed] = 1 - y[changed]
    model = neighbors.SAMKNNClassifier(window_size=3000, min_stm_size=20)
    model.learn_many(X[:600], y[:600])
    model.learn_many(X[600:], y[600:])
    assert model.long_term_size > 50


def test_sam_knn_compresses_and_stays_within_its_window() -> None:
    X, y = blobs(1500, 3, 4)
    # Labels that move make the memory shrink, so that rows pass to the long-term memory.
    y = (y + np.arange(1500) // 150) % 4
    model = neighbors.SAMKNNClassifier(window_size=200, min_stm_size=10, seed=3)
    for start in range(0, 1500, 100):
        model.learn_many(X[start : start + 100], y[start : start + 100])
        assert model.short_term_size <= 120
        assert model.long_term_size <= 80
    assert model.long_term_size > 0
    other = millstream.from_bytes(model.to_bytes())
    for each in (model, other):
        each.learn_many(X[:300], y[:300])
    assert other.to_bytes() == model.to_bytes()


def test_sam_knn_learns_slow_rows_in_any_block_alike() -> None:
    # With 900 rows, a move to the long-term memory is slow: `learn_many` does it in a copy, `learn_one` does not.
    X, y = blobs(1300, 3, 4)
    y[1000:] = (y[1000:] + 1) % 4
    models = [neighbors.SAMKNNClassifier(window_size=1500) for _ in range(3)]
    for x, label in zip(X.tolist(), y.tolist(), strict=True):
        models[0].learn_one(dict(enumerate(x)), label)
    models[1].learn_many(X, y)
    predicted = models[2].step_many(X, y)
    assert models[0].long_term_size > 0
    assert models[0].to_bytes() == models[1].to_bytes() == models[2].to_bytes()
    assert len(predicted) == 1300


def test_sam_knn_sizes_equal_those_of_a_direct_computation() -> None:
    """The interleaved errors of windows, computed by their definition."""
    rng = np.random.default_rng(8)
    X = np.round(rng.uniform(size=(60, 1)) * 6)
    y = (X[:, 0] > 3).astype(int)
    y[30:] = 1 - y[30:]
    k, least = 3, 4
    model = neighbors.SAMKNNClassifier(k, 1000, min_stm_size=least, scale=None)
    start = 0
    for t in range(60):
        model.learn_one({0: float(X[t, 0])}, int(y[t]))
        size = t + 1 - start
        best, best_error = size, np.inf
        while size >= least:
            first = t + 1 - size
            wrong = 0
            for i in range(first + 1, t + 1):
                older = list(range(i - 1, first - 1, -1))
                near = sorted(older, key=lambda j: abs(X[j, 0] - X[i, 0]))[:k]
                distances = [abs(X[j, 0] - X[i, 0]) for j in near]
                zero = any(distance == 0 for distance in distances)
                votes = {0: 0.0, 1: 0.0}
                for j, distance in zip(near, distances, strict=True):
                    votes[int(y[j])] += float(distance == 0) if zero else 1 / distance
                # In a tie, the class that was learned first.
                wrong += (votes[1 - int(y[0])] > votes[int(y[0])]) != (y[i] != y[0])
            error = wrong / (size - 1)
            if error < best_error:
                best, best_error = size, error
            size //= 2
        start = t + 1 - best
        assert model.short_term_size == best
