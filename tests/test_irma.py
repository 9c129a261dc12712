"""IRMA against the paper's own update in exact arithmetic, and what it promises of every step."""

from __future__ import annotations

import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import millstream
from millstream import basis, linear_model, losses, multiclass
from millstream.errors import InvalidValue

pytestmark = pytest.mark.linear_algebra


def solve(matrix: list[list[Fraction]], right: list[Fraction]) -> list[Fraction]:
    """Gauss's elimination without rounding."""
    rows = [[*row, y] for row, y in zip(matrix, right, strict=True)]
    size = len(rows)
    for i in range(size):
        rows[i] = [entry / rows[i][i] for entry in rows[i]]
        for j in range(size):
            if j != i and rows[j][i]:
                rows[j] = [a - rows[j][i] * b for a, b in zip(rows[j], rows[i], strict=True)]
    return [row[-1] for row in rows]


class Exact:
    """Equations 8 and 9 of the paper with fractions: monomials, A and its inverse as they stand."""

    def __init__(self, order: int, low: int, high: int) -> None:
        size = order + 1
        self.gram = [
            [Fraction(high ** (i + j + 1) - low ** (i + j + 1), i + j + 1) for j in range(size)]
            for i in range(size)
        ]
        columns = [solve(self.gram, [Fraction(i == j) for i in range(size)]) for j in range(size)]
        self.inverse = [list(row) for row in zip(*columns, strict=True)]
        self.theta = [Fraction(0)] * size
        self.stiffness = Fraction(0.1)

    def predict(self, x: float) -> Fraction:
        return sum((c * Fraction(x) ** k for k, c in enumerate(self.theta)), Fraction(0))

    def learn(self, x: float, y: float) -> None:
        phi = [Fraction(x) ** k for k in range(len(self.theta))]
        along = [sum((a * b for a, b in zip(row, phi, strict=True)), Fraction(0)) for row in self.inverse]
        scale = (Fraction(y) - self.predict(x)) / (
            self.stiffness + sum(a * b for a, b in zip(along, phi, strict=True))
        )
        # Rounded to far more digits than are compared: exact fractions would grow without end.
        self.theta = [(t + scale * a).limit_denominator(10**60) for t, a in zip(self.theta, along, strict=True)]
        self.stiffness *= Fraction(1.05)


@pytest.mark.parametrize(("order", "count"), [(4, 30), (6, 30), (10, 30)])
def test_the_papers_update_to_full_accuracy(order: int, count: int) -> None:
    random = np.random.default_rng(order)
    exact = Exact(order, 0, 3)
    model = basis.Polynomial(order=order, bounds=(0, 3)) | linear_model.IRMA()
    for _ in range(count):
        x = float(random.uniform(0, 3))
        y = float(x * np.exp(-x * x) + random.uniform(-0.05, 0.05))
        model.learn_one({"x": x}, y)
        exact.learn(x, y)
    for x in np.linspace(0, 3, 13).tolist():
        assert model.predict_one({"x": x}) == pytest.approx(float(exact.predict(x)), abs=1e-14)
    weights = list(model["IRMA"].weights.values())
    np.testing.assert_allclose(weights, [float(c) for c in exact.theta], rtol=1e-8, atol=1e-12)


def test_one_step_by_hand() -> None:
    """Constants on [0, 4]: A = 4. λ = 1/2, y = 3: θ = (1/4) 3 / (1/2 + 1/4) = 1."""
    model = basis.Polynomial(order=0, bounds=(0, 4)) | linear_model.IRMA(stiffness=0.5)
    model.learn_one({"x": 1.0}, 3.0)
    assert model.predict_one({"x": 2.0}) == pytest.approx(1.0, abs=1e-15)
    assert model.inspect()["steps"][1]["weights"] == pytest.approx({"1": 1.0})


def test_step_many_is_step_one() -> None:
    X = np.random.default_rng(1).uniform(0, 3, (200, 1))
    y = np.sin(X[:, 0])
    many = basis.Polynomial(order=6, bounds=(0, 3)) | linear_model.IRMA()
    one = many.clone()
    said = many.step_many(X, y)
    assert said.tolist() == [one.step_one({0: x}, t) for x, t in zip(X[:, 0].tolist(), y.tolist(), strict=True)]
    assert many.to_bytes() == one.to_bytes()


def test_members_saved_and_pickled_models_mean_the_same() -> None:
    X = np.random.default_rng(2).uniform(0, 3, (100, 1))
    model = basis.Polynomial(order=6, bounds=(0, 3)) | linear_model.IRMA()
    model.learn_many(X, np.cos(X[:, 0]))
    powers, learner = model
    probes = [{0: x} for x in np.linspace(0, 3, 9).tolist()]
    for again in (millstream.from_bytes(model.to_bytes()), pickle.loads(pickle.dumps(model))):
        assert [again.predict_one(x) for x in probes] == [model.predict_one(x) for x in probes]
    apart = [learner.predict_one(powers.transform_one(x)) for x in probes]
    np.testing.assert_allclose(apart, [model.predict_one(x) for x in probes], atol=1e-12)
    # Apart they also go on learning the same.
    model.learn_one(probes[3], 5.0)
    learner.learn_one(powers.transform_one(probes[3]), 5.0)
    apart = [learner.predict_one(powers.transform_one(x)) for x in probes]
    np.testing.assert_allclose(apart, [model.predict_one(x) for x in probes], atol=1e-12)


@pytest.mark.parametrize(
    ("x", "words"),
    [
        ({"x": 3.5}, r"'x' must be within the bounds \[0, 3\], got 3.5"),
        ({"x": None}, "'x' is missing"),
        ({}, "'x' is missing"),
    ],
)
def test_points_outside_are_refused_in_predicting_too(x: dict[str, float], words: str) -> None:
    model = basis.Polynomial(order=3, bounds=(0, 3)) | linear_model.IRMA()
    model.learn_one({"x": 1.0}, 1.0)
    before = model.to_bytes()
    for verb in (lambda: model.predict_one(x), lambda: model.learn_one(x, 1.0), lambda: model.step_one(x, 1.0)):
        with pytest.raises(InvalidValue, match=words):
            verb()
    assert model.to_bytes() == before


NUMBERS = {
    "Squared": losses.Squared(),
    "Absolute": losses.Absolute(),
    "Huber": losses.Huber(epsilon=0.3),
    "Quantile": losses.Quantile(q=0.9),
    "EpsilonInsensitive": losses.EpsilonInsensitive(epsilon=0.2),
    "Poisson": losses.Poisson(),
}
CLASSES = {
    "Logistic": losses.Logistic(),
    "Hinge": losses.Hinge(),
    "Perceptron": losses.Hinge(margin=0.0),
    "SquaredHinge": losses.SquaredHinge(),
    "ModifiedHuber": losses.ModifiedHuber(),
    "FocalStar": losses.FocalStar(),
}
_X, _W = np.polynomial.legendre.leggauss(30)


def _over_region(f: Any, g: Any) -> float:
    """∫ (f − g)² over [0, 3], exact for polynomials of order 6."""
    return float(np.sum(1.5 * _W * (f(1.5 * (_X + 1)) - g(1.5 * (_X + 1))) ** 2))


@pytest.mark.parametrize("name", [*NUMBERS, *CLASSES])
def test_local_convergence(name: str) -> None:
    """Equation 12 for any loss: what the change over the region costs is paid by the loss at the example."""
    loss = (NUMBERS | CLASSES)[name]
    random = np.random.default_rng(5)
    learner = linear_model.IRMA(loss=loss) if name in NUMBERS else linear_model.IRMAClassifier(loss=loss)
    model = basis.Polynomial(order=6, bounds=(0, 3)) | learner

    def function() -> Any:
        steps = model.inspect()["steps"][1]
        planes = [steps] if name in NUMBERS else steps["planes"]
        weights = list(planes[0]["weights"].values()) if planes and planes[0]["weights"] else [0.0]
        return lambda x: np.polynomial.polynomial.polyval(x, weights)

    for _ in range(60):
        x, w = float(random.uniform(0, 3)), float(random.uniform(0.1, 3))
        y: Any = float(random.normal()) if name in NUMBERS else bool(random.random() < 0.5)
        if name == "Poisson":
            y = abs(y)
        stiffness = model.inspect()["steps"][1]["stiffness"]
        before = function()
        model.learn_one({"x": x}, y, w)
        after = function()
        change = stiffness * _over_region(before, after)
        old, new = w * loss.value(y, before(x)), w * loss.value(y, after(x))
        assert new <= old + 1e-9
        assert change + new <= old + 1e-8 * (1 + abs(old))


@pytest.mark.parametrize("name", [*NUMBERS, *CLASSES])
def test_a_step_is_the_minimum_of_the_functional(name: str) -> None:
    """No other change along A⁻¹φ, or in any other direction, costs less."""
    loss = (NUMBERS | CLASSES)[name]
    random = np.random.default_rng(6)
    order, stiffness, w, x, y = 3, 0.7, 1.3, 1.2, 1.0
    gram = basis.Polynomial(order=order, bounds=(0, 3)).gram()
    learner = (
        linear_model.IRMA(loss=loss, stiffness=stiffness)
        if name in NUMBERS
        else linear_model.IRMAClassifier(loss=loss, stiffness=stiffness)
    )
    model = basis.Polynomial(order=order, bounds=(0, 3)) | learner
    if name not in NUMBERS:
        # Both labels are known from the beginning, so that True is the second.
        model.learn_one({"x": 0.0}, False, 1e-300)
    model.learn_one({"x": x}, y if name in NUMBERS else True, w)
    steps = model.inspect()["steps"][1]
    theta = np.array(list((steps if name in NUMBERS else steps["planes"][0])["weights"].values()))
    phi = x ** np.arange(order + 1)
    stiffness *= 1.0 if name in NUMBERS else 1.05

    def cost(theta: Any) -> float:
        return float(stiffness * theta @ gram @ theta + w * loss.value(y, float(theta @ phi)))

    for _ in range(100):
        other = theta + random.normal(size=order + 1) * 10.0 ** random.uniform(-6, 0)
        assert cost(theta) <= cost(other) + 1e-12


def test_three_classes_by_softmax() -> None:
    """The step of all functions together is the minimum over all of them."""
    optimize = pytest.importorskip("scipy.optimize")
    order, stiffness = 2, 0.5
    gram = basis.Legendre(order=order, bounds=(0, 1)).gram()
    model = basis.Legendre(order=order, bounds=(0, 1)) | linear_model.IRMAClassifier(
        stiffness=stiffness, growth=1.0
    )
    points = [(0.1, "a"), (0.5, "b"), (0.9, "c"), (0.2, "a"), (0.55, "b")]
    for x, label in points:
        model.learn_one({"x": x}, label)
    before = np.array([list(w.values()) for w in model["IRMAClassifier"].weights.values()])
    x = 0.85
    phi = np.array(list(model["Legendre"].transform_one({"x": x}).values()))

    def cost(flat: Any) -> float:
        theta = flat.reshape(3, order + 1)
        z, change = theta @ phi, theta - before
        return float(stiffness * np.einsum("ki,ij,kj", change, gram, change) + np.log(np.exp(z).sum()) - z[2])

    best = optimize.minimize(cost, before.ravel(), method="BFGS", options={"gtol": 1e-10})
    model.learn_one({"x": x}, "c")
    after = np.array([list(w.values()) for w in model["IRMAClassifier"].weights.values()])
    np.testing.assert_allclose(after.ravel(), best.x, atol=1e-6)
    assert cost(after.ravel()) <= best.fun + 1e-12


@pytest.mark.parametrize("loss", ["losses.Logistic", "losses.Hinge", "losses.SquaredHinge"])
def test_three_rings(loss: str) -> None:
    random = np.random.default_rng(8)
    X = random.uniform(-1, 1, (3000, 2))
    y = np.digitize(np.hypot(X[:, 0], X[:, 1]), [0.5, 0.9])
    model = basis.Legendre(order=4, bounds=(-1, 1)) | linear_model.IRMAClassifier(
        loss=loss, stiffness=0.01, schedule="linear"
    )
    said = model.step_many(X, y)
    assert np.mean(said[1000:] == y[1000:]) > 0.85
    proba = np.asarray(model.predict_proba_many(X[:50]))
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert model["IRMAClassifier"].weights.keys() == {0, 1, 2}
    wrapped = basis.Legendre(order=4, bounds=(-1, 1)) | multiclass.OneVsRest(
        linear_model.IRMAClassifier(loss=loss)
    )
    wrapped.learn_many(X, y)
    functions, members = wrapped
    np.testing.assert_allclose(
        [list(members.predict_proba_one(functions.transform_one(dict(enumerate(x)))).values()) for x in X[:50]],
        np.asarray(wrapped.predict_proba_many(X[:50])),
        atol=1e-9,
    )


def test_other_schedules() -> None:
    def stiffness(**parameters: Any) -> float:
        model = linear_model.IRMA(**parameters)
        for _ in range(10):
            model.learn_one({"x": 1.0}, 1.0)
        return float(model.inspect()["stiffness"])

    assert stiffness() == pytest.approx(0.1 * 1.05**10)
    assert stiffness(growth=1.0) == 0.1
    assert stiffness(cap=0.11) == 0.11
    assert stiffness(schedule="linear", growth=2.0) == pytest.approx(0.1 + 10 * 0.1)


def test_stiffness_saturates_after_many_examples() -> None:
    model = basis.Legendre(order=2, bounds=(0, 1)) | linear_model.IRMA()
    X = np.random.default_rng(0).uniform(size=(100_000, 1))
    model.learn_many(X, X[:, 0])
    assert model.inspect()["steps"][1]["stiffness"] == 1e100
    assert model.predict_one({0: 0.5}) == pytest.approx(0.5, abs=0.05)
    assert millstream.from_bytes(model.to_bytes()).to_bytes() == model.to_bytes()


def test_a_gram_matrix_of_the_users_own_is_a_basis_in_front() -> None:
    powers = basis.Polynomial(order=4, bounds=(0, 3))
    own = powers.clone() | linear_model.IRMA(gram=powers.gram().tolist())
    model = powers.clone() | linear_model.IRMA()
    X = np.random.default_rng(4).uniform(0, 3, (100, 1))
    y = np.sqrt(X[:, 0])
    np.testing.assert_allclose(own.step_many(X, y), model.step_many(X, y), atol=1e-9)
    with pytest.raises(InvalidValue, match="Gram matrix is of 2 features, got 3"):
        linear_model.IRMA(gram=[[1.0, 0.0], [0.0, 1.0]]).learn_one({"a": 1.0, "b": 1.0, "c": 1.0}, 1.0)


def test_overflow_is_refused_whole() -> None:
    model = basis.Legendre(order=2, bounds=(0, 1)) | linear_model.IRMA()
    model.learn_one({"x": 0.5}, 1e308)
    before = model.to_bytes()
    for y in (-1.7e308, 1.7e308) * 3:
        try:
            model.learn_one({"x": 0.5}, y)
        except OverflowError:
            assert model.to_bytes() == before
        before = model.to_bytes()
        assert np.isfinite(model.predict_one({"x": 1.0}))
