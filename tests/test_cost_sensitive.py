"""Cost-sensitive classification: by hand, with partial costs, features of classes, any member, and bad input."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import pytest

from millstream import (
    base,
    baseline,
    cost_sensitive,
    forest,
    kernel,
    linear_model,
    losses,
    multiclass,
    preprocessing,
    tree,
)
from millstream.cost_sensitive.pairwise import integrated
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
    assert integrated({"c": 9.0, "a": 0.0, "b": 2.0, "d": 6.0}) == {"a": 0, "b": 2, "d": 4, "c": 5}
    assert integrated({"a": 5.0, "b": 5.0}) == {"a": 0.0, "b": 0.0}


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


@pytest.mark.parametrize("member", [linear_model.LinearRegression("adaptive"), baseline.TargetMean(), Mean()])
def test_many_equal_one_by_one(member: Any) -> None:
    costs = COSTS[:200].copy()
    costs[::3, 1] = np.nan
    costs[:50, 3] = np.nan
    one, many, stepped = (cost_sensitive.CostRegression(member) for _ in range(3))
    rows = [dict(enumerate(row)) for row in X[:200].tolist()]
    weights = np.where(np.arange(200) % 7 == 0, 0.0, 1.0 + np.arange(200) % 2)
    expected = []
    for x, row, w in zip(rows, costs, weights.tolist(), strict=True):
        expected.append(one.predict_one(x))
        one.learn_one(x, {place: cost for place, cost in enumerate(row.tolist()) if cost == cost}, w)
    many.learn_many(X[:120], costs[:120], weights[:120])
    many.learn_many(X[120:200], costs[120:], weights[120:])
    found = [
        stepped.step_many(X[at : at + 40], costs[at : at + 40], weights[at : at + 40]) for at in range(0, 200, 40)
    ]
    assert [label for part in found for label in list(part)] == expected
    for x in rows:
        assert one.predict_costs_one(x) == many.predict_costs_one(x) == stepped.predict_costs_one(x)
    assert list(many.predict_many(X[:200])) == [one.predict_one(x) for x in rows]


def test_many_take_dicts_and_frames_and_change_nothing_after_an_error() -> None:
    import pandas

    models = [cost_sensitive.CostRegression(baseline.TargetMean()) for _ in range(3)]
    models[0].learn_many(ROWS[:20], [costs_of(row) for row in range(20)])
    models[1].learn_many(pandas.DataFrame(ROWS[:20]), pandas.DataFrame(COSTS[:20], columns=list("pqrs")))
    models[2].learn_many(X[:20], COSTS[:20], classes="pqrs")
    assert models[0].predict_costs_one({}) == models[1].predict_costs_one({}) == models[2].predict_costs_one({})
    model = cost_sensitive.CostRegression(Mean())
    model.learn_many(ROWS[:3], COSTS[:3])
    before = pickle.dumps(model)
    bad = COSTS[:3].copy()
    bad[2, 1] = 13.0
    with pytest.raises(ValueError, match="unlucky"):
        model.learn_many(ROWS[:3], bad)
    for costs, message in [
        (np.full((3, 4), np.inf), "a cost must be finite, or NaN"),
        ([1.0, 2.0], "costs must have a column for each class, got 1 dimensions"),
        ("abc", "costs must be numbers"),
    ]:
        with pytest.raises(MillstreamError, match=message):
            model.learn_many(ROWS[:3], costs)
    for rows in (ROWS[:4], X[:4], X[:2]):
        with pytest.raises(InvalidValue, match=f"X has {len(rows)} rows and costs has 3"):
            model.learn_many(rows, COSTS[:3])
    with pytest.raises(InvalidValue, match="costs has 4 columns and there are 3 classes"):
        model.learn_many(ROWS[:3], COSTS[:3], classes="abc")
    assert pickle.dumps(model) == before


@pytest.mark.parametrize(
    "member",
    [
        linear_model.LinearRegression("adaptive"),
        linear_model.LinearRegression("adaptive", loss=losses.Absolute(), intercept=False),
        linear_model.LinearRegression("adaptive", loss=losses.Expectile(0.8), l2=0.1),
        linear_model.LinearRegression("adaptive", loss=losses.Poisson()),
        linear_model.LinearRegression(),
        preprocessing.StandardScaler() | linear_model.LinearRegression(),
    ],
    ids=["squared", "absolute", "penalty", "poisson", "sgd", "pipeline"],
)
@pytest.mark.parametrize("unknown", [0.0, 0.3])
def test_linear_members_learn_together_exactly(member: Any, unknown: float) -> None:
    draw = np.random.default_rng(5)
    table = np.where(draw.random(COSTS.shape) < unknown, np.nan, COSTS)
    # One class is met late.
    table[:50, 2] = np.nan
    weights = draw.integers(0, 3, size=len(table)).astype(float)
    together = cost_sensitive.CostRegression(member)
    alone = cost_sensitive.CostRegression(member)
    n = 400
    predicted = together.step_many(X[:n], table[:n], weights[:n])
    one_by_one = [alone.step_many(X[i : i + 1], table[i : i + 1], weights[i : i + 1])[0] for i in range(n)]
    assert predicted.tolist() == one_by_one
    again = cost_sensitive.CostRegression(member)
    again.learn_many(X[:n], table[:n], weights[:n])
    for other in (alone, again):
        assert list(other.members) == list(together.members)
        for label, learner in together.members.items():
            assert pickle.dumps(other.members[label]) == pickle.dumps(learner)
            assert other.members[label].learned == learner.learned


def test_a_row_that_is_refused_leaves_all_members() -> None:
    model = cost_sensitive.CostRegression(linear_model.LinearRegression("adaptive"))
    model.learn_many(X[:100], COSTS[:100])
    before = pickle.dumps(model)
    weights, bad, rows = np.ones(300), COSTS[:300].copy(), X[:300].copy()
    weights[250], bad[250, 3] = 1e308, 1e308
    with pytest.raises(MillstreamError):
        model.learn_many(rows, bad, weights)
    assert pickle.dumps(model) == before
    rows[250] = np.inf
    with pytest.raises(MillstreamError):
        model.step_many(rows, COSTS[:300])
    assert pickle.dumps(model) == before


def test_rows_without_any_cost() -> None:
    model = cost_sensitive.CostRegression(linear_model.LinearRegression("adaptive"))
    assert model.step_many(X[:30], np.full((30, 2), np.nan)).tolist() == [None] * 30
    model.learn_many(X[:30], np.full((30, 2), np.nan))
    assert model.classes == []
    # Classes that these rows do not have are predicted and not learned.
    model.learn_many(X[:60], COSTS[:60, :2])
    before = [member.to_bytes() for member in model.members.values()]
    assert set(model.step_many(X[:60], np.full((60, 1), np.nan), classes=["other"]).tolist()) <= {0, 1}
    assert [member.to_bytes() for member in model.members.values()] == before


def test_sparse_rows_are_learned_and_other_types_of_costs_refused() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    random = np.random.default_rng(0)
    X, costs = random.random((20, 4)), random.random((20, 3))
    model = cost_sensitive.CostRegression(linear_model.LinearRegression())
    model.learn_many(X, costs)
    other = model.clone()
    other.learn_many(sparse.csr_matrix(X), costs)
    assert [m.weights for m in other.members.values()] == [m.weights for m in model.members.values()]
    before = [member.to_bytes() for member in model.members.values()]
    for classes, words in ((5, "classes must be a list of labels"), ([[1], 2, 3], "a class must be")):
        with pytest.raises(InvalidType, match=words):
            model.learn_many(X, costs, classes=classes)
    with pytest.raises(InvalidValue, match="the cost of 0 must fit in a float"):
        model.learn_one({0: 1.0}, {0: 10**400})
    with pytest.raises(InvalidValue, match="X has 20 rows and costs has 19"):
        model.learn_many(sparse.csr_matrix(X), costs[:19])
    assert [member.to_bytes() for member in model.members.values()] == before


def test_rows_of_pairwise_costs_are_those_one_by_one() -> None:
    random = np.random.default_rng(8)
    X, costs = random.normal(size=(60, 3)), random.random((60, 3))
    costs[5, 1], costs[7] = np.nan, np.nan
    one = cost_sensitive.PairwiseCosts(linear_model.LogisticRegression("adaptive"))
    many, stepped = one.clone(), one.clone()
    answers = []
    for x, row in zip(X.tolist(), costs.tolist(), strict=True):
        answers.append(one.predict_one(dict(enumerate(x))))
        known = {place: cost for place, cost in enumerate(row) if cost == cost}
        if known:
            one.learn_one(dict(enumerate(x)), known)
    many.learn_many(X, costs)
    assert list(stepped.step_many(X, costs)) == answers
    for model in (many, stepped):
        assert list(model.predict_many(X)) == [one.predict_one(dict(enumerate(x))) for x in X.tolist()]
    before = pickle.dumps(many)
    for rows, table in ((X[:3], costs[:2]), ([{0: 1.0}, {0: math.inf}], costs[:2])):
        with pytest.raises(InvalidValue):
            many.learn_many(rows, table)
        assert pickle.dumps(many) == before
    by_class = cost_sensitive.PairwiseCosts(linear_model.LogisticRegression(), by_class=True)
    rows = [{"a": {"k": 1.0}, "b": {"k": 0.0}}] * 20
    by_class.learn_many(rows, [{"a": 1.0, "b": 0.0}] * 20)
    assert list(by_class.predict_many(rows[:2])) == ["b", "b"]


@pytest.mark.parametrize("kind", [cost_sensitive.CostRegression, cost_sensitive.PairwiseCosts])
def test_a_verb_that_they_do_not_have_is_an_error_at_once(kind: Any) -> None:
    member = (
        linear_model.LinearRegression()
        if kind is cost_sensitive.CostRegression
        else linear_model.LogisticRegression()
    )
    for verb in ("transform_one", "score_one", "predict_proba_one"):
        with pytest.raises(AttributeError, match=f"has no attribute '{verb}'"):
            getattr(kind(member), verb)


def test_class_weights_have_a_second_name() -> None:
    assert cost_sensitive.ClassWeights is multiclass.ClassWeights
