"""Statistics of the order of numbers."""

from __future__ import annotations

from typing import Any

from millstream._part import forwarded
from millstream.stats.base import Statistic, Wrapper, many

__all__ = ["AutoCorr", "Link", "Shift"]


class Shift(Statistic):
    """The value some steps before the newest one. Mostly used in front of another statistic, to leave out the
    newest.

    Parameters
    ----------
    amount
        Number of steps before the newest value.
    fill_value
        Value before there are enough; None if it is undefined then.

    Examples
    --------
    >>> from millstream import stats
    >>> statistic = stats.Shift(1) | stats.Mean()
    >>> for i in range(4):
    ...     statistic.update(i)
    ...     print(statistic.get())
    nan
    0.0
    0.5
    1.0
    """

    name = "stats.Shift"

    @forwarded
    def __init__(self, amount: int = 1, fill_value: float | None = None) -> None: ...


class AutoCorr(Statistic):
    """Autocorrelation: the Pearson correlation of each number with the one `lag` steps before.

    Parameters
    ----------
    lag
        Number of steps between the two numbers of a pair.

    Examples
    --------
    >>> from millstream import stats
    >>> statistic = stats.AutoCorr(lag=1)
    >>> statistic.update_many([0.25, 0.5, 0.2, -0.05])
    >>> statistic
    AutoCorr: 0.103553
    """

    name = "stats.AutoCorr"

    @forwarded
    def __init__(self, lag: int = 1) -> None: ...


class Link(Wrapper):
    """A statistic of the values of another one, also written `left | right`.

    Each number updates `left`; if the value of `left` is defined then, it updates `right`.

    Parameters
    ----------
    left
        The statistic of the numbers, which restarts.
    right
        The statistic of the values of `left`, which restarts.

    Examples
    --------
    >>> from millstream import stats
    >>> statistic = stats.Max() | stats.Mean()
    >>> statistic.update_many([1.0, 3.0, 2.0])
    >>> statistic
    Link(Max | Mean): 2.333333
    """

    name = "stats.Link"

    @forwarded
    def __init__(self, left: Statistic | str, right: Statistic | str) -> None: ...

    def update(self, x: Any, *more: Any, w: float = 1.0, t: Any = None) -> None:
        """Add a number, or a pair if `left` is of two variables; with the time `t` if a part needs it."""
        self._add(x, more, w, t)

    def update_many(self, x: Any, *more: Any, w: Any = None, t: Any = None) -> None:
        """Add many, with the same result as `update` one by one; an error changes nothing."""
        many(self, x, more, w, t)

    def __repr__(self) -> str:
        parameters = self.describe()["parameters"]
        names = [parameters[side]["name"].rpartition(".")[2] for side in ("left", "right")]
        return super().__repr__().replace("Link:", f"Link({' | '.join(names)}):", 1)
