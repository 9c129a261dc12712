"""Statistics over a window of the newest numbers, or of the last span of time."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np

from millstream.stats.base import Statistic, Wrapper, many

__all__ = ["Rolling", "TimeRolling"]


class _Windowed(Wrapper):
    def _made(self, statistic: Any, keywords: dict[str, Any]) -> Any:
        if isinstance(statistic, type):
            return statistic(**keywords)
        if keywords:
            raise TypeError(f"{self.name}: {next(iter(keywords))} is a parameter of the statistic: give its class")
        return statistic

    def __repr__(self) -> str:
        wrapped = self.describe()["parameters"]["statistic"]["name"].rpartition(".")[2]
        name = type(self).__name__
        return super().__repr__().replace(f"{name}:", f"{name}({wrapped}):", 1)


class Rolling(_Windowed):
    """A statistic over the last `window_size` numbers.

    The value is that of the numbers in the window, to rounding: means, moments, sums and extremes use two stacks
    of summaries and never subtract a number that leaves, so that a large one leaves no error behind. They cost
    about two updates per number. Quantiles, `IQR` and `MAD` are exact, from a sorted array. Other statistics are
    computed from the window when `get` is called.

    Parameters
    ----------
    statistic
        The statistic, which restarts; or its class, with its parameters as further keywords.
    window_size
        Number of values in the window.

    Notes
    -----
    River's `utils.Rolling` reverts the oldest number. After 1e8 has left a window of 3, its variance of 1, 2 and
    3 may be 0.75; here it is 1.

    Examples
    --------
    >>> from millstream import stats
    >>> statistic = stats.Rolling(stats.Max(), window_size=2)
    >>> statistic.update_many([5.0, 1.0, 3.0])
    >>> statistic.get()
    3.0
    >>> statistic = stats.Rolling(stats.Var, window_size=3, ddof=0)
    >>> statistic.update_many([1e8, 1.0, 2.0, 3.0])
    >>> statistic
    Rolling(Var): 0.666667

    References
    ----------
    Tangwongsan, K., Hirzel, M. and Schneider, S. (2021). In-order sliding-window aggregation in worst-case
    constant time. The VLDB Journal 30.
    """

    name = "stats.Rolling"

    def __init__(self, statistic: Statistic | str, window_size: int = 1000, **keywords: Any) -> None:
        super().__init__(statistic=self._made(statistic, keywords), window_size=window_size)

    def update(self, x: Any, *more: Any, w: float = 1.0) -> None:
        """Add a number, or a pair if the statistic is of two variables."""
        if more or self._more:
            self._add(x, more, w, None)
        else:
            self._update(x, None, w)

    def update_many(self, x: Any, *more: Any, w: Any = None) -> None:
        """Add many, with the same result as `update` one by one; an error changes nothing."""
        many(self, x, more, w, None)


class TimeRolling(_Windowed):
    """A statistic over the numbers of the last span of time.

    The window ends at the newest time so far; a number leaves it when its age reaches `period`. Times are
    numbers, dates or NumPy dates; dates count in seconds. Windows work as in `Rolling`, without subtraction.

    A number may be late: it is inserted at its time, unless it is too old for the window already. With
    `lateness`, numbers that are later than that are refused or skipped. A late number costs an update of the part
    of the window behind it.

    Parameters
    ----------
    statistic
        The statistic, which restarts; or its class, with its parameters as further keywords.
    period
        Length of the window: a number, or a timedelta.
    lateness
        How long before the newest time the time of a number may be: a number, or a timedelta; None for any.
    late
        A number that is later than `lateness`: "refuse" it with an error, or "skip" it.
    max_size
        Largest number of values in the window; more are refused.

    Examples
    --------
    >>> from datetime import datetime, timedelta
    >>> from millstream import stats
    >>> statistic = stats.TimeRolling(stats.Mean(), period=timedelta(days=3))
    >>> for day, x in enumerate([1.0, 5.0, 9.0, 13.0], start=1):
    ...     statistic.update(x, t=datetime(2026, 1, day))
    >>> statistic
    TimeRolling(Mean): 9
    """

    name = "stats.TimeRolling"

    def __init__(
        self,
        statistic: Statistic | str,
        period: float | datetime.timedelta,
        lateness: float | datetime.timedelta | None = None,
        late: str = "refuse",
        max_size: int = 1 << 20,
        **keywords: Any,
    ) -> None:
        super().__init__(
            statistic=self._made(statistic, keywords),
            period=_seconds(period),
            lateness=_seconds(lateness),
            late=late,
            max_size=max_size,
        )

    def update(self, x: Any, *more: Any, t: Any, w: float = 1.0) -> None:  # type: ignore[override]
        """Add a number, or a pair if the statistic is of two variables, at the time `t`."""
        self._add(x, more, w, t)

    def update_many(self, x: Any, *more: Any, t: Any, w: Any = None) -> None:  # type: ignore[override]
        """Add many, with the same result as `update` one by one; an error changes nothing."""
        many(self, x, more, w, t)


def _seconds(span: Any) -> Any:
    """A span of time as a number."""
    if isinstance(span, np.timedelta64):
        return float(span / np.timedelta64(1, "us")) / 1e6
    return span / datetime.timedelta(seconds=1) if isinstance(span, datetime.timedelta) else span
