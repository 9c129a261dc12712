"""Parameters of nested models by path, for the libraries that set them from outside.

A path leads through parameters that are components (`optimizer`, `learning_rate`) and through the named steps of a
pipeline or components of a union.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from millstream._echo import quoted
from millstream._part import Part, without_aliases
from millstream.errors import InvalidValue

__all__ = ["changed", "flat"]


def _children(part: Part) -> dict[str, tuple[str, int | None, Part]]:
    """The components inside, by name, with the parameter that holds each and its index there."""
    children: dict[str, tuple[str, int | None, Part]] = {}
    for parameter, value in part.parameters.items():
        if isinstance(value, Part):
            children[parameter] = (parameter, None, value)
        elif isinstance(value, (list, tuple)) and all(isinstance(item, Part) for item in value):
            for place, (name, item) in enumerate(zip(_names(part, value), value, strict=True)):
                children[name] = (parameter, place, item)
    return children


def _names(part: Part, steps: Sequence[Part]) -> Sequence[str]:
    """The names of the members of a pipeline or union; by default their class names, numbered from 2 on."""
    names: Sequence[str] = getattr(part, "names", None) or ()
    if len(names) == len(steps):
        return names
    titles = [type(step).__name__ for step in steps]
    counts = [titles[: place + 1].count(title) for place, title in enumerate(titles)]
    return [title if count == 1 else f"{title}_{count}" for title, count in zip(titles, counts, strict=True)]


def flat(part: Part, lower: bool) -> dict[str, Any]:
    """All parameters, `a__b` for the parameter `b` of the part `a`; names of steps in lower case if asked."""
    parameters = dict(part.parameters)
    for name, (_, place, child) in _children(part).items():
        path = name.lower() if lower and place is not None else name
        parameters[path] = child
        parameters.update({f"{path}__{inner}": value for inner, value in flat(child, lower).items()})
    return parameters


def changed(part: Part, changes: Mapping[str, Any]) -> Any:
    """An untrained component with some parameters changed.

    Changes inside a component that is a parameter or a step are given by paths, `{"a__b": value}`, or by
    mappings, `{"a": {"b": value}}`. If the component itself is changed too, that comes first.
    """
    whole: dict[str, Any] = {}
    inside: dict[str, dict[str, Any]] = {}
    for path, value in changes.items():
        name, _, rest = path.partition("__")
        if rest:
            inside.setdefault(name, {})[rest] = value
        elif isinstance(value, Mapping):
            inside.setdefault(name, {}).update(value)
        else:
            whole[name] = value
    return _replaced(_replaced(part, whole), inside, deeper=True)


def _replaced(part: Part, values: Mapping[str, Any], deeper: bool = False) -> Any:
    fresh = part.clone()
    parameters, children = fresh.parameters, _children(fresh)
    children.update({name.lower(): child for name, child in children.items()})
    given: dict[str, Any] = {}
    for name, value in without_aliases(type(fresh), values).items():
        if name not in (children if deeper else {**parameters, **children}):
            known = ", ".join(flat(part, False))
            raise InvalidValue(f"{type(part).__name__}: no parameter {quoted(name)}; there are {known}")
        holder, place, child = children.get(name, (name, None, None))
        if deeper and child is not None:
            value = changed(child, value)
        if place is None:
            given[holder] = value
        else:
            given.setdefault(holder, list(parameters[holder]))[place] = value
    return fresh.clone(**given)
