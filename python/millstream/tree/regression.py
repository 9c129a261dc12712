"""Hoeffding trees for regression: the basic and the adaptive one."""

from __future__ import annotations

from millstream.base import Regressor
from millstream.tree.readable import (
    UNSUPPORTED_DETECTOR,
    UNSUPPORTED_REGRESSION,
    ReadableTree,
    native_leaf_prediction,
)

__all__ = ["HoeffdingAdaptiveTreeRegressor", "HoeffdingTreeRegressor"]


class HoeffdingTreeRegressor(ReadableTree, Regressor):
    """A regression tree that grows from a stream, with a mean or a linear model in each leaf (FIMT-DD).

    Choose it if the target is a piecewise function of the features: it needs no scaling, accepts numbers, strings
    and missing values, and can be read.

    A leaf is split on the feature that reduces the variance of the target most, once this is significant by
    Hoeffding's bound. A leaf predicts the mean of its targets, or by a linear model of the numeric features, or by
    the one of the two with the smaller recent errors. Without examples it predicts 0. Inspect it with `draw()`,
    `rules()`, `to_frame()`, `splits()`, `explain_one(x)` and `feature_importances`.

    Time and memory grow with the number of columns, zeros included: see `tree.HoeffdingTreeClassifier`.

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
    leaf_prediction
        Prediction of a leaf: `"mean"`, `"linear"` (River's `"model"`), or `"adaptive"` for the one with the
        smaller recent errors.
    n_bins
        Maximum number of bins in the histogram of a numeric feature. Splits lie between bins.
    learning_rate
        Fraction of its error that a leaf's linear model corrects with one example.
    binary_split
        Split a nominal feature into one value and the rest only.
    min_samples_split
        Minimum weight of examples in at least two branches of a split.
    max_bytes
        Maximum memory of the tree in bytes, None for no limit. Beyond it, the least promising leaves discard the
        statistics of features and only update their predictions, until they become more promising than others.
        `inspect()` reports "bytes", "active_leaves" and "inactive_leaves".

    Notes
    -----
    The paper keeps every value of a feature in a binary search tree; here a histogram of bounded size (Ben-Haim
    and Tom-Tov) is used, so that the memory of a leaf does not grow with the stream. The linear model uses
    normalised steps, and features clipped at five standard deviations.

    Examples
    --------
    >>> from millstream import evaluate, synth, tree
    >>> model = tree.HoeffdingTreeRegressor()
    >>> result = evaluate.prequential(model, synth.Friedman(seed=1).take(20_000))
    >>> result.metrics["MAE"]
    MAE: 1.792111

    References
    ----------
    Ikonomovska, E., Gama, J. and Džeroski, S. (2011). Learning model trees from evolving data streams.
    Ben-Haim, Y. and Tom-Tov, E. (2010). A streaming parallel decision tree algorithm.
    """

    name = "tree.HoeffdingTreeRegressor"
    unsupported = UNSUPPORTED_REGRESSION

    def __init__(
        self,
        grace_period: int = 200,
        delta: float = 1e-7,
        tau: float = 0.05,
        max_depth: int | None = None,
        leaf_prediction: str = "adaptive",
        n_bins: int = 64,
        learning_rate: float = 0.1,
        binary_split: bool = False,
        min_samples_split: float = 5.0,
        max_bytes: int | None = None,
    ) -> None:
        super().__init__(
            grace_period=grace_period,
            delta=delta,
            tau=tau,
            max_depth=max_depth,
            leaf_prediction=native_leaf_prediction(leaf_prediction),
            n_bins=n_bins,
            learning_rate=learning_rate,
            binary_split=binary_split,
            min_samples_split=min_samples_split,
            max_bytes=max_bytes,
        )


class HoeffdingAdaptiveTreeRegressor(ReadableTree, Regressor):
    """A regression tree that monitors the errors of its subtrees and replaces them when they grow.

    Choose it under drift if a single, readable or fast tree is required; `tree.HoeffdingTreeRegressor` without
    drift; `forest.ARFRegressor` for the smallest errors.

    Every node has an ADWIN of the errors of its subtree. When errors rise, an alternate subtree starts to grow
    from the examples that reach the node. It replaces the subtree when it is significantly better, and is dropped
    when it is worse, or no better after ten times `drift_window_threshold`. Until then it contributes to the
    prediction, with a weight that grows as its error falls, so that predictions follow a drift before a
    replacement. The windows receive the position of an absolute error among all previous errors of the tree: 0.5
    at their mean, 0 and 1 at three standard deviations from it and beyond. The unit of the target therefore does
    not matter.

    `inspect()` returns the nodes, with the error, window length and alternate of each; the numbers of alternates
    that were started, swapped in and dropped; and the latest 100 of these `"changes"`, each with the errors and
    the bound that decided it. `draw()`, `rules()`, `to_frame()`, `splits()`, `explain_one(x)` and
    `feature_importances` work as for every tree.

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
    leaf_prediction
        Prediction of a leaf: `"mean"`, `"linear"` (River's `"model"`), or `"adaptive"` for the one with the
        smaller recent errors.
    n_bins
        Maximum number of bins in the histogram of a numeric feature. Splits lie between bins.
    learning_rate
        Fraction of its error that a leaf's linear model corrects with one example.
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
    min_samples_split
        Minimum weight of examples in at least two branches of a split.
    max_bytes
        Maximum memory of the tree in bytes, None for no limit; see `tree.HoeffdingTreeRegressor`. Without memory,
        no alternate starts.
    seed
        Seed of the random weights of `bootstrap_sampling`.

    Examples
    --------
    A function that changes into another after 10,000 examples:

    >>> from millstream import evaluate, synth, tree
    >>> stream = synth.Friedman(drift_type="gra", position=(10_000, 15_000), seed=1)
    >>> model = tree.HoeffdingAdaptiveTreeRegressor(seed=1)
    >>> evaluate.prequential(model, stream.take(20_000)).metrics["MAE"]
    MAE: 1.941277
    >>> model.inspect()["alternates"]
    {'begun': 13, 'swapped': 2, 'dropped': 11, 'growing': 0}

    References
    ----------
    Bifet, A. and Gavaldà, R. (2009). Adaptive learning from evolving data streams.
    Ikonomovska, E., Gama, J. and Džeroski, S. (2011). Learning model trees from evolving data streams.
    """

    name = "tree.HoeffdingAdaptiveTreeRegressor"
    unsupported = {**UNSUPPORTED_REGRESSION, **UNSUPPORTED_DETECTOR}

    def __init__(
        self,
        grace_period: int = 200,
        delta: float = 1e-7,
        tau: float = 0.05,
        max_depth: int | None = None,
        leaf_prediction: str = "adaptive",
        n_bins: int = 64,
        learning_rate: float = 0.1,
        bootstrap_sampling: bool = True,
        drift_window_threshold: int = 300,
        adwin_significance: float = 0.002,
        switch_significance: float = 0.05,
        binary_split: bool = False,
        min_samples_split: float = 5.0,
        max_bytes: int | None = None,
        seed: int = 1,
    ) -> None:
        super().__init__(
            grace_period=grace_period,
            delta=delta,
            tau=tau,
            max_depth=max_depth,
            leaf_prediction=native_leaf_prediction(leaf_prediction),
            n_bins=n_bins,
            learning_rate=learning_rate,
            bootstrap_sampling=bootstrap_sampling,
            drift_window_threshold=drift_window_threshold,
            adwin_significance=adwin_significance,
            switch_significance=switch_significance,
            binary_split=binary_split,
            min_samples_split=min_samples_split,
            max_bytes=max_bytes,
            seed=seed,
        )
