"""The rate of every learner, compared with River."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import millstream
from benchmarks import streams
from benchmarks.measure import Comparison, Outcome, Side

__all__ = ["ROLES", "UNLABELLED", "comparisons", "describe", "names"]

#: Roles whose components learn on their own.
ROLES = ("classifier", "regressor", "anomaly_detector", "clusterer", "transformer", "wrapper")

_LOGISTIC = {"name": "linear_model.LogisticRegression"}
_SCALER = {"name": "preprocessing.StandardScaler"}
_BAYES = {"name": "naive_bayes.GaussianNB"}
_LINE = {"name": "linear_model.LinearRegression"}

#: Arguments for components that require them, or would take minutes without.
ARGUMENTS: dict[str, dict[str, Any]] = {
    "anomaly.HalfSpaceTrees": {"limits": [-8.0, 8.0]},
    "anomaly.QuantileFilter": {"model": {"name": "anomaly.GaussianScorer"}, "q": 0.99},
    "anomaly.ThresholdFilter": {"model": {"name": "anomaly.GaussianScorer"}, "threshold": 0.99},
    "art.FuzzyART": {"limits": [-8.0, 8.0]},
    "art.FuzzyARTMAP": {"limits": [-8.0, 8.0]},
    "basis.BSpline": {"bounds": [-8.0, 8.0], "combine": "additive", "outside": "clamp"},
    "basis.Chebyshev": {"order": 3, "bounds": [-8.0, 8.0], "combine": "additive", "outside": "clamp"},
    "basis.Fourier": {"order": 2, "bounds": [-8.0, 8.0], "combine": "additive", "outside": "clamp"},
    "basis.GaussianRBF": {"bounds": [-8.0, 8.0], "combine": "additive", "outside": "clamp"},
    "basis.Grid": {"bounds": [-8.0, 8.0], "combine": "additive", "outside": "clamp"},
    "basis.Legendre": {"order": 3, "bounds": [-8.0, 8.0], "combine": "additive", "outside": "clamp"},
    "basis.Polynomial": {"order": 3, "bounds": [-8.0, 8.0], "combine": "additive", "outside": "clamp"},
    "compose.Drop": {"names": [0]},
    "compose.Pipeline": {"steps": [_SCALER, _LOGISTIC]},
    "compose.Select": {"names": [0, 1, 2]},
    "compose.Union": {"parts": [_SCALER, {"name": "preprocessing.MinMaxScaler"}]},
    "compose.TargetTransformRegressor": {"model": _LINE, "func": "identity"},
    "compose.Interact": {"pairs": ["* × *"]},
    "decomposition.LDA": {"n_components": 3},
    "decomposition.NMF": {"n_components": 3},
    "ensemble.ADWINBagging": {"model": _BAYES},
    "ensemble.AdaBoost": {"model": _BAYES},
    "ensemble.Bagging": {"model": _BAYES},
    "ensemble.BaggingRegressor": {"model": _LINE},
    "ensemble.LeveragingBagging": {"model": _BAYES},
    "ensemble.SRPClassifier": {"model": _BAYES},
    "ensemble.SRPRegressor": {"model": _LINE},
    "ensemble.Stacking": {"models": [_BAYES, _LOGISTIC]},
    "ensemble.StackingRegressor": {"models": [_LINE, {"name": "baseline.TargetMean"}]},
    "ensemble.Voting": {"models": [_BAYES, _LOGISTIC]},
    "ensemble.VotingRegressor": {"models": [_LINE, {"name": "baseline.TargetMean"}]},
    "ensemble.WeightedMajority": {"models": [_BAYES, _LOGISTIC]},
    "feature_extraction.Agg": {"on": 0, "by": [1], "how": {"name": "stats.Mean"}, "when_full": "evict"},
    "feature_extraction.TargetAgg": {"by": [1], "how": {"name": "stats.Mean"}, "when_full": "evict"},
    "drift.Retrain": {"model": {"name": "naive_bayes.GaussianNB"}, "detector": {"name": "drift.DDM"}},
    "feature_selection.PoissonInclusion": {"p": 0.5},
    "htm.AnomalyLikelihood": {"model": {"name": "anomaly.GaussianScorer"}},
    "htm.DateEncoder": {"time": 0},
    "htm.ScalarEncoder": {"limits": [-8.0, 8.0]},
    "kernel.KernelRLS": {"budget": 100},
    "kernel.KernelSGD": {"budget": 100},
    "kernel.KernelSGDRegressor": {"budget": 100},
    "multiclass.OneVsRest": {"model": _LOGISTIC},
    "preprocessing.FeatureHasher": {"n_features": 2**10},
    "continual.GDumb": {"model": _LOGISTIC},
    "continual.Replay": {"model": _LOGISTIC},
    "neural_network.IRMARegressor": {"bounds": [-8, 8], "outside": "clamp"},
    "preprocessing.PredClipper": {"model": _LINE, "y_min": -5.0, "y_max": 5.0},
    "preprocessing.TargetMinMaxScaler": {"model": _LINE},
    "preprocessing.TargetStandardScaler": {"model": _LINE},
}


#: The verbs of learners that need no target.
UNLABELLED = {"anomaly_detector": "score_one", "clusterer": "predict_one"}

#: Learners of counts refuse negative numbers, so a scaler in front makes them positive.
COUNTS = (
    "decomposition.LDA",
    "decomposition.NMF",
    "naive_bayes.CategoricalNB",
    "naive_bayes.ComplementNB",
    "naive_bayes.MultinomialNB",
)

#: Learners measured on a fraction of the rows, since a step takes a millisecond.
SLOW = {
    "decomposition.LDA": 20,
    "htm.HTMAnomaly": 50,
    "htm.SpatialPooler": 20,
    "neural_network.IRMARegressor": 200,
}

#: The same for River, whose ensembles learn some hundred rows per second.
SLOW_THERE = dict.fromkeys((name for name in ARGUMENTS if name.startswith("ensemble.")), 10)


def names() -> list[str]:
    """All learners."""
    return sorted(name for role in ROLES for name in of_role(role))


def of_role(role: str) -> list[str]:
    """All components of a role; none if this build does not know the role."""
    try:
        return list(millstream.find(role=role))
    except ValueError:
        return []  # a baseline may be older than a role


def describe(name: str) -> dict[str, Any]:
    """A complete description of the component."""
    description = {"name": name, "parameters": ARGUMENTS.get(name, {})}
    if name not in COUNTS:
        return description
    positive = {"name": "preprocessing.MinMaxScaler", "parameters": {"clip": True}}
    return {"name": "compose.Pipeline", "parameters": {"steps": [positive, description]}}


def _river(name: str) -> Callable[[], Any] | None:
    """A factory of River's counterpart, if there is one."""
    from river import (
        anomaly,
        cluster,
        compose,
        drift,
        dummy,
        ensemble,
        linear_model,
        multiclass,
        naive_bayes,
        optim,
        preprocessing,
        stats,
        tree,
    )
    from river.drift import binary

    def logistic() -> Any:
        return linear_model.LogisticRegression(optim.SGD(0.01))

    def bayes() -> Any:
        return naive_bayes.GaussianNB()

    def line() -> Any:
        return linear_model.LinearRegression(optim.SGD(0.01))

    counterparts: dict[str, Callable[[], Any]] = {
        "anomaly.HalfSpaceTrees": lambda: anomaly.HalfSpaceTrees(
            limits=dict.fromkeys(streams.names(10), (-8.0, 8.0)), seed=1
        ),
        "baseline.MajorityClass": lambda: dummy.PriorClassifier(),
        "baseline.NoChange": lambda: dummy.NoChangeClassifier(),
        "baseline.Prior": lambda: dummy.PriorClassifier(),
        "baseline.TargetMean": lambda: dummy.StatisticRegressor(stats.Mean()),
        "cluster.KMeans": lambda: cluster.KMeans(n_clusters=8, halflife=0.1, seed=1),
        "compose.Drop": lambda: compose.Discard("x0"),
        "compose.Pipeline": lambda: preprocessing.StandardScaler() | logistic(),
        "compose.Select": lambda: compose.Select("x0", "x1", "x2"),
        "compose.Union": lambda: preprocessing.StandardScaler() + preprocessing.MinMaxScaler(),
        "ensemble.ADWINBagging": lambda: ensemble.ADWINBaggingClassifier(bayes(), seed=1),
        "ensemble.AdaBoost": lambda: ensemble.AdaBoostClassifier(bayes(), seed=1),
        "ensemble.Bagging": lambda: ensemble.BaggingClassifier(bayes(), seed=1),
        "ensemble.BaggingRegressor": lambda: ensemble.BaggingRegressor(line(), seed=1),
        "ensemble.LeveragingBagging": lambda: ensemble.LeveragingBaggingClassifier(
            naive_bayes.GaussianNB(), seed=1
        ),
        "ensemble.SRPClassifier": lambda: ensemble.SRPClassifier(bayes(), n_models=10, seed=1),
        "ensemble.Stacking": lambda: ensemble.StackingClassifier(
            [naive_bayes.GaussianNB(), logistic()], logistic()
        ),
        "ensemble.Voting": lambda: ensemble.VotingClassifier([bayes(), logistic()]),
        "drift.Retrain": lambda: drift.DriftRetrainingClassifier(naive_bayes.GaussianNB(), binary.DDM()),
        "linear_model.ALMA": lambda: linear_model.ALMAClassifier(),
        "linear_model.BayesianLinearRegression": lambda: linear_model.BayesianLinearRegression(),
        "linear_model.LinearRegression": line,
        "linear_model.LogisticRegression": logistic,
        "linear_model.PAClassifier": lambda: linear_model.PAClassifier(C=1.0, mode=1),
        "linear_model.PARegressor": lambda: linear_model.PARegressor(C=1.0, mode=1),
        "linear_model.Perceptron": lambda: linear_model.Perceptron(),
        "linear_model.SoftmaxRegression": lambda: linear_model.SoftmaxRegression(optim.SGD(0.01)),
        "multiclass.OneVsRest": lambda: multiclass.OneVsRestClassifier(logistic()),
        "naive_bayes.GaussianNB": bayes,
        "preprocessing.AdaptiveStandardScaler": lambda: preprocessing.AdaptiveStandardScaler(),
        "preprocessing.Binarizer": lambda: preprocessing.Binarizer(),
        "preprocessing.Imputer": lambda: preprocessing.StatImputer(
            *((key, stats.Mean()) for key in streams.names(10))
        ),
        "preprocessing.MaxAbsScaler": lambda: preprocessing.MaxAbsScaler(),
        "preprocessing.MinMaxScaler": lambda: preprocessing.MinMaxScaler(),
        "preprocessing.Normalizer": lambda: preprocessing.Normalizer(),
        "preprocessing.OneHotEncoder": lambda: preprocessing.OneHotEncoder(),
        "preprocessing.PredClipper": lambda: preprocessing.PredClipper(line(), -5.0, 5.0),
        "preprocessing.PreviousImputer": lambda: preprocessing.PreviousImputer(),
        "preprocessing.RobustScaler": lambda: preprocessing.RobustScaler(),
        "preprocessing.StandardScaler": lambda: preprocessing.StandardScaler(),
        "preprocessing.TargetMinMaxScaler": lambda: preprocessing.TargetMinMaxScaler(line()),
        "preprocessing.TargetStandardScaler": lambda: preprocessing.TargetStandardScaler(line()),
        "tree.ExtremelyFastDecisionTreeClassifier": lambda: tree.ExtremelyFastDecisionTreeClassifier(),
        "tree.HoeffdingAdaptiveTreeClassifier": lambda: tree.HoeffdingAdaptiveTreeClassifier(seed=1),
    }
    return counterparts.get(name)


def _quality(predicted: Any, truth: Any, role: str) -> float:
    if role == "regressor":
        return float(np.mean(np.abs(predicted - truth)))
    return float(np.mean(predicted == truth))


def _ours(name: str, role: str, X: Any, y: Any, scored: int) -> Side:
    def prepare() -> Callable[[], Outcome]:
        model = millstream.build(describe(name))

        def run() -> Outcome:
            if role == "transformer":
                model.learn_many(X)
                model.transform_many(X)
                return Outcome(memory=model.memory)
            if role in UNLABELLED:
                model.step_many(X)
                return Outcome(memory=model.memory)
            predicted = model.step_many(X, y)
            return Outcome(_quality(predicted[:scored], y[:scored], role), model.memory)

        return run

    return Side("millstream", len(y), prepare)


def _theirs(build: Callable[[], Any], role: str, rows: list[dict[str, float]], y: list[Any]) -> Side:
    def prepare() -> Callable[[], Outcome]:
        model = build()

        def run() -> Outcome:
            if role == "transformer":
                for x in rows:
                    model.learn_one(x)
                for x in rows:
                    model.transform_one(x)
                return Outcome(memory=model._raw_memory_usage)
            if role in UNLABELLED:
                ask = getattr(model, UNLABELLED[role])
                for x in rows:
                    ask(x)
                    model.learn_one(x)
                return Outcome(memory=model._raw_memory_usage)
            predicted = []
            for x, target in zip(rows, y, strict=True):
                predicted.append(model.predict_one(x))
                model.learn_one(x, target)
            quality = _quality(np.array([0 if p is None else p for p in predicted]), np.array(y), role)
            return Outcome(quality, model._raw_memory_usage)

        return run

    return Side("River", len(y), prepare)


def comparisons(size: float, only: list[str] | None = None) -> Iterator[Comparison]:
    """All learners, compared with River."""
    rows = int(200_000 * size)
    for name in names():
        if only is not None and not any(name.startswith(wanted) for wanted in only):
            continue
        role = millstream.build(describe(name)).role
        # Features of mean 0 and variance 1, so that no learner needs a scaler.
        n, few = rows // SLOW.get(name, 1), int(5_000 * size) // SLOW_THERE.get(name, 1)
        X, y = streams.regression(n, 10) if role == "regressor" else streams.linear(n, 10)
        X = streams.standardised(X)
        sides = [_ours(name, role, X, y, few)]
        if build := _river(name):
            sides.append(_theirs(build, role, streams.as_dicts(X[:few]), y[:few].tolist()))
        quality = {"regressor": "mean absolute error", "classifier": "accuracy"}.get(role, "")
        yield Comparison(name, quality, sides)
