"""Worlds without context."""

from __future__ import annotations

import json
from collections.abc import Sequence

from millstream._echo import typed
from millstream.bandit.worlds.base import Action, World, count, number, numbers
from millstream.errors import InvalidType, InvalidValue

__all__ = ["Bernoulli", "Changing", "Gaussian"]


class Bernoulli(World):
    """Rewards 0 and 1.

    Parameters
    ----------
    means
        The probability of a reward of 1, for each action.
    actions
        The names of the actions; None numbers them from 0.

    Examples
    --------
    >>> from millstream.bandit import worlds
    >>> world = worlds.Bernoulli([0.2, 0.7], actions=["red", "green"])
    >>> world.round()
    (None, ['red', 'green'])
    >>> world.means()
    {'red': 0.2, 'green': 0.7}
    """

    reward_range: tuple[float, float] = (0.0, 1.0)

    def __init__(self, means: Sequence[float], actions: Sequence[Action] | None = None) -> None:
        found = numbers(self._who, "means", means)
        if not all(0.0 <= mean <= 1.0 for mean in found):
            raise InvalidValue(f"{self._who}: means must be in [0, 1], got {found}")
        self._means = found
        self._start(named(self._who, actions, len(found)), {"kind": "bernoulli", "means": found})

    @property
    def parameters(self) -> dict[str, object]:
        """The constructor's arguments."""
        return {"means": self._means, "actions": self.actions}


class Gaussian(World):
    """Normal rewards.

    Parameters
    ----------
    means
        The expected reward of each action.
    noise
        The standard deviation of a reward.
    actions
        The names of the actions; None numbers them from 0.

    Examples
    --------
    >>> from millstream.bandit import worlds
    >>> worlds.Gaussian([1.0, 2.5], noise=0.1).means()
    {0: 1.0, 1: 2.5}
    """

    def __init__(
        self, means: Sequence[float], noise: float = 1.0, actions: Sequence[Action] | None = None
    ) -> None:
        self._means, self.noise = numbers(self._who, "means", means), number(self._who, "noise", noise, 0.0)
        described = {"kind": "gaussian", "means": self._means, "noise": self.noise}
        self._start(named(self._who, actions, len(self._means)), described)

    @property
    def parameters(self) -> dict[str, object]:
        """The constructor's arguments."""
        return {"means": self._means, "noise": self.noise, "actions": self.actions}


class Changing(World):
    """Worlds that follow each other, over and over: the truth changes all at once.

    Parameters
    ----------
    worlds
        The worlds, with the same actions; the first one begins.
    every
        Number of rounds after which the next world follows.

    Examples
    --------
    >>> from millstream.bandit import worlds
    >>> world = worlds.Changing([worlds.Bernoulli([0.1, 0.9]), worlds.Bernoulli([0.9, 0.1])], every=100)
    >>> for _ in range(100):
    ...     x, actions = world.round()
    >>> world.means()
    {0: 0.1, 1: 0.9}
    >>> x, actions = world.round()
    >>> world.means()
    {0: 0.9, 1: 0.1}
    """

    def __init__(self, worlds: Sequence[World], every: int = 1000) -> None:
        for world in worlds:
            if not isinstance(world, World) or isinstance(world, Changing) or not hasattr(world, "_described"):
                raise InvalidType(f"{self._who}: worlds must be other worlds of bandit.worlds, got {typed(world)}")
        if not worlds or any(world.actions != worlds[0].actions for world in worlds):
            raise InvalidValue(f"{self._who}: worlds must have the same actions")
        self.worlds, self.every = list(worlds), count(self._who, "every", every)
        ranges = [world.reward_range for world in worlds]
        bounded = [pair for pair in ranges if pair is not None]
        if len(bounded) == len(ranges):
            self.reward_range = min(low for low, _ in bounded), max(high for _, high in bounded)
        self.uses_context = worlds[0].uses_context
        described = [json.loads(world._described) for world in worlds]
        self._start(worlds[0].actions, {"kind": "changing", "worlds": described, "every": self.every})


def named(who: str, actions: Sequence[Action] | None, n: int) -> list[Action]:
    """The names of actions, by default their numbers."""
    if actions is None:
        return list(range(n))
    found = list(actions)
    if not all(isinstance(action, (bool, int, str)) for action in found):
        raise InvalidType(f"{who}: actions must be bools, integers or strings, got {typed(actions)}")
    if len(found) != n or len(set(found)) != n:
        raise InvalidValue(f"{who}: actions must be {n} different names, got {found}")
    return found
