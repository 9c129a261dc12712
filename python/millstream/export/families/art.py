"""Adaptive resonance: boxes, of which the one with the largest choice predicts."""

from __future__ import annotations

from typing import Any

import numpy as np

from millstream.export.families.distances import by_coordinate
from millstream.export.families.linear import NOWHERE
from millstream.export.graph import Value
from millstream.export.rows import Answer, Component, Row
from millstream.export.translation import translates


def _ranges(component: Component, row: Row, coordinates: dict[str, Any]) -> np.ndarray[Any, Any]:
    """The declared range of each coordinate; [0, 1] without one."""
    width = int(coordinates["width"])
    ranges = np.tile([0.0, 1.0], (width, 1))
    limits = component.parameters["limits"]
    if limits is None:
        return ranges
    mapped = len(coordinates["numbers"]) > 0 or len(coordinates["nominals"]) > 0
    of_slot = coordinates["numbers"] if mapped else np.arange(width)
    named = isinstance(limits[0], (list, tuple))
    by_name = {str(name): pair for name, *pair in limits} if named else dict.fromkeys(map(str, row.names), limits)
    for slot, place in enumerate(of_slot):
        limit = by_name.get(str(row.names[slot])) if slot < row.width and place != NOWHERE else None
        if limit is not None:
            ranges[int(place)] = limit
    return ranges


class _Module:
    """The overlap of a row with each category, and the choice among them (`coding.rs`, `categories.rs`)."""

    def __init__(self, component: Component, row: Row) -> None:
        state = component.state["module"]
        graph = self.graph = row.graph
        self.weights = np.asarray(state["weights"], dtype=np.float64)
        count, width = len(self.weights), int(state["coordinates"]["width"])
        if not count:
            return
        boxes = np.array([np.array(list(each), dtype=np.float64) for each in state["categories"]])
        boxes = boxes.reshape(count, width, 2)
        low, high = _ranges(component, row, state["coordinates"]).T
        x = by_coordinate(row, state["coordinates"], np.nan)
        scaled = graph.minimum(graph.maximum((x - low) / (high - low), 0.0), 1.0)
        missing = graph.isnan(x)
        a = graph.where(missing, 0.0, scaled)
        here = graph.to_double(~missing)
        point = graph.concat([a, 1.0 - a])
        walls = np.concatenate([boxes[:, :, 0], boxes[:, :, 1]], axis=1)
        twice = graph.concat([here, here]).reshape(1, 2 * width)
        overlaps = graph.minimum(point.reshape(1, 2 * width), walls) * twice
        self.overlap = overlaps.sum()
        self.present = here.sum().reshape(1)
        sizes = (twice * walls).sum()
        self.choice = self.overlap / (float(component.parameters["choice"]) + sizes)


@translates("art.FuzzyARTMAP")
def fuzzy_artmap(component: Component, row: Row) -> Answer:
    """The class of the category with the largest choice; a row without values has the frequencies."""
    graph = row.graph
    module = _Module(component, row)
    if not len(module.weights):
        return Answer()
    classes = np.asarray(component.state["classes"], dtype=np.int64)
    member = np.eye(int(classes.max()) + 1)[classes]
    rest = graph.maximum(1.0 - module.choice, float(np.finfo(np.float64).eps))
    nearness = ((1.0 / rest).reshape(len(classes), 1) * member).max(0)
    frequencies = (module.weights[:, None] * member).sum(axis=0)
    known = module.present > 0.0
    found = graph.where(known, nearness / nearness.sum().reshape(1), frequencies / frequencies.sum())
    winner = graph.gather(classes, graph.argmax(module.choice))
    return Answer(found, graph.where(known.reshape(), winner, int(np.argmax(frequencies))))


@translates("art.FuzzyART")
def fuzzy_art(component: Component, row: Row) -> Answer:
    """The category with the largest choice of those that match; -1 if none does."""
    graph = row.graph
    module = _Module(component, row)
    if not len(module.weights):
        return Answer(number=graph.constant(np.array([-1.0])))
    match: Value = module.overlap / graph.maximum(module.present, 1.0)
    admitted = (match >= float(component.parameters["vigilance"])) & (module.present > 0.0)
    choice = graph.where(admitted, module.choice, -1.0)
    found = graph.to_double(graph.argmax(choice))
    return Answer(number=graph.where(choice.max() >= 0.0, found, -1.0).reshape(1))
