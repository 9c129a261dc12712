"""The counts of tree nodes: each node counts all examples that it has received since it exists."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millstream
from millstream import drift, ensemble, forest, synth, tree
from millstream.tree.structure import TreeStructure

EAGER: dict[str, Any] = {"grace_period": 25, "delta": 0.05, "tau": 0.2}
CLASSIFIERS: dict[str, tuple[type, dict[str, Any]]] = {
    "HoeffdingTree": (tree.HoeffdingTreeClassifier, {}),
    "HoeffdingTree, majority class": (tree.HoeffdingTreeClassifier, {"leaf_prediction": "mc"}),
    "HoeffdingTree, histogram": (tree.HoeffdingTreeClassifier, {"splitter": "histogram"}),
    "HoeffdingTree, bounded": (tree.HoeffdingTreeClassifier, {"max_bytes": 40_000}),
    "HAT": (tree.HoeffdingAdaptiveTreeClassifier, {"drift_window_threshold": 30, "adwin_significance": 0.2}),
    "HAT, no bootstrap": (
        tree.HoeffdingAdaptiveTreeClassifier,
        {"drift_window_threshold": 30, "adwin_significance": 0.2, "bootstrap_sampling": False},
    ),
    "HAT, bounded": (
        tree.HoeffdingAdaptiveTreeClassifier,
        {"drift_window_threshold": 30, "adwin_significance": 0.2, "max_bytes": 150_000},
    ),
    "EFDT": (tree.ExtremelyFastDecisionTreeClassifier, {}),
    "EFDT, bounded": (tree.ExtremelyFastDecisionTreeClassifier, {"max_bytes": 60_000}),
}
REGRESSORS: dict[str, tuple[type, dict[str, Any]]] = {
    "HoeffdingTree": (tree.HoeffdingTreeRegressor, {}),
    "HoeffdingTree, bounded": (tree.HoeffdingTreeRegressor, {"max_bytes": 60_000}),
    "HAT": (tree.HoeffdingAdaptiveTreeRegressor, {"drift_window_threshold": 30, "adwin_significance": 0.2}),
}


def rows(n: int, numbers: bool = False) -> list[tuple[dict[str, Any], Any]]:
    """Three concepts, one after the other, of two numbers and a word."""
    random = np.random.default_rng(7)
    found: list[tuple[dict[str, Any], Any]] = []
    for row in range(n):
        a, b = random.random(2)
        # Words that come late have no branch of their own at first.
        word = "pqrs"[int(random.integers(4 if row > n // 2 else 3))]
        level = (a, b, 1.0 - a)[3 * row // n] + (0.4 if word == "p" else 0.0)
        x = {"a": float(a), "b": float(b), "word": word}
        label = "low" if level < 0.4 else "middle" if level < 0.9 else "high"
        found.append((x, float(8.0 * level + random.normal()) if numbers else label))
    return found


def counts_of(model: Any, node: dict[str, Any]) -> dict[Any, float]:
    labels = model._labels()
    return {labels[code]: count for code, count in enumerate(node["counts"]) if count > 0.0}


def check_branches(told: dict[str, Any]) -> None:
    """What the children of a node received is at most what it received."""
    nodes = told["nodes"]

    def weight(node: dict[str, Any]) -> Any:
        return np.array(node["counts"]) if "counts" in node else np.array([node["weight"]])

    for node in nodes:
        if node["leaf"]:
            continue
        other = [node["other"]] if node.get("other") is not None else []
        below = sum(weight(nodes[child]) for child in {*node["children"], *other})
        assert (below <= weight(node) * (1.0 + 1e-9) + 1e-9).all()


@pytest.mark.parametrize("case", CLASSIFIERS)
def test_the_root_counts_every_example(case: str) -> None:
    kind, parameters = CLASSIFIERS[case]
    model = kind(**{**EAGER, **parameters})
    expected: dict[Any, float] = {}
    for place, (x, y) in enumerate(rows(6000)):
        model.learn_one(x, y)
        expected[y] = expected.get(y, 0.0) + 1.0
        if place % 500 == 499:
            told = model.inspect()
            assert counts_of(model, told["nodes"][0]) == expected
            check_branches(told)
    assert model.n_nodes > 5
    told = model.inspect()
    if "alternates" in told:
        assert told["alternates"]["swapped"] > 0
    if "reevaluations" in told:
        assert told["reevaluations"]["replaced"] > 0
    if model.max_bytes is not None:
        assert model.memory <= model.max_bytes
        assert told["inactive_leaves"] > 0 or case == "HAT, bounded"


@pytest.mark.parametrize("case", CLASSIFIERS)
def test_weights_are_counted(case: str) -> None:
    kind, parameters = CLASSIFIERS[case]
    model = kind(**{**EAGER, **parameters})
    random, expected = np.random.default_rng(3), dict[Any, float]()
    for x, y in rows(3000):
        w = float(random.exponential())
        model.learn_one(x, y, w)
        expected[y] = expected.get(y, 0.0) + w
    told = model.inspect()
    assert counts_of(model, told["nodes"][0]) == pytest.approx(expected, rel=1e-9)
    check_branches(told)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("case", REGRESSORS)
def test_the_root_has_the_moments_of_all_targets(case: str, weighted: bool) -> None:
    kind, parameters = REGRESSORS[case]
    model = kind(**{**EAGER, **parameters})
    random, seen, weights = np.random.default_rng(3), [], []
    for place, (x, y) in enumerate(rows(5000, numbers=True)):
        w = float(random.exponential()) if weighted else 1.0
        model.learn_one(x, y, w)
        seen.append(y)
        weights.append(w)
        if place % 500 == 499:
            told = model.inspect()
            root, total = told["nodes"][0], math.fsum(weights)
            mean = np.average(seen, weights=weights)
            variance = np.average((np.array(seen) - mean) ** 2, weights=weights) * total / (total - 1.0)
            assert root["weight"] == (pytest.approx(total) if weighted else len(seen))
            assert root["mean"] == pytest.approx(mean, rel=1e-9)
            assert root["variance"] == pytest.approx(variance, rel=1e-9)
            check_branches(told)
    assert model.n_nodes > 5
    if case == "HAT":
        assert model.inspect()["alternates"]["swapped"] > 0


@pytest.mark.parametrize("parameters", [{}, {"max_bytes": 30_000}, {"binary_split": True}], ids=str)
def test_every_node_counts_what_passed_through_it(parameters: dict[str, Any]) -> None:
    """Nodes of a Hoeffding tree keep their places, so that the way of each example can be followed."""
    model = tree.HoeffdingTreeClassifier(**{**EAGER, **parameters})
    expected: dict[int, dict[Any, float]] = {}
    told: dict[str, Any] = {"learned": 0, "nodes": [{"node": 0, "leaf": True}]}
    for x, y in rows(1500):
        grown = TreeStructure(told)
        node = grown.root
        way = [0]
        while not node.leaf:
            value = x[str(node.feature)]
            if node.threshold is not None:
                branch = node.branches[int(value > node.threshold)]
            else:
                found = [each for each in node.branches if each.sign == "=" and each.value == value]
                found += [each for each in node.branches if each.sign == "other"]
                if not found:
                    way.append(-1)
                    break
                branch = found[0]
            node = grown.nodes[branch.child]
            way.append(node.index)
        before = len(told["nodes"])
        model.learn_one(x, y)
        told = model.inspect()
        if way[-1] == -1:
            # A new value has got a branch, or there was no memory for one and it went with most.
            if len(told["nodes"]) > before:
                way[-1] = before
            else:
                return
        for place in way:
            mine = expected.setdefault(place, {})
            mine[y] = mine.get(y, 0.0) + 1.0
        assert {n["node"]: c for n in told["nodes"] if (c := counts_of(model, n))} == expected
    assert model.n_nodes > 10


@pytest.mark.parametrize("numbers", [False, True])
@pytest.mark.parametrize("kind", ["forest", "patches"])
def test_trees_of_forests_count_what_they_learn(kind: str, numbers: bool) -> None:
    """Trees that are never split, and so count in their root alone, learn the same weights."""
    roots = []
    for max_depth in (0, None):
        own = {**EAGER, "max_depth": max_depth}
        common: dict[str, Any] = {"n_models": 3, "seed": 5}
        model: Any
        if kind == "forest":
            cls = forest.ARFRegressor if numbers else forest.ARFClassifier
            model = cls(**common, **own, drift_detector=None, warning_detector=None)
        else:
            base = (tree.HoeffdingTreeRegressor if numbers else tree.HoeffdingTreeClassifier)(**own)
            cls = ensemble.SRPRegressor if numbers else ensemble.SRPClassifier  # type: ignore[assignment]
            model = cls(base, **common, disable_detector="drift")
        for x, y in rows(2000, numbers):
            model.learn_one(x, y)
        members = [member["model"] for member in model.inspect()["members"]]
        roots.append([member["nodes"][0] for member in members])
        for member in members:
            check_branches(member)
        if max_depth is None:
            assert all(len(member["nodes"]) > 3 for member in members)
            # A copy that goes on by itself has the same counts.
            assert model[0].inspect()["nodes"][0] == members[0]["nodes"][0]
    for flat, split in zip(*roots, strict=True):
        if numbers:
            names = ("weight", "mean", "variance")
            assert [split[name] for name in names] == pytest.approx([flat[name] for name in names])
            assert split["weight"] == flat["weight"]
        else:
            assert split["counts"] == flat["counts"]


@pytest.mark.parametrize("numbers", [False, True])
def test_counts_are_saved(numbers: bool) -> None:
    for kind, parameters in (REGRESSORS if numbers else CLASSIFIERS).values():
        model = kind(**{**EAGER, **parameters})
        data = rows(2400, numbers)
        for x, y in data[:1200]:
            model.learn_one(x, y)
        loaded = millstream.from_bytes(model.to_bytes())
        for x, y in data[1200:]:
            model.learn_one(x, y)
            loaded.learn_one(x, y)
        assert loaded.inspect()["nodes"] == model.inspect()["nodes"]
        assert loaded.to_bytes() == model.to_bytes()


@pytest.mark.parametrize("name", ["HoeffdingTreeClassifier", "HoeffdingAdaptiveTreeClassifier"])
def test_a_file_without_counts_begins_with_what_its_leaves_know(name: str) -> None:
    model = millstream.load(Path(__file__).parent / "golden" / "format-1" / f"tree.{name}.ms")
    told = model.inspect()
    leaves = [node for node in told["nodes"] if node["leaf"]]
    assert all(leaf["counts"] == pytest.approx(leaf["estimate"]) for leaf in leaves)
    root = np.array(told["nodes"][0]["counts"])
    y = model.classes[0]
    for _ in range(300):
        model.learn_one({}, y)
    after = np.array(model.inspect()["nodes"][0]["counts"])
    assert after - root == pytest.approx([300.0, *[0.0] * (len(root) - 1)])


def test_what_people_see_has_the_true_counts() -> None:
    model = tree.HoeffdingTreeClassifier(**EAGER, leaf_prediction="mc")
    data = rows(4000)
    for x, y in data:
        model.learn_one(x, y)
    share = np.mean([y == "low" for _, y in data])
    why = model.explain_one(data[0][0], "low")
    assert why.base == share
    assert why.leaf_model == pytest.approx(0.0, abs=1e-12)
    assert str(model.draw()).splitlines()[1].startswith("4,000: ")
    found = model.to_frame("pandas")
    assert found.weight[0] == 4000
    assert found["count low"][0] == 4000 * share
    made = model.splits("pandas")
    assert made.node_weight[0] == 4000
    assert (made.node_weight >= 25).all()
    gains = (made.merit * made.node_weight).groupby(made.feature).sum()
    assert model.feature_importances == pytest.approx((gains / gains.sum()).to_dict())
    by_node = found.set_index("node").weight
    assert all(rule.weight == by_node[rule.node] for rule in model.rules())


def test_a_leaf_predicts_before_examples_come() -> None:
    model = tree.HoeffdingTreeClassifier(grace_period=50, leaf_prediction="mc")
    place = 0
    while model.n_nodes == 1:
        model.learn_one({"x": float(place % 2)}, place % 2)
        place += 1
    leaves = [node for node in model.inspect()["nodes"] if node["leaf"]]
    assert [leaf["counts"] for leaf in leaves] == [[0.0, 0.0]] * 2
    assert [rule.weight for rule in model.rules()] == [0.0, 0.0]
    assert {rule.prediction for rule in model.rules()} == {0, 1}
    assert model.explain_one({"x": 1.0}).share == pytest.approx(1.0)


def test_sizes_are_those_of_the_nodes() -> None:
    for kind, parameters in [*CLASSIFIERS.values(), *REGRESSORS.values()]:
        model = kind(**{**EAGER, **parameters})
        for x, y in rows(1500, numbers=kind in [kind for kind, _ in REGRESSORS.values()]):
            model.learn_one(x, y)
        told = model.inspect()
        grown = TreeStructure(told)
        leaves = sum(1 for _ in grown.leaves())
        assert model.n_nodes == len(grown.nodes) == model.n_branches + model.n_leaves
        assert (model.n_leaves, model.height) == (leaves, grown.depth)
        names = ("active_leaves", "inactive_leaves", "bytes", "learned")
        assert {name: model.summary[name] for name in names} == {name: told[name] for name in names}


def test_counters_are_read_without_the_model() -> None:
    """Counters are those of `inspect()`, from a report that does not grow with what was learned."""
    adwin = drift.ADWIN(significance=0.2)
    models: list[Any] = [
        forest.ARFClassifier(n_models=3, drift_detector=adwin, warning_detector=drift.ADWIN(significance=0.5)),
        ensemble.SRPClassifier(n_models=3, drift_detector=adwin),
        ensemble.ADWINBagging(tree.HoeffdingTreeClassifier(), n_models=3),
        drift.Retrain(tree.HoeffdingTreeClassifier(**EAGER), adwin),
        tree.HoeffdingTreeClassifier(**EAGER),
    ]
    for model in models:
        for x, y in synth.Drift(synth.SEA(seed=1), synth.SEA(seed=1, variant=3), position=1500, width=1).take(
            3000
        ):
            model.learn_one(x, int(y))
        assert len(model._scalars()) < 300 < len(model._inspect())
    arf, srp, bagging, retrain, _ = models
    told = arf.inspect()["members"]
    assert arf.n_drifts_detected() == sum(member["drifts"] for member in told) > 0
    assert arf.n_warnings_detected() == sum(member["warnings"] for member in told) > 0
    assert [arf.n_drifts_detected(place) for place in range(3)] == [member["drifts"] for member in told]
    numbers = [(member["warnings"], member["drifts"]) for member in srp.inspect()["members"]]
    assert [(member["warnings"], member["drifts"]) for member in srp._numbers()["members"]] == numbers
    assert bagging.n_detected_changes == sum(member["replaced"] for member in bagging.inspect()["members"])
    assert (retrain.replaced, retrain.growing) == (retrain.inspect()["replaced"], retrain.inspect()["growing"])
    assert retrain.replaced > 0
