"""A drift detector that assigns rows to clusters."""

from __future__ import annotations

from millstream._part import forwarded
from millstream.drift.row_detector import FeatureDriftDetector

__all__ = ["ClusterDrift"]


class ClusterDrift(FeatureDriftDetector):
    """Compares how the newest rows and the reference are distributed over clusters.

    For rows of a few kinds, such as customers or states of a machine: it detects kinds that become more or less
    frequent, even if each single feature keeps its distribution, and new kinds. Half of the reference is clustered
    by k-means. The other half and the newest rows are compared by their counts in each cluster and by their
    distances to it. `estimation` is the distance of the cluster frequencies, from 0 to 1. `statistic` is the
    contribution of each feature, as a fraction. The drifted features are determined as in `D3`.

    Parameters
    ----------
    reference_size
        Number of rows in the reference: the first rows of the stream, or a sample of the table passed to `fit`.
    window_size
        Number of newest rows that are compared with the reference.
    check_interval
        Number of rows between comparisons.
    reference
        "renewed" after drift, "fixed", or "sliding" (the rows directly before the newest); see `KSTest`.
    n_clusters
        Number of clusters of the reference.
    significance
        Significance level of drift at each comparison.
    warning_significance
        Significance level of warnings at each comparison.
    correction
        Correction of the p-values for the number of features, in naming the drifted features; see `KSTest`.
    seed
        Seed of the initial centroids.

    Examples
    --------
    >>> import numpy as np
    >>> from millstream import drift
    >>> X = np.random.default_rng(1).normal(size=(3000, 20))
    >>> X[2000:, 7] += 4.0
    >>> detector = drift.ClusterDrift()
    >>> detector.update_many(X).tolist(), detector.drifting_features
    ([2049], [7])

    References
    ----------
    Arthur, D. and Vassilvitskii, S. (2007). k-means++: the advantages of careful seeding.
    Huang, Z. (1998). Extensions to the k-means algorithm for clustering large data sets with categorical values.
    Boracchi, G., Carrera, D., Cervellera, C. and Macciò, D. (2018). QuantTree: histograms for change detection in
    multivariate data streams.
    """

    name = "drift.ClusterDrift"

    @forwarded
    def __init__(
        self,
        reference_size: int = 500,
        window_size: int = 200,
        check_interval: int = 50,
        reference: str = "renewed",
        n_clusters: int = 8,
        significance: float = 0.001,
        warning_significance: float = 0.01,
        correction: str = "holm",
        seed: int = 0,
    ) -> None: ...
