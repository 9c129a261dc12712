"""Continuous actions: a price, a dose, a threshold."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from millstream._core import Decision
from millstream._echo import typed
from millstream.bandit.base import locked
from millstream.bandit.context_in_python import ContextInPython, number, range_of
from millstream.bandit.contextual import Contextual
from millstream.errors import InvalidType, InvalidValue

__all__ = ["Continuous"]


class Continuous(ContextInPython):
    """Choose a number between `low` and `high`: a price, a dose, a threshold.

    The policy learns the reward as a function of context and action that is linear between `n_knots` values of the
    action, with exact least squares or any regressor. To decide, an explorer chooses one of several intervals of
    width 2 × `bandwidth` by the mean predicted reward over each, and the action is drawn uniformly from the chosen
    interval (smoothed regret). The probability of a decision is therefore a *density*, from which its log can be
    evaluated. A smaller `bandwidth` finds a narrower peak of the reward, but needs more rounds.

    Parameters
    ----------
    low
        Smallest action.
    high
        Largest action.
    bandwidth
        Half the width of the intervals from which actions are drawn.
    model
        Regressor of the reward, as of `Contextual`; None for exact least squares.
    explore
        Explorer of `bandit.explore`, or its name in lower case, as of `Contextual`.
    reward_range
        Lowest and highest reward; others are refused. None for any finite reward.
    n_actions
        Number of intervals, which overlap; None for four for each 2 × `bandwidth`.
    n_knots
        Number of actions between which the reward is linear; None for a distance of about `bandwidth`.
    l2
        Penalty of the least squares.
    max_pending
        Number of later decisions after which a decision without a reward is dropped and counted in `dropped`.
    seed
        Seed of the draws.

    Examples
    --------
    >>> from millstream import bandit
    >>> policy = bandit.Continuous(0.0, 10.0, bandwidth=0.5, seed=1)
    >>> for row in range(500):
    ...     x = {"premium": float(row % 2)}
    ...     decision = policy.decide_one(x)
    ...     policy.learn_one(decision.id, -abs(decision.action - (7.0 if row % 2 else 3.0)) / 10.0)
    >>> 2.0 < policy.decide_one({"premium": 0.0}).action < 4.0
    True
    >>> 6.0 < policy.decide_one({"premium": 1.0}).action < 8.0
    True

    References
    ----------
    Krishnamurthy, A., Langford, J., Slivkins, A. and Zhang, C. (2020). Contextual bandits with continuous actions:
    smoothing, zooming, and adapting. Journal of Machine Learning Research 21.

    Majzoubi, M., Zhang, C., Chari, R., Krishnamurthy, A., Langford, J. and Slivkins, A. (2020). Efficient
    contextual bandits with continuous actions. NeurIPS.
    """

    def __init__(
        self,
        low: float,
        high: float,
        bandwidth: float,
        model: Any = None,
        explore: Any = None,
        reward_range: Sequence[float] | None = None,
        n_actions: int | None = None,
        n_knots: int | None = None,
        l2: float = 1.0,
        max_pending: int = 10_000,
        seed: int = 0,
    ) -> None:
        who = self._who
        low, high, bandwidth = (
            number(who, "low", low),
            number(who, "high", high),
            number(who, "bandwidth", bandwidth),
        )
        if not (low < high and math.isfinite(high - low)):
            raise InvalidValue(f"{who}: high must be above low, got {low} and {high}")
        if not 0.0 < 2.0 * bandwidth <= high - low:
            raise InvalidValue(f"{who}: bandwidth must be in (0, {(high - low) / 2.0}], got {bandwidth}")
        ratio = (high - low) / bandwidth
        for what, value, least in (
            ("n_actions", n_actions, 1),
            ("n_knots", n_knots, 2),
            ("max_pending", max_pending, 1),
        ):
            if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
                raise InvalidType(f"{who}: {what} must be an integer >= {least}, got {typed(value)}")
            if value is not None and not least <= value <= 10**9:
                raise InvalidValue(f"{who}: {what} must be an integer >= {least}, got {value}")
        if max(n_actions or 0, n_knots or 0) > 10_000 or (ratio > 5000.0 and None in (n_actions, n_knots)):
            raise InvalidValue(
                f"{who}: at most 10,000 intervals and knots are possible: choose a larger bandwidth, or fewer"
            )
        self.low, self.high, self.bandwidth = low, high, bandwidth
        self.model, self.explore, self.reward_range = model, explore, reward_range
        self.n_actions, self.n_knots, self.l2 = n_actions, n_knots, l2
        self.max_pending, self.seed = max_pending, seed
        #: The policy that chooses between intervals.
        self.learner: Any = Contextual(
            model,
            explore=explore,
            estimate="dm",
            reward_range=None if reward_range is None else list(range_of(who, reward_range)),
            l2=l2,
            seed=seed,
        )
        count = n_actions if n_actions is not None else max(1, math.ceil(2.0 * ratio) - 3)
        #: The lower ends of the intervals.
        self.starts: list[float] = (
            [(low + high) / 2.0 - bandwidth]
            if count == 1
            else np.linspace(low, high - 2.0 * bandwidth, count).tolist()
        )
        knots = n_knots if n_knots is not None else math.ceil(ratio) + 1
        self._knots = np.linspace(low, high, knots)
        # The mean of each basis function over each interval: the difference of its integrals.
        ends = np.asarray(self.starts)
        means = (self._integrals(ends + 2.0 * bandwidth) - self._integrals(ends)) / (2.0 * bandwidth)
        self._intervals = [self._features(row) for row in means]
        self._start()

    @property
    def _who(self) -> str:
        return "bandit.Continuous"

    def _integrals(self, actions: Any) -> Any:
        """The integral of each basis function, a triangle around its knot, from `low` to each action."""
        step = self._knots[1] - self._knots[0]
        t = (np.asarray(actions)[:, None] - self._knots[None, :]) / step
        rising, falling = np.clip(t, -1.0, 0.0), np.clip(t, 0.0, 1.0)
        whole = step * ((rising + 1.0) ** 2 / 2.0 + falling - falling**2 / 2.0)
        # The first triangle has no rising side within the range.
        whole[:, 0] -= step / 2.0
        return whole

    def _features(self, row: Any) -> dict[str, float]:
        return {f"knot {place}": value for place, value in enumerate(row.tolist()) if value > 0.0}

    def _basis(self, action: float) -> dict[str, float]:
        """The features of one action: how near it is to the knots around it."""
        step = self._knots[1] - self._knots[0]
        return self._features(np.clip(1.0 - np.abs(action - self._knots) / step, 0.0, 1.0))

    @locked
    def probabilities_one(self, x: Any = None, actions: Any = None) -> dict[tuple[float, float], float]:
        """The probability of each interval from which actions are drawn, by its ends; changes nothing."""
        self._check_no_actions(actions)
        found = self.learner.probabilities_one(_context(self._who, x), self._intervals)
        width = 2.0 * self.bandwidth
        return {(start, start + width): p for start, p in zip(self.starts, found.values(), strict=True)}

    def density_one(self, x: Any, action: float) -> float:
        """The density with which an action is drawn; changes nothing."""
        action = self._inside(action)
        inside = (p for (start, end), p in self.probabilities_one(x).items() if start <= action <= end)
        return math.fsum(inside) / (2.0 * self.bandwidth)

    @locked
    def rewards_one(self, x: Any, actions: Sequence[float]) -> dict[float, float]:
        """The predicted reward of actions; changes nothing."""
        listed = [self._inside(action) for action in actions]
        found = self.learner.rewards_one(_context(self._who, x), [self._basis(action) for action in listed])
        return dict(zip(listed, found.values(), strict=True))

    @locked
    def decide_one(self, x: Any = None, actions: Any = None) -> Decision:
        """Choose a number; the probability of the decision is its density. The reward is learned later by
        `learn_one(id, reward)`."""
        self._check_no_actions(actions)
        probabilities = self.learner.probabilities_one(_context(self._who, x), self._intervals)
        shares = list(probabilities.values())
        place = self._random.choices(range(len(shares)), weights=shares)[0]
        width = 2.0 * self.bandwidth
        action = min(self.starts[place] + width * self._random.random(), self.high)
        inside = (p for start, p in zip(self.starts, shares, strict=True) if start <= action <= start + width)
        density = math.fsum(inside) / width
        return self._open(copy.copy(x), None, action, density)

    @locked
    def learn_one(
        self,
        id: Any = None,  # noqa: A002
        reward: Any = None,
        *log: Any,
        x: Any = None,
        actions: Any = None,
        action: Any = None,
        probability: Any = None,
    ) -> None:
        """Learn the reward of a decision, or of an action of a log: `learn_one(x=x, action=4.2, reward=1.0)`.

        Rewards are learned without weights, so `probability`, the density of the action, is not needed.
        """
        self._check_no_actions(actions)
        if log:
            raise InvalidType(f"{self._who}: pass x, action, reward and probability by name")
        value = number(self._who, "reward", reward)
        if (id is None) == (action is None):
            raise InvalidType(f"{self._who}: learn_one needs the id of a decision or an action, and its reward")
        if id is not None:
            if x is not None or probability is not None:
                raise InvalidType(f"{self._who}: with the id of a decision, pass its reward alone")
            key = self._key(id)
            self._teach(*self._waiting[key][:3], value, None)
            del self._waiting[key]
        else:
            if probability is not None and number(self._who, "probability", probability) <= 0.0:
                raise InvalidValue(f"{self._who}: probability, a density, must be > 0, got {probability}")
            self._teach(x, None, self._inside(action), value, None)
        self.learned += 1

    def _teach(self, x: Any, actions: Any, action: Any, reward: float, probability: float | None) -> None:
        features = [self._basis(action)]
        self.learner.learn_one(
            x=_context(self._who, x), actions=features, action=0, reward=reward, probability=1.0
        )

    def _inside(self, action: Any) -> float:
        found = number(self._who, "action", action)
        if not self.low <= found <= self.high:
            raise InvalidValue(f"{self._who}: the action must be in [{self.low}, {self.high}], got {found}")
        return found

    def _check_no_actions(self, actions: Any) -> None:
        if actions is not None:
            raise InvalidType(
                f"{self._who}: actions are the numbers from {self.low} to {self.high}; pass the context only"
            )

    def decide_many(self, contexts: Any) -> Any:
        """Choose a number for each context, exactly as `decide_one` would."""
        from millstream.bandit.base import pack

        return pack([self.decide_one(x) for x in contexts])

    def probabilities_many(self, contexts: Any) -> Any:
        """The probabilities for several contexts, exactly as by `probabilities_one`."""
        return [self.probabilities_one(x) for x in contexts]

    def step_many(self, rounds: Any, *, on_error: str = "raise") -> Any:
        """Not supported: rounds have lists of actions."""
        raise InvalidType(f"{self._who}: rounds have lists of actions; call learn_one for each row")

    def learn_many(
        self, rounds: Any = None, *, ids: Any = None, rewards: Any = None, on_error: str = "raise"
    ) -> int:
        """Learn the rewards of decisions, exactly as `learn_one` would."""
        if rounds is not None or ids is None or rewards is None:
            raise InvalidType(f"{self._who}: learn_many needs the ids of decisions and their rewards")
        return super().learn_many(ids=ids, rewards=rewards, on_error=on_error)


def _context(who: str, x: Any) -> dict[Any, Any]:
    """The context as a dict."""
    if x is None:
        return {}
    if isinstance(x, Mapping):
        return dict(x)
    if isinstance(x, (str, bytes)) or np.ndim(x) != 1:
        raise InvalidType(f"{who}: x must be a dict or a vector of numbers, got {typed(x)}")
    return {f"x{place}": value for place, value in enumerate(np.asarray(x).tolist())}
