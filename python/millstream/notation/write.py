"""From components to strings: `parse(text(part))` builds an equal component."""

from __future__ import annotations

from typing import Any

from millstream import registry
from millstream._echo import quoted
from millstream.errors import InvalidType

__all__ = ["text"]


def text(part: Any) -> str:
    """The string for a component or description: short names, without parameters at their defaults.

    >>> import millstream
    >>> from millstream import notation
    >>> notation.text(millstream.parse("StandardScaler | LogisticRegression(l2=0.1)"))
    'StandardScaler | LogisticRegression(l2=0.1)'
    """
    description = part if isinstance(part, dict) else part.describe() if hasattr(part, "describe") else None
    if not isinstance(description, dict) or "name" not in description:
        raise InvalidType(f"notation: only components of millstream have a string form, got {quoted(part)}")
    return _part(description)


def _part(description: dict[str, Any]) -> str:
    name, parameters = description["name"], description.get("parameters", {})
    joined = {"compose.Pipeline": ("steps", " | "), "compose.Union": ("parts", " + ")}.get(name)
    if joined is not None:
        return _joined(name, parameters, *joined)
    shown = [f"{key}={_value(value)}" for key, value in _changed(name, parameters).items()]
    if name in ("compose.Select", "compose.Drop") and parameters.get("names") is not None:
        shown = [_value(each) for each in parameters["names"]] + [each for each in shown if "names=" not in each]
    return _called(name) + (f"({', '.join(shown)})" if shown else "")


def _joined(name: str, parameters: dict[str, Any], key: str, sign: str) -> str:
    members = parameters[key]
    if parameters.get("names") is not None:
        pairs = zip(parameters["names"], members, strict=True)
        return f"{_called(name)}({', '.join(f'({own!r}, {_value(member)})' for own, member in pairs)})"
    if len(members) == 1:
        return f"{_called(name)}({_value(members[0])})"
    # A union binds more tightly than a pipeline, but a nested one would otherwise be merged into the outer one.
    inner = ("compose.Pipeline", "compose.Union")
    return sign.join(f"({_value(each)})" if each["name"] in inner else _value(each) for each in members)


def _called(name: str) -> str:
    """The short name, if it is unique."""
    short = name.rpartition(".")[2]
    return short if sum(other.endswith(f".{short}") for other in registry.find()) == 1 else name


def _value(value: Any) -> str:
    if isinstance(value, dict) and "name" in value:
        return _part(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return repr(value)


def _changed(name: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters that are not at their defaults."""
    defaults = {
        each["name"]: each["default"] for each in registry.entry(name)["parameters"] if not each["required"]
    }
    changed = {}
    for key, value in parameters.items():
        default = defaults.get(key, ...)
        if isinstance(default, dict):
            default = registry.build(default).describe()
        if not (type(default) is type(value) and default == value):
            changed[key] = value
    return changed
