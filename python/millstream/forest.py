"""Forests: trees that look at random features, learn random examples, and are replaced when they grow old."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from millstream._native import Native
from millstream._part import forwarded
from millstream.base import Classifier, Regressor
from millstream.compose.members import find_member
from millstream.drift import ADWIN
from millstream.drift.base import DriftDetector
from millstream.tree.readable import UNSUPPORTED, UNSUPPORTED_OF_NUMBERS, as_here
from millstream.tree.tables import mean_importances

__all__ = ["ARFClassifier", "ARFRegressor"]

_DRIFT = ADWIN(delta=0.001)
_WARNING = ADWIN(delta=0.01)
_UNSUPPORTED_METRIC = {
    "metric": "votes weigh the accuracy of their tree, numbers one over its mean absolute error"
}


class Forest(Native):
    """What forests have in common: their trees, and how often these were replaced."""

    def __len__(self) -> int:
        return int(self.n_models)

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, place: int) -> Any:
        """The tree at a place, as a copy that goes on by itself with all features."""
        return self._member(find_member(self.name, len(self), place, "tree"))

    def __iter__(self) -> Iterator[Any]:
        return (self[place] for place in range(len(self)))

    @property
    def models(self) -> list[Any]:
        """The trees."""
        return list(self)

    @property
    def feature_importances(self) -> dict[Any, float]:
        """How much each feature matters, as shares, the greatest first: the mean over the trees."""
        return mean_importances(self)

    def n_drifts_detected(self, place: int | None = None) -> int:
        """How often trees were replaced, or the one at a place."""
        return self._count("drifts", place)

    def n_warnings_detected(self, place: int | None = None) -> int:
        """How often a tree was begun in the background, or for the one at a place."""
        return self._count("warnings", place)

    def _count(self, what: str, place: int | None) -> int:
        members = self._numbers()["members"]
        if place is not None:
            members = [members[find_member(self.name, len(self), place, "tree")]]
        return sum(member[what] for member in members)


class ARFClassifier(Forest, Classifier):
    """Adaptive random forest: trees of random features and examples, replaced when their errors grow.

    A good first choice where accuracy matters and the world may change: it needs no tuning and no scaling, takes
    numbers, text and missing values as they come, and recovers from drift by itself.

    Each leaf of a tree looks at a random part of the features, and each tree learns each example k times, where k
    is drawn from the Poisson distribution of mean 6, so that trees differ. Two detectors watch the errors of each
    tree. When the more nervous one warns, another tree begins to learn in the background; when the other finds
    drift, that tree takes the place of the first. Votes weigh as much as their tree was right since it began.

    Trees are spread over `n_threads` threads when rows come many at a time. The result is bit for bit that of
    learning them one by one, whatever the number of threads.

    Time and memory grow with the number of columns, zeros as well: see `tree.HoeffdingTreeClassifier`.

    `len(model)` is the number of trees and `model[3]` is one of them; `inspect()` tells how each has done.

    Parameters
    ----------
    n_models
        The number of trees. More are better, and cost as much more.
    max_features
        How many features each leaf looks at: a share of them such as 0.6, their number, `"sqrt"`, `"log2"`, or
        None for all. Fewer are faster and make trees differ more.
    poisson_rate
        How often a tree learns an example on average.
    drift_detector
        Finds when a tree is replaced: any detector of `millstream.drift` for numbers, which is told 1 for an error
        and 0 for none; None for never. That errors became fewer is not a reason.
    warning_detector
        Finds when a tree begins in the background. With None, the warnings of `drift_detector` itself are heard;
        a tree that is replaced without one begins with nothing.
    disable_weighted_vote
        Whether all votes weigh the same, however well a tree has done.
    grace_period
        The weight of examples between attempts to split a leaf.
    delta
        The chance that a split is not the best one.
    tau
        Below this value of the bound the best split is taken even if another is as good.
    max_depth
        Leaves this deep are not split; None for no limit.
    split_criterion
        `"info_gain"`, `"gini"` or `"hellinger"`.
    leaf_prediction
        `"mc"` for the majority class, `"nb"` for naive Bayes, `"nba"` for whichever was right more often.
    n_splits
        The number of thresholds that are tried for each numeric feature.
    splitter
        What is kept of a numeric feature to split it: `"gaussian"`, or `"histogram"` for those that are far from
        normal within a class.
    n_bins
        The most bins of a histogram.
    binary_split
        Split a nominal feature only into one value and the rest. Where there are many, a branch for each looks
        good by chance, because examples that are learned six times count as six.
    min_branch_fraction
        At least two branches of a split must have more than this share of the examples.
    max_share_to_split
        A leaf whose largest class has more than this share is not split.
    merit_preprune
        Whether not to split competes with the splits.
    max_bytes
        The most memory each tree may take, and each that grows in the background, None for no limit; see
        `tree.HoeffdingTreeClassifier`. What the forest has to work with comes on top: `memory` counts that too.
    seed
        Of the random numbers; each tree has its own.
    n_threads
        Threads that share the trees, None for one on each core.

    Examples
    --------
    >>> from millstream import evaluate, forest, synth
    >>> model = forest.ARFClassifier(n_models=10, seed=7, n_threads=2)
    >>> stream = synth.Drift(synth.SEA(seed=1), synth.SEA(seed=1, variant=3), position=2000, width=1).take(4000)
    >>> round(evaluate.prequential(model, stream, "Accuracy")["Accuracy"], 3)
    0.958
    >>> model.n_warnings_detected(), model.n_drifts_detected()
    (5, 5)

    References
    ----------
    Gomes, H. M., Bifet, A., Read, J., Barddal, J. P., Enembreck, F., Pfahringer, B., Holmes, G. and Abdessalem, T.
    (2017). Adaptive random forests for evolving data stream classification.
    """

    name = "forest.ARFClassifier"
    aliases = {
        "n_estimators": "n_models",
        "random_state": "seed",
        "n_jobs": "n_threads",
        "lambda_value": "poisson_rate",
    }
    unsupported = {**UNSUPPORTED, **_UNSUPPORTED_METRIC}

    @forwarded
    def __init__(
        self,
        n_models: int = 10,
        max_features: str | float | None = 0.6,
        poisson_rate: float = 6.0,
        drift_detector: DriftDetector | str | None = _DRIFT,
        warning_detector: DriftDetector | str | None = _WARNING,
        disable_weighted_vote: bool = False,
        grace_period: int = 50,
        delta: float = 0.01,
        tau: float = 0.05,
        max_depth: int | None = None,
        split_criterion: str = "info_gain",
        leaf_prediction: str = "nba",
        n_splits: int = 10,
        splitter: str = "gaussian",
        n_bins: int = 64,
        binary_split: bool = True,
        min_branch_fraction: float = 0.01,
        max_share_to_split: float = 0.99,
        merit_preprune: bool = True,
        max_bytes: int | None = None,
        seed: int = 1,
        n_threads: int | None = 1,
    ) -> None: ...


class ARFRegressor(Forest, Regressor):
    """Adaptive random forest for numbers: regression trees of random features and examples, replaced with time.

    A good first choice where a number is to be predicted, errors matter and the world may change: it needs no
    scaling, takes numbers, text and missing values as they come, and recovers from drift by itself.

    The trees are those of `tree.HoeffdingTreeRegressor`. Each leaf can be split on a random part of the features,
    while its linear model has all of them, and each tree learns each example k times, where k is drawn from the
    Poisson distribution of mean 6, so that trees differ. Two detectors watch the errors of each tree. When the
    more nervous one warns, another tree begins to learn in the background; when the other finds drift, that tree
    takes the place of the first. The answer is the mean of what the trees say, each weighed by one over its mean
    absolute error since it began, or their median.

    Trees are spread over `n_threads` threads when rows come many at a time. The result is bit for bit that of
    learning them one by one, whatever the number of threads.

    Time and memory grow with the number of columns, zeros as well: see `tree.HoeffdingTreeClassifier`.

    `len(model)` is the number of trees and `model[3]` is one of them; `inspect()` tells how each has done.

    Parameters
    ----------
    n_models
        The number of trees. More are better, and cost as much more.
    max_features
        How many features each leaf can be split on: a share of them such as 0.6, their number, `"sqrt"`,
        `"log2"`, or None for all.
    aggregation
        What the numbers of trees become: `"mean"`, or `"median"`, which no single tree can lead astray.
    poisson_rate
        How often a tree learns an example on average.
    drift_detector
        Finds when a tree is replaced: any detector of `millstream.drift` for numbers; None for never. It is told
        where an absolute error lies among those before: 0.5 at their mean, 0 and 1 three deviations from it and
        beyond. That errors became smaller is not a reason.
    warning_detector
        Finds when a tree begins in the background. With None, the warnings of `drift_detector` itself are heard;
        a tree that is replaced without one begins with nothing.
    disable_weighted_vote
        Whether all trees weigh the same in the mean, however well they have done.
    grace_period
        The weight of examples between attempts to split a leaf.
    delta
        The chance that a split is not the best one.
    tau
        Below this value of the bound the best split is taken even if another is as good.
    max_depth
        Leaves this deep are not split; None for no limit.
    leaf_prediction
        `"mean"`, `"linear"`, or `"adaptive"` for whichever had smaller errors of late.
    n_bins
        The most bins of the histogram of a numeric feature, between which it can be split.
    learning_rate
        The share of an error that one example takes away from a leaf's linear model.
    binary_split
        Split a nominal feature only into one value and the rest. Where there are many, a branch for each looks
        good by chance, because examples that are learned six times count as six.
    min_samples_split
        At least two branches of a split must have this weight of examples.
    max_bytes
        The most memory each tree may take, and each that grows in the background, None for no limit; see
        `tree.HoeffdingTreeRegressor`. What the forest has to work with comes on top: `memory` counts that too.
    seed
        Of the random numbers; each tree has its own.
    n_threads
        Threads that share the trees, None for one on each core.

    Examples
    --------
    >>> from millstream import evaluate, forest, synth
    >>> model = forest.ARFRegressor(n_models=10, seed=7, n_threads=2)
    >>> result = evaluate.prequential(model, synth.Friedman(seed=1).take(4000))
    >>> result.metrics["MAE"]
    MAE: 1.646152

    References
    ----------
    Gomes, H. M., Barddal, J. P., Ferreira, L. E. B. and Bifet, A. (2018). Adaptive random forests for data stream
    regression.
    """

    name = "forest.ARFRegressor"
    aliases = {
        "n_estimators": "n_models",
        "random_state": "seed",
        "n_jobs": "n_threads",
        "lambda_value": "poisson_rate",
        "aggregation_method": "aggregation",
    }
    unsupported = {**UNSUPPORTED_OF_NUMBERS, **_UNSUPPORTED_METRIC}

    def __init__(
        self,
        n_models: int = 10,
        max_features: str | float | None = 0.6,
        aggregation: str = "mean",
        poisson_rate: float = 6.0,
        drift_detector: DriftDetector | str | None = _DRIFT,
        warning_detector: DriftDetector | str | None = _WARNING,
        disable_weighted_vote: bool = False,
        grace_period: int = 50,
        delta: float = 0.01,
        tau: float = 0.05,
        max_depth: int | None = None,
        leaf_prediction: str = "adaptive",
        n_bins: int = 64,
        learning_rate: float = 0.1,
        binary_split: bool = True,
        min_samples_split: float = 5.0,
        max_bytes: int | None = None,
        seed: int = 1,
        n_threads: int | None = 1,
    ) -> None:
        super().__init__(
            n_models=n_models,
            max_features=max_features,
            aggregation=aggregation,
            poisson_rate=poisson_rate,
            drift_detector=drift_detector,
            warning_detector=warning_detector,
            disable_weighted_vote=disable_weighted_vote,
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
            seed=seed,
            n_threads=n_threads,
        )
