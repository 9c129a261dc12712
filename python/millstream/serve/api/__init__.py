"""The operations of the HTTP interface, one module per topic."""

from __future__ import annotations

from millstream.serve.api import (
    batch_predictions,
    description,
    events,
    examples,
    health,
    inference,
    labels,
    live,
    metrics,
    models,
    pages,
    predictions,
    routes,
    versions,
)
from millstream.serve.api.operation import Operation

__all__ = ["OPERATIONS", "Operation"]

OPERATIONS: tuple[Operation, ...] = (
    *health.OPERATIONS,
    *description.OPERATIONS,
    *models.OPERATIONS,
    *predictions.OPERATIONS,
    *batch_predictions.OPERATIONS,
    *labels.OPERATIONS,
    *examples.OPERATIONS,
    *events.OPERATIONS,
    *versions.OPERATIONS,
    *routes.OPERATIONS,
    *inference.OPERATIONS,
    *metrics.OPERATIONS,
    *live.OPERATIONS,
    *pages.OPERATIONS,
)
