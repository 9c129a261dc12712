"""Laws of prediction: it is deterministic and changes nothing."""

from __future__ import annotations

from millstream._echo import quoted
from millstream.testing.answers import same
from millstream.testing.law import broken, law
from millstream.testing.subject import Subject


@law("determinism")
def learns_the_same_again(subject: Subject) -> None:
    """Two models trained on the same examples make the same predictions."""
    one, other = subject.fresh(), subject.fresh()
    for x, y in subject.examples:
        got, wanted = subject.ask(one, x), subject.ask(other, x)
        if not same(got, wanted):
            expected = "the same prediction from two models trained on the same examples"
            broken(expected, f"{quoted(got)} and {quoted(wanted)}")
        subject.learn(one, dict(x), y)
        subject.learn(other, dict(x), y)
    subject.expect_same(one, other, "the same predictions from two models trained on the same examples")


@law("pure")
def predicting_changes_nothing(subject: Subject) -> None:
    """Predicting changes nothing that the model has learned."""
    for learned in (0, 1, len(subject.examples) - 10):
        model, twin = (subject.taught(subject.fresh(), subject.examples[:learned]) for _ in range(2))
        before = subject.saved(model)
        first = subject.ask_all(model)
        for x in subject.rows[::3]:
            subject.ask(model, x)
        call = subject.last_call
        if subject.saved(model) != before:
            broken("the model as it was after predicting", "another saved state", call)
        again = subject.ask_all(model)
        for one, other in zip(first, again, strict=True):
            if not same(one, other):
                broken("the same prediction again", f"{quoted(other)} instead of {quoted(one)}")
        rest = subject.examples[learned:]
        subject.taught(model, rest)
        subject.taught(twin, rest)
        subject.expect_same(model, twin, "a model that has made predictions to learn like one that has not")
