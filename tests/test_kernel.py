"""Kernel learners: against NumPy's version of their papers, linear learners and scikit-learn."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import millstream
from millstream import kernel, linear_model, losses, optim, preprocessing, synth
from millstream.errors import InvalidValue
from millstream.kernel.sgd import NUMBERS


def circles(height: int, seed: int = 1) -> tuple[Any, Any]:
    """Points in the plane, and whether they lie in a ring: nothing that a line can tell."""
    random = np.random.default_rng(seed)
    X = random.uniform(-2.0, 2.0, size=(height, 2))
    radius = np.hypot(X[:, 0], X[:, 1])
    return X, (radius > 0.8) & (radius < 1.6)


def accuracy(model: Any, X: Any, y: Any, after: int = 1000) -> float:
    said = model.step_many(X, y)
    return float(np.mean(said[after:] == y[after:]))


@pytest.mark.parametrize("name", ["linear", "polynomial", "rbf", "laplacian", "sigmoid"])
def test_kernels_are_those_of_scikit_learn(name: str) -> None:
    pairwise = pytest.importorskip("sklearn.metrics.pairwise")
    settings: dict[str, dict[str, Any]] = {
        "linear": {},
        "polynomial": {"degree": 4, "gamma": 0.3, "coef0": 0.5},
        "rbf": {"gamma": 0.3},
        "laplacian": {"gamma": 0.3},
        "sigmoid": {"gamma": 0.3, "coef0": -0.5},
    }
    ours = {
        "linear": "Linear",
        "polynomial": "Polynomial",
        "rbf": "RBF",
        "laplacian": "Laplace",
        "sigmoid": "Sigmoid",
    }
    random = np.random.default_rng(1)
    X, Z = random.normal(size=(17, 5)), random.normal(size=(23, 5))
    gram = getattr(kernel, ours[name])(**settings[name])(X, Z)
    theirs = getattr(pairwise, f"{name}_kernel")(X, Z, **settings[name])
    np.testing.assert_allclose(gram, theirs, rtol=1e-12, atol=1e-14)
    wide = kernel.Linear()(np.eye(3, 2000), np.ones((1, 2000)))
    np.testing.assert_array_equal(wide, np.ones((3, 1)))


def test_a_kernel_is_called_with_vectors_of_one_length() -> None:
    assert kernel.Linear()([1.0, 2.0], [[1.0, 0.0], [0.0, 1.0]]).tolist() == [1.0, 2.0]
    with pytest.raises(InvalidValue, match=r"kernel.RBF: vectors must be of one length, got .*\(2,\) and \(3,\)"):
        kernel.RBF()([1.0, 2.0], [1.0, 2.0, 3.0])
    assert kernel.RBF()(np.zeros((0, 2)), np.zeros((3, 2))).shape == (0, 3)


def recursion(X: Any, y: Any, loss: Any, rate: float, l2: float, gamma: float, intercept: bool) -> Any:
    """NORMA as its paper has it: what was said before each example was learned."""
    points, c, b, said = [], np.zeros(0), 0.0, []
    for x, target in zip(X, y, strict=True):
        k = np.array([np.exp(-gamma * np.sum((x - z) ** 2)) for z in points])
        f = float(c @ k) + b if len(points) else b
        said.append(f)
        slope = loss.slope(target, f)
        c = (1 - rate * l2) * c
        b -= rate * slope * intercept
        if slope != 0:
            points.append(x)
            c = np.append(c, -rate * slope)
    return np.array(said)


@pytest.mark.parametrize("loss", sorted(NUMBERS))
@pytest.mark.parametrize("intercept", [False, True])
def test_regression_is_the_recursion_of_the_source(loss: str, intercept: bool) -> None:
    random = np.random.default_rng(2)
    X = random.normal(size=(200, 3))
    y = np.abs(np.sin(X[:, 0]) + 0.1 * random.normal(size=200))
    model = kernel.KernelSGD(kernel.RBF(0.5), loss, 0.05, 0.1, intercept, budget=None)
    assert isinstance(model, kernel.KernelSGDRegressor)
    wanted = recursion(X, y, millstream.build({"name": loss}), 0.05, 0.1, 0.5, intercept)
    if loss == "losses.Poisson":
        wanted = np.exp(wanted)
    np.testing.assert_allclose(model.step_many(X, y), wanted, rtol=1e-10, atol=1e-12)


def test_classification_is_the_recursion_of_the_source() -> None:
    X, y = circles(300)
    model = kernel.KernelSGD(kernel.RBF(2.0), losses.Logistic(), learning_rate=0.5, l2=0.01, budget=None)
    wanted = recursion(X, np.where(y, 1.0, -1.0), losses.Logistic(), 0.5, 0.01, 2.0, False)
    said = model.step_many(X, y, proba=True)[1:, 1]
    np.testing.assert_allclose(said, 1 / (1 + np.exp(-wanted[1:])), rtol=1e-10)
    assert len(model.points) == 300


def test_the_losses_for_numbers_are_those_that_linear_regression_takes() -> None:
    taken = set()
    for name in millstream.find(role="loss"):
        try:
            linear_model.LinearRegression(loss=name)
        except ValueError:
            continue
        taken.add(name)
    assert taken == NUMBERS


def test_a_linear_kernel_is_a_linear_model() -> None:
    random = np.random.default_rng(3)
    X = random.normal(size=(300, 4))
    target = X @ [1.0, -2.0, 0.5, 0.0] + 0.1 * random.normal(size=300)
    line = linear_model.LinearRegression(optim.SGD(0.02), intercept=False)
    said = kernel.KernelSGDRegressor("kernel.Linear", learning_rate=0.02).step_many(X, target)
    np.testing.assert_allclose(said, line.step_many(X, target), rtol=1e-10, atol=1e-12)
    plane = linear_model.LogisticRegression(optim.SGD(0.1), intercept=False)
    logistic = kernel.KernelSGD("kernel.Linear", losses.Logistic(), learning_rate=0.1)
    y = target > 0
    np.testing.assert_allclose(
        logistic.step_many(X, y, proba=True)[1:], plane.step_many(X, y, proba=True)[1:], rtol=1e-10
    )
    assert plane.score_one(dict(enumerate(X[0]))) == pytest.approx(
        logistic.score_one(dict(enumerate(X[0]))), rel=1e-10
    )


@pytest.mark.parametrize("maintenance", ["removal", "merging", "forgetron"])
def test_on_a_budget_it_beats_a_line(maintenance: str) -> None:
    X, y = circles(4000)
    model = kernel.KernelSGD(kernel.RBF(2.0), budget=100, maintenance=maintenance)
    line = accuracy(preprocessing.StandardScaler() | linear_model.LogisticRegression(), X, y)
    ours = accuracy(model, X, y)
    assert len(model.points) == 100
    assert ours > line + 0.1, (ours, line)


def test_sines_and_balls() -> None:
    for stream, gamma in ((synth.Sine(seed=1), 5.0), (synth.RandomRBF(seed=1), 5.0)):
        chunk = next(stream.chunks(4000))
        X, y = np.asarray(chunk.X if hasattr(chunk, "X") else chunk.features), np.asarray(chunk.y)
        line = accuracy(preprocessing.StandardScaler() | linear_model.LogisticRegression(), X, y)
        assert accuracy(kernel.KernelSGD(kernel.RBF(gamma)), X, y) > line


def test_merging_is_for_gaussians_and_forgetting_for_classes() -> None:
    with pytest.raises(InvalidValue, match=r"kernel.KernelSGD: maintenance 'merging' needs kernel.RBF"):
        kernel.KernelSGD("kernel.Laplace", maintenance="merging")
    with pytest.raises(InvalidValue, match=r"SGDRegressor: maintenance 'forgetron' needs a loss for classes"):
        kernel.KernelSGD(loss="losses.Squared", maintenance="forgetron")
    with pytest.raises(InvalidValue, match=r"must be one for numbers, got losses.Hinge; kernel.KernelSGD takes"):
        kernel.KernelSGDRegressor(loss="losses.Hinge")
    with pytest.raises(InvalidValue, match=r"budget must be a whole number in \[1, 1000000\], got 0"):
        kernel.KernelSGD(budget=0)


def forgetron(X: Any, y: Any, gamma: float, budget: int) -> Any:
    """The self-tuned Forgetron of its paper, by plain search for its φ."""
    points: list[Any] = []
    weights: list[float] = []
    signs: list[float] = []
    mistakes, cost, said = 0, 0.0, []
    k = lambda a, b: float(np.exp(-gamma * np.sum((a - b) ** 2)))  # noqa: E731
    f = lambda x: sum(s * w * k(z, x) for s, w, z in zip(signs, weights, points, strict=True))  # noqa: E731
    for x, target in zip(X, y, strict=True):
        score = f(x)
        said.append(score)
        if target * score > 0:
            continue
        mistakes += 1
        points.append(x)
        weights.append(1.0)
        signs.append(target)
        if len(points) > budget:
            margin = signs[0] * f(points[0])
            phi = np.linspace(0, 1, 200_001)[1:]
            sigma = phi * weights[0]
            psi = sigma**2 + 2 * sigma - 2 * sigma * phi * margin
            best = int(np.flatnonzero(cost + psi <= 15 / 32 * mistakes).max())
            cost += psi[best]
            weights = [phi[best] * w for w in weights]
            del points[0], weights[0], signs[0]
    return np.array(said)


def test_the_forgetron_is_that_of_its_paper() -> None:
    X, y = circles(400)
    targets = np.where(y, 1.0, -1.0)
    model = kernel.KernelSGD(kernel.RBF(2.0), losses.Hinge(threshold=0.0), 1.0, budget=20, maintenance="forgetron")
    said = [0.0]
    model.learn_one(dict(enumerate(X[0])), bool(y[0]))
    for x, target in zip(X[1:], y[1:], strict=True):
        said.append(model.score_one(dict(enumerate(x))))
        model.learn_one(dict(enumerate(x)), bool(target))
    np.testing.assert_allclose(said, forgetron(X, targets, 2.0, 20), atol=2e-3)


def test_three_classes_share_their_points() -> None:
    random = np.random.default_rng(5)
    centres = random.normal(scale=2.0, size=(9, 2))
    which = random.integers(9, size=3000)
    X, y = centres[which] + 0.4 * random.normal(size=(3000, 2)), np.array(["a", "b", "c"])[which % 3]
    for maintenance in ("removal", "merging", "forgetron"):
        model = kernel.KernelSGD(kernel.RBF(1.0), budget=100, maintenance=maintenance)
        assert accuracy(model, X, y) > 0.75, maintenance
        assert {len(point["coefficients"]) for point in model.points} == {3}


@pytest.mark.parametrize("maintenance", ["removal", "merging"])
def test_wide_sparse_rows_are_kept_as_lists_and_do_the_same(maintenance: str) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    X = sparse.random(80, 1 << 18, density=4e-5, random_state=6, format="csr")
    used = np.unique(X.indices)
    assert len(used) < 1024
    narrow, y = X[:, used].toarray(), np.asarray(X.sum(axis=1)).ravel() > 5
    lists, rows = (kernel.KernelSGD(kernel.RBF(0.1), budget=20, maintenance=maintenance) for _ in range(2))
    lists.learn_many(X, y)
    rows.learn_many(narrow, y)
    assert lists.memory < 1_000_000
    assert lists.predict_proba_many(X).tolist() == rows.predict_proba_many(narrow).tolist()
    assert pickle.loads(pickle.dumps(lists)).to_bytes() == lists.to_bytes()


def test_a_kernel_that_overflows_leaves_the_model() -> None:
    model = kernel.KernelSGD(kernel.Polynomial(degree=9))
    model.learn_one({"a": 1.0}, True)
    before = model.to_bytes()
    with pytest.raises(OverflowError, match=r"kernel.KernelSGD: this example would make the state overflow"):
        model.learn_one({"a": 1e300, "b": 2.0}, False)
    assert model.to_bytes() == before
