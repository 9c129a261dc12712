"""Regressors of a transformed target: what they predict is transformed back."""

from __future__ import annotations

import numpy as np

from millstream.export.rows import Answer, Component, Row
from millstream.export.translation import answer, translates


@translates(
    "compose.TargetTransformRegressor",
    "preprocessing.PredClipper",
    "preprocessing.TargetMinMaxScaler",
    "preprocessing.TargetStandardScaler",
)
def transformed(component: Component, row: Row) -> Answer:
    """The inverse of the transformation, made finite."""
    graph = row.graph
    parameters, state = component.parameters, component.state["target"]
    found = answer(Component.of(parameters["model"], component.state["model"]), row)
    z = found.number.reshape(1)
    if component.name == "preprocessing.PredClipper":
        if state is not None:
            z = graph.minimum(graph.maximum(z, float(state[0])), float(state[1]))
        low, high = parameters["y_min"], parameters["y_max"]
        if low is not None:
            z = graph.maximum(z, float(low))
        if high is not None:
            z = graph.minimum(z, float(high))
    elif component.name == "preprocessing.TargetStandardScaler":
        variance = state["squares"] / state["weight"] if state["weight"] > 0.0 else 0.0
        if state["count"] > 1:
            variance = state["squares"] / (state["weight"] * (state["count"] - 1) / state["count"])
        z = z * float(np.sqrt(variance)) + state["mean"]
    elif component.name == "preprocessing.TargetMinMaxScaler":
        if state["least"] <= state["greatest"]:
            z = z * (state["greatest"] - state["least"]) + state["least"]
    elif parameters["func"] == "sqrt":
        root = graph.maximum(z, 0.0)
        z = root * root
    elif parameters["func"] != "identity":
        z = graph.exp(z)
        # The difference loses digits where the prediction is near 0.
        z = z - 1.0 if parameters["func"] == "log1p" else z
    return Answer(number=graph.finite(z))
