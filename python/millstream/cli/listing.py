"""`millstream list` and `millstream describe`: what there is, and what its parameters are."""

from __future__ import annotations

import inspect
import json
from argparse import Namespace

from millstream import notation, registry
from millstream.cli.errors import UsageError
from millstream.cli.options import JSON, OK, Command, Option
from millstream.cli.show import as_json
from millstream.errors import MillstreamError

__all__ = ["DESCRIBE", "LIST"]


def list_parts(given: Namespace) -> int:
    """Show all parts, or those of a role."""
    if given.role and given.which and given.role != given.which:
        raise UsageError(f"one role at a time, got {given.which!r} and {given.role!r}")
    try:
        entries = [registry.entry(name) for name in registry.find(given.role or given.which)]
    except MillstreamError as error:
        raise UsageError(str(error)) from None
    if given.json:
        print(as_json(entries))
        return OK
    width = max((len(entry["name"]) for entry in entries), default=0)
    role_width = max((len(entry["role"]) for entry in entries), default=0)
    for entry in entries:
        print(f"{entry['name']:<{width}}  {entry['role']:<{role_width}}  {entry['words']}")
    return OK


def describe(given: Namespace) -> int:
    """Show one part, by its short or full name."""
    found = notation.Vocabulary().named(given.name)
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


LIST = Command(
    "list",
    "all parts that a model can be made of, or those of one role",
    "Roles are classifier, regressor, transformer, metric, optimizer, loss, schedule, drift_detector, statistic.",
    (
        Option(("which",), "the role", value="ROLE", optional=True, complete="role"),
        Option(("--role",), "the role", value="ROLE", complete="role"),
        JSON,
    ),
    (("what can classify?", "list classifier"), ("everything, for a program", "list --json")),
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
