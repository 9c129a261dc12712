"""One operation of the HTTP interface, declared once for the handler, the OpenAPI document and the
documentation."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from millstream.serve.requests import Call, Problem, Reply
from millstream.serve.stream import Stream

__all__ = ["Operation", "stream_of"]


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
    #: Whether the operation locks the state to read it, and so may wait while labels are learned.
    reads_state: bool = False

    @property
    def is_slow(self) -> bool:
        """Whether the operation waits for the log."""
        return self.method != "GET" and (
            self.scope == "admin" or self.method == "DELETE" or "/activate" in self.path
        )

    @property
    def names(self) -> list[str]:
        """The names in the path."""
        return re.findall(r"\{(\w+)\}", self.path)


def stream_of(call: Call) -> Stream:
    """The stream of the model or route in the path."""
    name = call.values["model"]
    stream: Stream | None = call.server.engine.state.by_name.get(name)
    if stream is None:
        raise Problem(404, "unknown-model", f"no model or route named {name[:130]!r}")
    return stream
