"""The arguments of a router: models, ranges and costs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from millstream._echo import quoted, typed
from millstream.bandit.base import finite_number
from millstream.errors import InvalidType, InvalidValue

__all__ = ["LARGEST_STEP", "MOST_QUERIES", "NAME", "cost_of", "listed", "positive", "reward_range_of"]

NAME = "llm.Router"
#: Positive numbers and their products are neither 0 nor infinite.
_LEAST, _MOST = 1e-60, 1e60
MOST_QUERIES = 10**15
#: Largest step of the price: products of it with costs are finite.
LARGEST_STEP = 1e150


def listed(models: Any) -> dict[Any, float | None]:
    """The costs of models, None for those that are learned."""
    if isinstance(models, Mapping):
        found = dict(models)
    elif isinstance(models, (str, bytes)) or not isinstance(models, Iterable):
        raise InvalidType(f"{NAME}: models must be a dict of costs or a list, got {typed(models)}")
    else:
        try:
            found = dict.fromkeys(models)
        except TypeError:
            raise InvalidType(f"{NAME}: models must be a dict of costs or a list, got {typed(models)}") from None
    if not found:
        raise InvalidValue(f"{NAME}: models must be one model or more, got none")
    return found


def reward_range_of(given: Any) -> tuple[float, float]:
    """The lowest and the highest reward."""
    if not isinstance(given, (list, tuple)) or len(given) != 2:
        raise InvalidValue(f"{NAME}: reward_range must be (lowest, highest), got {quoted(given)}")
    low, high = (finite_number(NAME, "reward_range", number) for number in given)
    if not (low < high and math.isfinite(high - low)):
        raise InvalidValue(f"{NAME}: reward_range must be (lowest, highest), got {quoted(given)}")
    return low, high


def positive(name: str, value: Any) -> float:
    """A positive number."""
    number = finite_number(NAME, name, value)
    if not _LEAST <= number <= _MOST:
        raise InvalidValue(f"{NAME}: {name} must be in [{_LEAST:g}, {_MOST:g}], got {number:g}")
    return number


def cost_of(value: Any) -> float:
    """A cost."""
    number = finite_number(NAME, "cost", value)
    if not 0.0 <= number <= _MOST:
        raise InvalidValue(f"{NAME}: a cost must be in [0, {_MOST:g}], got {number:g}")
    return number
