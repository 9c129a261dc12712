"""Nothing that arrives makes a model non-finite, half-updated or silent.

Every refusal is one line that names the learner, the feature or target, and the value; it is a `MillstreamError`
and the built-in that people catch; and it leaves the model byte for byte as it was.
"""

from __future__ import annotations

import datetime
import decimal
import enum
import fractions
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

import millstream
from millstream import evaluate, linear_model, naive_bayes, preprocessing, sampling
from millstream.errors import InvalidValue, MillstreamError, NumericOverflow
from millstream.registry import entry
from streams import ARGUMENTS, CASES, COUNTS, Case, answer, cases, learn_one, mixed, numbers_in, numeric

WARM = mixed(30)
GOOD: dict[Any, Any] = {"a": 0.5, "b": 1.0, "colour": "red", "flag": True}


class Anything:
    def __repr__(self) -> str:
        return "Anything()"


#: What a feature cannot be: (feature, value, the built-in it must be, what the message must hold).
FEATURES: list[tuple[Any, Any, type[Exception], list[str]]] = [
    ("a", math.inf, ValueError, ["'a'", "inf"]),
    ("a", -math.inf, ValueError, ["'a'", "-inf"]),
    ("a", np.float64("inf"), ValueError, ["'a'", "inf"]),
    ("a", np.float32("-inf"), ValueError, ["'a'", "-inf"]),
    ("a", decimal.Decimal("Infinity"), ValueError, ["'a'", "inf"]),
    ("a", 10**400, ValueError, ["'a'", "1000000"]),
    ("a", 10**5000, ValueError, ["'a'", "int"]),
    ("a", fractions.Fraction(10**400), ValueError, ["'a'", "Fraction"]),
    ("a", "text", TypeError, ["'a'", "'text'", "number"]),
    ("colour", 3.0, TypeError, ["'colour'", "3", "nominal"]),
    ("colour", True, TypeError, ["'colour'", "1", "nominal"]),
    ("flag", "yes", TypeError, ["'flag'", "'yes'"]),
    ("a", b"bytes", TypeError, ["'a'", "bytes"]),
    ("a", bytearray(b"bytes"), TypeError, ["'a'", "bytearray"]),
    ("a", [1.0], TypeError, ["'a'", "list", "[1.0]"]),
    ("a", (1.0,), TypeError, ["'a'", "tuple"]),
    ("a", {"b": 1.0}, TypeError, ["'a'", "dict"]),
    ("a", {1.0}, TypeError, ["'a'", "set"]),
    ("a", np.array([1.0]), TypeError, ["'a'", "ndarray"]),
    ("a", np.array([[1.0, 2.0]] * 99), TypeError, ["'a'", "ndarray"]),
    ("a", 1j, TypeError, ["'a'", "complex", "1j"]),
    ("a", np.complex128(1j), TypeError, ["'a'", "complex"]),
    ("a", datetime.datetime(2026, 1, 2), TypeError, ["'a'", "datetime"]),
    ("a", datetime.date(2026, 1, 2), TypeError, ["'a'", "date"]),
    ("a", np.datetime64("2026-01-02"), TypeError, ["'a'", "datetime64"]),
    ("a", np.timedelta64(3, "s"), TypeError, ["'a'", "timedelta64"]),
    ("a", pandas.Timestamp("2026-01-02"), TypeError, ["'a'", "Timestamp"]),
    ("a", Anything(), TypeError, ["'a'", "Anything"]),
    ("a", len, TypeError, ["'a'", "builtin_function"]),
    ("a", "lone \ud800 surrogate", ValueError, []),
    ("new", math.inf, ValueError, ["'new'", "inf"]),
    ("new", [1.0], TypeError, ["'new'", "list"]),
    ("new \ud800", 1.0, ValueError, []),
    (1.5, 1.0, TypeError, ["float", "1.5"]),
    (None, 1.0, TypeError, ["None"]),
    (b"a", 1.0, TypeError, ["bytes"]),
    (("a", "b"), 1.0, TypeError, ["tuple"]),
    (2**70, 1.0, (TypeError, ValueError), ["1180591620717411303424"]),  # type: ignore[list-item]
]

NUMBERS: list[tuple[Any, type[Exception], list[str]]] = [
    (math.nan, ValueError, ["NaN"]),
    (math.inf, ValueError, ["inf"]),
    (-math.inf, ValueError, ["-inf"]),
    (np.float64("nan"), ValueError, ["NaN"]),
    (10**400, ValueError, ["1000000"]),
    (None, TypeError, ["missing"]),
    (pandas.NA, TypeError, []),
    ("text", TypeError, ["'text'"]),
    (b"1", TypeError, ["bytes"]),
    ([1.0], TypeError, ["[1.0]"]),
    (1j, TypeError, ["1j"]),
    (Anything(), TypeError, ["Anything"]),
    (datetime.datetime(2026, 1, 2), TypeError, ["datetime"]),
    ({"a": 1}, TypeError, ["dict"]),
]

LABELS: list[tuple[Any, type[Exception], list[str]]] = [
    (None, TypeError, ["label"]),
    (1.5, TypeError, ["1.5"]),
    (math.nan, ValueError, ["NaN"]),
    (math.inf, (TypeError, ValueError), ["inf"]),  # type: ignore[list-item]
    (2**70, ValueError, ["1180591620717411303424"]),
    (10**5000, ValueError, ["int"]),
    (b"yes", TypeError, ["bytes"]),
    ([1], TypeError, ["[1]"]),
    ((1, 2), TypeError, ["(1, 2)"]),
    (1j, TypeError, ["1j"]),
    (np.array([1, 2]), TypeError, ["ndarray"]),
    (pandas.NA, (TypeError, ValueError), []),  # type: ignore[list-item]
    (Anything(), TypeError, ["Anything"]),
    (datetime.date(2026, 1, 2), TypeError, ["date"]),
    ("lone \ud800 surrogate", ValueError, []),
]

WEIGHTS: list[tuple[Any, type[Exception], list[str]]] = [
    (-1.0, ValueError, ["weight", "-1"]),
    (-5e-324, ValueError, ["weight"]),
    (math.nan, ValueError, ["weight", "NaN"]),
    (math.inf, ValueError, ["weight", "inf"]),
    ("2", TypeError, []),
    ([1.0], TypeError, []),
    (1j, TypeError, []),
]


def titles(case: Case) -> list[str]:
    """What a message may call this learner: by its whole name, or by one of its parts."""
    return [case.build()._title(), *case.parts]


def check(case: Case, failure: pytest.ExceptionInfo[Any], words: list[str]) -> None:
    """The message is one line that names the learner and holds the words."""
    message = str(failure.value)
    assert isinstance(failure.value, MillstreamError), repr(failure.value)
    assert "\n" not in message
    assert len(message) < 500
    assert any(title in message for title in titles(case)), message
    for word in words:
        assert word in message, message


def warm(case: Case) -> Any:
    return case.learn(case.build(), WARM)


def everywhere(*roles: str) -> Any:
    return pytest.mark.parametrize("case", cases(*roles), ids=repr)


def of_any_rows() -> Any:
    """Those that learn rows of any features; a basis has the inputs that it began with (tests/test_basis.py)."""
    fixed = lambda case: any(part.startswith("basis.") for part in case.parts)  # noqa: E731
    return pytest.mark.parametrize("case", cases(unless=fixed), ids=repr)


@of_any_rows()
def test_a_bad_feature_is_refused(case: Case) -> None:
    model = warm(case)
    before = model.to_bytes()
    for feature, value, builtin, words in FEATURES:
        x = {**GOOD, feature: value, "brought along": 1.0}
        with pytest.raises(builtin) as failure:
            learn_one(case, model, x, 1.0)
        check(case, failure, words)
        # FeatureHasher transforms a dict without the schema, so that a feature may be a number or a string.
        if case.name != "preprocessing.FeatureHasher" or not isinstance(value, (str, float, bool)):
            with pytest.raises(builtin) as failure:
                answer(case, model, x)
            check(case, failure, words)
        if case.role != "transformer":
            with pytest.raises(builtin) as failure:
                model.step_one(x, case.target(1.0))
            check(case, failure, words)
        assert model.to_bytes() == before, (feature, value)
    assert "brought along" not in model.features


@everywhere()
def test_an_example_that_is_no_dict_is_refused(case: Case) -> None:
    model = warm(case)
    before = model.to_bytes()
    for x in (None, 3.0, "text", [1.0, 2.0], [("a", 1.0)], np.array([1.0]), pandas.Series([1.0]), {"a", "b"}):
        with pytest.raises(TypeError) as failure:
            learn_one(case, model, x, 1.0)
        check(case, failure, [type(x).__name__])
        with pytest.raises(TypeError) as failure:
            answer(case, model, x)  # type: ignore[arg-type]
        check(case, failure, [type(x).__name__])
    assert model.to_bytes() == before


@pytest.mark.parametrize("role", ["classifier", "regressor"])
def test_a_bad_target_is_refused(role: str) -> None:
    for case in cases(role):
        model = warm(case)
        before = model.to_bytes()
        for y, builtin, words in LABELS if role == "classifier" else NUMBERS:
            for verb in (model.learn_one, model.step_one):
                with pytest.raises(builtin) as failure:
                    verb({**GOOD, "brought along": 1.0}, y)
                check(case, failure, words)
            assert model.to_bytes() == before, y
        with pytest.raises(TypeError):
            model.learn_one(GOOD)
        assert model.to_bytes() == before


@everywhere()
def test_a_bad_weight_is_refused(case: Case) -> None:
    model = warm(case)
    before = model.to_bytes()
    for w, builtin, words in WEIGHTS:
        with pytest.raises(builtin) as failure:
            learn_one(case, model, {**GOOD, "brought along": 1.0}, 1.0, w)
        check(case, failure, words)
        assert model.to_bytes() == before, w


@of_any_rows()
def test_numbers_of_every_kind_are_numbers(case: Case) -> None:
    values: list[Any] = [2, 2.0, np.float32(2), np.float16(2), np.int8(2), np.uint64(2), decimal.Decimal(2)]
    values += [fractions.Fraction(4, 2), np.array(2.0)[()], np.longdouble(2), 2.0 + np.float64(0)]
    said = []
    for value in values:
        model = warm(case)
        learn_one(case, model, {**GOOD, "a": value}, 1.0)
        said.append((model.to_bytes(), answer(case, model, {**GOOD, "a": value})))
    assert all(one == said[0] for one in said)


@everywhere()
def test_what_is_missing_is_missing_in_every_form(case: Case) -> None:
    said = []
    for value in (None, math.nan, np.nan, np.float32("nan"), pandas.NA, pandas.NaT, decimal.Decimal("NaN")):
        model = warm(case)
        learn_one(case, model, {**GOOD, "a": value}, 1.0)
        said.append((model.to_bytes(), answer(case, model, {**GOOD, "a": value})))
    assert all(one == said[0] for one in said)


@everywhere("classifier")
def test_labels_of_every_kind_are_labels(case: Case) -> None:
    kinds: list[tuple[Any, Any]] = [
        (np.bool_(True), True),
        (np.int8(3), 3),
        (np.uint64(3), 3),
        (3.0, 3),
        (np.float32(3), 3),
        (np.str_("three"), "three"),
        (2**62, 2**62),
        (-(2**63), -(2**63)),
        ("", ""),
    ]
    for label, known in kinds:
        model = case.build()
        model.learn_one(GOOD, label)
        # With one bool the other is known too.
        assert model.classes == ([False, True] if known is True else [known])
        assert type(model.classes[-1]) is type(known)
        assert model.predict_one(GOOD) == known


@everywhere()
def test_empty_input_is_legal(case: Case) -> None:
    model = case.build()
    learn_one(case, model, {}, 1.0)
    answer(case, model, {})
    model = case.build()
    before = model.to_bytes()
    y = case.targets([])
    for rows in (np.empty((0, 3)), np.empty((0, 0)), pandas.DataFrame({"a": []}), pandas.DataFrame(), []):
        assert model.learn_many(rows, y) == 0
        if case.role == "transformer":
            model.transform_many(rows)
        else:
            assert len(case.ask_many(model)(rows)) == 0
            assert len(model.step_many(rows, y)) == 0
        assert model.to_bytes() == before
    no_columns = np.empty((3, 0))
    model.learn_many(no_columns, case.targets([1.0, -1.0, 1.0]))
    assert model.learned == 3


@everywhere()
def test_a_very_wide_row_is_legal(case: Case) -> None:
    if case.name.startswith("neural_network.IRMA"):
        pytest.skip("a step takes the cube of the parameters, so that their number is bounded")
    model = case.build()
    # Least squares and GMLVQ hold a square matrix, in each member of an ensemble; products are as many.
    pairs = ("RLS", "LeastSquares", "BayesianLinear", "GMLVQ", "PolynomialExtender", "Interact")
    squares = any(name in str(case.description) for name in pairs)
    x = {f"feature {i}": float(i % 7) for i in range(1000 if squares else 4000)}
    for row in range(3):
        learn_one(case, model, x, row - 1.0)
    answer(case, model, x)
    assert millstream.from_bytes(model.to_bytes()).to_bytes() == model.to_bytes()


def _batch(case: Case, height: int = 20) -> tuple[Any, Any]:
    X, numbers = numeric(height)
    return X, case.targets(numbers)


@everywhere()
@pytest.mark.parametrize("poison", ["feature", "target", "weight"])
def test_a_bad_row_of_a_batch(case: Case, poison: str) -> None:
    """With "raise" nothing is learned, with "stop" the rows before, with "skip" all the others."""
    X, y = _batch(case)
    w = np.ones(len(X))
    bad = 13
    if poison == "feature":
        X[bad, 2] = math.inf
    elif poison == "weight":
        w[bad] = -1.0
    elif not case.has_target:
        pytest.skip("it learns without targets")
    else:
        y = [*y.tolist()[:bad], math.nan, *y.tolist()[bad + 1 :]]
    frame = pandas.DataFrame(X, columns=[f"c{i}" for i in range(X.shape[1])])
    dicts = [dict(enumerate(row)) for row in X.tolist()]
    others = [row for row in range(len(X)) if row != bad]
    for rows, keep in ((X, X), (frame, frame), (dicts, dicts)):
        model = case.build()
        model.learn_many(rows[:5], None if y is None else y[:5])
        before = model.to_bytes()
        with pytest.raises(ValueError) as failure:
            model.learn_many(rows, y, w)
        check(case, failure, [f"row {bad}"])
        assert failure.value.row == bad  # type: ignore[attr-defined]
        assert model.to_bytes() == before
        with pytest.raises(ValueError):
            model.learn_many(rows, y, w, on_error="stop")
        half = millstream.from_bytes(before)
        half.learn_many(keep[:bad], None if y is None else y[:bad], w[:bad])
        assert model.to_bytes() == half.to_bytes()
        model = millstream.from_bytes(before)
        assert model.learn_many(rows, y, w, on_error="skip") == 1
        all_others = millstream.from_bytes(before)
        good = [rows[row] for row in others] if isinstance(rows, list) else None
        picked = good if good is not None else (rows.iloc[others] if rows is frame else rows[others])
        all_others.learn_many(picked, None if y is None else [y[row] for row in others], w[others])
        assert model.to_bytes() == all_others.to_bytes()
        if case.role != "transformer":
            model = millstream.from_bytes(before)
            with pytest.raises(ValueError):
                model.step_many(rows, y, w)
            assert model.to_bytes() == before
            assert len(model.step_many(rows, y, w, on_error="skip")) == len(X)
            assert model.to_bytes() == all_others.to_bytes()


@everywhere("classifier", "regressor")
def test_a_target_of_the_wrong_type_in_a_batch(case: Case) -> None:
    X, y = _batch(case)
    bad: list[Any] = [None, [1], b"x", Anything()] + (["text"] if case.role == "regressor" else [1.5, 2**70])
    for value in bad:
        targets = [*y.tolist()[:7], value, *y.tolist()[8:]]
        for rows in (X, [dict(enumerate(row)) for row in X.tolist()]):
            model = case.build()
            before = model.to_bytes()
            with pytest.raises((TypeError, ValueError)) as failure:
                model.learn_many(rows, targets)
            check(case, failure, ["row 7"])
            assert model.to_bytes() == before
            assert model.learn_many(rows, targets, on_error="skip") == 1
            assert model.learned == len(X) - 1


@of_any_rows()
def test_each_bad_value_in_a_list_of_dicts(case: Case) -> None:
    numbers = [1.0, -1.0] * 4
    for feature, value, builtin, words in FEATURES:
        rows = [{**GOOD, "brought along": row} for row in range(8)]
        rows[5] = {**GOOD, feature: value}
        model = warm(case)
        before = model.to_bytes()
        with pytest.raises(builtin) as failure:
            model.learn_many(rows, case.targets(numbers))
        check(case, failure, [*words, "row 5"])
        assert model.to_bytes() == before
        assert model.learn_many(rows, case.targets(numbers), on_error="skip") == 1
        assert model.learned == 30 + 7


@of_any_rows()
def test_an_iterator_that_fails_leaves_the_model_as_it_was(case: Case) -> None:
    def rows() -> Any:
        yield dict(GOOD)
        yield dict(GOOD)
        raise RuntimeError("the source broke")

    model = case.build()
    before = model.to_bytes()
    with pytest.raises(RuntimeError, match="the source broke"):
        model.learn_many(rows(), case.targets([1.0, -1.0]))
    assert model.to_bytes() == before


@everywhere()
def test_rows_that_are_no_rows_are_refused(case: Case) -> None:
    model = warm(case)
    before = model.to_bytes()
    bad: list[Any] = [
        None,
        3.0,
        "text",
        b"text",
        {"a": 1.0},
        len,
        np.zeros(3),
        np.zeros((2, 2, 2)),
        [[1.0], [1.0, 2.0]],
    ]
    bad += [
        np.array([["2026-01-01"]], dtype="datetime64[D]"),
        np.array([[1j]]),
        np.array([[object()]]),
        [1.0, 2.0],
    ]
    bad += [pandas.DataFrame([[1.0, 2.0]], columns=["a", "a"]), pandas.DataFrame({"a": [b"x"]})]
    bad += [pandas.DataFrame({"a": pandas.to_datetime(["2026-01-01"])}), pandas.DataFrame({("a", 1): [1.0]})]
    for rows in bad:
        with pytest.raises((TypeError, ValueError)) as failure:
            model.learn_many(rows, case.targets([1.0]))
        check(case, failure, [])
        with pytest.raises((TypeError, ValueError)) as failure:
            case.ask_many(model)(rows)
        check(case, failure, [])
        assert model.to_bytes() == before


@everywhere("classifier", "regressor")
def test_targets_and_weights_fit_the_rows(case: Case) -> None:
    X, y = _batch(case)
    dicts = [dict(enumerate(row)) for row in X.tolist()]
    model = case.build()
    before = model.to_bytes()
    for rows in (X, dicts):
        bad: list[tuple[Any, Any]] = [
            (y[:-1], None),
            (y, np.ones(3)),
            (y, 2.0),
            (np.stack([y, y], 1), None),
            (3, None),
        ]
        bad += [
            (y, ["one"] * len(X)),
            (y, np.ones((len(X), 2))),
            (np.array(["2026"] * len(X), "datetime64[Y]"), None),
        ]
        for targets, weights in bad:
            with pytest.raises((TypeError, ValueError)) as failure:
                model.learn_many(rows, targets, weights)
            check(case, failure, [])
            assert model.to_bytes() == before
        with pytest.raises((TypeError, ValueError)) as failure:
            model.learn_many(rows)
        check(case, failure, [])
        assert model.to_bytes() == before
        with pytest.raises(ValueError, match="on_error must be one of raise, stop, skip, got 'ignore'"):
            model.learn_many(rows, y, on_error="ignore")


@pytest.mark.parametrize("case", cases(varied=True), ids=repr)
def test_enormous_numbers_never_make_the_state_overflow(case: Case) -> None:
    """1e308 is a legal value. What cannot be learned is refused whole; what can is learned."""
    for scale in (1e308, 1.7976931348623157e308, 1e200, 1e154):
        model = warm(case)
        for row in range(25):
            sign = 1.0 if row % 2 else -1.0
            before = model.to_bytes()
            x = {"a": sign * scale, "b": -sign * scale, "fresh": scale, "colour": "red"}
            try:
                learn_one(case, model, x, -sign * scale, 1e300 if row % 5 == 4 else 1.0)
            except NumericOverflow:
                assert model.to_bytes() == before
            saved = model.to_bytes()
            assert millstream.from_bytes(saved).to_bytes() == saved
            said = answer(case, model, GOOD), answer(case, model, x)
            assert all(math.isfinite(number) for number in numbers_in(said)), (scale, row, said)


@pytest.mark.parametrize("case", cases(varied=True), ids=repr)
def test_enormous_numbers_in_a_batch(case: Case) -> None:
    X, numbers = numeric(60)
    X[::3] = np.clip(X[::3], -1, 1) * 1.7e308
    y = case.targets(numbers * np.where(np.arange(60) % 3 == 0, 1e307, 1.0))
    one, many = case.build(), case.build()
    refused = 0
    for row, x in enumerate(X.tolist()):
        try:
            one.learn_one(dict(enumerate(x)), None if y is None else y[row])
        except ValueError:
            refused += 1
    with np.errstate(all="raise"):
        assert many.learn_many(X, y, on_error="skip") == refused
    assert many.to_bytes() == one.to_bytes()
    assert millstream.from_bytes(many.to_bytes()).to_bytes() == many.to_bytes()


# Parameters.


def _bounded() -> list[tuple[str, dict[str, Any]]]:
    return [(name, p) for name in millstream.find() for p in entry(name)["parameters"] if p["bounds"]]  # type: ignore[misc]


#: Parameters that another one keeps from their edge.
LINKED = {
    ("anomaly.HalfSpaceTrees", "height"),
    ("decomposition.FrequentDirections", "n_components"),
    ("decomposition.FrequentDirections", "sketch_size"),
    ("drift.EDDM", "drift_ratio"),
    ("drift.RDDM", "max_concept"),
    ("htm.CategoryEncoder", "n_active"),
    ("htm.CategoryEncoder", "n_bits"),
    ("htm.HTMAnomaly", "activation_threshold"),
    ("htm.HTMAnomaly", "active_columns"),
    ("htm.HTMAnomaly", "max_synapses"),
    ("htm.HTMAnomaly", "min_threshold"),
    ("htm.HTMAnomaly", "n_active"),
    ("htm.HTMAnomaly", "n_bits"),
    ("htm.HTMAnomaly", "n_columns"),
    ("htm.ScalarEncoder", "n_active"),
    ("htm.ScalarEncoder", "n_bits"),
    ("htm.SpatialPooler", "active_columns"),
    ("htm.SpatialPooler", "n_columns"),
    ("htm.TemporalMemory", "activation_threshold"),
    ("htm.TemporalMemory", "max_synapses"),
    ("htm.TemporalMemory", "min_threshold"),
    ("preprocessing.RobustScaler", "q_inf"),
    ("preprocessing.RobustScaler", "q_sup"),
    ("stats.IQR", "q_inf"),
    ("stats.IQR", "q_sup"),
    ("time_series.HoltWinters", "period"),
    ("time_series.HoltWinters", "smoothing_seasonal"),
}


def _required(name: str) -> dict[str, Any]:
    if name in COUNTS:
        # Their cases are pipelines.
        return ARGUMENTS.get(name, {})
    return next((case.description["parameters"] for case in CASES if case.name == name), ARGUMENTS.get(name, {}))


def _outside(bounds: list[Any], must_be: str) -> list[Any]:
    low, low_included, high, high_included = bounds
    whole = "integer" in must_be or "whole" in must_be
    # A large bound would absorb a small step.
    step = lambda bound: 1 if whole else max(1e-6, 1e-9 * abs(bound))  # noqa: E731
    values: list[Any] = []
    if low is not None:
        values += [low - step(low), low - 1e6 - step(low)] + ([] if low_included else [low])
    if high is not None:
        values += [high + step(high), high + 1e6 + step(high)] + ([] if high_included else [high])
    return values


#: Parameters whose greatest value makes a large part.
LARGE = {("basis.GaussianRBF", "count"), ("synth.RandomTree", "n_cat_features")}


@pytest.mark.parametrize(
    ("name", "parameter"),
    [
        pytest.param(name, each, marks=[pytest.mark.slow] if (name, each["name"]) in LARGE else [])
        for name, each in _bounded()
    ],
    ids=lambda value: value if isinstance(value, str) else value["name"],
)
def test_a_parameter_out_of_range_is_refused(name: str, parameter: dict[str, Any]) -> None:
    key = parameter["name"]
    for value in _outside(parameter["bounds"], parameter["must_be"]):
        with pytest.raises(ValueError) as failure:
            millstream.build({"name": name, "parameters": {**_required(name), key: value}})
        assert isinstance(failure.value, MillstreamError)
        assert str(failure.value).startswith(f"{name}: {key} must be "), str(failure.value)
        assert ", got " in str(failure.value)
    low, low_included, high, high_included = parameter["bounds"]
    for edge, included in ((low, low_included), (high, high_included)):
        if edge is not None and included and "window" not in key and abs(edge) < 1e6 and (name, key) not in LINKED:
            millstream.build({"name": name, "parameters": {**_required(name), key: edge}})


#: Parameters for which an infinity has a meaning.
INFINITE = {
    ("preprocessing.Normalizer", "order"): math.inf,
    ("preprocessing.PredClipper", "y_max"): math.inf,
    ("preprocessing.PredClipper", "y_min"): -math.inf,
}


@pytest.mark.parametrize("name", millstream.find())
def test_a_parameter_of_the_wrong_type_is_refused(name: str) -> None:
    for parameter in entry(name)["parameters"]:
        key = parameter["name"]
        wrong: list[Any] = [
            math.nan,
            math.inf,
            -math.inf,
            object(),
            1j,
            {"no": "name"},
        ]
        if not name.startswith("compose."):
            wrong += [b"bytes", np.array([1.0, 2.0])]
        if parameter["bounds"]:
            wrong += ["text", [1.0], "nan", 10**400]
        for value in wrong:
            if isinstance(value, float) and value == INFINITE.get((name, key)):
                continue
            with pytest.raises((TypeError, ValueError, KeyError)) as failure:
                millstream.build({"name": name, "parameters": {**_required(name), key: value}})
            assert isinstance(failure.value, MillstreamError), (key, value, failure.value)
            assert "\n" not in str(failure.value)
            assert name in str(failure.value) or "no component named" in str(failure.value), str(failure.value)


@pytest.mark.parametrize("name", millstream.find())
def test_an_unknown_parameter_is_refused(name: str) -> None:
    with pytest.raises(TypeError):
        millstream.build({"name": name, "parameters": {**_required(name), "no_such_parameter": 1}})


def test_a_near_miss_is_met_with_a_hint() -> None:
    with pytest.raises(KeyError, match=r"no component named 'linear_model.LogisticRegresion', did you mean"):
        millstream.build({"name": "linear_model.LogisticRegresion"})


@pytest.mark.parametrize(
    "description",
    [None, 3, "text", [], {}, {"name": 3}, {"name": "x", "other": 1}, {"name": "optim.SGD", "parameters": 3}],
)
def test_what_is_no_description_is_refused(description: Any) -> None:
    with pytest.raises((TypeError, ValueError, KeyError)) as failure:
        millstream.build(description)
    assert isinstance(failure.value, MillstreamError)


def test_a_deep_description_is_refused_not_followed_to_the_end() -> None:
    description: dict[str, Any] = {"name": "preprocessing.StandardScaler"}
    for _ in range(5000):
        description = {"name": "compose.Pipeline", "parameters": {"steps": [description]}}
    with pytest.raises((MillstreamError, RecursionError)):
        millstream.build(description)


def test_a_model_that_was_never_built_says_so() -> None:
    class Forgetful(linear_model.LogisticRegression):
        def __init__(self) -> None:
            pass

    model = Forgetful()
    for verb in (lambda: model.learn_one({"a": 1.0}, True), lambda: model.predict_one({"a": 1.0}), model.to_bytes):
        with pytest.raises(ValueError, match="was not built"):
            verb()
    assert not hasattr(model, "no_such_attribute")


def test_a_verb_that_the_role_lacks_says_so() -> None:
    scaler = preprocessing.StandardScaler()
    for verb in ("predict_one", "score_one", "predict_proba_one"):
        with pytest.raises((TypeError, AttributeError)) as failure:
            getattr(scaler, verb)({"a": 1.0})
        assert "\n" not in str(failure.value)
    with pytest.raises((TypeError, AttributeError)):
        linear_model.LogisticRegression().transform_one({"a": 1.0})


EXTREMES = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
import millstream
from measures import MEASURES
from millstream.registry import entry
from streams import ARGUMENTS, CASES, learn_one

cases, measures = {case.name: case for case in CASES}, {measure.name: measure for measure in reversed(MEASURES)}
for name in millstream.find():
    part = cases.get(name) or measures.get(name)
    given = part.description["parameters"] if part else ARGUMENTS.get(name, {})
    for parameter in entry(name)["parameters"]:
        for value in (2**63 - 1, 10**15, 2**40, 1.7e308, 5e-324) if parameter["bounds"] else ():
            try:
                built = millstream.build({"name": name, "parameters": {**given, parameter["name"]: value}})
                if name in cases:
                    learn_one(part, built, {"a": 1.0, "b": 2.0}, 1.0)
                if name in measures:
                    part.told(built, range(5))
                if entry(name)["role"] == "generator":
                    next(built.chunks(3))
                if part:
                    millstream.from_bytes(built.to_bytes())
            except millstream.errors.MillstreamError:
                pass
print("done")
"""


@pytest.mark.slow
def test_no_parameter_can_ask_for_terabytes() -> None:
    """What is within the bounds is built, used and saved in the memory that its use takes."""
    code = f"import sys; sys.path[:0] = [{str(Path(__file__).parent)!r}]\n{EXTREMES}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "done\n", done.stderr[-2000:]


class Part(enum.IntEnum):
    LENGTH = 3


class Colour(str, enum.Enum):  # noqa: UP042
    RED = "red"


def test_names_that_are_ints_or_text_by_inheritance_are_read() -> None:
    model = preprocessing.StandardScaler()
    x: dict[Any, Any] = {True: 1.0, 0: 2.0, Part.LENGTH: 3.0, Colour.RED: 4.0, "colour": Colour.RED}
    model.learn_one(x)
    assert model.features == [1, 0, 3, "red", "colour"]
    assert list(model.transform_one(x)) == [1, 0, 3, "red", "colour"]
    twin = preprocessing.StandardScaler()
    twin.learn_one({1: 1.0, 0: 2.0, 3: 3.0, "red": 4.0, "colour": "red"})
    assert model.to_bytes() == twin.to_bytes()


def test_a_line_break_in_a_name_or_a_value_stays_in_its_line() -> None:
    model = linear_model.LogisticRegression()
    model.learn_one({"a": 1.0}, "yes")
    model.learn_one({"a": 1.0}, "no")
    bad: list[tuple[dict[str, Any], str, str]] = [
        ({"b\nERROR all is lost": math.inf}, "yes", "b\\nERROR"),
        ({"a": "x\r\u2028y"}, "yes", "x\\r\\u2028y"),
        ({"a": 1.0}, "may\x1b[31mbe", "may\\x1b[31mbe"),
    ]
    for x, y, shown in bad:
        with pytest.raises(MillstreamError) as failure:
            model.learn_one(x, y)
        assert str(failure.value).isprintable()
        assert shown in str(failure.value)


def test_a_value_that_cannot_show_itself_is_refused_all_the_same() -> None:
    class Mute:
        def __repr__(self) -> str:
            raise RuntimeError("no words")

    with pytest.raises(TypeError, match="feature 'a': a value must be a number, a string or None, got Mute"):
        linear_model.LinearRegression().learn_one({"a": Mute()}, 1.0)


def test_what_a_masked_array_hides_is_missing() -> None:
    hidden = np.ma.array([[1.0, 2.0], [9e9, 3.0], [4.0, 5.0]], mask=[[0, 0], [1, 0], [0, 0]])
    whole = np.array([[1.0, 2.0], [math.nan, 3.0], [4.0, 5.0]])
    one, other = preprocessing.StandardScaler(), preprocessing.StandardScaler()
    one.learn_many(hidden)
    other.learn_many(whole)
    assert one.to_bytes() == other.to_bytes()
    model = linear_model.LinearRegression()
    with pytest.raises(TypeError, match="row 1: .*missing"):
        model.learn_many(whole, np.ma.array([1.0, 9e9, 3.0], mask=[0, 1, 0]))
    with pytest.raises(ValueError, match="row 1: .*weight"):
        model.learn_many(whole, [1.0, 2.0, 3.0], np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0]))
    assert model.learned == 0


@pytest.mark.parametrize("labels", [[2**62, 3.0], [2**53 + 1, 1.0], [3, 4.0, 3.0], [2**62, -1]], ids=str)
def test_large_labels_among_floats_stay_what_they_are(labels: list[Any]) -> None:
    one, many = naive_bayes.GaussianNB(), naive_bayes.GaussianNB()
    for label in labels:
        one.learn_one({0: 1.0}, label)
    many.learn_many(np.ones((len(labels), 1)), labels)
    assert many.classes == one.classes == list(dict.fromkeys(map(int, labels)))
    assert many.to_bytes() == one.to_bytes()


@pytest.mark.parametrize("make", [pandas.DataFrame, lambda rows: pandas.DataFrame(rows).to_numpy(dtype=object)])
def test_a_column_of_objects_that_changes_kind_is_bad_from_that_row(make: Any) -> None:
    rows = [{0: 1.0, 1: "x"}, {0: 2.0, 1: None}, {0: "oops", 1: "x"}, {0: 3.0, 1: [1]}, {0: 4.0, 1: "y"}]
    y = [1.0, 2.0, 3.0, 4.0, 5.0]
    for on_error, learned in (("raise", 0), ("stop", 2)):
        model = linear_model.LinearRegression()
        with pytest.raises(TypeError, match="row 2: .*feature 0 is a number, got 'oops'"):
            model.learn_many(make(rows), y, on_error=on_error)
        assert model.learned == learned
    model, loop = linear_model.LinearRegression(), linear_model.LinearRegression()
    assert model.learn_many(make(rows), y, on_error="skip") == 2
    loop.learn_many(rows, y, on_error="skip")
    assert model.to_bytes() == loop.to_bytes()
    assert len(loop.clone().step_many(make(rows), y, on_error="skip")) == 5


@pytest.mark.parametrize("weight", [10**400, -(10**400)])
def test_a_weight_beyond_floats_concerns_its_row_alone(weight: int) -> None:
    rows, y, w = [{"a": 1.0}, {"a": 2.0}, {"a": 3.0}], [1.0, 2.0, 3.0], [1.0, weight, 2.0]
    expected = linear_model.LinearRegression()
    expected.learn_many([rows[0], rows[2]], [1.0, 3.0], [1.0, 2.0])
    for X in (rows, pandas.DataFrame(rows)):
        model = linear_model.LinearRegression()
        with pytest.raises(InvalidValue, match=r"^row 1: linear_model.LinearRegression: the weight must be "):
            model.learn_many(X, y, w)
        assert model.learned == 0
        with pytest.raises(InvalidValue, match=r"^row 1: "):
            model.clone().learn_many(X, y, w, on_error="stop")
        assert model.learn_many(X, y, w, on_error="skip") == 1
        assert model.to_bytes() == expected.to_bytes()
    with pytest.raises(MillstreamError, match="w must have one number per row"):
        linear_model.LinearRegression().learn_many(rows, y, [1.0, weight, "x"], on_error="skip")
    sample = sampling.Reservoir(5)
    assert sample.learn_many(rows, y, w, on_error="skip") == 1
    result = evaluate.prequential(
        linear_model.LinearRegression(), list(zip(rows, y, w, strict=True)), on_error="skip"
    )
    assert result.skipped == 1
