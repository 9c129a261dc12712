"""What the estimators of a policy's value have in common."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, Self

from millstream import _core
from millstream._echo import quoted, typed
from millstream._measures import Measure, numbers
from millstream.errors import InvalidType, InvalidValue

__all__ = ["IntervalKind", "PolicyEstimator", "WeightCheck"]

IntervalKind = Literal["sequence", "normal", "bootstrap"]

KINDS = ("sequence", "normal", "bootstrap")


@dataclass(frozen=True)
class WeightCheck:
    """Whether the logged probabilities fit the log.

    The weight of a round is the probability of the logged action under the target policy, divided by the logged
    probability. The mean weight is 1 if the logged probabilities are those by which the actions were drawn, and if
    the log can have every action that the target policy takes.
    """

    #: The number of rounds that would be as informative if all weights were equal.
    effective_sample_size: float
    #: The largest weight of a round.
    largest: float
    #: The mean weight; NaN before the first round.
    mean: float
    #: The interval of the mean weight, a confidence sequence.
    interval: tuple[float, float]
    #: The number of rounds whose weight `max_weight` reduced.
    reduced: int

    @property
    def passed(self) -> bool:
        """Whether the interval of the mean weight contains 1."""
        return self.interval[0] <= 1.0 <= self.interval[1]

    @property
    def warning(self) -> str | None:
        """What is wrong with the log, in a sentence; None if the interval contains 1."""
        if self.passed:
            return None
        low, high = self.interval
        found = f"the mean weight is between {low:.3g} and {high:.3g} and must be 1"
        if self.mean > 1.0:
            return f"the logged probabilities are wrong: {found}"
        return f"the logged probabilities are wrong, or the log lacks actions of the policy: {found}"


class PolicyEstimator(_core.PolicyEstimator, Measure):
    """A running estimate of the value of a policy: its mean reward in a round."""

    role = "policy_estimator"
    #: Lowest and highest possible reward.
    reward_range: tuple[float, float]

    def update(
        self,
        reward: float,
        probability: float,
        target_probability: float,
        prediction: float | None = None,
        target_value: float | None = None,
        w: float = 1.0,
    ) -> None:
        """Receive a round.

        Parameters
        ----------
        reward
            Reward of the action taken.
        probability
            Probability with which the logging policy chose that action.
        target_probability
            Probability with which the target policy would have chosen it.
        prediction
            Reward that a reward model predicts for that action; needed by DM, DR, SNDR, SwitchDR and DRos.
        target_value
            Mean of the model's predictions for all actions under the target policy; needed by the same.
        w
            Weight of the round.
        """
        self._update(reward, probability, target_probability, (prediction, target_value, None, None), w)

    def update_many(
        self,
        reward: Any,
        probability: Any,
        target_probability: Any,
        prediction: Any = None,
        target_value: Any = None,
        w: Any = None,
    ) -> None:
        """Receive many rounds as columns, exactly as `update` would one by one; an error changes nothing."""
        self._columns(reward, probability, target_probability, (prediction, target_value, None, None), w)

    def _columns(self, reward: Any, probability: Any, target: Any, optional: tuple[Any, ...], w: Any) -> None:
        columns = zip(("prediction", "target_value", "other_probability", "other_value"), optional, strict=True)
        self._update_many(
            numbers("reward", reward),
            numbers("probability", probability),
            numbers("target_probability", target),
            tuple(None if column is None else numbers(name, column) for name, column in columns),
            None if w is None else numbers("w", w),
        )

    def interval(
        self,
        kind: IntervalKind = "sequence",
        coverage: float = 0.95,
        n_resamples: int = 1000,
        seed: int = 0,
    ) -> tuple[float, float]:
        """An interval that contains the value with probability `coverage`.

        Parameters
        ----------
        kind
            `"sequence"`: a confidence sequence, valid at all rounds simultaneously, so that you may look at it
            after every round and stop at any time. `"normal"`: by the central limit theorem, valid at one round
            chosen before the rewards were known. `"bootstrap"`: percentiles of the estimates of samples drawn with
            replacement, valid like `"normal"`; after 256 rounds, groups of rounds are drawn.
        coverage
            Probability that the interval contains the value.
        n_resamples
            Number of samples of `"bootstrap"`.
        seed
            Seed of `"bootstrap"`.
        """
        if kind not in KINDS:
            raise InvalidValue(f"{self.name}: kind must be one of {', '.join(KINDS)}, got {quoted(kind)}")
        for what, number, least in (("n_resamples", n_resamples, 1), ("seed", seed, 0)):
            if isinstance(number, bool) or not isinstance(number, int):
                raise InvalidType(f"{self.name}: {what} must be an integer >= {least}, got {typed(number)}")
            if not least <= number <= 1_000_000_000:
                raise InvalidValue(f"{self.name}: {what} must be in [{least}, 1000000000], got {number}")
        if isinstance(coverage, bool) or not isinstance(coverage, (int, float)):
            raise InvalidType(f"{self.name}: coverage must be a number in (0, 1), got {typed(coverage)}")
        return self._interval(kind, coverage, n_resamples, seed)

    def check_weights(self, coverage: float = 0.95) -> WeightCheck:
        """Effective sample size, largest weight, and the interval of the mean weight, which must contain 1."""
        return WeightCheck(*self._weights(coverage))

    def __iadd__(self, other: Any) -> Self:
        self.merge(other)
        return self

    def __add__(self, other: Any) -> Self:
        both = self.copy()
        both.merge(other)
        return both

    def __repr__(self) -> str:
        name = type(self).__name__
        if math.isnan(self.value):
            return f"{name}: no value yet"
        (low, high), check = self.interval(), self.check_weights()
        lines = [
            f"{name}: {self.value:.4g}, between {low:.4g} and {high:.4g}",
            f"{self.updates:,} rounds; effective sample size {check.effective_sample_size:,.0f}, "
            f"largest weight {check.largest:.3g}, mean weight {check.mean:.3g} "
            f"in [{check.interval[0]:.3g}, {check.interval[1]:.3g}]",
        ]
        return "\n".join([*lines, *([check.warning] if check.warning else [])])
