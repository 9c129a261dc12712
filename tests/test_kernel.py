"""Kernel learners: against NumPy's version of their papers, linear learners and scikit-learn."""

from __future__ import annotations

import itertools
import math
import pickle
from typing import Any

import numpy as np
import pytest

import millstream
from millstream import evaluate, kernel, linear_model, losses, optim, preprocessing, synth
from millstream.errors import InvalidValue
from millstream.kernel.sgd import NUMBERS

pytestmark = pytest.mark.linear_algebra


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
    with pytest.raises(InvalidValue, match=r"kernel.RBF: vectors must have one length, got .*\(2,\) and \(3,\)"):
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


@pytest.mark.parametrize("maintenance", ["removal", "projection", "merging", "forgetron", "projectron"])
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
    with pytest.raises(InvalidValue, match=r"SGDRegressor: maintenance 'forgetron' needs a classification loss"):
        kernel.KernelSGD(loss="losses.Squared", maintenance="forgetron")
    with pytest.raises(InvalidValue, match=r"must be a regression loss, got losses.Hinge; use kernel.KernelSGD"):
        kernel.KernelSGDRegressor(loss="losses.Hinge")
    with pytest.raises(InvalidValue, match=r"budget must be an integer in \[1, 1000000\], got 0"):
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
    model = kernel.KernelSGD(kernel.RBF(2.0), losses.Hinge(margin=0.0), 1.0, budget=20, maintenance="forgetron")
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
    for maintenance in ("removal", "projection", "merging", "forgetron", "projectron", "projectron++"):
        model = kernel.KernelSGD(kernel.RBF(1.0), budget=100, maintenance=maintenance)
        assert accuracy(model, X, y) > 0.75, maintenance
        assert {len(point["coefficients"]) for point in model.points} == {3}


@pytest.mark.slow
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


def krls(X: Any, y: Any, w: Any, tolerance: float, l2: float, k: Any) -> Any:
    """Kernel recursive least squares of its paper, solved anew over the dictionary after each example."""
    points: list[int] = []
    rows: list[Any] = []
    said = []
    for t in range(len(X)):
        if points:
            K = k(X[points], X[points])
            a = np.linalg.solve(K, k(X[points], X[t : t + 1])[:, 0])
            A, W = np.zeros((t, len(points))), w[:t]
            for row, coefficients in enumerate(rows):
                A[row, : len(coefficients)] = coefficients
            c = np.linalg.solve(K @ (A.T * W) @ A @ K + l2 * K, K @ (A.T * W) @ y[:t])
            said.append(float(a @ K @ c))
            apart = 1.0 - float(k(X[points], X[t : t + 1])[:, 0] @ a) > tolerance
        else:
            said.append(0.0)
            apart = True
        if apart:
            points.append(t)
            a = np.eye(len(points))[-1]
        rows.append(a)
    return np.array(said), points


@pytest.mark.parametrize("l2", [0.0, 0.1])
def test_kernel_rls_is_least_squares_over_its_dictionary(l2: float) -> None:
    random = np.random.default_rng(7)
    X = random.uniform(-2.0, 2.0, size=(120, 2))
    y, w = np.sin(X[:, 0]) * X[:, 1] + 0.1 * random.normal(size=120), random.uniform(0.5, 2.0, size=120)
    model = kernel.KernelRLS(kernel.RBF(0.5), tolerance=0.05, l2=l2)
    wanted, points = krls(X, y, w, 0.05, l2, kernel.RBF(0.5))
    np.testing.assert_allclose(model.step_many(X, y, w), wanted, rtol=1e-7, atol=1e-8)
    kept = [list(point["features"].values()) for point in model.points]
    assert kept == X[points].tolist()
    c = np.array([point["coefficients"][0] for point in model.points])
    expansion = kernel.RBF(0.5)(X, np.array(kept)) @ c
    np.testing.assert_allclose(model.predict_many(X), expansion, rtol=1e-9, atol=1e-9)


def test_kernel_rls_with_all_points_is_kernel_ridge() -> None:
    ridge = pytest.importorskip("sklearn.kernel_ridge")
    random = np.random.default_rng(8)
    X = random.normal(size=(60, 5))
    y = X[:, 0] ** 2 + random.normal(size=60)
    model = kernel.KernelRLS(kernel.RBF(0.5), tolerance=0.0, l2=0.3)
    model.learn_many(X, y)
    assert len(model.points) == 60
    theirs = ridge.KernelRidge(alpha=0.3, kernel="rbf", gamma=0.5).fit(X, y)
    fresh = random.normal(size=(20, 5))
    np.testing.assert_allclose(model.predict_many(fresh), theirs.predict(fresh), rtol=1e-9, atol=1e-10)


def test_kernel_rls_stays_sound_on_points_that_nearly_coincide() -> None:
    random = np.random.default_rng(9)
    x = 1.0 + 1e-5 * random.normal(size=(3000, 1))
    model = kernel.KernelRLS(kernel.RBF(1.0), tolerance=0.0, l2=0.0)
    model.learn_many(x, np.sin(x[:, 0]) + 0.01 * random.normal(size=3000))
    assert model.predict_one({0: 1.0}) == pytest.approx(np.sin(1.0), abs=0.01)
    far = kernel.KernelRLS(kernel.Polynomial(degree=5, gamma=1.0), l2=0.0)
    far.learn_many(1e3 * x, x[:, 0])
    assert far.predict_one({0: 1e3}) == pytest.approx(1.0, abs=0.01)


@pytest.mark.slow
def test_random_fourier_features_are_nearly_the_kernel() -> None:
    random = np.random.default_rng(10)
    X = random.normal(size=(40, 3))
    wanted = kernel.RBF(0.3)(X, X)
    errors = []
    for count in (100, 1600, 25_600):
        Z = np.asarray(kernel.RandomFourierFeatures(count, gamma=0.3, seed=4).transform_many(X))
        assert Z.shape == (40, count)
        errors.append(float(np.sqrt(np.mean((Z @ Z.T - wanted) ** 2))))
    # The error is 1/√D times a number below 1; sixteen times the features make it a quarter, to chance.
    for count, error in zip((100, 1600, 25_600), errors, strict=True):
        assert 0.2 < error * np.sqrt(count) < 1.5
    other = np.asarray(kernel.RandomFourierFeatures(100, gamma=0.3, seed=5).transform_many(X))
    again = np.asarray(kernel.RBFSampler(100, gamma=0.3, random_state=5).transform_many(X))
    assert other.tolist() == again.tolist() != np.asarray(kernel.RBFSampler(100, 0.3).transform_many(X)).tolist()


def test_frequencies_and_phases_can_be_read() -> None:
    features = kernel.RandomFourierFeatures(7, gamma=0.3, seed=2)
    rows = [{"x": 0.5, "colour": "red"}, {"x": -2.0, "colour": "blue"}, {"x": 1.0, "colour": None}]
    for row in rows:
        features.learn_one(row)
    drawn = features.inspect()
    for row in rows:
        angles = np.array(drawn["phases"]) + row["x"] * np.array(drawn["frequencies"]["x"])
        if row["colour"] is not None:
            angles = angles + np.array(drawn["frequencies"]["colour"][row["colour"]])
        found = list(features.transform_one(row).values())
        np.testing.assert_allclose(found, math.sqrt(2 / 7) * np.cos(angles), atol=1e-14)


@pytest.mark.slow
def test_fourier_features_of_a_million_columns_take_no_memory() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    X = sparse.random(50, 1 << 20, density=1e-5, random_state=1, format="csr")
    features = kernel.RandomFourierFeatures(64, gamma=0.5)
    Z = np.asarray(features.transform_many(X))
    difference = (X[0] - X[1]).toarray()
    assert Z[0] @ Z[1] == pytest.approx(np.exp(-0.5 * np.sum(difference**2)), abs=0.4)
    assert features.memory < 2_000_000


def test_nystroem_is_that_of_scikit_learn_but_for_a_rotation() -> None:
    theirs = pytest.importorskip("sklearn.kernel_approximation")
    random = np.random.default_rng(11)
    X, fresh = random.normal(size=(30, 4)), random.normal(size=(25, 4))
    ours = kernel.Nystroem(kernel.RBF(0.2), n_components=30, tolerance=0.0)
    ours.learn_many(X)
    assert len(ours.landmarks) == 30
    Z = np.asarray(ours.transform_many(fresh))
    V = theirs.Nystroem(kernel="rbf", gamma=0.2, n_components=30, random_state=1).fit(X).transform(fresh)
    np.testing.assert_allclose(Z @ Z.T, V @ V.T, rtol=1e-8, atol=1e-9)


def test_a_landmark_changes_no_feature_that_was_there() -> None:
    X = np.random.default_rng(12).normal(size=(200, 3))
    features = kernel.Nystroem(kernel.RBF(0.5), n_components=40)
    before = np.asarray(features.transform_many(X))
    assert not before.any()
    for row in range(0, 200, 10):
        known = len(features.landmarks)
        features.learn_many(X[row : row + 10])
        after = np.asarray(features.transform_many(X))
        assert after[:, :known].tolist() == before[:, :known].tolist()
        before = after
    assert len(features.landmarks) == 40
    assert features.transform_one(dict(enumerate(X[0]))).keys() == {f"nystroem_{place}" for place in range(40)}


@pytest.mark.parametrize("maps", ["kernel.RandomFourierFeatures", "kernel.Nystroem"])
def test_a_linear_learner_stands_in(maps: str) -> None:
    X, y = circles(4000)
    gamma = (
        {"gamma": 1.0} if "Fourier" in maps else {"kernel": {"name": "kernel.RBF", "parameters": {"gamma": 1.0}}}
    )
    features = millstream.build({"name": maps, "parameters": gamma})
    model = features | linear_model.LogisticRegression(optim.AdaGrad(0.3))
    line = accuracy(preprocessing.StandardScaler() | linear_model.LogisticRegression(), X, y)
    assert accuracy(model, X, y) > line + 0.25


def projected(X: Any, y: Any, k: Any, budget: int, tolerance: float, plus: bool) -> Any:
    """Projectron and Projectron++ as their paper has them, with a budget."""
    points: list[int] = []
    c, said = np.zeros(0), []
    for t, target in enumerate(y):
        row = k(X[points], X[t : t + 1])[:, 0] if points else np.zeros(0)
        margin = float(target * (c @ row))
        said.append(target * margin)
        if margin > (1.0 if plus else 0.0):
            continue
        d = np.linalg.solve(k(X[points], X[points]), row) if points else np.zeros(0)
        delta = np.sqrt(max(0.0, 1.0 - float(row @ d)))
        if plus and margin > 0:
            loss, length = 1.0 - margin, float(row @ d)
            gain = loss - delta / np.sqrt(tolerance)
            if gain > 0:
                c = c + target * min(loss / length, 2 * gain / length, 1.0) * d
        elif delta**2 <= tolerance or len(points) == budget:
            c = c + target * d
        else:
            points.append(t)
            c = np.append(c, target)
    return np.array(said)


@pytest.mark.parametrize("plus", [False, True])
def test_the_projectron_is_that_of_its_paper(plus: bool) -> None:
    X, y = circles(300)
    targets = np.where(y, 1.0, -1.0)
    loss = losses.Hinge() if plus else losses.Hinge(margin=0.0)
    maintenance = "projectron++" if plus else "projectron"
    model = kernel.KernelSGD(kernel.RBF(2.0), loss, 1.0, budget=25, maintenance=maintenance, tolerance=0.05)
    said = []
    for x, target in zip(X, y, strict=True):
        said.append(model.score_one(dict(enumerate(x))))
        model.learn_one(dict(enumerate(x)), bool(target))
    assert len(model.points) == 25
    np.testing.assert_allclose(said, projected(X, targets, kernel.RBF(2.0), 25, 0.05, plus), rtol=1e-6, atol=1e-8)


def test_projection_hands_over_what_the_others_can_hold() -> None:
    """With a linear kernel in two dimensions, two points hold every function: nothing is ever lost."""
    random = np.random.default_rng(13)
    X = random.normal(size=(200, 2))
    y = X @ [2.0, -1.0]
    whole = kernel.KernelSGDRegressor("kernel.Linear", learning_rate=0.02, budget=None)
    for maintenance in ("projection", "projectron"):
        two = kernel.KernelSGDRegressor("kernel.Linear", learning_rate=0.02, budget=2, maintenance=maintenance)
        np.testing.assert_allclose(two.step_many(X, y), whole.clone().step_many(X, y), rtol=1e-9, atol=1e-10)
        assert len(two.points) == 2


def gaussian(a: Any, b: Any) -> float:
    return float(np.exp(-0.5 * np.sum((a - b) ** 2)))


@pytest.mark.parametrize("maintenance", ["removal", "projection", "forgetron", "projectron", "projectron++"])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_function_does_what_the_native_kernel_does(maintenance: str, classes: int) -> None:
    random = np.random.default_rng(14)
    X = random.normal(size=(150, 3))
    y = np.array(["a", "b", "c"])[1 * (np.abs(X[:, 0]) > 0.7) + (X[:, 1] > 0.5) * (classes > 2)]
    w = random.uniform(0.5, 1.5, size=150)
    settings = {"learning_rate": optim.InverseSquareRoot(0.5), "l2": 0.01, "intercept": True, "budget": 20}
    both = [
        kernel.KernelSGD(k, losses.Hinge(), maintenance=maintenance, **settings)
        for k in (kernel.RBF(0.5), gaussian)
    ]
    native, own = (model.step_many(X, y, w, proba=True) for model in both)
    np.testing.assert_allclose(own[1:], native[1:], rtol=1e-6, atol=1e-9)
    assert len(both[1].points) == len(both[0].points)
    for row in range(0, 150, 30):
        x = dict(enumerate(X[row]))
        assert both[1].predict_one(x) == both[0].predict_one(x)
    again = pickle.loads(pickle.dumps(both[1]))
    assert again.predict_proba_one(dict(enumerate(X[0]))) == both[1].predict_proba_one(dict(enumerate(X[0])))


@pytest.mark.parametrize("loss", ["losses.Squared", "losses.Poisson"])
def test_a_function_does_what_the_native_kernel_does_for_numbers(loss: str) -> None:
    random = np.random.default_rng(15)
    X = random.normal(size=(100, 2))
    y = np.abs(X[:, 0])
    native, own = (
        kernel.KernelSGD(k, loss, budget=30, maintenance="removal") for k in (kernel.RBF(0.5), gaussian)
    )
    np.testing.assert_allclose(own.step_many(X, y), native.step_many(X, y), rtol=1e-9, atol=1e-12)
    assert own.role == "regressor"
    assert own.clone().learned == 0
    with pytest.raises(InvalidValue, match="must be a finite number, got nan"):
        own.learn_one({0: 1.0}, float("nan"))


@pytest.mark.parametrize(
    "settings", [{}, {"budget": 8}, {"l2": 0.0, "tolerance": 0.1}, {"nu": 0.05, "budget": None}], ids=str
)
def test_least_squares_with_a_function_is_that_with_the_native_kernel(settings: dict[str, Any]) -> None:
    random = np.random.default_rng(17)
    X = random.normal(size=(150, 2))
    y, w = np.sin(X[:, 0]) * X[:, 1], random.uniform(0.0, 1.5, size=150).round(1)
    native, own = (kernel.KernelRLS(k, **settings) for k in (kernel.RBF(0.5), gaussian))
    np.testing.assert_allclose(own.step_many(X, y, w), native.step_many(X, y, w), rtol=1e-9, atol=1e-12)
    assert own.role == "regressor"
    assert own.learned == native.learned
    both = [[point["coefficients"][0] for point in model.points] for model in (own, native)]
    np.testing.assert_allclose(both[0], both[1], rtol=1e-6, atol=1e-9)
    probe = dict(enumerate(X[0]))
    assert pickle.loads(pickle.dumps(own)).predict_one(probe) == own.predict_one(probe)
    assert own.clone().learned == 0
    assert own.clone().tolerance == own.tolerance


def test_landmarks_with_a_function_are_those_with_the_native_kernel() -> None:
    X, y = circles(300, seed=18)
    native, own = (
        kernel.Nystroem(k, n_components=12) | linear_model.LogisticRegression(optim.AdaGrad(0.3))
        for k in (kernel.RBF(0.5), gaussian)
    )
    found, expected = (model.step_many(X, y, proba=True)[1:] for model in (own, native))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    assert len(own[0].landmarks) == 12
    rows: list[dict[str, Any]] = [{"a": 1.0}, {"b": 2.0, "a": None}, {"c": -1.0, "a": 0.5}, {}, {"b": True}]
    maps = [kernel.Nystroem(k, n_components=4) for k in (kernel.RBF(0.5), gaussian)]
    for x in rows:
        for each in maps:
            each.learn_one(x)
        for probe in rows:
            assert maps[1].transform_one(probe) == pytest.approx(maps[0].transform_one(probe), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("make", [kernel.KernelRLS, kernel.Nystroem])
def test_a_function_that_fails_leaves_least_squares_and_landmarks_as_they_were(make: Any) -> None:
    answer = 1.0

    def failing(a: Any, b: Any) -> float:
        return answer if (a == b).all() else answer / 2

    model = make(failing)
    model.learn_one({"a": 1.0}, 2.0)
    before = pickle.dumps((model._points, model._inverse, model._features))
    for answer in (math.nan, math.inf, 1e308):  # noqa: B007
        with pytest.raises(InvalidValue, match=rf"^{make.name}: "):
            model.learn_one({"a": 2.0, "b": 1.0}, 1e300)
        assert pickle.dumps((model._points, model._inverse, model._features)) == before
    for weight in (-1.0, math.nan):
        with pytest.raises(InvalidValue, match="the weight must be finite and not negative"):
            model.learn_one({"a": 1.0}, 2.0, weight)
    assert pickle.dumps((model._points, model._inverse, model._features)) == before


@pytest.mark.parametrize("make", [kernel.KernelSGD, kernel.KernelRLS, kernel.Nystroem])
def test_a_class_is_no_kernel(make: Any) -> None:
    with pytest.raises(
        TypeError, match=r"kernel must be a value or a component, got the class RBF; write RBF\(\)"
    ):
        make(kernel.RBF)


def test_texts_for_least_squares_and_landmarks() -> None:
    mails = [("win money now", 1.0), ("meeting at noon", 0.0), ("easy money", 1.0), ("a meeting", 0.0)] * 5
    scores = kernel.KernelRLS(kernel.String(2))
    spam = kernel.Nystroem(kernel.String(2), 4) | linear_model.LogisticRegression(optim.AdaGrad(0.5))
    for mail, label in mails:
        scores.learn_one({"mail": mail}, label)
        spam.learn_one({"mail": mail}, label > 0.5)
    assert scores.predict_one({"mail": "more money"}) > 0.2 > scores.predict_one({"mail": "no meeting"})
    assert spam.predict_one({"mail": "more money"}) is True
    assert millstream.build(scores.describe()).describe() == scores.describe()
    assert pickle.loads(pickle.dumps(spam)).predict_one({"mail": "no meeting"}) is False


def test_features_may_come_late_to_a_function() -> None:
    native, own = (kernel.KernelSGD(k) for k in (kernel.RBF(0.5), gaussian))
    rows: list[dict[str, Any]] = [{"a": 1.0}, {"b": 2.0, "a": None}, {"c": -1.0, "a": 0.5}, {}, {"b": True}]
    for step, x in enumerate(rows * 4):
        for model in (native, own):
            model.learn_one(x, step % 3 == 0)
        for probe in rows:
            assert own.score_one(probe) == pytest.approx(native.score_one(probe), rel=1e-9, abs=1e-12)


def test_a_kernel_that_fails_gives_one_line_and_leaves_the_model() -> None:
    answers = iter([1.0, 0.5])

    def failing(a: Any, b: Any) -> float:
        value = next(answers, None)
        if value is None:
            raise ZeroDivisionError("no more")
        return value

    model = kernel.KernelSGD(failing)
    model.learn_one({"a": 1.0}, True)
    before = pickle.dumps((model._points, model._c, model._labels, model._features))
    answers = iter([math.nan])
    with pytest.raises(
        InvalidValue, match=r"^kernel.KernelSGD: the kernel failing must return a finite number, got nan$"
    ):
        model.learn_one({"a": 2.0, "b": 1.0}, "third")
    with pytest.raises(
        InvalidValue, match=r"^kernel.KernelSGD: the kernel failing raised ZeroDivisionError: no more$"
    ):
        model.learn_one({"a": 2.0, "b": 1.0}, False)
    assert pickle.dumps((model._points, model._c, model._labels, model._features)) == before
    with pytest.raises(
        TypeError, match=r"kernel takes vectors of numbers, feature 'b' is 'text'; kernel.Function"
    ):
        model.learn_one({"b": "text"}, False)
    with pytest.raises(TypeError, match="a Python function as kernel has no description"):
        model.describe()


@pytest.mark.slow
def test_a_function_in_a_pipeline_and_in_an_evaluation() -> None:
    X, y = circles(500)
    model = preprocessing.StandardScaler() | kernel.KernelSGD(
        lambda a, b: float(np.exp(-2.0 * ((a - b) @ (a - b))))
    )
    result = evaluate.prequential(model, (X, y), metrics=["Accuracy"])
    assert result["Accuracy"] > 0.7


def subsequences(text: str, length: int, decay: float) -> dict[str, float]:
    """Every piece of a text with its weight, by the definition."""
    found: dict[str, float] = {}
    for places in itertools.combinations(range(len(text)), length):
        piece = "".join(text[place] for place in places)
        found[piece] = found.get(piece, 0.0) + decay ** (places[-1] - places[0] + 1)
    return found


def test_string_kernels_are_their_definitions() -> None:
    texts = ["science is organized knowledge", "wisdom is organized life", "", "ab", "aaaa aaa", "Mühle, mühle"]
    for length in (1, 2, 3):
        spectrum = kernel.String(length, normalized=False)
        gaps = kernel.String(length, "subsequence", decay=0.6, normalized=False)
        for s, t in itertools.product(texts, texts):
            runs = lambda text, n=length: [text[i : i + n] for i in range(len(text) - n + 1)]  # noqa: E731
            assert spectrum(s, t) == sum(runs(t).count(run) for run in runs(s))
            a, b = subsequences(s, length, 0.6), subsequences(t, length, 0.6)
            assert gaps(s, t) == pytest.approx(sum(weight * b.get(piece, 0.0) for piece, weight in a.items()))
    whole = kernel.String(2)
    gram = whole(texts, texts)
    assert np.diag(gram).tolist() == pytest.approx([1.0, 1.0, 0.0, 1.0, 1.0, 1.0])
    assert np.linalg.eigvalsh(gram).min() > -1e-12


def test_texts_are_told_apart_by_their_pieces() -> None:
    random = np.random.default_rng(16)
    names = {
        "it": ["rossi", "bianchi", "esposito", "ricci", "moretti"],
        "pl": ["kowalski", "nowak", "lewandowski"],
    }
    rows = [
        ({"name": str(random.choice(names[land])) + "xyz"[random.integers(3)]}, land) for land in ["it", "pl"] * 40
    ]
    for pieces in ("spectrum", "subsequence"):
        model = kernel.KernelSGD(kernel.String(2, pieces), budget=20)
        hits = [model.step_one(x, y) == y for x, y in rows]
        assert np.mean(hits[20:]) > 0.9
        described = millstream.build(model.describe())
        assert described.describe() == model.describe()
        assert pickle.loads(pickle.dumps(model)).predict_one({"name": "mancini"}) == "it"
    with pytest.raises(
        ValueError, match=r"kernel.KernelSGD: more than one feature is a string \('name', 'town'\)"
    ):
        model.learn_one({"name": "a", "town": "b"}, "it")
    with pytest.raises(TypeError, match="feature 'name' must be a string, got 3"):
        kernel.KernelSGD(kernel.String(feature="name")).learn_one({"name": 3}, True)
