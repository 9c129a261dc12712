"""Laws of sample weights, for classes whose `learn_one` accepts `w`."""

from __future__ import annotations

import math
from typing import Any

from millstream._echo import quoted
from millstream.testing.law import broken, law
from millstream.testing.subject import Subject

#: Weights that must be refused.
BAD: list[Any] = [-1.0, math.nan, math.inf, "2", [1.0]]


@law("weights")
def weights_are_learned_or_refused(subject: Subject) -> None:
    """A weight of 1 changes nothing and others are learned; a class without weights refuses them in one line."""
    if subject.takes_weights:
        plain, weighted = subject.fresh(), subject.fresh()
        for x, y in subject.examples:
            subject.learn(plain, dict(x), y)
            subject.learn(weighted, dict(x), y, 1.0)
        subject.expect_same(weighted, plain, "a weight of 1 to be no weight")
        state = subject.unchanged(weighted)
        if subject.refuses(lambda: subject.learn(weighted, *subject.examples[0], 2.0), "a weight of 2"):
            state.check("a weight was refused")
            return
        for x, y in subject.examples:
            subject.learn(weighted, dict(x), y, 0.5)
            subject.check_answers(weighted, x)
    elif subject.has("learn_many") and subject.learns_target:
        model = subject.taught(subject.fresh(), subject.examples[:5])
        state = subject.unchanged(model)
        y = [y for _, y in subject.examples]
        learn = lambda: subject.call(model, "learn_many", subject.rows, y, [2.0] * len(y))  # noqa: E731
        if not subject.refuses(learn, "weights"):
            broken("weights to be refused, because learn_one takes none", "no error")
        state.check("weights were refused")


@law("weight zero", lambda subject: subject.takes_weights)
def weight_zero_teaches_nothing(subject: Subject) -> None:
    """An example of weight 0 teaches nothing."""
    model, twin = (subject.taught(subject.fresh(), subject.examples[:10]) for _ in range(2))
    # Compared after each example: class counts that ignore weights differ now, but may be in balance at the end.
    for x, y in subject.examples[10:]:
        subject.learn(model, dict(x), y, 0.0)
        subject.expect_same(model, twin, "a weight of 0 to teach nothing")
    # A majority changes only after several examples of one class.
    for x, y in subject.examples[:4]:
        for _ in range(15):
            subject.learn(model, dict(x), y, 0.0)
        subject.expect_same(model, twin, "a weight of 0 to teach nothing")
    for x, y in subject.examples[:10]:
        subject.learn(model, dict(x), y)
        subject.learn(twin, dict(x), y)
    subject.expect_same(model, twin, "a weight of 0 to teach nothing, also for what comes after")


@law("bad weights", lambda subject: subject.takes_weights)
def bad_weights_are_refused(subject: Subject) -> None:
    """A negative, infinite or missing weight is refused in one line and leaves the model as it was."""
    model = subject.taught(subject.fresh(), subject.examples[:10])
    state = subject.unchanged(model)
    x, y = subject.examples[11]
    for w in BAD:
        if not subject.refuses(lambda w=w: subject.learn(model, dict(x), y, w), f"the weight {quoted(w)}"):  # type: ignore[misc]
            broken(f"the weight {quoted(w)} to be refused with a ValueError or TypeError", "no error")
        state.check(f"the weight {quoted(w)} was refused")
