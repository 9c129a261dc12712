"""`optim.Adaptive` with a power, with penalties, and for several classes; the range of predictions; expectiles."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest

import millstream
from millstream import base, linear_model, losses, multiclass, optim, preprocessing, testing
from millstream.errors import InvalidValue, NumericOverflow

random = np.random.default_rng(5)
X = random.normal(size=(2000, 6))
Y = X @ [1.0, -2.0, 0.5, 0.0, 0.0, 0.0] + 0.3 * random.normal(size=2000)
CLASSES = np.argmax(X[:, :3] + 0.3 * random.gumbel(size=(2000, 3)), axis=1)


@pytest.mark.parametrize("power", [0.0, 0.3, 0.5, 0.8, 1.0])
def test_no_power_depends_on_units(power: float) -> None:
    units = np.array([1e-6, 1e6, 1.0, 1e3, 1e-3, 42.0])
    one, other = (linear_model.LinearRegression(optim.Adaptive(0.2, power)) for _ in range(2))
    predicted = one.step_many(X, Y)
    assert other.step_many(X * units, Y) == pytest.approx(predicted, rel=1e-6, abs=1e-9)


def test_steps_with_a_power_by_hand() -> None:
    """The formulas at the head of adaptive.rs, in Python."""
    p, rate = 0.75, 0.5
    model = linear_model.LinearRegression(optim.Adaptive(rate, p), intercept=False)
    w = a = m = squares = total = 0.0
    for x, y in zip(X[:50, 0].tolist(), Y[:50].tolist(), strict=True):
        z = w * x
        assert model.predict_one({"x": x}) == pytest.approx(z, rel=1e-12, abs=1e-15)
        slope = 2.0 * (z - y)
        if abs(x) > m:
            ratio = m / abs(x)
            w, a, m = w * ratio ** (2 - 2 * p), a * ratio**2, abs(x)
        q = x / m
        a += slope**2 * q * q
        squares, total = squares + q * q, total + 1.0
        common = (total / squares) ** (1 - p)
        reach = common * q * q / a**p
        moved = (z - y) * math.expm1(-2.0 * rate * reach)
        w += moved / reach * common * q / m / a**p
        model.learn_one({"x": x}, y)


def test_l1_gives_zeros_and_l2_shrinks() -> None:
    plain = linear_model.LinearRegression(optim.Adaptive())
    sparse = linear_model.LinearRegression(optim.Adaptive(), l1=0.5)
    small = linear_model.LinearRegression(optim.Adaptive(), l2=1.0)
    for model in (plain, sparse, small):
        model.learn_many(X, Y)
    # The minimum of E (z - y)² + l1 |w| + l2 w² / 2 for features of variance 1 that do not depend on each other: a
    # weight is nearer to 0 by l1 / 2, or divided by 1 + l2 / 2.
    for index, weight in enumerate([1.0, -2.0, 0.5, 0.0, 0.0, 0.0]):
        nearer = np.sign(weight) * max(0.0, abs(weight) - 0.25)
        assert sparse.weights[str(index)] == pytest.approx(nearer, abs=0.06)
        assert small.weights[str(index)] == pytest.approx(weight / 1.5, abs=0.06)
    assert 0.0 in sparse.weights.values()
    assert 0.0 not in plain.weights.values()


@pytest.mark.parametrize("penalty", [{"l1": 0.01}, {"l2": 0.01}, {"l1": 1e300, "l2": 1e300}])
def test_dense_and_sparse_rows_give_the_same(penalty: dict[str, Any]) -> None:
    dense, sparse = (linear_model.LogisticRegression(optim.Adaptive(), **penalty) for _ in range(2))
    rows = X[:200] * (random.random((200, 6)) < 0.5)
    for row, y in zip(rows.tolist(), (Y[:200] > 0).tolist(), strict=True):
        dense.learn_one({str(i): v for i, v in enumerate(row)}, y)
        sparse.learn_one({str(i): v for i, v in enumerate(row) if v}, y)
    for name in map(str, range(6)):
        assert dense.weights[name] == pytest.approx(sparse.weights[name], rel=1e-9, abs=1e-15)


def test_the_powers_that_are_refused() -> None:
    for power in (-0.1, 1.1, 2):
        with pytest.raises(InvalidValue, match=r"optim\.Adaptive: power must be in \[0, 1\], got"):
            optim.Adaptive(power=power)


# ---------------------------------------------------------------------------------------- several classes


def softmax(**changes: Any) -> linear_model.SoftmaxRegression:
    return linear_model.SoftmaxRegression(optimizer="adaptive", **changes)


def test_softmax_learns_without_a_scaler() -> None:
    units = np.array([1e-5, 1e5, 1.0, 1e3, 1e-3, 42.0])
    model, scaled = softmax(), softmax()
    right = model.step_many(X, CLASSES) == CLASSES
    assert np.mean(right[1000:]) > 0.8
    assert np.array_equal(scaled.step_many(X * units, CLASSES) == CLASSES, right)
    sgd = linear_model.SoftmaxRegression()
    assert np.mean(right[1000:]) >= np.mean((sgd.step_many(X, CLASSES) == CLASSES)[1000:]) - 0.01
    rest = multiclass.OneVsRest(linear_model.LogisticRegression("adaptive"))
    assert np.mean(right[1000:]) >= np.mean((rest.step_many(X, CLASSES) == CLASSES)[1000:]) - 0.01


def test_softmax_by_one_is_softmax_by_many_and_as_saved() -> None:
    one, many = softmax(l1=0.001, l2=0.001), softmax(l1=0.001, l2=0.001)
    names = list(map(str, range(6)))
    for row, y in zip(X[:300].tolist(), CLASSES[:300].tolist(), strict=True):
        one.learn_one(dict(zip(names, row, strict=True)), y)
    many.learn_many([dict(zip(names, row, strict=True)) for row in X[:300].tolist()], CLASSES[:300].tolist())
    assert one.to_bytes() == many.to_bytes()
    again = millstream.from_bytes(one.to_bytes())
    assert again.to_bytes() == one.to_bytes() == pickle.loads(pickle.dumps(one)).to_bytes()
    assert set(one.weights) == set(one.bias) == {0, 1, 2}
    assert all(len(weights) == 6 for weights in one.weights.values())


def test_the_laws_hold_for_softmax() -> None:
    testing.check_model(softmax())
    testing.check_model(softmax(l1=0.01, l2=0.01, intercept=False))


def test_a_refused_row_leaves_softmax_unchanged() -> None:
    model = softmax()
    model.learn_many(X[:50], CLASSES[:50])
    before = model.to_bytes()
    w = np.ones(20)
    w[13] = 1e308
    with pytest.raises(NumericOverflow, match=r"linear_model\.SoftmaxRegression"):
        model.learn_many(X[50:70], [*CLASSES[50:63].tolist(), 7, *CLASSES[64:70].tolist()], w)
    assert model.to_bytes() == before


# -------------------------------------------------------------------------------------- range, expectiles


class Line(base.Regressor):
    """A regressor in Python whose prediction is its feature."""

    def learn_one(self, x: Any, y: Any = None, w: float = 1.0) -> None:
        pass

    def predict_one(self, x: Any) -> float:
        return float(x["x"])


def test_predictions_within_the_range_seen_native_and_python() -> None:
    python: Any = preprocessing.PredClipper(Line(), seen_range=True)
    assert python.predict_one({"x": 9.0}) == 9.0
    python.learn_one({"x": 0.0}, 2.0)
    python.learn_one({"x": 0.0}, 5.0)
    python.learn_one({"x": 0.0}, 99.0, w=0.0)
    assert [python.predict_one({"x": x}) for x in (-1.0, 3.0, 9.0)] == [2.0, 3.0, 5.0]
    native: Any = preprocessing.PredClipper(
        linear_model.LinearRegression(optim.SGD(0.5)), y_max=1.5, seen_range=True
    )
    predicted = native.step_many(X, Y)
    low, high = np.minimum.accumulate(Y)[:-1], np.minimum(np.maximum.accumulate(Y)[:-1], 1.5)
    assert np.all(predicted[1:] >= np.minimum(low, high))
    assert np.all(predicted[1:] <= high)
    assert np.any(predicted[1:] == low) or np.any(predicted[1:] == high)
    again = millstream.from_bytes(native.to_bytes())
    assert np.array_equal(again.predict_many(X * 50), native.predict_many(X * 50))
    with pytest.raises(ValueError, match="merged"):
        native.merge(again)


@pytest.mark.parametrize("q", [0.1, 0.5, 0.9])
def test_an_expectile_balances_squared_errors(q: float) -> None:
    """At the q-expectile the weighted deviations above and below are equal (Newey and Powell, 1987, eq. 2.2)."""
    y = random.gamma(2.0, size=20_000)
    model = linear_model.LinearRegression(
        optim.SGD(0.1), losses.Expectile(q), intercept_learning_rate=optim.InverseScaling(3.0, 1.0)
    )
    model.learn_many(np.zeros((20_000, 1)), y)
    z = model.bias
    above, below = np.maximum(y - z, 0.0).mean(), np.maximum(z - y, 0.0).mean()
    assert q * above == pytest.approx((1.0 - q) * below, rel=0.05)


def test_what_expectiles_are_refused() -> None:
    for q in (0.0, 1.0, -0.5):
        with pytest.raises(InvalidValue, match=r"losses\.Expectile: q must be in \(0, 1\), got"):
            losses.Expectile(q)


@pytest.mark.parametrize(
    "kind", [linear_model.LinearRegression, linear_model.LogisticRegression, linear_model.SoftmaxRegression]
)
def test_penalties_of_the_optimizer_are_those_of_the_learner(kind: Any) -> None:
    targets = Y if kind is linear_model.LinearRegression else Y > 0
    if kind is linear_model.SoftmaxRegression:
        targets = CLASSES
    for penalties in ({"l1": 0.1}, {"l2": 0.1}, {"l1": 0.02, "l2": 0.3}):
        own, learners, both = (
            kind(optim.Adaptive(0.4, **penalties)),
            kind(optim.Adaptive(0.4), **penalties),
            kind(optim.Adaptive(0.4, l1=penalties.get("l1", 0.0)), l2=penalties.get("l2", 0.0)),
        )
        for model in (own, learners, both):
            model.learn_many(X[:300], targets[:300])
        assert own.weights == learners.weights == both.weights
        again = millstream.build(own.describe())
        again.learn_many(X[:300], targets[:300])
        assert again.weights == own.weights
    assert kind(optim.Adaptive(l1=0.1)).clone().describe() == kind(optim.Adaptive(l1=0.1)).describe()
    with pytest.raises(InvalidValue, match="l1 must be"):
        optim.Adaptive(l1=-1.0)
