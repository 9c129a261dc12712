"""The Hoeffding tree."""

from __future__ import annotations

from millstream._part import forwarded
from millstream.base import Classifier
from millstream.tree.readable import UNSUPPORTED, ReadableTree

__all__ = ["HoeffdingTreeClassifier"]


class HoeffdingTreeClassifier(ReadableTree, Classifier):
    """A decision tree that grows from a stream and splits a leaf when Hoeffding's bound is met (VFDT).

    Choose it for long streams in which classes are boxes of feature values rather than half-spaces: it needs no
    scaling, accepts numbers, strings and missing values, and can be read. A leaf predicts by naive Bayes if that
    has been right more often than the majority class, so predictions are good from the first examples. Under
    drift, choose an adaptive tree or a forest.

    Numbers are split at a threshold, nominal values into one branch per value (or one against the rest). A row
    with a missing value follows the majority of the examples at the time of the split. A nominal value that is new
    to a split gets its own branch when it is learned.

    Each leaf keeps statistics of every column and updates all of them with each example, zeros included, so time
    and memory grow with the width of rows. Hashed text with 2**18 columns is for linear models; for a tree, hash
    it to fewer columns, such as `stream.read_vw(path, bits=10)`.

    Inspect it with `draw()`, `rules()`, `to_frame()`, `splits()`, which lists when and why each split was made,
    `explain_one(x)` and `feature_importances`.

    Parameters
    ----------
    grace_period
        Weight of examples that a leaf receives between attempts to split it.
    delta
        Probability that the chosen split is not the best one, in Hoeffding's bound. Smaller values delay splits.
    tau
        Split on the best feature despite a tie once Hoeffding's bound falls below this value.
    max_depth
        Maximum depth of the tree; None for no limit.
    split_criterion
        Measure of the quality of a split: `"info_gain"`, `"gini"`, or `"hellinger"`, which suits rare classes.
    leaf_prediction
        Prediction of a leaf: `"mc"` for the majority class, `"nb"` for naive Bayes, `"nba"` for the one with more
        correct predictions so far.
    n_splits
        Number of candidate thresholds for each numeric feature.
    splitter
        Statistics kept of a numeric feature: `"gaussian"`, a normal distribution for each class, which is fast and
        small, or `"histogram"`, for features that are far from normal within a class.
    n_bins
        Maximum number of bins in the histogram of a numeric feature. Splits lie between bins.
    binary_split
        Split a nominal feature into one value and the rest only.
    min_branch_fraction
        At least two branches of a split must receive more than this fraction of the examples.
    max_share_to_split
        Do not split a leaf whose majority class exceeds this fraction.
    merit_preprune
        Compare each candidate split with not splitting.
    max_bytes
        Maximum memory of the tree in bytes, None for no limit. The least promising leaves discard their statistics
        and count classes only, until they become more promising than others. `inspect()` reports how many are
        inactive.

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
