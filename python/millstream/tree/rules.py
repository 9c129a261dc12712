"""A tree as rules: one per leaf, with the conditions on a feature combined."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from millstream.tree.structure import (
    Branch,
    Node,
    TreeStructure,
    amount,
    class_name,
    feature_name,
    percent,
    plain,
    short,
)

__all__ = ["Condition", "Rule", "Rules", "rules_of"]

_MOST = 30


@dataclass(frozen=True)
class Condition:
    """The condition of a rule on one feature: bounds of a number, or nominal values."""

    feature: Any
    #: Numbers must be above the first and at most the second.
    above: float = -math.inf
    most: float = math.inf
    #: The required value of a nominal feature, if any, and excluded values.
    value: str | None = None
    other_than: tuple[str, ...] = ()
    #: Whether a missing value satisfies the condition.
    missing: bool = False

    def narrowed(self, branch: Branch) -> Condition:
        """The condition combined with one more branch."""
        above, most, value, other_than = self.above, self.most, self.value, self.other_than
        if branch.sign == "≤":
            most = min(most, branch.value)
        elif branch.sign == ">":
            above = max(above, branch.value)
        elif branch.sign == "=":
            value = branch.value
        else:
            other_than += tuple(each for each in branch.value if each not in other_than)
        return Condition(self.feature, above, most, value, other_than, self.missing and branch.missing)

    def __str__(self) -> str:
        name = feature_name(self.feature)
        if self.value is not None:
            text = f"{name} = {plain(self.value)}"
        elif len(self.other_than) == 1:
            text = f"{name} ≠ {plain(self.other_than[0])}"
        elif self.other_than:
            shown = ", ".join(plain(each) for each in self.other_than[:8])
            text = f"{name} not in {{{shown}{', …' * (len(self.other_than) > 8)}}}"
        elif math.isinf(self.most):
            text = f"{name} > {short(self.above)}"
        elif math.isinf(self.above):
            text = f"{name} ≤ {short(self.most)}"
        else:
            text = f"{short(self.above)} < {name} ≤ {short(self.most)}"
        return f"({text} or missing)" if self.missing else text


@dataclass(frozen=True)
class Rule:
    """One leaf: its conditions, its prediction, and the weight of its examples."""

    conditions: tuple[Condition, ...]
    #: The class with the largest weight in the leaf, or the mean; None without examples.
    prediction: Any
    #: The fraction of that class among the leaf's examples and the estimates of its parent's split; None for a
    #: regression tree.
    share: float | None
    #: The weight of the examples that the leaf has received.
    weight: float
    #: The index of the leaf in `to_frame()`.
    node: int

    def __str__(self) -> str:
        when = " and ".join(str(condition) for condition in self.conditions)
        if self.prediction is None:
            then = "nothing learned"
        elif self.share is None:
            then = f"{short(self.prediction, 4)} (n = {amount(self.weight)})"
        else:
            then = f"{class_name(self.prediction)} ({percent(self.share)}, n = {amount(self.weight)})"
        return f"if {when} then {then}" if when else f"always {then}"


class Rules(list[Rule]):
    """The rules of a tree, in descending order of examples; printed one per line."""

    def __repr__(self) -> str:
        more = len(self) - _MOST
        lines = [str(rule) for rule in self[:_MOST]]
        return "\n".join(lines + [f"… and {more:,} more"] * (more > 0))

    __str__ = __repr__


def rules_of(structure: TreeStructure) -> Rules:
    """One rule per leaf."""
    found = [_rule(structure, leaf, conditions) for leaf, conditions in _leaves(structure)]
    return Rules(sorted(found, key=lambda rule: -rule.weight))


def _leaves(structure: TreeStructure) -> Iterator[tuple[Node, dict[Any, Condition]]]:
    waiting: list[tuple[Node, dict[Any, Condition]]] = [(structure.root, {})]
    while waiting:
        node, conditions = waiting.pop()
        if node.leaf:
            yield node, conditions
        for branch in reversed(node.branches):
            before = conditions.get(branch.feature) or Condition(branch.feature, missing=True)
            after = {**conditions, branch.feature: before.narrowed(branch)}
            waiting.append((structure.nodes[branch.child], after))


def _rule(structure: TreeStructure, leaf: Node, conditions: dict[Any, Condition]) -> Rule:
    code = structure.code(leaf)
    share = structure.share(leaf, code) if structure.of_classes and code is not None else None
    return Rule(tuple(conditions.values()), structure.prediction(leaf), share, leaf.weight, leaf.index)
