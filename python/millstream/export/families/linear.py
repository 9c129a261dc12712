"""Linear models: a score is a sum over coordinates, which numbers and nominal values have."""

from __future__ import annotations

from typing import Any

import numpy as np

from millstream.export.graph import Graph, Value
from millstream.export.rows import Answer, Component, Row
from millstream.export.translation import translates

NOWHERE = 2**32 - 1


def coordinate_tables(
    row: Row, coordinates: dict[str, Any]
) -> tuple[list[int], list[int], dict[int, np.ndarray[Any, Any]]]:
    """The slots of numbers with their coordinates, and the coordinate of each place (`Row.places`) of nominal
    slots."""
    width = int(coordinates["width"])
    numbers, nominals = coordinates["numbers"], coordinates["nominals"]
    mapped = len(numbers) > 0 or len(nominals) > 0
    of_slot = list(numbers) if mapped else list(range(width))
    slots = [slot for slot in row.number_slots if slot < len(of_slot) and of_slot[slot] != NOWHERE]
    tables = {}
    for slot in row.nominal_slots:
        table = np.full(len(row.texts[slot]) + 2, width, dtype=np.int64)
        if slot < len(nominals):
            for code, coordinate in enumerate(nominals[slot]):
                if coordinate != NOWHERE and code < len(row.texts[slot]):
                    table[code + 2] = coordinate
        tables[slot] = table
    return slots, [int(of_slot[slot]) for slot in slots], tables


def scores(row: Row, coordinates: dict[str, Any], weights: Any, constants: Any) -> Value:
    """A score for each column of `weights` (coordinate by score), plus its constant."""
    graph = row.graph
    width = int(coordinates["width"])
    matrix = np.zeros((width + 1, np.shape(constants)[0]))
    given = np.asarray(weights, dtype=np.float64)[:width]
    matrix[: len(given)] = given
    slots, places, tables = coordinate_tables(row, coordinates)
    total: Any = np.asarray(constants, dtype=np.float64)
    if slots:
        total = graph.matmul(row.filled(slots), matrix[places]) + total
    if tables:
        offsets = np.cumsum([0, *(len(table) for table in tables.values())])[:-1]
        flat = np.concatenate([matrix[table] for table in tables.values()])
        total = graph.gather(flat, row.places(list(tables)) + offsets).sum(0) + total
    return graph.finite(graph.as_value(total))


def of_score(graph: Graph, score: Value, positive: Value | None = None) -> Answer:
    """The answer of a learner of two classes with one score; `positive` is the probability of the second."""
    if positive is None:
        positive = graph.apply("sigmoid", score)
    decision = graph.to_int(score > 0.0).reshape()
    return Answer(graph.concat([1.0 - positive, positive]), decision)


def probability(graph: Graph, loss: str, score: Value) -> Value:
    """The probability of the second class at a score."""
    if loss in ("losses.SquaredHinge", "losses.ModifiedHuber"):
        return 0.5 * (graph.minimum(graph.maximum(score, -1.0), 1.0) + 1.0)
    return graph.apply("sigmoid", score)


def hyperplane(state: dict[str, Any]) -> tuple[np.ndarray[Any, Any], float]:
    """Weights and intercept; with averaging, their means."""
    values = np.asarray(state["weights"]["values"], dtype=np.float64)
    lag = np.asarray(state["weights"]["lag"], dtype=np.float64)
    intercept, t = state["intercept"], state["t"]
    if len(lag) and t > 0.0:
        values = values - lag / t
    if state["intercept_lag"] != 0.0:
        intercept = intercept - state["intercept_lag"] / t
    return values, float(intercept)


def _memory(memory: dict[str, Any]) -> tuple[np.ndarray[Any, Any], float]:
    """The weights and the constant of an optimiser that uses all features at once."""
    if "weights" in memory:
        weights = np.asarray(memory["weights"], dtype=np.float64)
        return weights[1:], float(weights[0]) if len(weights) else 0.0
    cells = memory["cells"]
    constant = np.asarray(cells["constant"], dtype=np.float64)
    return np.asarray(cells["cells"], dtype=np.float64).reshape(-1, len(constant))[:, 0], float(constant[0])


def _engine(component: Component, row: Row) -> tuple[Value, bool]:
    """The score of linear or logistic regression, and whether anything was learned."""
    state = component.state
    if "hyperplane" in state:
        weights, constant = hyperplane(state["hyperplane"])
        steps = state["hyperplane"]["t"]
    else:
        weights, constant = _memory(state["memory"])
        steps = state["t"]
    return scores(row, state["coordinates"], weights[:, None], np.array([constant])), steps > 0.0


#: Bounds of the scores of `RidgeClassifier`, as in ridge_classifier.rs.
_LEAST_SCORE, _LEAST_BEST, _MOST_SCORE = 1e-3, 1e-2, 1e100


@translates("linear_model.LogisticRegression")
def logistic_regression(component: Component, row: Row) -> Answer:
    """One hyperplane."""
    score, started = _engine(component, row)
    if not started:
        return Answer()
    return of_score(row.graph, score, probability(row.graph, component.parameters["loss"]["name"], score))


@translates("linear_model.LinearRegression")
def linear_regression(component: Component, row: Row) -> Answer:
    """One hyperplane, or its exponential with the Poisson loss."""
    graph = row.graph
    score, _ = _engine(component, row)
    if component.parameters["loss"]["name"] == "losses.Poisson":
        score = graph.minimum(graph.exp(score), float(np.finfo(np.float64).max))
    return Answer(number=score)


@translates("linear_model.SoftmaxRegression")
def softmax_regression(component: Component, row: Row) -> Answer:
    """A hyperplane for each class."""
    graph = row.graph
    state = component.state
    if "classes" not in state:
        raise component.refuse("with this optimiser; use one that steps each weight by itself")
    planes = state["classes"]
    met = np.array([plane["t"] > 0.0 for plane in planes], dtype=bool)
    if not met.any():
        return Answer()
    weights = np.zeros((int(state["coordinates"]["width"]), len(planes)))
    constants = np.zeros(len(planes))
    for code in np.flatnonzero(met):
        values, constants[code] = hyperplane(planes[code])
        weights[: len(values), code] = values
    found = scores(row, state["coordinates"], weights, constants)
    if not met.all():
        found = graph.where(met, found, -np.inf)
    return Answer(graph.softmax(found), graph.argmax(found))


MARGIN = (
    "linear_model.ALMA",
    "linear_model.AROW",
    "linear_model.CW",
    "linear_model.SCW",
    "linear_model.Ellipsoid",
    "linear_model.GaussianHerding",
    "linear_model.PAClassifier",
    "linear_model.Perceptron",
    "linear_model.ROMMA",
    "linear_model.SVM",
)


def _vectors(vectors: list[dict[str, Any]], width: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    weights, constants = np.zeros((width, len(vectors))), np.zeros(len(vectors))
    for number, vector in enumerate(vectors):
        values = np.asarray(vector["weights"], dtype=np.float64)
        weights[: len(values), number] = vector["scale"] * values
        constants[number] = vector["scale"] * vector["constant"]
    return weights, constants


@translates(*MARGIN)
def margin_classifier(component: Component, row: Row) -> Answer:
    """One vector for two classes, otherwise one for each."""
    graph = row.graph
    state = component.state
    if not state["planes"]:
        return Answer()
    found = scores(row, state["coordinates"], *_vectors(state["planes"], int(state["coordinates"]["width"])))
    if len(state["planes"]) == 1:
        return of_score(graph, found)
    return Answer(graph.softmax(found), graph.argmax(found))


@translates("linear_model.AROWRegressor", "linear_model.PARegressor", "linear_model.LMS")
def residual_regressor(component: Component, row: Row) -> Answer:
    """One vector."""
    state = component.state
    if state["plane"] is None:
        return Answer(number=row.graph.constant(np.zeros(1)))
    return Answer(
        number=scores(row, state["coordinates"], *_vectors([state["plane"]], int(state["coordinates"]["width"])))
    )


@translates("linear_model.RLS", "linear_model.BayesianLinearRegression")
def recursion(component: Component, row: Row) -> Answer:
    """Weights of least squares, the intercept first."""
    state = component.state.get("recursion", component.state)
    weights = np.asarray(state["weights"], dtype=np.float64)
    offset = int(component.parameters["intercept"])
    constant = weights[:1] if offset and len(weights) else np.zeros(1)
    return Answer(number=scores(row, state["coordinates"], weights[offset:, None], constant))


@translates("linear_model.RidgeClassifier")
def ridge_classifier(component: Component, row: Row) -> Answer:
    """Weights of least squares for each class; the scores are raised, kept above a least one, and normalised."""
    graph = row.graph
    state = component.state
    met = np.asarray(state["counts"], dtype=np.float64) > 0.0
    if not met.any():
        return Answer()
    offset, coordinates = int(component.parameters["intercept"]), state["recursion"]["coordinates"]
    weights, constants = np.zeros((int(coordinates["width"]), len(met))), np.zeros(len(met))
    for code in np.flatnonzero(met):
        values = np.asarray(state["weights"][code], dtype=np.float64)
        weights[:, code], constants[code] = values[offset:], values[0] if offset else 0.0
    found = scores(row, coordinates, weights, constants)
    if not met.all():
        found = graph.where(met, found, -np.inf)
    raised = found + graph.maximum(_LEAST_BEST - found.max(), 0.0)
    kept = graph.minimum(graph.maximum(raised, np.where(met, _LEAST_SCORE, 0.0)), _MOST_SCORE)
    return Answer(kept / kept.sum(), graph.argmax(found))


@translates("linear_model.LeastSquares")
def least_squares(component: Component, row: Row) -> Answer:
    """Weights that follow from the sums when they are asked for."""
    coordinates = component.state["coordinates"]
    model = component.alive(row)
    constant = float(model.predict_one({}))
    width = int(coordinates["width"])
    weights = np.zeros(width)
    names = row.schema()
    all_names = [*range(names["numbered"]), *names["names"]]
    slots, places, tables = coordinate_tables(row, coordinates)
    weights_by_name = model.weights
    for slot, place in zip(slots, places, strict=True):
        weights[place] = weights_by_name.get(all_names[slot], 0.0)
    for slot, table in tables.items():
        for code, text in enumerate(row.texts[slot]):
            if table[code + 2] < width:
                weights[table[code + 2]] = float(model.predict_one({all_names[slot]: text})) - constant
    return Answer(number=scores(row, coordinates, weights[:, None], np.array([constant])))


def _grounded(component: Component, row: Row, functions: np.ndarray[Any, Any]) -> Value:
    """The scores of functions of the features, which a triangle may change first."""
    state = component.state["ground"]
    coordinates = state["coordinates"]
    triangle = np.asarray(state["transition"], dtype=np.float64)
    if component.parameters["gram"] is not None:
        raise component.refuse("with a Gram matrix")
    if len(triangle):
        size = round((np.sqrt(8 * len(triangle) + 1) - 1) / 2)
        change = np.zeros((size, size))
        change[np.tril_indices(size)] = triangle
        functions = functions @ change[: functions.shape[1]]
    return scores(row, coordinates, functions.T, np.zeros(len(functions)))


@translates("linear_model.IRMA")
def irma(component: Component, row: Row) -> Answer:
    """One function."""
    graph = row.graph
    weights = np.asarray(component.state["weights"], dtype=np.float64)
    if not len(weights):
        score = graph.constant(np.zeros(1))
    else:
        score = _grounded(component, row, weights[None, :])
    if component.parameters["loss"]["name"] == "losses.Poisson":
        score = graph.minimum(graph.exp(score), float(np.finfo(np.float64).max))
    return Answer(number=score)


@translates("linear_model.IRMAClassifier")
def irma_classifier(component: Component, row: Row) -> Answer:
    """One function for two classes, otherwise one for each."""
    graph = row.graph
    functions = [np.asarray(each, dtype=np.float64) for each in component.state["functions"]]
    if not functions:
        return Answer()
    loss = component.parameters["loss"]["name"]
    found = _grounded(component, row, np.array(functions))
    if len(functions) == 1:
        return of_score(graph, found, probability(graph, loss, found))
    decision = graph.argmax(found)
    if loss == "losses.Logistic":
        return Answer(graph.softmax(found), decision)
    positive = probability(graph, loss, found)
    total = positive.sum().reshape(1)
    return Answer(graph.where(total > 0.0, positive / total, 1.0 / len(functions)), decision)
