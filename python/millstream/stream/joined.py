"""Consecutive chunks as one.

If two chunks have different layouts (a matrix after dicts, integers after floats), rows become dicts and the other
columns become lists, so that no value changes: a label 1 does not become 1.0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from millstream import _frames
from millstream._sparse import Sparse
from millstream.stream.chunk import Chunk, as_list

__all__ = ["joined"]


def joined(chunks: Sequence[Chunk]) -> Chunk:
    """The examples of several chunks, in order, as one chunk."""
    if len(chunks) == 1:
        return chunks[0]
    names = {name for chunk in chunks for name in chunk.beside}
    beside = {name: _columns([_beside(chunk, name) for chunk in chunks]) for name in names}
    return replace(chunks[0], X=_rows([chunk.X for chunk in chunks]), **beside)


def _beside(chunk: Chunk, name: str) -> Any:
    column = getattr(chunk, name)
    if column is not None:
        return column
    return np.ones(len(chunk)) if name == "w" else [None] * len(chunk)


def _rows(parts: list[Any]) -> Any:
    if all(isinstance(part, np.ndarray) for part in parts):
        if len({(part.shape[1], part.dtype) for part in parts}) == 1:
            return np.concatenate(parts)
    elif all(isinstance(part, Sparse) for part in parts):
        return _sparse(parts)
    elif all(_is_table(part) for part in parts):
        tables = [_with_room(part) for part in parts]
        if all(table.schema.equals(tables[0].schema) for table in tables):
            import pyarrow

            return pyarrow.concat_tables(tables)
    return [x for part in parts for x in _frames.dicts(part)]


def _is_table(X: Any) -> bool:
    return _frames._library(X) == "pyarrow" and hasattr(X, "schema") and hasattr(X, "to_batches")


def _with_room(table: Any) -> Any:
    """A table whose dictionary indices are wide enough for the values of all chunks."""
    import pyarrow

    for place, field in enumerate(table.schema):
        if pyarrow.types.is_dictionary(field.type) and field.type.index_type != pyarrow.int32():
            wide = pyarrow.dictionary(pyarrow.int32(), field.type.value_type)
            table = table.set_column(place, field.name, table.column(place).cast(wide))
    return table


def _sparse(parts: list[Sparse]) -> Sparse:
    before = np.cumsum([0] + [int(part.starts[-1]) - int(part.starts[0]) for part in parts])
    starts = [part.starts[:-1] - part.starts[0] + shift for part, shift in zip(parts, before, strict=False)]
    entries = [(part.indices[slice(part.starts[0], part.starts[-1])], _values(part)) for part in parts]
    return Sparse(
        np.concatenate([*starts, before[-1:]]).astype(np.int64),
        np.concatenate([indices for indices, _ in entries]),
        np.concatenate([values for _, values in entries]),
        max(part.width for part in parts),
    )


def _values(part: Sparse) -> Any:
    return part.values[slice(part.starts[0], part.starts[-1])]


def _columns(parts: list[Any]) -> Any:
    first = parts[0]
    if all(isinstance(part, np.ndarray) for part in parts):
        if len({part.dtype for part in parts}) == 1 or all(part.dtype.kind == "U" for part in parts):
            return np.concatenate(parts)
    elif all(_frames._library(part) == "pyarrow" and part.type == first.type for part in parts):
        import pyarrow

        pieces = [piece for part in parts for piece in getattr(part, "chunks", [part])]
        return pyarrow.chunked_array(pieces, type=first.type)
    return [value for part in parts for value in as_list(part)]
