"""Rows by coordinate, and their distances from stored rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from millstream.export.families.linear import coordinate_tables
from millstream.export.graph import Value
from millstream.export.rows import Row


def by_coordinate(row: Row, coordinates: dict[str, Any], absent: float) -> Value:
    """The number of each coordinate; `absent` where a feature is missing. A nominal value is 1 at its own
    coordinate."""
    graph = row.graph
    width = int(coordinates["width"])
    slots, places, tables = coordinate_tables(row, coordinates)
    parts: list[Any] = []
    order: list[int] = []
    if slots:
        parts.append(row.filled(slots, absent) if not np.isnan(absent) else row.take(slots))
        order += places
    for slot, table in tables.items():
        known = np.flatnonzero(table < width)
        if not len(known):
            continue
        place = row.places([slot])
        found = graph.to_double(place.equals(known))
        if np.isnan(absent):
            found = graph.where(place.equals(0), np.nan, found)
        parts.append(found)
        order += [int(coordinate) for coordinate in table[known]]
    rest = sorted(set(range(width)) - set(order))
    if rest:
        parts.append(np.full(len(rest), absent))
        order += rest
    if not parts:
        return graph.constant(np.zeros(0))
    return graph.take(graph.concat(parts), np.argsort(order))


def partial_squares(row: Row, x: Value, stored: Any) -> Value:
    """Squared distances over the coordinates that both rows have, scaled to all; infinite if they share none."""
    graph = row.graph
    stored = np.asarray(stored, dtype=np.float64)
    width = stored.shape[1]
    difference = x.reshape(1, width) - stored
    gone = graph.isnan(difference)
    sums = graph.where(gone, 0.0, difference * difference).sum()
    shared = graph.to_double(~gone).sum()
    scaled = sums * (width / graph.maximum(shared, 1.0))
    return graph.where(shared.equals(0.0), np.inf, scaled)
