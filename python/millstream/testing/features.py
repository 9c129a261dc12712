"""Laws of features: unusual examples are learned, or refused without side effects."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from millstream._echo import quoted
from millstream.testing.answers import check_answer
from millstream.testing.law import law
from millstream.testing.subject import Subject

_BAD: list[Any] = [math.inf, -math.inf, [1.0], (1.0,), {"nested": 1.0}, b"bytes", 1j, object()]
_HUGE = (1e308, -1e308, 1.7976931348623157e308, 1e200, 5e-324)


def _bring(subject: Subject, model: Any, x: dict[Any, Any], y: Any, what: str) -> None:
    """Predict and learn an odd example. If it is refused, nothing changes; else predictions stay finite."""
    state = subject.unchanged(model)

    def ask(verb: str) -> None:
        check_answer(subject.role, verb, subject.call(model, verb, dict(x)), subject.is_complete(x))

    for verb in subject.asks:
        subject.refuses(lambda verb=verb: ask(verb), f"{what} in {verb}")  # type: ignore[misc]
    state.check(f"predicting {what}")
    if subject.refuses(lambda: subject.learn(model, dict(x), y), what):
        state.check(f"{what} was refused")
    for known in subject.rows[:4]:
        subject.check_answers(model, known)


def _replaced(subject: Subject, values: Iterable[Any], what: str, learned: int = 10) -> None:
    """Examples in which one feature, a known or a new one, has an odd value."""
    names = list(subject.rows[0])
    for value in values:
        model = subject.taught(subject.fresh(), subject.examples[:learned])
        for place, (x, y) in enumerate(subject.examples[10:12]):
            _bring(subject, model, {**x, names[place % len(names)]: value}, y, f"{what} {quoted(value)}")
        x, y = subject.examples[0]
        _bring(subject, model, {**x, "new": value}, y, f"{what} {quoted(value)}")


@law("features")
def features_come_and_go(subject: Subject) -> None:
    """Features may appear, vanish and return, or are refused in one line, which leaves the model as it was."""
    model = subject.taught(subject.fresh(), subject.examples[:5])
    names = list(subject.rows[0])
    for place, (x, y) in enumerate(subject.examples[5:]):
        kept = names[place % len(names)]
        for odd in (
            {name: value for name, value in x.items() if name != kept},
            {kept: x.get(kept, 0.0)},
            {**x, "new": float(place)},
            {},
        )[place % 4 :][:1]:
            _bring(subject, model, odd, y, f"features {quoted(list(odd))}")
        subject.learn(model, dict(x), y)
    first = subject.fresh()
    for odd in ({}, subject.rows[0]):
        _bring(subject, first, odd, subject.examples[0][1], f"features {quoted(list(odd))}")


@law("missing")
def values_may_be_missing(subject: Subject) -> None:
    """Missing values (None, NaN) are learned, or refused in one line, which leaves the model as it was."""
    _replaced(subject, [None, math.nan], "a missing value")
    _replaced(subject, [None, math.nan], "a missing value", learned=0)


@law("strings")
def values_may_be_strings(subject: Subject) -> None:
    """Strings and truth values are learned, or refused in one line, which leaves the model as it was."""
    _replaced(subject, ["text", "", True], "the value")


@law("bad features")
def bad_features_do_no_harm(subject: Subject) -> None:
    """An infinite, nested or wrong-type value is refused in one line, or does not harm later predictions."""
    _replaced(subject, _BAD, "the value")


@law("huge numbers")
def huge_numbers_do_no_harm(subject: Subject) -> None:
    """Numbers near the largest float are refused in one line, or later predictions stay finite."""
    for value in _HUGE:
        model = subject.taught(subject.fresh(), subject.examples[:10])
        for place, (x, y) in enumerate(subject.examples[10:20]):
            sign = -1.0 if place % 2 else 1.0
            odd = {name: sign * value if isinstance(old, float) else old for name, old in x.items()}
            _bring(subject, model, odd, y, f"values of {value}")


@law("examples")
def examples_are_dicts(subject: Subject) -> None:
    """An example that is not a dict is refused and leaves the model as it was, or does no harm."""
    model = subject.taught(subject.fresh(), subject.examples[:10])
    y = subject.examples[0][1]
    for x in (None, 3.0, "text", [1.0, 2.0]):
        state = subject.unchanged(model)
        try:
            subject.learn(model, x, y)
        except Exception:
            state.check(f"the example {quoted(x)} was refused")
        subject.check_answers(model, subject.rows[0])
