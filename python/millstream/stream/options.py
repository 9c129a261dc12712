"""The keywords shared by all readers of tables, and hints for unknown ones."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypedDict

from millstream._echo import quoted
from millstream.errors import InvalidType
from millstream.registry import nearest

__all__ = ["TableOptions", "check_options"]


class TableOptions(TypedDict, total=False):
    """Roles and kinds of columns; see `stream.TableStream`."""

    weight: str | None
    time: str | None
    label_time: str | None
    drop: Iterable[str]
    types: Mapping[str, str] | None
    on_error: str


#: Options of other libraries: the equivalent option here, and its notation.
_ELSEWHERE = {
    "sep": ("delimiter", "delimiter="),
    "separator": ("delimiter", "delimiter="),
    "quotechar": ("quote", "quote="),
    "na_values": ("missing", "missing="),
    "null_values": ("missing", "missing="),
    "dtype": ("types", "types={'column': 'nominal'}"),
    "dtypes": ("types", "types={'column': 'nominal'}"),
    "converters": ("types", "types={'column': 'number'}"),
    "parse_dates": ("types", "types={'column': 'time'}, or time='column' if it is the event time"),
    "usecols": ("drop", "drop=['column', …], which leaves columns out"),
    "columns": ("drop", "drop=['column', …], which leaves columns out"),
    "label": ("target", "target="),
    "y": ("target", "target="),
    "sample_weight": ("weight", "weight="),
    "params": ("parameters", "parameters="),
    "b": ("bits", "bits="),
    "noconstant": ("constant", "constant=False"),
}

#: Options that are methods of every stream here.
_VERBS = {"nrows": "take(n)", "n_rows": "take(n)", "skiprows": "skip(n)", "chunksize": "batch(n)"}


def check_options(reader: Callable[..., Any], options: Mapping[str, Any]) -> None:
    """Refuse an unknown option, with a hint to the intended one."""
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
        return "; the target is the label of each line"
    if name in _VERBS:
        return f"; use .{_VERBS[name]} on the stream"
    if name in ("usecols", "columns") and "columns" in known:
        return "; use columns=['column', …]"
    option, how = _ELSEWHERE.get(name, ("", ""))
    if option in known:
        return f"; use {how}"
    return nearest(name, known) or f"; there are {', '.join(list(known)[1:])}"
