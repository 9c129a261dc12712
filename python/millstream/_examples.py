"""Checks of targets and weights for models written in Python, as the core does them for native models.

A user's class may accept any target, but the wrappers that count its errors must stay finite.
"""

from __future__ import annotations

import math
from typing import Any

from millstream._echo import typed
from millstream.errors import InvalidType, InvalidValue
from millstream.roles import Role, Truth

__all__ = ["check_example"]


def check_example(who: str, role: Role, y: Any, w: Any) -> None:
    """Refuse a weight or target that no native model of the role accepts."""
    weight = _number(who, "the weight", w)
    if not 0.0 <= weight < math.inf:
        raise InvalidValue(f"{who}: the weight must be finite and not negative, got {w}")
    if role.truth is Truth.NUMBER:
        if y is None:
            raise InvalidType(f"{who}: the target is missing")
        if not math.isfinite(_number(who, "the target", y)):
            raise InvalidValue(f"{who}: the target must be finite, got {y}")
    elif role.truth is Truth.LABEL:
        _check_label(who, y)


def _number(who: str, what: str, value: Any) -> float:
    # `float` would parse a string.
    if not isinstance(value, (str, bytes, bytearray)):
        try:
            return float(value)
        except OverflowError:
            raise InvalidValue(f"{who}: {what} must fit in a float, got {typed(value)}") from None
        except (TypeError, ValueError):
            pass
    raise InvalidType(f"{who}: {what} must be a number, got {typed(value)}")


def _check_label(who: str, y: Any) -> None:
    if y is None:
        raise InvalidType(f"{who}: the target must be a class label (bool, int or str)")
    try:
        hash(y)
        # Only NaN differs from itself; comparing pandas' NA raises an error.
        is_missing = bool(y != y)
    except (TypeError, ValueError):
        raise InvalidType(f"{who}: a class label must be a bool, int or str, got {typed(y)}") from None
    if is_missing:
        raise InvalidValue(f"{who}: the label is missing (NaN)")
