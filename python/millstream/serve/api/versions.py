"""Versions of a model: name a state, restore a state, and remove the effect of poisoned labels."""

from __future__ import annotations

from typing import Any

from millstream.serve.api.fields import checked_object, json_body, json_object
from millstream.serve.api.models import model_of
from millstream.serve.api.operation import Operation
from millstream.serve.names import check_id, check_name
from millstream.serve.requests import Call, Problem, Reply

__all__ = ["OPERATIONS"]


def list_versions(call: Call) -> Reply:
    """The named versions, oldest first."""
    served = model_of(call)
    versions = [{"version": name, "seq": seq} for name, seq in served.versions.items()]
    return Reply.json({"model": served.name, "seq": served.seq, "versions": versions})


def create_version(call: Call) -> Reply:
    """Name the current state."""
    served = model_of(call)
    body = json_object(call, ("version",))
    name = check_name("version", body.get("version") or f"v{len(served.versions) + 1}")
    if name in served.versions:
        raise Problem(409, "name-in-use", f"version: {name!r} exists already")
    seq = call.server.engine.administer({"op": "version", "model": served.name, "version": name})
    return Reply.json({"model": served.name, "version": name, "seq": seq}, 201)


def rollback(call: Call) -> Reply:
    """Replay the log up to a version or record, without the labels of excluded events."""
    served = model_of(call)
    body = checked_object(json_body(call), ("to", "exclude"))
    exclude = body.get("exclude", [])
    if not isinstance(exclude, list) or len(exclude) > 100_000:
        raise Problem(422, "invalid", "exclude: must be a list of at most 100000 event ids")
    ids = [check_id(each) for each in exclude]
    to = _target(call, served, body.get("to"))
    operation = {
        "op": "rollback",
        "model": served.name,
        "folder_id": served.folder_id,
        "to": to,
        "exclude": ids,
    }
    seq = call.server.engine.administer(operation)
    if isinstance(seq, BaseException):
        raise seq
    call.server.sync_shortcuts()
    now: Any = call.server.engine.state.models[served.name]
    return Reply.json({"model": served.name, "to": to, "excluded": len(ids), "seq": seq, "learned": now.learned})


def _target(call: Call, served: Any, to: Any) -> int:
    """The record to restore: that of a version, a record number, or the current one."""
    last: int = call.server.engine.state.seq
    if to is None:
        return last
    if isinstance(to, str):
        if to not in served.versions:
            known = ", ".join(served.versions) or "none yet"
            raise Problem(
                404, "unknown-version", f"to: no version {to[:130]!r} of {served.name!r}; versions: {known}"
            )
        return int(served.versions[to])
    if isinstance(to, bool) or not isinstance(to, int) or not 1 <= to <= last:
        raise Problem(422, "invalid", f"to: must be a version or a record between 1 and {last}, got {to!r}")
    return to


_ROLLBACK = {404: "unknown version", 422: "the log no longer contains the record"}

OPERATIONS = (
    Operation("GET", "/v1/models/{model}/versions", list_versions, "metrics", "List versions"),
    Operation(
        "POST", "/v1/models/{model}/versions", create_version, "admin", "Name the current state", {201: "named"}
    ),
    Operation("POST", "/v1/models/{model}/rollback", rollback, "admin", "Restore a state", _ROLLBACK),
)
