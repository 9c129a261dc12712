"""Policies without context: probabilities, draws, late rewards, saving, bad input, and regret."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import pytest

import millstream
from millstream import bandit, drift, evaluate, optim, testing
from millstream.bandit import worlds
from millstream.errors import InvalidType, InvalidValue, MillstreamError
from millstream.roles import POLICY, role_of

#: One of each kind.
POLICIES: list[Any] = [
    bandit.EpsilonGreedy(0.1),
    bandit.EpsilonGreedy(0.5, decay=0.01),
    bandit.EpsilonGreedy(optim.InverseScaling(20.0, 1.0)),
    bandit.UCB1(),
    bandit.KLUCB(),
    bandit.KLUCB(c=3.0),
    bandit.BayesUCB(),
    bandit.BayesUCB("gaussian"),
    bandit.BayesUCB("gamma", c=5.0),
    bandit.Thompson(),
    bandit.Thompson("gaussian", noise=0.5),
    bandit.Thompson("gamma"),
    bandit.Exp3(),
    bandit.Exp3(gamma=0.1),
    bandit.Exp3(horizon=1000),
    bandit.Exp3IX(),
    bandit.TsallisINF(),
    bandit.GradientBandit(),
    bandit.DiscountedUCB(),
    bandit.SlidingWindowUCB(window_size=50),
    bandit.Restart(bandit.UCB1()),
    bandit.Restart(bandit.Thompson(), drift.PageHinkley(threshold=5.0), restart="action", exploration=0.2),
    bandit.Restart(bandit.TsallisINF(), drift.KSWIN(), exploration=0.0),
]
each_policy = pytest.mark.parametrize("policy", POLICIES, ids=repr)
#: One of each class, where the others differ by settings only.
FEW = [policy for place, policy in enumerate(POLICIES) if type(policy) not in map(type, POLICIES[:place])]


class Uniform(bandit.Policy):
    """The plainest policy in Python."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.seen: list[Any] = []

    def probabilities_one(self, actions: Any = None) -> dict[Any, float]:
        listed = list(actions)
        if not listed or len({*listed}) < len(listed):
            raise InvalidValue("Uniform: actions must differ, and there must be one")
        return {action: 1.0 / len(listed) for action in listed}

    def learn_action(self, action: Any, reward: float, probability: float | None) -> None:
        self.seen.append((action, reward, probability))


@pytest.mark.parametrize("policy", [*POLICIES, Uniform()], ids=repr)
def test_policies_obey_the_laws(policy: Any) -> None:
    testing.check_model(policy)


def test_a_policy_that_breaks_a_law_is_named() -> None:
    class Careless(Uniform):
        def probabilities_one(self, actions: Any = None) -> dict[Any, float]:
            return {action: 0.9 / len(actions) for action in actions}

    with pytest.raises(testing.BrokenLaw, match="sum to 1"):
        testing.check_model(Careless())


def test_a_policy_is_a_role() -> None:
    for policy in (bandit.UCB1(), Uniform()):
        assert role_of(policy) is POLICY
        assert policy.role == "policy"
    assert set(millstream.find(role="policy")) >= {f"bandit.{name}" for name in ("UCB1", "Thompson", "Restart")}
    with pytest.raises(InvalidType, match="a policy"):
        evaluate.prequential(bandit.UCB1(), [({"a": 1.0}, 1.0)])


@pytest.mark.slow
@each_policy
def test_probabilities_over_random_rounds(policy: Any) -> None:
    # Ties, one action, equal actions and 500 actions; the rewards of some actions are always equal.
    policy, random = policy.clone(), np.random.default_rng(1)
    for row in range(10_000):
        size = 500 if row % 500 == 499 else int(random.choice([1, 2, 3, 10, 30]))
        actions = random.choice(500, size=size, replace=False).tolist()
        probabilities = policy.probabilities_one(actions)
        values = np.array(list(probabilities.values()))
        assert list(probabilities) == actions
        assert values.min() >= 0.0
        assert abs(math.fsum(values) - 1.0) <= 1e-12
        decision = policy.decide_one(actions)
        assert decision.probability == probabilities[decision.action] > 0.0
        reward = 0.5 if decision.action % 3 == 0 else float(random.random() < 0.3)
        policy.learn_one(decision.id, reward)


@each_policy
def test_draws_follow_the_probabilities(policy: Any) -> None:
    stats = pytest.importorskip("scipy.stats")
    policy = policy.clone(seed=5)
    random = np.random.default_rng(2)
    actions = ["a", "b", "c", "d", 5]
    for _ in range(60):
        decision = policy.decide_one(actions)
        policy.learn_one(decision.id, float(random.random() < 0.4))
    probabilities = policy.probabilities_one(actions)
    decisions = policy.decide_many(20_000, actions)
    counts = np.array([(decisions.actions == action).sum() for action in actions])
    expected = 20_000 * np.array(list(probabilities.values()))
    assert counts[expected < 1e-6].sum() == 0
    rare = expected < 5
    observed = [*counts[~rare], counts[rare].sum()]
    wanted = [*expected[~rare], max(expected[rare].sum(), 1e-9)]
    if len(observed) > 2:
        assert stats.chisquare(observed, np.array(wanted) * 20_000 / np.sum(wanted)).pvalue > 1e-4 or rare.any()
    for action, probability in zip(decisions.actions, decisions.probabilities, strict=True):
        assert probability == probabilities[action]


@each_policy
def test_saved_and_continued_is_never_stopped(policy: Any) -> None:
    rewards = np.random.default_rng(3).random(300)

    def play(player: Any, rounds: range) -> None:
        for row in rounds:
            player.decide_one(["red", "green", "blue"] if row % 2 else ["red", "black"])
            if player.pending > 7:
                # The oldest but three: ids stay open over the cut.
                player.learn_one(player.open[3], rewards[row])

    for cut in (0, 5, 150):
        whole, part = policy.clone(seed=4), policy.clone(seed=4)
        play(whole, range(300))
        play(part, range(cut))
        revived = millstream.from_bytes(part.to_bytes())
        assert revived.open == part.open
        play(revived, range(cut, 300))
        assert revived.to_bytes() == whole.to_bytes()
        assert revived.open == whole.open


@each_policy
def test_late_rewards_in_any_order(policy: Any) -> None:
    random = np.random.default_rng(5)
    for _ in range(3):
        late, log = policy.clone(), policy.clone()
        log.decide_one(["red", "green", "blue"])
        decisions = late.decide_many(40, ["red", "green", "blue"])
        order, rewards = random.permutation(40), random.random(40)
        assert late.learn_many(decisions.ids[order], rewards) == 0
        taken = {"actions": decisions.actions[order], "probabilities": decisions.probabilities[order]}
        assert log.learn_many(rewards=rewards, **taken) == 0
        actions = ["green", "red", "blue"]
        assert late.probabilities_one(actions) == pytest.approx(log.probabilities_one(actions), abs=1e-12)
        assert (late.pending, late.dropped) == (0, 0)


def test_ids_that_are_unknown_learned_or_dropped() -> None:
    policy = bandit.UCB1(actions=["a", "b"], max_pending=3)
    ids = [policy.decide_one().id for _ in range(5)]
    assert (policy.pending, policy.dropped) == (3, 2)
    policy.learn_one(ids[3], 1.0)
    before = policy.to_bytes()
    for wrong, words in [
        (ids[0], "decision 0 is not kept any more: there were 4 later ones"),
        (ids[3], "decision 3 has its reward already"),
        (99, "no decision has the id 99; there were 5 so far"),
        (-1, "no decision has the id -1"),
        ("x", "must be an integer"),
        (1.0, "must be an integer"),
    ]:
        with pytest.raises(MillstreamError, match=words):
            policy.learn_one(wrong, 1.0)
    assert policy.to_bytes() == before
    policy.learn_one(policy.open[0], True)
    assert (policy.pending, policy.learned) == (1, 2)


def test_learn_many_stops_or_skips() -> None:
    rewards = [1.0, 0.5, math.nan, 0.25]
    log = {"actions": ["a", "b", "a", "b"], "rewards": rewards}
    policy = bandit.UCB1()
    with pytest.raises(InvalidValue, match="row 2: bandit.UCB1: the reward must be finite"):
        policy.learn_many(**log)
    assert policy.learned == 0
    with pytest.raises(InvalidValue, match="row 2"):
        policy.learn_many(**log, on_error="stop")
    assert policy.learned == 2
    assert policy.clone().learn_many(**log, on_error="skip") == 1
    with pytest.raises(InvalidValue, match="rewards has 1 values for 2 rows"):
        policy.learn_many([1, 2], [0.5])
    with pytest.raises(InvalidType, match="needs ids or actions"):
        policy.learn_many(rewards=[1.0])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"action": "a", "reward": 1.5}, r"the reward must be in \[0, 1\], got 1.5 \(see reward_range\)"),
        ({"action": "a", "reward": math.nan}, "the reward must be finite, got NaN"),
        ({"action": "a", "reward": "much"}, "the reward must be a number"),
        ({"action": "a", "reward": 10**400}, "the reward must fit in a float"),
        ({"action": "a"}, "learn_one needs a reward"),
        ({"action": ["a"], "reward": 1.0}, "an action must be a bool, int or str"),
        ({"action": "a", "reward": 1.0, "probability": 0.0}, r"the probability must be in \(0, 1\], got 0"),
        ({"action": "a", "reward": 1.0, "probability": 1.5}, r"the probability must be in \(0, 1\], got 1.5"),
        ({"action": "a", "reward": 1.0, "probability": math.nan}, "the probability must be in"),
        ({"id": 0, "action": "a", "reward": 1.0}, "pass an id or an action, not both"),
        ({"id": 0, "reward": 1.0, "probability": 0.5}, "the probability of a decision is known"),
        ({"reward": 1.0}, "needs the id of a decision, or an action"),
    ],
)
def test_bad_rewards_are_refused(arguments: dict[str, Any], words: str) -> None:
    policy = bandit.UCB1(actions=["a", "b"])
    policy.decide_one()
    before = policy.to_bytes()
    with pytest.raises(MillstreamError, match=words) as failure:
        policy.learn_one(**arguments)
    assert str(failure.value).startswith("bandit.UCB1: ")
    assert policy.to_bytes() == before


@pytest.mark.parametrize(
    ("actions", "words"),
    [
        ([], "at least one action, got none"),
        (["a", "a"], "each action may be listed once, got 'a' twice"),
        ([1, True], "each action may be listed once"),
        ("ab", "actions must be a list"),
        (7, "actions must be a list"),
        ({"a": {"x": 1.0}}, "actions must be a list"),
        ([1.5], "an action must be a bool, int or str"),
        ([None], "an action must be a bool, int or str"),
        (list(range(11)), r"there can be 10 actions at most, got 11 \(raise max_actions\)"),
    ],
)
def test_bad_actions_are_refused(actions: Any, words: str) -> None:
    policy = bandit.Thompson(max_actions=10)
    before = policy.to_bytes()
    for verb in (policy.decide_one, policy.probabilities_one, policy.pull):
        with pytest.raises(MillstreamError, match=words):
            verb(actions)
    assert policy.to_bytes() == before


def test_bad_settings_are_refused() -> None:
    for make, words in [
        (lambda: bandit.EpsilonGreedy(1.5), "epsilon must be in"),
        (lambda: bandit.UCB1(reward_range=(1, 0)), "reward_range must be a pair low < high"),
        (lambda: bandit.UCB1(actions=["a", "a"]), "actions must be a list of different labels"),
        (lambda: bandit.UCB1(actions=[]), "actions must be a list of different labels"),
        (lambda: bandit.UCB1(max_pending=0), "max_pending must be an integer"),
        (lambda: bandit.Thompson("cauchy"), "distribution must be one of"),
        (lambda: bandit.Thompson(prior=2.0), "prior must be in"),
        (lambda: bandit.Thompson("gamma", prior=0.0), "prior must be > 0"),
        (lambda: bandit.Restart(bandit.Restart(bandit.UCB1())), "policy must be another policy"),
        (lambda: bandit.Restart(drift.ADWIN()), "policy must be a policy"),
    ]:
        with pytest.raises(MillstreamError, match=words):
            make()
    with pytest.raises(InvalidValue, match="no action is known yet"):
        bandit.UCB1().decide_one()
    gamma = bandit.Thompson("gamma")
    with pytest.raises(InvalidValue, match=r"bandit.Thompson: the reward must be >= 0 for gamma, got -1"):
        gamma.learn_one(action="new", reward=-1.0)
    assert gamma.actions == []


@pytest.mark.parametrize("distribution", ["beta", "gaussian", "gamma"])
def test_late_probabilities_are_those_of_the_decision(distribution: Any) -> None:
    # More decisions than are kept without a probability, of lists of different lengths. Computed at once, when
    # they are saved or when they are read, probabilities are those of the moment of the decision.
    policy, random = bandit.Thompson(distribution, seed=3), np.random.default_rng(4)
    wanted, decisions = [], []
    for row in range(120):
        actions = [f"a{place}" for place in range(2 if row % 2 else 150)]
        wanted.append(policy.probabilities_one(actions))
        decisions.append(policy.decide_one(actions))
        policy.learn_one(action=f"a{row % 3}", reward=float(random.random()))
    policy.learn_one(decisions[0].id, 0.5)
    saved = {decision.id: decision.probability for decision in millstream.from_bytes(policy.to_bytes()).open}
    kept = {decision.id: decision.probability for decision in policy.open}
    assert saved == kept
    for chances, decision in zip(wanted, decisions, strict=True):
        assert decision.probability == chances[decision.action]
        assert kept.get(decision.id, decision.probability) == decision.probability
        assert pickle.loads(pickle.dumps(decision)) == decision
    assert policy.pending == 119


def test_a_refused_list_is_refused_again() -> None:
    policy = bandit.UCB1(actions=["a", "b"])
    for actions in (["a", "a"], ["new", "new"], ["a", "b", "a"]):
        for _ in range(3):
            with pytest.raises(InvalidValue, match="may be listed once"):
                policy.decide_one(actions)
    policy.decide_one(["b", "a"])
    policy.forget_one("a")
    assert policy.decide_one(["b", "a"]).action in ("a", "b")
    assert policy.decide_one(["b"]).action == "b"


def test_actions_come_and_go() -> None:
    policy = bandit.UCB1(actions=["a"], max_actions=3)
    policy.learn_one(action="b", reward=0.5)
    assert policy.actions == ["a", "b"]
    decision = policy.decide_one(["a"])
    policy.decide_one(["b", "c"])
    policy.decide_one(["b", "d"])
    # The action that was offered least recently made room, and its decision is dropped.
    assert sorted(policy.actions) == ["b", "c", "d"]
    assert (policy.forgotten, policy.dropped, policy.pending) == (1, 1, 2)
    with pytest.raises(InvalidValue, match="its action was forgotten"):
        policy.learn_one(decision.id, 1.0)
    policy.forget_one("b")
    assert "b" not in policy.actions
    with pytest.raises(InvalidValue, match="no action 'z' to forget"):
        policy.forget_one("z")


def test_a_decision_is_a_small_tuple() -> None:
    decision = bandit.UCB1(actions=["a"]).decide_one()
    action, probability, id_ = decision
    assert (action, probability, id_) == ("a", 1.0, 0) == decision
    assert (decision[0], decision[-1], len(decision)) == ("a", 0, 3)
    assert pickle.loads(pickle.dumps(decision)) == decision == copy.deepcopy(decision)
    assert repr(decision) == "Decision(action='a', probability=1.0, id=0)"
    assert decision != ("a", 1.0, 1)
    assert hash(decision) == hash(("a", 1.0, 0))
    match decision:
        case bandit.Decision(action, probability, _):
            assert action == "a"
    with pytest.raises(AttributeError):
        decision.action = "b"  # type: ignore[misc]
    with pytest.raises(IndexError):
        decision[3]


def test_actions_of_many_types() -> None:
    policy = bandit.UCB1()
    for actions in (
        np.array([1, 2]),
        np.array(["x", "y"]),
        ("x", 1),
        iter([True, "x"]),
        [np.int64(2), np.str_("x")],
    ):
        decision = policy.decide_one(actions)
        assert type(decision.action) in (int, str, bool)
        policy.learn_one(decision, 0.5)
    assert policy.decide_many(3, [1, 2]).actions.dtype.kind == "i"
    assert len(policy.decide_many(0, [1]).ids) == 0
    with pytest.raises(InvalidType, match="n must be an integer"):
        policy.decide_many(1.5, ["a"])
    with pytest.raises(InvalidValue, match="n must be >= 0"):
        policy.decide_many(-1, ["a"])


def test_rivers_verbs_and_names_are_answered() -> None:
    policy = bandit.EpsilonGreedy(epsilon=0.1, decay=0.0, seed=42)
    for _ in range(20):
        arm = policy.pull(["a", "b"])
        policy.update(arm, 1.0 if arm == "a" else 0.0)
    assert policy.pending == 0
    assert policy.probabilities_one(["a", "b"])["a"] == pytest.approx(0.95)
    for name, words in [("UCB", "UCB1"), ("ThompsonSampling", "bandit.Thompson"), ("RandomPolicy", "epsilon=1.0")]:
        with pytest.raises(AttributeError, match=words):
            getattr(bandit, name)
    assert bandit.BayesUCB().role == "policy"


def test_a_range_scales_rewards() -> None:
    narrow, wide = bandit.KLUCB(), bandit.KLUCB(reward_range=(-10, 30))
    rewards = np.random.default_rng(6).random(50)
    for row, reward in enumerate(rewards):
        narrow.learn_one(action=row % 3, reward=reward)
        wide.learn_one(action=row % 3, reward=40.0 * reward - 10.0)
    assert narrow.probabilities_one() == wide.probabilities_one()
    means = np.array([rewards[place::3].mean() for place in range(3)])
    assert wide.inspect()["means"] == pytest.approx(40.0 * means - 10.0)
    assert wide.inspect()["actions"] == [0, 1, 2]


def test_epsilon_greedy_equals_rivers_estimates() -> None:
    river = pytest.importorskip("river.bandit")
    theirs, ours = river.EpsilonGreedy(epsilon=0.2, decay=0.01, seed=1), bandit.EpsilonGreedy(0.2, decay=0.01)
    random = np.random.default_rng(7)
    for _ in range(200):
        arm, reward = int(random.integers(3)), float(random.normal())
        theirs.update(arm, reward)
        ours.learn_one(action=arm, reward=reward)
    assert ours.inspect()["epsilon"] == pytest.approx(theirs.current_epsilon)
    found = dict(zip(ours.inspect()["actions"], ours.inspect()["means"], strict=True))
    assert found == pytest.approx({arm: reward.get() for arm, reward in theirs._rewards.items()})


# Regret.

MEANS = [0.9, 0.85, 0.8, 0.6, 0.5, 0.5, 0.4, 0.3, 0.2, 0.1]
GAPS = np.array([0.9 - mean for mean in MEANS if mean < 0.9])
ROUNDS = 5000


def below(policy: Any, bound: float, means: list[float] = MEANS, rounds: int = ROUNDS) -> None:
    """The regret is below a bound for 99 of 100 seeds."""
    (plays,) = evaluate.play(policy, worlds.Bernoulli(means), rounds=rounds, seeds=100).values()
    assert (plays.regret <= bound).sum() >= 99, (plays.regret.max(), bound)
    # A bound says little if choosing at random keeps it too.
    assert plays.regret.mean() < rounds * float(np.mean(max(means) - np.array(means))) / 2


@pytest.mark.slow
def test_ucb1_is_below_its_bound() -> None:
    # Auer, Cesa-Bianchi and Fischer (2002), theorem 1.
    bound = 8 * np.sum(np.log(ROUNDS) / GAPS) + (1 + math.pi**2 / 3) * GAPS.sum()
    below(bandit.UCB1(), bound)


@pytest.mark.slow
@pytest.mark.parametrize("policy", [bandit.KLUCB(), bandit.BayesUCB(), bandit.Thompson()], ids=repr)
def test_policies_that_are_optimal_in_the_long_run(policy: Any) -> None:
    # Lai and Robbins (1985): regret grows as ln n Σ Δ / d(μ, μ*); these policies reach it, here within a factor.
    def divergence(p: float, q: float) -> float:
        return p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))

    rate = sum((0.9 - mean) / divergence(mean, 0.9) for mean in MEANS if mean < 0.9)
    # BayesUCB finds a quantile of each action in each round, which takes longer.
    rounds = 1000 if isinstance(policy, bandit.BayesUCB) else ROUNDS
    below(policy, 2.0 * rate * math.log(rounds) + 8 * GAPS.sum(), rounds=rounds)


@pytest.mark.slow
def test_epsilon_greedy_is_below_its_bound() -> None:
    # Auer, Cesa-Bianchi and Fischer (2002), theorem 3, with c = 5.5 and d the smallest gap.
    means = [0.9, 0.6, 0.5]
    k, c, d = 3, 5.5, 0.3
    n = np.arange(1, ROUNDS + 1)
    schedule = c * k / d**2
    x = np.maximum(n - 1, 1) * d**2 * math.e**0.5 / (c * k)
    logs = np.log(np.maximum(x, 1.0))
    probability = (
        c / (d**2 * n) + 2 * (c / d**2) * logs * x ** (-c / (5 * d**2)) + 4 * math.e / d**2 * x ** (-c / 2)
    )
    probability = np.where(n < schedule, 1.0, np.minimum(probability, 1.0))
    bound = float(probability.sum()) * sum(max(means) - mean for mean in means)
    below(bandit.EpsilonGreedy(optim.InverseScaling(schedule, 1.0)), bound, means)


@pytest.mark.slow
def test_policies_for_adversaries_are_below_their_bounds() -> None:
    k, log = len(MEANS), math.log(len(MEANS))
    # Auer and others (2002), corollary 3.2; the best action gains no more than one each round.
    below(bandit.Exp3(horizon=ROUNDS), 2.63 * math.sqrt(ROUNDS * k * log))
    # Neu (2015), theorem 1 with δ = 0.01.
    spread = (2 * math.sqrt(k * ROUNDS / log) + 1) * math.log(2 / 0.01)
    below(bandit.Exp3IX(), 4 * math.sqrt(k * ROUNDS * log) + spread)
    # Zimmert and Seldin (2021), theorem 1.
    below(bandit.TsallisINF(), 4 * math.sqrt(k * ROUNDS) + 1)


def test_policies_for_changing_rewards_follow_them() -> None:
    first, second = [0.8, 0.5, 0.3], [0.2, 0.5, 0.9]
    world = worlds.Changing([worlds.Bernoulli(first), worlds.Bernoulli(second)], every=2000)
    games = evaluate.play(
        {
            "fixed": bandit.KLUCB(),
            "discounted": bandit.DiscountedUCB(0.998, exploration=0.1),
            "window": bandit.SlidingWindowUCB(800, exploration=0.3),
            "restart": bandit.Restart(bandit.KLUCB(), drift.ADWIN()),
        },
        world,
        rounds=10_000,
        seeds=20,
    )
    fixed = games["fixed"].regret.mean()
    for name in ("discounted", "window", "restart"):
        assert games[name].regret.mean() < 0.7 * fixed, (name, games)


def test_gradient_bandit_finds_the_best_action() -> None:
    (plays,) = evaluate.play(bandit.GradientBandit(0.1), worlds.Gaussian([4.0, 5.0, 6.0]), 2000, 20).values()
    # It may settle for the second best, as its authors say; choosing at random loses 2000.
    assert np.median(plays.regret) < 300
