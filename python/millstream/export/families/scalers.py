"""Scalers, and other transformers of one number at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from millstream.export.graph import Value
from millstream.export.rows import NUMBER, Component, Row
from millstream.export.translation import translates

MODERATE = 1e60


def scaled(row: Row, scale: Any) -> Row:
    """The row with each number scaled. `scale` receives the numbers, and whether each slot is a number. Nominal
    and
    missing values stay."""
    graph = row.graph
    numeric = np.array([kind == NUMBER for kind in row.kinds])
    if not numeric.any():
        return row
    values = scale(row.values)
    if not numeric.all():
        values = graph.where(numeric, values, row.values)
    return row.with_values(values)


def known(row: Row, numbers: Any, default: float = 0.0) -> np.ndarray[Any, Any]:
    """An array by slot in the row's width."""
    filled = np.full(row.width, default)
    numbers = np.asarray(numbers, dtype=np.float64)[: row.width]
    filled[: len(numbers)] = numbers
    return filled


def unless_missing(row: Row, values: Value, constant: Any, where: Any) -> Value:
    """`values`, or a constant in some slots if they are not missing."""
    if not np.any(where):
        return values
    graph = row.graph
    return graph.where(graph.isnan(row.values) | ~graph.constant(np.asarray(where)), values, constant)


def affine(row: Row, mean: Any, factor: Any) -> Row:
    """(x - mean) * factor; 0 where the factor is 0."""
    graph = row.graph
    flat = np.asarray(factor) == 0.0

    def scale(x: Value) -> Value:
        most = float(np.finfo(np.float64).max)
        product = (x - mean) * factor
        bounded = graph.minimum(graph.maximum(product, -most), most)
        return unless_missing(row, bounded, 0.0, flat)

    return scaled(row, scale)


def inverse_deviation(squares: Any, n: Any) -> np.ndarray[Any, Any]:
    """As `standard_scaler.rs`."""
    squares, n = np.broadcast_arrays(np.asarray(squares, dtype=float), np.asarray(n, dtype=float))
    with np.errstate(all="ignore"):
        inverse = np.sqrt(n / squares)
    return np.where((squares > 1e-290) & (inverse < np.inf), inverse, 0.0)


def facts(component: Component, row: Row) -> list[dict[str, float]]:
    """What `inspect` says of each slot; empty for a feature without a number."""
    schema = row.schema()
    names = [*range(schema["numbered"]), *schema["names"]]
    features = component.alive(row).inspect()["features"]
    return [features.get(str(name), {}) for name in names]


@translates("preprocessing.StandardScaler")
def standard_scaler(component: Component, row: Row) -> Row:
    """z = (x - mean) / standard deviation."""
    if component.parameters["window_size"] is not None:
        features = facts(component, row)
        means = np.array([each.get("mean", 0.0) for each in features])
        squares = [each.get("variance", 0.0) for each in features]
        factors = inverse_deviation(squares, 1.0) if component.parameters["with_std"] else np.ones(row.width)
        factors = np.where([bool(each) for each in features], factors, 0.0)
    else:
        state = component.state
        shared = state["shared_count"]
        counts = state["counts"] if np.isnan(shared) else np.full(len(state["means"]), shared)
        means = known(row, state["means"])
        factors = known(row, inverse_deviation(state["squares"], counts if len(counts) else 0.0))
        if not component.parameters["with_std"]:
            factors = known(row, np.ones(len(state["means"])))
    if not component.parameters["with_mean"]:
        means = np.zeros(row.width)
    return affine(row, np.asarray(means), factors)


def _min_max(component: Component, row: Row, least: Any, greatest: Any) -> Row:
    graph = row.graph
    low, high = component.parameters["low"], component.parameters["high"]
    span = np.asarray(greatest) - np.asarray(least)
    with np.errstate(all="ignore"):
        constant = ~(span > 0.0)
    least, span = np.where(constant, 0.0, least), np.where(constant, 1.0, span)
    most = float(np.finfo(np.float64).max)
    bounds = (low, high) if component.parameters["clip"] else (-most, most)

    def scale(x: Value) -> Value:
        z = low + (high - low) * ((x - least) / span)
        return unless_missing(row, graph.minimum(graph.maximum(z, bounds[0]), bounds[1]), low, constant)

    return scaled(row, scale)


@translates("preprocessing.MinMaxScaler")
def min_max_scaler(component: Component, row: Row) -> Row:
    """To a range between the smallest and the largest number."""
    if component.parameters["window_size"] is not None:
        features = facts(component, row)
        least = np.array([each.get("min", np.inf) for each in features])
        greatest = np.array([each.get("max", -np.inf) for each in features])
    else:
        least = known(row, component.state["least"], np.inf)
        greatest = known(row, component.state["greatest"], -np.inf)
    return _min_max(component, row, least, greatest)


@translates("preprocessing.MaxAbsScaler")
def max_abs_scaler(component: Component, row: Row) -> Row:
    """Divided by the largest absolute number."""
    windowed = component.parameters["window_size"] is not None
    if windowed:
        greatest = np.array([each.get("max_abs", 0.0) for each in facts(component, row)])
    else:
        greatest = known(row, component.state["greatest"])
    graph = row.graph
    most = MODERATE if windowed else float(np.finfo(np.float64).max)
    divisor = np.where(greatest > 0.0, greatest, 1.0)

    def scale(x: Value) -> Value:
        z = graph.minimum(graph.maximum(x / divisor, -most), most)
        return unless_missing(row, z, 0.0, ~(greatest > 0.0))

    return scaled(row, scale)


@translates("preprocessing.AdaptiveStandardScaler")
def adaptive_standard_scaler(component: Component, row: Row) -> Row:
    """By moments that follow the stream."""
    features = [each or {} for each in component.state][: row.width]
    features += [{}] * (row.width - len(features))
    means = np.array([each.get("mean", 0.0) for each in features])
    variances = np.array([each.get("variance", 0.0) for each in features])
    return affine(row, means, inverse_deviation(variances, 1.0))


@translates("preprocessing.RobustScaler")
def robust_scaler(component: Component, row: Row) -> Row:
    """By median and a range of quantiles."""
    features = facts(component, row)
    learned = np.array([bool(each) for each in features])
    centres = np.array([each.get("median", 0.0) for each in features])
    ranges = np.array([each.get("range", 0.0) for each in features])
    if not component.parameters["with_centering"]:
        centres = np.zeros(row.width)
    if not component.parameters["with_scaling"]:
        ranges = np.ones(row.width)
    flat = ~(learned & (ranges > 0.0))
    divisor = np.where(flat, 1.0, ranges)

    def scale(x: Value) -> Value:
        return unless_missing(row, (x - centres) / divisor, 0.0, flat)

    return scaled(row, scale)


@translates("preprocessing.Binarizer")
def binarizer(component: Component, row: Row) -> Row:
    """1 above a threshold, otherwise 0."""
    graph = row.graph
    threshold = component.parameters["threshold"]

    def scale(x: Value) -> Value:
        return graph.where(graph.isnan(x), x, graph.to_double(x > threshold))

    return scaled(row, scale)


@translates("preprocessing.Normalizer")
def normalizer(component: Component, row: Row) -> Row:
    """Divided by the norm of the row's numbers."""
    graph = row.graph
    slots = row.number_slots
    if not slots:
        return row
    sizes = graph.apply("abs", row.filled(slots))
    largest = sizes.max().reshape(1)
    divisor = graph.where(largest > 0.0, largest, 1.0)
    ratios = sizes / divisor
    order = component.parameters["order"]
    norm = {"l1": lambda: ratios.sum().reshape(1), "max": lambda: ratios.max().reshape(1)}.get(
        order, lambda: graph.sqrt((ratios * ratios).sum().reshape(1))
    )()

    def scale(x: Value) -> Value:
        return x / divisor / graph.where(norm > 0.0, norm, 1.0)

    return scaled(row, scale)
