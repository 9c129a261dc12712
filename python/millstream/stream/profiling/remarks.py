"""Remarks on columns that were probably read incorrectly, each with the option that corrects it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from millstream._echo import plain, quoted

if TYPE_CHECKING:
    from millstream.stream.profiling.columns import ColumnProfile

__all__ = ["Remark", "remark_on", "remark_on_target"]

_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")
_COMMA_NUMBER = re.compile(r"\s*[+-]?\d+,\d+\s*")
_QUOTED_NUMBER = re.compile(r"""\s*(['"])[+-]?(\d+\.?\d*|\.\d+)\1\s*""")
_DAY_FIRST = re.compile(r"\s*(\d{1,2})[./-](\d{1,2})[./-](\d{4}|\d{2})\b.*")

#: Fraction of values from which a column is said to be of a kind.
_MOST = 0.9

#: Maximum number of exceptional values that are named.
_NAMED = 3

#: Number of different integers up to which a target may be a class as well as an amount.
_FEW = 20


@dataclass(frozen=True)
class Remark:
    """Something suspicious about a column, and the option that corrects it."""

    column: str
    message: str
    #: The option as it is typed on the command line, such as "--option missing=-"; empty if there is none.
    option: str = ""

    def __str__(self) -> str:
        return f"{self.message}: {self.option}" if self.option else self.message


def remark_on(column: ColumnProfile) -> Remark | None:
    """The most important remark on a feature, or None."""
    name = plain(column.name, 60)
    if column.kind == "empty":
        return Remark(name, f"{name} has no values", f"--drop {name}")
    if column.kind == "constant":
        return Remark(name, f"{name} is {column.reason}", f"--drop {name}")
    if column.strings:
        found = _remark_on_strings(column, name)
        if found is not None:
            return found
    if column.kind == "id-like":
        return Remark(name, f"{name} seems to identify rows ({column.reason})", f"consider --drop {name}")
    return None


def _remark_on_strings(column: ColumnProfile, name: str) -> Remark | None:
    total = column.counts.total()
    if _fraction(column, _COMMA_NUMBER, total) >= _MOST:
        return Remark(
            name, f"{name} is read as strings because its numbers have a comma", "try --option decimal=,"
        )
    if _fraction(column, _QUOTED_NUMBER, total) >= _MOST:
        option = f'--types {name}=number after removing the quotes, or --option quote="\'"'
        return Remark(name, f"{name} has numbers in quotes and is read as strings", option)
    numbers = _fraction(column, _NUMBER, total)
    if numbers >= _MOST and numbers < 1:
        others = [(value, count) for value, count in column.counts.most_common() if not _NUMBER.fullmatch(value)]
        shown = ", ".join(f"{quoted(value)} ({count:,} ×)" for value, count in others[:_NAMED])
        shown += ", …" * (len(others) > _NAMED)
        message = f"{100 * numbers:.3g} % of {name} are numbers, but it is read as strings; not: {shown}"
        option = f"--option missing={plain(others[0][0], 60)}" if len(others) == 1 else f"--types {name}=number"
        return Remark(name, message, option)
    if numbers == 1 and column.stated not in ("nominal", "text"):
        return Remark(name, f"{name} has only numbers but is read as strings", f"--types {name}=number")
    if _fraction(column, _DAY_FIRST, total) >= _MOST:
        return _remark_on_dates(column, name)
    return None


def _remark_on_dates(column: ColumnProfile, name: str) -> Remark:
    example = next(iter(column.counts))
    days = [int(found[1]) for value in column.counts if (found := _DAY_FIRST.fullmatch(value))]
    order = "the day first" if max(days) > 12 else "the day or the month first"
    message = f"{name} has dates with {order} ({quoted(example)}), which are read as strings"
    return Remark(name, message, f"write them as 2024-12-31 and use --types {name}=time, or --drop {name}")


def _fraction(column: ColumnProfile, pattern: re.Pattern[str], total: int) -> float:
    if not total:
        return 0.0
    return sum(count for value, count in column.counts.items() if pattern.fullmatch(value)) / total


def remark_on_target(column: ColumnProfile) -> Remark | None:
    """A remark on integers that may be classes or amounts, and on targets without a second value."""
    name = plain(column.name, 60)
    if column.kind in ("constant", "empty"):
        return Remark(name, f"the target {name} is {column.reason}: there is nothing to learn")
    if column.strings or not column.whole or column.more_values or not 2 < column.different <= _FEW:
        return None
    message = f"the target {name} has {column.different} different integers, which may be classes or amounts"
    return Remark(name, message, "pass --model with a classifier or a regressor")
