"""The verbs of a policy, and the base class of those written in Python."""

from __future__ import annotations

import copy
import functools
import math
import os
import random
import threading
import weakref
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, ClassVar, NamedTuple, Self, TypeVar, cast

import numpy as np

from millstream import _frames
from millstream._core import Decision
from millstream._echo import quoted, typed
from millstream._python_loop import check_on_error
from millstream.base import Part
from millstream.errors import InvalidType, InvalidValue, MillstreamError
from millstream.roles import POLICY, Role

__all__ = ["Decisions", "Policy"]

_Method = TypeVar("_Method", bound=Callable[..., Any])
#: The lock of each policy in Python. Locks are not part of the state, so copies and pickles have none.
_LOCKS: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
# Reentrant: the handler of a signal may use a policy too.
_LOCKS_LOCK = threading.RLock()
_SHARED_LOCK = threading.RLock()


def _forget_locks() -> None:
    """New locks in a forked process, which has none of the threads that would release the old ones."""
    global _LOCKS, _LOCKS_LOCK, _SHARED_LOCK
    _LOCKS, _LOCKS_LOCK, _SHARED_LOCK = weakref.WeakKeyDictionary(), threading.RLock(), threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_locks)


def lock_of(policy: Any) -> Any:
    """The lock of a policy: several threads may decide and learn at once."""
    with _LOCKS_LOCK:
        try:
            return _LOCKS.setdefault(policy, threading.RLock())
        except TypeError:
            # A user's class may have no hash.
            return _SHARED_LOCK


def locked(method: _Method) -> _Method:
    """A method of a policy that one thread runs at a time."""

    @functools.wraps(method)
    def run(self: Any, *arguments: Any, **keywords: Any) -> Any:
        with lock_of(self):
            return method(self, *arguments, **keywords)

    return cast("_Method", run)


class Decisions(NamedTuple):
    """Decisions as columns: what `decide_many` returns."""

    #: The chosen actions.
    actions: Any
    #: The probability of each chosen action.
    probabilities: Any
    #: The ids under which rewards are learned.
    ids: Any


class Policy(Part):
    """A model that chooses actions. A subclass defines `probabilities_one` and `learn_action`.

    The base class draws an action by its probability, gives each decision an id, and keeps decisions until their
    rewards arrive, in any order.

    Examples
    --------
    >>> from millstream import bandit
    >>> class Uniform(bandit.Policy):
    ...     def probabilities_one(self, actions=None):
    ...         return {action: 1 / len(actions) for action in actions}
    ...     def learn_action(self, action, reward, probability):
    ...         pass
    >>> policy = Uniform()
    >>> action, probability, id = policy.decide_one(["red", "green"])
    >>> probability
    0.5
    >>> policy.learn_one(id, 1.0)
    """

    role: ClassVar[Role] = POLICY
    #: True if decisions depend on features: then the verbs are `decide_one(x, actions)` and so on.
    uses_context: ClassVar[bool] = False
    #: Number of decisions kept for their rewards; older ones without a reward are dropped and counted.
    max_pending: int = 100_000

    def probabilities_one(self, actions: Iterable[Hashable] | None = None) -> dict[Any, float]:
        """The probability of each action; changes nothing."""
        raise NotImplementedError(f"{type(self).__name__} does not define probabilities_one")

    def learn_action(self, action: Any, reward: float, probability: float | None) -> None:
        """Learn the reward of an action that was taken with this probability, if it is known."""
        raise NotImplementedError(f"{type(self).__name__} does not define learn_action")

    @locked
    def decide_one(self, actions: Iterable[Hashable] | None = None) -> Decision:
        """Choose an action. The reward is learned later by `learn_one(id, reward)`."""
        probabilities = self.probabilities_one(actions)
        drawn = self._drawing.choices(list(probabilities), weights=list(probabilities.values()))[0]
        return self._opened.push(drawn, float(probabilities[drawn]), self.max_pending)

    @locked
    def learn_one(
        self,
        id: int | Decision | None = None,  # noqa: A002
        reward: Any = None,
        *,
        action: Any = None,
        probability: Any = None,
    ) -> None:
        """Learn the reward of a decision, or of an action that was taken elsewhere.

        `learn_one(id, reward)` learns the reward of a decision, whenever it arrives. `learn_one(action=action,
        reward=reward, probability=probability)` learns from a log; some policies need no probability.
        """
        name = type(self).__name__
        number = finite_number(name, "reward", reward)
        if (id is None) == (action is None):
            raise InvalidType(f"{name}: learn_one needs the id of a decision or an action, and its reward")
        if id is None:
            if probability is not None:
                probability = finite_number(name, "probability", probability)
                if not 0.0 < probability <= 1.0:
                    raise InvalidValue(f"{name}: the probability must be in (0, 1], got {quoted(probability)}")
            self.learn_action(action, number, probability)
            return
        decision = self._opened.get(id, name)
        self.learn_action(decision.action, number, decision.probability)
        self._opened.close(decision.id)

    @locked
    def pull(self, actions: Iterable[Hashable] | None = None) -> Any:
        """Choose an action, as River's policies do: its reward is learned by `update(action, reward)`."""
        probabilities = self.probabilities_one(actions)
        return self._drawing.choices(list(probabilities), weights=list(probabilities.values()))[0]

    def update(self, action: Any, reward: float) -> None:
        """Learn the reward of an action, as River's policies do."""
        self.learn_one(action=action, reward=reward)

    def decide_many(self, n: int, actions: Iterable[Hashable] | None = None) -> Decisions:
        """Make `n` decisions, exactly as `decide_one` would."""
        listed = None if actions is None else list(actions)
        return pack([self.decide_one(listed) for _ in range(n)])

    def probabilities_many(self, actions: Iterable[Iterable[Hashable]]) -> list[dict[Any, float]]:
        """The probabilities for several lists of actions, exactly as by `probabilities_one`."""
        return [self.probabilities_one(listed) for listed in actions]

    @locked
    def learn_many(
        self,
        ids: Any = None,
        rewards: Any = None,
        *,
        actions: Any = None,
        probabilities: Any = None,
        on_error: str = "raise",
    ) -> int:
        """Learn rewards one after the other, exactly as `learn_one` would.

        `learn_many(ids, rewards)` learns the rewards of decisions; `learn_many(actions=actions,
        rewards=rewards, probabilities=probabilities)` learns from a log. `on_error` defines what happens at a
        reward that is refused: with "raise" the call fails and the policy is as it was before; with "stop" it
        fails and keeps the rewards before; with "skip" it is skipped. Returns the number of skipped rewards.
        """
        check_on_error(on_error)
        keys, rewards, probabilities = columns(type(self).__name__, ids, rewards, actions, probabilities)
        before = copy.deepcopy(self.__dict__) if on_error == "raise" else None
        skipped = 0
        try:
            for row, (key, reward) in enumerate(zip(keys, rewards, strict=True)):
                try:
                    if ids is not None:
                        self.learn_one(key, reward)
                    else:
                        probability = None if probabilities is None else probabilities[row]
                        self.learn_one(action=key, reward=reward, probability=probability)
                except Exception as error:
                    if on_error == "skip" and isinstance(error, (ValueError, TypeError)):
                        skipped += 1
                        continue
                    if isinstance(error, MillstreamError):
                        error.at_row(row)
                    raise
        except BaseException:
            if before is not None:
                self.__dict__.clear()
                self.__dict__.update(before)
            raise
        return skipped

    @property
    def pending(self) -> int:
        """Number of decisions that wait for their rewards."""
        return len(self._opened.waiting)

    @property
    def dropped(self) -> int:
        """Number of decisions that were given up without a reward."""
        return self._opened.dropped

    @property
    def _drawing(self) -> random.Random:
        if "_random" not in self.__dict__:
            self._random = seeded(getattr(self, "seed", 0))
        return self._random

    @property
    def _opened(self) -> _OpenDecisions:
        opened: _OpenDecisions = self.__dict__.setdefault("_open", _OpenDecisions())
        return opened

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


class _OpenDecisions:
    """Decisions of a policy in Python that wait for their rewards."""

    def __init__(self) -> None:
        self.waiting: dict[int, Decision] = {}
        self.next = 0
        self.dropped = 0

    def push(self, action: Any, probability: float, most: int) -> Decision:
        decision = Decision(action, probability, self.next)
        self.waiting[self.next] = decision
        self.next += 1
        # At most one decision leaves the window.
        oldest = next(iter(self.waiting))
        if oldest < self.next - most:
            del self.waiting[oldest]
            self.dropped += 1
        return decision

    def get(self, given: Any, name: str) -> Decision:
        key = given.id if isinstance(given, Decision) else given
        if not isinstance(key, (int, np.integer)) or isinstance(key, bool):
            raise InvalidType(f"{name}: the id of a decision must be an integer, got {typed(given)}")
        if key not in self.waiting:
            known = 0 <= key < self.next
            reason = "has its reward already, or was dropped" if known else f"was never made ({self.next} were)"
            raise InvalidValue(f"{name}: decision {key} {reason}")
        return self.waiting[int(key)]

    def close(self, key: int) -> None:
        del self.waiting[key]


def seeded(seed: int) -> random.Random:
    """The random generator of a policy. Users simulate rewards with `random.Random(seed)`, so its draws differ."""
    return random.Random(f"policy {seed}")


def finite_number(who: str, what: str, value: Any) -> float:
    if not isinstance(value, (bool, int, float, np.number, np.bool_)):
        raise InvalidType(f"{who}: the {what} must be a number, got {typed(value)}")
    try:
        number = float(value)
    except OverflowError:
        raise InvalidValue(f"{who}: the {what} must fit in a float, got {typed(value)}") from None
    if not math.isfinite(number):
        raise InvalidValue(f"{who}: the {what} must be finite, got {quoted(number)}")
    return number


def from_log(who: str, given: tuple[Any, ...], named: tuple[Any, ...], probability: Any) -> tuple[Any, ...]:
    """The positional arguments x, actions, action, reward and probability of a round of a log."""
    if len(given) not in (4, 5) or any(value is not None for value in named):
        raise InvalidType(
            f"{who}: learn_one takes (id, reward) or (x, actions, action, reward, probability), got "
            f"{len(given)} positional arguments"
        )
    if len(given) == 5 and probability is not None:
        raise InvalidType(f"{who}: learn_one got two probabilities")
    return (*given[:4], given[4] if len(given) == 5 else probability)


def columns(who: str, ids: Any, rewards: Any, actions: Any, probabilities: Any) -> tuple[Any, Any, Any]:
    """The columns of `learn_many` as lists of equal length: ids or actions, rewards, probabilities or None."""
    if (ids is None) == (actions is None) or rewards is None:
        raise InvalidType(f"{who}: learn_many needs ids or actions, and their rewards")
    if ids is not None and probabilities is not None:
        raise InvalidType(f"{who}: the probabilities of decisions are known; pass ids and rewards")
    keys = listed(who, "actions" if ids is None else "ids", actions if ids is None else ids)
    rewards = listed(who, "rewards", rewards)
    probabilities = None if probabilities is None else listed(who, "probabilities", probabilities)
    for what, column in (("rewards", rewards), ("probabilities", probabilities)):
        if column is not None and len(column) != len(keys):
            raise InvalidValue(f"{who}: {what} has {len(column)} values for {len(keys)} rows")
    return keys, rewards, probabilities


def listed(who: str, what: str, column: Any) -> list[Any]:
    """A list, a NumPy array or a pandas, polars or Arrow column as a list of Python objects."""
    if isinstance(column, (str, bytes, Mapping)) or not hasattr(column, "__iter__"):
        raise InvalidType(f"{who}: {what} must be a list or a column, got {typed(column)}")
    for method in ("tolist", "to_pylist", "to_list"):
        if callable(convert := getattr(column, method, None)):
            converted: list[Any] = convert()
            return converted
    return [value.item() if isinstance(value, np.generic) else value for value in column]


def pack(decisions: list[Decision]) -> Decisions:
    """Decisions as columns."""
    return Decisions(
        _frames.pack_answers([decision.action for decision in decisions]),
        np.array([decision.probability for decision in decisions], dtype=np.float64),
        np.array([decision.id for decision in decisions], dtype=np.uint64),
    )
