"""Rows of costs, and members that learn them one after the other."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from millstream import _frames
from millstream._echo import typed
from millstream._sparse import Sparse
from millstream.base import Label
from millstream.errors import InvalidType, InvalidValue

__all__ = ["Cut", "chosen", "column_of", "cost_table", "learn_one_by_one"]


def cost_table(
    who: str, costs: Any, classes: Any, checked: Callable[[Any], dict[Label, float]]
) -> tuple[list[Label], npt.NDArray[np.float64]]:
    """The classes, and their costs as columns; NaN where they are unknown."""
    if isinstance(costs, (list, tuple)) and all(isinstance(row, Mapping) for row in costs):
        rows = [checked(row) for row in costs]
        labels = list(dict.fromkeys(label for row in rows for label in row))
        return labels, np.array([[row.get(label, np.nan) for label in labels] for row in rows], dtype=np.float64)
    if classes is not None and not isinstance(classes, Iterable):
        raise InvalidType(f"{who}: classes must be a list of labels, got {typed(classes)}")
    labels = list(getattr(costs, "columns", ())) if classes is None else list(classes)
    if unfit := [label for label in labels if not isinstance(label, Hashable)]:
        raise InvalidType(f"{who}: a class must be a bool, int or str, got {typed(unfit[0])}")
    try:
        table = np.asarray(costs, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidType(f"{who}: costs must be numbers, got {typed(costs)}") from None
    if table.ndim != 2:
        raise InvalidValue(f"{who}: costs must have a column for each class, got {table.ndim} dimensions")
    labels = labels or list(range(table.shape[1]))
    if len(labels) != table.shape[1] or len(set(labels)) != len(labels):
        raise InvalidValue(f"{who}: costs has {table.shape[1]} columns and there are {len(set(labels))} classes")
    if np.isinf(table).any():
        raise InvalidValue(f"{who}: a cost must be finite, or NaN if it is unknown, got inf")
    return labels, table


def column_of(table: Any, place: int | None) -> Any:
    """The costs of a class; unknown for a class that the rows do not have."""
    return np.full(len(table), np.nan) if place is None else table[:, place]


def chosen(classes: list[Label], costs: Any) -> Any:
    """The class of the lowest cost of each row; None where no cost is known."""
    best, known = costs.argmin(1), np.isfinite(costs).any(1)
    packed = _frames.pack_answers(classes)
    if packed.dtype.kind in "ib" and known.all():
        return packed[best]
    return _frames.pack_answers(
        [classes[at] if any_known else None for at, any_known in zip(best.tolist(), known.tolist(), strict=True)]
    )


def learn_one_by_one(X: Any, targets: Any, weights: Any, members: list[Any], *, predict: bool) -> Any:
    """Learn rows member by member; a member without any target only predicts."""
    columns = []
    for member, column in zip(members, targets.T, strict=True):
        known = ~np.isnan(column)
        if known.any():
            lesson = (X, np.where(known, column, 0.0), np.where(known, weights, 0.0))
            columns.append(member.step_many(*lesson) if predict else member.learn_many(*lesson))
        elif predict:
            columns.append(member.predict_many(X))
    if not predict:
        return None
    return np.column_stack([np.asarray(column, dtype=np.float64) for column in columns])


class Cut:
    """Rows from one to another of a matrix."""

    def __init__(self, X: Any) -> None:
        self._X = X

    def __call__(self, start: int, stop: int) -> Any:
        if start == 0 and stop == len(self._X):
            return self._X
        return self._X.cut(start, stop) if isinstance(self._X, Sparse) else self._X[start:stop]
