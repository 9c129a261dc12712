"""Several slots to fill in each round: a ranking, or the places of a page."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from millstream._core import Decision
from millstream._echo import typed
from millstream._part import shown_part, unlearned_copy
from millstream.bandit.base import locked
from millstream.bandit.context_in_python import ContextInPython, labels_of
from millstream.bandit.contextual import Contextual
from millstream.errors import InvalidType, InvalidValue
from millstream.roles import POLICY, role_of

__all__ = ["Slots"]


class Slots(ContextInPython):
    """Fill several slots in each round with different actions: a ranking, or the places of a page.

    A policy with context fills the slots one after the other, each with an action that no earlier slot has taken
    (conditional contextual bandits). The context of a decision includes the features of its slot, by default its
    number, so that the policy learns which action suits which slot. Each slot has its own decision, with an id for
    its own reward, such as a click on the third article of the page.

    Parameters
    ----------
    policy
        Policy with context that fills a slot; None for `Contextual()`. The policy itself does not change: an
        unlearned copy learns.
    n_slots
        Number of slots; a round with fewer actions has as many slots as actions.
    max_pending
        Number of later decisions after which a decision without a reward is dropped and counted in `dropped`.
    seed
        Seed of the draws.

    Examples
    --------
    >>> from millstream import bandit
    >>> policy = bandit.Slots(n_slots=2, seed=1)
    >>> for _ in range(300):
    ...     for slot, decision in enumerate(policy.decide_one({"device": "mobile"}, ["news", "sport", "food"])):
    ...         policy.learn_one(decision.id, float(decision.action == ("sport", "news")[slot]))
    >>> [decision.action for decision in policy.decide_one({"device": "mobile"}, ["news", "sport", "food"])]
    ['sport', 'news']
    """

    def __init__(self, policy: Any = None, n_slots: int = 3, max_pending: int = 10_000, seed: int = 0) -> None:
        if policy is None:
            policy = Contextual()
        if isinstance(policy, type) or role_of(policy) is not POLICY or not getattr(policy, "uses_context", False):
            raise InvalidType(f"{self._who}: policy must be a policy with context, got {shown_part(policy)}")
        for what, value in (("n_slots", n_slots), ("max_pending", max_pending)):
            if isinstance(value, bool) or not isinstance(value, int):
                raise InvalidType(f"{self._who}: {what} must be an integer >= 1, got {typed(value)}")
            if value < 1:
                raise InvalidValue(f"{self._who}: {what} must be an integer >= 1, got {value}")
        self.policy, self.n_slots, self.max_pending, self.seed = policy, n_slots, max_pending, seed
        #: The copy of the policy that learns.
        self.learner = unlearned_copy(policy)
        self._start()

    @property
    def _who(self) -> str:
        return "bandit.Slots"

    @locked
    def probabilities_one(
        self, x: Any, actions: Any, *, slot: int = 0, taken: Sequence[Any] = (), slots: Any = None
    ) -> dict[Any, float]:
        """The probability of each action in a slot, if the slots before it have taken these; changes nothing."""
        labels = labels_of(self._who, actions)
        contexts = self._contexts(x, slots, len(labels))
        if isinstance(slot, bool) or not isinstance(slot, int) or not 0 <= slot < len(contexts):
            raise InvalidValue(f"{self._who}: slot must be in [0, {len(contexts)}), got {slot}")
        left = _without(actions, labels, set(taken))
        if not left:
            raise InvalidValue(f"{self._who}: all actions are taken")
        found: dict[Any, float] = self.learner.probabilities_one(contexts[slot], left)
        return found

    @locked
    def decide_one(self, x: Any, actions: Any, *, slots: Any = None) -> list[Decision]:  # type: ignore[override]
        """Fill the slots: a decision for each, in order, whose rewards are learned by `learn_one(id, reward)`.

        `slots` has a dict of features for each slot; by default, the only feature is the number of the slot.
        """
        labels = labels_of(self._who, actions)
        before = self._random.getstate()
        chosen: list[tuple[Any, Any, Any, float]] = []
        try:
            taken: set[Any] = set()
            for context in self._contexts(x, slots, len(labels)):
                left = _without(actions, labels, taken)
                probabilities = self.learner.probabilities_one(context, left)
                action = self._random.choices(list(probabilities), weights=list(probabilities.values()))[0]
                chosen.append((context, left, action, float(probabilities[action])))
                taken.add(action)
        except BaseException:
            self._random.setstate(before)
            raise
        return [self._open(*each) for each in chosen]

    def _contexts(self, x: Any, slots: Any, n_actions: int) -> list[Any]:
        """The context of each slot."""
        if slots is None:
            count = min(self.n_slots, n_actions)
            features: list[Mapping[Any, Any]] = [{"slot": f"{place}"} for place in range(count)]
        else:
            if isinstance(slots, (str, bytes, Mapping)) or not isinstance(slots, Sequence):
                raise InvalidType(f"{self._who}: slots must be a list of dicts of features, got {typed(slots)}")
            if not slots or len(slots) > n_actions:
                raise InvalidValue(
                    f"{self._who}: there must be 1 to {n_actions} slots for {n_actions} actions, got {len(slots)}"
                )
            if not all(isinstance(slot, Mapping) for slot in slots):
                raise InvalidType(f"{self._who}: slots must be a list of dicts of features, got {typed(slots)}")
            features = list(slots)
        if x is None or isinstance(x, Mapping):
            shared = dict(x or {})
        elif isinstance(x, (str, bytes)) or np.ndim(x) != 1:
            raise InvalidType(f"{self._who}: x must be a dict or a vector of numbers, got {typed(x)}")
        else:
            shared = {f"x{place}": value for place, value in enumerate(np.asarray(x).tolist())}
        for name in (name for slot in features for name in slot):
            if name in shared:
                raise InvalidValue(f"{self._who}: the feature {name!r} is in both the context and a slot")
        return [{**shared, **slot} for slot in features]

    def _teach(self, x: Any, actions: Any, action: Any, reward: float, probability: float | None) -> None:
        self.learner.learn_one(x=x, actions=actions, action=action, reward=reward, probability=probability)

    def decide_many(self, rounds: Any) -> Any:
        """Not supported: a round has several decisions."""
        raise InvalidType(f"{self._who}: a round has several decisions; call decide_one for each round")


def _without(actions: Any, labels: list[Any], taken: set[Any]) -> Any:
    """The actions that are not taken, with their features by label."""
    if isinstance(actions, Mapping):
        return {label: copy.copy(features) for label, features in actions.items() if label not in taken}
    listed = list(actions)
    if listed and labels == list(range(len(listed))) and not isinstance(listed[0], (bool, int, str)):
        return {label: features for label, features in zip(labels, listed, strict=True) if label not in taken}
    return [label for label in labels if label not in taken]
