"""Neural networks of one hidden layer."""

from __future__ import annotations

from typing import Any

import numpy as np

from millstream.export.families.linear import scores
from millstream.export.rows import Answer, Component, Row
from millstream.export.translation import translates


@translates("neural_network.MLPRegressor")
def mlp_regressor(component: Component, row: Row) -> Answer:
    """Tanh units, then a sum."""
    graph = row.graph
    state = component.state
    parameters = np.asarray(state["weights"]["values"], dtype=np.float64)
    hidden = int(component.parameters["hidden_units"])
    if not len(parameters):
        output: Any = graph.constant(np.zeros(1))
    else:
        head, weights = parameters[: 1 + 2 * hidden], parameters[1 + 2 * hidden :].reshape(-1, hidden)
        units = graph.apply("tanh", scores(row, state["coordinates"], weights, head[1 + hidden :]))
        output = graph.finite(graph.matmul(units, head[1 : 1 + hidden, None]) + head[:1])
    if component.parameters["loss"]["name"] == "losses.Poisson":
        output = graph.minimum(graph.exp(output), float(np.finfo(np.float64).max))
    return Answer(number=output)
