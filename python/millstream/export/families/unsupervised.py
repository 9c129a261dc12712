"""Clusterers and anomaly detectors."""

from __future__ import annotations

import math

import numpy as np

from millstream.export.families.distances import by_coordinate, partial_squares
from millstream.export.families.scalers import facts
from millstream.export.graph import Trees, Value
from millstream.export.rows import Answer, Component, Row
from millstream.export.translation import answer, translates

#: Fraction of the window below which a node is not split further.
_SIZE_LIMIT = 0.1


@translates("cluster.KMeans", "cluster.MiniBatchKMeans")
def k_means(component: Component, row: Row) -> Answer:
    """The nearest centre; -1 before there are centres, and for a row without a value."""
    graph = row.graph
    state = component.state
    if not len(state["centres"]):
        return Answer(number=graph.constant(np.array([-1.0])))
    centres = np.array([np.asarray(each, dtype=np.float64) for each in state["centres"]])
    squares = partial_squares(row, by_coordinate(row, state["coordinates"], np.nan), centres)
    found = graph.to_double(graph.argmax(-squares))
    return Answer(number=graph.where(squares.min().equals(np.inf), -1.0, found).reshape(1))


@translates("anomaly.ThresholdFilter", "anomaly.QuantileFilter")
def filtered(component: Component, row: Row) -> Answer:
    """The score of the detector."""
    found: Answer = answer(Component.of(component.parameters["model"], component.state["model"]), row)
    return found


#: Points of the table of normal tails to a unit, and where it ends (`error_function.rs`).
_STEPS, _FAR = 64.0, 8.5


def normal_tail(distance: Value) -> Value:
    """The probability of a normal number above a distance that is not negative: Taylor's series around the nearest
    point of a table, because the error function has no kernel for doubles."""
    graph = distance.graph
    points = np.arange(int(_FAR * _STEPS) + 2) / _STEPS
    beyond = np.array([0.5 * math.erfc(point * math.sqrt(0.5)) for point in points])
    density = np.exp(-0.5 * points * points) / math.sqrt(2.0 * math.pi)
    within = graph.minimum(distance, _FAR)
    place = graph.to_int(graph.apply("floor", within * _STEPS + 0.5))
    a = graph.gather(points, place)
    h = within - a
    square = a * a
    two, three = square - 1.0, a * (square - 3.0)
    four, five = (square - 6.0) * square + 3.0, a * ((square - 10.0) * square + 15.0)
    last = h * (four / 120.0 - h * five / 720.0)
    series = h * (1.0 + h * (-a / 2.0 + h * (two / 6.0 + h * (-three / 24.0 + last))))
    tail = graph.gather(beyond, place) - graph.gather(density, place) * series
    return graph.where(distance < _FAR, tail, 0.0)


@translates("anomaly.GaussianScorer")
def gaussian_scorer(component: Component, row: Row) -> Answer:
    """The probability that the most extreme of so many normal numbers is nearer to its mean."""
    graph = row.graph
    least = float(component.parameters["grace_period"])
    known = {slot: each for slot, each in enumerate(facts(component, row)) if each and each["count"] >= least}
    slots = [slot for slot in row.number_slots if slot in known]
    if not slots:
        return Answer(number=graph.constant(np.zeros(1)))
    means = np.array([known[slot]["mean"] for slot in slots])
    deviations = np.sqrt(np.maximum([known[slot]["variance"] for slot in slots], 0.0))
    x = row.take(slots)
    difference = graph.apply("abs", x - means)
    constant = ~(deviations > 0.0)
    distance = difference / np.where(constant, 1.0, deviations)
    if constant.any():
        # Where all values were the same, any other is infinitely far.
        apart = graph.where(difference > 0.0, np.inf, 0.0)
        distance = graph.where(constant, apart, distance)
    missing = graph.isnan(x)
    count = graph.to_double(~missing).sum().reshape(1)
    beyond = 2.0 * normal_tail(graph.where(missing, 0.0, distance).max().reshape(1))
    score = graph.exp(count * graph.log(graph.maximum(1.0 - beyond, 0.0)))
    return Answer(number=graph.where(count > 0.0, score, 0.0))


@translates("anomaly.HalfSpaceTrees")
def half_space_trees(component: Component, row: Row) -> Answer:
    """The mass of the reference window on the way to the leaf of each tree."""
    graph = row.graph
    state = component.state
    weight = state["reference_weight"]
    if not weight:
        return Answer(number=graph.constant(np.zeros(1)))
    trees = int(component.parameters["n_trees"])
    reference = np.asarray(state["reference"], dtype=np.float64).reshape(trees, -1)
    latest = np.asarray(state["latest"], dtype=np.float64).reshape(reference.shape)
    size = reference.shape[1]
    features = np.asarray(state["features"], dtype=np.int64).reshape(trees, size - 1)
    splits = np.asarray(state["splits"], dtype=np.float64).reshape(trees, size - 1)
    slots = sorted(set(features.reshape(-1).tolist()))
    planted = Trees()
    for tree in range(trees):
        first = len(planted.feature)
        planted.roots.append(first)
        for node in range(1, size):
            below = size >> node.bit_length()
            left = 2 * node * below - size
            # A missing number follows the larger mass of the running window.
            is_left = (
                not latest[tree, left : left + below].sum() < latest[tree, left + below : left + 2 * below].sum()
            )
            threshold = float(np.nextafter(splits[tree, node - 1], -np.inf))
            at = planted.add(slots.index(int(features[tree, node - 1])), threshold, bool(is_left))
            children = [
                first + child - 1 if child < size else -1 - (tree * size + child - size)
                for child in (2 * node, 2 * node + 1)
            ]
            planted.left[at], planted.right[at] = children
    leaf = graph.leaves(row.take(slots), planted)
    scores, above = np.zeros((trees, size)), np.ones((trees, 1), dtype=bool)
    for level in range(size.bit_length()):
        nodes = reference.reshape(trees, 1 << level, -1).sum(axis=2)
        # Below a node with too little mass, all have too little.
        counted = np.repeat(nodes, 2, axis=1)[:, : 2 << level] >= _SIZE_LIMIT * weight
        here = nodes if level == 0 else np.where(above, nodes, 0.0)
        scores += np.repeat(here, size >> level, axis=1) * 2.0**level
        above = counted
    total = graph.gather(scores.reshape(-1), leaf).sum().reshape(1)
    return Answer(number=graph.maximum(1.0 - total / (trees * weight * (2 * size - 1)), 0.0))
