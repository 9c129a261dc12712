"""What a monitor tells of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Event"]


@dataclass(frozen=True)
class Event:
    """One thing that a detector brought to light.

    `kind` says whether it is "real" (errors have changed, so p(y|x) has), "virtual" (rows have changed, so p(x)
    has) or "both". `row`, counted from 0, is the row with which it came to light, and `since` the one with which
    the change is believed to have begun. `direction` is which way errors went: "up" is harm, and "down" a model
    that got better. `detector` found it, and `features` moved. `seen` is how many rows had come by then.
    """

    #: "real": errors have changed, so p(y|x) has. "virtual": rows have changed, so p(x) has. "both".
    kind: str
    #: The row, counted from 0, with which it came to light; of an error, the row that was predicted.
    row: int
    #: The row with which the change is believed to have begun; None where the detector does not say.
    since: int | None
    #: Which way errors went, "up" or "down" (the model got better); None where the detector does not say.
    direction: str | None
    #: The detector that found it, by name.
    detector: str
    #: The features that moved, the most moved first; empty for real drift.
    features: tuple[Any, ...] = ()
    #: Rows that had been seen by then: with late labels, more than `row`.
    seen: int = 0
