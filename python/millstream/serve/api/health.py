"""Liveness and readiness of the server."""

from __future__ import annotations

from millstream.serve.api.operation import Operation
from millstream.serve.requests import Call, Problem, Reply

__all__ = ["OPERATIONS", "STALL"]


#: Seconds after which the handler or a learner is considered to hang.
STALL = 10.0


def healthz(call: Call) -> Reply:
    """Liveness: no learner hangs. The HTTP server replies itself, unless a learner hangs in the log thread.

    A long operation, such as the replay of a rollback, is no hanging learner: see `readyz`.
    """
    engine = call.server.engine
    stalled = engine.committer.stalled(STALL)
    if stalled is not None:
        seq = engine.state.seq
        raise Problem(
            503,
            "learner-stalled",
            f"{stalled}: its learner has not returned from record {seq} for more than {STALL:g} seconds; "
            f"if it never returns, restart the server with skip_records=[{seq}] (--skip-record {seq})",
            seq=seq,
        )
    return Reply.json({"status": "ok"})


def readyz(call: Call) -> Reply:
    """Readiness: the log has been replayed, and records can be written."""
    committer = call.server.engine.committer
    if not call.server.is_ready:
        raise Problem(503, "not-ready", "the server is starting or stopping")
    if committer.disk_error is not None:
        raise Problem(503, "disk-full", committer.disk_error)
    found = {"status": "ready", "seq": call.server.engine.state.seq}
    name = committer.operating(STALL)
    if name is not None:
        # Predictions continue, so the server is ready.
        found["detail"] = f"{name}: an operation has been running for more than {STALL:g} seconds; labels wait"
    return Reply.json(found)


def drain(call: Call) -> Reply:
    """Stop the server as after SIGTERM: requests in flight are answered, and a snapshot is written."""
    call.server.drain()
    return Reply.json({"draining": True}, 202)


OPERATIONS = (
    Operation("GET", "/healthz", healthz, None, "Is the server alive?"),
    Operation("GET", "/readyz", readyz, None, "Is the server ready?", {503: "not ready"}),
    Operation("POST", "/v1/admin/drain", drain, "admin", "Stop the server", {202: "the server is stopping"}),
)
