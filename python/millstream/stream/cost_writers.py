"""Examples with costs of classes as Vowpal Wabbit's text."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from millstream._echo import quoted, typed
from millstream.errors import InvalidType, InvalidValue

__all__ = ["as_example", "as_lines"]

#: Characters with a meaning in Vowpal Wabbit's text.
_SPECIAL = re.compile(r"[\s|:]")


def as_example(who: str, example: Any) -> str:
    """A line of costs and features, for `--csoaa`."""
    x, costs = _parts(who, example)
    labels = " ".join(_label(who, label, cost) for label, cost in costs.items())
    return f"{labels} {_features(who, x)}\n"


def as_lines(who: str, example: Any) -> str:
    """A line for each class, for `--csoaa_ldf`."""
    x, costs = _parts(who, example)
    unknown = [label for label in costs if label not in x]
    if unknown or not x:
        words = quoted(unknown[0]) if unknown else "no classes"
        raise InvalidValue(f"{who}: x must have a dict of features for each class with a cost, got {words}")
    lines = [f"{_label(who, label, costs.get(label))} {_features(who, own)}\n" for label, own in x.items()]
    return "".join(lines) + "\n"


def _parts(who: str, example: Any) -> tuple[Mapping[Any, Any], Mapping[Any, Any]]:
    is_pair = isinstance(example, (tuple, list)) and len(example) == 2
    if not is_pair or not all(isinstance(part, Mapping) for part in example):
        raise InvalidType(f"{who}: an example must be (x, costs), two dicts, got {typed(example)}")
    return example[0], example[1]


def _label(who: str, label: Any, cost: Any) -> str:
    if isinstance(label, bool) or not isinstance(label, (int, np.integer)) or not 0 <= label < 2**32:
        raise InvalidType(f"{who}: a class must be an int from 0 to 2**32 - 1, got {quoted(label)}")
    if cost is None:
        return str(label)
    return f"{label}:{_finite(who, 'a cost', cost)!r}"


def _finite(who: str, what: str, number: Any) -> float:
    if isinstance(number, (str, bytes)) or not hasattr(number, "__float__"):
        raise InvalidType(f"{who}: {what} must be a number, got {typed(number)}")
    if not math.isfinite(float(number)):
        raise InvalidValue(f"{who}: {what} must be finite, got {number}")
    return float(number)


def _features(who: str, x: Any) -> str:
    """The features in their namespaces, those without one first."""
    if not isinstance(x, Mapping):
        raise InvalidType(f"{who}: features must be a dict, got {typed(x)}")
    spaces: dict[str, list[str]] = {}
    for name, value in x.items():
        space, _, short = str(name).rpartition("^")
        if _SPECIAL.search(space + short) or not short:
            raise InvalidValue(f"{who}: a feature must have no space, '|' or ':' in its name, got {quoted(name)}")
        if isinstance(value, str):
            if _SPECIAL.search(value):
                raise InvalidValue(f"{who}: a string must have no space, '|' or ':', got {quoted(value)}")
            word = f"{short}={value}"
        else:
            word = f"{short}:{_finite(who, 'a feature', value)!r}"
        spaces.setdefault(space, []).append(word)
    return " ".join(f"|{space} {' '.join(words)}" for space, words in sorted(spaces.items())) or "|"
