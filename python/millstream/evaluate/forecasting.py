"""Rolling-origin evaluation of forecasters (Tashman, 2000)."""

from __future__ import annotations

import copy
import math
import operator
from collections import deque
from collections.abc import Iterator, Sized
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from millstream._echo import quoted
from millstream.errors import InvalidType, InvalidValue
from millstream.evaluate.forecasts import ForecastResult, ForecastResults
from millstream.evaluate.inputs import chosen_metrics, named_models
from millstream.roles import FORECASTER, role_of
from millstream.time_series.series import Reading, readings

__all__ = ["ForecastStep", "forecast", "iter_forecast"]

_WHO = "evaluate.forecast"


@dataclass(frozen=True)
class ForecastStep:
    """The forecasts from one origin, and the true values."""

    #: Number of time steps before the forecast.
    origin: int
    #: The time of the last value before the forecast, if the series has times.
    time: Any
    forecast: list[float]
    #: NaN where the value is missing.
    truth: list[float]
    #: The errors up to this origin.
    result: ForecastResult


def forecast(
    model: Any,
    series: Any,
    horizon: int = 12,
    *,
    X: Any = None,
    metrics: Any = FORECASTER.metrics,
    grace_period: int | None = None,
    step: int = 1,
    missing: str = "raise",
) -> Any:
    """Rolling-origin evaluation: forecast a series from many origins and measure the error at each step ahead.

    At each origin the model forecasts the next `horizon` values and then learns one more (Tashman, 2000). Only
    origins with a full horizon ahead are scored, so that all steps of the horizon are compared at the same
    origins. The model learns in place, to the end of the series. Memory grows with the horizon and not with the
    series.

    River's `evaluate.evaluate` compares the forecast h steps ahead with the value h + 1 steps ahead, so its
    numbers differ.

    Parameters
    ----------
    model
        A forecaster: any object with `learn_one(y, x)` and `forecast(horizon, xs)`, such as those of `time_series`
        and of River. Or several, as a dict by name or a list, which are evaluated in one pass.
    series
        Values at regular times: a list, an iterator, a NumPy array, or a pandas, polars or Arrow column. Or pairs
        `(x, y)` with dicts x of features, such as River's data sets and `stream` readers.
    horizon
        Number of time steps to forecast.
    X
        Features of each time step: a NumPy matrix, a frame or an iterable of dicts. The model receives those of
        the steps ahead with each forecast, so they must be known in advance (calendar, prices).
    metrics
        Names ("MAE"), classes or instances of regression metrics, one or several. Each step of the horizon gets
        its own copy.
    grace_period
        Number of initial values that are learned before the first forecast; by default `horizon`.
    step
        Number of values between origins.
    missing
        What to do with a missing value (None or NaN): "raise" an error, or "skip" it. A skipped value is not
        scored, and the model advances one time step with `skip_one`, or learns its own forecast if it has no such
        method.

    Returns
    -------
    ForecastResult or ForecastResults
        The errors by step of the horizon; for several models a mapping from name to result.

    Examples
    --------
    >>> from millstream import evaluate, time_series
    >>> class Last(time_series.Forecaster):
    ...     def __init__(self):
    ...         self.last = 0.0
    ...     def learn_one(self, y, x=None):
    ...         self.last = y
    ...     def forecast(self, horizon, xs=None):
    ...         return [self.last] * horizon
    >>> evaluate.forecast(Last(), [0, 1, 2, 3, 4, 5, 6, 7], horizon=3)
    Last: 3 origins, 3 steps ahead
          count     MAE
    +1        3  1.0000
    +2        3  2.0000
    +3        3  3.0000
    mean         2.0000

    References
    ----------
    Tashman, L. J. (2000). Out-of-sample tests of forecasting accuracy: an analysis and review. International
    Journal of Forecasting, 16(4), 437-450.
    """
    models, several = named_models(model)
    run = _Run(models, horizon, metrics, grace_period, step, missing)
    for _ in run.origins(readings(series, X, _WHO)):
        pass
    return ForecastResults(run.results) if several else next(iter(run.results.values()))


def iter_forecast(
    model: Any,
    series: Any,
    horizon: int = 12,
    *,
    X: Any = None,
    metrics: Any = FORECASTER.metrics,
    grace_period: int | None = None,
    step: int = 1,
    missing: str = "raise",
) -> Iterator[ForecastStep]:
    """Iterate over the origins of a rolling-origin evaluation of one model, with forecasts and true values.

    Examples
    --------
    >>> from millstream import evaluate, time_series
    >>> class Last(time_series.Forecaster):
    ...     def __init__(self):
    ...         self.last = 0.0
    ...     def learn_one(self, y, x=None):
    ...         self.last = y
    ...     def forecast(self, horizon, xs=None):
    ...         return [self.last] * horizon
    >>> for at in evaluate.iter_forecast(Last(), [0, 1, 2, 3, 4], horizon=2):
    ...     print(at.origin, at.forecast, at.truth)
    2 [1.0, 1.0] [2.0, 3.0]
    3 [2.0, 2.0] [3.0, 4.0]
    """
    models, several = named_models(model)
    if several:
        raise InvalidType("evaluate.iter_forecast: model must be one forecaster, got several")
    run = _Run(models, horizon, metrics, grace_period, step, missing)
    return _each(run, readings(series, X, "evaluate.iter_forecast"))


def _each(run: _Run, series: Iterator[Reading]) -> Iterator[ForecastStep]:
    (result,) = run.results.values()
    for origin, time, truth in run.origins(series):
        yield ForecastStep(origin, time, run.forecasts[result.name], truth, result)


class _Run:
    """One pass of some models over a series."""

    def __init__(
        self, models: dict[str, Any], horizon: Any, metrics: Any, grace_period: Any, step: Any, missing: str
    ) -> None:
        for name, model in models.items():
            if isinstance(model, type) or role_of(model) is not FORECASTER:
                raise InvalidType(
                    f"{_WHO}: a forecaster has learn_one(y, x) and forecast(horizon, xs), got {name}"
                )
        if missing not in ("raise", "skip"):
            raise InvalidValue(f"{_WHO}: missing must be one of raise, skip, got {quoted(missing)}")
        self.missing = missing
        self.horizon = _whole("horizon", horizon, 1)
        if self.horizon > _LONGEST_HORIZON:
            # Every step has metrics of its own.
            most = f"{_LONGEST_HORIZON:,}"
            raise InvalidValue(f"{_WHO}: horizon must be at most {most} in an evaluation, got {horizon:,}")
        self.grace_period = self.horizon if grace_period is None else _whole("grace_period", grace_period, 0)
        self.step = _whole("step", step, 1)
        self.results = {
            name: ForecastResult(
                model=model,
                name=name,
                horizon=self.horizon,
                grace_period=self.grace_period,
                step=self.step,
                metrics=_by_step(metrics, self.horizon),
            )
            for name, model in models.items()
        }
        #: The forecasts of each model from the last origin.
        self.forecasts: dict[str, list[float]] = {}

    def origins(self, series: Iterator[Reading]) -> Iterator[tuple[int, Any, list[float]]]:
        """Learn the series; stop at each origin when its forecasts are scored."""
        ahead: deque[Reading] = deque()
        learned, time = 0, None
        for reading in series:
            if reading.y != reading.y and self.missing == "raise":
                raise InvalidValue(
                    f"{_WHO}: value {learned + len(ahead)} of the series is missing; missing='skip' passes it"
                )
            ahead.append(reading)
            if len(ahead) < self.horizon:
                continue
            if learned >= self.grace_period and (learned - self.grace_period) % self.step == 0:
                truth = [reading.y for reading in ahead]
                xs = None if ahead[0].x is None else [reading.x for reading in ahead]
                for result in self.results.values():
                    self._score(result, learned, truth, xs)
                yield learned, time, truth
            time = ahead[0].time
            self._learn(ahead.popleft(), learned)
            learned += 1
        for reading in ahead:
            self._learn(reading, learned)
            learned += 1

    def _score(self, result: ForecastResult, origin: int, truth: list[float], xs: list[Any] | None) -> None:
        start = perf_counter()
        try:
            found = result.model.forecast(self.horizon) if xs is None else result.model.forecast(self.horizon, xs)
        except Exception as error:
            error.add_note(f"{_WHO}: {result.name} failed to forecast after {origin} values")
            raise
        result.seconds += perf_counter() - start
        predicted = self.forecasts[result.name] = _checked(found, self.horizon, result.name)
        for ahead, (true, guess) in enumerate(zip(truth, predicted, strict=True)):
            if true == true:
                result.counts[ahead] += 1
                for metrics in result.metrics.values():
                    metrics[ahead].update(true, guess)
        result.origins += 1

    def _learn(self, reading: Reading, index: int) -> None:
        for result in self.results.values():
            start = perf_counter()
            try:
                if reading.y == reading.y:
                    _teach(result.model, reading.y, reading.x)
                    result.learned += 1
                else:
                    # The series starts with its first value, so there is no time step to skip before it.
                    if result.learned:
                        _pass(result.model, reading.x)
                    result.missing += 1
            except Exception as error:
                error.add_note(f"{_WHO}: {result.name} failed to learn value {index} of the series")
                raise
            result.seconds += perf_counter() - start


def _teach(model: Any, y: float, x: Any) -> None:
    if x is None:
        model.learn_one(y)
    else:
        model.learn_one(y, x)


def _pass(model: Any, x: Any) -> None:
    """Advance a model by a time step without a value."""
    if hasattr(model, "skip_one"):
        model.skip_one() if x is None else model.skip_one(x)
        return
    (y,) = model.forecast(1) if x is None else model.forecast(1, [x])
    _teach(model, y, x)


#: The largest horizon of an evaluation.
_LONGEST_HORIZON = 10_000


def _whole(name: str, value: Any, low: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise InvalidType(f"{_WHO}: {name} must be an integer >= {low}, got {quoted(value)}") from None
    if number < low or isinstance(value, bool):
        raise InvalidValue(f"{_WHO}: {name} must be an integer >= {low}, got {quoted(value)}")
    return number


def _by_step(given: Any, horizon: int) -> dict[str, list[Any]]:
    """Metrics by name, with a copy for each step of the horizon."""
    if isinstance(given, Sized) and not len(given):
        raise InvalidValue(f"{_WHO}: pass at least one metric")
    chosen = chosen_metrics(given, FORECASTER)
    for name, metric in chosen.items():
        if callable(takes_numbers := getattr(metric, "_takes_numbers", None)) and not takes_numbers():
            raise InvalidType(f"{_WHO}: a metric must be a regression metric, got {name}")
    return {name: [_unused(metric) for _ in range(horizon)] for name, metric in chosen.items()}


def _unused(metric: Any) -> Any:
    return metric.clone() if callable(getattr(metric, "clone", None)) else copy.deepcopy(metric)


def _checked(found: Any, horizon: int, name: str) -> list[float]:
    try:
        numbers = [float(number) for number in found]
    except (TypeError, ValueError):
        raise InvalidType(f"{name}: forecast must return a list of numbers, got {quoted(found)}") from None
    if len(numbers) != horizon:
        raise InvalidValue(f"{name}: forecast must return {horizon} numbers, got {len(numbers)}")
    if not all(map(math.isfinite, numbers)):
        raise InvalidValue(f"{name}: forecast must return finite numbers, got {quoted(numbers)}")
    return numbers
