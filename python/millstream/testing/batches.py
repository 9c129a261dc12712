"""Laws of steps and batches: both are equivalent to a loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millstream._echo import quoted
from millstream.testing.answers import rows_of, same, shrunk
from millstream.testing.examples import forms
from millstream.testing.law import broken, law
from millstream.testing.subject import Subject
from millstream.testing.targets import BAD

#: Sizes of chunks: a few rows, and all at once.
_CHUNKS = (7, 1000)


def _targets(subject: Subject, start: int, stop: int) -> Any:
    return [y for _, y in subject.examples[start:stop]] if subject.learns_target else None


def _pieces(total: int, size: int) -> list[tuple[int, int]]:
    return [(start, min(start + size, total)) for start in range(0, total, size)]


def _compare(verb: str, form: str, size: int, got: Any, wanted: list[Any], rows: list[Any]) -> None:
    for place, (one, other) in enumerate(zip(rows_of(got), map(shrunk, wanted), strict=True)):
        # Columns of probabilities are in the order of the classes.
        if not same(one, other) and not same(sorted(one, key=repr), sorted(other, key=repr)):
            broken(
                f"from {verb} of {form} what a loop predicts, {quoted(other)}",
                quoted(one),
                f"row {place} in chunks of {min(size, len(wanted))}: {quoted(rows[place], 100)}",
            )


@law("step", lambda subject: subject.has("step_one"))
def steps_by_predicting_and_learning(subject: Subject) -> None:
    """`step_one` predicts and then learns."""
    stepped, apart = subject.fresh(), subject.fresh()
    ways = [verb for verb in ("predict_proba_one",) if verb in subject.asks]
    for place, (x, y) in enumerate(subject.examples):
        proba = bool(ways) and place % 2 == 1
        verb = ways[0] if proba else subject.role.asks[0]
        wanted = subject.call(apart, verb, dict(x))
        subject.learn(apart, dict(x), y)
        got = subject.call(stepped, "step_one", dict(x), y, **({"proba": True} if proba else {}))
        if not same(got, wanted):
            broken(f"from step_one what {verb} gave before learning, {quoted(wanted)}", quoted(got))
    subject.expect_same(stepped, apart, "step_one to learn as learn_one does")


@law("many", lambda subject: subject.has("learn_many"))
def many_is_a_loop(subject: Subject) -> None:
    """The verbs for many rows equal a loop over the verbs for one, for every form of batch and every cut."""
    for form, (batch, rows) in forms(subject.rows).items():
        _holds_for(subject, form, batch, rows)


def _holds_for(subject: Subject, form: str, batch: Callable[[int, int], Any], rows: list[dict[Any, Any]]) -> None:
    total = len(rows)
    one, said = subject.fresh(), []
    steps = subject.has("step_many")
    for x, (_, y) in zip(rows, subject.examples, strict=True):
        if steps:
            said.append(subject.call(one, subject.role.asks[0], dict(x)))
        subject.learn(one, dict(x), y)
    lessons = list(zip(rows, (y for _, y in subject.examples), strict=True))
    view = _View(subject, lessons)
    # Frames of one row are slow to create.
    for size in _CHUNKS if "frame" in form else (1, *_CHUNKS):
        learned, stepped, answers = subject.fresh(), subject.fresh(), []
        for start, stop in _pieces(total, size):
            y = _targets(subject, start, stop)
            subject.call(learned, "learn_many", batch(start, stop), *([] if y is None else [y]))
            if steps:
                answers += list(subject.call(stepped, "step_many", batch(start, stop), y))
        view.expect_same(learned, one, f"learn_many of {form} to learn as a loop does, in chunks of {size}")
        if steps:
            _compare("step_many", form, size, answers, said, rows)
            view.expect_same(stepped, one, f"step_many of {form} to learn as a loop does, in chunks of {size}")
    for verb in subject.asks:
        many = verb.replace("_one", "_many")
        if hasattr(one, many):
            for size in _CHUNKS:
                for start, stop in _pieces(total, size):
                    got = subject.call(one, many, batch(start, stop))
                    wanted = [subject.call(one, verb, dict(x)) for x in rows[start:stop]]
                    _compare(many, form, size, got, wanted, rows[start:stop])


class _View(Subject):
    """The same model, taught rows of another form whose features have other names."""

    def __init__(self, subject: Subject, lessons: list[Any]) -> None:
        self.__dict__.update(subject.__dict__)
        self.asks = subject.asks
        self.examples = lessons


@law("bad rows", lambda subject: subject.has("learn_many") and bool(BAD[subject.role.truth]))
def a_bad_row_of_a_batch(subject: Subject) -> None:
    """At a bad row, `learn_many` raises and restores the model, keeps the rows before ("stop"), or skips it."""
    bad, value = 7, BAD[subject.role.truth][0]
    rows, y = [dict(x) for x in subject.rows], _targets(subject, 0, len(subject.rows))
    y[bad] = value
    examples = subject.examples
    model = subject.taught(subject.fresh(), examples[:5])
    state = subject.unchanged(model)
    if not subject.refuses(lambda: subject.call(model, "learn_many", rows, y), "a batch with a bad target"):
        broken(f"learn_many to refuse the target {quoted(value)} of row {bad}", "no error")
    state.check("learn_many has refused a batch")
    model, half = (subject.taught(subject.fresh(), examples[:5]) for _ in range(2))
    subject.refuses(lambda: subject.call(model, "learn_many", rows, y, on_error="stop"), "a batch")
    subject.expect_same(
        model, subject.taught(half, examples[:bad]), 'with on_error="stop" the rows before learned'
    )
    model, rest = (subject.taught(subject.fresh(), examples[:5]) for _ in range(2))
    skipped = subject.call(model, "learn_many", rows, y, on_error="skip")
    if skipped != 1:
        broken('1 skipped row with on_error="skip"', quoted(skipped))
    subject.taught(rest, examples[:bad] + examples[bad + 1 :])
    subject.expect_same(model, rest, 'with on_error="skip" all other rows learned')
