"""The verbs of a forecaster, and the base class of those written in Python."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

from millstream._python_loop import check_on_error
from millstream.base import Part
from millstream.errors import InvalidValue, MillstreamError
from millstream.roles import FORECASTER, Role
from millstream.time_series.series import number, steps

__all__ = ["Forecaster"]


class Forecaster(Part):
    """A model of a series. A subclass defines `learn_one` and `forecast`.

    `forecast` changes nothing and returns one finite number for each step of the horizon, even before it has
    learned anything. `learn_one` accepts only finite numbers; a time step whose value is missing is passed with
    `skip_one`, because only the caller knows whether time has passed.

    Examples
    --------
    >>> from millstream import time_series
    >>> class Last(time_series.Forecaster):
    ...     def __init__(self):
    ...         self.last = 0.0
    ...     def learn_one(self, y, x=None):
    ...         self.last = y
    ...     def forecast(self, horizon, xs=None):
    ...         return [self.last] * horizon
    >>> model = Last()
    >>> model.learn_many([3.0, 5.0])
    0
    >>> model.forecast(horizon=2)
    [5.0, 5.0]
    """

    role: ClassVar[Role] = FORECASTER

    def learn_one(self, y: float, x: Mapping[Any, Any] | None = None) -> None:
        """Learn the value of the next time step, with the features of that step if there are any."""
        raise NotImplementedError(f"{type(self).__name__} does not define learn_one")

    def forecast(self, horizon: int, xs: Sequence[Mapping[Any, Any]] | None = None) -> list[float]:
        """The values of the next `horizon` time steps; `xs` has the features of each of them."""
        raise NotImplementedError(f"{type(self).__name__} does not define forecast")

    def skip_one(self, x: Mapping[Any, Any] | None = None) -> None:
        """Pass a time step whose value is missing: by default, learn its forecast instead."""
        self.learn_one(self.forecast(1, None if x is None else [x])[0], x)

    def learn_many(self, ys: Any, X: Any = None, *, on_error: str = "raise") -> int:
        """Learn values one after the other, exactly as `learn_one` would.

        `ys` is a list, a NumPy array or a pandas, polars or Arrow column; `X` has one row of features for each
        value, as a NumPy matrix, a frame or an iterable of dicts. `on_error` defines what happens at a value that
        cannot be learned: with "raise" the call fails and the model is as it was before; with "stop" it fails and
        keeps the values before; with "skip" the time step is passed as by `skip_one`. Returns the number of
        skipped values.
        """
        check_on_error(on_error)
        before = copy.deepcopy(self.__dict__) if on_error == "raise" else None
        skipped = 0
        try:
            for row, (y, x, _) in enumerate(steps(ys, X, type(self).__name__)):
                try:
                    self._learn_value(y, x, row)
                except Exception as error:
                    if on_error == "skip" and isinstance(error, (ValueError, TypeError)):
                        self.skip_one(x)
                        skipped += 1
                        continue
                    if isinstance(error, MillstreamError):
                        error.at_row(row)
                    else:
                        error.add_note(f"at row {row}")
                    raise
        except BaseException:
            if before is not None:
                self.__dict__.clear()
                self.__dict__.update(before)
            raise
        return skipped

    def _learn_value(self, y: Any, x: Any, row: int) -> None:
        name = type(self).__name__
        value = number(y, row, name)
        if value != value:
            raise InvalidValue(f"{name}: y must be a finite number, got a missing value (see skip_one)")
        self.learn_one(value, x)

    def copy(self) -> Self:
        """An independent copy with the same state."""
        return copy.deepcopy(self)

    @property
    def memory(self) -> int:
        """Memory of the model in bytes."""
        from millstream._display import memory_of

        return memory_of(self)
