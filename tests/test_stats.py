"""Statistics: parity with NumPy, SciPy and River, merging, windows, bad input, state."""

from __future__ import annotations

import contextlib
import copy
import math
import pickle
from typing import Any

import numpy as np
import pytest
import river.stats
import scipy.stats

import millstream
from millstream import stats
from millstream.errors import InvalidType, InvalidValue, MillstreamError
from streams import ARGUMENTS

pytestmark = pytest.mark.linear_algebra

RNG = np.random.default_rng(11)
X = RNG.gamma(2.0, 3.0, 300) - 1.0
Y = 0.5 * X + RNG.normal(size=300)
W = RNG.uniform(0.2, 3.0, 300)
WHOLE = RNG.integers(1, 5, 300)


def _median(x: Any) -> Any:
    return np.quantile(x, 0.5, method="inverted_cdf")


EXACT = {
    "Count": len,
    "Sum": np.sum,
    "Mean": np.mean,
    "Var": lambda x: np.var(x, ddof=1),
    "Skew": lambda x: scipy.stats.skew(x, bias=False),
    "Kurtosis": lambda x: scipy.stats.kurtosis(x, bias=False),
    "Min": np.min,
    "Max": np.max,
    "AbsMax": lambda x: np.max(np.abs(x)),
    "PeakToPeak": np.ptp,
    "SEM": scipy.stats.sem,
    "BayesianMean": lambda x: (np.sum(x) + 0.5 * 3.0) / (len(x) + 3.0),
    "IQR": lambda x: np.subtract(*np.quantile(x, [0.75, 0.25], method="inverted_cdf")),
    "MAD": lambda x: _median(np.abs(x - _median(x))),
    "Quantile": lambda x: np.quantile(x, 0.5, method="inverted_cdf"),
}
MERGED = [
    *("Count", "Sum", "Mean", "BayesianMean", "Var", "SEM", "Cov", "PearsonCorr", "Skew", "Kurtosis"),
    *("Min", "Max", "AbsMax", "PeakToPeak", "Entropy", "ChiSquared", "KolmogorovSmirnov"),
]
#: Statistics of values, whose value is one of them.
VALUES = ("Mode", "Shift")


def make(name: str) -> Any:
    return getattr(stats, name)(**ARGUMENTS.get(f"stats.{name}", {}))


def tell(statistic: Any, part: slice, w: Any = None) -> None:
    more = (Y[part],) if statistic._takes_pairs() else ()
    time = {"t": np.arange(300.0)[part]} if statistic._takes_time() else {}
    statistic.update_many(X[part], *more, w=None if w is None else w[part], **time)


@pytest.mark.parametrize("name", EXACT)
def test_equals_numpy_and_scipy(name: str) -> None:
    statistic = make(name)
    statistic.update_many(X)
    assert statistic.get() == pytest.approx(EXACT[name](X), rel=1e-12)


@pytest.mark.parametrize("name", EXACT)
def test_a_whole_weight_is_that_many_numbers(name: str) -> None:
    statistic = make(name)
    statistic.update_many(X, WHOLE)
    assert statistic.get() == pytest.approx(EXACT[name](np.repeat(X, WHOLE)), rel=1e-11)


@pytest.mark.parametrize("bias", [True, False])
def test_shape_equals_scipy(bias: bool) -> None:
    for n in range(4, 12):
        skew, kurtosis = stats.Skew(bias=bias), stats.Kurtosis(bias=bias)
        skew.update_many(X[:n])
        kurtosis.update_many(X[:n])
        assert skew.get() == pytest.approx(scipy.stats.skew(X[:n], bias=bias), rel=1e-9)
        assert kurtosis.get() == pytest.approx(scipy.stats.kurtosis(X[:n], bias=bias), rel=1e-9)


def test_pairs_equal_numpy() -> None:
    cov, corr = stats.Cov(), stats.PearsonCorr()
    cov.update_many(X, Y, WHOLE)
    corr.update_many(X, Y, W)
    assert cov.get() == pytest.approx(np.cov(X, Y, fweights=WHOLE)[0, 1], rel=1e-12)
    weighted = np.cov(X, Y, aweights=W)
    assert corr.get() == pytest.approx(weighted[0, 1] / math.sqrt(weighted[0, 0] * weighted[1, 1]), rel=1e-12)


@pytest.mark.parametrize(
    "name", [*(name for name in EXACT if name not in ("Quantile", "IQR", "MAD")), "EWMean", "EWVar"]
)
def test_every_step_equals_river(name: str) -> None:
    ours, theirs = make(name), getattr(river.stats, name)(**ARGUMENTS.get(f"stats.{name}", {}))
    for n, x in enumerate(X.tolist(), 1):
        ours.update(x)
        theirs.update(x)
        # Of what is undefined River says 0, and -3 of kurtosis; ours is NaN as in NumPy and SciPy.
        if n > 3 or name not in ("Var", "SEM", "Skew", "Kurtosis"):
            # River's EWVar subtracts a square from a mean of squares.
            assert ours.get() == pytest.approx(theirs.get(), rel=1e-7 if name == "EWVar" else 1e-9)


def test_pairs_equal_river() -> None:
    for name in ("Cov", "PearsonCorr", "EWCov", "KolmogorovSmirnov"):
        ours, theirs = make(name), getattr(river.stats, name)()
        for n, (x, y) in enumerate(zip(X.tolist(), Y.tolist(), strict=True)):
            ours.update(x, y)
            theirs.update(x, y)
            if n > 3:
                assert ours.get() == pytest.approx(theirs.get(), rel=1e-9)


@pytest.mark.parametrize("name", ["EWMean", "EWVar", "EWCov"])
def test_exponential_weights(name: str) -> None:
    once, twice = make(name), make(name)
    for x, y in zip(X.tolist(), Y.tolist(), strict=True):
        more = (y,) if name == "EWCov" else ()
        once.update(x, *more, 2.0)
        twice.update(x, *more)
        twice.update(x, *more)
    assert once.get() == pytest.approx(twice.get(), rel=1e-12)


@pytest.mark.parametrize("q", [0.0, 0.05, 0.5, 0.99, 1.0])
@pytest.mark.parametrize("order", ["random", "rising", "sawtooth", "few"])
def test_a_quantile_is_within_its_error(q: float, order: str) -> None:
    n = 50_000
    x = RNG.normal(size=n)
    sawtooth = np.sort(x).reshape(50, -1).T.ravel()
    x = {"random": x, "rising": np.sort(x), "sawtooth": sawtooth, "few": np.round(x)}[order]
    w = RNG.uniform(0.5, 1.5, n)
    statistic = stats.Quantile(q)
    statistic.update_many(x, w)
    value = statistic.get()
    below, at = w[x < value].sum() / w.sum(), w[x <= value].sum() / w.sum()
    assert statistic.error < 0.012
    assert below - statistic.error - 1e-9 <= q <= at + statistic.error + 1e-9
    assert statistic.memory < 400_000


@pytest.mark.parametrize("name", MERGED)
def test_merging_parts_gives_the_whole(name: str) -> None:
    whole, first, second, empty = make(name), make(name), make(name), make(name)
    tell(whole, slice(None), W)
    tell(first, slice(0, 120), W)
    tell(second, slice(120, 300), W)
    assert (first + second).get() == pytest.approx(whole.get(), rel=1e-10)
    first += second
    first += empty
    assert first.get() == pytest.approx(whole.get(), rel=1e-10)
    assert first.updates == 300
    empty.merge(whole)
    assert empty.get() == pytest.approx(whole.get(), rel=1e-12)


@pytest.mark.parametrize("name", ["EWMean", "Quantile", "IQR", "Mode", "Shift", "AutoCorr", "Link", "Rolling"])
def test_what_cannot_be_merged_says_so(name: str) -> None:
    with pytest.raises(ValueError, match="cannot be merged: "):
        make(name).merge(make(name))
    with pytest.raises(TypeError):
        make(name).merge(stats.Count())
    with pytest.raises(ValueError, match="got ddof 0 and 1"):
        stats.Var(ddof=0).merge(stats.Var())


@pytest.mark.parametrize("name", [*EXACT, "Cov", "PearsonCorr", "EWMean", "Entropy", "Mode", "AutoCorr"])
def test_rolling_equals_recomputation(name: str) -> None:
    for size in (1, 5, 40):
        rolling = stats.Rolling(make(name), window_size=size)
        for end in range(300):
            more = (Y[end],) if name in ("Cov", "PearsonCorr") else ()
            rolling.update(X[end], *more, w=W[end])
            if end % 11 == 0:
                plain = make(name)
                tell(plain, slice(max(0, end + 1 - size), end + 1), W)
                assert rolling.get() == pytest.approx(plain.get(), rel=1e-10, abs=1e-10, nan_ok=True), (size, end)


def test_large_numbers_close_together() -> None:
    """Where the mean of squares minus the square of the mean has no digit left."""
    x = 1e9 + RNG.normal(size=1000)
    for name in ("Var", "Skew", "Kurtosis"):
        statistic = make(name)
        statistic.update_many(x)
        assert statistic.get() == pytest.approx(EXACT[name](x - 1e9), rel=1e-4)
    total = stats.Sum()
    total.update_many(np.full(100_000, 0.1))
    assert total.get() == pytest.approx(10_000, rel=1e-15)


def test_undefined_is_nan() -> None:
    for name in millstream.find(role="statistic"):
        short = name.partition(".")[2]
        if short in VALUES:
            assert make(short).get() is None
        elif short not in ("Count", "Sum", "BayesianMean"):
            assert math.isnan(make(short).get())
    assert stats.Count().get() == stats.Sum().get() == 0.0
    constant = stats.Skew()
    constant.update_many([2.0] * 5)
    assert math.isnan(constant.get())


@pytest.mark.parametrize("name", [name.partition(".")[2] for name in millstream.find(role="statistic")])
def test_state_and_bad_input(name: str) -> None:
    statistic = make(name)
    tell(statistic, slice(0, 100), W)
    twins = [
        pickle.loads(pickle.dumps(statistic)),
        copy.copy(statistic),
        millstream.from_bytes(statistic.to_bytes()),
    ]
    before = statistic.to_bytes()
    more = (1.0,) if statistic._takes_pairs() else ()
    time = {"t": 99.0} if statistic._takes_time() else {}
    for bad in (math.nan, math.inf, "a", None, object()):
        if bad != "a" or not statistic._is_nominal():
            with pytest.raises(MillstreamError):
                statistic.update(bad, *more, **time)
    for weight in (-1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="weight must be"):
            statistic.update(1.0, *more, w=weight, **time)
    statistic.update(5.0, *more, w=0.0, **time)
    if statistic._is_nominal():
        statistic.update("a string", *more, w=0.0)
    times = {"t": [99.0, 99.0]} if time else {}
    with pytest.raises(ValueError, match="row 1"):
        statistic.update_many([1.0, math.nan], *([1.0, 1.0] for _ in more), **times)
    assert statistic.to_bytes() == before
    tell(statistic, slice(100, 300), W)
    for twin in twins:
        for row in range(100, 300):
            twin.update(X[row], *([Y[row]] if more else []), w=W[row], **({"t": float(row)} if time else {}))
        assert twin.to_bytes() == statistic.to_bytes()
    clone = statistic.clone()
    statistic.reset()
    assert statistic.to_bytes() == clone.to_bytes()


def test_overflow_is_caught() -> None:
    for name in ("Sum", "Mean", "Var", "Cov", "Skew", "Kurtosis", "EWVar"):
        statistic = make(name)
        more = (1e200,) if statistic._takes_pairs() else ()
        statistic.update(1e308 if name in ("Sum", "Mean") else 1.0, *(y / 1e200 for y in more))
        before = statistic.to_bytes()
        with pytest.raises(OverflowError):
            statistic.update(-1e308 if name != "Sum" else 1e308, *(-y for y in more))
        assert statistic.to_bytes() == before


@pytest.mark.parametrize("name", ["Skew", "Kurtosis"])
def test_a_shape_that_rounding_has_taken_is_nan(name: str) -> None:
    """Never infinite: the squares of these numbers have all but vanished, or all the weight is on one."""
    for told in (
        [(0.0, 1.0), (1e-160, 1.0), (0.0, 1.0), (1e-160, 1.0), (1.0, 5e-324)],
        [(1e-308, 1.0), (0.0, 1.0), (1e9, 1.0), (1e-160, 1e300)],
        [(0.0, 1e300), (1.0, 5e-324), (1.0, 1e-300)],
    ):
        statistic = getattr(stats, name)()
        for x, w in told:
            with contextlib.suppress(OverflowError):
                statistic.update(x, w)
            assert not math.isinf(statistic.get())


def test_what_a_masked_array_hides_is_refused() -> None:
    statistic = stats.Mean()
    with pytest.raises(ValueError, match="row 1: .*NaN"):
        statistic.update_many(np.ma.array([1.0, 9e9], mask=[0, 1]))
    assert statistic.to_bytes() == stats.Mean().to_bytes()


#: Streams on which a window that subtracts loses its digits.
def _hostile() -> dict[str, Any]:
    random = np.random.default_rng(5)
    plain = random.normal(size=400)
    outliers = plain.copy()
    outliers[::13] = 1e8
    outliers[::29] = 1e16
    signed = plain.copy()
    signed[::7] = 1e16 * random.choice([-1.0, 1.0], len(signed[::7]))
    shifted = np.where(np.arange(400) // 50 % 2 == 0, plain, 1e8 + plain)
    steps = np.repeat([1e16, 1.0, 2.0, 1e8, 0.0, 3.0, 1e16, 5.0], 50)
    return {"outliers": outliers, "signed": signed, "shifted": shifted, "steps": steps, "tiny": plain * 1e-150}


TWO_PASS = {
    "Sum": lambda x: math.fsum(x),
    "Mean": lambda x: math.fsum(x) / len(x),
    "Var": lambda x: math.fsum((x - x.mean()) ** 2) / (len(x) - 1) if len(x) > 1 else math.nan,
    "SEM": lambda x: math.sqrt(np.var(x, ddof=1) / len(x)) if len(x) > 1 else math.nan,
    "Min": np.min,
    "Max": np.max,
    "AbsMax": lambda x: np.max(np.abs(x)),
    "PeakToPeak": np.ptp,
    "Quantile": _median,
    "IQR": EXACT["IQR"],
    "MAD": EXACT["MAD"],
}


@pytest.mark.parametrize("stream", _hostile())
@pytest.mark.parametrize("name", TWO_PASS)
def test_a_window_equals_two_passes_at_every_step(stream: str, name: str) -> None:
    x = _hostile()[stream]
    for size in (1, 3, 20):
        rolling, timed = stats.Rolling(make(name), size), stats.TimeRolling(make(name), period=float(size))
        for end in range(len(x)):
            rolling.update(x[end])
            timed.update(x[end], t=end)
            window = x[max(0, end + 1 - size) : end + 1]
            # A sum of numbers of both signs is exact to the rounding of its largest number.
            slack = (
                1e-15 * np.max(np.abs(window)) * len(window)
                if stream == "signed" and name in ("Sum", "Mean")
                else 0.0
            )
            expected = pytest.approx(TWO_PASS[name](window), rel=1e-12, abs=slack, nan_ok=True)
            assert rolling.get() == expected, (size, end)
            assert timed.get() == expected, (size, end)


def test_windows_of_pairs_equal_numpy_at_every_step() -> None:
    x = _hostile()["shifted"]
    y = np.roll(x, 3) + np.sin(np.arange(len(x)))
    cov, corr = stats.RollingCov(20), stats.RollingPearsonCorr(20)
    for end in range(len(x)):
        cov.update(x[end], y[end])
        corr.update(x[end], y[end])
        a, b = x[max(0, end - 19) : end + 1], y[max(0, end - 19) : end + 1]
        if len(a) > 2:
            products = math.fsum((a - a.mean()) * (b - b.mean()))
            scale = math.sqrt(math.fsum((a - a.mean()) ** 2) * math.fsum((b - b.mean()) ** 2))
            assert cov.get() == pytest.approx(products / (len(a) - 1), rel=1e-12, abs=1e-12 * scale)
            assert corr.get() == pytest.approx(products / scale, abs=1e-12)


def test_what_river_loses_is_kept() -> None:
    """River's rolling variance is 0.75 here, and its rolling mean 1.67, because it subtracts what leaves."""
    variance, mean = stats.Rolling(stats.Var(), 3), stats.Rolling(stats.Mean(), 3)
    theirs, means = river.utils.Rolling(river.stats.Var, 3), river.utils.Rolling(river.stats.Mean, 3)
    for x in (1e8, 1e8, 1.0, 2.0, 3.0):
        variance.update(x)
        theirs.update(x)
    for x in (1e16, 1.0, 2.0, 3.0):
        mean.update(x)
        means.update(x)
    assert variance.get() == 1.0
    assert mean.get() == 2.0
    assert abs(theirs.get() - 1.0) > 1e-3
    assert abs(means.get() - 2.0) > 1e-3


def test_nan_in_a_rolling_quantile_is_refused_in_one_line() -> None:
    """River's raises a panic of Rust, which is no Exception."""
    statistic = stats.RollingQuantile(0.5, window_size=3)
    statistic.update_many([3.0, 1.0, 2.0])
    before = statistic.to_bytes()
    with pytest.raises(ValueError, match=r"^stats\.Rolling: x must be finite, got NaN$"):
        statistic.update(math.nan)
    assert statistic.to_bytes() == before
    assert statistic.get() == 2.0


def test_weighted_windows_of_quantiles() -> None:
    whole, window = WHOLE.astype(float), 15
    for name in ("Quantile", "IQR", "MAD"):
        rolling = stats.Rolling(make(name), window)
        for end in range(300):
            # Weights of 1 for a while, so that the window has both forms.
            w = whole if end % 100 < 60 else np.ones(300)
            rolling.update(X[end], w=w[end])
            part = slice(max(0, end + 1 - window), end + 1)
            weights = np.array([whole[i] if i % 100 < 60 else 1.0 for i in range(300)])[part].astype(int)
            assert rolling.get() == pytest.approx(EXACT[name](np.repeat(X[part], weights)), rel=1e-12)


def test_late_numbers_are_placed_or_refused() -> None:
    random = np.random.default_rng(2)
    times = np.arange(200.0) - random.integers(0, 6, 200)
    for name in ("Mean", "Var", "Max", "Quantile", "EWMean"):
        statistic = stats.TimeRolling(make(name), period=10.0, lateness=6.0)
        for at, (x, t) in enumerate(zip(X[:200].tolist(), times.tolist(), strict=True)):
            statistic.update(x, t=t)
            newest = times[: at + 1].max()
            inside = np.flatnonzero(times[: at + 1] > newest - 10.0)
            plain = make(name)
            for i in sorted(inside, key=lambda i: (times[i], i)):
                plain.update(X[i])
            assert statistic.get() == pytest.approx(plain.get(), rel=1e-12, nan_ok=True), (name, at)
    before = statistic.to_bytes()
    with pytest.raises(ValueError, match="lateness = 6"):
        statistic.update(1.0, t=100.0)
    assert statistic.to_bytes() == before
    # What is too old for the window, but not too late, changes nothing.
    old = stats.TimeRolling(stats.Sum(), period=2.0)
    old.update_many([1.0, 5.0], t=[10.0, 3.0])
    assert old.get() == 1.0
    skipping = stats.TimeRolling(stats.Sum(), period=20.0, lateness=2.0, late="skip")
    skipping.update_many([1.0, 5.0, 7.0], t=[10.0, 3.0, 9.0])
    assert skipping.get() == 8.0
    full = stats.TimeRolling(stats.Sum(), period=20.0, max_size=2)
    full.update_many([1.0, 2.0], t=[1.0, 2.0])
    with pytest.raises(ValueError, match="max_size = 2"):
        full.update(3.0, t=3.0)


def test_times_may_be_dates() -> None:
    import datetime

    import pandas as pd

    days = [datetime.datetime(2019, 1, day) for day in (1, 2, 3, 4)]
    kinds: list[Any] = [
        days,
        np.array(days, dtype="datetime64[ns]"),
        pd.Series(days),
        [datetime.date(2019, 1, day) for day in (1, 2, 3, 4)],
        [day.timestamp() for day in days],
    ]
    for times in kinds:
        for period in (datetime.timedelta(days=3), np.timedelta64(3, "D"), 3 * 86400.0):
            together, one_by_one = stats.TimeRolling(stats.Mean(), period), stats.TimeRolling(stats.Mean, period)
            together.update_many([1, 5, 9, 13], t=times)
            for x, t in zip([1, 5, 9, 13], times, strict=True):
                one_by_one.update(x, t=t)
            assert together.get() == one_by_one.get() == 9.0
            assert together.to_bytes() == one_by_one.to_bytes()
    with pytest.raises(TypeError):
        stats.TimeRolling(stats.Mean(), 3.0).update(1.0)
    with pytest.raises(MillstreamError, match="t must be finite"):
        stats.TimeRolling(stats.Mean(), 3.0).update(1.0, t=math.nan)
    with pytest.raises(MillstreamError, match="without times"):
        stats.Rolling(stats.TimeRolling(stats.Mean(), 3.0), 5)
    with pytest.raises(MillstreamError, match="TimeRolling"):
        (stats.Shift() | stats.Mean()).update(1.0, t=3.0)


@pytest.mark.parametrize("name", ["Count", "Sum", "Mean", "BayesianMean", "Var", "SEM", "Skew", "Kurtosis"])
def test_a_part_can_be_removed(name: str) -> None:
    whole, first, second = make(name), make(name), make(name)
    tell(whole, slice(None))
    tell(first, slice(0, 120))
    tell(second, slice(120, 300))
    rest = whole - second
    assert rest.get() == pytest.approx(first.get(), rel=1e-9)
    assert rest.updates == 120
    for x in X[120:].tolist():
        whole.revert(x)
    assert whole.get() == pytest.approx(first.get(), rel=1e-9)
    first -= first.copy()
    assert first.updates == 0
    with pytest.raises(ValueError, match="never added"):
        first.revert(1.0)


def test_what_cannot_be_removed_says_so() -> None:
    for name in ("Max", "Quantile", "Rolling", "EWMean"):
        with pytest.raises(ValueError, match="cannot be removed"):
            make(name).revert(1.0)
        with pytest.raises(ValueError, match="cannot be removed"):
            make(name) - make(name)
    pairs = stats.Cov()
    pairs.update_many(X, Y)
    part = stats.Cov()
    part.update_many(X[:50], Y[:50])
    rest = stats.Cov()
    rest.update_many(X[50:], Y[50:])
    assert (pairs - part).get() == pytest.approx(rest.get(), rel=1e-10)
    pairs.revert(X[0], Y[0])
    assert pairs.updates == 299


def test_strings_and_bools_are_values() -> None:
    mode = stats.Mode(k=-1)
    mode.update_many(["b", "a", "b", "a", "c"])
    assert mode.get() == "b"
    other = stats.Mode(k=-1)
    other.update_many(["c", "a", "c", True, 2.5])
    mode.merge(other)
    # Three of each, and "a" appeared first.
    assert mode.get() == "a"
    mode.update("c", 3.0)
    assert (mode.get(), repr(mode)) == ("c", "Mode: c")
    assert millstream.from_bytes(mode.to_bytes()).get() == "c"
    for values in (["x", "y", "x"], [True, False, True], [1, 0, 1], np.array([1.0, 0.0, 1.0])):
        entropy = stats.Entropy()
        entropy.update_many(values)
        assert entropy.get() == pytest.approx(scipy.stats.entropy([2, 1]), rel=1e-14)
    table = stats.ChiSquared()
    table.update_many(["a", "b", "a", "b", "c"], [0, 1, 1, 1, 0])
    expected = scipy.stats.chi2_contingency([[1, 1], [0, 2], [1, 0]], correction=False)
    assert (table.get(), table.p_value) == pytest.approx((expected.statistic, expected.pvalue), rel=1e-12)
    assert table.degrees_of_freedom == 2
    before = table.to_bytes()
    with pytest.raises(MillstreamError):
        table.update("new", math.nan)
    with pytest.raises(MillstreamError, match="row 1"):
        table.update_many(["new", "other"], [0, math.nan])
    assert table.to_bytes() == before
    with pytest.raises(MillstreamError, match="x must be a number"):
        stats.Mean().update("a")
    with pytest.raises(MillstreamError, match="x must be a number"):
        (stats.Shift() | stats.Mean()).update("a")


@pytest.mark.parametrize("statistic", ["ks", "kuiper"])
def test_distances_of_distributions(statistic: str) -> None:
    ours, theirs = stats.KolmogorovSmirnov(statistic), river.stats.KolmogorovSmirnov(statistic)
    # River's Kuiper statistic counts the step of x before that of an equal y.
    x, y = (X, Y + 1.0) if statistic == "kuiper" else (np.round(X, 1), np.round(Y + 1.0, 1))
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        ours.update(a, b)
        theirs.update(a, b)
    assert ours.get() == pytest.approx(theirs.get(), rel=1e-12)
    if statistic == "ks":
        assert ours.get() == pytest.approx(scipy.stats.ks_2samp(x, y).statistic, rel=1e-12)
    assert ours.n_samples == 300


def test_autocorrelation_equals_pandas() -> None:
    import pandas as pd

    for lag in (1, 2, 7):
        statistic = stats.AutoCorr(lag)
        statistic.update_many(X)
        assert statistic.get() == pytest.approx(pd.Series(X).autocorr(lag), rel=1e-11)


def test_decayed_variances_are_never_negative() -> None:
    """As they may be where the square of a mean is subtracted from a mean of squares (River, pull request 981)."""
    random = np.random.default_rng(3)
    for factor in (0.001, 0.5, 0.999):
        statistic = stats.EWVar(factor)
        for x in 1e8 + 1e-3 * random.normal(size=500):
            statistic.update(x)
            assert statistic.get() >= 0.0
        assert statistic.get() < 1e-4


def test_every_name_of_river_is_here() -> None:
    """`base` has the base classes; ours are `stats.Statistic`."""
    assert set(river.stats.__all__) - {"base"} <= set(stats.__all__)


def test_every_rolling_form_is_a_rolling_statistic() -> None:
    for name in stats.__all__:
        if not name.startswith("Rolling") or name == "Rolling":
            continue
        form = getattr(stats, name)(0.9, 5) if name == "RollingQuantile" else getattr(stats, name)(5)
        assert form.describe()["name"] == "stats.Rolling"
        assert form.statistic.name == f"stats.{name.removeprefix('Rolling')}"
        assert form.window_size == 5


@pytest.mark.parametrize("name", ["Mean", "Sum", "Var", "Mode", "Max"])
def test_integers_beyond_64_bits_are_numbers_in_batches_too(name: str) -> None:
    one, many, objects = (getattr(stats, name)() for _ in range(3))
    values = [1, 2**70, -(2**65), 2.5]
    for x in values:
        one.update(x)
    many.update_many(values)
    objects.update_many(np.array(values, dtype=object))
    assert many.to_bytes() == one.to_bytes() == objects.to_bytes()
    for bad in (lambda: one.update(10**400), lambda: many.update_many([1.0, 10**400])):
        with pytest.raises(InvalidValue, match="x must fit in a float, got int 1000"):
            bad()
    with pytest.raises(InvalidType):
        stats.Mean().update_many([1.0, "x"])
    with pytest.raises(InvalidValue, match="w must fit in a float, got int 1000"):
        stats.Mean().update_many([1.0, 2.0], w=[1.0, 10**400])


def test_reverting_a_window_is_refused_in_one_line() -> None:
    pairs = stats.Rolling(stats.Cov(), 3)
    pairs.update(1.0, 2.0)
    links = stats.Shift(1) | stats.Mean()
    for call, message in (
        (lambda: pairs.revert(1.0, 2.0, w=1.0), r"^stats.Rolling: a number cannot be removed$"),
        (lambda: pairs.revert(1.0, w=1.0), r"^stats.Rolling: its statistic takes x and y, got 1 arguments$"),
        (lambda: stats.Rolling(stats.Var(), 3).revert(1.0, 2.0), r"takes x alone, got 2 arguments$"),
        (lambda: links.revert(1.0, w=2.0), r"^stats.Link: a number cannot be removed"),
        (lambda: stats.Max().revert(1.0), "use stats.Rolling for a window$"),
    ):
        with pytest.raises(MillstreamError, match=message):
            call()
