"""Label policies: how long labels may take, and when they are learned."""

from __future__ import annotations

import math
import re
from dataclasses import asdict, dataclass, fields
from datetime import timedelta
from functools import cached_property
from typing import Any, Self

from millstream._echo import quoted, typed
from millstream.errors import InvalidType, InvalidValue

__all__ = ["AGGREGATES", "LabelPolicy", "milliseconds"]

AGGREGATES = ("first", "last", "sum", "mean", "min", "max", "median")
_LEARN_WHEN = ("on_label", "on_window_close")
_LATE = ("drop", "learn", "dead_letter")

_UNITS = {"": 1000, "ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
#: The maximum span is a century, so that sums of two times stay far below 2**63.
_LONGEST = 100 * 366 * _UNITS["d"]


def milliseconds(who: str, span: Any) -> int:
    """Convert a time span to milliseconds: a timedelta, a number of seconds, or a string such as "7d" or "90s"."""
    if isinstance(span, timedelta):
        given = span / timedelta(milliseconds=1)
    elif isinstance(span, str):
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|)", span.strip())
        if match is None:
            raise InvalidValue(f'{who} must be a number of seconds or a string such as "7d", got {quoted(span)}')
        given = float(match[1]) * _UNITS[match[2]]
    elif isinstance(span, (int, float)) and not isinstance(span, bool):
        given = span * 1000 if abs(span) < _LONGEST else math.inf
    else:
        raise InvalidType(f'{who} must be a number of seconds or a string such as "7d", got {typed(span)}')
    if not 0 <= given <= _LONGEST:
        raise InvalidValue(f"{who} must be between 0 and 100 years, got {span}")
    return round(given)


@dataclass(frozen=True)
class LabelPolicy:
    """Determines how labels are joined with events.

    Parameters
    ----------
    window
        How long an event waits for its label: a number of seconds, a timedelta, or a string such as "7d". The
        attribute is in seconds.
    early_window
        How long a label waits for its event. With 0, a label of an unknown event is refused.
    default_label
        The label of an event whose window closed without one; None learns nothing.
    aggregate
        How several labels of one event are combined: "first" refuses further labels; "last", "sum", "mean", "min",
        "max" and "median" require `learn_when="on_window_close"`.
    learn_when
        "on_label", or "on_window_close", which avoids a bias towards labels that arrive early.
    late
        What to do with a label that arrives after the window: "drop" refuses it, "learn" learns it if the event is
        still known, "dead_letter" keeps it without learning it.
    max_pending
        Maximum number of events that a stream remembers. The oldest ones are evicted first.
    max_parked
        Maximum number of labels that wait for their event.

    Examples
    --------
    >>> from millstream import serve
    >>> policy = serve.LabelPolicy(window="1h", default_label=False)
    >>> policy.window
    3600.0
    """

    window: Any = "7d"
    early_window: Any = 0
    default_label: Any = None
    aggregate: str = "first"
    learn_when: str = "on_label"
    late: str = "drop"
    max_pending: int = 1_000_000
    max_parked: int = 10_000

    @classmethod
    def of(cls, given: Any) -> Self:
        """A policy from keyword arguments or from the JSON of a request. Time spans are in seconds or
        strings."""
        if isinstance(given, cls):
            return given
        if given is None:
            return cls()
        if not isinstance(given, dict):
            raise InvalidType(f"policy must be an object, got {typed(given)}")
        names = [field.name for field in fields(cls)]
        for name in given:
            if name not in names:
                raise InvalidValue(f"policy: unknown setting {quoted(str(name))}; settings are {', '.join(names)}")
        return cls(**given)

    def __post_init__(self) -> None:
        for name in ("window", "early_window"):
            object.__setattr__(self, name, milliseconds(f"policy.{name}", getattr(self, name)) / 1000)
        for name, allowed in (("aggregate", AGGREGATES), ("learn_when", _LEARN_WHEN), ("late", _LATE)):
            if getattr(self, name) not in allowed:
                found = quoted(str(getattr(self, name)))
                raise InvalidValue(f"policy.{name} must be one of {', '.join(allowed)}, got {found}")
        for name, most in (("max_pending", 100_000_000), ("max_parked", 10_000_000)):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
                raise InvalidValue(f"policy.{name} must be an integer between 1 and {most}, got {value!r}")
        if self.aggregate != "first" and self.learn_when != "on_window_close":
            raise InvalidValue(f'policy.aggregate={self.aggregate!r} needs learn_when="on_window_close"')

    @cached_property
    def window_ms(self) -> int:
        """The window in milliseconds, the unit of times in the log."""
        span: int = math.floor(self.window * 1000 + 0.5)
        return span

    @cached_property
    def early_window_ms(self) -> int:
        """The early window in milliseconds."""
        span: int = math.floor(self.early_window * 1000 + 0.5)
        return span

    @property
    def acts_on_close(self) -> bool:
        """Whether something is learned when a window closes."""
        return self.default_label is not None or self.learn_when == "on_window_close"

    def describe(self) -> dict[str, Any]:
        """The settings as JSON, with time spans in seconds; `LabelPolicy.of` reads them."""
        return asdict(self)
