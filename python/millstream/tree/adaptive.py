"""Hoeffding trees that mend themselves: the adaptive tree and the extremely fast decision tree."""

from __future__ import annotations

from millstream._part import forwarded
from millstream.base import Classifier
from millstream.tree.readable import UNSUPPORTED, UNSUPPORTED_DETECTOR, ReadableTree

__all__ = ["ExtremelyFastDecisionTreeClassifier", "HoeffdingAdaptiveTreeClassifier"]


class HoeffdingAdaptiveTreeClassifier(ReadableTree, Classifier):
    """A Hoeffding tree that watches its errors and replaces subtrees that have become wrong (HAT).

    Choose it where the world drifts and one tree is to be read or to be fast; `tree.HoeffdingTreeClassifier`
    where it does not drift, a forest where accuracy is all.

    Every node has an ADWIN of the errors of the subtree below it. When errors rise, an alternate subtree begins to
    grow from the examples that come there. It takes the node's place when it is better, and is given up when it is
    worse, or no better after ten times `drift_window_threshold`. Until then it votes as well, with more weight the
    less it errs, so that predictions follow a drift before anything is swapped.

    `inspect()` gives the nodes, with the error, the length of its window and the alternate of each; how many
    alternates have begun, were swapped in and dropped; and the latest 100 of these `"changes"`, each with the
    errors and the bound that decided it.

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
    bootstrap_sampling
        Leaves learn each example with a weight drawn from the Poisson distribution of mean 1, or 1 where that is
        0.
    drift_window_threshold
        Both windows of errors must have more examples than this before an alternate subtree is judged.
    adwin_delta
        The chance of a false alarm of a node's ADWIN; larger means that alternates begin sooner.
    switch_significance
        The chance that an alternate subtree that is swapped in, or given up, is no better, or worse.
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
        and count classes only; without room no alternate begins.
    seed
        Of the random numbers of `bootstrap_sampling`.

    Examples
    --------
    A concept that turns into another after 10,000 examples:

    >>> from millstream import evaluate, synth, tree
    >>> before, after = synth.Sine(seed=1), synth.Sine(classification_function=1, seed=2)
    >>> rows = synth.Drift(before, after, position=10_000).take(20_000)
    >>> model = tree.HoeffdingAdaptiveTreeClassifier(seed=1)
    >>> evaluate.prequential(model, rows).metrics["Accuracy"]
    Accuracy: 95.11%
    >>> evaluate.prequential(tree.HoeffdingTreeClassifier(), rows).metrics["Accuracy"]
    Accuracy: 78.64%
    >>> model.inspect()["alternates"]
    {'begun': 13, 'swapped': 1, 'dropped': 12, 'growing': 0}

    References
    ----------
    Bifet, A. and Gavaldà, R. (2009). Adaptive learning from evolving data streams.
    """

    name = "tree.HoeffdingAdaptiveTreeClassifier"
    unsupported = {**UNSUPPORTED, **UNSUPPORTED_DETECTOR}

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
        bootstrap_sampling: bool = True,
        drift_window_threshold: int = 300,
        adwin_delta: float = 0.002,
        switch_significance: float = 0.05,
        binary_split: bool = False,
        min_branch_fraction: float = 0.01,
        max_share_to_split: float = 0.99,
        merit_preprune: bool = True,
        max_bytes: int | None = None,
        seed: int = 1,
    ) -> None: ...


class ExtremelyFastDecisionTreeClassifier(ReadableTree, Classifier):
    """A decision tree that splits as soon as that is better than not to, and reconsiders its splits (EFDT).

    Choose it where a Hoeffding tree is too slow to grow: it needs fewer examples until its first splits, and
    comes to the tree that all the data would give. The price is time and memory: inner nodes go on gathering
    statistics, and every split is reconsidered all the time. Where the world drifts choose
    `tree.HoeffdingAdaptiveTreeClassifier`, which forgets; this tree's statistics are of the whole stream.

    A node on whose feature another has proved better is split anew, and its subtree begins again. A better
    threshold of the same feature moves, and the branches stay. Where no split is as good as none, the node
    becomes a leaf again.

    `inspect()` gives the nodes, with how often the split of each was reevaluated and changed; how many splits were
    replaced, moved and killed; and the latest 100 of these `"changes"`, each with the merits and the bound that
    decided it.

    Parameters
    ----------
    grace_period
        The weight of examples between attempts to split a leaf.
    delta
        The chance that a split is no better than none, or than the one it replaces; smaller means more caution.
    tau
        Below this value of the bound a leaf is split even if that has not proved better than not to, and a split
        is replaced by one that is better by a fifth, and by a twentieth of this value.
    max_depth
        Leaves this deep are not split; None for no limit.
    min_samples_reevaluate
        The weight of examples between reconsiderations of a split. Larger is faster.
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
        Whether a leaf is split only if that is better than not to, be it by little.
    max_bytes
        The most memory the tree may take, None for no limit. Leaves that promise least give up their statistics
        and count classes only; where that is not enough, splits are not reconsidered any more.

    Examples
    --------
    >>> from millstream import evaluate, synth, tree
    >>> model = tree.ExtremelyFastDecisionTreeClassifier()
    >>> evaluate.prequential(model, synth.Agrawal(seed=1).take(20_000)).metrics["Accuracy"]
    Accuracy: 98.83%
    >>> model.inspect()["reevaluations"]
    {'replaced': 0, 'moved': 0, 'killed': 0}

    References
    ----------
    Manapragada, C., Webb, G. I. and Salehi, M. (2018). Extremely fast decision tree.
    """

    name = "tree.ExtremelyFastDecisionTreeClassifier"
    unsupported = UNSUPPORTED

    @forwarded
    def __init__(
        self,
        grace_period: int = 200,
        delta: float = 1e-7,
        tau: float = 0.05,
        max_depth: int | None = None,
        min_samples_reevaluate: int = 20,
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
