"""The estimators of a policy's value."""

from __future__ import annotations

from typing import Any

from millstream._part import forwarded
from millstream.policy_evaluation.base import PolicyEstimator

__all__ = ["DM", "DR", "IPS", "SNDR", "SNIPS", "DRos", "Difference", "Replay", "SwitchDR"]


class IPS(PolicyEstimator):
    """Inverse propensity scores: the mean of reward times weight.

    Unbiased if the logged probabilities are right, without further assumptions. Choose it to check other
    estimators, or if rewards and weights are small. `SNIPS` usually has a much smaller error, and `DR` a smaller
    one still.

    With `max_weight`, larger weights are reduced to it, which lowers the estimate and its variance. The ends of
    the confidence sequence remain valid for the value of the policy itself.

    Parameters
    ----------
    max_weight
        Largest weight that is used; larger ones are reduced to it. None for no limit.
    reward_range
        Lowest and highest possible reward.

    Notes
    -----
    Both ends of the confidence sequence come from lower bounds: of the mean of ρr, and of the mean of ρ(1 − r),
    which is 1 minus the value. They need no bound on the weights. See `docs/can_i_trust_this_log.md`.

    Examples
    --------
    >>> from millstream import policy_evaluation
    >>> ips = policy_evaluation.IPS()
    >>> for reward, target_probability in [(1, 0.9), (0, 0.1), (1, 0.1), (0, 0.9)] * 500:
    ...     ips.update(reward, 0.5, target_probability)
    >>> round(ips.value, 6), [round(end, 3) for end in ips.interval()]
    (0.5, [0.448, 0.552])

    References
    ----------
    Horvitz, D. G. and Thompson, D. J. (1952). A generalization of sampling without replacement from a finite
    universe. Howard, S. R., Ramdas, A., McAuliffe, J. and Sekhon, J. (2021). Time-uniform, nonparametric,
    nonasymptotic confidence sequences. Waudby-Smith, I. and Ramdas, A. (2023). Estimating means of bounded random
    variables by betting.
    """

    name = "policy_evaluation.IPS"

    @forwarded
    def __init__(
        self, max_weight: float | None = None, reward_range: tuple[float, float] = (0.0, 1.0)
    ) -> None: ...


class SNIPS(PolicyEstimator):
    """Self-normalised inverse propensity scores: the mean reward, weighted.

    Choose it if there is no reward model. The estimate has a small bias, which vanishes with the number of rounds.
    It never leaves the range of the rewards, and a constant added to all rewards shifts it by that constant.

    Parameters
    ----------
    max_weight
        Largest weight that is used; larger ones are reduced to it, which biases the estimate. None for no limit.
    reward_range
        Lowest and highest possible reward.

    Notes
    -----
    The confidence sequence of all estimators but `IPS` assumes that no later weight is larger than the largest so
    far, that of actions not taken included, or than `max_weight`.

    Examples
    --------
    >>> from millstream import policy_evaluation
    >>> snips = policy_evaluation.SNIPS()
    >>> for reward, target_probability in [(1, 0.9), (0, 0.1), (1, 0.1), (0, 0.9)] * 500:
    ...     snips.update(reward, 0.5, target_probability)
    >>> snips
    SNIPS: 0.5, between 0.4544 and 0.5468
    2,000 rounds; effective sample size 1,220, largest weight 1.8, mean weight 1 in [0.943, 1.06]

    References
    ----------
    Swaminathan, A. and Joachims, T. (2015). The self-normalized estimator for counterfactual learning.
    """

    name = "policy_evaluation.SNIPS"

    @forwarded
    def __init__(
        self, max_weight: float | None = None, reward_range: tuple[float, float] = (0.0, 1.0)
    ) -> None: ...


class DM(PolicyEstimator):
    """The direct method: the mean of what a reward model predicts under the target policy.

    It has little variance but the full bias of the model, which its intervals ignore. Use it next to `DR`, to see
    the estimate of the model alone.

    Parameters
    ----------
    reward_range
        Lowest and highest possible reward.

    Examples
    --------
    >>> from millstream import policy_evaluation
    >>> dm = policy_evaluation.DM()
    >>> dm.update(1, 0.5, 0.9, prediction=0.75, target_value=0.5)
    >>> dm.update(0, 0.5, 0.9, prediction=0.75, target_value=0.75)
    >>> dm.value
    0.625

    References
    ----------
    Beygelzimer, A. and Langford, J. (2009). The offset tree for learning with partial labels.
    """

    name = "policy_evaluation.DM"

    @forwarded
    def __init__(self, reward_range: tuple[float, float] = (0.0, 1.0)) -> None: ...


class DR(PolicyEstimator):
    """Doubly robust: a reward model, corrected by the weighted residuals of the actions taken.

    Unbiased if either the probabilities or the model are right; a better model gives a smaller variance. The model
    must predict a round before it learns its reward, as in `evaluate.policies`.

    Parameters
    ----------
    max_weight
        Largest weight that is used; larger ones are reduced to it, which leaves part of the bias of the model.
        None for no limit.
    reward_range
        Lowest and highest possible reward.

    Examples
    --------
    >>> from millstream import policy_evaluation
    >>> dr = policy_evaluation.DR()
    >>> dr.update(1, 0.5, 0.75, prediction=0.75, target_value=0.5)
    >>> dr.update(0, 0.5, 0.25, prediction=0.25, target_value=0.5)
    >>> dr.value
    0.625

    References
    ----------
    Dudík, M., Langford, J. and Li, L. (2011). Doubly robust policy evaluation and learning.
    """

    name = "policy_evaluation.DR"

    @forwarded
    def __init__(
        self, max_weight: float | None = None, reward_range: tuple[float, float] = (0.0, 1.0)
    ) -> None: ...


class SNDR(PolicyEstimator):
    """Doubly robust, with weights that are divided by their mean.

    Choose it instead of `DR` if weights vary strongly: single large weights move its estimate less, at the cost of
    a small bias.

    Parameters
    ----------
    max_weight
        Largest weight that is used; larger ones are reduced to it. None for no limit.
    reward_range
        Lowest and highest possible reward.

    Examples
    --------
    >>> from millstream import policy_evaluation
    >>> sndr = policy_evaluation.SNDR()
    >>> sndr.update(1, 0.5, 0.75, prediction=0.75, target_value=0.5)
    >>> sndr.update(0, 0.5, 0.25, prediction=0.25, target_value=0.5)
    >>> sndr.value
    0.625

    References
    ----------
    Kallus, N. and Uehara, M. (2019). Intrinsically efficient, stable, and bounded off-policy evaluation for
    reinforcement learning.
    """

    name = "policy_evaluation.SNDR"

    @forwarded
    def __init__(
        self, max_weight: float | None = None, reward_range: tuple[float, float] = (0.0, 1.0)
    ) -> None: ...


class SwitchDR(PolicyEstimator):
    """Doubly robust where weights are small, and the reward model alone where they are large.

    For rounds with a weight above `max_weight`, it uses only the model, which adds bias but no variance. The
    intervals are those of the mean of this estimate and ignore that bias.

    Parameters
    ----------
    max_weight
        Largest weight with which a reward is used. None for no limit, which is `DR`.
    reward_range
        Lowest and highest possible reward.

    Examples
    --------
    >>> from millstream import policy_evaluation
    >>> switch = policy_evaluation.SwitchDR(max_weight=2.0)
    >>> switch.update(1, 0.5, 0.75, prediction=0.75, target_value=0.5)
    >>> switch.update(1, 0.1, 0.75, prediction=0.25, target_value=0.5)
    >>> switch.value
    0.6875

    References
    ----------
    Wang, Y.-X., Agarwal, A. and Dudík, M. (2017). Optimal and adaptive off-policy evaluation in contextual
    bandits.
    """

    name = "policy_evaluation.SwitchDR"

    @forwarded
    def __init__(
        self, max_weight: float | None = 10.0, reward_range: tuple[float, float] = (0.0, 1.0)
    ) -> None: ...


class DRos(PolicyEstimator):
    """Doubly robust with optimistic shrinkage: weights are shrunk smoothly, larger ones more.

    A weight ρ becomes λρ / (ρ² + λ) with λ = 4 `max_weight`², which is never above `max_weight` and hardly changes
    small weights. The intervals are those of the mean of this estimate and ignore the remaining bias of the
    model.

    Parameters
    ----------
    max_weight
        Limit of the shrunk weights. None for no shrinkage, which is `DR`.
    reward_range
        Lowest and highest possible reward.

    Notes
    -----
    `lambda_` of Open Bandit Pipeline is λ: `max_weight` is half of its square root.

    Examples
    --------
    >>> from millstream import policy_evaluation
    >>> dros = policy_evaluation.DRos(max_weight=1.0)
    >>> dros.update(1, 0.5, 0.5, prediction=0.75, target_value=0.5)
    >>> round(dros.value, 6)
    0.7

    References
    ----------
    Su, Y., Dimakopoulou, M., Krishnamurthy, A. and Dudík, M. (2020). Doubly robust off-policy evaluation with
    shrinkage.
    """

    name = "policy_evaluation.DRos"

    @forwarded
    def __init__(self, max_weight: float | None = 5.0, reward_range: tuple[float, float] = (0.0, 1.0)) -> None: ...


class Replay(PolicyEstimator):
    """Replay: the mean reward of the rounds in which the target policy takes the logged action.

    It is valid only for logs whose actions were drawn uniformly, and uses only the matching rounds. For a
    randomised policy, a round counts with the policy's probability of the action, which has less variance than a
    draw.

    Parameters
    ----------
    reward_range
        Lowest and highest possible reward.

    Examples
    --------
    >>> from millstream import policy_evaluation
    >>> replay = policy_evaluation.Replay()
    >>> for reward, target_probability in [(1, 1.0), (0, 0.0), (0, 1.0), (1, 1.0), (1, 0.0)]:
    ...     replay.update(reward, 0.5, target_probability)
    >>> round(replay.value, 6)
    0.666667

    References
    ----------
    Li, L., Chu, W., Langford, J. and Wang, X. (2011). Unbiased offline evaluation of contextual-bandit-based news
    article recommendation algorithms.
    """

    name = "policy_evaluation.Replay"

    @forwarded
    def __init__(self, reward_range: tuple[float, float] = (0.0, 1.0)) -> None: ...


class Difference(PolicyEstimator):
    """How much more a policy earns than another one, on the same log.

    The interval is much narrower than those of the two values, because noise in the log affects both policies. Use
    it for an A/B test that may stop at any time: one policy is better as soon as the interval excludes 0.

    Without a reward model, the mean reward so far serves as the model.

    Parameters
    ----------
    max_weight
        Largest weight that is used; larger ones are reduced to it. None for no limit.
    reward_range
        Lowest and highest possible reward.

    Examples
    --------
    An A/B test with equal chances, in which A succeeds in 30 % and B in 50 % of the rounds:

    >>> from millstream import policy_evaluation
    >>> test = policy_evaluation.Difference()
    >>> for round_ in range(1000):
    ...     is_b, step = round_ % 2 == 1, round_ // 2 % 10
    ...     test.update(step < (5 if is_b else 3), 0.5, target_probability=is_b, other_probability=not is_b)
    >>> round(test.value, 2), [round(end, 2) for end in test.interval()]
    (0.2, [0.1, 0.3])

    References
    ----------
    Waudby-Smith, I., Wu, L., Ramdas, A., Karampatziakis, N. and Mineiro, P. (2022). Anytime-valid off-policy
    inference for contextual bandits.
    """

    name = "policy_evaluation.Difference"

    @forwarded
    def __init__(
        self, max_weight: float | None = None, reward_range: tuple[float, float] = (0.0, 1.0)
    ) -> None: ...

    def update(  # type: ignore[override]
        self,
        reward: float,
        probability: float,
        target_probability: float,
        other_probability: float,
        prediction: float | None = None,
        target_value: float | None = None,
        other_value: float | None = None,
        w: float = 1.0,
    ) -> None:
        """Receive a round; `other_probability` and `other_value` are those of the other policy."""
        optional = (prediction, target_value, other_probability, other_value)
        self._update(reward, probability, target_probability, optional, w)

    def update_many(  # type: ignore[override]
        self,
        reward: Any,
        probability: Any,
        target_probability: Any,
        other_probability: Any,
        prediction: Any = None,
        target_value: Any = None,
        other_value: Any = None,
        w: Any = None,
    ) -> None:
        """Receive many rounds as columns, exactly as `update` would one by one; an error changes nothing."""
        optional = (prediction, target_value, other_probability, other_value)
        self._columns(reward, probability, target_probability, optional, w)
