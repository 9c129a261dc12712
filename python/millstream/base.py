"""What every part and every model can do, and what to subclass to write your own in Python.

A class with `learn_one` and `predict_one` (or `transform_one`) that inherits from `Classifier`, `Regressor`
or `Transformer` works in pipelines, in evaluation and beside native models; it is only slower.
"""

from __future__ import annotations

import copy
import inspect
import json
import math
import os
from collections.abc import Hashable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias, TypeVar, cast

import numpy as np

from millstream import _core, _frames
from millstream._answers import each_row, probabilities_of
from millstream._echo import quoted, typed
from millstream._files import write_whole
from millstream.errors import InvalidType, InvalidValue, MillstreamError

if TYPE_CHECKING:
    from millstream.compose import Pipeline, Union

__all__ = ["Classifier", "Model", "Native", "Part", "Regressor", "Transformer"]

Label: TypeAlias = bool | int | str
Features: TypeAlias = Mapping[Any, Any]

_Native = TypeVar("_Native", bound="Native")

_ON_ERROR = ("raise", "stop", "skip")


def _parameters_of(part: object) -> list[str]:
    """The names of the constructor's parameters."""
    signature = inspect.signature(type(part).__init__)
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [name for name, parameter in signature.parameters.items() if name != "self" and parameter.kind in kinds]


def describe(value: Any) -> Any:
    """A parameter's value as plain data."""
    if isinstance(value, Part):
        return value.describe()
    if isinstance(value, (list, tuple)):
        return [describe(item) for item in value]
    if isinstance(value, np.generic):
        return value.item()
    return value


class Part:
    """Anything with a name in the registry, or a user's own: parameters, description, representation."""

    #: The name in the registry; None for a class of the user's own.
    name: ClassVar[str | None] = None
    #: Other names that a parameter may be given by, for those who come from River or scikit-learn.
    aliases: ClassVar[Mapping[str, str]] = {}
    #: Parameters of River or scikit-learn that have no equal here, each with a sentence on what to write instead.
    dropped: ClassVar[Mapping[str, str]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        aliases, dropped, own = cls.aliases, cls.dropped, cls.__dict__.get("__init__")
        if own is not None and cls.name and cls.__module__.startswith("millstream."):
            # What Python says of a wrong call begins with this; a compiled form has a private name.
            own.__qualname__ = f"{cls.name}.__init__"
        if not (aliases or dropped) or own is None:
            return

        def __init__(self: Part, *args: Any, **kwargs: Any) -> None:  # noqa: N807
            for name in kwargs:
                if name in dropped:
                    raise InvalidType(f"{cls.name}: there is no {name}: {dropped[name]}")
            own(self, *args, **{aliases.get(name, name): value for name, value in kwargs.items()})

        __init__.__wrapped__ = own  # type: ignore[attr-defined]
        __init__.__doc__ = own.__doc__
        cls.__init__ = __init__  # type: ignore[assignment, method-assign]

    @property
    def parameters(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {name: getattr(self, name) for name in _parameters_of(self) if hasattr(self, name)}

    def describe(self) -> dict[str, Any]:
        """The whole description as plain data; `millstream.build` makes an equal part of it."""
        if self.name is None:
            raise InvalidType(
                f"{type(self).__name__}: a class of your own has no description; "
                "describe() and save() are for parts of millstream, pickle works for all"
            )
        return {"name": self.name, "parameters": {k: describe(v) for k, v in self.parameters.items()}}

    @classmethod
    def _from_parameters(cls, parameters: Mapping[str, Any]) -> Self:
        """Build from described parameters; parts among them are still descriptions, which is fine."""
        return cls(**parameters)

    def clone(self, **changes: Any) -> Self:
        """A new part with the same parameters, but for `changes`, that has learned nothing."""
        parameters = {name: clone_value(value) for name, value in self.parameters.items()}
        needed = inspect.signature(type(self).__init__).parameters
        for name in _parameters_of(self):
            if name not in parameters and name not in changes and needed[name].default is inspect.Parameter.empty:
                raise InvalidType(
                    f"{type(self).__name__}: clone() needs the argument {quoted(name)} of __init__, "
                    f"which should be kept as an attribute: self.{name} = {name}"
                )
        return type(self)(**{**parameters, **changes})

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        shown = [
            f"{name}={value!r}"
            for name, value in self.parameters.items()
            if not (name in defaults and _same(value, defaults[name].default))
        ]
        return f"{type(self).__name__}({', '.join(shown)})"


def _same(value: Any, default: Any) -> bool:
    if isinstance(value, Part):
        return not isinstance(default, Part) and default in (value.name, None) and repr(value).endswith("()")
    return type(value) is type(default) and bool(value == default)


def clone_value(value: Any) -> Any:
    """A parameter's value for a clone: models in it have learned nothing."""
    if isinstance(value, Part) or (role_of(value) is not None and hasattr(value, "clone")):
        return value.clone()
    if type(value) in (list, tuple):
        return type(value)(clone_value(item) for item in value)
    return copy.deepcopy(value)


def fresh(part: Any) -> Any:
    """A part with the same parameters that has learned nothing; what has no `clone` is taken to be one."""
    return part.clone() if callable(getattr(part, "clone", None)) else copy.deepcopy(part)


def shown_part(part: Any) -> str:
    """What was given in a model's place, and for a class how to make a model of it."""
    if isinstance(part, type):
        return f"the class {part.__name__}; write {part.__name__}()"
    if isinstance(part, (list, tuple)):
        kinds = ", ".join(item.__name__ if isinstance(item, type) else type(item).__name__ for item in part)
        return f"[{kinds:.60}]"
    return f"{part!r:.80}"


class Described(Part):
    """A part that lives in a description only: an optimiser, a loss, a schedule."""

    def __init__(self, **parameters: Any) -> None:
        given = {"name": self.name, "parameters": {k: describe(v) for k, v in parameters.items()}}
        self._description = json.loads(_core.resolve(_to_json(given)))

    def describe(self) -> dict[str, Any]:
        return cast("dict[str, Any]", copy.deepcopy(self._description))

    @property
    def parameters(self) -> dict[str, Any]:
        return {name: revive(value) for name, value in self._description["parameters"].items()}

    def __getattr__(self, name: str) -> Any:
        return _parameter(self, name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Described) and self._description == other._description

    def __hash__(self) -> int:
        return hash(_to_json(self._description))


def _parameter(part: Any, name: str) -> Any:
    """A parameter as an attribute."""
    if not name.startswith("_"):
        parameters = part.__dict__.get("_description", {}).get("parameters", {})
        if name in parameters:
            return revive(parameters[name])
    raise AttributeError(f"{type(part).__name__!r} object has no attribute {name!r}")


def revive(value: Any) -> Any:
    """Parts that are described inside a parameter become objects again."""
    if isinstance(value, dict) and "name" in value:
        from millstream.registry import build

        return build(value)
    if isinstance(value, list):
        return [revive(item) for item in value]
    return value


def _to_json(description: Any) -> str:
    for key, value in description["parameters"].items():
        if isinstance(value, int) and abs(value) > 2**1000:
            raise InvalidValue(f"{description['name']}: {key} must fit in 64 bits, got {typed(value)}")
    try:
        return json.dumps(description, allow_nan=False)
    except ValueError:
        got = f"got {description['parameters']}"
        raise InvalidValue(f"{description['name']}: parameters must be finite numbers, {got}") from None
    except TypeError as error:
        raise InvalidType(f"{description['name']}: {_unfit(description['parameters']) or error}") from None


def _unfit(parameters: Mapping[str, Any]) -> str | None:
    """Which parameter is neither a value nor a part, in words."""
    for key, value in parameters.items():
        try:
            json.dumps(value)
        except TypeError:
            if isinstance(value, type):
                return f"{key} must be a value or a part, got {shown_part(value)}"
            classes = [item for item in value if isinstance(item, type)] if isinstance(value, list) else []
            if classes:
                return f"{key} must be values or parts, got {shown_part(classes[0])}"
            return f"{key} must be a value or a part, got {typed(value)}"
    return None


class Model(Part):
    """The verbs of online learning. Subclass `Classifier`, `Regressor` or `Transformer` for your own."""

    #: "classifier", "regressor" or "transformer".
    role: str

    def learn_one(self, x: Features, y: Any = None, w: float = 1.0) -> None:
        """Learn one example."""
        raise NotImplementedError(f"{type(self).__name__} does not define learn_one")

    def __or__(self, other: Any) -> Pipeline:
        """`a | b`: a pipeline."""
        from millstream.compose import Pipeline

        pipeline: Pipeline = Pipeline([self, other])
        return pipeline

    def __ror__(self, other: Any) -> Pipeline:
        from millstream.compose import Pipeline

        pipeline: Pipeline = Pipeline([other, self])
        return pipeline

    @property
    def memory(self) -> int:
        """Bytes of memory that the model holds."""
        from millstream._display import memory_of

        return memory_of(self)

    def copy(self) -> Self:
        """An independent copy that has learned the same."""
        return copy.deepcopy(self)

    def __copy__(self) -> Self:
        # A copy that shares its weights with the original would learn along with it.
        return copy.deepcopy(self)

    def learn_many(self, X: Any, y: Any = None, w: Any = None, *, on_error: str = "raise") -> int:
        """Learn rows one after the other, exactly as `learn_one` would.

        `X` is a NumPy matrix, a pandas, polars or Arrow frame, a SciPy sparse matrix, or an iterable of
        dicts. What happens at a row that cannot be learned is for `on_error` to say: with "raise" the call
        fails and the model is as it was before; with "stop" it fails and keeps the rows before; with "skip"
        the row is set aside, and the number of such rows is returned.
        """
        _check_on_error(on_error)
        _, skipped = _loop(self, X, y, w, None, on_error)
        return skipped

    def merge(self, other: Any) -> None:
        """Fold in the same model after another part of the stream, where the result is that of the whole.

        The features of `other`, which stays as it is, are found by name. A learner that cannot be merged exactly
        says so, and is as it was before.
        """
        raise InvalidType(f"{title_of(self)}: cannot be merged: only native models can")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model atomically to a file that `millstream.load` reads: it is never there in part."""
        write_whole(path, self.to_bytes())

    def to_bytes(self) -> bytes:
        """The whole model as one versioned, checksummed value."""
        raise InvalidType(f"{type(self).__name__}: a model with Python parts cannot be saved as data; use pickle")

    def _repr_html_(self) -> str:
        from millstream._display import html_of

        return html_of(self)


def _check_on_error(on_error: str) -> None:
    if on_error not in _ON_ERROR:
        raise InvalidValue(f"on_error must be one of {', '.join(_ON_ERROR)}, got {quoted(on_error)}")


class Predictor(Model):
    """A model that predicts: a classifier or a regressor."""

    def predict_one(self, x: Features) -> Any:
        """Predict one example."""
        raise NotImplementedError(f"{type(self).__name__} does not define predict_one")

    def step_one(self, x: Features, y: Any, w: float = 1.0, *, proba: bool = False) -> Any:
        """Predict one example, then learn it. Returns what was predicted."""
        predicted = self.predict_proba_one(x) if proba else self.predict_one(x)  # type: ignore[attr-defined]
        teach(self, x, y, w)
        return predicted

    def predict_many(self, X: Any) -> Any:
        """Predict rows, exactly as `predict_one` would."""
        return _frames.pack_answers(list(each_row(self.predict_one, X)))

    def step_many(self, X: Any, y: Any, w: Any = None, *, proba: bool = False, on_error: str = "raise") -> Any:
        """Predict each row, then learn it. Returns what was predicted before each row was learned."""
        _check_on_error(on_error)
        answers, _ = _loop(self, X, y, w, "proba" if proba else "class", on_error)
        return _frames.pack_probabilities(answers) if proba else _frames.pack_answers(answers)


def _loop(model: Any, X: Any, y: Any, w: Any, predict: str | None, on_error: str) -> tuple[list[Any], int]:
    """Learn dict by dict, predicting first if asked."""
    before = copy.deepcopy(model) if on_error == "raise" else None
    answers: list[Any] = []
    skipped = 0
    try:
        for row, (x, target, weight) in enumerate(_frames.examples(X, y, w)):
            try:
                answers.append(_learn(model, x, target, weight, predict))
            except Exception as error:
                if on_error == "skip" and isinstance(error, (ValueError, TypeError, KeyError)):
                    skipped += 1
                    answers.append({} if predict == "proba" else math.nan if model.role == "regressor" else None)
                    continue
                if isinstance(error, MillstreamError):
                    error.at_row(row)
                else:
                    error.add_note(f"at row {row}")
                raise
    except BaseException as error:
        if before is not None:
            _restore(model, before)
        if isinstance(error, MillstreamError) and error.row is None:
            raise error.by(title_of(model)) from None
        raise
    return answers, skipped


def _learn(model: Any, x: Any, target: Any, weight: float, predict: str | None) -> Any:
    """Learn one row, predicting first if asked."""
    if predict is None or model.role == "transformer":
        return teach(model, x, target, weight)
    rest = (target,) if weight == 1.0 else (target, weight)
    return model.step_one(x, *rest, proba=predict == "proba")


def role_of(model: Any) -> str | None:
    """The role of a model, of a stranger's by what it can do; None for what is no model."""
    role = getattr(model, "role", None)
    if isinstance(role, str):
        return role
    if callable(getattr(model, "transform_one", None)):
        return "transformer"
    if not callable(getattr(model, "learn_one", None)) or not callable(getattr(model, "predict_one", None)):
        return None
    return "classifier" if callable(getattr(model, "predict_proba_one", None)) else "regressor"


@cache
def _takes(kind: Hashable) -> tuple[bool, bool]:
    """Whether a class's `learn_one` takes a target, and a weight."""
    parameters = inspect.signature(kind.learn_one).parameters  # type: ignore[attr-defined]
    every = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values())
    return "y" in parameters or every, "w" in parameters or every


def teach(model: Any, x: Features, y: Any, w: float) -> None:
    """`learn_one` with the arguments that the model's own class takes; a weight of 0 teaches nothing."""
    if isinstance(model, _core.Model):
        model.learn_one(x, y, w)
        return
    if w == 0.0:
        return
    if not hasattr(model, "learn_one"):
        return
    takes_target, takes_weight = _takes(cast("Hashable", type(model)))
    transformer = role_of(model) == "transformer"
    if not takes_weight and w != 1.0 and not transformer:
        raise InvalidType(f"{type(model).__name__}: learn_one takes no weight w, got {w}")
    target = (y,) if takes_target or not transformer else ()
    if takes_weight and w != 1.0:
        model.learn_one(x, *target, w=w)
    else:
        model.learn_one(x, *target)


def title_of(model: Any) -> str:
    """What messages call a model."""
    return str(model._title()) if isinstance(model, _core.Model) else type(model).__name__


def _restore(model: Any, before: Any) -> None:
    """Make a model what a copy of it is."""
    if isinstance(model, _core.Model):
        model._copy_from(before)
    elif callable(getattr(model, "_return_to", None)):
        model._return_to(before)
    else:
        model.__dict__.clear()
        model.__dict__.update(before.__dict__)


class Classifier(Predictor):
    """A model of class labels. A subclass writes `learn_one` and `predict_one` or `predict_proba_one`."""

    role = "classifier"

    def predict_proba_one(self, x: Features) -> dict[Label, float]:
        """The probability of each class for one example."""
        raise NotImplementedError(f"{type(self).__name__} does not define predict_proba_one")

    def predict_one(self, x: Features) -> Label | None:
        """The most probable class."""
        probabilities = probabilities_of(self, x)
        return max(probabilities, key=probabilities.__getitem__) if probabilities else None

    def predict_proba_many(self, X: Any) -> Any:
        """Probabilities of rows: a column for each class, in the order of `classes`."""
        return _frames.pack_probabilities(list(each_row(self.predict_proba_one, X)))


class Regressor(Predictor):
    """A model of numbers. A subclass writes `learn_one` and `predict_one`."""

    role = "regressor"


class Transformer(Model):
    """Turns features into features. A subclass writes `transform_one`, and `learn_one` if it learns."""

    role = "transformer"

    def learn_one(self, x: Features, y: Any = None, w: float = 1.0) -> None:
        """Learn one example; nothing by default."""

    def transform_one(self, x: Features) -> dict[Any, Any]:
        """Transform one example."""
        raise NotImplementedError(f"{type(self).__name__} does not define transform_one")

    def transform_many(self, X: Any) -> Any:
        """Transform rows, exactly as `transform_one` would."""
        return _frames.from_dicts([self.transform_one(x) for x in _frames.dicts(X)], like=X)

    def __add__(self, other: Any) -> Union:
        """`a + b`: the features of both."""
        from millstream.compose import Union

        return Union([self, other])

    def __radd__(self, other: Any) -> Union:
        from millstream.compose import Union

        return Union([other, self])


class Native(_core.Model):
    """A model that is built and run in Rust. The verbs for one example are those of the compiled class."""

    name: ClassVar[Any]

    def __init__(self, **parameters: Any) -> None:
        _core.Model.__init__(self)
        self._build(_to_json({"name": self.name, "parameters": {k: describe(v) for k, v in parameters.items()}}))

    @property
    def _description_dict(self) -> dict[str, Any]:
        return cast("dict[str, Any]", json.loads(self._description()))

    if TYPE_CHECKING:
        role: str
    else:

        @property
        def role(self) -> str:
            """The role: "classifier", "regressor" or "transformer"."""
            return self._role()

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters, defaults included."""
        return {name: revive(value) for name, value in self._description_dict["parameters"].items()}

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_"):
            try:
                parameters = self._description_dict["parameters"]
            except InvalidValue as unbuilt:
                raise AttributeError(str(unbuilt)) from None
            if name in parameters:
                return revive(parameters[name])
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        try:
            parameters = self._description_dict["parameters"]
        except InvalidValue:
            parameters = {}
        # A change here would change what the model says of itself and not what it does.
        if name in parameters and describe(value) != parameters[name]:
            raise AttributeError(
                f"{type(self).__name__}: {name} is fixed when the model is made; clone({name}=…) makes another"
            )
        super().__setattr__(name, value)

    def describe(self) -> dict[str, Any]:
        """The whole description as plain data; `millstream.build` makes an equal model of it."""
        return self._description_dict

    def inspect(self) -> Any:
        """What it has learned, as plain data: weights, moments, counts."""
        return json.loads(self._inspect())

    @classmethod
    def _revive(cls, source: Any) -> Self:
        """Build from bytes, from an open file, or as a copy of another model."""
        model: Self = cls.__new__(cls)
        model._load(source)
        return model

    def clone(self, **changes: Any) -> Self:
        """A new model with the same parameters, but for `changes`, that has learned nothing."""
        kind: Any = type(self)
        return cast("Self", kind._from_parameters({**self._description_dict["parameters"], **changes}))

    def _member(self, place: int) -> Any:
        """A copy of a step or part as a model of its own."""
        from millstream.registry import face

        member = _core.Model()
        member._copy_member(self, place)
        name = json.loads(member._description())["name"]
        return face(name)._revive(member)  # type: ignore[attr-defined]

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle, (type(self), self.to_bytes(), dict(self.__dict__))

    def __copy__(self) -> Self:
        return _unpickle(type(self), self, dict(self.__dict__))

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return _unpickle(type(self), self, copy.deepcopy(self.__dict__, memo))

    def copy(self) -> Self:
        """An independent copy that has learned the same."""
        return copy.deepcopy(self)

    def learn_many(self, X: Any, y: Any = None, w: Any = None, *, on_error: str = "raise") -> int:
        _check_on_error(on_error)
        rows = self._take_apart(X, learning=True)
        if rows[0] == "dicts":
            return _loop(self, rows[1], y, w, None, on_error)[1]
        _, skipped = self._run_many(rows, *self._beside(y, w), None, on_error)
        return len(skipped)

    def step_many(self, X: Any, y: Any, w: Any = None, *, proba: bool = False, on_error: str = "raise") -> Any:
        _check_on_error(on_error)
        predict = "proba" if proba else "class"
        rows = self._take_apart(X, learning=True)
        if rows[0] == "dicts":
            answers = _loop(self, rows[1], y, w, predict, on_error)[0]
            return _frames.pack_probabilities(answers, self.classes) if proba else _frames.pack_answers(answers)
        answers, _ = self._run_many(rows, *self._beside(y, w), predict, on_error)
        return self._pack(answers, proba, X)

    def merge(self, other: Any) -> None:
        if not isinstance(other, _core.Model):
            raise InvalidType(f"{self._title()}: only the same model can be merged, got {type(other).__name__}")
        self._merge(other)

    def predict_interval_many(self, X: Any, coverage: float = 0.9) -> Any:
        """Intervals of rows, exactly as `predict_interval_one` would: a column of lower and one of upper ends."""
        rows = self._take_apart(X)
        if rows[0] == "dicts":
            return np.array([self.predict_interval_one(x, coverage) for x in rows[1]]).reshape(-1, 2)
        return self._predict_interval_many(rows, coverage)

    def predict_many(self, X: Any) -> Any:
        rows = self._take_apart(X)
        if rows[0] == "dicts":
            return _frames.pack_answers([self.predict_one(x) for x in rows[1]])
        return self._pack(self._predict_many(rows, False), False, X)

    def predict_proba_many(self, X: Any) -> Any:
        rows = self._take_apart(X)
        if rows[0] == "dicts":
            return _frames.pack_probabilities([self.predict_proba_one(x) for x in rows[1]], self.classes)
        return self._pack(self._predict_many(rows, True), True, X)

    def transform_many(self, X: Any) -> Any:
        rows = self._take_apart(X)
        if rows[0] == "dicts":
            return [self.transform_one(x) for x in rows[1]]
        names, matrix, nominal = self._transform_many(rows)
        return _frames.give_back(names, matrix, nominal, like=X)

    def _take_apart(self, X: Any, *, learning: bool = False) -> tuple[Any, ...]:
        try:
            return _frames.take_apart(X)
        except MillstreamError as error:
            # Of objects that make no column, the rows before the first bad one can still be learned.
            rows = _frames.object_rows(X) if learning else None
            if rows is not None:
                return ("dicts", rows)
            raise error.by(self._title()) from None

    def _beside(self, y: Any, w: Any) -> tuple[Any, Any]:
        """Targets and weights as the core reads them."""
        try:
            return _frames.targets(y), _frames.weights(w)
        except MillstreamError as error:
            raise error.by(self._title()) from None

    def _pack(self, answers: Any, proba: bool, like: Any) -> Any:
        if self.role == "regressor":
            return answers
        labels = self._labels()
        if not proba:
            return _frames.decode(answers, labels)
        # Another thread may have learned of a class since.
        known = [code for code, label in enumerate(labels[: answers.shape[1]]) if label is not None]
        return _frames.give_back([labels[code] for code in known], answers[:, known], {}, like=like)


# Where the reader looks for them, `help(model)`, methods of a compiled class inherit no words.
for _verb in (
    Model.learn_many,
    Model.merge,
    Predictor.step_many,
    Predictor.predict_many,
    Classifier.predict_proba_many,
):
    getattr(Native, _verb.__name__).__doc__ = _verb.__doc__
Native.transform_many.__doc__ = Transformer.transform_many.__doc__


def _unpickle(cls: type[_Native], source: Any, attributes: dict[str, Any]) -> _Native:
    model = cls._revive(source)
    model.__dict__.update(attributes)
    return model
