"""One operation of the HTTP interface, declared once for the handler, the OpenAPI document and the
documentation."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple
from urllib.parse import parse_qsl

from millstream.serve.requests import Call, Problem, Reply
from millstream.serve.stream import Stream

__all__ = ["LABEL_WAIT", "WAIT", "Operation", "Parameter", "check_query", "stream_of"]


class Parameter(NamedTuple):
    """A parameter of a query. With `values`, no other value is accepted."""

    about: str
    example: str
    values: tuple[str, ...] = ()


_ON_DISK = "With `durable`, the reply is sent after the event is on disk."
#: The parameter of predictions.
WAIT = {"wait": Parameter(_ON_DISK, "durable", ("durable",))}
_APPLIED = "The reply to a label is always sent after the label is on disk and applied."
#: The parameter of labels.
LABEL_WAIT = {"wait": Parameter(_APPLIED, "durable", ("durable", "applied"))}


@dataclass(frozen=True)
class Operation:
    """A method and a path template, the scope of the token it needs, and the function that runs it."""

    method: str
    path: str
    run: Callable[[Call], Reply | None]
    #: "predict", "label", "admin", "metrics", or None for everybody.
    scope: str | None
    summary: str
    #: Statuses of replies other than 200, each with its meaning.
    statuses: dict[int, str] = field(default_factory=dict)
    #: Parameters of the query.
    query: dict[str, Parameter] = field(default_factory=dict)
    #: Whether the operation locks the state to read it, and so may wait while labels are learned.
    reads_state: bool = False

    @cached_property
    def is_slow(self) -> bool:
        """Whether the operation waits for the log."""
        return self.method != "GET" and (
            self.scope == "admin" or self.method == "DELETE" or "/activate" in self.path
        )

    @cached_property
    def names(self) -> list[str]:
        """The names in the path."""
        return re.findall(r"\{(\w+)\}", self.path)


def check_query(operation: Operation, query: str) -> None:
    """Refuse a parameter that the operation does not know: a misspelled one would have no effect."""
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name not in operation.query:
            known = ", ".join(operation.query) or "none"
            detail = f"query: unknown parameter {name[:100]!r}; parameters of {operation.path}: {known}"
            raise Problem(422, "unknown-parameter", detail, parameter=name[:100])
        values = operation.query[name].values
        if values and value not in values:
            raise Problem(422, "invalid", f"query: {name} must be {' or '.join(values)}, got {value[:100]!r}")


def stream_of(call: Call) -> Stream:
    """The stream of the model or route in the path."""
    name = call.values["model"]
    stream: Stream | None = call.server.engine.state.by_name.get(name)
    if stream is None:
        raise Problem(404, "unknown-model", f"no model or route named {name[:130]!r}")
    return stream
