"""Predictions of models written in Python, checked before other components use them.

Predictions of native models are always finite; a class written in Python may return anything.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from millstream import _core, _frames
from millstream._echo import quoted, typed
from millstream.errors import InvalidType, InvalidValue, MillstreamError

__all__ = ["anomaly_score", "checked_number", "cluster_of", "each_row", "number_of", "probabilities_of"]


def probabilities_of(model: Any, x: Any) -> dict[Any, float]:
    """The result of `predict_proba_one`: a finite number, not negative, for each class."""
    answer = model.predict_proba_one(x)
    # A subclass of a native class may override it.
    if getattr(type(model), "predict_proba_one", None) is _core.Model._predict_proba_one:
        return dict(answer)
    must = f"{type(model).__name__}: predict_proba_one must return"
    if not callable(getattr(answer, "items", None)):
        raise InvalidType(f"{must} a dict of probabilities by class, got {typed(answer)}")
    found = dict(answer.items())
    for label, probability in found.items():
        try:
            good = bool(probability >= 0.0) and math.isfinite(probability)
        except (TypeError, ValueError, OverflowError):
            raise InvalidType(f"{must} numbers, got {typed(probability)} for class {quoted(label)}") from None
        if not good:
            got = f"got {typed(probability)} for class {quoted(label)}"
            raise InvalidValue(f"{must} finite probabilities that are not negative, {got}")
    return found


def number_of(model: Any, x: Any) -> float:
    """The result of `predict_one` of a regressor: a finite number."""
    must = f"{type(model).__name__}: predict_one must return a finite number"
    return checked_number(model.predict_one(x), must)


def anomaly_score(model: Any, x: Any) -> float:
    """The result of `score_one` of an anomaly detector under evaluation: a number in [0, 1]."""
    must = f"{type(model).__name__}: to be evaluated, score_one must return a number in [0, 1]"
    return checked_number(model.score_one(x), must, 0.0, 1.0)


def cluster_of(model: Any, x: Any) -> int:
    """The result of `predict_one` of a clusterer: an integer, -1 for none, which may also be None."""
    answer = model.predict_one(x)
    if answer is None:
        return -1
    must = f"{type(model).__name__}: predict_one must return a cluster, an integer >= -1"
    if isinstance(answer, bool) or not isinstance(answer, (int, np.integer)):
        raise InvalidType(f"{must}, got {typed(answer)}")
    if answer < -1:
        raise InvalidValue(f"{must}, got {typed(answer)}")
    return int(answer)


def checked_number(given: Any, must: str, low: float = -math.inf, high: float = math.inf) -> float:
    """A finite number within bounds; `must` starts the message of the error."""
    try:
        number = float(given)
    except (TypeError, ValueError, OverflowError):
        raise InvalidType(f"{must}, got {typed(given)}") from None
    if not (math.isfinite(number) and low <= number <= high):
        raise InvalidValue(f"{must}, got {typed(given)}")
    return number


def each_row(work: Callable[[Any], Any], X: Any) -> Iterator[Any]:
    """The result for each row; an error names its row."""
    for row, x in enumerate(_frames.dicts(X)):
        try:
            yield work(x)
        except MillstreamError as error:
            error.at_row(row)
            raise
        except Exception as error:
            error.add_note(f"at row {row}")
            raise
