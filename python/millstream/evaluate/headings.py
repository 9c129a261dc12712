"""Headings of metrics in tables of several models, with the positive class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from millstream._echo import plain
from millstream.evaluate.frames import number
from millstream.metrics.positive import LONGEST_LABEL

if TYPE_CHECKING:
    from millstream.evaluate.result import Result

__all__ = ["headings", "score"]


def headings(results: Sequence[Result]) -> dict[str, str]:
    """The title of each metric. It contains the positive class if that is the same for all models."""
    first = results[0]
    return {
        name: title if all(result.titles[name] == title for result in results) else name
        for name, title in first.titles.items()
    }


def score(result: Result, name: str, value: float, heads: dict[str, str]) -> str:
    """A cell in the column of such a heading. It contains the positive class if the heading does not."""
    positive = result.positive.get(name)
    if positive is None or heads[name] == result.titles[name]:
        return number(value)
    return f"{number(value)} ({plain(positive, LONGEST_LABEL)})"
