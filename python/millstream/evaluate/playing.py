"""Play policies in a world with known truth, over several seeds."""

from __future__ import annotations

import operator
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from millstream._echo import quoted, typed
from millstream._part import unlearned_copy
from millstream.bandit.continuous import Continuous
from millstream.bandit.dueling import Dueling
from millstream.bandit.native import NativePolicy
from millstream.bandit.slots import Slots
from millstream.bandit.worlds.base import World
from millstream.errors import InvalidType, InvalidValue, MillstreamError
from millstream.evaluate.games import Games, Plays
from millstream.roles import POLICY, role_of

__all__ = ["play"]

_WHO = "evaluate.play"
#: Number of points of a curve.
_POINTS = 200


def play(policies: Any, world: Any, rounds: int = 10_000, seeds: int | Sequence[int] = 10) -> Games:
    """Play policies in a world with known truth, and compare their regret with its spread over seeds.

    Each policy plays each seed anew, as a clone with that seed, in the same world: what is random in a round is
    the same for all policies. The regret of a round is the expected reward of the best action less that of the
    action taken, and no luck is in it. Native policies without context play in native worlds without a Python
    call per round.

    Parameters
    ----------
    policies
        A policy, a list of policies, or a dict of policies by name. They are cloned and do not change.
    world
        A world of `bandit.worlds`, or an object with the same methods: `reset(seed)`, `round()`,
        `reward(action)` and `means()`.
    rounds
        Number of rounds of a game.
    seeds
        Number of games of each policy, or the seeds themselves.

    Examples
    --------
    >>> from millstream import bandit, evaluate
    >>> world = bandit.worlds.Bernoulli([0.4, 0.5, 0.6])
    >>> policies = {"ε-greedy": bandit.EpsilonGreedy(0.1), "Thompson": bandit.Thompson()}
    >>> games = evaluate.play(policies, world, rounds=2000, seeds=5)
    >>> games.best.name
    'Thompson'
    >>> games["Thompson"].regret.shape
    (5,)
    """
    named = _named(policies)
    n_rounds = _count("rounds", rounds)
    listed = list(range(_count("seeds", seeds))) if isinstance(seeds, (int, np.integer)) else _seeds(seeds)
    for verb in ("reset", "round", "reward", "means"):
        if not callable(getattr(world, verb, None)):
            raise InvalidType(f"{_WHO}: a world has reset, round, reward and means, got {typed(world)}")
    marks = np.unique(np.linspace(1, n_rounds, min(n_rounds, _POINTS)).round().astype(np.int64))
    found: dict[str, Plays] = {}
    try:
        for name, policy in named.items():
            began = time.perf_counter()
            games = [_game(policy, world, seed, marks) for seed in listed]
            regrets, rewards = (np.array(column) for column in zip(*games, strict=True))
            seconds = time.perf_counter() - began
            found[name] = Plays(name, marks, listed, regrets, rewards, seconds)
    finally:
        world.reset(0)
    return Games(found)


def _game(policy: Any, world: Any, seed: int, marks: Any) -> tuple[Any, Any]:
    """The sums of regret and reward at each mark."""
    player = _seeded(policy, seed)
    world.reset(seed)
    if isinstance(player, NativePolicy) and isinstance(world, World) and _is_native(world):
        return player._play(world._native, world.actions, marks.tolist())
    return _python_game(player, world, marks)


def _is_native(world: World) -> bool:
    """Whether no method of the world was replaced by a subclass in Python."""
    inherited = all(getattr(type(world), verb) is getattr(World, verb) for verb in ("round", "reward", "means"))
    return inherited and hasattr(world, "_native")


def _python_game(player: Any, world: Any, marks: Any) -> tuple[Any, Any]:
    regret = reward = 0.0
    regrets, rewards = [], []
    places = set(marks.tolist())
    for played in range(1, int(marks[-1]) + 1):
        x, actions = world.round()
        means = world.means()
        situation = (x, actions) if getattr(player, "uses_context", False) else (actions,)
        decision = player.decide_one(*situation)
        paid = world.reward(decision.action)
        regret += max(means.values()) - means[decision.action]
        reward += paid
        player.learn_one(decision.id, paid)
        if played in places:
            regrets.append(regret)
            rewards.append(reward)
    return np.array(regrets), np.array(rewards)


def _seeded(policy: Any, seed: int) -> Any:
    """An unlearned policy with this seed, if it takes one."""
    if "seed" in getattr(policy, "parameters", {}):
        return policy.clone(seed=seed)
    return unlearned_copy(policy)


def _named(policies: Any) -> dict[str, Any]:
    if isinstance(policies, Mapping):
        named = {str(name): policy for name, policy in policies.items()}
    elif isinstance(policies, (list, tuple)):
        named = {}
        kinds = [type(policy).__name__ for policy in policies]
        for policy, kind in zip(policies, kinds, strict=True):
            # Several of one class are told apart by their parameters.
            named[kind if kinds.count(kind) == 1 else repr(policy)] = policy
        if len(named) != len(policies):
            raise InvalidValue(f"{_WHO}: policies must differ; name equal ones in a dict")
    else:
        named = {type(policies).__name__: policies}
    if not named:
        raise InvalidValue(f"{_WHO}: there must be at least one policy, got none")
    for name, policy in named.items():
        if isinstance(policy, (Continuous, Dueling, Slots)):
            raise InvalidType(
                f"{_WHO}: {quoted(name)} must choose one of the actions in each round; play "
                f"bandit.{type(policy).__name__} in a loop of your own"
            )
        if isinstance(policy, type) or role_of(policy) is not POLICY:
            shown = f"the class {policy.__name__}" if isinstance(policy, type) else typed(policy)
            raise InvalidType(
                f"{_WHO}: {quoted(name)} must be a policy with decide_one and learn_one, got {shown}"
            )
    return named


def _count(name: str, value: Any) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise InvalidType(f"{_WHO}: {name} must be an integer, got {typed(value)}") from None
    if isinstance(value, bool) or not 1 <= number <= 10**12:
        raise InvalidValue(f"{_WHO}: {name} must be an integer >= 1, got {quoted(value)}")
    return number


def _seeds(seeds: Any) -> list[int]:
    try:
        listed = [operator.index(seed) for seed in seeds]
    except (TypeError, MillstreamError):
        raise InvalidType(f"{_WHO}: seeds must be an integer or a list of integers, got {typed(seeds)}") from None
    if not listed or min(listed) < 0:
        raise InvalidValue(f"{_WHO}: seeds must be integers >= 0, at least one, got {quoted(listed)}")
    return listed
