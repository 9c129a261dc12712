"""Naive Bayes models."""

from __future__ import annotations

from typing import Any

import numpy as np

from millstream.export.families.class_tables import Tables, decide
from millstream.export.families.linear import NOWHERE, coordinate_tables
from millstream.export.graph import Value
from millstream.export.rows import NOMINAL, NUMBER, Answer, Component, Row
from millstream.export.translation import translates

_LEAST_ALPHA = 1e-10


@translates("naive_bayes.GaussianNB")
def gaussian(component: Component, row: Row) -> Answer:
    """Normal densities of numbers, frequencies of nominal values."""
    table = component.state["classes"]
    if not any(each["count"] > 0.0 for each in table):
        return Answer()
    parameters = component.parameters
    tables = Tables(row, [table], [None], len(table), parameters["alpha"], parameters.get("ddof", 1.0))
    return Answer(decide(row, tables, None).reshape(len(table)))


def _alpha(component: Component) -> float:
    return max(float(component.parameters["alpha"]), _LEAST_ALPHA)


def log_priors(component: Component, classes: list[dict[str, float]]) -> np.ndarray[Any, Any]:
    """The logarithms of prior probabilities, but for a constant."""
    counts = np.array([each["count"] for each in classes])
    given = component.parameters.get("class_prior")
    tiny = np.finfo(np.float64).tiny
    if given is not None:
        priors = np.log(np.maximum(np.asarray(given, dtype=np.float64)[: len(counts)], tiny))
    elif component.parameters.get("fit_prior", False):
        priors = np.log(np.maximum(counts, tiny))
    else:
        priors = np.zeros(len(counts))
    return np.where(counts > 0.0, priors, -np.inf)


def posterior(row: Row, scores: Value, priors: np.ndarray[Any, Any]) -> Answer:
    """Probabilities from joint log likelihoods."""
    graph = row.graph
    joint = graph.finite(scores + np.where(np.isinf(priors), 0.0, priors))
    if np.isinf(priors).any():
        joint = graph.where(np.isinf(priors), -np.inf, joint)
    return Answer(graph.softmax(joint), graph.argmax(joint))


def _counts(component: Component) -> tuple[np.ndarray[Any, Any], list[dict[str, float]], dict[str, Any]]:
    """The counts of all words by class, the classes, and the coordinates of words."""
    state = component.state
    classes, words = state["classes"], state["words"]
    width = int(words["coordinates"]["width"])
    counts = np.zeros((width, len(classes)))
    rows = np.asarray(words["words"], dtype=np.int64)
    if len(rows):
        counts[rows] = np.asarray(words["counts"], dtype=np.float64).reshape(len(rows), len(classes))
    return counts, classes, words["coordinates"]


def words_score(
    row: Row, coordinates: dict[str, Any], weights: Any, constants: Any, present: float | None = None
) -> Value:
    """Σ number × weight over words; with a threshold, Σ weight over numbers above it."""
    graph = row.graph
    width = int(coordinates["width"])
    matrix = np.vstack([weights, np.zeros((1, len(constants)))])
    slots, places, tables = coordinate_tables(row, coordinates)
    total: Any = np.asarray(constants, dtype=np.float64)
    if slots:
        numbers = row.filled(slots) if present is None else graph.to_double(_present(row, slots, present))
        total = graph.matmul(numbers, matrix[places]) + total
    if tables and (present is None or present < 1.0):
        offsets = np.cumsum([0, *(len(table) for table in tables.values())])[:-1]
        flat = np.concatenate([matrix[np.minimum(table, width)] for table in tables.values()])
        total = graph.gather(flat, row.places(list(tables)) + offsets).sum(0) + total
    return graph.as_value(total)


def _present(row: Row, slots: list[int], threshold: float) -> Value:
    """Whether each word is present. A word with the number 0 is not visited, even if the threshold is negative."""
    x = row.take(slots)
    return x > threshold if threshold >= 0.0 else (x > threshold) & ~x.equals(0.0)


@translates("naive_bayes.MultinomialNB")
def multinomial(component: Component, row: Row) -> Answer:
    """Counts of words."""
    counts, classes, coordinates = _counts(component)
    if not any(each["count"] > 0.0 for each in classes):
        return Answer()
    alpha = _alpha(component)
    totals = np.array([each["total"] for each in classes])
    weights = np.log(counts + alpha) - np.log(totals + alpha * max(len(counts), 1))
    return posterior(
        row, words_score(row, coordinates, weights, np.zeros(len(classes))), log_priors(component, classes)
    )


@translates("naive_bayes.BernoulliNB")
def bernoulli(component: Component, row: Row) -> Answer:
    """Words that are present or absent."""
    counts, classes, coordinates = _counts(component)
    if not any(each["count"] > 0.0 for each in classes):
        return Answer()
    alpha = _alpha(component)
    documents = np.array([each["count"] for each in classes])
    absent = np.log(documents - counts + alpha)
    constants = absent.sum(axis=0) - len(counts) * np.log(documents + 2.0 * alpha)
    threshold = float(component.parameters["threshold"])
    score = words_score(row, coordinates, np.log(counts + alpha) - absent, constants, threshold)
    return posterior(row, score, log_priors(component, classes))


@translates("naive_bayes.ComplementNB")
def complement(component: Component, row: Row) -> Answer:
    """Words of all other classes."""
    counts, classes, coordinates = _counts(component)
    if not any(each["count"] > 0.0 for each in classes):
        return Answer()
    alpha = _alpha(component)
    totals = np.array([each["total"] for each in classes])
    others = counts.sum(axis=1, keepdims=True) - counts
    weights = np.log(others + alpha) - np.log(np.maximum(totals.sum() - totals, 0.0) + alpha * max(len(counts), 1))
    divisor = weights.sum(axis=0) if component.parameters["norm"] else np.full(len(classes), -1.0)
    weights = np.divide(weights, divisor, out=np.zeros_like(weights), where=divisor < 0.0)
    priors = log_priors(component, classes)
    return posterior(row, words_score(row, coordinates, weights, np.zeros(len(classes))), priors)


@translates("naive_bayes.CategoricalNB")
def categorical(component: Component, row: Row) -> Answer:
    """Categories: nominal values, and the integer parts of numbers."""
    graph = row.graph
    state = component.state
    classes = state["classes"]
    if not any(each["count"] > 0.0 for each in classes):
        return Answer()
    alpha = _alpha(component)
    table = np.asarray(state["counts"]["counts"], dtype=np.float64).reshape(-1, len(classes))
    score: Any = np.zeros(len(classes))
    for slot, feature in enumerate(state["counts"]["features"]):
        categories = [int(each) for each in feature["categories"]]
        if not categories or slot >= row.width or row.kinds[slot] not in (NUMBER, NOMINAL):
            continue
        count = max(len(categories), int(component.parameters["min_categories"] or 0))
        normalizer = np.log(table[int(feature["total"])] + alpha * count)
        unknown = np.log(alpha) - normalizer
        rows = [unknown if each == NOWHERE else np.log(table[each] + alpha) - normalizer for each in categories]
        # The last two rows are for other values, and for missing ones.
        flat = np.array([*rows, unknown, np.zeros(len(classes))])
        other = len(rows)
        x = row.take([slot])
        within = (x > -1.0) & (x < float(other))
        index = graph.where(graph.isnan(x), float(other + 1), graph.where(within, x, float(other)))
        score = graph.gather(flat, graph.to_int(index)).sum(0) + score
    return posterior(row, graph.as_value(score), log_priors(component, classes))
