"""Worlds with known truth, and games of policies in them."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from millstream import bandit, evaluate
from millstream.bandit import worlds
from millstream.errors import InvalidType, InvalidValue, MillstreamError
from test_bandit import POLICIES, Uniform

WORLDS: list[Any] = [
    worlds.Bernoulli([0.2, 0.7], actions=["red", "green"]),
    worlds.Gaussian([1.0, 2.0, 0.0], noise=0.5),
    worlds.Changing([worlds.Bernoulli([0.1, 0.9]), worlds.Bernoulli([0.8, 0.3])], every=50),
    worlds.Linear(3, 4, noise=0.2, seed=1),
    worlds.Logistic(3, 4, seed=1),
    worlds.Pricing([5, 7, 9.5], value=8.0, spread=1.0, stock=20, season=100),
    worlds.Auction([0.5, 1, 2], budget=10.0, season=100),
]
each_world = pytest.mark.parametrize("world", WORLDS, ids=lambda world: type(world).__name__)


class Plain:
    """A world in Python around another one."""

    def __init__(self, world: Any) -> None:
        self.world = world

    def __getattr__(self, name: str) -> Any:
        return getattr(self.world, name)


@each_world
def test_a_world_is_the_same_for_a_seed(world: Any) -> None:
    def play(seed: int) -> list[Any]:
        world.reset(seed)
        found = []
        for row in range(200):
            x, actions = world.round()
            assert (x is not None) == world.uses_context
            assert actions == world.actions
            found.append((x, world.means(), world.reward(actions[row % len(actions)])))
        world.reset(0)
        return found

    assert play(3) == play(3) != play(4)
    world.reset(3)
    twin = pickle.loads(pickle.dumps(world))
    other = copy.deepcopy(world)
    assert world.round() == twin.round() == other.round()
    assert world.means() == twin.means()
    with pytest.raises(InvalidType, match="cannot be copied within a game"):
        copy.copy(world)
    world.reset(0)


@each_world
def test_rewards_have_the_means_and_the_range(world: Any) -> None:
    world.reset(8)
    sums = np.zeros(3)
    for row in range(30_000):
        _, actions = world.round()
        action = actions[row % 2]
        mean, reward = world.means()[action], world.reward(action)
        # Near the end of a budget an auction may be lost for lack of it, which the means do not foresee.
        sums += [reward - mean, (reward - mean) ** 2, 1]
        if world.reward_range is not None:
            assert world.reward_range[0] <= reward <= world.reward_range[1]
    world.reset(0)
    error = 5 * np.sqrt(sums[1])
    assert abs(sums[0]) < (error if type(world).__name__ != "Auction" else 20 * error)


def test_worlds_refuse_bad_settings() -> None:
    for make, words in [
        (lambda: worlds.Bernoulli([]), "means must have at least one number"),
        (lambda: worlds.Bernoulli([0.5, 1.5]), r"means must be in \[0, 1\]"),
        (lambda: worlds.Bernoulli([0.5, float("nan")]), "means must be a finite number"),
        (lambda: worlds.Bernoulli("half"), "means must be a list of numbers"),
        (lambda: worlds.Bernoulli([0.5], actions=["a", "b"]), "actions must be 1 different names"),
        (lambda: worlds.Gaussian([1.0], noise=0.0), "noise must be a finite number > 0"),
        (lambda: worlds.Pricing([5, 5]), "prices must be different amounts"),
        (lambda: worlds.Pricing([5], stock=0), "stock must be an integer >= 1"),
        (lambda: worlds.Auction([-1]), "bids must be different amounts"),
        (lambda: worlds.Auction([1], click=2.0), "click must be a finite number > 0 and <= 1"),
        (lambda: worlds.Linear(0), "n_actions must be an integer >= 1"),
        (lambda: worlds.Changing([]), "worlds must have the same actions"),
        (lambda: worlds.Changing([worlds.Bernoulli([0.1]), worlds.Bernoulli([0.1, 0.2])]), "the same actions"),
        (lambda: worlds.Changing([worlds.Changing([worlds.Bernoulli([0.1])])]), "other worlds"),
    ]:
        with pytest.raises(MillstreamError, match=words):
            make()
    world = worlds.Bernoulli([0.5, 0.5])
    with pytest.raises(InvalidValue, match="call round"):
        world.reward(0)
    world.round()
    with pytest.raises(InvalidValue, match="action must be one of"):
        world.reward(7)
    with pytest.raises(InvalidValue, match="seed must be an integer >= 0"):
        world.reset(-1)


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_a_native_game_equals_a_loop_in_python(policy: Any) -> None:
    world = worlds.Bernoulli([0.3, 0.5, 0.8], actions=["a", "b", "c"])
    (native,) = evaluate.play(policy, world, rounds=400, seeds=[3, 9]).values()
    (loop,) = evaluate.play(policy, Plain(world), rounds=400, seeds=[3, 9]).values()
    assert np.array_equal(native.rewards, loop.rewards)
    np.testing.assert_allclose(native.regrets, loop.regrets, atol=1e-9)
    assert native.rounds.tolist() == loop.rounds.tolist()


def test_games_are_tables_frames_and_plots(tmp_path: Any) -> None:
    world = worlds.Bernoulli([0.4, 0.6])
    games = evaluate.play([bandit.Thompson(), bandit.EpsilonGreedy(1.0), Uniform()], world, rounds=300, seeds=3)
    assert list(games) == ["Thompson", "EpsilonGreedy", "Uniform"]
    assert games.best.name == games.ranked()[0].name == "Thompson"
    assert str(games).startswith("300 rounds, 3 seeds")
    assert games.table()["policy"][0] == "Thompson"
    frame = games.to_frame("pandas")
    assert frame.columns.tolist() == ["policy", "seed", "round", "regret", "reward"]
    assert len(frame) == 3 * 3 * 200
    assert games.to_frame("polars").shape == frame.shape
    # A uniform choice loses 0.1 a round.
    assert games["EpsilonGreedy"].regret.mean() == pytest.approx(30.0, abs=6.0)
    assert games["Thompson"].reward.shape == (3,)
    for kind in ("regret", "reward"):
        games.save_plot(tmp_path / f"{kind}.png", kind)
        assert (tmp_path / f"{kind}.png").stat().st_size > 10_000
        assert len(games.plot(kind).lines) == 3
    with pytest.raises(InvalidValue, match="kind must be one of regret, reward"):
        games.plot("bias")
    with pytest.raises(InvalidValue, match="a plot must be saved as"):
        games.save_plot(tmp_path / "regret.txt")
    (one,) = evaluate.play(bandit.UCB1(), world, rounds=1, seeds=1).values()
    assert one.regret.shape == (1,)
    assert "UCB1" in repr(one)


def test_games_refuse_bad_arguments() -> None:
    world = worlds.Bernoulli([0.4, 0.6])
    for arguments, words in [
        (([], world), "at least one policy"),
        ((bandit.UCB1, world), "got the class UCB1"),
        (([bandit.UCB1(), bandit.UCB1(), bandit.UCB1()], world), "name equal ones in a dict"),
        (({"a": 7}, world), "'a' must be a policy"),
        ((bandit.UCB1(), 7), "a world has reset, round, reward and means"),
        ((bandit.UCB1(), world, 0), "rounds must be an integer >= 1"),
        ((bandit.UCB1(), world, 10, []), "seeds must be integers >= 0"),
        ((bandit.UCB1(), world, 10, [-1]), "seeds must be integers >= 0"),
        ((bandit.UCB1(), world, 10, "abc"), "seeds must be"),
        ((bandit.UCB1(), worlds.Gaussian([3.0, 5.0]), 10), r"the reward must be in \[0, 1\]"),
    ]:
        with pytest.raises(MillstreamError, match=words):
            evaluate.play(*arguments)


def test_policies_are_not_changed_by_a_game() -> None:
    policy = bandit.Thompson(actions=["a", "b"])
    policy.learn_one(action="a", reward=1.0)
    before = policy.to_bytes()
    evaluate.play(policy, worlds.Bernoulli([0.5, 0.6], actions=["a", "b"]), rounds=50, seeds=2)
    assert policy.to_bytes() == before
