"""Whole numbers that callers give: how many rows, bits, passes."""

from __future__ import annotations

import operator
from typing import Any

from millstream._echo import typed
from millstream.errors import InvalidValue

__all__ = ["count"]


def count(what: str, value: Any, least: int, most: int | None = None) -> int:
    """A whole number within its bounds, of NumPy or Python; `1e3` is one too, True is none."""
    number = _whole(value)
    if number is None or number < least or (most is not None and number > most):
        bounds = f"a whole number, at least {least}" if most is None else f"a whole number in [{least}, {most}]"
        raise InvalidValue(f"stream.{what} must be {bounds}, got {typed(value)}")
    return number


def _whole(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    try:
        return operator.index(value)
    except TypeError:
        return None
