"""The explanation of a tree's prediction for one example."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from millstream._echo import quoted, visible
from millstream.errors import UnknownName
from millstream.evaluate.frames import frame, table
from millstream.explain.explanation import Explanation
from millstream.tree.structure import Branch, Node, TreeStructure, class_name, feature_name, plain, short

__all__ = ["Step", "TreeExplanation", "explain"]


@dataclass(frozen=True)
class Step:
    """One split on the path of an example."""

    feature: Any
    #: The example's value; None if it is missing.
    value: Any
    #: The branch, in words.
    branch: str
    #: The fraction of the explained class (or the mean) in the node that was reached.
    share: float
    #: The difference to the node before.
    change: float
    #: The node that was reached, as in `to_frame()`.
    node: int


@dataclass(frozen=True, repr=False)
class TreeExplanation(Explanation):
    """The path of an example through a tree, and the contribution of each feature to the prediction.

    `base` is the fraction of the class among all learned examples, or their mean. Each step changes it; at the end
    of the path it is `share`, which equals `base` plus the sum of `contributions`. The contribution of the leaf's
    own model (naive Bayes, a linear model, alternates of an adaptive tree) is `leaf_model`; including it, the sum
    is `prediction`: the probability of the class, or the number.

    Examples
    --------
    >>> from millstream import tree
    >>> model = tree.HoeffdingTreeClassifier(grace_period=50, delta=0.01)
    >>> for i in range(400):
    ...     model.learn_one({"hour": float(i % 24), "day": float(i % 7)}, i % 24 > 15)
    >>> model.explain_one({"hour": 20.0, "day": 2.0})
    path              value  change  fraction of True
    all examples                                0.320
    hour > 14.636        20  +0.562             0.882
    hour > 15.727        20  +0.118             1.000
    the leaf's model         +0.000             1.000
    """

    method: str = "path"
    path: tuple[Step, ...] = ()
    #: The fraction or the mean at the end of the path.
    share: float = 0.0

    @property
    def leaf_model(self) -> float:
        """The contribution of the leaf's own model."""
        return self.prediction - self.share

    def path_to_frame(self, kind: str | None = None) -> Any:
        """One row per step; `to_frame()` has one per feature, as for all models."""
        steps = self.path
        columns = {
            "node": [step.node for step in steps],
            "feature": [feature_name(step.feature) for step in steps],
            "value": [None if step.value is None else str(step.value) for step in steps],
            "branch": [step.branch for step in steps],
            "change": [step.change for step in steps],
            "share": [step.share for step in steps],
        }
        return frame(columns, kind)

    def __repr__(self) -> str:
        return table(*self._path_cells())

    def _repr_html_(self) -> str:
        cells = ["".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row) for tag, row in self._html_rows()]
        path = "".join(f"<tr>{row}</tr>" for row in cells)
        # Without a split there are no contributions, but there is a path.
        bars = super()._repr_html_() if self.contributions else ""
        return visible(f"<table><tbody>{path}</tbody></table>") + bars

    def _html_rows(self) -> list[tuple[str, list[str]]]:
        head, rows = self._path_cells()
        return [("th", head), *(("td", row) for row in rows)]

    def _path_cells(self) -> tuple[list[str], list[list[str]]]:
        """The head and the rows of the path."""
        what = "mean" if self.label is None else f"fraction of {class_name(self.label)}"
        rows = [["all examples", "", "", _number(self.base)]]
        rows += [
            [step.branch, _value(step.value), _signed(step.change), _number(step.share)] for step in self.path
        ]
        rows.append(["the leaf's model", "", _signed(self.leaf_model), _number(self.prediction)])
        return ["path", "value", "change", what], rows


def explain(
    structure: TreeStructure, x: Mapping[Any, Any], label: Any, predicted: Any, probabilities: Any
) -> TreeExplanation:
    """Explain an example: `predicted` is the model's class or number, `probabilities` that of each class."""
    code = None
    if structure.of_classes:
        label = predicted if label is None else label
        code = _code(structure, label)
        prediction = float(probabilities.get(label, 0.0))
    else:
        prediction = float(predicted)
    node = structure.root
    base = before = structure.share(node, code)
    steps = []
    while not node.leaf:
        value = _given(x, node.feature)
        branch = _taken(node, value)
        node = structure.child(node, branch)
        # An empty leaf does not change the prediction.
        share = structure.share(node, code) if node.estimate.weight > 0.0 else before
        steps.append(Step(branch.feature, value, _words(branch, value), share, share - before, node.index))
        before = share
    sums: dict[Any, float] = {}
    for step in steps:
        sums[step.feature] = sums.get(step.feature, 0.0) + step.change
    return TreeExplanation(
        label=label,
        scale="probability" if structure.of_classes else "number",
        base=base,
        prediction=prediction,
        contributions=dict(sorted(sums.items(), key=lambda pair: -abs(pair[1]))),
        values={step.feature: step.value for step in steps},
        path=tuple(steps),
        share=before,
    )


def _code(structure: TreeStructure, label: Any) -> int | None:
    if label is None:
        # Without examples.
        return None
    for code, known in enumerate(structure.labels):
        if known is not None and known == label and isinstance(known, bool) == isinstance(label, bool):
            return code
    known = ", ".join(repr(each) for each in structure.labels if each is not None)
    raise UnknownName(f"{structure.title}: label must be one of the classes {known}, got {quoted(label)}")


def _given(x: Mapping[Any, Any], feature: Any) -> Any:
    value = x.get(feature)
    if value is None and isinstance(feature, int):
        value = x.get(str(feature))
    return None if _is_missing(value) else value


def _is_missing(value: Any) -> bool:
    """Whether the core treats a value as missing: None, any NaN, pandas' NA and NaT."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        # NA compared with itself has no truth value.
        return True


def _taken(node: Node, value: Any) -> Branch:
    """The branch of a value, as in the core."""
    if value is not None and node.threshold is not None and not isinstance(value, str):
        return node.branches[int(float(value) > node.threshold)]
    usual = next((branch for branch in node.branches if branch.missing), node.branches[0])
    if value is None or node.threshold is not None:
        return usual
    own = next((branch for branch in node.branches if branch.sign == "=" and branch.value == value), None)
    other = next((branch for branch in node.branches if branch.sign == "other"), None)
    return own or other or usual


def _words(branch: Branch, value: Any) -> str:
    """The branch in words; a nominal value without a branch follows the majority."""
    if branch.sign == "=" and value is not None and branch.value != value:
        return f"{feature_name(branch.feature)} unknown, goes with {plain(branch.value)}"
    return str(branch)


def _number(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 1e5 else short(value)


def _signed(value: float) -> str:
    return f"{value:+.3f}" if abs(value) < 1e5 else f"{value:+.6g}"


def _value(value: Any) -> str:
    if value is None:
        return "missing"
    return short(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else plain(value)
