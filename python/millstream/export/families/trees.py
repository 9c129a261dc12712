"""Hoeffding trees and forests: the leaf of each tree, and what leaves predict."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from millstream.export.families.class_tables import Tables, decide
from millstream.export.graph import Trees, Value
from millstream.export.rows import NOMINAL, NUMBER, Answer, Component, Row
from millstream.export.translation import translates

NOWHERE = 2**32 - 1


@dataclass
class Planted:
    """Trees in one table of nodes, whose leaves have numbers of all trees."""

    row: Row
    trees: Trees = field(default_factory=Trees)
    #: The saved leaf of each number.
    leaves: list[dict[str, Any]] = field(default_factory=list)
    #: For trees that are a single leaf, its number.
    single: dict[int, int] = field(default_factory=dict)
    #: Of each nominal split: its slot, and the branch of each place (`Row.places`).
    _forks: list[tuple[int, np.ndarray[Any, Any]]] = field(default_factory=list)
    _count: int = 0

    def plant(
        self, nodes: list[Any], forks: list[Any], leaves: list[dict[str, Any]], root: int = 0
    ) -> dict[int, list[int]]:
        """Add a tree, or the subtree of a node; returns the leaf numbers below each of its nodes."""
        first = len(self.leaves)
        self.leaves.extend(leaves)
        below: dict[int, list[int]] = {}

        def grow(at: int) -> int:
            ((kind, content),) = nodes[at].items()
            if kind == "leaf":
                below[at] = [first + int(content)]
                return -1 - below[at][0]
            children, made = self._split(kind, content, forks)
            if made is None:
                child = grow(children[0])
                below[at] = below[children[0]]
                return child
            found: int = made(grow)
            below[at] = [leaf for child in children if child in below for leaf in below[child]]
            return found

        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(limit + 4 * len(nodes))
        try:
            found = grow(root)
        finally:
            sys.setrecursionlimit(limit)
        number = self._count
        self._count += 1
        if found < 0:
            self.single[number] = -1 - found
        else:
            self.trees.roots.append(found)
        return below

    def _split(self, kind: str, content: Any, forks: list[Any]) -> tuple[list[int], Any]:
        """The children of a split, and what builds it of their subtrees; None if all rows take the first."""
        slot = int(content[0])
        if kind == "threshold":
            _, threshold, first, right = content
            children = [int(first), int(first) + 1]
            if slot >= self.row.width or self.row.kinds[slot] != NUMBER:
                return [children[int(right)]], None

            def threshold_node(grow: Any) -> int:
                at = self.trees.add(slot, float(threshold), not right)
                self.trees.left[at], self.trees.right[at] = grow(children[0]), grow(children[1])
                return at

            return children, threshold_node
        fork = forks[int(content[1])]
        usual, other = int(fork["usual"]), int(fork["other"])
        if slot >= self.row.width or self.row.kinds[slot] != NOMINAL:
            return [usual], None
        default = usual if other == NOWHERE else other
        own = [int(child) for child in fork["children"]]
        codes = len(self.row.texts[slot])
        own = (own + [NOWHERE] * codes)[:codes]
        targets = [usual, default, *(default if child == NOWHERE else child for child in own)]
        children = sorted(set(targets))
        if len(children) == 1:
            return children, None
        branches = np.array([children.index(target) for target in targets], dtype=np.float64)
        self._forks.append((slot, branches))
        column = -len(self._forks)

        def fork_node(grow: Any) -> int:
            # A balanced tree over the branches, each of which it reaches once.
            def between(low: int, high: int) -> int:
                if low == high:
                    return int(grow(children[low]))
                middle = (low + high) // 2
                at = self.trees.add(column, middle + 0.5, False)
                self.trees.left[at], self.trees.right[at] = between(low, middle), between(middle + 1, high)
                return at

            return between(0, len(children) - 1)

        return children, fork_node

    def reached(self) -> Value:
        """The leaf number of each tree, in the order in which they were planted."""
        graph = self.row.graph
        if not self.trees.roots:
            return graph.constant(np.array([self.single[number] for number in range(self._count)]))
        parts: list[Any] = [self.row.values]
        if self._forks:
            slots = [slot for slot, _ in self._forks]
            tables = [branches for _, branches in self._forks]
            offsets = np.cumsum([0, *(len(table) for table in tables)])[:-1]
            used = sorted(set(slots))
            places = graph.take(self.row.places(used), [used.index(slot) for slot in slots])
            parts.append(graph.gather(np.concatenate(tables), places + offsets))
        width = self.row.width
        self.trees.feature = [width - 1 - column if column < 0 else column for column in self.trees.feature]
        found = graph.leaves(graph.concat(parts), self.trees)
        if self.single:
            places_of = np.empty(self._count, dtype=np.int64)
            planted = [number for number in range(self._count) if number not in self.single]
            places_of[planted] = np.arange(len(planted))
            places_of[list(self.single)] = len(planted) + np.arange(len(self.single))
            found = graph.take(graph.concat([found, np.array(list(self.single.values()))]), places_of)
        return found


def certain(planted: Planted) -> bool:
    """Whether every leaf has a class to vote for."""
    return all(np.sum(leaf["counts"]) > 0.0 for leaf in planted.leaves)


def _is_majority(leaf: dict[str, Any], prediction: str) -> bool:
    idle = bool(leaf.get("idle", False))
    if prediction == "nba":
        return idle or leaf["majority_right"] > leaf["bayes_right"]
    return idle or prediction == "mc"


def class_probabilities(planted: Planted, prediction: str, classes: int, leaf: Value) -> Value:
    """What leaves predict, as (tree, class); zeros of a leaf without examples."""
    row = planted.row
    graph = row.graph
    leaves = planted.leaves
    majority = np.array([_is_majority(each, prediction) for each in leaves])
    shares = np.zeros((len(leaves), classes))
    for number, each in enumerate(leaves):
        counts = np.asarray(each["counts"], dtype=np.float64)[:classes]
        if counts.sum() > 0.0:
            shares[number, : len(counts)] = counts / counts.sum()
    if majority.all():
        return graph.gather(shares, leaf)
    tables = Tables(
        row,
        [each["classes"] for each in leaves],
        [each.get("features") for each in leaves],
        classes,
        alpha=1.0,
        ddof=1.0,
    )
    with np.errstate(divide="ignore"):
        tables.ignore_features(majority, np.log(shares))
    silent = np.isinf(tables.priors).all(axis=1)
    tables.priors[silent] = 0.0
    found = decide(row, tables, leaf)
    if not silent.any():
        return found
    return graph.where(graph.gather(silent, leaf).reshape(leaf.shape[0], 1), 0.0, found)


def numbers(planted: Planted, prediction: str, leaf: Value) -> tuple[Value, np.ndarray[Any, Any]]:
    """The number that the leaf of each tree predicts, and by leaf whether it has learned anything."""
    row = planted.row
    graph = row.graph
    leaves = planted.leaves
    slots = row.number_slots
    constants = np.array([each["targets"]["mean"] for each in leaves])
    weights = np.zeros((len(leaves), len(slots)))
    means, factors = np.zeros_like(weights), np.zeros_like(weights)
    for number, each in enumerate(leaves):
        linear = each["linear"]
        errors = each["errors"]
        if linear is None or prediction == "mean" or (prediction == "adaptive" and not errors[1] < errors[0]):
            continue
        constants[number] = linear["bias"]
        given = np.asarray(linear["weights"], dtype=np.float64)
        for place, slot in enumerate(slots):
            if slot < len(given) and slot < len(linear["inputs"]):
                inputs = linear["inputs"][slot]
                variance = inputs["squares"] / (inputs["weight"] - 1.0) if inputs["weight"] > 1.0 else 0.0
                if variance > 0.0:
                    weights[number, place], means[number, place] = given[slot], inputs["mean"]
                    factors[number, place] = np.sqrt(variance)
    factors[factors == 0.0] = 1.0
    known = np.array([each["targets"]["weight"] > 0.0 for each in leaves])
    if not weights.any():
        return graph.gather(constants, leaf), known
    x = row.take(slots).reshape(1, len(slots))
    z = (x - graph.gather(means, leaf)) / graph.gather(factors, leaf)
    z = graph.minimum(graph.maximum(z, -5.0), 5.0)
    z = graph.where(graph.isnan(x), 0.0, z)
    found = graph.finite((z * graph.gather(weights, leaf)).sum() + graph.gather(constants, leaf))
    return found, known


def _leaf_prediction(component: Component) -> str:
    return str(component.parameters["leaf_prediction"])


def plant_classes(planted: Planted, state: dict[str, Any]) -> None:
    """Add a saved classification tree."""
    planted.plant(state["nodes"], state["forks"], state["leaves"])


def plant_numbers(planted: Planted, state: dict[str, Any]) -> None:
    """Add a saved regression tree."""
    planted.plant(state["nodes"]["nodes"], state["nodes"]["forks"], state["leaves"])


@translates("tree.HoeffdingTreeClassifier", "tree.ExtremelyFastDecisionTreeClassifier")
def classifier(component: Component, row: Row) -> Answer:
    """One tree."""
    state = component.state.get("tree", component.state)
    if not state["classes"]:
        return Answer()
    planted = Planted(row)
    plant_classes(planted, state)
    found = class_probabilities(planted, _leaf_prediction(component), int(state["classes"]), planted.reached())
    return _checked(row, found.reshape(int(state["classes"])), planted)


def _checked(row: Row, probabilities: Value, planted: Planted) -> Answer:
    """With no class where the leaf has no examples."""
    graph = row.graph
    if certain(planted):
        return Answer(probabilities)
    decision = graph.argmax(probabilities)
    return Answer(probabilities, graph.where(probabilities.sum() > 0.0, decision, -1))


@translates("tree.HoeffdingTreeRegressor")
def regressor(component: Component, row: Row) -> Answer:
    """One tree."""
    planted = Planted(row)
    plant_numbers(planted, component.state)
    found, _ = numbers(planted, _leaf_prediction(component), planted.reached())
    return Answer(number=found)


def _with_alternates(
    planted: Planted, nodes: list[Any], forks: list[Any], leaves: list[Any], monitors: list[Any]
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Plant a tree and its alternates; the weight of each, and by leaf of the main tree which are on its path."""
    below = planted.plant(nodes, forks, leaves)
    weights, active = [], []
    for at in sorted(below):
        alternate = int(monitors[at]["alternate"])
        if alternate == NOWHERE:
            continue
        ratio = _error(monitors[at]) / _error(monitors[alternate])
        weights.append(ratio * ratio)
        reached = np.zeros(len(leaves))
        reached[below[at]] = 1.0
        active.append(reached)
        # The leaves of the alternate are the same list: it is planted with the numbers of the main tree.
        planted.leaves, kept = planted.leaves[: len(planted.leaves) - len(leaves)], planted.leaves
        planted.plant(nodes, forks, leaves, alternate)
        planted.leaves = kept
    return np.array(weights), np.array(active)


def _error(monitor: dict[str, Any]) -> float:
    """The mean error of a subtree, as `hat.rs` estimates it."""
    window = monitor["window"]
    total = window["total"] + float(np.sum(window["waiting"]))
    return float(np.clip((total + 1.0) / (window["width"] + 2.0), 1e-9, 1.0))


@translates("tree.HoeffdingAdaptiveTreeClassifier")
def adaptive_classifier(component: Component, row: Row) -> Answer:
    """A tree whose alternates have a vote."""
    graph = row.graph
    state = component.state["tree"]
    classes = int(state["classes"])
    if not classes:
        return Answer()
    planted = Planted(row)
    monitors = component.state["watches"]
    weights, active = _with_alternates(planted, state["nodes"], state["forks"], state["leaves"], monitors)
    leaf = planted.reached()
    found = class_probabilities(planted, _leaf_prediction(component), classes, leaf)
    if not len(weights):
        return _checked(row, found.reshape(classes), planted)
    first = graph.take(leaf, [0]).reshape()
    factors = graph.gather(
        np.concatenate([np.ones((active.shape[1], 1)), (active * weights[:, None]).T], axis=1), first
    )
    votes = (found * factors.reshape(len(weights) + 1, 1)).sum(0)
    total = votes.sum().reshape(1)
    decision = graph.where(total.reshape() > 0.0, graph.argmax(votes), -1)
    return Answer(graph.where(total > 0.0, votes / total, 0.0), decision)


@translates("tree.HoeffdingAdaptiveTreeRegressor")
def adaptive_regressor(component: Component, row: Row) -> Answer:
    """A tree whose alternates count."""
    graph = row.graph
    state = component.state["tree"]
    planted = Planted(row)
    nodes = state["nodes"]
    monitors = component.state["watches"]
    weights, active = _with_alternates(planted, nodes["nodes"], nodes["forks"], state["leaves"], monitors)
    leaf = planted.reached()
    found, known = numbers(planted, _leaf_prediction(component), leaf)
    if not len(weights):
        return Answer(number=found)
    first = graph.take(leaf, [0]).reshape()
    factors = graph.gather(
        np.concatenate([np.ones((active.shape[1], 1)), (active * weights[:, None]).T], axis=1), first
    )
    factors = factors * graph.to_double(graph.gather(known, leaf))
    total = factors.sum().reshape(1)
    mean = (found * factors).sum().reshape(1) / graph.where(total > 0.0, total, 1.0)
    return Answer(number=graph.where(total > 0.0, mean, graph.take(found, [0])))
