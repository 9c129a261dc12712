"""Exported models predict as millstream does: every supported component, on rows that try the edges."""

import os
import subprocess

import numpy as np
import pytest

from export_streams import STREAMS, edges, labels, thresholds_of
from millstream import (
    anomaly,
    art,
    baseline,
    basis,
    cluster,
    compose,
    continual,
    decomposition,
    drift,
    ensemble,
    export,
    feature_extraction,
    feature_selection,
    forest,
    kernel,
    linear_model,
    losses,
    multiclass,
    naive_bayes,
    neighbors,
    neural_network,
    optim,
    preprocessing,
    prototype,
    tree,
)

pytest.importorskip("onnxruntime")
pytestmark = [pytest.mark.slow, pytest.mark.linear_algebra]

#: Rows to learn, and rows to compare with ONNX and with C. `make parity` compares ten times as many.
LEARNED = 2000
ROWS, ROWS_OF_C = (10_000, 2000) if os.environ.get("MILLSTREAM_PARITY") == "long" else (1000, 300)


def scaled(model):
    return preprocessing.StandardScaler() | model


def small_tree(**parameters):
    return tree.HoeffdingTreeClassifier(grace_period=50, delta=0.05, **parameters)


def small_regression_tree(**parameters):
    return tree.HoeffdingTreeRegressor(grace_period=50, delta=0.05, **parameters)


def three():
    return [naive_bayes.GaussianNB(), small_tree(), scaled(linear_model.SoftmaxRegression())]


def counts(model):
    """Counts of words are not negative."""
    return preprocessing.Binarizer() | model


C2, C3 = {"classes": 2}, {"classes": 3}
NUMERIC = {"kinds": ("numeric",)}
ALL = {"kinds": ("numeric", "nominal", "mixed")}

#: By name: what builds the model, and how it is trained (mixed rows and three classes by default).
CASES = {
    "ALMA": (lambda: linear_model.ALMA(), C2),
    "AROW": (lambda: linear_model.AROW(), ALL),
    "CW": (lambda: linear_model.CW(), C2),
    "SCW": (lambda: linear_model.SCW(), C3),
    "Ellipsoid": (lambda: linear_model.Ellipsoid(), C2),
    "GaussianHerding": (lambda: linear_model.GaussianHerding(), C3),
    "IRMAClassifier": (lambda: linear_model.IRMAClassifier(), C3),
    "LogisticRegression": (lambda: scaled(linear_model.LogisticRegression()), C2 | ALL),
    "LogisticRegression averaging": (lambda: linear_model.LogisticRegression(averaging=True), C2),
    "LogisticRegression Adaptive": (lambda: linear_model.LogisticRegression(optimizer=optim.Adaptive(0.5)), C2),
    "LogisticRegression CoinBetting": (lambda: linear_model.LogisticRegression(optimizer=optim.CoinBetting()), C2),
    "LogisticRegression AdaGrad full": (
        lambda: linear_model.LogisticRegression(optimizer=optim.AdaGrad(0.5, full=True)),
        C2,
    ),
    "LogisticRegression ModifiedHuber": (lambda: linear_model.LogisticRegression(loss=losses.ModifiedHuber()), C2),
    "PAClassifier": (lambda: linear_model.PAClassifier(), C3),
    "Perceptron": (lambda: linear_model.Perceptron(), C3),
    "ROMMA": (lambda: linear_model.ROMMA(), C2),
    "SVM": (lambda: linear_model.SVM(), C3),
    "SoftmaxRegression": (lambda: scaled(linear_model.SoftmaxRegression()), ALL),
    "OneVsRest": (lambda: multiclass.OneVsRest(scaled(linear_model.LogisticRegression())), C3),
    "BernoulliNB": (lambda: naive_bayes.BernoulliNB(), ALL),
    "CategoricalNB": (lambda: counts(naive_bayes.CategoricalNB()), ALL),
    "ComplementNB": (lambda: counts(naive_bayes.ComplementNB()), ALL),
    "GaussianNB": (lambda: naive_bayes.GaussianNB(), ALL),
    "MultinomialNB": (lambda: counts(naive_bayes.MultinomialNB()), ALL),
    "MajorityClass": (lambda: baseline.MajorityClass(), C3),
    "NoChange": (lambda: baseline.NoChange(), C3),
    "Prior": (lambda: baseline.Prior(), C3),
    "HoeffdingTreeClassifier mc": (lambda: small_tree(leaf_prediction="mc"), ALL),
    "HoeffdingTreeClassifier nb": (lambda: small_tree(leaf_prediction="nb"), ALL),
    "HoeffdingTreeClassifier nba": (lambda: small_tree(), ALL | C2),
    "ExtremelyFastDecisionTree": (
        lambda: tree.ExtremelyFastDecisionTreeClassifier(grace_period=50, delta=0.05),
        C3,
    ),
    "HoeffdingAdaptiveTreeClassifier": (
        lambda: tree.HoeffdingAdaptiveTreeClassifier(grace_period=30, delta=0.1),
        ALL,
    ),
    "ARFClassifier": (lambda: forest.ARFClassifier(n_models=5), ALL),
    "AdaBoost": (lambda: ensemble.AdaBoost(small_tree(), n_models=4), C3),
    "ADWINBagging": (lambda: ensemble.ADWINBagging(small_tree(), n_models=4), C3),
    "Bagging": (lambda: ensemble.Bagging(scaled(linear_model.SoftmaxRegression()), n_models=3), C3),
    "LeveragingBagging": (lambda: ensemble.LeveragingBagging(small_tree(), n_models=4), C3),
    "SRPClassifier": (lambda: ensemble.SRPClassifier(small_tree(), n_models=4), C3),
    "Voting": (lambda: ensemble.Voting(three(), use_probabilities=False, weights=[1, 2, 3.5]), C3),
    "WeightedMajority": (lambda: ensemble.WeightedMajority(three()), C3),
    "Stacking": (
        lambda: ensemble.Stacking(three(), meta_model=linear_model.SoftmaxRegression(), include_features=True),
        C3,
    ),
    "KernelSGD": (lambda: scaled(kernel.KernelSGD(budget=50)), C3),
    "KernelSGD Laplace": (lambda: scaled(kernel.KernelSGD(kernel=kernel.Laplace(), budget=50)), C2),
    "Nystroem": (lambda: scaled(kernel.Nystroem(n_components=20)) | linear_model.SoftmaxRegression(), C3),
    "KNNClassifier": (lambda: neighbors.KNNClassifier(window_size=50, weights="distance"), ALL),
    "GLVQ": (lambda: scaled(prototype.GLVQ()), C3),
    "GMLVQ": (lambda: scaled(prototype.GMLVQ()), C3),
    "LVQ1": (lambda: scaled(prototype.LVQ1()), C3),
    "LVQ21": (lambda: scaled(prototype.LVQ21()), C3),
    "LVQ3": (lambda: scaled(prototype.LVQ3()), C3),
    "RSLVQ": (lambda: scaled(prototype.RSLVQ()), C3),
    "AROWRegressor": (lambda: linear_model.AROWRegressor(), {"classes": 0}),
    "BayesianLinearRegression": (lambda: linear_model.BayesianLinearRegression(), {"classes": 0}),
    "IRMA": (lambda: linear_model.IRMA(), {"classes": 0}),
    "LeastSquares": (lambda: linear_model.LeastSquares(), {"classes": 0}),
    "LinearRegression": (lambda: scaled(linear_model.LinearRegression()), {"classes": 0}),
    "LMS": (lambda: scaled(linear_model.LMS()), {"classes": 0}),
    "PARegressor": (lambda: linear_model.PARegressor(), {"classes": 0}),
    "RidgeClassifier": (lambda: linear_model.RidgeClassifier(), ALL),
    "RidgeClassifier without intercept": (lambda: linear_model.RidgeClassifier(intercept=False), C3),
    "RLS": (lambda: linear_model.RLS(), {"classes": 0} | ALL),
    "TargetMean": (lambda: baseline.TargetMean(), {"classes": 0}),
    "HoeffdingTreeRegressor mean": (lambda: small_regression_tree(leaf_prediction="mean"), {"classes": 0}),
    "HoeffdingTreeRegressor": (lambda: small_regression_tree(), {"classes": 0} | ALL),
    "HoeffdingAdaptiveTreeRegressor": (
        lambda: tree.HoeffdingAdaptiveTreeRegressor(grace_period=30, delta=0.1),
        {"classes": 0},
    ),
    "ARFRegressor": (lambda: forest.ARFRegressor(n_models=4, aggregation="median"), {"classes": 0}),
    "BaggingRegressor": (lambda: ensemble.BaggingRegressor(small_regression_tree(), n_models=3), {"classes": 0}),
    "SRPRegressor": (lambda: ensemble.SRPRegressor(small_regression_tree(), n_models=3), {"classes": 0}),
    "StackingRegressor": (
        lambda: ensemble.StackingRegressor(
            [small_regression_tree(), linear_model.RLS()], meta_model=linear_model.RLS()
        ),
        {"classes": 0},
    ),
    "VotingRegressor": (
        lambda: ensemble.VotingRegressor([small_regression_tree(), linear_model.RLS(), baseline.TargetMean()]),
        {"classes": 0},
    ),
    "KernelRLS": (lambda: scaled(kernel.KernelRLS(budget=50)), {"classes": 0}),
    "KernelSGDRegressor": (lambda: scaled(kernel.KernelSGDRegressor(budget=50)), {"classes": 0}),
    "KNNRegressor": (lambda: neighbors.KNNRegressor(window_size=50, p=1), {"classes": 0}),
    "MLPRegressor": (lambda: scaled(neural_network.MLPRegressor()), {"classes": 0}),
    "PredClipper": (lambda: preprocessing.PredClipper(linear_model.RLS()), {"classes": 0}),
    "TargetMinMaxScaler": (lambda: preprocessing.TargetMinMaxScaler(linear_model.RLS()), {"classes": 0}),
    "TargetStandardScaler": (lambda: preprocessing.TargetStandardScaler(linear_model.RLS()), {"classes": 0}),
    "TargetTransformRegressor": (
        lambda: compose.TargetTransformRegressor(linear_model.RLS(), func="identity"),
        {"classes": 0},
    ),
    "HalfSpaceTrees": (
        lambda: anomaly.HalfSpaceTrees(window_size=100, n_trees=5, height=4),
        NUMERIC | {"classes": None},
    ),
    "QuantileFilter": (
        lambda: anomaly.QuantileFilter(anomaly.HalfSpaceTrees(window_size=100, n_trees=3, height=3), q=0.9),
        NUMERIC | {"classes": None},
    ),
    "ThresholdFilter": (
        lambda: anomaly.ThresholdFilter(
            anomaly.HalfSpaceTrees(window_size=100, n_trees=3, height=3), threshold=0.9
        ),
        NUMERIC | {"classes": None},
    ),
    "KMeans": (lambda: cluster.KMeans(n_clusters=4), {"classes": None}),
    "MiniBatchKMeans": (lambda: cluster.MiniBatchKMeans(n_clusters=4, batch_size=20), {"classes": None}),
    "Union": (lambda: (preprocessing.StandardScaler() + preprocessing.OneHotEncoder()) | small_tree(), C3),
    "Select": (
        lambda: (
            compose.Select("x0", "x1", "colour") | preprocessing.OneHotEncoder() | linear_model.SoftmaxRegression()
        ),
        C3,
    ),
    "Drop": (lambda: compose.Drop("x0", "colour") | naive_bayes.GaussianNB(), C3),
    "Retrain": (lambda: drift.Retrain(scaled(naive_bayes.GaussianNB()), drift.ADWIN()), C3),
    "PoissonInclusion": (lambda: feature_selection.PoissonInclusion(p=0.01) | naive_bayes.GaussianNB(), C3),
    "SelectKBest": (lambda: feature_selection.SelectKBest(k=2) | naive_bayes.GaussianNB(), NUMERIC | C2),
    "VarianceThreshold": (lambda: feature_selection.VarianceThreshold(0.3) | naive_bayes.GaussianNB(), C3),
    "PolynomialExtender": (lambda: feature_extraction.PolynomialExtender(degree=2) | naive_bayes.GaussianNB(), C3),
}
CASES |= {
    "MLPClassifier": (lambda: scaled(neural_network.MLPClassifier(8, optimizer=optim.SGD(0.05))), ALL),
    "MLPClassifier of two tanh layers": (
        lambda: scaled(neural_network.MLPClassifier([8, 5], activation="tanh", optimizer=optim.Adam(0.01))),
        C2,
    ),
    "MLPClassifier with embeddings": (
        lambda: scaled(neural_network.MLPClassifier([8], embedding_size=3, optimizer=optim.SGD(0.05))),
        {"kinds": ("nominal", "mixed")},
    ),
    "OSELM": (lambda: scaled(neural_network.OSELM(hidden_units=12)), {"classes": 0} | ALL),
    "IRMARegressor": (
        lambda: neural_network.IRMARegressor(bounds=(-40, 40), hidden_units=4, samples=16, outside="clamp"),
        {"classes": 0, "kinds": ("numeric", "mixed")},
    ),
    "NearestClassMean": (lambda: scaled(continual.NearestClassMean()), ALL),
    "StreamingLDA": (lambda: continual.StreamingLDA(), ALL),
    "StreamingLDA without priors": (lambda: continual.StreamingLDA(0.1, priors="uniform"), C2),
    "SAMKNNClassifier": (lambda: neighbors.SAMKNNClassifier(window_size=200, min_stm_size=20), ALL),
    "SAMKNNClassifier uniform": (
        lambda: neighbors.SAMKNNClassifier(window_size=60, min_stm_size=5, weights="uniform"),
        C2,
    ),
    "GaussianScorer": (lambda: anomaly.GaussianScorer(), {"kinds": ("numeric", "mixed"), "classes": None}),
    "GaussianScorer in a window": (
        lambda: anomaly.GaussianScorer(window_size=60, grace_period=5),
        NUMERIC | {"classes": None},
    ),
    "QuantileTransformer": (lambda: preprocessing.QuantileTransformer(), NUMERIC | {"classes": None}),
    "QuantileTransformer, normal": (
        lambda: preprocessing.QuantileTransformer(output_distribution="normal") | small_tree(),
        C3,
    ),
    "QuantileTransformer in a window": (
        lambda: preprocessing.QuantileTransformer(window_size=30, output_distribution="normal"),
        NUMERIC | {"classes": None},
    ),
    "FuzzyARTMAP": (
        lambda: preprocessing.MinMaxScaler(clip=True) | art.FuzzyARTMAP(vigilance=0.7, max_prototypes=60),
        ALL,
    ),
    "FuzzyARTMAP with limits": (
        lambda: art.FuzzyARTMAP(limits={f"x{j}": (-40, 40) for j in range(5)}, max_prototypes=40),
        NUMERIC | C2,
    ),
    "FuzzyART": (lambda: art.FuzzyART(limits=(-40, 40), vigilance=0.8), {"classes": None} | ALL),
    "RandomFourierFeatures": (
        lambda: scaled(kernel.RandomFourierFeatures(n_components=20)) | linear_model.SoftmaxRegression(),
        ALL,
    ),
    "GDumb": (lambda: continual.GDumb(naive_bayes.GaussianNB(), passes=1, period=500), C3),
    "Replay": (lambda: scaled(continual.Replay(neural_network.MLPClassifier(8), n_replay=2)), C3),
    "Replay of a regressor": (lambda: continual.Replay(linear_model.PARegressor(), n_replay=2), {"classes": 0}),
    "EWC": (lambda: scaled(continual.EWC(period=500)), C3),
    "SI": (lambda: scaled(continual.SI(period=500)), C3),
    "LwF": (lambda: scaled(continual.LwF(period=500)), C3),
    "AGEM": (lambda: scaled(continual.AGEM(n_replay=2)), C3),
    "DERPlusPlus": (lambda: scaled(continual.DERPlusPlus(n_replay=2)), C3),
}
for _name in (
    "AdaptiveStandardScaler",
    "Binarizer",
    "CountEncoder",
    "GaussianRandomProjector",
    "Imputer",
    "MaxAbsScaler",
    "MinMaxScaler",
    "Normalizer",
    "OneHotEncoder",
    "OrdinalEncoder",
    "PreviousImputer",
    "RobustScaler",
    "SparseRandomProjector",
    "TargetEncoder",
):
    _make = getattr(preprocessing, _name)
    CASES[_name] = (lambda make=_make: make() | naive_bayes.GaussianNB(), C3)
CASES["FeatureHasher"] = (lambda: preprocessing.FeatureHasher(n_features=16) | naive_bayes.GaussianNB(), C3)
CASES |= {
    "GaussianRBF of points": (
        lambda: (
            preprocessing.Imputer()
            | basis.GaussianRBF((-9, 9), centres=[[0, 1, 0, 2, 3], [4, 0, 1, -3, 0.5]], outside="clamp")
        ),
        NUMERIC | {"classes": None},
    ),
    "GaussianRBF of sums": (
        lambda: (
            preprocessing.Imputer()
            | basis.GaussianRBF((-9, 9), count=4, combine="additive", outside="clamp")
            | linear_model.IRMA()
        ),
        NUMERIC | {"classes": 0},
    ),
    "Grid": (
        lambda: (
            compose.Select("x0", "x1") | preprocessing.Imputer() | basis.Grid((-2, 2), 7, outside="extrapolate")
        ),
        NUMERIC | {"classes": None},
    ),
    "Grid of sums": (
        lambda: preprocessing.Imputer() | basis.Grid((-2, 2), 5, combine="additive", outside="clamp"),
        NUMERIC | {"classes": None},
    ),
    "BSpline": (
        lambda: compose.Select("x0", "x1") | preprocessing.Imputer() | basis.BSpline((-2, 2), 5, outside="clamp"),
        NUMERIC | {"classes": None},
    ),
    "BSpline of sums": (
        lambda: (
            preprocessing.Imputer()
            | basis.BSpline((-9, 9), 4, degree=2, combine="additive", outside="clamp")
            | linear_model.IRMA()
        ),
        NUMERIC | {"classes": 0},
    ),
    "BSpline of steps": (
        lambda: (
            compose.Select("x0") | preprocessing.Imputer() | basis.BSpline((-2, 2), 3, degree=0, outside="clamp")
        ),
        NUMERIC | {"classes": None},
    ),
}
for _name in ("Chebyshev", "Fourier", "Legendre", "Polynomial"):
    _make = getattr(basis, _name)
    CASES[_name] = (
        lambda make=_make: preprocessing.Imputer() | make(2, (-2, 2), outside="clamp") | linear_model.RLS(),
        NUMERIC | {"classes": 0},
    )
    CASES[f"{_name} of sums, before IRMA"] = (
        lambda make=_make: (
            preprocessing.Imputer() | make(3, (-9, 9), combine="additive", outside="clamp") | linear_model.IRMA()
        ),
        NUMERIC | {"classes": 0},
    )
for _name in ("StandardScaler", "MinMaxScaler", "MaxAbsScaler"):
    _make = getattr(preprocessing, _name)
    CASES[f"{_name} in a window"] = (lambda make=_make: make(window_size=50) | small_tree(), C3)
for _name in ("CCIPCA", "FrequentDirections", "IncrementalPCA", "IncrementalSVD", "PCA"):
    _make = getattr(decomposition, _name)
    CASES[_name] = (lambda make=_make: make(n_components=3), NUMERIC | {"classes": None})


def learned(make, kind, classes):
    """A model that has learned a stream: of classes, of numbers (0 classes) or of nothing (None)."""
    model = make()
    rows, score = STREAMS[kind](LEARNED)
    targets = labels(score, classes) if classes else [float(each) for each in score]
    for x, y in zip(rows, targets, strict=True):
        if classes is None:
            model.learn_one(x)
        else:
            model.learn_one(x, y)
    return model


def cases():
    for name, (make, settings) in CASES.items():
        for kind in settings.get("kinds", ("mixed",)):
            yield pytest.param(make, kind, settings.get("classes", 3), id=f"{name}, {kind}")


@pytest.mark.parametrize(("make", "kind", "classes"), list(cases()))
def test_onnx_and_c_predict_as_the_model_does(make, kind, classes, tmp_path):
    model = learned(make, kind, classes)
    rows = edges(kind, ROWS, thresholds_of(model))
    export.onnx(model, tmp_path / "model.onnx")
    # Sums in another order decide between equal choices.
    ties = len(rows) // 5000 if isinstance(model, art.FuzzyART) else 0
    found = export.check(model, tmp_path / "model.onnx", rows)
    assert found.agrees or 0 < found.labels <= ties, f"onnxruntime: {found}"
    export.c(model, tmp_path / "model.c")
    found = export.check(model, tmp_path / "model.c", rows[:ROWS_OF_C])
    assert found.agrees or 0 < found.labels <= ties, f"C: {found}"


def test_every_supported_component_has_a_case():
    built = str([make().describe() for make, _ in CASES.values()])
    yes = [name for name, answer in export.supported().items() if answer == "yes"]
    assert [name for name in yes if f"'{name}'" not in built] == []


RUNNER = """
import sys, numpy, onnxruntime
assert onnxruntime.__version__ == sys.argv[2], onnxruntime.__version__
session = onnxruntime.InferenceSession(sys.argv[1] + "/model.onnx", providers=["CPUExecutionProvider"])
found = session.run(["probabilities"], {"numbers": numpy.load(sys.argv[1] + "/rows.npy")})[0]
numpy.save(sys.argv[1] + "/found.npy", found)
"""


@pytest.mark.parametrize(
    "name", ["HoeffdingTreeClassifier nba", "ARFClassifier", "LogisticRegression", "KNNClassifier"]
)
def test_the_faulty_runtime_of_java_users_agrees_too(name, tmp_path):
    """onnxruntime 1.23.2 in an environment of its own: MILLSTREAM_ONNXRUNTIME is its Python and its version."""
    python, _, version = os.environ.get("MILLSTREAM_ONNXRUNTIME", "").partition("==")
    if not python:
        pytest.skip("MILLSTREAM_ONNXRUNTIME is not set, as in /path/to/python==1.23.2")
    make, settings = CASES[name]
    model = learned(make, "numeric", settings.get("classes", 3))
    export.onnx(model, tmp_path / "model.onnx")
    names = model.features
    rows = edges("numeric", ROWS, thresholds_of(model))
    matrix = np.array([[row.get(name, np.nan) for name in names] for row in rows], dtype=np.float64)
    np.save(tmp_path / "rows.npy", matrix)
    command = [python, "-c", RUNNER, str(tmp_path), version]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    matrix[np.isinf(matrix)] = np.nan
    ours = np.array(
        [list(model.predict_proba_one(dict(zip(names, row, strict=True))).values()) for row in matrix.tolist()]
    )
    found = np.load(tmp_path / "found.npy")
    assert np.abs(found - ours).max() <= 1e-9


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_c_agrees_with_every_compiler(compiler, level, tmp_path, monkeypatch):
    from millstream.export import comparison

    if comparison.shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not here")
    script = tmp_path / "compile"
    script.write_text(f'#!/bin/sh\nexec {compiler} -Wall -Wextra -Werror -pedantic "$@" {level}\n')
    script.chmod(0o755)
    monkeypatch.setenv("CC", str(script))
    model = learned(CASES["ARFClassifier"][0], "mixed", 3)
    export.c(model, tmp_path / "model.c")
    assert export.check(model, tmp_path / "model.c", edges("mixed", 2000, thresholds_of(model))).agrees
