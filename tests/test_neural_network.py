"""Small networks, by gradient and by the incremental risk functional."""

import numpy as np
import pytest

from millstream import linear_model, neural_network, optim, preprocessing
from millstream.errors import InvalidValue

pytestmark = pytest.mark.linear_algebra


def bump(n, seed=1):
    random = np.random.default_rng(seed)
    x = random.uniform(0, 3, (n, 1))
    return x, x[:, 0] * np.exp(-(x[:, 0] ** 2)) + random.uniform(-0.05, 0.05, n)


def error(model, truth=lambda x: x * np.exp(-(x**2))):
    x = np.linspace(0, 3, 301)
    return np.mean((model.predict_many(x[:, None]) - truth(x)) ** 2)


def test_a_network_by_the_functional_learns_more_from_each_example():
    X, y = bump(1000)
    irma = neural_network.IRMARegressor(bounds=(0, 3), hidden_units=8, samples=64)
    irma.learn_many(X[:150], y[:150])
    descent = [
        preprocessing.StandardScaler() | neural_network.MLPRegressor(hidden_units=8, optimizer=each)
        for each in (optim.SGD(0.01), optim.SGD(0.03), optim.Adam(0.01))
    ]
    for model in descent:
        model.learn_many(X, y)
    # The variance of the truth is 0.0246, that of the noise 0.00083.
    assert error(irma) < 0.0005
    assert error(irma) < min(error(model) for model in descent)


def test_many_examples_let_gradients_come_near():
    X, y = bump(60_000)
    model = preprocessing.StandardScaler() | neural_network.MLPRegressor(optimizer=optim.Adam(0.003))
    model.learn_many(X, y)
    assert error(model) < 0.001


def test_the_error_of_an_example_never_rises():
    """Equation 12 of the paper: also where the functional is not convex, because only falls are accepted."""
    X, y = bump(120, seed=4)
    y[::7] += 3.0
    model = neural_network.IRMARegressor(bounds=(0, 3), hidden_units=5, samples=32)
    for x, target in zip(X, y, strict=True):
        before = abs(model.predict_one({0: x[0]}) - target)
        model.learn_one({0: x[0]}, target, 0.7)
        assert abs(model.predict_one({0: x[0]}) - target) <= before


def test_a_stiff_network_changes_little_and_a_soft_one_meets_the_example():
    said = {}
    for stiffness in (1e-6, 1e6):
        model = neural_network.IRMARegressor(
            bounds=(0, 3), stiffness=stiffness, growth=1.0, cap=1e6, damping=1e-3, inner_steps=20
        )
        model.learn_one({0: 1.0}, 0.4)
        said[stiffness] = model.predict_one({0: 1.0})
    assert said[1e-6] == pytest.approx(0.4, abs=1e-3)
    assert abs(said[1e6]) < 1e-3


def test_a_network_of_frozen_units_is_irma_of_its_functions():
    """Before anything is learned the output layer is 0, so only it moves: the first step is linear, and that of
    linear_model.IRMA on the functions (1, tanh …) with the Gram matrix of the points, to the damping."""
    samples = 4096
    model = neural_network.IRMARegressor(
        bounds=(-1, 1), hidden_units=2, samples=samples, damping=1e-9, inner_steps=1, stiffness=0.5
    )
    # What the units say follows from two networks that differ in nothing but the target.
    model.learn_one({0: 0.3}, 1.0)
    x = np.linspace(-1, 1, 5)
    once = model.predict_many(x[:, None])
    twice = neural_network.IRMARegressor(
        bounds=(-1, 1), hidden_units=2, samples=samples, damping=1e-9, inner_steps=1, stiffness=0.5
    )
    twice.learn_one({0: 0.3}, 2.0)
    assert twice.predict_many(x[:, None]) == pytest.approx(2 * once)
    # f(x₀) = y k / (λ + k) with k = φᵀA⁻¹φ: k follows from one stiffness and gives f at another.
    k = 0.5 * model.predict_one({0: 0.3}) / (1 - model.predict_one({0: 0.3}))
    stiffer = neural_network.IRMARegressor(
        bounds=(-1, 1), hidden_units=2, samples=samples, damping=1e-9, inner_steps=1, stiffness=3.0
    )
    stiffer.learn_one({0: 0.3}, 1.0)
    assert stiffer.predict_one({0: 0.3}) == pytest.approx(k / (3.0 + k), rel=1e-4)
    # The mean over evenly spread points, in place of the integral, for the constant alone: φᵀA⁻¹φ of a space with
    # the constant is at least 1.
    assert k > 1


def test_values_beyond_the_bounds():
    model = neural_network.IRMARegressor(bounds=[(0, 3), (-1, 1)], hidden_units=3)
    model.learn_one({"x": 1.0, "y": 0.5}, 1.0)
    before = model.to_bytes()
    with pytest.raises(InvalidValue, match=r"'y' must be within the bounds \[-1, 1\], got 2"):
        model.learn_one({"x": 1.0, "y": 2.0}, 1.0)
    with pytest.raises(InvalidValue, match=r"'x' must be within the bounds \[0, 3\], got -0.5"):
        model.predict_one({"x": -0.5, "y": 0.0})
    with pytest.raises(InvalidValue, match="bounds are given for 2 features, got also 'z'"):
        model.learn_one({"x": 1.0, "y": 0.5, "z": 0.0}, 1.0)
    assert model.to_bytes() == before
    clamped = model.clone(outside="clamp")
    further = model.clone(outside="extrapolate")
    for each in (clamped, further):
        each.learn_one({"x": 1.0, "y": 0.5}, 1.0)
    assert clamped.predict_one({"x": 9.0, "y": 0.0}) == clamped.predict_one({"x": 3.0, "y": 0.0})
    assert further.predict_one({"x": 9.0, "y": 0.0}) != further.predict_one({"x": 3.0, "y": 0.0})


def test_a_sparse_zero_beyond_the_bounds_is_refused():
    sparse = pytest.importorskip("scipy.sparse")
    model = neural_network.IRMARegressor(bounds=(1, 3), hidden_units=3)
    with pytest.raises(InvalidValue, match="got 0"):
        model.learn_many(sparse.csr_matrix([[2.0, 0.0]]), [1.0])


def test_it_follows_a_change():
    random = np.random.default_rng(3)
    X = random.uniform(0, 3, (600, 1))
    y = np.where(np.arange(600) < 300, np.sin(2 * X[:, 0]), -np.sin(2 * X[:, 0]))
    model = neural_network.IRMARegressor(bounds=(0, 3), cap=5.0, hidden_units=8, samples=64)
    model.learn_many(X, y)
    assert error(model, lambda x: -np.sin(2 * x)) < 0.01


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"bounds": (3, 0)}, "low < high"),
        ({"bounds": (0, 3), "hidden_units": 0}, "hidden_units"),
        ({"bounds": (0, 3), "damping": 0.0}, "damping must be > 0"),
        ({"bounds": (0, 3), "cap": 0.01}, "cap must be at least"),
        ({"bounds": (0, 3), "samples": 0}, "samples"),
    ],
)
def test_bad_arguments_are_refused(arguments, match):
    with pytest.raises(InvalidValue, match=match):
        neural_network.IRMARegressor(**arguments)


def test_too_many_parameters_are_refused_with_their_number():
    model = neural_network.IRMARegressor(bounds=(-1, 1), hidden_units=100)
    with pytest.raises(InvalidValue, match="up to 2048 parameters, got 2201 for 20 features"):
        model.learn_many(np.zeros((1, 20)), [1.0])


@pytest.mark.parametrize("optimizer", ["FTRLProximal"])
def test_optimizers_that_forget_the_beginning_are_refused(optimizer):
    with pytest.raises(InvalidValue, match=f"optimizer must support nonzero initial weights.*{optimizer}"):
        neural_network.MLPRegressor(optimizer=f"optim.{optimizer}")


def test_a_loss_for_classes_is_refused():
    with pytest.raises(InvalidValue, match="loss must be a regression loss"):
        neural_network.MLPRegressor(loss="losses.Hinge")


@pytest.mark.parametrize(
    "optimizer", [optim.SGD(0.05), optim.Momentum(0.01), optim.Nesterov(0.01), optim.Adam(0.01)]
)
def test_gradient_steps_are_those_of_numpy(optimizer):
    """Without the hidden layer's gradient the first steps are a linear model's on (1, tanh(…)); with Nesterov the
    gradient is taken ahead. Here all of it is written out in NumPy."""
    hidden, X, y = 3, np.random.default_rng(2).normal(size=(40, 2)), np.random.default_rng(3).normal(size=40)
    model = neural_network.MLPRegressor(hidden_units=hidden, optimizer=optimizer)
    said = model.step_many(X, y)
    # The weights to begin with: the hidden layer follows from predictions of a model whose output layer is known.
    theta = _begun(hidden, 2)
    a, b = np.zeros_like(theta), np.zeros_like(theta)
    name, rate = type(optimizer).__name__, optimizer.learning_rate
    for t, (x, target, predicted) in enumerate(zip(X, y, said, strict=True), start=1):
        f, _ = _network(theta, x, hidden)
        assert predicted == pytest.approx(f, abs=1e-9)
        at = theta - 0.9 * a if name == "Nesterov" else theta
        f, gradient = _network(at, x, hidden)
        g = 2 * (f - target) * gradient
        if name == "SGD":
            theta = theta - rate * g
        elif name in ("Momentum", "Nesterov"):
            a = 0.9 * a + rate * g
            theta = theta - a
        else:
            a, b = 0.9 * a + 0.1 * g, 0.999 * b + 0.001 * g * g
            theta = theta - rate * np.sqrt(1 - 0.999**t) / (1 - 0.9**t) * a / (np.sqrt(b) + 1e-8)


def _network(theta, x, hidden):
    c, v, b, w = theta[0], theta[1 : 1 + hidden], theta[1 + hidden : 1 + 2 * hidden], theta[1 + 2 * hidden :]
    a = np.tanh(b + x @ w.reshape(len(x), hidden))
    s = v * (1 - a * a)
    return c + v @ a, np.concatenate([[1.0], a, s, np.outer(x, s).ravel()])


def _begun(hidden, width):
    """The weights that a network begins with, by the generator of the core written out."""

    def split_mix(state):
        state = (state + 0x9E3779B97F4A7C15) % 2**64
        z = state
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        return state, z ^ (z >> 31)

    def draw(purpose):
        mixed, s = purpose * 0xD1B54A32D192ED03 % 2**64, []
        for _ in range(4):
            mixed, word = split_mix(mixed)
            s.append(word)
        rotated = lambda x, k: ((x << k) | (x >> (64 - k))) % 2**64  # noqa: E731
        for _ in range(hidden):
            result = (rotated((s[0] + s[3]) % 2**64, 23) + s[0]) % 2**64
            t = (s[1] << 17) % 2**64
            s[2] ^= s[0]
            s[3] ^= s[1]
            s[1] ^= s[2]
            s[0] ^= s[3]
            s[2] ^= t
            s[3] = rotated(s[3], 45)
            yield -1.0 + 2.0 * ((result >> 11) / 2**53)

    return np.array([0.0] * (1 + hidden) + [number for purpose in range(width + 1) for number in draw(purpose)])


def test_a_network_beats_a_line_where_the_truth_is_no_line():
    X, y = bump(3000)
    line = preprocessing.StandardScaler() | linear_model.LinearRegression()
    network = preprocessing.StandardScaler() | neural_network.MLPRegressor(optimizer=optim.Adam(0.01))
    losses = [np.mean((model.step_many(X, y) - y)[1000:] ** 2) for model in (line, network)]
    assert losses[1] < 0.5 * losses[0]
