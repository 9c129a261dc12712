"""A threshold for the scores of an automatic judge."""

from __future__ import annotations

import functools
import itertools
from collections import deque
from typing import Any, NamedTuple

import numpy as np

from millstream._echo import quoted, typed
from millstream.bandit.base import finite_number
from millstream.errors import InvalidType, InvalidValue
from millstream.llm.saved import MOST_COUNTED, Saved

__all__ = ["JudgeThreshold", "Verdict"]

_NAME = "llm.JudgeThreshold"
_LEAST_ERROR = 1e-6
_MOST = 10_000_000
#: Fraction of the range by which the threshold falls for each rejected response, if no label is pending.
_SEARCH = 0.001
#: Fraction of the allowance that the target number of errors keeps in reserve.
_RESERVE = 0.1
#: Fraction of the range by which it falls for each label, if all labels allow it and none is pending.
_BEYOND = 0.01


class Verdict(NamedTuple):
    """A decision of `JudgeThreshold`."""

    #: Whether the response is accepted without review.
    accepted: bool
    #: The threshold with which the score was compared.
    threshold: float
    #: The id under which the label is learned.
    id: int


class JudgeThreshold(Saved):
    """Accepts responses by the score of an automatic judge and bounds the accepted errors, even under drift.

    Responses with a score of at least `threshold` are accepted; a person reviews the others. Labels (correct or
    not) may arrive late and in any order. Labels of rejected responses help but are not required.

    The threshold is the lowest one that the newest labels allow, as in conformal risk control: of the labelled
    responses above it, plus one additional error, at most a fraction `max_error` is wrong. The fraction is lower
    while past errors exceed it. This alone does not bound the errors under drift. While more than half of
    `allowance` is used up, there is therefore a second threshold, the guard, as in adaptive conformal inference.
    It starts at the threshold, rises by `1 - max_error` steps for each wrong response, and falls by `max_error`
    steps for each correct one. The larger of the two thresholds applies.

    **Guarantee.** Let n be the number of accepted responses with known labels, and e the number of errors among
    them. At all times, for every sequence of scores and labels and without further assumptions,

        e ≤ bound = max_error · n + allowance + probe · rejected + late

    where `late` is the largest number of accepted responses that waited for their labels at the same time. The
    error rate therefore exceeds `max_error` by at most (allowance + probe · rejected + late) / n, and usually by
    much less. Accepted responses whose labels never arrive are not counted: label all of them, or a random
    sample. The guarantee holds for the responses so far; it is not a probability for the next one. It does not
    bound the number of rejections: if scores carry no information, almost nothing is accepted.

    Parameters
    ----------
    max_error
        Largest fraction of errors among accepted responses.
    allowance
        Number of errors allowed beyond that fraction. Larger values make the steps of the guard smaller.
    probe
        Number of additional errors allowed per rejected response, so that the threshold can fall again after a
        judge has improved; 0 for none. None stands for a hundredth of `max_error`.
    window_size
        Number of newest labels from which the threshold is chosen.
    score_range
        Lowest and highest score of the judge.
    threshold
        Initial threshold; None for the middle of the range.
    max_pending
        Number of later responses after which a response without a label is dropped and counted in `dropped`.

    Examples
    --------
    >>> import random
    >>> from millstream import llm
    >>> judge, draw = llm.JudgeThreshold(max_error=0.1), random.Random(0)
    >>> for _ in range(20000):
    ...     score = draw.random()
    ...     verdict = judge.decide_one(score)
    ...     if verdict.accepted:
    ...         judge.learn_one(verdict.id, draw.random() < score)
    >>> judge.errors <= judge.bound, round(judge.error_rate, 2)
    (True, 0.1)
    >>> round(judge.accepted / judge.decided, 1)
    0.2

    References
    ----------
    Gibbs, I. and Candès, E. (2021). Adaptive conformal inference under distribution shift. NeurIPS.
    Feldman, S., Ringel, L., Bates, S. and Romano, Y. (2023). Achieving risk control in online learning settings.
    Angelopoulos, A. N., Bates, S., Fisch, A., Lei, L. and Schuster, T. (2024). Conformal risk control. ICLR.
    """

    name = _NAME

    def __init__(
        self,
        max_error: float = 0.05,
        allowance: float = 50.0,
        probe: float | None = None,
        window_size: int = 500,
        score_range: tuple[float, float] | list[float] = (0.0, 1.0),
        threshold: float | None = None,
        max_pending: int = 100_000,
    ) -> None:
        self.max_error = _within("max_error", max_error, _LEAST_ERROR, 1.0)
        self.allowance = _within("allowance", allowance, 5.0, 1e9)
        self.probe = None if probe is None else _within("probe", probe, 0.0, 1.0)
        self.window_size = _integer("window_size", window_size)
        self.max_pending = _integer("max_pending", max_pending)
        if not isinstance(score_range, (list, tuple)) or len(score_range) != 2:
            raise InvalidValue(f"{_NAME}: score_range must be (lowest, highest), got {quoted(score_range)}")
        low, high = (finite_number(_NAME, "score_range", number) for number in score_range)
        if not low < high or not np.isfinite(high - low):
            raise InvalidValue(f"{_NAME}: score_range must be (lowest, highest), got {quoted(score_range)}")
        self.score_range = (low, high)
        if threshold is not None and not low <= finite_number(_NAME, "threshold", threshold) <= high:
            raise InvalidValue(f"{_NAME}: threshold must be in [{low:g}, {high:g}], got {quoted(threshold)}")
        self._step = (high - low) / (self.allowance / 2.0 - 2.0)
        self._rate = self.max_error / 100.0 if self.probe is None else self.probe
        self._first = None if threshold is None else float(threshold)
        # The threshold that the newest labels allow, and the guard; None while half of the allowance is left.
        self._base = (low + high) / 2.0 if threshold is None else float(threshold)
        self._guard: float | None = None
        #: Numbers of responses that were decided, and accepted.
        self.decided = self.accepted = 0
        #: Numbers of accepted responses whose label is known, and of errors among them.
        self.labelled = self.errors = 0
        #: Number of labels of rejected responses.
        self.reviewed = 0
        #: Number of accepted responses that were dropped without a label.
        self.dropped = 0
        #: The largest number of accepted responses that waited for their labels at the same time.
        self.late = 0
        # Scores of responses without a label, and whether they were accepted.
        self._open: dict[int, tuple[float, bool]] = {}
        self._waiting = 0
        # Scores of the newest responses with a label, and 1 for a wrong one.
        self._newest: deque[tuple[float, float]] = deque(maxlen=self.window_size)

    @property
    def parameters(self) -> dict[str, Any]:
        """The constructor's arguments."""
        names = ("max_error", "allowance", "probe", "window_size", "score_range", "max_pending")
        found = {name: getattr(self, name) for name in names}
        return {**found, "score_range": list(self.score_range), "threshold": self._first}

    @property
    def threshold(self) -> float:
        """The lowest accepted score."""
        return self._base if self._guard is None else max(self._base, self._guard)

    @property
    def pending(self) -> int:
        """Number of accepted responses that wait for their labels."""
        return self._waiting

    @property
    def error_rate(self) -> float:
        """Fraction of errors among accepted responses whose label is known; 0 without any."""
        return self.errors / self.labelled if self.labelled else 0.0

    @property
    def bound(self) -> float:
        """The largest number of errors so far that the guarantee allows."""
        extra = self.allowance + self._rate * (self.decided - self.accepted) + self.late
        return self.max_error * self.labelled + extra

    def decide_one(self, score: float) -> Verdict:
        """Accept or reject a response by its score. Its label is learned later by `learn_one(id, correct)`."""
        number = finite_number(_NAME, "score", score)
        low, high = self.score_range
        if not low <= number <= high:
            raise InvalidValue(f"{_NAME}: the score must be in [{low:g}, {high:g}] (score_range), got {number:g}")
        threshold, key = self.threshold, self.decided
        accepted = number >= threshold
        self.decided += 1
        if accepted:
            self.accepted += 1
            self._waiting += 1
            self.late = max(self.late, self._waiting)
        else:
            # The labels may be out of date if nothing has been accepted for a long time.
            self._base = max(self._base - _SEARCH * (high - low) / (1 + self._waiting), low)
            if self._guard is not None:
                self._guard = max(self._guard - self._step * self._rate, low)
        self._open[key] = (number, accepted)
        self._drop(key - self.max_pending)
        return Verdict(accepted, threshold, key)

    def _drop(self, last: int) -> None:
        """Drop responses with ids up to `last`."""
        while self._open and (oldest := next(iter(self._open))) <= last:
            if self._open.pop(oldest)[1]:
                self._waiting -= 1
                self.dropped += 1

    def learn_one(self, id: int | Verdict, correct: bool) -> None:  # noqa: A002
        """Learn whether a response was correct, at any later time."""
        key = id.id if isinstance(id, Verdict) else id
        if isinstance(key, bool) or not isinstance(key, (int, np.integer)):
            raise InvalidType(f"{_NAME}: the id of a verdict must be an integer, got {typed(id)}")
        if not isinstance(correct, (bool, int, float, np.number, np.bool_)) or correct not in (0, 1):
            raise InvalidType(f"{_NAME}: correct must be True or False, got {typed(correct)}")
        if key not in self._open:
            known = 0 <= key < self.decided
            reason = "has its label already, or was dropped" if known else f"was never given ({self.decided} were)"
            raise InvalidValue(f"{_NAME}: verdict {quoted(key)} {reason}")
        score, accepted = self._open.pop(int(key))
        wrong = float(not correct)
        if accepted:
            self._waiting -= 1
            self._guard_against(wrong)
        else:
            self.reviewed += 1
        self._newest.append((score, wrong))
        self._choose()

    def _guard_against(self, wrong: float) -> None:
        """Count the label of an accepted response, and move the guard."""
        before = self.threshold
        self.labelled += 1
        self.errors += int(wrong)
        if self.errors <= self.max_error * self.labelled + self.allowance / 2.0:
            self._guard = None
            return
        guard = before if self._guard is None else self._guard
        self._guard = max(guard + self._step * (wrong - self.max_error), self.score_range[0])

    def _choose(self) -> None:
        """Find the lowest threshold that the newest labels allow."""
        low, high = self.score_range
        labels = np.array(self._newest)
        order = np.argsort(-labels[:, 0], kind="stable")
        scores, count = labels[order, 0], np.arange(1, len(labels) + 1)
        # Excess errors, plus the reserve, lower the target for a window, to half of `max_error` at least.
        reserve = _RESERVE * min(self.allowance, self.max_error * self.labelled)
        owed = max(self.errors + reserve - self.max_error * self.labelled, 0.0) / self.window_size
        target = max(self.max_error - owed, self.max_error / 2.0)
        allowed = np.cumsum(labels[order, 1]) + 1.0 <= target * (count + 1)
        # A threshold accepts all answers with its score.
        allowed[:-1] &= scores[:-1] != scores[1:]
        found = np.flatnonzero(allowed)
        if len(found) == 0:
            if len(labels) * target >= 2.0:
                self._base = min(float(np.nextafter(scores[0], np.inf)), high)
        elif found[-1] + 1 == len(labels):
            # All labels allow it, and lower scores may be correct too; pending labels reduce the step.
            lowest = min(self._base, float(scores[-1]))
            self._base = max(lowest - _BEYOND * (high - low) / (1 + self._waiting), low)
        else:
            self._base = float(scores[found[-1]])

    _COUNTS = ("decided", "accepted", "labelled", "errors", "reviewed", "dropped", "late")

    def _count(self) -> int:
        return self.labelled

    def _state(self) -> dict[str, Any]:
        counts = {name: getattr(self, name) for name in self._COUNTS}
        waiting = [[key, score, accepted] for key, (score, accepted) in self._open.items()]
        newest = [list(label) for label in self._newest]
        return {"counts": counts, "base": self._base, "guard": self._guard, "open": waiting, "newest": newest}

    def _adopt(self, state: dict[str, Any]) -> None:
        counts = {name: int(state["counts"][name]) for name in self._COUNTS}
        self._base = finite_number(_NAME, "threshold", state["base"])
        guard = state["guard"]
        self._guard = None if guard is None else finite_number(_NAME, "guard", guard)
        score = functools.partial(finite_number, _NAME, "score")
        self._open = {int(key): (score(number), bool(accepted)) for key, number, accepted in state["open"]}
        self._waiting = sum(accepted for _, accepted in self._open.values())
        self._newest.extend((score(number), float(wrong == 1.0)) for number, wrong in state["newest"])
        keys = list(self._open)
        ordered = all(one < other for one, other in itertools.pairwise(keys))
        inside = not keys or (keys[0] >= 0 and keys[-1] < counts["decided"] and len(keys) <= self.max_pending)
        settled = counts["labelled"] + counts["dropped"] + self._waiting == counts["accepted"]
        sound = counts["errors"] <= counts["labelled"] and counts["accepted"] <= counts["decided"]
        if not (
            ordered
            and inside
            and settled
            and sound
            and 0 <= min(counts.values()) <= max(counts.values()) <= MOST_COUNTED
        ):
            raise ValueError("counts")
        self.__dict__.update(counts)

    def __repr__(self) -> str:
        return f"JudgeThreshold(max_error={self.max_error:g})"


def _within(name: str, value: Any, low: float, high: float) -> float:
    number = finite_number(_NAME, name, value)
    if not low <= number <= high:
        raise InvalidValue(f"{_NAME}: {name} must be in [{low:g}, {high:g}], got {number:g}")
    return number


def _integer(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _MOST:
        raise InvalidValue(f"{_NAME}: {name} must be an integer in [1, {_MOST:,}], got {quoted(value)}")
    return value
