"""The law of the house of online convex optimisation: measured regret stays under the bound of the theorem."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream import oco

pytestmark = pytest.mark.linear_algebra

D = 3
BOUNDED = {
    "box": oco.Box([-1.0, 0.0, -2.0], [1.0, 0.5, 3.0]),
    "ball": oco.Ball(1.5, centre=[0.5, 0.0, -1.0]),
    "simplex": oco.Simplex(D),
    "l1": oco.L1Ball(2.0, dimension=D),
}
#: Learners for any convex losses on bounded sets.
EUCLIDEAN = {
    "OGD": oco.OnlineGradientDescent,
    "OGD, constant": lambda decisions: oco.OnlineGradientDescent(decisions, 0.05),
    "OGD, 1/√t": lambda decisions: oco.OnlineGradientDescent(decisions, lambda t: 0.3 / math.sqrt(t)),
    "OGD, lazy": lambda decisions: oco.OnlineGradientDescent(decisions, projection="lazy"),
    "OSD": oco.OnlineSubgradientDescent,
    "FTRL": oco.FTRL,
    "FTRL, constant": lambda decisions: oco.FTRL(decisions, learning_rate=0.05),
    "MirrorDescent": oco.MirrorDescent,
    "MirrorDescent, active": lambda decisions: oco.MirrorDescent(decisions, projection="active"),
    "AdaGrad": oco.AdaGrad,
    "AdaGrad, full": lambda decisions: oco.AdaGrad(decisions, full=True),
}
WEIGHTS = {
    "Hedge": lambda: oco.Hedge(D),
    "Hedge, constant": lambda: oco.Hedge(D, 0.1),
    "EG": lambda: oco.ExponentiatedGradient(D),
    "EG, constant": lambda: oco.ExponentiatedGradient(D, 0.2),
    "EG±": lambda: oco.ExponentiatedGradient(oco.L1Ball(2.0, dimension=D)),
    "FTRL, entropic": lambda: oco.FTRL(oco.Simplex(D), "entropic"),
    "MirrorDescent, entropic": lambda: oco.MirrorDescent(oco.Simplex(D), "entropic", 0.3, "active"),
}
KINDS = ("random", "scaled", "growing", "alternating", "against", "sparse")


def linear_losses(kind, seed, rounds):
    """A matrix, or an adversary that sees the decision."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(rounds, D)) + rng.normal(size=D) * 0.3
    if kind == "scaled":
        return z * np.array([1e-3, 1.0, 1e3])
    if kind == "growing":
        return z * np.exp(np.linspace(0, 6, rounds))[:, None]
    if kind == "alternating":
        signs = np.where(np.arange(rounds) % 2, 1.0, -1.0)
        signs[0] = 0.5
        return signs[:, None] * np.abs(rng.normal(size=D))
    if kind == "against":
        return lambda t, w: np.sign(w - w.mean() + 1e-9 * rng.normal(size=D)) * (1 + (t % 3))
    if kind == "sparse":
        return z * (rng.random((rounds, D)) < 0.1)
    return z


def under(report):
    assert report.bound is not None
    assert math.isfinite(report.regret)
    assert report.holds, f"{report.regret} of at most {report.bound.value}"
    slack = 1e-7 * (1 + np.abs(report.curve["bound"])) + report.best.gap
    assert (report.curve["regret"] <= report.curve["bound"] + slack).all()


@pytest.mark.parametrize("place", list(BOUNDED))
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if "full" in name else name for name in EUCLIDEAN]
)
@given(kind=st.sampled_from(KINDS), seed=st.integers(0, 100_000))
@settings(max_examples=3, deadline=None)
def test_linear_losses_on_bounded_sets(name, place, kind, seed):
    learner = EUCLIDEAN[name](BOUNDED[place])
    # Losses that are multiples of each other make each projection in a full metric slow.
    rounds = 30 if "full" in name else 80
    under(oco.play(learner, linear_losses(kind, seed, rounds), rounds=rounds))


@pytest.mark.parametrize("name", list(WEIGHTS))
@given(kind=st.sampled_from(KINDS), seed=st.integers(0, 100_000))
@settings(max_examples=8, deadline=None)
def test_linear_losses_with_multiplicative_weights(name, kind, seed):
    under(oco.play(WEIGHTS[name](), linear_losses(kind, seed, 150), rounds=150))


@pytest.mark.parametrize(
    "learner",
    [
        lambda: oco.OnlineGradientDescent(oco.WholeSpace(D), 0.1),
        lambda: oco.OnlineGradientDescent(oco.WholeSpace(D)),
        lambda: oco.OnlineSubgradientDescent(oco.WholeSpace(D)),
        lambda: oco.FTRL(oco.WholeSpace(D), radius=5.0),
        lambda: oco.FTRL(oco.WholeSpace(D), "p-norm", 0.2),
        lambda: oco.MirrorDescent(oco.WholeSpace(D), oco.PNorm(1.2)),
        lambda: oco.AdaGrad(oco.WholeSpace(D)),
        lambda: oco.AdaGrad(oco.WholeSpace(D), full=True),
    ],
)
@given(kind=st.sampled_from(KINDS), seed=st.integers(0, 100_000))
@settings(max_examples=6, deadline=None)
def test_linear_losses_on_the_whole_space_against_a_ball(learner, kind, seed):
    under(oco.play(learner(), linear_losses(kind, seed, 100), rounds=100, comparator=oco.Ball(2.0)))


@pytest.mark.slow
@pytest.mark.parametrize("kind", [oco.Squared, oco.Absolute, oco.Hinge, oco.Logistic])
@pytest.mark.parametrize("place", ["ball", "l1"])
def test_convex_losses(kind, place):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(120, D))
    y = X @ [1.0, -0.5, 0.2] + rng.normal(size=120) * 0.3
    y = np.sign(y) if kind in (oco.Hinge, oco.Logistic) else y
    # Together they need the best decisions in hindsight only once.
    names = ("OGD", "OSD", "FTRL", "AdaGrad", "AdaGrad, full")
    reports = oco.play({name: EUCLIDEAN[name](BOUNDED[place]) for name in names}, kind.many(X, y))
    assert tuple(reports) == names
    for report in reports.values():
        under(report)
        assert report.best.gap <= 1e-6 * max(1.0, abs(report.best.loss))


@given(seed=st.integers(0, 100_000), far=st.booleans())
@settings(max_examples=8, deadline=None)
def test_strongly_convex_losses_cost_the_logarithm_of_the_rounds(seed, far):
    x = np.random.default_rng(seed).uniform(-1, 1, size=(300, D))
    if far:
        x = np.where(np.arange(300)[:, None] % 2, 1.0, -1.0) * np.abs(x)
    losses = oco.SquaredDistance.many(x)
    place = oco.Ball(2.0, dimension=D)
    for learner in (oco.FollowTheLeader(place), oco.OnlineGradientDescent(place, strong_convexity=2.0)):
        report = oco.play(learner, losses)
        under(report)
        gradient = report.bound.constants["G"]
        assert report.bound.value <= gradient**2 / 4.0 * (1 + math.log(300)) + 1e-9
        # Shalev-Shwartz (2012), corollary 2.2, has ½ ‖w − x‖² and 4 L² (log T + 1).
        assert report.regret <= 8.0 * 3.0 * (math.log(300) + 1)


@pytest.mark.slow
@given(seed=st.integers(0, 100_000), wild=st.booleans())
@settings(max_examples=5, deadline=None)
def test_exp_concave_losses_cost_the_logarithm_of_the_rounds(seed, wild):
    rng = np.random.default_rng(seed)
    returns = np.exp(rng.normal(size=(200, D)) * (1.5 if wild else 0.1))
    report = oco.play(oco.OnlineNewtonStep(oco.Simplex(D)), oco.Log.many(returns))
    under(report)
    gradient, gamma = report.bound.constants["G"], report.bound.constants["γ"]
    epsilon = report.bound.constants["ε"]
    closed = D / (2 * gamma) * math.log(1 + gamma * gradient**2 * 200 / (D * epsilon)) + 1.0
    assert report.bound.value <= closed * (1 + 1e-9)


def test_squared_losses_are_exp_concave_too():
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, size=(400, D))
    y = np.clip(X @ [0.5, -0.5, 0.2] + rng.normal(size=400) * 0.2, -1, 1)
    place = oco.Ball(1.0, dimension=D)
    worst = (math.sqrt(3) + 1) ** 2
    learner = oco.OnlineNewtonStep(place, exp_concavity=1 / (2 * worst))
    newton, gradient = (
        oco.play(learner, oco.Squared.many(X, y)),
        oco.play(oco.OnlineGradientDescent(place), oco.Squared.many(X, y)),
    )
    under(newton)
    under(gradient)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["random", "alternating", "growing"])
def test_the_perturbed_leader_on_average(kind):
    losses = linear_losses(kind, 5, 200)
    for decisions in (oco.Simplex(D), BOUNDED["box"]):
        reports = [oco.play(oco.FollowThePerturbedLeader(decisions, seed=seed), losses) for seed in range(12)]
        bounds = {report.bound.value for report in reports}
        assert len(bounds) == 1
        assert all(report.bound.expected for report in reports)
        assert np.mean([report.regret for report in reports]) <= bounds.pop()


@given(seed=st.integers(0, 100_000), switches=st.integers(0, 4), kind=st.sampled_from(KINDS[:4]))
@settings(max_examples=10, deadline=None)
def test_fixed_share_against_sequences_with_switches(seed, switches, kind):
    losses = linear_losses(kind, seed, 150)
    losses = np.concatenate([np.roll(part, place, axis=1) for place, part in enumerate(np.array_split(losses, 3))])
    for learner in (
        oco.FixedShare(D, switches=switches),
        oco.FixedShare(D, learning_rate=0.2, share=0.02),
        oco.FixedShare(D, share=0.05),
    ):
        under(oco.play(learner, losses, switches=switches))


@given(seed=st.integers(0, 100_000), epsilon=st.sampled_from([0.05, 0.2, 0.5]))
@settings(max_examples=8, deadline=None)
def test_the_weighted_majority(seed, epsilon):
    rng = np.random.default_rng(seed)
    mistakes = (rng.random((300, 6)) < rng.random(6)).astype(float)
    under(oco.play(oco.WeightedMajority(6, epsilon=epsilon), mistakes))


@given(seed=st.integers(0, 100_000))
@settings(max_examples=8, deadline=None)
def test_the_vote_of_the_majority_makes_few_mistakes(seed):
    """Hazan (2016), lemma 1.3: at most 2 (1 + ε) L* + 2 ln N / ε between two labels."""
    rng = np.random.default_rng(seed)
    learner = oco.WeightedMajority(5, epsilon=0.3)
    wrong, experts = 0, np.zeros(5)
    for _ in range(200):
        truth = int(rng.integers(2))
        advice = np.where(rng.random(5) < [0.2, 0.4, 0.5, 0.5, 0.6], 1 - truth, truth)
        wrong += learner.vote(advice.tolist()) != truth
        experts += advice != truth
        learner.observe((advice != truth).astype(float))
    assert wrong <= 2 * 1.3 * experts.min() + 2 * math.log(5) / 0.3


def test_an_own_regulariser_keeps_its_bound():
    own = oco.Regulariser(
        lambda w: float((w**2 + np.cosh(w)).sum()), lambda w: 2 * w + np.sinh(w), strong_convexity=3.0, spread=9.0
    )
    report = oco.play(oco.FTRL(oco.Box(-1, 1, dimension=D), own), linear_losses("random", 2, 100))
    under(report)


def test_whole_losses_keep_the_bound_of_the_regularised_leader():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, D))
    y = X @ [0.5, -0.5, 0.2] + rng.normal(size=60) * 0.2
    for decisions in (oco.WholeSpace(D), oco.Ball(1.0, dimension=D)):
        report = oco.play(oco.FTRL(decisions, learning_rate=0.5, linearised=False), oco.Squared.many(X, y))
        under(report)


def test_the_leader_is_fooled_and_the_regularised_leader_is_not():
    """Shalev-Shwartz (2012), example 2.2."""
    regrets = {}
    for rounds in (400, 1600):
        z = np.where(np.arange(rounds) % 2, -1.0, 1.0)[:, None]
        z[0] = 0.5
        interval = oco.Box(-1.0, 1.0, dimension=1)
        leader, regularised = oco.play(oco.FollowTheLeader(interval), z), oco.play(oco.FTRL(interval), z)
        assert leader.bound is None
        assert leader.holds is None
        under(regularised)
        regrets[rounds] = leader.regret, regularised.regret
    # The leader pays 1 at each round but the first.
    assert regrets[1600][0] >= 1600 - 3
    assert regrets[1600][0] / regrets[400][0] == pytest.approx(4, abs=0.1)
    assert regrets[1600][1] < 3 * regrets[400][1] < 100


def test_regret_against_a_true_adversary_grows_as_the_root():
    def adversary(t, w):
        return np.where(np.arange(2) == w.argmax(), 1.0, 0.0)

    regrets = [oco.play(oco.Hedge(2), adversary, rounds).regret for rounds in (500, 2000)]
    assert 1.5 < regrets[1] / regrets[0] < 2.5
    assert oco.play(oco.FollowTheLeader(oco.Simplex(2)), adversary, 500).regret > 200


def test_hedge_for_losses_between_0_and_1_has_the_bound_of_the_book():
    rng = np.random.default_rng(1)
    for rounds, experts in ((100, 2), (1000, 10), (5000, 100)):
        bound = oco.play(oco.Hedge(experts), rng.random((rounds, experts))).bound
        assert bound.value <= math.sqrt(rounds * math.log(experts)) + 1.0


def test_losses_that_are_not_what_the_learner_was_told_have_no_theorem():
    losses = linear_losses("random", 1, 20)
    assert oco.play(oco.OnlineNewtonStep(oco.Simplex(D)), losses).bound is None
    strong = oco.OnlineGradientDescent(oco.Ball(1.0, dimension=D), strong_convexity=1.0)
    assert oco.play(strong, losses).bound is None
    strong.reset()
    assert oco.play(strong, oco.SquaredDistance.many(losses)).bound is not None


def test_rates_that_grow_have_no_theorem():
    learner = oco.OnlineGradientDescent(oco.Ball(1.0, dimension=D), lambda t: 0.1 * t)
    assert oco.play(learner, linear_losses("random", 1, 20)).bound is None
    learner = oco.FTRL(oco.Ball(1.0, dimension=D), learning_rate=lambda t: 0.1 * t)
    assert oco.play(learner, linear_losses("random", 1, 20)).bound is None


#: Every learner that prints a bound: with its decision set, and the kind of losses that its theorem is about.
PRINTED = {
    **{
        f"{name} on {place}": (lambda make=make, place=place: make(BOUNDED[place]), "linear")
        for name, make in EUCLIDEAN.items()
        for place in BOUNDED
    },
    **{name: (make, "linear") for name, make in WEIGHTS.items()},
    "OGD on the whole space": (lambda: oco.OnlineGradientDescent(oco.WholeSpace(D), 0.1), "distance"),
    "OGD, strongly convex": (
        lambda: oco.OnlineGradientDescent(oco.WholeSpace(D), strong_convexity=2.0),
        "distance",
    ),
    "FTL on the whole space": (lambda: oco.FollowTheLeader(oco.WholeSpace(D)), "distance"),
    "FTL on a line": (lambda: oco.FollowTheLeader(oco.WholeSpace(1)), "distance"),
    "FTL in a box": (lambda: oco.FollowTheLeader(oco.Box(-1e3, 1e3, dimension=D)), "distance"),
    "FTL in a ball": (lambda: oco.FollowTheLeader(BOUNDED["ball"]), "distance"),
    "FTL on the simplex": (lambda: oco.FollowTheLeader(oco.Simplex(D)), "distance"),
    "FTRL, whole losses": (lambda: oco.FTRL(oco.WholeSpace(D), linearised=False), "distance"),
    "FTRL, p-norm": (lambda: oco.FTRL(oco.WholeSpace(D), "p-norm", 0.2), "distance"),
    "AdaGrad on the whole space": (lambda: oco.AdaGrad(oco.WholeSpace(D)), "distance"),
    "Newton step": (lambda: oco.OnlineNewtonStep(oco.Simplex(D)), "log"),
    "FixedShare": (lambda: oco.FixedShare(D, switches=2), "linear"),
    "WeightedMajority": (lambda: oco.WeightedMajority(D, epsilon=0.3), "mistakes"),
    "one decision": (lambda: oco.OnlineGradientDescent(oco.Box([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])), "linear"),
    "one decision, lazy": (lambda: oco.FTRL(oco.Box([0.1, 2.0, 0.3], [0.1, 2.0, 0.3])), "linear"),
    "one decision, Newton": (lambda: oco.OnlineNewtonStep(oco.Simplex(1)), "log"),
    "one expert": (lambda: oco.Hedge(1), "linear"),
}


def game_of(kind, d, rng):
    """Short and long games, with losses of all scales, near and far from 0, and often alike."""
    rounds = int(rng.integers(1, 40))
    scale, offset = 10.0 ** rng.integers(-4, 5), 10.0 ** rng.integers(-4, 5)
    z = rng.normal(size=(rounds, d)) * scale + rng.normal(size=d) * offset * rng.integers(0, 2)
    if rng.random() < 0.3:
        z = np.where(np.arange(rounds)[:, None] % 2, 1.0, -1.0) * np.abs(z[:1])
    if kind == "distance":
        return oco.SquaredDistance.many(z)
    if kind == "log":
        return oco.Log.many(np.exp(rng.normal(size=(rounds, d)) * rng.choice([0.01, 0.3, 2.0])))
    return (rng.random((rounds, d)) < 0.4).astype(float) if kind == "mistakes" else z


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow) if "full" in name or "Newton" in name else name
        for name in PRINTED
    ],
)
def test_regret_is_never_above_the_printed_bound_not_even_by_rounding(name):
    make, kind = PRINTED[name]
    bounds = 0
    for seed in range(4 if "full" in name else 10):
        learner = make()
        losses = game_of(kind, learner.dimension or D, np.random.default_rng(seed))
        losses = losses[:12] if "full" in name else losses
        report = oco.play(learner, losses)
        assert report.holds in (None, True), seed
        kept = ~np.isnan(report.curve["bound"])
        assert (report.curve["regret"][kept] <= report.curve["bound"][kept]).all(), seed
        if report.bound is not None:
            own = learner.bound(report.best.decision, report.best.loss, report.switches)
            assert report.regret <= own.value, seed
            bounds += 1
    assert bounds


def test_the_bound_of_the_leader_is_tight_and_still_above_the_regret():
    """For squared distances on a line the bound is an equality, so that rounding decides alone."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(int(rng.integers(1, 25)), 1)) * 10.0 ** rng.integers(-6, 7)
        learner = oco.FollowTheLeader(1)
        report = oco.play(learner, oco.SquaredDistance.many(x))
        assert report.regret <= report.bound.value
        assert report.regret <= learner.bound(report.best.decision, report.best.loss).value
        # FTL plays 0 in the first round, and the mean later.
        assert report.bound.value - report.regret <= 1e-11 * (1.0 + report.loss)
