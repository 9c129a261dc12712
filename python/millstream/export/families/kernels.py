"""Kernel models: a score is a sum over stored points."""

from __future__ import annotations

from typing import Any

import numpy as np

from millstream.export.families.distances import by_coordinate
from millstream.export.families.linear import of_score, probability
from millstream.export.families.projections import names_of
from millstream.export.graph import Value
from millstream.export.rows import NUMBER, Answer, Component, Row
from millstream.export.translation import translates

_LANES = 8


def points_of(component: Component, dictionary: dict[str, Any]) -> np.ndarray[Any, Any]:
    """The stored points by rows. They lie in blocks of eight."""
    points = dictionary["points"]
    width, count = int(points["width"]), int(points["count"])
    found = np.zeros((count, width))
    if points["lists"]:
        for index, each in enumerate(points["lists"]):
            found[index, np.asarray(each["indices"], dtype=np.int64)] = each["values"]
        return found
    blocks = np.asarray(points["blocks"], dtype=np.float64)
    if not width or not count:
        return found
    return blocks.reshape(-1, width, _LANES).transpose(0, 2, 1).reshape(-1, width)[:count]


def similarities(component: Component, row: Row, dictionary: dict[str, Any]) -> Value:
    """The kernel of the row with each point."""
    graph = row.graph
    kernel = component.parameters["kernel"]
    name, parameters = kernel["name"].rpartition(".")[2], kernel["parameters"]
    if name == "String":
        raise component.refuse("with kernel.String, which compares strings of any length")
    points = points_of(component, dictionary)
    x = graph.take(by_coordinate(row, dictionary["coordinates"], 0.0), range(points.shape[1]))
    if name in ("RBF", "Laplace"):
        difference = x.reshape(1, points.shape[1]) - points
        sizes = difference * difference if name == "RBF" else graph.apply("abs", difference)
        return graph.exp(sizes.sum() * -float(parameters["gamma"]))
    product = graph.matmul(x, points.T)
    if name == "Linear":
        return product
    inner = product * float(parameters["gamma"]) + float(parameters["coef0"])
    if name == "Sigmoid":
        return graph.apply("tanh", inner)
    power: Value = inner
    for _ in range(int(parameters["degree"]) - 1):
        power = power * inner
    return power


def _scores(component: Component, row: Row) -> Value | None:
    state = component.state
    if not len(state["coefficients"]):
        return None
    coefficients = np.array([np.asarray(each, dtype=np.float64) for each in state["coefficients"]])
    intercepts = np.asarray(state["intercepts"], dtype=np.float64)
    if not coefficients.shape[1]:
        return row.graph.constant(intercepts)
    found = similarities(component, row, state["dictionary"])
    return row.graph.finite(row.graph.matmul(found, coefficients.T) + intercepts)


@translates("kernel.KernelSGD")
def kernel_sgd(component: Component, row: Row) -> Answer:
    """One function for two classes, otherwise one for each."""
    graph = row.graph
    found = _scores(component, row)
    if found is None:
        return Answer()
    if found.shape[0] == 1:
        return of_score(graph, found, probability(graph, component.parameters["loss"]["name"], found))
    return Answer(graph.softmax(found), graph.argmax(found))


@translates("kernel.KernelSGDRegressor")
def kernel_sgd_regressor(component: Component, row: Row) -> Answer:
    """One function."""
    graph = row.graph
    found = _scores(component, row)
    score = graph.constant(np.zeros(1)) if found is None else found
    if component.parameters["loss"]["name"] == "losses.Poisson":
        score = graph.minimum(graph.exp(score), float(np.finfo(np.float64).max))
    return Answer(number=score)


def _triangle(factor: dict[str, Any], count: int) -> np.ndarray[Any, Any]:
    """A lower triangle that is saved row by row."""
    numbers = next(
        np.asarray(each, dtype=np.float64) for each in factor.values() if np.size(each) == count * (count + 1) // 2
    )
    found = np.zeros((count, count))
    found[np.tril_indices(count)] = numbers
    return found


@translates("kernel.KernelRLS")
def kernel_rls(component: Component, row: Row) -> Answer:
    """One function, solved from its triangles."""
    state = component.state
    right = np.asarray(state["squares"]["right"], dtype=np.float64)
    count = len(right)
    if not count:
        return Answer(number=row.graph.constant(np.zeros(1)))
    upper = np.zeros((count, count))
    columns = np.asarray(state["squares"]["columns"], dtype=np.float64)
    start = 0
    for column in range(count):
        upper[: column + 1, column] = columns[start : start + column + 1]
        start += column + 1
    theta = np.linalg.solve(upper, right)
    weights = np.linalg.solve(_triangle(state["factor"], count).T, theta)
    found = row.graph.matmul(similarities(component, row, state["dictionary"]), weights[:, None])
    return Answer(number=row.graph.finite(found))


@translates("kernel.Nystroem")
def nystroem(component: Component, row: Row) -> Row:
    """Similarities with landmarks, made orthogonal."""
    graph = row.graph
    state = component.state
    width = int(component.parameters["n_components"])
    count = int(state["landmarks"]["points"]["count"])
    values: Any = np.zeros(width)
    if count:
        change = np.linalg.inv(_triangle(state["factor"], count)).T
        found = graph.finite(graph.matmul(similarities(component, row, state["landmarks"]), change))
        values = graph.concat([found, np.zeros(width - count)])
    names: list[str | int] = [f"nystroem_{index}" for index in range(width)]
    return row.with_values(graph.as_value(values), names=names, kinds=[NUMBER] * width, texts=[[] for _ in names])


@translates("kernel.RandomFourierFeatures")
def random_fourier_features(component: Component, row: Row) -> Row:
    """Cosines of random directions, which `inspect` of the component returns."""
    graph = row.graph
    drawn = component.alive(row).inspect()
    phases = np.asarray(drawn["phases"], dtype=np.float64)
    width = len(phases)
    names_here = [str(name) for name in names_of(row)]
    angles: Any = phases
    slots = row.number_slots
    if slots:
        frequencies = np.array([drawn["frequencies"][names_here[slot]] for slot in slots])
        angles = graph.matmul(row.filled(slots), frequencies) + angles
    for slot in row.nominal_slots:
        by_value = drawn["frequencies"][names_here[slot]]
        table = np.array([np.zeros(width), np.zeros(width), *(by_value[text] for text in row.texts[slot])])
        angles = graph.gather(table, row.places([slot])).reshape(width) + angles
    values = graph.apply("cos", graph.finite(graph.as_value(angles))) * float(np.sqrt(2.0 / width))
    names: list[str | int] = [f"fourier_{index}" for index in range(width)]
    return row.with_values(values, names=names, kinds=[NUMBER] * width, texts=[[] for _ in names])
