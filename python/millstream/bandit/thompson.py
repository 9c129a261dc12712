"""Thompson sampling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from millstream._part import forwarded
from millstream.bandit.native import NativePolicy

__all__ = ["Thompson"]


class Thompson(NativePolicy):
    """Draw a mean reward for each action from its posterior, and take the action with the largest.

    Try this policy first: its regret is low in most worlds, and late rewards affect it less than optimistic
    policies, because it does not repeat one action while it waits. Each decision has its exact probability, so
    that its log can be evaluated; reading `probability` computes it by numerical integration.

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
    >>> policy = bandit.Thompson(actions=["red", "green"], seed=1)
    >>> policy.learn_one(action="red", reward=1)
    >>> {action: round(p, 4) for action, p in policy.probabilities_one().items()}
    {'red': 0.6667, 'green': 0.3333}


    References
    ----------
    Thompson, W. R. (1933). On the likelihood that one unknown probability exceeds another in view of the
    evidence of two samples. Biometrika 25, 285-294. Agrawal, S. and Goyal, N. (2012). Analysis of Thompson
    sampling for the multi-armed bandit problem. COLT.
    """

    name = "bandit.Thompson"

    @forwarded
    def __init__(
        self,
        distribution: Literal["beta", "gaussian", "gamma"] = "beta",
        prior: float | None = None,
        prior_weight: float | None = None,
        noise: float = 1.0,
        reward_range: Sequence[float] = (0, 1),
        actions: Sequence[bool | int | str] | None = None,
        max_actions: int = 10_000,
        max_pending: int = 100_000,
        seed: int = 0,
    ) -> None: ...
