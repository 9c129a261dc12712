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
from millstream.errors import MillstreamError
from streams import ARGUMENTS

pytestmark = pytest.mark.linear_algebra

RNG = np.random.default_rng(11)
X = RNG.gamma(2.0, 3.0, 300) - 1.0
Y = 0.5 * X + RNG.normal(size=300)
W = RNG.uniform(0.2, 3.0, 300)
WHOLE = RNG.integers(1, 5, 300)

EXACT = {
    "Count": len,
    "Sum": np.sum,
    "Mean": np.mean,
    "Var": lambda x: np.var(x, ddof=1),
    "Skew": lambda x: scipy.stats.skew(x, bias=False),
    "Kurtosis": lambda x: scipy.stats.kurtosis(x, bias=False),
    "Min": np.min,
    "Max": np.max,
    "Quantile": lambda x: np.quantile(x, 0.5, method="inverted_cdf"),
}
MERGED = ["Count", "Sum", "Mean", "Var", "Cov", "PearsonCorr", "Skew", "Kurtosis", "Min", "Max"]


def make(name: str) -> Any:
    return getattr(stats, name)(**ARGUMENTS.get(f"stats.{name}", {}))


def tell(statistic: Any, part: slice, w: Any = None) -> None:
    more = (Y[part],) if statistic._takes_pairs() else ()
    statistic.update_many(X[part], *more, w=None if w is None else w[part])


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


@pytest.mark.parametrize("name", [*(name for name in EXACT if name != "Quantile"), "EWMean", "EWVar"])
def test_every_step_equals_river(name: str) -> None:
    ours, theirs = make(name), getattr(river.stats, name)()
    for n, x in enumerate(X.tolist(), 1):
        ours.update(x)
        theirs.update(x)
        # Of what is undefined River says 0, and -3 of kurtosis; ours is NaN as in NumPy and SciPy.
        if n > 3 or name not in ("Var", "Skew", "Kurtosis"):
            # River's EWVar subtracts a square from a mean of squares.
            assert ours.get() == pytest.approx(theirs.get(), rel=1e-7 if name == "EWVar" else 1e-9)


def test_pairs_equal_river() -> None:
    for name in ("Cov", "PearsonCorr"):
        ours, theirs = make(name), getattr(river.stats, name)()
        for n, (x, y) in enumerate(zip(X.tolist(), Y.tolist(), strict=True)):
            ours.update(x, y)
            theirs.update(x, y)
            if n > 3:
                assert ours.get() == pytest.approx(theirs.get(), rel=1e-9)


@pytest.mark.parametrize("name", ["EWMean", "EWVar"])
def test_exponential_weights(name: str) -> None:
    once, twice = make(name), make(name)
    for x in X.tolist():
        once.update(x, 2.0)
        twice.update(x)
        twice.update(x)
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


@pytest.mark.parametrize("name", ["EWMean", "Quantile", "Rolling"])
def test_what_cannot_be_merged_exactly_says_so(name: str) -> None:
    with pytest.raises(ValueError, match="cannot be merged exactly"):
        make(name).merge(make(name))
    with pytest.raises(TypeError):
        make(name).merge(stats.Count())
    with pytest.raises(ValueError, match="only the same"):
        stats.Var(ddof=0).merge(stats.Var())


@pytest.mark.parametrize("name", [*EXACT, "Cov", "PearsonCorr", "EWMean"])
def test_rolling_equals_recomputation(name: str) -> None:
    for size in (1, 5, 40):
        rolling = stats.Rolling(make(name), window_size=size)
        for end in range(300):
            more = (Y[end],) if name in ("Cov", "PearsonCorr") else ()
            rolling.update(X[end], *more, w=W[end])
            if end % 11 == 0:
                plain = make(name)
                tell(plain, slice(max(0, end + 1 - size), end + 1), W)
                assert rolling.get() == pytest.approx(plain.get(), rel=1e-6, abs=1e-9, nan_ok=True), (size, end)


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
        if name not in ("stats.Count", "stats.Sum"):
            assert math.isnan(make(name.partition(".")[2]).get())
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
    for bad in (math.nan, math.inf, "a", None, object()):
        with pytest.raises(MillstreamError):
            statistic.update(bad, *more)
    for weight in (-1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="weight must be"):
            statistic.update(1.0, *more, w=weight)
    statistic.update(5.0, *more, w=0.0)
    with pytest.raises(ValueError, match="row 1"):
        statistic.update_many([1.0, math.nan], *([1.0, 1.0] for _ in more))
    assert statistic.to_bytes() == before
    tell(statistic, slice(100, 300), W)
    for twin in twins:
        for row in range(100, 300):
            twin.update(X[row], *([Y[row]] if more else []), w=W[row])
        assert twin.to_bytes() == statistic.to_bytes()
    clone = statistic.clone()
    statistic.reset()
    assert statistic.to_bytes() == clone.to_bytes()


def test_overflow_is_caught() -> None:
    for name in ("Sum", "Var", "Cov", "Skew", "Kurtosis", "EWVar"):
        statistic = make(name)
        more = (1e200,) if statistic._takes_pairs() else ()
        statistic.update(1e308, *more)
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
