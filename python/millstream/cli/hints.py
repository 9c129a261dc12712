"""Hints on probable mistakes in the first rows of a table."""

from __future__ import annotations

from typing import Any

import pyarrow as arrow
import pyarrow.compute as compute

from millstream._echo import plain
from millstream.stream.chunk import Chunk

__all__ = ["advice"]

#: Minimum number of rows.
_ROWS = 200
#: Fraction of distinct values above which a column identifies rows.
_NAMES = 0.9
#: Maximum number of reported columns.
_MOST = 3


def advice(chunk: Chunk) -> list[str]:
    """A line for each of the first few columns that are probably not useful."""
    if not isinstance(chunk.X, arrow.Table) or len(chunk) < _ROWS:
        return []
    said = (_about(name, column) for name, column in zip(chunk.X.column_names, chunk.X.columns, strict=True))
    return [words for words in said if words][:_MOST]


def _about(name: str, column: Any) -> str | None:
    if arrow.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not (arrow.types.is_string(column.type) or arrow.types.is_large_string(column.type)):
        return None
    values = column.drop_null()
    if not len(values):
        return None
    shown = plain(name, 60)
    if compute.all(compute.match_substring_regex(values, r"^[+-]?\d+,\d+$")).as_py():
        return f"column {shown!r} is read as text because its numbers have a comma: try --option decimal=,"
    different = compute.count_distinct(values).as_py()
    if different > _NAMES * len(values) and len(values) >= _ROWS:
        return (
            f"column {shown!r} has a different value in nearly every row ({different:,} of the first "
            f"{len(values):,}): consider --drop {shown}"
        )
    return None
