"""Converts the arguments of pipelines and unions to lists of components."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from millstream._echo import quoted
from millstream._native import Native
from millstream._part import Part
from millstream.errors import InvalidType, InvalidValue, UnknownName
from millstream.registry import build, nearest
from millstream.roles import role_of

__all__ = ["called", "compiles", "find", "find_member", "gather", "is_native", "refuse_learned"]


def gather(who: str, what: str, given: Sequence[Any], names: Any = None) -> tuple[list[Any], list[str] | None]:
    """The members, and their names if any was given: components one by one, in a list, or as (name, component).

    `what` is the word for them in messages.
    """
    if len(given) == 1 and isinstance(given[0], (list, tuple)) and not _is_pair(given[0]):
        given = given[0]
    pairs = [item if _is_pair(item) else (None, item) for item in given]
    members = [_member(who, part) for _, part in pairs]
    if names is not None:
        if isinstance(names, str) or not isinstance(names, Iterable):
            raise InvalidType(f"{who}: names must be a list of names, got {quoted(names)}")
        own = [str(name) for name in names]
        if len(own) != len(members):
            raise InvalidValue(f"{who}: names must be one for each of {len(members)} {what}, got {len(own)}")
        return members, own
    if all(name is None for name, _ in pairs):
        return members, None
    return members, unique(
        [called(part) if name is None else name for (name, _), part in zip(pairs, members, strict=True)]
    )


def _is_pair(item: Any) -> bool:
    return isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str) and not isinstance(item[1], str)


def _member(who: str, part: Any) -> Any:
    if isinstance(part, Part) or (role_of(part) is not None and not isinstance(part, type)):
        return part
    if isinstance(part, (str, dict)):
        return build({"name": part} if isinstance(part, str) else part)
    if isinstance(part, type):
        raise InvalidType(f"{who}: {part.__name__} is a class; write {part.__name__}()")
    if isinstance(part, (list, tuple)):
        from millstream.compose.union import Union

        return Union(*part)
    if callable(part):
        from millstream.compose.func import Func

        return Func(part)
    raise InvalidType(f"{who}: a component must be a model, a function or a description, got {quoted(part)}")


def unique(names: list[str]) -> list[str]:
    """Unique names: repeated ones are numbered."""
    seen: dict[str, int] = {}
    result = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        result.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    return result


def called(part: Any) -> str:
    """The name of a component without a given name; a pipeline has that of its last step."""
    from millstream.compose.func import Func
    from millstream.compose.pipeline import Pipeline

    if isinstance(part, Pipeline):
        return part.names[-1]
    if isinstance(part, Func):
        return part._called
    name = getattr(part, "name", None)
    return name.rpartition(".")[2] if isinstance(name, str) else type(part).__name__


def is_native(part: Any) -> bool:
    """Whether a component can be compiled together with others: not if a user has extended its class."""
    if isinstance(part, Native):
        return type(part).__module__.partition(".")[0] == "millstream"
    return isinstance(part, Part) and part.name is not None and getattr(part, "role", None) is None


def compiles(model: Any) -> bool:
    """Whether a wrapper around a model, given as such or described, can be compiled."""
    return isinstance(model, (dict, str)) or (isinstance(model, Native) and is_native(model))


def refuse_learned(who: str, parts: Iterable[Any]) -> None:
    """Refuse learned components: they are rebuilt inside a compiled model, and would lose what they have
    learned."""
    for part in parts:
        if isinstance(part, Native) and part.learned:
            raise InvalidValue(
                f"{who}: {part!r} has already learned {part.learned} examples, which would be lost; "
                "compose components before they learn, or pass a clone()"
            )


def find(who: str, names: list[str], key: Any) -> int:
    """The index of a member, by its name or index."""
    if isinstance(key, str):
        if key in names:
            return names.index(key)
        # River's names: `TransformerUnion`, and `Agg1` for the second `Agg`.
        river = re.fullmatch(r"(.*?)([1-9]\d*)", key)
        ours = "Union" if key == "TransformerUnion" else f"{river[1]}_{int(river[2]) + 1}" if river else key
        if ours in names:
            return names.index(ours)
        raise UnknownName(f"{who}: no step named {quoted(key)}{nearest(key, names)}; it has {', '.join(names)}")
    return _place(who, "step", "name or by number", len(names), key)


def find_member(who: str, count: int, key: Any, what: str = "member") -> int:
    """The index of one of `count` members, which have no names."""
    return _place(who, what, "number", count, key)


def _place(who: str, what: str, found: str, count: int, key: Any) -> int:
    if isinstance(key, bool) or not hasattr(key, "__index__"):
        raise InvalidType(f"{who}: a {what} is found by {found}, got {quoted(key)}")
    place = int(key)
    if not -count <= place < count:
        # IndexError also ends a loop over them.
        raise IndexError(f"{who}: no {what} {place}, it has {count}")
    return place % count
