"""The base classes of statistics."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from millstream import _core
from millstream._measures import Measure, numbers
from millstream.errors import InvalidType

__all__ = ["Pairs", "Statistic", "Wrapper", "many"]


class Statistic(_core.Statistic, Measure):
    """A running statistic of numbers."""

    role = "statistic"

    def update(self, x: float, w: float = 1.0) -> None:
        """Add a number."""
        self._update(x, None, w)

    def update_many(self, x: Any, w: Any = None) -> None:
        """Add many numbers, with the same result as `update` one by one; an error changes nothing."""
        self._add_many(x, None, w)

    def revert(self, x: float, w: float = 1.0) -> None:
        """Remove a number that was added before, where that is possible; `Rolling` needs no such removal."""
        self._revert(x, None, w)

    def __iadd__(self, other: Any) -> Any:
        self.merge(other)
        return self

    def __add__(self, other: Any) -> Any:
        both = self.copy()
        both.merge(other)
        return both

    def __isub__(self, other: Any) -> Any:
        self._unmerge(self._same(other))
        return self

    def __sub__(self, other: Any) -> Any:
        rest = self.copy()
        rest._unmerge(self._same(other))
        return rest

    def __or__(self, other: Any) -> Any:
        """A statistic of the values of this one: `stats.Shift(1) | stats.Mean()`."""
        if not isinstance(other, Statistic):
            return NotImplemented
        from millstream.stats.series import Link

        return Link(self, other)

    def __gt__(self, other: Any) -> bool:
        return bool(self.get() > other.get()) if isinstance(other, Statistic) else NotImplemented

    def __repr__(self) -> str:
        value = self.get()
        shown = format(value, ",.6f").rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
        return f"{type(self).__name__}: {shown}"

    def _same(self, other: Any) -> Any:
        if type(other) is not type(self):
            raise InvalidType(f"{self.name}: only the same statistic can be merged, got {type(other).__name__}")
        return other

    def _add_many(self, x: Any, y: Any, w: Any, t: Any = None) -> None:
        """`_update_many`; a column of strings is added value by value if the statistic is nominal."""
        w = None if w is None else numbers("w", w)
        if self._is_nominal() and not (_numeric(x) and (y is None or _numeric(y))):
            x, y = _values(x), None if y is None else _values(y)
            self._observe_many(x, y, None if w is None else w.tolist(), None if t is None else t.tolist())
            return
        self._update_many(numbers("x", x), None if y is None else numbers("y", y), w, t)


def _numeric(column: Any) -> bool:
    return isinstance(column, np.ndarray) and column.dtype.kind in "fiu"


def _values(column: Any) -> list[Any]:
    from millstream.sampling.rows import values_of

    return values_of(column)


class Pairs(Statistic):
    """A running statistic of pairs of numbers."""

    def update(self, x: float, y: float, w: float = 1.0) -> None:  # type: ignore[override]
        """Add a pair of numbers."""
        if y is None:
            raise InvalidType(f"{self.name}: y must be a number, got None")
        self._update(x, y, w)

    def update_many(self, x: Any, y: Any, w: Any = None) -> None:  # type: ignore[override]
        """Add many pairs, with the same result as `update` one by one; an error changes nothing."""
        self._add_many(x, y, w)

    def revert(self, x: float, y: float, w: float = 1.0) -> None:  # type: ignore[override]
        """Remove a pair that was added before, where that is possible."""
        self._revert(x, y, w)


class Wrapper(Statistic):
    """A statistic of another one, which is of one or of two variables."""

    @cached_property
    def _more(self) -> int:
        """The number of arguments after x."""
        return int(self._takes_pairs())

    def _add(self, x: Any, more: tuple[Any, ...], w: float, t: Any) -> None:
        if len(more) != self._more or None in more:
            _check_arity(self, more)
        self._update(x, more[0] if more else None, w, t)

    def revert(self, x: Any, *more: Any, w: float = 1.0) -> None:
        """Refused: a window forgets by itself, and the values of a link cannot be computed backwards."""
        _check_arity(self, more)
        self._revert(x, more[0] if more else None, w)


def many(statistic: Statistic, x: Any, more: tuple[Any, ...], w: Any, t: Any) -> None:
    """Update a wrapper with many."""
    _check_arity(statistic, more)
    if t is not None:
        from millstream.sampling.rows import time_column

        if not statistic._takes_time():
            raise InvalidType(
                f"{statistic.name}: t is for statistics over a span of time, such as stats.TimeRolling"
            )
        t = time_column(t)
    statistic._add_many(x, more[0] if more else None, w, t)


def _check_arity(statistic: Statistic, more: tuple[Any, ...]) -> None:
    if len(more) != statistic._takes_pairs() or (more and more[0] is None):
        wanted = "x and y" if statistic._takes_pairs() else "x alone"
        raise InvalidType(f"{statistic.name}: its statistic takes {wanted}, got {1 + len(more)} arguments")
