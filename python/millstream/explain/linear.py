"""Explanations of compiled linear models, whose contributions need one prediction per feature.

The components in a model are known, so it need not be tested for additivity feature by feature. The sum of the
contributions is compared with the prediction; if it differs, the caller applies the general test.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from millstream import _core
from millstream._native import Native
from millstream._per_model import PerModel
from millstream.explain.explanation import Explanation
from millstream.roles import CLASSIFIER, REGRESSOR, role_of

__all__ = ["LEARNERS", "TOLERANCE", "TRANSFORMERS", "Layout", "explained", "layout_of", "layouts", "logistic"]

#: Relative tolerance of additivity.
TOLERANCE = 1e-6
#: Learners whose score, or whose predicted number, is usually a sum over the features.
LEARNERS = frozenset(
    f"linear_model.{name}"
    for name in (
        *("LogisticRegression", "PAClassifier", "Perceptron", "SVM", "ALMA", "ROMMA", "AROW", "CW", "SCW"),
        *("LinearRegression", "LMS", "RLS", "LeastSquares", "BayesianLinearRegression"),
        *("PARegressor", "AROWRegressor"),
    )
)
#: Transformers of single features.
TRANSFORMERS = frozenset(
    f"preprocessing.{name}"
    for name in (
        *("StandardScaler", "AdaptiveStandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler"),
        "OneHotEncoder",
    )
)


class Layout(NamedTuple):
    """What is fixed when a compiled model is created."""

    #: The role of a sum over features; None for other models.
    additive: str | None
    #: Whether a step may collect names of hashed columns.
    may_hash: bool


layouts: PerModel[Layout] = PerModel(most=1024)


def layout_of(model: Any) -> Layout | None:
    """The layout of a compiled model; None for others."""
    if not isinstance(model, Native):
        return None
    found = layouts.get(model)
    if found is None:
        found = _layout(model)
        layouts.set(model, found)
    return found


def _layout(model: Any) -> Layout:
    from millstream.compose import Pipeline
    from millstream.registry import class_of

    described, kind = model._description_dict, type(model)
    steps = described["parameters"]["steps"] if isinstance(model, Pipeline) else [described]
    may_hash = any(hasattr(class_of(step["name"]), "feature_names") for step in steps[:-1])
    additive = steps[-1]["name"] in LEARNERS and all(step["name"] in TRANSFORMERS for step in steps[:-1])
    role, core = role_of(model), _core.Model
    own = (
        # A class of a user may have verbs of its own.
        kind.score_one is core._score_one and kind.predict_proba_one is core._predict_proba_one
        if role is CLASSIFIER and hasattr(kind, "score_one")
        else role is REGRESSOR and kind.predict_one is core._predict_one
    )
    return Layout(role if additive and own else None, may_hash)


def explained(model: Any, additive: str, x: dict[Any, Any], label: Any) -> Explanation | None:
    """The contributions to the log odds or to the number; None if the general test must decide."""
    sign = 1.0
    if additive is REGRESSOR:
        ask = model.predict_one
        base, whole = ask({}), ask(x)
        if base is None or whole is None:
            return None
        scale, label = "number", None
    else:
        probabilities = model.predict_proba_one(x)
        if len(probabilities) != 2 or (chosen := _label(probabilities, label)) is None:
            return None
        label, probability = chosen
        ask = model.score_one
        base, whole = ask({}), ask(x)
        if abs(whole) < TOLERANCE:
            return None
        agree = 1e-15 + 1e-9 * probability
        if not abs(logistic(whole) - probability) <= agree:
            sign = -1.0
            if not abs(logistic(-whole) - probability) <= agree:
                return None
        scale = "log odds"
    parts = [ask({name: value}) - base for name, value in x.items()]
    allowed = TOLERANCE * (1.0 + abs(base) + abs(whole)) * (1 + len(parts))
    if not abs(base + sum(parts) - whole) <= allowed < math.inf:
        return None
    if sign < 0.0:
        base, whole, parts = -base, -whole, [-part for part in parts]
    return Explanation._additive(label, scale, base, whole, parts, x)


def _label(probabilities: Mapping[Any, float], label: Any) -> tuple[Any, float] | None:
    """The explained class and its probability; None if the model does not know it."""
    first, second = probabilities.items()
    if label is None:
        return first if first[1] > second[1] else second
    for known, probability in (first, second):
        if known == label and isinstance(known, bool) == isinstance(label, bool):
            return label, probability
    return None


def logistic(score: float) -> float:
    """The probability of a score."""
    return 1.0 / (1.0 + math.exp(-score)) if score >= 0 else math.exp(score) / (1.0 + math.exp(score))
