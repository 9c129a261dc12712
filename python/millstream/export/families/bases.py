"""Basis functions of one input at a time, and their products or sums."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from millstream.export.families.projections import names_of
from millstream.export.graph import Value
from millstream.export.rows import NUMBER, Component, Row
from millstream.export.translation import translates


def _polynomials(name: str, order: int, x: Value, low: float, high: float) -> Iterator[Any]:
    """All but the first function, which is 1."""
    t: Value = x if name == "Polynomial" else (x - low) / (high - low) * 2.0 - 1.0
    before: Any = 1.0
    last: Any = t
    for degree in range(1, order + 1):
        yield last
        if name == "Polynomial":
            last = last * t
        elif name == "Chebyshev":
            before, last = last, 2.0 * t * last - before
        else:
            step = (2.0 * degree + 1.0) / (degree + 1.0)
            before, last = last, step * t * last - before * (degree / (degree + 1.0))


def _waves(order: int, x: Value, low: float, high: float) -> Iterator[Any]:
    graph = x.graph
    turns = (x - low) / (high - low)
    angle = (turns - graph.apply("floor", turns)) * (2.0 * np.pi)
    sine, cosine = graph.apply("sin", angle), graph.apply("cos", angle)
    c, s = cosine, sine
    for _ in range(order):
        yield c
        yield s
        c, s = c * cosine - s * sine, s * cosine + c * sine


@translates("basis.Chebyshev", "basis.Fourier", "basis.Legendre", "basis.Polynomial")
def of_each_input(component: Component, row: Row) -> Row:
    """The functions of each input, and the products of one for each, or all side by side."""
    graph = row.graph
    parameters = component.parameters
    kind, order = component.name.rpartition(".")[2], int(parameters["order"])
    bounds = np.asarray(parameters["bounds"], dtype=np.float64)
    inputs = int(component.state["inputs"]) or (row.width if bounds.ndim == 1 else len(bounds))
    values: Any = graph.constant(np.ones(1))
    for slot, (low, high) in enumerate(np.broadcast_to(bounds, (inputs, 2)).tolist()):
        x = row.take([slot])
        if parameters["outside"] != "extrapolate":
            x = graph.minimum(graph.maximum(x, low), high)
        found = list(_waves(order, x, low, high) if kind == "Fourier" else _polynomials(kind, order, x, low, high))
        if parameters["combine"] == "additive":
            values = graph.concat([values, *found])
        else:
            own = graph.concat([np.ones(1), *found])
            count = values.shape[0]
            products = own.reshape(own.shape[0], 1) * values.reshape(1, count)
            values = products.reshape(own.shape[0] * count)
    names = list(component.alive(row).transform_one(_middle(row, bounds, inputs)))
    return row.with_values(values, names=names, kinds=[NUMBER] * len(names), texts=[[] for _ in names])


def _middle(row: Row, bounds: np.ndarray[Any, Any], inputs: int) -> dict[Any, float]:
    """A row within the bounds."""
    middles = np.broadcast_to(bounds, (inputs, 2)).mean(axis=1).tolist()
    return dict(zip(names_of(row), middles, strict=False))
