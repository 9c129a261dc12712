"""Laws of copies: clones, copies, pickles and saved bytes."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import millstream
from millstream._echo import quoted
from millstream.base import Model, Part
from millstream.testing.answers import same
from millstream.testing.law import broken, law
from millstream.testing.subject import Subject

_Way = Callable[[Any], Any]


def _pickled(model: Any) -> Any:
    return pickle.loads(pickle.dumps(model))


def _ways(subject: Subject) -> dict[str, _Way]:
    """The ways to copy a model without pickle."""
    model = subject.fresh()
    ways: dict[str, _Way] = {"copy.deepcopy(model)": copy.deepcopy}
    if isinstance(model, Model):
        ways["copy.copy(model)"] = copy.copy
    if subject.has("copy"):
        ways["model.copy()"] = lambda model: model.copy()
    if subject.native:
        ways["from_bytes(model.to_bytes())"] = lambda model: millstream.from_bytes(model.to_bytes())
    return ways


@law("clone", lambda subject: subject.has("clone"))
def clones_have_learned_nothing(subject: Subject) -> None:
    """A clone has the same class and parameters, has learned nothing and shares nothing with the original."""
    model = subject.fresh()
    before = subject.ask_all(model)
    subject.taught(model, subject.examples)
    after = subject.ask_all(model)
    subject.last_call = "clone()"
    clone = model.clone()
    if type(clone) is not type(model):
        broken(f"a clone of class {type(model).__name__}", type(clone).__name__)
    given = subject.original()
    if isinstance(given, Part):
        for name, value in given.parameters.items():
            other = given.clone().parameters.get(name)
            if not (_equal(value, other) or repr(value) == repr(other)):
                broken(f"a clone with {name}={quoted(value)}", quoted(other))
    if subject.native and subject.saved(clone) != subject.saved(subject.fresh()):
        broken("a clone to have the saved state of a new model", "another")
    for x, wanted in zip(subject.rows[:6] + subject.rows[-2:], before, strict=True):
        got = subject.ask(clone, x)
        if not same(got, wanted):
            expected = "a clone to predict as a model that has learned nothing"
            broken(expected, f"{quoted(got)} instead of {quoted(wanted)}")
    subject.taught(clone, subject.examples[:7])
    if not same(subject.ask_all(model), after):
        broken("the original as it was after its clone has learned", "other predictions", "clone()")


def _equal(one: Any, other: Any) -> bool:
    try:
        return bool(one == other)
    except Exception:
        return False


def _continues(subject: Subject, way: str, make: _Way) -> None:
    """Check that a copy continues as the original does."""
    for learned in (0, 1, len(subject.examples) // 2):
        model = subject.taught(subject.fresh(), subject.examples[:learned])
        subject.last_call = way
        twin = make(model)
        if type(twin) is not type(model):
            broken(f"{way} to be of class {type(model).__name__}", type(twin).__name__)
        subject.expect_same(twin, model, f"{way} to predict as the model does")
        for x, y in subject.examples[learned:]:
            subject.learn(model, dict(x), y)
            subject.learn(twin, dict(x), y)
        subject.expect_same(twin, model, f"{way} to go on learning as the model does")


def _shares_nothing(subject: Subject, way: str, make: _Way) -> None:
    """Check that a copy and its original do not learn each other's examples."""
    half = len(subject.examples) // 2
    model = subject.taught(subject.fresh(), subject.examples[:half])
    twin = make(model)
    for learning, resting, who in ((twin, model, "the model"), (model, twin, way)):
        state = subject.unchanged(resting)
        subject.taught(learning, subject.examples[half:])
        state.check(f"the other has learned, because {who} shares nothing with it")


@law("copies")
def copies_go_on_alike(subject: Subject) -> None:
    """Copies, and for native models saved bytes, continue as the original does."""
    for way, make in _ways(subject).items():
        _continues(subject, way, make)


@law("independence")
def copies_share_nothing(subject: Subject) -> None:
    """A copy and its original share nothing: what one learns, the other does not."""
    for way, make in _ways(subject).items():
        _shares_nothing(subject, way, make)


@law("pickle")
def pickles_go_on_alike(subject: Subject) -> None:
    """A pickle continues as the original does and shares nothing with it."""
    way = "pickle.loads(pickle.dumps(model))"
    _continues(subject, way, _pickled)
    _shares_nothing(subject, way, _pickled)


@law("description", lambda subject: subject.native)
def descriptions_go_round(subject: Subject) -> None:
    """A native model that is built from its description has the same description, representation and state."""
    model = subject.fresh()
    subject.last_call = "millstream.build(model.describe())"
    again = millstream.build(model.describe())
    for what, one, other in (
        ("description", again.describe(), model.describe()),
        ("representation", repr(again), repr(model)),
        ("saved state", again.to_bytes(), model.to_bytes()),
    ):
        if one != other:
            broken(f"the same {what}, {quoted(other)}", quoted(one))
