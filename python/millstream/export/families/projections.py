"""Transformers whose output is a sum over features: hashing, projections, decompositions.

Their rows of numbers are not all in the state: some are drawn, or solved, when they are needed. So the component
itself is asked, feature by feature.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from millstream.export.rows import NUMBER, Component, Row
from millstream.export.translation import translates

#: The slope is read between 0 and this power of two, far from the scale of the offset.
_FAR = 2.0**40


def names_of(row: Row) -> list[str | int]:
    """The names by which a component inside a model knows the features of its row."""
    schema = row.schema()
    return [*range(schema["numbered"]), *schema["names"]]


def answers_of(model: Any, x: dict[Any, Any]) -> dict[Any, float]:
    """The output features of a row."""
    found: dict[Any, float] = model.transform_one(x)
    return found


@translates(
    "preprocessing.FeatureHasher",
    "preprocessing.GaussianRandomProjector",
    "preprocessing.SparseRandomProjector",
    "decomposition.CCIPCA",
    "decomposition.FrequentDirections",
    "decomposition.IncrementalPCA",
    "decomposition.IncrementalSVD",
    "decomposition.PCA",
)
def additive(component: Component, row: Row) -> Row:
    """A constant, plus what each feature that is not missing adds to it."""
    graph = row.graph
    model = component.alive(row)
    names = names_of(row)
    outputs = _outputs(component, model, names, row)

    def ask(x: dict[Any, Any]) -> np.ndarray[Any, Any]:
        found = answers_of(model, x)
        return np.array([found.get(name, 0.0) for name in outputs])

    base = ask({})
    slots = row.number_slots
    total: Any = base
    if slots:
        at_zero = np.array([ask({names[slot]: 0.0}) for slot in slots])
        slopes = (np.array([ask({names[slot]: _FAR}) for slot in slots]) - at_zero) / _FAR
        total = graph.matmul(row.filled(slots), slopes) + total
        present = at_zero - base
        if present.any():
            there = graph.to_double(~graph.isnan(row.take(slots)))
            total = graph.matmul(there, present) + total
    tables = []
    for slot in row.nominal_slots:
        rows = [ask({names[slot]: text}) - base for text in row.texts[slot]]
        # In front of a learner, a value that was never learned counts for nothing.
        nothing = np.zeros(len(base))
        tables.append(np.array([nothing, nothing, *rows]))
    if tables:
        offsets = np.cumsum([0, *(len(table) for table in tables)])[:-1]
        places = row.places(row.nominal_slots) + offsets
        total = graph.gather(np.concatenate(tables), places).sum(0) + total
    return row.with_values(
        graph.as_value(total), names=list(outputs), kinds=[NUMBER] * len(outputs), texts=[[] for _ in outputs]
    )


def unseen_text(texts: list[str]) -> str:
    """A value that was never learned."""
    text = "?"
    while text in texts:
        text += "?"
    return text


def _outputs(component: Component, model: Any, names: list[str | int], row: Row) -> list[str | int]:
    """The names of the output features."""
    if component.name == "preprocessing.FeatureHasher":
        return list(range(int(component.parameters["n_features"])))
    full = {names[slot]: 1.0 for slot in row.number_slots}
    return list(answers_of(model, full))
