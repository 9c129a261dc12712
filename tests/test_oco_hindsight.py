"""The best decision in hindsight is the best: beside SciPy, with certificates that hold."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from millstream import oco

pytestmark = pytest.mark.linear_algebra

D = 4
SETS = {
    "box": oco.Box([-1.0, 0.0, -0.5, -3.0], [1.0, 0.5, 2.0, 4.0]),
    "ball": oco.Ball(0.8, centre=[0.5, 0.0, 0.0, -0.5]),
    "simplex": oco.Simplex(D),
    "l1": oco.L1Ball(1.0, dimension=D),
}


def peer(value, decisions, start):
    """The decision of least value that SciPy finds, by penalised search over projected points."""
    found = optimize.minimize(
        lambda v: value(decisions.project(v)) + np.sum((v - decisions.project(v)) ** 2),
        start,
        method="Nelder-Mead",
        options={"maxiter": 20_000, "maxfev": 20_000, "xatol": 1e-10, "fatol": 1e-12, "adaptive": True},
    )
    return decisions.project(found.x)


def losses_of(kind, seed, rounds=60, d=D):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rounds, d))
    y = X @ rng.normal(size=d) + rng.normal(size=rounds) * 0.5
    if kind is oco.Linear:
        return oco.Linear.many(X)
    if kind is oco.SquaredDistance:
        return oco.SquaredDistance.many(X + 0.3)
    if kind is oco.Log:
        return oco.Log.many(np.exp(X * 0.3))
    return kind.many(X, np.sign(y) if kind in (oco.Hinge, oco.Logistic) else y)


def total(losses):
    """The sum of losses as a function, all rows at once; a search asks for it thousands of times."""
    kind, rows, targets = losses.kind, losses.rows, losses.targets
    if kind is oco.Linear:
        return lambda w: float((rows @ w).sum())
    if kind is oco.SquaredDistance:
        return lambda w: float(((rows - w) ** 2).sum())
    return lambda w: float(kind.phi(rows @ w, targets).sum())


def one_by_one(losses, w):
    return sum(loss.value(w) for loss in losses)


@pytest.mark.slow
@pytest.mark.parametrize("place", list(SETS))
@pytest.mark.parametrize(
    "kind", [oco.Linear, oco.SquaredDistance, oco.Squared, oco.Absolute, oco.Hinge, oco.Logistic, oco.Log]
)
def test_beside_a_search(kind, place):
    if kind is oco.Log and place != "simplex":
        return
    losses, decisions = losses_of(kind, 3), SETS[place]
    best = oco.best_decision(losses, decisions)
    assert decisions.contains(best.decision)
    assert best.loss == pytest.approx(one_by_one(losses, best.decision), rel=1e-9, abs=1e-9)
    assert best.gap <= 1e-7 * max(1.0, abs(best.loss))
    point = peer(total(losses), decisions, best.decision + 0.01)
    found = one_by_one(losses, point)
    assert total(losses)(point) == pytest.approx(found, rel=1e-9, abs=1e-9)
    assert best.loss <= found + 1e-6 * max(1.0, abs(found))
    # A certificate is a promise: nothing costs less.
    assert best.loss - best.gap <= found + 1e-9 * max(1.0, abs(found))


@pytest.mark.parametrize("kind", [oco.Absolute, oco.Hinge])
def test_kinks_in_many_dimensions(kind):
    losses = losses_of(kind, 5, rounds=300, d=30)
    best = oco.best_decision(losses, oco.Ball(1.0), tolerance=1e-4)
    assert best.gap <= 1e-3 * best.loss
    if kind is oco.Absolute:
        # The same as a linear programme, for a box.
        box = oco.best_decision(losses, oco.Box(-0.2, 0.2), tolerance=1e-4)
        rounds, d = losses.rows.shape
        above = np.block([[losses.rows, -np.eye(rounds)], [-losses.rows, -np.eye(rounds)]])
        aim = np.concatenate([losses.targets, -losses.targets])
        cost = np.concatenate([np.zeros(d), np.ones(rounds)])
        found = optimize.linprog(cost, above, aim, bounds=[(-0.2, 0.2)] * d + [(0, None)] * rounds)
        assert box.loss - box.gap - 1e-6 <= found.fun <= box.loss + 1e-6


def test_least_squares_on_the_whole_space():
    losses = losses_of(oco.Squared, 3)
    best = oco.best_decision(losses, oco.WholeSpace())
    exact = np.linalg.lstsq(losses.rows, losses.targets, rcond=None)[0]
    assert np.allclose(best.decision, exact)
    # A bound on what rounding can cost, and no exact 0.
    assert 0 <= best.gap < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("kind", [oco.Logistic, oco.Absolute, oco.Hinge])
def test_other_losses_on_the_whole_space(kind):
    losses = losses_of(kind, 4)
    best = oco.best_decision(losses, oco.WholeSpace())
    search = optimize.minimize(
        total(losses), best.decision + 0.1, method="Nelder-Mead",
        options={"maxiter": 20_000, "maxfev": 20_000, "xatol": 1e-9, "fatol": 1e-11},
    )  # fmt: skip
    found = one_by_one(losses, search.x)
    assert search.fun == pytest.approx(found, rel=1e-9)
    assert best.loss <= found + 1e-5 * max(1.0, found)
    assert "length" in best.method


@pytest.mark.slow
def test_own_functions_with_and_without_kinks():
    rng = np.random.default_rng(2)
    centres = rng.normal(size=(25, 2))
    smooth = [(lambda w, c=c: float(np.cosh(w - c).sum()), lambda w, c=c: np.sinh(w - c)) for c in centres]

    def slope(w, c):
        return np.sign(w - c) * (np.arange(2) == np.abs(w - c).argmax())

    kinked = [(lambda w, c=c: float(np.abs(w - c).max()), lambda w, c=c: slope(w, c)) for c in centres]
    for losses in (smooth, kinked):
        for decisions in (oco.Ball(1.0, dimension=2), oco.Simplex(2)):
            best = oco.best_decision([oco.Loss(*pair) for pair in losses], decisions)
            assert best.gap <= 1e-5 * best.loss
            angles = np.linspace(0, 2 * math.pi, 721)
            rim = np.column_stack([np.cos(angles), np.sin(angles)])
            tries = [decisions.project(point * size) for point in rim for size in (0.1, 0.4, 0.7, 1.0)]
            assert best.loss - best.gap <= min(sum(value(w) for value, _ in losses) for w in tries) + 1e-9


def test_an_own_set_without_a_minimiser_is_certified_by_its_projection():
    half = oco.Set(lambda w: np.clip(w, 0, 1), diameter=2.0, dimension=D)
    box = oco.Box(0, 1, dimension=D)
    for kind in (oco.Squared, oco.Logistic, oco.Linear):
        losses = losses_of(kind, 9)
        one, other = oco.best_decision(losses, half), oco.best_decision(losses, box)
        assert one.loss == pytest.approx(other.loss, rel=1e-6)
        assert one.loss - one.gap <= other.loss + 1e-9


def test_a_linear_loss_on_the_whole_space_has_no_best_decision():
    report = oco.play(oco.OnlineGradientDescent(oco.WholeSpace(2)), np.ones((5, 2)))
    assert report.regret == math.inf
    assert "compare with a bounded set" in report.best.method
    assert "unbounded" in report.summary()


@given(seed=st.integers(0, 100_000), rounds=st.integers(1, 6), switches=st.integers(0, 4))
@settings(max_examples=40, deadline=None)
def test_the_best_sequence_beside_all_sequences(seed, rounds, switches):
    losses = np.random.default_rng(seed).normal(size=(rounds, 3)).round(1)
    path, prefix = oco.best_sequence(losses, switches)
    for t in range(1, rounds + 1):
        every = [
            sum(losses[place, each] for place, each in enumerate(sequence))
            for sequence in itertools.product(range(3), repeat=t)
            if np.count_nonzero(np.diff(sequence)) <= switches
        ]
        assert prefix[t - 1] == pytest.approx(min(every))
    assert np.count_nonzero(np.diff(path)) <= switches
    assert losses[np.arange(rounds), path].sum() == pytest.approx(prefix[-1])


def test_bad_numbers_of_switches_are_refused():
    with pytest.raises(ValueError, match="switches must be an integer >= 0, got -1"):
        oco.best_sequence([[1.0]], -1)
    with pytest.raises(ValueError, match="switches require linear losses on the simplex"):
        oco.play(oco.FTRL(oco.Ball(1.0)), np.ones((3, 2)), switches=1)
