"""Cost-sensitive classification: by hand, with partial costs, features of classes, any member, and bad input."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from millstream import base, baseline, cost_sensitive, forest, kernel, linear_model, preprocessing, tree
from millstream.errors import InvalidType, InvalidValue, MillstreamError

random = np.random.default_rng(102)
W = random.normal(size=(4, 5))
X = random.normal(size=(3000, 5))
SCORES = X @ W.T
COSTS = np.maximum(0.0, (SCORES.max(1, keepdims=True) - SCORES) / 5 + 0.1 * random.normal(size=SCORES.shape))
ROWS = [dict(zip("abcde", row, strict=True)) for row in X.tolist()]
BOTH: list[Any] = [
    cost_sensitive.CostRegression(linear_model.LinearRegression("adaptive")),
    cost_sensitive.PairwiseCosts(linear_model.LogisticRegression("adaptive")),
]


class Mean(base.Regressor):
    """A regressor in Python that refuses a cost of 13."""

    def __init__(self) -> None:
        self.sum = self.weight = 0.0

    def learn_one(self, x: Any, y: Any = None, w: float = 1.0) -> None:
        if y == 13:
            raise ValueError("unlucky")
        self.sum, self.weight = self.sum + w * y, self.weight + w

    def predict_one(self, x: Any) -> float:
        return self.sum / self.weight if self.weight else 0.0


def costs_of(row: int) -> dict[str, float]:
    return dict(zip("pqrs", COSTS[row].tolist(), strict=True))


def test_cost_regression_by_hand() -> None:
    model = cost_sensitive.CostRegression(baseline.TargetMean())
    assert model.predict_one({}) is None
    model.learn_one({}, {"a": 1.0, "b": 2.0})
    model.learn_one({}, {"a": 4.0, "c": 2.0}, w=2.0)
    # a: (1 + 2 · 4) / 3; b and c were learned once each.
    assert model.predict_costs_one({}) == pytest.approx({"a": 3.0, "b": 2.0, "c": 2.0})
    assert model.predict_one({}) == "b"
    assert model.predict_one({}, classes=["a", "c"]) == "c"
    assert model.classes == ["a", "b", "c"]


def test_the_integrated_costs_by_hand() -> None:
    # From 0 to 2 one class is that cheap, from 2 to 6 two are, from 6 to 9 three.
    assert cost_sensitive.integrated({"c": 9.0, "a": 0.0, "b": 2.0, "d": 6.0}) == {"a": 0, "b": 2, "d": 4, "c": 5}
    assert cost_sensitive.integrated({"a": 5.0, "b": 5.0}) == {"a": 0.0, "b": 0.0}


def test_pairwise_costs_by_hand() -> None:
    model = cost_sensitive.PairwiseCosts(baseline.Prior())
    model.learn_one({}, {"a": 0.0, "b": 2.0, "c": 6.0})
    # v = 0, 2, 4: each first class of a pair is the cheaper one.
    assert {pair: member.predict_one({}) for pair, member in model.members.items()} == {
        ("a", "b"): True,
        ("a", "c"): True,
        ("b", "c"): True,
    }
    assert model.predict_wins_one({}) == {"a": 2.0, "b": 1.0, "c": 0.0}
    # For the pair a, b: True with weight 2 before, now False with weight 6; the cost of c is unknown.
    model.learn_one({}, {"a": 6.0, "b": 0.0})
    assert model.members[("a", "b")].predict_proba_one({}) == pytest.approx({True: 0.25, False: 0.75})
    assert model.predict_wins_one({}) == pytest.approx({"a": 1.25, "b": 1.75, "c": 0.0})
    assert model.predict_one({}) == "b"
    assert model.predict_one({}, classes=["a", "c"]) == "a"


@pytest.mark.parametrize("model", BOTH, ids=["regression", "pairwise"])
def test_the_chosen_class_is_nearly_the_cheapest(model: Any) -> None:
    model = model.clone()
    paid = []
    for row, x in enumerate(ROWS):
        costs = costs_of(row)
        chosen = model.predict_one(x)
        if row >= 1000:
            paid.append(costs[chosen])
        model.learn_one(x, costs)
    least, mean = COSTS[1000:].min(1).mean(), COSTS[1000:].mean()
    assert np.mean(paid) < least + 0.15 * (mean - least)


@pytest.mark.parametrize("model", BOTH, ids=["regression", "pairwise"])
def test_partial_costs_are_unknown_not_zero(model: Any) -> None:
    model = model.clone()
    for row, x in enumerate(ROWS):
        known = random.choice(4, size=2, replace=False)
        model.learn_one(x, {"pqrs"[k]: COSTS[row, k] for k in known})
    paid = [costs_of(row)[model.predict_one(x)] for row, x in enumerate(ROWS)]
    assert np.mean(paid) < COSTS.min(1).mean() + 0.25 * (COSTS.mean() - COSTS.min(1).mean())


@pytest.mark.parametrize("model", BOTH, ids=["regression", "pairwise"])
def test_features_of_classes(model: Any) -> None:
    """Classes that differ from example to example, as documents to rank do."""
    model = type(model)(model.model, by_class=True)
    paid, uniform = [], []
    for step in range(1500):
        labels = [f"d{step}-{k}" for k in range(4)]
        x = {label: dict(zip("uv", random.normal(size=2).tolist(), strict=True)) for label in labels}
        costs = {label: 1.0 + 2.0 * f["u"] - f["v"] for label, f in x.items()}
        if step >= 500:
            paid.append(costs[model.predict_one(x)] - min(costs.values()))
            uniform.append(np.mean(list(costs.values())) - min(costs.values()))
        model.learn_one(x, costs)
    assert np.mean(paid) < 0.05 * np.mean(uniform)
    assert model.classes == []


@pytest.mark.parametrize(
    "member",
    [
        preprocessing.StandardScaler() | linear_model.LinearRegression(),
        tree.HoeffdingTreeRegressor(),
        forest.ARFRegressor(n_models=3, seed=1),
        kernel.KernelRLS(),
        Mean(),
    ],
    ids=lambda member: type(member).__name__,
)
def test_any_regressor_may_be_a_member(member: Any) -> None:
    model = cost_sensitive.CostRegression(member)
    for row, x in enumerate(ROWS[:200]):
        model.learn_one(x, costs_of(row))
    predicted = model.predict_costs_one(ROWS[0])
    assert list(predicted) == ["p", "q", "r", "s"]
    again, copied = pickle.loads(pickle.dumps(model)), copy.deepcopy(model)
    for other in (again, copied):
        assert other.predict_costs_one(ROWS[0]) == predicted
        other.learn_one(ROWS[1], {"p": 1e3})
    assert model.predict_costs_one(ROWS[0]) == predicted


@pytest.mark.parametrize("model", BOTH, ids=["regression", "pairwise"])
@pytest.mark.parametrize(
    ("costs", "w", "words"),
    [
        ({}, 1.0, "costs must be a dict of numbers by class"),
        ([1.0, 2.0], 1.0, "costs must be a dict of numbers by class"),
        ({"p": float("nan"), "q": 1.0}, 1.0, "the cost of 'p' must be finite, got nan"),
        ({"p": 0.0, "q": float("inf")}, 1.0, "the cost of 'q' must be finite, got inf"),
        ({"p": "cheap", "q": 0.0}, 1.0, "the cost of 'p' must be a number"),
        ({"p": 0.0, "q": 1.0}, -1.0, "the weight must be finite and not negative, got -1.0"),
        ({"p": 0.0, "q": 1.0}, "heavy", "the weight must be a number"),
    ],
)
def test_bad_costs_are_refused(model: Any, costs: Any, w: Any, words: str) -> None:
    model = model.clone()
    for row in range(20):
        model.learn_one(ROWS[row], costs_of(row))
    before = [member.to_bytes() for member in model.members.values()]
    with pytest.raises((InvalidType, InvalidValue), match=f"^cost_sensitive\\.[A-Za-z]+: {words}"):
        model.learn_one(ROWS[0], costs, w)
    assert [member.to_bytes() for member in model.members.values()] == before


def test_a_member_that_refuses_leaves_all_unchanged() -> None:
    model = cost_sensitive.CostRegression(Mean())
    model.learn_one({}, {"a": 1.0, "b": 2.0})
    with pytest.raises(ValueError, match="unlucky"):
        model.learn_one({}, {"a": 7.0, "b": 13, "new": 1.0})
    assert model.predict_costs_one({}) == {"a": 1.0, "b": 2.0}
    native = cost_sensitive.CostRegression(linear_model.LinearRegression("adaptive"))
    for row in range(100):
        native.learn_one(ROWS[row], costs_of(row))
    before = [member.to_bytes() for member in native.members.values()]
    with pytest.raises(MillstreamError):
        native.learn_one(ROWS[0], {"p": 1.0, "q": 1e308}, w=1e300)
    assert [member.to_bytes() for member in native.members.values()] == before


def test_features_of_classes_that_are_refused() -> None:
    for model in BOTH:
        shared = type(model)(model.model, by_class=True)
        with pytest.raises(InvalidType, match="x must have a dict of features for class 'b'"):
            shared.learn_one({"a": {"u": 1.0}}, {"a": 0.0, "b": 1.0})
    pairs = cost_sensitive.PairwiseCosts(baseline.Prior(), by_class=True)
    with pytest.raises(InvalidType, match="features of classes must be numbers"):
        pairs.learn_one({"a": {"u": "red"}, "b": {"u": 1.0}}, {"a": 0.0, "b": 1.0})


def test_members_of_another_role_are_refused() -> None:
    with pytest.raises(InvalidType, match=r"CostRegression: model must be a regressor, got"):
        cost_sensitive.CostRegression(linear_model.LogisticRegression())
    with pytest.raises(InvalidType, match=r"PairwiseCosts: model must be a classifier, got"):
        cost_sensitive.PairwiseCosts(linear_model.LinearRegression())
    with pytest.raises(InvalidType, match="model must be a regressor"):
        cost_sensitive.CostRegression(linear_model.LinearRegression)
