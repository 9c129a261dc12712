"""Predictions: whether two are the same, and whether one is well formed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from millstream import _frames
from millstream._echo import typed
from millstream.roles import Answer, Role
from millstream.testing.law import broken

__all__ = ["check_answer", "is_missing", "is_number", "most_probable", "rows_of", "same"]


def is_missing(value: Any) -> bool:
    """Whether a value is missing."""
    return value is None or (isinstance(value, (float, np.floating)) and math.isnan(value))


def is_number(value: Any) -> bool:
    """Whether a value is a number; a bool is not."""
    return isinstance(value, (int, float, np.number)) and not isinstance(value, (bool, np.bool_))


def same(one: Any, other: Any) -> bool:
    """Whether two predictions are equal, bit for bit."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        one, other = np.asarray(one).tolist(), np.asarray(other).tolist()
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))
    return bool(one == other) or (is_missing(one) and is_missing(other))


def check_answer(role: Role, verb: str, answer: Any, complete: bool) -> None:
    """Check that a prediction is well formed and finite, without missing features for a complete example."""
    if verb == "predict_interval_one":
        _check_interval(answer)
    elif verb == "predict_proba_one":
        _check_probabilities(answer)
    elif verb == role.asks[0] and role.answer is Answer.FEATURES:
        _check_features(verb, answer, complete)
    elif verb == role.asks[0] and role.answer is Answer.CLASS:
        if not (answer is None or isinstance(answer, (bool, int, str, np.generic))):
            broken(f"a bool, int or str, or None, from {verb}", typed(answer))
    elif verb == role.asks[0] and role.answer is Answer.CLUSTER:
        if not isinstance(answer, (int, np.integer)) or isinstance(answer, bool) or answer < -1:
            broken(f"a cluster, an integer >= -1, from {verb}", typed(answer))
    elif verb != role.asks[0] and role.answer is Answer.SCORE:
        if not isinstance(answer, (bool, np.bool_)):
            broken(f"True or False from {verb}", typed(answer))
    else:
        _check_number(verb, answer)


def _check_number(verb: str, answer: Any) -> None:
    if not is_number(answer) or not math.isfinite(answer):
        broken(f"a finite number from {verb}", typed(answer))


def _check_interval(answer: Any) -> None:
    if not (isinstance(answer, tuple) and len(answer) == 2 and all(map(is_number, answer))):
        broken("two numbers from predict_interval_one", typed(answer))
    if not answer[0] <= answer[1]:
        broken("a lower end that is not above the upper one", typed(answer))


def _check_features(verb: str, answer: Any, complete: bool) -> None:
    if not isinstance(answer, Mapping):
        broken(f"a dict of features from {verb}", typed(answer))
    for name, value in answer.items():
        # A missing value may stay missing.
        if is_number(value) and not math.isfinite(value) and (complete or not is_missing(value)):
            broken(f"finite features from {verb}", f"{typed(value)} for {name!r}")


def _check_probabilities(answer: Any) -> None:
    if not isinstance(answer, Mapping):
        broken("a dict of probabilities from predict_proba_one", typed(answer))
    for label, probability in answer.items():
        if not is_number(probability) or not 0.0 <= probability < math.inf:
            broken("finite probabilities that are not negative", f"{typed(probability)} for class {label!r}")


def most_probable(chosen: Any, probabilities: Mapping[Any, float]) -> None:
    """Check that probabilities sum to 1 and that the predicted class has the highest one."""
    total = math.fsum(probabilities.values())
    if abs(total - 1.0) > 1e-6:
        broken("probabilities that sum to 1", f"a sum of {total}")
    highest = max(probabilities.values())
    if chosen not in probabilities or probabilities[chosen] < highest - 1e-9:
        likely = max(probabilities, key=probabilities.__getitem__)
        broken(f"the most probable class {likely!r} from predict_one", f"{chosen!r} of {dict(probabilities)}")


def rows_of(table: Any) -> list[list[Any]]:
    """The result of a verb for many rows, row by row, without missing values and zeros."""
    if isinstance(table, np.ndarray):
        rows = table.tolist() if table.ndim > 1 else [[value] for value in table.tolist()]
    elif isinstance(table, list):
        rows = [list(row.values()) if isinstance(row, Mapping) else row for row in table]
    else:
        rows = [list(row.values()) for row in _frames.dicts(table)]
    return [shrunk(row) for row in rows]


def shrunk(row: Any) -> list[Any]:
    """A prediction as the list of its values without missing values and zeros, which a column may fill in."""
    values = list(row.values()) if isinstance(row, Mapping) else row
    values = list(values) if isinstance(values, (list, tuple)) else [values]
    return [
        value
        for value in values
        if not is_missing(value) and (isinstance(value, (bool, np.bool_, str)) or value != 0)
    ]
