"""A stream of events and labels: the events that wait for labels, the labels that wait for events, and counts."""

from __future__ import annotations

import json
import math
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Callable
from statistics import fmean, median
from typing import Any, NamedTuple

from millstream import _core
from millstream.errors import InvalidValue
from millstream.serve.fates import Fate
from millstream.serve.policy import LabelPolicy

__all__ = [
    "DEFERRED",
    "DELAY_BOUNDS",
    "LABELLED",
    "WAITING",
    "Collected",
    "Entry",
    "ParkedLabel",
    "Stream",
    "aggregated",
]

#: States of a remembered event.
WAITING, LABELLED = 0, 1
#: Predicted with `defer`: the prediction may not have been used, so it is not learned unless it is activated.
DEFERRED = 2

#: Upper bounds in seconds of the delays between events and their labels: from 1 second to 30 days.
DELAY_BOUNDS = (1, 5, 15, 60, 300, 900, 3600, 4 * 3600, 12 * 3600, 86400, 3 * 86400, 7 * 86400, 30 * 86400)

#: Maximum number of refused labels that are kept with their reasons.
_MOST_QUARANTINED = 1000
#: Characters of a label in the quarantine.
_LONGEST_SHOWN = 200


class Entry(NamedTuple):
    """A remembered event: the record that holds it, its item in a batch, its time, and its label's record."""

    seq: int
    item: int
    time: int
    state: int
    label_seq: int


class ParkedLabel(NamedTuple):
    """A label that arrived before its event."""

    y: Any
    w: float
    seq: int
    time: int


class Collected(NamedTuple):
    """A label that waits for the window of its event to close."""

    y: Any
    w: float
    seq: int
    at: Any


class Stream:
    """The live join of one model or route.

    An event is remembered for twice its window: while the window is open, it waits for its label; afterwards, a
    late or repeated label can still be distinguished from an unknown one.
    """

    def __init__(self, number: int, name: str, policy: LabelPolicy) -> None:
        self.number = number
        self.name = name
        self.policy = policy
        self.pending = _core.PendingEvents()
        self.parked: dict[str, ParkedLabel] = {}
        self.collected: dict[tuple[int, int], list[Collected]] = {}
        self.quarantine: deque[dict[str, Any]] = deque(maxlen=_MOST_QUARANTINED)
        self.predictions = 0
        self.examples = 0
        self.received = 0
        self.fates: Counter[str] = Counter()
        #: The last event whose window was closed, as record and item.
        self.closed_to = (0, 0)
        #: Events whose window closed without a label.
        self.closed = 0
        #: Sum and count of the delays between events and their labels, in milliseconds.
        self.delays = [0, 0]
        #: The same delays in the buckets of `DELAY_BOUNDS`.
        self.delay_counts = [0] * (len(DELAY_BOUNDS) + 1)
        #: Number of quarantined entries by kind, including dropped ones.
        self.refusals: Counter[str] = Counter()

    def count(self, fate: Fate, labels: int = 1) -> None:
        """Count the final fate of labels."""
        self.fates[fate.word] += labels

    def joined(self, delay: int) -> None:
        """Count the delay of a label in milliseconds."""
        delay = max(delay, 0)
        self.delays[0] += delay
        self.delays[1] += 1
        self.delay_counts[bisect_left(DELAY_BOUNDS, delay / 1000)] += 1

    def learned(self, run: _core.LabelRun) -> None:
        """Count labels that were received and learned together."""
        self.received += run.learned
        self.fates[Fate.LEARNED.word] += run.learned
        self.delays[0] += run.delay
        self.delays[1] += run.learned
        self.delay_counts = [mine + more for mine, more in zip(self.delay_counts, run.delay_counts, strict=True)]

    def refuse(
        self, id: str | None, seq: int, time: int, reason: str, y: Any = None, *, kind: str = "unlearnable"
    ) -> None:
        """Keep a label that could not be learned, with the reason. `kind` is a word from a small set."""
        self.refusals[kind] += 1
        self.quarantine.append({"id": id, "seq": seq, "time": time, "reason": reason[:500], "y": _shown(y)})

    def settle(self, event: tuple[int, int], fate: Fate) -> None:
        """Give the collected labels of an event a final fate; nothing waits for its window any more."""
        labels = self.collected.pop(event, ())
        if labels:
            self.count(fate, len(labels))

    @property
    def waiting_labels(self) -> int:
        """Received labels without a final fate: parked and collected ones."""
        return len(self.parked) + sum(map(len, self.collected.values()))

    def has_due(self, now: int) -> bool:
        """Whether a window or a parked label is over at a time, so that the time must be written to the log."""
        if self.parked and now - next(iter(self.parked.values())).time > self.policy.early_window_ms:
            return True
        return self.policy.acts_on_close and bool(
            self.pending.after(*self.closed_to, now - self.policy.window_ms, 1)
        )

    def status(self) -> dict[str, Any]:
        """Counts for reports. The received labels are the sum of the fates and the waiting labels."""
        collected = sum(map(len, self.collected.values()))
        fates = {fate.word: self.fates.get(fate.word, 0) for fate in Fate}
        default = fates.pop(Fate.DEFAULT.word)
        fates |= {Fate.PARKED.word: len(self.parked), Fate.COLLECTED.word: collected}
        labelled, total = self.delays[1], self.delays[0]
        return {
            "predictions": self.predictions,
            "received": self.received,
            "fates": fates,
            "default_labels": default,
            "remembered": len(self.pending),
            "closed_without_label": self.closed,
            "quarantined": len(self.quarantine),
            "mean_delay": total / labelled / 1000 if labelled else None,
        }

    def snapshot(self) -> tuple[dict[str, Any], dict[str, bytes]]:
        """The state as plain data and bytes."""
        data = {
            "number": self.number,
            "name": self.name,
            "policy": self.policy.describe(),
            "quarantine": list(self.quarantine),
            "predictions": self.predictions,
            "examples": self.examples,
            "received": self.received,
            "fates": dict(self.fates),
            "closed": self.closed,
            "closed_to": self.closed_to,
            "delays": self.delays,
            "delay_counts": self.delay_counts,
            "refusals": dict(self.refusals),
        }
        # Labels that wait may be many, and a header is limited.
        waiting = {
            "parked": [[id, *label] for id, label in self.parked.items()],
            "collected": [[*key, [list(each) for each in labels]] for key, labels in self.collected.items()],
        }
        return data, {"pending": self.pending.to_bytes(), "waiting": json.dumps(waiting).encode()}

    @classmethod
    def restored(cls, data: dict[str, Any], parts: dict[str, bytes]) -> Stream:
        """The stream of a snapshot."""
        stream = cls(data["number"], data["name"], LabelPolicy.of(data["policy"]))
        stream.pending = _core.PendingEvents.from_bytes(parts["pending"])
        waiting = json.loads(parts["waiting"])
        stream.parked = {each[0]: ParkedLabel(*each[1:]) for each in waiting["parked"]}
        stream.collected = {
            (each[0], each[1]): [Collected(*one) for one in each[2]] for each in waiting["collected"]
        }
        stream.quarantine.extend(data["quarantine"])
        for name in ("predictions", "examples", "received", "closed"):
            setattr(stream, name, data[name])
        stream.closed_to = (data["closed_to"][0], data["closed_to"][1])
        stream.fates, stream.delays = Counter(data["fates"]), list(data["delays"])
        stream.delay_counts, stream.refusals = list(data["delay_counts"]), Counter(data["refusals"])
        return stream


def _shown(y: Any) -> Any:
    """A label for a report: a long or non-finite one as a short string, so that a report stays small."""
    if y is None or isinstance(y, bool) or (isinstance(y, (int, float)) and abs(y) < 1e300):
        return y
    text = y if isinstance(y, str) else repr(y)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


_AGGREGATES: dict[str, Callable[[list[float]], float]] = {
    "sum": sum,
    "mean": fmean,
    "min": min,
    "max": max,
    "median": median,
}


def aggregated(labels: list[Collected], how: str) -> tuple[Any, float]:
    """Combine several labels and weights."""
    if how in ("first", "last"):
        chosen = labels[0 if how == "first" else -1]
        return chosen.y, chosen.w
    try:
        numbers = [float(label.y) for label in labels]
    except (TypeError, ValueError, OverflowError):
        raise InvalidValue(f"policy.aggregate={how!r} needs numeric labels") from None
    try:
        value = _AGGREGATES[how](numbers)
    except OverflowError:
        value = math.inf
    if not math.isfinite(value):
        raise InvalidValue(f"policy.aggregate={how!r}: the {how} of the labels overflows")
    return value, max(label.w for label in labels)
