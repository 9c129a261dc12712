"""From a model to the graph of its prediction.

Each family of components has a module of translations, which register themselves by name in the registry.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from millstream._part import shown_part
from millstream.base import Model
from millstream.errors import InvalidType
from millstream.export.graph import Graph, Value
from millstream.export.rows import NOMINAL, NUMBER, Answer, Component, Row, Unsupported
from millstream.export.state import saved, state_of
from millstream.roles import role_of

__all__ = ["Exported", "answer", "translate", "translates", "translations"]

_FAMILIES = (
    "art",
    "baselines",
    "bases",
    "bayes",
    "compositions",
    "continual",
    "encoders",
    "ensembles",
    "features",
    "kernels",
    "linear",
    "neighbors",
    "networks",
    "projections",
    "scalers",
    "targets",
    "trees",
    "unsupervised",
)
Translation = Callable[[Component, Row], Any]
_TRANSLATIONS: dict[str, Translation] = {}


def translates(*names: str) -> Callable[[Translation], Translation]:
    """Register the translation of components: of a transformer to a row, of a learner to an answer."""

    def register(translation: Translation) -> Translation:
        _TRANSLATIONS.update(dict.fromkeys(names, translation))
        return translation

    return register


@cache
def translations() -> dict[str, Translation]:
    """All translations by name in the registry."""
    for family in _FAMILIES:
        importlib.import_module(f"millstream.export.families.{family}")
    return _TRANSLATIONS


def answer(component: Component, row: Row) -> Any:
    """What a component makes of a row: a row of a transformer, an answer of a learner."""
    translation = translations().get(component.name)
    if translation is None:
        from millstream.export.support import reason_against

        raise component.refuse(reason_against(component.name) or "it has no translation")
    return translation(component, row)


@dataclass
class Exported:
    """A model's prediction as a graph, with what describes it."""

    graph: Graph
    role: str
    description: str
    learned: int
    #: Names of the columns of the two inputs.
    numbers: list[str | int]
    strings: list[str | int]
    #: By class code of the model's answer; empty for other roles.
    labels: list[Any]
    #: By name: probabilities and class index, a number, a cluster, or features.
    outputs: dict[str, Value]
    #: The names of the features that a transformer writes.
    features: list[str | int]
    notes: dict[str, Any]


def translate(model: Any) -> Exported:
    """The graph of a model's prediction."""
    _refuse_python(model)
    content = saved(model)
    description = json.loads(content["description"])
    schema = content["schema"]
    graph = Graph()
    names: list[str | int] = [*range(schema["numbered"]), *schema["names"]]
    kinds = list(schema["kinds"])
    texts: list[list[str]] = [list(values) for values in schema["values"]]
    texts += [[] for _ in range(len(names) - len(texts))]
    row = _input_row(graph, names, kinds, texts)
    root = Component.of(description, state_of(model))
    found = answer(root, row)
    role = role_of(model)
    assert role is not None, "a native model has a role"
    exported = Exported(
        graph,
        str(role),
        content["description"],
        content["learned"],
        [name for name, kind in zip(names, kinds, strict=True) if kind == NUMBER],
        [name for name, kind in zip(names, kinds, strict=True) if kind == NOMINAL],
        [],
        {},
        [],
        {},
    )
    if isinstance(found, Row):
        if NOMINAL in found.kinds:
            raise root.refuse("its output has nominal features; add an encoder")
        exported.outputs = {"features": graph.rows(found.values)}
        exported.features = list(found.names)
    elif role == "classifier":
        _classify(exported, found, content["labels"])
    else:
        name = {"regressor": "prediction", "clusterer": "cluster"}.get(str(role), "score")
        number = graph.rows(found.number.reshape())
        exported.outputs = {name: graph.to_int(number) if name == "cluster" else number}
    return exported


def _refuse_python(model: Any) -> None:
    """Refuse what has no saved state of a model: other components, and models with steps written in Python."""
    from millstream._native import Native
    from millstream.export.support import reason_against

    if isinstance(model, type):
        raise InvalidType(f"export: the model must be an instance, got the class {model.__name__}")
    own = getattr(model, "name", None)
    reason = reason_against(own) if isinstance(own, str) else None
    if isinstance(model, Native):
        if not isinstance(model, Model) and reason:
            raise Unsupported(f"{own}: cannot be exported: {reason}")
        return
    if role_of(model) is None and reason is None:
        raise InvalidType(f"export: the model must be a model of millstream, got {shown_part(model)}")
    for step in getattr(model, "steps", ()):
        _refuse_python(step)
    parameters = getattr(model, "parameters", {})
    for value in parameters.values() if isinstance(parameters, dict) else ():
        for each in value if isinstance(value, list) else [value]:
            if role_of(each) is not None:
                _refuse_python(each)
    raise Unsupported(f"{own or type(model).__name__}: cannot be exported: {reason or 'it runs in Python'}")


def _input_row(graph: Graph, names: list[str | int], kinds: list[int], texts: list[list[str]]) -> Row:
    """The columns of both inputs by slot. An infinite number is missing: a model cannot refuse it where it
    runs."""
    slots = [slot for slot, kind in enumerate(kinds) if kind == NUMBER]
    columns: list[Any] = []
    order: list[int] = []
    if slots:
        numbers = graph.numbers(len(slots))
        columns.append(graph.where(graph.apply("isinf", numbers), np.nan, numbers))
        order += slots
    for column, slot in enumerate(slot for slot, kind in enumerate(kinds) if kind == NOMINAL):
        columns.append(graph.codes(column, texts[slot]))
        order.append(slot)
    rest = [slot for slot, kind in enumerate(kinds) if kind not in (NUMBER, NOMINAL)]
    if rest:
        columns.append(np.full(len(rest), np.nan))
        order += rest
    joined = graph.concat(columns) if columns else graph.constant(np.zeros(0))
    return Row(graph, graph.take(joined, np.argsort(order)), names, kinds, texts)


def _classify(exported: Exported, found: Answer, labels: list[Any]) -> None:
    """Restrict an answer to classes with a label, as `task/classes.rs` does."""
    graph = exported.graph
    codes = len(labels)
    known = np.array([label is not None for label in labels])
    exported.labels = [label for label in labels if label is not None]
    exported.notes["codes"] = codes
    probabilities, decision = found.probabilities, found.decision
    if probabilities is None or not known.any():
        count = int(known.sum())
        nothing = graph.constant(np.zeros(count))
        exported.outputs = {"class": graph.rows(graph.constant(-1)), "probabilities": graph.rows(nothing)}
        return
    width = probabilities.shape[0]
    if decision is None:
        decision = graph.argmax(probabilities)
    if codes < 2 or width != codes or not known.all():
        if width < codes:
            probabilities = graph.concat([probabilities, np.zeros(codes - width)])
        probabilities = graph.take(probabilities, np.flatnonzero(known))
        total = probabilities.sum().reshape(1)
        probabilities = graph.where(total > 0.0, probabilities / total, 1.0 / known.sum())
        first = int(np.flatnonzero(known)[0])
        allowed = graph.gather(
            np.append(np.resize(known, max(width, codes)) & (np.arange(max(width, codes)) < codes), False),
            _wrapped(graph, decision, max(width, codes)),
        )
        decision = graph.where(allowed | decision.equals(-1), decision, first)
        order = np.append(np.cumsum(known) - 1, -1)
        decision = graph.gather(order, _wrapped(graph, decision, codes))
    exported.outputs = {"class": graph.rows(decision), "probabilities": graph.rows(probabilities)}


def _wrapped(graph: Graph, decision: Value, size: int) -> Value:
    """The place of a class in a table, whose last entry stands for none."""
    return graph.where(decision.equals(-1), size, decision)
