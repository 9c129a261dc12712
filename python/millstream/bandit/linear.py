"""Policies on exact ridge regression: LinUCB and linear Thompson sampling."""

from __future__ import annotations

from millstream._part import forwarded
from millstream.bandit.context import ContextualPolicy

__all__ = ["LinThompson", "LinUCB"]


class LinUCB(ContextualPolicy):
    """Take the action with the highest upper confidence bound of an exact ridge regression.

    Actions given by labels alone have a regression each, over the features of the context (algorithm 1 of the
    paper). Actions with features share one regression over the products of the features of context and action,
    both with a constant; put a label among the features to give each action weights of its own as well. Both are
    exact after every reward, at a cost of the square of the number of weights. Choose it first where there are up
    to some hundred weights: it has the lowest regret of the policies with context in our benchmarks. Its
    probabilities are 0 and 1 except in ties, so its log cannot be used to evaluate other policies.

    Parameters
    ----------
    alpha
        Width of the confidence bounds in standard deviations. The default is the best of our benchmarks for
        rewards whose range is 1; scale it with the range.
    l2
        Penalty of the ridge regression.
    reward_range
        Lowest and highest reward; others are refused, and the regression learns the difference to the middle. None
        for any finite reward.
    max_pending
        Number of later decisions after which a decision without a reward is dropped and counted in `dropped`.
    max_features
        Largest number of weights; a round that would need more is refused.
    seed
        Seed of the draws between equal actions.

    Examples
    --------
    >>> from millstream import bandit
    >>> policy = bandit.LinUCB(reward_range=[0, 1])
    >>> for hour in range(60):
    ...     x = {"morning": float(hour % 24 < 12)}
    ...     decision = policy.decide_one(x, ["coffee", "tea"])
    ...     policy.learn_one(decision.id, float((decision.action == "coffee") == (x["morning"] == 1.0)))
    >>> policy.probabilities_one({"morning": 1.0}, ["coffee", "tea"])
    {'coffee': 1.0, 'tea': 0.0}
    >>> policy.probabilities_one({"morning": 0.0}, ["coffee", "tea"])
    {'coffee': 0.0, 'tea': 1.0}

    References
    ----------
    Li, L., Chu, W., Langford, J. and Schapire, R. (2010). A contextual-bandit approach to personalized news
    article recommendation.
    """

    name = "bandit.LinUCB"

    @forwarded
    def __init__(
        self,
        alpha: float = 0.3,
        l2: float = 1.0,
        reward_range: list[float] | tuple[float, float] | None = None,
        max_pending: int = 10000,
        max_features: int = 4096,
        seed: int = 0,
    ) -> None: ...


class LinThompson(ContextualPolicy):
    """Take the action that is best under weights drawn from the posterior of an exact ridge regression.

    The regressions are those of `LinUCB`. The probability of an action is the fraction of `samples` draws from the
    posterior in which it is best; the action is drawn from these probabilities, so that they are exact in a log.
    Choose it over `LinUCB` where rewards arrive late, because many decisions between two rewards still differ, and
    where the log must evaluate other policies.

    Parameters
    ----------
    scale
        Factor of the posterior's standard deviation.
    samples
        Number of draws that the probabilities of a round are estimated from.
    l2
        Penalty of the ridge regression.
    reward_range
        Lowest and highest reward, as of `LinUCB`; None for any finite reward.
    max_pending
        Number of later decisions after which a decision without a reward is dropped and counted in `dropped`.
    max_features
        Largest number of weights; a round that would need more is refused.
    seed
        Seed of the draws.

    Examples
    --------
    >>> from millstream import bandit
    >>> policy = bandit.LinThompson(seed=1)
    >>> for _ in range(50):
    ...     decision = policy.decide_one({"hour": 9.0}, ["a", "b"])
    ...     policy.learn_one(decision.id, 1.0 if decision.action == "b" else 0.0)
    >>> policy.probabilities_one({"hour": 9.0}, ["a", "b"])["b"] > 0.9
    True

    References
    ----------
    Agrawal, S. and Goyal, N. (2013). Thompson sampling for contextual bandits with linear payoffs.
    """

    name = "bandit.LinThompson"

    @forwarded
    def __init__(
        self,
        scale: float = 0.3,
        samples: int = 100,
        l2: float = 1.0,
        reward_range: list[float] | tuple[float, float] | None = None,
        max_pending: int = 10000,
        max_features: int = 4096,
        seed: int = 0,
    ) -> None: ...
