"""Worlds with features, the same truth as linear and logistic models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from millstream.bandit.worlds.base import Action, World, count, number
from millstream.bandit.worlds.plain import named

__all__ = ["Linear", "Logistic"]


class _Products(World):
    """The product of features x0, x1, … with the weights of an action. Features are standard normal numbers."""

    uses_context = True

    def _weighted(self, kind: str, n_actions: int, n_features: int, scale: float, seed: int) -> dict[str, Any]:
        shape = (count(self._who, "n_actions", n_actions), count(self._who, "n_features", n_features))
        scale = number(self._who, "scale", scale, 0.0)
        #: A row of weights for each action.
        self.weights = np.random.default_rng(seed).normal(scale=scale, size=shape)
        return {"kind": kind, "weights": self.weights.tolist()}


class Linear(_Products):
    """Normal rewards about the product of the features with the weights of the action.

    Parameters
    ----------
    n_actions
        Number of actions.
    n_features
        Number of features, which are standard normal numbers.
    noise
        The standard deviation of a reward about its expectation.
    scale
        The standard deviation of the weights, which are drawn by `seed`.
    seed
        Seed of the weights; the seed of the draws is given to `reset`.
    actions
        The names of the actions; None numbers them from 0.

    Examples
    --------
    >>> from millstream.bandit import worlds
    >>> world = worlds.Linear(n_actions=2, n_features=3, seed=1)
    >>> x, actions = world.round()
    >>> list(x), actions
    (['x0', 'x1', 'x2'], [0, 1])
    """

    def __init__(
        self,
        n_actions: int = 5,
        n_features: int = 5,
        noise: float = 0.1,
        scale: float = 1.0,
        seed: int = 0,
        actions: Sequence[Action] | None = None,
    ) -> None:
        self.n_actions, self.n_features, self.seed, self.scale = n_actions, n_features, seed, scale
        self.noise = number(self._who, "noise", noise, 0.0)
        described = self._weighted("linear", n_actions, n_features, scale, seed)
        self._start(named(self._who, actions, n_actions), {**described, "noise": self.noise})


class Logistic(_Products):
    """Rewards 0 and 1; the logit of the mean is the product of the features with the weights of the action.

    Parameters
    ----------
    n_actions
        Number of actions.
    n_features
        Number of features, which are standard normal numbers.
    scale
        The standard deviation of the weights, which are drawn by `seed`.
    seed
        Seed of the weights; the seed of the draws is given to `reset`.
    actions
        The names of the actions; None numbers them from 0.

    Examples
    --------
    >>> from millstream.bandit import worlds
    >>> world = worlds.Logistic(n_actions=2, n_features=3, seed=1)
    >>> x, actions = world.round()
    >>> world.reward(0) in (0.0, 1.0)
    True
    """

    reward_range: tuple[float, float] = (0.0, 1.0)

    def __init__(
        self,
        n_actions: int = 5,
        n_features: int = 5,
        scale: float = 1.0,
        seed: int = 0,
        actions: Sequence[Action] | None = None,
    ) -> None:
        self.n_actions, self.n_features, self.seed, self.scale = n_actions, n_features, seed, scale
        self._start(
            named(self._who, actions, n_actions), self._weighted("logistic", n_actions, n_features, scale, seed)
        )
