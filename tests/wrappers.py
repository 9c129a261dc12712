"""Wrappers that change nothing, and the outcomes that a wrapped model and the model alone are compared by."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

import millstream
from millstream import compose, drift, ensemble, multiclass, preprocessing, roles, stream
from millstream.errors import InvalidType
from streams import CASES, Case, fit, mixed, numeric

LEARNERS = ("classifier", "regressor")
STEPS = roles.STEPS
#: Roles of models, which end a pipeline.
MODELS = tuple(role for role in STEPS if role != "transformer")


@dataclass(frozen=True)
class Wrapper:
    """A way to wrap a model so that it still does what it does alone."""

    name: str
    roles: tuple[str, ...]
    wrap: Callable[[Any], Any]
    #: Laws that do not apply to it, each with the reason.
    exempt: dict[str, str] = field(default_factory=dict)
    #: Verbs and attributes of the model that it does not have, on purpose.
    without: tuple[str, ...] = ()
    #: Laws under which sums round in another order, each with the reason: there 1e-9 is near enough.
    rounded: dict[str, str] = field(default_factory=dict)
    #: Whether it divides probabilities by their sum.
    normalises: bool = False
    #: Whether it runs in Python, which takes ten times as long.
    in_python: bool = False

    def build(self, case: Case) -> Any:
        """The wrapped model of a case."""
        return self.wrap(case.build())

    def __repr__(self) -> str:
        return self.name


class Silent:
    """A detector in Python that never finds a change."""

    drift_detected = False

    def update(self, x: float) -> None:
        """Receive an error."""


def _same(x: Any) -> Any:
    return x


def _never() -> drift.PageHinkley:
    return drift.PageHinkley(threshold=1e300, grace_period=10**9)


_ENSEMBLE = {
    "train": "the loss of an ensemble is not that of a member",
    "batches": "the members learn example by example",
    "merge": "an ensemble keeps records of its members in the order of the stream",
}
_DENSE = {"sparse": "the step in front writes dense rows"}
_IN_PYTHON = {
    "batches": "mini-batches are for native models",
    "train": "the risk of a model in Python is its error, not its loss",
    "merge": "only native models can be merged",
    "threads": "rows cross to Python one by one",
    "wide": "a step in Python is given dicts, whatever their size",
    "sparse": "a step in Python is given dicts, in which zeros are written out",
}

WRAPPERS = [
    Wrapper("Pipeline", STEPS, lambda model: compose.Pipeline([model])),
    Wrapper("Select |", STEPS, lambda model: compose.Select(pattern="*") | model),
    Wrapper("| Select", ("transformer",), lambda model: model | compose.Select(pattern="*")),
    Wrapper("Union", ("transformer",), lambda model: compose.Union([model])),
    Wrapper(
        "Union(Select) |",
        STEPS,
        lambda model: compose.Union(compose.Select(pattern="*")) | model,
        rounded=_DENSE,
    ),
    Wrapper(
        "StandardScaler |",
        MODELS,
        lambda model: preprocessing.StandardScaler(with_mean=False, with_std=False) | model,
        {"merge": "a scaler learns, so each half was scaled by its own moments"},
        rounded=_DENSE,
    ),
    Wrapper(
        "Retrain",
        LEARNERS,
        lambda model: drift.Retrain(model, _never(), warm=False),
        {
            "merge": "a detector keeps the errors in the order of the stream",
            "batches": "the detector receives the error of each example before it is learned",
        },
    ),
    Wrapper(
        "Voting",
        ("classifier",),
        lambda model: ensemble.Voting([model]),
        _ENSEMBLE,
        # Several members have no common boundary, and no common interval.
        without=("score_one",),
        normalises=True,
    ),
    Wrapper(
        "VotingRegressor",
        ("regressor",),
        lambda model: ensemble.VotingRegressor([model]),
        _ENSEMBLE,
        without=("predict_interval_one", "predict_interval_many"),
    ),
    Wrapper("PredClipper", ("regressor",), preprocessing.PredClipper),
    Wrapper(
        "TargetTransformRegressor",
        ("regressor",),
        lambda model: compose.TargetTransformRegressor(model, "identity"),
    ),
    Wrapper(
        "TargetTransformRegressor in Python",
        ("regressor",),
        lambda model: compose.TargetTransformRegressor(model, _same, _same),
        _IN_PYTHON,
        in_python=True,
    ),
    Wrapper("Func |", STEPS, lambda model: compose.Func(_same) | model, _IN_PYTHON, in_python=True),
    Wrapper(
        "Retrain, detector in Python",
        LEARNERS,
        lambda model: drift.Retrain(model, Silent(), warm=False),
        _IN_PYTHON,
        in_python=True,
    ),
    Wrapper(
        "OneVsRest",
        ("classifier",),
        multiclass.OneVsRest,
        {
            **dict.fromkeys(
                ("dense", "sparse", "dicts", "rare"),
                "a class that comes later has a member that starts later: see its own test",
            ),
            **_ENSEMBLE,
        },
        without=("score_one", "max_classes"),
    ),
]

#: Parts of the registry that are made of models and always change what these do.
CHANGING = {
    "anomaly.QuantileFilter": "an anomaly detector does not learn some rows",
    "anomaly.ThresholdFilter": "an anomaly detector does not learn some rows",
    "bandit.Contextual": "a policy: its model predicts the reward of an action",
    "continual.AGEM": "steps depend on stored rows",
    "continual.DERPlusPlus": "learns stored rows again",
    "continual.EWC": "steps are held near the weights of earlier tasks",
    "continual.GDumb": "trains a new model when asked",
    "continual.LwF": "holds the network to the answers of its earlier self",
    "continual.Replay": "learns stored rows again",
    "continual.SI": "steps are held near the weights of earlier tasks",
    "htm.AnomalyLikelihood": "turns scores into likelihoods",
    "ensemble.ADWINBagging": "draws a weight for each example",
    "ensemble.AdaBoost": "draws a weight for each example",
    "ensemble.Bagging": "draws a weight for each example",
    "ensemble.BaggingRegressor": "draws a weight for each example",
    "ensemble.LeveragingBagging": "draws a weight for each example",
    "ensemble.SRPClassifier": "draws features, and a weight for each example",
    "ensemble.SRPRegressor": "draws features, and a weight for each example",
    "ensemble.Stacking": "a last learner has the word",
    "ensemble.StackingRegressor": "a last learner has the word",
    "ensemble.WeightedMajority": "a member votes for one class and has no probabilities",
    "preprocessing.TargetMinMaxScaler": "the regressor learns scaled targets",
    "preprocessing.TargetStandardScaler": "the regressor learns scaled targets",
}


#: What a verb says that a model does not have, however it says so.
CANNOT = "cannot"


def attempt(verb: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """What a verb returns; or that the model does not have it; or the kind of its refusal."""
    try:
        return verb(*arguments, **named)
    except (AttributeError, NotImplementedError, InvalidType):
        return CANNOT
    except Exception as error:
        return "refused", type(error).__name__


def equal(one: Any, other: Any, rounded: bool) -> bool:
    """Whether two outcomes are the same, bit for bit or to 1e-9."""
    if type(one) is not type(other):
        return False
    if isinstance(one, float):
        return one.hex() == other.hex() or (rounded and math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12))
    if isinstance(one, np.ndarray):
        if (one.dtype, one.shape) != (other.dtype, other.shape):
            return False
        if one.dtype == object:
            return equal(one.tolist(), other.tolist(), rounded)
        return one.tobytes() == other.tobytes() or (rounded and np.allclose(one, other, rtol=1e-9, atol=1e-12))
    if isinstance(one, stream.Sparse):
        arrays = ("starts", "indices", "values")
        same = all(equal(getattr(one, name), getattr(other, name), rounded) for name in arrays)
        return same and one.width == other.width
    if isinstance(one, dict):
        return equal(list(one.items()), list(other.items()), rounded)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(equal(a, b, rounded) for a, b in zip(one, other, strict=True))
    return bool(one == other)


def normalised(probabilities: Any) -> Any:
    """Probabilities divided by their sum, where there are any."""
    if isinstance(probabilities, dict):
        total = 0.0
        for probability in probabilities.values():
            total += probability
        return {label: p / total for label, p in probabilities.items()} if total else probabilities
    sums = np.zeros(len(probabilities))
    for column in probabilities.T:
        sums += column
    return probabilities / np.where(sums == 0.0, 1.0, sums)[:, None]


class Speaker:
    """Asks a model, and records what it says."""

    def __init__(self, case: Case, model: Any, normalises: bool) -> None:
        self.case, self.model, self.normalises = case, model, normalises
        self.said: list[Any] = []

    def ask(self, verb: str, *arguments: Any, **named: Any) -> None:
        """Call a verb and record what it returns."""

        def asked() -> Any:
            answer = getattr(self.model, verb)(*arguments, **named)
            return normalised(answer) if self.normalises and ("proba" in verb or named.get("proba")) else answer

        self.said.append((verb, attempt(asked)))

    def step_many(self, X: Any, y: Any, w: Any = None) -> None:
        """Learn rows, recording predictions where there are some."""
        if self.case.role == "transformer":
            self.ask("learn_many", X, w=w)
        else:
            self.ask("step_many", X, y, w, proba=self.case.role == "classifier")

    def answer_many(self, X: Any) -> None:
        """All predictions of many rows."""
        for verb in MANY[self.case.role]:
            self.ask(verb, X)

    def step_one(self, x: Any, number: float, w: float = 1.0) -> None:
        """Learn an example, recording predictions where there are some."""
        x = fit(self.case, x)
        if self.case.role == "transformer":
            self.ask("learn_one", x, w=w)
            return
        self.ask(self.case.role.asks[0], x)
        self.ask("step_one", x, self.case.target(number), w, proba=self.case.role == "classifier")

    def answer_one(self, x: Any) -> None:
        """All predictions of one example."""
        for verb in ONE[self.case.role]:
            self.ask(verb, fit(self.case, x))


ONE = {role: role.asks for role in STEPS}
MANY = {role: tuple(verb.replace("_one", "_many") for verb in role.asks) for role in STEPS}


def dense(speaker: Speaker) -> None:
    """Dense rows, many at a time and one by one: some with a weight, with gaps, and some that are refused."""
    X, numbers = numeric(64)
    X[32:48:5, 1] = np.nan
    X[33:48:7, 2] = np.nan
    y = speaker.case.targets(numbers)
    w = 1.0 + np.arange(16) % 3
    for start, weights in ((0, None), (16, w), (32, None)):
        part = slice(start, start + 16)
        speaker.step_many(X[part], None if y is None else y[part], weights)
    for x, number in zip(X[:5].tolist(), numbers, strict=False):
        speaker.step_one(dict(enumerate(x)), float(number), 2.0)
    X[50, 2] = np.inf
    rest = X[48:], None if y is None else y[48:]
    speaker.ask("learn_many", *rest)
    speaker.ask("learn_many", *rest, on_error="skip")
    speaker.answer_many(X[:32])
    speaker.answer_many(X[32:48])
    speaker.answer_one(dict(enumerate(X[0].tolist())))


def sparse(speaker: Speaker) -> None:
    """Sparse rows."""
    random = np.random.default_rng(3)
    rows = np.where(random.random((48, 4)) < 0.4, random.normal(size=(48, 4)), 0.0)
    y = speaker.case.targets(rows @ np.arange(1.0, 5.0))
    X = csr_matrix(rows)
    for start in (0, 24):
        speaker.step_many(X[start : start + 24], None if y is None else y[start : start + 24])
    speaker.answer_many(X)


def dicts(speaker: Speaker) -> None:
    """Dicts with text, missing values, and features that appear, vanish and return; then numbers alone."""
    for x, number in mixed(60):
        speaker.step_one(x, number)
    for x, _ in mixed(12, seed=11):
        speaker.answer_one(x)
    speaker.model = speaker.model.clone()
    for x, number in mixed(40):
        speaker.step_one({key: x[key] for key in x if key in ("a", "b", "late")}, number)
    for x, _ in mixed(12, seed=11):
        speaker.answer_one({key: x[key] for key in x if key in ("a", "b", "late")})


def rare(speaker: Speaker) -> None:
    """Scores and intervals."""
    X, numbers = numeric(30)
    speaker.step_many(X, speaker.case.targets(numbers))
    for x in X[:6].tolist():
        speaker.ask("score_one", dict(enumerate(x)))
        speaker.ask("predict_interval_one", dict(enumerate(x)), 0.8)
    speaker.ask("predict_interval_many", X, 0.8)


def verbs(speaker: Speaker) -> None:
    """Which verbs work, and what the attributes are."""
    X, numbers = numeric(30)
    y = speaker.case.targets(numbers)
    speaker.step_many(X, y)
    x = dict(enumerate(X[3].tolist()))
    for verb in ("predict_one", "predict_proba_one", "score_one", "predict_interval_one", "transform_one"):
        speaker.ask(verb, x)
    for verb in ("predict_many", "predict_proba_many", "predict_interval_many", "transform_many"):
        speaker.ask(verb, X)
    speaker.said = [(verb, CANNOT if said is CANNOT else "can") for verb, said in speaker.said]
    for name in ("role", "learned", "features", "classes", "max_classes"):
        speaker.said.append((name, attempt(getattr, speaker.model, name)))


def merge(speaker: Speaker) -> None:
    """Two halves of a stream."""
    X, numbers = numeric(40)
    y = speaker.case.targets(numbers)
    halves = [speaker.model, speaker.model.clone()]
    for half, part in zip(halves, (slice(0, 20), slice(20, 40)), strict=True):
        half.learn_many(X[part], None if y is None else y[part])
    speaker.ask("merge", halves[1])
    speaker.answer_many(X)


def train(speaker: Speaker, batch_size: int | None = None) -> None:
    """The risk after each pass."""
    if not speaker.case.has_target:
        return
    X, numbers = numeric(30)
    data = X, speaker.case.targets(numbers)

    def risks() -> Any:
        result = millstream.train(speaker.model, data, passes=2, batch_size=batch_size)
        return result.name, result.risks

    speaker.said.append(("train", attempt(risks)))
    speaker.answer_many(X)


def batches(speaker: Speaker) -> None:
    """Mini-batches."""
    train(speaker, batch_size=7)


#: What a wrapped model and the model alone are asked, by law.
LAWS: dict[str, Callable[[Speaker], None]] = {
    "dense": dense,
    "sparse": sparse,
    "dicts": dicts,
    "rare": rare,
    "verbs": verbs,
    "merge": merge,
    "train": train,
    "batches": batches,
}


def outcome(law: str, case: Case, wrapper: Wrapper) -> list[Any]:
    """What the wrapped model says."""
    speaker = Speaker(case, wrapper.build(case), normalises=False)
    LAWS[law](speaker)
    return [said for said in speaker.said if said[0] not in wrapper.without]


@cache
def alone(law: str, case: Case, normalises: bool) -> list[Any]:
    """What the model alone says."""
    speaker = Speaker(case, case.build(), normalises)
    LAWS[law](speaker)
    return speaker.said


def wanted(law: str, case: Case, wrapper: Wrapper) -> list[Any]:
    """What the wrapped model should say."""
    return [said for said in alone(law, case, wrapper.normalises) if said[0] not in wrapper.without]


def differences(law: str, case: Case, wrapper: Wrapper) -> list[str]:
    """Where the wrapped model and the model alone differ, in words."""
    got, should = outcome(law, case, wrapper), wanted(law, case, wrapper)
    assert len(got) == len(should)
    return [
        f"{verb}: alone {expected!r:.200}, wrapped {said!r:.200}"
        for (verb, said), (_, expected) in zip(got, should, strict=True)
        if not equal(said, expected, law in wrapper.rounded)
    ]


def pairs(
    law: str, cases: list[Case] = CASES, wrappers: list[Wrapper] = WRAPPERS
) -> Iterator[tuple[Wrapper, Case]]:
    """All wrappers under a law, with the models that they can wrap."""
    for wrapper in wrappers:
        for case in cases:
            if case.role in wrapper.roles and law not in wrapper.exempt:
                yield wrapper, case
