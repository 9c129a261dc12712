"""Forecasters implemented in Rust."""

from __future__ import annotations

import json
from typing import Any, ClassVar

from millstream import _core
from millstream._measures import Measure
from millstream._python_loop import check_on_error
from millstream.errors import MillstreamError
from millstream.roles import FORECASTER, Role
from millstream.time_series.base import Forecaster
from millstream.time_series.series import column

__all__ = ["NativeForecaster"]


class NativeForecaster(_core.Forecaster, Measure, Forecaster):
    """A forecaster implemented in Rust. `forecast` returns a NumPy array."""

    role: ClassVar[Role] = FORECASTER

    learn_one = _core.Forecaster._learn_one
    skip_one = _core.Forecaster._skip_one
    forecast = _core.Forecaster._forecast  # type: ignore[assignment]

    def learn_many(self, ys: Any, X: Any = None, *, on_error: str = "raise") -> int:
        check_on_error(on_error)
        try:
            values = column(ys, X, str(self.name))
        except MillstreamError as error:
            raise error if str(error).startswith(str(self.name)) else error.by(str(self.name)) from None
        return self._learn_many(values, on_error)

    learn_many.__doc__ = Forecaster.learn_many.__doc__

    def inspect(self) -> Any:
        """The state as plain data: level, trend, seasons."""
        return json.loads(self._inspect())
