"""Names of River and scikit-learn that have another name here: the error for an unknown name says which.

`hasattr` stays False for all of them. Modules answer by `unknown_name`, models by `OtherVerb`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from millstream.registry import find, nearest

__all__ = ["OTHER_VERBS", "OtherVerb", "other_component", "other_module", "unknown_name"]

#: Data sets of River, which come with it.
_RIVER_DATA_SETS = [
    "AirlinePassengers",
    "Bananas",
    "BETH",
    "Bikes",
    "ChickWeights",
    "CreditCard",
    "CriteoAds",
    "Elec2",
    "Higgs",
    "HTTP",
    "ImageSegments",
    "Insects",
    "Keystroke",
    "MaliciousURL",
    "MovieLens100K",
    "Music",
    "Phishing",
    "Restaurants",
    "Shuttle",
    "SMSSpam",
    "SMTP",
    "SolarFlare",
    "SP500Stocks",
    "Taxis",
    "TREC07",
    "TrumpApproval",
    "WaterFlow",
    "WebTraffic",
    "Yeast",
]

#: Names of River and scikit-learn by module, each with what to use here.
_NAMES: dict[str, dict[str, str]] = {
    "active": {"EntropySampler": "active.Query, which asks for labels of uncertain examples"},
    "base": {
        "Estimator": "base.Model",
        "Base": "base.Model",
        "DriftDetector": "drift.DriftDetector",
        "MiniBatchClassifier": "base.Classifier, whose learn_many learns row by row",
        "MiniBatchRegressor": "base.Regressor, whose learn_many learns row by row",
        "MiniBatchTransformer": "base.Transformer, whose learn_many learns row by row",
        "SupervisedTransformer": "base.Transformer, whose learn_one receives y",
        "BaseTransformer": "base.Transformer",
        "Ensemble": "ensemble.Voting, or base.Classifier around your models",
        "WrapperEnsemble": "ensemble.Bagging",
    },
    "compat": {
        "River2SKLClassifier": "compat.to_sklearn",
        "River2SKLRegressor": "compat.to_sklearn",
        "River2SKLClusterer": "compat.to_sklearn",
        "River2SKLTransformer": "compat.to_sklearn",
        "SKL2RiverClassifier": "compat.from_sklearn",
        "SKL2RiverRegressor": "compat.from_sklearn",
    },
    "datasets": {
        "synth": "the module synth",
        **dict.fromkeys(
            _RIVER_DATA_SETS, "this data set from River: evaluate.prequential and models take it unchanged"
        ),
    },
    "ensemble": {
        "ADWINBoostingClassifier": "ensemble.AdaBoost, or ensemble.ADWINBagging for drift",
        "BOLEClassifier": "ensemble.AdaBoost, or ensemble.ADWINBagging for drift",
        "EWARegressor": "ensemble.VotingRegressor, or ensemble.WeightedMajority for classes",
    },
    "forest": {
        "AMFClassifier": "forest.ARFClassifier",
        "AMFRegressor": "forest.ARFRegressor",
        "OXTRegressor": "forest.ARFRegressor",
    },
    "optim": {
        "AdaBound": "optim.Adam",
        "AMSGrad": "optim.Adam",
        "AdaMax": "optim.Adam",
        "Nadam": "optim.Adam",
        "Averager": "optim.SGD with a schedule such as optim.InverseSquareRoot",
        "Newton": "optim.OnlineNewtonStep",
        "initializers": "no initializer: weights begin with 0",
    },
    "stream": {
        "sample": "the method of a stream, such as stream.read_csv(path).sample(sampling.ByKey(0.1, 'user'))",
        "Cache": "stream.read_csv and the other readers, which are repeatable",
        "TwitterLiveStream": "stream.from_examples with your client",
        "TwitchChatStream": "stream.from_examples with your client",
    },
    "tree": {
        "splitter": "the names splitter='gaussian' and splitter='histogram'",
        "ISOUPTreeRegressor": "tree.HoeffdingTreeRegressor for each target",
        "LASTClassifier": "tree.HoeffdingAdaptiveTreeClassifier",
        "SGTClassifier": "tree.HoeffdingTreeClassifier",
        "SGTRegressor": "tree.HoeffdingTreeRegressor",
    },
    "linear_model": {
        "AdPredictor": "linear_model.BayesianLinearRegression or linear_model.AROW",
        "ALMAClassifier": "linear_model.ALMA",
        "SGDClassifier": "linear_model.LogisticRegression or linear_model.SVM",
        "SGDRegressor": "linear_model.LinearRegression",
        "PassiveAggressiveClassifier": "linear_model.PAClassifier",
        "PassiveAggressiveRegressor": "linear_model.PARegressor",
    },
    "bandit": {
        "UCB": "bandit.UCB1, or bandit.KLUCB for rewards of 0 and 1",
        "ThompsonSampling": "bandit.Thompson",
        "RandomPolicy": "bandit.EpsilonGreedy(epsilon=1.0)",
        "evaluate": "evaluate.play",
        "evaluate_offline": "evaluate.policies",
        "LinUCBDisjoint": "bandit.LinUCB",
        "envs": "bandit.worlds",
        "datasets": "bandit.worlds",
    },
    "preprocessing": {
        "StatImputer": "preprocessing.Imputer or preprocessing.PreviousImputer",
        "LDA": "decomposition.LDA",
        "GapEncoder": "preprocessing.TargetEncoder or feature_extraction.BagOfWords",
        "PolynomialFeatures": "feature_extraction.PolynomialExtender",
        "FrequencyEncoder": "preprocessing.CountEncoder(normalize=True)",
        "LabelEncoder": "preprocessing.OrdinalEncoder for features; labels need no encoder",
    },
    "feature_extraction": {
        "RBFSampler": "kernel.RandomFourierFeatures",
        "RandomTreesEmbedding": "kernel.RandomFourierFeatures",
        "CountVectorizer": "feature_extraction.BagOfWords",
        "TfidfVectorizer": "feature_extraction.TFIDF",
        "PolynomialFeatures": "feature_extraction.PolynomialExtender",
    },
    "sampling": {
        "VarOpt": "sampling.WeightedReservoir",
        "PrioritySample": "sampling.WeightedReservoir",
        "HashSample": "sampling.ByKey",
    },
    "decomposition": {
        "OnlinePCA": "decomposition.PCA, or decomposition.CCIPCA for wide rows",
        "TruncatedSVD": "decomposition.IncrementalSVD",
        "MiniBatchDictionaryLearning": "decomposition.DictionaryLearning",
        "MiniBatchNMF": "decomposition.NMF",
        "LatentDirichletAllocation": "decomposition.LDA",
    },
    "prototype": {
        "LVQ2": "prototype.LVQ21, which is LVQ2.1",
        "LVQ2_1": "prototype.LVQ21",
        "LGMLVQ": "prototype.GMLVQ",
        "GRLVQ": "prototype.GMLVQ",
    },
    "art": {
        "ARTMAP": "art.FuzzyARTMAP",
        "SimpleARTMAP": "art.FuzzyARTMAP",
    },
    "sketch": {
        "HLL": "sketch.HyperLogLog",
        "CPC": "sketch.HyperLogLog",
        "CMS": "sketch.CountMin",
        "CountMinSketch": "sketch.CountMin",
        "ThetaSketch": "sketch.Theta",
        "KMV": "sketch.Theta",
        "KLLSketch": "sketch.KLL",
        "TDigest": "sketch.KLL, or sketch.DDSketch for the tails",
        "REQ": "sketch.KLL, or sketch.DDSketch for the tails",
        "BloomFilter": "sketch.Bloom",
        "FrequentItems": "sketch.SpaceSaving",
        "LossyCounting": "sketch.SpaceSaving",
        "MisraGries": "sketch.SpaceSaving",
        "Quantile": "sketch.KLL",
    },
    "stats": {
        "Median": "stats.Quantile(0.5)",
        "RollingMedian": "stats.RollingQuantile(0.5, window_size)",
        "RollingMAD": "stats.Rolling(stats.MAD(), window_size)",
        "RollingEntropy": "stats.Rolling(stats.Entropy(), window_size)",
        "RollingAutoCorr": "stats.Rolling(stats.AutoCorr(lag), window_size)",
        "NUnique": "sketch.HyperLogLog",
    },
    "feature_selection": {"SelectPercentile": "feature_selection.SelectKBest"},
    "cluster": {
        "ODAC": "stats.Rolling(stats.PearsonCorr(), ...) for each pair of series",
        "TextClust": "feature_extraction.TFIDF() | cluster.KMeans()",
        "STREAMKMeans": "cluster.KMeans or cluster.MiniBatchKMeans",
        "CluStream": "cluster.KMeans with a half-life",
        "DBSTREAM": "cluster.KMeans, or art.FuzzyART for a number of clusters that grows",
        "DenStream": "cluster.KMeans, or art.FuzzyART for a number of clusters that grows",
    },
    "anomaly": {
        "OneClassSVM": "anomaly.HalfSpaceTrees",
        "LODA": "anomaly.HalfSpaceTrees",
        "PredictiveAnomalyDetection": "anomaly.ThresholdFilter, or the errors of a regressor in a drift detector",
        "LocalOutlierFactor": "anomaly.HalfSpaceTrees, or the distances of neighbors.KNNRegressor.kneighbors_one",
        "StandardAbsoluteDeviation": "anomaly.GaussianScorer",
    },
    "drift": {
        "datasets": "evaluate.drift, which measures detectors on streams of errors",
        "PeriodicTrigger": "drift.Retrain with your own drift.DriftDetector",
        "NoDrift": "no detector at all",
        "DummyDriftDetector": "no detector at all",
    },
    "metrics": {
        "AdjustedMutualInfo": "metrics.NormalizedMutualInfo or metrics.AdjustedRand",
        "ClusteringReport": "evaluate.prequential with several metrics",
    },
    "compose": {
        "Grouper": "compose.Keyed",
        "TransformerProduct": "compose.Interact",
        "learn_during_predict": "step_one or step_many, which predict and then learn",
        "pure_inference_mode": "predict_one, which never learns",
    },
    "neighbors": {
        "LazySearch": "neighbors.KNNClassifier(window_size=...)",
        "SWINN": "neighbors.HNSW",
        "KNN": "neighbors.KNNClassifier or neighbors.KNNRegressor",
        "NearestNeighbors": "neighbors.KNNClassifier, whose kneighbors_one finds rows",
    },
    "covariance": {
        "LedoitWolfCovariance": "covariance.LedoitWolf",
        "OASCovariance": "covariance.OAS",
        "Precision": "covariance.EmpiricalPrecision",
    },
    "evaluate": {
        "Track": "evaluate.prequential",
        "BinaryClassificationTrack": "evaluate.prequential",
        "MultiClassClassificationTrack": "evaluate.prequential",
        "RegressionTrack": "evaluate.prequential",
        "ForecastingTrack": "evaluate.forecast",
        "cross_val_score": "evaluate.prequential, which needs no folds",
    },
    "time_series": {
        "evaluate": "evaluate.forecast",
        "iter_evaluate": "evaluate.iter_forecast",
        "ForecastingMetric": "evaluate.forecast, which has the error at each horizon",
        "SNARIMAX": "time_series.HoltWinters",
    },
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
    "cluster_centers_": "centers",
    "components_": "components",
    "feature_names_in_": "features",
    "get_params": "parameters",
    "set_params": "clone(name=value)",
    "mutate": "clone({...}), which returns a new model: parameters are fixed",
}


#: Modules of River without a module of that name here.
_MODULES = {
    "dummy": "baseline",
    "imblearn": "multiclass.ClassWeights, or river.imblearn, whose models evaluate.prequential takes",
    "facto": "neural_network.MLPClassifier with embedding_size, or river.facto",
    "reco": "neural_network.MLPRegressor with embedding_size, or river.reco",
    "rules": "tree.HoeffdingTreeRegressor and its rules()",
    "conf": "predict_interval_one of regressors, or river.conf",
    "proba": "stats",
    "misc": "stats, or river.misc",
    "model_selection": "evaluate.prequential with several models, or bandit",
    "multioutput": "a model for each output, or river.multioutput",
    "checks": "testing.check_model",
    "api": "millstream",
    "utils": "stats.Rolling, stats.TimeRolling and metrics.Rolling",
    "random_projection": "preprocessing.GaussianRandomProjector or preprocessing.SparseRandomProjector",
    "impute": "preprocessing.Imputer",
}


def other_module(name: str) -> str:
    """What to use instead of an unknown name of `millstream`, as the end of an error message."""
    if name.startswith("_"):
        return ""
    return f": use {_MODULES[name]}" if name in _MODULES else nearest(name, sys.modules["millstream"].__all__)


def other_component(name: str) -> str:
    """What to use instead of an unknown component, with or without its module, as the end of an error message."""
    module, _, short = name.rpartition(".")
    tables = [_NAMES.get(module, {})] if module else list(_NAMES.values())
    used = next((table[short] for table in tables if short in table), None)
    return f": use {used}" if used else ""


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


def _elsewhere(name: str, own: Iterable[str]) -> str:
    """The component of this name in another module."""
    if name.lower() in map(str.lower, own):
        return ""
    return " or ".join(full for full in find() if full.rpartition(".")[2].lower() == name.lower())


def unknown_name(module: str) -> Callable[[str], Any]:
    """The `__getattr__` of a module: an error that names what to use here, or the most similar name."""
    short = module.removeprefix("millstream.")

    def answer(name: str) -> NoReturn:
        words = f"module {module!r} has no attribute {name!r}"
        if not name.startswith("_"):
            own = getattr(sys.modules[module], "__all__", ())
            other = _NAMES.get(short, {}).get(name) or _elsewhere(name, own)
            words += f": use {other}" if other else nearest(name, own)
        raise AttributeError(words, name=name, obj=sys.modules[module])

    return answer
