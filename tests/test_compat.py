"""Our models in River and scikit-learn, and theirs among ours."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
import river.base
import river.checks
import river.compose
import river.datasets
import river.dummy
import river.ensemble
import river.evaluate
import river.linear_model
import river.metrics
import river.multiclass
import river.naive_bayes
import river.preprocessing
import river.utils
import sklearn.base
import sklearn.cluster
import sklearn.datasets
import sklearn.decomposition
import sklearn.ensemble
import sklearn.linear_model
import sklearn.metrics
import sklearn.model_selection
import sklearn.naive_bayes
import sklearn.neural_network
import sklearn.pipeline
import sklearn.preprocessing
import sklearn.utils
from sklearn.utils.estimator_checks import check_estimator

import millstream
from millstream import baseline, compat, compose, linear_model, multiclass, naive_bayes, optim, preprocessing
from millstream.base import Classifier, Regressor, Transformer


def logistic():
    return preprocessing.StandardScaler() | linear_model.LogisticRegression()


class Mean(Regressor):
    """A regressor of a user's own."""

    def __init__(self, start=0.0):
        self.start, self.n, self.total = start, 0, start

    def learn_one(self, x, y, w=1.0):
        self.n, self.total = self.n + w, self.total + w * y

    def predict_one(self, x):
        return self.total / self.n if self.n else self.start


class Nearest(Classifier):
    """A classifier of a user's own that has no probabilities: the class of the nearest class mean."""

    def __init__(self):
        self.means = {}

    def learn_one(self, x, y, w=1.0):
        n, sums = self.means.setdefault(y, (0, {}))
        self.means[y] = (n + 1, {key: sums.get(key, 0.0) + value for key, value in x.items()})

    def predict_one(self, x):
        def far(y):
            n, sums = self.means[y]
            return sum((value - sums.get(key, 0.0) / n) ** 2 for key, value in x.items())

        return min(self.means, key=far, default=None)


class Half(Transformer):
    def transform_one(self, x):
        return {f"half {name}": value / 2 for name, value in x.items()}


def phishing(n=400):
    return list(river.datasets.Phishing().take(n))


# Without the peers


def test_millstream_imports_no_peer():
    code = (
        "import sys, millstream\n"
        "millstream.compat.to_river, millstream.compat.from_sklearn\n"
        "loaded = {name.partition('.')[0] for name in sys.modules}\n"
        "assert not loaded & {'river', 'sklearn', 'pandas', 'scipy'}, loaded\n"
        "sys.modules['river'] = sys.modules['sklearn'] = None\n"
        "model = millstream.linear_model.LogisticRegression()\n"
        "packages = {'to_river': 'river', 'from_river': 'river',\n"
        "            'to_sklearn': 'scikit-learn', 'from_sklearn': 'scikit-learn'}\n"
        "for function, package in packages.items():\n"
        "    try:\n"
        "        getattr(millstream.compat, function)(model)\n"
        "    except ImportError as error:\n"
        "        assert str(error) == f'compat.{function} needs {package}: pip install {package}', error\n"
        "    else:\n"
        "        raise AssertionError(function)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("function", [compat.to_river, compat.to_sklearn])
@pytest.mark.parametrize(
    "model", [optim.SGD(), 3, linear_model.LogisticRegression, "linear_model.LogisticRegression"]
)
def test_what_is_no_model_is_refused(function, model):
    with pytest.raises(TypeError, match="model must be a classifier, a regressor or a transformer of millstream"):
        function(model)


# Ours for River


def river_models():
    yield "logistic", logistic()
    yield "scaler", preprocessing.StandardScaler()
    yield "own regressor", Mean()
    yield "own transformer", Half()
    yield "linear", preprocessing.StandardScaler() | linear_model.LinearRegression()
    yield "softmax", preprocessing.StandardScaler() | linear_model.SoftmaxRegression()
    yield (
        "one against the rest",
        preprocessing.StandardScaler() | multiclass.OneVsRest(linear_model.LogisticRegression()),
    )
    yield "bayes", naive_bayes.GaussianNB()
    yield "majority", baseline.MajorityClass()
    yield "min-max", preprocessing.MinMaxScaler()
    yield "imputer", preprocessing.Imputer()


@pytest.mark.slow
@pytest.mark.parametrize(("title", "model"), list(river_models()))
def test_rivers_own_checks_pass(title, model):
    river.checks.check_estimator(compat.to_river(model))


def test_rivers_evaluation_gives_our_own_loops_figure():
    ours, wrapped = logistic(), compat.to_river(logistic())
    metric = river.metrics.Accuracy()
    for x, y in phishing():
        if (predicted := ours.step_one(x, y)) is not None:
            metric.update(y, predicted)
    score = river.evaluate.progressive_val_score(phishing(), wrapped, river.metrics.Accuracy())
    assert score.get() == metric.get()
    assert wrapped.model.to_bytes() == ours.to_bytes()


def test_evaluation_by_probability():
    score = river.evaluate.progressive_val_score(phishing(), compat.to_river(logistic()), river.metrics.ROCAUC())
    theirs = river.preprocessing.StandardScaler() | river.linear_model.LogisticRegression()
    expected = river.evaluate.progressive_val_score(phishing(), theirs, river.metrics.ROCAUC())
    assert score.get() == pytest.approx(expected.get(), abs=0.01)


def test_in_a_pipeline_of_river():
    mixed = river.preprocessing.StandardScaler() | compat.to_river(linear_model.LogisticRegression())
    ours = compat.to_river(logistic())
    turned = compat.to_river(preprocessing.StandardScaler()) | river.linear_model.LogisticRegression()
    for x, y in phishing(200):
        for model in (mixed, ours, turned):
            model.learn_one(x, y)
    for x, _ in phishing(50):
        expected = ours.predict_proba_one(x)
        assert mixed.predict_proba_one(x) == pytest.approx(expected, rel=1e-9)
        assert turned.predict_proba_one(x) == pytest.approx(expected, rel=1e-9)


def test_in_ensembles_of_river():
    for ensemble in (
        river.ensemble.BaggingClassifier(compat.to_river(logistic()), n_models=3, seed=1),
        river.ensemble.AdaBoostClassifier(compat.to_river(logistic()), n_models=3, seed=1),
        river.ensemble.ADWINBaggingClassifier(compat.to_river(logistic()), n_models=3, seed=1),
    ):
        assert river.evaluate.progressive_val_score(phishing(), ensemble, river.metrics.Accuracy()).get() > 0.8
    many = river.multiclass.OneVsRestClassifier(compat.to_river(logistic()))
    images = river.datasets.ImageSegments().take(500)
    assert river.evaluate.progressive_val_score(images, many, river.metrics.Accuracy()).get() > 0.6


def test_mini_batches_equal_single_rows_exactly():
    rows = phishing(300)
    X, y = pd.DataFrame([x for x, _ in rows], index=range(1000, 1300)), pd.Series([y for _, y in rows])
    one, many = compat.to_river(logistic()), compat.to_river(logistic())
    assert many.predict_many(X[:2]).tolist() == [None, None]
    assert many.predict_proba_many(X[:2]).to_dict("list") == {False: [0.5, 0.5], True: [0.5, 0.5]}
    for x, label in rows:
        one.learn_one(x, label)
    many.learn_many(X, y)
    assert many.model.to_bytes() == one.model.to_bytes()
    predicted, probabilities = many.predict_many(X), many.predict_proba_many(X)
    assert predicted.index.equals(X.index)
    assert predicted.tolist() == [one.predict_one(x) for x, _ in rows]
    assert probabilities.to_dict("records") == [one.predict_proba_one(x) for x, _ in rows]


def test_the_river_estimator_learns_in_the_model_given():
    model = logistic()
    wrapped = compat.to_river(model)
    wrapped.learn_one({"x": 1.0}, "yes", w=2.0)
    assert model.learned == 1
    assert wrapped.model is model
    assert wrapped.clone().model.learned == 0
    assert wrapped.clone(include_attributes=True).model.learned == 1
    assert pickle.loads(pickle.dumps(wrapped)).model.to_bytes() == model.to_bytes()
    assert wrapped._raw_memory_usage == model.memory


def test_parameters_by_rivers_clone_and_grid():
    wrapped = compat.to_river(logistic())
    changed = wrapped.clone({"LogisticRegression": {"l2": 0.1, "optimizer": {"learning_rate": 0.5}}})
    assert changed.model.steps[1].parameters["l2"] == 0.1
    assert changed.model.steps[1].parameters["optimizer"] == optim.SGD(0.5)
    alone = compat.to_river(linear_model.LogisticRegression())
    grid = river.utils.expand_param_grid(alone, {"l2": [0.0, 0.1], "optimizer": [optim.SGD(0.1), optim.SGD(0.2)]})
    assert [(m.model.parameters["l2"], m.model.parameters["optimizer"].learning_rate) for m in grid] == [
        (0.0, 0.1),
        (0.0, 0.2),
        (0.1, 0.1),
        (0.1, 0.2),
    ]
    with pytest.raises(ValueError, match="no parameter 'l3'"):
        wrapped.clone({"LogisticRegression": {"l3": 1.0}})
    with pytest.raises(ValueError, match="not a mutable attribute"):
        wrapped.mutate({"model": None})


# River's for us


def test_a_river_classifier_among_ours():
    rows = phishing(300)
    theirs = river.preprocessing.StandardScaler() | river.linear_model.LogisticRegression()
    wrapped = compat.from_river(theirs.clone())
    assert wrapped.role == "classifier"
    predicted = wrapped.step_many([x for x, _ in rows], [y for _, y in rows], proba=True)
    for row, (x, y) in enumerate(rows):
        expected = theirs.predict_proba_one(x)
        assert dict(zip([False, True], predicted[row], strict=True)) == expected
        theirs.learn_one(x, y)
    assert wrapped.predict_one(rows[0][0]) == theirs.predict_one(rows[0][0])
    for again in (copy.deepcopy(wrapped), wrapped.copy(), pickle.loads(pickle.dumps(wrapped))):
        assert again.predict_proba_one(rows[0][0]) == theirs.predict_proba_one(rows[0][0])
        again.learn_one(*rows[0])
    assert wrapped.predict_proba_one(rows[0][0]) == theirs.predict_proba_one(rows[0][0])
    assert wrapped.clone().predict_proba_one(rows[0][0]) == {False: 0.5, True: 0.5}
    assert repr(wrapped).startswith("from_river(Pipeline ( StandardScaler (")
    assert wrapped.memory > 100


@pytest.mark.slow
def test_theirs_compose_with_ours():
    rows = phishing(200)
    X, y = pd.DataFrame([x for x, _ in rows]), [y for _, y in rows]
    ours = logistic()
    expected = ours.step_many(X, y)
    scaler = compat.from_river(river.preprocessing.StandardScaler())
    for mixed in (
        scaler | linear_model.LogisticRegression(),
        preprocessing.StandardScaler() | compat.from_river(compat.to_river(linear_model.LogisticRegression())),
        compat.from_sklearn(sklearn.preprocessing.StandardScaler()) | linear_model.LogisticRegression(),
    ):
        assert mixed.role == "classifier"
        assert mixed.clone().step_many(X, y)[5:].tolist() == expected[5:].tolist()
        mixed.learn_many(X, y)
        for again in (mixed, copy.deepcopy(mixed), pickle.loads(pickle.dumps(mixed))):
            assert again.predict_proba_one(rows[0][0]) == pytest.approx(
                ours.predict_proba_one(rows[0][0]), rel=1e-9
            )
        assert mixed.clone().predict_one(rows[0][0]) is None
    wide = compat.from_river(river.preprocessing.MinMaxScaler()) + preprocessing.StandardScaler()
    assert set(wide.transform_one({"a": 1.0})) >= {"a"}
    estimator = compat.to_sklearn(scaler | linear_model.LogisticRegression()).fit(X, y)
    assert estimator.predict(X).tolist() == ours.predict_many(X).tolist()
    back = compat.to_river(preprocessing.StandardScaler() | compat.from_river(river.naive_bayes.GaussianNB()))
    assert river.evaluate.progressive_val_score(phishing(), back, river.metrics.Accuracy()).get() > 0.8
    river.checks.check_estimator(back)


def test_weights_of_river_models():
    weighted = compat.from_river(river.linear_model.LinearRegression())
    weighted.learn_one({"x": 1.0}, 2.0, w=3.0)
    expected = river.linear_model.LinearRegression()
    expected.learn_one({"x": 1.0}, 2.0, w=3.0)
    assert weighted.predict_one({"x": 1.0}) == expected.predict_one({"x": 1.0})
    plain = compat.from_river(river.naive_bayes.GaussianNB())
    plain.learn_one({"x": 1.0}, "a", w=0.0)
    assert plain.predict_proba_one({"x": 1.0}) == {}
    with pytest.raises(ValueError, match=r"takes no sample weights, got 2\.0"):
        plain.learn_one({"x": 1.0}, "a", w=2.0)
    with pytest.raises(ValueError, match="not negative, got -1"):
        weighted.learn_one({"x": 1.0}, 2.0, w=-1.0)


def test_clone_with_changes_and_what_river_offers_beside():
    model = compat.from_river(river.linear_model.LinearRegression())
    assert model.clone(l2=0.5).estimator.l2 == 0.5
    assert compat.from_river(river.preprocessing.StandardScaler()).role == "transformer"
    union = river.compose.Select("a") + river.compose.Select("b")
    assert compat.from_river(union).transform_one({"a": 1, "b": 2, "c": 3}) == {"a": 1, "b": 2}
    assert compat.from_river(union | river.linear_model.LinearRegression()).role == "regressor"
    for other in (river.metrics.Accuracy(), logistic(), 3):
        with pytest.raises(TypeError, match="model must be a River classifier, regressor or transformer"):
            compat.from_river(other)


def test_there_and_back():
    rows = phishing(100)
    back = compat.from_river(compat.to_river(logistic()))
    ours = logistic()
    X, y = [x for x, _ in rows], [y for _, y in rows]
    assert np.array_equal(back.step_many(X, y), ours.step_many(X, y))
    again = compat.from_sklearn(compat.to_sklearn(logistic()), classes=[False, True])
    assert np.array_equal(again.step_many(X, y)[5:], ours.clone().step_many(X, y)[5:])


# Ours for scikit-learn


def sklearn_models():
    for title, model in river_models():
        if title != "own transformer":
            yield title, model
    yield "logistic, unscaled", linear_model.LogisticRegression()
    yield "linear, unscaled", linear_model.LinearRegression()
    yield "prior", baseline.Prior()
    yield "mean", baseline.TargetMean()


@pytest.mark.slow
@pytest.mark.parametrize(("title", "model"), list(sklearn_models()))
def test_check_estimator_passes_with_no_exception_to_it(title, model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(compat.to_sklearn(model), on_fail=None)
    # A mean of targets does not predict well, and a class of the user's own cannot say so.
    excused = {"check_regressors_train"} if isinstance(model, Mean) else set()
    failed = {result["check_name"] for result in results if result["status"] not in ("passed", "skipped")}
    assert failed <= excused
    assert sum(result["status"] == "passed" for result in results) > 40


@pytest.fixture(scope="module")
def cancer():
    return sklearn.datasets.load_breast_cancer(return_X_y=True)


def test_fit_is_one_pass_in_order_from_the_beginning(cancer):
    X, y = cancer
    ours = logistic()
    ours.learn_many(X, y)
    estimator = compat.to_sklearn(logistic())
    assert estimator.fit(X, y).fit(X, y).model_.to_bytes() == ours.to_bytes()
    assert estimator.model.learned == 0
    parts = compat.to_sklearn(logistic())
    for rows in np.array_split(np.arange(len(X)), 7):
        parts.partial_fit(X[rows], y[rows], classes=[0, 1])
    assert parts.model_.to_bytes() == ours.to_bytes()
    assert np.array_equal(parts.predict(X), ours.predict_many(X))
    assert np.array_equal(parts.predict_proba(X), ours.predict_proba_many(X)[:, np.argsort(ours.classes)])
    assert np.array_equal(parts.decision_function(X) > 0, parts.predict(X) == 1)
    assert parts.score(X, y) > 0.95


def test_labels_of_any_kind_sorted_as_scikit_learn_wants(cancer):
    X, y = cancer
    expected = compat.to_sklearn(logistic()).fit(X, y).predict_proba(X)
    for names in (
        np.array(["b", "a"]),
        np.array(["b", "a"], dtype=object),
        np.array([True, False]),
        np.array([7.0, 3.0]),
    ):
        estimator = compat.to_sklearn(logistic()).fit(X, names[y])
        assert estimator.classes_.tolist() == sorted(names.tolist())
        assert estimator.classes_.dtype == estimator.predict(X).dtype == names.dtype
        assert estimator.predict_proba(X)[:, ::-1] == pytest.approx(expected, rel=1e-9, abs=1e-12)
        assert sklearn.metrics.roc_auc_score(names[y] == names[0], estimator.decision_function(X)) > 0.98


def test_classes_may_grow_in_partial_fit_unless_they_are_given(cancer):
    X, y = cancer
    estimator = compat.to_sklearn(logistic()).partial_fit(X[:10], np.ones(10, dtype=int))
    assert estimator.classes_.tolist() == [1]
    estimator.partial_fit(X[10:60], y[10:60])
    assert estimator.classes_.tolist() == [0, 1]
    with pytest.raises(ValueError, match="learns 2 classes, got 2 beside"):
        estimator.partial_fit(X[60:62], [1, 2])
    assert estimator.classes_.tolist() == [0, 1]
    fixed = compat.to_sklearn(logistic()).partial_fit(X[:10], y[:10], classes=[0, 1])
    with pytest.raises(ValueError, match=r"y has the class .*2.*, which is not among the classes \[0, 1\]"):
        fixed.partial_fit(X[:2], [1, 2])
    with pytest.raises(ValueError, match="is not the same as on last call"):
        fixed.partial_fit(X[:2], [0, 1], classes=[0, 1, 2])


def test_a_learner_of_two_classes_becomes_one_of_many():
    X, y = sklearn.datasets.load_iris(return_X_y=True)
    X, y = sklearn.utils.shuffle(X, y, random_state=1)
    estimator = compat.to_sklearn(logistic()).fit(X, y)
    assert estimator.model_.steps[1].name == "multiclass.OneVsRest"
    assert estimator.score(X, y) > 0.75
    assert not hasattr(estimator, "decision_function")
    expected = preprocessing.StandardScaler() | multiclass.OneVsRest(linear_model.LogisticRegression())
    expected.learn_many(X, y)
    assert np.array_equal(estimator.predict(X), expected.predict_many(X))


def test_sample_weights_by_keyword(cancer):
    X, y = cancer
    w = np.linspace(0.0, 2.0, len(X))
    ours = logistic()
    ours.learn_many(X, y, w)
    assert compat.to_sklearn(logistic()).fit(X, y, sample_weight=w).model_.to_bytes() == ours.to_bytes()
    scores = sklearn.model_selection.cross_val_score(
        compat.to_sklearn(logistic()), X, y, params={"sample_weight": w}
    )
    assert scores.min() > 0.9
    with pytest.raises(TypeError, match="got 'weights'"):
        compat.to_sklearn(logistic()).fit(X, y, weights=w)
    with pytest.raises(ValueError, match="not negative"):
        compat.to_sklearn(logistic()).fit(X, y, sample_weight=-w)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = compat.to_sklearn(logistic()).set_fit_request(sample_weight=True)
        pipeline = sklearn.pipeline.make_pipeline(sklearn.preprocessing.MaxAbsScaler(), routed)
        assert pipeline.fit(X, y, sample_weight=w).score(X, y) > 0.9


def test_parameters_by_path():
    estimator = compat.to_sklearn(logistic())
    assert estimator.get_params()["model__logisticregression__optimizer__learning_rate"] == 0.01
    estimator.set_params(model__logisticregression__l2=0.5, model__standardscaler__with_mean=False)
    assert estimator.model.steps[1].parameters["l2"] == 0.5
    assert estimator.model.steps[0].parameters["with_mean"] is False
    again = sklearn.base.clone(estimator)
    assert again.get_params()["model__logisticregression__l2"] == 0.5
    with pytest.raises(ValueError, match="l2 must be"):
        estimator.set_params(model__logisticregression__l2=-1.0)
    with pytest.raises(ValueError, match="no parameter 'l2'"):
        estimator.set_params(model__l2=1.0)
    with pytest.raises(ValueError, match="no parameter 'l2'"):
        estimator.set_params(l2=1.0)
    twice = preprocessing.StandardScaler() | preprocessing.StandardScaler() | linear_model.LogisticRegression()
    changed = compat.to_sklearn(twice).set_params(model__standardscaler_2__with_std=False).model
    assert [step.parameters.get("with_std") for step in changed.steps] == [True, False, None]


@pytest.mark.slow
def test_in_processes_of_joblib(cancer):
    X, y = cancer
    alone = sklearn.model_selection.cross_val_score(compat.to_sklearn(logistic()), X, y)
    assert np.array_equal(
        sklearn.model_selection.cross_val_score(compat.to_sklearn(logistic()), X, y, n_jobs=2), alone
    )


def test_in_search_pipelines_and_ensembles(cancer):
    X, y = cancer
    search = sklearn.model_selection.GridSearchCV(
        compat.to_sklearn(logistic()),
        {"model__logisticregression__optimizer__learning_rate": [1e-6, 0.05]},
    ).fit(X, y)
    assert search.best_params_ == {"model__logisticregression__optimizer__learning_rate": 0.05}
    assert search.best_score_ > 0.94
    pipeline = sklearn.pipeline.make_pipeline(
        compat.to_sklearn(preprocessing.StandardScaler()), sklearn.linear_model.SGDClassifier(random_state=1)
    )
    assert sklearn.model_selection.cross_val_score(pipeline, X, y).mean() > 0.94
    bagging = sklearn.ensemble.BaggingClassifier(compat.to_sklearn(logistic()), n_estimators=3, random_state=1)
    assert bagging.fit(X, y).score(X, y) > 0.94
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    assert np.array_equal(again.predict_proba(X), search.predict_proba(X))


def frame_of(n=200):
    rng = np.random.default_rng(3)
    carrier = rng.choice(["UA", "AA", "DL"], n)
    distance = np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n))
    return pd.DataFrame({"distance": distance, "carrier": carrier}), carrier == "UA"


def test_frames_with_nominal_columns_and_missing_values():
    X, y = frame_of()
    model = preprocessing.StandardScaler() | linear_model.LogisticRegression(optimizer=optim.SGD(0.5))
    estimator = compat.to_sklearn(model).fit(X, y)
    assert estimator.feature_names_in_.tolist() == ["distance", "carrier"]
    assert estimator.score(X, y) == 1.0
    with pytest.raises(ValueError, match="feature names should match"):
        estimator.predict(X[["carrier", "distance"]])
    import polars

    assert compat.to_sklearn(model).fit(polars.from_pandas(X), y).score(polars.from_pandas(X), y) == 1.0
    with pytest.raises(ValueError, match="0 sample"):
        estimator.fit(X[:0], y[:0])


def test_a_matrix_for_a_model_fitted_to_a_frame_goes_by_position(cancer):
    X, y = cancer
    frame = pd.DataFrame(X, columns=[f"f{place}" for place in range(X.shape[1])])
    named = compat.to_sklearn(logistic()).fit(frame, y)
    assert named.model_.features[:2] == ["f0", "f1"]
    plain = compat.to_sklearn(logistic()).fit(X, y)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        assert np.array_equal(named.predict_proba(X), plain.predict_proba(X))
    numbered = compat.to_sklearn(logistic()).fit(pd.DataFrame(X), y)
    assert np.array_equal(numbered.predict_proba(X), plain.predict_proba(X))


def test_a_transformer_names_its_columns():
    X = np.array([[1.0, 2.0], [3.0, 5.0], [5.0, 2.0]])
    scaler = compat.to_sklearn(preprocessing.StandardScaler())
    expected = sklearn.preprocessing.StandardScaler().fit_transform(X)
    assert scaler.fit_transform(X) == pytest.approx(expected, rel=1e-12)
    assert scaler.get_feature_names_out().tolist() == ["x0", "x1"]
    assert scaler.get_feature_names_out(["a", "b"]).tolist() == ["a", "b"]
    frame = pd.DataFrame(X, columns=["a", "b"], index=[5, 6, 7])
    out = scaler.set_output(transform="pandas").fit_transform(frame)
    assert out.columns.tolist() == ["a", "b"]
    assert out.index.tolist() == [5, 6, 7]
    assert out.to_numpy() == pytest.approx(expected, rel=1e-12)
    half = compat.to_sklearn(Half()).fit(frame)
    assert np.array_equal(half.transform(frame), X / 2)
    assert half.get_feature_names_out().tolist() == ["half a", "half b"]


@pytest.mark.parametrize("in_pipeline", [False, True])
def test_hashed_columns_are_sparse(in_pipeline):
    X = np.array([[1.0, 2.0], [3.0, 5.0], [5.0, 2.0]])
    hasher = preprocessing.FeatureHasher(n_features=16)
    rows = hasher.transform_many(X)
    wrapped = compat.to_sklearn(compose.Pipeline([hasher]) if in_pipeline else hasher)
    out = wrapped.fit_transform(X)
    assert out.shape == (3, 16)
    assert out.indices.tolist() == rows.indices.tolist()
    assert out.data.tolist() == rows.values.tolist()
    assert len(wrapped.get_feature_names_out()) == 16


def test_models_of_a_users_own():
    X, y = sklearn.datasets.load_iris(return_X_y=True)
    nearest = compat.to_sklearn(Nearest())
    assert not hasattr(nearest, "predict_proba")
    assert nearest.fit(X, y).score(X, y) > 0.9
    mean = compat.to_sklearn(Mean(start=1.0)).fit(X, y)
    assert mean.predict(X[:2]).tolist() == [pytest.approx(y.mean() + 1 / 150)] * 2
    assert mean.set_params(model__start=3.0).model.start == 3.0


def test_a_parameter_that_is_no_model_is_found_out_in_fit():
    estimator = compat.to_sklearn(logistic()).set_params(model=3)
    with pytest.raises(TypeError, match="model must be a model of millstream, got 3"):
        estimator.fit([[1.0], [2.0]], [0, 1])


# scikit-learn's for us


def test_a_sklearn_classifier_equals_its_own_loop(cancer):
    X, y = cancer
    X = X[:150] / X.max(axis=0)
    theirs = sklearn.linear_model.SGDClassifier(loss="log_loss", random_state=1)
    wrapped = compat.from_sklearn(theirs, classes=[0, 1])
    assert wrapped.predict_one({0: 1.0}) is None
    assert wrapped.predict_proba_one({0: 1.0}) == {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        answers = wrapped.step_many(X, y[:150], proba=True)
    assert not hasattr(theirs, "coef_")
    for row in range(150):
        if row:
            assert np.array_equal(answers[row], theirs.predict_proba(X[row : row + 1])[0])
        theirs.partial_fit(X[row : row + 1], y[row : row + 1], classes=[0, 1])
    assert wrapped.predict_one(dict(enumerate(X[3]))) == theirs.predict(X[3:4])[0]
    for again in (wrapped.copy(), copy.deepcopy(wrapped), pickle.loads(pickle.dumps(wrapped))):
        assert again.predict_proba_one(dict(enumerate(X[3]))) == wrapped.predict_proba_one(dict(enumerate(X[3])))
    assert wrapped.clone(alpha=0.5).estimator.alpha == 0.5
    assert wrapped.clone().predict_one(dict(enumerate(X[3]))) is None


def test_what_scikit_learn_cannot_is_said_clearly():
    classifier = compat.from_sklearn(sklearn.naive_bayes.GaussianNB())
    with pytest.raises(ValueError, match="needs all classes before it learns"):
        classifier.learn_one({"a": 1.0}, True)
    classifier = compat.from_sklearn(sklearn.naive_bayes.GaussianNB(), classes=["x", "y"])
    with pytest.raises(ValueError, match="the classes are 'x', 'y', got 'z'"):
        classifier.learn_one({"a": 1.0}, "z")
    classifier.learn_one({"a": 1.0, "b": 2.0}, "x")
    with pytest.raises(ValueError, match="since the first example the features are 'a', 'b'; got 'c'"):
        classifier.learn_one({"a": 1.0, "b": 2.0, "c": 3.0}, "x")
    with pytest.raises(ValueError, match="feature 'b' is missing; put an imputer in front"):
        classifier.learn_one({"a": 1.0}, "x")
    with pytest.raises(TypeError, match="feature 'b' must be a number, got 'red'; put an encoder in front"):
        classifier.predict_one({"a": 1.0, "b": "red"})
    with pytest.raises(ValueError, match="weight must be finite"):
        classifier.learn_one({"a": 1.0, "b": 2.0}, "x", w=float("nan"))
    with pytest.raises(ValueError, match="batch_size must be an integer from 1, got 0"):
        compat.from_sklearn(sklearn.naive_bayes.GaussianNB(), batch_size=0)
    with pytest.raises(ValueError, match="classes are for classifiers"):
        compat.from_sklearn(sklearn.linear_model.SGDRegressor(), classes=[0, 1])
    with pytest.raises(TypeError, match="LinearRegression has no partial_fit"):
        compat.from_sklearn(sklearn.linear_model.LinearRegression())
    with pytest.raises(TypeError, match="takes an estimator of scikit-learn"):
        compat.from_sklearn(sklearn.linear_model.SGDRegressor)
    regressor = compat.from_sklearn(sklearn.linear_model.SGDRegressor())
    assert regressor.predict_one({"a": 1.0}) == 0.0
    with pytest.raises(ValueError, match="must be a finite number, got nan"):
        regressor.learn_one({"a": 1.0}, float("nan"))
    perceptron = compat.from_sklearn(
        sklearn.neural_network.MLPRegressor(hidden_layer_sizes=(2,), random_state=1), features=["a"]
    )
    perceptron.learn_one({"a": 1.0}, 1.0)
    assert isinstance(perceptron.predict_one({"a": 1.0}), float)


def test_weights_reach_scikit_learn():
    rows, w = [[1.0], [2.0], [4.0]], [2.0, 0.0, 0.5]
    wrapped = compat.from_sklearn(sklearn.preprocessing.StandardScaler())
    for x, weight in zip(rows, w, strict=True):
        wrapped.learn_one({"a": x[0]}, None, weight)
    theirs = sklearn.preprocessing.StandardScaler().fit(rows, sample_weight=w)
    assert wrapped.transform_one({"a": 3.0})["a"] == pytest.approx(theirs.transform([[3.0]])[0, 0], rel=1e-12)


def test_sklearn_transformers(cancer):
    X, _ = cancer
    X = X[:100]
    scaler = compat.from_sklearn(sklearn.preprocessing.StandardScaler())
    assert scaler.transform_one({0: 1.0}) == {}
    ours = preprocessing.StandardScaler()
    scaler.learn_many(X)
    ours.learn_many(X)
    x = dict(enumerate(X[0]))
    assert scaler.transform_one(x) == pytest.approx(ours.transform_one(x), rel=1e-9)
    reduced = compat.from_sklearn(sklearn.decomposition.IncrementalPCA(n_components=3), batch_size=10)
    reduced.learn_many(X)
    assert list(reduced.transform_one(x)) == ["incrementalpca0", "incrementalpca1", "incrementalpca2"]
    clusters = compat.from_sklearn(sklearn.cluster.MiniBatchKMeans(2, n_init=1, random_state=1), batch_size=20)
    clusters.learn_many(X[:19])
    assert clusters.transform_one(x) == {}
    clusters.learn_one(dict(enumerate(X[19])))
    assert len(clusters.transform_one(x)) == 2


def test_a_fitted_estimator_goes_on(cancer):
    X, y = cancer
    frame = pd.DataFrame(X[:, :3], columns=["a", "b", "c"])
    fitted = sklearn.naive_bayes.GaussianNB().fit(frame, y)
    wrapped = compat.from_sklearn(fitted)
    x = frame.iloc[5].to_dict()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        turned = {"c": x["c"], "a": x["a"], "b": x["b"]}
        assert wrapped.predict_proba_one(turned) == dict(enumerate(fitted.predict_proba(frame[5:6])[0]))
        wrapped.learn_one(turned, 1)
    assert fitted.class_count_.sum() == len(y)
    assert millstream.compat is compat
