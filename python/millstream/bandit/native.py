"""Policies implemented in Rust."""

from __future__ import annotations

import json
import operator
from collections.abc import Hashable, Iterable
from typing import Any, ClassVar

from millstream import _core, _frames
from millstream._core import Decision
from millstream._echo import typed
from millstream._measures import Measure
from millstream._python_loop import check_on_error
from millstream.bandit.base import Decisions, Policy, columns
from millstream.errors import InvalidType, InvalidValue
from millstream.roles import POLICY, Role

__all__ = ["NativePolicy"]


class NativePolicy(_core.Policy, Measure, Policy):
    """A policy implemented in Rust."""

    role: ClassVar[Role] = POLICY

    probabilities_one = _core.Policy._probabilities_one
    decide_one = _core.Policy._decide_one
    learn_one = _core.Policy._learn_one
    pull = _core.Policy._pull
    update = _core.Policy._update

    def learn_action(self, action: Any, reward: float, probability: float | None = None) -> None:
        """Learn the reward of an action that was taken elsewhere."""
        self.learn_one(action=action, reward=reward, probability=probability)

    def decide_many(self, n: int, actions: Iterable[Hashable] | None = None) -> Decisions:
        try:
            count = operator.index(n)
        except TypeError:
            raise InvalidType(f"{self.name}: n must be an integer, got {typed(n)}") from None
        if count < 0:
            raise InvalidValue(f"{self.name}: n must be >= 0, got {count}")
        chosen, probabilities, ids = self._decide_many(count, actions)
        return Decisions(_frames.pack_answers(chosen), probabilities, ids)

    def learn_many(
        self,
        ids: Any = None,
        rewards: Any = None,
        *,
        actions: Any = None,
        probabilities: Any = None,
        on_error: str = "raise",
    ) -> int:
        check_on_error(on_error)
        keys, rewards, probabilities = columns(str(self.name), ids, rewards, actions, probabilities)
        if ids is not None:
            return self._learn_many(keys, rewards, None, None, on_error)
        return self._learn_many(None, rewards, keys, probabilities, on_error)

    for _verb in (decide_many, learn_many):
        _verb.__doc__ = getattr(Policy, _verb.__name__).__doc__
    del _verb

    def forget_one(self, action: Any) -> None:
        """Forget an action and its rewards; decisions for it that wait are dropped."""
        self._forget_one(action)

    @property
    def actions(self) -> list[Any]:
        """All actions that it knows: those given to it, offered in a call or learned."""
        return super().actions

    @property
    def open(self) -> list[Decision]:
        """The decisions that wait for their rewards, the oldest first."""
        return self._open()

    def inspect(self) -> Any:
        """The state as plain data: actions, the numbers of their rewards, and their means."""
        return json.loads(self._inspect())
