"""IRMA against the paper's own update in exact arithmetic, and what it promises of every step."""

from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np
import pytest

import millstream
from millstream import basis, linear_model
from millstream.errors import InvalidValue


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
