"""Covariance matrices: parity with NumPy, pandas, scikit-learn and River, missing values, merging, laws."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
import river.covariance
import sklearn.covariance

import millstream
from millstream import covariance
from millstream.errors import MillstreamError

pytestmark = pytest.mark.linear_algebra

RNG = np.random.default_rng(4)
X = RNG.normal(size=(120, 6)) @ RNG.normal(size=(6, 6)) + np.arange(6.0) * 10.0
W = RNG.uniform(0.2, 3.0, 120)
NAMES = ["f", "b", "a", "e", "c", "d"]
FRAME = pd.DataFrame(X, columns=NAMES)
ALL = [name.partition(".")[2] for name in millstream.find(role="covariance_estimator")]
SHRUNK = {
    "LedoitWolf": sklearn.covariance.LedoitWolf(),
    "OAS": sklearn.covariance.OAS(),
    "ShrunkCovariance": sklearn.covariance.ShrunkCovariance(),
}


def make(name: str) -> Any:
    return getattr(covariance, name)()


def dicts(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return [{name: x for name, x in row.items() if not pd.isna(x)} for row in frame.to_dict("records")]


def test_empirical_equals_numpy() -> None:
    for ddof in (0, 1):
        cov = covariance.EmpiricalCovariance(ddof=ddof)
        cov.update_many(X)
        np.testing.assert_allclose(cov.covariance_, np.cov(X.T, ddof=ddof), rtol=1e-12)
        np.testing.assert_allclose(cov.location_, X.mean(axis=0), rtol=1e-13)
        np.testing.assert_allclose(cov.precision_ @ cov.covariance_, np.eye(6), atol=1e-9)
    weighted = covariance.EmpiricalCovariance(ddof=0)
    weighted.update_many(X, W)
    np.testing.assert_allclose(weighted.covariance_, np.cov(X.T, aweights=W, ddof=0), rtol=1e-12)


@pytest.mark.parametrize("name", SHRUNK)
def test_shrinkage_equals_scikit_learn_at_every_row(name: str) -> None:
    cov, theirs = make(name), SHRUNK[name]
    for n, x in enumerate(X, 1):
        cov.update(x)
        if n in (2, 3, 5, 7, 20, 120):
            theirs.fit(X[:n])
            np.testing.assert_allclose(cov.covariance_, theirs.covariance_, rtol=1e-10, atol=1e-10)
            if name != "ShrunkCovariance":
                assert cov.shrinkage_ == pytest.approx(theirs.shrinkage_, rel=1e-10)
    np.testing.assert_allclose(cov.precision_, theirs.precision_, rtol=1e-8, atol=1e-9)
    # Rows far from 0, fewer than features, and one feature.
    wide = RNG.normal(size=(15, 40)) + 1e6
    cov = make(name)
    cov.update_many(wide)
    np.testing.assert_allclose(cov.covariance_, theirs.fit(wide - 1e6).covariance_, rtol=1e-7, atol=1e-8)
    cov = make(name)
    cov.update_many(X[:, :1])
    np.testing.assert_allclose(cov.covariance_, theirs.fit(X[:, :1]).covariance_, rtol=1e-10)


def test_exponential_equals_river_and_the_statistics() -> None:
    from millstream import stats

    ours, theirs = covariance.EwaCovariance(0.1), river.covariance.EwaCovariance(0.1)
    variance, pair = stats.EWVar(0.1), stats.EWCov(0.1)
    for x in dicts(FRAME):
        ours.update(x)
        theirs.update(x)
        variance.update(x["a"])
        pair.update(x["a"], x["b"])
        assert ours["a", "a"] == pytest.approx(variance.get(), rel=1e-13)
        assert ours["b", "a"] == pytest.approx(pair.get(), rel=1e-13)
    for (a, b), value in theirs.matrix.items():
        assert ours[a, b] == pytest.approx(value, rel=1e-7)
    inverse = covariance.EwaPrecision(0.1)
    inverse.update_many(FRAME)
    np.testing.assert_allclose(inverse.precision_ @ ours.covariance_, np.eye(6), atol=1e-8)
    # Numbers far from 0: River's variance has no digit left, and may be negative.
    ours = covariance.EwaCovariance(0.1)
    for x in 1e8 + 1e-3 * RNG.normal(size=(200, 2)):
        ours.update(x)
        assert np.all(np.diag(ours.covariance_) >= 0.0)
    assert np.all(np.diag(ours.covariance_) < 1e-4)


def test_river_in_any_order_of_features() -> None:
    ours, theirs = covariance.EmpiricalCovariance(), river.covariance.EmpiricalCovariance()
    for x in dicts(FRAME):
        ours.update(x)
        theirs.update(x)
    assert set(ours.matrix) == set(theirs.matrix)
    for pair, value in theirs.matrix.items():
        assert ours.matrix[pair] == pytest.approx(value.get(), rel=1e-10)
        assert ours[pair] == ours[pair[::-1]] == ours.matrix[pair]
    assert [line.split() for line in repr(ours).splitlines()] == [
        line.split() for line in repr(theirs).splitlines()
    ]
    with pytest.raises(KeyError):
        ours["a", "z"]
    for x in dicts(FRAME)[60:]:
        ours.revert(x)
        theirs.revert(x)
    np.testing.assert_allclose(ours.covariance_, np.cov(X[:60].T), rtol=1e-9)
    assert ours.updates == 60
    before = ours.to_bytes()
    with pytest.raises(ValueError, match="never added"):
        ours.revert({"z": 1.0})
    assert ours.to_bytes() == before
    with pytest.raises(ValueError, match="cannot be removed"):
        covariance.OAS().revert({"a": 1.0})


def test_river_examples() -> None:
    """EmpiricalCovariance as River prints it; EmpiricalPrecision as the inverse that River's example names."""
    draws = np.random.RandomState(42).random_sample
    frame = pd.DataFrame(draws((8, 3)), columns=["red", "green", "blue"])
    for feed in (False, True):
        cov = covariance.EmpiricalCovariance()
        if feed:
            cov.update_many(frame)
        else:
            for x in frame.to_dict(orient="records"):
                cov.update(x)
        printed = [line.split() for line in repr(cov).splitlines()]
        assert printed == [
            ["blue", "green", "red"],
            ["blue", "0.076", "0.020", "-0.010"],
            ["green", "0.020", "0.113", "-0.053"],
            ["red", "-0.010", "-0.053", "0.079"],
        ]
        assert cov["blue", "green"] == pytest.approx(0.020292, abs=1e-6)
    draws = np.random.RandomState(42).random_sample
    frame = pd.DataFrame(draws((1000, 3)))
    prec = covariance.EmpiricalPrecision()
    for x in frame.to_dict(orient="records"):
        prec.update(x)
    np.testing.assert_allclose(prec.precision_, np.linalg.inv(np.cov(frame.T, ddof=1)), rtol=1e-11)


def test_every_name_of_river_is_here_or_documented() -> None:
    """River's two shrinkage estimators are exponentially weighted; ours have scikit-learn's names."""
    assert set(river.covariance.__all__) - {"LedoitWolfCovariance", "OASCovariance"} <= set(covariance.__all__)


def test_pairs_of_features_have_the_rows_with_both() -> None:
    frame = FRAME.mask(RNG.random(FRAME.shape) < 0.3)
    frame.loc[:40, "d"] = np.nan
    cov = covariance.EmpiricalCovariance()
    for x in dicts(frame):
        cov.update(x)
    expected = frame.cov()
    for a in NAMES:
        for b in NAMES:
            assert cov[a, b] == pytest.approx(expected.loc[a, b], rel=1e-11)
    from_frame = covariance.EmpiricalCovariance()
    from_frame.update_many(frame)
    for a in NAMES:
        assert from_frame[a, "d"] == pytest.approx(expected.loc[a, "d"], rel=1e-11)
    for x in dicts(frame)[100:]:
        cov.revert(x)
    for a in NAMES:
        assert cov[a, "b"] == pytest.approx(frame[:100].cov().loc[a, "b"], rel=1e-8)


@pytest.mark.parametrize("name", ["EmpiricalCovariance", "EmpiricalPrecision", *SHRUNK])
def test_merging_parts_gives_the_whole(name: str) -> None:
    whole, first, second, empty = make(name), make(name), make(name), make(name)
    whole.update_many(FRAME, W)
    first.update_many(FRAME[:50], W[:50])
    # The order of features may differ.
    second.update_many(FRAME[50:][sorted(NAMES)], W[50:])
    both = first + second
    np.testing.assert_allclose(both.covariance_, whole.covariance_, rtol=1e-11)
    np.testing.assert_allclose(both.location_, whole.location_, rtol=1e-12)
    assert both.updates == 120
    empty += first
    both += make(name)
    assert empty.covariance_.tolist() == first.covariance_.tolist()
    empty += second
    np.testing.assert_allclose(empty.covariance_, whole.covariance_, rtol=1e-11)
    other = make(name)
    other.update({"z": 1.0})
    before = first.to_bytes()
    if name.startswith("Empirical"):
        assert math.isnan((first + other)["a", "z"])
    else:
        with pytest.raises(ValueError, match="same features"):
            first.merge(other)
    assert first.to_bytes() == before
    with pytest.raises(TypeError):
        first.merge(covariance.EwaCovariance())
    with pytest.raises(ValueError, match="cannot be merged: it depends on the order"):
        covariance.EwaCovariance().merge(covariance.EwaCovariance())


@pytest.mark.parametrize("name", ["EmpiricalCovariance"])
def test_incomplete_parts_merge(name: str) -> None:
    frame = FRAME.mask(RNG.random(FRAME.shape) < 0.2)
    whole, first, second = make(name), make(name), make(name)
    whole.update_many(frame)
    first.update_many(FRAME[:0])
    first.update_many(frame[:70])
    second.update_many(frame[70:][sorted(NAMES)])
    first += second
    for pair, value in whole.matrix.items():
        assert first[pair] == pytest.approx(value, rel=1e-10)


@pytest.mark.parametrize("name", ALL)
def test_many_rows_are_the_same_rows(name: str) -> None:
    frame = FRAME.mask(RNG.random(FRAME.shape) < 0.1)
    for rows in (FRAME, frame):
        one, many = make(name), make(name)
        for row, w in zip(rows.to_dict("records"), W.tolist(), strict=True):
            one.update({key: None if pd.isna(x) else x for key, x in row.items()}, w)
        many.update_many(rows, W)
        assert many.to_bytes() == one.to_bytes()
        listed = make(name)
        listed.update_many(iter(rows.to_dict("records")), W)
        assert listed.to_bytes() == one.to_bytes()
    import scipy.sparse

    sparse, dense = make(name), make(name)
    zeros = np.where(np.abs(X) < 5.0, 0.0, X)
    sparse.update_many(scipy.sparse.csr_matrix(zeros))
    dense.update_many(zeros)
    np.testing.assert_allclose(sparse.covariance_, dense.covariance_, rtol=1e-12, equal_nan=True)


@pytest.mark.parametrize("name", ALL)
def test_bad_rows_change_nothing(name: str) -> None:
    cov = make(name)
    cov.update_many(FRAME)
    before = cov.to_bytes()
    for bad in (
        {"a": "text"},
        {"a": math.inf},
        {"new": "text"},
        None,
        3.0,
        {"a": 1e200},
        {"new": math.inf},
    ):
        with pytest.raises(MillstreamError) as failure:
            cov.update(bad)
        assert "\n" not in str(failure.value)
        assert cov.to_bytes() == before, bad
    for w in (-1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="weight"):
            cov.update({"a": 1.0}, w)
    cov.update({"a": 1.0, "new": 3.0}, 0.0)
    with pytest.raises(MillstreamError, match="row 1"):
        cov.update_many(pd.DataFrame({"a": [1.0, math.inf]}))
    with pytest.raises(MillstreamError, match="row 1"):
        cov.update_many([{"a": 1.0}, {"a": "text"}])
    with pytest.raises(MillstreamError):
        cov.update_many(FRAME, W[:5])
    assert cov.to_bytes() == before


@pytest.mark.parametrize("name", ALL)
def test_enormous_numbers_never_make_the_state_overflow(name: str) -> None:
    cov = make(name)
    for row in range(30):
        before = cov.to_bytes()
        number = (1.0 if row % 2 else -1.0) * (1e308 if row % 3 else 1e154)
        try:
            cov.update({"a": number, "b": -number, **({"c": 1.0} if row > 9 else {})})
        except MillstreamError:
            assert cov.to_bytes() == before
        assert not np.isinf(cov.covariance_).any()
        assert millstream.from_bytes(cov.to_bytes()).to_bytes() == cov.to_bytes()


def test_new_features_of_shrunk_covariances_had_their_first_value_before() -> None:
    for name in SHRUNK:
        cov = make(name)
        cov.update_many(FRAME[["a", "b"]][:50])
        cov.update_many(FRAME[["a", "b", "c"]][50:])
        filled = FRAME[["a", "b", "c"]].copy()
        filled.loc[:49, "c"] = filled.loc[50, "c"]
        np.testing.assert_allclose(cov.covariance_, SHRUNK[name].fit(filled.to_numpy()).covariance_, rtol=1e-9)


def test_an_empty_or_singular_matrix() -> None:
    assert repr(covariance.EmpiricalCovariance()) == "EmpiricalCovariance (empty)"
    assert covariance.EmpiricalCovariance().matrix == {}
    cov = covariance.EmpiricalCovariance()
    cov.update({})
    cov.update({"a": 1.0, "b": 2.0})
    assert math.isnan(cov["a", "b"])
    cov.update({"a": 2.0, "b": 4.0})
    assert np.isnan(cov.precision_).all()
    with pytest.raises(MillstreamError, match="up to 4096 features"):
        covariance.OAS().update(np.zeros(5000))


def test_pairs_of_known_features_are_contained():
    cov = covariance.EmpiricalCovariance()
    cov.update({"a": 1.0, "b": 2.0})
    assert ("a", "b") in cov
    assert ("b", "b") in cov
    assert ("a", "c") not in cov
    assert "a" not in cov
    with pytest.raises(TypeError, match="not iterable"):
        list(cov)
