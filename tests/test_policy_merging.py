"""Merging of policies: counts, means and least squares add up; what depends on order is refused with a reason."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import millstream
from millstream import bandit, linear_model
from millstream.bandit import explore
from millstream.errors import InvalidValue, MillstreamError

pytestmark = pytest.mark.linear_algebra

PLAIN: list[Any] = [
    bandit.EpsilonGreedy(0.1, decay=0.01),
    bandit.UCB1(),
    bandit.KLUCB(),
    bandit.BayesUCB(),
    bandit.Thompson(),
    bandit.Thompson("gaussian"),
    bandit.Thompson("gamma", prior=2.0),
]
CONTEXTUAL: list[Any] = [
    bandit.LinUCB(),
    bandit.LinUCB(l2=3.0, reward_range=[0, 1]),
    bandit.LinThompson(samples=20),
    bandit.Contextual(),
    bandit.Contextual(explore=explore.SquareCB(), estimate="mtr"),
]
REFUSED: list[Any] = [
    bandit.Exp3(),
    bandit.Exp3IX(),
    bandit.TsallisINF(),
    bandit.GradientBandit(),
    bandit.DiscountedUCB(),
    bandit.SlidingWindowUCB(),
    bandit.Restart(bandit.UCB1()),
    bandit.Contextual(linear_model.LinearRegression(optimizer="adaptive")),
]
ROUNDS = 120
each_plain = pytest.mark.parametrize("policy", PLAIN, ids=repr)
each_contextual = pytest.mark.parametrize("policy", CONTEXTUAL, ids=repr)
each_kind = pytest.mark.parametrize("features", [False, True], ids=["labels", "features"])


def learn_plain(policy: Any, rows: Any) -> Any:
    g = np.random.default_rng(1)
    actions, rewards = g.integers(0, 6, ROUNDS).tolist(), g.random(ROUNDS).tolist()
    log = [(str(action), reward) for action, reward in zip(actions, rewards, strict=True)]
    for row in rows:
        action, reward = log[row]
        policy.learn_one(action=action, reward=reward)
    return policy


def learn_contextual(policy: Any, rows: Any, features: bool) -> Any:
    g = np.random.default_rng(2)
    X, A, r = g.normal(size=(ROUNDS, 3)), g.normal(size=(ROUNDS, 2, 2)), g.random(ROUNDS)
    names = g.permutation(["u", "v", "w"])
    for row in map(int, rows):
        # Names come in another order in each part.
        x = {names[(place + row) % 3]: X[row, (place + row) % 3] for place in range(3)}
        actions: Any = [f"arm {row % 3}", "arm 3"]
        if features:
            actions = [{"id": f"{(row + place) % 3}", "a": A[row, place, 0]} for place in range(2)]
        action = row % 2 if features else actions[row % 2]
        policy.learn_one(x=x, actions=actions, action=action, reward=r[row], probability=0.5)
    return policy


def parts_of(seed: int) -> list[Any]:
    owner = np.random.default_rng(seed).integers(3, size=ROUNDS)
    return [np.flatnonzero(owner == part) for part in range(3)]


def merged(first: Any, *others: Any, base: Any = None) -> Any:
    whole = first.copy()
    for other in others:
        whole.merge(other, base)
    return whole


def said_plain(policy: Any) -> dict[str, Any]:
    shown = policy.inspect()
    known = zip(shown["actions"], shown["counts"], shown["means"], strict=True)
    return {action: pytest.approx((count, mean), rel=1e-9) for action, count, mean in known}


def same_plain(one: Any, other: Any) -> None:
    assert one.learned == other.learned
    seen = one.inspect()
    known = zip(seen["actions"], seen["counts"], seen["means"], strict=True)
    assert {action: (count, mean) for action, count, mean in known} == said_plain(other)
    actions = sorted(one.actions)
    assert one.probabilities_one(actions) == pytest.approx(other.probabilities_one(actions), abs=1e-9)


def same_contextual(one: Any, other: Any, features: bool) -> None:
    assert one.learned == other.learned
    g = np.random.default_rng(3)
    for _ in range(5):
        x = dict(zip("uvw", g.normal(size=3), strict=True))
        actions: Any = ["arm 0", "arm 1", "arm 2", "arm 3", "new"]
        if features:
            actions = [{"id": str(place), "a": float(g.normal())} for place in range(4)]
        assert one.rewards_one(x, actions) == pytest.approx(other.rewards_one(x, actions), abs=1e-9)
        if not isinstance(one, bandit.LinThompson):
            assert one.probabilities_one(x, actions) == pytest.approx(
                other.probabilities_one(x, actions), abs=1e-6
            )


@each_plain
@pytest.mark.parametrize("seed", [0, 1])
def test_parts_are_the_whole(policy: Any, seed: int) -> None:
    assert type(policy).MERGE == policy.MERGE == "exact"
    a, b, c = (learn_plain(policy.clone(seed=place), rows) for place, rows in enumerate(parts_of(seed)))
    whole = learn_plain(policy.clone(), range(ROUNDS))
    before = [part.to_bytes() for part in (a, b, c)]
    for together in (merged(a, b, c), merged(c, a, b), merged(a, merged(b, c)), merged(policy.clone(), a, b, c)):
        same_plain(together, whole)
    assert [part.to_bytes() for part in (a, b, c)] == before


@each_contextual
@each_kind
def test_parts_of_least_squares_are_the_whole(policy: Any, features: bool) -> None:
    parts = [learn_contextual(policy.clone(seed=5), rows, features) for rows in parts_of(0)]
    a, b, c = parts
    whole = learn_contextual(policy.clone(), range(ROUNDS), features)
    for together in (merged(a, b, c), merged(c, a, b), merged(a, merged(b, c)), merged(policy.clone(), a, b, c)):
        same_contextual(together, whole, features)
    saved = millstream.from_bytes(merged(a, b, c).to_bytes())
    same_contextual(
        learn_contextual(saved, range(9), features), learn_contextual(whole, range(9), features), features
    )


def test_a_base_counts_once() -> None:
    for policy in PLAIN:
        base = learn_plain(policy.clone(), range(40)).fork()
        first, second = learn_plain(base.copy(), range(40, 80)), learn_plain(base.copy(), range(80, ROUNDS))
        same_plain(merged(first, second, base=base), learn_plain(policy.clone(), range(ROUNDS)))
        same_plain(merged(first, base.copy(), base=base), first)
    for policy in CONTEXTUAL:
        for features in (False, True):
            base = learn_contextual(policy.clone(), range(40), features).fork()
            first, second = base.copy(), millstream.from_bytes(base.to_bytes())
            learn_contextual(first, range(40, 80), features)
            learn_contextual(second, range(80, ROUNDS), features)
            whole = learn_contextual(policy.clone(), range(ROUNDS), features)
            same_contextual(merged(first, second, base=base), whole, features)


@pytest.mark.parametrize("policy", [bandit.UCB1(), bandit.Thompson(), bandit.LinUCB()], ids=repr)
def test_decisions_that_wait_stay_with_their_policy(policy: Any) -> None:
    def decide(player: Any) -> Any:
        return player.decide_one({}, ["a", "b"]) if player.uses_context else player.decide_one(["a", "b"])

    base = policy.clone()
    known = [decide(base) for _ in range(3)]
    base = base.fork()
    here, there = base.copy(), base.copy()
    here.learn_one(known[0].id, 1.0)
    there.learn_one(known[1].id, 0.0)
    decide(there)
    here.merge(there, base)
    # The rewards of both are known now; the third decision waits, and the fourth is of the other policy.
    assert (here.pending, here.learned) == (1, 2)
    here.learn_one(known[2].id, 1.0)
    with pytest.raises(InvalidValue, match="decision 1"):
        here.learn_one(known[1].id, 1.0)


@pytest.mark.parametrize("policy", REFUSED, ids=repr)
def test_what_depends_on_order_is_refused_with_the_reason(policy: Any) -> None:
    one, other = policy.clone(), policy.clone()
    before = one.to_bytes()
    with pytest.raises(InvalidValue, match="cannot be merged: .+: ") as refused:
        one.merge(other)
    assert "\n" not in str(refused.value)
    assert one.to_bytes() == before


def test_too_much_and_other_settings_change_nothing() -> None:
    few = learn_plain(bandit.UCB1(max_actions=6), range(ROUNDS))
    others = bandit.UCB1(max_actions=6)
    others.learn_one(action="seventh", reward=0.5)
    small = learn_contextual(bandit.LinUCB(max_features=8), range(30), False)
    wide = bandit.LinUCB(max_features=8)
    wide.learn_one(x={f"x{place}": 1.0 for place in range(5)}, actions=["a"], action="a", reward=1.0)
    cases = [
        (few, others, "there can be 6 actions at most, but both policies have 7 together"),
        (few, learn_plain(bandit.UCB1(), range(3)), "max_actions 6 and 10000"),
        (small, wide, "max_features"),
        (few, small, "only the same"),
    ]
    for one, other, words in cases:
        before = one.to_bytes(), other.to_bytes()
        with pytest.raises(MillstreamError, match=words):
            one.merge(other)
        assert (one.to_bytes(), other.to_bytes()) == before
