"""Models that compare a row with stored rows: nearest neighbours and prototypes."""

from __future__ import annotations

from typing import Any

import numpy as np

from millstream.export.families.distances import by_coordinate, partial_squares
from millstream.export.graph import Value
from millstream.export.rows import Answer, Component, Row
from millstream.export.translation import translates

_ZERO = 1e-300
#: A stored row has the code -1 for a value that was never learned, which an unseen value does not equal.
_UNKNOWN = -2.0


def _inverse_scales(component: Component, moments: dict[str, Any], width: int) -> np.ndarray[Any, Any]:
    counts, first, second = (np.asarray(moments[key], dtype=np.float64) for key in ("counts", "first", "second"))
    kind = component.parameters["scale"]
    if kind is None or not len(counts):
        return np.ones(width)
    with np.errstate(all="ignore"):
        inverse = np.sqrt(counts / second) if kind == "standard" else 1.0 / (second - first)
        if kind == "standard":
            inverse = np.where(second > 1e-290, inverse, np.inf)
    return np.where((inverse < np.inf) & (inverse > 0.0), inverse, 1.0)


def _sums(component: Component, row: Row, stored: np.ndarray[Any, Any], nominal: Any, inverse: Any) -> Value:
    """The sum of the metric over the columns for each stored row."""
    graph = row.graph
    width = stored.shape[1]
    metric = component.parameters["metric"]
    power = {"minkowski": component.parameters["p"], "manhattan": 1.0, "l1": 1.0}.get(metric, 2.0)
    if metric == "cosine":
        raise component.refuse("with the cosine metric; use Normalizer and the Euclidean one")
    x = row.take(range(width))
    is_nominal = np.asarray(nominal, dtype=bool)
    if is_nominal.any():
        x = graph.where(is_nominal, graph.where(x.equals(-1.0), _UNKNOWN, x), x)
    x = x.reshape(1, width)
    difference = (x - stored) * inverse
    if power == 1.0:
        terms = graph.apply("abs", difference)
    elif power == 2.0:
        terms = difference * difference
    else:
        terms = graph.apply("pow", graph.apply("abs", difference), power)
    if is_nominal.any():
        terms = graph.where(is_nominal, graph.to_double(~x.equals(stored)), terms)
    missing = np.isnan(stored)
    gone = graph.isnan(x) | missing if missing.any() else graph.isnan(x)
    sums = graph.where(gone, 0.0, terms).sum()
    shared = graph.to_double(~gone).sum()
    scaled = sums * graph.where(shared < float(width), width / graph.maximum(shared, 1.0), 1.0)
    return graph.where(shared.equals(0.0), np.inf, scaled)


def _votes(component: Component, sums: Value, places: Value) -> Value:
    """The weights of the nearest rows by distance, before those of the rows themselves."""
    graph, parameters = sums.graph, component.parameters
    if parameters["weights"] != "distance":
        return graph.constant(np.ones(places.shape))
    near = graph.pick(sums, places)
    power = {"minkowski": parameters["p"], "manhattan": 1.0, "l1": 1.0}.get(parameters["metric"], 2.0)
    distance = (
        near if power == 1.0 else graph.sqrt(near) if power == 2.0 else graph.apply("pow", near, 1.0 / power)
    )
    exact = distance.min().reshape(1) < _ZERO
    factor = graph.where(exact, graph.to_double(distance < _ZERO), 1.0 / distance)
    return graph.where(factor.max().reshape(1).equals(0.0), 1.0, factor)


@translates("neighbors.KNNClassifier", "neighbors.KNNRegressor")
def nearest(component: Component, row: Row) -> Answer:
    """The nearest rows of the window."""
    graph = row.graph
    state, parameters = component.state, component.parameters
    if parameters["engine"] is not None:
        raise component.refuse("with an engine, whose search is approximate; use engine=None")
    truths = np.asarray(state["truths"])
    rows = len(truths)
    is_classifier = component.name.endswith("Classifier")
    if not rows:
        return Answer() if is_classifier else Answer(number=graph.constant(np.zeros(1)))
    width = int(state["points"]["width"])
    stored = np.asarray(state["points"]["values"], dtype=np.float64).reshape(rows, width)
    # Of equally near rows the newest comes first.
    capacity = int(parameters["window_size"])
    ages = (int(state["points"]["next"]) + capacity - 1 - np.arange(rows)) % capacity
    order = np.argsort(ages)
    weights = np.asarray(state["weights"], dtype=np.float64)[order] if len(state["weights"]) else np.ones(rows)
    inverse = _inverse_scales(component, state["scaling"], width)
    sums = _sums(component, row, stored[order], state["points"]["nominal"], inverse)
    k = min(int(parameters["n_neighbors"]), rows)
    places = graph.nearest(sums, k)
    votes = _votes(component, sums, places) * graph.gather(weights, places)
    total = votes.sum().reshape(1)
    if not is_classifier:
        targets = np.asarray(truths, dtype=np.float64)[order]
        found = (graph.gather(targets, places) * votes).sum().reshape(1) / total
        return Answer(number=graph.finite(found))
    classes = int(state["classes"])
    member = np.eye(classes)[truths.astype(np.int64)[order]]
    shares = (graph.gather(member, places) * votes.reshape(k, 1)).sum(0) / total
    return Answer(shares)


def _memory(saved: dict[str, Any], capacity: int) -> tuple[np.ndarray[Any, Any], ...]:
    """Rows, classes and weights of a memory, the newest first."""
    points = saved["points"]
    classes = np.asarray(saved["classes"], dtype=np.int64)
    stored = np.asarray(points["values"], dtype=np.float64).reshape(len(classes), int(points["width"]))
    order = np.argsort((int(points["next"]) + capacity - 1 - np.arange(len(classes))) % capacity)
    return stored[order], classes[order], np.asarray(saved["weights"], dtype=np.float64)[order]


@translates("neighbors.SAMKNNClassifier")
def self_adjusting(component: Component, row: Row) -> Answer:
    """The nearest rows of the memory that was right most often; of equally near ones, the short-term memory's."""
    graph = row.graph
    state, parameters = component.state, component.parameters
    window = int(parameters["window_size"])
    long = min(max(int(window * parameters["ltm_size"]), 1), window - 1)
    memories = {"short_term": (state["short"], window - long), "long_term": (state["long"], window + 1)}
    chosen = component.alive(row).inspect()["predictor"]
    read = [_memory(*memory) for name, memory in memories.items() if chosen in (name, "both")]
    stored, classes, weights = (np.concatenate(parts) for parts in zip(*read, strict=True))
    if not len(classes):
        return Answer()
    inverse = _inverse_scales(component, state["scaling"], stored.shape[1])
    sums = _sums(component, row, stored, state["short"]["points"]["nominal"], inverse)
    k = min(int(parameters["n_neighbors"]), len(classes))
    places = graph.nearest(sums, k)
    votes = _votes(component, sums, places) * graph.gather(weights, places)
    member = np.eye(int(state["classes"]))[classes]
    return Answer((graph.gather(member, places) * votes.reshape(k, 1)).sum(0) / votes.sum().reshape(1))


@translates(
    "prototype.GLVQ", "prototype.GMLVQ", "prototype.LVQ1", "prototype.LVQ21", "prototype.LVQ3", "prototype.RSLVQ"
)
def prototypes(component: Component, row: Row) -> Answer:
    """The prototypes of each class; without a shared coordinate, by their weights."""
    graph = row.graph
    state = component.state
    classes = np.asarray(state["classes"], dtype=np.int64)
    if not len(classes):
        return Answer()
    stored = np.array([np.asarray(each, dtype=np.float64) for each in state["prototypes"]])
    member = np.eye(int(classes.max()) + 1)[classes]
    x = by_coordinate(row, state["coordinates"], np.nan)
    if component.name == "prototype.GMLVQ":
        distances = _projected(component, row, x, stored)
    else:
        distances = partial_squares(row, x, stored)
    nearest_one = distances.min().reshape(1)
    if component.name == "prototype.RSLVQ":
        variance = _variance(component)
        closeness = graph.exp((nearest_one - distances) / (2.0 * variance))
        found = (closeness.reshape(len(classes), 1) * member).sum(0)
    else:
        closeness = graph.where(distances.equals(nearest_one), 1.0, nearest_one / distances)
        found = (closeness.reshape(len(classes), 1) * member).max(0)
    weights = (np.asarray(state["weights"])[:, None] * member).sum(axis=0)
    known = nearest_one < np.inf
    shares = graph.where(known, found / found.sum().reshape(1), weights / weights.sum())
    return Answer(shares)


def _variance(component: Component) -> float:
    sigma = component.parameters.get("sigma")
    return float(sigma) ** 2 if sigma is not None else float(component.parameters["variance"])


def _projected(component: Component, row: Row, x: Value, stored: np.ndarray[Any, Any]) -> Value:
    graph = row.graph
    width = stored.shape[1]
    omega = np.asarray(component.state["rule"]["omega"], dtype=np.float64).reshape(-1, width)
    difference = x.reshape(1, width) - stored
    gone = graph.isnan(difference)
    projected = graph.matmul(graph.where(gone, 0.0, difference), omega.T)
    shared = graph.to_double(~gone).sum()
    sums = (projected * projected).sum() * (width / graph.maximum(shared, 1.0))
    return graph.where(shared.equals(0.0), np.inf, sums)
