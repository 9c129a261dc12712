"""The methods that inspect a tree, shared by all trees."""

from __future__ import annotations

from os import PathLike
from typing import Any

from millstream._echo import quoted
from millstream._native import Native
from millstream._per_model import PerModel
from millstream.base import Features
from millstream.errors import InvalidType
from millstream.explain.explanation import Explanation
from millstream.explain.one import explain_one
from millstream.roles import CLASSIFIER
from millstream.tree.explanation import explain
from millstream.tree.rules import Rules, rules_of
from millstream.tree.structure import PathStructure, TreeStructure, sums_up
from millstream.tree.tables import importances, nodes_frame, splits_frame
from millstream.tree.tree_plot import Drawing

__all__ = ["ReadableTree"]

#: Above this number of bytes, a notebook shows no drawing unless requested: reading the tree would take seconds.
_LARGEST = 300_000_000
#: Maximum number of nodes of a tree whose structure is kept for the next explanation.
_MOST_KEPT = 5000
_kept: PerModel[tuple[int, TreeStructure]] = PerModel(most=64)


#: River's parameters without a counterpart here.
UNSUPPORTED = {
    "nominal_attributes": "strings and bools are nominal, numbers are numeric",
    "max_size": "max_bytes is the limit, in bytes where River's max_size is in MiB: max_bytes=100 * 2**20",
    "memory_estimate_period": "max_bytes is kept at every example",
    "stop_mem_management": "with max_bytes, the least promising leaves discard their statistics",
    "remove_poor_attrs": "max_bytes limits the memory",
    "nb_threshold": "leaf_prediction='nba' selects naive Bayes per leaf when it is better",
}
#: The same for regression trees.
UNSUPPORTED_REGRESSION = {name: words for name, words in UNSUPPORTED.items() if name != "nb_threshold"} | {
    "leaf_model": "leaf_prediction='linear' has a linear model in each leaf, with steps of learning_rate",
    "model_selector_decay": "leaf_prediction='adaptive' forgets old errors at a fixed rate",
    "splitter": "numbers are kept in a histogram of n_bins",
    "merit_preprune": "a split must reduce the variance",
}
#: The same for adaptive trees.
UNSUPPORTED_DETECTOR = {"drift_detector": "each node has an ADWIN with the significance adwin_significance"}


def native_leaf_prediction(leaf_prediction: str) -> str:
    """Translate River's "model" to "linear"."""
    return "linear" if isinstance(leaf_prediction, str) and leaf_prediction == "model" else leaf_prediction


class ReadableTree(Native):
    """A tree with drawings, rules, tables and explanations."""

    def __init__(self, **parameters: Any) -> None:
        splitter = parameters.get("splitter", "")
        if not isinstance(splitter, str):
            words = f"splitter must be 'gaussian' or 'histogram', got {quoted(splitter)}"
            raise InvalidType(f"{self.name}: {words}")
        super().__init__(**parameters)

    def _structure(self) -> TreeStructure:
        """The nodes of the tree."""
        labels = self._labels() if self.role is CLASSIFIER else ()
        return TreeStructure(self.inspect(), labels, self.features, type(self).__name__)

    def _paths(self) -> TreeStructure:
        """The structure for explanations, which is kept until the tree changes."""
        learned = self.learned
        kept = _kept.get(self)
        if kept is not None and kept[0] == learned:
            return kept[1]
        report = self.inspect()
        if sums_up(report):
            return self._structure()
        of_classes = self.role is CLASSIFIER
        labels = self._labels() if of_classes else ()
        paths = PathStructure(report, labels, self.features, type(self).__name__, of_classes)
        if len(report["nodes"]) <= _MOST_KEPT and self.learned == learned:
            _kept.set(self, (learned, paths))
        return paths

    # The number of learned examples tells whether the tree has changed, except by these.

    def _build(self, description: str) -> None:
        super()._build(description)
        _kept.drop(self)

    def _load(self, source: Any) -> None:
        super()._load(source)
        _kept.drop(self)

    def _copy_from(self, other: Any) -> None:
        super()._copy_from(other)
        _kept.drop(self)

    def _merge(self, other: Any, base: Any = None) -> None:
        super()._merge(other, base)
        _kept.drop(self)

    def draw(
        self,
        path: str | PathLike[str] | None = None,
        *,
        max_depth: int | None = None,
        max_branches: int | None = None,
    ) -> Drawing:
        """Draw the tree: `print(tree.draw())` prints it as text, a notebook shows it as a picture.

        `path` also writes it to a file, as a picture (.svg), an HTML page (.html) or text (.txt). A large tree is
        truncated, and the drawing states how much is hidden; `max_depth`, and `max_branches` for splits into many
        nominal values, set the limits instead. The count of a node is the weight of all examples that it has
        received since its creation: the root counts all examples, the children of a split only those after the
        split. Until then a leaf predicts what its parent's split estimated.
        """
        drawing = Drawing(self._structure(), max_depth, max_branches)
        if path is not None:
            drawing.save(path)
        return drawing

    def rules(self) -> Rules:
        """A list with one rule per leaf, in descending order of examples; printed one per line."""
        return rules_of(self._structure())

    def to_frame(self, kind: str | None = None) -> Any:
        """A frame with one row per node: its branch, its statistics, and when and why it was split.

        `kind` is "pandas", "polars" or "pyarrow"; by default the first that is installed. `weight`, the class
        counts and `variance` cover all examples that a node has received since it exists, even if its subtree was
        replaced since. `prediction` and `share` of a leaf also include the estimates of its parent's split. A tree
        that was saved before these counts existed starts with the counts of its leaves when it was loaded,
        estimates included.
        """
        return nodes_frame(self._structure(), kind)

    #: The name in River.
    to_dataframe = to_frame

    @property
    def n_nodes(self) -> int:
        """Number of nodes, splits and leaves."""
        return int(self._numbers()["n_nodes"])

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int(self._numbers()["n_leaves"])

    @property
    def n_branches(self) -> int:
        """Number of splits."""
        return int(self._numbers()["n_branches"])

    @property
    def height(self) -> int:
        """Number of splits above the deepest leaf; 0 for a single leaf."""
        return int(self._numbers()["height"])

    @property
    def summary(self) -> dict[str, Any]:
        """The size of the tree, in numbers."""
        return dict(self._numbers())

    def debug_one(self, x: Features) -> str:
        """The path of an example through the tree as a string: `explain_one` under River's name."""
        return str(self.explain_one(x))

    def splits(self, kind: str | None = None) -> Any:
        """A frame with one row per split, in the order in which they were made: when and why.

        `node_weight` is the weight of all examples that the node has received until now. `learned` is the number
        of examples that the tree had learned at the split, `weight` the weight in the leaf, including the
        estimates of its parent's split, `merit` that of the split; `second` is the second best feature (None if
        that was not splitting) and `second_merit` its merit. The split was made because the difference of the two
        (in a regression tree, their ratio) exceeded Hoeffding's `bound` (`decided_by` is "bound"), or because the
        bound was below tau ("tie").
        """
        return splits_frame(self._structure(), kind)

    def explain_one(self, x: Features, label: Any = None, **options: Any) -> Explanation:
        """The path of an example through the tree, and the contribution of each feature to the prediction.

        Along the path, the fraction of the predicted class (or of `label`), in a regression tree the mean, changes
        from node to node; each change is attributed to the feature of the split. Fractions are those of
        `to_frame()`. Options, such as `background`, select the Shapley values of `explain.explain_one` instead.
        """
        if options:
            return explain_one(self, x, label, **options)
        predicted = self.predict_one(x)
        probabilities = self.predict_proba_one(x) if self.role is CLASSIFIER else None
        return explain(self._paths(), x, label, predicted, probabilities)

    @property
    def feature_importances(self) -> dict[Any, float]:
        """Feature importances as fractions, in descending order.

        The importance is the sum over the feature's splits of their merit times the weight of all examples that
        their node has received.
        """
        return importances(self._structure())

    def _repr_html_(self) -> str:
        from millstream._display import html_of

        shown = html_of(self)
        if self.memory > _LARGEST:
            return shown
        return f"{shown}{self.draw().fragment()}"
