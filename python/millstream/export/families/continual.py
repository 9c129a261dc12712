"""Learners against forgetting: class means, and models that learn from stored rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from millstream.export.families.distances import by_coordinate
from millstream.export.families.linear import scores
from millstream.export.families.networks import named_rows
from millstream.export.rows import Answer, Component, Row
from millstream.export.translation import answer, translates


@translates("continual.GDumb", "continual.Replay")
def of_stored_rows(component: Component, row: Row) -> Any:
    """The model alone; stored rows do not affect predictions."""
    return answer(Component.of(component.parameters["model"], component.state["model"]), row)


@translates("continual.NearestClassMean")
def nearest_class_mean(component: Component, row: Row) -> Answer:
    """Gaussian classes with one variance in every direction."""
    graph = row.graph
    classes = component.state["classes"]
    counts = np.asarray(classes["counts"], dtype=np.float64)
    met = counts > 0.0
    if not met.any():
        return Answer()
    width = int(classes["coordinates"]["width"])
    means = np.array([np.asarray(mean, dtype=np.float64) for mean in classes["means"]]).reshape(len(counts), width)
    found = graph.constant(np.zeros(len(counts)))
    if width:
        difference = by_coordinate(row, classes["coordinates"], 0.0).reshape(1, width) - means
        found = graph.finite(-(difference * difference).sum())
    found = graph.where(met, found, -np.inf)
    behind = found - found.max().reshape(1)
    numbers = counts.sum() * width
    variance = component.state["scatter"] / numbers if numbers > 0.0 else 0.0
    if variance > 0.0:
        behind = behind / (2.0 * variance)
    else:
        # Without any spread only the nearest classes are possible.
        behind = graph.where(behind.equals(0.0), 0.0, -np.inf)
    return Answer(graph.softmax(behind), graph.argmax(found))


@translates("continual.StreamingLDA")
def streaming_lda(component: Component, row: Row) -> Answer:
    """A linear function for each class, which the component solves for."""
    graph = row.graph
    classes = component.state["classes"]
    met = np.asarray(classes["counts"], dtype=np.float64) > 0.0
    if not met.any():
        return Answer()
    model = component.alive(row)
    # Without shrinkage, it refuses to predict from too few rows.
    model.predict_one({})
    solved = model.inspect()
    columns = [named_rows(row, classes["coordinates"], each, 1) for each in solved["coefficients"]]
    intercepts = np.where(met, np.asarray(solved["intercepts"], dtype=np.float64), 0.0)
    found = scores(row, classes["coordinates"], np.concatenate(columns, axis=1), intercepts)
    if not met.all():
        found = graph.where(met, found, -np.inf)
    return Answer(graph.softmax(found), graph.argmax(found))
