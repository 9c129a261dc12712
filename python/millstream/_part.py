"""The base class of components, native or written in Python: parameters, description, representation, clones."""

from __future__ import annotations

import copy
import functools
import inspect
import json
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, cast

import numpy as np

from millstream import _core
from millstream._echo import fitting, quoted, typed
from millstream.errors import InvalidType, InvalidValue
from millstream.roles import role_of

__all__ = [
    "Config",
    "Part",
    "clone_by_constructor",
    "clone_value",
    "describe",
    "forwarded",
    "from_description",
    "has_own_constructor",
    "own_attributes",
    "parameters_of",
    "shown_part",
    "to_json",
    "unlearned_copy",
    "without_aliases",
]


def parameters_of(cls: type) -> list[str]:
    """The names of the constructor's parameters."""
    signature = inspect.signature(cls.__init__)  # type: ignore[misc]
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


_Constructor = TypeVar("_Constructor", bound=Callable[..., None])
_Part = TypeVar("_Part", bound="Part")

if TYPE_CHECKING:

    def forwarded(constructor: _Constructor) -> _Constructor:
        """Generate the body of a constructor that only forwards its arguments, by name, to the base class."""

else:

    class forwarded:  # noqa: N801
        """Generate the body of a constructor that only forwards its arguments, by name, to the base class."""

        def __init__(self, constructor: Callable[..., None]) -> None:
            self._constructor = constructor

        def __set_name__(self, owner: type, name: str) -> None:
            setattr(owner, name, _forwarding(owner, self._constructor))


def _forwarding(owner: type, constructor: Any) -> Callable[..., None]:
    code = constructor.__code__
    names = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    positional = names[: code.co_argcount - 1]
    values = constructor.__defaults__ or ()
    defaults = dict(zip(positional[len(positional) - len(values) :], values, strict=True))
    defaults |= constructor.__kwdefaults__ or {}

    @functools.wraps(constructor)
    def __init__(self: object, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        # Its body is empty: Python checks the call and raises the error of a wrong one.
        try:
            constructor(self, *args, **kwargs)
        except TypeError as error:
            raise TypeError(fitting(str(error))) from None
        given = defaults | dict(zip(positional, args, strict=False)) | kwargs
        super(owner, self).__init__(**{name: given[name] for name in names})  # type: ignore[arg-type]

    return __init__


class Alias:
    """Another name of a parameter, as an attribute. Not a property: a subclass may assign this name."""

    def __init__(self, parameter: str) -> None:
        self._parameter = parameter
        self.__doc__ = f"Another name of `{parameter}`."

    def __get__(self, part: object, cls: type) -> Any:
        return self if part is None else getattr(part, self._parameter)


class Part:
    """A component of the registry or of a user: parameters, description, representation."""

    #: The name in the registry; None for a user's class.
    name: ClassVar[str | None] = None
    #: Aliases of parameters: former names, and those of River and scikit-learn.
    aliases: ClassVar[Mapping[str, str]] = {}
    #: Unsupported parameters of River or scikit-learn, each with a hint what to use instead.
    unsupported: ClassVar[Mapping[str, str]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own: Any = cls.__dict__.get("__init__")
        if own is None:
            return
        if cls.name and cls.__module__.startswith("millstream."):
            # Python's message for a wrong call starts with this; a compiled class has a private name.
            inspect.unwrap(own).__qualname__ = f"{cls.name}.__init__"
            cls.aliases = {**_core.former_names(cls.name), **cls.aliases}
            for alias, name in cls.aliases.items():
                if not hasattr(cls, alias):
                    setattr(cls, alias, Alias(name))
        else:
            # A parameter of a user's subclass may have the name of an inherited alias.
            names = inspect.signature(own).parameters
            cls.aliases = {alias: name for alias, name in cls.aliases.items() if alias not in names}
            cls.unsupported = {name: hint for name, hint in cls.unsupported.items() if name not in names}
        if "__new__" in cls.__dict__:
            # Python shows the signature of `__new__`, which only selects the class.
            signature = inspect.signature(own)
            cls.__signature__ = signature.replace(parameters=list(signature.parameters.values())[1:])  # type: ignore[attr-defined]
        aliases, unsupported = cls.aliases, cls.unsupported
        if not (aliases or unsupported):
            return

        @functools.wraps(own)
        def __init__(self: Part, *args: Any, **kwargs: Any) -> None:  # noqa: N807
            for name in kwargs:
                if name in unsupported:
                    raise InvalidType(f"{cls.name}: there is no {name}: {unsupported[name]}")
            own(self, *args, **without_aliases(cls, kwargs))

        cls.__init__ = __init__  # type: ignore[assignment, method-assign]

    @property
    def parameters(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {name: getattr(self, name) for name in parameters_of(type(self)) if hasattr(self, name)}

    def describe(self) -> dict[str, Any]:
        """The complete description as plain data, for `millstream.build`."""
        if self.name is None:
            raise InvalidType(
                f"{type(self).__name__}: a class of your own has no description; "
                "describe() and save() are for components of millstream, pickle works for all"
            )
        return {"name": self.name, "parameters": {k: describe(v) for k, v in self.parameters.items()}}

    @classmethod
    def _from_parameters(cls, parameters: Mapping[str, Any]) -> Self:
        """Build from described parameters; components among them may be descriptions."""
        return cls(**parameters)

    def clone(self, **changes: Any) -> Self:
        """An untrained component with the same parameters, except for `changes`."""
        return clone_by_constructor(self, None if has_own_constructor(self) else self.parameters, changes)

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name not in self.aliases]

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        shown = [
            f"{name}={_written(value)}"
            for name, value in self.parameters.items()
            if not (name in defaults and _same(value, defaults[name].default))
            or (isinstance(value, Part) and defaults[name].default is None and _is_optional(self.name, name))
        ]
        return f"{type(self).__name__}({', '.join(shown)})"


def own_attributes(part: object) -> dict[str, Any]:
    """A copy of the attributes that were assigned to a compiled component.

    Python creates the attribute dict of an object at the first access, which makes all later method calls slower.
    So an empty dict is not accessed.
    """
    state = object.__getstate__(part)
    return dict(part.__dict__) if state is not None else {}


def has_own_constructor(part: object) -> bool:
    """Whether its class is a user's, with a constructor that may have other parameters than the description."""
    module = getattr(type(part).__init__, "__module__", "millstream.")
    return not module.startswith("millstream.")


def clone_by_constructor(part: _Part, values: Mapping[str, Any] | None, changes: Mapping[str, Any]) -> _Part:
    """Call the constructor with `values`, by default the attributes that have the names of its parameters."""
    signature = inspect.signature(type(part).__init__).parameters
    if values is None:
        values = {name: getattr(part, name) for name in parameters_of(type(part)) if hasattr(part, name)}
    parameters = {name: clone_value(value) for name, value in values.items()}
    for name in parameters_of(type(part)):
        if name not in parameters and name not in changes and signature[name].default is inspect.Parameter.empty:
            raise InvalidType(
                f"{type(part).__name__}: clone() needs the argument {quoted(name)} of __init__; "
                f"keep it as an attribute: self.{name} = {name}"
            )
    return type(part)(**{**parameters, **without_aliases(type(part), changes)})


def without_aliases(cls: type[Part], given: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments by parameter name; two names of one parameter are refused."""
    renamed: dict[str, Any] = {}
    for name, value in given.items():
        parameter = cls.aliases.get(name, name)
        if parameter in renamed:
            other = next(other for other in given if cls.aliases.get(other, other) == parameter)
            who = cls.name or cls.__name__
            raise InvalidType(f"{who}: {other} and {name} are the same parameter; pass one of them")
        renamed[parameter] = value
    return renamed


def _same(value: Any, default: Any) -> bool:
    if isinstance(value, Part):
        return not isinstance(default, Part) and default in (value.name, None) and _written(value).endswith("()")
    if isinstance(default, tuple) and isinstance(value, list):
        # A description has lists.
        return tuple(value) == default
    return type(value) is type(default) and bool(value == default)


def _written(value: Any) -> str:
    """How a parameter is written. The `repr` of a metric or statistic shows its current value instead."""
    measures = isinstance(value, Part) and str(value.name).partition(".")[0] in ("metrics", "stats")
    return Part.__repr__(value) if measures else repr(value)


def _is_optional(name: str | None, parameter: str) -> bool:
    """Whether None means that there is no component; for other parameters it means the default one."""
    if name is None:
        return False
    from millstream.registry import entry

    return any(each["name"] == parameter and each["default"] is None for each in entry(name)["parameters"])


def clone_value(value: Any) -> Any:
    """The value of a parameter for a clone; models in it are untrained."""
    if isinstance(value, Part) or (role_of(value) is not None and hasattr(value, "clone")):
        return value.clone()
    if type(value) in (list, tuple):
        return type(value)(clone_value(item) for item in value)
    return copy.deepcopy(value)


def unlearned_copy(part: Any) -> Any:
    """An untrained component with the same parameters; a deep copy if it has no `clone`."""
    return part.clone() if callable(getattr(part, "clone", None)) else copy.deepcopy(part)


def shown_part(part: Any) -> str:
    """A given object for a message; for a class, with a hint to instantiate it."""
    if isinstance(part, type):
        return f"the class {part.__name__}; write {part.__name__}()"
    if isinstance(part, (list, tuple)):
        kinds = ", ".join(item.__name__ if isinstance(item, type) else type(item).__name__ for item in part)
        return f"[{kinds:.60}]"
    return f"{part!r:.80}"


class Config(Part):
    """A component without a state of its own: an optimiser, a loss, a schedule."""

    def __init__(self, **parameters: Any) -> None:
        given = {"name": self.name, "parameters": {k: describe(v) for k, v in parameters.items()}}
        self._description = json.loads(_core.resolve(to_json(given)))

    def describe(self) -> dict[str, Any]:
        return cast("dict[str, Any]", copy.deepcopy(self._description))

    @property
    def parameters(self) -> dict[str, Any]:
        return {name: from_description(value) for name, value in self._description["parameters"].items()}

    def __getattr__(self, name: str) -> Any:
        return _parameter(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        # A change here would be shown by the attribute and ignored by the model.
        if type(self).aliases.get(name, name) in self.__dict__.get("_description", {}).get("parameters", {}):
            raise AttributeError(
                f"{type(self).__name__}: {name} is fixed when the component is created; use clone({name}=…)"
            )
        super().__setattr__(name, value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Config) and self._description == other._description

    def __hash__(self) -> int:
        return hash(to_json(self._description))


def _parameter(part: Any, name: str) -> Any:
    """A parameter as an attribute."""
    if not name.startswith("_"):
        parameters = part.__dict__.get("_description", {}).get("parameters", {})
        if name in parameters:
            return from_description(parameters[name])
    raise AttributeError(f"{type(part).__name__!r} object has no attribute {name!r}")


def from_description(value: Any) -> Any:
    """Build the components described inside a parameter."""
    if isinstance(value, dict) and "name" in value:
        from millstream.registry import build

        return build(value)
    if isinstance(value, list):
        return [from_description(item) for item in value]
    return value


def to_json(description: Any) -> str:
    """A description as JSON; other values are refused."""
    for key, value in description["parameters"].items():
        # The core reads a larger integer as a float, which has at most 309 digits.
        if isinstance(value, int) and abs(value) > sys.float_info.max:
            room = "64 bits" if _is_integer(description["name"], key) else "a float"
            raise InvalidValue(f"{description['name']}: {key} must fit in {room}, got {typed(value)}")
    try:
        return json.dumps(description, allow_nan=False)
    except ValueError:
        raise InvalidValue(f"{description['name']}: {_not_finite(description['parameters'])}") from None
    except TypeError as error:
        raise InvalidType(f"{description['name']}: {_unfit(description['parameters']) or error}") from None


def _is_integer(name: str, parameter: str) -> bool:
    """Whether a parameter of a component must be an integer."""
    from millstream.registry import entry

    parameters: Any = entry(name)["parameters"]
    return any(each["name"] == parameter and each["must_be"].startswith("an integer") for each in parameters)


def _not_finite(parameters: Mapping[str, Any]) -> str:
    """The message for a parameter that is or contains NaN or infinity."""
    for key, value in parameters.items():
        try:
            json.dumps(value, allow_nan=False)
        except ValueError:
            must = "be a finite number" if isinstance(value, float) else "contain only finite numbers"
            return f"{key} must {must}, got {quoted(value)}"
    return f"parameters must be finite numbers, got {parameters}"


def _unfit(parameters: Mapping[str, Any]) -> str | None:
    """The message for a parameter that is neither a value nor a component."""
    for key, value in parameters.items():
        try:
            json.dumps(value)
        except TypeError:
            if isinstance(value, type):
                return f"{key} must be a value or a component, got {shown_part(value)}"
            classes = [item for item in value if isinstance(item, type)] if isinstance(value, list) else []
            if classes:
                return f"{key} must be values or components, got {shown_part(classes[0])}"
            return f"{key} must be a value or a component, got {typed(value)}"
    return None
