"""What every tree can tell of itself."""

from __future__ import annotations

from os import PathLike
from typing import Any

from millstream.base import Features, Native
from millstream.tree.drawing import Drawing
from millstream.tree.explaining import Explanation, explain
from millstream.tree.grown import Grown
from millstream.tree.rules import Rules, rules_of
from millstream.tree.tables import importances, nodes_frame, splits_frame

__all__ = ["ReadableTree"]

#: Beyond so many bytes a notebook shows no drawing unless asked: to read the tree out would take seconds.
_LARGEST = 300_000_000


class ReadableTree(Native):
    """A tree that can be drawn, told as rules and tables, and asked for its reasons."""

    def _grown(self) -> Grown:
        """The nodes; a forest's member gives its own."""
        labels = self._labels() if self.role == "classifier" else ()
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
        splits into many nominal values, say where to cut instead.
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

        `kind` is "pandas", "polars" or "pyarrow"; by default the first that is installed. A leaf counts what it
        has seen and what was estimated for it when its parent was split; a split counts what its leaves do.
        """
        return nodes_frame(self._grown(), kind)

    def splits(self, kind: str | None = None) -> Any:
        """A frame with a row for each split, in the order in which they were made: when and why.

        `learned` is how many examples the tree had learned, `weight` the weight in the leaf, `merit` that of the
        split; `second` is the next best feature (None if that was not to split) and `second_merit` its merit. The
        split was made because the two are further apart than Hoeffding's `bound` (`decided_by` is "bound"), in a
        tree of numbers by their ratio, or because the bound was below tau ("tie").
        """
        return splits_frame(self._grown(), kind)

    def explain_one(self, x: Features, label: Any = None) -> Explanation:
        """The way of an example through the tree, and what each feature on it does to the answer.

        Along the way the share of the predicted class (or of `label`), in a tree of numbers the mean, changes from
        node to node; each change is put down to the feature that was asked for.
        """
        answer = self.predict_one(x)
        found = self.predict_proba_one(x) if self.role == "classifier" else None
        return explain(self._grown(), x, label, answer, found)

    @property
    def feature_importances(self) -> dict[Any, float]:
        """How much each feature matters, as shares, the greatest first.

        It is the sum over the feature's splits of their merit times the weight with which they were made.
        """
        return importances(self._grown())

    def _repr_html_(self) -> str:
        from millstream._display import html_of

        shown = html_of(self)
        if self.memory > _LARGEST:
            return shown
        return f"{shown}{self.draw().fragment()}"
