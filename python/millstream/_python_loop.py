"""Learning of many rows by models written in Python, and of one row by any model."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Hashable, Mapping
from functools import cache
from typing import Any, TypeAlias, cast

import numpy as np

from millstream import _core, _frames
from millstream._echo import quoted
from millstream.errors import InvalidType, InvalidValue, MillstreamError
from millstream.roles import TRANSFORMER, Truth, role_of

__all__ = ["Features", "arguments_of", "check_on_error", "restore", "run_rows", "teach", "title_of"]

Features: TypeAlias = Mapping[Any, Any]

_ON_ERROR = ("raise", "stop", "skip")

#: The most rows that are checked before they are learned; for more, a copy of the model costs little.
_FEW = 1024


def check_on_error(on_error: str) -> None:
    """Refuse an unknown value of `on_error`."""
    if on_error not in _ON_ERROR:
        raise InvalidValue(f"on_error must be one of {', '.join(_ON_ERROR)}, got {quoted(on_error)}")


def no_answer(model: Any) -> Any:
    """The placeholder for the prediction of a skipped row."""
    role = role_of(model)
    return None if role is None else role.no_answer


def run_rows(model: Any, X: Any, y: Any, w: Any, predict: str | None, on_error: str) -> tuple[list[Any], int]:
    """Learn dict by dict, predicting first if requested."""
    if on_error == "raise" and (learned := _run_at_once(model, X, y, w, predict)) is not None:
        return learned, 0
    before = copy.deepcopy(model) if on_error == "raise" else None
    answers: list[Any] = []
    skipped = 0
    try:
        for row, (x, target, weight) in enumerate(_frames.examples(X, y, w)):
            try:
                answers.append(_learn_row(model, x, target, weight, predict))
            except Exception as error:
                if on_error == "skip" and isinstance(error, (ValueError, TypeError, KeyError)):
                    skipped += 1
                    answers.append({} if predict == "proba" else no_answer(model))
                    continue
                if isinstance(error, MillstreamError):
                    error.at_row(row)
                else:
                    error.add_note(f"at row {row}")
                raise
    except BaseException as error:
        if before is not None:
            restore(model, before)
        if isinstance(error, MillstreamError) and error.row is None:
            raise error.by(title_of(model)) from None
        raise
    return answers, skipped


def _run_at_once(model: Any, X: Any, y: Any, w: Any, predict: str | None) -> list[Any] | None:
    """Let a compiled model learn a few dicts, without a copy here; None, and no change, if it refuses one."""
    if not (isinstance(model, _core.Model) and type(model).__module__.startswith("millstream.")):
        return None
    repeatable = all(each is None or isinstance(each, (list, tuple, np.ndarray)) for each in (y, w))
    if not (repeatable and isinstance(X, list) and len(X) <= _FEW):
        return None
    try:
        examples = list(_frames.examples(X, y, w))
    except MillstreamError:
        return None
    return model._run_dicts(examples, predict)


def _learn_row(model: Any, x: Any, target: Any, weight: float, predict: str | None) -> Any:
    """Learn one row, predicting first if requested."""
    if predict is None or role_of(model) is TRANSFORMER:
        return teach(model, x, target, weight)
    rest = (target,) if weight == 1.0 else (target, weight)
    return model.step_one(x, *rest, proba=predict == "proba")


@cache
def arguments_of(kind: Hashable) -> tuple[bool, bool]:
    """Whether a class's `learn_one` takes a target, and a weight."""
    parameters = inspect.signature(kind.learn_one).parameters  # type: ignore[attr-defined]
    every = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values())
    return "y" in parameters or every, "w" in parameters or every


def teach(model: Any, x: Features, y: Any, w: float) -> None:
    """Call `learn_one` with the arguments that the class accepts; a row of weight 0 is not learned."""
    learn_one = getattr(model, "learn_one", None)
    if learn_one is None:
        return
    if isinstance(model, _core.Model):
        learn_one(x, y, w)
        return
    if w == 0.0:
        return
    takes_target, takes_weight = arguments_of(cast("Hashable", type(model)))
    role = role_of(model)
    if not takes_weight and w != 1.0 and role is not TRANSFORMER:
        raise InvalidType(f"{type(model).__name__}: learn_one takes no weight w, got {w}")
    target = () if role is not None and role.truth is Truth.NONE and not takes_target else (y,)
    if takes_weight and w != 1.0:
        learn_one(x, *target, w=w)
    else:
        learn_one(x, *target)


def title_of(model: Any) -> str:
    """The name of a model in messages."""
    return str(model._title()) if isinstance(model, _core.Model) else type(model).__name__


def restore(model: Any, before: Any) -> None:
    """Restore a model from a copy."""
    if isinstance(model, _core.Model):
        model._copy_from(before)
    elif callable(getattr(model, "_return_to", None)):
        model._return_to(before)
        return
    for name in _slots_of(cast("Hashable", type(model))):
        if hasattr(before, name):
            setattr(model, name, getattr(before, name))
        elif hasattr(model, name):
            delattr(model, name)
    if hasattr(model, "__dict__"):
        model.__dict__.clear()
        model.__dict__.update(before.__dict__)


@cache
def _slots_of(kind: Hashable) -> list[str]:
    """The names of the slots of a class."""
    found: list[str] = []
    for base in kind.__mro__:  # type: ignore[attr-defined]
        slots = base.__dict__.get("__slots__", ())
        found += [slots] if isinstance(slots, str) else list(slots)
    return [name for name in found if name not in ("__dict__", "__weakref__")]
