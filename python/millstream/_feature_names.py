"""Models that speak the names of hashed columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["Renames", "named", "note_names"]


class Renames:
    """Names by column; the base class of `stream.FeatureNames`, which models do not import."""


def note_names(model: Any, source: Any) -> None:
    """Give a model the names of the columns of rows or of a stream, if these have names."""
    names = getattr(source, "feature_names", None)
    if isinstance(names, Renames):
        model.feature_names = names


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
    return {names.get(int(column), column) if column.isdigit() else column: w for column, w in weights.items()}
