"""The policy under test. A reward is an example: it is the reward of the next decision."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from millstream._echo import quoted, typed
from millstream.errors import InvalidType, InvalidValue
from millstream.testing.answers import is_number
from millstream.testing.examples import FEWEST, MOST, Example
from millstream.testing.law import broken
from millstream.testing.subject import Subject

__all__ = ["ACTIONS", "PolicySubject"]

#: The actions that the laws offer.
ACTIONS: tuple[Any, ...] = ("red", "green", 3)


class PolicySubject(Subject):
    """A policy under test. One with a context is asked with the features of the example and the actions."""

    def _prepare(self, first: Any, own_examples: Iterable[Any] | None) -> None:
        rewards = _usual() if own_examples is None else _given(own_examples)
        self.uses_context = bool(getattr(first, "uses_context", False))
        self.examples: list[Example] = [
            ({"a": math.sin(row), "b": math.cos(2.0 * row)}, reward) for row, reward in enumerate(rewards)
        ]
        self.takes_target, self.takes_weights = True, False
        self.asks = ("probabilities_one",)

    def situation(self, x: Mapping[Any, Any], actions: Iterable[Any] = ACTIONS) -> tuple[Any, ...]:
        """The arguments of a decision."""
        return (dict(x), list(actions)) if self.uses_context else (list(actions),)

    def decide(self, model: Any, x: Mapping[Any, Any], actions: Iterable[Any] = ACTIONS) -> Any:
        """A decision."""
        return self.call(model, "decide_one", *self.situation(x, actions))

    def learn(self, model: Any, x: Any, y: Any, w: Any = None) -> Any:
        """Decide, and learn the reward."""
        return self.call(model, "learn_one", self.decide(model, x).id, y)

    def answer(self, model: Any, verb: str, x: Any) -> Any:
        """The probabilities."""
        return self.call(model, "probabilities_one", *self.situation(x))

    def check_answers(self, model: Any, x: Mapping[Any, Any]) -> None:
        """Check that the probabilities are well formed."""
        self.check_probabilities(self.answer(model, "probabilities_one", x), ACTIONS)

    def check_probabilities(self, probabilities: Any, actions: Iterable[Any]) -> None:
        """Check that there is a probability for each action, none negative, with a sum of 1."""
        listed = list(actions)
        if not isinstance(probabilities, Mapping) or list(probabilities) != listed:
            broken(f"the probabilities of {quoted(listed)}", typed(probabilities))
        for action, probability in probabilities.items():
            if not is_number(probability) or not 0.0 <= probability <= 1.0 + 1e-12:
                broken("probabilities in [0, 1]", f"{typed(probability)} for {quoted(action)}")
        total = math.fsum(probabilities.values())
        if abs(total - 1.0) > 1e-12:
            broken("probabilities that sum to 1", f"a sum of {total!r}")


def _usual() -> list[float]:
    """Rewards in [0, 1] that do not repeat."""
    return [0.5 + 0.5 * math.sin(row * row + 1.0) for row in range(MOST)]


def _given(examples: Iterable[Any]) -> list[float]:
    """Check rewards given by the user."""
    found: list[float] = []
    for value in examples:
        if not is_number(value) or not math.isfinite(value):
            raise InvalidType(f"testing: examples of a policy must be finite rewards, got {quoted(value)}")
        found.append(value)
        if len(found) == MOST:
            break
    if len(found) < FEWEST:
        raise InvalidValue(f"testing: there must be at least {FEWEST} examples, got {len(found)}")
    return found
