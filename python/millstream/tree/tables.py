"""A tree as tables: its nodes, its split decisions, and the importance of each feature."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from millstream.evaluate.frames import frame
from millstream.tree.structure import Node, TreeStructure, plain

__all__ = ["importances", "importances_of_report", "mean_importances", "nodes_frame", "splits_frame"]

#: Integer columns with missing values.
_WHOLE = ("parent", "split_learned")


def nodes_frame(structure: TreeStructure, kind: str | None) -> Any:
    """One row per node."""
    nodes = sorted(structure.nodes.values(), key=lambda node: node.index)
    ways = {branch.child: str(branch) for node in nodes for branch in node.branches}
    missing = {branch.child for node in nodes for branch in node.branches if branch.missing}
    columns: dict[str, Any] = {
        "node": [node.index for node in nodes],
        "parent": [node.parent for node in nodes],
        "depth": [node.depth for node in nodes],
        "branch": [ways.get(node.index) for node in nodes],
        "takes_missing": [node.index in missing for node in nodes],
        "leaf": [node.leaf for node in nodes],
        "feature": _alike([node.feature for node in nodes]),
        "threshold": [node.threshold for node in nodes],
        "weight": [node.weight for node in nodes],
        "prediction": _alike([structure.prediction(node) for node in nodes]),
    }
    if structure.of_classes:
        columns["share"] = [structure.share(node, structure.code(node)) for node in nodes]
        for code in range(max((len(node.counts) for node in nodes), default=0)):
            counts = [node.counts[code] if code < len(node.counts) else 0.0 for node in nodes]
            columns[f"count {plain(structure.label(code))}"] = counts
    else:
        columns["variance"] = [node.variance for node in nodes]
    columns |= {f"split_{name}": values for name, values in _reasons(structure, nodes).items()}
    for name in ("active", "error"):
        if any(name in node.report for node in nodes):
            columns[name] = [node.report.get(name) for node in nodes]
    return _framed(columns, kind)


def splits_frame(structure: TreeStructure, kind: str | None) -> Any:
    """One row per split, in the order in which they were made."""
    nodes = [node for node in structure.nodes.values() if node.split]
    nodes.sort(key=lambda node: (node.split or {}).get("learned", 0))
    reasons = _reasons(structure, nodes)
    columns = {
        "learned": reasons.pop("learned"),
        "node": [node.index for node in nodes],
        "depth": [node.depth for node in nodes],
        "feature": _alike([node.feature for node in nodes]),
        "threshold": [node.threshold for node in nodes],
        "branches": [len(node.branches) for node in nodes],
        "node_weight": [node.weight for node in nodes],
        **reasons,
    }
    return _framed(columns, kind)


def _reasons(structure: TreeStructure, nodes: list[Node]) -> dict[str, list[Any]]:
    def report(name: str, of: Callable[[Any], Any] = lambda value: value) -> list[Any]:
        return [None if not node.split or node.split.get(name) is None else of(node.split[name]) for node in nodes]

    return {
        "learned": report("learned"),
        "weight": report("weight"),
        "merit": report("merit"),
        "second": _alike(report("second", structure.name)),
        # A single feature has no competitor.
        "second_merit": report("second_merit", lambda merit: merit if merit > -1e300 else None),
        "bound": report("bound"),
        "decided_by": report("tie", lambda tie: "tie" if tie else "bound"),
    }


def _alike(values: list[Any]) -> list[Any]:
    """Names or labels as a column of a single type."""
    if len({type(value) for value in values if value is not None}) <= 1:
        return values
    return [None if value is None else str(value) for value in values]


def _framed(columns: Mapping[str, Any], kind: str | None) -> Any:
    made = frame(columns, kind)
    if type(made).__module__.startswith("pandas"):
        return made.astype({name: "Int64" for name in _WHOLE if name in columns})
    return made


def importances(structure: TreeStructure) -> dict[Any, float]:
    """The importance of each feature, as fractions in descending order."""
    gains = dict.fromkeys(structure.features, 0.0)
    for node in structure.nodes.values():
        if node.split:
            gain = max(float(node.split.get("merit", 0.0)), 0.0) * node.weight
            gains[node.feature] = gains.get(node.feature, 0.0) + gain
    total = sum(gains.values())
    shares = {name: gain / total if total > 0.0 else 0.0 for name, gain in gains.items()}
    return dict(sorted(shares.items(), key=lambda pair: -pair[1]))


def mean_importances(trees: Iterable[Any]) -> dict[Any, float]:
    """The mean importances of trees; trees without splits are ignored."""
    every = [tree.feature_importances for tree in trees]
    split = [fractions for fractions in every if any(fractions.values())]
    sums = {name: 0.0 for fractions in every for name in fractions}
    for fractions in split:
        for name, fraction in fractions.items():
            sums[name] += fraction / len(split)
    return dict(sorted(sums.items(), key=lambda pair: -pair[1]))


def importances_of_report(report: Mapping[str, Any]) -> dict[str, float]:
    """The importances of a tree in the form of `inspect()`."""
    return {str(name): share for name, share in importances(TreeStructure(report)).items()}
