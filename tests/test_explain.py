"""Explanations of predictions, and importances beside a stream."""

from __future__ import annotations

import copy
import dataclasses
import gc
import math
import pickle
from typing import Any

import numpy as np
import pytest

from millstream import (
    anomaly,
    cluster,
    compose,
    ensemble,
    evaluate,
    explain,
    forest,
    linear_model,
    multiclass,
    naive_bayes,
    neighbors,
    optim,
    preprocessing,
    registry,
    tree,
)
from millstream._per_model import PerModel
from millstream.base import Classifier, Regressor
from millstream.errors import InvalidType, InvalidValue, UnknownName
from millstream.explain import linear, one
from millstream.stream import feature_names

ROWS = [
    ({"hour": float(i % 24), "day": float(i % 7), "carrier": "abc"[i % 3]}, (i * 7) % 24 > 15 - 4 * (i % 3 == 0))
    for i in range(1500)
]
X = {"hour": 20.0, "day": 2.0, "carrier": "b"}


def taught(model, rows=ROWS, target=lambda y: y):
    for x, y in rows:
        model.learn_one(x, target(y))
    return model


def test_a_linear_model_by_hand():
    model = taught(linear_model.LogisticRegression())
    why = model.explain_one(X, True)
    # A number adds its weight times its value, a nominal value its own weight.
    weights = model.weights
    expected = {"hour": 20 * weights["hour"], "day": 2 * weights["day"], "carrier": weights["carrier"]["b"]}
    assert why.contributions == pytest.approx(expected, rel=1e-6)
    probability = model.predict_proba_one(X)[True]
    assert why.prediction == pytest.approx(math.log(probability / (1 - probability)))
    assert (why.method, why.scale, why.label) == ("additive", "log odds", True)
    assert set(why.errors.values()) == {0.0}
    # The other class is explained by the opposite numbers.
    other = model.explain_one(X, False)
    assert other.contributions == pytest.approx({name: -value for name, value in expected.items()}, rel=1e-6)


def test_a_pipeline_is_explained_in_the_features_of_the_user():
    pipeline = preprocessing.OneHotEncoder() | preprocessing.StandardScaler() | linear_model.LinearRegression()
    model = taught(pipeline, target=float)
    why = model.explain_one(X)
    assert set(why.contributions) == set(X)
    assert why.method == "additive"
    assert why.base + sum(why.contributions.values()) == pytest.approx(model.predict_one(X))
    # The contribution of a scaled number: weight times distance from the mean in standard deviations.
    scaled = model.steps[1].transform_one(model.steps[0].transform_one(X))
    assert why.contributions["hour"] == pytest.approx(model.steps[-1].weights["hour"] * scaled["hour"], rel=1e-5)


def test_naive_bayes_by_hand():
    rows = [({"sky": "blue"}, True)] * 3 + [({"sky": "grey"}, True)] + [({"sky": "grey"}, False)] * 2
    model = taught(naive_bayes.GaussianNB(), rows)
    why = model.explain_one({"sky": "blue"}, True)
    # Without features the odds are those of the classes, 4 : 2; with the sky it is the odds of the prediction.
    assert why.base == pytest.approx(math.log(2.0))
    told = model.predict_proba_one({"sky": "blue"})
    assert why.contributions["sky"] == pytest.approx(math.log(told[True] / told[False]) - math.log(2.0))


def test_three_classes_add_to_the_log_ratio():
    model = taught(linear_model.SoftmaxRegression(), [(x, i % 3) for i, (x, _) in enumerate(ROWS)])
    why = model.explain_one(X)
    told = model.predict_proba_one(X)
    mean = sum(map(math.log, told.values())) / 3
    assert why.prediction == pytest.approx(math.log(told[why.label]) - mean)
    assert (why.method, why.scale) == ("additive", "log ratio")


class Product(Regressor):
    """Predicts the product of a and b, which are 0 if they are absent."""

    def learn_one(self, x, y=None, w=1.0):
        pass

    def predict_one(self, x):
        return x.get("a", 0.0) * x.get("b", 0.0) + x.get("c", 0.0)


def test_shapley_values_by_hand():
    # a and b are worth 6 together and nothing alone, so each gets 3; c adds 5 in any order.
    why = Product().explain_one({"a": 2.0, "b": 3.0, "c": 5.0})
    assert why.contributions == pytest.approx({"c": 5.0, "a": 3.0, "b": 3.0})
    assert (why.base, why.prediction, why.method, why.scale) == (0.0, 11.0, "exact Shapley", "number")
    # With a row (1, 1, 1) as background, of which the value is 2: 11 = 2 + 2.5 + 2.5 + 4 by the same rule, where a
    # alone adds 1 and after b adds 3, so 2; b alone adds 2 and after a adds 4, so 3.
    why = Product().explain_one({"a": 2.0, "b": 3.0, "c": 5.0}, background=[{"a": 1.0, "b": 1.0, "c": 1.0}])
    assert why.base == 2.0
    assert why.contributions == pytest.approx({"c": 4.0, "b": 3.0, "a": 2.0})


class Many(Regressor):
    """Predicts the sum of the products of neighbours."""

    def learn_one(self, x, y=None, w=1.0):
        pass

    def predict_one(self, x):
        return sum(x.get(i, 0.0) * x.get(i + 1, 0.0) for i in range(8))


@pytest.mark.parametrize("background", [None, "rows"])
def test_sampled_shapley_values_are_near_the_exact_ones(background):
    x = {i: float(i % 3) for i in range(9)}
    rows = [{i: 1.0 * (i % 2) for i in range(9)}, dict.fromkeys(range(9), 0.5)] if background else None
    why = explain.explain_one(Many(), x, background=rows, n_permutations=400, seed=1)
    assert why.method.startswith("sampled Shapley")
    assert why.base + sum(why.contributions.values()) == pytest.approx(why.prediction)
    # A feature shares each product with its neighbour.
    if background is None:
        exact = {i: sum(x[i] * x.get(j, 0.0) / 2 for j in (i - 1, i + 1) if j in x) for i in x}
        for name, value in exact.items():
            assert abs(why.contributions[name] - value) <= 5 * why.errors[name] + 1e-9
        # Orders come with their reverses, which leave no variance for products of two.
        assert max(why.errors.values()) < 1e-9
    else:
        assert max(why.errors.values()) > 0.0
    again = explain.explain_one(Many(), x, background=rows, n_permutations=400, seed=1)
    assert again == why


MODELS = {
    "linear": lambda: linear_model.LogisticRegression(),
    "margin": lambda: linear_model.PAClassifier(),
    "pipeline": lambda: preprocessing.StandardScaler() | naive_bayes.GaussianNB(),
    "products": lambda: compose.Pipeline(preprocessing.StandardScaler(), neighbors.KNNClassifier()),
    "neighbours": lambda: neighbors.KNNClassifier(),
    "forest": lambda: forest.ARFClassifier(n_models=3, seed=1),
    "bagging": lambda: ensemble.BaggingClassifier(tree.HoeffdingTreeClassifier(), n_models=3, seed=1),
    "one against the rest": lambda: multiclass.OneVsRest(linear_model.LogisticRegression()),
    "tree": lambda: tree.HoeffdingTreeClassifier(grace_period=50),
}


@pytest.mark.parametrize("name", MODELS)
def test_contributions_add_up(name):
    model = taught(MODELS[name]())
    before = model.to_bytes()
    for x in (X, {}, {"hour": 3.0}, {"unknown": 1.0, "carrier": "never seen"}, {"hour": None, "day": 1.0}):
        why = model.explain_one(x)
        assert isinstance(why, explain.Explanation)
        rest = getattr(why, "leaf_model", 0.0)
        assert why.base + sum(why.contributions.values()) + rest == pytest.approx(why.prediction, abs=1e-6)
        assert list(why.to_frame("pandas").columns) == ["feature", "value", "contribution", "standard_error"]
        assert len(why.to_frame("pandas")) == len(why.contributions)
        assert str(why)
        assert "<table>" in why._repr_html_()
        pickle.loads(pickle.dumps(why))
    # Explaining changes nothing.
    assert model.to_bytes() == before


def test_regressors_and_anomaly_detectors():
    model = taught(forest.ARFRegressor(n_models=3, seed=1), target=float)
    why = model.explain_one(X)
    assert why.prediction == model.predict_one(X)
    detector = anomaly.HalfSpaceTrees(seed=1)
    for x, _ in ROWS:
        detector.learn_one(x)
    why = detector.explain_one(X)
    assert (why.scale, why.prediction) == ("score", detector.score_one(X))


def test_a_model_that_has_learned_nothing():
    for make in MODELS.values():
        why = make().explain_one(X)
        assert all(value == pytest.approx(0.0) for value in why.contributions.values())


def test_what_cannot_be_explained():
    model = taught(linear_model.LogisticRegression())
    with pytest.raises(UnknownName, match="explain_one: label must be one of the classes False, True, got 'late'"):
        model.explain_one(X, "late")
    with pytest.raises(InvalidType, match="x must be a dict of features, got list"):
        model.explain_one([1.0])
    with pytest.raises(InvalidValue, match="background must have rows"):
        model.explain_one(X, background=[])
    with pytest.raises(InvalidValue, match="n_permutations must be an integer >= 2, got 1"):
        model.explain_one(X, n_permutations=1)
    assert not hasattr(cluster.KMeans(), "explain_one")
    with pytest.raises(InvalidType, match="model must be a classifier, a regressor or an anomaly detector"):
        explain.explain_one(cluster.KMeans(), X)


def test_names_and_values_are_escaped():
    evil = "<script>alert(1)</script>"
    model = taught(naive_bayes.GaussianNB(), [({evil: evil if i % 2 else "b"}, i % 2 == 0) for i in range(20)])
    assert "<script" not in model.explain_one({evil: evil})._repr_html_()


def test_plots():
    axes = taught(naive_bayes.GaussianNB()).explain_one(X, True).plot()
    assert axes.get_xlabel() == "contribution to the log odds of True"
    assert len(axes.patches) == 3


# Importances beside a stream.


def stream(rows=4000, seed=0, change=None):
    rng = np.random.default_rng(seed)
    for i in range(rows):
        a, b, c = rng.normal(size=3)
        yield {"a": a, "b": b, "c": c}, 2.0 * (a if change is None or i < change else b) + 0.1 * rng.normal()


class Known(Regressor):
    """Predicts 2 a."""

    def learn_one(self, x, y=None, w=1.0):
        pass

    def predict_one(self, x):
        return 2.0 * x["a"]


def test_importances_have_their_expected_values():
    # With y = 2 a and a of variance 1: if a is permuted, the mean squared error rises by the variance
    # of 2 (a - a'), which is 8; a explains the variance of 2 a, 4.
    permuted = explain.PermutationImportance(Known(), decay=0.0, seed=1, reservoir_size=1000)
    shared = explain.SAGE(Known(), decay=0.0, seed=1, reservoir_size=1000)
    for x, y in stream():
        permuted.learn_one(x, y)
        shared.learn_one(x, y)
    for model, expected in ((permuted, 8.0), (shared, 4.0)):
        found, errors = model.importances, model.errors
        assert next(iter(found)) == "a"
        assert abs(found["a"] - expected) < 4 * errors["a"]
        assert errors["a"] < 0.05 * expected
        for name in ("b", "c"):
            assert abs(found[name]) <= 4 * errors[name] + 1e-12


def test_features_that_say_the_same_share_their_importance():
    class Either(Regressor):
        """Predicts a + b."""

        def learn_one(self, x, y=None, w=1.0):
            pass

        def predict_one(self, x):
            return x["a"] + x["b"]

    model = explain.SAGE(Either(), decay=0.0, n_samples=10, reservoir_size=1000)
    for x, y in stream(2000):
        model.learn_one({"a": x["a"], "b": x["a"]}, y)
    assert model.importances["a"] == pytest.approx(model.importances["b"], abs=0.5)
    assert sum(model.importances.values()) == pytest.approx(4.0, rel=0.15)


@pytest.mark.parametrize("kind", [explain.PermutationImportance, explain.SAGE])
def test_importances_follow_a_change(kind):
    model = kind(linear_model.LinearRegression(optimizer=optim.SGD(0.05)), decay=0.01, seed=1)
    for i, (x, y) in enumerate(stream(3000, change=1500)):
        model.learn_one(x, y)
        if i == 1499:
            before = model.importances
    assert before["a"] > 10 * abs(before["b"])
    assert model.importances["b"] > 10 * abs(model.importances["a"])
    frame = model.to_frame("pandas", over_time=True)
    assert set(frame["feature"]) == {"a", "b", "c"}
    assert len(model._points) <= 200
    assert model.plot().get_ylabel() == model.about
    assert len(model.plot(over_time=False).patches) == 3
    assert next(iter(model.to_frame("pandas")["feature"])) == "b"


@pytest.mark.parametrize("kind", [explain.PermutationImportance, explain.SAGE])
def test_importances_beside_an_evaluation(kind):
    rows = [(x, y > 0) for x, y in stream(1500)]
    alone = evaluate.prequential(linear_model.LogisticRegression(), rows, "LogLoss")
    beside = evaluate.prequential(kind(linear_model.LogisticRegression(), seed=2), rows, "LogLoss")
    # The model predicts and learns as it would alone.
    assert beside["LogLoss"] == pytest.approx(alone["LogLoss"], rel=1e-12)
    model = beside.model
    assert model.importances["a"] > 5 * abs(model.importances["c"])
    other = pickle.loads(pickle.dumps(model))
    assert other.importances == model.importances
    for x, y in rows[:50]:
        other.learn_one(x, y)
        model.learn_one(x, y)
    assert other.importances == model.importances
    assert "importance" in repr(model)
    assert "<table>" in model._repr_html_()


@pytest.mark.parametrize("kind", [explain.PermutationImportance, explain.SAGE])
def test_a_refused_row_changes_nothing(kind):
    model = kind(linear_model.LinearRegression(), seed=1)
    other = kind(linear_model.LinearRegression(), seed=1)
    for i, (x, y) in enumerate(stream(300)):
        if i % 50 == 10:
            with pytest.raises(InvalidValue):
                model.learn_one(x, math.inf)
        model.learn_one(x, y)
        other.learn_one(x, y)
    assert model.importances == other.importances


def test_importances_are_bounded_and_features_may_come_and_go():
    model = explain.PermutationImportance(linear_model.LinearRegression(), max_features=5, reservoir_size=10)
    for i in range(500):
        model.learn_one({f"f{i}": 1.0, "a": float(i % 5)}, float(i % 5))
    assert len(model.importances) == 5
    assert len(model._rows) == 10
    assert "a" in model.importances


def test_faulty_settings():
    for kind in (explain.PermutationImportance, explain.SAGE):
        name = f"explain.{kind.__name__}"
        with pytest.raises(InvalidType, match=f"{name}: model must be a classifier or a regressor"):
            kind(cluster.KMeans())
        for words, settings in (
            ("decay must be in", {"decay": 1.0}),
            ("reservoir_size must be an integer >= 1, got 0", {"reservoir_size": 0}),
            ("every must be", {"every": 0}),
            ("loss must be auto or log or zero_one, got 'squared'", {"loss": "squared"}),
        ):
            with pytest.raises(InvalidValue, match=f"{name}: {words}"):
                kind(naive_bayes.GaussianNB(), **settings)
    with pytest.raises(InvalidValue, match="n_samples must be an integer in .1, 100,000., got 0"):
        explain.SAGE(naive_bayes.GaussianNB(), n_samples=0)


def test_own_classifiers_are_explained():
    class Own(Classifier):
        """Certain of its own."""

        def learn_one(self, x, y=None, w=1.0):
            pass

        def predict_proba_one(self, x):
            p = 0.9 if x.get("a", 0.0) > 0 else 0.2
            return {"yes": p, "no": 1 - p}

    why = Own().explain_one({"a": 1.0, "b": 2.0})
    assert why.contributions == pytest.approx({"a": math.log(9) - math.log(0.25), "b": 0.0})


@pytest.mark.parametrize("kind", [explain.PermutationImportance, explain.SAGE])
def test_bad_examples_are_refused_in_one_line_and_change_nothing(kind: Any) -> None:
    model = kind(linear_model.LinearRegression())
    for number in range(5):
        model.learn_one({"a": float(number)}, float(number))
    before = model.model.to_bytes(), model.importances
    with pytest.raises(InvalidType, match="an example must be a dict, got None"):
        model.learn_one(None, 1.0)
    for y in ("high", [1.0]):
        with pytest.raises(InvalidType, match="the target must be"):
            model.learn_one({"a": 1.0}, y)
    assert (model.model.to_bytes(), model.importances) == before
    with pytest.raises(InvalidValue, match="seed must be an integer >= 0, got -1"):
        kind(linear_model.LinearRegression(), seed=-1)


def test_an_explanation_of_a_tree_without_splits_shows_the_path_in_html():
    model = tree.HoeffdingTreeClassifier()
    for n in range(20):
        model.learn_one({"<b>": float(n)}, n % 4)
    why = model.explain_one({"<b>": 1.0}, 0)
    assert why.title == "probability of 0"
    shown = why._repr_html_()
    for cell in ("path", "fraction of class 0", "all examples", "0.250", "the leaf&#x27;s model"):
        assert f">{cell}<" in shown
    for n in range(2000):
        model.learn_one({"<b>": float(n % 9)}, n % 9 // 5)
    shown = model.explain_one({"<b>": 1.0}, 0)._repr_html_()
    assert "&lt;b&gt; &lt;=" in shown or "&lt;b&gt; ≤" in shown or "&lt;b&gt; &gt;" in shown
    assert "<b>" not in shown
    assert "contribution to the probability of 0" in shown


def test_a_linear_model_that_is_certain_is_explained_exactly():
    model = linear_model.LogisticRegression()
    for i in range(200):
        model.learn_one({"a": 1e3 * (i % 5), "b": float(i % 3), "c": "uvw"[i % 3]}, i % 5 > 2)
    x = {"a": 4e3, "b": 1.0, "c": "v"}
    assert model.predict_proba_one(x)[True] == 1.0
    found = model.explain_one(x)
    assert found.method == "additive"
    assert sum(found.contributions.values()) + found.base == pytest.approx(model.score_one(x), rel=1e-9)
    assert found.contributions["a"] == pytest.approx(model.weights["a"] * 4e3, rel=1e-9)
    # For the other class, all contributions have the opposite sign.
    other = model.explain_one(x, False)
    assert other.contributions["a"] == pytest.approx(-found.contributions["a"])


# What is kept between explanations.


def told(why):
    return why.label, why.scale, why.method, why.base, why.prediction, list(why.contributions.items()), why.values


@pytest.mark.parametrize(
    "make",
    [
        lambda: preprocessing.StandardScaler() | linear_model.LogisticRegression(),
        lambda: tree.HoeffdingTreeClassifier(grace_period=50),
        lambda: tree.HoeffdingAdaptiveTreeClassifier(grace_period=50),
        lambda: tree.HoeffdingTreeRegressor(grace_period=50),
        lambda: forest.ARFClassifier(n_models=3, seed=1),
    ],
)
def test_explanations_follow_learning(make):
    model = make()
    seen = []
    for start in range(0, 1500, 150):
        taught(model, ROWS[start : start + 150])
        seen.append(told(model.explain_one(X)))
        assert seen[-1] == told(model.explain_one(X))
        # A copy has never been explained.
        assert seen[-1] == told(model.copy().explain_one(X))
        model.learn_one(X, start % 20 == 0)
        assert told(model.explain_one(X)) == told(model.copy().explain_one(X))
    assert len({str(each) for each in seen}) == len(seen)


def test_the_explanation_of_a_tree_follows_a_return_to_an_earlier_state():
    model = taught(tree.HoeffdingTreeClassifier(grace_period=50), ROWS[:700])
    before = model.copy()
    model.learn_one(X, True)
    first = model.explain_one(X, True)
    model._copy_from(before)
    model.learn_one(X, False)
    # As many examples as before, but others.
    second = model.explain_one(X, True)
    assert told(second) == told(model.copy().explain_one(X, True))
    assert second.share < first.share


@pytest.mark.parametrize("learner", sorted(linear.LEARNERS))
def test_linear_models_are_explained_as_by_the_test_for_additivity(learner, monkeypatch):
    numeric = [({"hour": x["hour"], "day": x["day"], "late": float(y)}, y) for x, y in ROWS[:400]]
    for transformer in (None, *sorted(linear.TRANSFORMERS)):
        model = registry.build({"name": learner})
        if transformer is not None:
            model = registry.build({"name": transformer}) | model
        taught(model, numeric, float if isinstance(model, Regressor) else bool)
        assert linear.layout_of(model).additive == model.role
        for x in (numeric[3][0], numeric[17][0], {}, {"day": 2.0, "unknown": 1.0}):
            found = model.explain_one(x)
            with monkeypatch.context() as patch:
                patch.setattr(linear, "explained", lambda *_: None)
                tested = model.explain_one(x)
            assert (found.label, found.scale, found.method) == (tested.label, tested.scale, tested.method)
            assert found.contributions == pytest.approx(tested.contributions, rel=1e-9, abs=1e-9)
            assert (found.base, found.prediction) == pytest.approx((tested.base, tested.prediction))


def test_a_linear_model_with_its_own_verb_is_tested_for_additivity():
    class Own(linear_model.LinearRegression):
        """Predicts the product of a and b."""

        def predict_one(self, x):
            return x.get("a", 0.0) * x.get("b", 0.0)

    assert linear.layout_of(Own()).additive is None
    assert Own().explain_one({"a": 2.0, "b": 3.0}).contributions == {"a": 3.0, "b": 3.0}
    # Counts have no additive link: the sum of the contributions is not the prediction.
    counts = linear_model.LinearRegression(loss="poisson")
    taught(counts, [({"a": float(i % 3), "b": float(i % 2)}, i % 3 + i % 2) for i in range(300)])
    assert counts.explain_one({"a": 2.0, "b": 1.0}).method == "exact Shapley"


def test_an_explained_model_may_be_given_names_of_columns():
    model = taught(linear_model.LogisticRegression(), [({0: float(i % 5), 1: 1.0}, i % 5 > 2) for i in range(100)])
    assert set(model.explain_one({0: 4.0, 1: 1.0}).contributions) == {0, 1}
    model.feature_names = feature_names._restored({0: ["size"], 1: ["weight"]})
    assert set(model.explain_one({0: 4.0, 1: 1.0}).contributions) == {"size", "weight"}


def test_a_subset_of_features_is_predicted_once():
    asked = []

    class Counted(Many):
        """Records its examples."""

        def predict_one(self, x):
            asked.append(frozenset(x))
            return super().predict_one(x)

    x = {i: float(i % 3 + 1) for i in range(9)}
    why = Counted().explain_one(x)
    # The test for additivity has asked for some of them already.
    assert len(asked) <= len(set(asked)) + 6
    gains = one._gains_over_rows(Many().predict_one, x, [{}], 32, 0)
    assert (one._gains_of_subsets(Many().predict_one, x, 32, 0) == gains).all()
    assert list(why.contributions.values()) == sorted(gains.mean(axis=0).tolist(), key=lambda size: -abs(size))


def test_an_explanation_sorts_its_contributions_when_they_are_read():
    model = taught(linear_model.LogisticRegression())
    why, other = model.explain_one(X, True), model.explain_one(X, True)
    restored = pickle.loads(pickle.dumps(other))
    assert "contributions" not in vars(why)
    assert why == restored == copy.deepcopy(why)
    sizes = list(map(abs, why.contributions.values()))
    assert sizes == sorted(sizes, reverse=True)
    assert dataclasses.replace(why, scale="score").errors == dict.fromkeys(why.contributions, 0.0)
    with pytest.raises(AttributeError, match="no attribute 'share'"):
        _ = why.share


def test_values_are_kept_for_the_models_that_exist():
    kept: PerModel[int] = PerModel(most=3)
    models = [linear_model.LogisticRegression() for _ in range(5)]
    for place, model in enumerate(models):
        kept.set(model, place)
    assert [kept.get(model) for model in models] == [None, None, 2, 3, 4]
    kept.drop(models[3])
    assert kept.get(models[3]) is None
    del model, models
    gc.collect()
    assert len(kept) == 0
