"""Pipelines, unions, selections of features, and wrappers that predict as their model does."""

from __future__ import annotations

from typing import Any

import numpy as np

from millstream.export.rows import Component, Row
from millstream.export.state import pack, state_of
from millstream.export.translation import answer, translates


@translates("compose.Pipeline")
def pipeline(component: Component, row: Row) -> Any:
    """Step after step. An anomaly filter passes rows on."""
    from millstream.registry import entry

    steps = list(zip(component.parameters["steps"], component.state["steps"], strict=True))
    for description, raw in steps[:-1]:
        if (
            entry(description["name"])["role"] in ("anomaly_detector", "wrapper")
            and "Filter" in description["name"]
        ):
            continue
        here = row
        row = answer(Component.of(description, raw), row)
        if description is steps[-2][0] and _is_basis(description):
            # A learner may have learned orthonormal functions instead; as a model of its own it is one of these.
            return answer(_last_of(steps, here), row)
    return answer(Component.of(*steps[-1]), row)


def _is_basis(description: dict[str, Any]) -> bool:
    while description["name"] == "compose.Pipeline":
        description = description["parameters"]["steps"][-1]
    return str(description["name"]).startswith("basis.")


def _last_of(steps: list[tuple[dict[str, Any], bytes]], before: Row) -> Component:
    """The last step of a pipeline, behind a basis that receives a row."""
    descriptions, states = zip(*steps[-2:], strict=True)
    parameters = {"steps": list(descriptions), "names": None}
    behind = Component("compose.Pipeline", parameters, pack({"steps": list(states)}))
    return Component.of(descriptions[-1], state_of(behind.alive(before).steps[-1]))


@translates("compose.Union")
def union(component: Component, row: Row) -> Row:
    """The outputs of several transformers side by side."""
    graph = row.graph
    state = component.state
    parts = component.parameters.get("parts") or component.parameters["transformers"]
    outputs = [answer(Component.of(each, raw), row) for each, raw in zip(parts, state["parts"], strict=True)]
    places: list[int] = []
    beyond = 1 + max((int(np.max(each)) for each in state["places"] if len(each)), default=-1)
    for output, known in zip(outputs, state["places"], strict=True):
        for at in range(output.width):
            if at < len(known):
                places.append(int(known[at]))
            else:
                places.append(beyond)
                beyond += 1
    order = np.argsort(places)
    values = graph.take(graph.concat([output.values for output in outputs]), order)
    names = [name for output in outputs for name in output.names]
    kinds = [kind for output in outputs for kind in output.kinds]
    texts = [each for output in outputs for each in output.texts]
    titles = component.parameters.get("names") or [each["name"].rpartition(".")[2] for each in parts]
    owners = [title for title, output in zip(titles, outputs, strict=True) for _ in range(output.width)]
    found: list[str | int] = []
    for place in order:
        name = names[place]
        found.append(name if name not in found else f"{owners[place]}_{name}")
    return row.with_values(values, names=found, kinds=[kinds[i] for i in order], texts=[texts[i] for i in order])


@translates("compose.Select", "compose.Drop")
def selection(component: Component, row: Row) -> Row:
    """Some features."""
    indices = np.asarray(component.state["places"], dtype=np.int64)
    chosen = {int(index): slot for slot, index in enumerate(indices) if index != 2**32 - 1}
    return row.cut([chosen[index] for index in sorted(chosen)])


@translates("drift.Retrain")
def retrain(component: Component, row: Row) -> Any:
    """The active model."""
    return answer(Component.of(component.parameters["model"], component.state["model"]), row)
