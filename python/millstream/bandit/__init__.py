"""Bandit policies: they choose one of several actions, and learn from the reward of the action that was taken.

    decision = policy.decide_one(["red", "green", "blue"])
    policy.learn_one(decision.id, reward)

A reward is learned whenever it arrives, in any order. `probabilities_one` shows the probability of each action and
changes nothing; the probability of a decision is kept with it, so that a log of decisions can be evaluated later.
Actions are bools, integers or strings, and may come and go.

Policies with context (`Contextual`, `LinUCB`, `LinThompson`, `Experts`) decide by features: `decide_one(x, actions)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream._core import Decision
from millstream._other_names import unknown_name
from millstream.bandit import explore
from millstream.bandit.base import Decisions, Policy
from millstream.bandit.contextual import Contextual
from millstream.bandit.experts import Experts
from millstream.bandit.greedy import EpsilonGreedy
from millstream.bandit.linear import LinThompson, LinUCB

__all__ = [
    "Contextual",
    "Decision",
    "Decisions",
    "EpsilonGreedy",
    "Experts",
    "LinThompson",
    "LinUCB",
    "Policy",
    "explore",
]

if not TYPE_CHECKING:
    __getattr__ = unknown_name(__name__)
