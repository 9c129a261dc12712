"""Python values converted to columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as arrow

__all__ = ["Columns"]

_NUMBERS = (int, float, Decimal)


class Columns:
    """The kinds of columns so far, so that the result does not depend on the chunk size.

    In a column that started with strings, numbers are converted to strings. In a column that started with numbers,
    a string is left to the reader, which converts it to a number or reports its row.
    """

    def __init__(self) -> None:
        self.nominal: set[str] = set()
        self.other: set[str] = set()

    def note(self, table: arrow.Table, texts: Iterable[str] = ()) -> None:
        """Infer the kind of each column from the first rows with a value."""
        for name, column in zip(table.column_names, table.columns, strict=True):
            if name not in self.nominal and name not in self.other and column.null_count < len(column):
                is_text = arrow.types.is_string(column.type) and name not in texts
                (self.nominal if is_text else self.other).add(name)

    def texts(self, table: arrow.Table) -> list[str]:
        """The columns that are strings but should not be."""
        return [field.name for field in table.schema if field.name in self.other and _is_text(field.type)]

    def table(self, names: Sequence[str], columns: Iterable[Sequence[Any]]) -> tuple[arrow.Table, list[str]]:
        """A table of named columns, and those that are strings but should not be."""
        arrays = []
        texts = []
        for name, values in zip(names, columns, strict=True):
            array, begins_with_number = _array(values, written=name in self.nominal)
            arrays.append(array)
            if _is_text(array.type) and (name in self.other or (begins_with_number and name not in self.nominal)):
                texts.append(name)
        return arrow.table(arrays, names=list(names)), texts


def _is_text(kind: arrow.DataType) -> bool:
    return bool(arrow.types.is_string(kind))


def _array(values: Sequence[Any], *, written: bool) -> tuple[Any, bool]:
    """An Arrow array; numbers beside strings, or all values if `written`, become strings."""
    begin = next((value for value in values if value is not None), None)
    begins_with_number = isinstance(begin, _NUMBERS)
    if not written or isinstance(begin, str):
        try:
            return arrow.array(values), begins_with_number
        except (arrow.ArrowException, ValueError, TypeError, OverflowError):
            pass
    kinds = {type(value) for value in values if value is not None}
    if not written and all(issubclass(kind, _NUMBERS) for kind in kinds):
        floats = [None if value is None else _float(value) for value in values]
        return arrow.array(floats, arrow.float64()), True
    if all(issubclass(kind, (*_NUMBERS, str)) for kind in kinds):
        return arrow.array([_text(value) for value in values], arrow.string()), begins_with_number
    # The reader refuses these values as features.
    return arrow.array([None if value is None else [str(value)] for value in values]), False


def _float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        # The model refuses it, with its row.
        return float("inf") if value > 0 else float("-inf")


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return str(int(value)) if isinstance(value, bool) else str(value)
