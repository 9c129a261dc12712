"""Optimisers: the same weights as River's, as the papers', and through saves at any point."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from river import linear_model as river_models
from river import optim as river
from scipy import sparse
from sklearn import datasets

import millstream
from millstream import linear_model, optim
from millstream.errors import InvalidValue, NumericOverflow

pytestmark = pytest.mark.linear_algebra

PAIRS = [
    (optim.SGD(0.05), lambda: river.SGD(0.05)),
    (optim.SGD(optim.InverseScaling(0.1, 0.3)), lambda: river.SGD(river.schedulers.InverseScaling(0.1, 0.3))),
    (optim.SGD(optim.InverseSquareRoot(0.1)), lambda: river.SGD(river.schedulers.InverseScaling(0.1, 0.5))),
    (optim.SGD(optim.Optimal(1.0)), lambda: river.SGD(river.schedulers.Optimal(river.losses.Log(), 1.0))),
    (optim.Momentum(0.02), lambda: river.Momentum(0.02)),
    (optim.Nesterov(0.02), lambda: river.NesterovMomentum(0.02)),
    (optim.AdaGrad(), river.AdaGrad),
    (optim.AdaDelta(), river.AdaDelta),
    (optim.RMSProp(), river.RMSProp),
    (optim.Adam(), river.Adam),
]
OPTIMIZERS = [millstream.build({"name": name}) for name in millstream.find(role="optimizer")]
#: Those that step weight by weight; tests/test_optim_full_vector.py has the others.
BY_WEIGHT = [
    optimizer
    for optimizer in OPTIMIZERS
    if optimizer not in (optim.Adaptive(), optim.CoinBetting(), optim.OnlineNewtonStep())
]


def scaled(load: Any, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows in random order, without zeros."""
    X, y = load(return_X_y=True)
    order = np.random.default_rng(3).permutation(len(X))[:rows]
    X = (X[order] - X.mean(axis=0)) / X.std(axis=0)
    assert (X != 0).all()
    return X, y[order]


@pytest.mark.parametrize("l2", [0.0, 0.01])
@pytest.mark.parametrize(("ours", "theirs"), PAIRS, ids=[repr(ours) for ours, _ in PAIRS])
def test_logistic_regression_as_in_river(ours: Any, theirs: Any, l2: float) -> None:
    X, y = scaled(datasets.load_breast_cancer, 300)
    model = linear_model.LogisticRegression(optimizer=ours, l2=l2)
    peer = river_models.LogisticRegression(optimizer=theirs(), l2=l2)
    for row, label in zip(X, y, strict=True):
        x = {f"f{j}": float(value) for j, value in enumerate(row)}
        if model.learned:
            assert model.score_one(x) == pytest.approx(peer._raw_dot_one(x), rel=1e-9, abs=1e-9)
        model.learn_one(x, bool(label))
        peer.learn_one(x, bool(label))
    assert model.weights == pytest.approx(peer.weights, rel=1e-9, abs=1e-9)
    assert model.bias == pytest.approx(peer.intercept, rel=1e-9)


class PaperFTRL:
    """McMahan et al. (2013), algorithm 1, with z and n by feature and w made when it is needed."""

    def __init__(self, width: int, alpha: float, beta: float, l1: float, l2: float) -> None:
        self.z, self.n = np.zeros(width), np.zeros(width)
        self.alpha, self.beta, self.l1, self.l2 = alpha, beta, l1, l2

    def weights(self) -> np.ndarray:
        w = -(self.z - np.sign(self.z) * self.l1) / ((self.beta + np.sqrt(self.n)) / self.alpha + self.l2)
        return np.where(np.abs(self.z) <= self.l1, 0.0, w)

    def learn(self, x: np.ndarray, y: float) -> None:
        w = self.weights()
        g = (1 / (1 + np.exp(-(w @ x))) - y) * x
        sigma = (np.sqrt(self.n + g**2) - np.sqrt(self.n)) / self.alpha
        self.z += g - sigma * w
        self.n += g**2


@pytest.mark.parametrize("l1", [0.0, 1.0, 8.0])
def test_ftrl_as_in_the_paper(l1: float) -> None:
    X, y = scaled(datasets.load_breast_cancer, 300)
    model = linear_model.LogisticRegression(optim.FTRLProximal(0.1, 1.0, l1, 0.5), intercept=False)
    peer = PaperFTRL(X.shape[1], 0.1, 1.0, l1, 0.5)
    for row, label in zip(X, y, strict=True):
        model.learn_many(row[None], [int(label)])
        peer.learn(row, float(label))
    weights = np.array(list(model.weights.values()))
    np.testing.assert_allclose(weights, peer.weights(), rtol=1e-9, atol=1e-12)
    assert (weights == 0).any() == (l1 > 0)


def test_ftrl_takes_penalties_itself() -> None:
    with pytest.raises(InvalidValue, match=r"l1 and l2 must be 0 with optim\.FTRLProximal"):
        linear_model.LogisticRegression(optim.FTRLProximal(), l2=0.1)


@pytest.mark.parametrize("averaging", [False, True])
@pytest.mark.parametrize("optimizer", BY_WEIGHT, ids=repr)
def test_saved_and_continued_at_any_point(optimizer: Any, averaging: bool) -> None:
    X, y = scaled(datasets.load_breast_cancer, 60)
    for make in (linear_model.LogisticRegression, linear_model.SoftmaxRegression):
        whole = make(optimizer=optimizer, averaging=averaging)
        whole.learn_many(X, y)
        for split in (0, 1, 17, 59):
            part = make(optimizer=optimizer, averaging=averaging)
            part.learn_many(X[:split], y[:split])
            part = millstream.from_bytes(part.to_bytes())
            part.learn_many(X[split:], y[split:])
            assert part.to_bytes() == whole.to_bytes()


@pytest.mark.parametrize("l1", [0.0, 0.001])
@pytest.mark.parametrize("averaging", [False, True])
@pytest.mark.parametrize("optimizer", BY_WEIGHT, ids=repr)
def test_dense_sparse_and_dicts(optimizer: Any, averaging: bool, l1: float) -> None:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(150, 7)) * (rng.random((150, 7)) < 0.5)
    y = (X[:, 0] - X[:, 3] > 0).astype(int)
    penalty = {} if optimizer.name == "optim.FTRLProximal" else {"l1": l1, "l2": 0.01}
    models = [
        linear_model.LogisticRegression(optimizer=optimizer, averaging=averaging, **penalty) for _ in range(4)
    ]
    dense, by_dict, in_csr, absent = models
    dense.learn_many(X, y)
    in_csr.learn_many(sparse.csr_matrix(X), y)
    for row, label in zip(X, y, strict=True):
        by_dict.learn_one(dict(enumerate(row.tolist())), int(label))
        absent.learn_one({j: value for j, value in enumerate(row.tolist()) if value != 0}, int(label))
    expected = [dense.weights[str(j)] for j in range(7)]
    assert by_dict.to_bytes() == dense.to_bytes()
    for model in (in_csr, absent):
        # A sparse sum is added up in another order.
        assert [model.weights[str(j)] for j in range(7)] == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("optimizer", BY_WEIGHT, ids=repr)
def test_huge_values_leave_no_trace(optimizer: Any) -> None:
    X, y = scaled(datasets.load_iris, 50)
    for make in (linear_model.SoftmaxRegression, linear_model.LinearRegression):
        for averaging in (False, True):
            model = make(optimizer=optimizer, averaging=averaging)
            model.learn_many(X, y)
            before = model.to_bytes()
            refused = 0
            for x in ([1e308] * 4, [1e308, -1e308, 1e300, 1.0], [1e200, 1e-300, 1e180, 1.0]):
                for w in (1.0, 1e300):
                    try:
                        model.learn_one(dict(enumerate(x)), 1, w)
                    except NumericOverflow:
                        refused += 1
                        assert model.to_bytes() == before
                    else:
                        model = millstream.from_bytes(before)
                    if make is linear_model.SoftmaxRegression:
                        answer = list(model.predict_proba_one(dict(enumerate(x))).values())
                    else:
                        answer = model.predict_one(dict(enumerate(x)))
                    assert np.isfinite(answer).all()
            assert refused or optimizer.name in {"optim.AdaDelta"}


@pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=repr)
def test_each_optimizer_learns(optimizer: Any) -> None:
    X, y = scaled(datasets.load_breast_cancer, 500)
    model = linear_model.LogisticRegression(optimizer=optimizer)
    right = model.step_many(X, y)[100:] == y[100:]
    assert right.mean() > (0.7 if optimizer.name == "optim.AdaDelta" else 0.93)


@pytest.mark.parametrize("alpha", [1e-12, 1e-4, 1.0, 1e30])
def test_the_optimal_rate_is_finite(alpha: float) -> None:
    model = linear_model.LinearRegression(optim.SGD(optim.Optimal(alpha)), intercept=False, clip_gradient=1.0)
    model.learn_one({"x": 1.0}, 100.0)
    assert model.weights["x"] == pytest.approx(alpha**-0.25)


def test_names_that_river_users_know() -> None:
    assert optim.Adam(lr=0.2, eps=1e-6) == optim.Adam(learning_rate=0.2, epsilon=1e-6)
    assert optim.AdaDelta(eps=1e-6).epsilon == 1e-6


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: optim.SGD(0.0), r"optim\.SGD: learning_rate must be > 0 or a schedule, got 0"),
        (lambda: optim.Momentum(momentum=1.0), r"optim\.Momentum: momentum must be in \[0, 1\), got 1"),
        (lambda: optim.Adam(beta_2=-0.1), r"optim\.Adam: beta_2 must be in \[0, 1\), got -0.1"),
        (lambda: optim.InverseScaling(power=-1), r"optim\.InverseScaling: power must be >= 0, got -1"),
    ],
)
def test_parameters_out_of_range(make: Any, message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        make()
