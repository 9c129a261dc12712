"""Hoeffding trees that revise themselves: the adaptive tree and the extremely fast decision tree."""

from __future__ import annotations

from millstream._part import forwarded
from millstream.base import Classifier
from millstream.tree.readable import UNSUPPORTED, UNSUPPORTED_DETECTOR, ReadableTree

__all__ = ["ExtremelyFastDecisionTreeClassifier", "HoeffdingAdaptiveTreeClassifier"]


class HoeffdingAdaptiveTreeClassifier(ReadableTree, Classifier):
    """A Hoeffding tree that monitors the errors of its subtrees and replaces them when they grow (HAT).

    Choose it under drift if a single, readable or fast tree is required; `tree.HoeffdingTreeClassifier` without
    drift; a forest for the highest accuracy.

    Every node has an ADWIN of the errors of its subtree. When errors rise, an alternate subtree starts to grow
    from the examples that reach the node. It replaces the subtree when it is significantly better, and is dropped
    when it is worse, or no better after ten times `drift_window_threshold`. Until then it also votes, with a
    weight that grows as its error falls, so that predictions follow a drift before a replacement.

    `inspect()` returns the nodes, with the error, window length and alternate of each; the numbers of alternates
    that were started, swapped in and dropped; and the latest 100 of these `"changes"`, each with the errors and
    the bound that decided it.

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
    bootstrap_sampling
        Learn each example with a random weight from the Poisson distribution of mean 1; a weight of 0 is replaced
        by 1.
    drift_window_threshold
        Minimum number of examples in the error windows of a subtree and its alternate before they are compared.
    adwin_significance
        Significance level of the ADWIN of each node. Larger values start alternate subtrees sooner.
    switch_significance
        Significance level of the test that replaces a subtree by its alternate, or drops the alternate.
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
        and count classes only; without memory, no alternate starts.
    seed
        Seed of the random weights of `bootstrap_sampling`.

    Examples
    --------
    A concept that changes into another after 10,000 examples:

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
        adwin_significance: float = 0.002,
        switch_significance: float = 0.05,
        binary_split: bool = False,
        min_branch_fraction: float = 0.01,
        max_share_to_split: float = 0.99,
        merit_preprune: bool = True,
        max_bytes: int | None = None,
        seed: int = 1,
    ) -> None: ...


class ExtremelyFastDecisionTreeClassifier(ReadableTree, Classifier):
    """A decision tree that splits as soon as a split is better than none, and reevaluates its splits (EFDT).

    Choose it if a Hoeffding tree grows too slowly: it needs fewer examples until its first splits, and converges
    to the tree that all the data would give. It takes more time and memory: inner nodes continue to gather
    statistics, and every split is reevaluated regularly. Under drift choose
    `tree.HoeffdingAdaptiveTreeClassifier`, which forgets; the statistics of this tree cover the whole stream.

    When another feature becomes significantly better, the node is split on it and its subtree restarts. A better
    threshold of the same feature is moved, and the branches stay. If no split is better than none, the node
    becomes a leaf again.

    `inspect()` returns the nodes, with the number of reevaluations and changes of each split; the numbers of
    splits that were replaced, moved and killed; and the latest 100 of these `"changes"`, each with the merits and
    the bound that decided it.

    Parameters
    ----------
    grace_period
        Weight of examples that a leaf receives between attempts to split it.
    delta
        Probability that a split is not better than none, or than the one it replaces, in Hoeffding's bound.
        Smaller values delay splits.
    tau
        Once Hoeffding's bound falls below this value, split a leaf on its best feature, and replace a split by one
        that is better by a fifth and by a twentieth of this value.
    max_depth
        Maximum depth of the tree; None for no limit.
    min_samples_reevaluate
        Weight of examples between reevaluations of a split. Larger values are faster.
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
        Split a leaf only if the split is better than none, however slightly.
    max_bytes
        Maximum memory of the tree in bytes, None for no limit. The least promising leaves discard their statistics
        and count classes only; if that does not suffice, splits are no longer reevaluated.

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
