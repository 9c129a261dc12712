"""A model in a wrapper that changes nothing can do what the model alone can do, and predicts the same.

The learners come from the registry, the wrappers from `WRAPPERS`. Predictions are compared bit for bit, on dense,
sparse, mixed and missing rows, one at a time and many. What fails today is in `EXPECTED_FAILURES`: a test that
passes again fails until its line is removed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import millstream
from millstream import (
    anomaly,
    compose,
    ensemble,
    forest,
    linear_model,
    multiclass,
    naive_bayes,
    preprocessing,
)
from millstream.registry import entry
from streams import CASES, Case, fit, mixed, numeric
from wrappers import CHANGING, LAWS, WRAPPERS, Wrapper, differences, equal, pairs


class Failure(NamedTuple):
    """Tests that fail today: a law, wrappers, learners (all if none are named), and why."""

    law: str
    wrappers: tuple[str, ...]
    learners: tuple[str, ...]
    reason: str


ALL: tuple[str, ...] = ()
_TRANSFORMERS = tuple(case.name for case in CASES if case.role == "transformer")
_MERGED = (
    "compose.TargetTransformRegressor",
    "linear_model.BayesianLinearRegression",
    "linear_model.LeastSquares",
    "linear_model.RLS",
    "linear_model.RidgeClassifier",
)

EXPECTED_FAILURES = [
    Failure("wide", ("Union(Select) |", "StandardScaler |"), ALL, "a dict becomes a dense row"),
    Failure("dense", ("Func |",), _TRANSFORMERS, "steps in Python make dicts, whose names a matrix would lose"),
]


def failure(law: str, wrapper: Wrapper, learner: str) -> Failure | None:
    """The line of the table that a test is in."""
    for line in EXPECTED_FAILURES:
        if line.law == law and wrapper.name in line.wrappers and learner in (line.learners or (learner,)):
            return line
    return None


#: Wide models and processes take time: the quick tests make those of a few learners.
QUICK = {
    "wide": ("linear_model.LogisticRegression", "linear_model.LinearRegression", "linear_model.AROW"),
    "threads": ("forest.ARFClassifier", "ensemble.BaggingRegressor"),
}


def under(law: str, learners: list[Case]) -> Any:
    """Run a test on every wrapper and every learner; those of the table are expected to fail."""
    tests = []
    for wrapper, case in pairs(law, learners):
        expected = failure(law, wrapper, case.name)
        fails = expected and pytest.mark.xfail(strict=True, raises=AssertionError, reason=expected.reason)
        marks: list[Any] = [fails] if fails else []
        if wrapper.in_python or case.name not in QUICK.get(law, (case.name,)):
            marks.append(pytest.mark.slow)
        tests.append(pytest.param(wrapper, case, marks=marks, id=f"{wrapper.name}-{case.name}"))
    return pytest.mark.parametrize(("wrapper", "case"), tests)


#: Laws about what few learners can do. Those that can have a test each, and all others of a wrapper one together.
RARE = ("rare", "merge", "train", "batches")
ABLE = [
    case
    for case in CASES
    if case.name.startswith(
        (
            "basis.",
            "compose.",
            "decomposition.",
            "feature_",
            "kernel.",
            "linear_model.",
            "naive_bayes.",
            "preprocessing.",
            "Standard",
            "TargetEncoder |",
        )
    )
]


def _law(law: str) -> Any:
    @under(law, [case for case in CASES if law not in RARE or case in ABLE])
    def test(wrapper: Wrapper, case: Case) -> None:
        assert differences(law, case, wrapper) == []

    return test


test_dense_rows = _law("dense")
test_sparse_rows = _law("sparse")
test_dicts = _law("dicts")
test_scores_and_intervals = _law("rare")
test_verbs_and_attributes = _law("verbs")
test_two_halves_of_a_stream = _law("merge")
test_risk = _law("train")
test_mini_batches = _law("batches")


@pytest.mark.parametrize("wrapper", WRAPPERS, ids=repr)
@pytest.mark.parametrize("law", RARE)
def test_what_few_learners_can_do_the_others_cannot_in_a_wrapper_either(law: str, wrapper: Wrapper) -> None:
    for _, case in pairs(law, [case for case in CASES if case not in ABLE], [wrapper]):
        assert differences(law, case, wrapper) == [], case.name


def test_every_law_has_its_test() -> None:
    assert {line.law for line in EXPECTED_FAILURES} <= {*LAWS, "threads", "wide"}
    for wrapper in WRAPPERS:
        assert set(wrapper.exempt) | set(wrapper.rounded) <= {*LAWS, "threads", "wide"}


def test_every_part_that_is_made_of_models_is_under_the_laws() -> None:
    holding = {"model", "models", "steps", "parts"}
    made = [name for name in millstream.find() if holding & {each["name"] for each in entry(name)["parameters"]}]
    wrapped = {wrapper.wrap(wrapper_case(wrapper).build()).name for wrapper in WRAPPERS}
    assert set(made) == wrapped | set(CHANGING)


def wrapper_case(wrapper: Wrapper) -> Case:
    """Some model that can be wrapped."""
    return next(case for case in CASES if case.role in wrapper.roles)


@pytest.mark.parametrize("line", EXPECTED_FAILURES, ids=lambda line: f"{line.law}: {line.reason}")
def test_every_expected_failure_is_of_a_known_wrapper_and_learner(line: Failure) -> None:
    assert set(line.wrappers) <= {wrapper.name for wrapper in WRAPPERS}
    assert set(line.learners) <= {case.name for case in CASES}


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_a_pipeline_in_a_pipeline_is_that_pipeline(case: Case) -> None:
    once = compose.Pipeline([case.build()])
    assert compose.Pipeline([once]).describe() == once.describe()


def _of_two_classes(case: Case, rows: list[Any], y: list[Any]) -> Callable[[Any], dict[Any, float]]:
    """What `OneVsRest` makes of two models alone, after some rows."""
    members: dict[Any, Any] = {}
    for x, label in zip(rows, y, strict=True):
        members.setdefault(label, case.build())
        for known, member in members.items():
            member.learn_one(x, label == known)

    def predict_proba_one(x: Any) -> dict[Any, float]:
        votes = {label: member.predict_proba_one(x).get(True, 0.0) for label, member in members.items()}
        total = sum(votes.values())
        return {label: vote / total if total else 0.5 for label, vote in votes.items()}

    return predict_proba_one


@pytest.mark.parametrize("case", [case for case in CASES if case.role == "classifier"], ids=repr)
def test_one_against_the_rest_of_two_classes_is_two_models(case: Case) -> None:
    stream = [(fit(case, x), case.target(number)) for x, number in mixed(40)]
    X, numbers = numeric(40)
    plain = [(dict(enumerate(x)), case.target(number)) for x, number in zip(X.tolist(), numbers, strict=True)]
    for examples in (stream, plain):
        rows, y = [x for x, _ in examples], [label for _, label in examples]
        both = _of_two_classes(case, rows, y)
        wrapped = multiclass.OneVsRest(case.build())
        wrapped.learn_many(X if examples is plain else rows, y)
        for x in rows:
            said, should = wrapped.predict_proba_one(x), both(x)
            assert equal(said, {label: should[label] for label in wrapped.classes}, rounded=False)


#: Ensembles that spread their members over threads.
THREADED = [
    Case(
        case.role, case.name, {"name": case.name, "parameters": {**case.description["parameters"], "n_threads": 2}}
    )
    for case in CASES
    if case.name in millstream.find()
    and any(parameter["name"] == "n_threads" for parameter in entry(case.name)["parameters"])
]


@pytest.fixture(scope="module")
def threads() -> Iterator[Callable[[Any, str], int]]:
    """The number of threads that a verb of a model starts, counted in another process."""
    if not Path("/proc/self/task").is_dir():
        pytest.skip("threads are counted in /proc")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, Path(__file__).with_name("count_threads.py")]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=environment, **pipes) as process:
        assert process.stdin
        assert process.stdout

        def count(model: Any, verb: str) -> int:
            process.stdin.write(json.dumps([model.describe(), model.role, verb]) + "\n")
            process.stdin.flush()
            return int(process.stdout.readline())

        yield count


#: Verbs that work on a batch.
BATCH_VERBS = ("step_many", "predict_many")


@pytest.mark.parametrize("verb", BATCH_VERBS)
@pytest.mark.parametrize("case", THREADED, ids=repr)
def test_an_ensemble_starts_the_threads_that_it_is_given(case: Case, verb: str, threads: Any) -> None:
    assert threads(case.build(), verb) == 2


@under("threads", THREADED)
@pytest.mark.parametrize("verb", BATCH_VERBS)
def test_threads(wrapper: Wrapper, case: Case, verb: str, threads: Any) -> None:
    assert threads(wrapper.build(case), verb) == 2


@pytest.mark.parametrize("verb", [*BATCH_VERBS, "predict_proba_many"])
def test_a_forest_behind_a_scaler_starts_its_threads(verb: str, threads: Any) -> None:
    assert threads(preprocessing.StandardScaler() | forest.ARFClassifier(n_models=2, n_threads=2), verb) == 2


#: Wrappers that change what a classifier learns or predicts.
HOLDING: dict[str, Callable[[Any], Any]] = {
    "ThresholdFilter |": lambda model: (
        anomaly.ThresholdFilter(anomaly.HalfSpaceTrees(seed=1), threshold=0.99) | model
    ),
    "Bagging": lambda model: ensemble.Bagging(model, n_models=2),
    "LeveragingBagging": lambda model: ensemble.LeveragingBagging(model, n_models=2, output_codes=True),
    "AdaBoost": lambda model: ensemble.AdaBoost(model, n_models=2),
    "SRPClassifier": lambda model: ensemble.SRPClassifier(model, n_models=2),
    "Stacking": lambda model: ensemble.Stacking([model], meta_model=linear_model.SoftmaxRegression()),
    "Voting": lambda model: ensemble.Voting([model, naive_bayes.GaussianNB()], use_probabilities=False),
    "OneVsRest": lambda model: multiclass.OneVsRest(preprocessing.StandardScaler() | model),
}


@pytest.mark.parametrize("wrapper", HOLDING)
def test_a_forest_predicts_on_its_threads_in_what_changes_it(wrapper: str, threads: Any) -> None:
    model = HOLDING[wrapper](forest.ARFClassifier(n_models=2, n_threads=2))
    assert threads(model, "predict_many") == 2


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("wrapper", HOLDING)
def test_a_wrapped_forest_predicts_many_rows_as_one_by_one(wrapper: str, n_threads: int) -> None:
    model = HOLDING[wrapper](forest.ARFClassifier(n_models=3, n_threads=n_threads, seed=1))
    X, numbers = numeric(300)
    X[::7, 1] = np.nan
    model.learn_many(X[:200], np.digitize(numbers[:200], [-0.5, 0.5]))
    rows = [dict(enumerate(x)) for x in X.tolist()]
    for x in rows:
        for name in [name for name, value in x.items() if value != value]:
            del x[name]
    many = model.predict_proba_many(X)
    assert model.predict_many(X).tolist() == [model.predict_one(x) for x in rows]
    assert many.tolist() == [list(model.predict_proba_one(x).values()) for x in rows]


#: Learners to which a missing number is a 0 that a sparse row leaves out, so that a dict costs what it holds.
SPARSE = [
    case
    for case in CASES
    if case.name in {f"linear_model.{name}" for name in linear_model.__all__}
    and case.name not in (*_MERGED, "linear_model.GaussianHerding")
]


#: A row of all features of the second takes a hundred times as long as one of the first.
WIDTHS = (100, 1 << 18)


def _cost(model: Any, width: int, role: str) -> tuple[float, float]:
    """The CPU time of predicting and of learning a dict of two numbers, in a model of so many features."""
    y: Any = 1.0 if role == "regressor" else True
    model.learn_many(
        csr_matrix(([1.0, 2.0, 3.0], ([0, 1, 2], [3, 5, width - 1])), shape=(3, width)), [y, 1 - y, y]
    )
    x = {7: 1.0, width - 2: 2.0}
    return _least_time(lambda: model.predict_one(x)), _least_time(lambda: model.learn_one(x, y))


def _least_time(work: Callable[[], object], times: int = 8) -> float:
    taken = []
    for _ in range(times):
        start = time.thread_time()
        work()
        taken.append(time.thread_time() - start)
    return min(taken)


@pytest.mark.parametrize("case", SPARSE, ids=repr)
def test_a_dict_in_a_wide_model_costs_what_it_holds(case: Case) -> None:
    narrow, wide = (_cost(case.build(), width, case.role) for width in WIDTHS)
    assert all(many < 20 * few for few, many in zip(narrow, wide, strict=True))


@under("wide", SPARSE)
def test_a_dict_in_a_wide_wrapped_model_costs_what_it_holds(wrapper: Wrapper, case: Case) -> None:
    narrow, wide = (_cost(wrapper.build(case), width, case.role) for width in WIDTHS)
    assert all(many < 20 * few for few, many in zip(narrow, wide, strict=True))
