"""The metrics of `/metrics`: predictions, labels and their fates, quality, the log, HTTP requests, and the
process.

No Prometheus label has values that clients can choose freely: administrators create models, and ids, keys and
reasons do not appear.
"""

from __future__ import annotations

import hashlib
import json
import sys
from typing import Any

import millstream
from millstream.compose import Keyed
from millstream.errors import MillstreamError
from millstream.serve.committer import Stopped
from millstream.serve.counters import Histogram
from millstream.serve.exposition import Buckets, Page
from millstream.serve.fates import Fate
from millstream.serve.process import process_metrics
from millstream.serve.served_model import ServedModel
from millstream.serve.stream import DELAY_BOUNDS, Stream

__all__ = ["metrics_page"]

#: Seconds to wait for the state. A learner that does not return must not hide the other metrics.
_PATIENCE = 2.0

#: Counters of requests and connections refused by the HTTP server, and the reason of each as a label.
_SHED = {
    "refused_connections": "too_many_connections",
    "queue_full": "queue_full",
    "header_too_large": "header_too_large",
    "body_too_large": "body_too_large",
    "malformed": "malformed",
    "unsupported_encoding": "unsupported_encoding",
    "header_timeouts": "slow_header",
    "body_timeouts": "slow_body",
    "write_timeouts": "slow_reader",
    "request_timeouts": "no_answer",
}


def metrics_page(server: Any) -> Page:
    """All metrics of a server."""
    page = Page()
    committer = server.engine.committer
    try:
        with committer.reading(_PATIENCE):
            _streams(page, server)
            _models(page, server.engine.state)
        readable = True
    except Stopped:
        readable = False
    page.gauge(
        "millstream_state_readable",
        "1 if the state could be read; 0 if a learner hangs and the metrics of models are missing.",
        [({}, int(readable))],
    )
    _durations(page, server)
    _log(page, server)
    _http(page, getattr(server, "http", None), committer)
    process_metrics(page, server.started)
    versions = {"version": millstream.__version__, "python": sys.version.partition(" ")[0]}
    page.gauge("millstream_build_info", "Versions of millstream and Python.", [(versions, 1)])
    return page


def _streams(page: Page, server: Any) -> None:
    """Counts of events and labels. They continue after a restart, because they are part of the state."""
    streams: list[Stream] = list(server.engine.state.streams.values())
    refused = server.counters.refused
    page.counter(
        "millstream_predictions_total",
        "Predictions, stored as events or refused because of their input.",
        [
            sample
            for each in streams
            for sample in (
                ({"model": each.name, "status": "ok"}, each.predictions),
                ({"model": each.name, "status": "refused"}, refused.get(each.name, 0)),
            )
        ],
    )
    final = [fate for fate in Fate if fate not in (Fate.PARKED, Fate.COLLECTED)]
    page.counter(
        "millstream_labels_total",
        "Labels by final fate. All fates except default count labels received from clients.",
        [
            ({"model": each.name, "fate": fate.word}, each.fates.get(fate.word, 0))
            for each in streams
            for fate in final
        ],
    )
    page.counter(
        "millstream_labels_received_total",
        "Labels received from clients: the sum of all fates except default, and of parked and collected labels.",
        [({"model": each.name}, each.received) for each in streams],
    )
    page.counter(
        "millstream_windows_closed_without_label_total",
        "Events that were forgotten without a label.",
        [({"model": each.name}, each.closed) for each in streams],
    )
    page.histogram(
        "millstream_label_delay_seconds",
        "Time between an event and its label.",
        [
            ({"model": each.name}, Buckets(DELAY_BOUNDS, list(each.delay_counts), each.delays[0] / 1000))
            for each in streams
        ],
    )
    page.gauge(
        "millstream_pending_events",
        "Events that are remembered: waiting for a label, or labelled and kept to recognise a repeated label.",
        [({"model": each.name}, len(each.pending)) for each in streams],
    )
    page.gauge(
        "millstream_parked_labels",
        "Labels that wait for their event.",
        [({"model": each.name}, len(each.parked)) for each in streams],
    )
    page.gauge(
        "millstream_collected_labels",
        "Labels that wait for the window of their event to close.",
        [({"model": each.name}, sum(map(len, each.collected.values()))) for each in streams],
    )
    page.counter(
        "millstream_quarantined_total",
        "Labels and examples that could not be learned or arrived after the window.",
        [
            ({"model": each.name, "reason": reason}, each.refusals.get(reason, 0))
            for each in streams
            for reason in ("unlearnable", "late", "failed", "skipped")
        ],
    )


def _models(page: Page, state: Any) -> None:
    models: list[ServedModel] = list(state.models.values())
    page.counter(
        "millstream_learned_total",
        "Examples that a model has learned.",
        [({"model": each.name}, each.learned) for each in models],
    )
    page.counter(
        "millstream_scored_total",
        "Served predictions that were compared with their labels.",
        [({"model": each.name}, each.scored) for each in models],
    )
    qualities = []
    for each in models:
        role = _role(state, each.name)
        for name, value in each.figures().items():
            metric = name.removeprefix("recent_")
            window = "recent" if name != metric else "all"
            qualities.append(({"model": each.name, "metric": metric, "window": window, "role": role}, value))
    page.gauge(
        "millstream_quality",
        "Metrics of served predictions, over all labels and over the 1000 most recent ones.",
        qualities,
    )
    page.counter(
        "millstream_drift_detections_total",
        "Drifts reported by the detector of a model.",
        [
            ({"model": each.name, "detector": type(each.detector).__name__, "signal": "error"}, each.drift_count)
            for each in models
        ],
    )
    keyed = [(each.name, each.model) for each in models if isinstance(each.model, Keyed)]
    page.gauge(
        "millstream_keys",
        "Models of a keyed model, one per key: in memory, or in its spill file.",
        [
            ({"model": name, "state": state}, count)
            for name, model in keyed
            for state, count in (("memory", len(model) - model.spilled), ("spilled", model.spilled))
        ],
    )
    page.gauge(
        "millstream_model_info",
        "Learner of a model, and a hash of its parameters.",
        [({"model": each.name, "learner": each.title, "spec": _spec(each)}, 1) for each in models],
    )


def _role(state: Any, name: str) -> str:
    """Whether a model is a champion or challenger of a route."""
    routes = [route for route in state.routes.values() if name in route.members]
    if not routes:
        return "single"
    return "champion" if any(route.champion == name for route in routes) else "challenger"


def _spec(served: ServedModel) -> str:
    """A hash of the parameters, short enough for a label."""
    try:
        text = json.dumps(served.model.describe(), sort_keys=True, default=str)
    except (AttributeError, MillstreamError, TypeError, ValueError):
        return ""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]


def _durations(page: Page, server: Any) -> None:
    known, learning = server.engine.state.by_name, server.engine.committer.learning
    page.histogram(
        "millstream_predict_duration_seconds",
        "Time to compute one prediction, excluding HTTP and the log.",
        [
            ({"model": name}, _buckets(each))
            for name, each in list(server.counters.durations.items())
            if name in known
        ],
    )
    page.histogram(
        "millstream_learn_duration_seconds",
        "Time to join, learn and score one label, excluding the commit.",
        [({"model": name}, _buckets(each)) for name, each in list(learning.items()) if name in known],
    )


def _buckets(histogram: Histogram) -> Buckets:
    return Buckets(histogram.bounds, list(histogram.counts), histogram.sum)


def _log(page: Page, server: Any) -> None:
    engine = server.engine
    committer, store, recovery = engine.committer, engine.store, engine.recovery
    page.gauge("millstream_log_appended_seq", "Number of the last record on disk.", [({}, store.last_seq)])
    page.gauge("millstream_log_applied_seq", "Number of the last record in the state.", [({}, engine.state.seq)])
    page.gauge(
        "millstream_log_first_seq", "Number of the oldest record that was not trimmed.", [({}, store.first_seq)]
    )
    page.gauge("millstream_log_bytes", "Size of the event store.", [({}, store.size)])
    page.gauge("millstream_log_queue_records", "Records that wait for the next commit.", [({}, committer.waiting)])
    page.counter("millstream_log_records_total", "Records committed since the start.", [({}, committer.committed)])
    page.histogram(
        "millstream_log_fsync_duration_seconds",
        "Time to commit a group of records, including fsync.",
        [({}, _buckets(committer.commits))],
    )
    page.counter(
        "millstream_log_cut_bytes_total",
        "Bytes of an incomplete, unacknowledged last transaction that were cut at the start.",
        [({}, sum(cut.size for cut in store.report.cuts))],
    )
    page.gauge(
        "millstream_disk_full",
        "1 while records cannot be written: labels are refused, predictions continue.",
        [({}, int(committer.disk_error is not None))],
    )
    page.counter(
        "millstream_lost_events_total",
        "Predictions that were answered but could not be stored.",
        [({}, committer.lost_events)],
    )
    page.gauge(
        "millstream_snapshot_last_success_timestamp_seconds",
        "Time of the newest snapshot, in seconds since 1970.",
        [({}, engine.snapshot_written)],
    )
    page.gauge(
        "millstream_recovery_duration_seconds",
        "Time to restore the state at the start.",
        [({}, recovery.seconds)],
    )
    page.gauge("millstream_recovery_replayed_records", "Records replayed at the start.", [({}, recovery.replayed)])
    page.gauge("millstream_ready", "1 if the server accepts requests.", [({}, int(server.is_ready))])


def _http(page: Page, http: Any, committer: Any) -> None:
    """Request metrics of the native HTTP server; an ASGI server has its own."""
    stats = {} if http is None else http.stats()
    shed = [({"reason": reason}, stats[name]) for name, reason in _SHED.items() if name in stats]
    shed.append(({"reason": "log_queue_full"}, committer.shed))
    page.counter("millstream_shed_requests_total", "Requests and connections that were refused.", shed)
    if http is None:
        return
    bounds, counts, total = http.latency()
    page.histogram(
        "http_server_request_duration_seconds",
        "Time from the complete request to its reply.",
        [({}, Buckets(bounds, counts, total))],
    )
    page.gauge("http_server_active_requests", "Requests without a reply yet.", [({}, stats["waiting"])])
    page.gauge("http_server_open_connections", "Open connections.", [({}, stats["connections"])])
    page.gauge("http_server_queue_requests", "Requests that wait for the handler.", [({}, stats["queue"])])
    page.counter(
        "http_server_bytes_total",
        "Bytes of requests and replies.",
        [({"direction": "read"}, stats["bytes_read"]), ({"direction": "written"}, stats["bytes_written"])],
    )
