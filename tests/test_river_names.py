"""River's names with only the import changed, and what is said where there is no equal."""

from __future__ import annotations

import numpy as np
import pytest

from millstream import (
    base,
    cluster,
    compose,
    drift,
    ensemble,
    evaluate,
    feature_extraction,
    forest,
    metrics,
    naive_bayes,
    neighbors,
    preprocessing,
    prototype,
    sketch,
    stats,
    synth,
    time_series,
    tree,
)
from millstream.errors import InvalidType, InvalidValue


def _grown() -> tree.HoeffdingTreeClassifier:
    model = tree.HoeffdingTreeClassifier(grace_period=50, delta=0.01)
    for i in range(400):
        model.learn_one({"hour": float(i % 24), "day": float(i % 7)}, i % 24 > 15)
    return model


def test_detectors_of_errors_are_in_binary_too():
    for name in ("DDM", "EDDM", "HDDM_A", "HDDM_W", "FHDDM"):
        assert getattr(drift.binary, name) is getattr(drift, name)
    assert drift.binary.HDDMA is drift.HDDM_A
    assert drift.binary.HDDMW is drift.HDDM_W


def test_drift_retraining_classifier_is_retrain():
    bayes = naive_bayes.GaussianNB
    theirs = drift.DriftRetrainingClassifier(
        model=bayes(), drift_detector=drift.binary.DDM(), train_in_background=False
    )
    assert theirs.describe() == drift.Retrain(bayes(), drift.DDM(), warm=False).describe()


@pytest.mark.parametrize(
    ("make", "name", "words"),
    [
        (tree.HoeffdingTreeClassifier, "nominal_attributes", "strings and bools are nominal"),
        (tree.HoeffdingTreeClassifier, "max_size", "max_bytes"),
        (tree.HoeffdingTreeClassifier, "nb_threshold", "nba"),
        (tree.HoeffdingTreeRegressor, "leaf_model", "linear"),
        (tree.HoeffdingTreeRegressor, "model_selector_decay", "adaptive"),
        (tree.HoeffdingAdaptiveTreeClassifier, "drift_detector", "adwin_significance"),
        (tree.HoeffdingAdaptiveTreeRegressor, "drift_detector", "adwin_significance"),
        (forest.ARFClassifier, "metric", "weighted"),
        (drift.KSWIN, "window", "update_many"),
        (neighbors.KNNClassifier, "weighted", "distance"),
        (neighbors.KNNRegressor, "aggregation_method", "distance"),
    ],
)
def test_a_parameter_that_is_not_needed_is_refused_with_advice(make, name, words):
    with pytest.raises(TypeError, match=words) as caught:
        make(**{name: 1})
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_splitter_that_is_an_object_is_refused_in_words():
    with pytest.raises(InvalidType, match="'gaussian' or 'histogram'"):
        tree.HoeffdingTreeClassifier(splitter=object())


def test_a_linear_leaf_is_called_model_too():
    for make in (tree.HoeffdingTreeRegressor, tree.HoeffdingAdaptiveTreeRegressor, forest.ARFRegressor):
        assert make(leaf_prediction="model").leaf_prediction == "linear"


def test_sizes_of_a_tree():
    model = _grown()
    nodes = model.to_dataframe()
    assert model.n_nodes == len(nodes) == model.n_leaves + model.n_branches > 1
    assert model.n_leaves == nodes["leaf"].sum()
    assert model.height == nodes["depth"].max()
    assert model.summary["n_leaves"] == model.n_leaves
    assert model.summary["learned"] == 400
    x = {"hour": 20.0, "day": 2.0}
    assert model.debug_one(x) == str(model.explain_one(x))


def test_an_unknown_nominal_value_is_told():
    model = tree.HoeffdingTreeClassifier(grace_period=50, delta=0.01)
    for i in range(600):
        model.learn_one({"job": ("clerk", "cook", "clerk")[i % 3]}, i % 3 == 1)
    assert "job unknown, goes with clerk" in str(model.explain_one({"job": "pilot"}))


def test_a_stream_of_concept_drift():
    assert synth.ConceptDriftStream is synth.Drift


def test_importances_of_forests_and_ensembles_are_the_mean_over_trees():
    rows = synth.SEA(seed=1).take(3000)
    for model in (forest.ARFClassifier(n_models=3), ensemble.Bagging(n_models=3)):
        evaluate.prequential(model, rows)
        shares = model.feature_importances
        assert set(shares) == {0, 1, 2}
        grown = [each.feature_importances for each in model if any(each.feature_importances.values())]
        if grown:
            assert sum(shares.values()) == pytest.approx(1.0)
            assert shares[0] == pytest.approx(sum(each[0] for each in grown) / len(grown))
    with pytest.raises(AttributeError):
        _ = ensemble.Bagging(naive_bayes.GaussianNB()).feature_importances


class Plain:
    """A class of the user's own that inherits nothing."""

    def learn_one(self, x, y):
        self.y = y

    def predict_one(self, x):
        return getattr(self, "y", None)


class Own(Plain, base.Classifier):
    """The same as a classifier."""


class Jumpy:
    """A detector of the user's own, without a direction."""

    drift_detected = False

    def update(self, x):
        self.drift_detected = bool(x)


def test_a_class_that_says_nothing_of_itself_is_refused():
    with pytest.raises(InvalidType, match=r"millstream\.base\.Classifier"):
        drift.Retrain(Plain(), drift.DDM())
    with pytest.raises(InvalidType, match=r"millstream\.base\.Classifier"):
        ensemble.Bagging(Plain())
    model = drift.Retrain(Own(), "drift.DDM")
    model.learn_one({}, "yes")
    model.learn_one({}, "no")
    assert model.predict_one({}) == "no"


def test_detectors_that_cannot_watch_errors_are_refused():
    rows = synth.SEA(seed=1).take(100)
    for model in (naive_bayes.GaussianNB(), Own()):
        with pytest.raises(InvalidType, match="KSTest is for rows"):
            drift.Retrain(model, drift.KSTest())
        with pytest.raises(InvalidType, match="Monitor"):
            evaluate.prequential(model, rows, detector=[drift.ADWIN(), drift.DDM()])
        with pytest.raises(InvalidType, match="KSTest is for rows"):
            evaluate.prequential(model, rows, detector=drift.KSTest())


@pytest.mark.parametrize("detector", ["drift.DDM", "ddm", Jumpy()])
def test_patches_of_own_learners_take_detectors_as_text_and_own(detector):
    model = ensemble.SRPClassifier(Own(), n_models=2, drift_detector=detector, warning_detector=detector)
    for i in range(200):
        model.learn_one({"a": i, "b": 1}, i % 3 == 0)
    assert model.predict_one({"a": 1, "b": 1}) in (True, False)


@pytest.mark.parametrize("own", [False, True])
def test_the_last_learner_of_a_stack_is_the_live_one(own):
    last = Own() if own else naive_bayes.GaussianNB()
    model = ensemble.Stacking([naive_bayes.GaussianNB()], last)
    for i in range(20):
        model.learn_one({"x": float(i % 2)}, i % 2 == 0)
    assert model.meta_model.y is False if own else model.meta_model.learned == 20
    assert own or model.meta_model.inspect() == model.inspect()["meta_model"]
    fresh = model.clone()
    assert not hasattr(fresh.meta_model, "y") if own else fresh.meta_model.learned == 0


def test_a_stack_is_not_led_astray_by_unscaled_features():
    rows = [({"a": 1e4 * (i % 7), "b": float(i % 2)}, i % 2 == 0) for i in range(600)]
    result = evaluate.prequential(ensemble.Stacking([naive_bayes.GaussianNB()]), rows, metrics="Accuracy")
    assert result["Accuracy"] > 0.95


def test_members_without_probabilities_vote_by_what_they_predict():
    sklearn = pytest.importorskip("sklearn.linear_model")
    from millstream import compat

    hinge = compat.from_sklearn(sklearn.SGDClassifier(loss="hinge"), classes=[False, True])
    for model in (ensemble.Bagging(hinge, n_models=2), ensemble.Voting([hinge.clone(), naive_bayes.GaussianNB()])):
        for i in range(50):
            model.learn_one({"x": float(i % 2) - 0.5}, i % 2 == 0)
        assert model.predict_one({"x": -0.5}) is True


def test_load_reads_a_saved_monitor(tmp_path):
    import millstream

    monitor = drift.Monitor([drift.ADWIN()])
    for place in range(100):
        monitor.update(place % 2)
    monitor.save(tmp_path / "monitor")
    again = millstream.load(tmp_path / "monitor")
    assert isinstance(again, drift.Monitor)
    assert again.labels == 100


def test_a_module_lists_its_parts(capsys):
    from millstream.cli import main

    assert main(["list", "tree"]) == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert names
    assert all(name.startswith("tree.") for name in names)


def test_parameters_of_scikit_learn_hnswlib_and_others():
    assert cluster.KMeans(3, random_state=5).seed == 5
    assert cluster.MiniBatchKMeans(3, random_state=5).seed == 5
    assert preprocessing.SparseRandomProjector(3, random_state=5).seed == 5
    assert preprocessing.GaussianRandomProjector(3, random_state=5).seed == 5
    assert neighbors.HNSW(M=8, ef=40) == neighbors.HNSW(m=8, ef_search=40)
    assert (
        prototype.RSLVQ(drift_detector=drift.ADWIN()).describe()
        == prototype.RSLVQ(detector=drift.ADWIN()).describe()
    )
    assert feature_extraction.BagOfWords(token_pattern=r"\w").transform_one("a b a") == {"a": 2, "b": 1}
    for call, words in (
        (
            lambda: preprocessing.MinMaxScaler(feature_range=(-1, 1)),
            "there is no feature_range: write low and high",
        ),
        (
            lambda: preprocessing.AdaptiveStandardScaler(window_size=9),
            "there is no window_size: older values fade",
        ),
        (lambda: cluster.KMeans(n_init=3), "there is no n_init: init gives"),
        (lambda: stats.PearsonCorr(ddof=0), "there is no ddof: it cancels out"),
        (lambda: stats.Entropy(eps=1e-8), "there is no eps: a value that does not occur"),
        (lambda: cluster.MiniBatchKMeans(max_iter=3), "there is no max_iter: each row is learned once"),
    ):
        with pytest.raises(InvalidType, match=words):
            call()


def test_a_report_has_the_numbers_of_scikit_learn():
    sklearn = pytest.importorskip("sklearn.metrics")
    random = np.random.default_rng(2)
    truth, predicted = random.choice(list("abcd"), 300), random.choice(list("abc"), 300)
    report = metrics.ClassificationReport()
    for pair in zip(truth.tolist(), predicted.tolist(), strict=True):
        report.update(*pair)
    theirs = sklearn.classification_report(truth, predicted, output_dict=True, zero_division=0)
    for label, row in report.rows().items():
        assert row == pytest.approx(tuple(theirs[label].values()))
    lines = {line.split()[0]: line.split()[1:] for line in str(report).splitlines() if line}
    for name, there in (("Macro", "macro avg"), ("Weighted", "weighted avg")):
        assert lines[name] == [f"{theirs[there][key]:.2%}" for key in ("precision", "recall", "f1-score")]
    assert report.get() == pytest.approx(theirs["accuracy"])
    assert repr(report.clone()).endswith("0.00% accuracy")


def test_metrics_of_several_outputs_by_hand_and_as_in_river():
    theirs = pytest.importorskip("river.metrics")
    truths = [{0: False, 1: True, 2: True}, {0: True, 1: True, 2: False}, {0: True, 1: True, 2: False}]
    predictions = [{0: True, 1: True, 2: True}, {0: True, 1: False, 2: False}, {0: True, 1: True, 2: False}]
    for name in ("MicroAverage", "MacroAverage", "SampleAverage"):
        one = getattr(metrics.multioutput, name)(metrics.Accuracy())
        other = getattr(theirs.multioutput, name)(theirs.Accuracy())
        for truth, predicted in zip(truths, predictions, strict=True):
            one.update(truth, predicted)
            other.update(truth, predicted)
        assert one.get() == pytest.approx(other.get())
        assert one.clone().get() == 0.0
    exact = metrics.multioutput.ExactMatch()
    for truth, predicted in zip(truths, predictions, strict=True):
        exact.update(truth, predicted)
    assert exact.get() == pytest.approx(1 / 3)
    # An output without a prediction is wrong, and so are all outputs of a row without one.
    exact.update({0: True}, {})
    exact.update({0: True}, None)
    assert exact.get() == pytest.approx(1 / 5)
    with pytest.raises(InvalidType, match="y_pred must be a dict of outputs, got 1"):
        exact.update({0: True}, 1)
    assert exact.get() == pytest.approx(1 / 5)
    each = metrics.multioutput.PerOutput(metrics.MAE())
    each.update({"a": 1.0}, {"a": 3.0})
    assert each.get()["a"].get() == 2.0


def test_a_row_of_which_one_output_cannot_be_scored_changes_nothing():
    for metric in (
        metrics.multioutput.MicroAverage(metrics.MAE()),
        metrics.multioutput.MacroAverage(metrics.MAE()),
        metrics.multioutput.PerOutput(metrics.MAE()),
        metrics.multioutput.SampleAverage(metrics.MAE()),
    ):
        metric.update({"a": 1.0, "b": 2.0}, {"a": 3.0, "b": 3.0})
        before = repr(metric)
        with pytest.raises(InvalidType, match="must be a number, got str 'x'"):
            metric.update({"a": 1.0, "c": "x"}, {"a": 9.0, "c": 1.0})
        assert repr(metric) == before
    matrix = metrics.multioutput.MultiLabelConfusionMatrix()
    with pytest.raises(InvalidType, match="must be a bool, int or str"):
        matrix.update({"a": True, "b": [1]}, {"a": True, "b": True})
    assert matrix.data == {}
    ahead = time_series.HorizonMetric(metrics.MAE())
    with pytest.raises(InvalidType, match="must be a number, got str 'x'"):
        ahead.update([1.0, "x"], [2.0, 2.0])
    assert ahead.get() == []
    with pytest.raises(InvalidType, match="HorizonMetric: metric must be a metric, got 5"):
        time_series.HorizonMetric(5)


def test_a_forecast_is_scored_with_the_value_it_is_for():
    class Last:
        def learn_one(self, y, x=None):
            self.y = y

        def forecast(self, horizon, xs=None):
            return [self.y] * horizon

    series = [({}, float(n)) for n in range(12)]
    found = evaluate.evaluate(series, Last(), metrics.MAE(), horizon=3)
    assert found.get() == [1.0, 2.0, 3.0]
    mean = evaluate.evaluate(series, Last(), metrics.MAE(), horizon=3, agg_func=max)
    assert mean.get() == 3.0
    assert repr(mean) == "max(MAE): 3"
    with pytest.raises(InvalidValue, match="horizon must be an integer >= 1"):
        evaluate.evaluate(series, Last(), metrics.MAE(), horizon=0)


def test_members_are_found_by_the_names_that_river_gives_them():
    union = compose.Select("a") + compose.Select("b")
    assert repr(union["Select1"]) == "Select('b')"
    model = union | naive_bayes.GaussianNB()
    assert model["TransformerUnion"].names == ["Select", "Select_2"]


def test_a_histogram_is_a_sequence_of_bins_and_has_a_distribution_function():
    histogram = sketch.Histogram()
    assert list(histogram.iter_cdf([0, 1])) == [0.0, 0.0]
    for x in range(4):
        histogram.update(x)
    assert list(histogram) == histogram.bins
    assert list(histogram.iter_cdf([-1, 3.5])) == [0.0, 1.0]
