"""Metrics for Prometheus."""

from __future__ import annotations

from millstream.serve.api.operation import Operation
from millstream.serve.exposition import CONTENT_TYPE
from millstream.serve.prometheus import metrics_page
from millstream.serve.requests import Call, Reply

__all__ = ["OPERATIONS"]


def show_metrics(call: Call) -> Reply:
    """All metrics in the Prometheus text format."""
    return Reply(200, metrics_page(call.server).text().encode(), CONTENT_TYPE)


OPERATIONS = (
    Operation(
        "GET",
        "/metrics",
        show_metrics,
        "metrics",
        "Show metrics in the Prometheus text format",
        reads_state=True,
    ),
)
