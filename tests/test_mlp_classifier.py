"""Networks of classes, embeddings, random layers, and mini-batches of all learners that follow a gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import millstream
from millstream import linear_model, neural_network, optim, preprocessing
from millstream.errors import InvalidValue, MillstreamError

pytestmark = pytest.mark.linear_algebra


def rings(n: int = 3000, seed: int = 1) -> tuple[Any, Any]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 2))
    return X, np.digitize(np.hypot(X[:, 0], X[:, 1]), [0.7, 1.4])


@pytest.mark.parametrize(
    ("hidden", "activation", "optimizer"),
    [
        (32, "relu", optim.SGD(0.1)),
        ((24, 16), "relu", optim.Adam(0.01)),
        ((24, 16), "tanh", optim.Adam(0.01)),
        ((24,), "relu", optim.Momentum(0.02)),
        ((24,), "relu", optim.Nesterov(0.02)),
        ((24,), "tanh", optim.AdaGrad(0.3)),
        ((24,), "relu", optim.RMSProp(0.005)),
    ],
)
def test_rings_are_told_apart(hidden: Any, activation: str, optimizer: Any) -> None:
    X, y = rings()
    model = neural_network.MLPClassifier(hidden, activation, optimizer)
    for _ in range(4):
        model.learn_many(X, y)
    line = linear_model.SoftmaxRegression()
    line.learn_many(X, y)
    accuracy = np.mean(model.predict_many(X) == y)
    assert accuracy > 0.8 > 0.6 > np.mean(line.predict_many(X) == y)


def forward(model: Any, X: Any, activation: Any) -> Any:
    """The probabilities, from the readable weights."""
    first, *others = model.layers
    a = activation(first.intercepts + X @ np.array(list(first.weights.values())))
    for layer in others[:-1]:
        a = activation(layer.intercepts + a @ layer.weights)
    scores = others[-1].intercepts + a @ others[-1].weights.T
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_readable_weights_predict_the_same(activation: str) -> None:
    X, y = rings(500)
    model = neural_network.MLPClassifier((7, 5), activation, optim.SGD(0.1))
    model.learn_many(X, y)
    function = np.tanh if activation == "tanh" else lambda a: np.maximum(a, 0)
    np.testing.assert_allclose(forward(model, X, function), model.predict_proba_many(X), atol=1e-12)
    number = neural_network.MLPRegressor(6)
    number.learn_many(X, X[:, 0])
    first, last = number.layers
    hidden = np.tanh(first.intercepts + X @ np.array(list(first.weights.values())))
    np.testing.assert_allclose(
        (last.intercepts + hidden @ last.weights.T)[:, 0], number.predict_many(X), atol=1e-12
    )


def test_a_step_is_that_of_the_gradient_in_numpy() -> None:
    X, y = rings(300)
    model = neural_network.MLPClassifier((6, 4), "tanh", optim.SGD(0.2))
    model.learn_many(X, y)
    before = model.layers
    x, label = X[0], int(y[0])
    weights = [np.array(list(before[0].weights.values())), before[1].weights, before[2].weights.T]
    biases = [layer.intercepts for layer in before]
    a = [x, np.tanh(biases[0] + x @ weights[0])]
    a.append(np.tanh(biases[1] + a[1] @ weights[1]))
    scores = biases[2] + a[2] @ weights[2]
    p = np.exp(scores - scores.max())
    delta = p / p.sum()
    delta[model.classes.index(label)] -= 1.0
    expected = []
    for level in (2, 1, 0):
        expected.append((weights[level] - 0.2 * np.outer(a[level], delta), biases[level] - 0.2 * delta))
        delta = (weights[level] @ delta) * (1 - a[level] ** 2)
    model.learn_one(dict(enumerate(x)), label)
    after = model.layers
    got = [after[2].weights.T, after[1].weights, np.array(list(after[0].weights.values()))]
    for (weight, bias), found, layer in zip(expected, got, reversed(after), strict=True):
        np.testing.assert_allclose(found, weight, atol=1e-12)
        np.testing.assert_allclose(layer.intercepts, bias, atol=1e-12)


def test_classes_and_features_may_come_late() -> None:
    model = neural_network.MLPClassifier(8)
    model.learn_one({"a": 1.0}, "x")
    assert model.predict_proba_one({"a": 1.0}) == {"x": 1.0}
    model.learn_one({"b": 2.0}, "y")
    model.learn_one({"c": "red", "a": None}, "z")
    assert set(model.predict_proba_one({"a": 1.0, "c": "blue"})) == {"x", "y", "z"}
    assert set(model.layers[0].weights) == {"a", "b", "c"}


def test_embeddings_learn_what_values_have_in_common() -> None:
    random = np.random.default_rng(3)
    names = [f"item{place}" for place in range(40)]
    hidden = random.integers(0, 2, 40)
    model = neural_network.MLPClassifier(16, optimizer=optim.SGD(0.1), embedding_size=2)
    for place in random.integers(0, 40, 8000):
        side = int(random.integers(0, 2))
        model.learn_one({"item": names[place], "side": side}, bool(hidden[place] ^ side))
    vectors = model.embeddings["item"]
    assert len(vectors) == 40
    assert vectors["item0"].shape == (2,)
    right = [
        model.predict_one({"item": names[i], "side": s}) == bool(hidden[i] ^ s) for i in range(40) for s in (0, 1)
    ]
    assert np.mean(right) > 0.95
    # A vector per value has fewer weights than a weight per value and unit.
    plain = model.clone(embedding_size=0)
    for name in names:
        plain.learn_one({"item": name, "side": 0}, True)
        plain.learn_one({"item": name, "side": 0}, False)
    assert model.inspect()["parameters"] < plain.inspect()["parameters"]
    again = millstream.from_bytes(model.to_bytes())
    for each in (model, again):
        each.learn_one({"item": "new", "colour": "red"}, True)
    assert again.to_bytes() == model.to_bytes()


@pytest.mark.parametrize("size", [0, 3])
def test_a_refused_example_leaves_no_trace(size: int) -> None:
    model = neural_network.MLPClassifier((5, 3), embedding_size=size, optimizer=optim.SGD(1e6))
    model.learn_one({"a": 1.0, "c": "red"}, 0)
    model.learn_one({"a": -1.0, "c": "blue"}, 1)
    before = model.to_bytes()
    with pytest.raises(MillstreamError):
        model.learn_one({"a": 1e308, "b": 1e308, "c": "green", "d": "new"}, 2, 1e300)
    assert model.to_bytes() == before


@pytest.mark.parametrize("layers", [[], [0], [8, 5000], ["x"], list(range(1, 40))])
def test_impossible_layers_are_refused(layers: Any) -> None:
    with pytest.raises(InvalidValue, match="hidden_units"):
        neural_network.MLPClassifier(layers)


# Mini-batches.


def learners() -> dict[str, tuple[Any, Any]]:
    X, _ = rings(240)
    two = (X[:, 0] > 0.2).astype(int)
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    number = X[:, 0] - 0.5 * X[:, 1]
    return {
        "MLPClassifier": (neural_network.MLPClassifier((8, 6), optimizer=optim.SGD(0.2)), y),
        "MLPClassifier, Adam": (neural_network.MLPClassifier(6, optimizer=optim.Adam(0.01)), y),
        "MLPRegressor": (neural_network.MLPRegressor(6), number),
        "SoftmaxRegression": (linear_model.SoftmaxRegression(), y),
        "SoftmaxRegression, Adam": (linear_model.SoftmaxRegression(optimizer=optim.Adam(0.01)), y),
        "SVM": (linear_model.SVM(), two),
        "SVM, three classes": (linear_model.SVM(), y),
        "SVM, pegasos": (linear_model.SVM("pegasos", l2=0.01), two),
        "LMS": (linear_model.LMS(0.05), number),
        "LMS, normalised": (linear_model.LMS(0.5, normalized=True), number),
    }


@pytest.mark.parametrize("name", learners())
def test_a_batch_of_one_is_one_example(name: str) -> None:
    model, y = learners()[name]
    X, _ = rings(240)
    single = model.clone()
    if name == "SoftmaxRegression, Adam":
        # While there is one class, its gradient is exactly 0, and Adam's memory decays only when an example is
        # learned.
        X, y = np.concatenate([X[y == 0][:1], X[y == 1][:1], X]), np.concatenate([[0, 1], y])
    millstream.train(model, (X, y), batch_size=1)
    millstream.train(single, (X, y))
    answers = [getattr(each, "predict_proba_many", each.predict_many)(X) for each in (model, single)]
    np.testing.assert_allclose(*answers, atol=1e-12)


@pytest.mark.parametrize("name", learners())
def test_a_batch_of_copies_is_one_example(name: str) -> None:
    model, y = learners()[name]
    X, _ = rings(240)
    copies = model.clone()
    millstream.train(model, (X, y), batch_size=1)
    millstream.train(copies, (np.repeat(X, 5, axis=0), np.repeat(y, 5)), batch_size=5)
    answers = [getattr(each, "predict_proba_many", each.predict_many)(X) for each in (model, copies)]
    np.testing.assert_allclose(*answers, atol=1e-9)


@pytest.mark.parametrize("name", learners())
def test_batches_learn_and_a_faulty_one_leaves_no_trace(name: str) -> None:
    model, y = learners()[name]
    X, _ = rings(240)
    untrained = model.clone()
    millstream.train(model, (X, y), passes=20, batch_size=8)
    if model.role == "classifier":
        score = lambda each: np.mean(each.predict_many(X) == y)  # noqa: E731
        untrained.learn_many(X[:2], y[:2])
    else:
        score = lambda each: -np.mean((each.predict_many(X) - y) ** 2)  # noqa: E731
    assert score(model) > score(untrained)
    before = model.to_bytes()
    bad = X[:8].copy()
    bad[5] = np.inf
    with pytest.raises(MillstreamError):
        millstream.train(model, (bad, y[:8]), batch_size=8)
    assert model.to_bytes() == before
    millstream.train(model, (X, y), batch_size=8)


def test_the_mean_gradient_of_softmax_regression_in_numpy() -> None:
    X, y = rings(60)
    model = linear_model.SoftmaxRegression(optimizer=optim.SGD(0.1), intercept=False)
    millstream.train(model, (X, y), batch_size=1)
    read = lambda: np.array([list(each["weights"].values()) for each in model.inspect()["classes"]])  # noqa: E731
    before, labels = read(), model.classes
    scores = X @ before.T
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    slopes = p - (np.array(y)[:, None] == np.array(labels)[None, :])
    millstream.train(model, (X, y), batch_size=60)
    np.testing.assert_allclose(read(), before - 0.1 * slopes.T @ X / 60, atol=1e-12)


def test_mini_batches_at_the_end_of_a_pipeline() -> None:
    X, y = rings(400)
    model = preprocessing.StandardScaler() | neural_network.MLPClassifier(16, optimizer=optim.SGD(0.3))
    result = millstream.train(model, (X, y), passes=30, batch_size=10)
    assert result.risks[-1] < 0.5 * result.risks[0]


# Random layers.


def test_oselm_is_ridge_regression_on_its_hidden_layer() -> None:
    X, _ = rings(200)
    y = np.sin(2 * X[:, 0]) + X[:, 1]
    w = np.random.default_rng(2).uniform(0.5, 2, 200)
    model = neural_network.OSELM(hidden_units=20, l2=1e-3, seed=4)
    model.learn_many(X, y, w)
    first, last = model.layers
    hidden = np.tanh(first.intercepts + X @ np.array(list(first.weights.values())))
    H = np.column_stack([np.ones(200), hidden])
    ridge = np.linalg.solve(H.T @ (w[:, None] * H) + 1e-3 * np.eye(21), H.T @ (w * y))
    np.testing.assert_allclose(model.predict_many(X), H @ ridge, atol=1e-8)
    np.testing.assert_allclose([*last.intercepts, *last.weights[0]], ridge, atol=1e-6)


def test_the_spectral_radius_is_as_wanted() -> None:
    # The recurrent weights follow from impulses: with small inputs tanh is linear.
    model = neural_network.EchoState(hidden_units=1, spectral_radius=0.5, density=1.0, input_scale=1e-6)
    model.learn_one({"x": 1.0}, 0.0)
    assert abs(model.reservoir[0]) < 1e-5


def narma(n: int, seed: int = 0) -> tuple[Any, Any]:
    u = np.random.default_rng(seed).uniform(0, 0.5, n)
    y = np.zeros(n)
    for t in range(9, n - 1):
        y[t + 1] = 0.3 * y[t] + 0.05 * y[t] * y[t - 9 : t + 1].sum() + 1.5 * u[t - 9] * u[t] + 0.1
    return u[:-1], y[1:]


def test_echo_states_learn_the_tenth_order_narma_series() -> None:
    u, y = narma(6000)
    model = neural_network.EchoState(
        hidden_units=200, spectral_radius=0.9, input_scale=0.5, density=0.05, warm_up=50, seed=1
    )
    predicted = model.step_many(u[:, None], y)
    rest = slice(4000, None)
    error = np.mean((predicted[rest] - y[rest]) ** 2) / np.var(y[rest])
    line = linear_model.RLS()
    straight = line.step_many(u[:, None], y)
    assert error < 0.2 < 0.5 < np.mean((straight[rest] - y[rest]) ** 2) / np.var(y[rest])


def test_echo_states_predict_without_moving() -> None:
    u, y = narma(300)
    model = neural_network.EchoState(hidden_units=20)
    model.learn_many(u[:200, None], y[:200])
    before = model.to_bytes()
    for x in u[200:]:
        model.predict_one({0: x})
    assert model.to_bytes() == before
    again = millstream.from_bytes(before)
    for each in (model, again):
        each.learn_many(u[200:, None], y[200:])
    assert again.to_bytes() == model.to_bytes()
