"""The verbs of policies with context that are written in Python."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from millstream._core import Decision
from millstream._echo import quoted, typed
from millstream._part import Part
from millstream._python_loop import check_on_error
from millstream.bandit.base import Decisions, from_log, locked, seeded
from millstream.errors import InvalidType, InvalidValue, MillstreamError
from millstream.roles import POLICY, Role
from millstream.rounds import Ragged, as_rounds

__all__ = ["ContextInPython", "labels_of", "number", "range_of"]


def number(who: str, what: str, value: Any) -> float:
    """A finite number."""
    if isinstance(value, (str, bytes)) or value is None:
        raise InvalidType(f"{who}: {what} must be a number, got {typed(value)}")
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidType(f"{who}: {what} must be a number, got {typed(value)}") from None
    if not math.isfinite(found):
        raise InvalidValue(f"{who}: {what} must be finite, got {value}")
    return found


def range_of(who: str, reward_range: Any) -> tuple[float, float]:
    """The smallest and the largest reward."""
    if isinstance(reward_range, (str, bytes)) or not isinstance(reward_range, (Sequence, np.ndarray)):
        raise InvalidType(f"{who}: reward_range must be two numbers, got {typed(reward_range)}")
    if len(reward_range) != 2:
        raise InvalidValue(f"{who}: reward_range must be two numbers, got {quoted(reward_range)}")
    low, high = (number(who, "reward_range", each) for each in reward_range)
    if not (low < high and math.isfinite(high - low)):
        raise InvalidValue(
            f"{who}: reward_range must be a lowest and a higher highest reward, got {quoted(reward_range)}"
        )
    return low, high


def labels_of(who: str, actions: Any) -> list[Any]:
    """The labels of actions: a list of labels, the keys of a dict, or the indices of features."""
    if isinstance(actions, (str, bytes)) or not isinstance(actions, (Iterable, Mapping)):
        raise InvalidType(
            f"{who}: actions must be a list of labels, a dict or a list of features, got {typed(actions)}"
        )
    listed = list(actions)
    if not listed:
        raise InvalidValue(f"{who}: a round must have at least one action, got none")
    if not isinstance(actions, Mapping) and (
        isinstance(listed[0], (Mapping, list, tuple)) or np.ndim(listed[0]) > 0
    ):
        return list(range(len(listed)))
    if len(set(listed)) < len(listed):
        twice = next(label for label in listed if listed.count(label) > 1)
        raise InvalidValue(f"{who}: an action must be listed once, got {quoted(twice)} twice")
    return listed


class ContextInPython(Part):
    """A policy with context in Python. A subclass defines `probabilities_one` and `_teach`."""

    role: ClassVar[Role] = POLICY
    uses_context: ClassVar[bool] = True
    #: The lowest and the highest reward; None for any.
    reward_range: Any = None
    max_pending: int = 10_000
    seed: int = 0

    def _start(self) -> None:
        self._random = seeded(self.seed)
        self._waiting: dict[int, tuple[Any, Any, Any, float]] = {}
        self._next = 0
        #: Number of decisions that were dropped before their reward arrived.
        self.dropped = 0
        #: Number of rewards it has learned.
        self.learned = 0

    @property
    def _who(self) -> str:
        return str(self.name or type(self).__name__)

    def probabilities_one(self, x: Any, actions: Any) -> dict[Any, float]:
        """The probability of each action; changes nothing."""
        raise NotImplementedError

    def _teach(self, x: Any, actions: Any, action: Any, reward: float, probability: float | None) -> None:
        """Learn a round; leaves everything as it was after an error."""
        raise NotImplementedError

    @locked
    def decide_one(self, x: Any, actions: Any) -> Decision:
        """Choose an action. The reward is learned later by `learn_one(id, reward)`."""
        probabilities = self.probabilities_one(x, actions)
        left, chosen = self._random.random(), None
        for action, probability in probabilities.items():
            if probability > 0.0:
                chosen = action
                if left < probability:
                    break
                left -= probability
        return self._open(copy.copy(x), copy.copy(actions), chosen, probabilities[chosen])

    def _open(self, x: Any, actions: Any, action: Any, probability: float) -> Decision:
        """A new decision, kept until its reward arrives."""
        own = self._next
        self._next += 1
        self._waiting[own] = (x, actions, action, probability)
        # One decision leaves the window for each that enters it.
        if self._waiting.pop(own - self.max_pending, None) is not None:
            self.dropped += 1
        return Decision(action, probability, own)

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
        """Learn the reward of a decision, or a round of a log.

        `learn_one(id, reward)` learns the reward of a decision, whenever it arrives and in any order.
        `learn_one(x=x, actions=actions, action=action, reward=reward, probability=probability)` learns a round
        that another policy decided, and so does `learn_one(x, actions, action, reward, probability)`.
        """
        who = self._who
        if log:
            x, actions, action, reward, probability = from_log(
                who, (id, reward, *log), (x, actions, action), probability
            )
            id = None  # noqa: A001
        value = number(who, "reward", reward)
        if self.reward_range is not None:
            low, high = self.reward_range
            if not low <= value <= high:
                raise InvalidValue(f"{who}: reward must be in [{low}, {high}] (reward_range), got {value}")
        if id is not None:
            if not (x is None and actions is None and action is None and probability is None):
                raise InvalidType(f"{who}: with the id of a decision, pass its reward alone")
            key = self._key(id)
            self._teach(*self._waiting[key][:3], value, self._waiting[key][3])
            del self._waiting[key]
        else:
            if actions is None or action is None:
                raise InvalidType(
                    f"{who}: learn_one needs the id of a decision, or the actions of a round and the action taken"
                )
            if action not in labels_of(who, actions):
                raise InvalidValue(
                    f"{who}: the action taken must be one of the actions of the round, got {quoted(action)}"
                )
            if probability is not None:
                probability = number(who, "probability", probability)
                if not 0.0 < probability <= 1.0:
                    raise InvalidValue(f"{who}: probability must be in (0, 1], got {probability}")
            self._teach(x, actions, action, value, probability)
        self.learned += 1

    def _key(self, given: Any) -> int:
        key = given.id if isinstance(given, Decision) else given
        if isinstance(key, bool) or not isinstance(key, (int, np.integer)):
            raise InvalidType(f"{self._who}: the id of a decision must be an integer, got {typed(given)}")
        if key not in self._waiting:
            known = 0 <= key < self._next
            why = (
                "is not open: it had its reward, or was dropped (raise max_pending)" if known else "was never made"
            )
            raise InvalidValue(f"{self._who}: decision {key} {why}")
        return int(key)

    @property
    def pending(self) -> int:
        """Number of decisions that wait for their rewards."""
        return len(self._waiting)

    def probabilities_many(self, rounds: Any) -> Ragged:
        """The probabilities of rounds, exactly as by `probabilities_one`; changes nothing."""
        batch = as_rounds(rounds)
        found = [list(self.probabilities_one(entry.shared, entry.actions).values()) for entry in batch]
        return Ragged([p for row in found for p in row], batch.counts)

    def decide_many(self, rounds: Any) -> Decisions:
        """Choose an action in each round, exactly as `decide_one` would."""
        made = [self.decide_one(entry.shared, entry.actions) for entry in as_rounds(rounds)]
        return Decisions(
            [decision.action for decision in made],
            np.array([decision.probability for decision in made], dtype=np.float64),
            np.array([decision.id for decision in made], dtype=np.uint64),
        )

    def step_many(self, rounds: Any, *, on_error: str = "raise") -> Ragged:
        """Learn the rounds of a log, and return the probabilities of each round from before it was learned."""
        found: list[float] = []
        batch = as_rounds(rounds)

        def step(entry: Any) -> None:
            found.extend(self.probabilities_one(entry.shared, entry.actions).values())
            self._learn_round(entry)

        self._each(list(batch), step, on_error)
        return Ragged(found, batch.counts)

    def learn_many(
        self, rounds: Any = None, *, ids: Any = None, rewards: Any = None, on_error: str = "raise"
    ) -> int:
        """Learn the rounds of a log, or the rewards of decisions, exactly as `learn_one` would."""
        if (rounds is None) == (ids is None):
            raise InvalidType(f"{self._who}: learn_many needs rounds, or the ids of decisions and their rewards")
        if rounds is not None:
            return self._each(list(as_rounds(rounds)), self._learn_round, on_error)
        pairs = list(zip(ids, rewards, strict=True))
        return self._each(pairs, lambda pair: self.learn_one(*pair), on_error)

    def _learn_round(self, entry: Any) -> None:
        if entry.action is not None and entry.reward is not None:
            self.learn_one(
                x=entry.shared,
                actions=entry.actions,
                action=entry.action,
                reward=entry.reward,
                probability=entry.probability,
            )

    @locked
    def _each(self, items: list[Any], learn: Any, on_error: str) -> int:
        """Learn items in order; after an error, "raise" returns to the state before the call."""
        check_on_error(on_error)
        before = copy.deepcopy(self.__dict__) if on_error == "raise" else None
        skipped = 0
        try:
            for row, item in enumerate(items):
                try:
                    learn(item)
                except Exception as error:
                    if on_error != "skip":
                        if isinstance(error, MillstreamError):
                            error.at_row(row)
                        raise
                    skipped += 1
        except BaseException:
            if before is not None:
                self.__dict__.clear()
                self.__dict__.update(before)
            raise
        return skipped

    def copy(self) -> Self:
        """An independent copy with the same state."""
        return copy.deepcopy(self)

    def save(self, path: Any) -> None:
        """Not supported by a policy in Python: use pickle."""
        self.to_bytes()

    def to_bytes(self) -> bytes:
        """Not supported by a policy in Python: use pickle."""
        raise InvalidType(f"{type(self).__name__}: a policy in Python cannot be saved as data; use pickle")

    def merge(self, other: Any, base: Any = None) -> None:
        """Not supported by a policy in Python."""
        raise InvalidType(f"{type(self).__name__}: cannot be merged: only native policies can")

    @property
    def memory(self) -> int:
        """Memory of the policy in bytes."""
        from millstream._display import memory_of

        return memory_of(self)
