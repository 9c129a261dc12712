"""Decisions of FTRL on the losses themselves are minimisers up to rounding."""

import numpy as np
import pytest
from scipy import optimize

from millstream import oco
from millstream.oco.second_order import newton
from millstream.oco.total import Total

pytestmark = pytest.mark.linear_algebra

SETS = {
    "whole": oco.WholeSpace,
    "ball": lambda d: oco.Ball(0.5, dimension=d),
    "box": lambda d: oco.Box(-0.2, 0.3, dimension=d),
    "simplex": oco.Simplex,
    "l1": lambda d: oco.L1Ball(0.7, dimension=d),
}


def data(kind, d, seed=0, rounds=25):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rounds, d))
    y = X @ rng.normal(size=d) + 0.5 * rng.normal(size=rounds)
    return X, y if kind is oco.Squared else np.sign(y)


def played(kind, d, rate, decisions, own=False, rounds=25):
    X, y = data(kind, d, rounds=rounds)
    learner = oco.FTRL(decisions, learning_rate=rate, linearised=False)
    for row, target in zip(X, y, strict=True):
        loss = kind(row, target)
        learner.observe(oco.Loss(loss.value, loss.gradient) if own else loss)
    return X, y, learner.decide()


def gradient_of(kind, X, y, rate, centre, w):
    """The gradient of Σ losses + ‖w − centre‖² / (2 η), and the sum of the lengths of its terms."""
    terms = [kind(row, target).gradient(w) for row, target in zip(X, y, strict=True)]
    terms.append((w - centre) / rate)
    return np.sum(terms, axis=0), sum(map(np.linalg.norm, terms))


@pytest.mark.parametrize("rate", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("d", [1, 4, 12])
@pytest.mark.parametrize("kind", [oco.Logistic, oco.Squared])
@pytest.mark.parametrize("own", [False, True])
def test_the_gradient_of_smooth_losses_is_0_up_to_rounding(kind, d, rate, own):
    X, y, w = played(kind, d, rate, oco.WholeSpace(d), own)
    gradient, size = gradient_of(kind, X, y, rate, np.zeros(d), w)
    assert np.linalg.norm(gradient) <= 1e-12 * size


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("place", list(SETS))
@pytest.mark.parametrize("kind", [oco.Logistic, oco.Squared])
def test_on_a_set_the_projected_gradient_step_goes_nowhere(kind, place, own):
    d, rate = 4, 2.0
    decisions = SETS[place](d)
    X, y, w = played(kind, d, rate, decisions, own, rounds=6)
    gradient, size = gradient_of(kind, X, y, rate, decisions.start(), w)
    step = 1e-3
    away = (w - decisions.project(w - step * gradient)) / step
    assert np.linalg.norm(away) <= 1e-10 * size
    assert decisions.contains(w)


@pytest.mark.parametrize("rate", [0.05, 1.0, 30.0])
@pytest.mark.parametrize("d", [1, 3, 8])
def test_logistic_losses_beside_scipy(d, rate):
    X, y, w = played(oco.Logistic, d, rate, oco.WholeSpace(d))

    def both(v):
        margin = y * (X @ v)
        slope = -y * np.exp(-np.logaddexp(0.0, margin))
        return np.logaddexp(0.0, -margin).sum() + v @ v / (2 * rate), slope @ X + v / rate

    def hessian(v):
        p = np.exp(-np.logaddexp(0.0, y * (X @ v)))
        return (X * (p * (1 - p))[:, None]).T @ X + np.eye(d) / rate

    found = optimize.root(lambda v: both(v)[1], np.zeros(d), jac=hessian, tol=1e-15)
    assert np.abs(w - found.x).max() <= 1e-11 * max(1.0, np.abs(found.x).max())


@pytest.mark.parametrize("rate", [0.05, 1.0, 30.0])
@pytest.mark.parametrize("d", [1, 3, 8])
def test_squared_losses_beside_scipy(d, rate):
    X, y, w = played(oco.Squared, d, rate, oco.WholeSpace(d))
    rows = np.concatenate([np.sqrt(2.0) * X, np.eye(d) / np.sqrt(rate)])
    found = optimize.lsq_linear(rows, np.concatenate([np.sqrt(2.0) * y, np.zeros(d)]), tol=1e-15)
    assert np.abs(w - found.x).max() <= 1e-11 * max(1.0, np.abs(found.x).max())


@pytest.mark.parametrize("rate", [0.05, 1.0, 30.0])
@pytest.mark.parametrize("d", [1, 3, 8])
def test_hinge_losses_beside_the_dual_by_scipy(d, rate):
    """The dual is a smooth problem over a box: min ½ η ‖Σ α y x‖² − Σ α, 0 ≤ α ≤ 1, with w = η Σ α y x."""
    X, y, w = played(oco.Hinge, d, rate, oco.WholeSpace(d))
    Z = X * y[:, None]

    def dual(alpha):
        v = rate * (alpha @ Z)
        return v @ v / (2 * rate) - alpha.sum(), Z @ v - 1.0

    bounds = [(0.0, 1.0)] * len(y)
    options = {"ftol": 1e-16, "gtol": 1e-13, "maxiter": 20000, "maxfun": 100000, "maxcor": 30}
    found = optimize.minimize(
        dual, np.full(len(y), 0.5), jac=True, bounds=bounds, method="L-BFGS-B", options=options
    )
    value = np.maximum(0.0, 1.0 - Z @ w).sum() + w @ w / (2 * rate)
    # Strong duality certifies both; the distance follows from the strong convexity 1 / η.
    assert value + found.fun <= 1e-9 * max(1.0, value)
    assert np.linalg.norm(w - rate * (found.x @ Z)) <= 1e-4 * max(1.0, np.linalg.norm(w))
    # At the minimiser there are slopes of the losses, between 0 and 1, that balance the regulariser exactly.
    margin = Z @ w
    inside = np.abs(margin - 1.0) <= 1e-9
    rest = w / rate - Z[margin < 1.0 - 1e-9].sum(axis=0)
    if inside.any():
        slopes = optimize.lsq_linear(Z[inside].T, rest, (0.0, 1.0), tol=1e-15).x
        rest = rest - slopes @ Z[inside]
    assert np.linalg.norm(rest) <= 1e-9 * np.linalg.norm(Z, axis=1).sum()


@pytest.mark.slow
def test_many_dimensions():
    d = 620
    X, y = data(oco.Logistic, d, rounds=3)
    learner = oco.FTRL(oco.WholeSpace(d), learning_rate=1.0, linearised=False)
    for row, target in zip(X, y, strict=True):
        learner.observe(oco.Logistic(row, target))
    gradient, size = gradient_of(oco.Logistic, X, y, 1.0, np.zeros(d), learner.decide())
    assert np.linalg.norm(gradient) <= 1e-12 * size


def test_newton_says_that_it_has_not_converged_at_a_kink():
    total = Total(2)
    total.add(oco.Loss(lambda w: float(np.abs(w - 1.0).sum()), lambda w: np.sign(w - 1.0)))
    total.add_distance(np.zeros(2), 0.01)
    assert not newton(total, oco.WholeSpace(2), np.zeros(2))[1]
    total = Total(1)
    # Undefined beyond 1, and least there.
    total.add(oco.Loss(lambda w: float(np.sqrt(1.0 - w[0])), lambda w: -0.5 / np.sqrt(1.0 - w)))
    assert not newton(total, oco.Box(0.0, 1.0, dimension=1), np.ones(1))[1]


@pytest.mark.slow
def test_own_losses_with_kinks_still_have_good_decisions():
    X, y = data(oco.Hinge, 3)
    ready = oco.FTRL(oco.Ball(1.0, dimension=3), learning_rate=0.5, linearised=False)
    own = ready.clone()
    for row, target in zip(X[:4], y[:4], strict=True):
        loss = oco.Hinge(row, target)
        ready.observe(loss)
        own.observe(oco.Loss(loss.value, loss.gradient))
    assert own.decide() == pytest.approx(ready.decide(), abs=1e-3)
