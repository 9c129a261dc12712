"""Feature selection."""

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
    """Selects features by name, kind or pattern.

    A feature is kept if it matches one of the three. Features keep the order in which they are learned.

    Parameters
    ----------
    names
        Names of features, one by one or in a list.
    kind
        Features of this kind: "number" or "nominal".
    pattern
        Features whose name matches this pattern: `*` matches any string, `?` any single character.

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
    """Discards features by name, kind or pattern.

    A feature is discarded if it matches one of the three. Features keep the order in which they are learned.

    Parameters
    ----------
    names
        Names of features, one by one or in a list.
    kind
        Features of this kind: "number" or "nominal".
    pattern
        Features whose name matches this pattern: `*` matches any string, `?` any single character.

    Examples
    --------
    >>> from millstream import compose
    >>> compose.Drop("a").transform_one({"a": 1.0, "b": 2.0, "c": "x"})
    {'b': 2.0, 'c': 'x'}
    """

    name = "compose.Drop"


Discard = Drop
