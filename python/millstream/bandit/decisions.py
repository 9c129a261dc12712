"""Decisions, one and many."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["Decision", "Decisions"]


class Decision(NamedTuple):
    """A decision: the action, its probability, and the id under which its reward is learned."""

    action: Any
    probability: float
    id: int


class Decisions(NamedTuple):
    """Decisions as columns: what `decide_many` returns."""

    #: The chosen actions.
    actions: Any
    #: The probability of each chosen action.
    probabilities: Any
    #: The ids under which rewards are learned.
    ids: Any
