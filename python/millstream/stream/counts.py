"""Integers given by callers: numbers of rows, bits, passes."""

from __future__ import annotations

import operator
from typing import Any

from millstream._echo import typed
from millstream.errors import InvalidValue

__all__ = ["count"]


def count(what: str, value: Any, least: int, most: int | None = None) -> int:
    """An integer within bounds, of NumPy or Python; `1e3` is accepted, True is not."""
    number = _whole(value)
    if number is None or number < least or (most is not None and number > most):
        bounds = f"an integer, at least {least}" if most is None else f"an integer in [{least}, {most}]"
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
