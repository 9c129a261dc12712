"""One-vs-one, output codes and class weights: by hand, with any member, atomic, and bad input."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from millstream import base, forest, kernel, linear_model, multiclass, naive_bayes, preprocessing, tree
from millstream.errors import InvalidType, InvalidValue

MEMBERS: list[Any] = [
    preprocessing.StandardScaler() | linear_model.LogisticRegression(),
    naive_bayes.GaussianNB(),
    tree.HoeffdingTreeClassifier(grace_period=20),
    forest.ARFClassifier(n_models=3, seed=1),
    kernel.KernelSGD(),
]


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


def stream(n: int = 600, seed: int = 3) -> list[tuple[dict[str, float], str]]:
    random = np.random.default_rng(seed)
    centres = {"red": (0.0, 0.0), "green": (4.0, 0.0), "blue": (0.0, 4.0), "grey": (4.0, 4.0)}
    labels = list(centres)
    rows = []
    for _ in range(n):
        label = labels[random.integers(4)]
        a, b = random.normal(centres[label])
        rows.append(({"a": float(a), "b": float(b)}, label))
    return rows


def accuracy(model: Any, rows: Any) -> float:
    half = len(rows) // 2
    for x, y in rows[:half]:
        model.learn_one(x, y)
    return float(np.mean([model.predict_one(x) == y for x, y in rows[half:]]))


@pytest.mark.parametrize("member", MEMBERS, ids=lambda member: type(member).__name__)
@pytest.mark.parametrize("kind", [multiclass.OneVsOne, multiclass.OutputCode])
def test_any_member_learns(kind: Any, member: Any) -> None:
    model = kind(member)
    assert accuracy(model, stream()) > 0.85
    probabilities = model.predict_proba_one({"a": 0.0, "b": 4.0})
    assert sum(probabilities.values()) == pytest.approx(1.0)
    assert list(probabilities) == model.classes


def test_one_vs_one_by_hand() -> None:
    model = multiclass.OneVsOne(Share())
    assert model.predict_proba_one({}) == {}
    assert model.predict_one({}) is None
    model.learn_one({}, "a")
    assert model.predict_proba_one({}) == {"a": 1.0}
    model.learn_one({}, "b")
    model.learn_one({}, "a", w=3.0)
    model.learn_one({}, "c")
    # The pair (a, b) learned b once and a with weight 3; (a, c) and (b, c) learned c once.
    assert model.predict_proba_one({}) == pytest.approx({"a": 0.75 / 3, "b": 0.25 / 3, "c": 2.0 / 3})
    assert {pair: member.learned for pair, member in model.members.items()} == {
        ("a", "b"): 4.0,
        ("a", "c"): 1.0,
        ("b", "c"): 1.0,
    }


def test_output_codes_by_hand() -> None:
    model = multiclass.OutputCode(Share(), code_size=6, seed=2)
    for label in "abc":
        model.learn_one({}, label)
    codes = model.codes
    assert len(set(codes.values())) == 3
    assert min((codes[p] ^ codes[q]).bit_count() for p, q in ("ab", "ac", "bc")) >= 3
    shares = [sum(code >> bit & 1 for code in codes.values()) / 3 for bit in range(6)]
    assert [member.true / member.learned for member in model.members] == pytest.approx(shares)
    likelihood = {}
    for label, code in codes.items():
        chances = [min(max(share, 0.01), 0.99) for share in shares]
        likelihood[label] = np.prod([p if code >> bit & 1 else 1 - p for bit, p in enumerate(chances)])
    total = sum(likelihood.values())
    assert model.predict_proba_one({}) == pytest.approx({label: p / total for label, p in likelihood.items()})


def test_output_codes_correct_errors_of_members() -> None:
    model = multiclass.OutputCode(linear_model.LogisticRegression("adaptive"), code_size=40)
    for index in range(900):
        model.learn_one({f"word {index % 60}": 1.0}, index % 60)
    assert len(set(model.codes.values())) == 60
    # Six of the forty members predict the wrong bit of every class.
    for place in range(6):
        wrong = model.members[place] = linear_model.LogisticRegression("adaptive")
        for label, code in model.codes.items():
            wrong.learn_one({f"word {label}": 1.0}, not code >> place & 1)
    assert all(model.predict_one({f"word {label}": 1.0}) == label for label in range(60))


@pytest.mark.parametrize("kind", [multiclass.OneVsOne, multiclass.OutputCode])
def test_a_refused_example_changes_nothing(kind: Any) -> None:
    model = kind(Share())
    for label in "abab":
        model.learn_one({}, label)
    before = pickle.dumps(model)
    for label in "ac":
        with pytest.raises(ValueError, match="unlucky"):
            model.learn_one({"bad": 1.0}, label)
        assert pickle.dumps(model) == before
    for y, w, message in [
        (None, 1.0, "the target must be a class label"),
        ("a", -1.0, "the weight must be finite"),
    ]:
        with pytest.raises((InvalidType, InvalidValue), match=message):
            model.learn_one({}, y, w)
    model.learn_one({}, "new", w=0.0)
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("kind", [multiclass.OneVsOne, multiclass.OutputCode, multiclass.ClassWeights])
def test_copies_and_pickles_continue_alike(kind: Any) -> None:
    rows = stream(200)
    model = kind(preprocessing.StandardScaler() | linear_model.LogisticRegression())
    if kind is multiclass.ClassWeights:
        model = kind(naive_bayes.GaussianNB())
    for x, y in rows[:100]:
        model.learn_one(x, y)
    others = [copy.deepcopy(model), pickle.loads(pickle.dumps(model)), model.copy()]
    for x, y in rows[100:]:
        for each in (model, *others):
            each.learn_one(x, y)
    for other in others:
        assert all(other.predict_proba_one(x) == model.predict_proba_one(x) for x, _ in rows)
    clone = model.clone()
    assert clone.classes == []
    assert clone.predict_proba_one({"a": 0.0}) == {}


def test_matrices_and_names_of_peers() -> None:
    rows = stream(300)
    X, y = np.array([list(x.values()) for x, _ in rows]), [label for _, label in rows]
    model = multiclass.OneVsOneClassifier(classifier=naive_bayes.GaussianNB())
    model.learn_many(X, y)
    assert (model.predict_many(X) == np.array(y)).mean() > 0.85
    assert isinstance(multiclass.OutputCodeClassifier(estimator=naive_bayes.GaussianNB()), multiclass.OutputCode)
    held = preprocessing.StandardScaler() | multiclass.OneVsOne(linear_model.LogisticRegression())
    assert accuracy(held, rows) > 0.85


def test_class_weights_by_hand() -> None:
    model = multiclass.ClassWeights(Share(), {True: 3.0})
    for label in (True, False, False):
        model.learn_one({}, label)
    assert model.predict_proba_one({})[True] == pytest.approx(3 / 5)
    balanced = multiclass.ClassWeights(Share())
    # 1 / (1 · 1), 2 / (2 · 1), 3 / (2 · 2), 4 / (2 · 3): False first, then True, False, False.
    weights = []
    for label in (False, True, False, False):
        weights.append(balanced.weight_of(label))
        balanced.learn_one({}, label)
    assert weights == pytest.approx([1.0, 1.0, 0.75, 4 / 6])
    assert balanced.model.learned == pytest.approx(sum(weights))


def test_weights_of_zero_and_native_members() -> None:
    rows = stream(300)
    ignoring = multiclass.ClassWeights(naive_bayes.GaussianNB(), {"grey": 0.0})
    accuracy(ignoring, rows)
    assert "grey" not in {ignoring.predict_one(x) for x, _ in rows}
    heavy, plain = multiclass.ClassWeights(naive_bayes.GaussianNB(), {"red": 2.0}), naive_bayes.GaussianNB()
    for x, y in rows:
        heavy.learn_one(x, y)
        plain.learn_one(x, y, 2.0 if y == "red" else 1.0)
    assert heavy.predict_proba_one(rows[0][0]) == plain.predict_proba_one(rows[0][0])
    X = np.array([list(x.values()) for x, _ in rows])
    by_place = multiclass.ClassWeights(naive_bayes.GaussianNB())
    by_place.learn_many(X, [y for _, y in rows])
    assert list(by_place.predict_many(X)) == [by_place.predict_one(dict(enumerate(row))) for row in X.tolist()]


def test_bad_arguments() -> None:
    for kind in (multiclass.OneVsOne, multiclass.OutputCode, multiclass.ClassWeights):
        for model in (linear_model.LinearRegression(), linear_model.LogisticRegression, 3):
            with pytest.raises(InvalidType, match=f"multiclass.{kind.__name__}: model must be a classifier, got"):
                kind(model)
    with pytest.raises(InvalidType, match="code_size must be an integer >= 1, got float 1.5"):
        multiclass.OutputCode(Share(), code_size=1.5)  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match="code_size must be an integer >= 1, got 0"):
        multiclass.OutputCode(Share(), code_size=0)
    with pytest.raises(InvalidType, match='weights must be "balanced" or a dict'):
        multiclass.ClassWeights(Share(), 3)  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match="the weight of 'a' must be finite and not negative, got -1"):
        multiclass.ClassWeights(Share(), {"a": -1})
