"""Names of River and scikit-learn that have another name here: the error for an unknown name says which.

`hasattr` stays False for all of them. Modules answer by `unknown_name`, models by `OtherVerb`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NoReturn

from millstream.registry import nearest

__all__ = ["OTHER_VERBS", "OtherVerb", "unknown_name"]

#: Names of River and scikit-learn by module, each with what to use here.
_NAMES: dict[str, dict[str, str]] = {
    "linear_model": {
        "ALMAClassifier": "linear_model.ALMA",
        "SGDClassifier": "linear_model.LogisticRegression or linear_model.SVM",
        "SGDRegressor": "linear_model.LinearRegression",
        "PassiveAggressiveClassifier": "linear_model.PAClassifier",
        "PassiveAggressiveRegressor": "linear_model.PARegressor",
    },
    "preprocessing": {
        "StatImputer": "preprocessing.Imputer or preprocessing.PreviousImputer",
        "LDA": "decomposition.LDA",
        "GapEncoder": "preprocessing.TargetEncoder or feature_extraction.BagOfWords",
    },
    "feature_extraction": {"RBFSampler": "kernel.RandomFourierFeatures"},
    "cluster": {
        "STREAMKMeans": "cluster.KMeans or cluster.MiniBatchKMeans",
        "CluStream": "cluster.KMeans with a half-life",
        "DBSTREAM": "cluster.KMeans, or art.FuzzyART for a number of clusters that grows",
        "DenStream": "cluster.KMeans, or art.FuzzyART for a number of clusters that grows",
    },
    "anomaly": {
        "OneClassSVM": "anomaly.HalfSpaceTrees",
        "LocalOutlierFactor": "anomaly.HalfSpaceTrees, or the distances of neighbors.KNNRegressor.kneighbors_one",
        "StandardAbsoluteDeviation": "anomaly.GaussianScorer",
    },
    "drift": {"NoDrift": "no detector at all", "DummyDriftDetector": "no detector at all"},
    "metrics": {
        "CrossEntropy": "metrics.LogLoss",
        "RollingROCAUC": "metrics.Rolling(metrics.ROCAUC())",
        "RollingPRAUC": "metrics.Rolling(metrics.PRAUC())",
        "ClassificationReport": "evaluate.prequential(...).confusion, and one metric for each column",
    },
    "compose": {
        "SelectType": "compose.Select(...) with the names, or a function",
        "learn_during_predict": "step_one or step_many, which predict and then learn",
        "pure_inference_mode": "predict_one, which never learns",
    },
    "neighbors": {"LazySearch": "neighbors.KNNClassifier(window_size=...)", "SWINN": "neighbors.HNSW"},
    "covariance": {"LedoitWolfCovariance": "covariance.LedoitWolf", "OASCovariance": "covariance.OAS"},
    "evaluate": {
        "progressive_val_score": "evaluate.prequential",
        "iter_progressive_val_score": "evaluate.prequential(...).curve",
        "cross_val_score": "evaluate.prequential, which needs no folds",
    },
    "time_series": {"evaluate": "evaluate.forecasts", "iter_evaluate": "evaluate.forecasts"},
    "synth": {
        "FriedmanDrift": "synth.Drift(synth.Friedman(...), ...)",
        "LEDDrift": "synth.Drift(synth.LED(...), ...)",
        "RandomRBFDrift": "synth.RandomRBF with moving centroids",
    },
}

#: Verbs and attributes of scikit-learn and River's detectors, each with what to use here.
OTHER_VERBS = {
    "fit": "learn_many(X, y), or learn_one(x, y) for one example",
    "partial_fit": "learn_many(X, y)",
    "predict": "predict_many(X), or predict_one(x) for one row",
    "predict_proba": "predict_proba_many(X), or predict_proba_one(x) for one row",
    "fit_predict": "step_many(X, y), which predicts each row before it learns it",
    "transform": "transform_many(X), or transform_one(x) for one row",
    "fit_transform": "learn_many(X), then transform_many(X)",
    "decision_function": "score_many(X), or predict_proba_many(X)",
    "coef_": "weights",
    "feature_names_in_": "features",
    "get_params": "parameters",
    "set_params": "clone(name=value)",
}


class OtherVerb:
    """A verb of another library: the error says which verb to use, and `hasattr` is False.

    A `__getattr__` would slow every call of the verbs that a model has.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, model: Any, cls: type) -> NoReturn:
        name = self._name
        if model is None:
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}", name=name, obj=cls)
        words = f"{cls.__name__!r} object has no attribute {name!r}: use {OTHER_VERBS[name]}"
        raise AttributeError(words, name=name, obj=model)


def unknown_name(module: str) -> Callable[[str], Any]:
    """The `__getattr__` of a module: an error that names what to use here, or the most similar name."""
    short = module.removeprefix("millstream.")

    def answer(name: str) -> NoReturn:
        words = f"module {module!r} has no attribute {name!r}"
        if not name.startswith("_"):
            other = _NAMES.get(short, {}).get(name)
            words += f": use {other}" if other else nearest(name, getattr(sys.modules[module], "__all__", ()))
        raise AttributeError(words, name=name, obj=sys.modules[module])

    return answer
