"""Sketches: bounds over seeds and orders, merges, columns of all kinds, missing items, and peers."""

from __future__ import annotations

import collections
import math
import pickle

import numpy as np
import pytest

import millstream
from millstream import sketch
from millstream.errors import InvalidState, InvalidType, InvalidValue, MillstreamError

NUMBERS = ("KLL", "DDSketch", "Histogram")
KEYS = ("Bloom", "CountMin", "CountSketch", "HyperLogLog", "SpaceSaving", "Theta")
SMALL = {"KLL": {"k": 20}, "Histogram": {"max_bins": 20}, "SpaceSaving": {"capacity": 30}, "Theta": {"k": 64}}


def made(name, **more):
    return getattr(sketch, name)(**{**SMALL.get(name, {}), **more})


def zipf(n, seed=0):
    return np.random.default_rng(seed).zipf(1.2, n) % 1_000_000


def orders(xs):
    """The same numbers shuffled, ascending, descending, and in repeated blocks."""
    shuffled = np.random.default_rng(1).permutation(xs)
    return {
        "shuffled": shuffled,
        "sorted": np.sort(xs),
        "reversed": np.sort(xs)[::-1],
        "repeated": np.concatenate([np.sort(block) for block in np.array_split(shuffled, 50)]),
    }


def ranks(xs):
    """199 numbers with their ranks; numbers may be repeated."""
    points = np.quantile(xs, np.linspace(0.005, 0.995, 199), method="inverted_cdf")
    return points, np.searchsorted(np.sort(xs), points, side="right") / len(xs)


def rank_error(summary, points, truth):
    """The largest error of a rank."""
    return float(np.abs(summary.rank(points) - truth).max())


@pytest.mark.slow
@pytest.mark.parametrize("order", ["shuffled", "sorted", "reversed", "repeated"])
def test_kll_keeps_its_bound_over_200_seeds(order):
    xs = orders(np.random.default_rng(0).lognormal(size=40_000))[order]
    known, errors, summary = ranks(xs), [], sketch.KLL()
    for seed in range(200):
        summary = sketch.KLL(seed=seed)
        summary.update_many(xs)
        errors.append(rank_error(summary, *known))
    # 1 % may exceed it; in fact none comes near.
    assert np.quantile(errors, 0.99) < summary.error().bound <= 0.0165
    assert np.mean(errors) > 1e-4


@pytest.mark.parametrize("k", [8, 20, 50, 200, 1000])
def test_kll_keeps_its_bound_for_all_sizes(k):
    xs = np.random.default_rng(0).normal(size=30_000)
    known, errors, summary = ranks(xs), [], sketch.KLL(k)
    for seed in range(10):
        summary = sketch.KLL(k, seed=seed)
        summary.update_many(xs)
        errors.append(rank_error(summary, *known))
    assert max(errors) < 1.2 * summary.error().bound


def test_kll_is_as_close_as_datasketches():
    datasketches = pytest.importorskip("datasketches")
    xs = np.random.default_rng(0).lognormal(size=100_000)
    ours, theirs = [], []
    for seed in range(5):
        summary, other = sketch.KLL(seed=seed), datasketches.kll_doubles_sketch(200)
        summary.update_many(xs)
        other.update(xs)
        points = np.quantile(xs, np.linspace(0.01, 0.99, 99), method="inverted_cdf")
        truth = np.linspace(0.01, 0.99, 99)
        ours.append(np.abs(summary.rank(points) - truth).max())
        theirs.append(np.abs(np.array([other.get_rank(x, True) for x in points]) - truth).max())
    assert np.mean(ours) < 1.5 * np.mean(theirs)
    assert sketch.KLL().error().bound == 0.0
    assert other.normalized_rank_error(True) == pytest.approx(0.0165, abs=1e-4)
    assert summary.error().bound <= other.normalized_rank_error(True)


@pytest.mark.parametrize("name", ["KLL", "SpaceSaving", "CountMin", "HyperLogLog", "Theta", "Bloom", "DDSketch"])
def test_a_tree_of_64_parts_is_the_whole(name):
    keys = zipf(64 * 500)
    xs = keys.astype(float) if name in NUMBERS else keys
    whole = made(name)
    whole.update_many(xs)
    parts = [made(name, **({"seed": seed} if name == "KLL" else {})) for seed in range(64)]
    for part, some in zip(parts, np.array_split(xs, 64), strict=True):
        part.update_many(some)
    while len(parts) > 1:
        parts = [a + b for a, b in zip(parts[::2], parts[1::2], strict=True)]
    (merged,) = parts
    assert merged.updates == whole.updates
    assert merged.total_weight == whole.total_weight == len(xs)
    if name == "KLL":
        assert rank_error(merged, *ranks(xs)) < merged.error().bound
    elif name == "SpaceSaving":
        true = collections.Counter(keys.tolist())
        for key, lower, upper in merged.frequent():
            assert lower <= true[key] <= upper <= true[key] + len(xs) / 30
        assert {key for key, count in true.items() if count > len(xs) / 30} <= {e.key for e in merged.frequent()}
    else:
        assert merged.to_bytes() == whole.to_bytes()


@pytest.mark.parametrize("name", [*NUMBERS, *KEYS])
def test_many_is_one_by_one(name):
    keys = zipf(5000, seed=3)
    xs = np.random.default_rng(2).normal(size=5000) if name in NUMBERS else keys
    w = np.random.default_rng(4).integers(0, 4, 5000) / 2
    for weights in (None, w):
        one, many = made(name), made(name)
        for index, x in enumerate(xs.tolist()):
            one.update(x, 1.0 if weights is None else float(weights[index]))
        for start, end in ((0, 1), (1, 1700), (1700, 1700), (1700, 5000)):
            many.update_many(xs[start:end], None if weights is None else weights[start:end])
        assert one.to_bytes() == many.to_bytes()
        # A long batch takes another path than a short one.
        long = made(name)
        long.update_many(np.resize(xs, 70_000))
        again = made(name)
        for part in np.array_split(np.resize(xs, 70_000), 7):
            again.update_many(part)
        assert long.to_bytes() == again.to_bytes()


def columns():
    pandas, polars, pyarrow = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    texts = ["ann", "bob", "", "é", "ann", "a much longer key that does not fit in a word"] * 3
    integers = [5, -7, 2**40, 5, 0, 1] * 3
    floats = [0.5, 2.0, -3.25, 0.5, 1e300, math.inf] * 3
    chunked = pyarrow.chunked_array([texts[:5], texts[5:]])
    return {
        "texts": [
            texts,
            tuple(texts),
            np.array(texts),
            np.array(texts, dtype=object),
            pandas.Series(texts),
            pandas.Series(texts, dtype="string"),
            pandas.Series(texts, dtype="string[pyarrow]"),
            pandas.Series(texts, dtype="category"),
            polars.Series(texts),
            polars.Series(texts, dtype=polars.Categorical),
            pyarrow.array(texts),
            pyarrow.array(["x", *texts])[1:],
            pyarrow.array(texts, pyarrow.large_string()),
            pyarrow.array(texts).dictionary_encode(),
            chunked,
            iter(texts),
        ],
        "integers": [
            integers,
            np.array(integers),
            np.array(integers)[::1],
            np.repeat(integers, 2)[::2],
            np.array(integers, dtype=float),
            pandas.Series(integers),
            polars.Series(integers),
            pyarrow.array(integers),
            pandas.Series(integers, dtype="Int64"),
            np.array(integers, dtype=object),
        ],
        "floats": [floats, np.array(floats), pandas.Series(floats), polars.Series(floats), pyarrow.array(floats)],
        "mixed": [["ann", 3, 0.5, True], np.array(["ann", 3, 0.5, True], dtype=object)],
    }


@pytest.mark.parametrize("kind", ["texts", "integers", "floats", "mixed"])
def test_all_columns_of_the_same_keys_are_the_same(kind):
    first, *others = columns()[kind]
    for name in ("SpaceSaving", "HyperLogLog"):
        one = made(name)
        for key in first:
            one.update(key)
        for column in [first, *others]:
            if hasattr(column, "__next__"):
                column = iter(first)
            many = made(name)
            many.update_many(column)
            assert many.to_bytes() == one.to_bytes(), type(column)


def test_missing_keys_of_columns_are_refused_or_counted():
    pandas, polars, pyarrow = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    texts = ["ann", None, "bob", None]
    gaps = [
        texts,
        np.array(texts, dtype=object),
        pandas.Series(texts),
        pandas.Series(texts, dtype="category"),
        polars.Series(texts),
        pyarrow.array(texts),
        pyarrow.array(texts).dictionary_encode(),
        [1.0, math.nan, 2.0, math.nan],
        np.array([1.0, math.nan, 2.0, math.nan]),
        pandas.Series([1, None, 2, None], dtype="Int64"),
        pyarrow.array([1, None, 2, None]),
    ]
    for column in gaps:
        refusing, counting = sketch.Theta(), sketch.Theta(missing="count")
        before = refusing.to_bytes()
        with pytest.raises(InvalidValue, match=r"row 1: sketch.Theta: a key must not be missing"):
            refusing.update_many(column)
        assert refusing.to_bytes() == before
        counting.update_many(column)
        assert (counting.query(), counting.missing_weight, counting.total_weight) == (2.0, 2.0, 2.0)


@pytest.mark.parametrize("name", NUMBERS)
def test_nan_is_refused_or_counted_apart(name):
    refusing, counting = made(name), made(name, missing="count")
    refusing.update_many([1.0, 2.0])
    before = refusing.to_bytes()
    for call in (
        lambda: refusing.update(math.nan),
        lambda: refusing.update(None),
        lambda: refusing.update_many([3.0, math.nan]),
        lambda: refusing.update_many(np.array([3.0, math.nan])),
        lambda: refusing.update_many([3.0, None]),
        lambda: refusing.update_many(np.r_[np.ones(100_000), math.nan]),
    ):
        with pytest.raises(InvalidValue, match=r"missing=.count. counts such items"):
            call()
        assert refusing.to_bytes() == before
    counting.update_many([1.0, math.nan, 2.0])
    counting.update(math.nan, 3.0)
    counting.update(None)
    counting.update_many(np.r_[np.full(100_000, 1.5), math.nan])
    assert (counting.missing_weight, counting.total_weight) == (6.0, 100_002.0)
    assert (counting.quantile(0.0), counting.quantile(1.0)) == (1.0, 2.0)
    for summary in (refusing, counting):
        with pytest.raises(InvalidValue, match="must be finite, got infinity"):
            summary.update_many([1.0, -math.inf])


def errors_of(summary, true):
    """The errors of all answers of a sketch of keys, whose counts are known."""
    keys, counts = np.array(list(true)), np.array(list(true.values()), dtype=float)
    if isinstance(summary, (sketch.HyperLogLog, sketch.Theta)):
        return np.array([summary.query() / len(keys) - 1.0])
    if isinstance(summary, sketch.Bloom):
        assert summary.query_many(keys).all()
        # Its bound is on the fraction of wrong answers.
        return np.array([summary.query_many(np.arange(1_000_000, 1_002_000)).mean()])
    errors = summary.query_many(keys) - counts
    assert isinstance(summary, sketch.CountSketch) or errors.min() >= 0.0
    return errors


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "more", "allowed"),
    [
        ("CountMin", {"epsilon": 0.005, "delta": 0.05}, 0.05),
        ("CountSketch", {"epsilon": 0.2, "delta": 0.05}, 0.05),
        # Two standard errors: 5 % of the seeds, with a tolerance for 200 seeds.
        ("HyperLogLog", {"precision": 8}, 0.09),
        ("Theta", {"k": 64}, 0.09),
        # The rate is reached by the mean of all seeds.
        ("Bloom", {"capacity": 500, "false_positive_rate": 0.05}, 1.0),
    ],
)
def test_sketches_of_keys_keep_their_bounds_over_200_seeds(name, more, allowed):
    keys = zipf(4000)
    true = collections.Counter(keys.tolist())
    errors, bounds = [], []
    for seed in range(200):
        states = set()
        for order in orders(keys).values():
            summary = made(name, **more, seed=seed)
            summary.update_many(order)
            states.add(summary.to_bytes())
        assert len(states) == 1, "the order does not matter"
        errors.append(errors_of(summary, true))
        bounds.append(summary.error().bound)
    beyond = np.abs(np.concatenate(errors)) > np.repeat(bounds, len(errors[0]))
    assert beyond.mean() <= allowed
    if name == "Bloom":
        assert np.mean(errors) <= 1.2 * np.mean(bounds)


@pytest.mark.slow
def test_space_saving_keeps_its_bounds_in_any_order():
    for seed in range(200):
        keys = zipf(2000, seed=seed)
        true = collections.Counter(keys.tolist())
        for order in orders(keys).values():
            summary = sketch.SpaceSaving(30)
            summary.update_many(order)
            frequent = summary.frequent()
            for key, lower, upper in frequent:
                assert lower <= true[key] <= upper <= true[key] + 2000 / 30
            assert {key for key, count in true.items() if count > 2000 / 30} <= {each.key for each in frequent}


def test_hyper_log_log_has_its_standard_error():
    for n in (200, 5000, 60_000):
        errors = []
        for seed in range(60):
            summary = sketch.HyperLogLog(seed=seed)
            summary.update_many(np.arange(n))
            errors.append(summary.query() / n - 1.0)
        # 1.04 / 64, with a tolerance for 60 runs.
        assert np.sqrt(np.mean(np.square(errors))) < 0.01625 * 1.25
        assert abs(np.mean(errors)) < 0.006
    assert sketch.HyperLogLog().query() == 0.0


def test_count_min_is_never_below_and_rarely_far_above():
    keys = zipf(50_000, seed=1)
    true = collections.Counter(keys.tolist())
    for conservative in (False, True):
        beyond = total = 0
        for seed in range(20):
            counts = sketch.CountMin(0.005, 0.05, conservative=conservative, seed=seed)
            counts.update_many(keys)
            distinct = np.array(list(true))
            excess = counts.query_many(distinct) - np.array(list(true.values()))
            assert excess.min() >= 0
            beyond += int((excess > counts.error().bound).sum())
            total += len(distinct)
        assert beyond / total < 0.05
        assert counts.error().bound == pytest.approx(0.005 * 50_000)


def test_theta_sets_over_seeds():
    ours, theirs = np.arange(30_000), np.arange(20_000, 50_000)
    errors = collections.defaultdict(list)
    for seed in range(40):
        a, b = sketch.Theta(1024, seed=seed), sketch.Theta(1024, seed=seed)
        a.update_many(ours)
        b.update_many(theirs)
        for word, result, truth in (
            ("union", a | b, 50_000),
            ("intersection", a & b, 10_000),
            ("difference", a - b, 20_000),
        ):
            errors[word].append((result.query() / truth - 1.0) / result.error().bound)
        errors["jaccard"].append((a.jaccard(b) - 0.2) / (2 * math.sqrt(0.2 * 0.8 / 1024)))
    for word, found in errors.items():
        # 95 % are within the bound of two standard deviations.
        assert np.mean(np.abs(found) <= 1.0) >= 0.85, word
        assert abs(np.mean(found)) < 0.3, word


def test_bloom_has_no_false_negative_and_the_rate_of_its_design():
    pool = np.random.default_rng(0).integers(0, 2**62, 120_000)
    for rate in (0.1, 0.01):
        seen = sketch.Bloom(20_000, rate)
        seen.update_many(pool[:20_000])
        assert seen.query_many(pool[:20_000]).all()
        wrong = seen.query_many(pool[20_000:]).mean()
        assert 0.5 * rate < wrong < 1.2 * rate
        assert seen.error().bound == pytest.approx(wrong, rel=0.2)
        assert seen.count() == pytest.approx(20_000, rel=0.02)


def test_heavy_hitters_misses_none_and_reports_none_far_below():
    # The stream on which River's HeavyHitters misses 68 of 100 frequent keys and reports 119 others.
    frequent = np.repeat(np.arange(100), 200)
    rare = np.arange(1000, 1000 + 80_150)
    keys = np.random.default_rng(0).permutation(np.r_[frequent, rare])
    hitters = sketch.HeavyHitters(support=0.001, epsilon=0.0005)
    hitters.update_many(keys)
    found = {each.key for each in hitters.heavy_hitters(0.001)}
    assert found == set(range(100))
    for seed in range(5):
        some = zipf(20_000, seed=seed)
        true = collections.Counter(some.tolist())
        hitters = sketch.SpaceSaving(200)
        hitters.update_many(some)
        found = {each.key for each in hitters.heavy_hitters(0.01)}
        assert {key for key, count in true.items() if count > 200} <= found
        assert all(true[key] > 200 - 100 for key in found)
    with pytest.raises(InvalidValue, match=r"support must be in \[0.005, 1\)"):
        hitters.heavy_hitters(0.001)


def test_dd_sketch_has_its_relative_error():
    xs = np.r_[
        np.random.default_rng(0).pareto(1.0, 20_000), -np.random.default_rng(1).lognormal(0, 3, 20_000), 0.0
    ]
    for order in orders(xs).values():
        summary = sketch.DDSketch(0.02)
        summary.update_many(order)
        q = np.linspace(0.0, 1.0, 101)
        truth = np.quantile(xs, q, method="inverted_cdf")
        found = summary.quantile(q)
        assert np.abs(found - truth).max() >= 0.0
        assert (np.abs(found - truth) <= 0.02 * np.abs(truth) * (1 + 1e-9)).all()


def test_histogram_is_close_to_rivers():
    from river import sketch as theirs

    xs = np.random.default_rng(0).normal(size=5000)
    ours, other = sketch.Histogram(64), theirs.Histogram(64)
    ours.update_many(xs)
    for x in xs:
        other.update(x)
    points = np.linspace(-2.5, 2.5, 21)
    truth = np.searchsorted(np.sort(xs), points, side="right") / len(xs)
    error = np.abs(ours.cdf(points) - truth).max()
    assert error < 0.02
    assert error < 1.2 * max(abs(other.cdf(x) - rank) for x, rank in zip(points, truth, strict=True))


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        (sketch.HyperLogLog(seed=1), sketch.HyperLogLog(seed=2), "got seed 1 and 2"),
        (sketch.HyperLogLog(11), sketch.HyperLogLog(12), "got precision 11 and 12"),
        (sketch.CountMin(0.1), sketch.CountMin(0.2), "got epsilon 0.1 and 0.2"),
        (sketch.Theta(64), sketch.Theta(128, seed=1), "got k 64 and 128, seed 0 and 1"),
        (sketch.KLL(200), sketch.KLL(100), "got k 200 and 100"),
        (sketch.CountMin(conservative=True), sketch.CountMin(conservative=True), "conservative=False"),
    ],
)
def test_a_merge_of_other_parameters_names_both(a, b, words):
    before = a.to_bytes()
    with pytest.raises(InvalidValue, match=words) as failure:
        a.merge(b)
    assert "\n" not in str(failure.value)
    assert a.to_bytes() == before


def test_other_sketches_are_not_merged():
    with pytest.raises(InvalidType, match=r"got sketch.Histogram"):
        sketch.KLL().merge(sketch.Histogram())
    with pytest.raises(InvalidType, match="got int"):
        sketch.KLL().merge(3)
    with pytest.raises(InvalidType, match="got set"):
        sketch.Theta() & {1, 2}
    merged = sketch.KLL(seed=1)
    merged.merge(sketch.KLL(seed=2))


def test_wrong_input_names_the_sketch():
    counts, kll = sketch.CountMin(), sketch.KLL()
    for call in (
        lambda: counts.update([1]),
        lambda: counts.update(2**70),
        lambda: counts.update_many("abc"),
        lambda: counts.update_many(np.ones((2, 2))),
        lambda: counts.update_many([b"x"]),
        lambda: counts.update_many([2**70]),
        lambda: counts.update_many(["a"], w=[1.0, 2.0]),
        lambda: counts.update_many(["a"], w=[-1.0]),
        lambda: counts.query(object()),
        lambda: kll.update("x"),
        lambda: kll.update_many(["x"]),
        lambda: kll.quantile(1.5),
        lambda: kll.quantile([0.5, -1.0]),
        lambda: kll.quantile("x"),
        lambda: kll.update(1.0, w=2.0**61),
        lambda: sketch.Bloom(1 << 28, 1e-9),
        lambda: sketch.NUnique(0.0),
        lambda: sketch.HeavyHitters(0.001, 0.005),
    ):
        with pytest.raises(MillstreamError, match=r"sketch\.") as failure:
            call()
        assert "\n" not in str(failure.value)
    assert counts.updates == kll.updates == 0


def xxh64(data, seed):
    """XXH64 of fewer than 32 bytes, from its specification."""
    primes = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)
    mask = 2**64 - 1

    def rotated(x, bits):
        return ((x << bits) | (x >> (64 - bits))) & mask

    h = (seed + primes[4] + len(data)) & mask
    while len(data) >= 8:
        word = int.from_bytes(data[:8], "little")
        h ^= rotated(word * primes[1] & mask, 31) * primes[0] & mask
        h, data = (rotated(h, 27) * primes[0] + primes[3]) & mask, data[8:]
    if len(data) >= 4:
        h ^= int.from_bytes(data[:4], "little") * primes[0] & mask
        h, data = (rotated(h, 23) * primes[1] + primes[2]) & mask, data[4:]
    for byte in data:
        h = rotated(h ^ (byte * primes[4] & mask), 11) * primes[0] & mask
    h = (h ^ (h >> 33)) * primes[1] & mask
    h = (h ^ (h >> 29)) * primes[2] & mask
    return h ^ (h >> 32)


def test_equal_keys_have_one_hash_which_is_published():
    assert xxh64(b"abc", 0) == 0x44BC2CF5AD770999
    summary = sketch.Theta(16, seed=7)
    summary.update_many([1, 1.0, True, np.int32(1), np.float32(1.0)])
    summary.update("1")
    assert summary.query() == 2.0
    for data in (b"i" + (1).to_bytes(8, "little"), b"s1"):
        assert xxh64(data, 7).to_bytes(8, "big") in summary.to_bytes()


def test_counts_are_not_collections():
    """Without a refusal, Python would look up 0, 1, 2 and so on for ever."""
    for name in ("CountMin", "CountSketch", "SpaceSaving"):
        counts = made(name)
        counts.update("ann")
        with pytest.raises(TypeError, match="not a container|not iterable"):
            "ann" in counts  # noqa: B015
        with pytest.raises(TypeError, match="not iterable"):
            list(counts)


def test_kll_memory_at_a_billion_numbers():
    block = np.random.default_rng(0).normal(size=1 << 20)
    summary = sketch.KLL()
    summary.update_many(block)
    for _ in range(10):
        summary.merge(summary.copy())
    assert summary.total_weight == 2**30
    before = summary.memory
    assert before < 8000
    assert len(summary.to_bytes()) < 8000
    assert rank_error(summary, *ranks(block)) < summary.error().bound
    # Questions leave nothing behind, and many at once have the answers of one at a time.
    q = [0.0, 0.01, 0.5, 0.99, 1.0]
    assert summary.quantile(q).tolist() == [summary.quantile(each) for each in q]
    assert summary.rank(q).tolist() == [summary.rank(each) for each in q]
    assert summary.memory == before


def test_weights_are_repetitions():
    for name in (*NUMBERS, "CountMin", "SpaceSaving"):
        xs = [3.0, 1.0, 2.0, 1.0]
        weighted, repeated = made(name), made(name)
        weighted.update_many(xs, [1, 2, 0, 3])
        repeated.update_many([3.0] + [1.0] * 5)
        asked = (0.3, 0.9) if name in NUMBERS else (1.0, 2.0, 3.0)
        assert [weighted.query(x) for x in asked] == [repeated.query(x) for x in asked]
        assert weighted.updates == 3


def test_states_of_other_sketches_are_refused():
    for name in (*NUMBERS, *KEYS):
        with pytest.raises(InvalidState):
            type(made(name))._revive(b"nothing")
    small, large = sketch.Theta(16), sketch.Theta(4096)
    large.update_many(range(3000))
    forged = large.to_bytes().replace(b'"k":4096', b'"k":1024')
    with pytest.raises(InvalidState):
        type(small)._revive(forged)


def test_rivers_names():
    counter = sketch.Counter(0.05)
    counter.update("a")
    assert isinstance(counter, sketch.CountMin)
    assert counter["a"] == 1.0
    unique = sketch.NUnique(0.01, seed=3)
    for x in range(100):
        unique.update(x)
    assert unique.get() == pytest.approx(100, abs=2)
    seen = sketch.Set(capacity=100, fp_rate=0.01)
    seen.add("x")
    assert "x" in seen
    assert seen.false_positive_rate == seen.fp_rate == 0.01


def test_sketches_are_listed_and_built_from_descriptions():
    names = millstream.find(role="sketch")
    assert names == sorted(f"sketch.{name}" for name in (*NUMBERS, *KEYS))
    for name in names:
        built = millstream.build({"name": name})
        assert built.role == "sketch"
        assert pickle.loads(pickle.dumps(built)).to_bytes() == built.to_bytes()
        built.reset()
        assert built.updates == 0


@pytest.mark.parametrize("name", NUMBERS)
def test_integers_beyond_64_bits_are_numbers_in_batches_too(name):
    one, many = made(name), made(name)
    values = [1, 2**70, 2**65, 2.5]
    for x in values:
        one.update(x)
    many.update_many(values)
    assert many.to_bytes() == one.to_bytes()


@pytest.mark.parametrize("name", KEYS)
def test_keys_beyond_64_bits_have_one_message(name):
    for key in (2**63, -(2**70), 10**400):
        for call in (lambda key=key: made(name).update(key), lambda key=key: made(name).update_many([1, key])):
            with pytest.raises(InvalidValue, match="an integer must fit in 64 bits, got int -?[19]"):
                call()
