"""Laws of targets, and invalid targets by role."""

from __future__ import annotations

import math
from typing import Any

from millstream._echo import quoted
from millstream.roles import Truth
from millstream.testing.law import broken, law
from millstream.testing.subject import Subject

#: Targets that must be refused, by the type of truth.
BAD: dict[Truth, list[Any]] = {
    Truth.LABEL: [None, math.nan, [True], {"a": 1}],
    Truth.NUMBER: [math.nan, None, math.inf, -math.inf, "text", [1.0], {"a": 1}, 10**400],
    Truth.NONE: [],
}


@law("bad targets", lambda subject: bool(BAD[subject.role.truth]))
def bad_targets_are_refused(subject: Subject) -> None:
    """A missing, infinite, nested or wrong-type target is refused in one line and leaves the model as it was."""
    model = subject.taught(subject.fresh(), subject.examples[:10])
    state = subject.unchanged(model)
    for x in (subject.rows[0], subject.rows[11]):
        for y in BAD[subject.role.truth]:
            learn = lambda y=y: subject.learn(model, dict(x), y)  # noqa: B023, E731
            if not subject.refuses(learn, f"the target {quoted(y)}"):
                broken(f"the target {quoted(y)} to be refused with a ValueError or TypeError", "no error")
            state.check(f"the target {quoted(y)} was refused")


@law("unseen classes", lambda subject: subject.role.truth is Truth.LABEL)
def unseen_classes_are_learned_or_refused(subject: Subject) -> None:
    """A class first seen late is learned, or refused in one line, which leaves the model as it was."""
    model = subject.taught(subject.fresh(), subject.examples)
    state = subject.unchanged(model)
    for _ in range(3):
        if subject.refuses(lambda: subject.learn(model, dict(subject.rows[0]), "unseen"), "an unseen class"):
            state.check("an unseen class was refused")
            return
    for x in subject.rows[:6]:
        subject.check_answers(model, x)
