"""Models that speak the names of hashed columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

__all__ = ["Renames", "column_name", "name_steps", "named", "names_of", "note_names"]


class Renames:
    """Names by column; the base class of `stream.FeatureNames`, which models do not import."""


def note_names(model: Any, source: Any) -> None:
    """Give a model the names of the columns of rows or of a stream, if these have names."""
    names = getattr(source, "feature_names", None)
    if isinstance(names, Renames):
        model.feature_names = names


def names_of(part: Any) -> Any:
    """The names of hashed columns that a component knows; None if it knows none."""
    names = getattr(part, "feature_names", None)
    return names if isinstance(names, Renames) else None


def name_steps(steps: Sequence[Any]) -> None:
    """Give each step of a pipeline the names that the step before it has collected."""
    for step, after in pairwise(steps):
        if (names := names_of(step)) is not None and names_of(after) is None:
            after.feature_names = names


def column_name(names: Any, column: Any) -> Any:
    """The name of a hashed column; the column itself if it has none."""
    is_column = isinstance(column, int) or (isinstance(column, str) and column.isascii() and column.isdigit())
    return names.get(int(column), column) if is_column else column


def named(told: Any, names: Any) -> Any:
    """An inspected state whose weights have names in place of columns."""
    if isinstance(told, list):
        return [named(each, names) for each in told]
    if not isinstance(told, Mapping):
        return told
    return {
        key: _renamed(value, names) if key == "weights" and isinstance(value, Mapping) else named(value, names)
        for key, value in told.items()
    }


def _renamed(weights: Mapping[str, Any], names: Any) -> dict[str, Any]:
    return {column_name(names, column): w for column, w in weights.items()}
