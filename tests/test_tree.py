"""Trees: what they find, beside River's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from millstream import synth, tree

river = pytest.importorskip("river")


def rows(name: str, n: int, **parameters: Any) -> list[tuple[dict[Any, Any], Any]]:
    return list(getattr(synth, name)(**parameters).take(n))


def splits_of_river(node: Any) -> list[tuple[str, float]]:
    """Feature and threshold of every split, parents first."""
    if not hasattr(node, "children"):
        return []
    own = (str(node.feature), float(node.threshold))
    return [own, *(split for child in node.children for split in splits_of_river(child))]


def splits(nodes: list[dict[str, Any]], at: int = 0) -> list[tuple[str, float]]:
    node = nodes[at]
    if node["leaf"]:
        return []
    own = (node["feature"], node["threshold"])
    return [own, *(split for child in node["children"] for split in splits(nodes, child))]


@pytest.mark.parametrize("name", ["RandomRBF", "SEA", "Hyperplane"])
@pytest.mark.parametrize("leaf_prediction", ["mc", "nba"])
def test_the_same_tree_as_river(name: str, leaf_prediction: str) -> None:
    """Naive Bayes differs where a leaf is so young that a class has no variance; the splits do not."""
    import river.tree

    ours = tree.HoeffdingTreeClassifier(leaf_prediction=leaf_prediction)
    theirs = river.tree.HoeffdingTreeClassifier(leaf_prediction=leaf_prediction)
    differs = 0
    examples = rows(name, 12_000, seed=3)
    for x, y in examples:
        differs += ours.predict_one(x) != theirs.predict_one(x)
        ours.learn_one(x, y)
        theirs.learn_one(x, y)
    found, expected = splits(ours.inspect()["nodes"]), splits_of_river(theirs._root)
    assert [feature for feature, _ in found] == [feature for feature, _ in expected]
    assert np.allclose([split for _, split in found], [split for _, split in expected], rtol=1e-12)
    assert len(found) > 2
    assert differs <= (1 if leaf_prediction == "mc" else 0.03 * len(examples))
