"""An event of a monitor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Event"]


@dataclass(frozen=True)
class Event:
    """One change that a detector found.

    `kind` is "real" (errors rose, so p(y|x) has changed), "virtual" (rows changed, so p(x) has) or "both" for
    drift, and "improvement" where errors fell, which is not drift. `row`, counted from 0, is the row at which the
    change was found, and `since` the row at which it is estimated to have started. `direction` is that of the
    errors, "up" or "down". `detector` found the change, and `features` drifted. `seen` is the number of rows seen
    by then.
    """

    #: "real": errors rose, so p(y|x) has changed. "virtual": rows changed, so p(x) has. "both" of them. Or
    #: "improvement": errors fell, which is not drift.
    kind: str
    #: The row, counted from 0, at which the change was found; for an error, the row that was predicted.
    row: int
    #: The row at which the change is estimated to have started; None if the detector does not estimate it.
    since: int | None
    #: Direction of the errors, "up" or "down" (the model improved); None if the detector does not report it.
    direction: str | None
    #: Name of the detector that found it.
    detector: str
    #: The drifted features, most drifted first; empty for real drift and for improvements.
    features: tuple[Any, ...] = ()
    #: Rows seen by then: with late labels, more than `row`.
    seen: int = 0
