"""The verbs that a model has are those that work: `hasattr` and tab completion tell the truth."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import millstream
from millstream import base, compose, drift, linear_model, preprocessing, roles, verbs
from streams import Case, cases

VERBS = sorted(verb for verb in verbs.VERBS if verb.endswith("_one"))


def says(model: Any) -> set[str]:
    """The verbs that a model seems to have."""
    return {verb for verb in VERBS if hasattr(model, verb)}


def works(model: Any, verb: str, case: Case) -> bool:
    """Whether a verb does something after one example."""
    x = {"a": 1.0, "b": 2.0}
    model.learn_one(x, case.target(1.0))
    arguments = (x, case.target(1.0)) if verb in ("learn_one", "step_one") else (x,)
    private = getattr(model, f"_{verb}")
    try:
        private(*arguments)
    except TypeError:
        return False
    return True


@pytest.mark.parametrize("case", cases(), ids=repr)
def test_native_models_have_the_verbs_that_work(case: Case) -> None:
    model = case.build()
    role = roles.role_of(model)
    assert role is not None
    assert says(model) == {*role.verbs, *model._optional_verbs()}
    for verb in VERBS:
        assert works(case.build(), verb, case) == (verb in says(model)), verb
    for verb in says(model):
        assert hasattr(model, verb.replace("_one", "_many")), verb
    for same in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)), millstream.from_bytes(model.to_bytes())):
        assert says(same) == says(model)
        assert type(same) is type(model)
    assert {verb for verb in VERBS if hasattr(type(model), verb)} == says(model)
    assert {verb for verb in VERBS if verb in dir(model)} == says(model)


@pytest.mark.parametrize("case", cases(), ids=repr)
def test_no_native_model_has_a_hook_for_attributes(case: Case) -> None:
    # With one, Python creates an object for each call of a verb, which is then a tenth slower.
    assert not hasattr(type(case.build()), "__getattr__")


class Line(base.Regressor):
    """A regressor with an interval."""

    def learn_one(self, x: Any, y: Any = None, w: float = 1.0) -> None:
        pass

    def predict_one(self, x: Any) -> float:
        return 1.0

    def predict_interval_one(self, x: Any, coverage: float = 0.9) -> tuple[float, float]:
        return 0.0, 2.0


def same(x: Any) -> Any:
    return x


@pytest.mark.parametrize(
    ("model", "has", "lacks"),
    [
        (compose.Func(same) | linear_model.LogisticRegression(), "score_one", "transform_one"),
        (compose.Func(same) | linear_model.LinearRegression(), "predict_one", "predict_proba_one"),
        (compose.Func(same) | Line(), "predict_interval_one", "score_one"),
        (preprocessing.StandardScaler() | compose.Func(same), "transform_one", "predict_one"),
        (drift.Retrain(Line(), drift.ADWIN()), "predict_one", "predict_proba_one"),
        (drift.Monitor(drift.ADWIN()).beside(linear_model.LogisticRegression()), "predict_proba_one", "score_one"),
        (
            preprocessing.StandardScaler() | drift.Retrain(linear_model.AROW(), drift.DDM()),
            "score_one",
            "transform_one",
        ),
    ],
    ids=repr,
)
def test_wrappers_have_the_verbs_of_what_they_wrap(model: Any, has: str, lacks: str) -> None:
    for each in (model, copy.deepcopy(model), pickle.loads(pickle.dumps(model)), model.copy()):
        assert hasattr(each, has)
        assert not hasattr(each, lacks)
        assert isinstance(each, base.Model)
        assert roles.role_of(each) is model.role
    with pytest.raises(AttributeError, match=lacks):
        getattr(model, lacks)


def test_a_role_is_its_word() -> None:
    assert linear_model.LinearRegression().role == "regressor"
    assert f"{roles.CLASSIFIER}" == "classifier"
    assert pickle.loads(pickle.dumps(roles.CLASSIFIER)) is roles.CLASSIFIER
    assert copy.deepcopy(roles.REGRESSOR) is roles.REGRESSOR
    assert roles.one_of(roles.STEPS[:4]) == "a transformer, a classifier, a regressor or an anomaly detector"


@pytest.mark.parametrize(
    ("has", "role"),
    [
        (("transform_one",), roles.TRANSFORMER),
        (("learn_one", "predict_one"), roles.REGRESSOR),
        (("learn_one", "predict_one", "predict_proba_one"), roles.CLASSIFIER),
        (("learn_one", "score_one"), roles.ANOMALY_DETECTOR),
        (("learn_one", "forecast"), roles.FORECASTER),
        (("forecast",), None),
        (("learn_one",), None),
        (("predict_one",), None),
        (("learn_one", "predict_proba_one"), None),
    ],
)
def test_the_role_of_a_class_that_does_not_say_follows_from_its_verbs(has: tuple[str, ...], role: Any) -> None:
    stranger = type("Stranger", (), {verb: lambda self, *args: None for verb in has})()
    assert roles.role_of(stranger) is role
