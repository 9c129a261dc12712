"""The repeated game: learners, losses, whole or nothing, blocks that change no bit, reports."""

import copy
import math
import pickle
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream import oco
from millstream.errors import InvalidType, InvalidValue, NumericOverflow

pytestmark = pytest.mark.linear_algebra

D = 3
LEARNERS = {
    "FollowTheLeader": lambda: oco.FollowTheLeader(oco.Box(-1.0, 1.0, dimension=D)),
    "FTRL": lambda: oco.FTRL(oco.Ball(1.0, dimension=D)),
    "FTRL, whole losses": lambda: oco.FTRL(oco.Ball(1.0, dimension=D), linearised=False),
    "FTRL, entropic": lambda: oco.FTRL(oco.Simplex(D), "entropic"),
    "FTRL, p-norm": lambda: oco.FTRL(oco.WholeSpace(D), oco.PNorm(1.5)),
    "OnlineGradientDescent": lambda: oco.OnlineGradientDescent(oco.Ball(1.0, dimension=D)),
    "OnlineSubgradientDescent": lambda: oco.OnlineSubgradientDescent(oco.L1Ball(1.0, dimension=D)),
    "MirrorDescent": lambda: oco.MirrorDescent(oco.Simplex(D), "entropic"),
    "AdaGrad": lambda: oco.AdaGrad(oco.Box(-1.0, 1.0, dimension=D)),
    "AdaGrad, full": lambda: oco.AdaGrad(oco.Simplex(D), full=True),
    "OnlineNewtonStep": lambda: oco.OnlineNewtonStep(oco.Simplex(D)),
    "Hedge": lambda: oco.Hedge(D),
    "WeightedMajority": lambda: oco.WeightedMajority(D),
    "ExponentiatedGradient": lambda: oco.ExponentiatedGradient(D),
    "FollowThePerturbedLeader": lambda: oco.FollowThePerturbedLeader(oco.Simplex(D), seed=4),
    "FixedShare": lambda: oco.FixedShare(D),
}
every = pytest.mark.parametrize("name", list(LEARNERS))


def rows(seed, rounds=200):
    return np.random.default_rng(seed).random((rounds, D))


@every
def test_a_matrix_at_once_gives_the_bits_of_the_loop(name):
    losses = rows(1)
    losses[:3] = losses[:3, :1]
    one, many, pieces = LEARNERS[name](), LEARNERS[name](), LEARNERS[name]()
    costs = np.array([one.observe(z) for z in losses])
    assert np.array_equal(many.observe_many(losses), costs)
    cut = np.concatenate([pieces.observe_many(losses[a:b]) for a, b in ((0, 1), (1, 50), (50, 50), (50, 200))])
    assert np.array_equal(cut, costs)
    game = oco.Game(LEARNERS[name](), losses, keep_decisions=True).play()
    assert np.array_equal(game.report().costs, costs)
    assert np.array_equal((game.report().decisions * losses).sum(axis=1), costs)
    for other in (many, pieces, game.learner):
        assert np.array_equal(other.decide(), one.decide())
        assert other.bound(np.full(D, 1 / D)) == one.bound(np.full(D, 1 / D))
        assert other.rounds == one.rounds == 200


@every
def test_decisions_are_in_the_set_and_asking_changes_nothing(name):
    learner = LEARNERS[name]()
    for z in rows(2, 30):
        w = learner.decide()
        assert learner.decisions.contains(w, 1e-9)
        assert np.array_equal(learner.decide(), w)
        w[:] = 7.0
        learner.observe(z)
    assert learner.rounds == 30


@every
def test_pickled_copied_reset_and_cloned(name):
    losses = rows(3, 60)
    learner = LEARNERS[name]()
    learner.observe_many(losses[:30])
    others = [pickle.loads(pickle.dumps(learner)), copy.deepcopy(learner)]
    assert all(repr(other) == repr(learner) for other in others)
    later = learner.observe_many(losses[30:])
    for other in others:
        assert np.array_equal(other.observe_many(losses[30:]), later)
    fresh = LEARNERS[name]().observe_many(losses)
    learner.reset()
    assert learner.rounds == 0
    assert np.array_equal(learner.observe_many(losses), fresh)
    clone = learner.clone()
    assert clone.rounds == 0
    assert np.array_equal(clone.observe_many(losses), fresh)
    assert type(learner).__name__ in repr(learner)


BAD = [
    ([1.0, 2.0], "the dimension of a loss must be 3, got 2"),
    ([1.0, math.nan, 0.0], "z must be finite, got nan at index 1"),
    ([1.0, math.inf, 0.0], "z must be finite, got inf at index 1"),
    ([[1.0, 2.0, 3.0]], r"z must have shape \(d,\), got \(1, 3\)"),
    ("text", "a loss must be an oco.Loss, a vector, a function or a pair of value and gradient, got 'text'"),
    (None, "a loss must be an oco.Loss"),
    (lambda w: 1.0, "this loss has no gradient: give gradient=…, or numerical=True"),
    ((lambda w: math.nan, lambda w: w), "a loss must be finite, got nan"),
    ((lambda w: "x", lambda w: w), "a loss must be a number, got 'x'"),
    ((lambda w: 1.0, lambda w: w[:2]), r"a gradient must have shape \(3,\), got \(2,\)"),
    ((lambda w: 1.0, lambda w: 2.0), r"a gradient must have shape \(3,\), got \(\)"),
    ((lambda w: 1.0, lambda w: w * math.nan), "a gradient must be finite, got nan at index 0"),
    ((lambda w: 1.0, lambda w: None), "a gradient must"),
]


@every
@pytest.mark.parametrize(("loss", "words"), BAD, ids=range(len(BAD)))
def test_a_bad_loss_is_one_line_and_leaves_no_trace(name, loss, words):
    learner = LEARNERS[name]()
    learner.observe_many(rows(4, 10))
    learner.decide()
    before = pickle.dumps(learner)
    with pytest.raises((InvalidValue, InvalidType), match=words) as caught:
        learner.observe(loss)
    assert "\n" not in str(caught.value)
    assert pickle.dumps(learner) == before


@every
def test_an_overflow_leaves_no_trace(name):
    learner = LEARNERS[name]()
    learner.observe_many(rows(4, 10))
    big = np.array([1.5e308, -1.5e308, 1e308])
    before = b""

    def three_times():
        nonlocal before
        for _ in range(3):
            learner.decide()
            before = pickle.dumps(learner)
            learner.observe(big)

    with pytest.raises((NumericOverflow, InvalidValue)) as caught:
        three_times()
    assert "\n" not in str(caught.value)
    assert pickle.dumps(learner) == before
    assert np.isfinite(learner.decide()).all()
    learner.observe(np.ones(D))


@every
@pytest.mark.parametrize("scale", [1e-200, 1e-30, 1e30, 1e100])
def test_tiny_and_huge_losses_give_finite_decisions(name, scale):
    if name == "WeightedMajority" and scale > 1:
        return
    learner = LEARNERS[name]()
    costs = learner.observe_many(rows(5, 30) * scale)
    assert np.isfinite(costs).all()
    assert np.isfinite(learner.decide()).all()
    assert learner.decisions.contains(learner.decide(), 1e-7)


@every
def test_losses_of_0_move_nothing(name):
    learner = LEARNERS[name]()
    first = learner.decide()
    learner.observe_many(np.zeros((5, D)))
    if name != "FollowThePerturbedLeader":
        assert np.allclose(learner.decide(), first)
    learner.observe([1.0, 0.0, 0.0])
    assert np.isfinite(learner.decide()).all()


@pytest.mark.parametrize("name", [name for name in LEARNERS if name != "WeightedMajority"])
def test_own_losses_as_functions_gradients_and_both(name):
    target = np.array([0.2, 0.3, 0.5])

    def value(w):
        return float(((w - target) ** 2).sum())

    def gradient(w):
        return 2 * (w - target)

    both, numerical = LEARNERS[name](), LEARNERS[name]()
    # The losses themselves are minimised anew at each round: few of them.
    for _ in range(10 if name == "FTRL, whole losses" else 40):
        one = both.observe((value, gradient))
        other = numerical.observe(oco.Loss(value, numerical=True))
        assert one == pytest.approx(other, abs=1e-4)
    assert np.allclose(both.decide(), numerical.decide(), atol=1e-4)
    if name in ("FollowTheLeader", "OnlineGradientDescent", "AdaGrad"):
        assert value(both.decide()) < 0.02
    # Gradients alone: what is paid is told of the linear losses.
    alone = LEARNERS[name]()
    w = alone.decide()
    assert alone.observe(oco.Loss(gradient=gradient)) == pytest.approx(float(w @ gradient(w)))


def test_one_step_of_each_by_hand():
    # Active: η = D/√(2 ‖g‖²) = 2/(√2 · 5), w = 0 − η (3, 4) = (−0.849, −1.131), projected: (−0.6, −0.8).
    ogd = oco.OnlineGradientDescent(oco.Ball(1.0, dimension=2))
    assert ogd.observe([3.0, 4.0]) == 0.0
    assert np.allclose(ogd.decide(), [-0.6, -0.8])
    # Lazy with η = 0.1: θ = (3, 4) + (−3, 0), w = −0.1 θ.
    osd = oco.OnlineSubgradientDescent(oco.WholeSpace(2), 0.1)
    osd.observe_many([[3.0, 4.0], [-3.0, 0.0]])
    assert np.allclose(osd.decide(), [0.0, -0.4])
    # Strongly convex, σ = 2: η₁ = ½, w₂ = 0 − ½ · 2 (0 − 3) = 3.
    strong = oco.OnlineGradientDescent(oco.WholeSpace(1), strong_convexity=2.0)
    strong.observe(oco.SquaredDistance([3.0]))
    assert strong.decide().tolist() == [3.0]
    # Hedge: weights 1 : e^{−0.5}.
    hedge = oco.Hedge(2, 0.5)
    hedge.observe([0.0, 1.0])
    assert np.allclose(hedge.decide(), [1 / (1 + math.exp(-0.5)), math.exp(-0.5) / (1 + math.exp(-0.5))])
    # Adaptive: η₂ = 2 √(ln 2) / √1.
    hedge = oco.Hedge(2)
    hedge.observe([0.0, 1.0])
    assert hedge.decide()[1] == pytest.approx(1 / (1 + math.exp(2 * math.sqrt(math.log(2)))))
    # Fixed share: the same, then 10 % spread over both.
    share = oco.FixedShare(2, learning_rate=0.5, share=0.1)
    share.observe([0.0, 1.0])
    assert share.decide()[0] == pytest.approx(0.9 / (1 + math.exp(-0.5)) + 0.05)
    # AdaGrad: each coordinate has moved by η = 0.1; then s = √(1 + 1), so by 0.1/√2.
    ada = oco.AdaGrad(oco.WholeSpace(2), 0.1)
    ada.observe_many([[100.0, 0.5], [100.0, -0.5]])
    assert np.allclose(ada.decide(), [-0.1 - 0.1 / math.sqrt(2), -0.1 + 0.1 / math.sqrt(2)])
    # Newton on [−1, 1]: D = 1 from 0, ε = 2, g = 1, m = 1, γ = ½: H = 2.5, w = −0.4.
    newton = oco.OnlineNewtonStep(oco.Box(-1.0, 1.0, dimension=1))
    newton.observe([1.0])
    assert newton.decide()[0] == pytest.approx(-0.4)
    # The majority: one mistake leaves 1 − ε = 0.75.
    majority = oco.WeightedMajority(2, epsilon=0.25)
    majority.observe([0.0, 1.0])
    assert np.allclose(majority.decide(), [1 / 1.75, 0.75 / 1.75])


@given(seed=st.integers(0, 10_000), rate=st.floats(0.01, 2.0))
@settings(max_examples=20, deadline=None)
def test_learners_that_are_the_same_are_the_same(seed, rate):
    z = np.random.default_rng(seed).normal(size=(40, D))
    simplex, ball = oco.Simplex(D), oco.Ball(1.0, dimension=D)
    same = [
        [oco.Hedge(D, rate), oco.FTRL(simplex, "entropic", rate), oco.ExponentiatedGradient(D, rate),
         oco.MirrorDescent(simplex, "entropic", rate), oco.MirrorDescent(simplex, "entropic", rate, "active")],
        [oco.FTRL(ball, "quadratic", rate), oco.OnlineSubgradientDescent(ball, rate),
         oco.MirrorDescent(ball, "euclidean", rate), oco.OnlineGradientDescent(ball, rate, "lazy"),
         oco.FTRL(ball, "quadratic", rate, linearised=False)],
        [oco.OnlineGradientDescent(oco.WholeSpace(D), rate), oco.FTRL(oco.WholeSpace(D), "quadratic", rate),
         oco.FTRL(oco.WholeSpace(D), oco.PNorm(2.0), rate)],
        [oco.OnlineGradientDescent(ball, rate), oco.MirrorDescent(ball, "euclidean", rate, "active")],
    ]  # fmt: skip
    for group in same:
        first = group[0].observe_many(z)
        for other in group[1:]:
            assert np.allclose(other.observe_many(z), first, atol=1e-7)


def test_following_the_leader_is_following_the_mean():
    x = np.random.default_rng(1).normal(size=(50, 2))
    learner = oco.FollowTheLeader(oco.WholeSpace(2))
    for place, point in enumerate(x):
        if place:
            assert np.allclose(learner.decide(), x[:place].mean(axis=0))
        learner.observe(oco.SquaredDistance(point))
    with pytest.raises(ValueError, match="a linear loss has no leader on the whole space"):
        oco.FollowTheLeader(oco.WholeSpace(2)).observe([1.0, 0.0])


def test_following_the_leader_through_least_squares_and_the_rest():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    learner = oco.FollowTheLeader(oco.Ball(0.5, dimension=2))
    for kind in (oco.Squared, oco.Logistic, oco.Absolute):
        learner.reset()
        target = np.sign(y) if kind is oco.Logistic else y
        losses = kind.many(X, target)
        for loss in losses:
            learner.observe(loss)
        best = oco.best_decision(losses, oco.Ball(0.5))
        assert sum(loss.value(learner.decide()) for loss in losses) <= best.loss * (1 + 1e-6)


def test_the_game_step_by_step_is_the_game_at_once():
    losses = rows(7, 90)
    whole = oco.play(oco.Hedge(), losses)
    game = oco.Game(oco.Hedge(), losses)
    first = [game.step() for _ in range(10)]
    game.play(30)
    assert game.rounds == 40
    middle = game.report()
    assert middle.rounds == 40
    assert middle.regret == pytest.approx(oco.play(oco.Hedge(), losses[:40]).regret)
    report = game.play().report()
    assert np.array_equal(report.costs, whole.costs)
    assert report.regret == whole.regret
    assert report.bound == whole.bound
    assert np.array_equal(first, whole.costs[:10])
    with pytest.raises(ValueError, match="there are no more losses after 90 rounds"):
        game.step()
    given = oco.Game(oco.Hedge())
    assert [given.step(z) for z in losses] == list(whole.costs)
    assert given.report().regret == pytest.approx(whole.regret)
    assert game.loss == pytest.approx(whole.loss)
    assert "90 rounds" in repr(game)


def test_a_learner_goes_on_and_its_bound_is_of_all_that_it_learned():
    losses = rows(7, 60)
    learner = oco.Hedge(D)
    first, second = oco.play(learner, losses[:30]), oco.play(learner, losses[30:])
    assert first.bound is not None
    assert second.bound is None
    assert np.array_equal(np.concatenate([first.costs, second.costs]), oco.play(learner.clone(), losses).costs)


def test_a_loss_that_has_no_value_elsewhere_is_refused_at_once():
    def value(w):
        return 0.0 if not w.any() else math.nan

    ball = oco.Ball(1.0, dimension=2)
    for learner in (oco.FTRL(ball, linearised=False), oco.FollowTheLeader(ball)):
        learner.observe(oco.SquaredDistance([0.0, 0.0]))
        before = learner.decide()
        with pytest.raises(ValueError, match="a loss must be finite, got nan"):
            learner.observe((value, lambda w: np.ones(2)))
        assert np.array_equal(learner.decide(), before)
        assert learner.rounds == 1
        learner.observe(oco.SquaredDistance([0.5, 0.0]))


def test_losses_come_in_many_forms():
    z = rows(8, 20)
    wanted = oco.play(oco.Hedge(), z).costs
    forms = [z.tolist(), iter(z), [oco.Linear(row) for row in z], oco.Linear.many(z), (row for row in z), list(z)]
    pandas = pytest.importorskip("pandas")
    forms.append(pandas.DataFrame(z))
    for form in forms:
        assert np.array_equal(oco.play(oco.Hedge(D), form).costs, wanted)
    assert np.array_equal(oco.play(oco.Hedge(D), iter(z), rounds=5).costs, wanted[:5])
    assert np.array_equal(oco.play(oco.Hedge(D), lambda t, w: z[t - 1], rounds=20).costs, wanted)


def test_errors_of_a_game_name_the_round_and_keep_what_was_played():
    losses = [np.ones(2), np.ones(2), np.array([1.0, math.nan])]
    game = oco.Game(oco.Hedge(2), iter(losses))
    with pytest.raises(ValueError, match=r"oco.Linear: z must be finite, got nan at index 1"):
        game.play()
    assert game.rounds == game.learner.rounds == 2
    game = oco.Game(oco.Hedge(2))
    game.step([1.0, 0.0])
    with pytest.raises(ValueError, match=r"round 2: oco.Hedge: oco.Loss: a gradient must have shape \(2,\), got"):
        game.step((lambda w: 1.0, lambda w: np.ones(3)))
    assert game.report().rounds == 1
    huge = np.ones((10, 2))
    huge[6:] = [1e308, -1e308]
    game = oco.Game(oco.Hedge(2), huge)
    with pytest.raises(NumericOverflow, match=r"round 7: oco.Hedge: this loss would overflow"):
        game.play()
    assert game.learner.rounds == 6
    with pytest.raises(ValueError, match="got nan at index 1 of round 2"):
        oco.play(oco.Hedge(2), [[1.0, 2.0], [3.0, math.nan]])


def ball(**given):
    return oco.OnlineGradientDescent(oco.Ball(1.0, dimension=1), **given)


REFUSED = {
    "learning_rate must be above 0, got -0.1": lambda: ball(learning_rate=-0.1),
    "learning_rate must be a number, a function of the round or None": lambda: ball(learning_rate="fast"),
    "projection must be 'active' or 'lazy', got 'eager'": lambda: ball(projection="eager"),
    "strong_convexity sets the steps": lambda: ball(learning_rate=0.1, strong_convexity=1.0),
    "decisions must be a decision set such as oco.Ball": lambda: oco.OnlineGradientDescent("ball"),
    "learning_rate must return a number above 0, got 0.0 for round 1": lambda: ball(
        learning_rate=lambda t: 0.0
    ).observe([1.0]),
    r"oco.Entropic: decisions must be a Simplex or an L1Ball, got Ball\(1, dimension=2\)": lambda: oco.FTRL(
        oco.Ball(1.0, dimension=2), "entropic"
    ),
    "oco.PNorm: decisions must be the WholeSpace": lambda: oco.FTRL(oco.Ball(1.0, dimension=2), "p-norm"),
    "must be one of quadratic, euclidean, entropic, p-norm, got 'cubic'": lambda: oco.FTRL(oco.Ball(), "cubic"),
    "linearised=False needs the quadratic regulariser": lambda: oco.FTRL(
        oco.Simplex(2), "entropic", linearised=False
    ),
    r"oco.PNorm: p must be in \(1, 2\], got 2.5": lambda: oco.PNorm(2.5),
    "active projection needs the euclidean mirror": lambda: oco.MirrorDescent(
        oco.Simplex(2), "entropic", projection="active"
    ),
    "decisions must be bounded": lambda: oco.OnlineNewtonStep(oco.WholeSpace(2)),
    "exp_concavity must be above 0": lambda: oco.OnlineNewtonStep(oco.Simplex(2), exp_concavity=0.0),
    "must have a minimiser of linear losses": lambda: oco.FollowThePerturbedLeader(oco.WholeSpace(2)),
    "experts must be at least 1, got 0": lambda: oco.Hedge(0),
    r"share must be in \[0, 1\), got 1.0": lambda: oco.FixedShare(3, share=1.0),
    r"epsilon must be in \(0, 1\), got 1.5": lambda: oco.WeightedMajority(3, epsilon=1.5),
    "mistakes must be between 0 and 1": lambda: oco.WeightedMajority(2, epsilon=0.5).observe([2.0, 0.0]),
    "oco.Hinge: y must be -1 or 1, got 0.5": lambda: oco.Hinge([1.0], 0.5),
    r"oco.Log: returns must be at least 0 and not all 0, got \[-1.0, 2.0\]": lambda: oco.Log([-1.0, 2.0]),
    "a loss needs a value, a gradient or both": lambda: oco.Loss(),
    "value must be a function of a decision, got 3.0": lambda: oco.Loss(3.0),
    r"oco.Squared: y must have shape \(1,\), got \(2,\)": lambda: oco.Squared.many([[1.0]], [1.0, 2.0]),
    "learner must be a learner such as oco.Hedge": lambda: oco.play("Hedge", [[1.0]]),
    "learner must not be empty, got {}": lambda: oco.play({}, [[1.0]]),
    "no round has been played yet": lambda: oco.play(oco.Hedge(), np.zeros((0, 3))),
    "an adversary has no last round: pass a number of rounds": lambda: oco.play(oco.Hedge(2), lambda t, w: w),
    "the game has no losses": lambda: oco.Game(oco.Hedge(2)).step(),
    "must be finite": lambda: oco.ExponentiatedGradient(2).observe(oco.Log([0.0, 1e-320])),
}


@pytest.mark.parametrize("words", list(REFUSED))
def test_what_makes_no_sense_is_refused_in_one_line(words):
    with pytest.raises((ValueError, TypeError), match=words) as caught:
        REFUSED[words]()
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_a_report_tells_all(tmp_path):
    losses = rows(9, 300)
    report = oco.play(oco.Hedge(D), losses, keep_decisions=True)
    assert report.regret == pytest.approx(report.loss - losses.sum(axis=0).min())
    assert report.holds
    assert report.average_regret == report.regret / 300
    assert report.curve["round"][-1] == 300
    # Regret at each point is against the best for the rounds so far.
    for place in (5, 60, len(report.curve["round"]) - 1):
        t = report.curve["round"][place]
        assert report.curve["regret"][place] == pytest.approx(
            report.costs[:t].sum() - losses[:t].sum(axis=0).min()
        )
    text = report.summary()
    assert "Cesa-Bianchi and Lugosi" in text
    assert "closed form" in text
    assert repr(report) == text
    assert list(report.to_frame("pyarrow").column_names) == ["round", "loss", "best", "regret", "bound"]
    page = report._repr_html_()
    assert "<svg" in page
    assert "Lugosi" in page
    for kind in ("regret", "average", "loss", "decisions"):
        report.save_plot(tmp_path / f"{kind}.png", kind)
        assert (tmp_path / f"{kind}.png").stat().st_size > 5000
    axes = report.plot()
    assert [line.get_label() for line in axes.get_lines()] == ["regret", "bound"]
    with pytest.raises(ValueError, match="kind must be one of regret, average, loss, decisions, got 'pie'"):
        report.plot("pie")
    with pytest.raises(ValueError, match="decisions were not stored"):
        oco.play(oco.Hedge(D), losses).plot("decisions")
    with pytest.raises(ValueError, match="a plot is saved as"):
        report.save_plot(tmp_path / "plot.txt")


def test_several_learners_play_the_same_losses(tmp_path):
    losses = iter(rows(10, 100))
    learners = {
        "hedge": oco.Hedge(D),
        "share": oco.FixedShare(D, switches=0),
        "leader": oco.FollowTheLeader(oco.Simplex(D)),
    }
    reports = oco.play(learners, losses)
    assert list(reports) == ["hedge", "share", "leader"]
    assert len({report.best.loss for report in reports.values()}) == 1
    assert reports["leader"].bound is None
    text = repr(reports)
    assert text.splitlines()[1].split()[0] == reports.ranked()[0].name
    assert set(reports.to_frame("pandas")["learner"]) == set(learners)
    reports.save_plot(tmp_path / "all.svg")
    assert "hedge" in reports._repr_html_()
    assert "–" in text


def test_draws_and_advice():
    hedge = oco.Hedge(3, 1.0, seed=5)
    hedge.observe([0.0, 3.0, 3.0])
    drawn = [hedge.draw() for _ in range(200)]
    assert 150 < drawn.count(0) < 200
    assert hedge.predict([1.0, 0.0, 0.0]) == pytest.approx(hedge.decide()[0])
    hedge.reset()
    hedge.observe([0.0, 3.0, 3.0])
    assert [hedge.draw() for _ in range(200)] == drawn
    majority = oco.WeightedMajority(3, epsilon=0.5, randomised=True, seed=1)
    assert {majority.vote(["a", "b", "c"]) for _ in range(50)} == {"a", "b", "c"}
    assert oco.WeightedMajority(3).vote(["a", "b", "b"]) == "b"
    with pytest.raises(ValueError, match="advice must be of 3 experts, got 2"):
        majority.vote(["a", "b"])


def test_two_runs_with_one_seed_are_the_same_and_with_another_are_not():
    z = rows(11)
    one, same, other = (
        oco.FollowThePerturbedLeader(oco.Simplex(D), seed=seed).observe_many(z) for seed in (3, 3, 4)
    )
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


def test_a_long_game_stays_exact_and_quick():
    rounds = 200_000
    losses = np.random.default_rng(1).random((rounds, 10))
    losses[:, 3] -= 0.01
    start = time.perf_counter()
    report = oco.play(oco.Hedge(10), losses)
    # A loop would take half a minute; the limit leaves room for a busy machine.
    assert time.perf_counter() - start < 15
    assert report.holds
    assert report.best.loss == pytest.approx(math.fsum(losses[:, 3]))
    assert report.learner.decide().sum() == pytest.approx(1.0)


def test_ready_losses_have_the_gradients_of_their_values():
    rng = np.random.default_rng(3)
    w = np.array([0.2, 0.3, 0.5])
    x = rng.random(3) + 0.1
    ready = [
        oco.Linear(x), oco.SquaredDistance(x), oco.Squared(x, 0.3), oco.Absolute(x, 0.3), oco.Hinge(x, -1.0),
        oco.Logistic(x, 1.0), oco.Log(x),
    ]  # fmt: skip
    for loss in ready:
        numerical = oco.Loss(loss.value, numerical=True).gradient(w)
        assert np.allclose(loss.gradient(w), numerical, atol=1e-6)
        assert type(loss).__name__ in repr(loss)
        assert loss(w) == loss.value(w)
        targets = [] if isinstance(loss, (oco.Linear, oco.SquaredDistance, oco.Log)) else [[loss.y, loss.y]]
        many = type(loss).many([x, x], *targets)
        assert many[1].value(w) == loss.value(w)
        assert len(many) == 2


@pytest.mark.filterwarnings("error")
def test_losses_near_the_largest_number():
    losses = np.full((5, 3), 1e308)
    for learner in (oco.Hedge(3), oco.FollowTheLeader(oco.Simplex(3)), oco.OnlineGradientDescent(oco.Simplex(3))):
        with pytest.raises(NumericOverflow, match="round 1: .*; nothing has changed"):
            oco.play(learner, losses)
    # Its weights are relative, so it goes on; but the sum of what it paid is no number.
    with pytest.raises(NumericOverflow, match="the sum of the losses overflows"):
        oco.play(oco.FixedShare(3), losses)
    hedge = oco.Hedge(3)
    with pytest.raises(NumericOverflow, match="this loss would overflow"):
        hedge.observe([1e308, 1e308, 1e308])
    assert hedge.rounds == 0
