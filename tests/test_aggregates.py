"""Aggregates by group, compared with River's."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import river.stats

import millstream
from millstream import compose, evaluate, feature_extraction, linear_model, preprocessing, stats
from millstream.errors import InvalidType, InvalidValue

ROWS = [
    {"country": "France", "place": "Taco Bell", "revenue": 42},
    {"country": "Sweden", "place": "Burger King", "revenue": 16},
    {"country": "France", "place": "Burger King", "revenue": 24},
    {"country": "Sweden", "place": "Taco Bell", "revenue": 58},
    {"country": "Sweden", "place": "Burger King", "revenue": 20},
    {"country": "France", "place": "Taco Bell", "revenue": 50},
    {"country": "France", "place": "Burger King", "revenue": 10},
    {"country": "Sweden", "place": "Taco Bell", "revenue": 80},
]


def test_the_examples_of_river() -> None:
    mean = feature_extraction.Agg(on="revenue", by="place", how=stats.Mean())
    largest = feature_extraction.Agg(on="revenue", by=["place", "country"], how=stats.Max())
    both = mean.clone() + largest.clone()
    outputs: list[dict[str, float]] = []
    for x in ROWS:
        for agg in (mean, largest, both):
            agg.learn_one(x)
        assert both.transform_one(x) == mean.transform_one(x) | largest.transform_one(x)
        outputs.append(both.transform_one(x))
    assert [round(x["revenue_mean_by_place"], 1) for x in outputs] == [
        42.0,
        16.0,
        20.0,
        50.0,
        20.0,
        50.0,
        17.5,
        57.5,
    ]
    assert [x["revenue_max_by_place_and_country"] for x in outputs] == [42, 16, 24, 58, 20, 50, 24, 80]
    assert mean.state == pytest.approx({"Taco Bell": 57.5, "Burger King": 17.5})
    assert largest.state == {
        ("Taco Bell", "France"): 50,
        ("Burger King", "Sweden"): 20,
        ("Burger King", "France"): 24,
        ("Taco Bell", "Sweden"): 80,
    }
    assert mean.feature_name == "revenue_mean_by_place"


def _random_rows(count: int, users: int) -> list[tuple[dict[str, Any], float]]:
    random = np.random.default_rng(0)
    return [
        (
            {"user": f"u{random.integers(users)}", "device": int(random.integers(3)), "x": float(random.normal())},
            float(random.normal()),
        )
        for _ in range(count)
    ]


@pytest.mark.parametrize("name", ["Mean", "Var", "Max", "Min", "Sum", "Count", "EWMean"])
@pytest.mark.parametrize("by", ["user", ["user", "device"], None])
def test_values_are_those_of_river(name: str, by: Any) -> None:
    fx = pytest.importorskip("river.feature_extraction")
    river_stats = pytest.importorskip("river.stats")
    ours = feature_extraction.Agg("x", by, getattr(stats, name)())
    theirs = fx.Agg("x", by, getattr(river_stats, name)())
    our_target = feature_extraction.TargetAgg(by, getattr(stats, name)())
    their_target = fx.TargetAgg(by, getattr(river_stats, name)())
    for place, (x, y) in enumerate(_random_rows(300, 20)):
        ours.learn_one(x)
        theirs.learn_one(x)
        our_target.learn_one(x, y)
        their_target.learn_one(x, y)
        if place % 10 == 0 and name != "Var":
            assert ours.transform_one(x) == pytest.approx(theirs.transform_one(x), abs=1e-10)
    for agg, peer in ((ours, theirs), (our_target, their_target)):
        assert agg.feature_name == peer._feature_name
        wanted = {key: stat.get() for key, stat in peer._groups.items()}
        got = {key if isinstance(key, tuple) else (key,): value for key, value in agg.state.items()}
        for key, value in wanted.items():
            # A variance of one number is undefined here, and 0 in River.
            assert got[key or ()] == pytest.approx(value, abs=1e-10) or np.isnan(got[key or ()])


def test_the_output_never_contains_the_target_of_its_row() -> None:
    rows = _random_rows(300, 20)
    model = feature_extraction.TargetAgg(by="user", how=stats.Mean()) | linear_model.LinearRegression()
    agg, learner = feature_extraction.TargetAgg(by="user", how=stats.Mean()), linear_model.LinearRegression()
    for x, y in rows:
        z = agg.transform_one(x)
        assert model.step_one(x, y) == learner.step_one(z, y)
        agg.learn_one(x, y)


@pytest.mark.parametrize("when_full", ["other", "evict"])
@pytest.mark.parametrize("statistic", [stats.Mean(), stats.Rolling(stats.Max(), 3), stats.Quantile(0.5)])
def test_batches_and_rollbacks_are_exact_beyond_the_bound(statistic: Any, when_full: str) -> None:
    rows = _random_rows(300, 100)
    frame, y = pd.DataFrame([x for x, _ in rows]), np.array([y for _, y in rows])

    def build() -> Any:
        agg = feature_extraction.Agg("x", ["user", "device"], statistic, max_keys=15, when_full=when_full)
        return agg | linear_model.LinearRegression()

    one, many = build(), build()
    for x, target in rows:
        one.learn_one(x, target)
    many.learn_many(frame[:200], y[:200])
    before = many.to_bytes()
    bad = y[200:].copy()
    bad[-1] = np.inf
    with pytest.raises(InvalidValue):
        many.learn_many(frame[200:], bad)
    assert many.to_bytes() == before
    many = millstream.from_bytes(before)
    many.learn_many(frame[200:], y[200:])
    assert many.to_bytes() == one.to_bytes()
    assert one[0].n_keys == 15


def test_memory_is_bounded_over_new_keys() -> None:
    for when_full in ("other", "evict"):
        agg = feature_extraction.Agg("x", "user", stats.Mean(), max_keys=50, when_full=when_full)
        # A feature that no component uses is not stored either.
        rows = [{"user": f"user {n}", "session": f"session {n}", "x": 1.0} for n in range(5000)]
        agg.learn_many(rows[:2500])
        before = agg.memory
        agg.learn_many(rows[2500:])
        assert agg.memory < before * 1.01
        assert len(agg.to_bytes()) < 50_000


def test_missing_groups_and_numbers_are_not_learned() -> None:
    agg = feature_extraction.Agg("x", "user", stats.Mean())
    agg.learn_one({"user": "a", "x": 1.0})
    agg.learn_one({"user": None, "x": 5.0})
    agg.learn_one({"user": "a", "x": None})
    agg.learn_one({"x": 5.0})
    assert agg.state == {"a": 1.0}
    assert agg.transform_one({"user": None, "x": 1.0}) == {} == agg.transform_one({"user": "b", "x": 1.0})


def test_aggregates_stand_beside_other_features() -> None:
    features = compose.Select(["x"]) + feature_extraction.Agg("x", "user", stats.Count())
    model = features | preprocessing.StandardScaler() | linear_model.LinearRegression()
    for x, y in _random_rows(50, 5):
        model.learn_one(x, y)
    assert list(features.transform_one({"user": "u1", "x": 2.0})) == ["x", "x_count_by_user"]
    assert np.isfinite(model.predict_one({"user": "u1", "x": 2.0}))


def test_bad_arguments_are_refused_in_one_line() -> None:
    with pytest.raises(InvalidValue, match=r"feature_extraction.Agg: how must be a statistic of one variable"):
        feature_extraction.Agg("x", "user", stats.Cov())
    with pytest.raises(InvalidValue, match="by must name each feature once"):
        feature_extraction.Agg("x", ["user", "user"], stats.Mean())
    agg = feature_extraction.Agg("x", "user", stats.Mean(), max_keys=1, when_full="refuse")
    agg.learn_one({"user": "a", "x": 1.0, "colour": "red"})
    before = agg.to_bytes()
    with pytest.raises(InvalidValue, match=r"feature_extraction.Agg: there are 1 keys already"):
        agg.learn_one({"user": "b", "x": 1.0})
    assert agg.to_bytes() == before
    nominal = feature_extraction.Agg("colour", "user", stats.Mean())
    with pytest.raises(InvalidType, match="feature 'colour' must be a number, got a string"):
        nominal.learn_one({"user": "a", "colour": "red"})
    target = feature_extraction.TargetAgg("user", stats.Mean())
    for label in "ab":
        target.learn_one({"user": "a"}, label)
    with pytest.raises(InvalidValue, match="got a third class; preprocessing.TargetEncoder"):
        target.learn_one({"user": "a"}, "c")
    assert target.state == {"a": 0.5}


def _day(n: int) -> datetime.datetime:
    return datetime.datetime(2026, 1, 1 + n)


@pytest.mark.parametrize(
    "date",
    [
        _day,
        lambda n: _day(n).date(),
        lambda n: _day(n).replace(tzinfo=datetime.UTC),
        lambda n: pd.Timestamp(_day(n)),
        lambda n: np.datetime64(_day(n)),
    ],
)
def test_times_may_be_dates(date: Any) -> None:
    how = stats.TimeRolling(stats.Sum(), period=datetime.timedelta(days=2))
    rows = [{"x": float(n), "user": "a", "when": date(n)} for n in range(5)]
    numbers = [x | {"when": _day(n).replace(tzinfo=datetime.UTC).timestamp()} for n, x in enumerate(rows)]
    agg, seconds, target = (
        feature_extraction.Agg("x", "user", how, time="when"),
        feature_extraction.Agg("x", "user", how, time="when"),
        feature_extraction.TargetAgg("user", how, time="when"),
    )
    for x, number in zip(rows, numbers, strict=True):
        agg.learn_one(x)
        seconds.learn_one(number)
        target.learn_one(x, 1.0)
        assert agg.transform_one(x) == seconds.transform_one(x)
    assert agg.to_bytes() == seconds.to_bytes()
    assert agg.state == {"a": 7.0}
    assert target.state == {"a": 2.0}
    learned = []
    frame = pd.DataFrame(rows)
    for X in (rows, iter(rows), frame, pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        many = agg.clone()
        many.learn_many(X)
        learned.append(many.to_bytes())
    assert learned == [agg.to_bytes()] * len(learned)


def test_dates_in_pipelines_and_evaluation() -> None:
    how = stats.TimeRolling(stats.Mean(), period=datetime.timedelta(days=2))
    rows = [({"x": float(n % 3), "user": "a", "when": _day(n)}, float(n)) for n in range(20)]
    numbers = [(x | {"when": x["when"].replace(tzinfo=datetime.UTC).timestamp()}, y) for x, y in rows]

    def build() -> Any:
        return feature_extraction.TargetAgg("user", how, time="when") | linear_model.LinearRegression()

    frame = pd.DataFrame([x for x, _ in rows])
    streams: list[Any] = [rows, numbers, (frame, np.array([y for _, y in rows]))]
    models = [build() for _ in streams]
    results = [evaluate.prequential(model, data) for model, data in zip(models, streams, strict=True)]
    assert len({result["MAE"] for result in results}) == 1
    assert len({model.to_bytes() for model in models}) == 1


def test_bad_times_are_refused_in_one_line() -> None:
    how = stats.TimeRolling(stats.Mean(), period=5.0)
    agg = feature_extraction.Agg("x", "user", how, time="when")
    good = {"x": 1.0, "user": "a", "when": _day(1)}
    agg.learn_one(good)
    before = agg.to_bytes()
    for bad in ([1], None, pd.NaT, np.datetime64("NaT")):
        with pytest.raises((InvalidType, InvalidValue), match=r"^feature_extraction.Agg: .*when"):
            agg.learn_one(good | {"when": bad})
        assert agg.to_bytes() == before
    # Other features are no times.
    with pytest.raises(InvalidType, match="feature 'x': a value must be a number"):
        agg.learn_one(good | {"x": _day(1)})
    assert agg.learn_many([good, good | {"when": [1]}, good], on_error="skip") == 1


@pytest.mark.parametrize(
    ("how", "name"),
    [
        (stats.Rolling(stats.Mean(), 3), "rollingmean_3"),
        (stats.RollingMax(3), "rollingmax_3"),
        (stats.RollingMode(3), "rollingmode_3"),
        (stats.RollingIQR(3), "rollingiqr_3"),
        (stats.RollingPeakToPeak(3), "rollingpeaktopeak_3"),
        (stats.Rolling(stats.Quantile(0.5), 3), "rollingquantile_3"),
        (stats.Rolling(stats.Quantile(0.1), 3), "rollingquantile_0.1_3"),
        (stats.Rolling(stats.Var(ddof=0), 5), "rollingvar_0_5"),
        (stats.TimeRolling(stats.Mean(), period=60.0), "timerollingmean_60"),
        (stats.Shift(2) | stats.Mean(), "mean_of_shift_2"),
        (stats.Shift(1) | stats.Rolling(stats.Var(), 4), "rollingvar_4_of_shift_1"),
        (stats.Quantile(0.3), "quantile"),
    ],
)
def test_names_of_windows_and_links_differ(how: Any, name: str) -> None:
    agg = feature_extraction.Agg("x", "user", how, time="t")
    assert agg.feature_name == f"x_{name}_by_user"


def test_names_of_links_and_windows_are_those_of_river() -> None:
    for ours, theirs in (
        (stats.Shift(2) | stats.Mean(), river.stats.Shift(2) | river.stats.Mean()),
        (stats.RollingMin(4), river.stats.RollingMin(4)),
        (stats.RollingQuantile(0.5, 4), river.stats.RollingQuantile(0.5, 4)),
    ):
        assert feature_extraction.Agg("x", None, ours).feature_name == f"x_{theirs.name}"
