"""Gaussian naive Bayes beside River and scikit-learn, and what it does where they do otherwise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import river.naive_bayes
import sklearn.naive_bayes

import millstream
from millstream import naive_bayes, preprocessing

pytestmark = pytest.mark.linear_algebra


def blobs(height: int = 400, width: int = 5, classes: int = 3, seed: int = 1) -> tuple[Any, Any]:
    random = np.random.default_rng(seed)
    y = random.integers(classes, size=height)
    centres = random.normal(size=(classes, width))
    return centres[y] + random.normal(size=(height, width)), y


def dicts(X: Any) -> list[dict[str, float]]:
    return [{f"f{j}": float(value) for j, value in enumerate(row)} for row in X]


def posterior(reference: Any, x: dict[str, float]) -> dict[Any, float]:
    """What River's moments give without the 1e-9 that River adds to each density."""
    logs = {
        c: math.log(reference.p_class(c)) + sum(reference.gaussians[c][i].log_pdf(v) for i, v in x.items())
        for c in reference.class_counts
    }
    most = max(logs.values())
    total = sum(math.exp(log - most) for log in logs.values())
    return {c: math.exp(log - most) / total for c, log in logs.items()}


def test_probabilities_are_those_of_river() -> None:
    X, y = blobs()
    ours, theirs = naive_bayes.GaussianNB(), river.naive_bayes.GaussianNB()
    checked = 0
    for x, label in zip(dicts(X), y.tolist(), strict=True):
        if min((theirs.class_counts[c] for c in range(3)), default=0) > 1:
            said = ours.predict_proba_one(x)
            assert said == pytest.approx(posterior(theirs, x), rel=1e-9, abs=1e-300)
            if min(theirs.class_counts.values()) > 20:
                # Variances from few examples are small, and then the 1e-9 that River adds decides.
                assert said == pytest.approx(theirs.predict_proba_one(x), abs=1e-4)
            checked += 1
        ours.learn_one(x, label)
        theirs.learn_one(x, label)
    assert checked > 380


def test_missing_features_are_left_out_as_in_river() -> None:
    X, y = blobs()
    random = np.random.default_rng(2)
    ours, theirs = naive_bayes.GaussianNB(), river.naive_bayes.GaussianNB()
    for row, (x, label) in enumerate(zip(dicts(X), y.tolist(), strict=True)):
        x = {name: value for name, value in x.items() if random.random() < 0.7}
        if row > 50:
            assert ours.predict_proba_one(x) == pytest.approx(posterior(theirs, x), rel=1e-9, abs=1e-300)
        ours.learn_one(x, label)
        theirs.learn_one(x, label)


def test_one_pass_is_scikit_learn() -> None:
    X, y = blobs(width=12)
    w = np.random.default_rng(3).uniform(0.5, 3.0, size=len(y))
    ours = naive_bayes.GaussianNB()
    ours.learn_many(X, y, w)
    theirs = sklearn.naive_bayes.GaussianNB(var_smoothing=0.0).fit(X, y, sample_weight=w)
    columns = [ours.classes.index(label) for label in theirs.classes_]
    np.testing.assert_allclose(
        ours.predict_proba_many(X)[:, columns], theirs.predict_proba(X), rtol=1e-9, atol=1e-200
    )
    for code, label in enumerate(ours.classes):
        moments = list(ours.inspect()["classes"][code]["features"].values())
        np.testing.assert_allclose([m["mean"] for m in moments], theirs.theta_[label], rtol=1e-12)
        np.testing.assert_allclose([m["variance"] for m in moments], theirs.var_[label], rtol=1e-12)


def test_nominal_features_are_those_of_scikit_learn() -> None:
    random = np.random.default_rng(4)
    codes, y = random.integers(4, size=(300, 3)), random.integers(2, size=300)
    codes[y == 1, 0] //= 2
    theirs = sklearn.naive_bayes.CategoricalNB(alpha=0.3).fit(codes, y)
    ours = naive_bayes.GaussianNB(alpha=0.3)
    rows = [{"a": f"v{a}", "b": f"v{b}", "c": f"v{c}"} for a, b, c in codes]
    ours.learn_many(rows, y)
    for row, expected in zip(rows, theirs.predict_proba(codes), strict=True):
        assert ours.predict_proba_one(row) == pytest.approx({0: expected[0], 1: expected[1]}, rel=1e-9)
    counts = ours.inspect()["classes"][ours.classes.index(1)]["features"]["a"]["counts"]
    assert counts == {f"v{v}": float(((codes[:, 0] == v) & (y == 1)).sum()) for v in range(4)}


def test_a_value_that_was_never_learned_says_nothing() -> None:
    model = naive_bayes.GaussianNB()
    for city, y in [("Oslo", "a"), ("Rome", "b"), ("Rome", "b")]:
        model.learn_one({"city": city}, y)
    assert model.predict_proba_one({"city": "Lima"}) == model.predict_proba_one({})
    assert model.predict_proba_one({}) == pytest.approx({"a": 1 / 3, "b": 2 / 3})


def test_weight_two_is_learning_twice() -> None:
    X, y = blobs(60)
    twice, weighted = naive_bayes.GaussianNB(), naive_bayes.GaussianNB()
    for x, label in zip(dicts(X), y.tolist(), strict=True):
        weighted.learn_one(x, label, 2.0)
        twice.learn_one(x, label)
        twice.learn_one(x, label)
    for x in dicts(X):
        assert weighted.predict_proba_one(x) == pytest.approx(twice.predict_proba_one(x), rel=1e-9, abs=1e-200)


def test_ddof_is_the_sample_variance() -> None:
    model = naive_bayes.GaussianNB(ddof=1)
    for x in (1.0, 2.0, 6.0):
        model.learn_one({"x": x}, "a")
    assert model.inspect()["classes"][0]["features"]["x"] == {"count": 3.0, "mean": 3.0, "variance": 7.0}


def test_a_constant_feature_decides_only_where_it_can() -> None:
    model = naive_bayes.GaussianNB()
    for x, y in [((0.0, 1.0), "a"), ((0.0, 2.0), "a"), ((0.0, 8.0), "b"), ((0.0, 9.0), "b")]:
        model.learn_one({"constant": x[0], "x": x[1]}, y)
    # The column leaves its constant: impossible in both classes, so the other one decides.
    assert model.predict_one({"constant": 5.0, "x": 8.4}) == "b"
    assert model.predict_one({"constant": 5.0, "x": 1.4}) == "a"
    model.learn_one({"constant": 5.0, "x": 1.5}, "a")
    # Now it is possible in one class.
    assert model.predict_proba_one({"constant": 5.0, "x": 8.4}) == {"a": 1.0, "b": 0.0}


def test_with_nothing_but_impossible_values_the_shares_decide() -> None:
    model = naive_bayes.GaussianNB()
    for y in ("a", "b", "b"):
        model.learn_one({"x": 1.0}, y)
    assert model.predict_proba_one({"x": 2.0}) == pytest.approx({"a": 1 / 3, "b": 2 / 3})


@pytest.mark.parametrize("scale", [1e-160, 1e-30, 1e30, 1e140])
def test_many_features_of_any_scale_neither_overflow_nor_underflow(scale: float) -> None:
    X, y = blobs(200, width=40, classes=2)
    plain, scaled = naive_bayes.GaussianNB(), naive_bayes.GaussianNB()
    plain.learn_many(X, y)
    scaled.learn_many(X * scale, y)
    probabilities = scaled.predict_proba_many(X * scale)
    assert np.isfinite(probabilities).all()
    if scale > 1e-100:
        np.testing.assert_allclose(probabilities, plain.predict_proba_many(X), rtol=1e-6, atol=1e-12)


def test_a_far_value_is_finite() -> None:
    X, y = blobs(100)
    model = naive_bayes.GaussianNB()
    model.learn_many(X, y)
    far = model.predict_proba_many(np.full((1, 5), 1e308))
    assert np.isfinite(far).all()
    assert far.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("y", [0, 7])
def test_overflow_changes_nothing(y: int) -> None:
    model = naive_bayes.GaussianNB()
    model.learn_many(np.array([[1.0, 2.0], [2.0, 4.0]]), [0, 0])
    model.learn_one({0: 1e308, 1: 0.0}, 7)
    before = model.to_bytes()
    with pytest.raises(OverflowError, match=r"naive_bayes\.GaussianNB"):
        model.learn_one({0: -1e308, 1: 0.0}, y)
    with pytest.raises(OverflowError):
        model.learn_one({0: -1e308, "new": "text"}, y)
    assert model.to_bytes() == before


def test_a_class_that_comes_late_and_a_matrix_that_grows_wider() -> None:
    X, y = blobs(300, width=4)
    model = naive_bayes.GaussianNB()
    model.learn_many(X[:100, :3], np.where(y[:100] == 2, 0, y[:100]))
    model.learn_many(X[100:], y[100:])
    again = millstream.from_bytes(model.to_bytes())
    np.testing.assert_array_equal(model.predict_proba_many(X), again.predict_proba_many(X))
    assert (model.predict_many(X[100:]) == y[100:]).mean() > 0.6


def test_the_last_step_of_a_pipeline() -> None:
    # Naive Bayes does not care for scale, so a scaler changes little.
    X, y = blobs(2000)
    bare, scaled = naive_bayes.GaussianNB(), preprocessing.StandardScaler() | naive_bayes.GaussianNB()
    agree = bare.step_many(X, y)[50:] == scaled.step_many(X, y)[50:]
    assert agree.mean() > 0.97
