"""Neural networks, also inside the methods against forgetting."""

from __future__ import annotations

from typing import Any

import numpy as np

from millstream.export.families.distances import by_coordinate
from millstream.export.families.linear import NOWHERE, coordinate_tables, scores
from millstream.export.families.projections import names_of
from millstream.export.graph import Value
from millstream.export.rows import Answer, Component, Row
from millstream.export.translation import translates


def named_rows(row: Row, coordinates: dict[str, Any], found: dict[str, Any], columns: int) -> np.ndarray[Any, Any]:
    """Weights by coordinate, from those that `inspect` gives by feature and nominal value."""
    rows = np.zeros((int(coordinates["width"]), columns))
    names = [str(name) for name in names_of(row)]
    slots, places, tables = coordinate_tables(row, coordinates)
    for slot, place in zip(slots, places, strict=True):
        rows[place] = found.get(names[slot], 0.0)
    for slot, table in tables.items():
        for text, place in zip(row.texts[slot], table[2:], strict=True):
            if place < len(rows):
                rows[place] = found[names[slot]][text]
    return rows


def _tanh_network(
    component: Component, inputs: Value | Row, coordinates: dict[str, Any], parameters: np.ndarray[Any, Any]
) -> Value:
    """One layer of tanh units and a sum (`network.rs`): of features, or of a point that has all coordinates."""
    graph = inputs.graph
    hidden = int(component.parameters["hidden_units"])
    head, weights = parameters[: 1 + 2 * hidden], parameters[1 + 2 * hidden :].reshape(-1, hidden)
    biases = head[1 + hidden :]
    if isinstance(inputs, Row):
        sums = scores(inputs, coordinates, weights, biases)
    else:
        sums = graph.finite(graph.matmul(inputs, weights) + biases) if len(weights) else graph.constant(biases)
    units = graph.apply("tanh", sums)
    return graph.finite(graph.matmul(units, head[1 : 1 + hidden, None]) + head[:1])


@translates("neural_network.MLPRegressor")
def mlp_regressor(component: Component, row: Row) -> Answer:
    """Tanh units, then a sum."""
    graph = row.graph
    state = component.state
    parameters = np.asarray(state["weights"]["values"], dtype=np.float64)
    output: Any = graph.constant(np.zeros(1))
    if len(parameters):
        output = _tanh_network(component, row, state["coordinates"], parameters)
    if component.parameters["loss"]["name"] == "losses.Poisson":
        output = graph.minimum(graph.exp(output), float(np.finfo(np.float64).max))
    return Answer(number=output)


@translates("neural_network.IRMARegressor")
def irma_regressor(component: Component, row: Row) -> Answer:
    """The same network; numbers are scaled from their bounds to [-1, 1], and a missing one is the centre."""
    graph = row.graph
    state = component.state
    parameters = np.asarray(state["parameters"], dtype=np.float64)
    if not len(parameters):
        return Answer(number=graph.constant(np.zeros(1)))
    bounds = np.asarray(component.parameters["bounds"], dtype=np.float64)
    each = [tuple(bounds)] * row.width if bounds.ndim == 1 else [tuple(pair) for pair in bounds]
    each += [(np.nan, np.nan)] * (row.width - len(each))
    low, high = np.array(each[: row.width]).reshape(row.width, 2).T
    if row.number_slots:
        low = np.where(np.isnan(low), 0.0, low)
        # A feature without bounds counts as missing.
        factor = np.where(np.isnan(high), np.nan, high - low)
        moved = 2.0 * ((row.values - low) / factor) - 1.0
        if component.parameters["outside"] != "extrapolate":
            moved = graph.minimum(graph.maximum(moved, -1.0), 1.0)
        numeric = np.isin(np.arange(row.width), row.number_slots)
        row = row.with_values(graph.where(numeric, moved, row.values))
    point = by_coordinate(row, state["coordinates"], 0.0)
    return Answer(number=_tanh_network(component, point, state["coordinates"], parameters))


@translates("neural_network.OSELM")
def oselm(component: Component, row: Row) -> Answer:
    """Random tanh units, whose weights `inspect` of the component returns, then a sum."""
    graph = row.graph
    state = component.state
    weights = np.asarray(state["output"]["weights"], dtype=np.float64)
    if not len(weights):
        return Answer(number=graph.constant(np.zeros(1)))
    first = component.alive(row).inspect()["layers"][0]
    biases = np.asarray(first["intercepts"], dtype=np.float64)
    rows = named_rows(row, state["coordinates"], first["weights"], len(biases))
    units = graph.apply("tanh", scores(row, state["coordinates"], rows, biases))
    return Answer(number=graph.finite(graph.matmul(units, weights[1:, None]) + weights[:1]))


def _first_rows(state: dict[str, Any], vectors: int, weights: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The weights of each coordinate in the first layer; those of a nominal value from its vector."""
    if not vectors:
        return weights
    table = np.asarray(state["blocks"][-1]["values"], dtype=np.float64).reshape(-1, vectors)
    rows = np.zeros((int(state["coordinates"]["width"]), weights.shape[1]))
    for coordinate, (place, vector) in enumerate(state["embeddings"]["places"]):
        is_number = vector == NOWHERE
        rows[coordinate] = (
            weights[place] if is_number else table[int(vector)] @ weights[place : int(place) + vectors]
        )
    return rows


def _class_network(parameters: dict[str, Any], state: dict[str, Any], row: Row) -> Answer:
    graph = row.graph
    met = np.asarray(state["met"], dtype=bool)
    if not met.any():
        return Answer()
    blocks = [np.asarray(block["values"], dtype=np.float64) for block in state["blocks"]]
    hidden = [int(units) for units in np.atleast_1d(parameters["hidden_units"])]

    def active(sums: Value) -> Value:
        return graph.maximum(sums, 0.0) if parameters["activation"] == "relu" else graph.apply("tanh", sums)

    units = hidden[0]
    rows = _first_rows(state, int(parameters["embedding_size"]), blocks[0][units:].reshape(-1, units))
    layer = active(scores(row, state["coordinates"], rows, blocks[0][:units]))
    for units, block in zip(hidden[1:], blocks[1:], strict=False):
        layer = active(graph.finite(graph.matmul(layer, block[units:].reshape(-1, units)) + block[:units]))
    last = blocks[len(hidden)].reshape(-1, 1 + hidden[-1])
    found = graph.finite(graph.matmul(layer, last[:, 1:].T) + last[:, 0])
    if not met.all():
        found = graph.where(met, found, -np.inf)
    return Answer(graph.softmax(found), graph.argmax(found))


@translates("neural_network.MLPClassifier")
def mlp_classifier(component: Component, row: Row) -> Answer:
    """Layers of units, then a score for each class."""
    return _class_network(component.parameters, component.state, row)


@translates("continual.AGEM", "continual.DERPlusPlus", "continual.EWC", "continual.LwF", "continual.SI")
def guided_network(component: Component, row: Row) -> Answer:
    """The network alone; the state that controls its steps does not affect predictions."""
    return _class_network(component.parameters["model"]["parameters"], component.state["network"], row)
