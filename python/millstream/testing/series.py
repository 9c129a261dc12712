"""The forecaster under test. A value of its series is an example without features."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from millstream._echo import quoted, typed
from millstream.errors import InvalidType, InvalidValue
from millstream.testing.answers import is_number
from millstream.testing.examples import FEWEST, MOST, Example
from millstream.testing.law import broken
from millstream.testing.subject import Subject

__all__ = ["HORIZON", "SeriesSubject"]

#: Number of time steps in the forecasts that are compared.
HORIZON = 12


class SeriesSubject(Subject):
    """A forecaster under test."""

    def _prepare(self, first: Any, own_examples: Iterable[Any] | None) -> None:
        self.examples: list[Example] = [
            ({}, y) for y in (_usual() if own_examples is None else _given(own_examples))
        ]
        self.takes_target, self.takes_weights = True, False
        self.asks = ("forecast",)

    @property
    def values(self) -> list[float]:
        """The series."""
        return [y for _, y in self.examples]

    def learn(self, model: Any, x: Any, y: Any, w: Any = None) -> Any:
        """Call `learn_one` with the value."""
        return self.call(model, "learn_one", y)

    def answer(self, model: Any, verb: str, x: Any) -> Any:
        """The forecast."""
        forecast = self.call(model, "forecast", HORIZON)
        return forecast.tolist() if isinstance(forecast, np.ndarray) else forecast

    def check_answers(self, model: Any, x: Mapping[Any, Any]) -> None:
        """Check that the forecast is well formed."""
        self.check_forecast(self.answer(model, "forecast", {}), HORIZON)

    def check_forecast(self, forecast: Any, horizon: int) -> None:
        """Check that a forecast has a finite number for each time step."""
        if not isinstance(forecast, (list, tuple, np.ndarray)):
            broken("a list or an array from forecast", typed(forecast))
        if len(forecast) != horizon:
            broken(f"{horizon} numbers from forecast", f"{len(forecast)}")
        for value in forecast:
            if not is_number(value) or not math.isfinite(value):
                broken("finite numbers from forecast", typed(value))


def _usual() -> list[float]:
    """A positive series with a trend, seasons of 4 time steps and small changes that do not repeat."""
    return [20.0 + 0.5 * step + (3.0, -1.0, -4.0, 2.0)[step % 4] + math.sin(step * step) for step in range(MOST)]


def _given(examples: Iterable[Any]) -> list[float]:
    """Check values given by the user."""
    found: list[float] = []
    for value in examples:
        if not is_number(value) or not math.isfinite(value):
            raise InvalidType(f"testing: examples of a forecaster must be finite numbers, got {quoted(value)}")
        found.append(value)
        if len(found) == MOST:
            break
    if len(found) < FEWEST:
        raise InvalidValue(f"testing: there must be at least {FEWEST} examples, got {len(found)}")
    return found
