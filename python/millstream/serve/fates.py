"""Label fates. Every received label has exactly one fate, and each fate is counted."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

__all__ = ["Fate", "Outcome"]


class Fate(Enum):
    """The fate of a label, with its HTTP status."""

    LEARNED = "learned", 201
    #: Compared with the prediction of a model that learns without labels.
    SCORED = "scored", 201
    #: Waits for the window of its event to close.
    COLLECTED = "collected", 202
    #: Arrived before its event.
    PARKED = "parked", 202
    DUPLICATE = "duplicate", 200
    CONFLICT = "conflict", 409
    UNKNOWN = "unknown", 404
    LATE = "late", 410
    #: Arrived late; kept but not learned.
    DEAD_LETTER = "dead_letter", 202
    QUARANTINED = "quarantined", 422
    #: Parked, but its event did not arrive in time.
    EXPIRED = "expired", 410
    #: Created by the server when a window closes without a label; not received from a client.
    DEFAULT = "default", 201

    def __init__(self, word: str, status: int) -> None:
        self.word = word
        self.status = status


class Outcome(NamedTuple):
    """A fate, the record that decided it, and the reason if it was refused."""

    fate: Fate
    seq: int = 0
    reason: str = ""
