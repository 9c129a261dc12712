"""The profile of a stream, updated chunk by chunk."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from millstream import _frames
from millstream._echo import plain, quoted
from millstream._files import write_whole
from millstream._sparse import Sparse
from millstream.errors import InvalidState, InvalidType, InvalidValue
from millstream.stream.base import Stream
from millstream.stream.chunk import Chunk
from millstream.stream.profiling.columns import ColumnProfile, count_of
from millstream.stream.profiling.remarks import Remark, remark_on, remark_on_target

if TYPE_CHECKING:
    from millstream.stream.profiling.contract import Checked

__all__ = ["Profile", "profile"]

#: Maximum number of columns. Wider rows are sparse data, whose single columns are uninformative.
MOST_COLUMNS = 2_000

#: Maximum number of listed omitted columns.
_OMITTED = 8

#: Heights of the bars of a histogram in text.
_BARS = " ▁▂▃▄▅▆▇█"


class Profile:
    """Profile of a stream: rows, columns by kind, missing values, the target, and probable mistakes.

    Created by `stream.profile`; `update` adds rows. A profile also serves as a data contract: `check` compares
    other rows with it.
    """

    def __init__(self, target: str | None = None, kinds: Mapping[Any, str] | None = None) -> None:
        self.rows = 0
        #: The profile of each feature, by name.
        self.columns: dict[Any, ColumnProfile] = {}
        #: The profile of the target; None if the stream has none.
        self.target: ColumnProfile | None = None
        #: Whether the rows are sparse, so that only the target is profiled.
        self.sparse = False
        #: Number of columns beyond the limit of 2,000, which are not profiled.
        self.left_out = 0
        #: Why each column that is not a feature was omitted, such as "dropped" or "event time", by name.
        self.omitted: dict[str, str] = {}
        #: Features that the program made of others, such as the hour of a time; there are no remarks on them.
        self.made: set[Any] = set()
        self._target_name = target
        self._kinds = dict(kinds or {})

    def update(self, chunk: Chunk) -> None:
        """Add the rows of a chunk."""
        rows = len(chunk)
        if isinstance(chunk.X, Sparse):
            self.sparse = True
        else:
            self._update_features(chunk.X, rows)
        if chunk.y is not None:
            if self.target is None:
                self.target = ColumnProfile(self._target_name or "y")
                self.target.update_missing(self.rows)
            _update(self.target, _frames.targets(chunk.y))
        elif self.target is not None:
            self.target.update_missing(rows)
        self.rows += rows

    def _update_features(self, X: Any, rows: int) -> None:
        parts = _frames.take_apart(X)
        named: list[tuple[Any, Any, Any]]
        if parts[0] == "matrix":
            named = [(place, parts[1][:, place], None) for place in range(parts[1].shape[1])]
        elif parts[0] == "columns":
            named = list(parts[1])
        else:
            named = [(name, values, ...) for name, values in _columns_of_dicts(list(parts[1])).items()]
        seen = set()
        for name, values, categories in named:
            column = self.columns.get(name)
            if column is None:
                if len(self.columns) >= MOST_COLUMNS:
                    self.left_out = max(self.left_out, len(named) - MOST_COLUMNS)
                    continue
                column = self.columns[name] = ColumnProfile(name, self._kinds.get(name))
                column.update_missing(self.rows)
            seen.add(name)
            if categories is None:
                column.update_numbers(values)
            elif categories is ...:
                _update(column, values)
            else:
                column.update_strings(values, categories)
        for name, column in self.columns.items():
            if name not in seen:
                column.update_missing(rows)

    @property
    def remarks(self) -> list[Remark]:
        """Probable mistakes, each with the option that corrects it."""
        found = [remark_on(column) for name, column in self.columns.items() if name not in self.made]
        if self.target is not None:
            found.insert(0, remark_on_target(self.target))
        return [remark for remark in found if remark is not None]

    def to_frame(self) -> Any:
        """One row per column, as a pandas frame."""
        import pandas

        return pandas.DataFrame([_facts(column) for column in self._all_columns()])

    def _all_columns(self) -> list[ColumnProfile]:
        return [*self.columns.values(), *([self.target] if self.target else [])]

    def summary(self, *, minor: bool = True) -> list[str]:
        """A short summary: columns by kind, missing values, the target, and remarks, including minor ones."""
        return self.facts() + [f"note     {remark}" for remark in self.remarks if minor or not remark.minor]

    def facts(self) -> list[str]:
        """The summary without the remarks."""
        lines = [self._kinds_line()]
        gaps = sorted(
            (column for column in self.columns.values() if column.missing and column.kind != "empty"),
            key=lambda column: -column.missing_fraction,
        )
        if gaps:
            shown = [f"{plain(column.name, 60)} {_percent(column.missing_fraction)}" for column in gaps[:5]]
            lines.append(f"missing  {', '.join(shown)}{', …' * (len(gaps) > 5)}")
        if self.omitted:
            shown = [f"{plain(name, 60)} ({why})" for name, why in list(self.omitted.items())[:_OMITTED]]
            lines.append(f"omitted  {', '.join(shown)}{', …' * (len(self.omitted) > _OMITTED)}")
        if self.target is not None:
            lines.append(f"target   {plain(self.target.name, 60)}: {describe_target(self.target)}")
        return lines

    def _kinds_line(self) -> str:
        if self.sparse:
            return "columns  sparse rows"
        by_kind: dict[str, list[ColumnProfile]] = {}
        for column in self.columns.values():
            by_kind.setdefault(column.kind, []).append(column)
        words = []
        for kind, columns in by_kind.items():
            names = ", ".join(plain(column.name, 30) for column in columns[:4]) + ", …" * (len(columns) > 4)
            words.append(f"{len(columns)} {kind} ({names})")
        more = f"; {self.left_out:,} more are not profiled" if self.left_out else ""
        return f"columns  {len(self.columns):,}: {', '.join(words) or 'none'}{more}"

    def __str__(self) -> str:
        rows = [[plain(column.name, 30), column.kind, *cells_of(column)] for column in self.columns.values()]
        lines = [f"{self.rows:,} row{'s' * (self.rows != 1)}", ""]
        if rows:
            head = ["column", "kind", "missing", "distribution", "values"]
            widths = [max(len(row[place]) for row in [head, *rows]) for place in range(len(head))]
            lines += [_aligned(row, widths) for row in [head, *rows]]
            lines.append("")
        return "\n".join([*lines, *self.summary()])

    def _repr_html_(self) -> str:
        from millstream.evaluate.report.observed import profile_section

        return profile_section(self, is_open=True)

    def __repr__(self) -> str:
        return f"Profile({self.rows:,} rows, {len(self.columns):,} columns)"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the profile as JSON, to be loaded by `Profile.load` and used as a data contract."""
        target = None if self.target is None else self.target.to_dict()
        columns = [column.to_dict() for column in self.columns.values()]
        data = {"format": "millstream profile", "version": 1, "rows": self.rows, "target": target}
        write_whole(path, (json.dumps({**data, "columns": columns}) + "\n").encode())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Profile:
        """The profile that `save` wrote."""
        try:
            data = json.loads(Path(path).read_bytes())
            if data["format"] != "millstream profile" or data["version"] != 1:
                raise ValueError("it is not a profile, or is of a newer version")
            made = cls()
            made.rows = count_of(data["rows"])
            made.columns = {each["name"]: ColumnProfile.from_dict(each) for each in data["columns"]}
            if data["target"] is not None:
                made.target = ColumnProfile.from_dict(data["target"])
        except IsADirectoryError:
            raise InvalidState(f"{path}: no profile can be loaded from it: it is a directory") from None
        except (json.JSONDecodeError, UnicodeDecodeError):
            raise InvalidState(
                f"{path}: no profile can be loaded from it: it is not JSON, which Profile.save and "
                "millstream look --save write"
            ) from None
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            raise InvalidState(f"{path}: no profile can be loaded from it: {quoted(str(error), 120)}") from None
        return made

    def check(self, source: Stream, *, on_violation: str = "report", margin: float = 1.0) -> Checked:
        """Compare the rows of a stream with this profile as a data contract.

        A row violates the contract if one of its values has another type than its column in the profile, is
        outside the range by more than `margin` times the width of the range, is an unknown category, or is missing
        in a column that had no missing values. Unknown columns are violations too, as are columns with a clearly
        higher fraction of missing values, which is tested after the last row.

        Parameters
        ----------
        source
            The stream to check.
        on_violation
            `"report"` yields all rows and counts violations in `violations`; `"quarantine"` skips rows with a
            violation and keeps the first 1,000 of them in `quarantined`.
        margin
            Tolerance of ranges, as a fraction of their width.
        """
        from millstream.stream.profiling.contract import Checked

        return Checked(source, self, on_violation, margin)


def profile(source: Stream, rows: int | None = None) -> Profile:
    """Profile the columns and the target of a stream.

    Parameters
    ----------
    source
        A stream. It is read once.
    rows
        Number of rows to read; None for all.

    Examples
    --------
    >>> import io
    >>> from millstream import stream
    >>> lines = [f"{n},5;{'Oslo' if n % 3 else 'Rome'};{n % 2}" for n in range(300)]
    >>> text = "\\n".join(["price;city;late", *lines])
    >>> rows = stream.read_csv(io.BytesIO(text.encode()), target="late")
    >>> print("\\n".join(stream.profile(rows).summary()))
    columns  2: 1 id-like (price), 1 nominal (city)
    target   late: 0 50 %, 1 50 %
    note     price is read as strings because its numbers have a comma: try --option decimal=,
    """
    if not isinstance(source, Stream):
        raise InvalidType(f"stream.profile: must be a stream, got {type(source).__name__}; see stream.from_pandas")
    if rows is not None and (isinstance(rows, bool) or not isinstance(rows, (int, np.integer)) or rows < 1):
        raise InvalidValue(f"stream.profile: rows must be at least 1, got {quoted(rows)}")
    if rows is None and source.endless:
        raise InvalidValue("stream.profile: the stream never ends, so pass rows")
    made = Profile(source.target, source.schema if source.repeatable else None)
    made.omitted, made.made = omitted_of(source), made_of(source)
    for chunk in (source if rows is None else source.take(rows)).chunks():
        made.update(chunk)
    return made


def made_of(source: Any) -> set[Any]:
    """The features of a stream that were made of others."""
    found: set[Any] = set()
    while source is not None:
        found.update(getattr(source, "made", ()))
        source = getattr(source, "source", None)
    return found


def omitted_of(source: Any) -> dict[str, str]:
    """Why each column of a stream that is not a feature was omitted, by name."""
    found: dict[str, str] = {}
    while source is not None:
        # Columns that are copied into predictions.
        found |= dict.fromkeys(map(str, getattr(source, "removed_columns", ())), "copied")
        found |= dict.fromkeys(map(str, getattr(source, "drop", ())), "dropped")
        for name, why in (("time", "event time"), ("label_time", "time of the label"), ("weight", "weight")):
            if (column := getattr(source, name, None)) is not None:
                found.setdefault(str(column), why)
        source = getattr(source, "source", None)
        source = source if isinstance(source, Stream) else None
    return found


def _update(column: ColumnProfile, values: Any) -> None:
    """Add values of any type: a NumPy array, or a list of Python objects."""
    if isinstance(values, np.ndarray) and values.dtype.kind == "b":
        column.update_strings(values.astype(np.int64), ["False", "True"])
        return
    if isinstance(values, np.ndarray) and values.dtype.kind in "fiu":
        column.update_numbers(values)
        return
    codes: list[int] = []
    numbers: list[float] = []
    places: dict[str, int] = {}
    for value in values:
        if value is None or value != value:
            codes.append(-1)
        elif isinstance(value, (int, float, np.number)) and not isinstance(value, bool):
            try:
                numbers.append(float(value))
            except OverflowError:
                codes.append(places.setdefault(plain(value, 60), len(places)))
        else:
            codes.append(places.setdefault(str(value), len(places)))
    if numbers:
        column.update_numbers(numbers)
    if codes:
        column.update_strings(np.asarray(codes, dtype=np.int64), list(places))


def _columns_of_dicts(rows: list[Mapping[Any, Any]]) -> dict[Any, list[Any]]:
    columns: dict[Any, list[Any]] = {}
    for place, x in enumerate(rows):
        for name, value in x.items():
            column = columns.setdefault(name, [])
            column.extend([None] * (place - len(column)))
            column.append(value)
    for column in columns.values():
        column.extend([None] * (len(rows) - len(column)))
    return columns


def describe_target(column: ColumnProfile) -> str:
    """The base rates of classes, or the spread of numbers."""
    if column.strings or (column.whole and column.different <= 10 and not column.more_values):
        counts = column.counts or column.number_counts
        total = max(counts.total(), 1)
        shown = [f"{_value(value)} {_percent(count / total)}" for value, count in counts.most_common(5)]
        return ", ".join(shown) + (f", … ({column.different:,} classes)" if column.different > 5 else "")
    return f"mean {column.mean:.4g} ± {column.deviation:.4g}, from {column.low:.4g} to {column.high:.4g}"


def _value(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else plain(value, 30)


def _percent(fraction: float) -> str:
    if 0 < fraction < 0.001:
        return "< 0.1 %"
    if 0.995 <= fraction < 1:
        return f"{100 * fraction:.1f} %" if fraction < 0.9995 else "> 99.9 %"
    return f"{100 * fraction:.1f} %" if fraction < 0.1 else f"{100 * fraction:.0f} %"


def _aligned(row: list[str], widths: list[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def cells_of(column: ColumnProfile) -> list[str]:
    """The cells of a column in a table: missing values, histogram, values."""
    gaps = _percent(column.missing_fraction) if column.missing else ""
    return [gaps, histogram_of(column), _values_of(column)]


def histogram_of(column: ColumnProfile) -> str:
    """The histogram of a column of numbers as a line of bars; empty for other columns."""
    most = max(column.histogram)
    if not column.numbers or not most:
        return ""
    # A bin with a value is never invisible.
    return "".join(_BARS[-(-8 * count // most)] for count in column.histogram)


def _values_of(column: ColumnProfile) -> str:
    if column.kind in ("constant", "empty", "id-like", "text"):
        return column.reason
    if column.strings:
        shown = [
            f"{plain(value, 16)} {_percent(count / column.strings)}"
            for value, count in column.counts.most_common(3)
        ]
        return ", ".join(shown) + (f", … ({column.different:,} different)" if column.different > 3 else "")
    if column.kind == "time" and (dates := _dates(column)):
        return dates
    return f"{column.low:.4g} to {column.high:.4g}, mean {column.mean:.4g}"


def _dates(column: ColumnProfile) -> str:
    """The first and the last time as dates; empty if the numbers are not dates."""
    try:
        first, last = (datetime.fromtimestamp(value, UTC) for value in (column.low, column.high))
    except (ValueError, OverflowError, OSError):
        return ""
    layout = "%Y-%m-%d %H:%M"
    return f"{first:{layout}} to {last:{layout}}"


def _facts(column: ColumnProfile) -> dict[str, Any]:
    return {
        "column": column.name,
        "kind": column.kind,
        "reason": column.reason,
        "missing": column.missing_fraction,
        "different": column.different,
        "low": column.low,
        "high": column.high,
        "mean": column.mean,
        "deviation": column.deviation,
    }
