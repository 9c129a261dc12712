"""Transformers that drop features.

A dropped feature is missing in the output: `transform_one` leaves it out of the dict, and `transform_many` writes
NaN. In a sparse row it is 0. It keeps its index, so the weights of the next learner stay valid, and a dropped
feature may return. Learners ignore missing features. Nominal features are always kept.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from millstream._native import Native
from millstream._other_names import unknown_name
from millstream._part import forwarded
from millstream.base import Transformer

__all__ = ["PoissonInclusion", "SelectKBest", "VarianceThreshold"]


class SelectKBest(Native, Transformer):
    """Keeps the k features that are most similar to the target.

    Choose it in front of a learner that suffers from many irrelevant features, such as nearest neighbours or naive
    Bayes. Each feature is ranked separately: a feature that matters only together with others is missed, unlike
    with trees and L1 penalties.

    It learns when the target arrives, as a step of a pipeline or by `learn_one(x, y)`. Rows without a target
    change nothing. Before the first target it keeps all features. A feature whose similarity is undefined, such as
    a constant one, ranks last, and the feature that was seen first precedes an equal one.

    With classes, the similarity is that to the indicator of the second class (`True`) if there are two, and else
    the largest absolute similarity to the indicator of a class.

    Parameters
    ----------
    similarity
        Statistic of two variables: `stats.PearsonCorr()` or `stats.Cov()`.
    k
        Number of features to keep.
    use_abs
        Whether to rank features by the absolute value of the similarity. Otherwise a feature with a large negative
        correlation ranks last.

    Notes
    -----
    Selected features are those of River, where an undefined correlation is 0 and ranks above negative ones.

    Examples
    --------
    >>> from millstream import feature_selection, stats
    >>> selector = feature_selection.SelectKBest(similarity=stats.PearsonCorr(), k=1)
    >>> rows = [({"a": 6.0, "b": 2.0}, 1.0), ({"a": 5.0, "b": 6.0}, 2.0), ({"a": 1.0, "b": 4.0}, 6.0)]
    >>> for x, y in rows:
    ...     selector.learn_one(x, y)
    >>> selector.transform_one({"a": 3.0, "b": 7.0})
    {'b': 7.0}
    >>> {name: round(similarity, 4) for name, similarity in selector.leaderboard.items()}
    {'a': -1.0, 'b': 0.189}
    """

    name = "feature_selection.SelectKBest"

    @forwarded
    def __init__(self, similarity: Any = "stats.PearsonCorr", k: int = 10, use_abs: bool = False) -> None: ...

    @property
    def leaderboard(self) -> Counter[str | int]:
        """The similarity of each feature to the target, where it is defined."""
        features = self.inspect()["features"]
        known = {name: features[str(name)]["similarity"] for name in self.features if str(name) in features}
        return Counter({name: similarity for name, similarity in known.items() if similarity is not None})


class VarianceThreshold(Native, Transformer):
    """Drops features whose variance over the stream so far is not above a threshold.

    Choose it to remove constant features (the default), or nearly constant ones if all features have the same
    unit. A feature is kept until it has `min_samples` values. `merge` is exact up to rounding.

    Parameters
    ----------
    threshold
        Features with a variance above it are kept.
    min_samples
        Number of values (total weight) from which on a feature may be dropped.

    Notes
    -----
    The variance is that of River, with the divisor n - 1; scikit-learn's `VarianceThreshold` divides by n.

    Examples
    --------
    >>> from millstream import feature_selection
    >>> selector = feature_selection.VarianceThreshold()
    >>> for x in ({"a": 0.0, "b": 2.0}, {"a": 0.0, "b": 1.0}):
    ...     selector.learn_one(x)
    >>> selector.transform_one({"a": 3.0, "b": 4.0})
    {'b': 4.0}

    References
    ----------
    West, D. H. D. (1979). Updating mean and variance estimates: an improved method.
    """

    name = "feature_selection.VarianceThreshold"

    @forwarded
    def __init__(self, threshold: float = 0.0, min_samples: int = 2) -> None: ...

    @property
    def variances(self) -> dict[str | int, float]:
        """The variance of each feature."""
        features = self.inspect()["features"]
        return {name: features[str(name)]["variance"] for name in self.features if str(name) in features}


class PoissonInclusion(Native, Transformer):
    """Includes each feature after a random number of occurrences, and then permanently.

    Choose it for very many sparse features, most of which are rare, such as words or identifiers: a rare feature
    costs no weight in the learner behind. Each learned row in which a feature is not 0 includes it with
    probability `p`, so it is included after 1 / `p` rows with it on average.

    The row that includes a feature is a function of the seed, the name of the feature and the number of rows with
    it. So the included features do not depend on the order of columns, and `merge` is exact.

    Parameters
    ----------
    p
        Probability that a row includes a feature that was not included before.
    seed
        Random seed.

    Notes
    -----
    Only learned rows count here. In River `transform_one` draws too, so the output depends on how often rows were
    transformed.

    Examples
    --------
    >>> from millstream import feature_selection
    >>> selector = feature_selection.PoissonInclusion(p=0.2, seed=1)
    >>> x = {"a": 1.0, "b": 1.0, "c": 1.0, "d": 1.0, "e": 1.0, "f": 1.0}
    >>> for _ in range(3):
    ...     selector.learn_one(x)
    ...     print(list(selector.transform_one(x)))
    ['f']
    ['a', 'f']
    ['a', 'd', 'f']

    References
    ----------
    McMahan, H. B. et al. (2013). Ad click prediction: a view from the trenches.
    """

    name = "feature_selection.PoissonInclusion"

    @forwarded
    def __init__(self, p: float, seed: int = 1) -> None: ...

    @property
    def included(self) -> set[str | int]:
        """The names of included features."""
        included = set(self.inspect()["included"])
        return {name for name in self.features if str(name) in included}


if not TYPE_CHECKING:
    __getattr__ = unknown_name(__name__)
