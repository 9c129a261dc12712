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


def _bells(parameters: dict[str, Any], x: Value, low: float, high: float) -> Value:
    count, width = int(parameters["count"]), parameters["width"]
    spacing = (high - low) / max(count - 1, 1)
    centres = low + spacing * np.arange(count) if count > 1 else np.array([0.5 * low + 0.5 * high])
    return _bell(x, centres, spacing if width is None else float(width))


def _bell(x: Value, centres: Any, width: float) -> Value:
    z = (x - centres) / width
    return x.graph.exp(-0.5 * z * z)


def _cell(x: Value, low: float, high: float, cells: int) -> tuple[Value, Value]:
    """The number of the interval of a number, the first and the last beyond the bounds, and the position in it."""
    position = (x - low) / (high - low) * float(cells)
    cell = x.graph.minimum(x.graph.maximum(x.graph.apply("floor", position), 0.0), float(cells - 1))
    return cell, position - cell


def _hats(count: int, x: Value, low: float, high: float) -> Value:
    graph = x.graph
    cell, fraction = _cell(x, low, high, count - 1)
    places = np.arange(float(count))
    return graph.where(
        cell.equals(places), 1.0 - fraction, graph.where((cell + 1.0).equals(places), fraction, 0.0)
    )


def _spline_pieces(intervals: int, degree: int) -> np.ndarray[Any, Any]:
    """The coefficients by interval, function that is not 0 there, and power of the position in the interval.

    Cox and de Boor's recursion on polynomials.
    """
    knots = np.clip(np.arange(-degree, intervals + degree + 1), 0, intervals).astype(np.float64)
    pieces = np.zeros((intervals, degree + 1, degree + 1))
    for interval in range(intervals):
        # Of functions whose support begins at knot `interval` + place.
        found = [np.array([1.0])]
        for order in range(1, degree + 1):
            wider = [np.zeros(order + 1) for _ in range(order + 1)]
            for place, piece in enumerate(found):
                start = interval + degree - order + 1 + place
                length = knots[start + order] - knots[start]
                rising = np.convolve([interval - knots[start], 1.0], piece) / length
                falling = np.convolve([knots[start + order] - interval, -1.0], piece) / length
                wider[place] += falling
                wider[place + 1] += rising
            found = wider
        pieces[interval] = found
    return pieces


def _splines(intervals: int, degree: int, x: Value, low: float, high: float) -> Value:
    graph = x.graph
    cell, u = _cell(x, low, high, intervals)
    # Of the functions that are not 0 in this interval.
    pieces = graph.gather(_spline_pieces(intervals, degree), graph.to_int(cell)).reshape(degree + 1, degree + 1)
    local: Any = graph.take(pieces, [degree]).reshape(degree + 1)
    for power in reversed(range(degree)):
        local = local * u + graph.take(pieces, [power]).reshape(degree + 1)
    places = np.arange(float(intervals + degree))
    total: Any = np.zeros(intervals + degree)
    for place in range(degree + 1):
        here = (cell + float(place)).equals(places)
        total = graph.where(here, graph.take(local, [place]), 0.0) + total
    return graph.as_value(total)


def _functions(kind: str, parameters: dict[str, Any], x: Value, low: float, high: float) -> Value:
    """The functions of one input; for sums of inputs, the constant is the first."""
    graph = x.graph
    is_sum = parameters["combine"] == "additive"
    if kind == "GaussianRBF":
        bells = _bells(parameters, x, low, high)
        return graph.concat([np.ones(1), bells]) if is_sum else bells
    if kind in ("BSpline", "Grid"):
        if kind == "Grid":
            local = _hats(int(parameters["count"]), x, low, high)
        else:
            local = _splines(int(parameters["intervals"]), int(parameters["degree"]), x, low, high)
        rest = graph.take(local, range(1, local.shape[0]))
        return graph.concat([np.ones(1), rest]) if is_sum else local
    order = int(parameters["order"])
    found = _waves(order, x, low, high) if kind == "Fourier" else _polynomials(kind, order, x, low, high)
    return graph.concat([np.ones(1), *found])


@translates(
    "basis.BSpline",
    "basis.Chebyshev",
    "basis.Fourier",
    "basis.GaussianRBF",
    "basis.Grid",
    "basis.Legendre",
    "basis.Polynomial",
)
def basis_functions(component: Component, row: Row) -> Row:
    """The functions of each input, and the products of one for each, or all side by side."""
    graph = row.graph
    parameters = component.parameters
    kind = component.name.rpartition(".")[2]
    bounds = np.asarray(parameters["bounds"], dtype=np.float64)
    centres = None
    if parameters.get("centres") is not None:
        centres = np.array(parameters["centres"], dtype=np.float64).reshape(len(parameters["centres"]), -1)
    fixed = row.width if bounds.ndim == 1 else len(bounds)
    inputs = int(component.state["inputs"]) or (fixed if centres is None else centres.shape[1])
    values: Any = graph.constant(np.ones(1))
    for slot, (low, high) in enumerate(np.broadcast_to(bounds, (inputs, 2)).tolist()):
        x = row.take([slot])
        if parameters["outside"] != "extrapolate":
            x = graph.minimum(graph.maximum(x, low), high)
        if centres is not None:
            values = values * _bell(x, centres[:, slot], _width(parameters, bounds, centres))
            continue
        own = _functions(kind, parameters, x, low, high)
        size, count = own.shape[0], values.shape[0]
        if parameters["combine"] == "additive":
            values = graph.concat([values, graph.take(own, range(1, size))])
        else:
            values = (own.reshape(size, 1) * values.reshape(1, count)).reshape(size * count)
    names = list(component.alive(row).transform_one(_middle(row, bounds, inputs)))
    return row.with_values(values, names=names, kinds=[NUMBER] * len(names), texts=[[] for _ in names])


def _width(parameters: dict[str, Any], bounds: np.ndarray[Any, Any], centres: np.ndarray[Any, Any]) -> float:
    """The given width, or that of the cell which a centre has to itself."""
    if parameters["width"] is not None:
        return float(parameters["width"])
    low, high = np.broadcast_to(bounds, (centres.shape[1], 2)).T
    return float((np.prod(high - low) / len(centres)) ** (1.0 / centres.shape[1]))


def _middle(row: Row, bounds: np.ndarray[Any, Any], inputs: int) -> dict[Any, float]:
    """A row within the bounds."""
    middles = np.broadcast_to(bounds, (inputs, 2)).mean(axis=1).tolist()
    return dict(zip(names_of(row), middles, strict=False))
