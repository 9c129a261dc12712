"""All that millstream can build: find it by role, build it from a description, load it from a file."""

from __future__ import annotations

import difflib
import importlib
import json
import os
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, TypedDict, cast

from millstream import _core
from millstream._echo import quoted
from millstream.errors import InvalidState, InvalidType, InvalidValue, MillstreamError, UnknownName

__all__ = ["Entry", "build", "entry", "find", "from_bytes", "load"]


class ParameterEntry(TypedDict):
    """One declared parameter."""

    name: str
    default: Any
    required: bool
    must_be: str
    bounds: list[Any] | None
    words: str
    formerly: list[str]


class Entry(TypedDict):
    """One declared part."""

    name: str
    role: str
    words: str
    parameters: list[ParameterEntry]


@cache
def _catalogue() -> dict[str, Entry]:
    entries = cast("list[Entry]", json.loads(_core.catalogue()))
    return {entry["name"]: entry for entry in entries}


def find(role: str | None = None) -> list[str]:
    """The names of all parts, or of those with a role.

    >>> import millstream
    >>> "linear_model.LogisticRegression" in millstream.find(role="classifier")
    True
    """
    roles = {entry["role"] for entry in _catalogue().values()}
    if role is not None and role not in roles:
        raise InvalidValue(f"millstream: role must be one of {', '.join(sorted(roles))}, got {quoted(role)}")
    return sorted(name for name, entry in _catalogue().items() if role in (None, entry["role"]))


def entry(name: str) -> Entry:
    """What the registry says of one part."""
    try:
        return _catalogue()[name]
    except KeyError:
        raise UnknownName(f"millstream: no part named {quoted(name)}{nearest(name, _catalogue())}") from None


#: Comparing names takes time that grows with the product of their lengths, and a longer one was not mistyped.
_LONGEST_NAME = 200


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint for a mistyped name: the known one that is nearest, with or without its module."""
    if len(name) > _LONGEST_NAME:
        return ""
    whole = {other.lower(): other for other in known if len(other) <= _LONGEST_NAME}
    short = {other.rpartition(".")[2].lower(): other for other in whole.values()}
    # Without a module, the module of a part with another name must not make that one look nearer.
    for names in (whole, short) if "." in name else (short, whole):
        # The beginning of a name is more of a hint than letters in common.
        begun = [other for other in names if len(name) > 3 and other.startswith(name.lower())]
        if begun:
            return f", did you mean {quoted(names[min(begun, key=len)])}?"
        if near := difflib.get_close_matches(name.lower(), names, n=1):
            return f", did you mean {quoted(names[near[0]])}?"
    return ""


#: Components that are written in Python and have a saved state; the registry lists those that Rust builds.
_PYTHON = ("drift.Monitor",)
#: How the files of monitors began before they had the format of models.
_JSON_MONITOR = b'{"format": "millstream.drift.Monitor'


def _class(name: str) -> Any:
    module, _, short = name.rpartition(".")
    return getattr(importlib.import_module(f"millstream.{module}"), short)


def class_of(name: str) -> type:
    """The Python class of a part."""
    entry(name)
    return cast("type", _class(name))


def build(description: dict[str, Any]) -> Any:
    """The part that a description describes, as `describe()` gives it.

    >>> import millstream
    >>> model = millstream.build({"name": "linear_model.LogisticRegression", "parameters": {"l2": 0.1}})
    >>> model.describe()["parameters"]["l2"]
    0.1
    """
    if not isinstance(description, dict) or not isinstance(description.get("name"), str):
        raise InvalidValue(
            f'millstream: a description is {{"name": …, "parameters": {{…}}}}, got {quoted(description)}'
        )
    if others := set(description) - {"name", "parameters"}:
        raise InvalidValue(
            f'millstream: a description has "name" and "parameters", not {quoted(sorted(others)[0])}'
        )
    parameters = description.get("parameters", {})
    if not isinstance(parameters, dict):
        raise InvalidType(f"{description['name']}: parameters must be a dict, got {quoted(parameters)}")
    try:
        return cast("Any", class_of(description["name"]))._from_parameters(parameters)
    except TypeError as error:
        if isinstance(error, MillstreamError) or "unexpected keyword argument" not in str(error):
            raise
        # Python echoes a name of any length.
        raise InvalidType(str(error)) from None


def from_bytes(data: bytes) -> Any:
    """The model, metric, statistic or detector that `to_bytes` gave, ready to go on."""
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise InvalidType(f"millstream: a saved model is bytes, got {type(data).__name__}")
    data = bytes(data)
    if data.startswith(_JSON_MONITOR):
        return _class("drift.Monitor").from_bytes(data)
    saved = _core.SavedFile(data)
    cls = _class(saved.name) if saved.name in _PYTHON else cast("Any", class_of(saved.name))
    if not hasattr(cls, "_revive"):
        raise InvalidType(f"{saved.name}: a {entry(saved.name)['role']} has no state of its own to load")
    return cls._revive(saved)


def load(path: str | os.PathLike[str]) -> Any:
    """The model that `save` wrote."""
    try:
        data = Path(path).read_bytes()
    except IsADirectoryError:
        raise InvalidState(f"millstream: {path} is a directory, not a saved model") from None
    except (OSError, ValueError) as error:
        from millstream.stream.source import cannot_be_read, check

        check(os.fspath(path))
        raise cannot_be_read(os.fspath(path), error) from None
    try:
        return from_bytes(data)
    except InvalidState as error:
        words = str(error).removeprefix("millstream: ")
        raise InvalidState(f"millstream: {path} cannot be loaded: {words}") from None
