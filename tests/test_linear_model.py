"""Linear learners beside River and scikit-learn, and what they do that those do not."""

from __future__ import annotations

import json
import math
import zlib
from typing import Any

import numpy as np
import pytest
from river import linear_model as river_models
from river import optim as river
from sklearn import datasets
from sklearn.linear_model import SGDClassifier, SGDRegressor

import millstream
from millstream import linear_model, losses, optim
from millstream.errors import InvalidState, InvalidValue, NumericOverflow

pytestmark = pytest.mark.linear_algebra

OPTIMIZERS = [
    (optim.SGD(0.01), lambda: river.SGD(0.01)),
    (optim.Momentum(0.001), lambda: river.Momentum(0.001)),
    (optim.Nesterov(0.001), lambda: river.NesterovMomentum(0.001)),
    (optim.AdaGrad(0.5), lambda: river.AdaGrad(0.5)),
    (optim.AdaDelta(), river.AdaDelta),
    (optim.RMSProp(), river.RMSProp),
    (optim.Adam(), river.Adam),
]


def scaled(load: Any, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows in random order, without zeros."""
    X, y = load(return_X_y=True)
    order = np.random.default_rng(7).permutation(len(X))[:rows]
    X = (X[order] - X.mean(axis=0)) / X.std(axis=0)
    assert (X != 0).all()
    return X, y[order]


def as_dict(row: np.ndarray) -> dict[str, float]:
    return {f"f{j}": value for j, value in enumerate(row.tolist())}


# Beside River


@pytest.mark.parametrize(("ours", "theirs"), OPTIMIZERS, ids=[repr(ours) for ours, _ in OPTIMIZERS])
def test_linear_regression_as_in_river(ours: Any, theirs: Any) -> None:
    X, y = scaled(datasets.load_diabetes, 300)
    model = linear_model.LinearRegression(optimizer=ours, l2=0.001, intercept_init=3.0)
    peer = river_models.LinearRegression(optimizer=theirs(), l2=0.001, intercept_init=3.0)
    for row, target in zip(X, y / 100, strict=True):
        x = as_dict(row)
        assert model.predict_one(x) == pytest.approx(peer.predict_one(x), rel=1e-9, abs=1e-9)
        model.learn_one(x, target)
        peer.learn_one(x, target)
    assert model.weights == pytest.approx(peer.weights, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (losses.Squared(), river.losses.Squared()),
        (losses.Absolute(), river.losses.Absolute()),
        (losses.Huber(0.5), river.losses.Huber(0.5)),
        (losses.Quantile(0.9), river.losses.Quantile(0.9)),
        (losses.Poisson(), river.losses.Poisson()),
    ],
    ids=repr,
)
def test_losses_for_numbers_as_in_river(ours: Any, theirs: Any) -> None:
    X, y = scaled(datasets.load_diabetes, 300)
    model = linear_model.LinearRegression(loss=ours)
    peer = river_models.LinearRegression(loss=theirs)
    for row, target in zip(X, y / 100, strict=True):
        x = as_dict(row)
        w = 0.5 + target % 1
        assert model.predict_one(x) == pytest.approx(peer.predict_one(x), rel=1e-9)
        model.learn_one(x, target, w)
        peer.learn_one(x, target, w)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (losses.Logistic(), river.losses.Log()),
        (losses.Hinge(), river.losses.Hinge()),
        (losses.Hinge(0.0), river.losses.Hinge(0.0)),
        (losses.FocalStar(), river.losses.BinaryFocalLoss()),
    ],
    ids=repr,
)
def test_losses_for_classes_as_in_river(ours: Any, theirs: Any) -> None:
    X, y = scaled(datasets.load_breast_cancer, 300)
    model = linear_model.LogisticRegression(loss=ours, clip_gradient=0.4)
    peer = river_models.LogisticRegression(loss=theirs, clip_gradient=0.4)
    for n, (row, label) in enumerate(zip(X, y, strict=True)):
        x = as_dict(row)
        if n > 20:
            assert model.predict_proba_one(x)[True] == pytest.approx(peer.predict_proba_one(x)[True], rel=1e-9)
        model.learn_one(x, bool(label))
        peer.learn_one(x, bool(label))


@pytest.mark.parametrize("load", [datasets.load_iris, datasets.load_wine])
@pytest.mark.parametrize(("ours", "theirs"), OPTIMIZERS, ids=[repr(ours) for ours, _ in OPTIMIZERS])
def test_softmax_regression_as_in_river(load: Any, ours: Any, theirs: Any) -> None:
    X, y = scaled(load, 150)
    model = linear_model.SoftmaxRegression(optimizer=ours, l2=0.01, intercept=False)
    peer = river_models.SoftmaxRegression(optimizer=theirs(), l2=0.01)
    for row, label in zip(X, y.tolist(), strict=True):
        x = as_dict(row)
        expected = peer.predict_proba_one(x)
        assert model.predict_proba_one(x) == pytest.approx(expected, rel=1e-9, abs=1e-12)
        model.learn_one(x, label)
        peer.learn_one(x, label)


def test_zeros_are_left_alone_where_river_pulls() -> None:
    # Ours: a weight moves when its feature is not 0, so that a row and its sparse form agree.
    model, peer = linear_model.LogisticRegression(l2=0.5), river_models.LogisticRegression(l2=0.5)
    for learner in (model, peer):
        learner.learn_one({"a": 1.0, "b": 1.0}, True)
        learner.learn_one({"a": 0.0, "b": 1.0}, True)
    assert model.weights["a"] == 0.005
    assert peer.weights["a"] == pytest.approx(0.005 * (1 - 0.01 * 0.5))
    assert model.weights["b"] == pytest.approx(peer.weights["b"], rel=1e-12)


# Beside scikit-learn


@pytest.mark.parametrize("penalty", [None, "l2"])
@pytest.mark.parametrize(
    ("loss", "name"),
    [
        (losses.Logistic(), "log_loss"),
        (losses.Hinge(), "hinge"),
        (losses.Hinge(0.0), "perceptron"),
        (losses.SquaredHinge(), "squared_hinge"),
        (losses.ModifiedHuber(), "modified_huber"),
    ],
    ids=repr,
)
def test_classifiers_as_in_scikit_learn(loss: Any, name: str, penalty: str | None) -> None:
    X, y = scaled(datasets.load_breast_cancer, 250)
    rates = {"learning_rate": "constant", "eta0": 0.01, "shuffle": False}
    peer = SGDClassifier(loss=name, penalty=penalty, alpha=0.05, **rates).partial_fit(X, y, classes=[0, 1])
    l2 = 0.05 if penalty else 0.0
    model = linear_model.LogisticRegression(optim.SGD(0.01), loss=loss, l2=l2)
    for row, label in zip(X, y, strict=True):
        model.learn_many(row[None], [label])
    np.testing.assert_allclose(list(model.weights.values()), peer.coef_[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.bias, peer.intercept_[0], rtol=1e-9)
    assert (model.predict_many(X) == peer.predict(X)).all()


@pytest.mark.parametrize("penalty", [None, "l2"])
@pytest.mark.parametrize(
    ("loss", "name", "half"),
    [
        (losses.Squared(), "squared_error", 0.5),
        (losses.Huber(0.3), "huber", 1.0),
        (losses.EpsilonInsensitive(0.3), "epsilon_insensitive", 1.0),
    ],
    ids=repr,
)
def test_regressors_as_in_scikit_learn(loss: Any, name: str, half: float, penalty: str | None) -> None:
    # scikit-learn puts a half before the square: half of its rate and twice its penalty are the same step.
    X, y = scaled(datasets.load_diabetes, 250)
    y = y / 100
    rate = 0.01
    rates = {"learning_rate": "constant", "eta0": rate, "shuffle": False}
    peer = SGDRegressor(loss=name, penalty=penalty, alpha=0.05, epsilon=0.3, **rates).partial_fit(X, y)
    model = linear_model.LinearRegression(
        optim.SGD(rate * half), loss, l2=0.05 / half if penalty else 0.0, intercept_learning_rate=rate * half
    )
    for row, target in zip(X, y, strict=True):
        model.learn_many(row[None], [target])
    np.testing.assert_allclose(list(model.weights.values()), peer.coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.predict_many(X), peer.predict(X), rtol=1e-9)


# Averaging, l1


@pytest.mark.parametrize("optimizer", [optim.SGD(0.05), optim.Adam(0.01), optim.Nesterov(0.01)], ids=repr)
def test_averaging_is_the_mean_of_all_iterates(optimizer: Any) -> None:
    X, y = scaled(datasets.load_breast_cancer, 200)
    model = linear_model.LogisticRegression(optimizer, averaging=True, l2=0.01)
    current = linear_model.LogisticRegression(optimizer, l2=0.01)
    weights, biases = [], []
    for row, label in zip(X, y.tolist(), strict=True):
        model.learn_one(as_dict(row), label)
        current.learn_one(as_dict(row), label)
        weights.append(list(current.weights.values()))
        biases.append(current.bias)
    np.testing.assert_allclose(list(model.weights.values()), np.mean(weights, axis=0), rtol=1e-9, atol=1e-12)
    assert model.bias == pytest.approx(np.mean(biases), rel=1e-9)
    x = as_dict(X[0])
    assert model.score_one(x) == pytest.approx(np.mean(weights, axis=0) @ X[0] + np.mean(biases), rel=1e-9)


def test_averaging_of_features_that_come_late() -> None:
    rng = np.random.default_rng(2)
    model = linear_model.LinearRegression(averaging=True)
    current = linear_model.LinearRegression()
    history = []
    for n in range(60):
        x = {"a": rng.normal(), "colour": "red" if n % 2 else "blue"}
        if n > 20:
            x["late"] = rng.normal()
        y = x["a"] + x.get("late", 0.0)
        model.learn_one(x, y)
        current.learn_one(x, y)
        history.append(current.weights.get("late", 0.0))
    assert model.weights["late"] == pytest.approx(np.mean(history), rel=1e-9)


@pytest.mark.parametrize(
    "optimizer", [optim.SGD(0.05), optim.AdaGrad(0.1), optim.Momentum(0.01), optim.Adam(0.01)]
)
def test_l1_makes_exact_zeros(optimizer: Any) -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(2000, 10))
    y = 3 * X[:, 0] - 2 * X[:, 1] + 0.1 * rng.normal(size=2000)
    model = linear_model.LinearRegression(optimizer, l1=0.5)
    zeros = np.zeros(10)
    for row, target in zip(X, y, strict=True):
        model.learn_many(row[None], [target])
        zeros += np.array(list(model.weights.values())) == 0.0
    assert (zeros[:2] < 100).all()
    assert (zeros[2:] > 200).all()
    assert model.predict_one(dict(enumerate([1.0] + [0.0] * 9))) > 2


def test_l1_by_hand() -> None:
    model = linear_model.LinearRegression(optim.SGD(0.25), l1=1.0, intercept=False)
    model.learn_one({"a": 1.0, "b": 0.1}, 1.0)
    # Slope -2: the step is to (0.5, 0.05), from which 0.25 is taken, or all there is.
    assert model.weights == {"a": 0.25, "b": 0.0}


# Streams that change


def test_classes_and_features_that_come_late() -> None:
    model = linear_model.SoftmaxRegression(optim.SGD(0.1))
    assert model.predict_one({"x": 1.0}) is None
    model.learn_one({"x": 1.0}, "a")
    assert model.predict_proba_one({"x": 5.0}) == {"a": 1.0}
    model.learn_one({"x": -1.0, "colour": "red"}, "b")
    model.learn_one({"colour": "blue"}, "c")
    answer = model.predict_proba_one({"x": 1.0, "colour": "green"})
    assert set(answer) == {"a", "b", "c"}
    assert math.fsum(answer.values()) == pytest.approx(1.0)
    assert set(model.weights["c"]["colour"]) == {"red", "blue"}


def test_the_first_label_may_be_one() -> None:
    # 1 takes code 1; the hyperplane of code 0 is made when its class is met.
    for first in (1, "a"):
        model = linear_model.SoftmaxRegression()
        for split in (False, True):
            model.learn_one({"x": 1.0}, first)
            if split:
                model = millstream.from_bytes(model.to_bytes())
            assert model.predict_proba_one({"x": 1.0}) == {first: 1.0}
            assert model.predict_one({"x": -9.0}) == first


def test_an_overflow_forgets_new_classes_features_and_values() -> None:
    model = linear_model.SoftmaxRegression()
    model.learn_one({"x": 1.0, "colour": "red"}, "a")
    before = model.to_bytes()
    with pytest.raises(NumericOverflow, match=r"linear_model\.SoftmaxRegression"):
        model.learn_one({"x": 1e308, "new": 1e308, "colour": "blue"}, "b", 1e300)
    assert model.to_bytes() == before
    assert model.classes == ["a"]


def test_logistic_regression_has_two_classes() -> None:
    model = linear_model.LogisticRegression()
    model.learn_one({"x": 1.0}, "a")
    assert model.predict_one({"x": 1.0}) == "a"
    model.learn_one({"x": 1.0}, "b")
    with pytest.raises(InvalidValue, match="learns 2 classes, got 'c' beside 'a', 'b'; use"):
        model.learn_one({"x": 1.0}, "c")


@pytest.mark.parametrize("averaging", [False, True])
@pytest.mark.parametrize("optimizer", [optim.SGD(0.1), optim.Nesterov(0.01)], ids=repr)
@pytest.mark.parametrize("name", ["LinearRegression", "LogisticRegression", "SoftmaxRegression"])
def test_step_is_predict_then_learn(name: str, optimizer: Any, averaging: bool) -> None:
    rng = np.random.default_rng(8)
    make = getattr(linear_model, name)
    one, two = make(optimizer, averaging=averaging), make(optimizer, averaging=averaging)
    for n in range(200):
        x: dict[str, Any] = {f"f{j}": rng.normal() for j in range(3 + n // 40)}
        if n % 3 == 0:
            x["colour"] = ["red", "blue"][n % 2]
        if n % 7 == 0:
            del x["f1"]
        y: Any = rng.normal() if name == "LinearRegression" else bool(x["f0"] > 0)
        proba = name != "LinearRegression"
        expected = two.predict_proba_one(x) if proba else two.predict_one(x)
        two.learn_one(x, y)
        assert one.step_one(x, y, proba=proba) == expected
        assert one.to_bytes() == two.to_bytes()


def test_poisson_predicts_means() -> None:
    rng = np.random.default_rng(6)
    X = rng.normal(size=(4000, 2)) * 0.5
    y = rng.poisson(np.exp(0.5 + X[:, 0] - 0.7 * X[:, 1])).astype(float)
    model = linear_model.LinearRegression(loss=losses.Poisson(), averaging=True)
    model.learn_many(X, y)
    assert [model.weights["0"], model.weights["1"], model.bias] == pytest.approx([1.0, -0.7, 0.5], abs=0.15)
    assert model.predict_one({0: 1e300, 1: 0.0}) == np.finfo(float).max
    with pytest.raises(InvalidValue, match=r"with losses\.Poisson the target must not be negative, got -1"):
        model.learn_one({0: 1.0}, -1.0)


@pytest.mark.parametrize("alpha", [0.1, 0.5, 0.9])
def test_quantiles_are_reached(alpha: float) -> None:
    rng = np.random.default_rng(9)
    X = rng.normal(size=(6000, 1))
    y = 2 * X[:, 0] + rng.exponential(size=6000)
    model = linear_model.LinearRegression(optim.SGD(0.05), losses.Quantile(alpha), intercept_learning_rate=0.05)
    below = y < model.step_many(X, y)
    assert below[1000:].mean() == pytest.approx(alpha, abs=0.02)


# Saved states from strangers


@pytest.mark.parametrize("name", ["LinearRegression", "SoftmaxRegression"])
def test_another_optimizers_state_is_refused(name: str) -> None:
    model = getattr(linear_model, name)(optim.SGD())
    model.learn_one({"x": 1.0}, 1)
    forged = redescribed(model.to_bytes(), getattr(linear_model, name)(optim.AdaGrad()).describe())
    with pytest.raises(InvalidState, match=f"linear_model.{name}: the saved state is not valid: optimiser memory"):
        millstream.from_bytes(forged)


def redescribed(data: bytes, description: Any) -> bytes:
    """A saved model with another description, and a checksum that agrees."""
    before, _, rest = data[20:-4].partition(b"\xabdescription")
    _, schema, after = rest.partition(b"\xa6schema")
    text = json.dumps(description).encode()
    body = before + b"\xabdescription\xda" + len(text).to_bytes(2, "big") + text + schema + after
    sealed = data[:12] + len(body).to_bytes(8, "little") + body
    return sealed + zlib.crc32(sealed).to_bytes(4, "little")


def ridge(X, y, l2, forgetting=1.0, w=None):
    """The weights of RLS by the normal equations: the constant term first."""
    X = np.column_stack([np.ones(len(X)), X])
    age = forgetting ** np.arange(len(X))[::-1] * (1.0 if w is None else w)
    prior = l2 * forgetting ** len(X) * np.eye(X.shape[1])
    return np.linalg.solve((X * age[:, None]).T @ X + prior, X.T @ (age * y))


@pytest.mark.parametrize("forgetting", [1.0, 0.98])
@pytest.mark.parametrize("weighted", [False, True])
def test_rls_is_ridge_regression_on_all_so_far(forgetting, weighted):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 6)) * [1, 10, 0.1, 1, 3, 1]
    y = X @ rng.normal(size=6) + rng.normal(size=300)
    w = rng.uniform(0.5, 2.0, size=300) if weighted else None
    model = linear_model.RLS(l2=0.5, forgetting=forgetting)
    for n in (1, 5, 300):
        model = linear_model.RLS(l2=0.5, forgetting=forgetting)
        model.learn_many(X[:n], y[:n], w=None if w is None else w[:n])
        expected = ridge(X[:n], y[:n], 0.5, forgetting, None if w is None else w[:n])
        found = [model.bias, *model.weights.values()]
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_rls_says_when_there_are_too_many_coordinates():
    model = linear_model.RLS()
    before = model.to_bytes()
    with pytest.raises(InvalidValue, match="up to 4096"):
        model.learn_one(dict.fromkeys(range(5000), 1.0), 1.0)
    assert model.to_bytes() == before


def test_rls_learns_text_without_an_encoder():
    model = linear_model.RLS(l2=1e-6)
    for x, y in [({"town": "a"}, 1.0), ({"town": "b"}, 5.0), ({"town": "a", "size": 2.0}, 3.0)]:
        model.learn_one(x, y)
    assert model.predict_one({"town": "b", "size": 1.0}) == pytest.approx(6.0, abs=1e-3)
