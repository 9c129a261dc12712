"""All components of millstream: find them by role, build them from a description, load them from a file."""

from __future__ import annotations

import difflib
import importlib
import json
import os
import re
from collections.abc import Callable, Iterable
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
    """One declared component."""

    name: str
    role: str
    words: str
    merge: str
    merge_words: str
    parameters: list[ParameterEntry]


#: Python's words for those of JSON.
_WORDS = {"null": "None", "true": "True", "false": "False"}
_JSON_WORD = re.compile(r"\b(null|true|false)\b")
#: A number that is easier to read with an exponent.
_LONG_NUMBER = re.compile(r"\d{10,}")


def _in_python(words: str) -> str:
    """A description of a parameter in Python's words: None for null, 1e+100 for a one with a hundred zeros."""
    words = _JSON_WORD.sub(lambda found: _WORDS[found[0]], words)
    return _LONG_NUMBER.sub(lambda found: _short(found[0]), words)


def _short(digits: str) -> str:
    shown = f"{float(digits):g}"
    return shown if float(shown) == float(digits) else digits


@cache
def _catalogue() -> dict[str, Entry]:
    entries = cast("list[Entry]", json.loads(_core.catalogue()))
    for one in entries:
        for parameter in one["parameters"]:
            parameter["must_be"] = _in_python(parameter["must_be"])
            # "false alarm" is English.
            parameter["words"] = re.sub(r"\bnull\b", "None", parameter["words"])
    return {entry["name"]: entry for entry in entries}


def find(role: str | None = None) -> list[str]:
    """The names of all components, or of those with a role.

    >>> import millstream
    >>> "linear_model.LogisticRegression" in millstream.find(role="classifier")
    True
    """
    roles = {entry["role"] for entry in _catalogue().values()}
    if role is not None and role not in roles:
        raise InvalidValue(f"millstream: role must be one of {', '.join(sorted(roles))}, got {quoted(role)}")
    return sorted(name for name, entry in _catalogue().items() if role in (None, entry["role"]))


def entry(name: str) -> Entry:
    """The registry entry of a component."""
    try:
        return _catalogue()[name]
    except KeyError:
        raise UnknownName(f"millstream: no component named {quoted(name)}{hint(name, _catalogue())}") from None


def hint(name: str, known: Iterable[str]) -> str:
    """What to use instead of an unknown component, or the most similar name, as the end of an error message."""
    from millstream._other_names import other_component

    return other_component(name) or nearest(name, known)


#: The time to compare names grows with the product of their lengths, and a longer one was not mistyped.
_LONGEST_NAME = 200


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint for a mistyped name: the most similar known name, with or without its module."""
    if len(name) > _LONGEST_NAME:
        return ""
    whole = {other.lower(): other for other in known if len(other) <= _LONGEST_NAME}
    short = {other.rpartition(".")[2].lower(): other for other in whole.values()}
    # Without a module in the given name, modules must not count in the comparison.
    for names in (whole, short) if "." in name else (short, whole):
        # A common prefix is a better hint than similar letters.
        begun = [other for other in names if len(name) > 3 and other.startswith(name.lower())]
        if begun:
            return f", did you mean {quoted(names[min(begun, key=len)])}?"
        if near := difflib.get_close_matches(name.lower(), names, n=1):
            return f", did you mean {quoted(names[near[0]])}?"
    return ""


#: Components written in Python with a saved state; the registry lists those built in Rust.
_PYTHON = ("drift.Monitor", "llm.Head", "llm.JudgeThreshold", "llm.Router")
#: The first bytes of monitor files before they had the format of models.
_JSON_MONITOR = b'{"format": "millstream.drift.Monitor'
#: The first bytes of keyed models, and of pipelines with steps in Python.
_KEYED = b"MILLKEYD"
_PIPELINE = b"MILLPIPE"


@cache
def _class(name: str) -> Any:
    module, _, short = name.rpartition(".")
    return getattr(importlib.import_module(f"millstream.{module}"), short)


def class_of(name: str) -> type:
    """The Python class of a component."""
    entry(name)
    return cast("type", _class(name))


def build(description: dict[str, Any]) -> Any:
    """Build a component from a description, as `describe()` returns it.

    >>> import millstream
    >>> model = millstream.build({"name": "linear_model.LogisticRegression", "parameters": {"l2": 0.1}})
    >>> model.describe()["parameters"]["l2"]
    0.1
    """
    if not isinstance(description, dict) or not isinstance(description.get("name"), str):
        raise InvalidValue(
            f'millstream: a description must be {{"name": …, "parameters": {{…}}}}, got {quoted(description)}'
        )
    if others := set(description) - {"name", "parameters"}:
        raise InvalidValue(
            f'millstream: a description must have "name" and "parameters" only, got {quoted(sorted(others)[0])}'
        )
    parameters = description.get("parameters", {})
    if not isinstance(parameters, dict):
        raise InvalidType(f"{description['name']}: parameters must be a dict, got {quoted(parameters)}")
    try:
        return cast("Any", class_of(description["name"]))._from_parameters(parameters)
    except TypeError as error:
        if isinstance(error, MillstreamError) or "unexpected keyword argument" not in str(error):
            raise
        # InvalidType shortens long names.
        raise InvalidType(str(error)) from None


def from_bytes(data: bytes, trusted: Iterable[str | Callable[..., Any]] = ()) -> Any:
    """Load a model, metric, statistic or detector from the bytes that `to_bytes` returned.

    `trusted` lists functions that a saved pipeline may use: see `load`.
    """
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise InvalidType(f"millstream: a saved model must be bytes, got {type(data).__name__}")
    data = bytes(data)
    if data.startswith(_JSON_MONITOR):
        return _class("drift.Monitor").from_bytes(data)
    if data.startswith(_KEYED):
        return _class("compose.Keyed").from_bytes(data)
    if data.startswith(_PIPELINE):
        from millstream.compose.pipeline_file import from_pipeline_bytes

        return from_pipeline_bytes(data, trusted)
    saved = _core.SavedFile(data)
    if saved.name in _PYTHON:
        return _class(saved.name)._revive(saved)
    cls: Any = class_of(saved.name) if saved.name in _catalogue() else None
    if not hasattr(cls, "_revive"):
        raise InvalidState(
            f"millstream: the saved description is not valid: no stateful component {quoted(saved.name)}"
        )
    return cls._revive(saved)


def load(path: str | os.PathLike[str], trusted: Iterable[str | Callable[..., Any]] = ()) -> Any:
    """Load what `save` wrote to a file, or `Keyed.dump` to a folder: a model, metric, statistic or detector.

    Files contain data only, so it is safe to load files from untrusted sources. A pipeline with a plain function
    is saved with the import path of the function, which is imported only if it is trusted.

    Parameters
    ----------
    path
        A file, or a folder of `Keyed.dump`.
    trusted
        Functions that a saved pipeline may use: import paths (`"features.weekday"`) or the functions themselves.
    """
    try:
        data = Path(path).read_bytes()
    except IsADirectoryError:
        if (Path(path) / "keyed.json").exists():
            return _class("compose.Keyed").load(path)
        raise InvalidState(f"millstream: {path} is a directory, not a saved model") from None
    except (OSError, ValueError) as error:
        from millstream.stream.source import cannot_be_read, check

        check(os.fspath(path))
        raise cannot_be_read(os.fspath(path), error) from None
    try:
        return from_bytes(data, trusted)
    except InvalidState as error:
        words = str(error).removeprefix("millstream: ")
        raise InvalidState(f"millstream: {path} cannot be loaded: {words}") from None
