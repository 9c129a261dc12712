"""Hoeffding trees for numbers: the plain one and the one that adapts."""

from __future__ import annotations

from millstream.base import Regressor
from millstream.tree.readable import UNSUPPORTED_DETECTOR, UNSUPPORTED_OF_NUMBERS, ReadableTree, as_here

__all__ = ["HoeffdingAdaptiveTreeRegressor", "HoeffdingTreeRegressor"]


class HoeffdingTreeRegressor(ReadableTree, Regressor):
    """A regression tree that grows from a stream, with means or linear models in its leaves (FIMT-DD).

    Choose it where a number depends on features by steps and bends that no single line follows: it needs no
    scaling, takes numbers, text and missing values as they come, and what it has learned can be read.

    A leaf is split where that reduces the variance of the target most, once Hoeffding's bound says that this is no
    accident. A leaf predicts the mean of its targets, or by a linear model of the numeric features, or by
    whichever of the two has had the smaller errors of late. Before anything was learned it predicts 0. What it has
    learned can be seen: `draw()`, `rules()`, `to_frame()`, `splits()`, `explain_one(x)`, `feature_importances`.

    Time and memory grow with the number of columns, zeros as well: see `tree.HoeffdingTreeClassifier`.

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
    leaf_prediction
        `"mean"`, `"linear"` (River's `"model"`), or `"adaptive"` for whichever had smaller errors of late.
    n_bins
        The most bins of the histogram of a numeric feature, between which it can be split.
    learning_rate
        The share of an error that one example takes away from a leaf's linear model.
    binary_split
        Split a nominal feature only into one value and the rest.
    min_samples_split
        At least two branches of a split must have this weight of examples.
    max_bytes
        The most memory the tree may take, None for no limit. When it would be more, the leaves whose splits
        promise least give up the statistics of features, and go on predicting and learning that; one that comes to
        promise more takes the place of another. `inspect()` tells "bytes", "active_leaves" and "inactive_leaves".

    Notes
    -----
    Where the paper keeps every value of a feature in a binary search tree, a histogram of bounded size stands here
    (Ben-Haim and Tom-Tov), so that a leaf's memory does not grow with the stream. The linear model takes
    normalised steps, and features as far as five deviations out.

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
    unsupported = UNSUPPORTED_OF_NUMBERS

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
            leaf_prediction=as_here(leaf_prediction),
            n_bins=n_bins,
            learning_rate=learning_rate,
            binary_split=binary_split,
            min_samples_split=min_samples_split,
            max_bytes=max_bytes,
        )


class HoeffdingAdaptiveTreeRegressor(ReadableTree, Regressor):
    """A regression tree that watches its errors and replaces subtrees that have become wrong.

    Choose it where the world drifts and one tree is to be read or to be fast; `tree.HoeffdingTreeRegressor` where
    it does not drift, `forest.ARFRegressor` where errors are all that matters.

    Every node has an ADWIN of the errors of the subtree below it. When errors rise, an alternate subtree begins to
    grow from the examples that come there. It takes the node's place when it is better, and is given up when it is
    worse, or no better after ten times `drift_window_threshold`. Until then it has a say as well, with more weight
    the less it errs, so that predictions follow a drift before anything is swapped. What the windows are told is
    where an absolute error lies among all those of the tree before: 0.5 at their mean, 0 and 1 three deviations
    from it and beyond, so that the unit of the target does not matter.

    `inspect()` gives the nodes, with the error, the length of its window and the alternate of each; how many
    alternates have begun, were swapped in and dropped; and the latest 100 of these `"changes"`, each with the
    errors and the bound that decided it. `draw()`, `rules()`, `to_frame()`, `splits()`, `explain_one(x)` and
    `feature_importances` are as of every tree.

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
    leaf_prediction
        `"mean"`, `"linear"` (River's `"model"`), or `"adaptive"` for whichever had smaller errors of late.
    n_bins
        The most bins of the histogram of a numeric feature, between which it can be split.
    learning_rate
        The share of an error that one example takes away from a leaf's linear model.
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
    min_samples_split
        At least two branches of a split must have this weight of examples.
    max_bytes
        The most memory the tree may take, None for no limit; see `tree.HoeffdingTreeRegressor`. Without room no
        alternate begins.
    seed
        Of the random numbers of `bootstrap_sampling`.

    Examples
    --------
    A function that turns into another after 10,000 examples:

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
    unsupported = {**UNSUPPORTED_OF_NUMBERS, **UNSUPPORTED_DETECTOR}

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
        adwin_delta: float = 0.002,
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
            leaf_prediction=as_here(leaf_prediction),
            n_bins=n_bins,
            learning_rate=learning_rate,
            bootstrap_sampling=bootstrap_sampling,
            drift_window_threshold=drift_window_threshold,
            adwin_delta=adwin_delta,
            switch_significance=switch_significance,
            binary_split=binary_split,
            min_samples_split=min_samples_split,
            max_bytes=max_bytes,
            seed=seed,
        )
