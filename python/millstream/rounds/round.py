"""One round."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["Round"]


class Round(NamedTuple):
    """One round of a log.

    Examples
    --------
    >>> from millstream import bandit, rounds
    >>> log = [rounds.Round({"hour": 9}, ["coffee", "tea"], action="tea", probability=0.5, reward=1.0)]
    >>> policy = bandit.LinUCB()
    >>> policy.learn_many(log)
    0
    """

    #: Features of the context: a dict, a vector of numbers, or None.
    shared: Any
    #: A list of labels, a dict from label to features, or a list of features.
    actions: Any
    #: The label of the action taken; None if no action was taken.
    action: Any = None
    #: The probability that the action was taken with.
    probability: float | None = None
    #: The reward of the action taken.
    reward: float | None = None
    #: The name of the round in its source.
    id: Any = None
