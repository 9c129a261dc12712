"""Hints in messages of the library, which name Python arguments, as options of the command line."""

from __future__ import annotations

import ast
import re
import shlex

__all__ = ["as_options"]

#: Arguments that have an option of their own; the others are options of a reader.
_OWN = ("drop", "format", "query", "target", "time")
_READERS = ("constant", "decimal", "delimiter", "encoding", "header", "missing", "names", "quote", "zero_based")
_NAME = rf"\b(?P<name>{'|'.join((*_OWN, *_READERS))})="

_TEXT = r"'(?:[^'\\]|\\.)*'"
#: An argument with a string, a list of one string, or a truth value.
_GIVEN = re.compile(rf"{_NAME}(?P<value>\[{_TEXT}\]|{_TEXT}|True\b|False\b)")
#: An argument without a value, in a sentence.
_NAMED = re.compile(rf"(?<=[a-z] ){_NAME}(?=$|[ ;])")


def as_options(message: str) -> str:
    """A message in which `drop=['a']` is `--drop a`, and `encoding='latin-1'` is `--option encoding=latin-1`."""
    # Missing values of a series are skipped as other faulty rows are.
    message = message.replace("missing='skip' passes it", "--on-error skip passes it")
    return _NAMED.sub(lambda found: _option(found["name"], "").rstrip(), _GIVEN.sub(_given, message))


def _given(found: re.Match[str]) -> str:
    value = ast.literal_eval(found["value"])
    text = value[0] if isinstance(value, list) else str(value)
    # The command line reads escapes such as \t in a quoted value.
    return _option(found["name"], shlex.quote(text if text.isprintable() else found["value"]))


def _option(name: str, value: str) -> str:
    return f"--{name} {value}" if name in _OWN else f"--option {name}={value}"
