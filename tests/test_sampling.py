"""Samplers: distributions, exact batches, rows as they were given, refusals."""

from __future__ import annotations

import datetime
import itertools
import math
import pickle
import struct
import subprocess
import sys
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from scipy import stats

import millstream
from millstream import anomaly, evaluate, linear_model, naive_bayes, preprocessing, sampling, stream, synth
from millstream.errors import InvalidType, InvalidValue, MillstreamError

DAY = 86400.0


def numbers(sampler: Any) -> list[int]:
    return sorted(x["n"] for x, _ in sampler.sample())


def fits(counts: Any, expected: Any) -> float:
    """The p-value of a chi-square test of counts against shares."""
    counts, expected = np.asarray(counts, float).ravel(), np.asarray(expected, float).ravel()
    return float(stats.chisquare(counts, expected * counts.sum() / expected.sum()).pvalue)


def inclusions(draw: Any, n: int, runs: int) -> tuple[Any, Any]:
    """How often each row and each pair of rows was drawn."""
    single, pair = np.zeros(n), np.zeros((n, n))
    for seed in range(runs):
        rows = draw(seed)
        single[rows] += 1
        pair[np.ix_(rows, rows)] += 1
    return single, pair[np.triu_indices(n, 1)]


# Distributions


@pytest.mark.slow
def test_inclusions_of_a_reservoir_are_uniform() -> None:
    n, k, runs = 1000, 10, 20_000
    X = np.arange(float(n)).reshape(-1, 1)

    def draw(seed: int) -> list[int]:
        reservoir = sampling.Reservoir(k, seed=seed)
        reservoir.learn_many(X)
        return [int(x[0]) for x, _ in reservoir.sample()]

    single, pair = inclusions(draw, n, runs)
    # Counts of n rows in samples of k have a variance smaller by 1 - k/n than independent counts.
    statistic = float(((single - runs * k / n) ** 2).sum() / (runs * k / n) / (1 - k / n))
    assert stats.chi2.sf(statistic, n - 1) > 1e-4
    assert stats.chi2.cdf(statistic, n - 1) > 1e-4
    expected = runs * k * (k - 1) / (n * (n - 1))
    statistic = float(((pair - expected) ** 2).sum() / expected)
    assert stats.norm.sf(abs(statistic - len(pair)) / math.sqrt(2 * len(pair) * (1 + 1 / (2 * expected)))) > 1e-4


BUILD: dict[str, Any] = {
    "Reservoir": lambda size, seed: sampling.Reservoir(size, seed=seed),
    "WeightedReservoir": lambda size, seed: sampling.WeightedReservoir(size, seed=seed),
    "WindowSample": lambda size, seed: sampling.WindowSample(size, 12, by_time=True, seed=seed),
    "DecayedReservoir": lambda size, seed: sampling.DecayedReservoir(size, 1e12, by_time=True, seed=seed),
    "Stratified": lambda size, seed: sampling.Stratified(size, key="s", seed=seed),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BUILD)
@pytest.mark.parametrize("parts", [1, 3])
def test_single_and_pair_inclusions_are_uniform_also_after_merges(name: str, parts: int) -> None:
    n, k, runs = 12, 4, 4000
    rows = [{"n": row, "s": "one"} for row in range(n)]

    def draw(seed: int) -> list[int]:
        samplers = []
        for part in range(parts):
            samplers.append(BUILD[name](k, 10 * seed + part))
            # The parts of different sizes; times are all within the window.
            cut = slice([0, 2, 9][part], [2, 9, 11][part]) if parts > 1 else slice(0, 11)
            samplers[-1].learn_many(rows[cut], t=np.arange(float(n))[cut])
        for other in samplers[1:]:
            samplers[0].merge(other)
        # A merged sample continues.
        samplers[0].learn_one(rows[11], t=11.0)
        return numbers(samplers[0])

    single, pair = inclusions(draw, n, runs)
    assert single.sum() == k * runs
    assert fits(single, np.ones(n)) > 1e-4, single
    assert fits(pair, np.ones(len(pair))) > 1e-4, pair


WEIGHTS = np.array([0.5, 1.0, 2.0, 6.0])


def successive() -> dict[tuple[int, ...], float]:
    """The probability of each pair of four rows: a draw by weight, and another one from the rest."""
    chances: dict[tuple[int, ...], float] = {}
    for i, j in itertools.permutations(range(4), 2):
        pair = tuple(sorted((i, j)))
        total = WEIGHTS.sum()
        chances[pair] = chances.get(pair, 0.0) + WEIGHTS[i] / total * WEIGHTS[j] / (total - WEIGHTS[i])
    return chances


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0)])
@pytest.mark.parametrize("name", ["WeightedReservoir", "WindowSample", "DecayedReservoir"])
def test_weighted_pairs_have_the_enumerated_probabilities(name: str, order: tuple[int, ...]) -> None:
    chances = successive()
    counts = dict.fromkeys(chances, 0)
    rows = [{"n": row} for row in order]
    for seed in range(1500):
        sampler = BUILD[name](2, seed)
        sampler.learn_many(rows, w=WEIGHTS[list(order)], t=np.arange(4.0))
        counts[tuple(numbers(sampler))] += 1
    assert fits(list(counts.values()), list(chances.values())) > 1e-4, counts


def test_all_pairs_of_four_rows_are_equally_likely() -> None:
    counts = dict.fromkeys(itertools.combinations(range(4), 2), 0)
    for seed in range(2000):
        reservoir = sampling.Reservoir(2, seed=seed)
        reservoir.learn_many([{"n": row} for row in range(4)])
        counts[tuple(numbers(reservoir))] += 1  # type: ignore[index]
    assert fits(list(counts.values()), np.ones(6)) > 1e-4, counts


def test_a_decayed_sample_halves_with_each_half_life() -> None:
    ages = []
    for seed in range(60):
        reservoir = sampling.DecayedReservoir(20, half_life=100.0, seed=seed)
        reservoir.learn_many([{"n": row} for row in range(3000)])
        ages += [2999 - n for n in numbers(reservoir)]
    # Sampling without replacement holds a little more of the old rows than the weights: the median is near 100.
    share = np.mean(np.array(ages) < 100)
    assert 0.42 < share < 0.53, share
    assert 0.70 < np.mean(np.array(ages) < 200) < 0.78


def test_sums_estimated_from_a_sample_are_unbiased() -> None:
    values = np.random.default_rng(1).lognormal(size=300)
    estimates = []
    for seed in range(600):
        reservoir = sampling.Reservoir(20, seed=seed)
        reservoir.learn_many(values.reshape(-1, 1))
        estimates.append(sum(x[0] for x, _ in reservoir.sample()) * 300 / 20)
    error = np.std(estimates) / math.sqrt(len(estimates))
    assert abs(np.mean(estimates) - values.sum()) < 4 * error


def test_a_weight_of_zero_is_never_drawn_and_leaves_no_trace() -> None:
    for name, build in BUILD.items():
        with_zeros, without = build(3, 1), build(3, 1)
        for row in range(50):
            with_zeros.learn_one({"n": -1, "s": "other"}, w=0.0, t=float(row))
            with_zeros.learn_one({"n": row, "s": "one"}, t=float(row))
            without.learn_one({"n": row, "s": "one"}, t=float(row))
        assert with_zeros.to_bytes() == without.to_bytes(), name


# By key


def test_a_key_is_in_or_out_on_every_machine() -> None:
    """The keys of published hashes, from another process, in any order and any part of the stream."""
    tenth, fifth = sampling.ByKey(0.1, "user"), sampling.ByKey(0.2, "user")
    users: list[Any] = [*range(900), *(f"u{i}" for i in range(900)), 0.5, None, "", -1]
    kept = [user for user in users if tenth.keeps_one({"user": user})]
    assert all(fifth.keeps_one({"user": user}) for user in kept)
    assert stats.binomtest(len(kept), len(users), 0.1).pvalue > 1e-3
    code = (
        "from millstream import sampling; tenth = sampling.ByKey(0.1, 'user'); "
        "users = [*range(900), *(f'u{i}' for i in range(900)), 0.5, None, '', -1]; "
        "print([user for user in users if tenth.keeps_one({'user': user})])"
    )
    other = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={"PYTHONHASHSEED": "7"}, check=True
    )
    assert other.stdout.strip() == repr(kept)
    # The hash never changes: samples are kept for years.
    for seed in (0, 1, 2**63 - 1):
        by = sampling.ByKey(0.1, "user", seed=seed)
        for user in users:
            assert by.keeps_one({"user": user}) == (documented_hash(user, seed) < 0.1 * 2**64), user


def documented_hash(key: Any, seed: int) -> int:
    """The hash that the docstring of ByKey describes: XXH64 of short strings, after its specification."""
    P1, P2, P3, P4, P5 = (
        0x9E3779B185EBCA87,
        0xC2B2AE3D27D4EB4F,
        0x165667B19E3779F9,
        0x85EBCA77C2B2AE63,
        0x27D4EB2F165667C5,
    )
    mask = 2**64 - 1

    def turn(x: int, by: int) -> int:
        return ((x << by) | (x >> (64 - by))) & mask

    if key is None:
        data = b"n"
    elif isinstance(key, str):
        data = b"s" + key.encode()
    elif isinstance(key, int):
        data = b"i" + key.to_bytes(8, "little", signed=True)
    else:
        data = b"f" + struct.pack("<d", key)
    h = ((seed ^ 0x62795F6B65792100) + P5 + len(data)) & mask
    while len(data) >= 8:
        k = turn(int.from_bytes(data[:8], "little") * P2 & mask, 31) * P1 & mask
        h, data = (turn(h ^ k, 27) * P1 + P4) & mask, data[8:]
    if len(data) >= 4:
        h, data = (turn(h ^ int.from_bytes(data[:4], "little") * P1 & mask, 23) * P2 + P3) & mask, data[4:]
    for byte in data:
        h = turn(h ^ byte * P5 & mask, 11) * P1 & mask
    h = (h ^ h >> 33) * P2 & mask
    h = (h ^ h >> 29) * P3 & mask
    return h ^ h >> 32


def test_equal_values_are_one_key_in_every_form() -> None:
    for fraction in (0.3, 0.7):
        by = sampling.ByKey(fraction, "u")
        for one in range(40):
            kept = by.keeps_one({"u": one})
            forms = [float(one), np.int64(one), np.float32(one), np.uint8(one)]
            assert all(by.keeps_one({"u": form}) == kept for form in forms)
        frames = {
            "pandas": pandas.DataFrame({"u": range(40)}),
            "gaps": pandas.DataFrame({"u": [*map(float, range(40)), math.nan]}),
            "nullable": pandas.DataFrame({"u": pandas.array([*range(40), None], dtype="Int64")}),
            "polars": polars.DataFrame({"u": range(40)}),
            "polars gaps": polars.DataFrame({"u": [*range(40), None]}),
            "arrow": pyarrow.table({"u": list(range(40))}),
            "arrow gaps": pyarrow.table({"u": [*range(40), None]}),
            "dicts": [{"u": one} for one in range(40)],
        }
        wanted = [by.keeps_one({"u": one}) for one in range(40)]
        for name, frame in frames.items():
            assert by.keeps_many(frame).tolist()[:40] == wanted, name
        assert sampling.ByKey(fraction, 0).keeps_many(np.arange(40.0).reshape(-1, 1)).tolist() == wanted
    text = sampling.ByKey(0.5, "u")
    assert [text.keeps_one({"u": str(i)}) for i in range(64)] != [text.keeps_one({"u": i}) for i in range(64)]


def test_large_integers_are_not_rounded() -> None:
    by = sampling.ByKey(0.5, "u")
    users = [2**53 + i for i in range(200)]
    wanted = [by.keeps_one({"u": user}) for user in users]
    assert by.keeps_many(pandas.DataFrame({"u": users})).tolist() == wanted
    assert 60 < sum(wanted) < 140


def test_the_sample_and_hashed_features_are_independent() -> None:
    """Sampled users must spread over all buckets of a feature hasher."""
    from millstream import _core

    by = sampling.ByKey(0.25, "u")
    buckets = np.zeros(16)
    for user in range(8000):
        if by.keeps_one({"u": f"u{user}"}):
            buckets[_core.hash_feature(f"u{user}".encode(), 0) % 16] += 1
    assert fits(buckets, np.ones(16)) > 1e-3, buckets


def test_the_seed_of_by_key_follows_the_key() -> None:
    assert sampling.ByKey(0.1, "user", 7).parameters == {
        "fraction": 0.1,
        "key": "user",
        "seed": 7,
        "max_rows": 100_000,
    }


def test_keys_leave_whole_and_merges_are_those_of_the_whole_stream() -> None:
    rows = [{"user": row * 7 % 100, "n": row} for row in range(2000)]
    whole = sampling.ByKey(0.5, "user", max_rows=300)
    whole.learn_many(rows)
    users = {x["user"] for x, _ in whole.sample()}
    assert len(whole.sample()) == 20 * len(users) <= 300
    assert whole.inspect()["fraction"] < 0.5
    assert numbers(whole) == [x["n"] for x in rows if x["user"] in users]
    parts = [sampling.ByKey(0.5, "user", max_rows=300) for _ in range(8)]
    for index, part in enumerate(parts):
        part.learn_many(rows[index::8])
    for part in parts[1:]:
        parts[0].merge(part)
    assert numbers(parts[0]) == numbers(whole)
    assert parts[0].inspect() == whole.inspect()


def test_memory_stays_bounded_over_new_keys() -> None:
    by = sampling.ByKey(0.5, "u", max_rows=50)
    strata = sampling.Stratified(50, key="u")
    column = np.arange(200_000)
    for sampler in (by, strata):
        sampler.learn_many(pyarrow.table({"u": column[:1000]}))
        early = sampler.memory
        sampler.learn_many(pyarrow.table({"u": column}))
        assert len(sampler.sample()) <= 50
        assert sampler.memory < 2 * early + 4096


# Batches


def streams() -> dict[str, Any]:
    random = np.random.default_rng(3)
    n = 700
    return {
        "rows": [
            {
                "user": f"u{int(random.zipf(1.5)) % 40}",
                "n": row,
                "x": float(random.normal()),
                "gap": None,
                7: row % 2 == 0,
            }
            for row in range(n)
        ],
        "y": [["a", "b", "c"][int(random.random() ** 4 * 3)] for _ in range(n)],
        "w": np.where(random.random(n) < 0.1, 0.0, random.lognormal(size=n)),
        "t": np.cumsum(random.exponential(size=n)),
    }


SAMPLERS: dict[str, Any] = {
    "ByKey": lambda: sampling.ByKey(0.4, "user", max_rows=100),
    "Reservoir": lambda: sampling.Reservoir(30),
    "WeightedReservoir": lambda: sampling.WeightedReservoir(30),
    "DecayedReservoir rows": lambda: sampling.DecayedReservoir(30, half_life=0.5),
    "DecayedReservoir time": lambda: sampling.DecayedReservoir(30, half_life=2.0, by_time=True),
    "WindowSample rows": lambda: sampling.WindowSample(30, 200),
    "WindowSample time": lambda: sampling.WindowSample(30, 100.0, by_time=True),
    "Stratified y": lambda: sampling.Stratified(30),
    "Stratified key": lambda: sampling.Stratified(30, key="user"),
}


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("weighted", [False, True])
def test_many_is_one_by_one_and_a_saved_sampler_continues(name: str, weighted: bool) -> None:
    given = streams()
    rows, y, t = given["rows"], given["y"], given["t"]
    w = given["w"] if weighted else None
    one = SAMPLERS[name]()
    for row, x in enumerate(rows):
        one.learn_one(x, y[row], 1.0 if w is None else w[row], t=t[row])
    for cuts in ([0, 700], [0, 1, 2, 50, 51, 699, 700]):
        many = SAMPLERS[name]()
        for start, stop in itertools.pairwise(cuts):
            part = slice(start, stop)
            skipped = many.learn_many(rows[part], y[part], None if w is None else w[part], t[part])
            assert skipped == 0
            many = millstream.from_bytes(many.to_bytes())
        assert many.to_bytes() == one.to_bytes()
        assert many.sample() == one.sample()
        assert many.learned == one.learned


def forms(frame: pandas.DataFrame) -> dict[str, Any]:
    return {
        "pandas": frame,
        "polars": polars.from_pandas(frame),
        "arrow": pyarrow.Table.from_pandas(frame),
        "objects": frame.astype({"user": object}),
    }


@pytest.mark.parametrize("name", SAMPLERS)
def test_frames_are_rows(name: str) -> None:
    given = streams()
    rows = [{"user": x["user"], "n": x["n"], "x": x["x"]} for x in given["rows"]]
    one = SAMPLERS[name]()
    for x, y, t in zip(rows, given["y"], given["t"], strict=True):
        one.learn_one(x, y, t=t)
    for form, X in forms(pandas.DataFrame(rows).astype({"user": "category"})).items():
        many = SAMPLERS[name]()
        for part in (slice(0, 300), slice(300, 700)):
            many.learn_many(X[part], np.array(given["y"])[part], t=given["t"][part])
        assert many.sample() == one.sample(), form
        assert many.to_bytes() == one.to_bytes(), form
    if name == "Reservoir":
        X = np.random.default_rng(1).normal(size=(300, 3))
        many, one = SAMPLERS[name](), SAMPLERS[name]()
        many.learn_many(X)
        for row in X.tolist():
            one.learn_one(dict(enumerate(row)))
        assert many.to_bytes() == one.to_bytes()


def test_rows_are_returned_as_they_were_given() -> None:
    reservoir = sampling.Reservoir(10)
    rows = [
        ({"a": 1, "b": 1.0, "c": True, "d": None, "e": "é", 5: -(2**63)}, "label"),
        ({"b": math.inf, "a": "other"}, 3),
        ({}, False),
        ({"n": np.int32(4), "s": np.str_("t"), "m": pandas.NA, "f": np.float32(0.5)}, np.bool_(True)),
    ]
    for x, y in rows:
        reservoir.learn_one(x, y)
    found = millstream.from_bytes(reservoir.to_bytes()).sample()
    wanted = [*rows[:3], ({"n": 4, "s": "t", "m": None, "f": 0.5}, True)]
    assert found == wanted
    for (x, y), (x_wanted, y_wanted) in zip(found, wanted, strict=True):
        assert [type(value) for value in x.values()] == [type(value) for value in x_wanted.values()]  # type: ignore[union-attr]
        assert type(y) is type(y_wanted)
    reservoir.learn_one({"nan": math.nan})
    assert math.isnan(reservoir.sample()[-1][0]["nan"])


# Refusals


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: sampling.Reservoir(0), "sampling.Reservoir: size must be an integer in [1, 2147483648], got 0"),
        (lambda: sampling.Stratified(0), "size must be"),
        (lambda: sampling.ByKey(0.0, "u"), "sampling.ByKey: fraction must be in (0, 1], got 0"),
        (lambda: sampling.ByKey(1.5, "u"), "fraction must be in (0, 1], got 1.5"),
        (lambda: sampling.ByKey(0.5, None), "key must be a feature name (str or int), got None"),  # type: ignore[arg-type]
        (lambda: sampling.DecayedReservoir(5, 0.0), "half_life must be > 0, got 0"),
        (lambda: sampling.DecayedReservoir(5, datetime.timedelta(0)), "half_life must be positive"),
        (lambda: sampling.WindowSample(5, -1), "window_size must be > 0, got -1"),
        (lambda: sampling.WindowSample(5, 9, late="drop"), "late must be one of"),  # type: ignore[arg-type]
    ],
)
def test_bad_parameters_are_refused(build: Any, words: str) -> None:
    with pytest.raises(ValueError) as failure:
        build()
    assert words in str(failure.value)


@pytest.mark.parametrize("name", SAMPLERS)
def test_bad_rows_are_refused_and_leave_the_sampler_as_it_was(name: str) -> None:
    given = streams()
    sampler = SAMPLERS[name]()
    good = (given["rows"][0], "a")
    sampler.learn_many(given["rows"][:99], given["y"][:99], t=given["t"][:99])
    before = sampler.to_bytes()
    late = given["t"][99]
    poison: list[tuple[Any, Any]] = [
        (value, "a") for value in (None, [1], "x", {"a": [1]}, {"a": 2**63}, {1.5: 1})
    ]
    poison += [
        ({**good[0], "z": datetime.date(2026, 1, 1)}, "a"),
        (good[0], [1]),
        (good[0], b"x"),
        ({1: "\ud800"}, "a"),
    ]
    for x, y in poison:
        with pytest.raises(MillstreamError) as failure:
            sampler.learn_one(x, y, t=late)
        assert str(failure.value).startswith(f"{sampler.name}: "), failure.value
        assert "\n" not in str(failure.value)
        assert sampler.to_bytes() == before
    for w in (-1.0, math.nan, math.inf, "x"):
        with pytest.raises(MillstreamError, match="weight"):
            sampler.learn_one(*good, w=w, t=late)
        assert sampler.to_bytes() == before
    for t in (math.nan, math.inf, "today", [1]):
        with pytest.raises(MillstreamError, match="t must be"):
            sampler.learn_one(*good, t=t)
        assert sampler.to_bytes() == before
    # A batch: the row is named, and on_error decides.
    rows = [good[0]] * 3
    for w, bad in ((np.array([1.0, -1.0, 1.0]), None), (None, {"a": [1]})):
        given_rows = rows if bad is None else [rows[0], bad, rows[2]]
        with pytest.raises(MillstreamError, match=f"row 1: {sampler.name}: ") as failure:
            sampler.learn_many(given_rows, ["a"] * 3, w, [late] * 3)
        assert failure.value.row == 1
        assert sampler.to_bytes() == before
        stopped, skipping = sampler.copy(), sampler.copy()
        with pytest.raises(MillstreamError, match="row 1: "):
            stopped.learn_many(given_rows, ["a"] * 3, w, [late] * 3, on_error="stop")
        assert stopped.learned == sampler.learned + 1
        assert skipping.learn_many(given_rows, ["a"] * 3, w, [late] * 3, on_error="skip") == 1
        assert skipping.learned == sampler.learned + 2
    with pytest.raises(InvalidValue, match="y has 2 values for 3 rows"):
        sampler.learn_many(rows, ["a"] * 2)


def test_time_backwards_is_refused_by_choice() -> None:
    for build in (
        lambda late: sampling.DecayedReservoir(5, 2.0, by_time=True, late=late),
        lambda late: sampling.WindowSample(5, 2.0, by_time=True, late=late),
    ):
        strict, lenient = build("refuse"), build("accept")
        for sampler in (strict, lenient):
            sampler.learn_one({"n": 1}, t=10.0)
            sampler.learn_one({"n": 2}, t=10.0)
        before = strict.to_bytes()
        with pytest.raises(InvalidValue, match=r"t must not decrease, got 9\.5 after 10"):
            strict.learn_one({"n": 3}, t=9.5)
        with pytest.raises(InvalidValue, match="each row needs its time t"):
            strict.learn_one({"n": 3})
        assert strict.to_bytes() == before
        lenient.learn_one({"n": 3}, t=9.5)
        assert numbers(lenient) == [1, 2, 3]
    # In a window, a late row that has left it already is not in the sample.
    lenient.learn_one({"n": 4}, t=7.9)
    assert numbers(lenient) == [1, 2, 3]


def test_dates_count_in_seconds() -> None:
    start = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    dates = [start + datetime.timedelta(hours=hour) for hour in range(100)]
    by_dates = sampling.WindowSample(5, datetime.timedelta(days=1))
    for row, date in enumerate(dates):
        by_dates.learn_one({"n": row}, t=date)
    rows = [{"n": row} for row in range(100)]
    naive = [date.replace(tzinfo=None) for date in dates]
    columns = [
        naive,
        np.array(naive, dtype="datetime64[s]"),
        pandas.Series(naive),
        polars.Series(naive),
        pyarrow.array(naive),
        [date.timestamp() for date in dates],
        pandas.Series(dates),
    ]
    for column in columns:
        many = sampling.WindowSample(5, DAY, by_time=True)
        many.learn_many(rows, t=column)
        assert many.to_bytes() == by_dates.to_bytes(), type(column)
    assert all(n >= 76 for n in numbers(by_dates))


def test_merges_of_other_samplers_are_refused() -> None:
    one = sampling.Reservoir(5, seed=1)
    with pytest.raises(InvalidType, match="only the same sampler can be merged, got sampling.WeightedReservoir"):
        one.merge(sampling.WeightedReservoir(5))
    with pytest.raises(InvalidValue, match="both have seed 1"):
        one.merge(sampling.Reservoir(5, seed=1))
    with pytest.raises(InvalidValue, match="size 5 and 6"):
        one.merge(sampling.Reservoir(6, seed=2))
    with pytest.raises(InvalidValue, match="use by_time=True"):
        sampling.WindowSample(5, 9, seed=1).merge(sampling.WindowSample(5, 9, seed=2))
    with pytest.raises(InvalidValue, match="parameters are equal, got"):
        sampling.ByKey(0.1, "u").merge(sampling.ByKey(0.1, "u", seed=2))


def test_a_key_that_a_row_does_not_have_is_an_error() -> None:
    for sampler in (sampling.ByKey(0.5, "user"), sampling.Stratified(5, key="user")):
        with pytest.raises(InvalidValue, match="a row must have the feature 'user'"):
            sampler.learn_one({"usr": 1})
        with pytest.raises(InvalidValue, match="row 1: .*a row must have the feature 'user'"):
            sampler.learn_many([{"user": 1}, {"usr": 1}])
        with pytest.raises(InvalidValue, match="there is no column 'user'"):
            sampler.learn_many(pandas.DataFrame({"usr": [1]}))
    with pytest.raises(InvalidValue, match="the target is missing"):
        sampling.Stratified(5).learn_one({"x": 1})


# In front of a learner


def test_a_filter_passes_the_rows_of_its_keys_to_any_learner() -> None:
    random = np.random.default_rng(2)
    frame = pandas.DataFrame({"user": random.integers(0, 200, 3000), "x": random.normal(size=3000)})
    y = frame.x.to_numpy() > 0
    by = sampling.ByKey(0.3, "user")
    chosen = by.keeps_many(frame)
    for learner in (naive_bayes.GaussianNB(), preprocessing.StandardScaler() | linear_model.LogisticRegression()):
        alone, one, many = learner.clone(), by | learner.clone(), by | learner.clone()
        alone.learn_many(frame[chosen], y[chosen])
        for x, label in zip(frame.to_dict("records"), y.tolist(), strict=True):
            one.learn_one(x, label)
        for part in (slice(0, 1000), slice(1000, 3000)):
            assert many.learn_many(frame[part], y[part]) == 0
        assert one.model.to_bytes() == many.model.to_bytes() == alone.to_bytes()
        assert one.learned == chosen.sum()
        assert one.predict_one({"user": 1, "x": 2.0}) is True
        assert one.role == "classifier"
        assert one.clone().learned == 0
    bad = y.astype(object)
    bad[np.flatnonzero(chosen)[5]] = None
    with pytest.raises(MillstreamError, match=f"row {np.flatnonzero(chosen)[5]}: "):
        many.learn_many(frame, bad)


def test_a_filtered_model_is_a_model(tmp_path: Any) -> None:
    by = sampling.ByKey(0.6, "user")
    for learner in (linear_model.LogisticRegression(), linear_model.LinearRegression(), anomaly.GaussianScorer()):
        model = by | learner
        for user in range(60):
            model.learn_one({"user": user, "x": user / 60}, user > 30)
        again = pickle.loads(pickle.dumps(model))
        x = {"user": 3, "x": 0.5}
        verb = "score_one" if model.role == "anomaly_detector" else "predict_one"
        assert getattr(again, verb)(x) == getattr(model, verb)(x) == getattr(model.model, verb)(x)
        copied = model.copy()
        copied.learn_one({"user": 0, "x": 9.0}, True)
        assert 0 < model.learned < 60
        model.save(tmp_path / "model.ms")
        loaded = millstream.load(tmp_path / "model.ms")
        assert repr(loaded) == repr(model)
        assert loaded.role == model.role
        for user in range(60):
            for each in (loaded, model):
                each.learn_one({"user": user, "x": user / 30}, user > 20)
        assert loaded.learned == model.learned
        assert loaded.to_bytes() == model.to_bytes()
        with pytest.raises(InvalidType, match="use pickle"):
            model.describe()
    with pytest.raises(InvalidValue, match="sampling.ByKey: a row must have the feature 'user'"):
        model.learn_one({"x": 1.0})
    with pytest.raises(InvalidType, match="model must be a transformer, a classifier"):
        by | 5


def test_a_filter_stands_in_front_of_a_whole_pipeline() -> None:
    by = sampling.ByKey(0.5, "user")
    model = by | preprocessing.StandardScaler() | linear_model.LogisticRegression()
    assert repr(model) == "ByKey(fraction=0.5, key='user') | StandardScaler() | LogisticRegression()"
    assert isinstance(model, sampling.Sampled)
    rows = synth.SEA(seed=1).take(2000)
    result = evaluate.prequential(sampling.ByKey(0.5, 0) | naive_bayes.GaussianNB(), rows, metrics="Accuracy")
    assert result["Accuracy"] > 0.8
    with pytest.raises(InvalidType, match=r"a sampler stands at the front, as sampler \| model"):
        preprocessing.StandardScaler() | by
    with pytest.raises(InvalidType, match="sampling.Reservoir: cannot filter rows"):
        sampling.Reservoir(5) | linear_model.LogisticRegression()


# In a stream


def test_a_stream_is_filtered_by_key() -> None:
    rows = synth.Agrawal(seed=1).take(20_000)
    by = sampling.ByKey(0.2, "zipcode")
    kept = list(rows.sample(by))
    assert kept == [(x, y) for x, y in rows if by.keeps_one(x)]
    assert list(synth.Agrawal(seed=1).sample(by).take(3)) == kept[:3]
    with pytest.raises(InvalidValue, match="each row needs a column 'zip'"):
        list(rows.sample(sampling.ByKey(0.2, "zip")))


@pytest.mark.parametrize("name", ["Reservoir", "Stratified", "WindowSample", "WeightedReservoir"])
def test_a_sampled_stream_has_the_rows_of_the_sampler(name: str) -> None:
    random = np.random.default_rng(1)
    y = np.where(random.random(900) < 0.01, "rare", "common")

    class Rows(stream.Stream):
        target, weight = "y", "w"

        def __init__(self, size: int) -> None:
            self.size = size

        def chunks(self) -> Any:
            X = pyarrow.table({"n": np.arange(900)})
            for start in range(0, 900, self.size):
                part = slice(start, start + self.size)
                yield stream.Chunk(X[part], y[part], np.arange(900.0)[part])

    build = {
        "Reservoir": lambda: sampling.Reservoir(20, seed=3),
        "Stratified": lambda: sampling.Stratified(20, seed=3),
        "WindowSample": lambda: sampling.WindowSample(20, 100, seed=3),
        "WeightedReservoir": lambda: sampling.WeightedReservoir(20, seed=3),
    }[name]
    sampler = build()
    sampler.learn_many([{"n": n} for n in range(900)], y, np.arange(900.0))
    wanted = sorted(((x["n"], label) for x, label in sampler.sample()))
    for size in (7, 100, 900):
        drawn = Rows(size).sample(build())
        for _ in range(2):
            assert [(x["n"], label) for x, label in drawn] == wanted
    with pytest.raises(InvalidValue, match="this one never ends"):
        synth.SEA().sample(build())
    with pytest.raises(InvalidType, match="sampler must be one of sampling, got 5"):
        synth.SEA().sample(5)  # type: ignore[arg-type]
