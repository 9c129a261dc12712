"""Some consecutive examples of a stream, column by column."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np

from millstream import _frames
from millstream._sparse import Sparse
from millstream.errors import InvalidType, InvalidValue

__all__ = ["Chunk", "Sparse"]


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some consecutive examples: features, and columns of equal length beside them.

    `X` is an Arrow table, a NumPy matrix of numbers, a `Sparse`, or a list of dicts. `y`, `w`, `time` and
    `label_time` are NumPy or Arrow arrays or lists, or None where the stream has none.
    """

    X: Any
    y: Any = None
    w: Any = None
    time: Any = None
    label_time: Any = None

    def __len__(self) -> int:
        return height(self.X)

    def __iter__(self) -> NoReturn:
        # Two of its columns, or five? And a loop over it would rather have examples.
        raise InvalidType(
            "stream: a chunk has names: chunk.X, chunk.y, chunk.w; its examples are chunk.examples(), "
            "and those of the whole stream `for x, y in stream`"
        )

    @property
    def beside(self) -> dict[str, Any]:
        """The columns beside the features, those that are there."""
        named = {"y": self.y, "w": self.w, "time": self.time, "label_time": self.label_time}
        return {name: column for name, column in named.items() if column is not None}

    def cut(self, start: int, stop: int) -> Chunk:
        """The examples from `start` to `stop`; nothing is copied."""
        if (start, stop) == (0, len(self)):
            return self
        beside = {name: _cut(column, start, stop) for name, column in self.beside.items()}
        return replace(self, X=_cut(self.X, start, stop), **beside)

    def take(self, places: Any) -> Chunk:
        """The examples at `places` (whole numbers), in that order; or those where `places` is true (bools)."""
        places = self._places(places)
        beside = {name: _take(column, places) for name, column in self.beside.items()}
        return replace(self, X=_take(self.X, places), **beside)

    def _places(self, places: Any) -> Any:
        found = np.asarray(places.to_pylist() if hasattr(places, "to_pylist") else places)
        if found.dtype == bool:
            if found.shape != (len(self),):
                raise InvalidValue(f"stream: {len(self)} rows need as many bools, got shape {found.shape}")
            return np.flatnonzero(found)
        if found.shape == (0,):
            return found.astype(np.int64)
        if found.dtype.kind not in "iu" or found.ndim != 1:
            gaps = "; fill gaps with fill_null(False)" if any(place is None for place in found.flat) else ""
            words = f"dtype {found.dtype} and shape {found.shape}"
            raise InvalidType(f"stream: places are whole numbers, or a bool for each row, got {words}{gaps}")
        if found.min() < -len(self) or found.max() >= len(self):
            raise InvalidValue(
                f"stream: places must be those of {len(self)} rows, got {found.min()} to {found.max()}"
            )
        return found

    def examples(self) -> Iterator[tuple[dict[Any, Any], Any]]:
        """Each example as a dict and its target (None if there is none)."""
        ys = [None] * len(self) if self.y is None else as_list(self.y)
        yield from zip(_frames.dicts(self.X), ys, strict=True)

    def __post_init__(self) -> None:
        rows = height(self.X)
        for name, column in self.beside.items():
            if len(column) != rows:
                raise InvalidValue(f"stream: {name} has {len(column)} values for {rows} rows")


def height(X: Any) -> int:
    """How many rows there are."""
    return int(X.num_rows) if hasattr(X, "num_rows") else len(X)


def _cut(column: Any, start: int, stop: int) -> Any:
    if isinstance(column, Sparse):
        return column.cut(start, stop)
    return column.slice(start, stop - start) if _frames._library(column) == "pyarrow" else column[start:stop]


def _take(column: Any, places: Any) -> Any:
    if isinstance(column, list):
        return [column[place] for place in places.tolist()]
    if isinstance(column, Sparse):
        return column.take(places)
    if _frames._library(column) == "pyarrow":
        # Arrow looks for the piece of every single row, unless there is but one.
        taken = (column.combine_chunks() if hasattr(column, "combine_chunks") else column).take(places)
        return _compact(taken) if hasattr(taken, "column_names") else taken
    if _frames._library(column) == "pandas":
        return column.iloc[places]
    return column[places]


def _compact(table: Any) -> Any:
    """A table whose nominal columns list no more values than it has rows.

    Else a few rows of a device would carry the names of all, and a buffer those of all that ever passed it.
    """
    import pyarrow

    for place, field in enumerate(table.schema):
        if pyarrow.types.is_dictionary(field.type):
            column = table.column(place).combine_chunks()
            if len(column.dictionary) > len(column):
                encoded = column.cast(field.type.value_type).dictionary_encode()
                table = table.set_column(place, field.name, encoded)
    return table


def as_list(column: Any) -> list[Any]:
    """The values of a column beside the features, as Python's own."""
    if hasattr(column, "to_pylist"):
        return list(column.to_pylist())
    return list(column.tolist()) if hasattr(column, "tolist") else list(column)
