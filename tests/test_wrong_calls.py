"""What a wrong call is told: in names that a person wrote, in one line, with what to write instead."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from millstream import (
    base,
    compose,
    drift,
    ensemble,
    evaluate,
    forest,
    linear_model,
    multiclass,
    naive_bayes,
    optim,
    preprocessing,
    tree,
)
from millstream.errors import MillstreamError


class Mine(base.Classifier):
    """A learner of one's own."""

    def learn_one(self, x: Any, y: Any = None, w: float = 1.0) -> None:
        """Learn nothing."""

    def predict_one(self, x: Any) -> Any:
        """Always the same."""
        return 1


OVER = [
    ensemble.LeveragingBagging,
    ensemble.Bagging,
    ensemble.SRPClassifier,
    ensemble.AdaBoost,
    multiclass.OneVsRest,
]


def told(call: Any, kind: type[Exception]) -> str:
    with pytest.raises(kind) as caught:
        call()
    words = str(caught.value)
    assert "\n" not in words
    assert "_Native" not in words
    assert "{" not in words
    return words


def narrow() -> tuple[Any, Any]:
    X = np.random.default_rng(1).normal(size=(400, 3))
    return X, (X[:, 0] > 0).astype(int)


@pytest.mark.parametrize("model", [naive_bayes.GaussianNB(), Mine()])
def test_a_missing_argument_is_told_by_the_public_name(model: Any) -> None:
    assert told(lambda: drift.Retrain(model), TypeError).startswith("drift.Retrain.__init__() missing 1 required")
    words = told(lambda: drift.Retrain(model, drift.DDM(), nope=1), TypeError)
    assert words.startswith("drift.Retrain.__init__() got an unexpected")
    for kind in OVER:
        assert told(lambda kind=kind: kind(model, nope=1), TypeError).startswith(f"{kind.name}.__init__() got")
    for kind in (compose.Pipeline, compose.Union):
        told(lambda kind=kind: kind(preprocessing.StandardScaler(), nope=1), TypeError)


@pytest.mark.parametrize("given", [Mine, naive_bayes.GaussianNB])
def test_a_class_in_a_models_place(given: Any) -> None:
    calls = [
        *((lambda kind=kind: kind(given)) for kind in OVER),
        lambda: ensemble.Voting(given),
        lambda: ensemble.Voting([given]),
        lambda: ensemble.Stacking([given, naive_bayes.GaussianNB()]),
        lambda: drift.Retrain(given, drift.DDM()),
    ]
    for call in calls:
        assert told(call, MillstreamError).endswith(f"write {given.__name__}()")
    for kind in (drift.DDM, drift.ADWIN):
        call = lambda kind=kind: drift.Retrain(naive_bayes.GaussianNB(), kind)  # noqa: E731
        assert told(call, MillstreamError).endswith(f"write {kind.__name__}()")
    assert told(lambda: drift.Monitor([drift.ADWIN]), MillstreamError).endswith("write ADWIN()")


def test_a_model_of_another_role_is_told_by_its_short_name() -> None:
    for kind in OVER:
        words = told(lambda kind=kind: kind(linear_model.LinearRegression()), MillstreamError)
        assert words == f"{kind.name}: model must be a classifier, got LinearRegression"
    scaled = preprocessing.StandardScaler() | linear_model.LinearRegression()
    assert told(lambda: ensemble.Bagging(scaled), MillstreamError).endswith("got Pipeline")
    both = [linear_model.LinearRegression(), naive_bayes.GaussianNB()]
    assert told(lambda: ensemble.Voting(both), MillstreamError).endswith("got [LinearRegression, GaussianNB]")
    words = told(lambda: drift.Retrain(preprocessing.StandardScaler(), drift.DDM()), MillstreamError)
    assert words.endswith("got StandardScaler")


def test_a_place_that_is_not_there() -> None:
    trees = forest.ARFClassifier(n_models=3)
    assert told(lambda: trees[7], IndexError) == "forest.ARFClassifier: no tree 7, it has 3"
    assert told(lambda: trees.n_drifts_detected(3), IndexError).startswith("forest.ARFClassifier: no tree 3")
    assert "a tree is found by number" in told(lambda: trees["a"], MillstreamError)
    members = ensemble.Bagging(naive_bayes.GaussianNB(), n_models=2)
    assert told(lambda: members[-3], IndexError) == "ensemble.Bagging: no member -3, it has 2"
    assert len(list(trees)) == 3


def test_change_points_that_are_none() -> None:
    errors = np.zeros(4000)
    words = told(lambda: evaluate.drift("ADWIN", (errors, 2000)), MillstreamError)
    assert words == "evaluate.drift: change points must be a list of indices, got 2000: write [2000]"
    assert "list of indices" in told(lambda: evaluate.drift("ADWIN", (errors, np.int64(2000))), MillstreamError)
    assert "got array(5)" in told(lambda: evaluate.drift("ADWIN", (errors, np.array(5))), MillstreamError)
    assert "got nan" in told(lambda: evaluate.drift("ADWIN", (errors, [np.nan])), MillstreamError)
    assert "got 'a'" in told(lambda: evaluate.drift("ADWIN", (errors, ["a"])), MillstreamError)
    evaluate.drift("ADWIN", (errors, np.array([2000])))


def test_a_parameter_that_is_not_finite_is_named_alone() -> None:
    words = told(lambda: drift.ADWIN(significance=np.nan), MillstreamError)
    assert words == "drift.ADWIN: significance must be a finite number, got nan"
    words = told(lambda: optim.SGD(lr=np.float64("-inf")), MillstreamError)
    assert words == "optim.SGD: learning_rate must be a finite number, got -inf"
    models = [naive_bayes.GaussianNB(), naive_bayes.GaussianNB()]
    words = told(lambda: ensemble.Voting(models, weights=[1.0, np.inf]), MillstreamError)
    assert words == "ensemble.Voting: weights must contain only finite numbers, got [1.0, inf]"


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_frame_of_a_library_that_is_not_there(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    grown = tree.HoeffdingTreeClassifier()
    grown.learn_many(*narrow())
    monkeypatch.setitem(sys.modules, library, None)
    for make in (grown.splits, grown.to_frame):
        words = told(lambda make=make: make(library), ImportError)
        assert words == f"a frame of {library} needs {library}: pip install {library}"


@pytest.mark.parametrize(
    "model",
    [
        forest.ARFClassifier(n_models=5, max_bytes=8192),
        forest.ARFRegressor(n_models=5, max_bytes=8192),
        ensemble.LeveragingBagging(tree.HoeffdingTreeClassifier(max_bytes=8192), n_models=5),
        ensemble.Voting([naive_bayes.GaussianNB(), linear_model.LogisticRegression()]),
        ensemble.Stacking([naive_bayes.GaussianNB(), linear_model.LogisticRegression()]),
    ],
    ids=lambda model: model.name,
)
def test_a_long_batch_leaves_no_room_behind(model: Any) -> None:
    X = np.random.default_rng(0).normal(size=(5000, 5))
    model.learn_many(X, (X[:, 0] > 0).astype(int))
    # The copies for the way back are as large as the members, and the rows since them.
    assert model.memory < 3 * model.copy().memory + 40_000
