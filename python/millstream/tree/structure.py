"""The structure of a tree, from `inspect()`: nodes, branches, and the prediction of each node.

Drawings, rules, tables and explanations are made from this. It is read from plain data, so it works for every kind
of tree, and for members of forests.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = [
    "Branch",
    "Estimate",
    "Node",
    "PathStructure",
    "TreeStructure",
    "amount",
    "class_name",
    "feature_name",
    "percent",
    "plain",
    "short",
    "sums_up",
]


@dataclass(frozen=True, slots=True)
class Branch:
    """One branch of a split: `sign` is "≤", ">", "=" or "other", for all values without a branch of their own."""

    child: int
    feature: Any
    sign: str
    #: The threshold or the nominal value; for "other" the values that have branches of their own.
    value: Any
    #: Whether rows with a missing value take this branch.
    missing: bool

    @property
    def label(self) -> str:
        """The condition without the feature's name."""
        if self.sign in ("≤", ">"):
            return f"{self.sign} {short(self.value)}"
        if self.sign == "=":
            return f"= {plain(self.value)}"
        return f"≠ {plain(self.value[0])}" if len(self.value) == 1 else "other"

    def __str__(self) -> str:
        return f"{feature_name(self.feature)} {self.label}"


@dataclass(frozen=True, slots=True)
class Estimate:
    """The class weights or the moments that a node predicts from."""

    counts: list[float]
    weight: float
    mean: float | None
    variance: float | None


@dataclass(slots=True)
class Node:
    """One node; a leaf has no feature and no branches.

    `counts`, `weight`, `mean` and `variance` cover all examples that the node has received.
    """

    index: int
    parent: int | None
    depth: int
    #: The weight of each class by code; empty for a regression tree.
    counts: list[float]
    weight: float
    mean: float | None
    variance: float | None
    #: The prediction of a leaf includes the estimate of its parent's split; None without one.
    estimated: Estimate | None = None
    feature: Any = None
    threshold: float | None = None
    branches: list[Branch] = field(default_factory=list)
    #: When and why it was split.
    split: Mapping[str, Any] | None = None
    #: The report of the node.
    report: Mapping[str, Any] = field(default_factory=dict)
    #: Nodes below it.
    below: int = 0

    @property
    def leaf(self) -> bool:
        """Whether it has no branches."""
        return not self.branches

    @property
    def estimate(self) -> Estimate:
        """The basis of its prediction: its examples and, for a leaf, the estimate of its parent's split."""
        return self.estimated or Estimate(self.counts, self.weight, self.mean, self.variance)


class TreeStructure:
    """The reachable nodes by index, parents before children."""

    def __init__(
        self,
        report: Mapping[str, Any],
        labels: Iterable[Any] = (),
        features: Iterable[Any] = (),
        title: str = "tree",
    ) -> None:
        every = self._begin(report, labels, features, title)
        self.root = self._node(every, next(iter(every)), None, 0)
        self.nodes: dict[int, Node] = {}
        waiting = [self.root]
        while waiting:
            node = waiting.pop()
            self.nodes[node.index] = node
            children = [branch.child for branch in node.branches]
            waiting += [self._node(every, child, node.index, node.depth + 1) for child in reversed(children)]
        #: Whether it is a classification tree.
        self.of_classes = all("mean" not in node.report for node in self.nodes.values())
        for node in reversed(self.nodes.values()):
            self._sum_up(node)

    def _begin(
        self, report: Mapping[str, Any], labels: Iterable[Any], features: Iterable[Any], title: str
    ) -> dict[int, Any]:
        """Set what does not depend on the nodes; the reports of the nodes by index."""
        self.title = plain(title)
        self.learned = int(report.get("learned", 0))
        self.labels = list(labels)
        self.features = list(features)
        self._names = {str(name): name for name in reversed(self.features)}
        return {int(node["node"]): node for node in report["nodes"]}

    def child(self, node: Node, branch: Branch) -> Node:
        """The node at the end of a branch."""
        return self.nodes[branch.child]

    def _node(self, every: Mapping[int, Any], index: int, parent: int | None, depth: int) -> Node:
        report = every[index]
        counts = [float(count) for count in report.get("counts") or ()]
        weight = report.get("weight")
        feature = report.get("feature")
        node = Node(
            index=index,
            parent=parent,
            depth=depth,
            counts=counts,
            weight=math.fsum(counts) if weight is None else float(weight),
            mean=report.get("mean"),
            variance=report.get("variance"),
            estimated=_estimate(report.get("estimate")),
            report=report,
        )
        if not report.get("leaf", feature is None):
            node.feature = self.name(feature)
            node.threshold = report.get("threshold")
            node.branches = list(_branches(report, node.feature))
            node.split = report.get("split")
        return node

    def _sum_up(self, node: Node) -> None:
        """Sum up a split from its branches."""
        children = [self.nodes[branch.child] for branch in node.branches]
        node.below = sum(child.below + 1 for child in children)
        if not children or node.counts or node.mean is not None:
            return
        known = [child for child in children if child.mean is not None and child.weight > 0.0]
        node.weight = node.weight or math.fsum(child.weight for child in known)
        if known and node.weight > 0.0:
            node.mean = math.fsum(child.weight * float(child.mean or 0.0) for child in known) / node.weight

    def name(self, text: Any) -> Any:
        """The feature name as given by the user: a number or a string."""
        return self._names.get(str(text), text)

    def leaves(self) -> Iterator[Node]:
        """The leaves, from left to right."""
        return (node for node in self.nodes.values() if node.leaf)

    @property
    def depth(self) -> int:
        """The depth of the deepest leaf."""
        return max(node.depth for node in self.nodes.values())

    def path(self, node: Node) -> list[Branch]:
        """The branches from the root to a node."""
        way = []
        while node.parent is not None:
            parent = self.nodes[node.parent]
            way.append(next(branch for branch in parent.branches if branch.child == node.index))
            node = parent
        return way[::-1]

    def code(self, node: Node) -> int | None:
        """The class with the largest weight in a node; None without examples."""
        counts = node.estimate.counts
        if not counts or node.estimate.weight <= 0.0:
            return None
        return max(range(len(counts)), key=counts.__getitem__)

    def label(self, code: int) -> Any:
        """A class by its code."""
        known = code < len(self.labels) and self.labels[code] is not None
        return self.labels[code] if known else code

    def prediction(self, node: Node) -> Any:
        """The class with the largest weight, or the mean; None without examples."""
        estimate = node.estimate
        if estimate.mean is not None:
            return estimate.mean if estimate.weight > 0.0 else None
        code = self.code(node)
        return None if code is None else self.label(code)

    def share(self, node: Node, code: int | None) -> float:
        """The fraction of a class in a node, or its mean; 0 without examples."""
        estimate = node.estimate
        if not self.of_classes:
            return float(estimate.mean or 0.0)
        if code is None or code >= len(estimate.counts) or estimate.weight <= 0.0:
            return 0.0
        return estimate.counts[code] / estimate.weight

    def prediction_text(self, node: Node) -> str:
        """The prediction of a node and its probability, in words."""
        prediction = self.prediction(node)
        if prediction is None:
            return "nothing learned"
        if not self.of_classes:
            variance = node.estimate.variance
            spread = "" if variance is None else f" ± {short(math.sqrt(max(variance, 0.0)), 4)}"
            return f"{short(prediction, 4)}{spread}"
        return f"{class_name(prediction)} ({percent(self.share(node, self.code(node)))})"

    def state(self, node: Node) -> str:
        """Further properties of a node, in words."""
        words = ", inactive" if node.report.get("active") is False else ""
        return f"{words}, an alternate grows" if node.report.get("alternate") is not None else words

    def why(self, node: Node) -> str:
        """When and why a node was split, in one sentence."""
        split = node.split
        if not split:
            return ""
        second, rival = split.get("second"), split.get("second_merit")
        if second is not None:
            beside = f", next {feature_name(self.name(second))} {short(rival, 3)}"
        else:
            beside = ", no other feature" if rival is None or rival < -1e300 else ", next: no split"
        how = "a tie, as it is below tau" if split.get("tie") else "which decided"
        return (
            f"split at example {split['learned']:,} with {amount(split['weight'])} in the leaf: "
            f"merit {short(split['merit'], 3)}{beside}; bound {short(split['bound'], 3)}, {how}"
        )


class PathStructure(TreeStructure):
    """A structure that reads a node when an example reaches it.

    `nodes` has only these. Splits must have counts or means of their own: see `sums_up`.
    """

    def __init__(
        self,
        report: Mapping[str, Any],
        labels: Iterable[Any],
        features: Iterable[Any],
        title: str,
        of_classes: bool,
    ) -> None:
        self._every = self._begin(report, labels, features, title)
        self.root = self._node(self._every, next(iter(self._every)), None, 0)
        self.nodes = {self.root.index: self.root}
        self.of_classes = of_classes

    def child(self, node: Node, branch: Branch) -> Node:
        """The node at the end of a branch."""
        found = self.nodes.get(branch.child)
        if found is None:
            found = self._node(self._every, branch.child, node.index, node.depth + 1)
            self.nodes[branch.child] = found
        return found


def sums_up(report: Mapping[str, Any]) -> bool:
    """Whether a split has no numbers of its own, so that they are summed up from the nodes below."""
    return any(
        not node.get("counts") and node.get("mean") is None and not node.get("leaf", node.get("feature") is None)
        for node in report["nodes"]
    )


def _estimate(report: Any) -> Estimate | None:
    if report is None:
        return None
    if isinstance(report, Mapping):
        return Estimate([], float(report["weight"]), report["mean"], report["variance"])
    counts = [float(count) for count in report]
    return Estimate(counts, math.fsum(counts), None, None)


def _branches(report: Mapping[str, Any], feature: Any) -> Iterator[Branch]:
    children, missing = report["children"], report.get("missing")
    if report.get("threshold") is not None:
        for sign, child in zip(("≤", ">"), children, strict=True):
            yield Branch(child, feature, sign, report["threshold"], child == missing)
        return
    values = report.get("values", ())
    for value, child in zip(values, children, strict=True):
        yield Branch(child, feature, "=", "?" if value is None else value, child == missing)
    if (other := report.get("other")) is not None and other not in children:
        yield Branch(other, feature, "other", tuple(values), other == missing)


def feature_name(feature: Any) -> str:
    """A feature name for reports: a column number must not look like a value."""
    return f"x[{feature}]" if isinstance(feature, int) else plain(feature)


def class_name(label: Any) -> str:
    """A class for reports: a number must not look like a count."""
    return f"class {label}" if isinstance(label, int) and not isinstance(label, bool) else plain(label)


def plain(name: Any) -> str:
    """A name for pictures and terminals: on one line, and limited in length."""
    text = str(name)
    text = text if len(text) <= 60 else f"{text[:59]}…"
    return "".join(letter if letter == " " or letter.isprintable() else ascii(letter)[1:-1] for letter in text)


def short(value: Any, digits: int = 5) -> str:
    """A number for reports."""
    value = float(value)
    if 1e5 <= abs(value) < 1e15:
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"


def amount(weight: float) -> str:
    """A weight of examples for reports."""
    return f"{weight:,.0f}" if weight >= 9.5 or weight == round(weight) else f"{weight:.1f}"


def percent(share: float) -> str:
    """A fraction as a percentage; only 1 is shown as 100 %."""
    text = f"{100.0 * share:.1f}"
    if text == "100.0":
        return "100 %" if share == 1.0 else "> 99.9 %"
    return f"{text} %"
