"""Decision sets: projections are idempotent, nonexpansive and nearest; impossible sets are refused."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from millstream import oco
from millstream.oco.metric import project_in

pytestmark = pytest.mark.linear_algebra

D = 4
SETS = {
    "whole": oco.WholeSpace(D),
    "box": oco.Box([-1.0, 0.0, 2.0, -3.0], [1.0, 0.5, 2.0, 4.0]),
    "ball": oco.Ball(1.5, centre=[0.5, -1.0, 0.0, 2.0]),
    "simplex": oco.Simplex(D),
    "l1": oco.L1Ball(2.0, dimension=D),
    "own": oco.Set(
        project=lambda w: np.concatenate([np.clip(w[:2], 0, 1), w[2:] / max(1.0, np.linalg.norm(w[2:]))]),
        diameter=math.sqrt(2 + 4),
        dimension=D,
    ),
}
numbers = st.floats(-1e6, 1e6) | st.floats(-3, 3)
points = arrays(np.float64, D, elements=numbers)
named = pytest.mark.parametrize("name", list(SETS))


def inside(decisions, seed, count=40):
    rng = np.random.default_rng(seed)
    return [decisions.project(rng.normal(size=D) * 3) for _ in range(count)]


@named
@given(v=points)
@settings(max_examples=20, deadline=None)
def test_projection_is_into_the_set_and_idempotent(name, v):
    decisions = SETS[name]
    w = decisions.project(v)
    assert decisions.contains(w)
    assert np.allclose(decisions.project(w), w, rtol=0, atol=1e-12)


@named
@given(v=points, u=points)
@settings(max_examples=20, deadline=None)
def test_projection_is_nonexpansive(name, v, u):
    decisions = SETS[name]
    apart = np.linalg.norm(decisions.project(v) - decisions.project(u))
    assert apart <= np.linalg.norm(v - u) * (1 + 1e-9) + 1e-9


@named
@given(v=arrays(np.float64, D, elements=st.floats(-10, 10)))
@settings(max_examples=20, deadline=None)
def test_nothing_in_the_set_is_nearer(name, v):
    decisions = SETS[name]
    w = decisions.project(v)
    # The angle at the projection: ⟨v − w, u − w⟩ ≤ 0 for all u of the set.
    for u in inside(decisions, 3):
        assert (v - w) @ (u - w) <= 1e-8


@named
@pytest.mark.parametrize("full", [False, True])
@given(seed=st.integers(0, 10_000))
@settings(max_examples=20, deadline=None)
def test_projection_in_a_metric_is_nearest_in_it(name, full, seed):
    decisions = SETS[name]
    rng = np.random.default_rng(seed)
    metric = np.exp(rng.normal(size=D) * 2)
    if full:
        mix = rng.normal(size=(D, D))
        metric = mix @ mix.T + np.diag(metric) * 0.01
    v = rng.normal(size=D) * 5
    w = project_in(decisions, v, metric, decisions.start())
    assert decisions.contains(w, 1e-7)
    away = (metric @ (v - w)) if full else metric * (v - w)
    for u in inside(decisions, seed + 1, 20):
        assert away @ (u - w) <= 1e-6 * (1 + np.abs(away).max())


@named
@given(z=points)
@settings(max_examples=20, deadline=None)
def test_the_best_decision_for_a_linear_loss(name, z):
    decisions = SETS[name]
    if not decisions.has_minimiser:
        with pytest.raises(ValueError, match="minimise_linear"):
            decisions.minimise_linear(z)
        return
    best = decisions.minimise_linear(z)
    assert decisions.contains(best)
    for u in inside(decisions, 5):
        assert z @ best <= z @ u + 1e-6 * (1 + np.abs(z).max())


@named
def test_diameters_and_radii_are_not_too_small(name):
    decisions = SETS[name]
    if not decisions.bounded:
        assert decisions.diameter == math.inf
        return
    found = inside(decisions, 8, 60)
    if decisions.has_minimiser:
        found += [decisions.minimise_linear(z) for z in np.random.default_rng(1).normal(size=(60, D))]
    for norm in (1, 2, math.inf):
        widest = max(np.linalg.norm(u - w, norm) for u in found for w in found)
        assert widest <= decisions.diameter_in(norm) + 1e-9
    start = decisions.start()
    assert decisions.contains(start)
    assert max(np.linalg.norm(u - start) for u in found) <= decisions.radius_from(start) + 1e-9


@pytest.mark.parametrize("huge", [1e200, 1e308, -1e308])
@named
def test_huge_points_are_projected(name, huge):
    decisions = SETS[name]
    v = np.array([huge, -huge, 1.0, 0.0])
    if name == "own":
        return
    w = decisions.project(v)
    assert np.isfinite(w).all()
    assert decisions.contains(w)


@named
def test_sets_are_copied_by_pickle(name):
    if name == "own":
        return
    v = np.array([3.0, -1.0, 0.2, 0.4])
    assert np.array_equal(pickle.loads(pickle.dumps(SETS[name])).project(v), SETS[name].project(v))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: oco.Box([0.0, 2.0], [1.0, 1.0]), r"oco.Box: low must be at most high, got 2 and 1 at index 1"),
        (lambda: oco.Box([0.0, 2.0], [1.0]), r"oco.Box: low and high must have the same length, got \[1, 2\]"),
        (lambda: oco.Box(0.0, float("nan")), r"oco.Box: high must be finite, got nan"),
        (lambda: oco.Ball(-1.0), r"oco.Ball: radius must be at least 0, got -1"),
        (lambda: oco.Ball("wide"), r"oco.Ball: radius must be a number, got 'wide'"),
        (lambda: oco.Ball(1.0, centre=[[1.0]]), r"oco.Ball: centre must have shape \(d,\), got \(1, 1\)"),
        (lambda: oco.L1Ball(-0.5), r"oco.L1Ball: radius must be at least 0, got -0.5"),
        (lambda: oco.Simplex(0), r"dimension must be at least 1, got 0"),
        (lambda: oco.Simplex(2.5), r"dimension must be an integer, got 2.5"),
        (lambda: oco.WholeSpace(-1), r"dimension must be at least 1, got -1"),
        (lambda: oco.Set(project=3), r"oco.Set: project must be a function, got 3"),
        (lambda: oco.Set(project=abs, diameter=-1.0), r"oco.Set: diameter must be at least 0, got -1"),
        (
            lambda: oco.Simplex(2).project([1.0, 2.0, 3.0]),
            r"a point must have shape \(2,\), got \(3,\)",
        ),
        (
            lambda: oco.Simplex(2).project([1.0, math.inf]),
            r"oco.Simplex: a point must be finite, got inf at index 1",
        ),
        (lambda: oco.Simplex(2).project(["a", "b"]), r"oco.Simplex: a point must be a vector of numbers"),
        (
            lambda: oco.Set(project=lambda w: w[:1], dimension=2).project([1.0, 2.0]),
            r"oco.Set: a projection must have shape \(2,\), got \(1,\)",
        ),
    ],
)
def test_impossible_sets_and_points_are_refused(make, words):
    with pytest.raises((ValueError, TypeError), match=words):
        make()


def test_a_set_of_any_dimension_takes_that_of_the_loss():
    learner = oco.OnlineGradientDescent(oco.Ball(1.0))
    with pytest.raises(ValueError, match=r"the dimension is not known yet: pass dimension=… to Ball\(1\)"):
        learner.decide()
    learner.observe([1.0, 0.0, 0.0])
    assert learner.decide().shape == (3,)
    with pytest.raises(ValueError, match="the dimension of a loss must be 3, got 2"):
        learner.observe([1.0, 0.0])
    assert learner.rounds == 1
    assert oco.play(oco.FTRL(oco.Box(-1, 1)), np.ones((5, 2))).best.decision.tolist() == [-1.0, -1.0]
