"""Principal component analysis: the directions in which rows vary most."""

from __future__ import annotations

from millstream._part import forwarded
from millstream.decomposition.base import Centred

__all__ = ["CCIPCA", "PCA", "IncrementalPCA"]


class PCA(Centred):
    """Principal component analysis from the exact covariance of all rows so far.

    Choose it for up to some hundred features: it is exact, faster than mini-batch methods, and `merge` is exact
    too. Memory grows with the square of the number of features, of which it supports up to 4,096. For wide rows
    choose `CCIPCA`, or `FrequentDirections` if you need an error bound.

    The covariance is updated with each row. The components, its eigenvectors, are computed first after
    `n_components` + 1 rows, then when the number of rows has doubled, and in the long run every `refresh_interval`
    rows. Their cost grows with the cube of the number of features: choose a larger interval for hundreds of
    features. Between two computations the output for a row does not change. The largest entry of a new component
    is positive; later the sign is that of the nearest previous component, so that the output does not change its
    sign.

    A missing number counts as the mean of its feature. If there are fewer features than components, the remaining
    outputs are 0.

    Parameters
    ----------
    n_components
        Number of components, and of output features.
    refresh_interval
        Number of rows between two computations of the components.
    whiten
        Whether to scale each component to variance 1.

    Examples
    --------
    >>> from millstream import decomposition
    >>> pca = decomposition.PCA(n_components=1)
    >>> for x in ({"a": 2.0, "b": 1.0}, {"a": 0.0, "b": -1.0}, {"a": 4.0, "b": 3.0}, {"a": 2.0, "b": 1.0}):
    ...     pca.learn_one(x)
    >>> {name: round(value, 4) for name, value in pca.transform_one({"a": 3.0, "b": 2.0}).items()}
    {'pca_0': 1.4142}
    >>> {name: round(value, 4) for name, value in pca.components[0].items()}
    {'a': 0.7071, 'b': 0.7071}
    >>> [round(ratio, 4) for ratio in pca.explained_variance_ratio]
    [1.0]

    References
    ----------
    Chan, T. F., Golub, G. H. and LeVeque, R. J. (1983). Algorithms for computing the sample variance: analysis and
    recommendations.
    """

    name = "decomposition.PCA"

    @forwarded
    def __init__(self, n_components: int = 2, refresh_interval: int = 100, whiten: bool = False) -> None: ...

    @property
    def explained_variance_ratio(self) -> list[float]:
        """The fraction of the total variance along each component."""
        return list(self._numbers()["explained_variance_ratio"])


class CCIPCA(Centred):
    """Candid covariance-free incremental PCA: one vector per component, updated with each row.

    Choose it for wide rows: time and memory grow with the number of features times `n_components`, and there are
    no matrices. The components approximate those of `PCA`, the first ones best. With `amnesic` above 0, later rows
    count more, so that the components forget a poor start and follow slow drift. Signs never flip: a component
    starts with its largest entry positive and then turns continuously.

    A missing number counts as the mean of its feature.

    Parameters
    ----------
    n_components
        Number of components, and of output features.
    amnesic
        How much more later rows count; 0 for equal weights. The authors recommend 2 to 4.

    Examples
    --------
    >>> import numpy as np
    >>> from millstream import decomposition
    >>> random = np.random.default_rng(1)
    >>> X = random.normal(size=(5000, 3)) @ np.diag([1.0, 3.0, 0.5])
    >>> pca = decomposition.CCIPCA(n_components=1)
    >>> pca.learn_many(X)
    0
    >>> [round(abs(value), 1) for value in pca.components[0].values()]
    [0.0, 1.0, 0.0]
    >>> [round(variance) for variance in pca.explained_variance]
    [9]

    References
    ----------
    Weng, J., Zhang, Y. and Hwang, W.-S. (2003). Candid covariance-free incremental principal component analysis.
    """

    name = "decomposition.CCIPCA"

    @forwarded
    def __init__(self, n_components: int = 2, amnesic: float = 2.0) -> None: ...


class IncrementalPCA(Centred):
    """Principal component analysis with a truncated decomposition, updated with a batch of rows at a time.

    Choose it to obtain the results of scikit-learn's `IncrementalPCA`, or for wide rows where `CCIPCA` is not
    accurate enough. For up to some hundred features `PCA` is faster and exact: here each update drops what the
    components do not explain.

    A batch is a number of rows, whatever the calls in which they arrive: rows that wait for their batch are part
    of the state. In scikit-learn each call of `partial_fit` is a batch, and the first needs at least
    `n_components` rows. Here it may be smaller; outputs without a component are 0. Signs are those of the nearest
    previous component.

    A missing number counts as the mean of its feature in the batch.

    Parameters
    ----------
    n_components
        Number of components, and of output features.
    batch_size
        Number of rows per update.
    whiten
        Whether to scale each component to variance 1.

    Examples
    --------
    >>> from millstream import decomposition
    >>> pca = decomposition.IncrementalPCA(n_components=1, batch_size=2)
    >>> for x in ({"a": 2.0, "b": 1.0}, {"a": 0.0, "b": -1.0}, {"a": 4.0, "b": 3.0}, {"a": 2.0, "b": 1.0}):
    ...     pca.learn_one(x)
    >>> {name: round(value, 4) for name, value in pca.transform_one({"a": 3.0, "b": 2.0}).items()}
    {'incremental_pca_0': 1.4142}
    >>> [round(value, 4) for value in pca.singular_values]
    [4.0]

    References
    ----------
    Levy, A. and Lindenbaum, M. (2000). Sequential Karhunen-Loeve basis extraction and its application to images.
    Ross, D. A., Lim, J., Lin, R.-S. and Yang, M.-H. (2008). Incremental learning for robust visual tracking.
    """

    name = "decomposition.IncrementalPCA"

    @forwarded
    def __init__(self, n_components: int = 2, batch_size: int = 100, whiten: bool = False) -> None: ...

    @property
    def singular_values(self) -> list[float]:
        """The singular values of the rows about their mean, the largest first."""
        return list(self._numbers()["singular_values"])

    @property
    def explained_variance_ratio(self) -> list[float]:
        """The fraction of the total variance along each component."""
        return list(self._numbers()["explained_variance_ratio"])
