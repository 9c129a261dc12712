"""Best-arm identification: find the best action with a guarantee, in as few rounds as possible."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from millstream._core import Decision
from millstream._echo import quoted, typed
from millstream.bandit.base import Policy, locked
from millstream.bandit.context_in_python import labels_of, range_of
from millstream.errors import InvalidType, InvalidValue

__all__ = ["BestArm"]

#: The error probability of the bounds after n rewards of an action falls as n^-POWER; SUM is its sum over n >= 1.
_POWER, _SUM = 1.1, 10.584448464950803


class BestArm(Policy):
    """Find the action with the highest mean reward, with an error probability of at most `delta` (KL-LUCB).

    Choose it for an experiment that ends by itself, such as a test of several variants or a search for the best
    setting. It does not try to earn rewards during the search; for that, choose `Thompson`. Each decision is for
    the action with the highest mean so far or its strongest rival, whichever has fewer rewards. `finished` becomes
    True when the lower bound of the best action plus `tolerance` is above the upper bounds of all others. Then
    `best` is the result, and every decision chooses it.

    The bounds hold at all rounds at once, for any rewards in `reward_range` that have constant means, in any order
    of the actions, and for rewards that arrive late. The search may therefore be stopped early: `interval_of`
    returns a range for the mean of an action that is valid at any time.

    Parameters
    ----------
    delta
        Probability that `best` is wrong.
    tolerance
        Difference of means that does not matter, in units of the rewards: the result may be worse than the best
        action by this much. With 0, two equal actions are compared forever.
    reward_range
        Smallest and largest possible reward; others are refused.
    actions
        Actions to choose from; others are refused. Without them, each call may add actions; the later an action is
        added, the wider its range.
    max_pending
        Number of decisions kept for their rewards; older ones without a reward are dropped and counted.
    seed
        Seed of the draws between equal actions.

    Examples
    --------
    >>> import random
    >>> from millstream import bandit
    >>> draw, means = random.Random(1), {"red": 0.4, "green": 0.5, "blue": 0.7}
    >>> search = bandit.BestArm(actions=list(means), seed=1)
    >>> while not search.finished:
    ...     decision = search.decide_one()
    ...     search.learn_one(decision.id, float(draw.random() < means[decision.action]))
    >>> search.best, search.learned < 2000
    ('blue', True)

    References
    ----------
    Kaufmann, E. and Kalyanakrishnan, S. (2013). Information complexity in bandit subset selection. COLT.
    """

    def __init__(
        self,
        delta: float = 0.05,
        tolerance: float = 0.0,
        reward_range: Sequence[float] = (0, 1),
        actions: Sequence[bool | int | str] | None = None,
        max_pending: int = 100_000,
        seed: int = 0,
    ) -> None:
        for what, value in (("delta", delta), ("tolerance", tolerance)):
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise InvalidType(f"{self._who}: {what} must be a number, got {typed(value)}")
        if not 0.0 < delta < 1.0:
            raise InvalidValue(f"{self._who}: delta must be in (0, 1), got {delta}")
        if not 0.0 <= tolerance < math.inf:
            raise InvalidValue(f"{self._who}: tolerance must be finite and >= 0, got {tolerance}")
        if isinstance(max_pending, bool) or not isinstance(max_pending, int) or max_pending < 1:
            raise InvalidValue(f"{self._who}: max_pending must be an integer >= 1, got {quoted(max_pending)}")
        range_of(self._who, reward_range)
        self.delta, self.tolerance, self.reward_range = delta, tolerance, reward_range
        self.max_pending, self.seed = max_pending, seed
        self.actions = None if actions is None else labels_of(self._who, actions)
        #: Number of rewards that were learned.
        self.learned = 0
        # Number of rewards, sum of rewards on the scale from 0 to 1, and bounds of the mean, by action.
        self._counts: dict[Any, int] = {}
        self._sums: dict[Any, float] = {}
        self._bounds: dict[Any, tuple[float, float]] = {}
        self._shares: dict[Any, float] = {}
        if self.actions is not None:
            self._begin(self.actions)

    @property
    def _who(self) -> str:
        return "bandit.BestArm"

    def _begin(self, listed: list[Any]) -> None:
        """Add actions."""
        for action in listed:
            if action not in self._counts:
                self._shares[action] = self._share(listed)
                self._counts[action], self._sums[action], self._bounds[action] = 0, 0.0, (0.0, 1.0)

    def _share(self, listed: list[Any]) -> float:
        """The part of `delta` that a new action may use: in an open set 1 / (k (k + 1)) for the k-th one."""
        if self.actions is not None:
            return 1.0 / len(listed)
        return 1.0 / ((len(self._counts) + 1.0) * (len(self._counts) + 2.0))

    def _mean(self, action: Any) -> float:
        return self._sums[action] / self._counts[action] if self._counts[action] else 0.5

    def _two(self) -> tuple[list[Any], list[Any]]:
        """The actions with the highest mean, and the others with the highest upper bound: several if equal."""
        top = max(map(self._mean, self._counts))
        leaders = [action for action in self._counts if self._mean(action) == top]
        leader = max(leaders, key=lambda action: self._bounds[action][0])
        rivals = [action for action in self._counts if action != leader]
        if not rivals:
            return [leader], []
        most = max(self._bounds[action][1] for action in rivals)
        return [leader], [action for action in rivals if self._bounds[action][1] == most]

    @property
    @locked
    def best(self) -> Any:
        """The action with the highest mean so far; None before the first reward."""
        return self._two()[0][0] if self.learned else None

    @property
    @locked
    def finished(self) -> bool:
        """Whether `best` is the best action, up to `tolerance`, with probability 1 - `delta`."""
        if not self._counts:
            return False
        (leader,), rivals = self._two()
        low, high = self.reward_range
        tolerance = self.tolerance / (high - low)
        return not rivals or self._bounds[leader][0] >= self._bounds[rivals[0]][1] - tolerance

    def interval_of(self, action: Any) -> tuple[float, float]:
        """The range of the mean reward of an action; all ranges hold at all times with probability 1 - `delta`."""
        self._check_known([action])
        low, high = self.reward_range
        return tuple(low + (high - low) * bound for bound in self._bounds[action])  # type: ignore[return-value]

    @locked
    def inspect(self) -> dict[str, Any]:
        """The state as plain data: number of rewards, mean and range of the mean of each action."""
        low, high = self.reward_range
        return {
            "learned": self.learned,
            "finished": self.finished,
            "actions": list(self._counts),
            "counts": list(self._counts.values()),
            "means": [low + (high - low) * self._mean(action) for action in self._counts],
            "intervals": [self.interval_of(action) for action in self._counts],
        }

    def _check_known(self, actions: Iterable[Any]) -> None:
        for action in actions:
            if not isinstance(action, Hashable) or action not in self._counts:
                known = ", ".join(map(quoted, list(self._counts)[:10]))
                raise InvalidValue(
                    f"{self._who}: the action must be one of {known or 'none yet'}, got {quoted(action)}"
                )

    @locked
    def probabilities_one(self, actions: Iterable[Hashable] | None = None) -> dict[Any, float]:
        """The probability of each action; changes nothing."""
        listed = list(self._counts) if actions is None else labels_of(self._who, actions)
        if not listed:
            raise InvalidValue(f"{self._who}: there must be actions: give them to the policy or to the call")
        if self.actions is not None:
            self._check_known(listed)
        return self._chances(listed)

    def _chances(self, listed: list[Any]) -> dict[Any, float]:
        new = [action for action in listed if not self._counts.get(action)]
        if new:
            return {action: (action in new) / len(new) for action in listed}
        leaders, rivals = self._two()
        wanted = [*leaders, *rivals] if not self.finished else leaders
        offered = [action for action in wanted if action in listed] or listed
        if not self.finished:
            fewest = min(self._counts[action] for action in offered)
            offered = [action for action in offered if self._counts[action] == fewest]
        return {action: (action in offered) / len(offered) for action in listed}

    @locked
    def decide_one(self, actions: Iterable[Hashable] | None = None) -> Decision:
        """Choose an action. The reward is learned later by `learn_one(id, reward)`."""
        listed = None if actions is None else labels_of(self._who, actions)
        probabilities = self.probabilities_one(listed)
        self._begin(list(probabilities))
        chosen = [action for action, probability in probabilities.items() if probability > 0.0]
        drawn = chosen[0] if len(chosen) == 1 else self._drawing.choice(chosen)
        return self._opened.push(drawn, probabilities[drawn], self.max_pending)

    def learn_action(self, action: Any, reward: float, probability: float | None = None) -> None:
        """Learn the reward of an action."""
        low, high = self.reward_range
        if not low <= reward <= high:
            raise InvalidValue(f"{self._who}: the reward must be in [{low}, {high}] (reward_range), got {reward}")
        if self.actions is not None:
            self._check_known([action])
        elif not isinstance(action, Hashable):
            raise InvalidType(
                f"{self._who}: an action must be a bool, an integer or a string, got {typed(action)}"
            )
        self._begin([action])
        self.learned += 1
        count, total = self._counts[action] + 1, self._sums[action] + (reward - low) / (high - low)
        self._counts[action], self._sums[action] = count, total
        # For each n, the mean of n rewards is outside of a bound with probability exp(-n d(mean, bound)) at most
        # (Chernoff). Two bounds of each action, summed over n, are wrong with its share of delta.
        width = (math.log(2.0 * _SUM / (self.delta * self._shares[action])) + _POWER * math.log(count)) / count
        mean = min(max(total / count, 0.0), 1.0)
        before = self._bounds[action]
        # All bounds hold at once, so the tightest ones do too.
        self._bounds[action] = (
            max(before[0], 1.0 - _upper(1.0 - mean, width)),
            min(before[1], _upper(mean, width)),
        )


def _divergence(p: float, q: float) -> float:
    """The relative entropy of two Bernoulli distributions."""
    first = p * math.log(p / q) if p > 0.0 else 0.0
    second = (1.0 - p) * math.log((1.0 - p) / (1.0 - q)) if p < 1.0 else 0.0
    return first + second


def _upper(mean: float, width: float) -> float:
    """The largest q >= mean with a divergence of at most `width`, rounded up."""
    low, high = mean, 1.0
    for _ in range(50):
        middle = (low + high) / 2.0
        if middle >= 1.0 or _divergence(mean, middle) > width:
            high = middle
        else:
            low = middle
    return high
