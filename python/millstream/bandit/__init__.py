"""Bandit policies: they choose one of several actions, and learn from the reward of the action that was taken.

    decision = policy.decide_one(["red", "green", "blue"])
    policy.learn_one(decision.id, reward)

| rewards | policy |
|---|---|
| random, of any kind | `Thompson`; the same decision in the same state: `BayesUCB` |
| random, 0 or 1, or between two bounds | `KLUCB`; with the plainest rule: `UCB1` |
| random, of any size, with little to compute | `EpsilonGreedy`, `GradientBandit` |
| drifting slowly | `DiscountedUCB` |
| changing all at once, now and then | `SlidingWindowUCB`, or `Restart` around any policy |
| chosen by an adversary | `TsallisINF`, `Exp3IX`, `Exp3` |

A reward is learned whenever it arrives, in any order. `probabilities_one` shows the probability of each action and
changes nothing; the probability of a decision is kept with it, so that a log of decisions can be evaluated later.
Actions are bools, integers or strings; the set may change. `worlds` has worlds with known truth, in which
`evaluate.play` compares policies.

`Contextual`, `LinUCB`, `LinThompson` and `Experts` decide by features of the situation and of the actions:
`decide_one(x, actions)`. `Slots` fills several slots in each round, and `Continuous` chooses a number. `Dueling`
learns which of two actions is better, and `BestArm` finds the best action with a guarantee.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream._core import Decision
from millstream._other_names import unknown_name
from millstream.bandit import explore, worlds
from millstream.bandit.adversarial import Exp3, Exp3IX, TsallisINF
from millstream.bandit.base import Decisions, Policy
from millstream.bandit.best_arm import BestArm
from millstream.bandit.changing import DiscountedUCB, Restart, SlidingWindowUCB
from millstream.bandit.contextual import Contextual
from millstream.bandit.continuous import Continuous
from millstream.bandit.dueling import Dueling
from millstream.bandit.experts import Experts
from millstream.bandit.greedy import EpsilonGreedy, GradientBandit
from millstream.bandit.linear import LinThompson, LinUCB
from millstream.bandit.optimistic import KLUCB, UCB1, BayesUCB
from millstream.bandit.slots import Slots
from millstream.bandit.thompson import Thompson

__all__ = [
    "KLUCB",
    "UCB1",
    "BayesUCB",
    "BestArm",
    "Contextual",
    "Continuous",
    "Decision",
    "Decisions",
    "DiscountedUCB",
    "Dueling",
    "EpsilonGreedy",
    "Exp3",
    "Exp3IX",
    "Experts",
    "GradientBandit",
    "LinThompson",
    "LinUCB",
    "Policy",
    "Restart",
    "SlidingWindowUCB",
    "Slots",
    "Thompson",
    "TsallisINF",
    "explore",
    "worlds",
]

if not TYPE_CHECKING:
    __getattr__ = unknown_name(__name__)
