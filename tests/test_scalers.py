"""Scalers over windows and by quantiles, transformers of rows, and River's own examples of all of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
import river.preprocessing
import sklearn.preprocessing
from scipy.sparse import csr_matrix

import millstream
from millstream import preprocessing
from millstream.errors import InvalidType, InvalidValue, NumericOverflow

pytestmark = pytest.mark.linear_algebra

WINDOWS = [1, 2, 7, 50]


def hostile(n: int = 300) -> np.ndarray[Any, Any]:
    """Two columns around 1e-3 and 1e3 with a huge number now and then, and stretches of equal numbers."""
    random = np.random.default_rng(5)
    X = random.normal(size=(n, 2)) * [1e-3, 1.0] + [0.0, 1e3]
    X[::23, 0] = 1e8
    X[::31, 1] = -1e12
    X[n // 3 : n // 3 + 20] = X[n // 3]
    return X


def last(X: Any, row: int, size: int) -> Any:
    return X[max(0, row + 1 - size) : row + 1]


@pytest.mark.parametrize("size", WINDOWS)
def test_a_window_has_the_moments_of_its_numbers_at_every_step(size: int) -> None:
    X = hostile()
    scaler = preprocessing.StandardScaler(window_size=size)
    for row, x in enumerate(X):
        scaler.learn_one(dict(enumerate(x.tolist())))
        window = last(X, row, size)
        # As a whole number of units of the last place, so that the reference is exact to rounding.
        mean = np.array([math.fsum(column) / len(column) for column in window.T])
        squares = [math.fsum((column - m) ** 2) for column, m in zip(window.T, mean, strict=True)]
        variance = np.array(squares) / len(window)
        np.testing.assert_allclose(list(scaler.means.values()), mean, rtol=1e-12)
        np.testing.assert_allclose(list(scaler.vars.values()), variance, rtol=1e-10, atol=1e-25)


def test_the_variance_is_right_after_a_huge_number_has_left() -> None:
    scaler = preprocessing.StandardScaler(window_size=3)
    for x in (1e8, 1.0, 2.0, 6.0):
        scaler.learn_one({"x": x})
    assert scaler.vars == {"x": pytest.approx(14 / 3, rel=1e-15)}
    assert scaler.counts == {"x": 3.0}


@pytest.mark.parametrize("size", WINDOWS)
def test_a_window_has_the_extremes_of_its_numbers_at_every_step(size: int) -> None:
    X = hostile()
    extremes, greatest = preprocessing.MinMaxScaler(window_size=size), preprocessing.MaxAbsScaler(window_size=size)
    for row, x in enumerate(X):
        for scaler in (extremes, greatest):
            scaler.learn_one(dict(enumerate(x.tolist())))
        window = last(X, row, size)
        assert list(extremes.min.values()) == window.min(axis=0).tolist()
        assert list(extremes.max.values()) == window.max(axis=0).tolist()
        assert list(greatest.abs_max.values()) == np.abs(window).max(axis=0).tolist()


@pytest.mark.parametrize("name", ["StandardScaler", "MinMaxScaler", "MaxAbsScaler"])
@pytest.mark.parametrize("size", [1, 3, 40])
def test_windows_agree_with_river(name: str, size: int) -> None:
    random = np.random.default_rng(1)
    ours = getattr(preprocessing, name)(window_size=size)
    theirs = getattr(river.preprocessing, name)(window_size=size)
    for x in random.normal(size=(150, 3)).tolist():
        row = dict(zip("abc", x, strict=True))
        ours.learn_one(row)
        theirs.learn_one(row)
        expected = theirs.transform_one(row)
        # River's variance of one number is a rounding error, by which it divides.
        if size > 1 or name != "StandardScaler":
            assert ours.transform_one(row) == pytest.approx(expected, rel=1e-7, abs=1e-9)


def test_weights_count_in_a_window() -> None:
    scaler = preprocessing.StandardScaler(window_size=2)
    for x, w in ((100.0, 5.0), (1.0, 1.0), (4.0, 2.0)):
        scaler.learn_one({"x": x}, w=w)
    # Mean (1 + 2 · 4) / 3 = 3, variance (4 + 2 · 1) / 3 = 2.
    assert (scaler.means, scaler.vars, scaler.counts) == ({"x": 3.0}, {"x": 2.0}, {"x": 3.0})


def test_a_missing_value_takes_no_place_in_a_window() -> None:
    scaler = preprocessing.MinMaxScaler(window_size=2)
    for x in ({"a": 1.0, "b": 9.0}, {"a": 3.0}, {"a": 5.0, "b": None}):
        scaler.learn_one(x)
    assert (scaler.min, scaler.max) == ({"a": 3.0, "b": 9.0}, {"a": 5.0, "b": 9.0})
    assert scaler.transform_one({"a": None, "b": 9.0, "c": "red"}) == {"b": 0.0, "c": "red"}


@pytest.mark.parametrize("size", [3, 20])
def test_robust_windows_are_those_of_scikit_learn(size: int) -> None:
    X = hostile(120)
    for options in ({}, {"with_centering": False}, {"with_scaling": False}, {"q_inf": 0.1, "q_sup": 0.6}):
        ours = preprocessing.RobustScaler(window_size=size, **options)
        theirs = {key: value for key, value in options.items() if key.startswith("with")}
        theirs["quantile_range"] = (100 * options.get("q_inf", 0.25), 100 * options.get("q_sup", 0.75))
        for row, x in enumerate(X):
            ours.learn_one(dict(enumerate(x.tolist())))
            window = last(X, row, size)
            if row % 7 or len(np.unique(window, axis=0)) < len(window):
                continue
            expected = sklearn.preprocessing.RobustScaler(**theirs).fit(window).transform(X[:5])
            if len(window) > 1:
                np.testing.assert_allclose(ours.transform_many(X[:5]), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("output", ["uniform", "normal"])
@pytest.mark.parametrize(("size", "n_quantiles"), [(5, 100), (60, 100), (60, 7)])
def test_quantile_windows_are_those_of_scikit_learn(output: str, size: int, n_quantiles: int) -> None:
    X = np.random.default_rng(2).normal(size=(150, 2))
    ours = preprocessing.QuantileTransformer(n_quantiles, output, window_size=size)
    for row, x in enumerate(X):
        ours.learn_one(dict(enumerate(x.tolist())))
        window = last(X, row, size)
        if row % 11 == 0 and row > 5:
            theirs = sklearn.preprocessing.QuantileTransformer(
                n_quantiles=min(n_quantiles, len(window)), output_distribution=output
            ).fit(window)
            asked = np.vstack([X[:40], [[-9.0, 9.0]]])
            np.testing.assert_allclose(ours.transform_many(asked), theirs.transform(asked), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("window_size", [None, 60])
def test_equal_numbers_become_the_middle_of_their_ranks(window_size: int | None) -> None:
    # scikit-learn's quantiles of equal numbers differ by rounding, so that it misses some of them.
    X = np.round(np.random.default_rng(2).normal(size=(60, 1)), 1)
    scaler = preprocessing.QuantileTransformer(window_size=window_size, refresh_interval=1)
    scaler.learn_many(X)
    inside = X[(X.min() < X) & (X.max() > X)]
    middle = [np.flatnonzero(np.sort(X.ravel()) == x).mean() / (len(X) - 1) for x in inside]
    np.testing.assert_allclose(scaler.transform_many(inside[:, None]).ravel(), middle, rtol=1e-12)


def test_quantiles_of_a_stream_are_within_the_bound() -> None:
    random = np.random.default_rng(3)
    X = np.exp(2.0 * random.normal(size=(30_000, 2)))
    robust, ranks = preprocessing.RobustScaler(), preprocessing.QuantileTransformer()
    robust.learn_many(X)
    ranks.learn_many(X)
    for column, (median, iqr) in enumerate(zip(robust.median.values(), robust.iqr.values(), strict=True)):
        below = (X[:, column] < median).mean()
        assert abs(below - 0.5) < 0.02
        assert iqr == pytest.approx(np.subtract(*np.quantile(X[:, column], [0.75, 0.25])), rel=0.1)
    rank = ranks.transform_many(X)
    expected = (np.argsort(np.argsort(X, axis=0), axis=0) + 0.5) / len(X)
    assert np.abs(rank - expected).max() < 0.03


def test_the_first_values_of_a_stream_are_exact() -> None:
    X = hostile(100)
    scaler = preprocessing.RobustScaler()
    for row in range(16):
        scaler.learn_one(dict(enumerate(X[row].tolist())))
        assert list(scaler.median.values()) == pytest.approx(np.median(X[: row + 1], axis=0).tolist())


def test_quantiles_are_refreshed_at_the_interval_and_not_between() -> None:
    scaler = preprocessing.RobustScaler(refresh_interval=50)
    scaler.learn_many(np.arange(2000.0)[:, None])
    before = scaler.median
    changes = []
    for row in range(200):
        scaler.learn_one({0: 5000.0})
        if scaler.median != before:
            changes.append(row)
            before = scaler.median
    assert set(np.diff(changes)) == {50}


@pytest.mark.parametrize("name", ["RobustScaler", "QuantileTransformer"])
def test_a_window_forgets_and_a_stream_does_not(name: str) -> None:
    X = np.concatenate([np.arange(500.0), np.arange(500.0) + 1e6])[:, None]
    stream, window = getattr(preprocessing, name)(), getattr(preprocessing, name)(window_size=100)
    for scaler in (stream, window):
        scaler.learn_many(X)
    asked = {0: 1e6 + 450.0}
    assert window.transform_one(asked)[0] == pytest.approx({"RobustScaler": 0.0}.get(name, 0.5), abs=0.02)
    assert stream.transform_one(asked)[0] > 0.2


def test_adaptive_scaler_agrees_with_river() -> None:
    ours = preprocessing.AdaptiveStandardScaler(fading_factor=0.2)
    theirs = river.preprocessing.AdaptiveStandardScaler(fading_factor=0.2)
    for x in np.random.default_rng(1).normal(size=(200, 2)).tolist():
        row = {"a": x[0], "b": 5.0 + x[1]}
        ours.learn_one(row)
        theirs.learn_one(row)
        assert ours.transform_one(row) == pytest.approx(theirs.transform_one(row), rel=1e-6, abs=1e-7)


def test_adaptive_variance_does_not_cancel() -> None:
    scaler = preprocessing.AdaptiveStandardScaler(fading_factor=0.1)
    noise = np.random.default_rng(1).normal(size=3000)
    for x in (1e9 + noise).tolist():
        scaler.learn_one({"x": x})
    # Of E x² - (E x)², no digit would be left.
    assert scaler.vars["x"] == pytest.approx(np.average((noise - noise[-30:].mean()) ** 2), rel=0.9)
    assert 0.2 < scaler.vars["x"] < 3.0


CONSTANT: dict[str, Any] = {
    "StandardScaler": {"window_size": 3},
    "MinMaxScaler": {"window_size": 3},
    "RobustScaler": {},
    "QuantileTransformer": {"output_distribution": "normal"},
    "AdaptiveStandardScaler": {},
}


@pytest.mark.parametrize("name", CONSTANT)
def test_a_constant_column_becomes_zero(name: str) -> None:
    scaler = getattr(preprocessing, name)(**CONSTANT[name])
    assert scaler.transform_one({"x": 5.0}) == {"x": 0.0}
    for _ in range(5):
        scaler.learn_one({"x": 5.0})
        assert scaler.transform_one({"x": 5.0}) == {"x": 0.0}


@pytest.mark.parametrize(
    "scaler",
    [
        preprocessing.MaxAbsScaler(window_size=10),
        preprocessing.RobustScaler(with_centering=False),
        preprocessing.Normalizer(),
        preprocessing.Binarizer(),
        preprocessing.Binarizer(threshold=-1.0),
        preprocessing.StandardScaler(window_size=10),
        preprocessing.RobustScaler(),
        preprocessing.QuantileTransformer(),
    ],
    ids=repr,
)
def test_sparse_rows_are_dense_rows(scaler: Any) -> None:
    random = np.random.default_rng(4)
    X = np.where(random.random((60, 6)) < 0.5, random.normal(size=(60, 6)), 0.0)
    other = scaler.clone()
    scaler.learn_many(X)
    other.learn_many(csr_matrix(X))
    assert scaler.to_bytes() == other.to_bytes()
    np.testing.assert_array_equal(other.transform_many(csr_matrix(X)), scaler.transform_many(X))


def test_normalizer_agrees_with_scikit_learn() -> None:
    X = hostile(50)
    X[7] = 0.0
    for order, norm in ((1, "l1"), (2, "l2"), (math.inf, "max")):
        expected = sklearn.preprocessing.Normalizer(norm).transform(X)
        for given in (order, norm):
            np.testing.assert_allclose(preprocessing.Normalizer(given).transform_many(X), expected, rtol=1e-15)
    row = {"a": 3.0, "b": None, "c": "red", "d": -4.0}
    assert preprocessing.Normalizer().transform_one(row) == {"a": 0.6, "c": "red", "d": -0.8}
    assert preprocessing.Normalizer().transform_one({"a": 0.0, "b": 0.0}) == {"a": 0.0, "b": 0.0}
    assert preprocessing.Normalizer(norm="l1").order == "l1"
    for wrong in (3, True, "l3", None):
        with pytest.raises(InvalidValue, match="Normalizer: order must be one of l1, l2, max, got"):
            preprocessing.Normalizer(wrong)  # type: ignore[arg-type]


def test_previous_imputer_is_the_imputer() -> None:
    ours = preprocessing.PreviousImputer()
    same = preprocessing.Imputer(strategy="previous", nominal_strategy="previous")
    for x in ({"a": 1.0, "b": "red"}, {"a": None, "b": "blue"}, {"a": 4.0}, {"c": 1.0}):
        ours.learn_one(x)
        same.learn_one(x)
        assert ours.transform_one({"a": None, "c": None}) == same.transform_one({"a": None, "c": None})
    assert ours.transform_one({}) == {"a": 4.0, "b": "blue", "c": 1.0}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: preprocessing.StandardScaler(window_size=0),
            "window_size must be an integer >= 1, or null|in \\[1",
        ),
        (lambda: preprocessing.RobustScaler(q_inf=0.8), "q_sup must be greater than q_inf = 0.8, got 0.75"),
        (lambda: preprocessing.RobustScaler(q_sup=1.5), "q_sup must be in"),
        (lambda: preprocessing.AdaptiveStandardScaler(fading_factor=0.0), "fading_factor must be in"),
        (lambda: preprocessing.QuantileTransformer(n_quantiles=1), "n_quantiles must be an integer in"),
        (lambda: preprocessing.QuantileTransformer(output_distribution="beta"), "must be one of uniform, normal"),
    ],
)
def test_bad_parameters_are_refused_in_a_line(make: Any, message: str) -> None:
    with pytest.raises(InvalidValue, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_names_of_other_libraries_are_refused_with_advice() -> None:
    with pytest.raises(InvalidType, match="q_inf=0.25"):
        preprocessing.RobustScaler(quantile_range=(25.0, 75.0))  # type: ignore[call-arg]
    with pytest.raises(InvalidType, match=r"1\.0 or 0\.0"):
        preprocessing.Binarizer(dtype=bool)  # type: ignore[call-arg]


@pytest.mark.parametrize("name", ["StandardScaler", "MinMaxScaler", "AdaptiveStandardScaler"])
def test_a_number_that_would_overflow_leaves_the_state_as_it_was(name: str) -> None:
    window = {} if name == "AdaptiveStandardScaler" else {"window_size": 4}
    scaler = getattr(preprocessing, name)(**window)
    scaler.learn_many(hostile(20)[:, 1:])
    before = scaler.to_bytes()
    with pytest.raises(NumericOverflow):
        scaler.learn_one({0: 1.0, 1: 1e200})
    assert scaler.to_bytes() == before


SCALERS = [
    preprocessing.StandardScaler(window_size=7),
    preprocessing.MinMaxScaler(window_size=7),
    preprocessing.MaxAbsScaler(window_size=7),
    preprocessing.RobustScaler(window_size=7),
    preprocessing.RobustScaler(refresh_interval=9),
    preprocessing.QuantileTransformer(window_size=7),
    preprocessing.QuantileTransformer(refresh_interval=9),
    preprocessing.AdaptiveStandardScaler(),
]


@pytest.mark.parametrize("scaler", SCALERS, ids=repr)
def test_an_example_can_be_undone_at_any_time(scaler: Any) -> None:
    scaler = scaler.clone()
    for x in hostile(60).tolist():
        before = scaler.to_bytes()
        # Another column than before, as a pipeline undoes a row that a later step refuses.
        scaler.learn_one({0: -x[0], 1: 3.0 * x[1], 2: 1.0})
        scaler._undo()
        assert scaler.to_bytes() == before
        scaler.learn_one(dict(enumerate(x)))


@pytest.mark.parametrize("scaler", SCALERS, ids=repr)
def test_saved_many_and_one_are_the_same(scaler: Any) -> None:
    X = hostile(90)
    X[5::8, 1] = np.nan
    one, many = scaler.clone(), scaler.clone()
    for x in X:
        one.learn_one({str(key): value for key, value in enumerate(x.tolist())})
        one = millstream.from_bytes(one.to_bytes())
    many.learn_many(X[:50])
    many.learn_many(X[50:])
    assert one.inspect() == many.inspect()
    again = scaler.clone()
    for x in X:
        again.learn_one(dict(enumerate(x.tolist())))
    assert again.to_bytes() == many.to_bytes()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scaler", SCALERS, ids=repr)
def test_a_frame_is_its_rows_one_by_one(scaler: Any, weighted: bool) -> None:
    random = np.random.default_rng(3)
    n = 700
    X = np.column_stack([hostile(n), random.normal(size=n)])
    X[5::80, 1] = np.nan
    X[:400, 2] = np.nan
    frame = pd.DataFrame(X, columns=["a", "b", "late"])
    frame.insert(1, "colour", random.choice(["red", "green"], n))
    frame.loc[600, "colour"] = "blue"
    w = random.choice([0.0, 0.5, 1.0, 3.0], n) if weighted else np.ones(n)
    rows = [
        {name: None if value != value else value for name, value in x.items()} for x in frame.to_dict("records")
    ]
    one, many, numbers = scaler.clone(), scaler.clone(), scaler.clone()
    for x, weight in zip(rows, w.tolist(), strict=True):
        one.learn_one(x, w=weight)
    given = w if weighted else None
    many.learn_many(frame[:20], w=given if given is None else given[:20])
    many.learn_many(frame[20:], w=given if given is None else given[20:])
    assert many.to_bytes() == one.to_bytes()
    # The last row of a batch can be undone.
    last_row = max(np.flatnonzero(w))
    many._undo()
    one._undo()
    assert many.to_bytes() == one.to_bytes()
    one.learn_one(rows[last_row], w=w[last_row])
    transformed = one.transform_many(frame)
    for row, x in enumerate(rows):
        expected = one.transform_one(x)
        assert all(expected[name] == transformed[name].iloc[row] for name in expected)
    # Numbers alone, by columns in another order than before.
    numbers.learn_many(frame[["a", "b"]][:9])
    before = numbers.to_bytes()
    infinite = frame[["b", "a"]].copy()
    infinite.loc[n - 1, "a"] = np.inf
    with pytest.raises(InvalidValue):
        numbers.learn_many(infinite)
    assert numbers.to_bytes() == before
    numbers.learn_many(frame[["b", "a"]][9:])
    again = scaler.clone()
    again.learn_many(frame[["a", "b"]])
    assert numbers.to_bytes() == again.to_bytes()
