"""Consecutive examples of a stream, column by column."""

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
    """Consecutive examples: features, and further columns of equal length.

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
        # Unpacking is ambiguous (two columns or five?), and a loop would expect examples.
        raise InvalidType(
            "stream: a chunk cannot be iterated: use chunk.X, chunk.y and chunk.w, chunk.examples() for its "
            "examples, or `for x, y in stream` for those of the stream"
        )

    @property
    def beside(self) -> dict[str, Any]:
        """The columns other than features that the stream has."""
        named = {"y": self.y, "w": self.w, "time": self.time, "label_time": self.label_time}
        return {name: column for name, column in named.items() if column is not None}

    def cut(self, start: int, stop: int) -> Chunk:
        """The examples from `start` to `stop`; nothing is copied."""
        if (start, stop) == (0, len(self)):
            return self
        beside = {name: _cut(column, start, stop) for name, column in self.beside.items()}
        return replace(self, X=_cut(self.X, start, stop), **beside)

    def take(self, indices: Any) -> Chunk:
        """The examples at `indices` (integers), in that order; or those where `indices` is true (bools)."""
        indices = self._row_indices(indices)
        beside = {name: take(column, indices) for name, column in self.beside.items()}
        return replace(self, X=take(self.X, indices), **beside)

    def _row_indices(self, indices: Any) -> Any:
        found = np.asarray(indices.to_pylist() if hasattr(indices, "to_pylist") else indices)
        if found.dtype == bool:
            if found.shape != (len(self),):
                raise InvalidValue(
                    f"stream: indices must have one bool for each of {len(self)} rows, got shape {found.shape}"
                )
            return np.flatnonzero(found)
        if found.shape == (0,):
            return found.astype(np.int64)
        if found.dtype.kind not in "iu" or found.ndim != 1:
            gaps = "; fill gaps with fill_null(False)" if any(index is None for index in found.flat) else ""
            words = f"dtype {found.dtype} and shape {found.shape}"
            raise InvalidType(f"stream: indices must be integers, or one bool per row, got {words}{gaps}")
        if found.min() < -len(self) or found.max() >= len(self):
            raise InvalidValue(
                f"stream: indices must be those of {len(self)} rows, got {found.min()} to {found.max()}"
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
    """Number of rows."""
    return int(X.num_rows) if hasattr(X, "num_rows") else len(X)


def _cut(column: Any, start: int, stop: int) -> Any:
    if isinstance(column, Sparse):
        return column.cut(start, stop)
    return column.slice(start, stop - start) if _frames._library(column) == "pyarrow" else column[start:stop]


def take(column: Any, indices: Any) -> Any:
    """The rows of a matrix, a frame or a column at `indices`."""
    if isinstance(column, list):
        return [column[index] for index in indices.tolist()]
    if isinstance(column, Sparse):
        return column.take(indices)
    if _frames._library(column) == "pyarrow":
        # Arrow searches the chunk of every row, unless there is only one chunk.
        taken = (column.combine_chunks() if hasattr(column, "combine_chunks") else column).take(indices)
        return _compact(taken) if hasattr(taken, "column_names") else taken
    if _frames._library(column) == "pandas":
        return column.iloc[indices]
    return column[indices]


def _compact(table: Any) -> Any:
    """A table whose nominal columns list no more values than it has rows.

    Otherwise the rows of one device would carry the names of all devices.
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
    """The values of a column as a list of Python objects."""
    if hasattr(column, "to_pylist"):
        return list(column.to_pylist())
    return list(column.tolist()) if hasattr(column, "tolist") else list(column)
