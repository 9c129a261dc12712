"""Linear learners that step along an example: beside River and scikit-learn, and on several classes."""

from __future__ import annotations

import numpy as np
import pytest
from river import linear_model as river
from sklearn import datasets

from millstream import evaluate, linear_model, preprocessing, synth

pytestmark = pytest.mark.linear_algebra

COVARIANCE = ["CW", "SCW", "AROW", "GaussianHerding", "Ellipsoid"]
CLASSIFIERS = ["Perceptron", "PAClassifier", "SVM", "ROMMA", "ALMA", *COVARIANCE]


def rows(load, count):
    X, y = load(return_X_y=True)
    order = np.random.default_rng(7).permutation(len(X))[:count]
    return (X[order] - X.mean(axis=0)) / (X.std(axis=0) + 1e-9), y[order]


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_passive_aggressive_is_rivers(mode):
    X, y = rows(datasets.load_breast_cancer, 300)
    ours = linear_model.PAClassifier(C=0.01, mode=mode, intercept=False)
    theirs = river.PAClassifier(C=0.01, mode=mode, learn_intercept=False)
    for x, label in zip(X, y, strict=True):
        x = dict(enumerate(x.tolist()))
        ours.learn_one(x, bool(label))
        theirs.learn_one(x, bool(label))
    assert list(ours.weights.values()) == pytest.approx([theirs.weights[i] for i in range(X.shape[1])], rel=1e-9)


@pytest.mark.parametrize("intercept", [True, False])
def test_the_perceptron_is_rivers_and_scikit_learns(intercept):
    from sklearn.linear_model import Perceptron

    X, y = rows(datasets.load_breast_cancer, 400)
    ours = linear_model.Perceptron(intercept=intercept)
    ours.learn_many(X, y)
    theirs = Perceptron(shuffle=False, fit_intercept=intercept).partial_fit(X, y, classes=[0, 1])
    assert list(ours.weights.values()) == pytest.approx(theirs.coef_[0].tolist(), rel=1e-9, abs=1e-12)
    assert ours.bias == pytest.approx(float(theirs.intercept_[0]))
    if not intercept:
        return
    rivers = river.Perceptron()
    for x, label in zip(X, y, strict=True):
        rivers.learn_one(dict(enumerate(x.tolist())), bool(label))
    assert list(ours.weights.values()) == pytest.approx([rivers.weights[i] for i in range(X.shape[1])], rel=1e-9)
    assert ours.bias == pytest.approx(rivers.intercept)


def shortest(x, w):
    """The shortest v with v·x ≥ 1 and v·w ≥ |w|², by a solver of quadratic programs; x is signed by its class."""
    from scipy.optimize import minimize

    constraints = [
        {"type": "ineq", "fun": lambda v: v @ x - 1.0, "jac": lambda v: x},
        {"type": "ineq", "fun": lambda v: v @ w - w @ w, "jac": lambda v: w},
    ]
    start = w + x * max(0.0, 1.0 - w @ x) / (x @ x)
    options = {"ftol": 1e-15, "maxiter": 500}
    found = minimize(
        lambda v: v @ v, start, jac=lambda v: 2.0 * v, constraints=constraints, method="SLSQP", options=options
    )
    return found.x


@pytest.mark.parametrize("aggressive", [False, True])
def test_romma_takes_the_shortest_vector(aggressive):
    drawn = np.random.default_rng(3)
    steps = {"alone": 0, "both": 0}
    for _ in range(60):
        truth = drawn.normal(size=3)
        model = linear_model.ROMMA(aggressive=aggressive, intercept=False)
        w = np.zeros(3)
        for _ in range(8):
            x = drawn.normal(size=3) * drawn.choice([0.3, 1.0, 3.0])
            y = bool(x @ truth > 0)
            signed = x if y else -x
            margin, product = float(w @ signed), float((w @ w) * (x @ x))
            model.learn_one(dict(enumerate(x.tolist())), y)
            after = np.array(list(model.weights.values()))
            if margin >= 1.0 if aggressive else margin > 0.0:
                assert after.tolist() == w.tolist()
            elif product - margin**2 > 1e-3 * product or margin >= product:
                steps["alone" if margin >= product else "both"] += 1
                assert after == pytest.approx(shortest(signed, w), rel=1e-4, abs=1e-6)
            w = after
    assert steps["both"] > 50
    # At a mistake the margin is at most 0, so only the first example of a stream binds alone.
    assert steps["alone"] > 60 if aggressive else steps["alone"] == 60


@pytest.mark.parametrize("mode", [1, 2])
def test_passive_aggressive_is_scikit_learns(mode):
    from sklearn.linear_model import SGDClassifier, SGDRegressor

    # Without a constant term, which scikit-learn leaves out of the length of an example.
    settings = {"penalty": None, "learning_rate": f"pa{mode}", "eta0": 0.02}
    settings |= {"shuffle": False, "fit_intercept": False}
    X, y = rows(datasets.load_breast_cancer, 400)
    ours = linear_model.PAClassifier(C=0.02, mode=mode, intercept=False)
    ours.learn_many(X, y)
    theirs = SGDClassifier(loss="hinge", **settings).partial_fit(X, y, classes=[0, 1])
    assert list(ours.weights.values()) == pytest.approx(theirs.coef_[0].tolist(), rel=1e-9, abs=1e-12)
    X, y = rows(datasets.load_diabetes, 400)
    ours = linear_model.PARegressor(C=0.02, mode=mode, epsilon=5.0, intercept=False)
    ours.learn_many(X, y)
    theirs = SGDRegressor(loss="epsilon_insensitive", epsilon=5.0, **settings).partial_fit(X, y)
    assert list(ours.weights.values()) == pytest.approx(theirs.coef_.tolist(), rel=1e-9, abs=1e-12)


def test_alma_is_rivers_on_rows_of_length_1():
    # River does not scale rows to length 1, as the paper does, and has another B by default.
    X, y = rows(datasets.load_breast_cancer, 400)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    ours, theirs = linear_model.ALMA(intercept=False), river.ALMAClassifier(B=8**0.5 / 0.9)
    for x, label in zip(X, y, strict=True):
        x = dict(enumerate(x.tolist()))
        ours.learn_one(x, bool(label))
        theirs.learn_one(x, bool(label))
    assert list(ours.weights.values()) == pytest.approx([theirs.w[i] for i in range(X.shape[1])], rel=1e-9)


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_passive_aggressive_regression_is_the_papers(mode):
    # Not beside River, whose loss takes eps off the error of one sign only.
    X, y = rows(datasets.load_diabetes, 300)
    model = linear_model.PARegressor(C=0.1, mode=mode, epsilon=5.0, intercept=False)
    model.learn_many(X, y)
    w = np.zeros(X.shape[1])
    for x, target in zip(X, y, strict=True):
        error, squares = target - w @ x, x @ x
        loss = max(0.0, abs(error) - 5.0)
        tau = [loss / squares, min(0.1, loss / squares), loss / (squares + 5.0)][mode]
        w += tau * np.sign(error) * x
    assert list(model.weights.values()) == pytest.approx(w.tolist(), rel=1e-9)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_several_classes(name):
    """Ten digits, one pass: every one of them is far better than one guess in ten."""
    X, y = rows(datasets.load_digits, 1797)
    result = evaluate.prequential(getattr(linear_model, name)(), (X, y), metrics=["Accuracy"])
    # CW believes every label, and digits overlap.
    assert result["Accuracy"] > (0.6 if name == "CW" else 0.8)


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("extra", [{}, {"full": True}])
def test_dense_and_sparse_rows_give_the_same(name, extra):
    scipy = pytest.importorskip("scipy.sparse")
    kind = getattr(linear_model, name)
    if extra and name not in COVARIANCE:
        pytest.skip("has no covariance")
    rng = np.random.default_rng(5)
    X = rng.normal(size=(400, 8)) * (rng.random((400, 8)) < 0.4)
    y = X[:, 0] + 0.5 * X[:, 1] > 0.1
    dense, sparse = kind(**extra), kind(**extra)
    dense.learn_many(X, y)
    sparse.learn_many(scipy.csr_matrix(X), y)
    assert list(sparse.weights.values()) == pytest.approx(list(dense.weights.values()), rel=1e-6, abs=1e-9)


def test_rare_features_are_learned_by_learners_that_count_them():
    """One feature of a hundred is informative, and comes once in fifty rows: AROW beats the perceptron."""
    rng = np.random.default_rng(9)
    X = (rng.random((20_000, 100)) < 0.02).astype(float)
    y = X @ rng.normal(size=100) + 0.1 * rng.normal(size=20_000) > 0
    scores = {
        name: evaluate.prequential(getattr(linear_model, name)(), (X, y), metrics=["Accuracy"])["Accuracy"]
        for name in ("Perceptron", "AROW", "SCW")
    }
    assert scores["AROW"] > scores["Perceptron"] + 0.01
    assert scores["SCW"] > scores["Perceptron"] + 0.01


def test_arow_regression_with_a_full_covariance_is_recursive_least_squares():
    X, y = rows(datasets.load_diabetes, 200)
    arow, rls = linear_model.AROWRegressor(r=1.0, full=True), linear_model.RLS(l2=1.0)
    arow.learn_many(X, y)
    rls.learn_many(X, y)
    assert list(arow.weights.values()) == pytest.approx(list(rls.weights.values()), rel=1e-9)


def test_normalized_lms_does_not_mind_scale():
    X, y = rows(datasets.load_diabetes, 400)
    predicted = []
    for scale in (1.0, 1e4):
        model = linear_model.LMS(learning_rate=0.5, normalized=True, intercept=False)
        model.learn_many(scale * X, y)
        predicted.append(model.predict_many(scale * X))
    assert predicted[0] == pytest.approx(predicted[1], rel=1e-6)


def test_pegasos_comes_to_the_solution_of_the_batch():
    from sklearn.svm import LinearSVC

    rng = np.random.default_rng(1)
    X = rng.normal(size=(4000, 5))
    y = X @ [1.0, -2.0, 0.5, 0.0, 1.0] + rng.normal(size=4000) > 0
    ours = linear_model.SVM(method="pegasos", l2=0.01, intercept=False)
    for _ in range(20):
        ours.learn_many(X, y)
    theirs = LinearSVC(loss="hinge", C=1 / (0.01 * len(X)), fit_intercept=False, max_iter=100_000).fit(X, y)
    assert list(ours.weights.values()) == pytest.approx(theirs.coef_[0].tolist(), abs=0.05)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_they_learn_a_stream_with_scaler(name):
    stream = synth.Hyperplane(seed=3).take(5000)
    model = preprocessing.StandardScaler() | getattr(linear_model, name)()
    result = evaluate.prequential(model, stream, metrics=["Accuracy"])
    assert result["Accuracy"] > 0.7


@pytest.mark.parametrize("mode", [1, 2])
@pytest.mark.parametrize("full", [False, True])
def test_the_ellipsoid_is_that_of_the_formulas(mode, full):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 5))
    y = X @ [1.0, -1.0, 0.5, 0.0, 2.0] + 0.2 * rng.normal(size=300) > 0
    model = linear_model.Ellipsoid(mode=mode, full=full, c=0.2, b=0.9)
    model.learn_many(X, y)
    n, c = 6, 0.2
    w, sigma = np.zeros(n), np.eye(n)
    for x, sign in zip(np.hstack([np.ones((300, 1)), X]), np.where(y, 1, -1), strict=True):
        v, margin = x @ sigma @ x, sign * (w @ x)
        if margin > 0:
            continue
        if mode == 1:
            depth = min(-margin / np.sqrt(v), 0.5)
            w = w + (1 + n * depth) / (n + 1) * sign * sigma @ x / np.sqrt(v)
            cut = 2 * (1 + n * depth) / ((n + 1) * (1 + depth))
            grown = n**2 * (1 - depth**2) / (n**2 - 1)
        else:
            w = w + (1 - margin) * sign * sigma @ x / v
            cut, grown, c = c, 1 / (1 - c), c * 0.9
        if full:
            sigma = grown * (sigma - cut * np.outer(sigma @ x, sigma @ x) / v)
        else:
            precision = 1 / np.diag(sigma) + cut / ((1 - cut) * v) * x**2
            sigma = np.diag(grown / precision)
    assert [model.bias, *model.weights.values()] == pytest.approx(w.tolist(), rel=1e-6, abs=1e-9)


def test_the_ellipsoid_makes_few_mistakes_where_a_plane_separates_badly_scaled_features():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 10)) * np.logspace(-1, 1, 10)
    y = X / np.logspace(-1, 1, 10) @ rng.normal(size=10) > 0
    models = {"Ellipsoid": linear_model.Ellipsoid(), "Perceptron": linear_model.Perceptron()}
    mistakes = {name: int(np.sum(model.step_many(X, y) != y)) for name, model in models.items()}
    assert mistakes["Ellipsoid"] < 350
    assert mistakes["Perceptron"] > 2 * mistakes["Ellipsoid"]
