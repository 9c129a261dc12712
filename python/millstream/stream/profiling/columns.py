"""The running profile of one column: counts, range, moments, a histogram, and the most frequent values."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from millstream._echo import quoted

__all__ = ["MOST_NUMBERS", "MOST_VALUES", "ColumnProfile", "count_of"]

#: Number of distinct values that are counted. Of further values, only their existence is recorded.
MOST_VALUES = 10_000

#: Number of further values without a digit.
WORDS_ROOM = 1_000

#: Number of distinct numbers that are counted. A column with more does not hold codes or classes.
MOST_NUMBERS = 1_000

#: Number of bins of a histogram.
BINS = 12

#: No count of a saved profile is as large.
_MOST = 2**53

#: Number of rows from which a column can be said to identify its rows.
_ROWS = 200

#: Fraction of different values from which a column of strings identifies its rows.
_DIFFERENT = 0.9

#: Mean number of words from which strings are text and not names of categories.
_WORDS = 3.0


class ColumnProfile:
    """Running profile of one column, in memory that does not depend on the number of rows.

    Attributes
    ----------
    rows, missing
        Number of rows, and of those without a value.
    numbers, strings
        Number of values of each type.
    low, high, mean
        Range and mean of the numbers; NaN if there are none.
    counts
        Number of occurrences of each string, of at most 10,000 different ones; `number_counts` are those of
        numbers, of at most 1,000.
    edges, histogram
        Bins of equal width between the smallest and the largest number of the first rows, and the number of values
        in each. Later numbers outside them are counted in the first or last bin.
    """

    def __init__(self, name: Any, stated: str | None = None) -> None:
        self.name = name
        #: The kind stated by the stream, such as "time".
        self.stated = stated
        self.rows = self.missing = self.numbers = self.strings = 0
        self.low = self.high = self.mean = math.nan
        self._squares = 0.0
        #: Whether all numbers are integers, and whether each is larger by one than the number before.
        self.whole = self.consecutive = True
        self._last: float | None = None
        self.number_counts: Counter[float] = Counter()
        self.counts: Counter[str] = Counter()
        #: Whether there were more different values than are counted.
        self.more_values = False
        self.edges: list[float] = []
        self.histogram = [0] * BINS

    def update_numbers(self, values: Any) -> None:
        """Add numbers; NaN is a missing value."""
        values = np.asarray(values, dtype=np.float64)
        gaps = np.isnan(values)
        present = values[~gaps] if gaps.any() else values
        self.rows += len(values)
        self.missing += len(values) - len(present)
        if not len(present):
            return
        self._update_moments(present)
        if self.whole:
            self.whole = bool((present == np.floor(present)).all())
        if self.consecutive:
            before = present[:1] - 1 if self._last is None else np.array([self._last])
            self.consecutive = bool((np.diff(np.concatenate([before, present])) == 1).all())
        self._last = float(present[-1])
        if not self.more_values:
            for value, count in zip(*np.unique(present, return_counts=True), strict=True):
                self._count(self.number_counts, float(value), int(count), MOST_NUMBERS)
        if not self.edges:
            low, high = float(present.min()), float(present.max())
            if np.isfinite(high - low):
                self.edges = np.linspace(low, high if high > low else low + 1.0, BINS + 1).tolist()
        if self.edges:
            width = (self.edges[-1] - self.edges[0]) / BINS
            bins = np.clip((present - self.edges[0]) / width, 0, BINS - 1).astype(np.int64)
            self.histogram = (np.asarray(self.histogram) + np.bincount(bins, minlength=BINS)).tolist()

    def _update_moments(self, present: Any) -> None:
        low, high = float(present.min()), float(present.max())
        first = self.numbers == 0
        self.low, self.high = (low, high) if first else (min(self.low, low), max(self.high, high))
        # Chan, Golub and LeVeque's pairwise formula. An overflow leaves infinity, which is shown as such.
        with np.errstate(over="ignore", invalid="ignore"):
            mean, count = float(present.mean()), len(present)
            squares = float(((present - mean) ** 2).sum())
            total = self.numbers + count
            if first:
                self.mean, self._squares = mean, squares
            else:
                gap = mean - self.mean
                self._squares += squares + gap * gap * self.numbers * count / total
                self.mean += gap * count / total
        self.numbers = total

    def update_strings(self, codes: Any, categories: Sequence[str]) -> None:
        """Add strings: the index of each in `categories`, or −1 for a missing value."""
        codes = np.asarray(codes)
        present = codes[codes >= 0].astype(np.int64)
        self.rows += len(codes)
        self.missing += len(codes) - len(present)
        self.strings += len(present)
        counts = np.bincount(present, minlength=len(categories))
        for place in np.flatnonzero(counts).tolist():
            value = categories[place]
            # Words among thousands of numbers, such as "-" for a missing value, are what a remark is about.
            room = 0 if any(letter.isdigit() for letter in value) else WORDS_ROOM
            self._count(self.counts, value, int(counts[place]), MOST_VALUES + room)

    def update_missing(self, rows: int) -> None:
        """Add rows without a value."""
        self.rows += rows
        self.missing += rows

    def _count(self, counter: Counter[Any], value: Any, count: int, most: int) -> None:
        if value in counter or len(counter) < most:
            counter[value] += count
        else:
            self.more_values = True

    @property
    def deviation(self) -> float:
        """Standard deviation of the numbers; NaN if there are fewer than two."""
        return math.sqrt(self._squares / (self.numbers - 1)) if self.numbers > 1 else math.nan

    @property
    def missing_fraction(self) -> float:
        """Fraction of rows without a value."""
        return self.missing / self.rows if self.rows else 0.0

    @property
    def different(self) -> int:
        """Number of different values; a lower bound if `more_values`."""
        return len(self.counts) + len(self.number_counts)

    @property
    def kind(self) -> str:
        """One of "number", "nominal", "text", "time", "constant", "id-like" and "empty"."""
        return self._kind_and_reason()[0]

    @property
    def reason(self) -> str:
        """Why the column is of this kind, in words."""
        return self._kind_and_reason()[1]

    def _kind_and_reason(self) -> tuple[str, str]:
        present = self.numbers + self.strings
        if not present:
            return "empty", "no row has a value"
        if self.different == 1 and not self.more_values and present > 1:
            value = next(iter(self.counts or self.number_counts))
            return "constant", f"always {_shown(value)}"
        if self.stated == "time":
            return "time", "seconds since 1970"
        if self.strings:
            return self._kind_of_strings(present)
        if self.consecutive and self.whole and self.numbers >= _ROWS:
            return "id-like", f"counts from {self.low:.0f} to {self.high:.0f}"
        if self.whole and self.different <= 2 and not self.more_values:
            return "number", " and ".join(f"{value:.0f}" for value in sorted(self.number_counts)) + " only"
        return "number", "integers" if self.whole else "all values are numbers"

    def _kind_of_strings(self, present: int) -> tuple[str, str]:
        words = sum(count * len(value.split()) for value, count in self.counts.items()) / max(
            self.counts.total(), 1
        )
        if self.stated == "text" or words >= _WORDS:
            return "text", f"{words:.3g} words on average"
        if present >= _ROWS and (self.different > _DIFFERENT * present or self.more_values):
            more = "more than " if self.more_values else ""
            return "id-like", f"{more}{self.different:,} different values in {present:,} rows"
        return "nominal", f"strings, {self.different:,} different"

    def to_dict(self) -> dict[str, Any]:
        """The profile as plain data."""
        data = {name: value for name, value in vars(self).items() if name not in ("counts", "number_counts")}
        data |= {"counts": list(self.counts.items()), "number_counts": list(self.number_counts.items())}
        return {name.removeprefix("_"): value for name, value in data.items()}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> ColumnProfile:
        """The profile that `to_dict` returned."""
        made = cls(data["name"], data["stated"])
        expected = {name.removeprefix("_"): name for name in vars(made)}
        if set(data) != set(expected):
            raise ValueError(f"must have the fields {', '.join(sorted(expected))}")
        for name, value in data.items():
            setattr(made, expected[name], _READERS[name](value) if name in _READERS else value)
        made._check()
        return made

    def _check(self) -> None:
        """Refuse an impossible profile."""
        named = isinstance(self.name, (str, int)) and abs(0 if isinstance(self.name, str) else self.name) < _MOST
        if not named or not isinstance(self.stated, (str, type(None))):
            raise ValueError("name and stated must be names")
        if sum(self.counts.values()) > self.strings or sum(self.number_counts.values()) > self.numbers:
            raise ValueError("values must not occur more often than all of them do")
        if len(self.histogram) != BINS or self.missing + self.numbers + self.strings > self.rows:
            raise ValueError("counts must fit the number of rows")
        if (self.numbers and not self.low <= self.high) or self._squares < 0.0:
            raise ValueError("low must be at most high, and squares must not be negative")


def count_of(value: Any) -> int:
    """A number of rows of a saved profile."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < _MOST:
        raise ValueError(f"a count must be an integer >= 0, got {quoted(value)}")
    return value


def _number_of(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"a number must be a number, got {quoted(value)}")
    return float(value)


def _flag_of(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"a flag must be true or false, got {quoted(value)}")
    return value


def _word_of(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a value must be a string, got {quoted(value)}")
    return value


#: How fields of a saved profile are read.
_READERS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("rows", "missing", "numbers", "strings"), count_of),
    **dict.fromkeys(("low", "high", "mean", "squares"), _number_of),
    **dict.fromkeys(("whole", "consecutive", "more_values"), _flag_of),
    "last": lambda value: None if value is None else _number_of(value),
    "edges": lambda values: [_number_of(value) for value in values],
    "histogram": lambda values: [count_of(value) for value in values],
    "counts": lambda pairs: Counter({_word_of(value): count_of(count) for value, count in pairs}),
    "number_counts": lambda pairs: Counter({_number_of(value): count_of(count) for value, count in pairs}),
}


def _shown(value: Any) -> str:
    return repr(value) if isinstance(value, str) else f"{value:.6g}"
