"""Laws of forecasters."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from millstream import evaluate
from millstream._echo import quoted
from millstream.testing.law import broken, law
from millstream.testing.series import SeriesSubject

#: Values that `learn_many` must refuse.
_BAD: list[Any] = [math.nan, None, math.inf, "text"]


@law("horizon")
def forecasts_any_horizon(subject: SeriesSubject) -> None:
    """`forecast(horizon)` returns `horizon` finite numbers, before learning and after every value."""
    model = subject.fresh()
    for y in (None, *subject.values):
        if y is not None:
            subject.learn(model, {}, y)
        for horizon in (1, 2, 30):
            subject.check_forecast(subject.call(model, "forecast", horizon), horizon)


@law("skip")
def missing_values_are_skipped(subject: SeriesSubject) -> None:
    """`skip_one` passes time steps without a value, also the first ones, and forecasts stay finite."""
    for learned in (0, 1, len(subject.examples) // 2):
        model = subject.taught(subject.fresh(), subject.examples[:learned])
        for _ in range(5):
            if subject.call(model, "skip_one") is not None:
                broken("None from skip_one", "a value")
            subject.check_answers(model, {})
        for y in subject.values[learned:]:
            subject.learn(model, {}, y)
            subject.check_answers(model, {})


@law("series", lambda subject: subject.has("learn_many"))
def a_series_is_a_loop(subject: SeriesSubject) -> None:
    """`learn_many` learns a list or an array of values as a loop does, for every cut."""
    one, values = subject.taught(subject.fresh(), subject.examples), subject.values
    for form, given in (("a list", values), ("a NumPy array", np.array(values))):
        for size in (1, 7, len(values)):
            many = subject.fresh()
            for start in range(0, len(values), size):
                subject.call(many, "learn_many", given[start : start + size])
            subject.expect_same(many, one, f"learn_many of {form} to learn as a loop does, in chunks of {size}")


@law("bad values", lambda subject: subject.has("learn_many"))
def a_bad_value_of_a_series(subject: SeriesSubject) -> None:
    """At a bad value, `learn_many` raises and restores the model, keeps earlier values ("stop"), or skips it."""
    bad = 7
    for value in _BAD:
        values: list[Any] = subject.values
        values[bad] = value
        model = subject.taught(subject.fresh(), subject.examples[:5])
        state = subject.unchanged(model)
        if not subject.refuses(lambda: subject.call(model, "learn_many", values), f"the value {quoted(value)}"):  # noqa: B023
            broken(f"learn_many to refuse the value {quoted(value)}", "no error")
        state.check("learn_many has refused a series")
        model, half = subject.fresh(), subject.taught(subject.fresh(), subject.examples[:bad])
        subject.refuses(lambda: subject.call(model, "learn_many", values, on_error="stop"), "a series")  # noqa: B023
        subject.expect_same(model, half, 'with on_error="stop" the values before learned')
        model, rest = subject.fresh(), half
        skipped = subject.call(model, "learn_many", values, on_error="skip")
        if skipped != 1:
            broken('1 skipped value with on_error="skip"', quoted(skipped))
        rest.skip_one()
        subject.taught(rest, subject.examples[bad + 1 :])
        subject.expect_same(model, rest, 'with on_error="skip" the value passed as by skip_one')


@law("rolling origin")
def can_be_evaluated(subject: SeriesSubject) -> None:
    """`evaluate.forecast` scores the forecaster, and leaves it in the same state as a loop."""
    evaluated, alone = subject.fresh(), subject.taught(subject.fresh(), subject.examples)
    subject.last_call = "evaluate.forecast(model, series, horizon=3)"
    evaluate.forecast(evaluated, subject.values, horizon=3)
    subject.expect_same(evaluated, alone, "evaluate.forecast to leave the model in the same state as a loop")
