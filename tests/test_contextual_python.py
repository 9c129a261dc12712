"""`bandit.Contextual` over regressors in Python, and `bandit.Experts`."""

from __future__ import annotations

import copy
import math
import pickle
import random
import sys
import threading

import pytest

from millstream import bandit, base, linear_model
from millstream.bandit import explore


class Means(base.Regressor):
    """The mean reward of each situation; refuses a reward above 10."""

    def __init__(self):
        self.sums = {}

    def learn_one(self, x, y, w=1.0):
        key = tuple(sorted(x.items()))
        total, weight = self.sums.get(key, (0.0, 0.0))
        self.sums[key] = (total + w * y, weight + w)
        if y > 10:
            raise ValueError("Means: too much")

    def predict_one(self, x):
        total, weight = self.sums.get(tuple(sorted(x.items())), (0.0, 0.0))
        return total / weight if weight else 0.0


@pytest.mark.parametrize("explorer", [None, "epsilongreedy", explore.Softmax(), explore.Bag(3)])
@pytest.mark.parametrize("estimate", [None, "dm", "ips", "dr"])
def test_a_class_of_your_own_learns(explorer, estimate):
    policy = bandit.Contextual(Means(), explore=explorer, estimate=estimate, seed=1)
    good = 0
    for row in range(400):
        x = {"side": row % 2}
        decision = policy.decide_one(x, ["left", "right"])
        reward = float((decision.action == "right") == bool(row % 2))
        policy.learn_one(decision.id, reward)
        good += reward * (row >= 200)
    assert good > 150
    p = policy.probabilities_one({"side": 1}, ["left", "right"])
    assert abs(math.fsum(p.values()) - 1.0) < 1e-12
    again = pickle.loads(pickle.dumps(policy))
    assert again.decide_one({"side": 1}, ["left", "right"]) == policy.decide_one({"side": 1}, ["left", "right"])


def test_a_model_that_raises_leaves_everything_as_it_was():
    policy = bandit.Contextual(Means(), estimate="dr", explore=explore.Bag(2))
    decision = policy.decide_one({}, ["a", "b"])
    before = [copy.deepcopy(model.sums) for model in policy.models]
    with pytest.raises(ValueError, match="too much"):
        policy.learn_one(decision.id, 1000.0)
    assert [model.sums for model in policy.models] == before
    assert policy.pending == 1
    log = [({}, ["a"], "a", 0.5, 1.0), ({}, ["a"], "a", 0.5, 1000.0)]
    with pytest.raises(ValueError, match="too much"):
        policy.learn_many(log)
    assert (policy.learned, [model.sums for model in policy.models]) == (0, before)


def test_exp4_by_hand():
    # Experts (1, 0) and (0.5, 0.5): p = (0.75, 0.25). Action b with reward 1: shares 0 and 0.1 · 0.5 / 0.25 = 0.2.
    policy = bandit.Experts([lambda x, actions: {"a": 1.0, "b": 0.0}, lambda x, actions: {"a": 0.5, "b": 0.5}])
    policy.learn_one(x=None, actions=["a", "b"], action="b", reward=1.0, probability=0.25)
    w = 1 / (1 + math.exp(0.2))
    assert policy.weights == pytest.approx([w, 1 - w])
    assert policy.probabilities_one(None, ["a", "b"])["b"] == pytest.approx(0.5 * (1 - w))


def test_experts_refuse_bad_advice_and_rewards():
    policy = bandit.Experts([lambda x, actions: {"a": 0.9, "b": 0.0}])
    with pytest.raises(ValueError, match="sum to 1"):
        policy.decide_one({}, ["a", "b"])
    policy = bandit.Experts([lambda x, actions: {a: 1 / len(actions) for a in actions}])
    for reward, words in [(2.0, r"in \[0.0, 1.0\]"), (math.nan, "finite"), (None, "must be a number")]:
        with pytest.raises((ValueError, TypeError), match=words):
            policy.learn_one(x={}, actions=["a"], action="a", reward=reward)
    with pytest.raises(TypeError, match="must be a policy or a function"):
        bandit.Experts([3])


def test_explorers_by_name_and_policies_in_their_place():
    for model in (Means(), linear_model.LinearRegression()):
        for word in ("epsilon_greedy", "EpsilonGreedy", "epsilongreedy"):
            policy = bandit.Contextual(model, explore=word)
            assert policy.probabilities_one({}, ["a", "b"]) == {"a": 0.5, "b": 0.5}
            assert type(policy).__name__ == "Contextual"
        with pytest.raises(ValueError, match="explore must be one of bag, cover"):
            bandit.Contextual(model, explore="nothing")
        with pytest.raises(TypeError, match="must be an explorer, got .*EpsilonGreedy"):
            bandit.Contextual(model, explore=bandit.EpsilonGreedy())


def test_features_of_a_wrong_kind_are_refused_in_one_line():
    policy = bandit.Contextual(Means())
    for x in ("text", [["a"]]):
        with pytest.raises(TypeError, match="features must be a dict or a vector"):
            policy.decide_one(x, ["a"])


def test_policies_in_python_say_that_they_are_pickled():
    for policy in (bandit.Contextual(Means()), bandit.Experts([bandit.LinUCB()])):
        for call in (policy.to_bytes, lambda policy=policy: policy.save("policy")):
            with pytest.raises(TypeError, match="cannot be saved as data; use pickle"):
                call()
        with pytest.raises(TypeError, match="only native policies can"):
            policy.merge(policy)
        assert policy.memory > 100


def test_draws_differ_from_those_of_the_same_seed():
    # A simulation with random.Random(seed) must not repeat the draws of a policy with this seed.
    draw, policy = random.Random(1), bandit.Experts([lambda x, actions: {"a": 0.5, "b": 0.5}], seed=1)
    drawn = [policy.decide_one({}, ["a", "b"]).action == "a" for _ in range(1000)]
    same = sum((draw.random() < 0.5) == each for each in drawn)
    assert 400 < same < 600


@pytest.mark.parametrize(
    "make",
    [
        lambda: bandit.Experts([lambda x, actions: {"a": 0.5, "b": 0.5}]),
        lambda: bandit.Contextual(Means()),
        lambda: bandit.Slots(n_slots=2),
        lambda: bandit.Continuous(0.0, 1.0, 0.2),
        lambda: bandit.Dueling(actions=["a", "b", "c"]),
        lambda: bandit.BestArm(actions=["a", "b", "c"]),
    ],
)
def test_threads_decide_and_learn_at_once(make):
    policy, errors, ids = make(), [], []
    interval = sys.getswitchinterval()

    def work(seed):
        draw = random.Random(seed)
        try:
            for _ in range(60):
                given = ({"f": 1.0}, ["a", "b"]) if takes_actions else ()
                decisions = policy.decide_one(*given)
                for decision in decisions if isinstance(decisions, list) else [decisions]:
                    ids.append(decision.id)
                    policy.learn_one(decision.id, draw.random())
        except Exception as error:
            errors.append(error)

    takes_actions = type(policy).__name__ not in ("Continuous", "Dueling", "BestArm")
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert errors == []
    assert len(set(ids)) == len(ids) == policy.learned
    assert policy.pending == 0
    assert copy.deepcopy(policy).learned == policy.learned
