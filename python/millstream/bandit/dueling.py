"""Dueling bandits: two actions are compared in each round, and only the winner is observed."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from millstream._core import Decision
from millstream._echo import quoted, typed
from millstream.bandit.base import Policy, locked
from millstream.bandit.context_in_python import labels_of
from millstream.errors import InvalidType, InvalidValue

__all__ = ["Dueling"]

Pair = tuple[Any, Any]


class Dueling(Policy):
    """Relative upper confidence bounds (RUCB): find the best action from comparisons of two.

    Choose it if an outcome shows which of two actions was better, but not how good each one is: interleaved
    rankings, or users who prefer one of two answers. A decision is a pair of actions, and its reward is the result
    of the comparison: 1 if the first one wins, 0 if the second one does, 0.5 for a tie. Once the best action is
    clear, it is paired with itself; the reward of such a decision, say 0.5, only counts the round. The regret
    grows with the logarithm of the number of rounds if some action beats every other one with a probability above
    1/2.

    The pair is drawn in two steps. The first action is one whose upper bounds allow it to beat all others: the
    favourite of earlier rounds with probability 1/2, otherwise any of them. The second is the action with the
    highest upper bound of the probability of beating the first.

    Parameters
    ----------
    alpha
        Factor of ln t in the squared width of the bounds; above 0.5 in the theory.
    actions
        Actions to choose from; a call may give others. None if every call gives them.
    max_actions
        Largest number of actions; memory grows with its square.
    max_pending
        Number of decisions kept for their rewards; older ones without a reward are dropped and counted.
    seed
        Seed of the draws.

    Examples
    --------
    >>> import random
    >>> from millstream import bandit
    >>> draw, quality = random.Random(1), {"a": 0.3, "b": 0.5, "c": 0.8}
    >>> policy = bandit.Dueling(actions=list(quality), seed=1)
    >>> for _ in range(2000):
    ...     first, second = policy.decide_one().action
    ...     won = draw.random() < 0.5 + (quality[first] - quality[second]) / 2
    ...     policy.learn_one(action=(first, second), reward=float(won))
    >>> policy.best
    'c'
    >>> policy.probabilities_one()[("c", "c")]
    1.0

    References
    ----------
    Zoghi, M., Whiteson, S., Munos, R. and de Rijke, M. (2014). Relative upper confidence bound for the K-armed
    dueling bandit problem. ICML.
    """

    def __init__(
        self,
        alpha: float = 0.51,
        actions: Sequence[bool | int | str] | None = None,
        max_actions: int = 1000,
        max_pending: int = 100_000,
        seed: int = 0,
    ) -> None:
        if isinstance(alpha, bool) or not isinstance(alpha, (int, float)):
            raise InvalidType(f"{self._who}: alpha must be a number > 0, got {typed(alpha)}")
        if not 0.0 < alpha < math.inf:
            raise InvalidValue(f"{self._who}: alpha must be a finite number > 0, got {alpha}")
        for what, value in (("max_actions", max_actions), ("max_pending", max_pending)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise InvalidValue(f"{self._who}: {what} must be an integer >= 1, got {quoted(value)}")
        self.alpha, self.max_actions, self.max_pending, self.seed = alpha, max_actions, max_pending, seed
        self.actions = None if actions is None else labels_of(self._who, actions)
        #: Number of comparisons that were learned.
        self.learned = 0
        self._favourite: Any = None
        self._places: dict[Any, int] = {}
        self._wins = np.zeros((0, 0))
        self._admit(self.actions or [])

    @property
    def _who(self) -> str:
        return "bandit.Dueling"

    @property
    def known(self) -> list[Any]:
        """All actions that were given, offered or compared."""
        return list(self._places)

    @property
    @locked
    def best(self) -> Any:
        """The action that beats the largest number of others by its share of wins; None before the first."""
        if not self._places:
            return None
        with np.errstate(invalid="ignore"):
            shares = np.nan_to_num(self._wins / (self._wins + self._wins.T), nan=0.5)
        beaten, total = (shares > 0.5).sum(axis=1), shares.sum(axis=1)
        return list(self._places)[int(np.lexsort((-total, -beaten))[0])]

    def wins(self, first: Any, second: Any) -> float:
        """How often the first action beat the second one; a tie counts half."""
        places = [self._places.get(action) for action in (first, second)]
        return 0.0 if None in places else float(self._wins[places[0], places[1]])

    def _listed(self, actions: Iterable[Hashable] | None) -> list[Any]:
        if actions is None:
            listed = list(self._places)
            if not listed:
                raise InvalidValue(f"{self._who}: there must be actions: give them to the policy or to the call")
            return listed
        return labels_of(self._who, actions)

    def _check_room(self, actions: list[Any]) -> None:
        count = len({*self._places, *actions})
        if count > self.max_actions:
            raise InvalidValue(
                f"{self._who}: there may be at most {self.max_actions} actions, got {count}: raise max_actions"
            )

    def _admit(self, actions: list[Any]) -> None:
        self._check_room(actions)
        new = [action for action in actions if action not in self._places]
        if new:
            self._places.update(zip(new, range(len(self._places), len(self._places) + len(new)), strict=True))
            size = len(self._places)
            wins = np.zeros((size, size))
            wins[: len(self._wins), : len(self._wins)] = self._wins
            self._wins = wins

    def _bounds(self, listed: list[Any]) -> Any:
        """The upper bound of the probability that each action beats each other one."""
        places = [self._places.get(action, -1) for action in listed]
        # New actions have no comparisons.
        wins = np.zeros((len(self._wins) + 1,) * 2)
        wins[:-1, :-1] = self._wins
        wins = wins[np.ix_(places, places)]
        count = wins + wins.T
        with np.errstate(divide="ignore", invalid="ignore"):
            bounds = wins / count + np.sqrt(self.alpha * math.log(self.learned + 1) / count)
        bounds[count == 0] = 1.0
        np.fill_diagonal(bounds, 0.5)
        return bounds

    def _firsts(self, bounds: Any, listed: list[Any]) -> dict[int, float]:
        """The probability that each action is the first one of the pair, by index."""
        possible = np.flatnonzero((bounds >= 0.5).all(axis=1)).tolist()
        if not possible:
            return dict.fromkeys(range(len(listed)), 1.0 / len(listed))
        kept = [place for place in possible if listed[place] == self._favourite]
        if not kept or len(possible) == 1:
            return dict.fromkeys(possible, 1.0 / len(possible))
        rest = dict.fromkeys((place for place in possible if place != kept[0]), 0.5 / (len(possible) - 1))
        return {kept[0]: 0.5, **rest}

    @locked
    def probabilities_one(self, actions: Iterable[Hashable] | None = None) -> dict[Pair, float]:
        """The probability of each pair that may be compared; changes nothing."""
        listed = self._listed(actions)
        self._check_room(listed)
        bounds = self._bounds(listed)
        found: dict[Pair, float] = {}
        for first, probability in self._firsts(bounds, listed).items():
            column = bounds[:, first].copy()
            # The first action is paired with itself only if no other action may beat it.
            column[first] = 0.5 if (np.delete(column, first) < 0.5).all() else -1.0
            seconds = np.flatnonzero(column == column.max()).tolist()
            for second in seconds:
                found[listed[first], listed[second]] = probability / len(seconds)
        return found

    @locked
    def decide_one(self, actions: Iterable[Hashable] | None = None) -> Decision:
        """Choose two actions to compare. The result is learned later by `learn_one(id, reward)`."""
        listed = self._listed(actions)
        probabilities = self.probabilities_one(listed)
        self._admit(listed)
        possible = np.flatnonzero((self._bounds(listed) >= 0.5).all(axis=1)).tolist()
        if len(possible) == 1:
            self._favourite = listed[possible[0]]
        elif self._favourite not in [listed[place] for place in possible]:
            self._favourite = None
        drawn = self._drawing.choices(list(probabilities), weights=list(probabilities.values()))[0]
        return self._opened.push(drawn, probabilities[drawn], self.max_pending)

    @locked
    def learn_one(
        self,
        id: int | Decision | None = None,  # noqa: A002
        reward: Any = None,
        *,
        winner: Any = None,
        action: Any = None,
        probability: Any = None,
    ) -> None:
        """Learn the result of a comparison: 1 if the first action won, 0 if the second one did, 0.5 for a tie.

        `learn_one(id, reward)` or `learn_one(id, winner=action)` learns that of a decision, whenever it arrives.
        `learn_one(action=(first, second), reward=reward)` learns a comparison that was made elsewhere.
        """
        if winner is not None:
            if reward is not None:
                raise InvalidType(f"{self._who}: pass the reward or the winner, not both")
            pair = self._opened.get(id, self._who).action if id is not None else self._pair(action)
            if winner not in pair:
                raise InvalidValue(f"{self._who}: the winner must be one of {quoted(pair)}, got {quoted(winner)}")
            reward = 0.5 if pair[0] == pair[1] else float(winner == pair[0])
        super().learn_one(id, reward, action=action, probability=probability)

    def _pair(self, action: Any) -> Pair:
        if not isinstance(action, (tuple, list)) or len(action) != 2:
            raise InvalidType(f"{self._who}: the action must be a pair of actions, got {typed(action)}")
        for each in action:
            if not isinstance(each, Hashable):
                raise InvalidType(
                    f"{self._who}: an action must be a bool, an integer or a string, got {typed(each)}"
                )
        return action[0], action[1]

    def learn_action(self, action: Any, reward: float, probability: float | None = None) -> None:
        """Learn the result of a comparison of a pair."""
        first, second = self._pair(action)
        if not 0.0 <= reward <= 1.0:
            raise InvalidValue(f"{self._who}: the reward must be in [0, 1], got {reward}")
        self._admit([first, second] if first != second else [first])
        self.learned += 1
        if first != second:
            one, other = self._places[first], self._places[second]
            self._wins[one, other] += reward
            self._wins[other, one] += 1.0 - reward
