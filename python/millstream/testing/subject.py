"""The model under test: how to create, train and query it."""

from __future__ import annotations

import contextlib
import copy
import pickle
from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import cached_property
from typing import Any, cast

from millstream import _core, verbs
from millstream._echo import quoted, shortened
from millstream._part import shown_part
from millstream._python_loop import arguments_of, title_of
from millstream.base import Transformer
from millstream.errors import InvalidType
from millstream.roles import FORECASTER, POLICY, STEPS, Role, Truth, one_of, role_of
from millstream.testing import examples
from millstream.testing.answers import check_answer, is_missing, same
from millstream.testing.examples import Example
from millstream.testing.law import Broken, broken

__all__ = ["CHECKED", "REFUSALS", "Subject"]

#: Roles that have laws.
CHECKED = (*STEPS, FORECASTER, POLICY)

#: Errors by which a model may refuse an example.
REFUSALS = (ValueError, TypeError)

#: The prediction of an optional verb that refuses.
REFUSED = "refused"


class Subject:
    """A model under test. The object given by the user is copied once and not used again."""

    role: Role

    def __init__(self, given: Any, own_examples: Iterable[Any] | None = None) -> None:
        self._make, self._copy = _maker(given)
        first = self._copy()
        role = role_of(first)
        if role is None:
            raise InvalidType(f"testing.check_model: expected {one_of(CHECKED)}, got {shown_part(given)}")
        self.role = role
        self.title = title_of(first)
        self.native = isinstance(first, (_core.Model, _core.Forecaster, _core.Policy))
        self._last: str | tuple[str, tuple[Any, ...], dict[str, Any]] = ""
        self._prepare(first, own_examples)

    def _prepare(self, first: Any, own_examples: Iterable[Any] | None) -> None:
        """Choose the examples, and find out which arguments `learn_one` takes."""
        self.examples: list[Example] = (
            examples.usual(self.role) if own_examples is None else examples.given(own_examples)
        )
        # A transformer without `learn_one` learns nothing, for any weight.
        learns = getattr(type(first), "learn_one", Transformer.learn_one) is not Transformer.learn_one
        self.takes_target, self.takes_weights = (
            arguments_of(cast("Hashable", type(first))) if learns else (False, False)
        )

    @property
    def last_call(self) -> str:
        """The last call of the model, for the message of a broken law."""
        if isinstance(self._last, str):
            return self._last
        verb, arguments, named = self._last
        shown = [quoted(argument, 100) for argument in arguments]
        shown += [f"{name}={quoted(value)}" for name, value in named.items()]
        return f"{verb}({', '.join(shown)})"

    @last_call.setter
    def last_call(self, shown: str) -> None:
        self._last = shown

    def fresh(self) -> Any:
        """A model that has learned nothing."""
        return self._make()

    def original(self) -> Any:
        """A copy of the given model, or a new one if a class was given."""
        return self._copy()

    def has(self, name: str) -> bool:
        """Whether the model has a method of this name."""
        return callable(getattr(self.fresh(), name, None))

    @property
    def rows(self) -> list[dict[Any, Any]]:
        """The features of all examples."""
        return [x for x, _ in self.examples]

    @property
    def learns_target(self) -> bool:
        """Whether examples have a target."""
        return self.role.truth is not Truth.NONE

    @cached_property
    def asks(self) -> tuple[str, ...]:
        """The verbs that predict: those of the role and optional ones, if the class defines them."""
        model, found = self.fresh(), []
        with contextlib.suppress(Exception):
            # If it cannot learn, the first law reports it.
            self.taught(model, self.examples[:5])
        for verb in (*self.role.asks, *verbs.OPTIONAL):
            if verb not in found and callable(getattr(model, verb, None)):
                try:
                    getattr(model, verb)(dict(self.rows[0]))
                except NotImplementedError:
                    continue
                except Exception:
                    # The law on this verb reports it.
                    pass
                found.append(verb)
        return tuple(found)

    def call(self, model: Any, verb: str, *arguments: Any, **named: Any) -> Any:
        """Call a verb and keep the call for messages."""
        self._last = (verb, arguments, named)
        return getattr(model, verb)(*arguments, **named)

    def learn(self, model: Any, x: Any, y: Any, w: Any = None) -> Any:
        """Call `learn_one` with the arguments that the class accepts."""
        if not hasattr(model, "learn_one"):
            return None
        target = (y,) if self.learns_target else ()
        return self.call(model, "learn_one", x, *target, **({} if w is None else {"w": w}))

    def taught(self, model: Any, lessons: Iterable[Example]) -> Any:
        """The model after some examples."""
        for x, y in lessons:
            self.learn(model, dict(x), y)
        return model

    def ask(self, model: Any, x: Mapping[Any, Any]) -> dict[str, Any]:
        """All predictions of one example, by verb."""
        return {verb: self.answer(model, verb, dict(x)) for verb in self.asks}

    def answer(self, model: Any, verb: str, x: Any) -> Any:
        """The prediction of a verb; `REFUSED` if it is optional and refuses."""
        try:
            return self.call(model, verb, x)
        except REFUSALS:
            # A score needs a decision boundary between two classes, which not every state has.
            if verb in self.role.asks:
                raise
            return REFUSED

    def ask_all(self, model: Any) -> list[dict[str, Any]]:
        """All predictions of some examples."""
        return [self.ask(model, x) for x in self.rows[:6] + self.rows[-2:]]

    def check_answers(self, model: Any, x: Mapping[Any, Any]) -> None:
        """Check that all predictions of an example are well formed."""
        for verb, answer in self.ask(model, x).items():
            if answer is not REFUSED:
                check_answer(self.role, verb, answer, self.is_complete(x))

    def is_complete(self, x: Mapping[Any, Any]) -> bool:
        """Whether an example has all features of the first, and nothing else."""
        return x.keys() == self.rows[0].keys() and not any(map(is_missing, x.values()))

    def saved(self, model: Any) -> bytes | None:
        """The state of a model as bytes; None if the class cannot be pickled."""
        if self.native:
            return bytes(model.to_bytes())
        try:
            return pickle.dumps(model)
        except Exception:
            return None

    def expect_same(self, one: Any, other: Any, expected: str) -> None:
        """Check that two models predict the same and, if they are compiled, have the same state."""
        for x in self.rows[:6] + self.rows[-2:]:
            got, wanted = self.ask(one, x), self.ask(other, x)
            for verb in self.asks:
                if not same(got[verb], wanted[verb]):
                    difference = f"{quoted(got[verb])} instead of {quoted(wanted[verb])}"
                    broken(expected, difference, f"{verb}({quoted(x, 100)})")
        if self.native and self.saved(one) != self.saved(other):
            broken(expected, "another saved state")

    def unchanged(self, model: Any) -> Unchanged:
        """A context that checks that the model does not change."""
        return Unchanged(self, model)

    def refuses(self, work: Callable[[], Any], what: str) -> bool:
        """Whether `work` is refused; the law is broken if the message has several lines."""
        try:
            work()
        except REFUSALS as error:
            if "\n" in str(error):
                broken(f"a message of one line for {what}", quoted(str(error), 100))
            return True
        except Broken:
            raise
        except Exception as error:
            got = f"{type(error).__name__}: {shortened(str(error), 100)}"
            raise Broken(f"{what} to be accepted, or a ValueError or TypeError", got, None) from error
        return False


class Unchanged:
    """Compares the state of a model before and after."""

    def __init__(self, subject: Subject, model: Any) -> None:
        self._subject, self._model = subject, model
        self._saved, self._said = subject.saved(model), subject.ask_all(model)
        # Another law checks that predicting, which may fill a cache, changes nothing.
        self._saved = subject.saved(model)

    def check(self, after: str) -> None:
        """Check that the model is unchanged."""
        call = self._subject.last_call
        saved = self._subject.saved(self._model)
        said = self._subject.ask_all(self._model)
        for before, now in zip(self._said, said, strict=True):
            for verb, answer in now.items():
                if not same(answer, before[verb]):
                    got = f"{verb} of {quoted(answer)} instead of {quoted(before[verb])}"
                    broken(f"the model as it was after {after}", got, call)
        if saved != self._saved:
            broken(f"the model as it was after {after}", "another saved state", call)


def _maker(given: Any) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """Functions that create an untrained model and a copy of the given model."""
    if isinstance(given, type) or (callable(given) and role_of(given) is None):
        try:
            given()
        except TypeError as error:
            title = getattr(given, "__name__", "it")
            raise InvalidType(f"testing.check_model: {title}() failed: {error}; give an instance") from None
        return given, given
    kept = _copied(given)

    def make() -> Any:
        # Another law checks clones; without a working clone, the laws use a copy.
        model = _copied(kept)
        try:
            return model.clone()
        except Exception:
            return model

    return make, lambda: _copied(kept)


def _copied(model: Any) -> Any:
    """A copy of the model, or the model itself if it cannot be copied, which another law reports."""
    try:
        return copy.deepcopy(model)
    except Exception:
        return model
