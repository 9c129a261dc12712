"""`millstream describe`: what a part or a source is for, and what its parameters are."""

from __future__ import annotations

import inspect
import json
from argparse import Namespace
from typing import Any

from millstream import notation, registry
from millstream._echo import quoted
from millstream.cli.errors import UsageError
from millstream.cli.options import JSON, OK, Command, Option
from millstream.cli.show import as_json, say
from millstream.cli.sources import vocabulary
from millstream.errors import MillstreamError

__all__ = ["COMMAND"]


def main(given: Namespace) -> int:
    """Print one component, by its short or full name."""
    words = vocabulary()
    found = words.named(given.name)
    if len(found) == 1 and found[0] in words.more:
        return _in_python(found[0], words, as_data=given.json)
    if len(found) > 1:
        raise UsageError(f"{quoted(given.name)} may be {' or '.join(found)}: write it in full")
    try:
        declared = registry.entry(found[0] if found else given.name)
    except MillstreamError as error:
        raise UsageError(str(error)) from None
    if given.json:
        say(as_json(declared))
        return OK
    say(f"{declared['name']} ({declared['role']})\n\n{inspect.getdoc(registry.class_of(declared['name'])) or ''}")
    if declared["parameters"]:
        say("\nDeclared\n--------")
    for parameter in declared["parameters"]:
        default = "required" if parameter["required"] else f"default {_shown(parameter['default'])}"
        former = f", formerly {' or '.join(parameter['formerly'])}" if parameter["formerly"] else ""
        say(f"{parameter['name']}: {parameter['must_be']}, {default}{former}")
    return OK


def _shown(default: Any) -> str:
    """A default as Python code, with the quotes of the notation."""
    return json.dumps(default) if isinstance(default, str) else repr(default)


def _in_python(name: str, words: notation.Vocabulary, *, as_data: bool) -> int:
    """Print an entry that is not in the registry: a data set, a reader, or a component written in Python."""
    role = words.role(name)
    kind = words.class_of(name)
    said = inspect.getdoc(kind) or ""
    parameters = notation.parameters_of(kind)
    if as_data:
        declared = [
            {"name": p.name, "required": p.default is p.empty}
            | ({} if p.default is p.empty else {"default": p.default})
            for p in parameters
            if p.kind is not p.VAR_KEYWORD
        ]
        about = said.partition("\n")[0].removesuffix(".")
        say(as_json({"name": name, "role": role, "words": about, "parameters": declared}))
        return OK
    shown = ", ".join(str(p.replace(annotation=p.empty)) for p in parameters)
    say(f"{name} ({role})\n\n{name.rpartition('.')[2]}({shown})\n\n{said}")
    return OK


COMMAND = Command(
    "describe",
    "describe a component: purpose, parameters, example",
    "The name may be short (LogisticRegression) or full (linear_model.LogisticRegression).",
    (Option(("name",), "name of the component", value="NAME", complete="part"), JSON),
    (("purpose and parameters of a classifier", "describe LogisticRegression"),),
    main,
)
