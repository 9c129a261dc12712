"""One against the rest, native and with members written in Python, beside River."""

from __future__ import annotations

import io
import pickle
from typing import Any

import numpy as np
import pytest
import river.linear_model
import river.multiclass
import river.optim

import millstream
from millstream import baseline, linear_model, losses, multiclass, naive_bayes, optim, preprocessing
from millstream._native import Native
from millstream.base import Classifier
from millstream.errors import InvalidType, MillstreamError


class Mean(Classifier):
    """How near the mean of the positive examples is to the example, in Python."""

    def __init__(self, scale: float = 1.0) -> None:
        self.scale = scale
        self.sums = {True: [0.0, 0.0], False: [0.0, 0.0]}

    def learn_one(self, x: Any, y: Any = None, w: float = 1.0) -> None:
        self.sums[y][0] += w
        self.sums[y][1] += w * x["x"]

    def predict_proba_one(self, x: Any) -> dict[Any, float]:
        near = {y: np.exp(-self.scale * abs(x["x"] - total / n)) for y, (n, total) in self.sums.items() if n}
        total = sum(near.values())
        return {y: float(value / total) for y, value in near.items()}


class Sign(Classifier):
    """Without probabilities."""

    def learn_one(self, x: Any, y: Any = None, w: float = 1.0) -> None:
        if y:
            self.positive = x["x"] > 0

    def predict_one(self, x: Any) -> Any:
        return (x["x"] > 0) == self.positive


def stream(height: int = 300, seed: int = 5) -> tuple[Any, Any]:
    random = np.random.default_rng(seed)
    y = random.integers(4, size=height)
    X = random.normal(size=(4, 3))[y] * 2 + random.normal(size=(height, 3))
    return X, y


def test_probabilities_are_those_of_river() -> None:
    X, y = stream()
    ours = multiclass.OneVsRest(linear_model.LogisticRegression(optim.SGD(0.05)))
    theirs = river.multiclass.OneVsRestClassifier(
        river.linear_model.LogisticRegression(river.optim.SGD(0.05), intercept_lr=0.01)
    )
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        x = dict(zip("abc", row, strict=True))
        if theirs.classifiers:
            assert ours.predict_proba_one(x) == pytest.approx(theirs.predict_proba_one(x), rel=1e-9)
            assert ours.predict_one(x) == theirs.predict_one(x)
        ours.learn_one(x, label)
        theirs.learn_one(x, label)


def test_it_learns_and_its_probabilities_sum_to_one() -> None:
    X, y = stream(2000)
    model = multiclass.OneVsRest(preprocessing.StandardScaler() | linear_model.LogisticRegression())
    assert (model.step_many(X, y)[500:] == y[500:]).mean() > 0.7
    np.testing.assert_allclose(model.predict_proba_many(X).sum(axis=1), 1.0)


def test_holds_a_pipeline_and_is_held_by_one() -> None:
    X, y = stream()
    inside = multiclass.OneVsRest(preprocessing.StandardScaler() | naive_bayes.GaussianNB())
    outside = preprocessing.StandardScaler() | multiclass.OneVsRest(naive_bayes.GaussianNB())
    # The first member has seen every example, as the scaler outside has.
    inside.learn_many(X, y)
    outside.learn_many(X, y)
    assert isinstance(inside, Native)
    assert isinstance(outside, Native)
    assert (inside.predict_many(X) == y).mean() > 0.7
    assert (outside.predict_many(X) == y).mean() > 0.7
    again = millstream.from_bytes(outside.to_bytes())
    np.testing.assert_array_equal(again.predict_proba_many(X), outside.predict_proba_many(X))


def test_a_late_class_has_a_fresh_member() -> None:
    model = multiclass.OneVsRest(baseline.Prior())
    for y in ("a", "b", "a", "c"):
        model.learn_one({}, y)
    # Of what each member has seen, "a" was 2 of 4, "b" 1 of 3, "c" 1 of 1.
    total = 1 / 2 + 1 / 3 + 1
    assert model.predict_proba_one({}) == pytest.approx({"a": 0.5 / total, "b": 1 / 3 / total, "c": 1 / total})
    assert [member["classes"][-1]["count"] for member in model.inspect()["members"]] == [2.0, 1.0, 1.0]


def test_a_member_that_refuses_leaves_all_as_they_were() -> None:
    model = multiclass.OneVsRest(naive_bayes.GaussianNB())
    for y in [1] * 100 + [0]:
        model.learn_one({"x": 1e308}, y)
    before = model.to_bytes()
    with pytest.raises(OverflowError):
        model.learn_one({"x": -1e308}, 1)
    with pytest.raises(OverflowError):
        model.learn_one({"x": -1e308, "new": 1.0}, "a new class")
    assert model.to_bytes() == before
    assert model.classes == [0, 1]


def test_names_of_river_and_the_registry() -> None:
    assert multiclass.OneVsRestClassifier is multiclass.OneVsRest
    model = multiclass.OneVsRestClassifier(classifier=linear_model.LogisticRegression(l2=0.1))
    assert model.model.l2 == 0.1
    assert repr(model) == "OneVsRest(model=LogisticRegression(l2=0.1))"
    assert millstream.build(model.describe()).describe() == model.describe()
    assert isinstance(model, multiclass.OneVsRest)
    assert isinstance(model, Native)
    assert isinstance(model.clone(), Native)
    with pytest.raises(ValueError, match=r"multiclass\.OneVsRest: model must be a classifier"):
        multiclass.OneVsRest(preprocessing.StandardScaler())


def test_memory_counts_the_members() -> None:
    X, y = stream()
    model = multiclass.OneVsRest(naive_bayes.GaussianNB())
    small = model.memory
    model.learn_many(X, y)
    assert model.memory > small + 4 * 3 * 8


def test_a_member_in_python() -> None:
    model = multiclass.OneVsRest(Mean(scale=2.0))
    assert not isinstance(model, Native)
    assert model.predict_one({"x": 0.0}) is None
    assert model.predict_proba_one({"x": 0.0}) == {}
    examples = [({"x": x}, y) for x, y in [(0.0, "a"), (5.0, "b"), (9.0, "c"), (0.5, "a"), (5.5, "b"), (9.5, "c")]]
    model.learn_many([x for x, _ in examples], [y for _, y in examples])
    assert [model.predict_one({"x": x}) for x in (0.2, 5.1, 9.9)] == ["a", "b", "c"]
    assert sum(model.predict_proba_one({"x": 3.0}).values()) == pytest.approx(1.0)
    assert model.classes == ["a", "b", "c"]
    copy = pickle.loads(pickle.dumps(model))
    assert copy.predict_proba_one({"x": 3.0}) == model.predict_proba_one({"x": 3.0})
    assert model.clone().classes == []
    assert model.clone().model.scale == 2.0
    assert repr(model) == "OneVsRest(model=Mean(scale=2.0))"
    with pytest.raises(InvalidType):
        model.describe()


def test_a_python_member_without_probabilities_votes() -> None:
    model = multiclass.OneVsRest(Sign())
    model.learn_one({"x": -1.0}, "minus")
    model.learn_one({"x": 1.0}, "plus")
    assert model.predict_proba_one({"x": -2.0}) == {"minus": 1.0, "plus": 0.0}


def test_python_members_are_taught_no_label_that_is_missing_and_no_weight_of_zero() -> None:
    model = multiclass.OneVsRest(Sign())
    model.learn_one({"x": 1.0}, "plus")
    for y, w, words in (
        (None, 1.0, "the target must be a class label"),
        (float("nan"), 1.0, "the label is missing"),
        ("minus", -1.0, "the weight must be finite and not negative, got -1.0"),
    ):
        with pytest.raises(MillstreamError, match=f"^multiclass.OneVsRest: {words}"):
            model.learn_one({"x": -1.0}, y, w)
    model.learn_one({"x": -1.0}, "minus", 0.0)
    assert model.classes == ["plus"]


def test_python_and_native_agree() -> None:
    class Wrapped(Classifier):
        def __init__(self) -> None:
            self.inner = naive_bayes.GaussianNB()

        def learn_one(self, x: Any, y: Any = None, w: float = 1.0) -> None:
            self.inner.learn_one(x, y, w)

        def predict_proba_one(self, x: Any) -> Any:
            return self.inner.predict_proba_one(x)

    X, y = stream(120)
    native, python = multiclass.OneVsRest(naive_bayes.GaussianNB()), multiclass.OneVsRest(Wrapped())
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        x = dict(zip("abc", row, strict=True))
        assert native.predict_proba_one(x) == pytest.approx(python.predict_proba_one(x))
        native.learn_one(x, label, 2.0)
        python.learn_one(x, label, 2.0)


MEMBERS: list[Any] = [
    linear_model.LogisticRegression("adaptive"),
    linear_model.LogisticRegression("adaptive", intercept=False, clip_gradient=0.3),
    linear_model.LogisticRegression("adaptive", loss=losses.Hinge()),
    linear_model.LogisticRegression(optim.Adaptive(0.1), loss=losses.SquaredHinge()),
    linear_model.LogisticRegression(optim.Adaptive(0.5, power=0.6)),
]


@pytest.mark.parametrize("n_classes", [2, 3, 5, 9])
@pytest.mark.parametrize("member", MEMBERS)
def test_one_walk_for_all_classes_is_exact(member: Any, n_classes: int) -> None:
    """Batches learn all classes in one walk over a row; single rows one member after the other."""
    random = np.random.default_rng(n_classes)
    X = random.normal(size=(150, 6)) * 10.0 ** random.integers(-3, 3, size=6)
    X[random.random(X.shape) < 0.2] = 0.0
    y, w = random.integers(n_classes, size=150), random.integers(0, 3, size=150) * 0.7
    # A row that overflows is refused by both.
    X[140], w[140] = 1e308, 1e308
    for model in (multiclass.OneVsRest(member), preprocessing.StandardScaler() | multiclass.OneVsRest(member)):
        together, alone = model.clone(), model.clone()
        predicted = together.step_many(X[:140], y[:140], w[:140])
        one_by_one = [alone.step_many(X[i : i + 1], y[i : i + 1], w[i : i + 1])[0] for i in range(140)]
        assert predicted.tolist() == one_by_one
        assert pickle.dumps(together) == pickle.dumps(alone)
        together.learn_many(X[100:], y[100:], w[100:], on_error="skip")
        for i in range(100, 150):
            alone.learn_many(X[i : i + 1], y[i : i + 1], w[i : i + 1], on_error="skip")
        assert pickle.dumps(together) == pickle.dumps(alone)


def test_one_walk_over_sparse_rows_is_exact() -> None:
    random = np.random.default_rng(4)

    def line() -> str:
        features = " ".join(f"{k}:{random.normal():.3f}" for k in random.permutation(30)[:9])
        return f"{random.integers(1, 6)} |f {features}\n"

    lines = [line() for _ in range(400)]
    member = linear_model.LogisticRegression("adaptive", intercept=False)
    together, alone = multiclass.OneVsRest(member), multiclass.OneVsRest(member)
    (chunk,) = millstream.stream.read_vw(io.StringIO("".join(lines)), bits=14).chunks()
    predicted = together.step_many(chunk.X, chunk.y)
    one_by_one = [alone.step_many(chunk.X.cut(i, i + 1), chunk.y[i : i + 1])[0] for i in range(400)]
    assert predicted.tolist() == one_by_one
    assert pickle.dumps(together) == pickle.dumps(alone)
