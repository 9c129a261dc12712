"""Scalers, and other transformers of one number at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from millstream.export.graph import Graph, Trees, Value
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


#: The least rank whose normal quantile is written.
_LEAST_RANK = 1e-7


class _Ranks:
    """Ranks of numbers among references: a tree over the intervals between them for each feature."""

    def __init__(self) -> None:
        self.trees = Trees()
        #: By leaf: the ends of an interval, and their ranks.
        self.leaves: list[tuple[float, float, float, float]] = []

    def add(self, column: int, references: np.ndarray[Any, Any]) -> None:
        """Plant the tree of a feature whose references are not all the same."""
        values, first, counts = np.unique(references, return_index=True, return_counts=True)
        ranks = np.arange(len(references)) / (len(references) - 1)
        starts, ends = ranks[first], ranks[first + counts - 1]
        bounds: list[float] = []
        own: list[tuple[float, float, float, float]] = []

        def upto(bound: float, leaf: tuple[float, float, float, float]) -> None:
            if not bounds or bound > bounds[-1]:
                bounds.append(bound)
                own.append(leaf)

        upto(values[0], (0.0, 2.0, 0.0, 0.0))
        for place in range(1, len(values)):
            below, found = values[place - 1], values[place]
            upto(float(np.nextafter(found, -np.inf)), (below, found, ends[place - 1], starts[place]))
            middle = 0.5 * (starts[place] + ends[place]) if place + 1 < len(values) else 1.0
            upto(found, (0.0, 2.0, middle, middle))
        own.append((0.0, 2.0, 1.0, 1.0))
        self.trees.roots.append(self._between(column, bounds, 0, len(bounds), len(self.leaves)))
        self.leaves += own

    def _between(self, column: int, bounds: list[float], low: int, high: int, first: int) -> int:
        """The node over some of the bounds, or the leaf between two."""
        if low == high:
            return -1 - (first + low)
        middle = (low + high) // 2
        at = self.trees.add(column, float(bounds[middle]), True)
        self.trees.left[at] = self._between(column, bounds, low, middle, first)
        self.trees.right[at] = self._between(column, bounds, middle + 1, high, first)
        return at

    def of(self, x: Value) -> Value:
        """The ranks; 0 for a missing number."""
        graph = x.graph
        leaf = graph.leaves(x, self.trees)
        below, found, start, end = (graph.gather(column, leaf) for column in np.array(self.leaves).T)
        part = (0.5 * graph.where(graph.isnan(x), 0.0, x) - 0.5 * below) / (0.5 * found - 0.5 * below)
        return start + (end - start) * part


@translates("preprocessing.QuantileTransformer")
def quantile_transformer(component: Component, row: Row) -> Row:
    """The rank of each number among the quantiles of its feature, or its normal quantile."""
    graph = row.graph
    planted = _Ranks()
    slots: list[int] = []
    for slot, fact in enumerate(facts(component, row)):
        references = np.asarray(fact.get("quantiles", ()), dtype=np.float64)
        if row.kinds[slot] == NUMBER and len(references) and references[0] < references[-1]:
            planted.add(len(slots), references)
            slots.append(slot)
    # A feature that has not varied becomes 0.
    parts: list[Any] = [np.zeros(1)]
    if slots:
        ranks = planted.of(row.take(slots))
        is_normal = component.parameters["output_distribution"] == "normal"
        parts.append(_normal_quantile(graph, ranks) if is_normal else ranks)
    order = [1 + slots.index(slot) if slot in slots else 0 for slot in range(row.width)]
    found = graph.take(graph.concat(parts), order)
    return scaled(row, lambda x: graph.where(graph.isnan(x), x, found))


def _normal_quantile(graph: Graph, rank: Value) -> Value:
    """Wichura's algorithm AS 241, as `quantiles.rs`."""

    def ratio(of: tuple[tuple[float, ...], tuple[float, ...]], r: Value) -> Value:
        def polynomial(numbers: tuple[float, ...]) -> Value:
            total: Any = numbers[0]
            for number in numbers[1:]:
                total = r * total + number
            return graph.as_value(total)

        return polynomial(of[0]) / polynomial(of[1])

    p = graph.minimum(graph.maximum(rank, _LEAST_RANK), 1.0 - _LEAST_RANK)
    q = p - 0.5
    low = q < 0.0
    far = ratio(_TAIL, graph.sqrt(-graph.log(graph.where(low, p, 1.0 - p))) - 1.6)
    near = q * ratio(_CENTRE, 0.180625 - q * q)
    return graph.where(graph.apply("abs", q) <= 0.425, near, graph.where(low, -far, far))


_CENTRE = (
    (
        2509.0809287301227,
        33430.57558358813,
        67265.7709270087,
        45921.95393154987,
        13731.69376550946,
        1971.5909503065513,
        133.14166789178438,
        3.3871328727963666,
    ),
    (
        5226.495278852854,
        28729.085735721943,
        39307.89580009271,
        21213.794301586597,
        5394.196021424751,
        687.1870074920579,
        42.31333070160091,
        1.0,
    ),
)
_TAIL = (
    (
        7.745450142783414e-4,
        2.2723844989269184e-2,
        2.417807251774506e-1,
        1.2704582524523684,
        3.6478483247632045,
        5.769497221460691,
        4.630337846156546,
        1.4234371107496835,
    ),
    (
        1.0507500716444169e-9,
        5.475938084995345e-4,
        1.5198666563616457e-2,
        1.4810397642748007e-1,
        6.897673349851e-1,
        1.6763848301838038,
        2.053191626637759,
        1.0,
    ),
)
