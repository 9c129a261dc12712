"""One enormous number must not make a component useless: it is refused, or later numbers are still learned."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import millstream
from millstream import stats
from millstream.errors import MillstreamError
from streams import CASES, Case, learn_one

#: Classifiers and trees whose statistics belong to one class or leaf: rows of this class or leaf are refused. The
#: loops that learn plain rows have no check.
PER_CLASS = ("GaussianNB", "HoeffdingTree", "HoeffdingAdaptiveTree", "ExtremelyFastDecisionTree", "ARF")

ROWS = [({"a": float(a), "b": float(b)}, float(y)) for a, b, y in np.random.default_rng(3).normal(size=(15, 3))]


def _is_per_class(case: Case) -> bool:
    return any(name in str(case.description) for name in PER_CLASS)


@pytest.mark.parametrize("case", [case for case in CASES if not _is_per_class(case)], ids=repr)
@pytest.mark.parametrize("earlier", [0, 5])
def test_a_huge_number_is_refused_or_does_no_harm(case: Case, earlier: int) -> None:
    huge: list[tuple[dict[str, float], float]] = [({"a": 1e200, "b": 1.0}, 1.0)]
    if case.role == "regressor":
        huge.append(({"a": 1.0, "b": 1.0}, 1e200))
    for x, y in huge:
        model = case.build()
        for good in ROWS[:earlier]:
            learn_one(case, model, *good)
        before = model.to_bytes()
        try:
            learn_one(case, model, x, y)
        except MillstreamError:
            assert model.to_bytes() == before
        for good in ROWS[5:]:
            learn_one(case, model, *good)


def test_the_message_names_the_number() -> None:
    model = millstream.build({"name": "neighbors.KNNClassifier"})
    with pytest.raises(ValueError, match=r"numbers must be in \[-1e100, 1e100\], so that sums .*, got 1e200$"):
        model.learn_one({"a": 1.0, "b": 1e200}, True)


STATISTICS = [
    "AutoCorr",
    "Cov",
    "EWCov",
    "EWVar",
    "Kurtosis",
    "PearsonCorr",
    "SEM",
    "Skew",
    "Var",
]


@pytest.mark.parametrize("windowed", [False, True])
@pytest.mark.parametrize("name", STATISTICS)
def test_statistics_refuse_what_would_make_later_numbers_overflow(name: str, windowed: bool) -> None:
    statistic: Any = getattr(stats, name)()
    pairs = isinstance(statistic, stats.base.Pairs)
    if windowed:
        statistic = stats.Rolling(statistic, 5)

    def update(x: float) -> None:
        statistic.update(x, x * x + 1.0) if pairs else statistic.update(x)

    before = statistic.to_bytes()
    for large in (1e308, -1e200, 1e101):
        with pytest.raises(OverflowError, match="so that sums do not overflow, got "):
            statistic.update(large, 1.0) if pairs else statistic.update(large)
        assert statistic.to_bytes() == before
    for x in (1.0, 3.0, 2.0, 5.0, 4.0, 7.0):
        update(x)
    assert math.isfinite(statistic.get())


@pytest.mark.parametrize(
    ("statistic", "numbers"),
    [
        (stats.EWMean(), [1e308, -1e308]),
        (stats.EWVar(), [1e308, -1e308]),
        (stats.IQR(), [1e308, -1e308, 1e308, -1e308]),
        (stats.MAD(), [1e308, -1e308, -1e308]),
    ],
)
def test_windows_refuse_numbers_of_which_the_statistic_overflows(statistic: Any, numbers: list[float]) -> None:
    window = stats.Rolling(statistic, 7)
    window.update(0.0)
    refused = 0
    for x in (*numbers, 1.0, 2.0, 3.0):
        before = window.to_bytes()
        try:
            window.update(x)
        except OverflowError:
            refused += 1
            assert window.to_bytes() == before
        assert math.isfinite(window.get())
    assert refused == len(numbers)


@pytest.mark.parametrize("statistic", [stats.Entropy(), stats.EWMean(), stats.IQR(), stats.Mode()])
def test_windows_refuse_enormous_weights(statistic: Any) -> None:
    window = stats.Rolling(statistic, 7)
    window.update(1.0)
    before = window.to_bytes()
    with pytest.raises(OverflowError, match=r"^stats.Rolling: w must be at most 1e100, .*, got 1e308$"):
        window.update(1.0, w=1e308)
    assert window.to_bytes() == before
    window.update(1.0)
    assert not math.isnan(window.get())


def test_late_numbers_of_time_windows_are_checked_too() -> None:
    window = stats.TimeRolling(stats.Var(), period=10.0)
    for t in (1.0, 5.0):
        window.update(t, t=t)
    before = window.to_bytes()
    with pytest.raises(OverflowError):
        window.update(1e200, t=3.0)
    assert window.to_bytes() == before
    window.update(3.0, t=3.0)
    assert window.get() == pytest.approx(4.0)


@pytest.mark.parametrize("name", millstream.find(role="covariance_estimator"))
def test_covariances_refuse_what_would_make_later_rows_overflow(name: str) -> None:
    estimator = millstream.build({"name": name})
    before = estimator.to_bytes()
    with pytest.raises(OverflowError, match=r"numbers must be in .* got 1e200$"):
        estimator.update({"a": 1e200, "b": 1.0})
    assert estimator.to_bytes() == before
    for x, _ in ROWS:
        estimator.update(x)
    assert all(math.isfinite(value) for value in np.ravel(estimator.covariance_))


@pytest.mark.parametrize("name", ["preprocessing.StandardScaler", "feature_selection.VarianceThreshold"])
def test_the_first_value_of_a_late_feature_is_checked(name: str) -> None:
    model = millstream.build({"name": name})
    model.learn_one({"a": 1.0})
    before = model.to_bytes()
    with pytest.raises(OverflowError):
        model.learn_one({"a": 1.0, "late": 1e200})
    assert model.to_bytes() == before
    model.learn_one({"a": 2.0, "late": 1.0})
    model.learn_one({"a": 2.0, "late": 2.0})
