"""Validation of vectors, matrices and numbers."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from millstream._echo import quoted as shown
from millstream.errors import InvalidType, InvalidValue

__all__ = ["Array", "length", "matrix", "number", "positive", "shown", "vector"]

Array: TypeAlias = NDArray[np.float64]


def vector(who: str, what: str, value: Any, dimension: int | None = None) -> Array:
    """A finite vector of the right length, as a new float64 array."""
    try:
        found = np.array(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidType(f"{who}: {what} must be a vector of numbers, got {shown(value)}") from None
    if found.ndim != 1 or (dimension is not None and len(found) != dimension) or len(found) == 0:
        wanted = "(d,)" if dimension is None else f"({dimension},)"
        raise InvalidValue(f"{who}: {what} must have shape {wanted}, got {found.shape}")
    if not np.isfinite(found).all():
        index = int(np.flatnonzero(~np.isfinite(found))[0])
        raise InvalidValue(f"{who}: {what} must be finite, got {found[index]} at index {index}")
    return found


def matrix(who: str, what: str, value: Any, dimension: int | None = None) -> Array:
    """A finite matrix of rounds by dimensions; not copied if it is C-ordered float64."""
    try:
        found = np.ascontiguousarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidType(f"{who}: {what} must be a matrix of numbers, got {shown(value)}") from None
    if found.ndim != 2 or found.shape[1] == 0 or (dimension is not None and found.shape[1] != dimension):
        wanted = "(rounds, d)" if dimension is None else f"(rounds, {dimension})"
        raise InvalidValue(f"{who}: {what} must have shape {wanted}, got {found.shape}")
    # A finite sum has finite terms, and is faster than a test of each. If it overflows, each term is tested.
    with np.errstate(over="ignore", invalid="ignore"):
        total = float(found.sum())
    if not math.isfinite(total) and not np.isfinite(found).all():
        row, index = (int(axis[0]) for axis in np.nonzero(~np.isfinite(found)))
        raise InvalidValue(
            f"{who}: {what} must be finite, got {found[row, index]} at index {index} of round {row + 1}"
        )
    return found


def number(who: str, what: str, value: Any) -> float:
    """A finite number."""
    try:
        found = float(value)
    except OverflowError:
        raise InvalidValue(f"{who}: {what} must fit in a float, got {shown(value)}") from None
    except (TypeError, ValueError):
        raise InvalidType(f"{who}: {what} must be a number, got {shown(value)}") from None
    if not math.isfinite(found):
        raise InvalidValue(f"{who}: {what} must be finite, got {found}")
    return found


def positive(who: str, what: str, value: Any) -> float:
    """A finite number above 0."""
    found = number(who, what, value)
    if found <= 0:
        raise InvalidValue(f"{who}: {what} must be above 0, got {shown(value)}")
    return found


def length(who: str, what: str, value: Any) -> int:
    """An integer >= 1."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise InvalidType(f"{who}: {what} must be an integer, got {shown(value)}")
    if value < 1:
        raise InvalidValue(f"{who}: {what} must be at least 1, got {value}")
    return int(value)
