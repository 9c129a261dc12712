"""What every tree can tell of itself."""

from __future__ import annotations

from os import PathLike
from typing import Any

from millstream._echo import quoted
from millstream._native import Native
from millstream.base import Features
from millstream.errors import InvalidType
from millstream.roles import CLASSIFIER
from millstream.tree.drawing import Drawing
from millstream.tree.explaining import Explanation, explain
from millstream.tree.grown import Grown
from millstream.tree.rules import Rules, rules_of
from millstream.tree.tables import importances, nodes_frame, splits_frame

__all__ = ["ReadableTree"]

#: Beyond so many bytes a notebook shows no drawing unless asked: to read the tree out would take seconds.
_LARGEST = 300_000_000


#: River's parameters that trees here do without.
UNSUPPORTED = {
    "nominal_attributes": "text and bools are nominal, numbers are numeric",
    "max_size": "max_bytes is the limit, in bytes where River's max_size is in MiB: max_bytes=100 * 2**20",
    "memory_estimate_period": "max_bytes is kept at every example",
    "stop_mem_management": "with max_bytes, leaves that promise least give up their statistics",
    "remove_poor_attrs": "max_bytes limits the memory",
    "nb_threshold": "leaf_prediction='nba' finds for each leaf when naive Bayes is better",
}
#: The same of trees of numbers.
UNSUPPORTED_OF_NUMBERS = {name: words for name, words in UNSUPPORTED.items() if name != "nb_threshold"} | {
    "leaf_model": "leaf_prediction='linear' has a linear model in each leaf, with steps of learning_rate",
    "model_selector_decay": "leaf_prediction='adaptive' forgets old errors at a fixed rate",
    "splitter": "numbers are kept in a histogram of n_bins",
    "merit_preprune": "a split must reduce the variance",
}
#: The same of trees that adapt.
UNSUPPORTED_DETECTOR = {"drift_detector": "each node has an ADWIN, whose delta is adwin_delta"}


def as_here(leaf_prediction: str) -> str:
    """What is called "model" in River is called "linear" here."""
    return "linear" if isinstance(leaf_prediction, str) and leaf_prediction == "model" else leaf_prediction


class ReadableTree(Native):
    """A tree that can be drawn, told as rules and tables, and asked for its reasons."""

    def __init__(self, **parameters: Any) -> None:
        splitter = parameters.get("splitter", "")
        if not isinstance(splitter, str):
            words = f"splitter must be a word, 'gaussian' or 'histogram', got {quoted(splitter)}"
            raise InvalidType(f"{self.name}: {words}")
        super().__init__(**parameters)

    def _grown(self) -> Grown:
        """The nodes; a forest's member gives its own."""
        labels = self._labels() if self.role is CLASSIFIER else ()
        return Grown(self.inspect(), labels, self.features, type(self).__name__)

    def draw(
        self,
        path: str | PathLike[str] | None = None,
        *,
        max_depth: int | None = None,
        max_branches: int | None = None,
    ) -> Drawing:
        """The tree as a picture and as text: `print(tree.draw())` prints it, a notebook shows it.

        `path` also writes it, as a picture (.svg), a page (.html) or text (.txt). A large tree is cut where it
        would no longer be read at a glance, and says how much is hidden; `max_depth` and `max_branches`, for
        splits into many nominal values, say where to cut instead. The count of a node is the weight of all
        examples that it has received since it exists, so that the root counts all examples and the children of a
        split only those that came after it. Until then a leaf predicts what its parent's split estimated.
        """
        drawing = Drawing(self._grown(), max_depth, max_branches)
        if path is not None:
            drawing.save(path)
        return drawing

    def rules(self) -> Rules:
        """A list with a rule for each leaf, that of most examples first; printed, one to a line."""
        return rules_of(self._grown())

    def to_frame(self, kind: str | None = None) -> Any:
        """A frame with a row for each node: its branch, what it has seen, and when and why it was split.

        `kind` is "pandas", "polars" or "pyarrow"; by default the first that is installed. `weight`, the counts of
        classes and `variance` are those of all examples that a node has received since it exists; what was below
        it may have been replaced since. `prediction` and `share` of a leaf also weigh what its parent's split
        estimated for it. A tree that was saved before these counts were kept begins with what its leaves knew when
        it was loaded, estimates included.
        """
        return nodes_frame(self._grown(), kind)

    #: As River calls it.
    to_dataframe = to_frame

    @property
    def n_nodes(self) -> int:
        """How many nodes there are, splits and leaves."""
        return int(self._numbers()["n_nodes"])

    @property
    def n_leaves(self) -> int:
        """How many leaves there are."""
        return int(self._numbers()["n_leaves"])

    @property
    def n_branches(self) -> int:
        """How many nodes are split."""
        return int(self._numbers()["n_branches"])

    @property
    def height(self) -> int:
        """How many splits there are above the deepest leaf; 0 of a tree that is one leaf."""
        return int(self._numbers()["height"])

    @property
    def summary(self) -> dict[str, Any]:
        """How large the tree is, in numbers."""
        return dict(self._numbers())

    def debug_one(self, x: Features) -> str:
        """The way of an example through the tree as text: `explain_one`, as River calls it."""
        return str(self.explain_one(x))

    def splits(self, kind: str | None = None) -> Any:
        """A frame with a row for each split, in the order in which they were made: when and why.

        `node_weight` is the weight of all examples that the node has received until now. `learned` is how many
        examples the tree had learned at the split, `weight` the weight in the leaf, with what its parent's split
        estimated for it, `merit` that of the split; `second` is the next best feature (None if that was not to
        split) and `second_merit` its merit. The split was made because the two are further apart than Hoeffding's
        `bound` (`decided_by` is "bound"), in a tree of numbers by their ratio, or because the bound was below tau
        ("tie").
        """
        return splits_frame(self._grown(), kind)

    def explain_one(self, x: Features, label: Any = None) -> Explanation:
        """The way of an example through the tree, and what each feature on it does to the answer.

        Along the way the share of the predicted class (or of `label`), in a tree of numbers the mean, changes from
        node to node; each change is put down to the feature that was asked for. Shares are those of `to_frame()`.
        """
        answer = self.predict_one(x)
        found = self.predict_proba_one(x) if self.role is CLASSIFIER else None
        return explain(self._grown(), x, label, answer, found)

    @property
    def feature_importances(self) -> dict[Any, float]:
        """How much each feature matters, as shares, the greatest first.

        It is the sum over the feature's splits of their merit times the weight of all examples that their node has
        received.
        """
        return importances(self._grown())

    def _repr_html_(self) -> str:
        from millstream._display import html_of

        shown = html_of(self)
        if self.memory > _LARGEST:
            return shown
        return f"{shown}{self.draw().fragment()}"
