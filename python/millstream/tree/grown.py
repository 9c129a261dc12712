"""A grown tree as `inspect()` tells it: nodes, branches, and what each node would answer.

All that people see of trees is made from this: drawings, rules, tables, explanations. It is read from plain data,
so that it serves every kind of tree, and the members of forests.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = [
    "Branch",
    "Estimate",
    "Grown",
    "Node",
    "amount",
    "class_name",
    "feature_name",
    "percent",
    "plain",
    "short",
]


@dataclass(frozen=True, slots=True)
class Branch:
    """One way out of a split: `sign` is "≤", ">", "=" or "other", for all values without a branch of their own."""

    child: int
    feature: Any
    sign: str
    #: The threshold or the nominal value; of "other" the values that have branches of their own.
    value: Any
    #: Whether rows without a value come this way.
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
    """One node; of a leaf `feature` is None and there are no branches.

    `counts`, `weight`, `mean` and `variance` are those of all examples that the node has received.
    """

    place: int
    parent: int | None
    depth: int
    #: The weight of each class by its code; empty for a tree of numbers.
    counts: list[float]
    weight: float
    mean: float | None
    variance: float | None
    #: A leaf also knows what its parent's split estimated for it; None where it knows its examples only.
    estimated: Estimate | None = None
    feature: Any = None
    threshold: float | None = None
    branches: list[Branch] = field(default_factory=list)
    #: When and why it was split: see `Grown`'s source.
    split: Mapping[str, Any] | None = None
    #: All that the tree says of it.
    told: Mapping[str, Any] = field(default_factory=dict)
    #: Nodes below it.
    below: int = 0

    @property
    def leaf(self) -> bool:
        """Whether it has no branches."""
        return not self.branches

    @property
    def estimate(self) -> Estimate:
        """What it predicts from: its examples and, of a leaf, what its parent's split estimated for it."""
        return self.estimated or Estimate(self.counts, self.weight, self.mean, self.variance)


class Grown:
    """The nodes that hang from the root, by their places, parents before children."""

    def __init__(
        self,
        told: Mapping[str, Any],
        labels: Iterable[Any] = (),
        features: Iterable[Any] = (),
        title: str = "tree",
    ) -> None:
        self.title = plain(title)
        self.learned = int(told.get("learned", 0))
        self.labels = list(labels)
        self.features = list(features)
        self._names = {str(name): name for name in reversed(self.features)}
        every = {int(node["node"]): node for node in told["nodes"]}
        self.root = self._node(every, next(iter(every)), None, 0)
        self.nodes: dict[int, Node] = {}
        waiting = [self.root]
        while waiting:
            node = waiting.pop()
            self.nodes[node.place] = node
            children = [branch.child for branch in node.branches]
            waiting += [self._node(every, child, node.place, node.depth + 1) for child in reversed(children)]
        #: Whether it tells classes apart rather than predicting numbers.
        self.of_classes = all("mean" not in node.told for node in self.nodes.values())
        for node in reversed(self.nodes.values()):
            self._sum_up(node)

    def _node(self, every: Mapping[int, Any], place: int, parent: int | None, depth: int) -> Node:
        told = every[place]
        counts = [float(count) for count in told.get("counts") or ()]
        weight = told.get("weight")
        feature = told.get("feature")
        node = Node(
            place=place,
            parent=parent,
            depth=depth,
            counts=counts,
            weight=math.fsum(counts) if weight is None else float(weight),
            mean=told.get("mean"),
            variance=told.get("variance"),
            estimated=_estimate(told.get("estimate")),
            told=told,
        )
        if not told.get("leaf", feature is None):
            node.feature = self.name(feature)
            node.threshold = told.get("threshold")
            node.branches = list(_branches(told, node.feature))
            node.split = told.get("split")
        return node

    def _sum_up(self, node: Node) -> None:
        """What a split has from its branches."""
        children = [self.nodes[branch.child] for branch in node.branches]
        node.below = sum(child.below + 1 for child in children)
        if not children or node.counts or node.mean is not None:
            return
        known = [child for child in children if child.mean is not None and child.weight > 0.0]
        node.weight = node.weight or math.fsum(child.weight for child in known)
        if known and node.weight > 0.0:
            node.mean = math.fsum(child.weight * float(child.mean or 0.0) for child in known) / node.weight

    def name(self, text: Any) -> Any:
        """A feature as the user named it: a number or a text."""
        return self._names.get(str(text), text)

    def leaves(self) -> Iterator[Node]:
        """The leaves, from left to right."""
        return (node for node in self.nodes.values() if node.leaf)

    @property
    def depth(self) -> int:
        """The depth of the deepest leaf."""
        return max(node.depth for node in self.nodes.values())

    def way(self, node: Node) -> list[Branch]:
        """The branches from the root to a node."""
        way = []
        while node.parent is not None:
            parent = self.nodes[node.parent]
            way.append(next(branch for branch in parent.branches if branch.child == node.place))
            node = parent
        return way[::-1]

    def code(self, node: Node) -> int | None:
        """The class of the largest weight in a node; None if it has none."""
        counts = node.estimate.counts
        if not counts or node.estimate.weight <= 0.0:
            return None
        return max(range(len(counts)), key=counts.__getitem__)

    def label(self, code: int) -> Any:
        """A class by its code."""
        known = code < len(self.labels) and self.labels[code] is not None
        return self.labels[code] if known else code

    def answer(self, node: Node) -> Any:
        """The class of the largest weight, or the mean; None where nothing has been learned."""
        estimate = node.estimate
        if estimate.mean is not None:
            return estimate.mean if estimate.weight > 0.0 else None
        code = self.code(node)
        return None if code is None else self.label(code)

    def share(self, node: Node, code: int | None) -> float:
        """The share of a class in a node, or its mean; 0 where nothing has been learned."""
        estimate = node.estimate
        if not self.of_classes:
            return float(estimate.mean or 0.0)
        if code is None or code >= len(estimate.counts) or estimate.weight <= 0.0:
            return 0.0
        return estimate.counts[code] / estimate.weight

    def said(self, node: Node) -> str:
        """What a node answers and how sure it is, in words."""
        answer = self.answer(node)
        if answer is None:
            return "nothing learned"
        if not self.of_classes:
            variance = node.estimate.variance
            spread = "" if variance is None else f" ± {short(math.sqrt(max(variance, 0.0)), 4)}"
            return f"{short(answer, 4)}{spread}"
        return f"{class_name(answer)} ({percent(self.share(node, self.code(node)))})"

    def state(self, node: Node) -> str:
        """What else is to be said of a node, in words."""
        words = ", inactive" if node.told.get("active") is False else ""
        return f"{words}, an alternate grows" if node.told.get("alternate") is not None else words

    def why(self, node: Node) -> str:
        """When and why a node was split, in one sentence."""
        split = node.split
        if not split:
            return ""
        second, rival = split.get("second"), split.get("second_merit")
        if second is not None:
            beside = f", next {feature_name(self.name(second))} {short(rival, 3)}"
        else:
            beside = ", no other feature" if rival is None or rival < -1e300 else ", next not to split"
        how = "a tie, as it is below tau" if split.get("tie") else "which decided"
        return (
            f"split at example {split['learned']:,} with {amount(split['weight'])} in the leaf: "
            f"merit {short(split['merit'], 3)}{beside}; bound {short(split['bound'], 3)}, {how}"
        )


def _estimate(told: Any) -> Estimate | None:
    if told is None:
        return None
    if isinstance(told, Mapping):
        return Estimate([], float(told["weight"]), told["mean"], told["variance"])
    counts = [float(count) for count in told]
    return Estimate(counts, math.fsum(counts), None, None)


def _branches(told: Mapping[str, Any], feature: Any) -> Iterator[Branch]:
    children, missing = told["children"], told.get("missing")
    if told.get("threshold") is not None:
        for sign, child in zip(("≤", ">"), children, strict=True):
            yield Branch(child, feature, sign, told["threshold"], child == missing)
        return
    values = told.get("values", ())
    for value, child in zip(values, children, strict=True):
        yield Branch(child, feature, "=", "?" if value is None else value, child == missing)
    if (other := told.get("other")) is not None and other not in children:
        yield Branch(other, feature, "other", tuple(values), other == missing)


def feature_name(feature: Any) -> str:
    """A feature as people read it: a column's number does not look like a value."""
    return f"x[{feature}]" if isinstance(feature, int) else plain(feature)


def class_name(label: Any) -> str:
    """A class as people read it: a number does not look like a count."""
    return f"class {label}" if isinstance(label, int) and not isinstance(label, bool) else plain(label)


def plain(name: Any) -> str:
    """A name as it may stand in a picture or on a terminal: in one line, and not without end."""
    text = str(name)
    text = text if len(text) <= 60 else f"{text[:59]}…"
    return "".join(letter if letter == " " or letter.isprintable() else ascii(letter)[1:-1] for letter in text)


def short(value: Any, digits: int = 5) -> str:
    """A number for people."""
    value = float(value)
    if 1e5 <= abs(value) < 1e15:
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"


def amount(weight: float) -> str:
    """A weight of examples for people."""
    return f"{weight:,.0f}" if weight >= 9.5 or weight == round(weight) else f"{weight:.1f}"


def percent(share: float) -> str:
    """A share; one that is not whole does not look so."""
    text = f"{100.0 * share:.1f}"
    if text == "100.0":
        return "100 %" if share == 1.0 else "> 99.9 %"
    return f"{text} %"
