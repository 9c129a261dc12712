"""One forecaster or one drift detector per key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from millstream import _frames
from millstream._measures import numbers
from millstream._python_loop import check_on_error
from millstream.base import Features
from millstream.compose.key_columns import first_rows, key_list, key_times, key_values, split_dict, split_rows
from millstream.compose.keyed_parts import KeyedParts, plain_key
from millstream.errors import InvalidType, MillstreamError
from millstream.roles import FORECASTER, Role
from millstream.time_series.series import column

__all__ = ["KeyedDriftDetector", "KeyedForecaster"]


class _KeyedValues(KeyedParts):
    """Keyed components that receive values."""

    def __reduce__(self) -> tuple[Any, ...]:
        return object.__new__, (type(self),), self.__getstate__()

    def _all_or_first(self, run: Callable[[int | None], Any], on_error: str) -> Any:
        """Call `run` for all rows; after an error with "stop", for those before the faulty one."""
        try:
            return run(None)
        except MillstreamError as error:
            if on_error == "stop" and error.row:
                run(error.row)
            raise


class KeyedForecaster(_KeyedValues):
    """One forecaster for each key: the series of a shop, of a product. Created by `compose.Keyed`.

    Each row is the next time step of the series of its key. The result is that of a dict of forecasters.
    `mean_error` and `totals` have the mean absolute error of the forecasts one step ahead.

    Examples
    --------
    >>> from millstream import compose, time_series
    >>> sales = compose.Keyed(time_series.SeasonalNaive(period=2), key="shop")
    >>> sales.learn_many([10, 500, 12, 510, 11, 505], keys=["a", "b", "a", "b", "a", "b"])
    0
    >>> sales.forecast(3, key="a").tolist()
    [12.0, 11.0, 12.0]
    >>> sales.forecast_many(2, keys=["b", "a"]).tolist()
    [[510.0, 505.0], [12.0, 11.0]]
    """

    role: ClassVar[Role] = FORECASTER  # type: ignore[misc]

    def learn_one(self, y: Any, x: Features) -> None:
        """Learn the next value of the series of a key; `x` has the key, and the time if `time` is given."""
        key, time, _ = split_dict(self.name, x, self.key, self.time)
        self._models.learn_one(key, y, time, False)

    def skip_one(self, x: Features) -> None:
        """Pass a time step of a key whose value is missing."""
        key, time, _ = split_dict(self.name, x, self.key, self.time)
        self._models.learn_one(key, None, time, True)

    def learn_many(
        self, ys: Any, X: Any = None, *, keys: Any = None, times: Any = None, on_error: str = "raise"
    ) -> int:
        """Learn values, each with the forecaster of its key, exactly as `learn_one` would.

        The keys are a column of `X`, or `keys`. With `on_error="raise"` a value that cannot be learned leaves all
        forecasters as they were; with "stop" the values before it are learned; with "skip" its time step is
        passed as by `skip_one`. Returns the number of skipped values.
        """
        check_on_error(on_error)
        try:
            values = column(ys, None, self.name)
        except MillstreamError as error:
            raise error if str(error).startswith(self.name) else error.by(self.name) from None
        own, seconds = self._columns(X, keys, times)

        def run(rows: int | None) -> Any:
            parts = [part if rows is None else first_rows(part, rows) for part in (own, values, seconds)]
            return self._models.learn_many(*parts, on_error == "skip")

        return int(self._all_or_first(run, on_error))

    def _columns(self, X: Any, keys: Any, times: Any) -> tuple[Any, Any]:
        """The keys and times of rows."""
        if X is None:
            if keys is None:
                raise InvalidType(f"{self.name}: values need X with a column {self.key!r}, or keys=…")
            return key_values(keys), key_times(times)
        if _frames._library(X) not in ("pandas", "polars", "pyarrow", "scipy") and not isinstance(X, np.ndarray):
            split = [split_dict(self.name, x, self.key, self.time) for x in X]
            return key_values([key for key, _, _ in split]), np.array([time for _, time, _ in split])
        found = split_rows(self.name, X, self.key, keys, self.time, times)
        return found.keys, found.times

    def forecast(self, horizon: int, key: Any) -> npt.NDArray[np.float64]:
        """The next `horizon` values of the series of a key; those of the template for an unknown key."""
        return self._models.forecast(plain_key(key), horizon)  # type: ignore[no-any-return]

    def forecast_many(self, horizon: int, keys: Any) -> npt.NDArray[np.float64]:
        """The next `horizon` values of several keys: a row for each."""
        rows = [self._models.forecast(key, horizon) for key in key_list(key_values(keys))]
        return np.array(rows, dtype=np.float64).reshape(len(rows), -1)


class KeyedDriftDetector(_KeyedValues):
    """One drift detector for each key: for the errors of each model, the readings of each sensor. Created by
    `compose.Keyed`.

    The result is that of a dict of detectors. `mean_error` in `totals` is the fraction of updates with drift, so
    `most_surprising` has the keys that change most often.

    Examples
    --------
    >>> import numpy as np
    >>> from millstream import compose, drift
    >>> detectors = compose.Keyed(drift.ADWIN(), key="sensor")
    >>> values = np.repeat([[0.0, 0.0], [1.0, 0.0]], 500, axis=0).ravel()  # "a" changes after 500 readings
    >>> values += np.tile([-0.1, 0.1], 1000)
    >>> sensors = ["a", "b"] * 1000
    >>> [int(row) for row in detectors.update_many(values, keys=sensors)]
    [1022]
    >>> detectors["b"].updates, detectors.most_surprising(1)[0][0]
    (1000, 'a')
    """

    role: ClassVar[str] = "drift_detector"  # type: ignore[assignment, misc]

    def update(self, x: float, key: Any, time: Any = None) -> bool:
        """Give a number to the detector of a key. Returns whether drift was detected."""
        found = self.update_many([x], keys=[key], times=None if time is None else [time])
        return bool(len(found))

    def update_many(
        self, x: Any, *, keys: Any, times: Any = None, on_error: str = "raise"
    ) -> npt.NDArray[np.int64]:
        """Give numbers to the detectors of their keys; returns the indices at which drift was detected.

        With `on_error="raise"` a number that is refused leaves all detectors as they were; with "stop" those
        before it are processed; with "skip" it is skipped.
        """
        check_on_error(on_error)
        try:
            values = numbers("x", x)
        except MillstreamError as error:
            raise error.by(self.name) from None
        own, seconds = key_values(keys), key_times(times)

        def run(rows: int | None) -> Any:
            parts = [part if rows is None else first_rows(part, rows) for part in (own, values, seconds)]
            return self._models.update_many(*parts, on_error == "skip")

        return np.array(self._all_or_first(run, on_error)[0], dtype=np.int64)
