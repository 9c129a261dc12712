"""Bases: their Gram matrices against quadrature and exact fractions, their names, and what they refuse."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import millstream
from millstream import basis, linear_model, losses, preprocessing
from millstream.errors import InvalidValue, MillstreamError

pytestmark = pytest.mark.linear_algebra

#: One of each, on bounds that are not symmetric.
ONE_INPUT: dict[str, Any] = {
    "Polynomial": basis.Polynomial(order=5, bounds=(-1, 2)),
    "Legendre": basis.Legendre(order=5, bounds=(-1, 2)),
    "Chebyshev": basis.Chebyshev(order=5, bounds=(-1, 2)),
    "Fourier": basis.Fourier(order=3, bounds=(-1, 2)),
    "GaussianRBF": basis.GaussianRBF(bounds=(-1, 2), count=7),
    "GaussianRBF(centres)": basis.GaussianRBF(bounds=(-1, 2), centres=[-0.7, 0.1, 1.9], width=0.6),
    "BSpline": basis.BSpline(bounds=(-1, 2), intervals=4, degree=3),
    "BSpline(0)": basis.BSpline(bounds=(-1, 2), intervals=4, degree=0),
    "Grid": basis.Grid(bounds=(-1, 2), count=5),
}


def nodes(low: float, high: float, pieces: int = 60) -> tuple[Any, Any]:
    """Gauss-Legendre nodes and weights on many pieces, fine enough for any of these functions."""
    t, w = np.polynomial.legendre.leggauss(12)
    edges = np.linspace(low, high, pieces + 1)
    half = (edges[1:] - edges[:-1])[:, None] / 2
    return (edges[:-1, None] + half * (1 + t)).ravel(), (half * w).ravel()


def values(model: Any, X: Any) -> Any:
    return np.asarray(model.transform_many(X))


@pytest.mark.parametrize("name", ONE_INPUT)
def test_gram_is_the_integral_of_products(name: str) -> None:
    x, w = nodes(-1, 2)
    phi = values(ONE_INPUT[name], x[:, None])
    np.testing.assert_allclose(ONE_INPUT[name].gram(), (phi * w[:, None]).T @ phi, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("combine", ["tensor", "additive"])
@pytest.mark.parametrize("name", [name for name in ONE_INPUT if "centres" not in name])
def test_gram_of_two_inputs(name: str, combine: str) -> None:
    model = ONE_INPUT[name].clone(bounds=[(-1, 2), (0, 0.5)], combine=combine)
    (x, u), (y, v) = nodes(-1, 2, 12), nodes(0, 0.5, 12)
    points = np.array([(a, b) for b in y for a in x])
    weights = np.array([a * b for b in v for a in u])
    phi = values(model, points)
    assert phi.shape[1] == len(model.functions("x", "y"))
    np.testing.assert_allclose(model.gram(), (phi * weights[:, None]).T @ phi, rtol=1e-11, atol=1e-12)


def test_gram_of_given_points() -> None:
    model = basis.GaussianRBF(bounds=[(0, 1), (0, 2)], centres=[[0.1, 0.2], [0.9, 1.7], [0.5, 1.0]], width=0.4)
    (x, u), (y, v) = nodes(0, 1, 12), nodes(0, 2, 12)
    phi = values(model, np.array([(a, b) for b in y for a in x]))
    weights = np.array([a * b for b in v for a in u])
    np.testing.assert_allclose(model.gram(), (phi * weights[:, None]).T @ phi, rtol=1e-11)


def test_gram_of_powers_is_exact() -> None:
    gram = basis.Polynomial(order=10, bounds=(0, 3)).gram()
    exact = [[float(Fraction(3 ** (i + j + 1), i + j + 1)) for j in range(11)] for i in range(11)]
    np.testing.assert_allclose(gram, exact, rtol=1e-15)


def orthonormal(model: Any, X: Any) -> Any:
    """What IRMA is given, by way of its weights: after one example from nothing they are a multiple of it."""
    rows = []
    for row in X:
        pipeline = model.clone() | linear_model.IRMA(stiffness=1.0)
        pipeline.learn_one(dict(enumerate(row)), 1.0)
        rows.append([pipeline.predict_one(dict(enumerate(other))) for other in X])
    return np.array(rows)


@pytest.mark.parametrize("combine", ["tensor", "additive"])
@pytest.mark.parametrize("name", [name for name in ONE_INPUT if "centres" not in name])
def test_a_step_of_irma_is_that_of_the_gram_matrix(name: str, combine: str) -> None:
    """From 0, θᵀφ(x') = φ(x')ᵀA⁻¹φ(x) / (λ + φ(x)ᵀA⁻¹φ(x)), with A as `gram` says."""
    model = ONE_INPUT[name].clone(bounds=[(-1, 2), (0, 0.5)], combine=combine)
    X = np.random.default_rng(0).uniform((-1, 0), (2, 0.5), size=(4, 2))
    phi = values(model, X)
    kernel = phi @ np.linalg.solve(model.gram(), phi.T)
    wanted = kernel / (1.0 + np.diag(kernel)[:, None])
    # A of powers in two inputs is so badly conditioned that NumPy's solution is the less exact of the two.
    np.testing.assert_allclose(orthonormal(model, X), wanted, atol=1e-7)


def test_bases_of_one_space_learn_the_same() -> None:
    X = np.random.default_rng(3).uniform(0, 3, (300, 1))
    y = X[:, 0] * np.exp(-(X[:, 0] ** 2))
    said = [
        (kind(order=8, bounds=(0, 3)) | linear_model.IRMA()).step_many(X, y)
        for kind in (basis.Polynomial, basis.Legendre, basis.Chebyshev)
    ]
    np.testing.assert_allclose(said[1], said[0], atol=1e-9)
    np.testing.assert_allclose(said[2], said[0], atol=1e-9)
    # A grid is the same space as splines of degree 1.
    grid = basis.Grid(bounds=(0, 3), count=7) | linear_model.IRMA()
    splines = basis.BSpline(bounds=(0, 3), intervals=6, degree=1) | linear_model.IRMA()
    np.testing.assert_allclose(grid.step_many(X, y), splines.step_many(X, y), atol=1e-9)


@pytest.mark.parametrize("combine", ["tensor", "additive"])
@pytest.mark.parametrize("name", [name for name in ONE_INPUT if "centres" not in name])
def test_members_of_a_pipeline_mean_the_same(name: str, combine: str) -> None:
    model = ONE_INPUT[name].clone(bounds=[(-1, 2), (0, 0.5)], combine=combine) | linear_model.IRMA()
    X = np.random.default_rng(1).uniform((-1, 0), (2, 0.5), size=(60, 2))
    model.learn_many(X, np.sin(X[:, 0]) + X[:, 1])
    functions, learner = model
    said = model.predict_many(X)
    rows = [functions.transform_one(dict(enumerate(x))) for x in X.tolist()]
    np.testing.assert_allclose([learner.predict_one(row) for row in rows], said, atol=1e-9)
    # The weights are of the functions as they are named.
    weights = np.array(list(learner.weights.values()))
    np.testing.assert_allclose(values(functions, X) @ weights, said, atol=1e-8)
    assert list(model.inspect()["steps"][1]["weights"]) == functions.functions("x0", "x1")
    revived = pickle.loads(pickle.dumps(millstream.from_bytes(model.to_bytes())))
    assert revived.predict_many(X).tolist() == said.tolist()
    assert revived.inspect() == model.inspect()


def test_other_learners_see_the_functions_themselves() -> None:
    model = basis.Polynomial(order=2, bounds=(0, 3)) | linear_model.RLS(l2=1e-9, intercept=False)
    for x in (0.5, 1.0, 2.0, 3.0, 0.1):
        model.learn_one({"x": x}, 1.0 + 2.0 * x - x * x)
    assert model["RLS"].weights == pytest.approx({"1": 1.0, "x": 2.0, "x^2": -1.0}, abs=1e-6)


def test_a_scaler_may_stand_before() -> None:
    scaler = preprocessing.MinMaxScaler()
    model = scaler | basis.Legendre(order=3, bounds=(0, 1), outside="clamp") | linear_model.IRMA()
    X = np.random.default_rng(1).uniform(-40, 90, (400, 1))
    said = model.step_many(X, X[:, 0] ** 2)
    assert np.abs(said[300:] - X[300:, 0] ** 2).max() < 0.1 * 90**2
    one = model.clone()
    assert [one.step_one({0: x}, x**2) for x in X[:, 0].tolist()] == said.tolist()


def test_refusals_behind_a_scaler_are_the_same_one_by_one_and_in_a_batch() -> None:
    model = preprocessing.MinMaxScaler() | basis.Legendre(order=1, bounds=(0, 1)) | linear_model.IRMA()
    one = model.clone()
    X = np.array([[1.0], [2.0], [1.5], [5.0], [4.0]])
    refused = []
    for row, x in enumerate(X[:, 0].tolist()):
        try:
            one.step_one({0: x}, 1.0)
        except MillstreamError:
            refused.append(row)
    # Before 5 is learned it lies beyond what the scaler has seen, and cannot be predicted.
    assert refused == [3, 4]
    skipped = model.clone()
    answers = skipped.step_many(X, np.ones(5), on_error="skip")
    assert np.isnan(answers).tolist() == [False, False, False, True, True]
    assert skipped.to_bytes() == one.to_bytes()


@pytest.mark.parametrize("outside", ["refuse", "clamp", "extrapolate"])
@pytest.mark.parametrize("name", ONE_INPUT)
def test_outside(name: str, outside: str) -> None:
    model = ONE_INPUT[name].clone(outside=outside)
    if outside == "refuse":
        for x in (-1.5, 2.5):
            with pytest.raises(InvalidValue, match=rf"'x' must be within the bounds \[-1, 2\], got {x}"):
                model.transform_one({"x": x})
            with pytest.raises(InvalidValue, match="must be within"):
                model.transform_many(np.array([[0.0], [x]]))
    elif outside == "clamp":
        assert model.transform_one({"x": 7.5}) == model.transform_one({"x": 2.0})
        assert model.transform_one({"x": -1e300}) == model.transform_one({"x": -1.0})
    else:
        assert all(math.isfinite(value) for value in model.transform_one({"x": 1e300}).values())
        near, at = model.transform_one({"x": 2.0 + 1e-9}), model.transform_one({"x": 2.0})
        assert list(near.values()) == pytest.approx(list(at.values()), abs=1e-6)


def test_functions_beyond_the_bounds_go_on() -> None:
    line = basis.Grid(bounds=(0, 1), count=2, outside="extrapolate").transform_one({"x": 3.0})
    assert line == {"x=0": -2.0, "x=1": 3.0}
    spline = basis.BSpline(bounds=(0, 1), intervals=3, degree=2, outside="extrapolate")
    assert sum(spline.transform_one({"x": 1.7}).values()) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: basis.Polynomial(order=3, bounds=(3, 0)), "with low < high"),
        (lambda: basis.Polynomial(order=3, bounds=(1, 1)), "with low < high"),
        (lambda: basis.Polynomial(order=3, bounds=(0, math.inf)), "finite"),
        (lambda: basis.Polynomial(order=3, bounds=(0, 1, 2)), "pair"),
        (lambda: basis.Polynomial(order=3, bounds=[]), "pair"),
        (lambda: basis.Polynomial(order=3, bounds=[(0, 1), (2,)]), "pair"),
        (lambda: basis.Polynomial(order=3, bounds=(0, 1e200)), "too far apart"),
        (lambda: basis.Polynomial(order=20, bounds=(0, 1)), "order 20 is too high .* use basis.Legendre"),
        (lambda: basis.Polynomial(order=5, bounds=(1000, 1001)), "order 5 is too high"),
        (lambda: basis.Polynomial(order=-1, bounds=(0, 1)), "order must be"),
        (lambda: basis.GaussianRBF(bounds=(0, 1), centres=[0.2, 0.7, 0.2]), "centres 0 and 2 are the same"),
        (lambda: basis.GaussianRBF(bounds=(0, 1), count=10, width=5.0), "Gram matrix is singular"),
        (lambda: basis.GaussianRBF(bounds=(0, 1), centres=[0.2, 90.0], width=0.1), "vanishes on the bounds"),
        (lambda: basis.GaussianRBF(bounds=(0, 1), centres=[]), "centres must be"),
        (lambda: basis.GaussianRBF(bounds=[(0, 1), (0, 1)], centres=[0.2]), "as many as there are bounds"),
        (lambda: basis.BSpline(bounds=(0, 1), intervals=0), "intervals must be"),
        (lambda: basis.Legendre(order=99, bounds=[(0, 1)] * 3), "3 inputs would make 1000000 functions"),
        (lambda: basis.Legendre(order=99, bounds=[(0, 1)] * 99), "too many functions"),
        (lambda: linear_model.IRMA(gram=[[1.0, 1.0], [1.0, 1.0]]), "positive definite: row 1"),
        (lambda: linear_model.IRMA(gram=[[1.0, 0.0], [0.0, -1.0]]), "positive definite: row 1"),
        (lambda: linear_model.IRMA(gram=[[1.0, 0.5], [0.0, 1.0]]), "symmetric"),
        (lambda: linear_model.IRMA(gram=[[1.0, 0.5]]), "square"),
        (lambda: linear_model.IRMA(gram=[]), "square"),
        (lambda: linear_model.IRMA(loss="losses.Logistic"), "loss must be a regression loss"),
        (lambda: linear_model.IRMAClassifier(loss="losses.Focal"), "loss must be convex"),
        (lambda: linear_model.IRMA(stiffness=1.0, cap=0.5), "cap must be at least stiffness"),
    ],
)
def test_bad_parameters(make: Any, words: str) -> None:
    with pytest.raises(MillstreamError, match=words):
        make()


def test_inputs_are_those_of_the_first_row() -> None:
    model = basis.Legendre(order=2, bounds=(0, 1))
    model.learn_one({"x": 0.5})
    for x, words in (
        ({"x": 0.5, "y": 0.5}, "have 1 input, got also 'y'"),
        ({"y": 0.5}, "got also 'y'"),
        ({}, "'x' is missing"),
    ):
        before = model.to_bytes()
        with pytest.raises(InvalidValue, match=words):
            model.learn_one(x)
        assert model.to_bytes() == before
    # A row without features says nothing of the inputs yet.
    empty = model.clone()
    empty.learn_one({})
    empty.learn_one({"x": 0.5})
    assert len(empty.transform_one({"x": 0.5})) == 3
    with pytest.raises(InvalidValue, match="'c' must be a number, got a nominal value"):
        model.clone().learn_one({"c": "red"})
    wide = basis.Legendre(order=9, bounds=(0, 1))
    with pytest.raises(InvalidValue, match="6 inputs would make 1000000 functions"):
        wide.learn_one(dict.fromkeys("abcdef", 0.5))


numbers = st.floats(-1e6, 1e6)


@settings(max_examples=60, deadline=None)
@given(low=numbers, width=st.floats(1e-3, 1e6), x=st.floats(allow_nan=False, allow_infinity=False))
def test_any_bounds(low: float, width: float, x: float) -> None:
    for name in ("Legendre", "Chebyshev", "Fourier", "GaussianRBF", "BSpline", "Grid"):
        bounds = (low, low + width)
        model = ONE_INPUT[name].clone(bounds=bounds) | linear_model.IRMA()
        for share in (0.0, 0.3, 1.0):
            model.learn_one({"x": min(low + share * width, low + width)}, 1.0)
        inside = bounds[0] <= x <= bounds[1]
        try:
            assert inside == math.isfinite(model.predict_one({"x": x}))
        except InvalidValue:
            assert not inside


def test_functions_and_gram_need_nothing_learned() -> None:
    model = basis.Legendre(order=1, bounds=(0, 1), combine="additive")
    assert model.functions("a", "b", "c") == ["1", "P1(a)", "P1(b)", "P1(c)"]
    assert model.gram(2).shape == (3, 3)
    assert model.learned == 0
    with pytest.raises(InvalidValue, match="the inputs are 2, not 3"):
        basis.Legendre(order=1, bounds=[(0, 1), (0, 1)]).gram(3)
    with pytest.raises(MillstreamError, match="only a basis has a Gram matrix"):
        preprocessing.StandardScaler()._gram()


@pytest.mark.parametrize("learner", [linear_model.RLS, linear_model.LeastSquares])
@pytest.mark.parametrize("combine", ["tensor", "additive"])
def test_halves_behind_a_basis_merged_are_the_whole(learner: Any, combine: str) -> None:
    random = np.random.default_rng(8)
    rows = [{"x": x, "y": y} for x, y in random.uniform(0, 1, size=(80, 2)).tolist()]
    targets = [math.sin(3 * row["x"]) * row["y"] for row in rows]
    model = basis.Legendre(order=2, bounds=[(0, 1), (-1, 2)], combine=combine) | learner(l2=0.1)
    whole, first, second = model.clone(), model.clone(), model.clone()
    for place, (row, target) in enumerate(zip(rows, targets, strict=True)):
        whole.learn_one(row, target)
        (first if place < 30 else second).learn_one(row, target)
    fresh = model.clone()
    fresh.merge(first)
    first.merge(second)
    fresh.merge(second)
    for row in rows:
        assert first.predict_one(row) == pytest.approx(whole.predict_one(row), rel=1e-9, abs=1e-10)
        assert fresh.predict_one(row) == pytest.approx(whole.predict_one(row), rel=1e-9, abs=1e-10)
    turned = model.clone()
    turned.learn_one({"y": 0.5, "x": 0.5}, 1.0)
    before = first.to_bytes()
    with pytest.raises(InvalidValue, match="the features of the two parts differ, or came in another order"):
        first.merge(turned)
    assert first.to_bytes() == before


def test_huge_values_are_shown_short_and_centers_are_centres() -> None:
    model = basis.Polynomial(order=2, bounds=(0, 3)) | linear_model.IRMA()
    with pytest.raises(InvalidValue, match=r"'x' must be within the bounds \[0, 3\], got -1e308 "):
        model.learn_one({"x": -1e308}, 1.0)
    points = basis.GaussianRBF(bounds=(0, 1), centers=[0.2, 0.7])
    assert points.centres == [0.2, 0.7]
    with pytest.raises(
        TypeError, match=r"loss must be a value or a component, got the class Huber; write Huber\(\)"
    ):
        linear_model.IRMA(loss=losses.Huber)  # type: ignore[arg-type]
