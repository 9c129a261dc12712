"""Clusterers: they assign rows to clusters, which they learn without targets.

`predict_one` returns the index of a cluster, or -1 before there are clusters. `learn_one(x)` needs no target; a
given one is ignored. Scale features first (`preprocessing.StandardScaler() | cluster.KMeans()`), because the
feature with the largest range would decide alone otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from millstream._native import Native
from millstream._other_names import unknown_name
from millstream._part import forwarded
from millstream.base import Clusterer

__all__ = ["KMeans", "MiniBatchKMeans"]


class _Centred(Native, Clusterer):
    """What k-means clusterers report."""

    @property
    def centers(self) -> dict[int, dict[Any, Any]]:
        """The centre of each cluster: a number by feature name, or fractions of the values of a nominal one."""
        return {index: cluster["centre"] for index, cluster in enumerate(self.inspect()["clusters"])}

    @property
    def weights(self) -> dict[int, float]:
        """The weight of the rows of each cluster, as far as they are not forgotten."""
        return {index: cluster["weight"] for index, cluster in enumerate(self.inspect()["clusters"])}

    @property
    def n_reseeded(self) -> int:
        """How often the centre of a dead cluster was moved."""
        return int(self._numbers()["reseeded"])


class KMeans(_Centred):
    """Sequential k-means: each row moves the nearest centre towards it.

    Choose it as the first clusterer: it is fast, its memory is fixed, and it follows changing clusters if it may
    forget. The centre is the mean of its rows by default. With a `half_life`, old rows fade; with a
    `learning_rate`, a centre moves by a constant fraction of the way. `MiniBatchKMeans` moves all centres after
    each batch of rows.

    The first `init_size` rows are kept, and clustered by k-means++ and Lloyd's algorithm. Until then, rows have no
    cluster (-1). If too few of these rows are distinct, later rows that lie elsewhere become the missing centres.

    A centre that hardly receives rows is dead. Of every 100 rows per cluster a uniform sample is kept, and a
    centre whose rows weigh less than `reassignment_ratio` times the mean cluster moves to the row of the sample
    that lowers the sum of squared distances most. `n_reseeded` counts these moves.

    A missing value does not count: the distance over the other features is scaled up, and the centre keeps its
    value. A nominal feature has a coordinate for each value, 1 or 0, so that rows with different values are √2
    apart. A new feature joins a centre with the first row that has it. A row that shares no feature with any
    centre has no cluster.

    Parameters
    ----------
    n_clusters
        Number of clusters.
    learning_rate
        Fraction of the way that a centre moves to its new row. None for 1/n, so that it is the mean of its n rows.
    half_life
        Number of rows of the stream after which the weight of a row has halved; None for no decay.
    init_size
        Number of first rows that are kept and clustered, at least one per cluster; None for 20 per cluster.
    init
        Initial centres instead, one list of numbers for each, in the order of the features.
    reassignment_ratio
        Fraction of the weight of the mean cluster below which a cluster is dead; 0 for never.
    seed
        Seed of the initial centres and of the sample.

    Notes
    -----
    River's `KMeans` draws its initial centres from a normal distribution, and its `halflife` is a constant
    fraction: `learning_rate` here.

    Examples
    --------
    >>> import numpy as np
    >>> from millstream import cluster
    >>> random = np.random.default_rng(1)
    >>> X = random.choice([0.0, 5.0, 10.0], size=(1000, 1)) + random.normal(scale=0.5, size=(1000, 2))
    >>> model = cluster.KMeans(n_clusters=3)
    >>> model.learn_many(X)
    0
    >>> sorted(round(centre["0"]) for centre in model.centers.values())
    [0, 5, 10]
    >>> model.predict_one({0: 9.5, 1: 10.5}) == model.predict_one({0: 10.5, 1: 9.0})
    True

    Clusters that move, with a half-life of 100 rows:

    >>> model = cluster.KMeans(n_clusters=3, half_life=100)
    >>> for shift in range(10):
    ...     skipped = model.learn_many(X + 2.0 * shift)
    >>> sorted(round(centre["0"]) for centre in model.centers.values())
    [18, 23, 28]

    References
    ----------
    MacQueen, J. (1967). Some methods for classification and analysis of multivariate observations.
    Arthur, D. and Vassilvitskii, S. (2007). k-means++: the advantages of careful seeding. SODA.
    """

    name = "cluster.KMeans"
    aliases = {"random_state": "seed"}
    unsupported = {
        "halflife": "learning_rate is River's halflife; half_life is a number of rows",
        "mu": "the first rows are the first centres",
        "sigma": "the first rows are the first centres",
        "p": "distances are Euclidean",
        "n_init": "init gives the first centres; otherwise the first init_size rows do",
        "max_iter": "each row is learned once; learn the rows again for more passes",
    }

    @forwarded
    def __init__(
        self,
        n_clusters: int = 8,
        learning_rate: float | None = None,
        half_life: float | None = None,
        init_size: int | None = None,
        init: Sequence[Sequence[float]] | None = None,
        reassignment_ratio: float = 0.01,
        seed: int = 0,
    ) -> None: ...


class MiniBatchKMeans(_Centred):
    """K-means whose centres move together after each batch of rows.

    Choose it to reproduce scikit-learn's `MiniBatchKMeans`: from the same `init` and with
    `reassignment_ratio=0`, the centres are those of its `partial_fit` with batches of `batch_size` rows. Within
    a batch the centres stand still, so predictions change only between batches. The batch is a number of rows,
    not of a call: `learn_one` in a loop gives the same model as `learn_many`.

    The start, dead centres, and missing and nominal values are treated as by `KMeans`.

    Parameters
    ----------
    n_clusters
        Number of clusters.
    batch_size
        Number of rows after which the centres move.
    init_size
        Number of first rows that are kept and clustered, at least one per cluster; None for 20 per cluster.
    init
        Initial centres instead, one list of numbers for each, in the order of the features.
    reassignment_ratio
        Fraction of the weight of the mean cluster below which a cluster is dead; 0 for never.
    seed
        Seed of the initial centres and of the sample.

    Notes
    -----
    scikit-learn's `reassignment_ratio` is relative to the largest cluster and its dead centres move to random
    rows.

    Examples
    --------
    >>> import numpy as np
    >>> from millstream import cluster
    >>> random = np.random.default_rng(1)
    >>> X = random.choice([0.0, 5.0, 10.0], size=(1000, 1)) + random.normal(scale=0.5, size=(1000, 2))
    >>> model = cluster.MiniBatchKMeans(n_clusters=3, batch_size=100)
    >>> clusters = model.step_many(X)
    >>> clusters[:3].tolist(), len(set(clusters[-100:].tolist()))
    ([-1, -1, -1], 3)

    References
    ----------
    Sculley, D. (2010). Web-scale k-means clustering. WWW, 1177-1178.
    """

    name = "cluster.MiniBatchKMeans"
    aliases = {"random_state": "seed"}
    unsupported = {
        "n_init": "init gives the first centres; otherwise the first init_size rows do",
        "max_iter": "each row is learned once; learn the rows again for more passes",
    }

    @forwarded
    def __init__(
        self,
        n_clusters: int = 8,
        batch_size: int = 1024,
        init_size: int | None = None,
        init: Sequence[Sequence[float]] | None = None,
        reassignment_ratio: float = 0.01,
        seed: int = 0,
    ) -> None: ...


if not TYPE_CHECKING:
    __getattr__ = unknown_name(__name__)
