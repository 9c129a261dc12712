"""The keywords that all readers of tables share, for their signatures, and what is said of others."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypedDict

from millstream._echo import quoted
from millstream.errors import InvalidType
from millstream.registry import nearest

__all__ = ["TableOptions", "check_options"]


class TableOptions(TypedDict, total=False):
    """What the columns are; `stream.TableStream` has the words."""

    weight: str | None
    time: str | None
    label_time: str | None
    drop: Iterable[str]
    types: Mapping[str, str] | None
    on_error: str


#: Options as other libraries call them: the option here that does it, and how it is given.
_ELSEWHERE = {
    "sep": ("delimiter", "delimiter="),
    "separator": ("delimiter", "delimiter="),
    "quotechar": ("quote", "quote="),
    "na_values": ("missing", "missing="),
    "null_values": ("missing", "missing="),
    "dtype": ("types", "types={'column': 'nominal'}"),
    "dtypes": ("types", "types={'column': 'nominal'}"),
    "converters": ("types", "types={'column': 'number'}"),
    "parse_dates": ("types", "types={'column': 'time'}, or time='column' if it says when a row happened"),
    "usecols": ("drop", "drop=['column', …], which leaves columns out"),
    "columns": ("drop", "drop=['column', …], which leaves columns out"),
    "label": ("target", "target="),
    "y": ("target", "target="),
    "sample_weight": ("weight", "weight="),
    "params": ("parameters", "parameters="),
    "b": ("bits", "bits="),
    "noconstant": ("constant", "constant=False"),
}

#: What is a verb of every stream.
_VERBS = {"nrows": "take(n)", "n_rows": "take(n)", "skiprows": "skip(n)", "chunksize": "batch(n)"}


def check_options(reader: Callable[..., Any], options: Mapping[str, Any]) -> None:
    """Refuse an option that a reader does not have, with the one that is meant."""
    parameters = inspect.signature(reader).parameters.values()
    known = [parameter.name for parameter in parameters if parameter.kind is not parameter.VAR_KEYWORD]
    if len(known) < len(parameters):
        known += TableOptions.__annotations__
    for name in options:
        if name not in known:
            # These words are also what the command line looks for.
            words = f"stream.{reader.__name__}() got an unexpected keyword argument {quoted(name)}"
            raise InvalidType(f"{words}{_instead(name, known)}")


def _instead(name: str, known: Iterable[str]) -> str:
    if name == "target":
        return "; each line has its label, which is the target"
    if name in _VERBS:
        return f"; say .{_VERBS[name]} of the stream"
    if name in ("usecols", "columns") and "columns" in known:
        return "; say columns=['column', …]"
    option, how = _ELSEWHERE.get(name, ("", ""))
    if option in known:
        return f"; say {how}"
    return nearest(name, known) or f"; there are {', '.join(list(known)[1:])}"
