"""Some features and not others."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from millstream._native import Native
from millstream.base import Transformer

__all__ = ["Discard", "Drop", "Select"]


class _Selection(Native, Transformer):
    def __init__(
        self, *names: str | int | Collection[str | int], kind: str | None = None, pattern: str | None = None
    ) -> None:
        flat: list[Any] = []
        for name in names:
            if isinstance(name, (set, frozenset)):
                flat.extend(sorted(name, key=str))
            elif isinstance(name, (list, tuple)):
                flat.extend(name)
            else:
                flat.append(name)
        super().__init__(names=flat or None, kind=kind, pattern=pattern)

    @classmethod
    def _from_parameters(cls, parameters: Mapping[str, Any]) -> Any:
        rest = {name: value for name, value in parameters.items() if name != "names"}
        names = parameters.get("names")
        return cls(() if names is None else names, **rest)

    def __repr__(self) -> str:
        parameters = self._description_dict["parameters"]
        shown = [repr(name) for name in parameters["names"] or ()]
        shown += [f"{name}={parameters[name]!r}" for name in ("kind", "pattern") if parameters[name] is not None]
        return f"{type(self).__name__}({', '.join(shown)})"


class Select(_Selection):
    """Keeps some features: those that are named, those of a kind, those whose name fits a pattern.

    A feature that any of the three names is kept. Features come out in the order in which they are learned.

    Parameters
    ----------
    names
        Features by name, one by one or in a list.
    kind
        All features of a kind: "number" or "nominal".
    pattern
        All features whose name fits: `*` stands for any text, `?` for any one character.

    Examples
    --------
    >>> from millstream import compose
    >>> compose.Select("a", "c").transform_one({"a": 1.0, "b": 2.0, "c": "x"})
    {'a': 1.0, 'c': 'x'}
    >>> compose.Select(kind="nominal").transform_one({"a": 1.0, "b": 2.0, "c": "x"})
    {'c': 'x'}
    >>> compose.Select(pattern="lag_*").transform_one({"lag_1": 1.0, "lag_2": 2.0, "c": "x"})
    {'lag_1': 1.0, 'lag_2': 2.0}
    """

    name = "compose.Select"


class Drop(_Selection):
    """Leaves some features out: those that are named, those of a kind, those whose name fits a pattern.

    A feature that any of the three names is left out. Features come out in the order in which they are learned.

    Parameters
    ----------
    names
        Features by name, one by one or in a list.
    kind
        All features of a kind: "number" or "nominal".
    pattern
        All features whose name fits: `*` stands for any text, `?` for any one character.

    Examples
    --------
    >>> from millstream import compose
    >>> compose.Drop("a").transform_one({"a": 1.0, "b": 2.0, "c": "x"})
    {'b': 2.0, 'c': 'x'}
    """

    name = "compose.Drop"


Discard = Drop
