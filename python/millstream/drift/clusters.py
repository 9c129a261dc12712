"""Do new rows fall into the clusters of the old ones?"""

from __future__ import annotations

from millstream._part import forwarded
from millstream.drift.row_detector import FeatureDriftDetector

__all__ = ["ClusterDrift"]


class ClusterDrift(FeatureDriftDetector):
    """Do the newest rows fall into the clusters of the reference as its own rows did?

    For rows of a few kinds, such as customers or states of a machine: it sees kinds that become more or less
    frequent, also where each feature by itself stays the same, and kinds that are new. Half of the reference is
    clustered by k-means; the other half and the newest rows are compared by how many fall into which cluster,
    and by how far they are from it. `estimation` is the distance of the shares of clusters, from 0 to 1.
    `statistic` is each feature's share in what moved; features are named as in `D3`.

    Parameters
    ----------
    reference_size
        How many rows the newest ones are compared with: the first of the stream, or a sample of the table that
        `fit` is given.
    window_size
        How many newest rows are compared.
    check_interval
        How many rows come between comparisons.
    reference
        Whether the reference is "renewed" after a change, "fixed", or "sliding", the rows directly before the
        newest; see `KSTest`.
    n_clusters
        How many clusters the reference is divided into.
    alpha
        The chance of a false alarm at each comparison.
    alpha_warning
        The same for a warning.
    correction
        How the p-values of features are corrected for their number, before they are named; see `KSTest`.
    seed
        Of the first centroids.

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
        alpha: float = 0.001,
        alpha_warning: float = 0.01,
        correction: str = "holm",
        seed: int = 0,
    ) -> None: ...
