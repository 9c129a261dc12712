"""The data of the dashboard: an overview of the server, and the details of one model or route.

Growing lists are filtered by record number, so that a reader receives only new entries. `row_of` and `detail` must
be called while the state is locked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import millstream
from millstream.serve.counters import Histogram
from millstream.serve.fates import Fate
from millstream.serve.samples import quantile
from millstream.serve.served_model import ServedModel
from millstream.serve.stream import DELAY_BOUNDS, Stream

__all__ = ["detail", "identity", "latency_of", "row_of", "server_state"]

#: Number of points of a sparkline in the overview.
_SPARK = 48
#: Maximum number of list entries, and of route members with curves, in one message.
_MOST_ENTRIES = 50
_MOST_CURVES = 12
#: Counters of requests that the HTTP server refused or abandoned.
_REFUSED = (
    *("refused_connections", "queue_full", "header_too_large", "body_too_large", "malformed"),
    *("unsupported_encoding", "header_timeouts", "body_timeouts", "request_timeouts"),
)
#: Number of characters shown of a refused label.
_LONGEST_LABEL = 200


def server_state(server: Any, uptime: float) -> dict[str, Any]:
    """The server without its models: the log, the recovery at start, and current errors."""
    engine = server.engine
    committer, store, recovery = engine.committer, engine.store, engine.recovery
    return {
        "version": millstream.__version__,
        "uptime": uptime,
        "now": engine.clock.now(),
        "ready": server.is_ready,
        "seq": engine.state.seq,
        "first_seq": store.first_seq,
        "log_bytes": store.size,
        "queue": committer.waiting,
        "groups": committer.groups,
        "lost_events": committer.lost_events,
        "disk_error": committer.disk_error,
        "recovery": {
            "snapshot_seq": recovery.snapshot_seq,
            "replayed": recovery.replayed,
            "seconds": recovery.seconds,
            "notes": [str(note)[:500] for note in [*store.report.lines(), *recovery.notes][-_MOST_ENTRIES:]],
        },
        "http": None if server.http is None else _http_state(server.http),
    }


def _http_state(http: Any) -> dict[str, Any]:
    bounds, counts, total = http.latency()
    stats = http.stats()
    return {
        "connections": stats["connections"],
        "requests": stats["requests"],
        "waiting": stats["waiting"],
        "refused": sum(stats[name] for name in _REFUSED),
        "latency": _latency(bounds, counts, total),
    }


def row_of(state: Any, name: str, sample: list[Any] | None) -> dict[str, Any]:
    """One model or route in the overview."""
    stream: Stream = state.by_name[name]
    route = state.routes.get(name)
    served: ServedModel = state.models[name if route is None else route.champion]
    metric = served.metric_names[0] if served.metric_names else None
    figures = served.figures()
    points = served.curve.points
    step = max(1, -(-len(points) // _SPARK))
    return {
        "name": name,
        "is_route": route is not None,
        "learner": served.title,
        "role": str(served.role),
        "version": served.version,
        "champion": None if route is None else route.champion,
        "challengers": [] if route is None else route.challengers,
        "promotions": 0 if route is None else len(route.promotions),
        "routes": _routes_of(state, name),
        "learned": served.learned,
        "scored": served.scored,
        "metric": metric,
        "recent": figures.get(f"recent_{metric}"),
        "total": figures.get(str(metric)),
        "spark": [_digits(point[3], 4) for point in points[::-step][::-1]] if metric else [],
        "drifts": len(served.drifts),
        "predictions": stream.predictions,
        "received": stream.received,
        "waiting_labels": stream.waiting_labels,
        "quarantined": stream.fates.get(Fate.QUARANTINED.word, 0),
        "remembered": len(stream.pending),
        "prediction_rate": 0.0 if sample is None else sample[2],
        "label_rate": 0.0 if sample is None else sample[3],
    }


def identity(state: Any, name: str) -> tuple[Any, ...]:
    """Objects that are replaced by a rollback, or when a model is deleted and created again."""
    route = state.routes.get(name)
    members = [name] if route is None else route.members
    return (state.by_name[name], *(state.models[each].curve for each in members))


def detail(state: Any, name: str, since: int) -> dict[str, Any]:
    """All data about a model or route, with the list entries after record `since`."""
    stream: Stream = state.by_name[name]
    route = state.routes.get(name)
    members = [name] if route is None else route.members
    quarantine = [{**entry, "y": _shown(entry["y"])} for entry in _after(list(stream.quarantine), since)]
    found: dict[str, Any] = {
        "name": name,
        "is_route": route is not None,
        "labels": stream.status(),
        "policy": stream.policy.describe(),
        "quarantine": quarantine,
        "delays": {"bounds": DELAY_BOUNDS, "counts": list(stream.delay_counts)},
        "routes": _routes_of(state, name),
        "members": {each: _member(state.models[each], since) for each in members[:_MOST_CURVES]},
    }
    if route is not None:
        described = route.describe()
        described["promotions"] = _after(described["promotions"], since)
        found["route"] = described
    return found


def _member(served: ServedModel, since: int) -> dict[str, Any]:
    figures = served.figures()
    metric = served.metric_names[0] if served.metric_names else None
    points = served.curve.points
    new = points[len(points) - _newer(points, since) :]
    return {
        "learner": served.title,
        "role": str(served.role),
        "native": served.is_native,
        "seq": served.seq,
        "learned": served.learned,
        "scored": served.scored,
        "unscored": served.unscored,
        "metric_names": list(served.metric_names),
        "metrics": {each: figures[each] for each in served.metric_names},
        "recent": figures.get(f"recent_{metric}"),
        "versions": [{"version": version, "seq": seq} for version, seq in list(served.versions.items())[-50:]],
        "drift_count": len(served.drifts),
        "drifts": _after(served.drifts, since),
        "curve": {
            "every": served.curve.every,
            "points": [[*point[:3], *(_digits(value, 6) for value in point[3:])] for point in new],
        },
    }


def _newer(points: list[list[Any]], since: int) -> int:
    """The number of points at the end that come after a record."""
    count = 0
    for point in reversed(points):
        if point[1] <= since:
            break
        count += 1
    return count


def _digits(value: float | None, digits: int) -> float | None:
    return None if value is None else float(f"{value:.{digits}g}")


def _shown(y: Any) -> Any:
    """A refused label, truncated for a message."""
    if y is None or isinstance(y, (bool, float)) or (isinstance(y, int) and abs(y) < 1 << 53):
        return y
    text = y if isinstance(y, str) else str(y)
    return text if len(text) <= _LONGEST_LABEL else f"{text[:_LONGEST_LABEL]}…"


def _after(entries: list[dict[str, Any]], since: int) -> list[dict[str, Any]]:
    return [entry for entry in entries[-_MOST_ENTRIES:] if entry["seq"] > since]


def _routes_of(state: Any, name: str) -> list[str]:
    return [route.name for route in state.routes.values() if name in route.members]


def latency_of(durations: Histogram | None) -> dict[str, Any] | None:
    """The durations of predictions since the start of the server."""
    return None if durations is None else _latency(durations.bounds, list(durations.counts), durations.sum)


def _latency(bounds: Sequence[float], counts: list[int], seconds: float) -> dict[str, Any] | None:
    total = sum(counts)
    if not total:
        return None
    quantiles = {name: quantile(bounds, counts, q) for name, q in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99))}
    return {"bounds": list(bounds), "counts": counts, "mean": seconds / total, **quantiles}
