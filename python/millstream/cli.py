"""The command `millstream`: what there is, and what its parameters are."""

from __future__ import annotations

import argparse
import inspect
import json
import sys
from collections.abc import Sequence
from typing import Any

import millstream
from millstream.errors import MillstreamError
from millstream.registry import Entry, entry, face, find

__all__ = ["main"]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="millstream",
        description="Online machine learning: exact one-example-at-a-time learning, at native speed.",
    )
    parser.add_argument("--version", action="version", version=f"millstream {millstream.__version__}")
    commands = parser.add_subparsers(dest="command", required=True)

    listing = commands.add_parser("list", help="all parts, or those of one role")
    listing.add_argument("--role", help="classifier, regressor, transformer, metric, …")
    listing.add_argument("--json", action="store_true", help="the whole declarations as JSON")

    description = commands.add_parser("describe", help="one part: what it is for, its parameters")
    description.add_argument("name", help="such as linear_model.LogisticRegression")
    description.add_argument("--json", action="store_true", help="the declaration as JSON")
    return parser


def _as_json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def _listed(entries: Sequence[Entry]) -> str:
    width = max((len(entry["name"]) for entry in entries), default=0)
    role_width = max((len(entry["role"]) for entry in entries), default=0)
    return "\n".join(f"{e['name']:<{width}}  {e['role']:<{role_width}}  {e['words']}" for e in entries)


def _described(declared: Entry) -> str:
    lines = [f"{declared['name']} ({declared['role']})", "", inspect.getdoc(face(declared["name"])) or ""]
    if declared["parameters"]:
        lines += ["", "Declared", "--------"]
    for parameter in declared["parameters"]:
        default = "required" if parameter["required"] else f"default {json.dumps(parameter['default'])}"
        lines.append(f"{parameter['name']}: {parameter['must_be']}, {default}")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    given = _parser().parse_args(arguments)
    try:
        if given.command == "list":
            entries = [entry(name) for name in find(given.role)]
            print(_as_json(entries) if given.json else _listed(entries))
        else:
            declared = entry(given.name)
            print(_as_json(declared) if given.json else _described(declared))
    except MillstreamError as error:
        print(error, file=sys.stderr)
        return 2
    except BrokenPipeError:
        # The reader has gone, as with `| head`.
        sys.stderr.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
