"""Names of River that are here too: metrics, renaming, losses as functions, clones with a dict."""

from __future__ import annotations

import importlib
import inspect
import math
import numbers
import pkgutil

import numpy as np
import pytest

import millstream
from millstream import (
    anomaly,
    compat,
    compose,
    evaluate,
    linear_model,
    losses,
    metrics,
    naive_bayes,
    optim,
    preprocessing,
)
from millstream.errors import InvalidType, InvalidValue

river = pytest.importorskip("river")

PYTHON_METRICS = {
    "MCC": lambda module: module.MCC(),
    "Jaccard": lambda module: module.Jaccard(),
    "MacroJaccard": lambda module: module.MacroJaccard(),
    "MicroJaccard": lambda module: module.MicroJaccard(),
    "WeightedJaccard": lambda module: module.WeightedJaccard(),
    "GeometricMean": lambda module: module.GeometricMean(),
    "MutualInfo": lambda module: module.MutualInfo(),
    "MultiFBeta": lambda module: module.MultiFBeta({True: 0.5, False: 2.0}, {True: 1.0, False: 3.0}),
}


@pytest.mark.parametrize("name", PYTHON_METRICS)
def test_metrics_equal_those_of_river(name):
    from river import metrics as theirs

    ours, other = PYTHON_METRICS[name](metrics), PYTHON_METRICS[name](theirs)
    rng = np.random.default_rng(0)
    assert ours.get() == 0.0
    for y_true, y_pred in zip(rng.random(300) < 0.3, rng.random(300) < 0.4, strict=True):
        ours.update(bool(y_true), bool(y_pred))
        other.update(bool(y_true), bool(y_pred))
    assert ours.get() == pytest.approx(other.get(), rel=1e-9)
    assert ours.clone().get() == 0.0
    assert ours.copy().get() == ours.get()
    assert repr(ours).startswith(f"{name}: ")


def test_rmsle_equals_that_of_river():
    from river import metrics as theirs

    ours, other = metrics.RMSLE(), theirs.RMSLE()
    for y_true, y_pred, w in ((3.0, 2.5, 1.0), (-0.5, 0.0, 2.0), (2.0, 2.0, 1.0), (7.0, 8.0, 0.5)):
        ours.update(y_true, y_pred, w)
        other.update(y_true, y_pred, w)
    assert ours.get() == pytest.approx(other.get())
    with pytest.raises(
        InvalidValue, match=r"metrics.RMSLE: truth and prediction must be finite and above -1, got -2.0 and 1"
    ):
        ours.update(-2.0, 1)
    # Nothing has changed.
    assert ours.get() == pytest.approx(other.get())


def test_weights_and_probabilities():
    weighted, repeated = metrics.GeometricMean(), metrics.GeometricMean()
    for y_true, y_pred in (("a", "a"), ("b", "a"), ("b", "b")):
        weighted.update(y_true, {y_pred: 0.9, "c": 0.1}, 2.0)
        repeated.update(y_true, y_pred)
        repeated.update(y_true, y_pred)
    assert weighted.get() == repeated.get() == pytest.approx(math.sqrt(0.5))
    with pytest.raises(InvalidValue, match=r"w must be finite and at least 0, got -1"):
        weighted.update("a", "a", -1.0)
    metric = metrics.MultiFBeta({"a": 1.0})
    metric.update("a", "b")
    with pytest.raises(InvalidValue, match=r"metrics.MultiFBeta: betas must name each class, 'b' is missing"):
        metric.get()


def test_metrics_are_added():
    both = metrics.Accuracy() + metrics.LogLoss() + metrics.MCC()
    assert isinstance(both, metrics.Metrics)
    for y, p in ((True, 0.8), (False, 0.3), (True, 0.4)):
        both.update(y, {True: p, False: 1 - p})
    assert both.get() == [metric.get() for metric in both]
    assert repr(both).splitlines()[0] == "Accuracy: 66.67%"
    rows = [({"x": float(i % 7)}, i % 7 > 3) for i in range(300)]
    result = evaluate.prequential(naive_bayes.GaussianNB(), rows, both)
    assert list(result.values) == ["Accuracy", "LogLoss", "MCC"]
    assert metrics.CrossEntropy is metrics.LogLoss
    assert repr(metrics.RollingROCAUC(4)).startswith("Rolling(ROCAUC)")
    assert metrics.RollingPRAUC(4, pos_val="a").parameters["window_size"] == 4


def test_metrics_say_what_they_score():
    assert metrics.Accuracy().requires_labels
    assert not metrics.LogLoss().requires_labels
    assert metrics.MAE().works_with(linear_model.LinearRegression())
    assert not metrics.MAE().works_with(linear_model.LogisticRegression())
    assert metrics.ROCAUC().works_with(anomaly.HalfSpaceTrees())
    with pytest.raises(InvalidType, match="ROCAUC: there is no n_thresholds: scores are counted in 2,627 bins"):
        metrics.ROCAUC(n_thresholds=20)


def test_features_are_renamed():
    x = {"a": 1.0, "b": 2.0, 3: 4.0}
    assert compose.Prefixer("p_").transform_one(x) == {"p_a": 1.0, "p_b": 2.0, "p_3": 4.0}
    assert compose.Suffixer("_s").transform_one(x) == {"a_s": 1.0, "b_s": 2.0, "3_s": 4.0}
    assert list(compose.Renamer({"a": "z", "c": "y"}).transform_one(x).items()) == [
        ("b", 2.0),
        (3, 4.0),
        ("z", 1.0),
    ]
    model = compose.Prefixer("p_") | linear_model.LinearRegression()
    model.learn_one({"a": 1.0}, 2.0)
    assert list(model.steps[-1].weights) == ["p_a"]
    assert list(model.clone().steps[0].transform_one({"a": 1.0})) == ["p_a"]
    for make, words in (
        (lambda: compose.Prefixer(1), "compose.Prefixer: prefix must be a string, got 1"),
        (lambda: compose.Suffixer(None), "compose.Suffixer: suffix must be a string, got None"),
        (lambda: compose.Renamer("a"), "compose.Renamer: mapping must be a dict of names, got 'a'"),
        (lambda: compose.SelectType(str, int), "types must be all strings or all numbers, got str, int"),
        (lambda: compose.SelectType(), "got none"),
    ):
        with pytest.raises(InvalidType, match=words):
            make()
    found = {"a": 1.0, "b": "x", "c": True}
    # A bool is a number, as in Python.
    assert compose.SelectType(numbers.Number).transform_one(found) == {"a": 1.0, "c": 1.0}
    assert compose.SelectType(str).transform_one(found) == {"b": "x"}


def test_losses_are_functions():
    assert losses.Squared()(3.0, 5.0) == losses.Squared().value(3.0, 5.0) == 4.0
    assert losses.Squared().gradient(3.0, 5.0) == 4.0


def test_clones_with_a_dict():
    model = preprocessing.StandardScaler() | linear_model.LinearRegression(optimizer=optim.SGD(0.042))
    other = model.clone({"LinearRegression": {"optimizer": optim.SGD(0.03), "l2": 0.1}})
    assert other.steps[-1].parameters["l2"] == 0.1
    assert other.steps[-1].optimizer.learning_rate == 0.03
    assert model.steps[-1].optimizer.learning_rate == 0.042
    assert linear_model.LinearRegression().clone({"l2": 0.5}).l2 == 0.5
    mixed = (lambda x: x) | linear_model.LinearRegression()
    assert mixed.clone({"LinearRegression": {"l2": 0.2}}).steps[-1].l2 == 0.2
    with pytest.raises(AttributeError, match="use clone"):
        model.mutate({})


def test_debug_one_is_the_explanation():
    model = preprocessing.StandardScaler() | linear_model.LinearRegression()
    model.learn_one({"a": 1.0}, 2.0)
    assert model.debug_one({"a": 2.0}) == str(model.explain_one({"a": 2.0}))


def test_river_models_are_evaluated_without_conversion():
    from river import linear_model as theirs
    from river import preprocessing as before

    rows = [({"x": float(i % 7)}, i % 7 > 3) for i in range(300)]
    made = evaluate.prequential(before.StandardScaler() | theirs.LogisticRegression(), rows, "Accuracy")
    same = evaluate.prequential(
        compat.from_river(before.StandardScaler() | theirs.LogisticRegression()), rows, "Accuracy"
    )
    assert made.values == same.values
    several = evaluate.prequential(
        {"theirs": theirs.LogisticRegression(), "ours": naive_bayes.GaussianNB()}, rows, "Accuracy"
    )
    assert set(several) == {"theirs", "ours"}


def test_step_by_step_equals_the_whole():
    rows = [({"x": float(i % 7)}, i % 7 > 3) for i in range(250)]
    metric = metrics.LogLoss()
    steps = list(
        evaluate.iter_progressive_val_score(
            rows, linear_model.LogisticRegression(), metric, delay=10, step=100, yield_predictions=True
        )
    )
    assert [each["Step"] for each in steps] == [100, 200, 250]
    assert set(steps[-1]["Prediction"]) == {True, False}
    whole = evaluate.progressive_val_score(rows, linear_model.LogisticRegression(), metrics.LogLoss(), delay=10)
    assert metric.get() == pytest.approx(whole.get())
    with pytest.raises(InvalidValue, match="step must be an integer >= 1, got 0"):
        next(evaluate.iter_progressive_val_score(rows, linear_model.LogisticRegression(), metric, step=0))


def test_rows_without_a_label_are_not_learned_step_by_step():
    rows = [({"x": float(i % 7)}, i % 7 > 3 if i % 5 else None) for i in range(50)]
    model = linear_model.LogisticRegression()
    steps = list(evaluate.iter_progressive_val_score(rows, model, metrics.Accuracy(), delay=3, step=100))
    assert [each["Step"] for each in steps] == [40]
    assert model.learned == 40


def test_converters_have_their_old_names():
    from sklearn.linear_model import SGDClassifier

    model = compat.convert_sklearn_to_river(SGDClassifier(loss="log_loss"), classes=[False, True])
    model.learn_one({"x": 1.0}, True)
    assert model.predict_one({"x": 1.0}) in (False, True)
    assert hasattr(compat.convert_river_to_sklearn(naive_bayes.GaussianNB()), "fit")


def _public_names():
    for found in pkgutil.iter_modules(river.__path__):
        if found.name.startswith(("test_", "_")) or found.name in ("base", "api", "conftest"):
            continue
        module = importlib.import_module(f"river.{found.name}")
        names = getattr(module, "__all__", ())
        yield from (
            (found.name, name)
            for name in names
            if not inspect.ismodule(getattr(module, name, None)) or name in ("synth", "multioutput")
        )


def test_every_public_name_of_river_is_here_or_answered():
    silent = []
    for module, name in _public_names():
        try:
            getattr(getattr(millstream, module), name)
        except AttributeError as error:
            if ": use " not in str(error):
                silent.append(f"{module}.{name}")
    assert silent == []
