"""Laws of verbs and their results."""

from __future__ import annotations

from millstream import verbs
from millstream._echo import quoted, typed
from millstream.base import Model
from millstream.testing.answers import most_probable
from millstream.testing.law import broken, law
from millstream.testing.subject import Subject

#: Verbs that a class may leave undefined: class probabilities.
_LEFT_OUT = {"predict_proba_one"}


@law("verbs")
def has_the_verbs_of_its_role(subject: Subject) -> None:
    """The model has the verbs of its role, and every verb that `hasattr` finds works."""
    model = subject.taught(subject.fresh(), subject.examples[:5])
    for verb in subject.role.verbs:
        if not callable(getattr(model, verb, None)) and (isinstance(model, Model) or verb in subject.role.asks):
            broken(f"the verb {verb} of {subject.role.phrase}", "none", "")
    x, y = subject.examples[0]
    for verb in sorted(verb for verb in verbs.VERBS if verb.endswith("_one") and hasattr(model, verb)):
        # The base class defines the missing verbs, which raise this error.
        inherited = any(getattr(type(model), verb, None) is vars(family).get(verb) for family in verbs.FAMILIES)
        try:
            if verb == "learn_one":
                subject.learn(model, dict(x), y)
            else:
                subject.call(model, verb, dict(x), *([y] if verb == "step_one" else []))
        except NotImplementedError as error:
            if not (inherited and verb in _LEFT_OUT):
                broken(f"{verb} to work, because hasattr finds it", f"NotImplementedError: {error}")
        many = verb.replace("_one", "_many")
        if isinstance(model, Model) and not hasattr(model, many):
            broken(f"{many} beside {verb}", "none", "")


@law("unlearned")
def predicts_before_it_has_learned(subject: Subject) -> None:
    """The model predicts before it has learned, and its predictions are well formed."""
    model = subject.fresh()
    for x in subject.rows[:5]:
        subject.check_answers(model, x)
    subject.refuses(lambda: subject.check_answers(model, {}), "an example without features")


@law("probabilities", lambda subject: "predict_proba_one" in subject.asks)
def predicts_probabilities(subject: Subject) -> None:
    """Probabilities are finite, not negative and sum to 1, and the predicted class is a most probable one."""
    model = subject.fresh()
    for place, (x, y) in enumerate(subject.examples):
        subject.learn(model, dict(x), y)
        for probe in (x, subject.rows[-1 - place]):
            subject.check_answers(model, probe)
            chosen = subject.call(model, "predict_one", dict(probe))
            probabilities = subject.call(model, "predict_proba_one", dict(probe))
            if not probabilities:
                broken("probabilities after learning", "none")
            most_probable(chosen, probabilities)


@law("finite")
def predicts_finite_numbers(subject: Subject) -> None:
    """Predictions are well formed, and their numbers are finite, after every example."""
    model = subject.fresh()
    for x, y in subject.examples:
        subject.learn(model, dict(x), y)
        subject.check_answers(model, x)
    for x in subject.rows:
        subject.check_answers(model, x)


@law("input")
def changes_no_input(subject: Subject) -> None:
    """Learning and predicting do not change the example, and `learn_one` returns None."""
    model = subject.fresh()
    for x, y in subject.examples[:10]:
        given = dict(x)
        for verb in subject.asks:
            subject.answer(model, verb, given)
            if given != x or list(given) != list(x):
                broken(f"{verb} to leave its input as it was", quoted(given, 100), f"{verb}({quoted(x, 100)})")
        returned = subject.learn(model, given, y)
        if given != x or list(given) != list(x):
            broken("learn_one to leave its input as it was", quoted(given, 100), f"learn_one({quoted(x, 100)})")
        if returned is not None:
            broken("None from learn_one", typed(returned))
