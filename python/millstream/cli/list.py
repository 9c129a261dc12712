"""`millstream list`: list components and sources."""

from __future__ import annotations

import inspect
from argparse import Namespace
from typing import Any

from millstream import registry
from millstream._echo import quoted
from millstream.cli.errors import UsageError
from millstream.cli.options import JSON, OK, Command, Option
from millstream.cli.show import as_json, say
from millstream.cli.sources import vocabulary
from millstream.errors import MillstreamError
from millstream.notation import IN_PYTHON, Vocabulary

__all__ = ["COMMAND", "SOURCE"]

#: The role of sources. They are not components of models, so they are listed only on request.
SOURCE = "source"
#: Of the longest word for how exactly a component can be merged.
MERGE_WIDTH = len("approximate")


def main(given: Namespace) -> int:
    """Print all components, or those of a role or a module."""
    if given.role and given.which and given.role != given.which:
        raise UsageError(f"one role at a time, got {quoted(given.which)} and {quoted(given.role)}")
    role = given.role or given.which
    module = ""
    if role in {name.rpartition(".")[0] for name in registry.find()}:
        role, module = None, f"{role}."
    try:
        entries: list[dict[str, Any]] = [
            dict(registry.entry(name))
            for name in registry.find(None if role == SOURCE else role)
            if name.startswith(module)
        ]
    except MillstreamError as error:
        raise UsageError(str(error).replace("role must be one of", f"role must be one of {SOURCE},")) from None
    if role == SOURCE:
        entries = _sources()
    else:
        more = (_in_python(name) for name in IN_PYTHON if name.startswith(module))
        entries = sorted([*entries, *(one for one in more if role in (None, one["role"]))], key=_name_of)
    if given.json:
        say(as_json(entries))
        return OK
    width = max((len(entry["name"]) for entry in entries), default=0)
    role_width = max((len(entry["role"]) for entry in entries), default=0)
    for entry in entries:
        merge = "" if role == SOURCE else f"{entry['merge']:<{MERGE_WIDTH}}  "
        say(f"{entry['name']:<{width}}  {entry['role']:<{role_width}}  {merge}{entry['words']}")
    return OK


def _name_of(entry: dict[str, Any]) -> str:
    return str(entry["name"])


def _in_python(name: str) -> dict[str, Any]:
    """The entry of a component written in Python."""
    said = (inspect.getdoc(Vocabulary().class_of(name)) or "").partition("\n")[0].removesuffix(".")
    return {"name": name, "role": str(IN_PYTHON[name]), "words": said, "merge": "none"}


def _sources() -> list[dict[str, Any]]:
    """Data sets, generators and readers."""
    words = vocabulary()
    made = [dict(registry.entry(name)) for name in registry.find() if registry.entry(name)["role"] == "generator"]
    named = [name for name in words.more if name not in IN_PYTHON]
    about = {name: (inspect.getdoc(words.class_of(name)) or "").partition("\n")[0] for name in named}
    return [{"name": name, "role": SOURCE, "words": said.removesuffix(".")} for name, said in about.items()] + made


COMMAND = Command(
    "list",
    "list all components, or those of a role or module",
    "Roles are classifier, regressor, anomaly_detector, clusterer, forecaster, policy, sampler, transformer,\n"
    "metric, statistic, covariance_estimator, policy_estimator, sketch, drift_detector,\n"
    "feature_drift_detector, optimizer, loss, schedule, kernel, search_engine, explorer, buffer; source\n"
    "lists data sets, generators and readers.\n"
    "The name of a module, such as tree, lists its components.\n"
    "The third column says how exactly models of parts of a stream can be merged.",
    (
        Option(("which",), "role or module", value="ROLE", optional=True, complete="role"),
        Option(("--role",), "role", value="ROLE", complete="role"),
        JSON,
    ),
    (
        ("all classifiers", "list classifier"),
        ("all sources of rows", "list source"),
        ("all trees", "list tree"),
        ("everything as JSON", "list --json"),
    ),
    main,
)
