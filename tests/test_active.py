"""Importance-weighted active learning: by hand, fewer labels, unbiased weights, atomic, and bad input."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from millstream import active, base, linear_model, naive_bayes, preprocessing, tree
from millstream.errors import InvalidType, InvalidValue


class Fixed(base.Classifier):
    """Predicts what it was told; refuses an example with "bad"."""

    def __init__(self) -> None:
        self.share, self.weights = 0.5, []  # type: ignore[var-annotated]

    def learn_one(self, x: Any, y: Any = None, w: float = 1.0) -> None:
        if "bad" in x:
            raise ValueError("unlucky")
        self.weights.append(w)

    def predict_proba_one(self, x: Any) -> dict[Any, float]:
        return {True: self.share, False: 1.0 - self.share}


def rows(n: int, seed: int) -> list[tuple[dict[str, float], bool]]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 3))
    return [(dict(zip("abc", x.tolist(), strict=True)), bool(x[0] + x[1] > 0)) for x in X]


def test_probabilities_by_hand() -> None:
    model = active.ImportanceWeighted(Fixed(), n_models=3, min_probability=0.1)
    assert model.query_one({}) == (True, 1.0)
    model.learn_one({}, True, probability=0.5)
    # With one class, all labels are wanted.
    assert model.query_probability_one({}) == 1.0
    model.learn_one({}, False, probability=0.25, w=2.0)
    assert model.model.weights == [2.0, 8.0]
    assert model.queried == 2
    for member, share in zip(model.members, (0.2, 0.5, 0.6), strict=True):
        member.share = share
    # 0.1 + 0.9 · (0.6 − 0.2).
    assert model.query_probability_one({}) == pytest.approx(0.46)
    wanted = [model.query_one({}).wanted for _ in range(4000)]
    assert np.mean(wanted) == pytest.approx(0.46, abs=0.04)


@pytest.mark.parametrize(
    "member",
    [
        preprocessing.StandardScaler() | linear_model.LogisticRegression(),
        naive_bayes.GaussianNB(),
        tree.HoeffdingTreeClassifier(grace_period=50),
    ],
    ids=lambda member: type(member).__name__,
)
def test_it_learns_with_fewer_labels(member: Any) -> None:
    model = active.ImportanceWeighted(member, n_models=5, seed=2)
    for x, y in rows(1500, 1):
        model.learn_one(x, y)
    assert model.seen == 1500
    assert model.queried < 900
    assert np.mean([model.predict_one(x) == y for x, y in rows(500, 2)]) > 0.85


def test_weights_are_right_in_expectation() -> None:
    # The total weight is the number of examples on average, however few labels were asked.
    totals = []
    for seed in range(100):
        model = active.ImportanceWeighted(Fixed(), n_models=2, min_probability=0.2, seed=seed)
        model.learn_one({}, True, probability=1.0)
        model.learn_one({}, False, probability=1.0)
        for _ in range(50):
            model.learn_one({}, True)
        totals.append(sum(model.model.weights) - 2.0)
    assert abs(np.mean(totals) - 50.0) <= 3.0 * np.std(totals) / 10.0


def test_a_refused_example_changes_nothing_and_pickles_continue_alike() -> None:
    model = active.ImportanceWeighted(Fixed(), n_models=3)
    for _, y in rows(20, 3):
        model.learn_one({}, y)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="unlucky"):
        model.learn_one({"bad": 1.0}, True, probability=1.0)
    for bad, message in [
        (0.0, r"probability must be in \(0, 1\], got 0.0"),
        (float("nan"), "got nan"),
        (2, "got 2.0"),
    ]:
        with pytest.raises(InvalidValue, match=message):
            model.learn_one({}, True, probability=bad)
    with pytest.raises(InvalidType, match="probability must be a number"):
        model.learn_one({}, True, probability="half")  # type: ignore[arg-type]
    assert pickle.dumps(model) == before
    other = pickle.loads(before)
    for x, y in rows(30, 4):
        model.learn_one(x, y)
        other.learn_one(x, y)
    assert other.queried == model.queried
    assert other.model.weights == model.model.weights


def test_bad_arguments() -> None:
    for bad, message in [
        ({"model": linear_model.LinearRegression()}, "model must be a classifier, got"),
        ({"model": Fixed(), "n_models": 1}, "n_models must be an integer >= 2, got 1"),
        ({"model": Fixed(), "min_probability": 0.0}, r"min_probability must be in \(0, 1\], got 0.0"),
        ({"model": Fixed(), "seed": -1}, "seed must be an integer >= 0, got -1"),
    ]:
        with pytest.raises((InvalidType, InvalidValue), match=message):
            active.ImportanceWeighted(**bad)  # type: ignore[arg-type]
