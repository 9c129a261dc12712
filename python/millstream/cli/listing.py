"""`millstream list` and `millstream describe`: what there is, and what its parameters are."""

from __future__ import annotations

import inspect
import json
from argparse import Namespace
from typing import Any

from millstream import notation, registry
from millstream.cli.errors import UsageError
from millstream.cli.options import JSON, OK, Command, Option
from millstream.cli.show import as_json
from millstream.cli.sources import vocabulary
from millstream.errors import MillstreamError

__all__ = ["DESCRIBE", "LIST"]

#: The role of what gives rows. Sources are no parts of models, so they are listed only if asked for.
SOURCE = "source"


def list_parts(given: Namespace) -> int:
    """Show all parts, or those of a role."""
    if given.role and given.which and given.role != given.which:
        raise UsageError(f"one role at a time, got {given.which!r} and {given.role!r}")
    role = given.role or given.which
    try:
        entries: list[dict[str, Any]] = [
            dict(registry.entry(name)) for name in registry.find(None if role == SOURCE else role)
        ]
    except MillstreamError as error:
        raise UsageError(str(error).replace("role must be one of", f"role must be one of {SOURCE},")) from None
    if role == SOURCE:
        entries = _sources()
    if given.json:
        print(as_json(entries))
        return OK
    width = max((len(entry["name"]) for entry in entries), default=0)
    role_width = max((len(entry["role"]) for entry in entries), default=0)
    for entry in entries:
        print(f"{entry['name']:<{width}}  {entry['role']:<{role_width}}  {entry['words']}")
    return OK


def _sources() -> list[dict[str, Any]]:
    """Data sets, generators and readers."""
    words = vocabulary()
    made = [dict(registry.entry(name)) for name in registry.find() if registry.entry(name)["role"] == "generator"]
    about = {name: (inspect.getdoc(words.face(name)) or "").partition("\n")[0] for name in words.more}
    return [{"name": name, "role": SOURCE, "words": said.removesuffix(".")} for name, said in about.items()] + made


def describe(given: Namespace) -> int:
    """Show one part, by its short or full name."""
    words = vocabulary()
    found = words.named(given.name)
    if len(found) == 1 and words.role(found[0]) == SOURCE:
        return _describe_source(found[0], words)
    if len(found) > 1:
        raise UsageError(f"{given.name!r} may be {' or '.join(found)}: write it in full")
    try:
        declared = registry.entry(found[0] if found else given.name)
    except MillstreamError as error:
        raise UsageError(str(error)) from None
    if given.json:
        print(as_json(declared))
        return OK
    print(f"{declared['name']} ({declared['role']})\n\n{inspect.getdoc(registry.face(declared['name'])) or ''}")
    if declared["parameters"]:
        print("\nDeclared\n--------")
    for parameter in declared["parameters"]:
        default = "required" if parameter["required"] else f"default {json.dumps(parameter['default'])}"
        print(f"{parameter['name']}: {parameter['must_be']}, {default}")
    return OK


def _describe_source(name: str, words: notation.Vocabulary) -> int:
    """Show a data set, a generator or a reader."""
    face = words.face(name)
    short = name.rpartition(".")[2]
    parameters = notation.parameters_of(face)
    shown = ", ".join(p.name if p.default is p.empty else f"{p.name}={p.default!r}" for p in parameters)
    print(f"{name} ({SOURCE})\n\n{short}({shown})\n\n{inspect.getdoc(face) or ''}")
    return OK


LIST = Command(
    "list",
    "all parts that a model can be made of, or those of one role",
    "Roles are classifier, regressor, transformer, metric, optimizer, loss, schedule, drift_detector,\n"
    "statistic; source lists data sets, generators and readers.",
    (
        Option(("which",), "the role", value="ROLE", optional=True, complete="role"),
        Option(("--role",), "the role", value="ROLE", complete="role"),
        JSON,
    ),
    (
        ("what can classify?", "list classifier"),
        ("what gives rows?", "list source"),
        ("everything, for a program", "list --json"),
    ),
    list_parts,
)

DESCRIBE = Command(
    "describe",
    "one part: what it is for, its parameters, an example",
    "The name may be short (LogisticRegression) or full (linear_model.LogisticRegression).",
    (Option(("name",), "the part", value="NAME", complete="part"), JSON),
    (("what are its parameters?", "describe LogisticRegression"),),
    describe,
)
