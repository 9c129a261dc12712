"""A tree as tables: its nodes, its split decisions, and how much each feature matters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from millstream.evaluate.frames import frame
from millstream.tree.grown import Grown, Node, plain

__all__ = ["importances", "importances_told", "mean_importances", "nodes_frame", "splits_frame"]

#: Whole numbers of which some are missing.
_WHOLE = ("parent", "split_learned")


def nodes_frame(grown: Grown, kind: str | None) -> Any:
    """A row for each node."""
    nodes = sorted(grown.nodes.values(), key=lambda node: node.place)
    ways = {branch.child: str(branch) for node in nodes for branch in node.branches}
    missing = {branch.child for node in nodes for branch in node.branches if branch.missing}
    columns: dict[str, Any] = {
        "node": [node.place for node in nodes],
        "parent": [node.parent for node in nodes],
        "depth": [node.depth for node in nodes],
        "branch": [ways.get(node.place) for node in nodes],
        "takes_missing": [node.place in missing for node in nodes],
        "leaf": [node.leaf for node in nodes],
        "feature": _alike([node.feature for node in nodes]),
        "threshold": [node.threshold for node in nodes],
        "weight": [node.weight for node in nodes],
        "prediction": _alike([grown.answer(node) for node in nodes]),
    }
    if grown.of_classes:
        columns["share"] = [grown.share(node, grown.code(node)) for node in nodes]
        for code in range(max((len(node.counts) for node in nodes), default=0)):
            counts = [node.counts[code] if code < len(node.counts) else 0.0 for node in nodes]
            columns[f"count {plain(grown.label(code))}"] = counts
    else:
        columns["variance"] = [node.variance for node in nodes]
    columns |= {f"split_{name}": values for name, values in _reasons(grown, nodes).items()}
    for name in ("active", "error"):
        if any(name in node.told for node in nodes):
            columns[name] = [node.told.get(name) for node in nodes]
    return _framed(columns, kind)


def splits_frame(grown: Grown, kind: str | None) -> Any:
    """A row for each split, in the order in which they were made."""
    nodes = [node for node in grown.nodes.values() if node.split]
    nodes.sort(key=lambda node: (node.split or {}).get("learned", 0))
    reasons = _reasons(grown, nodes)
    columns = {
        "learned": reasons.pop("learned"),
        "node": [node.place for node in nodes],
        "depth": [node.depth for node in nodes],
        "feature": _alike([node.feature for node in nodes]),
        "threshold": [node.threshold for node in nodes],
        "branches": [len(node.branches) for node in nodes],
        "node_weight": [node.weight for node in nodes],
        **reasons,
    }
    return _framed(columns, kind)


def _reasons(grown: Grown, nodes: list[Node]) -> dict[str, list[Any]]:
    def told(name: str, of: Callable[[Any], Any] = lambda value: value) -> list[Any]:
        return [None if not node.split or node.split.get(name) is None else of(node.split[name]) for node in nodes]

    return {
        "learned": told("learned"),
        "weight": told("weight"),
        "merit": told("merit"),
        "second": _alike(told("second", grown.name)),
        # The only feature there is has no rival.
        "second_merit": told("second_merit", lambda merit: merit if merit > -1e300 else None),
        "bound": told("bound"),
        "decided_by": told("tie", lambda tie: "tie" if tie else "bound"),
    }


def _alike(values: list[Any]) -> list[Any]:
    """Names or labels as a column, whose values are of one kind."""
    if len({type(value) for value in values if value is not None}) <= 1:
        return values
    return [None if value is None else str(value) for value in values]


def _framed(columns: Mapping[str, Any], kind: str | None) -> Any:
    made = frame(columns, kind)
    if type(made).__module__.startswith("pandas"):
        return made.astype({name: "Int64" for name in _WHOLE if name in columns})
    return made


def importances(grown: Grown) -> dict[Any, float]:
    """The merit of each feature's splits by the weight of their nodes, as shares, the greatest first."""
    gains = dict.fromkeys(grown.features, 0.0)
    for node in grown.nodes.values():
        if node.split:
            gain = max(float(node.split.get("merit", 0.0)), 0.0) * node.weight
            gains[node.feature] = gains.get(node.feature, 0.0) + gain
    total = sum(gains.values())
    shares = {name: gain / total if total > 0.0 else 0.0 for name, gain in gains.items()}
    return dict(sorted(shares.items(), key=lambda pair: -pair[1]))


def mean_importances(trees: Iterable[Any]) -> dict[Any, float]:
    """The mean of the importances of trees; those that have made no split have no say."""
    told = [tree.feature_importances for tree in trees]
    grown = [shares for shares in told if any(shares.values())]
    sums = {name: 0.0 for shares in told for name in shares}
    for shares in grown:
        for name, share in shares.items():
            sums[name] += share / len(grown)
    return dict(sorted(sums.items(), key=lambda pair: -pair[1]))


def importances_told(told: Mapping[str, Any]) -> dict[str, float]:
    """The same of plain data, as `inspect()` gives it."""
    return {str(name): share for name, share in importances(Grown(told)).items()}
