"""Labels that are not finite numbers.

JSON has no such numbers, but programs write them, as NaN, Infinity or 1e400. A label with one is quarantined like
every other label that cannot be learned; anywhere else, such a number is malformed JSON.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any

from millstream._core import parse_json
from millstream.errors import MillstreamError
from millstream.serve.requests import Problem

__all__ = ["or_infinite", "with_infinite_lines"]

#: The error of the strict parser at a label of an object, of an item of a list, or of a list of labels.
_ERROR = re.compile(r"(\[\d+\]\.)?y(\[\d+\])?: \S{1,100} is not a finite number")


def or_infinite(data: bytes, read: Callable[[], Any]) -> Any:
    """The value of JSON, read strictly except for labels that are not finite."""
    try:
        return read()
    except Problem as problem:
        found = _read(data, str(problem)) if problem.kind == "malformed-json" else None
        if found is None:
            raise
        return found


def with_infinite_lines(data: bytes, values: list[Any], errors: dict[int, str]) -> None:
    """Replace errors of lines by the values of the lines whose only fault is a label that is not finite."""
    lines = [line for line in data.split(b"\n") if line.strip(b" \t\r")]
    for index in list(errors):
        found = _read(lines[index], errors[index])
        if found is not None:
            values[index] = found
            del errors[index]


def _read(data: bytes, error: str) -> Any:
    """The value of JSON whose only fault is labels that are not finite; None if it has others."""
    if _ERROR.fullmatch(error) is None:
        return None
    try:
        value = json.loads(data.decode(), object_pairs_hook=_unique)
        labels = _labels(value)
        for place, key, _ in labels:
            place[key] = None
        # Numbers that are not finite remain invalid elsewhere.
        parse_json(json.dumps(value))
    except (ValueError, RecursionError, MillstreamError):
        return None
    for place, key, y in labels:
        place[key] = y
    return value


def _labels(value: Any) -> list[tuple[Any, Any, float]]:
    """The labels that are not finite, each with the list or object that contains it and its place."""
    places: list[tuple[Any, Any, Any]] = []
    for item in value if isinstance(value, list) else [value]:
        y = item.get("y") if isinstance(item, dict) else None
        if isinstance(y, list):
            places += [(y, index, each) for index, each in enumerate(y)]
        else:
            places.append((item, "y", y))
    return [place for place in places if isinstance(place[2], float) and not math.isfinite(place[2])]


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("duplicate key")
    return found
