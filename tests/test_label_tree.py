"""`multiclass.LabelTree`: by hand, beside one-vs-rest, atomic, and logarithmic."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import pytest

from millstream import base, linear_model, multiclass, naive_bayes, preprocessing, testing, tree
from millstream.errors import InvalidType, InvalidValue


class Share(base.Classifier):
    """The share of True so far; refuses an example with "bad"."""

    def __init__(self) -> None:
        self.learned, self.true = 0.0, 0.0

    def learn_one(self, x: Any, y: Any = None, w: float = 1.0) -> None:
        if "bad" in x:
            raise ValueError("unlucky")
        self.learned, self.true = self.learned + w, self.true + w * bool(y)

    def predict_proba_one(self, x: Any) -> dict[Any, float]:
        if not self.learned:
            return {}
        return {True: self.true / self.learned, False: 1.0 - self.true / self.learned}


def topics(n: int, classes: int, seed: int = 0) -> list[tuple[dict[str, float], int]]:
    """Texts of five words of their topic and five others."""
    random = np.random.default_rng(seed)
    own = [random.choice(2000, 12, replace=False) for _ in range(classes)]
    rows = []
    for _ in range(n):
        topic = int(random.integers(classes))
        words = [*random.choice(own[topic], 5), *random.integers(0, 2000, 5)]
        rows.append(({f"w{word}": 1.0 for word in words}, topic))
    return rows


def accuracy(model: Any, rows: list[tuple[Any, Any]]) -> float:
    """Of the last third."""
    start, right = len(rows) * 2 // 3, 0
    for place, (x, y) in enumerate(rows):
        if place >= start:
            right += model.predict_one(x) == y
        model.learn_one(x, y)
    return right / (len(rows) - start)


def test_a_tree_by_hand() -> None:
    model = multiclass.LabelTree(Share(), n_candidates=0)
    assert model.predict_proba_one({}) == {}
    assert model.predict_one({}) is None
    model.learn_one({}, "a")
    assert model.predict_proba_one({}) == {"a": 1.0}
    # The root tells a from b: it learns b once, then a three times.
    model.learn_one({}, "b")
    model.learn_one({}, "a", w=3.0)
    assert model.predict_proba_one({}) == pytest.approx({"a": 0.75, "b": 0.25})
    # Both sides have one class, so that the root's prediction decides: c goes to a's side.
    model.learn_one({}, "c")
    assert model.predict_proba_one({}) == pytest.approx({"a": 0.0, "b": 0.2, "c": 0.8})
    assert (model.classes, model.depth) == (["a", "b", "c"], 2)
    model.learn_one({}, "a")
    # The root learned the right side once in six, and the node of a and c each once.
    assert model.predict_proba_one({}) == pytest.approx({"a": 5 / 12, "b": 1 / 6, "c": 5 / 12})


def test_candidates_by_hand() -> None:
    model = multiclass.LabelTree(Share(), n_candidates=2)
    for label in "abab":
        model.learn_one({}, label)
    # a was no rival in its own first example; afterwards both classes are candidates of every example.
    assert {label: (member.true, member.learned) for label, member in model.members.items()} == {
        "a": (2.0, 4.0),
        "b": (2.0, 3.0),
    }
    votes = {"a": 1 / 2, "b": 2 / 3}
    assert model.predict_proba_one({}) == pytest.approx({k: v / sum(votes.values()) for k, v in votes.items()})
    assert model.predict_one({}) == "b"


def test_it_is_nearly_as_accurate_as_one_vs_rest_with_a_fraction_of_the_work() -> None:
    rows = topics(2400, 120)
    member = linear_model.LogisticRegression("adaptive")
    model = multiclass.LabelTree(member)
    reached = accuracy(model, rows)
    assert reached > accuracy(multiclass.OneVsRest(member), rows) - 0.06
    assert reached > 0.8
    x, y = rows[-1]
    assert len(model._lessons(x, y, 1.0)) <= model.depth + 9
    assert model.depth <= 3.5 * math.log2(120)


@pytest.mark.parametrize("balance", [0.0, 0.2, 1.0])
def test_the_depth_is_logarithmic(balance: float) -> None:
    model = multiclass.LabelTree(Share(), 0, balance)
    for label in range(500):
        model.learn_one({}, label)
    assert model.depth <= 1 + math.log(500) / math.log(4 / 3)
    assert len(model.classes) == 500
    if balance == 1.0:
        assert model.depth == 9


@pytest.mark.parametrize(
    "member",
    [
        preprocessing.StandardScaler() | linear_model.LogisticRegression(),
        naive_bayes.GaussianNB(),
        tree.HoeffdingTreeClassifier(grace_period=20),
        Share(),
    ],
    ids=lambda member: type(member).__name__,
)
def test_probabilities_sum_to_one_and_agree_with_the_prediction(member: Any) -> None:
    model = multiclass.LabelTree(member, n_candidates=3)
    random = np.random.default_rng(2)
    for _ in range(300):
        label = int(random.integers(12))
        x = {"a": label % 4 + float(random.normal(scale=0.3)), "b": label // 4 + float(random.normal(scale=0.3))}
        said = model.predict_proba_one(x)
        if said:
            assert math.fsum(said.values()) == pytest.approx(1.0, abs=1e-12)
            assert min(said.values()) >= 0.0
            assert said[model.predict_one(x)] == max(said.values())
        model.learn_one(x, label)


@pytest.mark.parametrize("candidates", [0, 4])
def test_a_refused_example_changes_nothing(candidates: int) -> None:
    model = multiclass.LabelTree(Share(), candidates)
    for label in "abcab":
        model.learn_one({}, label)
    before = pickle.dumps(model)
    for label in "ad":
        with pytest.raises(ValueError, match="unlucky"):
            model.learn_one({"bad": 1.0}, label)
        assert pickle.dumps(model) == before
    model.learn_one({}, "new", w=0.0)
    assert pickle.dumps(model) == before
    with pytest.raises(InvalidType, match="the target must be a class label"):
        model.learn_one({}, None)


def test_a_row_that_native_members_refuse_changes_nothing() -> None:
    model = multiclass.LabelTree(linear_model.LogisticRegression())
    for index in range(40):
        model.learn_one({"a": float(index % 5), "b": 1.0}, index % 5)
    said = model.predict_proba_one({"a": 1.0, "b": 1.0})
    for bad in ({"a": "text"}, {"a": math.inf}, {"a": 1e308, "b": 1e308}):
        for label in (0, "new"):
            # Large numbers may be learned, by all members or by none.
            learned = copy.deepcopy(model)
            try:
                learned.learn_one(bad, label)
            except (InvalidType, InvalidValue, ArithmeticError, ValueError):
                assert learned.predict_proba_one({"a": 1.0, "b": 1.0}) == said
                assert learned.classes == list(range(5))
    with pytest.raises(InvalidType):
        model.learn_one({"a": "text"}, 0)


def test_copies_and_pickles_continue_alike() -> None:
    rows = topics(300, 20)
    model = multiclass.LabelTree(linear_model.LogisticRegression("adaptive"), 4)
    for x, y in rows[:150]:
        model.learn_one(x, y)
    others = [copy.deepcopy(model), pickle.loads(pickle.dumps(model)), model.copy()]
    for x, y in rows[150:]:
        for each in (model, *others):
            each.learn_one(x, y)
    for other in others:
        assert all(other.predict_proba_one(x) == model.predict_proba_one(x) for x, _ in rows[:50])
    assert model.clone().classes == []
    testing.check_model(multiclass.LabelTree(naive_bayes.GaussianNB()))


def test_bad_arguments() -> None:
    for given in (linear_model.LinearRegression(), linear_model.LogisticRegression, 3):
        with pytest.raises(InvalidType, match="multiclass.LabelTree: model must be a classifier, got"):
            multiclass.LabelTree(given)
    for arguments, words in [
        ({"n_candidates": 1.5}, "n_candidates must be an integer"),
        ({"n_candidates": 1}, "n_candidates must be 0 or an integer >= 2, got 1"),
        ({"balance": 1.5}, "balance must be a number in"),
        ({"balance": "much"}, "balance must be a number in"),
    ]:
        with pytest.raises((InvalidType, InvalidValue), match=words):
            multiclass.LabelTree(Share(), **arguments)
