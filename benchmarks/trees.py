"""Trees and ensembles of trees, compared with MOA (in Java) and River."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks import ours, peers, streams
from benchmarks.measure import Comparison, Side
from millstream import ensemble, tree

__all__ = ["WORKLOADS"]

ROWS = 1_000_000
MOA = {
    "tree": "moa.classifiers.trees.HoeffdingTree",
    "bagging": "moa.classifiers.meta.LeveragingBag",
}


def _river(words: Callable[[], Any], X: Any, y: Any, rows: int) -> Side:
    return peers.river(words, streams.as_dicts(X[:rows]), y[:rows].tolist())


def river_tree() -> Any:
    """River's Hoeffding tree."""
    from river import tree

    return tree.HoeffdingTreeClassifier()


def hoeffding(size: float) -> Comparison:
    """The tree on a matrix."""
    X, y = streams.random_rbf(int(ROWS * size), 10)
    sides = [ours.prequential(tree.HoeffdingTreeClassifier, X, y), _river(river_tree, X, y, 20_000)]
    goals: dict[str, float] = {"River": 150}
    if peers.has_java():
        sides.append(peers.moa(MOA["tree"], X, y, len(y), weighed=True))
        goals["MOA"] = 6
    return Comparison(
        "HoeffdingTreeClassifier, evaluate.prequential on a matrix of 10 columns, RandomRBF",
        "accuracy",
        sides,
        goals,
        "MOA reads rows from memory, so its time includes neither a generator nor a reader; River learns the "
        "first few rows, for which trees are small and fast. The size of MOA's model is the decrease of the heap "
        "when it is released",
    )


def hoeffding_dicts(size: float) -> Comparison:
    """The tree on single dicts."""
    X, y = streams.random_rbf(int(20_000 * max(size, 0.5)), 10)
    rows, targets = streams.as_dicts(X), y.tolist()
    return Comparison(
        "HoeffdingTreeClassifier, predict_one + learn_one on dicts of 10 numbers",
        "accuracy",
        [ours.dict_loop(tree.HoeffdingTreeClassifier, rows, targets), peers.river(river_tree, rows, targets)],
        {"River": 25},
    )


def river_leveraging() -> Any:
    """River's leveraging bagging."""
    from river import ensemble

    return ensemble.LeveragingBaggingClassifier(model=river_tree(), n_models=10, seed=1)


def leveraging() -> Any:
    """LeveragingBagging of ten trees in millstream."""
    return ensemble.LeveragingBagging(tree.HoeffdingTreeClassifier(), n_models=10, seed=1, n_threads=2)


def leveraging_bagging(size: float) -> Comparison:
    """Leveraging bagging of ten trees."""
    rows = int(50_000 * size)
    X, y = streams.random_rbf(rows, 10)
    sides = [ours.prequential(leveraging, X, y), _river(river_leveraging, X, y, min(rows, 2_000))]
    goals: dict[str, float] = {"River": 300}
    if peers.has_java():
        sides.append(peers.moa(MOA["bagging"], X, y, rows, "-s 10"))
        goals["MOA"] = 10
    return Comparison(
        "LeveragingBagging of 10 Hoeffding trees, 2 threads, evaluate.prequential, RandomRBF",
        "accuracy",
        sides,
        goals,
        "MOA's leveraging bagging has one thread",
    )


WORKLOADS: dict[str, Callable[[float], Comparison]] = {
    "tree": hoeffding,
    "tree-dicts": hoeffding_dicts,
    "leveraging-bagging": leveraging_bagging,
}
