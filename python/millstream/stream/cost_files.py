"""Files of costs by class: Vowpal Wabbit's text for cost-sensitive classification."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from millstream import _core
from millstream._sparse import Sparse, parsed
from millstream.errors import InvalidValue
from millstream.stream.table import SkippedRows
from millstream.stream.vowpal_wabbit import VowpalWabbit

__all__ = ["CostFile", "CostRows"]

#: A block of thousands of rows has a table of their costs, with a column for each class.
_MOST_CLASSES = 10_000


@dataclass(frozen=True)
class CostRows:
    """Some rows with the costs of classes.

    `cost_sensitive.CostRegression` learns them with `learn_many(rows.X, rows.costs, classes=rows.classes)`.
    """

    #: Sparse rows.
    X: Sparse
    #: A row for each example and a column for each class, with NaN for unknown costs.
    costs: Any
    #: The classes of these rows, ascending.
    classes: list[int]
    #: The tag of each row.
    tags: list[str]

    def __len__(self) -> int:
        return len(self.costs)


class _CostLines(VowpalWabbit):
    """Reads lines whose labels are costs."""

    def reader(self, inside: bool = False) -> _core.TextReader:
        is_plain = self._features.is_plain and self.feature_names is None
        features = None if is_plain else self._shared
        skip = self.on_error == "skip"
        return _core.TextReader.vowpal_wabbit(self.bits, self.constant, skip, inside, features, True)

    def taken(self, reader: _core.TextReader) -> tuple[Any, ...]:
        costs = reader.take_costs()
        return (*reader.take(), costs)

    def _chunk(self, taken: tuple[Any, ...]) -> tuple[Any, list[str]]:
        *rows, (classes, costs, ends) = taken
        tags = super()._chunk(tuple(rows))[1]
        X = parsed(rows[0], rows[1])
        if self.feature_names is not None:
            object.__setattr__(X, "feature_names", self.feature_names)
        found, places = np.unique(classes, return_inverse=True)
        if len(found) > _MOST_CLASSES:
            raise InvalidValue(
                f"{self.source}: supports up to {_MOST_CLASSES:,} classes in a block of rows, got {len(found):,}:"
                " the costs of a block are a table; use by_class=True"
            )
        table = np.full((len(ends), len(found)), np.nan)
        table[np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0)), places] = costs
        return CostRows(X, table, found.tolist(), tags), tags


class CostFile:
    """A file of rows with the costs of classes: iterate over its `chunks`, or over examples `(x, costs)`.

    Created by `read_vw(labels="costs")`. An example is a dict of hashed columns and a dict of costs by class;
    classes without a cost are not in it.
    """

    def __init__(self, path: Any, **options: Any) -> None:
        self._lines = _CostLines(path, **options)
        #: The names of the columns so far, with `names`.
        self.feature_names = self._lines.feature_names

    @property
    def source(self) -> str:
        """The name of the file, for messages."""
        return self._lines.source

    @property
    def skipped(self) -> SkippedRows:
        """Skipped lines of the last pass, with reasons."""
        return self._lines.skipped

    def chunks(self) -> Iterator[CostRows]:
        """The rows in batches, each read when it is needed."""
        for rows, _ in self._lines.tagged():
            yield rows  # type: ignore[misc]

    def __iter__(self) -> Iterator[tuple[dict[int, float], dict[int, float]]]:
        for rows in self.chunks():
            X = rows.X
            columns, values = X.indices.tolist(), X.values.tolist()
            for row, (start, end) in enumerate(zip(X.starts[:-1].tolist(), X.starts[1:].tolist(), strict=True)):
                pairs = zip(rows.classes, rows.costs[row].tolist(), strict=True)
                costs = {label: cost for label, cost in pairs if cost == cost}
                yield dict(zip(columns[start:end], values[start:end], strict=True)), costs

    def __repr__(self) -> str:
        return f"stream.read_vw({self.source!r}, labels='costs')"
