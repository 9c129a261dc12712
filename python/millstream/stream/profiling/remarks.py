"""Remarks on columns that were probably read incorrectly, each with the option that corrects it."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from millstream._echo import plain, quoted

if TYPE_CHECKING:
    from millstream.stream.profiling.columns import ColumnProfile

__all__ = ["Remark", "remark_on", "remark_on_target"]

_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")
_COMMA_NUMBER = re.compile(r"\s*[+-]?\d+,\d+\s*")
_QUOTED_NUMBER = re.compile(r"""\s*(['"])[+-]?(\d+\.?\d*|\.\d+)\1\s*""")
#: Numbers with thousands separators, which are not decimal commas: "1,234", "1,234.5".
_THOUSANDS = re.compile(r"\s*[+-]?\d{1,3}(,\d{3})+(\.\d+)?\s*")
#: Numbers with a currency, a percent sign or another unit.
_WITH_UNIT = re.compile(r"\s*[^\w\s,.+-]?\s*[+-]?\d+(,\d{3})*(\.\d+)?\s*([^\w\s,.+-]|[A-Za-z]{1,3})?\s*")
_DAY_FIRST = re.compile(r"\s*(\d{1,2})([./-])(\d{1,2})\2(\d{4}|\d{2})(?:([ T])(\d{1,2}:\d{2})(:\d{2})?)?\s*")

#: Fraction of values from which a column is said to be of a kind.
_MOST = 0.9

#: Maximum number of exceptional values that are named.
_NAMED = 3

#: Number of rows from which few integers may be codes.
_ROWS = 200

#: Numbers, some of which may have thousands separators.
_GROUPED = re.compile(r"\s*[+-]?(\d{1,3}(,\d{3})+|\d{1,3})(\.\d+)?\s*")

#: Number of different values from which numbers with a unit are not names of categories, such as "1 L".
_UNITS = 20

#: Number of different integers up to which a target may be a class as well as an amount.
_FEW = 20


@dataclass(frozen=True)
class Remark:
    """A probable mistake in a column, and the option that corrects it."""

    column: str
    message: str
    #: The option as it is typed on the command line, such as "--option missing=-"; empty if there is none.
    option: str = ""
    #: Whether it is shown by `millstream look` only, and not before a run.
    minor: bool = False
    #: Whether it matters only if the rows are learned.
    of_learning: bool = False

    def __str__(self) -> str:
        return f"{self.message}: {self.option}" if self.option else self.message


def remark_on(column: ColumnProfile) -> Remark | None:
    """The most important remark on a feature, or None."""
    name = plain(column.name, 60)
    if column.kind == "empty":
        return Remark(name, f"{name} has no values", f"--drop {name}")
    if column.kind == "constant":
        return Remark(name, f"{name} is {column.reason}", f"--drop {name}")
    if column.kind == "time":
        message = f"{name} is a time, read as seconds since 1970, which later rows exceed"
        return Remark(name, message, f"--calendar {name}, --time {name} or --drop {name}")
    if column.strings:
        found = _remark_on_strings(column, name)
        if found is not None:
            return found
    if column.kind == "text" and column.stated != "text":
        message = f"{name} has texts of {column.reason.split()[0]} words, each of which is read as one category"
        return Remark(name, message, f"--types {name}=text")
    if column.kind == "id-like":
        return Remark(name, f"{name} seems to identify rows ({column.reason})", f"consider --drop {name}")
    return _remark_on_codes(column, name)


def _remark_on_codes(column: ColumnProfile, name: str) -> Remark | None:
    """A remark on few integers, which may be codes of categories; it is too weak to be shown before a run."""
    if not column.whole or column.more_values or not 2 < column.different <= _FEW or column.numbers < _ROWS:
        return None
    message = f"{name} has {column.different} different integers, which may be categories or amounts"
    return Remark(name, message, f"if categories, --types {name}=nominal", minor=True)


def _remark_on_strings(column: ColumnProfile, name: str) -> Remark | None:
    total = column.counts.total()
    if any(map(_THOUSANDS.fullmatch, column.counts)) and _fraction(column, _GROUPED, total) >= _MOST:
        return _remark_on_thousands(column, name)
    if _fraction(column, _COMMA_NUMBER, total) >= _MOST:
        return _remark_on_commas(column, name, f"{name} is read as strings")
    if _fraction(column, _QUOTED_NUMBER, total) >= _MOST:
        single = next(iter(column.counts)).strip().startswith("'")
        # A quote character that is left in a value was doubled, so that only its removal from the file helps.
        option = """--option quote="'\"""" if single else "remove the quotes from the file"
        return Remark(name, f"{name} has numbers in quotes and is read as strings", option)
    numbers = _fraction(column, _NUMBER, total)
    if numbers >= _MOST and numbers < 1:
        others, shown = _others(column, _NUMBER)
        message = f"{100 * numbers:.3g} % of {name} are numbers, but it is read as strings because of {shown}"
        return Remark(name, message, _option_for(others, name))
    if numbers == 1 and column.stated not in ("nominal", "text"):
        return Remark(name, f"{name} has only numbers but is read as strings", f"--types {name}=number")
    if _fraction(column, _DAY_FIRST, total) >= _MOST:
        return _remark_on_dates(column, name)
    if column.different >= _UNITS and numbers < _MOST and _unit(column, total):
        example = quoted(next(value for value in column.counts if _WITH_UNIT.fullmatch(value)))
        message = f"{name} has numbers with a symbol or a unit ({example}) and is read as strings"
        return Remark(name, message, "remove the symbol or unit from the file")
    return None


def _unit(column: ColumnProfile, total: int) -> bool:
    """Whether most values are numbers with the same currency, percent sign or unit."""
    units = Counter[str]()
    for value, count in column.counts.items():
        if _WITH_UNIT.fullmatch(value):
            units[re.sub(r"[\d\s.,+-]", "", value)] += count
    return any(unit and count >= _MOST * total for unit, count in units.items())


def _remark_on_thousands(column: ColumnProfile, name: str) -> Remark:
    """A remark on commas that separate thousands, or that may be decimal commas or separators."""
    found = [value.strip() for value in column.counts if _THOUSANDS.fullmatch(value)]
    message = f"{name} is read as strings because its numbers have a comma ({quoted(found[0])})"
    if any("." in value or value.count(",") > 1 for value in found):
        return Remark(name, message, "remove the thousands separators from the file")
    return Remark(name, message, "remove it from the file, or, if it is a decimal comma, try --option decimal=,")


def _remark_on_commas(column: ColumnProfile, name: str, what: str) -> Remark:
    """A remark on decimal commas; values that are no numbers need an option of their own."""
    others, shown = _others(column, _COMMA_NUMBER, _NUMBER)
    message = f"{what} because its numbers have a comma" + (f"; other values: {shown}" if others else "")
    option = "try --option decimal=,"
    return Remark(name, message, f"{option} {_option_for(others, name)}" if others else option)


def _others(column: ColumnProfile, *patterns: re.Pattern[str]) -> tuple[list[str], str]:
    """The values that match no pattern, in descending order of their counts, and the first of them in words."""
    found = [
        (value, count)
        for value, count in column.counts.most_common()
        if not any(pattern.fullmatch(value) for pattern in patterns)
    ]
    shown = ", ".join(f"{quoted(value)} ({count:,} ×)" for value, count in found[:_NAMED])
    return [value for value, _ in found], shown + ", …" * (len(found) > _NAMED)


def _option_for(others: list[str], name: str) -> str:
    """The option that makes numbers of a column with some other values."""
    return f"--option missing={plain(others[0], 60)}" if len(others) == 1 else f"--types {name}=number"


def _remark_on_dates(column: ColumnProfile, name: str) -> Remark:
    found = [match for value in column.counts if (match := _DAY_FIRST.fullmatch(value))]
    days, months = (max(int(match[place]) for match in found) for place in (1, 3))
    # Without a day above 12, either may be first.
    order = "the month first" if months > 12 else "the day first" if days > 12 else "the day or the month first"
    match = found[0]
    first, second = ("%m", "%d") if months > 12 else ("%d", "%m")
    layout = f"{first}{match[2]}{second}{match[2]}{'%Y' if len(match[4]) == 4 else '%y'}"
    if match[5]:
        layout += f"{match[5]}%H:%M{':%S' if match[7] else ''}"
    message = f"{name} has dates with {order} ({quoted(match[0])}), which are read as strings"
    quote = "'" if " " in layout or " " in name else ""
    return Remark(name, message, f"--types {quote}{name}=time:{layout}{quote}")


def _fraction(column: ColumnProfile, pattern: re.Pattern[str], total: int) -> float:
    if not total:
        return 0.0
    return sum(count for value, count in column.counts.items() if pattern.fullmatch(value)) / total


def remark_on_target(column: ColumnProfile) -> Remark | None:
    """A remark on a target without a second value, on decimal commas, and on integers that may be classes."""
    name = plain(column.name, 60)
    if column.kind in ("constant", "empty"):
        message = f"the target {name} is {column.reason}: there is nothing to learn"
        return Remark(name, message, of_learning=True)
    if column.strings and _fraction(column, _COMMA_NUMBER, column.counts.total()) >= _MOST:
        return _remark_on_commas(column, name, f"the target {name} is read as classes")
    if column.strings or not column.whole or column.more_values or not 2 < column.different <= _FEW:
        return None
    message = f"the target {name} has {column.different} different integers, which may be classes or amounts"
    return Remark(name, message, "pass --model with a classifier or a regressor", of_learning=True)
