"""Policies that choose the best action so far, or follow the gradient of the reward."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from millstream._part import forwarded
from millstream.bandit.native import NativePolicy

if TYPE_CHECKING:
    from millstream.optim import Schedule

__all__ = ["EpsilonGreedy", "GradientBandit"]


class EpsilonGreedy(NativePolicy):
    """The action with the best mean reward so far; with a small probability any action.

    The simplest policy, with rewards of any size. It explores good and bad actions alike, so `UCB1` or `Thompson`
    usually lose less. Each action is tried once first.

    Parameters
    ----------
    epsilon
        Probability of any action in place of the best, or a schedule that is followed by the number of rewards:
        `optim.InverseScaling(c, power=1.0)` gives a regret that grows with the logarithm of the rounds.
    decay
        After n rewards, epsilon is multiplied by exp(-decay * n).
    actions
        Actions to choose from. Others can be given in each call, and None leaves it to the calls.
    max_actions
        Largest number of actions kept; to admit one more, the one offered least recently is forgotten.
    max_pending
        Number of decisions kept for their rewards; older ones without a reward are dropped and counted.
    seed
        Seed of the draws.

    Examples
    --------
    >>> from millstream import bandit
    >>> policy = bandit.EpsilonGreedy(epsilon=0.1, actions=["red", "green"], seed=1)
    >>> decision = policy.decide_one()
    >>> decision
    Decision(action='green', probability=0.5, id=0)
    >>> policy.learn_one(decision.id, reward=1.0)
    >>> policy.learn_one(action="red", reward=0.2)
    >>> {action: round(p, 4) for action, p in policy.probabilities_one().items()}
    {'red': 0.05, 'green': 0.95}

    References
    ----------
    Auer, P., Cesa-Bianchi, N. and Fischer, P. (2002). Finite-time analysis of the multiarmed bandit problem.
    Machine Learning 47, 235-256.
    """

    name = "bandit.EpsilonGreedy"
    unsupported = {
        "burn_in": "each new action is tried before others are repeated",
        "reward_obj": "the estimate of a reward is its mean",
        "reward_scaler": "scale rewards before learn_one",
    }

    @forwarded
    def __init__(
        self,
        epsilon: float | Schedule = 0.1,
        decay: float = 0.0,
        actions: Sequence[bool | int | str] | None = None,
        max_actions: int = 10_000,
        max_pending: int = 100_000,
        seed: int = 0,
    ) -> None: ...


class GradientBandit(NativePolicy):
    """Probabilities by preferences that follow the gradient of the expected reward.

    Rewards may have any size, but the learning rate must suit them. With late rewards, a step uses the
    probabilities at the time of learning.

    Parameters
    ----------
    learning_rate
        Step of the preferences for a reward that differs by 1 from the mean of all rewards.
    actions
        Actions to choose from. Others can be given in each call, and None leaves it to the calls.
    max_actions
        Largest number of actions kept; to admit one more, the one offered least recently is forgotten.
    max_pending
        Number of decisions kept for their rewards; older ones without a reward are dropped and counted.
    seed
        Seed of the draws.

    Examples
    --------
    >>> from millstream import bandit
    >>> policy = bandit.GradientBandit(learning_rate=0.5, actions=["red", "green"])
    >>> policy.learn_many(actions=["red", "green"], rewards=[1, 0])
    0
    >>> {action: round(p, 4) for action, p in policy.probabilities_one().items()}
    {'red': 0.6225, 'green': 0.3775}


    References
    ----------
    Sutton, R. S. and Barto, A. G. (2018). Reinforcement learning: an introduction, 2nd edition, section 2.8.
    MIT Press.
    """

    name = "bandit.GradientBandit"

    @forwarded
    def __init__(
        self,
        learning_rate: float = 0.1,
        actions: Sequence[bool | int | str] | None = None,
        max_actions: int = 10_000,
        max_pending: int = 100_000,
        seed: int = 0,
    ) -> None: ...
