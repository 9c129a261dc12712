"""The Hoeffding tree."""

from __future__ import annotations

from millstream._part import forwarded
from millstream.base import Classifier
from millstream.tree.readable import UNSUPPORTED, ReadableTree

__all__ = ["HoeffdingTreeClassifier"]


class HoeffdingTreeClassifier(ReadableTree, Classifier):
    """A decision tree that grows from a stream and splits a leaf when Hoeffding's bound allows (VFDT).

    Choose it for long streams in which classes are boxes of feature values rather than half-spaces: it needs no
    scaling, takes numbers, text and missing values as they come, and what it has learned can be read. A leaf
    predicts by naive Bayes where that has been right more often than the majority class, so it is good from the
    first examples. If the world drifts, choose an adaptive tree or a forest.

    Numbers are split at a threshold, nominal values into a branch for each (or one against the rest). A row whose
    value is missing goes where most examples went when the split was made; a nominal value that a split has not
    met gets a branch of its own when it is learned.

    Each leaf keeps statistics of every column and goes through all of them with each example, zeros as well, so
    time and memory grow with the width of rows. Hashed text of 2**18 columns is for linear models; for a tree hash
    it to fewer, such as `stream.read_vw(path, bits=10)`.

    What it has learned can be seen: `draw()`, `rules()`, `to_frame()`, `splits()`, which says when and why each
    split was made, `explain_one(x)` and `feature_importances`.

    Parameters
    ----------
    grace_period
        The weight of examples between attempts to split a leaf.
    delta
        The chance that a split is not the best one; smaller means more caution.
    tau
        Below this value of the bound the best split is taken even if another is as good.
    max_depth
        Leaves this deep are not split; None for no limit.
    split_criterion
        `"info_gain"`, `"gini"`, or `"hellinger"`, which is for rare classes.
    leaf_prediction
        `"mc"` for the majority class, `"nb"` for naive Bayes, `"nba"` for whichever was right more often.
    n_splits
        The number of thresholds that are tried for each numeric feature.
    splitter
        What is kept of a numeric feature to split it: `"gaussian"`, a normal distribution for each class, which is
        quick and small; `"histogram"`, for features that are far from normal within a class.
    n_bins
        The most bins of a histogram, between which a feature can be split.
    binary_split
        Split a nominal feature only into one value and the rest.
    min_branch_fraction
        At least two branches of a split must have more than this share of the examples.
    max_share_to_split
        A leaf whose largest class has more than this share is not split.
    merit_preprune
        Whether not to split competes with the splits.
    max_bytes
        The most memory the tree may take, None for no limit. Leaves that promise least give up their statistics
        and count classes only; they come back when they promise more than others. `inspect()` tells how many rest.

    Examples
    --------
    >>> from millstream import evaluate, synth, tree
    >>> model = tree.HoeffdingTreeClassifier()
    >>> result = evaluate.prequential(model, synth.SEA(seed=1).take(20_000))
    >>> result.metrics["Accuracy"]
    Accuracy: 97.37%
    >>> model.draw(max_depth=1)
    HoeffdingTreeClassifier: 20,000 examples learned, 10 leaves, depth 4
    20,000: class 1 (67.8 %)
    ├─ x[1] ≤ 4.544: 7,517, class 0 (58.3 %)  … 8 nodes below
    └─ x[1] > 4.544 or missing: 9,083, class 1 (89.3 %)  … 8 nodes below
    16 of 19 nodes not shown; max_depth and max_branches show more
    >>> why = model.explain_one({0: 1.0, 1: 2.0, 2: 3.0})
    >>> {name: round(share, 3) for name, share in why.contributions.items()}
    {0: 0.416, 1: 0.261}

    References
    ----------
    Domingos, P. and Hulten, G. (2000). Mining high-speed data streams.
    Gama, J., Rocha, R. and Medas, P. (2003). Accurate decision trees for mining high-speed data streams.
    Holmes, G., Kirkby, R. and Pfahringer, B. (2005). Stress-testing Hoeffding trees.
    """

    name = "tree.HoeffdingTreeClassifier"
    unsupported = UNSUPPORTED

    @forwarded
    def __init__(
        self,
        grace_period: int = 200,
        delta: float = 1e-7,
        tau: float = 0.05,
        max_depth: int | None = None,
        split_criterion: str = "info_gain",
        leaf_prediction: str = "nba",
        n_splits: int = 10,
        splitter: str = "gaussian",
        n_bins: int = 64,
        binary_split: bool = False,
        min_branch_fraction: float = 0.01,
        max_share_to_split: float = 0.99,
        merit_preprune: bool = True,
        max_bytes: int | None = None,
    ) -> None: ...
