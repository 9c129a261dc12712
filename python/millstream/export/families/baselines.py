"""Models that ignore the features."""

from __future__ import annotations

import numpy as np

from millstream.export.rows import Answer, Component, Row
from millstream.export.translation import translates


@translates("baseline.MajorityClass", "baseline.Prior", "baseline.NoChange")
def frequencies(component: Component, row: Row) -> Answer:
    """The most frequent class, all frequencies, or the last class."""
    graph = row.graph
    state = component.state
    if component.name == "baseline.NoChange":
        if state["last"] is None:
            return Answer()
        shares = np.zeros(len(state["come"]))
        shares[int(state["last"])] = 1.0
        return Answer(graph.constant(shares))
    counts = np.asarray(state["counts"], dtype=np.float64)
    if not counts.any():
        return Answer()
    decision = int(counts.argmax())
    shares = counts / counts.sum() if component.name == "baseline.Prior" else np.eye(len(counts))[decision]
    return Answer(graph.constant(shares), graph.constant(decision))


@translates("baseline.TargetMean")
def target_mean(component: Component, row: Row) -> Answer:
    """The mean target."""
    return Answer(number=row.graph.constant(np.array([component.state["mean"]], dtype=np.float64)))
