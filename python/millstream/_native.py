"""Models implemented in Rust.

The compiled class has its verbs under private names. A native class publishes those of its role, so that `hasattr`
and tab completion are correct at no cost per call.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, cast

import numpy as np

from millstream import _core, _frames, verbs
from millstream._dates import in_seconds
from millstream._feature_names import named, note_names
from millstream._merging import Mergeable
from millstream._part import (
    clone_by_constructor,
    describe,
    from_description,
    has_own_constructor,
    own_attributes,
    parameters_of,
    to_json,
    without_aliases,
)
from millstream._python_loop import check_on_error, run_rows
from millstream._sparse import Sparse
from millstream.base import with_role
from millstream.errors import InvalidValue, MillstreamError
from millstream.roles import ANOMALY_DETECTOR, Answer, Role, Truth, role_named

__all__ = ["Native"]

_Native = TypeVar("_Native", bound="Native")


def _learn_many(self: Any, X: Any, y: Any = None, w: Any = None, *, on_error: str = "raise") -> int:
    check_on_error(on_error)
    rows = self._take_apart(X, learning=True)
    if rows[0] == "dicts":
        return run_rows(self, rows[1], y, w, None, on_error)[1]
    _, skipped = self._run_many(rows, *self._beside(y, w), None, on_error)
    return len(skipped)


def _step_many(
    self: Any, X: Any, y: Any = None, w: Any = None, *, proba: bool = False, on_error: str = "raise"
) -> Any:
    check_on_error(on_error)
    # Only classifiers have probabilities.
    proba = proba and self.role.answer is Answer.CLASS
    predict = "proba" if proba else "class"
    rows = self._take_apart(X, learning=True)
    if rows[0] == "dicts":
        answers = run_rows(self, rows[1], y, w, predict, on_error)[0]
        if self.role.truth is Truth.NONE:
            return np.array(answers, dtype=self.role.dtype)
        return _frames.pack_probabilities(answers, self.classes) if proba else _frames.pack_answers(answers)
    answers, _ = self._run_many(rows, *self._beside(y, w), predict, on_error)
    return self._pack(answers, proba, X)


def _predict_many(self: Any, X: Any) -> Any:
    rows = self._take_apart(X)
    if rows[0] == "dicts":
        return _frames.pack_answers([self.predict_one(x) for x in rows[1]])
    if self.role is ANOMALY_DETECTOR:
        return self._classify_many(rows)
    return self._pack(self._predict_many(rows, False), False, X)


#: Columns of numbers for the compiled core: a name, the values, and no categories.
Columns = list[tuple[str, Any, None]]


def predict_columns(model: Any, columns: Columns, rows: int) -> Any:
    """The predictions for columns of finite numbers that the caller has read already; None if the model must see
    the rows themselves, because a class written in Python or a component that reads times changes them."""
    if getattr(type(model), "predict_many", None) is not _predict_many or "predict_many" in vars(model):
        return None
    if model._times() or model.role is ANOMALY_DETECTOR:
        return None
    return model._pack(model._predict_many(("columns", columns, rows), False), False, None)


def _score_many(self: Any, X: Any) -> Any:
    rows = self._take_apart(X)
    if rows[0] == "dicts":
        return np.array([self.score_one(x) for x in rows[1]], dtype=np.float64)
    if self.role is ANOMALY_DETECTOR:
        return self._predict_many(rows, False)
    return verbs.Scores.score_many(self, X)


def _predict_proba_many(self: Any, X: Any) -> Any:
    rows = self._take_apart(X)
    if rows[0] == "dicts":
        return _frames.pack_probabilities([self.predict_proba_one(x) for x in rows[1]], self.classes)
    return self._pack(self._predict_many(rows, True), True, X)


def _predict_interval_many(self: Any, X: Any, coverage: float = 0.9) -> Any:
    rows = self._take_apart(X)
    if rows[0] == "dicts":
        return np.array([self.predict_interval_one(x, coverage) for x in rows[1]]).reshape(-1, 2)
    return self._predict_interval_many(rows, coverage)


def _transform_many(self: Any, X: Any) -> Any:
    rows = self._take_apart(X)
    if rows[0] == "dicts":
        return [self.transform_one(x) for x in rows[1]]
    transformed = self._transform_many(rows)
    if len(transformed) == 4:
        return Sparse(*transformed)
    names, matrix, nominal = transformed
    return _frames.give_back(names, matrix, nominal, like=X)


#: The compiled verbs, and those for many rows, which read the rows first.
_VERBS: dict[str, Callable[..., Any]] = {
    "learn_one": _core.Model._learn_one,
    "learn_many": _learn_many,
    "predict_one": _core.Model._predict_one,
    "predict_many": _predict_many,
    "step_one": _core.Model._step_one,
    "step_many": _step_many,
    "predict_proba_one": _core.Model._predict_proba_one,
    "predict_proba_many": _predict_proba_many,
    "predict_interval_one": _core.Model._predict_interval_one,
    "predict_interval_many": _predict_interval_many,
    "score_one": _core.Model._score_one,
    "score_many": _score_many,
    "classify": _core.Model._classify,
    "transform_one": _core.Model._transform_one,
    "transform_many": _transform_many,
}
for _name, _verb in ((name, verb) for family in verbs.FAMILIES for name, verb in vars(family).items()):
    # `help(model)` shows the docstring of the verb for a compiled model too; the first family describes it.
    if _name in _VERBS and _name.endswith("_many") and _VERBS[_name].__doc__ is None:
        _VERBS[_name].__name__, _VERBS[_name].__qualname__ = _name, f"Native.{_name}"
        _VERBS[_name].__doc__ = _verb.__doc__


class _Parameter:
    """A parameter as an attribute.

    A `__getattr__` would slow every call of a verb. A property would hide an attribute that a subclass assigns.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, model: Native | None, cls: type) -> Any:
        if model is None:
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {self._name!r}")
        try:
            return from_description(model._description_dict["parameters"][self._name])
        except InvalidValue as unbuilt:
            raise AttributeError(str(unbuilt)) from None


class Native(Mergeable, _core.Model):
    """A model implemented in Rust."""

    name: ClassVar[Any]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        order = cls.__mro__
        before = order[: order.index(Native)]
        for name, verb in _VERBS.items():
            # Overrides in a subclass of a native class are kept.
            if hasattr(cls, name) and not any(name in vars(each) for each in before):
                setattr(cls, name, verb)
        if cls.__module__.startswith("millstream."):
            for name in parameters_of(cls):
                if not any(name in vars(each) for each in order):
                    setattr(cls, name, _Parameter(name))

    def __init__(self, **parameters: Any) -> None:
        _core.Model.__init__(self)
        self._build(to_json({"name": self.name, "parameters": {k: describe(v) for k, v in parameters.items()}}))

    @property
    def _description_dict(self) -> dict[str, Any]:
        return cast("dict[str, Any]", json.loads(self._description()))

    if TYPE_CHECKING:
        role: Role
    else:

        @property
        def role(self) -> Role:
            """The role: see `millstream.roles`."""
            return role_named(self._role())

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters, defaults included."""
        return {name: from_description(value) for name, value in self._description_dict["parameters"].items()}

    if TYPE_CHECKING:
        # Parameters: see `_Parameter`.
        def __getattr__(self, name: str) -> Any: ...

    def __setattr__(self, name: str, value: Any) -> None:
        try:
            parameters = self._description_dict["parameters"]
        except InvalidValue:
            parameters = {}
        # The compiled model would not change.
        parameter = getattr(type(self), "aliases", {}).get(name, name)
        if parameter in parameters and describe(value) != parameters[parameter]:
            raise AttributeError(
                f"{type(self).__name__}: {name} is fixed when the model is created; use clone({name}=…)"
            )
        super().__setattr__(name, value)

    def describe(self) -> dict[str, Any]:
        """The complete description as plain data, for `millstream.build`."""
        return self._description_dict

    def inspect(self) -> Any:
        """The state as plain data: weights, moments, counts."""
        told = json.loads(self._inspect())
        names = own_attributes(self).get("feature_names")
        return told if names is None else named(told, names)

    def _numbers(self) -> Any:
        """The few numbers of `inspect()` that properties read: cheap, whatever the model's size."""
        return json.loads(self._scalars())

    @classmethod
    def _revive(cls, source: Any) -> Self:
        """Build from bytes, from an open file, or as a copy of another model."""
        model: Self = cls.__new__(cls)
        model._load(source)
        return model

    def clone(self, new_params: Mapping[str, Any] | None = None, **changes: Any) -> Self:
        """An untrained model with the same parameters, except for `changes`, or those of a dict, as in River.

        The dict may have paths to nested components, as `{"LogisticRegression": {"l2": 0.1}}` in a pipeline.
        """
        if new_params is not None:
            from millstream.compat.parameters import changed

            return cast("Self", changed(cast("Any", self), {**new_params, **changes}))
        kind: Any = type(self)
        if has_own_constructor(self):
            return cast("Self", clone_by_constructor(cast("Any", self), None, changes))
        return cast(
            "Self",
            kind._from_parameters({**self._description_dict["parameters"], **without_aliases(kind, changes)}),
        )

    def _member(self, place: int) -> Any:
        """A copy of a step or member as a model of its own."""
        from millstream.registry import class_of

        member = _core.Model()
        member._copy_member(self, place)
        name = json.loads(member._description())["name"]
        return class_of(name)._revive(member)  # type: ignore[attr-defined]

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle, (self._stored_class(), self.to_bytes(), own_attributes(self))

    def __copy__(self) -> Self:
        return _unpickle(self._stored_class(), self, own_attributes(self))

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return _unpickle(self._stored_class(), self, copy.deepcopy(own_attributes(self), memo))

    def _stored_class(self) -> type[Self]:
        """The class that pickle finds by its name."""
        return type(self)

    def copy(self) -> Self:
        """An independent copy with the same state."""
        return copy.deepcopy(self)

    def _take_apart(self, X: Any, *, learning: bool = False) -> tuple[Any, ...]:
        if learning and isinstance(X, Sparse):
            note_names(self, X)
        try:
            if names := self._times():
                X = in_seconds(X, names)
            return _frames.take_apart(X)
        except MillstreamError as error:
            # If objects do not form a column, the rows before the first invalid one can still be learned.
            rows = _frames.object_rows(X) if learning else None
            if rows is not None:
                return ("dicts", rows)
            raise error.by(self._title()) from None

    def _beside(self, y: Any, w: Any) -> tuple[Any, Any]:
        """Targets and weights as the core reads them."""
        try:
            return _frames.targets(y), _frames.weights(w, by_row=True)
        except MillstreamError as error:
            raise error.by(self._title()) from None

    def _pack(self, answers: Any, proba: bool, like: Any) -> Any:
        if role_named(self._role()).answer is not Answer.CLASS:
            return answers
        labels = self._labels()
        if not proba:
            return _frames.decode(answers, labels)
        # Another thread may have added a class since.
        known = [code for code, label in enumerate(labels[: answers.shape[1]]) if label is not None]
        return _frames.give_back([labels[code] for code in known], answers[:, known], {}, like=like)


class NativeWrapper(Native):
    """A compiled wrapper with the role and verbs of its model."""

    def __init__(self, **parameters: Any) -> None:
        super().__init__(**parameters)
        self._publish()

    @classmethod
    def _revive(cls, source: Any) -> Self:
        model = super()._revive(source)
        model._publish()
        return model

    def _publish(self) -> None:
        """Switch to the class with the verbs of the built model."""
        wrapper: Any = getattr(type(self), "_wrapper", type(self))
        cls = with_role(wrapper, role_named(self._role()), tuple(self._optional_verbs()))
        # Not by `__setattr__`, which reads the description: loading would take half as long again.
        object.__setattr__(self, "__class__", cls)
        if not own_attributes(self):
            # The change of the class has created the attribute dict: see `own_attributes`.
            del self.__dict__

    def _stored_class(self) -> type[Self]:
        return self._wrapper  # type: ignore[no-any-return]


def _unpickle(cls: type[_Native], source: Any, attributes: dict[str, Any]) -> _Native:
    model = cls._revive(source)
    if attributes:
        model.__dict__.update(attributes)
    return model
