"""Dueling bandits and best-arm identification: by hand, their guarantees, late results, copies, and bad input."""

from __future__ import annotations

import math
import pickle
import random
from typing import Any

import numpy as np
import pytest

from millstream import bandit, evaluate, testing
from millstream.errors import InvalidType, InvalidValue


def test_the_first_duels_by_hand() -> None:
    policy = bandit.Dueling(actions=["a", "b", "c"])
    # Nothing is known: any pair of different actions.
    assert policy.probabilities_one() == pytest.approx(dict.fromkeys(policy.probabilities_one(), 1 / 6))
    assert len(policy.probabilities_one()) == 6
    policy.learn_one(action=("a", "b"), reward=1.0)
    policy.learn_one(action=("a", "b"), reward=0.5)
    # Bounds after two comparisons: a beats b with at most 0.75 + √(0.51 ln 3 / 2), b beats a with 0.25 + the same.
    width = math.sqrt(0.51 * math.log(3) / 2)
    bounds = policy._bounds(["a", "b", "c"])
    assert bounds.tolist() == pytest.approx(
        np.array([[0.5, 0.75 + width, 1.0], [0.25 + width, 0.5, 1.0], [1.0, 1.0, 0.5]])
    )
    # All may still beat all others. The second one has the highest bound against the first: for b that is a.
    assert policy.probabilities_one() == pytest.approx(
        {("a", "c"): 1 / 3, ("b", "a"): 1 / 3, ("c", "a"): 1 / 6, ("c", "b"): 1 / 6}
    )
    assert (policy.wins("a", "b"), policy.wins("b", "a"), policy.best) == (1.5, 0.5, "a")


def play(policy: Any, quality: dict[Any, float], rounds: int, seed: int) -> float:
    """The regret: how often both actions of a pair lose against the best one, above 1/2."""
    draw, best, regret = random.Random(seed), max(quality.values()), 0.0
    for _ in range(rounds):
        decision = policy.decide_one()
        first, second = decision.action
        regret += (2 * best - quality[first] - quality[second]) / 4
        won = draw.random() < 0.5 + (quality[first] - quality[second]) / 2
        if first != second and draw.random() < 0.5:
            policy.learn_one(decision.id, winner=first if won else second)
        else:
            policy.learn_one(decision.id, float(won))
    return regret


@pytest.mark.parametrize("seed", range(3))
def test_duels_find_the_best_action_with_little_regret(seed: int) -> None:
    quality = {"a": 0.2, "b": 0.5, "c": 0.8, "d": 0.4}
    policy = bandit.Dueling(actions=list(quality), seed=seed)
    early = play(policy, quality, 1500, seed)
    late = play(policy, quality, 1500, seed + 100)
    assert policy.best == "c"
    # Random pairs lose 0.1625 a round.
    assert early < 0.6 * 0.1625 * 1500
    assert late < 0.35 * early


def test_draws_of_pairs_follow_their_probabilities() -> None:
    policy = bandit.Dueling(actions=[1, 2, 3], seed=4)
    for pair, reward in (((1, 2), 1.0), ((1, 3), 0.0), ((2, 3), 1.0)):
        for _ in range(8):
            policy.learn_one(action=pair, reward=reward)
    policy.decide_one()
    said = policy.probabilities_one()
    assert math.fsum(said.values()) == pytest.approx(1.0, abs=1e-12)
    counts = dict.fromkeys(said, 0)
    for _ in range(3000):
        decision = policy.decide_one()
        assert decision.probability == said[decision.action]
        counts[decision.action] += 1
    chi = sum((counts[pair] - 3000 * p) ** 2 / (3000 * p) for pair, p in said.items())
    assert chi < 25


def test_duels_are_continued_and_bad_results_change_nothing() -> None:
    policy = bandit.Dueling(actions=["a", "b"], seed=3)
    decision = policy.decide_one(["a", "b", "c"])
    assert policy.known == ["a", "b", "c"]
    before = pickle.dumps(policy)
    for arguments, words in [
        ({"id": decision.id, "reward": 1.5}, r"the reward must be in \[0, 1\]"),
        ({"id": decision.id, "reward": math.nan}, "must be finite"),
        ({"id": decision.id, "winner": "z"}, "the winner must be one of"),
        ({"id": decision.id, "winner": "a", "reward": 1.0}, "not both"),
        ({"id": 99, "reward": 1.0}, "was never made"),
        ({"action": "a", "reward": 1.0}, "must be a pair"),
        ({"action": ("a", "b"), "reward": 1.0, "probability": 0.0}, r"must be in \(0, 1\]"),
    ]:
        with pytest.raises((InvalidType, InvalidValue), match=words):
            policy.learn_one(**arguments)
        assert pickle.dumps(policy) == before
    for actions in ([], ["a", "a"]):
        with pytest.raises(InvalidValue):
            policy.decide_one(actions)
    again = pickle.loads(before)
    for each in (policy, again):
        each.learn_one(decision.id, 1.0)
    assert [policy.decide_one() for _ in range(20)] == [again.decide_one() for _ in range(20)]
    with pytest.raises(InvalidValue, match="has its reward already"):
        policy.learn_one(decision.id, 1.0)
    with pytest.raises(InvalidValue, match="there may be at most 2 actions, got 3"):
        bandit.Dueling(max_actions=2).decide_one([1, 2, 3])
    with pytest.raises(InvalidValue, match="alpha must be"):
        bandit.Dueling(alpha=0.0)


def search(policy: Any, means: list[float], seed: int) -> Any:
    draw = random.Random(seed)
    while not policy.finished:
        decision = policy.decide_one()
        policy.learn_one(decision.id, float(draw.random() < means[decision.action]))
    return policy


def test_bounds_of_the_mean_by_hand() -> None:
    policy = bandit.BestArm(delta=0.1, actions=["a", "b"])
    policy.learn_one(action="a", reward=1.0)
    assert policy.interval_of("b") == (0.0, 1.0)
    # One reward of 1: ln(1 / q) = ln(2 · 2 · ζ(1.1) / 0.1) at the lower bound.
    low, high = policy.interval_of("a")
    assert low == pytest.approx(0.1 / (4 * 10.584448464950803), rel=1e-9)
    assert high == 1.0
    policy.learn_one(action="a", reward=0.0)
    low, high = policy.interval_of("a")
    # Two rewards of mean 1/2: d(1/2, q) = (ln(4 ζ / 0.1) + 1.1 ln 2) / 2, and d(1/2, q) = −ln(4 q (1 − q)) / 2.
    width = (math.log(4 * 10.584448464950803 / 0.1) + 1.1 * math.log(2)) / 2
    assert -math.log(4 * high * (1 - high)) / 2 == pytest.approx(width, rel=1e-6)
    # The lower bound is that of the first reward, which is the closer one.
    assert low == pytest.approx(0.1 / (4 * 10.584448464950803), rel=1e-9)


@pytest.mark.parametrize("means", [[0.3, 0.5, 0.8], [0.9, 0.6], [0.02, 0.1, 0.05, 0.3]])
def test_the_best_arm_is_found(means: list[float]) -> None:
    wrong = 0
    for seed in range(15):
        policy = search(bandit.BestArm(actions=list(range(len(means))), seed=seed), means, seed)
        wrong += policy.best != int(np.argmax(means))
        assert policy.probabilities_one()[policy.best] == 1.0
        # Rivals of the best action are tried more often than clearly worse ones.
        counts = dict(zip(policy.inspect()["actions"], policy.inspect()["counts"], strict=True))
        worst, second = np.argsort(means)[0], np.argsort(means)[-2]
        assert counts[int(second)] >= counts[int(worst)]
    # At most 5 % of the searches: three or more of fifteen are wrong in one of 30 runs of such a test.
    assert wrong <= 2


@pytest.mark.slow
def test_ranges_hold_at_all_times() -> None:
    missed = 0
    for seed in range(200):
        draw, policy = random.Random(seed), bandit.BestArm(delta=0.1, actions=["a", "b"])
        bad = False
        for row in range(200):
            action, mean = ("a", 0.3) if row % 3 else ("b", 0.5)
            policy.learn_one(action=action, reward=float(draw.random() < mean))
            low, high = policy.interval_of(action)
            bad = bad or not low <= mean <= high
        missed += bad
    assert missed <= 0.1 * 200


def test_equal_arms_need_a_tolerance_and_ranges_have_units() -> None:
    draw, policy = random.Random(1), bandit.BestArm(tolerance=2.0, reward_range=(-5.0, 5.0), actions=["a", "b"])
    while not policy.finished:
        decision = policy.decide_one()
        policy.learn_one(decision.id, draw.choice([-5.0, 5.0]))
    low, high = policy.interval_of(policy.best)
    assert -5.0 <= low < 0.0 < high <= 5.0
    with pytest.raises(InvalidValue, match=r"the reward must be in \[-5.0, 5.0\]"):
        policy.learn_one(action="a", reward=6.0)


def test_a_search_is_continued_and_bad_input_changes_nothing() -> None:
    policy = bandit.BestArm(actions=["a", "b"], seed=3)
    decisions = [policy.decide_one() for _ in range(6)]
    before = pickle.dumps(policy)
    for arguments, words in [
        ({"id": decisions[0].id, "reward": 2.0}, "the reward must be in"),
        ({"action": "z", "reward": 1.0}, "the action must be one of"),
        ({"id": 99, "reward": 1.0}, "was never made"),
        ({"id": decisions[0].id, "reward": math.inf}, "must be finite"),
    ]:
        with pytest.raises((InvalidType, InvalidValue), match=words):
            policy.learn_one(**arguments)
        assert pickle.dumps(policy) == before
    for actions in ([], ["a", "a"], ["a", "z"]):
        with pytest.raises(InvalidValue):
            policy.decide_one(actions)
        assert pickle.dumps(policy) == before
    with pytest.raises(InvalidType, match="play bandit.Dueling in a loop of your own"):
        evaluate.play(bandit.Dueling(), bandit.worlds.Bernoulli([0.2, 0.8]), rounds=5, seeds=1)
    again, other = pickle.loads(before), pickle.loads(before)
    rewards = [1.0, 0.0, 1.0, 1.0, 0.0, 1.0]
    for decision, reward in zip(decisions, rewards, strict=True):
        policy.learn_one(decision.id, reward)
        again.learn_one(decision.id, reward)
    for decision, reward in reversed(list(zip(decisions, rewards, strict=True))):
        other.learn_one(decision.id, reward)
    assert policy.inspect()["means"] == again.inspect()["means"] == other.inspect()["means"]
    assert policy.decide_one() == again.decide_one()
    for arguments, words in [
        ({"delta": 0.0}, "delta must be in"),
        ({"tolerance": -1.0}, "tolerance must be"),
        ({"reward_range": (1, 0)}, "reward_range must be a lowest and"),
        ({"reward_range": 5}, "reward_range must be two numbers, got int 5"),
        ({"reward_range": (0, 1, 2)}, "reward_range must be two numbers, got"),
        ({"reward_range": (0, "a")}, "reward_range must be a number, got str 'a'"),
        ({"max_pending": 0}, "max_pending must be"),
    ]:
        with pytest.raises((InvalidType, InvalidValue), match=words):
            bandit.BestArm(**arguments)
    with pytest.raises(InvalidValue, match=r"the action must be one of 'a', got \[1\]"):
        bandit.BestArm(actions=["a"]).learn_one(action=[1], reward=1.0)  # type: ignore[arg-type]


def test_a_search_is_a_policy() -> None:
    policy = bandit.BestArm()
    assert (policy.best, policy.finished) == (None, False)
    with pytest.raises(InvalidValue, match="there must be actions"):
        policy.decide_one()
    assert policy.decide_one(["a", "b"]).probability == 0.5
    policy.learn_one(action="c", reward=1.0)
    # The third action of an open set has a twelfth of delta.
    low = policy.interval_of("c")[0]
    assert low == pytest.approx(0.05 / (2 * 12 * 10.584448464950803), rel=1e-9)
    testing.check_model(bandit.BestArm())
    games = evaluate.play(bandit.BestArm(), bandit.worlds.Bernoulli([0.1, 0.9]), rounds=200, seeds=2)
    assert games.best.regret.max() < 100
    with pytest.raises(InvalidType, match="use pickle"):
        policy.save("policy")
