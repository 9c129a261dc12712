"""Forests: trees on random features and randomly weighted examples, replaced when their errors grow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from millstream._native import Native
from millstream._other_names import unknown_name
from millstream._part import forwarded
from millstream.base import Classifier, Regressor
from millstream.compose.members import find_member
from millstream.drift import ADWIN
from millstream.drift.base import DriftDetector
from millstream.tree.readable import UNSUPPORTED, UNSUPPORTED_REGRESSION, native_leaf_prediction
from millstream.tree.tables import mean_importances

__all__ = ["ARFClassifier", "ARFRegressor"]

_DRIFT = ADWIN(significance=0.001)
_WARNING = ADWIN(significance=0.01)
_UNSUPPORTED_METRIC = {
    "metric": "trees are weighted by their accuracy, in regression by the inverse of their mean absolute error"
}


class Forest(Native):
    """The methods that forests share: access to trees, and counts of replacements."""

    def __len__(self) -> int:
        return int(self.n_models)

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, place: int) -> Any:
        """The tree at an index, as a copy that continues on its own with all features."""
        return self._member(find_member(self.name, len(self), place, "tree"))

    def __iter__(self) -> Iterator[Any]:
        return (self[place] for place in range(len(self)))

    @property
    def models(self) -> list[Any]:
        """The trees."""
        return list(self)

    @property
    def feature_importances(self) -> dict[Any, float]:
        """Feature importances as fractions, in descending order: the mean over the trees."""
        return mean_importances(self)

    def n_drifts_detected(self, place: int | None = None) -> int:
        """Number of replaced trees, in total or at one index."""
        return self._count("drifts", place)

    def n_warnings_detected(self, place: int | None = None) -> int:
        """Number of background trees that were started, in total or at one index."""
        return self._count("warnings", place)

    def _count(self, what: str, place: int | None) -> int:
        members = self._numbers()["members"]
        if place is not None:
            members = [members[find_member(self.name, len(self), place, "tree")]]
        return sum(member[what] for member in members)


class ARFClassifier(Forest, Classifier):
    """Adaptive random forest: trees on random features and examples, replaced when their errors grow.

    A good first choice if accuracy matters and drift is possible: it needs no tuning and no scaling, accepts
    numbers, strings and missing values, and recovers from drift.

    Each leaf considers a random subset of the features, and each tree learns each example k times, where k is
    drawn from the Poisson distribution of mean 6, so that trees differ. Two detectors monitor the errors of each
    tree. When the more sensitive one warns, a background tree starts training; when the other detects drift, that
    tree replaces the first. Votes are weighted by the accuracy of their tree since it started.

    In batches, trees are distributed over `n_threads` threads. The result is bit-identical to learning the
    examples one by one, whatever the number of threads.

    Time and memory grow with the number of columns, zeros included: see `tree.HoeffdingTreeClassifier`.

    `len(model)` is the number of trees and `model[3]` is one of them; `inspect()` reports the performance of each.

    Parameters
    ----------
    n_models
        Number of trees. More trees are more accurate and proportionally slower.
    max_features
        Number of features that each leaf considers: a fraction such as 0.6, a number, `"sqrt"`, `"log2"`, or None
        for all. Fewer features are faster and make trees differ more.
    poisson_rate
        Mean number of times a tree learns each example.
    drift_detector
        Drift detector that triggers the replacement of a tree: any detector of `millstream.drift` for numbers, or
        None for none. It receives 1 for an error and 0 otherwise. A decrease of errors does not trigger.
    warning_detector
        Drift detector that starts a background tree; None to use the warnings of `drift_detector`. A tree that is
        replaced without a background tree restarts empty.
    disable_weighted_vote
        Weight all trees equally instead of by their accuracy.
    grace_period
        Weight of examples that a leaf receives between attempts to split it.
    delta
        Probability that the chosen split is not the best one, in Hoeffding's bound.
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
        Statistics kept of a numeric feature: `"gaussian"`, a normal distribution for each class, or `"histogram"`,
        for features that are far from normal within a class.
    n_bins
        Maximum number of bins in the histogram of a numeric feature.
    binary_split
        Split a nominal feature into one value and the rest only. With many values, a branch for each looks good by
        chance, because an example that is learned six times counts as six.
    min_branch_fraction
        At least two branches of a split must receive more than this fraction of the examples.
    max_share_to_split
        Do not split a leaf whose majority class exceeds this fraction.
    merit_preprune
        Compare each candidate split with not splitting.
    max_bytes
        Maximum memory of each tree in bytes, background trees included, None for no limit; see
        `tree.HoeffdingTreeClassifier`. The forest uses additional buffers, which `memory` counts too.
    seed
        Seed of the random numbers. Each tree has its own generator.
    n_threads
        Number of threads, None for one per core. The result does not depend on it.

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
    """Adaptive random forest regressor: trees on random features and examples, replaced when their errors grow.

    A good first choice for regression if accuracy matters and drift is possible: it needs no scaling, accepts
    numbers, strings and missing values, and recovers from drift.

    The trees are those of `tree.HoeffdingTreeRegressor`. Each leaf can be split on a random subset of the
    features, while its linear model uses all of them, and each tree learns each example k times, where k is drawn
    from the Poisson distribution of mean 6, so that trees differ. Two detectors monitor the errors of each tree.
    When the more sensitive one warns, a background tree starts training; when the other detects drift, that tree
    replaces the first. The prediction is the mean over the trees, weighted by the inverse of their mean absolute
    error since they started, or their median.

    In batches, trees are distributed over `n_threads` threads. The result is bit-identical to learning the
    examples one by one, whatever the number of threads.

    Time and memory grow with the number of columns, zeros included: see `tree.HoeffdingTreeClassifier`.

    `len(model)` is the number of trees and `model[3]` is one of them; `inspect()` reports the performance of each.

    Parameters
    ----------
    n_models
        Number of trees. More trees are more accurate and proportionally slower.
    max_features
        Number of features that each leaf can be split on: a fraction such as 0.6, a number, `"sqrt"`, `"log2"`, or
        None for all.
    aggregation
        How the predictions of the trees are combined: `"mean"`, or `"median"`, which is robust to single trees.
    poisson_rate
        Mean number of times a tree learns each example.
    drift_detector
        Drift detector that triggers the replacement of a tree: any detector of `millstream.drift` for numbers, or
        None for none. It receives the position of an absolute error among the previous ones: 0.5 at their mean, 0
        and 1 at three standard deviations from it and beyond. A decrease of errors does not trigger.
    warning_detector
        Drift detector that starts a background tree; None to use the warnings of `drift_detector`. A tree that is
        replaced without a background tree restarts empty.
    disable_weighted_vote
        Weight all trees equally instead of by their errors.
    grace_period
        Weight of examples that a leaf receives between attempts to split it.
    delta
        Probability that the chosen split is not the best one, in Hoeffding's bound.
    tau
        Split on the best feature despite a tie once Hoeffding's bound falls below this value.
    max_depth
        Maximum depth of the tree; None for no limit.
    leaf_prediction
        Prediction of a leaf: `"mean"`, `"linear"`, or `"adaptive"` for the one with the smaller recent errors.
    n_bins
        Maximum number of bins in the histogram of a numeric feature. Splits lie between bins.
    learning_rate
        Fraction of its error that a leaf's linear model corrects with one example.
    binary_split
        Split a nominal feature into one value and the rest only. With many values, a branch for each looks good by
        chance, because an example that is learned six times counts as six.
    min_samples_split
        Minimum weight of examples in at least two branches of a split.
    max_bytes
        Maximum memory of each tree in bytes, background trees included, None for no limit; see
        `tree.HoeffdingTreeRegressor`. The forest uses additional buffers, which `memory` counts too.
    seed
        Seed of the random numbers. Each tree has its own generator.
    n_threads
        Number of threads, None for one per core. The result does not depend on it.

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
    unsupported = {**UNSUPPORTED_REGRESSION, **_UNSUPPORTED_METRIC}

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
            leaf_prediction=native_leaf_prediction(leaf_prediction),
            n_bins=n_bins,
            learning_rate=learning_rate,
            binary_split=binary_split,
            min_samples_split=min_samples_split,
            max_bytes=max_bytes,
            seed=seed,
            n_threads=n_threads,
        )


if not TYPE_CHECKING:
    __getattr__ = unknown_name(__name__)
