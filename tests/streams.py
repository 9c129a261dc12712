"""The learners that the laws are held against, and the streams they are held on.

Learners come from the registry, so a new one is under the laws from its first day. One that cannot be built
without arguments is given them in `ARGUMENTS`; a test says which are missing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from typing import Any

import numpy as np

import millstream
from millstream import roles

#: Arguments for parts that have no default for all of them, and budgets that are full within the streams here.
ARGUMENTS: dict[str, dict[str, Any]] = {
    "anomaly.HalfSpaceTrees": {"n_trees": 3, "height": 4, "window_size": 25, "limits": [-8.0, 8.0]},
    "anomaly.QuantileFilter": {"model": {"name": "anomaly.GaussianScorer"}, "q": 0.9},
    "anomaly.ThresholdFilter": {"model": {"name": "anomaly.GaussianScorer"}, "threshold": 0.9},
    "art.FuzzyART": {"vigilance": 0.9, "limits": [-8.0, 8.0], "max_prototypes": 20},
    "art.FuzzyARTMAP": {"limits": [-8.0, 8.0], "max_prototypes": 16},
    "basis.BSpline": {"bounds": [-8.0, 8.0], "intervals": 3, "degree": 2, "outside": "clamp"},
    "basis.Chebyshev": {"order": 2, "bounds": [-8.0, 8.0], "outside": "clamp"},
    "basis.Fourier": {"order": 1, "bounds": [-8.0, 8.0], "outside": "clamp"},
    "basis.GaussianRBF": {"bounds": [-8.0, 8.0], "count": 4, "outside": "clamp"},
    "basis.Grid": {"bounds": [-8.0, 8.0], "count": 3, "outside": "clamp"},
    "basis.Legendre": {"order": 2, "bounds": [-8.0, 8.0], "outside": "clamp"},
    "basis.Polynomial": {"order": 2, "bounds": [-8.0, 8.0], "outside": "clamp"},
    "bandit.Restart": {"policy": {"name": "bandit.EpsilonGreedy"}},
    "cluster.KMeans": {"n_clusters": 3, "init_size": 12},
    "continual.AGEM": {
        "model": {"name": "neural_network.MLPClassifier", "parameters": {"hidden_units": [8]}},
        "buffer": {"name": "continual.Reservoir", "parameters": {"size": 20}},
        "n_replay": 3,
    },
    "continual.DERPlusPlus": {
        "model": {"name": "neural_network.MLPClassifier", "parameters": {"hidden_units": [8]}},
        "buffer": {"name": "continual.ClassBalanced", "parameters": {"size": 20}},
        "n_replay": 3,
    },
    "continual.EWC": {
        "model": {"name": "neural_network.MLPClassifier", "parameters": {"hidden_units": [8]}},
        "period": 30,
    },
    "continual.GDumb": {
        "model": {"name": "naive_bayes.GaussianNB"},
        "buffer": {"name": "continual.ClassBalanced", "parameters": {"size": 20}},
        "passes": 1,
        "period": 1,
    },
    "continual.LwF": {
        "model": {"name": "neural_network.MLPClassifier", "parameters": {"hidden_units": [8]}},
        "period": 30,
    },
    "continual.Replay": {
        "model": {"name": "neural_network.MLPClassifier", "parameters": {"hidden_units": [8]}},
        "buffer": {"name": "continual.ClassBalanced", "parameters": {"size": 20}},
        "n_replay": 3,
    },
    "continual.SI": {
        "model": {"name": "neural_network.MLPClassifier", "parameters": {"hidden_units": [8]}},
        "period": 30,
    },
    "cluster.MiniBatchKMeans": {"n_clusters": 3, "init_size": 12, "batch_size": 7},
    "compose.Select": {"names": ["a", "b", "c0", "c1", 0, 1]},
    "compose.Drop": {"names": ["b", "c1", 1]},
    "compose.Union": {"parts": [{"name": "preprocessing.StandardScaler"}, {"name": "preprocessing.MinMaxScaler"}]},
    "decomposition.DictionaryLearning": {"n_components": 3, "l1": 0.1, "batch_size": 10},
    "decomposition.FrequentDirections": {"sketch_size": 4},
    "decomposition.IncrementalPCA": {"batch_size": 10},
    "decomposition.IncrementalSVD": {"batch_size": 10, "forgetting": 0.9},
    "decomposition.LDA": {"n_components": 3, "batch_size": 10},
    "decomposition.NMF": {"n_components": 3, "batch_size": 10},
    "decomposition.PCA": {"refresh_interval": 10},
    "ensemble.AdaBoost": {"model": {"name": "naive_bayes.GaussianNB"}, "n_models": 3},
    # A count is defined for any row.
    "feature_extraction.Agg": {"on": "a", "by": None, "how": {"name": "stats.Count"}},
    "feature_extraction.TargetAgg": {"by": None, "how": {"name": "stats.Count"}},
    "ensemble.SRPClassifier": {"model": {"name": "naive_bayes.GaussianNB"}, "n_models": 4, "subspace_size": 0.8},
    "ensemble.SRPRegressor": {"model": {"name": "linear_model.RLS"}, "n_models": 4, "subspace_size": 1.0},
    "ensemble.Stacking": {"models": [{"name": "naive_bayes.GaussianNB"}, {"name": "linear_model.Perceptron"}]},
    "ensemble.StackingRegressor": {"models": [{"name": "linear_model.RLS"}, {"name": "baseline.TargetMean"}]},
    "ensemble.Voting": {
        "models": [{"name": "naive_bayes.GaussianNB"}, {"name": "linear_model.LogisticRegression"}]
    },
    "ensemble.VotingRegressor": {
        "models": [{"name": "linear_model.RLS"}, {"name": "linear_model.LinearRegression"}]
    },
    "ensemble.WeightedMajority": {
        "models": [{"name": "naive_bayes.GaussianNB"}, {"name": "linear_model.LogisticRegression"}]
    },
    "drift.Retrain": {"model": {"name": "naive_bayes.GaussianNB"}, "detector": {"name": "drift.DDM"}},
    "ensemble.ADWINBagging": {"model": {"name": "naive_bayes.GaussianNB"}, "n_models": 3},
    "ensemble.LeveragingBagging": {"model": {"name": "naive_bayes.GaussianNB"}, "n_models": 3, "n_threads": 2},
    "ensemble.Bagging": {"model": {"name": "naive_bayes.GaussianNB"}, "n_models": 4, "n_threads": 2},
    "ensemble.BaggingRegressor": {
        "model": {"name": "linear_model.LinearRegression"},
        "n_models": 4,
        "n_threads": 2,
    },
    "feature_selection.PoissonInclusion": {"p": 1.0},
    "feature_selection.SelectKBest": {"k": 2},
    "forest.ARFClassifier": {"n_models": 3, "n_threads": 2},
    "forest.ARFRegressor": {"n_models": 3, "n_threads": 2},
    "htm.AnomalyLikelihood": {
        "model": {"name": "anomaly.GaussianScorer", "parameters": {"grace_period": 5}},
        "grace_period": 9,
        "min_samples": 6,
        "window_size": 20,
        "smoothing_window": 3,
        "refresh_interval": 4,
    },
    "htm.CategoryEncoder": {"n_bits": 12, "n_active": 3},
    "htm.DateEncoder": {"time": "b", "time_of_day": 3, "weekend": 1},
    "htm.HTMAnomaly": {
        "n_bits": 40,
        "n_active": 7,
        "calibration_period": 4,
        "n_columns": 30,
        "active_columns": 4,
        "cells_per_column": 3,
        "activation_threshold": 3,
        "min_threshold": 2,
        "new_synapses": 4,
        "max_synapses": 5,
        "max_segments": 50,
        "grace_period": 5,
        "min_samples": 4,
        "window_size": 20,
        "refresh_interval": 3,
    },
    "htm.ScalarEncoder": {"limits": [-8.0, 8.0], "n_bits": 9, "n_active": 3},
    "htm.SpatialPooler": {"n_columns": 12, "active_columns": 3},
    "htm.TemporalMemory": {
        "n_columns": 4096,
        "cells_per_column": 3,
        "activation_threshold": 2,
        "min_threshold": 1,
        "new_synapses": 4,
        "max_synapses": 5,
        "max_segments": 20,
    },
    "kernel.KernelRLS": {"budget": 60},
    "kernel.KernelSGD": {"budget": 30},
    "kernel.KernelSGDRegressor": {"budget": 30},
    **{f"metrics.{average}FBeta": {"beta": 2.0} for average in ("", "Macro", "Micro", "Weighted")},
    "metrics.Fading": {"metric": {"name": "metrics.MAE"}},
    "metrics.Rolling": {"metric": {"name": "metrics.MAE"}},
    "compose.Interact": {"pairs": ["* × *"], "bits": 3},
    "compose.TargetTransformRegressor": {"model": {"name": "linear_model.RLS"}, "func": "identity"},
    "preprocessing.PredClipper": {"model": {"name": "linear_model.LinearRegression"}, "y_min": -5.0, "y_max": 5.0},
    "preprocessing.QuantileTransformer": {"refresh_interval": 7},
    "preprocessing.RobustScaler": {"refresh_interval": 7},
    "preprocessing.TargetMinMaxScaler": {"model": {"name": "linear_model.LinearRegression"}},
    "preprocessing.TargetStandardScaler": {"model": {"name": "linear_model.LinearRegression"}},
    "prototype.RSLVQ": {"detector": {"name": "drift.DDM"}},
    "preprocessing.FeatureHasher": {"n_features": 8},
    "preprocessing.GaussianRandomProjector": {"n_components": 3},
    "preprocessing.SparseRandomProjector": {"n_components": 3, "density": 0.5},
    "sampling.ByKey": {"fraction": 0.5, "key": "user"},
    "sampling.DecayedReservoir": {"size": 9, "half_life": 12.0},
    "sampling.Reservoir": {"size": 9},
    "sampling.Stratified": {"size": 9},
    "sampling.WeightedReservoir": {"size": 9},
    "sampling.WindowSample": {"size": 9, "window_size": 40.0},
    "stats.BayesianMean": {"prior": 0.5, "prior_weight": 3.0},
    "stats.Link": {"left": {"name": "stats.Shift"}, "right": {"name": "stats.Mean"}},
    "stats.Rolling": {"statistic": {"name": "stats.Mean"}},
    "stats.TimeRolling": {"statistic": {"name": "stats.Mean"}, "period": 20.0},
    "neighbors.KNNClassifier": {"window_size": 60, "weights": "distance"},
    "neighbors.KNNRegressor": {"window_size": 200, "engine": {"name": "neighbors.HNSW", "parameters": {"m": 4}}},
    "neighbors.SAMKNNClassifier": {"window_size": 60, "min_stm_size": 10},
    "neural_network.EchoState": {"hidden_units": 12},
    "neural_network.OSELM": {"hidden_units": 12},
    "neural_network.MLPClassifier": {"hidden_units": [12, 6], "embedding_size": 2},
    "neural_network.IRMARegressor": {"bounds": [-10, 10], "outside": "clamp", "hidden_units": 6, "samples": 32},
    "multiclass.OneVsRest": {"model": {"name": "linear_model.LogisticRegression"}},
    "synth.Drift": {
        "stream": {"name": "synth.STAGGER"},
        "drift_stream": {"name": "synth.STAGGER", "parameters": {"classification_function": 2}},
        "position": 300,
        "width": 100,
    },
    "synth.Imbalance": {"stream": {"name": "synth.LED"}, "shares": [1, 2, 3, 4, 5, 6, 7, 8, 9, 0]},
    "synth.LabelNoise": {"stream": {"name": "synth.SEA"}},
    "synth.LED": {"irrelevant_features": True},
    "time_series.HoltWinters": {
        "smoothing_level": 0.5,
        "smoothing_trend": 0.1,
        "smoothing_seasonal": 0.3,
        "period": 4,
    },
    "synth.Missing": {"stream": {"name": "synth.Agrawal"}},
}

ROLES = roles.STEPS

_SCALER = {"name": "preprocessing.StandardScaler"}

_ENCODER = {"name": "preprocessing.TargetEncoder", "parameters": {"max_keys": 3, "when_full": "evict"}}

#: Models made of parts, by the role of the whole.
COMPOSED: dict[str, dict[str, list[dict[str, Any]]]] = {
    "classifier": {
        "StandardScaler | LogisticRegression": [_SCALER, {"name": "linear_model.LogisticRegression"}],
        "TargetEncoder | LogisticRegression": [_ENCODER, {"name": "linear_model.LogisticRegression"}],
    },
    "regressor": {
        "StandardScaler | LinearRegression": [_SCALER, {"name": "linear_model.LinearRegression"}],
        "TargetEncoder | LinearRegression": [_ENCODER, {"name": "linear_model.LinearRegression"}],
    },
    "transformer": {"StandardScaler | StandardScaler": [_SCALER, _SCALER]},
    "anomaly_detector": {"StandardScaler | GaussianScorer": [_SCALER, {"name": "anomaly.GaussianScorer"}]},
    "clusterer": {
        "StandardScaler | KMeans": [_SCALER, {"name": "cluster.KMeans", "parameters": ARGUMENTS["cluster.KMeans"]}]
    },
}


#: Models that have the role of what they wrap.
WRAPPED: dict[str, dict[str, Any]] = {
    "classifier": {
        "name": "drift.Retrain",
        "parameters": {"model": {"name": "naive_bayes.GaussianNB"}, "detector": {"name": "drift.DDM"}},
    },
    "regressor": {
        "name": "drift.Retrain",
        "parameters": {
            "model": {"name": "linear_model.LinearRegression"},
            "detector": {"name": "drift.PageHinkley", "parameters": {"threshold": 5.0}},
            "warning_detector": {"name": "drift.PageHinkley", "parameters": {"threshold": 1.0}},
        },
    },
}


#: Learners of counts refuse negative numbers, so a scaler in front makes them positive.
_POSITIVE = {"name": "preprocessing.MinMaxScaler", "parameters": {"clip": True}}
COUNTS = (
    "decomposition.LDA",
    "decomposition.NMF",
    "naive_bayes.CategoricalNB",
    "naive_bayes.ComplementNB",
    "naive_bayes.MultinomialNB",
)


def composed(role: str) -> dict[str, list[dict[str, Any]]]:
    """Pipelines of a role: those of `COMPOSED`, otherwise a scaler before the first model of the role."""
    first = next(iter(millstream.find(role=role)))
    step = {"name": first, "parameters": ARGUMENTS.get(first, {})}
    return COMPOSED.get(role) or {f"StandardScaler | {first.partition('.')[2]}": [_SCALER, step]}


def descriptions() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """(role, name, description) of every model that the laws are held against."""
    for role in ROLES:
        if role in WRAPPED:
            yield role, f"Retrain_{role}", WRAPPED[role]
        for name in millstream.find(role=role):
            description = {"name": name, "parameters": ARGUMENTS.get(name, {})}
            steps = [_POSITIVE, description]
            pipeline = {"name": "compose.Pipeline", "parameters": {"steps": steps}}
            yield role, name, pipeline if name in COUNTS else description
        for name, steps in composed(role).items():
            yield role, name, {"name": "compose.Pipeline", "parameters": {"steps": steps}}


class Case:
    """One learner under the laws."""

    def __init__(self, role: str, name: str, description: dict[str, Any]) -> None:
        self.role = roles.role_named(role)
        self.name = name
        self.description = description

    def __repr__(self) -> str:
        return self.name

    def build(self) -> Any:
        return millstream.build(self.description)

    @cached_property
    def parts(self) -> set[str]:
        """The names of all parts in it."""
        steps = self.description["parameters"].get("steps", [])
        return {self.description["name"], *(step["name"] for step in steps)}

    @cached_property
    def is_fixed(self) -> bool:
        """Whether it has a basis, whose inputs are numbers and stay the same."""
        return any(part.startswith("basis.") for part in self.parts)

    def target(self, number: float) -> Any:
        """A target of the right kind for this role, and for the loss: a Poisson mean is not negative."""
        if self.description["parameters"].get("loss") == "losses.Poisson":
            number = abs(number)
        return {"classifier": number > 0, "regressor": number}.get(self.role)

    @property
    def has_target(self) -> bool:
        """Whether it learns from targets."""
        return self.role.truth is not roles.Truth.NONE

    def ask_many(self, model: Any) -> Any:
        """The verb that predicts, scores or transforms many rows."""
        return getattr(model, self.role.asks[0].replace("_one", "_many"))

    def targets(self, numbers: Any) -> Any:
        if not self.has_target:
            return None
        numbers = np.array(numbers, dtype=float)
        if self.description["parameters"].get("loss") == "losses.Poisson":
            numbers = abs(numbers)
        return numbers > 0 if self.role == "classifier" else numbers

    def learn(self, model: Any, stream: list[tuple[dict[Any, Any], float]]) -> Any:
        """Learn a stream example by example."""
        for x, number in stream:
            learn_one(self, model, x, number)
        return model

    def answers(self, model: Any, rows: list[dict[Any, Any]]) -> list[Any]:
        """All that the model says of some rows."""
        return [answer(self, model, x) for x in rows]


def fit(case: Case, x: Any) -> Any:
    """The row as the learner takes it: a basis has the inputs that it began with, numbers all of them."""
    if not case.is_fixed or not isinstance(x, dict) or 0 in x or "c0" in x:
        return x
    number = lambda value: value if isinstance(value, float) and np.isfinite(value) else 0.0  # noqa: E731
    return {"a": number(x.get("a")), "b": number(x.get("b"))}


def learn_one(case: Case, model: Any, x: Any, number: float, w: float = 1.0) -> None:
    x = fit(case, x)
    if case.has_target:
        model.learn_one(x, case.target(number), w)
    else:
        model.learn_one(x, w=w)


def answer(case: Case, model: Any, x: dict[Any, Any]) -> Any:
    x = fit(case, x)
    if case.role == "classifier":
        return model.predict_one(x), model.predict_proba_one(x)
    return getattr(model, case.role.asks[0])(x)


def numbers_in(said: Any) -> list[float]:
    """Every number in an answer."""
    if isinstance(said, float):
        return [said]
    if isinstance(said, dict):
        return [number for value in said.values() for number in numbers_in(value)]
    if isinstance(said, tuple):
        return [number for value in said for number in numbers_in(value)]
    return []


def numeric(height: int, width: int = 4, seed: int = 7) -> tuple[Any, Any]:
    """A matrix, and numbers that depend on it linearly with some noise."""
    X, numbers = _numeric(height, width, seed)
    return X.copy(), numbers.copy()


@cache
def _numeric(height: int, width: int, seed: int) -> tuple[Any, Any]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(height, width)) * np.linspace(0.5, 2.0, width) + np.linspace(-1.0, 1.0, width)
    numbers = X @ np.linspace(1.0, -1.0, width) + random.normal(scale=0.1, size=height)
    return X, numbers


def mixed(height: int, seed: int = 7) -> list[tuple[dict[str, Any], float]]:
    """Dicts with numbers, text, missing values, and features that come, go and come back."""
    return [(dict(x), number) for x, number in _mixed(height, seed)]


@cache
def _mixed(height: int, seed: int) -> list[tuple[dict[str, Any], float]]:
    random = np.random.default_rng(seed)
    stream = []
    for row in range(height):
        a, b, c = random.normal(size=3).tolist()
        x: dict[str, Any] = {"a": a, "b": b, "colour": ["red", "green", "blue"][random.integers(3)]}
        if row % 5 == 2:
            x["a"] = None
        if row % 7 == 3:
            x["b"] = float("nan")
        if row % 11 == 5:
            del x["colour"]
        if row > 20:
            x["late"] = c
        if 40 < row < 70:
            del x["b"]
        if row > 30:
            x["city"] = f"city {random.integers(8)}"
        x["flag"] = bool(random.integers(2))
        number = (a - b) + (1.0 if x.get("colour") == "red" else 0.0) + 0.1 * float(random.normal())
        stream.append((x, number))
    return stream


def variants() -> Iterator[Case]:
    """Learners with other parameters, and pipelines of other shapes: for the laws that parameters could break."""
    linear = {"classifier": "linear_model.LogisticRegression", "regressor": "linear_model.LinearRegression"}
    penalties: list[dict[str, Any]] = [{"averaging": True}, {"l1": 0.01, "l2": 0.1}, {"intercept": False}]
    for role, name in linear.items():
        short = name.partition(".")[2]
        for optimizer in millstream.find(role="optimizer"):
            yield Case(role, f"{short}({optimizer})", {"name": name, "parameters": {"optimizer": optimizer}})
        full = {"name": "optim.AdaGrad", "parameters": {"full": True}}
        yield Case(role, f"{short}(full AdaGrad)", {"name": name, "parameters": {"optimizer": full}})
        for loss in millstream.find(role="loss"):
            description = {"name": name, "parameters": {"loss": loss}}
            with contextlib.suppress(ValueError):
                millstream.build(description)
                yield Case(role, f"{short}({loss})", description)
        for schedule in millstream.find(role="schedule"):
            optimizer = {"name": "optim.SGD", "parameters": {"learning_rate": {"name": schedule}}}
            yield Case(role, f"{short}({schedule})", {"name": name, "parameters": {"optimizer": optimizer}})
        for penalty in penalties:
            yield Case(role, f"{short}({penalty})", {"name": name, "parameters": penalty})
            parameters = {**penalty, "optimizer": "optim.Adam"}
            yield Case(role, f"{short}(Adam, {penalty})", {"name": name, "parameters": parameters})
    irma = {"classifier": "linear_model.IRMAClassifier", "regressor": "linear_model.IRMA"}
    for role, name in irma.items():
        short = name.partition(".")[2]
        for loss in millstream.find(role="loss"):
            description = {"name": name, "parameters": {"loss": loss, "cap": 10.0}}
            with contextlib.suppress(ValueError):
                millstream.build(description)
                yield Case(role, f"{short}({loss})", description)
        additive = {"order": 3, "bounds": [-8.0, 8.0], "combine": "additive", "outside": "clamp"}
        steps = [{"name": "basis.Legendre", "parameters": additive}, {"name": name}]
        yield Case(role, f"Legendre | {short}", {"name": "compose.Pipeline", "parameters": {"steps": steps}})
    softmax = {
        "name": "linear_model.SoftmaxRegression",
        "parameters": {"optimizer": "optim.Adam", "averaging": True},
    }
    yield Case("classifier", "SoftmaxRegression(Adam, averaging)", softmax)
    yield from kernel_variants()
    for choice in ({"half_life": 10.0}, {"learning_rate": 0.1}, {"n_clusters": 20, "reassignment_ratio": 0.9}):
        parameters = {**ARGUMENTS["cluster.KMeans"], "init_size": 20, **choice}
        yield Case("clusterer", f"KMeans({choice})", {"name": "cluster.KMeans", "parameters": parameters})
    logistic = {"name": "linear_model.LogisticRegression"}
    encoder, imputer = {"name": "preprocessing.OneHotEncoder"}, {"name": "preprocessing.Imputer"}
    union = {"name": "compose.Union", "parameters": {"parts": [_SCALER, encoder]}}
    select = {"name": "compose.Select", "parameters": {"kind": "number"}}
    rest = {"name": "multiclass.OneVsRest", "parameters": {"model": logistic}}
    shapes: dict[str, list[dict[str, Any]]] = {
        "OneHotEncoder | LogisticRegression": [encoder, logistic],
        "Imputer | OneHotEncoder | StandardScaler | LogisticRegression": [imputer, encoder, _SCALER, logistic],
        "Select | StandardScaler | LogisticRegression": [select, _SCALER, logistic],
        "StandardScaler | Imputer | GaussianNB": [_SCALER, imputer, {"name": "naive_bayes.GaussianNB"}],
        "(StandardScaler + OneHotEncoder) | OneVsRest": [union, rest],
        "MinMaxScaler | OneHotEncoder | SoftmaxRegression": [
            {"name": "preprocessing.MinMaxScaler"},
            encoder,
            softmax,
        ],
    }
    for title, steps in shapes.items():
        yield Case("classifier", title, {"name": "compose.Pipeline", "parameters": {"steps": steps}})


#: Those on vectors; a learner of texts is in Python, and has tests of its own.
KERNELS = [name for name in millstream.find(role="kernel") if name != "kernel.String"]
MAINTENANCE = ("removal", "projection", "merging", "forgetron", "projectron", "projectron++")


def kernel_variants() -> Iterator[Case]:
    """Every kernel, every loss, every way to keep a budget, which is full within the streams here."""
    choices: list[dict[str, Any]] = [{"kernel": kernel} for kernel in KERNELS]
    choices += [{"loss": loss} for loss in millstream.find(role="loss")]
    choices += [{"maintenance": maintenance} for maintenance in MAINTENANCE]
    choices += [{"l2": 0.1, "intercept": True, "learning_rate": {"name": "optim.InverseSquareRoot"}}]
    for role, name in {"classifier": "KernelSGD", "regressor": "KernelSGDRegressor"}.items():
        for parameters in choices:
            description = {"name": f"kernel.{name}", "parameters": {"budget": 10, **parameters}}
            with contextlib.suppress(ValueError):
                if millstream.build(description).role == role:
                    yield Case(role, f"{name}({parameters})", description)
    for kernel in KERNELS:
        for role, name in {"regressor": "KernelRLS", "transformer": "Nystroem"}.items():
            yield Case(role, f"{name}({kernel})", {"name": f"kernel.{name}", "parameters": {"kernel": kernel}})


CASES = [Case(*description) for description in descriptions()]
VARIANTS = list(variants())


def cases(*roles: str, unless: Callable[[Case], bool] | None = None, varied: bool = False) -> list[Case]:
    """The learners of some roles; with `varied` those of `VARIANTS` too."""
    chosen = CASES + VARIANTS if varied else CASES
    return [case for case in chosen if case.role in (roles or ROLES) and not (unless and unless(case))]
