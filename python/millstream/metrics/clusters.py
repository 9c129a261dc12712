"""Metrics of clusters: compared with classes, whatever their names, or by distances to centres."""

from __future__ import annotations

from millstream._part import forwarded
from millstream.metrics.base import Metric

__all__ = [
    "AdjustedRand",
    "Completeness",
    "FowlkesMallows",
    "Homogeneity",
    "NormalizedMutualInfo",
    "Rand",
    "Silhouette",
    "VMeasure",
]


class ClusterMetric(Metric):
    """A metric of clusters, most of which may be negative and are no fractions."""

    _format = ".4f"


class AdjustedRand(ClusterMetric):
    """Agreement of clusters and classes on pairs of rows, beyond chance. The usual choice if there are labels.

    1 for the same partition, 0 on average for random clusters, and possibly negative.

    Examples
    --------
    >>> from millstream import metrics
    >>> metric = metrics.AdjustedRand()
    >>> metric.update_many(["a", "a", "b", "b"], [3, 3, 1, 0])
    >>> round(metric.get(), 4)
    0.5714

    References
    ----------
    Hubert, L. and Arabie, P. (1985). Comparing partitions. Journal of Classification.
    """

    name = "metrics.AdjustedRand"

    @forwarded
    def __init__(self) -> None: ...


class Rand(ClusterMetric):
    """Fraction of pairs of rows that are together, or apart, both in their clusters and in their classes.

    It is close to 1 for many clusters, even for random ones: `AdjustedRand` corrects this.

    Examples
    --------
    >>> from millstream import metrics
    >>> metric = metrics.Rand()
    >>> metric.update_many(["a", "a", "b", "b"], [3, 3, 1, 0])
    >>> round(metric.get(), 4)
    0.8333

    References
    ----------
    Rand, W. M. (1971). Objective criteria for the evaluation of clustering methods. JASA.
    """

    name = "metrics.Rand"

    @forwarded
    def __init__(self) -> None: ...


class FowlkesMallows(ClusterMetric):
    """Geometric mean of the precision and recall of pairs of rows that are in the same cluster.

    Examples
    --------
    >>> from millstream import metrics
    >>> metric = metrics.FowlkesMallows()
    >>> metric.update_many(["a", "a", "b", "b"], [3, 3, 1, 0])
    >>> round(metric.get(), 4)
    0.7071

    References
    ----------
    Fowlkes, E. B. and Mallows, C. L. (1983). A method for comparing two hierarchical clusterings. JASA.
    """

    name = "metrics.FowlkesMallows"

    @forwarded
    def __init__(self) -> None: ...


class Homogeneity(ClusterMetric):
    """1 if each cluster contains rows of a single class, 0 if clusters tell nothing about classes.

    Examples
    --------
    >>> from millstream import metrics
    >>> metric = metrics.Homogeneity()
    >>> metric.update_many(["a", "a", "b", "b"], [3, 3, 1, 0])
    >>> metric.get()
    1.0

    References
    ----------
    Rosenberg, A. and Hirschberg, J. (2007). V-measure: a conditional entropy-based external cluster evaluation.
    """

    name = "metrics.Homogeneity"

    @forwarded
    def __init__(self) -> None: ...


class Completeness(ClusterMetric):
    """1 if all rows of a class are in the same cluster, 0 if classes tell nothing about clusters.

    Examples
    --------
    >>> from millstream import metrics
    >>> metric = metrics.Completeness()
    >>> metric.update_many(["a", "a", "b", "b"], [3, 3, 1, 0])
    >>> round(metric.get(), 4)
    0.6667

    References
    ----------
    Rosenberg, A. and Hirschberg, J. (2007). V-measure: a conditional entropy-based external cluster evaluation.
    """

    name = "metrics.Completeness"

    @forwarded
    def __init__(self) -> None: ...


class VMeasure(ClusterMetric):
    """Weighted harmonic mean of homogeneity and completeness.

    Parameters
    ----------
    beta
        Weight of completeness relative to homogeneity.

    Examples
    --------
    >>> from millstream import metrics
    >>> metric = metrics.VMeasure()
    >>> metric.update_many(["a", "a", "b", "b"], [3, 3, 1, 0])
    >>> round(metric.get(), 4)
    0.8

    References
    ----------
    Rosenberg, A. and Hirschberg, J. (2007). V-measure: a conditional entropy-based external cluster evaluation.
    """

    name = "metrics.VMeasure"

    @forwarded
    def __init__(self, beta: float = 1.0) -> None: ...


class NormalizedMutualInfo(ClusterMetric):
    """Mutual information of clusters and classes, relative to the mean of their entropies.

    This is the V-measure with `beta=1`.

    Examples
    --------
    >>> from millstream import metrics
    >>> metric = metrics.NormalizedMutualInfo()
    >>> metric.update_many(["a", "a", "b", "b"], [3, 3, 1, 0])
    >>> round(metric.get(), 4)
    0.8

    References
    ----------
    Strehl, A. and Ghosh, J. (2002). Cluster ensembles. Journal of Machine Learning Research.
    """

    name = "metrics.NormalizedMutualInfo"

    @forwarded
    def __init__(self) -> None: ...


class Silhouette(ClusterMetric):
    """Mean simplified silhouette: how clearly rows belong to their clusters. It needs no labels.

    A row with distance a to the centre of its cluster and b to the next centre has the silhouette (b − a) /
    max(a, b): 1 at a centre, 0 halfway between two. `evaluate.prequential` takes both distances from the model
    before the row is learned. The classical silhouette, scikit-learn's, has mean distances to all rows of a
    cluster in place of a and b, which a stream cannot keep; on compact clusters both rank clusterings alike,
    with larger values here.

    `update` takes the two distances in place of truth and prediction.

    Examples
    --------
    >>> from millstream import metrics
    >>> metric = metrics.Silhouette()
    >>> metric.update(1.0, 4.0)
    >>> metric.update(2.0, 2.0)
    >>> metric.get()
    0.375

    References
    ----------
    Rousseeuw, P. J. (1987). Silhouettes: a graphical aid to the interpretation and validation of cluster
    analysis. Vendramin, L., Campello, R. and Hruschka, E. (2010). Relative clustering validity criteria: a
    comparative overview.
    """

    name = "metrics.Silhouette"

    @forwarded
    def __init__(self) -> None: ...
