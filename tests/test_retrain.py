"""drift.Retrain: what takes a model's place, native and in Python, and that it pays."""

from __future__ import annotations

import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millstream
from millstream import base, baseline, compose, drift, evaluate, linear_model, naive_bayes, preprocessing, synth
from millstream._native import Native
from millstream.errors import MillstreamError
from odd_answers import NO_PROBABILITIES, Odd, OddNumber

BEFORE, AFTER = synth.Sine(classification_function=0), synth.Sine(classification_function=1)
ABRUPT = list(synth.Drift(BEFORE, AFTER, position=3000, width=0).take(6000))


class Counting(base.Classifier):
    """Says the class that came most often."""

    def __init__(self) -> None:
        self.counts: dict[Any, float] = {}

    def learn_one(self, x: Any, y: Any = None, w: float = 1.0) -> None:
        if x.get("poison"):
            raise ValueError("poison")
        self.counts[y] = self.counts.get(y, 0.0) + w

    def predict_proba_one(self, x: Any) -> dict[Any, float]:
        total = sum(self.counts.values())
        return {label: count / total for label, count in self.counts.items()}


def accuracy(model: Any, rows: Any = ABRUPT) -> float:
    return float(evaluate.prequential(model, rows, metrics="Accuracy", progress=False)["Accuracy"])


def test_it_beats_the_bare_model_and_warm_beats_cold() -> None:
    found: dict[str, list[float]] = {"bare": [], "cold": [], "warm": []}
    for seed in range(1, 6):
        a, b = (
            synth.Mixed(classification_function=0, seed=seed),
            synth.Mixed(classification_function=1, seed=seed + 50),
        )
        rows = list(synth.Drift(a, b, position=3000, width=0, seed=seed).take(5000))
        found["bare"].append(accuracy(naive_bayes.GaussianNB(), rows))
        for name, warm in (("cold", False), ("warm", True)):
            model = drift.Retrain(naive_bayes.GaussianNB(), drift.RDDM(), warm=warm)
            found[name].append(accuracy(model, rows))
            assert model.replaced >= 1
    means = {name: float(np.mean(values)) for name, values in found.items()}
    assert means["bare"] + 0.3 < means["cold"] < means["warm"], means
    assert all(warm > cold for warm, cold in zip(found["warm"], found["cold"], strict=True))


def test_an_abrupt_change() -> None:
    bare, retrained = naive_bayes.GaussianNB(), drift.Retrain(naive_bayes.GaussianNB(), drift.HDDM_A())
    assert accuracy(bare) + 0.1 < accuracy(retrained)
    assert retrained.replaced == 1


@pytest.mark.parametrize("warm", [True, False])
@pytest.mark.parametrize("detector", ["DDM", "ADWIN", "HDDM_W", "STEPD"])
def test_python_does_what_the_core_does(detector: str, warm: bool) -> None:
    watch = getattr(drift, detector)
    native = drift.Retrain(naive_bayes.GaussianNB(), watch(), warm=warm)
    python = drift.Retrain(Own(), watch(), warm=warm)
    assert isinstance(native, Native)
    assert not isinstance(python, Native)
    for x, y in ABRUPT[:4500]:
        assert native.step_one(x, y) == python.step_one(x, y)
        assert native.replaced == python.replaced if y else True
    assert native.growing == python.growing
    assert native.replaced == python.replaced >= 1


def test_a_second_detector_warns() -> None:
    model = drift.Retrain(
        naive_bayes.GaussianNB(), drift.ADWIN(), warning_detector=drift.ADWIN(significance=0.1, clock=1)
    )
    grew = 0
    for x, y in ABRUPT[:4000]:
        model.learn_one(x, y)
        grew += model.growing
    assert model.replaced >= 1
    assert grew > 10
    again = millstream.from_bytes(model.to_bytes())
    assert again.to_bytes() == model.to_bytes()


class Own(naive_bayes.GaussianNB):
    """Not compiled together with others."""


@pytest.mark.parametrize("make", [naive_bayes.GaussianNB, Own])
def test_its_parts_are_those_at_work(make: Any) -> None:
    model = drift.Retrain(make(), drift.ADWIN(), warning_detector=drift.DDM())
    assert (model.model.learned, model.detector.updates, model.background) == (0, 0, None)
    grew = False
    for place, (x, y) in enumerate(ABRUPT[:3400]):
        replaced = model.replaced
        model.learn_one(x, y)
        if model.growing and not grew:
            grew = True
            assert model.background.learned == 1
        if model.replaced > replaced or place % 500 == 7:
            # The active model predicts the same as the wrapper.
            assert model.model.predict_proba_one(x) == model.predict_proba_one(x)
            assert model.detector.estimation == model.inspect()["estimated_error"]
            assert model.detector.drift_detected == (model.replaced > replaced)
    assert grew
    assert model.replaced >= 1
    assert 0 < model.model.learned < 500
    # The first prediction is none, and no error.
    assert model.detector.updates == 3399
    assert 0 < model.warning_detector.updates < 500
    # Reading changes nothing, and the given components are unchanged.
    assert model.parameters["model"].learned == model.parameters["detector"].updates == 0
    assert (model.clone().learned, model.clone().model.learned) == (0, 0)
    assert "drift.ADWIN" in str(model.parameters["detector"].name)
    assert "learned" not in repr(model)
    if make is naive_bayes.GaussianNB:
        again = millstream.from_bytes(model.to_bytes())
        assert again.model.learned == model.model.learned
        assert again.detector.to_bytes() == model.detector.to_bytes()
        before = model.to_bytes()
        model.model.learn_one(*ABRUPT[0])
        model.detector.update(1.0)
        assert model.to_bytes() == before


def test_the_parts_of_one_that_was_saved_before_they_were_counted() -> None:
    model = millstream.load(Path(__file__).parent / "golden" / "format-1" / "Retrain_classifier.ms")
    x = {"a": 1.0}
    assert model.model.predict_proba_one(x) == model.predict_proba_one(x)
    assert model.model.learned == model.learned
    assert model.detector.estimation == model.inspect()["estimated_error"]
    model.learn_one(x, True)
    again = millstream.from_bytes(model.to_bytes())
    assert again.model.learned == model.learned
    assert again.detector.updates == 1


def test_warnings_of_adwin_let_a_model_grow() -> None:
    rng = np.random.default_rng(4)
    noise = rng.random(4000) < 0.2
    # A change of some labels among wrong ones, which takes several checks to find.
    edges = np.repeat([0.0, 0.7], 2000)
    a = rng.normal(size=4000)
    rows = [({"a": value}, label) for value, label in zip(a.tolist(), ((a > edges) ^ noise).tolist(), strict=True)]
    model = drift.Retrain(naive_bayes.GaussianNB(), drift.ADWIN())
    grown = []
    for x, y in rows:
        growing, replaced = model.growing, model.replaced
        model.learn_one(x, y)
        if model.replaced > replaced:
            grown.append((growing, model.model.learned))
    assert any(growing and learned > 30 for growing, learned in grown), grown


def test_better_is_no_reason_to_forget() -> None:
    # All errors, then none: ADWIN finds a change, for the better.
    detector = drift.ADWIN()
    rows = [({}, place % 2 if place < 400 else 1) for place in range(1500)]
    model = drift.Retrain(baseline.NoChange(), detector)
    told = drift.ADWIN()
    said = [model.step_one(x, y) for x, y in rows]
    wrong = [float(a != b) for a, (_, b) in zip(said[1:], rows[1:], strict=True)]
    assert len(told.update_many(wrong))
    assert told.clone().update_many(wrong).tolist()
    assert model.replaced == 0


def test_many_is_one_after_the_other() -> None:
    X = np.array([[x[0], x[1]] for x, _ in ABRUPT])
    y = np.array([y for _, y in ABRUPT])
    model = drift.Retrain(preprocessing.StandardScaler() | naive_bayes.GaussianNB(), drift.DDM())
    one, many, learned = model.clone(), model.clone(), model.clone()
    said = [one.step_one(dict(enumerate(row)), label) for row, label in zip(X.tolist(), y.tolist(), strict=True)]
    chunks = np.array_split(np.arange(len(y)), 7)
    assert np.concatenate([many.step_many(X[part], y[part]) for part in chunks])[1:].tolist() == said[1:]
    learned.learn_many(X, y)
    assert one.replaced >= 1
    assert one.inspect() == many.inspect() == learned.inspect()


def test_saved_and_pickled_it_goes_on() -> None:
    for make in (
        lambda: drift.Retrain(naive_bayes.GaussianNB(), drift.DDM()),
        lambda: drift.Retrain(Counting(), drift.HDDM_A()),
    ):
        whole, part = make(), make()
        for x, y in ABRUPT[:3500]:
            whole.learn_one(x, y)
        for x, y in ABRUPT[:3010]:
            part.learn_one(x, y)
        part = pickle.loads(pickle.dumps(part))
        for x, y in ABRUPT[3010:3500]:
            part.learn_one(x, y)
        assert part.inspect() == whole.inspect()
        assert part.predict_proba_one(ABRUPT[0][0]) == whole.predict_proba_one(ABRUPT[0][0])
        assert whole.clone().learned == 0
        assert "Retrain" in repr(whole)
        assert "<div" in whole._repr_html_()


def test_poison_changes_nothing() -> None:
    model = drift.Retrain(Counting(), drift.DDM())
    for x, y in ABRUPT[:100]:
        model.learn_one(x, y)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="poison"):
        model.learn_one({"poison": 1.0}, 1)
    assert pickle.dumps(model) == before
    with pytest.raises(ValueError, match="poison"):
        model.learn_many([ABRUPT[0][0], {"poison": 1.0}], [1, 1])
    assert model.learned == 100
    native = drift.Retrain(linear_model.LinearRegression(), drift.PageHinkley())
    native.learn_one({"a": 1.0}, 1.0)
    saved = native.to_bytes()
    for x, y in (({"a": 1e308}, -1e308), ({"a": float("inf")}, 1.0), ({"a": 1.0}, float("nan"))):
        with pytest.raises((ValueError, OverflowError)):
            native.learn_one(x, y)
        assert native.to_bytes() == saved


@pytest.mark.parametrize(("answer", "words"), NO_PROBABILITIES)
def test_an_answer_that_is_none_is_refused_in_one_line(answer: Any, words: str) -> None:
    for inner in (Odd(answer), compose.Select("a") | Odd(answer)):
        model = drift.Retrain(inner, drift.DDM())
        model.learn_many([{"a": 1.0}] * 5, [0, 1, 0, 1, 0])
        before = model.inspect(), model.learned, model.model.copy().__dict__.get("seen")
        bad = [{"a": 1.0}, {"a": 9.0}]
        said = rf"^row 1: drift.Retrain: Odd: predict_proba_one .*{words}"
        for predict in (model.predict_many, model.predict_proba_many):
            with pytest.raises(MillstreamError, match=said):
                predict(bad)
        with pytest.raises(MillstreamError, match=said):
            model.learn_many(bad, [0, 1])
        assert before == (model.inspect(), model.learned, model.model.copy().__dict__.get("seen"))


@pytest.mark.parametrize("warning_detector", [None, drift.PageHinkley()])
@pytest.mark.parametrize(
    ("answer", "x", "y", "w", "words"),
    [
        ("x", 9.0, 1.0, 1.0, "OddNumber: predict_one must return a finite number, got str 'x'"),
        (None, 9.0, 1.0, 1.0, "OddNumber: predict_one must return a finite number, got None"),
        (math.nan, 9.0, 1.0, 1.0, "OddNumber: predict_one must return a finite number, got float nan"),
        (1.0, 1.0, math.nan, 1.0, "the target must be finite, got nan"),
        (1.0, 1.0, "q", 1.0, "the target must be a number, got str 'q'"),
        (1.0, 1.0, None, 1.0, "the target is missing"),
        (1.0, 1.0, 1.0, -1.0, "the weight must be finite and not negative, got -1.0"),
    ],
)
def test_what_a_regressor_of_ones_own_is_told_and_says_is_a_number(
    answer: Any, x: float, y: Any, w: float, words: str, warning_detector: Any
) -> None:
    model = drift.Retrain(OddNumber(answer), drift.ADWIN(), warning_detector=warning_detector)
    model.learn_one({"a": 1.0}, 1.0)
    before = pickle.dumps([model.model.seen, model.learned, model.detector, model.warning_detector])
    with pytest.raises(MillstreamError, match=f"^drift.Retrain: {words}"):
        model.learn_one({"a": x}, y, w)
    assert pickle.dumps([model.model.seen, model.learned, model.detector, model.warning_detector]) == before


def test_a_regressor_is_replaced_too() -> None:
    random = np.random.default_rng(1)
    X = random.normal(size=(4000, 2))
    y = X @ [1.0, -2.0]
    y[2000:] = X[2000:] @ [-3.0, 1.0]
    bare, model = linear_model.LeastSquares(), drift.Retrain(linear_model.LeastSquares(), drift.ADWIN())
    errors = [np.abs(each.step_many(X, y) - y)[2000:].mean() for each in (bare, model)]
    assert model.role == "regressor"
    assert model.replaced >= 1
    assert errors[1] < 0.5 * errors[0]


class OwnLine(linear_model.LeastSquares):
    """Not compiled together with others."""


@pytest.mark.parametrize("make", [linear_model.LeastSquares, OwnLine])
def test_warm_is_true_or_false(make: Any) -> None:
    with pytest.raises(ValueError, match="^drift.Retrain: warm must be true or false, got 'yes'"):
        drift.Retrain(make(), drift.ADWIN(), warm="yes")  # type: ignore[arg-type]


@pytest.mark.parametrize("make", [linear_model.LeastSquares, OwnLine])
def test_a_regressor_has_errors_of_any_size(make: Any) -> None:
    with pytest.raises(MillstreamError, match="^drift.Retrain: detector must accept numbers of any size"):
        drift.Retrain(make(), drift.DDM())
    with pytest.raises(MillstreamError, match="^drift.Retrain: warning_detector must accept numbers of any size"):
        drift.Retrain(make(), drift.ADWIN(), warning_detector=drift.HDDM_A())
    drift.Retrain(make(), drift.ADWIN(), warning_detector=drift.PageHinkley()).learn_one({"a": 1.0}, 1e6)


def test_in_a_pipeline_and_with_rivers_detector() -> None:
    import river.drift

    outer = preprocessing.StandardScaler() | drift.Retrain(naive_bayes.GaussianNB(), drift.HDDM_A())
    assert accuracy(outer) > 0.8
    assert outer.role == "classifier"
    model = drift.Retrain(naive_bayes.GaussianNB(), river.drift.ADWIN())
    assert accuracy(model, ABRUPT[:4000]) > 0.7
    assert model.replaced >= 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((3, drift.DDM()), "model must be"),
        ((naive_bayes.GaussianNB(), None), "detector must be"),
        ((Counting(), None), "detector must be"),
        ((Counting(), 3), "must have update"),
        ((preprocessing.StandardScaler(), drift.DDM()), "model must be"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: Any, words: str) -> None:
    with pytest.raises(MillstreamError, match=words):
        drift.Retrain(*arguments)
    learned = naive_bayes.GaussianNB()
    learned.learn_one({"a": 1.0}, 1)
    with pytest.raises(MillstreamError, match="already learned"):
        drift.Retrain(learned, drift.DDM())
