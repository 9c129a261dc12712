"""Roles: what a model learns from, what it predicts, and how it is evaluated; one record per role.

Evaluation, the command line, the notation, conversions, laws, docs and benchmarks read these records, so that a
new role is described once, here. A role is also a string: `model.role == "classifier"`.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any

__all__ = [
    "ALL",
    "ANOMALY_DETECTOR",
    "CLASSIFIER",
    "CLUSTERER",
    "EVALUATED",
    "FORECASTER",
    "LEARNERS",
    "POLICY",
    "REGRESSOR",
    "SAMPLER",
    "STEPS",
    "TRANSFORMER",
    "Answer",
    "Role",
    "Truth",
    "one_of",
    "phrase_of",
    "role_named",
    "role_of",
]


class Truth(Enum):
    """The target of a model."""

    LABEL = "a class label"
    NUMBER = "a number"
    NONE = "nothing"


class Answer(Enum):
    """The prediction of a model."""

    CLASS = "class"
    NUMBER = "number"
    #: A number in [0, 1], higher for more anomalous rows.
    SCORE = "score"
    #: An integer >= 0, or -1 for no cluster.
    CLUSTER = "cluster"
    FEATURES = "features"
    FORECAST = "forecast"
    ROWS = "rows"
    ACTION = "action"


def no_target(number: float) -> None:
    """The target of a role that learns from features only."""


class Role(str):
    """A role: its name, and everything that differs between roles."""

    #: What it learns from, and what it predicts.
    truth: Truth
    answer: Answer
    #: The verbs for one example that every model of this role has. The last one identifies the role.
    verbs: tuple[str, ...]
    #: Metrics that an evaluation reports if none are given; a role without any is not evaluated.
    metrics: tuple[str, ...]
    #: Those of an evaluation without labels; a role without any needs labels.
    metrics_without_labels: tuple[str, ...]
    #: The function of `evaluate` that scores it.
    evaluated_by: str
    #: Baselines that `millstream compare` adds.
    baselines: tuple[str, ...]
    #: The target of an example in the streams of the laws, as a function of the sum of its features.
    law_target: Callable[[float], Any]

    def __new__(
        cls,
        word: str,
        *,
        truth: Truth,
        answer: Answer,
        verbs: tuple[str, ...],
        metrics: tuple[str, ...] = (),
        metrics_without_labels: tuple[str, ...] = (),
        evaluated_by: str = "prequential",
        baselines: tuple[str, ...] = (),
        law_target: Callable[[float], Any] = no_target,
    ) -> Role:
        role = super().__new__(cls, word)
        role.truth, role.answer, role.verbs = truth, answer, verbs
        role.metrics, role.metrics_without_labels = metrics, metrics_without_labels
        role.evaluated_by = evaluated_by
        role.baselines, role.law_target = baselines, law_target
        return role

    def __reduce__(self) -> tuple[Any, ...]:
        return role_named, (str(self),)

    @property
    def phrase(self) -> str:
        """The name with its article: "a classifier"."""
        return phrase_of(self)

    @property
    def asks(self) -> tuple[str, ...]:
        """The verbs that predict and change nothing; `step_one` predicts by the first."""
        return tuple(verb for verb in self.verbs if verb not in _TEACHING)

    @property
    def predicts_numbers(self) -> bool:
        """True if it predicts one number for an example."""
        return self.answer in (Answer.NUMBER, Answer.SCORE)

    @property
    def dtype(self) -> str:
        """The NumPy type of predictions of many rows; "object" if it depends on the labels."""
        return {Answer.NUMBER: "float64", Answer.SCORE: "float64", Answer.CLUSTER: "int64"}.get(
            self.answer, "object"
        )

    @property
    def no_answer(self) -> Any:
        """The placeholder for the prediction of a skipped row, and of a row that has none."""
        return math.nan if self.predicts_numbers else -1 if self.answer is Answer.CLUSTER else None

    @property
    def is_evaluated(self) -> bool:
        """True if `evaluate.prequential` scores its predictions against the truth."""
        return bool(self.metrics) and self.evaluated_by == "prequential"


#: Verbs that change the model.
_TEACHING = ("learn_one", "skip_one", "step_one", "decide_one")

CLASSIFIER = Role(
    "classifier",
    truth=Truth.LABEL,
    answer=Answer.CLASS,
    verbs=("learn_one", "predict_one", "step_one", "predict_proba_one"),
    metrics=("Accuracy", "CohenKappa"),
    baselines=("NoChange", "MajorityClass", "GaussianNB"),
    law_target=lambda number: bool(number > 0),
)
REGRESSOR = Role(
    "regressor",
    truth=Truth.NUMBER,
    answer=Answer.NUMBER,
    verbs=("learn_one", "step_one", "predict_one"),
    metrics=("MAE", "R2"),
    baselines=("TargetMean",),
    law_target=lambda number: number,
)
ANOMALY_DETECTOR = Role(
    "anomaly_detector",
    truth=Truth.NONE,
    answer=Answer.SCORE,
    verbs=("learn_one", "step_one", "score_one"),
    metrics=("ROCAUC", "PRAUC"),
    law_target=lambda number: bool(number > 1.5),
)
CLUSTERER = Role(
    "clusterer",
    truth=Truth.NONE,
    answer=Answer.CLUSTER,
    verbs=("learn_one", "step_one", "predict_one"),
    metrics=("AdjustedRand", "VMeasure", "Silhouette"),
    metrics_without_labels=("Silhouette",),
    law_target=lambda number: bool(number > 0),
)
TRANSFORMER = Role(
    "transformer",
    truth=Truth.NONE,
    answer=Answer.FEATURES,
    verbs=("learn_one", "transform_one"),
)
FORECASTER = Role(
    "forecaster",
    truth=Truth.NUMBER,
    answer=Answer.FORECAST,
    verbs=("learn_one", "skip_one", "forecast"),
    metrics=("MAE",),
    evaluated_by="forecast",
    baselines=("SeasonalNaive",),
    law_target=lambda number: number,
)

SAMPLER = Role(
    "sampler",
    truth=Truth.NONE,
    answer=Answer.ROWS,
    verbs=("learn_one", "sample"),
)

#: Learns the rewards of its own decisions. A decision is drawn, kept and given an id, so it changes the policy.
POLICY = Role(
    "policy",
    truth=Truth.NUMBER,
    answer=Answer.ACTION,
    verbs=("learn_one", "probabilities_one", "decide_one"),
    evaluated_by="play",
    law_target=lambda number: number,
)

#: All roles, those with a rarer verb first; a model of another role may have a method `sample`.
ALL = (POLICY, FORECASTER, TRANSFORMER, CLASSIFIER, REGRESSOR, CLUSTERER, ANOMALY_DETECTOR, SAMPLER)
#: Roles of pipeline steps.
STEPS = (TRANSFORMER, CLASSIFIER, REGRESSOR, ANOMALY_DETECTOR, CLUSTERER)
#: Roles that learn a target from features: members of ensembles, one-vs-rest and retraining.
LEARNERS = (CLASSIFIER, REGRESSOR)
#: Roles whose predictions `evaluate.prequential` scores.
EVALUATED = tuple(role for role in (CLASSIFIER, REGRESSOR, ANOMALY_DETECTOR, CLUSTERER) if role.is_evaluated)

_BY_WORD = {str(role): role for role in ALL}


def role_named(word: str) -> Role:
    """The record of a role."""
    return _BY_WORD[word]


def role_of(model: Any) -> Role | None:
    """The role of a model, inferred from its verbs if it has no attribute `role`; None for other objects."""
    role = getattr(model, "role", None)
    if isinstance(role, str):
        return _BY_WORD.get(role)
    verbs = [role.verbs[-1] for role in ALL if callable(getattr(model, role.verbs[-1], None))]
    if TRANSFORMER.verbs[-1] not in verbs and not callable(getattr(model, "learn_one", None)):
        return None
    # A class with predict_proba_one but without predict_one is incomplete.
    if CLASSIFIER.verbs[-1] in verbs and REGRESSOR.verbs[-1] not in verbs:
        return None
    found = next((role for role in ALL if role.verbs[-1] in verbs), None)
    # Both have `predict_one`, but a clusterer learns without a target.
    return CLUSTERER if found is REGRESSOR and not _takes_target(model.learn_one) else found


def _takes_target(learn_one: Callable[..., Any]) -> bool:
    """Whether `learn_one` accepts more than the features."""
    try:
        parameters = list(inspect.signature(learn_one).parameters.values())
    except (TypeError, ValueError):
        return True
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    free = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    named = any(parameter.name == "y" or parameter.kind in free for parameter in parameters)
    others = [parameter for parameter in parameters if parameter.kind in positional and parameter.name != "w"]
    return named or len(others) > 1


def phrase_of(word: str) -> str:
    """The name of any role, including components, with its article: "an optimizer"."""
    words = word.replace("_", " ")
    return f"{'an' if words[0] in 'aeiou' else 'a'} {words}"


def one_of(allowed: Iterable[str]) -> str:
    """Roles in a sentence: "a classifier or a regressor"."""
    phrases = [phrase_of(role) for role in allowed]
    return " or ".join([", ".join(phrases[:-1]), phrases[-1]] if len(phrases) > 1 else phrases)
