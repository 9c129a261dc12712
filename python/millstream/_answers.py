"""What models of one's own answer, checked where other parts go on with it.

The answers of native models are finite whatever they have learned; a class in Python may answer anything.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from millstream import _core, _frames
from millstream._echo import quoted, typed
from millstream.errors import InvalidType, InvalidValue, MillstreamError

__all__ = ["anomaly_score", "each_row", "number_of", "probabilities_of"]


def probabilities_of(model: Any, x: Any) -> dict[Any, float]:
    """What `predict_proba_one` gives: a finite number, not negative, for each class."""
    answer = model.predict_proba_one(x)
    # That of a class that extends a native one may be its own.
    if getattr(type(model), "predict_proba_one", None) is _core.Model._predict_proba_one:
        return dict(answer)
    must = f"{type(model).__name__}: predict_proba_one must give"
    if not callable(getattr(answer, "items", None)):
        raise InvalidType(f"{must} a dict of probabilities by class, got {_shown(answer)}")
    found = dict(answer.items())
    for label, probability in found.items():
        try:
            good = bool(probability >= 0.0) and math.isfinite(probability)
        except (TypeError, ValueError, OverflowError):
            raise InvalidType(f"{must} numbers, got {_shown(probability)} for class {quoted(label)}") from None
        if not good:
            got = f"got {_shown(probability)} for class {quoted(label)}"
            raise InvalidValue(f"{must} finite probabilities that are not negative, {got}")
    return found


def number_of(model: Any, x: Any) -> float:
    """What `predict_one` of a regressor gives: a finite number."""
    answer = model.predict_one(x)
    must = f"{type(model).__name__}: predict_one must give a finite number"
    try:
        number = float(answer)
    except (TypeError, ValueError, OverflowError):
        raise InvalidType(f"{must}, got {_shown(answer)}") from None
    if not math.isfinite(number):
        raise InvalidValue(f"{must}, got {_shown(answer)}")
    return number


def anomaly_score(model: Any, x: Any) -> float:
    """What `score_one` of an anomaly detector gives: a number in [0, 1], as an evaluation needs it."""
    score = model.score_one(x)
    must = f"{type(model).__name__}: to be evaluated, score_one must give a number in [0, 1]"
    try:
        number = float(score)
    except (TypeError, ValueError, OverflowError):
        raise InvalidType(f"{must}, got {_shown(score)}") from None
    if not 0.0 <= number <= 1.0:
        raise InvalidValue(f"{must}, got {_shown(score)}")
    return number


def each_row(work: Callable[[Any], Any], X: Any) -> Iterator[Any]:
    """What becomes of each row; an error says which it was."""
    for row, x in enumerate(_frames.dicts(X)):
        try:
            yield work(x)
        except MillstreamError as error:
            error.at_row(row)
            raise
        except Exception as error:
            error.add_note(f"at row {row}")
            raise


def _shown(answer: Any) -> str:
    return "None" if answer is None else typed(answer)
