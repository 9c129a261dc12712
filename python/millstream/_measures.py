"""Base class of metrics, statistics and drift detectors: description, saving, copying."""

from __future__ import annotations

import copy
import inspect
import json
import math
import re
from functools import partial
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from millstream import _core
from millstream._echo import typed
from millstream._frames import filled
from millstream._merging import Mergeable
from millstream._part import Part, describe, from_description, own_attributes, to_json
from millstream.base import Model
from millstream.errors import InvalidType, InvalidValue, MillstreamError

__all__ = ["Measure", "numbers"]


_Measure = TypeVar("_Measure", bound="Measure")


class Measure(Mergeable, _core.Part, Part):
    """A component that receives values one at a time and has a current value."""

    name: ClassVar[str | None]
    role: ClassVar[str]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # Properties, because a `__getattr__` would slow every `update` and `get`.
        declared = "__init__" in cls.__dict__ and cls.__module__.startswith("millstream.")
        for name in inspect.signature(cls.__init__).parameters if declared else ():
            if name != "self" and not hasattr(cls, name):
                setattr(cls, name, property(partial(_parameter, name), doc=_words(cls.__doc__ or "", name)))

    def __init__(self, **parameters: Any) -> None:
        super().__init__()
        self._build(to_json({"name": self.name, "parameters": {k: describe(v) for k, v in parameters.items()}}))

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters, defaults included."""
        return {name: from_description(value) for name, value in self.describe()["parameters"].items()}

    def describe(self) -> dict[str, Any]:
        """The full description as plain data; `millstream.build` creates an equal component from it."""
        return json.loads(self._description())  # type: ignore[no-any-return]

    @classmethod
    def _revive(cls, source: Any) -> Self:
        """Build from bytes, from an open file, or as a copy of another of this class."""
        part = cls.__new__(cls)
        part._load(source)
        return part

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle, (type(self), self.to_bytes(), own_attributes(self))

    def __copy__(self) -> Self:
        return _unpickle(type(self), self, own_attributes(self))

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return _unpickle(type(self), self, copy.deepcopy(own_attributes(self), memo))

    def copy(self) -> Self:
        """An independent copy in the same state."""
        return copy.deepcopy(self)

    # Atomic, as for models.
    save = Model.save


def _words(docstring: str, name: str) -> str:
    """The description of a parameter in the docstring of a class."""
    found = re.search(rf"^( *){re.escape(name)}\n((?:\1    .*\n?)+)", docstring, re.MULTILINE)
    return " ".join(found[2].split()) if found else f"The parameter `{name}`."


def _parameter(name: str, part: Measure) -> Any:
    return part.parameters[name]


def _unpickle(cls: type[_Measure], source: Any, attributes: dict[str, Any]) -> _Measure:
    part = cls._revive(source)
    if attributes:
        part.__dict__.update(attributes)
    return part


def numbers(what: str, values: Any) -> Any:
    """A column of numbers as an array that the core borrows."""
    try:
        array = np.asarray(filled(values))
        if array.dtype.kind == "O":
            array = _large_integers(what, array)
        if array.dtype.kind not in "fiub":
            raise TypeError
        array = array.astype(np.float64, copy=False)
    except MillstreamError:
        raise
    except (TypeError, ValueError):
        raise InvalidType(f"{what} must be a column of numbers, got {typed(values)}") from None
    if array.ndim != 1:
        raise InvalidValue(f"{what} must be a column of numbers, got {array.ndim} dimensions")
    return array


def _large_integers(what: str, values: Any) -> Any:
    """Floats for integers beyond 64 bits, which NumPy has no type for."""
    if values.ndim != 1 or not all(isinstance(value, (int, float, np.number, np.bool_)) for value in values):
        raise TypeError
    try:
        return np.array([float(value) for value in values])
    except OverflowError:
        large = next(value for value in values if isinstance(value, int) and not _fits(value))
        raise InvalidValue(f"{what} must fit in a float, got {typed(large)}") from None


def _fits(value: int) -> bool:
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False
