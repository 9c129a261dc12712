"""The family of least squares: solved, recursive and merged, beside NumPy and each other."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import millstream
from millstream import compose, linear_model, preprocessing
from millstream.errors import InvalidType, InvalidValue

pytestmark = pytest.mark.linear_algebra

rng = np.random.default_rng


def weights(model):
    return [model.bias, *model.weights.values()]


def solved(X, y, l2=0.0, w=None, intercept=True):
    """Constant term and weights by NumPy, which wants columns of one size: rows of √l2 stand for the pull."""
    X = np.column_stack([np.ones(len(X)), X]) if intercept else X
    root = np.ones(len(X)) if w is None else np.sqrt(w)
    scale = 1.0 / np.sqrt((X**2).mean(axis=0))
    A = np.vstack([X * root[:, None], np.sqrt(l2) * np.eye(X.shape[1])]) * scale
    return scale * np.linalg.lstsq(A, np.concatenate([y * root, np.zeros(X.shape[1])]), rcond=None)[0]


def data(n, width=6, seed=3):
    random = rng(seed)
    X = random.normal(size=(n, width)) * np.geomspace(0.01, 1e4, width)
    return X, X @ (random.normal(size=width) / np.geomspace(0.01, 1e4, width)) + random.normal(size=n)


@pytest.mark.parametrize("l2", [0.0, 0.5])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_least_squares_is_numpys(l2, weighted, intercept):
    X, y = data(300)
    w = rng(5).uniform(0.5, 2.0, size=300) if weighted else None
    model = linear_model.LeastSquares(l2=l2, intercept=intercept)
    model.learn_many(X, y, w)
    expected = solved(X, y, l2, w, intercept)
    found = weights(model) if intercept else list(model.weights.values())
    assert found == pytest.approx(expected, rel=1e-9)


def test_least_squares_is_recursive_least_squares():
    X, y = data(500)
    least, recursive = linear_model.LeastSquares(l2=0.3), linear_model.RLS(l2=0.3)
    predicted, expected = least.step_many(X, y), recursive.step_many(X, y)
    assert predicted == pytest.approx(expected, rel=1e-8, abs=1e-8)
    assert weights(least) == pytest.approx(weights(recursive), rel=1e-9)


def test_a_large_constant_in_a_feature_does_no_harm():
    """Seconds since 1970: sums about 0 would have lost all that varies."""
    random = rng(1)
    seconds = 1.7e9 + np.arange(5000.0)
    X = np.column_stack([seconds, random.normal(size=5000)])
    y = 3.0 + 0.5 * (seconds - seconds[0]) + 2.0 * X[:, 1] + random.normal(size=5000)
    model = linear_model.LeastSquares()
    model.learn_many(X, y)
    centred = solved(np.column_stack([seconds - seconds[0], X[:, 1]]), y)
    assert list(model.weights.values()) == pytest.approx(centred[1:], rel=1e-9)
    predicted = model.predict_many(X)
    assert predicted == pytest.approx(
        np.column_stack([np.ones(5000), seconds - seconds[0], X[:, 1]]) @ centred, abs=1e-5
    )


def test_features_that_are_combinations_of_others():
    random = rng(2)
    A = random.normal(size=(2000, 3)) * [1.0, 1e6, 1e-6]
    X = np.column_stack([A, A[:, 0] + A[:, 1], A @ [1.0, 2.0, 3.0], np.full(2000, 7.0), np.zeros(2000)])
    y = A @ [2.0, 1e-6, 1e6] + 5.0 + 0.1 * random.normal(size=2000)
    model = linear_model.LeastSquares()
    model.learn_many(X, y)
    expected = np.column_stack([np.ones(2000), A]) @ solved(A, y)
    assert model.predict_many(X) == pytest.approx(expected, abs=1e-6)
    assert weights(model)[-2:] == [0.0, 0.0]
    # The smallest of all solutions does not throw weights about.
    assert np.abs(np.array(weights(model)[1:6]) * X[:, :5].std(axis=0)).max() < 10.0


def test_fewer_examples_than_features():
    X, y = data(4, width=9)
    model = linear_model.LeastSquares()
    model.learn_many(X, y)
    assert model.predict_many(X) == pytest.approx(y, abs=1e-8)


def test_predictions_between_examples_follow_what_was_learned():
    X, y = data(60)
    model, stepped = linear_model.LeastSquares(), linear_model.LeastSquares()
    said = []
    for x, target in zip(X.tolist(), y.tolist(), strict=True):
        said.append(model.predict_one(dict(enumerate(x))))
        model.predict_one({0: 1.0})
        model.learn_one(dict(enumerate(x)), target)
    assert said == stepped.step_many(X, y).tolist()
    assert model.to_bytes() == stepped.to_bytes()


def halves(kind, X, y, split, **parameters):
    whole, first, second = (kind(**parameters) for _ in range(3))
    whole.learn_many(X, y)
    first.learn_many(X[:split], y[:split])
    second.learn_many(X[split:], y[split:])
    return whole, first, second


MERGED = [
    (linear_model.LeastSquares, {}),
    (linear_model.LeastSquares, {"l2": 2.0}),
    (linear_model.LeastSquares, {"intercept": False}),
    (linear_model.RLS, {"l2": 1.0}),
    (linear_model.RLS, {"l2": 1e-6, "intercept": False}),
    (linear_model.BayesianLinearRegression, {"prior_precision": 0.1}),
]


@pytest.mark.parametrize(("kind", "parameters"), MERGED)
@pytest.mark.parametrize("split", [0, 3, 100, 200])
def test_halves_merged_are_the_whole(kind, parameters, split):
    X, y = data(200)
    whole, first, second = halves(kind, X, y, split, **parameters)
    before = second.to_bytes()
    first.merge(second)
    assert second.to_bytes() == before
    assert weights(first) == pytest.approx(weights(whole), rel=1e-8, abs=1e-10)
    assert first.learned == 200
    # Learning goes on as if nothing had happened.
    more = data(50, seed=8)
    first.learn_many(*more)
    whole.learn_many(*more)
    assert weights(first) == pytest.approx(weights(whole), rel=1e-8, abs=1e-10)


@pytest.mark.parametrize("kind", [linear_model.LeastSquares, linear_model.RLS])
@pytest.mark.parametrize("way", [pickle.dumps, lambda model: model.to_bytes()])
def test_merged_after_a_journey(kind, way):
    X, y = data(100)
    whole, first, second = halves(kind, X, y, 40)
    back = pickle.loads if way is pickle.dumps else millstream.from_bytes
    first, second = back(way(first)), back(way(second))
    first.merge(second)
    assert weights(first) == pytest.approx(weights(whole), rel=1e-9)
    again = back(way(first))
    assert again.to_bytes() == first.to_bytes()
    assert again.predict_many(X).tolist() == first.predict_many(X).tolist()


@pytest.mark.parametrize("kind", [linear_model.LeastSquares, linear_model.RLS])
def test_merged_features_are_found_by_name(kind):
    """Another order, features of one half only, values of text in another order, a kind that comes late."""
    random = rng(4)
    towns = ["a", "b", "c", "d"]
    stream = []
    for row in range(300):
        x = {"x": random.normal(), "town": towns[random.integers(3)], "late": None}
        if row >= 150:
            x = {"only": random.normal(), "town": towns[3 - random.integers(4)], "late": 1.0, "x": random.normal()}
        stream.append((x, 2.0 * x["x"] + towns.index(x["town"]) + 3.0 * x.get("only", 0.0) + random.normal()))
    whole, first, second = kind(l2=0.1), kind(l2=0.1), kind(l2=0.1)
    for row, (x, y) in enumerate(stream):
        whole.learn_one(x, y)
        (first if row < 150 else second).learn_one(x, y)
    other = second.copy()
    first.merge(second)
    other.merge(whole.clone())
    probes = [x for x, _ in stream] + [{}, {"town": "never seen"}, {"only": 2.0}]
    found, expected = ([model.predict_one(x) for x in probes] for model in (first, whole))
    assert found == pytest.approx(expected, rel=1e-8, abs=1e-8)
    assert set(first.features) == set(whole.features)
    assert [other.predict_one(x) for x in probes] == pytest.approx([second.predict_one(x) for x in probes])
    assert millstream.from_bytes(first.to_bytes()).to_bytes() == first.to_bytes()


@pytest.mark.parametrize("kind", [linear_model.LeastSquares, linear_model.RLS])
def test_what_cannot_be_merged_says_so_and_changes_nothing(kind):
    X, y = data(50)
    model = kind(l2=1.0)
    model.learn_many(X, y)
    before = model.to_bytes()
    other = kind(l2=1.0)
    other.learn_one({0: "text"}, 1.0)
    with pytest.raises(InvalidType, match=f"linear_model.{kind.__name__}: feature 0 is a number, got"):
        model.merge(other)
    with pytest.raises(InvalidValue, match="can be merged if the parameters are equal, got l2 1.0 and 2.0"):
        model.merge(kind(l2=2.0))
    with pytest.raises(InvalidType, match="only the same component can be merged, got int"):
        model.merge(3)
    assert model.to_bytes() == before
    model.merge(model)
    assert model.learned == 100


def test_forgetting_cannot_be_merged():
    model = linear_model.RLS(forgetting=0.9)
    with pytest.raises(InvalidValue, match=r"linear_model.RLS: cannot be merged: .* use forgetting=1"):
        model.merge(linear_model.RLS(forgetting=0.9))


def test_a_pipeline_is_exact_where_no_step_in_front_learns():
    X, y = data(200)
    pipeline = compose.Select(0, 1, 5) | linear_model.RLS()
    whole, first, second = pipeline.clone(), pipeline.clone(), pipeline.clone()
    whole.learn_many(X, y)
    first.learn_many(X[:90], y[:90])
    second.learn_many(X[90:], y[90:])
    first.merge(second)
    assert first.predict_many(X) == pytest.approx(whole.predict_many(X), rel=1e-8, abs=1e-8)
    scaled = preprocessing.StandardScaler() | linear_model.RLS()
    assert (pipeline.MERGE, scaled.MERGE) == ("exact", "approximate")
    with pytest.raises(InvalidType, match="cannot be merged"):
        (compose.Func(lambda x: x) | linear_model.RLS()).merge(scaled)


@pytest.mark.parametrize("kind", [linear_model.LeastSquares, linear_model.RLS])
def test_merging_collinear_and_badly_scaled_halves(kind):
    random = rng(6)
    A = random.normal(size=(3000, 3)) * [1.0, 1e6, 1e-3]
    X = np.column_stack([A, A[:, 0] + A[:, 1], A[:, 1] * (1 + 1e-9)])
    y = A @ [1.0, 1e-6, 1e3] + 0.1 * random.normal(size=3000)
    whole, first, second = halves(kind, X, y, 1500, l2=1e-3)
    first.merge(second)
    assert first.predict_many(X) == pytest.approx(whole.predict_many(X), abs=1e-4)


def hostile(n, seed):
    """Eight features: of sizes from 1e-6 to 1e6, two of them nearly the same, one constant, one mostly 0."""
    random = rng(seed)
    base = random.normal(size=(n, 4)) * [1e6, 1.0, 1e-6, 1e3]
    twin = base[:, 0] * (1.0 + 1e-10 * random.normal(size=n))
    rare = (random.random(n) < 1e-3).astype(float)
    X = np.column_stack([base, twin, base[:, 1] + base[:, 3], np.full(n, 3.0), rare])
    return X, base @ [1e-6, 2.0, 1e6, 1e-3] + 0.5 * rare + 0.1 * random.normal(size=n)


def long_run(steps, **parameters):
    """The mean absolute error over the last chunk; a state that is not positive definite does not load."""
    model, chunk = linear_model.RLS(**parameters), 50_000
    predicted = y = np.zeros(1)
    for place in range(steps // chunk):
        X, y = hostile(chunk, place)
        predicted = model.step_many(X, y)
        assert millstream.from_bytes(model.to_bytes()).to_bytes() == model.to_bytes()
    return np.abs(predicted - y).mean()


@pytest.mark.parametrize("forgetting", [1.0, 0.999])
def test_recursion_stays_positive_definite_on_hostile_features(forgetting):
    # The noise alone has a mean absolute value of 0.08.
    assert long_run(200_000, l2=1e-9, forgetting=forgetting) < 0.085


@pytest.mark.slow
def test_recursion_stays_positive_definite_over_ten_million_steps():
    assert long_run(10_000_000, l2=1e-9) < 0.085


def test_the_textbooks_recursion_does_not():
    """Why P is kept in factors: here xᵀP x, which is a variance, becomes negative."""
    X, y = hostile(20_000, 0)
    P, w = np.eye(8) / 1e-9, np.zeros(8)
    least, errors = 0.0, []
    for x, target in zip(X, y, strict=True):
        variance = x @ P @ x
        least = min(least, variance)
        errors.append(abs(target - w @ x))
        gain = P @ x / (1.0 + variance)
        w = w + gain * (target - w @ x)
        P = P - np.outer(gain, x @ P)
    assert least < -1.0
    assert np.mean(errors[-1000:]) > 1.0


def test_forgetting_on_a_constant_input_is_bounded():
    """Without a ceiling the variance of the second weight would be 0.9 ** -100_000: no number holds that."""
    model = linear_model.RLS(l2=1.0, forgetting=0.9)
    X = np.tile([1.0, 0.0], (100_000, 1))
    model.learn_many(X, np.ones(100_000))
    before = weights(model)
    assert before == pytest.approx([0.5, 0.5, 0.0], abs=1e-6)
    model.learn_many([[1.0, 1e-3]], [1.0 + 1e-3])
    # A million times the first variance, and not more, is what a new direction may learn at once.
    assert np.abs(np.array(weights(model)) - before).max() < 1.1
    assert model.predict_one({0: 1.0, 1: 0.0}) == pytest.approx(1.0, abs=1e-3)


def test_the_first_covariance_is_the_inverse_of_the_pull():
    """Not (I + l2 I)⁻¹, a slip in Wikipedia's article: one example of x = 1, y = 1 gives 1 / (1 + l2)."""
    for l2 in (0.1, 1.0, 7.0):
        model = linear_model.RLS(l2=l2, intercept=False)
        model.learn_one({"x": 1.0}, 1.0)
        assert model.weights["x"] == pytest.approx(1.0 / (1.0 + l2), rel=1e-12)


@pytest.mark.parametrize("beta", [1.0, 4.0])
def test_bayesian_regression_is_rivers(beta):
    from river import linear_model as river

    X, y = data(120, width=4)
    X = X / X.std(axis=0)
    ours = linear_model.BayesianLinearRegression(prior_precision=0.5, noise_precision=beta, intercept=False)
    theirs = river.BayesianLinearRegression(alpha=0.5, beta=beta)
    # River starts the precision, too, at 1 / alpha: the covariance, which predicts, is right.
    for row, target in zip(X.tolist(), y.tolist(), strict=True):
        x = dict(enumerate(row))
        said = theirs.predict_one(x, with_dist=True)
        assert ours.predict_one(x) == pytest.approx(said.mu, rel=1e-9, abs=1e-9)
        if theirs._idx:
            lower, upper = ours.predict_interval_one(x, coverage=0.6826894921370859)
            assert (upper - lower) / 2 == pytest.approx(said.sigma, rel=1e-9)
        ours.learn_one(x, target)
        theirs.learn_one(x, target)


def covered(model, X, y, coverage):
    lower, upper = model.predict_interval_many(X, coverage).T
    return np.mean((lower <= y) & (y <= upper))


@pytest.mark.parametrize("coverage", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_intervals_cover_what_they_say(coverage, scale):
    """Targets of any scale, weights that are large beside the noise, few examples and many."""
    for n, seed in ((30, 1), (2000, 2)):
        shares = []
        for run in range(20 if n == 30 else 2):
            random = rng([seed, run])
            X = random.normal(size=(n + 5000, 5)) * [1.0, 10.0, 0.1, 1.0, 1.0]
            y = scale * (X @ [3.0, -1.0, 20.0, 0.0, 5.0] + 100.0 + random.normal(size=len(X)))
            model = linear_model.BayesianLinearRegression(prior_precision=1e-4)
            model.learn_many(X[:n], y[:n])
            shares.append(covered(model, X[n:], y[n:], coverage))
        assert np.mean(shares) == pytest.approx(coverage, abs=0.02)


def test_intervals_of_a_default_model_cover_on_a_stream():
    """Prequentially, over the second half: what a user of defaults gets."""
    random = rng(9)
    X = random.normal(size=(4000, 6))
    y = X @ random.normal(size=6) * 7.0 + 20.0 + 3.0 * random.normal(size=4000)
    model = linear_model.BayesianLinearRegression()
    inside = []
    for row, target in zip(X.tolist(), y.tolist(), strict=True):
        x = dict(enumerate(row))
        lower, upper = model.predict_interval_one(x)
        inside.append(lower <= target <= upper)
        model.learn_one(x, target)
    assert np.mean(inside[2000:]) == pytest.approx(0.9, abs=0.02)
    assert model.noise == pytest.approx(9.0, rel=0.05)


def test_intervals_of_a_drifting_stream_with_forgetting():
    random = rng(10)
    X = random.normal(size=(6000, 3))
    truth = np.cumsum(0.01 * random.normal(size=(6000, 3)), axis=0) + np.array([1.0, 2.0, 3.0])
    y = (X * truth).sum(axis=1) + 0.3 * random.normal(size=6000)
    shares = {}
    for forgetting in (1.0, 0.98):
        model = linear_model.BayesianLinearRegression(forgetting=forgetting)
        model.learn_many(X[:5000], y[:5000])
        inside = []
        for row, target in zip(X[5000:].tolist(), y[5000:].tolist(), strict=True):
            x = dict(enumerate(row))
            lower, upper = model.predict_interval_one(x)
            inside.append(lower <= target <= upper and upper - lower < 2.0)
            model.learn_one(x, target)
        shares[forgetting] = np.mean(inside)
    assert shares[0.98] > 0.85 > shares[1.0]


def test_intervals_many_are_one_and_pipelines_have_them():
    X, y = data(200)
    model = compose.Select(0, 1, 2) | linear_model.BayesianLinearRegression()
    assert model.predict_interval_one({0: 1.0}) == (-np.finfo(float).max, np.finfo(float).max)
    model.learn_many(X, y)
    many = model.predict_interval_many(X, coverage=0.8)
    assert many.shape == (200, 2)
    assert many.tolist() == [list(model.predict_interval_one(dict(enumerate(x)), 0.8)) for x in X.tolist()]
    assert np.all(many[:, 0] < model.predict_many(X))
    assert (
        model.predict_interval_many([dict(enumerate(x)) for x in X[:3].tolist()], 0.8).tolist()
        == many[:3].tolist()
    )
    for coverage in (0.0, 1.0, -1.0, float("nan")):
        with pytest.raises(InvalidValue, match=r"coverage must be in \(0, 1\), got"):
            model.predict_interval_one({0: 1.0}, coverage)
    with pytest.raises(AttributeError, match="BayesianLinearRegression predicts intervals"):
        linear_model.RLS().predict_interval_one({})
    mixed = compose.Func(lambda x: {0: x[0]}) | linear_model.BayesianLinearRegression()
    mixed.learn_many(X, y)
    assert mixed.predict_interval_many(X[:3], 0.8).tolist() == [
        list(mixed.predict_interval_one(dict(enumerate(x)), 0.8)) for x in X[:3].tolist()
    ]
    assert not hasattr(preprocessing.StandardScaler(), "predict_interval_one")


def test_noise_is_merged_too():
    X, y = data(300)
    whole, first, second = halves(linear_model.BayesianLinearRegression, X, y, 120, prior_precision=0.3)
    first.merge(second)
    assert first.noise == pytest.approx(whole.noise, rel=1e-8)
    assert first.predict_interval_many(X) == pytest.approx(whole.predict_interval_many(X), rel=1e-7, abs=1e-7)


def test_quantiles_are_scipys():
    """Seen through intervals: alpha so large that the weight is 0, noise learned from n examples of ±1."""
    stats = pytest.importorskip("scipy.stats")
    for n in (2, 5, 40, 3000):
        model = linear_model.BayesianLinearRegression(prior_precision=1e12, intercept=False)
        model.learn_many(np.zeros((n, 1)), np.resize([1.0, -1.0], n))
        for coverage in (0.01, 0.5, 0.9, 0.999):
            _, upper = model.predict_interval_one({0: 0.0}, coverage)
            assert upper == pytest.approx(stats.t.ppf(0.5 + coverage / 2, n), rel=1e-9)


def test_a_normalized_step_of_2_or_more_never_arrives():
    with pytest.raises(InvalidValue, match=r"LMS: learning_rate must be below 2 with normalized=True, got 2:"):
        linear_model.LMS(learning_rate=2.0, normalized=True)
    linear_model.LMS(learning_rate=2.0)


@pytest.mark.parametrize("l2", [0.1, 3.0])
def test_ridge_classifier_as_in_scikit_learn(l2: float) -> None:
    from sklearn.linear_model import RidgeClassifier

    random = np.random.default_rng(2)
    y = random.integers(0, 4, 300)
    X = random.normal(size=(4, 5))[y] + random.normal(size=(300, 5))
    w = random.integers(1, 4, 300).astype(float)
    model = linear_model.RidgeClassifier(l2=l2)
    # A class that comes last has had the target 0 all the time.
    rows = np.argsort(y, kind="stable")
    model.learn_many(X[rows], y[rows], w[rows])
    found = [model.weights[k] for k in range(4)]
    W = np.array([[model.bias[k], *(found[k][str(feature)] for feature in range(5))] for k in range(4)])
    with_ones = np.column_stack([np.ones(300), X])
    Z = with_ones @ W.T
    # The intercept is penalised, and targets are 0 and 1 instead of -1 and 1.
    theirs = RidgeClassifier(alpha=l2, fit_intercept=False).fit(with_ones, y, sample_weight=w)
    wanted = theirs.decision_function(with_ones)
    assert np.abs(2 * Z - Z.sum(axis=1, keepdims=True) - wanted).max() < 1e-9
    assert (model.predict_many(X) == wanted.argmax(axis=1)).all()
    kept = np.maximum(Z + np.maximum(0.01 - Z.max(axis=1, keepdims=True), 0.0), 0.001)
    assert np.allclose(model.predict_proba_many(X), kept / kept.sum(axis=1, keepdims=True), atol=1e-9)
    assert model.class_counts == {k: w[y == k].sum() for k in range(4)}
