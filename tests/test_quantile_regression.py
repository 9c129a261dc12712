"""`linear_model.QuantileRegression`: quantiles that do not cross."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from millstream import evaluate, linear_model, losses, optim, testing
from millstream.errors import InvalidType, InvalidValue, MillstreamError

random = np.random.default_rng(7)
X = random.uniform(-1.0, 3.0, size=(20_000, 2))
SPREAD = 0.5 + np.abs(X[:, 0])
Y = X[:, 0] + SPREAD * random.normal(size=20_000)
QUANTILES = [0.05, 0.25, 0.5, 0.75, 0.95]


def test_members_are_linear_regressions_and_predictions_are_sorted() -> None:
    model = linear_model.QuantileRegression(QUANTILES, optim.SGD(0.05))
    plain = [linear_model.LinearRegression(optim.SGD(0.05), losses.Quantile(q)) for q in QUANTILES]
    for each in (model, *plain):
        each.learn_many(X[:500], Y[:500])
    # The rows are far from those that were learned: the lines cross there.
    far = X * 40.0 - 60.0
    raw = np.stack([each.predict_many(far) for each in plain], axis=1)
    assert np.any(np.diff(raw, axis=1) < 0.0)
    sorted_rows = model.predict_quantiles_many(far)
    assert np.array_equal(sorted_rows, np.sort(raw, axis=1))
    assert np.all(np.diff(sorted_rows, axis=1) >= 0.0)


def test_each_quantile_has_its_fraction_of_targets_below() -> None:
    model = linear_model.QuantileRegression(QUANTILES)
    model.learn_many(X[:15_000], Y[:15_000])
    below = (Y[15_000:, None] < model.predict_quantiles_many(X[15_000:])).mean(axis=0)
    assert below == pytest.approx(QUANTILES, abs=0.04)
    ends = model.predict_interval_many(X[15_000:], coverage=0.9)
    inside = (ends[:, 0] <= Y[15_000:]) & (Y[15_000:] <= ends[:, 1])
    assert inside.mean() == pytest.approx(0.9, abs=0.04)


def test_one_row_and_many_rows_agree() -> None:
    one, many = (linear_model.QuantileRegression([0.2, 0.6], l1=0.01) for _ in range(2))
    rows = [{"a": a, "b": b} for a, b in X[:200].tolist()]
    for x, y in zip(rows, Y[:200].tolist(), strict=True):
        one.learn_one(x, y, 2.0)
    assert many.learn_many(rows, Y[:200], np.full(200, 2.0)) == 0
    assert one.learned == many.learned == 200
    assert one.predict_quantiles_one(rows[3]) == many.predict_quantiles_one(rows[3])
    assert list(one.predict_quantiles_one(rows[3])) == [0.2, 0.6]
    assert np.array_equal(
        one.predict_quantiles_many(rows), [list(one.predict_quantiles_one(x).values()) for x in rows]
    )
    # 0.6 is nearer to the median than 0.2.
    assert one.predict_one(rows[3]) == one.predict_quantiles_one(rows[3])[0.6] == one.predict_many(rows)[3]
    ends = [one.predict_interval_one(x, 0.1) for x in rows]
    assert np.array_equal(one.predict_interval_many(rows, 0.1), ends)


def test_intervals_are_interpolated_by_hand() -> None:
    model = linear_model.QuantileRegression([0.1, 0.5, 0.9], "sgd", intercept=False)
    for member, weight in zip(model.members, (1.0, 3.0, 4.0), strict=True):
        # One step of rate 0.01 from 0 towards a distant target moves the weight by 0.01 q w.
        member.learn_one({"x": 1.0}, 1e6, weight / (0.01 * member.loss.q))
    assert model.predict_quantiles_one({"x": 1.0}) == pytest.approx({0.1: 1.0, 0.5: 3.0, 0.9: 4.0})
    # Coverage 0.4: quantiles 0.3 and 0.7, halfway between the given ones.
    assert model.predict_interval_one({"x": 1.0}, 0.4) == pytest.approx((2.0, 3.5))
    assert model.predict_interval_one({"x": 1.0}, 0.99) == pytest.approx((1.0, 4.0))


def test_bad_rows_leave_all_members_unchanged() -> None:
    model = linear_model.QuantileRegression([0.1, 0.9])
    model.learn_many(X[:50], Y[:50])
    before = [member.to_bytes() for member in model.members]
    bad: list[tuple[Any, Any, Any]] = [
        ({"0": 1.0}, float("nan"), 1.0),
        ({"0": 1.0}, "high", 1.0),
        ({"0": 1.0}, 1.0, -1.0),
        ({"0": float("inf")}, 1.0, 1.0),
        ({"0": 1e300, "1": -1e300}, 1.0, 1e308),
    ]
    for x, y, w in bad:
        with pytest.raises(MillstreamError):
            model.learn_one(x, y, w)
        assert [member.to_bytes() for member in model.members] == before
    targets = Y[:20].copy()
    targets[7] = np.inf
    with pytest.raises(MillstreamError, match="row 7"):
        model.learn_many(X[:20], targets)
    assert [member.to_bytes() for member in model.members] == before
    assert model.learn_many(X[:20], targets, on_error="skip") == 1
    assert model.learned == 50 + 19


def test_copies_pickles_and_evaluation() -> None:
    model = linear_model.QuantileRegression(QUANTILES)
    model.learn_many(X[:300], Y[:300])
    for again in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        again.learn_many(X[300:400], Y[300:400])
        assert again.learned == 400
        assert model.learned == 300
    clone = model.clone()
    assert (clone.quantiles, clone.learned) == (model.quantiles, 0)
    result = evaluate.prequential(linear_model.QuantileRegression(), (X[:500], Y[:500]), metrics="MAE")
    assert 0.0 < result["MAE"] < 3.0


def test_the_laws() -> None:
    testing.check_model(linear_model.QuantileRegression([0.3, 0.7]))


@pytest.mark.parametrize("quantiles", [[], [0.0, 0.5], [0.5, 1.0], [0.5, 0.5], [0.9, 0.1], [float("nan")]])
def test_quantiles_that_are_refused(quantiles: Any) -> None:
    with pytest.raises(InvalidValue, match=r"quantiles must be increasing numbers in \(0, 1\), got"):
        linear_model.QuantileRegression(quantiles)


def test_arguments_that_are_refused() -> None:
    for quantiles in ("0.5", 0.5, ["a"], [None]):
        with pytest.raises(InvalidType, match="quantiles must be a list of numbers, got"):
            linear_model.QuantileRegression(quantiles)  # type: ignore[arg-type]
    for coverage in (0.0, 1.0, "wide", True):
        with pytest.raises(InvalidValue, match=r"coverage must be in \(0, 1\), got"):
            linear_model.QuantileRegression().predict_interval_one({"x": 1.0}, coverage)  # type: ignore[arg-type]
