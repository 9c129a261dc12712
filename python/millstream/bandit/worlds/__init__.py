"""Worlds with known truth, to try policies before they meet customers.

    world = worlds.Bernoulli([0.2, 0.5, 0.7])
    world.reset(seed=1)
    x, actions = world.round()
    reward = world.reward(actions[0])

`x` is None in a world without context. `means` gives the expected reward of each action in the present round,
so that regret is known exactly. What is random in a round is drawn when it begins and is the same whatever
action is taken. `evaluate.play` plays policies in a world over several seeds and compares them.
"""

from __future__ import annotations

from millstream.bandit.worlds.base import World
from millstream.bandit.worlds.contexts import Linear, Logistic
from millstream.bandit.worlds.markets import Auction, Pricing
from millstream.bandit.worlds.plain import Bernoulli, Changing, Gaussian

__all__ = ["Auction", "Bernoulli", "Changing", "Gaussian", "Linear", "Logistic", "Pricing", "World"]
