"""Policies for rewards that may be chosen by an adversary, or change in any way."""

from __future__ import annotations

from collections.abc import Sequence

from millstream._part import forwarded
from millstream.bandit.native import NativePolicy

__all__ = ["Exp3", "Exp3IX", "TsallisINF"]


class Exp3(NativePolicy):
    """Exponential weights of estimated gains, for rewards that an adversary may choose.

    The standard reference; `Exp3IX` and `TsallisINF` usually have lower regret.

    Parameters
    ----------
    gamma
        Share of uniform exploration, and rate of the weights. None follows `horizon`, or the number of rewards.
    horizon
        Number of rounds to come, for the rate with the smallest bound on the regret.
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
    >>> policy = bandit.Exp3(gamma=0.5, actions=["red", "green"])
    >>> policy.learn_one(action="red", reward=1.0, probability=0.5)
    >>> {action: round(p, 4) for action, p in policy.probabilities_one().items()}
    {'red': 0.5612, 'green': 0.4388}


    References
    ----------
    Auer, P., Cesa-Bianchi, N., Freund, Y. and Schapire, R. E. (2002). The nonstochastic multiarmed bandit
    problem. SIAM Journal on Computing 32, 48-77.
    """

    name = "bandit.Exp3"

    @forwarded
    def __init__(
        self,
        gamma: float | None = None,
        horizon: int | None = None,
        reward_range: Sequence[float] = (0, 1),
        actions: Sequence[bool | int | str] | None = None,
        max_actions: int = 10_000,
        max_pending: int = 100_000,
        seed: int = 0,
    ) -> None: ...


class Exp3IX(NativePolicy):
    """Exponential weights with implicit exploration: its bound on the regret holds with high probability.

    The regret of `Exp3` can be far above its expectation in some runs; that of this policy cannot. It needs no
    horizon.

    Parameters
    ----------
    rate
        Factor of the rate sqrt(ln k / (k t)) of the weights; 1 in the paper.
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
    >>> policy = bandit.Exp3IX(actions=["red", "green"])
    >>> policy.learn_one(action="red", reward=0.0, probability=0.5)
    >>> {action: round(p, 4) for action, p in policy.probabilities_one().items()}
    {'red': 0.3719, 'green': 0.6281}


    References
    ----------
    Neu, G. (2015). Explore no more: improved high-probability regret bounds for non-stochastic bandits. NIPS.
    """

    name = "bandit.Exp3IX"

    @forwarded
    def __init__(
        self,
        rate: float = 1.0,
        reward_range: Sequence[float] = (0, 1),
        actions: Sequence[bool | int | str] | None = None,
        max_actions: int = 10_000,
        max_pending: int = 100_000,
        seed: int = 0,
    ) -> None: ...


class TsallisINF(NativePolicy):
    """Nearly optimal for both random rewards and rewards chosen by an adversary.

    Choose it if you do not know whether rewards are random. If they are, `Thompson` has lower regret.

    Parameters
    ----------
    rate
        Factor of the rate 1/sqrt(t) of the weights; 2 in the paper.
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
    >>> policy = bandit.TsallisINF(actions=["red", "green"])
    >>> policy.learn_one(action="red", reward=0.0, probability=0.5)
    >>> {action: round(p, 4) for action, p in policy.probabilities_one().items()}
    {'red': 0.1594, 'green': 0.8406}


    References
    ----------
    Zimmert, J. and Seldin, Y. (2021). Tsallis-INF: an optimal algorithm for stochastic and adversarial bandits.
    Journal of Machine Learning Research 22.
    """

    name = "bandit.TsallisINF"

    @forwarded
    def __init__(
        self,
        rate: float = 2.0,
        reward_range: Sequence[float] = (0, 1),
        actions: Sequence[bool | int | str] | None = None,
        max_actions: int = 10_000,
        max_pending: int = 100_000,
        seed: int = 0,
    ) -> None: ...
