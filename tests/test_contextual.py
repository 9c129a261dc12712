"""Policies with context: exactness, probabilities, late rewards, saved states, and bad input."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from scipy import stats

import millstream
from millstream import bandit, linear_model, rounds, tree
from millstream.bandit import explore
from millstream.errors import InvalidValue

pytestmark = pytest.mark.linear_algebra

LINEAR = {"name": "linear_model.LinearRegression", "parameters": {"optimizer": {"name": "optim.Adaptive"}}}
EXPLORERS = [
    explore.Greedy(),
    explore.EpsilonGreedy(0.1),
    explore.Softmax(),
    explore.SquareCB(),
    explore.Bag(3),
    explore.Cover(3),
]


def linear():
    return linear_model.LinearRegression(optimizer="adaptive")


def policies():
    yield "LinUCB", bandit.LinUCB()
    yield "LinThompson", bandit.LinThompson(samples=20)
    yield "default", bandit.Contextual()
    yield "elimination", bandit.Contextual(explore=explore.RegCB(optimistic=False))
    for explorer in EXPLORERS:
        yield type(explorer).__name__, bandit.Contextual(linear(), explore=explorer, seed=3)
    for estimate in ("dm", "mtr", "ips", "dr"):
        yield estimate, bandit.Contextual(linear(), explore="epsilongreedy", estimate=estimate)
    yield "tree", bandit.Contextual(tree.HoeffdingTreeRegressor(), explore="squarecb")
    yield "bounds", bandit.Contextual(linear(), explore=explore.RegCB(0.3), reward_range=[0, 1])
    yield (
        "bounds of a tree",
        bandit.Contextual(
            tree.HoeffdingTreeRegressor(), explore=explore.RegCB(optimistic=False), reward_range=[0, 1]
        ),
    )


POLICIES = dict(policies())


def fresh(name):
    return dict(policies())[name]


def random_round(g, k=None, d=4, m=3):
    k = int(g.integers(1, 8)) if k is None else k
    x = {f"x{i}": float(v) for i, v in enumerate(g.normal(size=d))}
    return x, [{f"a{j}": float(v) for j, v in enumerate(row)} for row in g.normal(size=(k, m))]


def play(policy, g, n, **sizes):
    for _ in range(n):
        x, actions = random_round(g, **sizes)
        decision = policy.decide_one(x, actions)
        policy.learn_one(decision.id, float(g.random() < 0.5))


def test_one_step_by_hand():
    # x = (1, 2) with the constant, l2 = 1: P = I, k = x, s = 5, g = 1/6. θ = r k / 6 = (0.5, 1) for r = 3.
    # P x = x − x 5/6 = x / 6, so the variance falls to 5/6; mean θᵀx = 2.5.
    policy = bandit.LinUCB(alpha=1.0)
    policy.learn_one(x={"a": 2.0}, actions=["left", "right"], action="left", reward=3.0)
    assert policy.weights["arms"]["left"] == pytest.approx({"constant": 0.5, "a": 1.0}, abs=1e-15)
    assert policy.rewards_one({"a": 2.0}, ["left", "right"]) == pytest.approx({"left": 2.5, "right": 0.0})
    # The bound of the right arm is √5 = 2.236; the left arm's is 2.5 + √(5/6).
    assert policy.probabilities_one({"a": 2.0}, ["left", "right"]) == {"left": 1.0, "right": 0.0}
    # α = 10: 2.5 + 9.13 < 22.4.
    curious = bandit.LinUCB(alpha=10.0)
    curious.learn_one(x={"a": 2.0}, actions=["left", "right"], action="left", reward=3.0)
    assert curious.probabilities_one({"a": 2.0}, ["left", "right"]) == {"left": 0.0, "right": 1.0}


@pytest.mark.slow
@pytest.mark.parametrize("shared", [False, True])
def test_weights_equal_ridge_solved_afresh(shared):
    g = np.random.default_rng(1)
    n, d, k, m = 10_000, 5, 4, 3
    X, A, r = g.normal(size=(n, d)), g.normal(size=(k, m)), g.normal(size=n)
    taken = g.integers(0, k, n)
    policy = bandit.LinUCB()
    if shared:
        policy.learn_many(rounds.Rounds.from_numpy(X, A, action=taken, reward=r))
    else:
        for x, action, reward in zip(X, taken.tolist(), r, strict=True):
            policy.learn_one(x=x, actions=list(range(k)), action=action, reward=reward)
    one = np.hstack([np.ones((n, 1)), X])
    if shared:
        actions = np.hstack([np.ones((k, 1)), A])
        Z = np.einsum("na,ns->nas", actions[taken], one).reshape(n, -1)
        wanted = np.linalg.solve(np.eye(Z.shape[1]) + Z.T @ Z, Z.T @ r)
        found = [w for row in policy.weights["products"].values() for w in row.values()]
        np.testing.assert_allclose(found, wanted, atol=1e-9, rtol=0)
    else:
        for action in range(k):
            Z, y = one[taken == action], r[taken == action]
            wanted = np.linalg.solve(np.eye(d + 1) + Z.T @ Z, Z.T @ y)
            np.testing.assert_allclose(
                list(policy.weights["arms"][str(action)].values()), wanted, atol=1e-9, rtol=0
            )


@pytest.mark.parametrize("name", POLICIES)
def test_probabilities_are_probabilities(name):
    policy, g = fresh(name), np.random.default_rng(5)
    sizes = [1, 2, 20, 500]
    for row in range(60):
        x, actions = random_round(g, k=sizes[row % 4])
        if row % 3 == 0:
            actions = [actions[0]] * len(actions)  # equal actions
        p = policy.probabilities_one(x, actions)
        assert list(p) == list(range(len(actions)))
        assert min(p.values()) >= 0.0
        assert abs(math.fsum(p.values()) - 1.0) < 1e-12
        if row % 3 == 0 and name != "LinThompson":
            assert max(p.values()) - min(p.values()) < 1e-12
        decision = policy.decide_one(x, actions)
        assert decision.probability == p[decision.action] > 0.0
        policy.learn_one(decision.id, float(g.random()))


@pytest.mark.slow
@pytest.mark.parametrize("name", POLICIES)
def test_probabilities_over_random_rounds(name):
    # Ties, one action, equal actions and 500 actions, of features that come and go.
    policy, g = fresh(name), np.random.default_rng(6)
    for row in range(10_000):
        k = 500 if row % 1000 == 999 else int(g.choice([1, 2, 3, 8]))
        x = {f"x{i}": float(g.integers(-2, 3)) for i in g.choice(6, size=3, replace=False)}
        actions = [{"a": float(g.integers(0, 3)), "id": str(g.integers(0, 5))} for _ in range(k)]
        if row % 7 == 0:
            actions = [actions[0]] * k
        p = np.array(list(policy.probabilities_one(x, actions).values()))
        assert p.min() >= 0.0
        assert abs(math.fsum(p) - 1.0) <= 1e-12
        decision = policy.decide_one(x, actions)
        assert decision.probability == p[decision.action] > 0.0
        policy.learn_one(decision.id, 0.5 if row % 3 else float(g.random() < 0.3))


@pytest.mark.parametrize("explorer", EXPLORERS[:4], ids=lambda explorer: type(explorer).__name__)
def test_explorers_over_random_rounds(explorer):
    g = np.random.default_rng(2)
    for row in range(10_000):
        k = (1, 2, 7, 500)[row % 4] if row % 100 == 3 else int(g.integers(1, 9))
        f = g.normal(size=k) * 10.0 ** g.integers(-3, 4)
        if row % 2:
            f = np.round(f)
        p = explorer.probabilities(f, t=float(row))
        assert p.min() >= 0.0
        assert abs(math.fsum(p) - 1.0) < 1e-12


@pytest.mark.parametrize("name", ["LinThompson", "EpsilonGreedy", "SquareCB", "Softmax", "Bag", "Cover"])
def test_draws_follow_the_probabilities(name):
    policy, g = fresh(name), np.random.default_rng(7)
    play(policy, g, 40, k=5)
    x, actions = random_round(g, k=5)
    if name == "LinThompson":
        # Its probabilities are new in each round: their sum is expected.
        expected, variance, counts = np.zeros(5), np.zeros(5), np.zeros(5)
        for _ in range(2000):
            p = np.array(list(policy.probabilities_one(x, actions).values()))
            counts[policy.decide_one(x, actions).action] += 1
            expected += p
            variance += p * (1.0 - p)
        assert (np.abs(counts - expected) <= 4.0 * np.sqrt(variance) + 1e-9).all()
        return
    p = np.array(list(policy.probabilities_one(x, actions).values()))
    counts = np.zeros(5)
    for _ in range(4000):
        counts[policy.decide_one(x, actions).action] += 1
    assert counts[p == 0].sum() == 0
    sure = p > 0
    if sure.sum() > 1:
        assert stats.chisquare(counts[sure], 4000 * p[sure] / p[sure].sum()).pvalue > 1e-4


@pytest.mark.parametrize("name", POLICIES)
def test_saved_and_continued_equals_never_stopped(name):
    policy, g = fresh(name), np.random.default_rng(11)
    ids = []
    for row in range(30):
        x, actions = random_round(g)
        ids.append(policy.decide_one(x, actions).id)
        if row % 2:
            policy.learn_one(ids.pop(0), float(g.random()))
        if row % 10 == 4:
            copies = [millstream.from_bytes(policy.to_bytes()), pickle.loads(pickle.dumps(policy))]
            assert all(copy.to_bytes() == policy.to_bytes() for copy in copies)
            policy = copies[row % 20 == 4]
    other, g = fresh(name), np.random.default_rng(11)
    ids = []
    for row in range(30):
        x, actions = random_round(g)
        ids.append(other.decide_one(x, actions).id)
        if row % 2:
            other.learn_one(ids.pop(0), float(g.random()))
    assert policy.pending == other.pending == 15
    assert policy.to_bytes() == other.to_bytes()


@pytest.mark.parametrize("name", ["LinUCB", "default", "SquareCB", "dr", "tree"])
def test_late_rewards_in_any_order_equal_learning_in_that_order(name):
    g = np.random.default_rng(13)
    late, log = fresh(name), fresh(name)
    situations = [random_round(g, k=4) for _ in range(30)]
    decisions = [late.decide_one(x, actions) for x, actions in situations]
    order, rewards = g.permutation(30), g.random(30)
    for row in order:
        x, actions = situations[row]
        late.learn_one(decisions[row].id, rewards[row])
        log.learn_one(
            x=x, actions=actions, action=decisions[row].action, reward=rewards[row],
            probability=decisions[row].probability,
        )  # fmt: skip
    x, actions = random_round(g, k=6)
    assert late.rewards_one(x, actions) == log.rewards_one(x, actions)
    assert (late.pending, late.dropped) == (0, 0)


def test_open_decisions_are_bounded_and_counted():
    policy = bandit.LinUCB(max_pending=5)
    ids = [policy.decide_one({"a": 1.0}, ["x", "y"]).id for _ in range(8)]
    assert (policy.pending, policy.dropped) == (5, 3)
    policy.learn_one(ids[7], 1.0)
    before = policy.to_bytes()
    for key, words in [
        (ids[0], "not open any more"),
        (ids[7], "has had its reward"),
        (8, "no decision has the id 8"),
    ]:
        with pytest.raises(ValueError, match=words):
            policy.learn_one(key, 1.0)
    assert policy.to_bytes() == before


@pytest.mark.parametrize("name", POLICIES)
def test_many_equals_one_by_one(name):
    g = np.random.default_rng(17)
    log = []
    for _ in range(40):
        x, actions = random_round(g)
        log.append(rounds.Round(x, actions, int(g.integers(0, len(actions))), 0.5, float(g.random())))
    many, one = fresh(name), fresh(name)
    batch = rounds.Rounds.of(log)
    stepped = many.step_many(batch)
    for row, (x, actions, action, probability, reward, _) in enumerate(log):
        assert list(one.probabilities_one(x, actions).values()) == stepped[row].tolist()
        one.learn_one(x=x, actions=actions, action=action, reward=reward, probability=probability)
    assert many.to_bytes() == one.to_bytes()
    assert [list(one.rewards_one(r.shared, r.actions).values()) for r in log] == [
        values.tolist() for values in many.rewards_many(batch)
    ]
    decisions = many.decide_many(batch)
    assert [one.decide_one(r.shared, r.actions).action for r in log] == list(decisions.actions)
    many.learn_many(ids=decisions.ids, rewards=np.full(40, 0.25))
    for key in decisions.ids.tolist():
        one.learn_one(key, 0.25)
    assert many.to_bytes() == one.to_bytes()


@pytest.mark.parametrize("make", [bandit.LinUCB, lambda **k: bandit.Contextual(linear(), explore="squarecb", **k)])
def test_bad_input_gets_one_line_and_changes_nothing(make):
    policy = make(reward_range=[0, 1])
    play(policy, np.random.default_rng(1), 5)
    x, actions = random_round(np.random.default_rng(2), k=2)
    log = {"x": x, "actions": actions, "action": 0, "reward": 0.5, "probability": 0.5}
    before = policy.to_bytes()
    for change, words in [
        ({"probability": 0.0}, "(0, 1], got 0"),
        ({"probability": -0.5}, "(0, 1], got -0.5"),
        ({"probability": 1.5}, "(0, 1], got 1.5"),
        ({"probability": math.nan}, "(0, 1], got NaN"),
        ({"reward": math.nan}, "reward must be finite, got NaN"),
        ({"reward": math.inf}, "reward must be finite, got inf"),
        ({"reward": 1.5}, "reward must be in [0, 1] (reward_range), got 1.5"),
        ({"reward": None}, "reward must be"),
        ({"reward": "much"}, "reward must be"),
        ({"action": 2}, "the action taken must be one of the"),
        ({"actions": []}, "the action taken must be one of the"),
        ({"actions": ["a", "b", "a"], "action": "a"}, "an action must be listed once"),
        ({"actions": "ab"}, "actions must be a list"),
        ({"actions": [{"a": 1.0}, "b"]}, "all labels or all features"),
        ({"actions": [{"new": math.inf}, {}]}, "must be finite"),
        ({"actions": [{"new": [1]}, {}]}, "must be a number or a string"),
        ({"x": {"new": math.inf}}, "must be finite"),
        ({"x": 3}, "x must be a dict or a vector"),
        ({"actions": [1.5, 2.5], "action": 1.5}, "an action must be a bool, int or str"),
    ]:
        with pytest.raises((ValueError, TypeError)) as error:
            policy.learn_one(**{**log, **change})
        assert words in str(error.value), (change, str(error.value))
        assert str(error.value).startswith("bandit."), str(error.value)
        assert "\n" not in str(error.value)
        assert policy.to_bytes() == before, change
    for verb in (policy.decide_one, policy.probabilities_one):
        with pytest.raises(ValueError, match="at least one action"):
            verb(x, [])
        with pytest.raises(ValueError, match="listed once"):
            verb(x, ["a", "b", "a"])
    assert policy.to_bytes() == before
    with pytest.raises(TypeError, match="actions of a round and the action taken"):
        policy.learn_one(reward=1.0)
    policy.learn_one(**log)


def test_a_batch_with_a_wrong_round_is_learned_wholly_or_not():
    log = [rounds.Round({"a": 1.0}, ["x", "y"], "x", 0.5, reward) for reward in (0.0, 0.5, 7.0, 1.0)]
    policy = bandit.LinUCB(reward_range=[0, 1])
    before = policy.to_bytes()
    with pytest.raises(ValueError, match=r"row 2: .*reward must be in \[0, 1\]"):
        policy.learn_many(log)
    assert policy.to_bytes() == before
    assert policy.learn_many(log, on_error="skip") == 1
    assert policy.learned == 3
    with pytest.raises(ValueError, match="row 2"):
        policy.learn_many(log, on_error="stop")
    assert policy.learned == 5


def test_wrong_ids_and_rewards_are_refused_in_one_line():
    policy = bandit.LinUCB(reward_range=[0, 1])
    decisions = [policy.decide_one({"a": 1.0}, ["x", "y"]) for _ in range(3)]
    before = policy.to_bytes()
    for ids, rewards, words in [
        ([0.5], [1.0], "ids must be integers, got list"),
        ([math.nan], [1.0], "ids must be integers"),
        (["0"], [1.0], "ids must be integers"),
        ([True], [1.0], "ids must be integers"),
        ([-1], [1.0], "no decision has the id -1"),
        ([0, 7], [1.0, 1.0], "row 1: .*no decision has the id 7"),
        ([0, 0], [1.0, 1.0], "row 1: .*decision 0"),
        ([0], ["much"], "rewards must be numbers, got list"),
        ([0], [None, 1.0], "differ in number"),
        ([0], None, "needs the rewards"),
    ]:
        with pytest.raises((ValueError, TypeError), match=words) as error:
            policy.learn_many(ids=ids, rewards=rewards)
        assert str(error.value).count("bandit.LinUCB: ") == 1, str(error.value)
        assert policy.to_bytes() == before
    assert policy.learn_many(ids=[], rewards=[]) == 0
    assert policy.learn_many(ids=decisions, rewards=[1, 0, 1]) == 0
    assert policy.learned == 3


def test_huge_features_are_refused_and_leave_no_trace():
    for policy in (bandit.LinUCB(), bandit.Contextual(linear_model.LinearRegression(), explore="greedy")):
        policy.learn_one(x={"a": 1.0}, actions=["x"], action="x", reward=1.0, probability=1.0)
        before = policy.to_bytes()
        for value in (1e200, 1e308):
            p = policy.probabilities_one({"a": value, "b": value}, ["x", "y"])
            assert abs(sum(p.values()) - 1.0) < 1e-12
        with pytest.raises(OverflowError):
            policy.learn_one(x={"a": 1e308, "b": 1e308}, actions=["x"], action="x", reward=1e308, probability=1.0)
        assert policy.to_bytes() == before


def test_too_many_features_are_refused():
    policy = bandit.LinUCB(max_features=6)
    policy.learn_one(x={"a": 1.0}, actions=[{"b": 1.0}], action=0, reward=1.0)
    before = policy.to_bytes()
    with pytest.raises(ValueError, match="max_features is 6"):
        policy.learn_one(x={f"x{i}": 1.0 for i in range(3)}, actions=[{"c": 1.0}], action=0, reward=1.0)
    assert policy.to_bytes() == before


@pytest.mark.parametrize("optimistic", [True, False])
def test_bounds_of_a_regressor_are_those_of_least_squares(optimistic):
    # RLS over the features of both sides and their products is the same regression.
    g = np.random.default_rng(19)
    explorer = explore.RegCB(0.05, optimistic=optimistic)
    exact = bandit.Contextual(explore=explorer, l2=2.0)
    other = bandit.Contextual(linear_model.RLS(l2=2.0), explore=explorer)
    for _ in range(60):
        x, actions = random_round(g, k=4, d=2, m=2)
        assert list(exact.probabilities_one(x, actions).values()) == pytest.approx(
            list(other.probabilities_one(x, actions).values()), abs=1e-9
        )
        index, reward = int(g.integers(0, 4)), float(g.random())
        for policy in (exact, other):
            policy.learn_one(x=x, actions=actions, action=index, reward=reward, probability=0.25)


def test_bounds_lead_to_actions_that_were_never_tried():
    for model in (linear(), linear_model.RLS(), tree.HoeffdingTreeRegressor()):
        policy = bandit.Contextual(model, explore=explore.RegCB(), reward_range=[0, 1])
        for _ in range(50):
            policy.learn_one(x={}, actions=["known", "new"], action="known", reward=0.4, probability=1.0)
        assert policy.probabilities_one({}, ["known", "new"])["new"] >= 0.5, model


def test_actions_in_every_form_are_the_same_round():
    forms = [
        ({"0": 1.0, "1": 2.0}, [{"0": 3.0}, {"0": 4.0}]),
        ({"0": 1.0, "1": 2.0}, {"first": {"0": 3.0}, "second": {"0": 4.0}}),
    ]
    arrays = [
        (np.array([1.0, 2.0]), np.array([[3.0], [4.0]])),
        ([1, 2], [[3], [4]]),
        ((1.0, 2.0), [(3.0,), (4.0,)]),
    ]
    predicted = set()
    for x, actions in forms + arrays:
        policy = bandit.LinUCB()
        for row in range(5):
            decision = policy.decide_one(x, actions)
            policy.learn_one(decision.id, 0.1 * row)
        predicted.add(tuple(policy.rewards_one(x, actions).values()))
    assert len(predicted) == 1


def test_strings_are_features_of_their_own():
    policy = bandit.LinUCB()
    for _ in range(20):
        policy.learn_one(x={"city": "Bern"}, actions=["a"], action="a", reward=1.0)
        policy.learn_one(x={"city": "Rome"}, actions=["a"], action="a", reward=0.0)
    assert set(policy.weights["arms"]["a"]) == {"constant", "city=Bern", "city=Rome"}
    assert policy.rewards_one({"city": "Bern"}, ["a"])["a"] > 0.8


def test_a_linear_model_sees_products_and_a_tree_both_sides():
    policy = bandit.Contextual(linear(), explore="greedy")
    policy.learn_one(x={"u": 2.0}, actions=[{"v": 3.0}], action=0, reward=1.0, probability=1.0)
    assert set(policy.inspect()["models"][0]["weights"]) == {"u", "v", "u × v"}


def test_the_reward_of_the_better_action_is_learned():
    for name in ("LinUCB", "LinThompson", "default", "SquareCB", "Cover", "ips", "dr"):
        policy, g, right = fresh(name), np.random.default_rng(3), 0
        for row in range(600):
            x = {"side": float(g.integers(0, 2))}
            decision = policy.decide_one(x, ["left", "right"])
            good = (decision.action == "right") == (x["side"] == 1.0)
            policy.learn_one(decision.id, float(good))
            right += good and row >= 300
        assert right > 240, (name, right)


def vw_probabilities(options, log, names):
    """The probabilities of VW before each round of a log."""
    vowpalwabbit = pytest.importorskip("vowpalwabbit")
    vw = vowpalwabbit.Workspace(
        f"--cb_explore_adf -b 24 -q sa --quiet {options} --min_prediction -100 --max_prediction 100"
    )
    found = []
    for x, actions, action, probability, reward, _ in log:
        lines = ["shared |s " + " ".join(f"{n}:{v!r}" for n, v in x.items())]
        lines += ["|a " + " ".join(f"{n}:{v!r}" for n, v in own.items()) for own in actions]
        found.append(vw.predict(lines))
        lines[1 + action] = f"0:{-reward!r}:{probability!r} " + lines[1 + action]
        vw.learn(lines)
    vw.finish()
    return found


@pytest.mark.parametrize(
    ("options", "explorer"),
    [
        ("--squarecb", explore.SquareCB()),
        ("--squarecb --gamma_scale 50 --gamma_exponent 0.7", explore.SquareCB(50.0, 0.7)),
        ("--epsilon 0.2", explore.EpsilonGreedy(0.2)),
        ("--softmax --lambda 5", explore.Softmax(5.0)),
    ],
    ids=["SquareCB", "SquareCB with settings", "EpsilonGreedy", "Softmax"],
)
def test_probabilities_equal_those_of_vw(options, explorer):
    g = np.random.default_rng(23)
    actions = [{f"a{j}": float(np.float32(v)) for j, v in enumerate(row)} for row in g.normal(size=(6, 3))]
    log = []
    for _ in range(300):
        x = {f"x{i}": float(np.float32(v)) for i, v in enumerate(g.normal(size=4))}
        # The last action is never taken: VW's SquareCB weights it by 1 / p, and no other action.
        log.append(rounds.Round(x, actions, int(g.integers(0, 5)), 1 / 6, float(g.random() < 0.5)))
    policy = bandit.Contextual(linear(), explore=explorer)
    ours = policy.step_many(log)
    theirs = vw_probabilities(options, log, None)
    worst = max(float(np.abs(own - their).max()) for own, their in zip(ours, theirs, strict=True))
    assert worst < 1e-4


def test_more_actions_than_a_joint_covariance_has_room_for_are_refused() -> None:
    policy, actions = bandit.LinThompson(), [str(index) for index in range(4097)]
    before = policy.to_bytes()
    with pytest.raises(InvalidValue, match="supports up to 4096 actions in a round, got 4097"):
        policy.probabilities_one({"x": 1.0}, actions)
    with pytest.raises(InvalidValue, match="supports up to 4096 actions in a round, got 4097"):
        policy.decide_one({"x": 1.0}, actions)
    assert policy.to_bytes() == before
    assert len(bandit.LinUCB().probabilities_one({"x": 1.0}, actions)) == 4097
