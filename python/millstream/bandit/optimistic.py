"""Policies that are optimistic: they choose the action with the highest upper confidence bound."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from millstream._part import forwarded
from millstream.bandit.native import NativePolicy

__all__ = ["KLUCB", "UCB1", "BayesUCB"]


class UCB1(NativePolicy):
    """The action with the highest upper confidence bound: mean + sqrt(2 ln n / count).

    Its regret grows with the logarithm of the rounds, without a setting that depends on the problem. `KLUCB`
    has tighter bounds for rewards of 0 and 1. Rewards must be in `reward_range`.

    Parameters
    ----------
    exploration
        Factor of the squared width of the bounds; 2 in the paper. Smaller values explore less and often reduce
        regret.
    reward_range
        Smallest and largest possible reward; others are refused.
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
    >>> policy = bandit.UCB1(actions=["red", "green"])
    >>> for reward in (1.0, 0.0):
    ...     policy.learn_one(action="red", reward=reward)
    >>> policy.probabilities_one()
    {'red': 0.0, 'green': 1.0}


    References
    ----------
    Auer, P., Cesa-Bianchi, N. and Fischer, P. (2002). Finite-time analysis of the multiarmed bandit problem.
    Machine Learning 47, 235-256.
    """

    name = "bandit.UCB1"

    @forwarded
    def __init__(
        self,
        exploration: float = 2.0,
        reward_range: Sequence[float] = (0, 1),
        actions: Sequence[bool | int | str] | None = None,
        max_actions: int = 10_000,
        max_pending: int = 100_000,
        seed: int = 0,
    ) -> None: ...


class KLUCB(NativePolicy):
    """The action with the highest upper confidence bound by relative entropy.

    For rewards of 0 and 1 its regret is asymptotically optimal. For other rewards in `reward_range` its bounds
    hold too, and are never wider than those of `UCB1` with exploration=0.5.

    Parameters
    ----------
    c
        Factor of ln ln n in the bounds: 3 in the theory, 0 in practice.
    reward_range
        Smallest and largest possible reward; others are refused.
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
    >>> policy = bandit.KLUCB(actions=["red", "green"])
    >>> policy.learn_many(actions=["red", "red", "green"], rewards=[1, 0, 0])
    0
    >>> policy.decide_one().action
    'red'


    References
    ----------
    Garivier, A. and Cappé, O. (2011). The KL-UCB algorithm for bounded stochastic bandits and beyond. COLT.
    """

    name = "bandit.KLUCB"

    @forwarded
    def __init__(
        self,
        c: float = 0.0,
        reward_range: Sequence[float] = (0, 1),
        actions: Sequence[bool | int | str] | None = None,
        max_actions: int = 10_000,
        max_pending: int = 100_000,
        seed: int = 0,
    ) -> None: ...


class BayesUCB(NativePolicy):
    """The action whose belief has the highest upper quantile, that of 1 - 1/t before the reward t.

    Its regret on rewards of 0 and 1 is close to that of `KLUCB`; it also supports normal rewards and counts.
    Unlike `Thompson`, equal states give equal decisions.

    Parameters
    ----------
    distribution
        Belief about the mean reward of an action: "beta" for rewards in `reward_range`, "gaussian" for any
        rewards, "gamma" for counts (rewards >= 0).
    prior
        Mean reward expected before any is known; None is 0.5 for beta, 0 for gaussian and 1 for gamma. For beta
        it is on the scale from 0 to 1.
    prior_weight
        Number of rewards that the prior is worth; None is 2 for beta, and 1 for the others.
    noise
        Standard deviation of a reward, used by "gaussian".
    c
        Power of ln t in the quantile 1 - 1/(t (ln t)^c): 5 in the theory, 0 in practice.
    reward_range
        Smallest and largest possible reward; others are refused.
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
    >>> policy = bandit.BayesUCB("gaussian", actions=["red", "green"])
    >>> policy.learn_many(actions=["red", "green"], rewards=[3.5, 1.0])
    0
    >>> policy.probabilities_one()
    {'red': 1.0, 'green': 0.0}


    References
    ----------
    Kaufmann, E., Cappé, O. and Garivier, A. (2012). On Bayesian upper confidence bounds for bandit problems.
    AISTATS.
    """

    name = "bandit.BayesUCB"

    @forwarded
    def __init__(
        self,
        distribution: Literal["beta", "gaussian", "gamma"] = "beta",
        prior: float | None = None,
        prior_weight: float | None = None,
        noise: float = 1.0,
        c: float = 0.0,
        reward_range: Sequence[float] = (0, 1),
        actions: Sequence[bool | int | str] | None = None,
        max_actions: int = 10_000,
        max_pending: int = 100_000,
        seed: int = 0,
    ) -> None: ...
