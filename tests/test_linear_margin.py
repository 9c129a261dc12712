"""Linear learners that step along an example: beside River and scikit-learn, and on several classes."""

from __future__ import annotations

import numpy as np
import pytest
from river import linear_model as river
from sklearn import datasets

from millstream import evaluate, linear_model, preprocessing, synth

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


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_passive_aggressive_regression_is_the_papers(mode):
    # Not beside River, whose loss takes eps off the error of one sign only.
    X, y = rows(datasets.load_diabetes, 300)
    model = linear_model.PARegressor(C=0.1, mode=mode, eps=5.0, intercept=False)
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
