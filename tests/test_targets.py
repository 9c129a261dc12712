"""Regressors whose targets are transformed or whose predictions are clipped: by hand, beside River, at borders."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest
import river.compose
import river.linear_model
import river.preprocessing

import millstream
from millstream import base, baseline, compose, forest, linear_model, optim, preprocessing
from millstream.errors import InvalidType, InvalidValue, MillstreamError, NumericOverflow


class Mean(base.Regressor):
    """A regressor in Python: the mean of its targets."""

    def __init__(self) -> None:
        self.sum = self.weight = 0.0

    def learn_one(self, x: Any, y: Any = None, w: float = 1.0) -> None:
        if "wrong" in x:
            raise ValueError("wrong")
        self.sum += w * y
        self.weight += w

    def predict_one(self, x: Any) -> float:
        return self.sum / self.weight if self.weight else 0.0


def stream(n: int = 300) -> tuple[Any, Any]:
    random = np.random.default_rng(3)
    X = random.normal(size=(n, 3))
    return X, np.exp(3.0 + 0.3 * (X @ [1.0, -2.0, 0.5]))


def wrapped(model: Any) -> dict[str, Any]:
    return {
        "standard": preprocessing.TargetStandardScaler(model),
        "min-max": preprocessing.TargetMinMaxScaler(model),
        "clipped": preprocessing.PredClipper(model, 10.0, 60.0),
        "log": compose.TargetTransformRegressor(model, "log"),
    }


WAYS = list(wrapped("baseline.TargetMean"))


@pytest.mark.parametrize("name", ["TargetStandardScaler", "TargetMinMaxScaler"])
def test_scaled_targets_agree_with_river(name: str) -> None:
    X, y = stream()
    ours = getattr(preprocessing, name)(linear_model.LinearRegression())
    theirs = getattr(river.preprocessing, name)(river.linear_model.LinearRegression())
    for row, (x, target) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
        features = dict(zip("abc", x, strict=True))
        assert ours.predict_one(features) == pytest.approx(theirs.predict_one(features), rel=1e-9), row
        ours.learn_one(features, target)
        theirs.learn_one(features, target)


def test_functions_agree_with_river_and_native_with_python() -> None:
    X, y = stream()
    native = compose.TargetTransformRegressor(linear_model.LinearRegression(), "log")
    python = compose.TargetTransformRegressor(
        regressor=linear_model.LinearRegression(), func=math.log, inverse_func=math.exp
    )
    theirs = river.compose.TargetTransformRegressor(river.linear_model.LinearRegression(), math.log, math.exp)
    for x, target in zip(X.tolist(), y.tolist(), strict=True):
        features = dict(zip("abc", x, strict=True))
        expected = theirs.predict_one(features)
        assert native.predict_one(features) == pytest.approx(expected, rel=1e-9)
        assert python.predict_one(features) == pytest.approx(expected, rel=1e-9)
        for model in (native, python, theirs):
            model.learn_one(features, target)


@pytest.mark.parametrize("way", WAYS)
def test_a_model_in_python_does_what_a_native_one_does(way: str) -> None:
    X, y = stream(60)
    native, python = wrapped(baseline.TargetMean())[way], wrapped(Mean())[way]
    for x, target, w in zip(X.tolist(), y.tolist(), [1.0, 2.0, 0.5] * 20, strict=True):
        features = dict(zip("abc", x, strict=True))
        assert python.predict_one(features) == pytest.approx(native.predict_one(features), rel=1e-9)
        native.learn_one(features, target, w)
        python.learn_one(features, target, w)
    assert type(python.model) is Mean
    assert isinstance(native.model, baseline.TargetMean)
    assert python.learned == native.learned == 60
    again = pickle.loads(pickle.dumps(python))
    assert again.predict_one({}) == python.predict_one({})
    assert python.clone().learned == 0
    before = python.predict_one({})
    with pytest.raises(ValueError, match="wrong"):
        python.learn_one({"wrong": 1.0}, 1e6)
    assert python.predict_one({}) == before


@pytest.mark.parametrize("way", WAYS)
def test_predictions_are_finite_before_and_after_the_first_target(way: str) -> None:
    for model in (linear_model.LinearRegression(), Mean()):
        one = wrapped(model)[way]
        assert math.isfinite(one.predict_one({"a": 1e300}))
        one.learn_one({"a": 1.0}, 42.0)
        assert math.isfinite(one.predict_one({"a": -1e300}))


def test_the_first_predictions_by_hand() -> None:
    standard = preprocessing.TargetStandardScaler("baseline.TargetMean")
    assert standard.predict_one({}) == 0.0
    standard.learn_one({}, 10.0)
    assert standard.predict_one({}) == 10.0
    # 10 was learned as 0; 20 is (20 - 15) / sqrt(50) = 0.707. The mean 0.354 stands for 15 + 0.354 · 7.07 = 17.5.
    standard.learn_one({}, 20.0)
    assert standard.predict_one({}) == pytest.approx(17.5)
    assert standard.inspect()["mean"] == 15.0


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("model", ["forest.ARFRegressor", "linear_model.RLS", "tree.HoeffdingTreeRegressor"])
def test_a_batch_is_its_rows_also_if_one_is_refused(way: str, model: str) -> None:
    X, y = stream(200)
    w = np.array([1.0, 0.0, 3.0, 1.0] * 50)
    y[120] = np.inf
    one, many = wrapped(model)[way], wrapped(model)[way]
    expected = []
    for x, target, weight in zip(X, y, w, strict=True):
        features = dict(enumerate(x.tolist()))
        expected.append(one.predict_one(features))
        if math.isfinite(target):
            one.learn_one(features, target, weight)
    got = many.step_many(X, y, w, on_error="skip")
    kept = np.isfinite(got)
    assert kept.sum() >= 199
    np.testing.assert_array_equal(got[kept], np.array(expected)[kept])
    assert one.to_bytes() == many.to_bytes()
    before = many.to_bytes()
    with pytest.raises(InvalidValue, match="row 120"):
        many.learn_many(X, y)
    assert many.to_bytes() == before


def test_a_target_without_a_value_of_the_function_is_refused_whole() -> None:
    for func, bad in (("log", 0.0), ("log1p", -1.0), ("sqrt", -1e-9)):
        model = compose.TargetTransformRegressor("linear_model.RLS", func)
        model.learn_many(*stream(20))
        before = model.to_bytes()
        with pytest.raises(
            InvalidValue, match=f"TargetTransformRegressor: the target must be .* for func='{func}'"
        ):
            model.learn_one({"a": 1.0}, bad)
        X, y = stream(40)
        y[7] = bad
        with pytest.raises(InvalidValue, match="row 7"):
            model.learn_many(X, y)
        assert model.to_bytes() == before
        assert model.learn_many(X, y, on_error="skip") == 1
    python = compose.TargetTransformRegressor(linear_model.RLS(), lambda y: float("nan"), float)
    with pytest.raises(InvalidValue, match="func must return a finite number for the target"):
        python.learn_one({"a": 1.0}, 2.0)


def test_intervals_are_transformed_too() -> None:
    X, y = stream()
    alone = linear_model.BayesianLinearRegression()
    alone.learn_many(X, np.log(y))
    model = compose.TargetTransformRegressor(linear_model.BayesianLinearRegression(), "log")
    model.learn_many(X, y)
    np.testing.assert_allclose(
        model.predict_interval_many(X[:9]), np.exp(alone.predict_interval_many(X[:9])), 1e-9
    )
    clipped = preprocessing.PredClipper(linear_model.BayesianLinearRegression(), y_min=0.0)
    clipped.learn_many(X, y - 30.0)
    assert clipped.predict_interval_many(X).min() == 0.0
    assert not hasattr(preprocessing.PredClipper(linear_model.LinearRegression()), "predict_interval_one")


def test_clipped_models_are_merged_and_scaled_ones_are_not() -> None:
    X, y = stream(40)
    whole, half, rest = (preprocessing.PredClipper("linear_model.LeastSquares", 0.0) for _ in range(3))
    whole.learn_many(X, y)
    half.learn_many(X[:20], y[:20])
    rest.learn_many(X[20:], y[20:])
    half.merge(rest)
    np.testing.assert_allclose(half.predict_many(X), whole.predict_many(X), 1e-9)
    scaled = preprocessing.TargetStandardScaler("linear_model.LeastSquares")
    with pytest.raises(InvalidValue, match="cannot be merged: the model learned scaled targets"):
        scaled.merge(scaled.clone())


def test_a_scaled_target_helps_a_model_of_gradients() -> None:
    X, y = stream(2000)
    y *= 1e4
    # The steps of Adam do not depend on the size of the target, so that 1e5 is far away.
    model = linear_model.LinearRegression(optim.Adam(0.01))
    models = (model, preprocessing.TargetStandardScaler(model))
    errors = [np.abs(model.step_many(X, y) - y)[200:].mean() for model in models]
    assert errors[1] < 0.8 * errors[0]


def test_threads_of_a_forest_are_used_inside() -> None:
    model = preprocessing.TargetStandardScaler(forest.ARFRegressor(n_models=3, n_threads=2))
    other = preprocessing.TargetStandardScaler(forest.ARFRegressor(n_models=3, n_threads=1))
    X, y = stream(300)
    np.testing.assert_array_equal(model.step_many(X, y), other.step_many(X, y))


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (
            lambda: preprocessing.PredClipper("baseline.TargetMean", 2.0, 1.0),
            InvalidValue,
            "at least y_min = 2, got 1",
        ),
        (lambda: preprocessing.PredClipper(Mean(), 2.0, 1.0), InvalidValue, "at least y_min = 2, got 1"),
        (lambda: preprocessing.TargetStandardScaler(preprocessing.StandardScaler()), Exception, "regressor"),
        (lambda: preprocessing.TargetStandardScaler("naive_bayes.GaussianNB"), Exception, "regressor"),
        (lambda: preprocessing.TargetMinMaxScaler(Mean), InvalidType, "must be a regressor"),
        (lambda: compose.TargetTransformRegressor(Mean(), "cube"), InvalidValue, "must be one of identity, log"),
        (
            lambda: compose.TargetTransformRegressor("linear_model.RLS", "log", "square"),
            InvalidValue,
            "must be 'exp'",
        ),
        (
            lambda: compose.TargetTransformRegressor(Mean(), math.log),
            InvalidType,
            "inverse_func must be a function",
        ),
    ],
)
def test_bad_arguments_are_refused_in_a_line(make: Any, kind: Any, message: str) -> None:
    with pytest.raises(kind, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_no_bound_is_none_or_infinite() -> None:
    model = preprocessing.PredClipper(linear_model.LinearRegression(), -math.inf, math.inf)
    assert (model.y_min, model.y_max) == (None, None)
    assert millstream.build(model.describe()).describe() == model.describe()


def test_a_target_that_would_overflow_leaves_the_state_as_it_was() -> None:
    model = preprocessing.TargetStandardScaler("linear_model.LinearRegression")
    model.learn_many(*stream(20))
    before = model.to_bytes()
    with pytest.raises(NumericOverflow):
        model.learn_one({"a": 1.0}, 1e200)
    assert model.to_bytes() == before


@pytest.mark.parametrize(
    ("func", "inverse", "message"),
    [
        (lambda y: "a", float, r"func must return a number for 2.0, got str 'a'$"),
        (lambda y: None, float, r"func must return a number for 2.0, got None"),
        (lambda y: complex(y, 1.0), float, r"func must return a number for 2.0, got complex"),
        (lambda y: 10**400, float, r"func must return a finite number for the target 2.0, got inf$"),
        (lambda y: math.log(-y), float, r"func must return a number for 2.0, got ValueError: "),
        (lambda y: 1 / 0, float, r"func must return a number for 2.0, got ZeroDivisionError: "),
        (lambda: 5.0, float, r"func must return a number for 2.0, got TypeError: "),
        (float, lambda z: "q", r"inverse_func must return a number for .*, got str 'q'$"),
        (float, lambda z: 1 / 0, r"inverse_func must return a number for .*, got ZeroDivisionError: "),
    ],
)
def test_functions_that_give_no_number_are_refused_in_a_line(func: Any, inverse: Any, message: str) -> None:
    model = compose.TargetTransformRegressor(linear_model.LinearRegression(), func, inverse)
    refused = lambda: model.learn_one({"a": 1.0}, 2.0)  # noqa: E731
    if func is float:
        refused()
        refused = lambda: model.predict_one({"a": 1.0})  # noqa: E731
    with pytest.raises(MillstreamError, match=rf"^compose.TargetTransformRegressor: {message}") as caught:
        refused()
    assert "\n" not in str(caught.value)
    assert model.learned == (1 if func is float else 0)
