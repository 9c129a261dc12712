"""Bandit policies: they choose one of several actions, and learn from the reward of the action that was taken.

    decision = policy.decide_one(["red", "green", "blue"])
    policy.learn_one(decision.id, reward)

A reward is learned whenever it arrives, in any order. `probabilities_one` shows the probability of each action and
changes nothing; the probability of a decision is kept with it, so that a log of decisions can be evaluated later.
Actions are bools, integers or strings, and may come and go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream._core import Decision
from millstream._other_names import unknown_name
from millstream.bandit.base import Decisions, Policy
from millstream.bandit.greedy import EpsilonGreedy

__all__ = ["Decision", "Decisions", "EpsilonGreedy", "Policy"]

if not TYPE_CHECKING:
    __getattr__ = unknown_name(__name__)
