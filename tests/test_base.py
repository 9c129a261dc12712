"""Learners that a user writes in Python, and what every model can do."""

from __future__ import annotations

import copy
import gc
import html.parser
import inspect
import pickle
import random
import typing
from collections import Counter
from typing import Any

import numpy as np
import pytest

import millstream
from millstream import anomaly, base, drift, linear_model, metrics, multiclass, optim, preprocessing, verbs
from millstream.errors import InvalidType


class Majority(base.Classifier):
    """The least that a classifier needs: no weight, no probabilities."""

    def __init__(self, smoothing: float = 0.0) -> None:
        self.smoothing = smoothing
        self.counts: Counter[Any] = Counter()

    def learn_one(self, x: Any, y: Any) -> None:
        self.counts[y] += 1

    def predict_one(self, x: Any) -> Any:
        return self.counts.most_common(1)[0][0] if self.counts else None


class Frequencies(base.Classifier):
    """One that gives probabilities only, and takes weights."""

    def __init__(self) -> None:
        self.counts: dict[Any, float] = {}

    def learn_one(self, x: Any, y: Any = None, w: float = 1.0) -> None:
        self.counts[y] = self.counts.get(y, 0.0) + w

    def predict_proba_one(self, x: Any) -> dict[Any, float]:
        total = sum(self.counts.values())
        return {label: count / total for label, count in self.counts.items()}


class Mean(base.Regressor):
    def __init__(self, start: float) -> None:
        self.start = start
        self.n, self.sum = 0.0, 0.0

    def learn_one(self, x: Any, y: Any = None, w: float = 1.0) -> None:
        self.n, self.sum = self.n + w, self.sum + w * y

    def predict_one(self, x: Any) -> float:
        return self.sum / self.n if self.n else self.start


class Forgetful(base.Regressor):
    def __init__(self, rate: float) -> None:
        self.kept = rate

    def predict_one(self, x: Any) -> float:
        return 0.0


ROWS = [{"a": random.Random(i).random(), "c": "uv"[i % 2]} for i in range(30)]
LABELS = ["x" if i % 3 else "y" for i in range(30)]


def test_a_classifier_of_ones_own() -> None:
    model = Majority(smoothing=0.5)
    assert repr(model) == "Majority(smoothing=0.5)"
    assert repr(Majority()) == "Majority()"
    assert [model.step_one(x, y) for x, y in zip(ROWS, LABELS, strict=True)][:3] == [None, "y", "y"]
    assert model.predict_many(ROWS).tolist() == ["x"] * 30
    many = model.clone()
    assert many.counts == {}
    assert many.smoothing == 0.5
    many.learn_many(ROWS, LABELS)
    assert many.counts == model.counts
    with pytest.raises(InvalidType, match="Majority: learn_one takes no weight w, got 2"):
        many.learn_many(ROWS, LABELS, w=[2.0] * 30)
    assert many.counts == model.counts
    with pytest.raises(NotImplementedError, match="Majority does not define predict_proba_one"):
        model.predict_proba_one(ROWS[0])


def test_a_classifier_of_probabilities() -> None:
    model = Frequencies()
    assert model.predict_one({}) is None
    model.learn_many(ROWS, LABELS, w=[1.0] * 29 + [100.0])
    assert model.predict_one({}) == LABELS[-1]
    np.testing.assert_allclose(model.predict_proba_many(ROWS).sum(axis=1), 1.0)
    said = Frequencies().step_many(ROWS, LABELS, proba=True)
    assert said[0].tolist() == [0.0, 0.0]
    assert said[1].tolist() == [1.0, 0.0]


def test_a_regressor_of_ones_own() -> None:
    model = Mean(start=7.0)
    said = model.step_many(ROWS, np.arange(30.0))
    assert said[:4].tolist() == [7.0, 0.0, 0.5, 1.0]
    assert model.clone(start=1.0).predict_one({}) == 1.0


def test_ones_own_learners_end_a_pipeline() -> None:
    model = preprocessing.StandardScaler() | Mean(start=0.0)
    assert model.role == "regressor"
    model.learn_many(ROWS, np.arange(30.0))
    assert model.predict_one(ROWS[0]) == 14.5
    with pytest.raises(AttributeError, match="no attribute 'predict_proba_one': it is a regressor"):
        model.predict_proba_one(ROWS[0])
    assert not hasattr(model, "transform_one")


@pytest.mark.parametrize(
    "model", [Majority(), linear_model.LogisticRegression(), preprocessing.StandardScaler() | Majority()], ids=repr
)
def test_copies_are_independent(model: Any) -> None:
    model = model.clone()
    for x, y in zip(ROWS, LABELS, strict=True):
        model.learn_one(x, y)
    for other in (copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model)), model.copy()):
        assert type(other) is type(model)
        assert other.predict_many(ROWS).tolist() == model.predict_many(ROWS).tolist()
        assert repr(other) == repr(model)
        before = pickle.dumps(model)
        other.learn_one(ROWS[0], "y")
        assert pickle.dumps(model) == before


@pytest.mark.parametrize(
    "model",
    [linear_model.LogisticRegression(), preprocessing.StandardScaler() | Majority(), metrics.Accuracy()],
    ids=repr,
)
@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies_have_the_assigned_attributes(model: Any, make: Any) -> None:
    model = model.clone()
    assert vars(make(model)).keys() == vars(model).keys()
    model.note = ["seen"]
    assert make(model).note == ["seen"]


def _compiled() -> list[Any]:
    scaled = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    return [scaled, linear_model.LogisticRegression(), drift.Retrain(scaled, drift.ADWIN()), metrics.Accuracy()]


@pytest.mark.parametrize("model", _compiled(), ids=repr)
def test_compiled_components_have_no_attribute_dict_that_slows_method_calls(model: Any) -> None:
    def has_dict(part: Any) -> bool:
        return any(isinstance(each, dict) for each in gc.get_referents(part))

    copies = [model, model.clone(), copy.copy(model), model.copy(), pickle.loads(pickle.dumps(model))]
    copies.append(millstream.from_bytes(model.to_bytes()))
    assert [has_dict(each) for each in copies] == [False] * len(copies)
    model.note = 1
    del model.note
    assert vars(model) == {}


def test_a_clone_that_cannot_know_its_arguments_says_so() -> None:
    with pytest.raises(InvalidType, match=r"self\.rate = rate"):
        Forgetful(0.1).clone()
    assert repr(Forgetful(0.1)) == "Forgetful()"
    assert Forgetful(0.1).clone(rate=0.5).kept == 0.5


def test_a_class_of_ones_own_has_no_description() -> None:
    with pytest.raises(
        InvalidType, match=r"Majority: a class of your own has no description.*pickle works for all"
    ):
        Majority().describe()


def test_what_is_not_defined_is_named() -> None:
    class Nothing(base.Regressor):
        pass

    with pytest.raises(NotImplementedError, match="Nothing does not define learn_one"):
        Nothing().learn_one({}, 1.0)
    with pytest.raises(NotImplementedError, match="Nothing does not define predict_one"):
        Nothing().predict_one({})


def test_on_error_for_learners_in_python() -> None:
    class Picky(Mean):
        def learn_one(self, x: Any, y: Any = None, w: float = 1.0) -> None:
            if x["a"] < 0:
                raise ValueError("negative")
            super().learn_one(x, y, w)

    rows, y = [{"a": 1.0}, {"a": 2.0}, {"a": -1.0}, {"a": 3.0}], [1.0, 2.0, 3.0, 4.0]
    whole, stopped, skipped = Picky(0.0), Picky(0.0), Picky(0.0)
    with pytest.raises(ValueError, match="negative") as failure:
        whole.learn_many(rows, y)
    assert "at row 2" in failure.value.__notes__
    assert whole.n == 0
    with pytest.raises(ValueError, match="negative"):
        stopped.learn_many(rows, y, on_error="stop")
    assert stopped.n == 2
    assert skipped.learn_many(rows, y, on_error="skip") == 1
    assert skipped.n == 3


def test_memory_counts_what_a_model_holds() -> None:
    small, large = Majority(), Majority()
    large.learn_many(ROWS * 40, [f"label {i}" for i in range(1200)])
    assert small.memory < 2_000
    assert large.memory > 1200 * 50
    model = linear_model.LogisticRegression()
    empty = model.memory
    model.learn_many(np.random.default_rng(1).normal(size=(3, 5000)), [0, 1, 0])
    assert model.memory > empty + 5000 * 8


class Reader(html.parser.HTMLParser):
    """Checks that tags are closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def shown(model: Any) -> str:
    reader = Reader()
    reader.feed(model._repr_html_())
    assert reader.open == []
    return " ".join(reader.text)


def test_notebooks_show_steps_parameters_and_what_was_learned() -> None:
    scaler = preprocessing.StandardScaler() + preprocessing.OneHotEncoder()
    model = scaler | linear_model.LogisticRegression(l2=0.125)
    for x, y in zip(ROWS, LABELS, strict=True):
        model.learn_one(x, y)
    text = shown(model)
    for words in (
        "StandardScaler",
        "OneHotEncoder",
        "LogisticRegression",
        "0.125",
        "30 examples learned",
        "2 classes",
    ):
        assert words in text
    assert "Majority" in shown(preprocessing.StandardScaler() | Majority())
    long = multiclass.OneVsRest(linear_model.LogisticRegression(optimizer=optim.Adam(0.02), l2=0.5))
    assert "model=LogisticRegression(optimizer=Adam(learning_rate=0.02), l2=0.5)" in shown(long)
    assert "&lt;b&gt;" in Majority(smoothing="<b>")._repr_html_()  # type: ignore[arg-type]


def test_a_parameter_is_fixed_when_the_model_is_made() -> None:
    model = linear_model.LogisticRegression(l2=0.5)
    model.l2 = 0.5
    with pytest.raises(AttributeError, match=r"LogisticRegression: l2 is fixed .* clone\(l2=…\)"):
        model.l2 = 1.0
    model.remark = "mine"
    assert (model.l2, model.remark) == (0.5, "mine")


def test_the_verbs_of_compiled_models_have_words() -> None:
    for family in verbs.FAMILIES:
        every: list[type] = [linear_model.LogisticRegression, linear_model.BayesianLinearRegression]
        every += [preprocessing.StandardScaler, anomaly.QuantileFilter]
        model = next(each for each in every if issubclass(each, family))
        for verb in vars(family):
            if not verb.startswith("_"):
                assert getattr(model, verb).__doc__
                assert getattr(model, verb).__name__ == verb


@pytest.mark.parametrize("name", [*millstream.find(role="classifier"), *millstream.find(role="transformer")])
def test_every_model_can_be_shown(name: str) -> None:
    needed = [p for p in millstream.registry.entry(name)["parameters"] if p["required"]]
    if needed or name in ("compose.Select", "compose.Drop"):
        pytest.skip("needs arguments")
    assert name.rpartition(".")[2] in shown(millstream.build({"name": name}))


def test_the_constructor_of_a_subclass_may_use_former_names_and_add_parameters() -> None:
    class Renamed(drift.ADWIN):
        def __init__(self, delta: float = 0.5, tag: str = "a") -> None:
            super().__init__(significance=delta)
            self.tag = tag

    class Tagged(linear_model.PAClassifier):
        def __init__(self, C: float = 0.5, tag: str = "a") -> None:
            super().__init__(C=C)
            self.tag = tag

    detector = Renamed(delta=0.2, tag="b")
    assert (detector.significance, detector.tag, detector.clone().tag) == (0.2, "b", "b")
    model = Tagged(0.3, tag="b")
    assert (model.clone().C, model.clone().tag, model.clone(C=0.7).C) == (0.3, "b", 0.7)


def test_signatures_and_completion_show_the_parameters() -> None:
    assert list(inspect.signature(drift.Retrain).parameters) == ["model", "detector", "warm", "warning_detector"]
    assert typing.get_type_hints(drift.ADWIN.__init__)["significance"] is float
    shown = dir(linear_model.PAClassifier())
    assert {"C", "mode", "intercept", "predict_one"} <= set(shown)
    assert not {"transform_one", *linear_model.PAClassifier.aliases} & set(shown)
    assert "anomalies" not in str(linear_model.PAClassifier.predict_many.__doc__)


@pytest.mark.parametrize("name", ["learning_rate", "lr"])
def test_parameters_of_an_optimiser_cannot_be_assigned(name: str) -> None:
    with pytest.raises(AttributeError, match=rf"SGD: {name} is fixed when the component is created; use clone"):
        setattr(optim.SGD(), name, 0.3)
